"""Force elements: energy, balance, friction, and their place in the dynamics."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import ramidyn
from ramidyn import forces
from ramidyn.builder import Body, Inertia, Joint, RobotBuilder
from ramidyn.compiler import program_of
from ramidyn.description.pose import Array
from ramidyn.robot import Robot
from ramidyn.symbolic.interpreter import evaluate
from support.close import assert_close
from support.complex_step import directional
from support.force_elements import ELEMENTS, with_all
from support.planar import four_bar
from support.states import case, q_rate, rotation, state

CONSERVATIVE = [
    name for name in ELEMENTS if name not in ("joint damper", "joint friction")
]
STATES = 20


def slow(name: str) -> Any:
    """Return a case that only --slow runs."""
    return pytest.param(name, marks=pytest.mark.slow)


@functools.cache
def full(name: str) -> Robot:
    """Return a robot with an element of every kind."""
    return with_all(case(name))


def applied(
    robot: Robot, q: Array, qd: Array, forces: tuple[str, ...] | None = None
) -> Array:
    program = program_of(ramidyn.applied_forces(forces), robot)
    (tau,) = evaluate(program, {"q": q, "qd": qd}).values()
    return tau


def energy_gradient(robot: Robot, q: Array, forces: tuple[str, ...]) -> Array:
    """Return ∂E/∂q along every entry of qd, by complex steps."""
    program = program_of(ramidyn.elastic_energy(forces), robot)
    directions = [q_rate(robot, q, e) for e in np.eye(robot.nv)]
    (found,) = directional(program, {"q": q}, {"q": np.array(directions)}).values()
    return found


@pytest.mark.parametrize("name", CONSERVATIVE)
@pytest.mark.parametrize("robot_name", [slow("every_joint_type"), "floating_base"])
def test_force_at_rest_is_minus_the_gradient_of_the_energy(
    robot_name: str, name: str, rng: np.random.Generator
) -> None:
    robot = full(robot_name)
    q = state(robot, rng)["q"]
    tau = applied(robot, q, np.zeros(robot.nv), (name,))
    assert np.abs(tau).max() > 1e-3
    assert_close(tau, -energy_gradient(robot, q, (name,)))


@pytest.mark.parametrize(
    "is_neutral", [False, pytest.param(True, marks=pytest.mark.slow)]
)
def test_spring_of_a_joint_with_several_freedoms_stores_energy(
    is_neutral: bool, rng: np.random.Generator
) -> None:
    robot = case("every_joint_type")
    rest, q = state(robot, rng)["q"], state(robot, rng)["q"]
    for joint in robot.model.joints:
        reference = 0.0 if is_neutral else tuple(rest[joint.q_slice])
        spring = forces.JointSpring(joint.name, 3.0, reference)
        robot = robot.add_force(spring, name=joint.name)
    names = robot.joint_names
    still = np.zeros(robot.nv)
    tau = applied(robot, q, still)
    assert np.count_nonzero(tau) == robot.nv
    assert_close(tau, -energy_gradient(robot, q, names))
    at_rest = robot.neutral() if is_neutral else rest
    assert_close(applied(robot, at_rest, still), still)


@pytest.mark.parametrize("name", ELEMENTS)
def test_no_passive_force_adds_energy(name: str, rng: np.random.Generator) -> None:
    robot = full("floating_base")
    q = np.array([state(robot, rng)["q"] for _ in range(STATES)])
    qd = 2.0 * rng.normal(size=(STATES, robot.nv))
    still = np.zeros_like(qd)
    lost = applied(robot, q, qd, (name,)) - applied(robot, q, still, (name,))
    power = np.einsum("ni,ni->n", qd, lost)
    assert power.max() <= 1e-12
    if name not in ("joint spring", "gravity compensation"):
        assert power.min() < -1e-3


@pytest.mark.parametrize("name", ["point spring", "stop", "torsion spring", "bushing"])
def test_force_between_two_bodies_has_no_resultant(
    name: str, rng: np.random.Generator
) -> None:
    robot = full("floating_base")
    s = state(robot, rng)
    tau = applied(robot, s["q"], s["qd"], (name,))
    base = robot.model.joints[0]
    assert base.type == "floating"
    assert np.abs(tau).max() > 1e-3
    assert_close(tau[base.v_slice], np.zeros(6))


def ball(mass: float = 2.0) -> Robot:
    """Return a free body."""
    builder = RobotBuilder("ball")
    inertia = Inertia.from_box(mass, (0.2, 0.3, 0.4))
    builder.add(Body("ball", inertia), "world", Joint.floating())
    return Robot.from_description(builder.description())


def world_force(robot: Robot, q: Array, qd: Array) -> Array:
    """Return the force on a free body, in the world's axes."""
    return rotation(q[3:]) @ applied(robot, q, qd)[:3]


