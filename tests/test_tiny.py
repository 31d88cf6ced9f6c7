"""Fifteen tests in ten seconds: one robot, from its file to native code and back.

Start here after a change: `pytest -n 0 tests/test_tiny.py`. The robot is a double
pendulum of point masses on massless rods, which has a closed form:

    M = [ (m₁ + m₂) l₁²       m₂ l₁ l₂ cos(α₁ − α₂) ]    at the absolute angles
        [ ...                 m₂ l₂²                ]    α₁ = q₁, α₂ = q₁ + q₂
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import ramidyn
from ramidyn.compiler import program_of
from ramidyn.description.pose import Array
from ramidyn.simplify.passes import SIMPLIFICATIONS
from ramidyn.symbolic.count import count
from ramidyn.symbolic.interpreter import evaluate
from support.close import assert_close

G, L1, L2, M1, M2 = 9.81, 0.5, 0.4, 2.0, 1.5
LINK = """
<link name="{0}"><inertial><origin xyz="0 0 -{1}"/><mass value="{2}"/>
  <inertia ixx="0" iyy="0" izz="0" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
JOINT = """
<joint name="{0}" type="continuous"><parent link="{1}"/><child link="{2}"/>
  <origin xyz="0 0 {3}"/><axis xyz="0 1 0"/></joint>"""
URDF = (
    '<robot name="pendulum"><link name="base"/>'
    + LINK.format("upper", L1, M1)
    + LINK.format("lower", L2, M2)
    + JOINT.format("shoulder", "base", "upper", 0)
    + JOINT.format("elbow", "upper", "lower", -L1)
    + "</robot>"
)
STATE = np.array([0.4, -0.7]), np.array([0.3, 1.1]), np.array([0.2, -0.1])
"""q, q̇ and τ"""


@cache
def pendulum() -> ramidyn.Robot:
    return ramidyn.load(URDF)


def tip(q: Array) -> Array:
    a, b = q[0], q[0] + q[1]
    return -np.array(
        [L1 * np.sin(a) + L2 * np.sin(b), 0, L1 * np.cos(a) + L2 * np.cos(b)]
    )


def mass_matrix(q: Array) -> Array:
    c = M2 * L1 * L2 * np.cos(q[1])
    absolute = np.array([[(M1 + M2) * L1**2, c], [c, M2 * L2**2]])
    to_absolute = np.array([[1.0, 0.0], [1.0, 1.0]])
    return to_absolute.T @ absolute @ to_absolute


def potential_energy(q: Array) -> float:
    return G * ((M1 * -L1 * np.cos(q[0])) + M2 * tip(q)[2])


def acceleration(q: Array, qd: Array, tau: Array) -> Array:
    """Return q̈ by Lagrange's equations, written out by hand."""
    a, b = q[0], q[0] + q[1]
    s = M2 * L1 * L2 * np.sin(q[1])
    bias = np.array([-s * qd[1] * (2 * qd[0] + qd[1]), s * qd[0] ** 2])
    lower = M2 * L2 * G * np.sin(b)
    gravity = np.array([(M1 + M2) * L1 * G * np.sin(a) + lower, lower])
    return np.linalg.solve(mass_matrix(q), tau - bias - gravity)


# ------------------------------------------------------------ the robot


def test_a_file_becomes_a_robot() -> None:
    robot = pendulum()
    assert (robot.name, robot.nq, robot.nv) == ("pendulum", 2, 2)
    assert robot.joint_names == ("shoulder", "elbow")
    assert robot.body_names == ("base", "upper", "lower")


def test_poses_are_trigonometry() -> None:
    q, _, _ = STATE
    T = pendulum().pose(q, "lower")
    assert_close(T[:3, 3] + T[:3, :3] @ [0, 0, -L2], tip(q))


def test_the_mass_matrix_is_the_closed_form() -> None:
    assert_close(pendulum().mass_matrix(STATE[0]), mass_matrix(STATE[0]))


def test_forward_dynamics_is_the_closed_form() -> None:
    assert_close(pendulum().forward_dynamics(*STATE), acceleration(*STATE))


def test_inverse_dynamics_inverts_forward_dynamics() -> None:
    q, qd, tau = STATE
    assert_close(pendulum().inverse_dynamics(q, qd, acceleration(*STATE)), tau)


def test_gravity_forces_are_the_slope_of_the_energy() -> None:
    q, _, _ = STATE
    assert_close(pendulum().potential_energy(q), potential_energy(q))
    slope = [
        (potential_energy(q + h) - potential_energy(q - h)) / 2e-5
        for h in 1e-5 * np.eye(2)
    ]
    assert_close(pendulum().gravity_forces(q), slope, tolerance=1e-8)


