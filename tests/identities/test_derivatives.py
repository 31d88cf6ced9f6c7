"""Derivatives of quantities against complex steps, on trees of every joint type.

Columns of q are steps in the tangent space: what q does while qd is a unit vector.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import ramidyn
from ramidyn.builder import Body, Inertia, Joint, RobotBuilder
from ramidyn.compiler import program_of
from ramidyn.description.pose import Array
from ramidyn.errors import ArgumentError
from ramidyn.robot import Robot
from ramidyn.symbolic.interpreter import evaluate
from ramidyn.tracing.quantity import Quantity
from support import complex_step
from support.every_joint import every_joint
from support.planar import four_bar
from support.states import CASES, case, program, q_rate, state

TOLERANCE = 2e-12
"""of complex steps, scaled by the largest entry"""


@functools.cache
def chain_of_all(conventions: str) -> Robot:
    return every_joint(conventions)


def robot_of(name: str) -> Robot:
    return case(name) if name in CASES else chain_of_all(name)


def values(robot: Robot, quantity: Quantity, rng: np.random.Generator) -> Any:
    found = {**state(robot, rng), "tau": rng.normal(size=robot.nv)}
    found["external"] = rng.normal(size=(1, 6))
    return {v.name: found[v.name] for v in program(robot, quantity).inputs}


def steps(
    robot: Robot, quantity: Quantity, inputs: dict[str, Array], wrt: str
) -> dict[str, Array]:
    """Return dy/dx by complex steps, in the tangent space for q."""
    traced = program(robot, quantity)
    directions = np.eye(robot.nv if wrt == "q" else inputs[wrt].size)
    if wrt == "q":
        directions = np.stack([q_rate(robot, inputs["q"], e) for e in directions])
    directions = directions.reshape(-1, *inputs[wrt].shape)
    found = complex_step.directional(traced, inputs, {wrt: directions})
    return {n: np.moveaxis(x, 0, -1) for n, x in found.items()}


def assert_close(found: Array, expected: Array) -> None:
    scale = max(1.0, float(np.max(np.abs(expected), initial=0.0)))
    expected = expected.reshape(found.shape)
    np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE * scale)


BY_PROGRAM = [pytest.param(a, marks=pytest.mark.slow) for a in ("forward", "reverse")]


@pytest.mark.parametrize("algorithm", ["idsva", *BY_PROGRAM])
@pytest.mark.parametrize("name", CASES)
def test_derivatives_of_inverse_dynamics_are_those_of_complex_steps(
    name: str, algorithm: str, rng: np.random.Generator
) -> None:
    robot, quantity = case(name), ramidyn.inverse_dynamics
    inputs = values(robot, quantity, rng)
    derivatives = ramidyn.inverse_dynamics_derivatives(algorithm=algorithm)
    found = evaluate(program_of(derivatives, robot), inputs)
    names = {"dtau_dq": "q", "dtau_dqd": "qd", "M": "qdd"}
    assert list(found) == list(names)
    for output, wrt in names.items():
        (expected,) = steps(robot, quantity, inputs, wrt).values()
        assert_close(found[output], expected)


SMALL = ("coupled", "mujoco")


@pytest.mark.parametrize("algorithm", ["idsva", *BY_PROGRAM])
@pytest.mark.parametrize(
    "name",
    [
        *SMALL,
        *(pytest.param(n, marks=pytest.mark.slow) for n in ("featherstone", *CASES)),
    ],
)
def test_derivatives_of_forward_dynamics_are_those_of_complex_steps(
    name: str, algorithm: str, rng: np.random.Generator
) -> None:
    robot, quantity = robot_of(name), ramidyn.forward_dynamics
    inputs = values(robot, quantity, rng)
    derivatives = ramidyn.forward_dynamics_derivatives(algorithm=algorithm)
    found = evaluate(program_of(derivatives, robot), inputs)
    names = {"dqdd_dq": "q", "dqdd_dqd": "qd", "dqdd_dtau": "tau"}
    assert list(found) == list(names)
    for output, wrt in names.items():
        (expected,) = steps(robot, quantity, inputs, wrt).values()
        assert_close(found[output], expected)


@pytest.mark.parametrize("wrt", ["q", "qd", "tau"])
def test_derivatives_of_a_loop_over_columns_are_those_of_complex_steps(
    wrt: str, rng: np.random.Generator
) -> None:
    """Factors of such a loop, and what it is given, may be negated."""
    robot, quantity = ramidyn.robots.chain(17), ramidyn.forward_dynamics_derivatives
    derivatives = program_of(quantity, robot)
    assert derivatives.calls
    inputs = values(robot, quantity, rng)
    change = rng.normal(size=robot.nv)
    along = {n: change if n == wrt else np.zeros(x.shape) for n, x in inputs.items()}
    expected = complex_step.directional(derivatives, inputs, along, complex)
    jvp = program_of(ramidyn.jvp(quantity, (wrt,)), robot)
    found = evaluate(jvp, {**inputs, f"{wrt}_tangent": change})
    for name, y in expected.items():
        assert_close(found[f"{name}_tangent"], y)
    weights = {f"{n}_cotangent": rng.normal(size=y.shape) for n, y in expected.items()}
    vjp = program_of(ramidyn.vjp(quantity, (wrt,)), robot)
    back = evaluate(vjp, {**inputs, **weights})[f"{wrt}_cotangent"]
    total = sum(
        float(np.sum(weights[f"{n}_cotangent"] * y)) for n, y in expected.items()
    )
    assert float(back @ change) == pytest.approx(total, rel=1e-10)


GIMBAL = """<mujoco><worldbody><body name="rotor"><joint axis="0 0 1"/>
<joint axis="1 0 0"/><joint axis="0 0 1"/><geom size=".1 .2 .3" type="box" mass="1"/>
</body></worldbody></mujoco>"""


@pytest.mark.parametrize("algorithm", ["forward", "reverse", "idsva"])
def test_derivatives_of_a_locked_gimbal_are_not_finite(algorithm: str) -> None:
    robot = ramidyn.load(GIMBAL)
    inputs = {"q": [0.4, 0.0, 0.2], "qd": [1.0, 2.0, 3.0], "tau": [1.0, -2.0, 3.0]}
    given = {name: np.array(x) for name, x in inputs.items()}
    derivatives = ramidyn.forward_dynamics_derivatives(algorithm=algorithm)
    found = evaluate(program_of(derivatives, robot), given)
    # A turn about the first axis, along gravity, changes nothing.
    assert np.array_equal(found["dqdd_dq"][:, 0], np.zeros(3))
    assert not np.isfinite(found["dqdd_dq"][:, 1:]).any()
    assert not np.isfinite(found["dqdd_dqd"]).any()
    assert not np.isfinite(found["dqdd_dtau"][[0, 2]]).any()


@pytest.mark.parametrize("algorithm", [BY_PROGRAM[0], "idsva"])
@pytest.mark.parametrize("expressed_in", ["local", "world"])
def test_external_forces_turn_with_their_frame_or_stay(
    expressed_in: str, algorithm: str, rng: np.random.Generator
) -> None:
    robot = robot_of("mujoco")
    options = {"external": ("helical",), "expressed_in": expressed_in}
    inverse = ramidyn.inverse_dynamics(**options)
    inputs = values(robot, inverse, rng)
    derivatives = ramidyn.inverse_dynamics_derivatives(algorithm=algorithm, **options)
    found = evaluate(program_of(derivatives, robot), inputs)
    (expected,) = steps(robot, inverse, inputs, "q").values()
    assert_close(found["dtau_dq"], expected)


@pytest.mark.slow
def test_external_forces_have_their_part_in_forward_dynamics(
    rng: np.random.Generator,
) -> None:
    robot = robot_of("mujoco")
    options = {"external": ("helical",), "expressed_in": "world"}
    forward = ramidyn.forward_dynamics(**options)
    inputs = values(robot, forward, rng)
    derivatives = ramidyn.forward_dynamics_derivatives(**options)
    found = evaluate(program_of(derivatives, robot), inputs)
    (expected,) = steps(robot, forward, inputs, "q").values()
    assert_close(found["dqdd_dq"], expected)


KINEMATICS = {
    "pose": ramidyn.pose("spherical"),
    "velocity": ramidyn.velocity("spherical"),
    "acceleration": ramidyn.acceleration("spherical", kind="classical"),
    "jacobian": ramidyn.jacobian("spherical", expressed_in="world"),
    "jacobian_dot_times_qd": ramidyn.jacobian_dot_times_qd("spherical"),
    "center_of_mass": ramidyn.center_of_mass,
    "centroidal_momentum": ramidyn.centroidal_momentum,
    "kinetic_energy": ramidyn.kinetic_energy,
    "potential_energy": ramidyn.potential_energy,
    "gravity_forces": ramidyn.gravity_forces,
    "bias_forces": ramidyn.bias_forces,
}


@pytest.mark.parametrize("algorithm", ["forward", "reverse"])
@pytest.mark.parametrize("conventions", ["pinocchio", "mujoco"])
@pytest.mark.parametrize("name", KINEMATICS)
def test_derivatives_of_quantities_are_those_of_complex_steps(
    name: str, conventions: str, algorithm: str, rng: np.random.Generator
) -> None:
    robot, quantity = robot_of(conventions), KINEMATICS[name]
    inputs = values(robot, quantity, rng)
    wrt = tuple(inputs)
    derivative = ramidyn.derivative(quantity, wrt)(algorithm=algorithm)
    found = evaluate(program_of(derivative, robot), inputs)
    for x in wrt:
        for y, expected in steps(robot, quantity, inputs, x).items():
            assert_close(found[f"d{y}_d{x}"], expected)


def test_the_derivative_of_a_velocity_by_qd_is_the_jacobian(
    rng: np.random.Generator,
) -> None:
    robot = robot_of("pinocchio")
    inputs = values(robot, ramidyn.velocity("planar"), rng)
    both = [
        ramidyn.derivative(ramidyn.velocity("planar"), "qd"),
        ramidyn.jacobian("planar"),
    ]
    found, expected = evaluate(program_of(both, robot), inputs).values()
    assert_close(found, expected)


def test_raw_coordinates_are_the_entries_of_q(rng: np.random.Generator) -> None:
    robot, quantity = robot_of("mujoco"), ramidyn.center_of_mass
    inputs = values(robot, quantity, rng)
    raw = ramidyn.derivative(quantity, "q", space="coordinates")
    (found,) = evaluate(program_of(raw, robot), inputs).values()
    assert found.shape == (3, robot.nq)
    steps_of_q = {"q": np.eye(robot.nq)}
    found_by_steps = complex_step.directional(
        program(robot, quantity), inputs, steps_of_q
    )
    expected = found_by_steps["center_of_mass"].T
    assert_close(found, expected)


def test_products_with_derivatives_are_products_with_the_jacobian(
    rng: np.random.Generator,
) -> None:
    robot = robot_of("mujoco")
    of, wrt = [ramidyn.velocity("planar"), ramidyn.kinetic_energy], ("q", "qd")
    inputs = values(robot, of[0], rng)
    J = evaluate(program_of(ramidyn.derivative(of, wrt), robot), inputs)
    moves = {f"{n}_tangent": rng.normal(size=robot.nv) for n in wrt}
    weights = {
        "velocity_planar_cotangent": rng.normal(size=6),
        "kinetic_energy_cotangent": rng.normal(),
    }
    found = evaluate(program_of(ramidyn.jvp(of, wrt), robot), {**inputs, **moves})
    for y in ("velocity_planar", "kinetic_energy"):
        expected = sum(J[f"d{y}_d{x}"] @ moves[f"{x}_tangent"] for x in wrt)
        assert_close(found[f"{y}_tangent"], np.asarray(expected))
    found = evaluate(program_of(ramidyn.vjp(of, wrt), robot), {**inputs, **weights})
    assert list(found) == [
        *("velocity_planar", "kinetic_energy", "q_cotangent", "qd_cotangent")
    ]
    for x in wrt:
        expected = weights["velocity_planar_cotangent"] @ J[f"dvelocity_planar_d{x}"]
        expected = (
            expected + weights["kinetic_energy_cotangent"] * J[f"dkinetic_energy_d{x}"]
        )
        assert_close(found[f"{x}_cotangent"], expected)


def test_a_hessian_is_the_derivative_of_the_gradient(rng: np.random.Generator) -> None:
    robot, quantity = robot_of("pinocchio"), ramidyn.kinetic_energy
    inputs = values(robot, quantity, rng)
    found = evaluate(program_of(ramidyn.hessian(quantity, ("q", "qd")), robot), inputs)
    gradient = ramidyn.derivative(quantity, ("q", "qd"))(algorithm="reverse")
    by_q = steps(robot, gradient, inputs, "q")
    by_qd = steps(robot, gradient, inputs, "qd")
    assert_close(found["d2kinetic_energy_dq_dq"], by_q["dkinetic_energy_dq"])
    assert_close(found["d2kinetic_energy_dq_dqd"], by_qd["dkinetic_energy_dq"])
    assert_close(found["d2kinetic_energy_dqd_dqd"], by_qd["dkinetic_energy_dqd"])
    M = evaluate(program_of(ramidyn.mass_matrix, robot), inputs)["mass_matrix"]
    assert_close(found["d2kinetic_energy_dqd_dqd"], M)


def test_a_derivative_is_differentiated_again(rng: np.random.Generator) -> None:
    robot = robot_of("mujoco")
    quantity = ramidyn.derivative(ramidyn.center_of_mass, "q")
    inputs = values(robot, quantity, rng)
    twice = ramidyn.derivative(quantity, "q")
    (found,) = evaluate(program_of(twice, robot), inputs).values()
    (expected,) = steps(robot, quantity, inputs, "q").values()
    assert found.shape == (3, robot.nv, robot.nv)
    assert_close(found, expected)


# ------------------------------------------------------------ steps


DIFFERENCE = 1e-6
"""of central differences: what they leave of 16 digits is about 9"""


def central(robot: Robot, f: Any) -> Array:
    """Return the derivative of a function of a tangent vector at zero."""
    steps_ = DIFFERENCE * np.eye(robot.nv)
    return np.stack([(f(e) - f(-e)) / (2 * DIFFERENCE) for e in steps_], axis=-1)


@pytest.mark.parametrize("conventions", ["pinocchio", "mujoco"])
def test_derivatives_of_integrate_and_difference_are_those_of_small_steps(
    conventions: str, rng: np.random.Generator
) -> None:
    robot = robot_of(conventions)
    x, dt = state(robot, rng), 0.3
    q, qd = x["q"], x["qd"]
    q1 = robot.integrate(q, qd, dt)
    program_ = program_of(ramidyn.integrate_derivatives, robot)
    found = evaluate(program_, {"q": q, "qd": qd, "dt": dt})

    def moved(e: Array, rate: Array) -> Array:
        reached = robot.integrate(robot.integrate(q, e), qd + rate, dt)
        return robot.difference(q1, reached)

    zero = np.zeros(robot.nv)
    by_q, by_qd = (
        central(robot, lambda e: moved(e, zero)),
        central(robot, lambda e: moved(zero, e)),
    )
    np.testing.assert_allclose(found["dq1_dq"], by_q, atol=1e-8)
    np.testing.assert_allclose(found["dq1_dqd"], by_qd, atol=1e-8)
    program_ = program_of(ramidyn.difference_derivatives, robot)
    found = evaluate(program_, {"q0": q, "q1": q1})
    by_q0 = central(robot, lambda e: robot.difference(robot.integrate(q, e), q1))
    by_q1 = central(robot, lambda e: robot.difference(q, robot.integrate(q1, e)))
    np.testing.assert_allclose(found["dv_dq0"], by_q0, atol=1e-8)
    np.testing.assert_allclose(found["dv_dq1"], by_q1, atol=1e-8)


@pytest.mark.parametrize("conventions", ["pinocchio", "mujoco"])
def test_derivatives_of_no_step_are_the_identity(
    conventions: str, rng: np.random.Generator
) -> None:
    """Angles are divided by there, in second derivatives too."""
    robot = robot_of(conventions)
    q, rest, one = state(robot, rng)["q"], np.zeros(robot.nv), np.eye(robot.nv)
    still = {"q": q, "qd": rest, "dt": np.array(0.3)}
    found = evaluate(program(robot, ramidyn.integrate_derivatives), still)
    assert_close(found["dq1_dq"], one)
    assert_close(found["dq1_dqd"], 0.3 * one)
    found = evaluate(program(robot, ramidyn.difference_derivatives), {"q0": q, "q1": q})
    assert_close(found["dv_dq0"], -one)
    assert_close(found["dv_dq1"], one)
    again = ramidyn.derivative(ramidyn.integrate_derivatives, ("q", "qd"))
    second = evaluate(program_of(again, robot), still)
    assert all(np.isfinite(x).all() for x in second.values())


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "rk4"])
def test_a_linearized_step_is_the_derivative_of_the_step(
    integrator: str, rng: np.random.Generator
) -> None:
    """A spherical joint and a hinge: steps of q before and after differ."""
    description = RobotBuilder("arm")
    inertia = Inertia.from_box(1.0, (0.1, 0.2, 0.3), at=(0.1, 0.0, 0.2))
    description.add(Body("upper", inertia), "world", Joint.spherical())
    place = (0.1, 0.2, 0.3)
    joint = Joint.revolute((0, 1, 1))
    description.add(Body("lower", inertia), "upper", joint, place)
    robot = Robot.from_description(description.description())
    x, dt, nv = state(robot, rng), 0.02, robot.nv
    q, qd, tau = x["q"], x["qd"], rng.normal(size=nv)
    A, B = robot.linearize(q, qd, tau, dt, integrator=integrator)

    def step(q: Array, qd: Array, tau: Array) -> tuple[Array, Array]:
        run = robot.rollout(q, qd, tau, dt, steps=1, integrator=integrator)
        return run.q[-1], run.qd[-1]

    end, _ = step(q, qd, tau)

    def after(e: Array, f: Array, g: Array) -> Array:
        q1, qd1 = step(robot.integrate(q, e), qd + f, tau + g)
        return np.concatenate([robot.difference(end, q1), qd1])

    zero = np.zeros(nv)
    by_q = central(robot, lambda e: after(e, zero, zero))
    by_qd = central(robot, lambda e: after(zero, e, zero))
    by_tau = central(robot, lambda e: after(zero, zero, e))
    np.testing.assert_allclose(A, np.hstack([by_q, by_qd]), atol=1e-8)
    np.testing.assert_allclose(B, by_tau, atol=1e-8)


@pytest.mark.parametrize(
    ("name", "algorithm"),
    [
        *((name, a) for name in SMALL for a in ("reverse", "adjoint_ltdl")),
        *((n, "adjoint_aba") for n in ("forest", "floating_base", "coupled")),
    ],
)
def test_gradients_of_forward_dynamics_are_products_with_its_derivatives(
    name: str, algorithm: str, rng: np.random.Generator
) -> None:
    robot, wrt = robot_of(name), ("q", "qd", "tau")
    gradient = ramidyn.vjp(ramidyn.forward_dynamics, wrt)(algorithm=algorithm)
    inputs = values(robot, ramidyn.forward_dynamics, rng)
    weights = rng.normal(size=robot.nv)
    given = {**inputs, "forward_dynamics_cotangent": weights}
    found = evaluate(program_of(gradient, robot), given)
    for x in wrt:
        (J,) = steps(robot, ramidyn.forward_dynamics, inputs, x).values()
        assert_close(found[f"{x}_cotangent"], weights @ J)


@pytest.mark.parametrize("name", ["coupled", "mujoco"])
def test_packed_derivatives_leave_out_nothing_but_zeros(
    name: str, rng: np.random.Generator
) -> None:
    robot = robot_of(name)
    both = [
        ramidyn.inverse_dynamics_derivatives(algorithm="idsva"),
        ramidyn.inverse_dynamics_derivatives(algorithm="idsva", packed=True),
    ]
    inputs = values(robot, ramidyn.inverse_dynamics, rng)
    dense, packed = (evaluate(program_of(x, robot), inputs) for x in both)
    layout = robot.derivatives_layout
    for n, entries in packed.items():
        full = np.zeros((robot.nv, robot.nv))
        full[layout.rowind, layout.colind] = entries
        np.testing.assert_array_equal(full, dense[n])


@pytest.mark.parametrize("name", ["forest", "coupled", "mujoco"])
def test_packed_derivatives_of_accelerations_leave_out_other_trees(
    name: str, rng: np.random.Generator
) -> None:
    robot = robot_of(name)
    of = ramidyn.forward_dynamics_derivatives(algorithm="idsva")
    inputs = values(robot, of, rng)
    dense, packed = (evaluate(program(robot, x), inputs) for x in (of, of(packed=True)))
    layout = robot.forward_derivatives_layout
    assert (len(layout.colind) < robot.nv**2) == (name == "forest")
    for n, entries in packed.items():
        full = np.zeros((robot.nv, robot.nv))
        full[layout.rowind, layout.colind] = entries
        np.testing.assert_array_equal(full, dense[n])


def test_methods_take_packed(rng: np.random.Generator) -> None:
    robot = ramidyn.robots.binary_tree(3)
    q, qd, x = rng.normal(size=(3, 5, robot.nv))
    packed = robot.inverse_dynamics_derivatives(q, qd, x, packed=True)
    dense = robot.inverse_dynamics_derivatives(q, qd, x)
    layout = robot.derivatives_layout
    for a, b in zip(packed, dense, strict=True):
        assert_close(a, b[:, layout.rowind, layout.colind])
    packed = robot.forward_dynamics_derivatives(q, qd, x, packed=True)
    dense = robot.forward_dynamics_derivatives(q, qd, x)
    for a, b in zip(packed, dense, strict=True):
        assert_close(a, b.reshape(5, -1))


def test_loops_make_one_block_of_all_trees() -> None:
    layout = four_bar().forward_derivatives_layout
    assert layout.colind.tolist() == [0, 1, 2] * 3


@pytest.mark.parametrize(
    ("quantity", "where"),
    [
        (ramidyn.inverse_dynamics_derivatives, "on different branches"),
        (ramidyn.forward_dynamics_derivatives, "of different trees"),
    ],
    ids=str,
)
def test_forces_between_trees_are_not_packed(quantity: Quantity, where: str) -> None:
    robot = robot_of("forest")
    tied = robot.add_force(ramidyn.forces.PointSpring("body0", "body1", 3.0))
    match = f"forces of robot 'random_tree' couple joints {where}; leave packed out"
    with pytest.raises(ArgumentError, match=match):
        program_of(quantity(packed=True), tied)


def test_loops_over_columns_solve_with_the_mass_matrix(
    rng: np.random.Generator,
) -> None:
    robot = ramidyn.robots.binary_tree(15)
    quantity = ramidyn.forward_dynamics_derivatives(algorithm="idsva")
    inputs = values(robot, quantity, rng)
    traced = program(robot, quantity)
    (call,) = traced.calls
    assert len({s.steps for s in call.value.body.sweeps}) > 2  # limbs differ
    found = evaluate(traced, inputs)
    (qdd,) = evaluate(program(robot, ramidyn.forward_dynamics), inputs).values()
    inverse = ramidyn.inverse_dynamics_derivatives(algorithm="idsva")
    given = {"q": inputs["q"], "qd": inputs["qd"], "qdd": qdd}
    dtau_dq, dtau_dqd, M = evaluate(program(robot, inverse), given).values()
    assert_close(M @ found["dqdd_dq"], -dtau_dq)
    assert_close(M @ found["dqdd_dqd"], -dtau_dqd)
    assert_close(M @ found["dqdd_dtau"], np.eye(robot.nv))


@pytest.mark.parametrize("conventions", ["pinocchio", "mujoco"])
def test_a_free_robot_moves_alike_wherever_it_is_and_however_fast(
    conventions: str, rng: np.random.Generator
) -> None:
    """Its pose turns gravity alone; linear velocity only turns with its axes."""
    description = ramidyn.robots.humanoid30("plain").description
    robot = Robot.from_description(description, conventions=conventions)
    quantity = ramidyn.forward_dynamics_derivatives(algorithm="idsva")
    traced = program_of(quantity, robot)
    inputs = values(robot, ramidyn.forward_dynamics, rng)
    found = evaluate(traced, inputs)
    for name, wrt in (("dqdd_dq", "q"), ("dqdd_dqd", "qd")):
        (expected,) = steps(robot, ramidyn.forward_dynamics, inputs, wrt).values()
        assert_close(found[name], expected)
        if conventions == "pinocchio":  # else forces on the base do not turn with it
            base = slice(0, 6) if wrt == "q" else slice(0, 3)
            assert not found[name][6:, base].any()