def test_resting_sphere_is_carried_by_its_weight() -> None:
    weight, k, r = 2.0 * 9.81, 3e4, 0.1
    sphere = forces.SphereContact("ball", r, k, dissipation=0.3, friction=0.7)
    robot = ball().add_force(sphere)
    depth = (weight / k) ** (2 / 3)
    q = np.array([0.3, -0.2, r - depth, 0.0, 0.0, 0.0, 1.0])
    still = np.zeros(6)
    assert_close(world_force(robot, q, still), [0.0, 0.0, weight])
    program = program_of(ramidyn.forward_dynamics, robot)
    (qdd,) = evaluate(program, {"q": q, "qd": still, "tau": still}).values()
    assert_close(qdd, still)


@pytest.mark.parametrize("kind", ["point", "sphere", "tire"])
def test_friction_stays_in_its_cone_and_opposes_sliding(
    kind: str, rng: np.random.Generator
) -> None:
    mu = 0.6
    elements = {
        "point": forces.PointContact("ball", 300.0, 0.2, mu, point=(0.1, 0.2, 0.0)),
        "sphere": forces.SphereContact("ball", 0.5, 300.0, 0.2, mu),
        "tire": forces.Tire("ball", 0.5, 300.0, 9.0, 400.0, 300.0, mu),
    }
    robot = ball().add_force(elements[kind])
    touching = 0
    for _ in range(50):
        s = state(robot, rng)
        s["q"][2] *= 0.2
        f = world_force(robot, s["q"], s["qd"])
        assert f[2] >= -1e-12
        assert np.hypot(f[0], f[1]) <= mu * f[2] + 1e-12
        touching += f[2] > 0.0
    assert touching > 10


def test_tire_follows_its_slip_stiffness_at_small_slip() -> None:
    tire = forces.Tire("ball", 0.5, 1e4, 0.0, 2e3, 1e3, friction=1.0, low_speed=1e-6)
    robot = ball().add_force(tire)
    q = np.array([0.0, 0.0, 0.49, 0.0, 0.0, 0.0, 1.0])
    rolling = np.array([3.0, 0.0, 0.0, 0.0, 3.0 / 0.5, 0.0])
    assert_close(world_force(robot, q, rolling), [0.0, 0.0, 100.0], tolerance=1e-6)
    slip, angle = 1e-3, 2e-3
    qd = np.array([3.0, 3.0 * angle, 0.0, 0.0, 3.0 * (1.0 + slip) / 0.5, 0.0])
    f = world_force(robot, q, qd)
    assert_close(f[:2], [2e3 * slip, -1e3 * angle], tolerance=0.02)
    spinning = np.array([0.0, 0.0, 0.0, 0.0, 50.0, 0.0])
    assert_close(world_force(robot, q, spinning)[:2], [100.0, 0.0], tolerance=1e-6)


def test_coincident_points_feel_a_finite_force() -> None:
    spring = forces.PointSpring(
        "world", "ball", stiffness=50.0, damping=3.0, rest_length=0.2
    )
    robot = ball().add_force(spring)
    q, still = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]), np.zeros(6)
    assert_close(applied(robot, q, still), still)
    slope = program_of(ramidyn.derivative(ramidyn.applied_forces, ("q", "qd")), robot)
    found = evaluate(slope, {"q": q, "qd": np.ones(6)})
    assert all(np.isfinite(x).all() for x in found.values())


@pytest.mark.parametrize(
    "robot_name", ["coupled", slow("floating_base"), slow("forest")]
)
def test_dynamics_has_all_forces(robot_name: str, rng: np.random.Generator) -> None:
    robot = full(robot_name)
    s = {**state(robot, rng), "tau": rng.normal(size=robot.nv)}
    s.update(control=rng.normal(size=3), wind=rng.normal(size=3))

    def value(quantity: ramidyn.Quantity) -> Array:
        program = program_of(quantity, robot)
        given = {v.name: s[v.name] for v in program.inputs}
        (found,) = evaluate(program, given).values()
        return found

    M, h = value(ramidyn.mass_matrix), value(ramidyn.bias_forces)
    tau = M @ s["qdd"] + h - value(ramidyn.applied_forces)
    assert_close(value(ramidyn.inverse_dynamics), tau)
    names = ("ltdl",) if robot.model.mimics else ("aba", "ltdl")
    for name in names:
        qdd = value(ramidyn.forward_dynamics(algorithm=name))
        right = s["tau"] + value(ramidyn.applied_forces) - h
        assert_close(M @ qdd, right, name)