# ------------------------------------------------------------ compiled functions


def test_a_batch_is_its_states_one_by_one(rng: np.random.Generator) -> None:
    states = rng.normal(size=(3, 7, 2))  # no multiple of any number of lanes
    expected = [acceleration(*state) for state in zip(*states, strict=True)]
    assert_close(pendulum().forward_dynamics(*states), expected)


def test_several_quantities_are_one_function() -> None:
    quantities = [ramidyn.mass_matrix, ramidyn.potential_energy]
    result = ramidyn.compile(quantities, pendulum())(STATE[0])
    assert_close(result.mass_matrix, mass_matrix(STATE[0]))
    assert_close(result.potential_energy, potential_energy(STATE[0]))


def test_a_function_of_ones_own_is_compiled() -> None:
    robot = pendulum()

    def energy(q: Array, qd: Array) -> Array:
        return 0.5 * qd @ robot.mass_matrix(q) @ qd + robot.potential_energy(q)

    q, qd, _ = STATE
    expected = 0.5 * qd @ mass_matrix(q) @ qd + potential_energy(q)
    assert_close(ramidyn.kernel(energy, {"q": 2, "qd": 2})(q, qd), expected)


def test_a_loop_in_a_kernel_takes_the_steps_that_each_state_needs() -> None:
    """Kepler's equation E − e sin E = m by Newton's method."""

    def solve(m: Array, e: Array) -> dict[str, Array]:
        found = ramidyn.repeat_until(
            lambda x: x - residual(x, m, e) / (1 - e * ramidyn.math.cos(x)),
            m,
            lambda x: residual(x, m, e) ** 2 < 1e-24,
            most=20,
        )
        return {"x": found.carry, "steps": found.steps, "is_done": found.is_done}

    def residual(x: Array, m: Array, e: Array) -> Array:
        return x - e * ramidyn.math.sin(x) - m

    m, e = np.array([0.3, 1.0, 2.0]), np.array([0.0, 0.3, 0.9])
    found = ramidyn.kernel(solve, {"m": (), "e": ()})(m, e)
    assert_close(found.x - e * np.sin(found.x), m)
    assert found.is_done.all()
    assert found.steps[0] == 0 < found.steps[1] <= found.steps[2]


def test_derivatives_are_exact() -> None:
    q, qd, tau = STATE
    by_q, by_qd, by_tau = pendulum().forward_dynamics_derivatives(*STATE)
    h = 1e-30j
    for k, step in enumerate(np.eye(2)):  # the imaginary part of f(x + ih) is h f'(x)
        assert_close(by_q[:, k], acceleration(q + h * step, qd, tau).imag / 1e-30)
        assert_close(by_qd[:, k], acceleration(q, qd + h * step, tau).imag / 1e-30)
    assert_close(by_tau, np.linalg.inv(mass_matrix(q)))


def test_every_pass_keeps_the_meaning_and_costs_no_operation() -> None:
    inputs = dict(zip(("q", "qd", "tau"), STATE, strict=True))
    program = program_of(ramidyn.forward_dynamics, pendulum())
    for simplification in SIMPLIFICATIONS:
        shorter = simplification(program)
        assert count(shorter).total <= count(program).total
        program = shorter
        assert_close(
            evaluate(program, inputs)["forward_dynamics"], acceleration(*STATE)
        )


# ------------------------------------------------------------ motions and mistakes


def test_a_rollout_takes_the_steps_of_its_integrator() -> None:
    q, qd, tau = STATE
    dt = 1e-3
    run = pendulum().rollout(q, qd, tau, dt, steps=20)
    for _ in range(20):
        qd = qd + dt * acceleration(q, qd, tau)
        q = q + dt * qd
    assert_close(run.q[-1], q)
    assert_close(run.qd[-1], qd)


def test_a_force_element_acts() -> None:
    q, qd, tau = STATE
    sprung = pendulum().add_force(ramidyn.forces.JointSpring("elbow", 3.0))
    pull = np.array([0.0, -3.0 * q[1]])
    assert_close(sprung.forward_dynamics(*STATE), acceleration(q, qd, tau + pull))


def test_a_mistake_is_named() -> None:
    with pytest.raises(
        ramidyn.UnknownName, match=r"no frame 'lover' .* Close: 'lower'"
    ):
        pendulum().pose(STATE[0], "lover")
    with pytest.raises(ramidyn.ShapeError, match=r"q has shape \(3,\)"):
        pendulum().mass_matrix(np.zeros(3))