@pytest.mark.parametrize("algorithm", ["idsva", slow("forward"), slow("reverse")])
def test_derivatives_have_all_forces(algorithm: str, rng: np.random.Generator) -> None:
    robot = full("floating_base")
    s = {**state(robot, rng), "tau": rng.normal(size=robot.nv)}
    s.update(control=0.1 * rng.normal(size=3), wind=rng.normal(size=3))
    program = program_of(
        ramidyn.inverse_dynamics_derivatives(algorithm=algorithm), robot
    )
    found = evaluate(program, {v.name: s[v.name] for v in program.inputs})
    torques = program_of(ramidyn.inverse_dynamics, robot)
    given = {v.name: s[v.name] for v in torques.inputs}
    unit = np.eye(robot.nv)
    q = np.array([q_rate(robot, s["q"], e) for e in unit])
    (dq,) = directional(torques, given, {"q": q}).values()
    (dqd,) = directional(torques, given, {"qd": unit}).values()
    assert_close(found["dtau_dq"], dq.T)
    assert_close(found["dtau_dqd"], dqd.T)


def test_loops_feel_all_forces(rng: np.random.Generator) -> None:
    plain = four_bar()
    a, b = plain.body_names[0], plain.body_names[-1]
    robot = (
        plain.add_force(forces.JointSpring(plain.joint_names[1], 5.0, 0.4))
        .add_force(forces.PointSpring("world", b, 30.0, 2.0, 0.1, point_a=(0, 1, 1)))
        .add_force(forces.PointContact(a, 10.0, offset=3.0))
    )
    q = plain.assemble(fixed={plain.joint_names[0]: 0.7})
    q, qd = plain.project(q, rng.normal(size=robot.nv))
    s = {"q": q, "qd": qd, "tau": rng.normal(size=robot.nv)}

    def value(quantity: ramidyn.Quantity) -> Array:
        program = program_of(quantity, robot)
        given = {v.name: s[v.name] for v in program.inputs}
        (found,) = evaluate(program, given).values()
        return found

    J, M = value(ramidyn.constraint_jacobian), value(ramidyn.mass_matrix)
    right = s["tau"] + value(ramidyn.applied_forces) - value(ramidyn.bias_forces)
    for name in ("joint_formulation", "loopwise", "constrained_aba"):
        qdd = value(ramidyn.forward_dynamics(algorithm=name))
        force = value(ramidyn.loop_forces(algorithm=name))
        assert_close(M @ qdd, right + J.T @ force, name, tolerance=1e-8)
        assert_close(J @ qdd, -value(ramidyn.constraint_bias), name, tolerance=1e-8)


def test_potential_energy_is_that_of_gravity_and_of_elements(
    rng: np.random.Generator,
) -> None:
    robot = full("floating_base")
    s = state(robot, rng)
    program = program_of(ramidyn.potential_energy, robot)
    rate = {"q": q_rate(robot, s["q"], s["qd"])}
    (change,) = directional(program, {"q": s["q"]}, rate).values()
    (g,) = evaluate(program_of(ramidyn.gravity_forces, robot), {"q": s["q"]}).values()
    at_rest = applied(robot, s["q"], np.zeros(robot.nv), tuple(CONSERVATIVE))
    assert_close(change, s["qd"] @ (g - at_rest))


def test_joints_carry_what_acts_on_their_bodies(rng: np.random.Generator) -> None:
    robot = ramidyn.robots.chain(3)
    spring = forces.PointSpring("body0", "body2", 7.0, 0.4, 0.1, point_b=(0.1, 0.2, 0))
    robot = robot.add_force(spring).add_force(forces.JointSpring("joint1", 5.0))
    q, qd, qdd = rng.normal(size=(3, 3))
    given = {"q": q, "qd": qd, "qdd": qdd}
    wrenches, tau = (
        next(iter(evaluate(program_of(x, robot), given).values()))
        for x in (ramidyn.joint_wrenches, ramidyn.inverse_dynamics)
    )
    axes = np.array([b.joints[0].axis for b in robot.description.bodies])
    moments = (wrenches[:, 3:] * axes).sum(axis=1)
    # Across a joint go its motor and the spring in it.
    in_joint = np.array([0.0, -5.0 * q[1], 0.0])
    assert_close(moments, tau + in_joint)
