"""Reactions: joint wrenches balance every body, loop wrenches do what Jᵀ λ says."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import ramidyn
from ramidyn.catalog.paper_robots import random_tree
from ramidyn.description.description import LoopDescription
from ramidyn.description.formats.parse import parse
from ramidyn.description.loop_types import ROWS
from ramidyn.description.pose import Array, Pose
from ramidyn.errors import ArgumentError, ModelError
from ramidyn.quantities.closed_loops import constraint_jacobian, loop_forces
from ramidyn.quantities.dynamics import forward_dynamics, inverse_dynamics
from ramidyn.quantities.frames import acceleration, jacobian, pose, velocity
from ramidyn.quantities.reactions import joint_wrenches, wrenches_of_cuts
from ramidyn.robot import Robot
from ramidyn.tracing.context import Context, array
from ramidyn.tracing.quantity import Shapes, quantity
from support import loops, states
from support.close import assert_close
from support.loops import JOINT_TYPES, random_pose
from support.planar import Planar, four_bar
from support.states import CASES, angular, case, linear, six, state, value

ALIGNED = "local_world_aligned"


# ------------------------------------------------------------ joints


def moved(robot: Robot, wrench: Array, p: Array) -> Array:
    """Return a wrench given about the point p about the origin."""
    n, f = angular(robot, wrench), linear(robot, wrench)
    return six(robot, n + np.cross(p, f), f)


def turned(robot: Robot, R: Array, wrench: Array) -> Array:
    return six(robot, R @ angular(robot, wrench), R @ linear(robot, wrench))


@functools.cache
def motions(name: str) -> Any:
    """Return the program of the motion of each body with mass."""
    robot = case(name)
    wanted = [
        one
        for b in bodies_with_mass(robot)
        for one in (
            pose(b.name),
            velocity(b.name, expressed_in=ALIGNED),
            acceleration(b.name, expressed_in=ALIGNED),
        )
    ]
    return states.program_of(wanted, robot)


def bodies_with_mass(robot: Robot) -> list[Any]:
    return [b for b in robot.description.bodies if b.inertial is not None]


def momentum_rates(name: str, now: dict[str, Array]) -> dict[int, Array]:
    """Return the wrench that moves each body of the tree, about the world's origin."""
    robot = case(name)
    found = list(states.evaluate(motions(name), now).values())
    rates = {i: np.zeros(6) for i in range(len(robot.tree))}
    for k, body in enumerate(bodies_with_mass(robot)):
        T, v, a = found[3 * k : 3 * k + 3]
        R, w, wd = T[:3, :3], angular(robot, v), angular(robot, a)
        r = R @ body.inertial.com
        at_center = linear(robot, a) + np.cross(wd, r) + np.cross(w, np.cross(w, r))
        f = body.inertial.mass * (at_center - np.array(robot.gravity))
        I = R @ body.inertial.inertia @ R.T
        n = I @ wd + np.cross(w, I @ w)
        i = robot.model.frames[body.name].body
        if i >= 0:
            rates[i] += moved(robot, six(robot, n, f), T[:3, 3] + r)
    return rates


@pytest.mark.parametrize("name", CASES)
def test_joint_wrenches_balance_every_body(name: str, rng: np.random.Generator) -> None:
    robot = case(name)
    now = state(robot, rng)
    w = value(robot, joint_wrenches(expressed_in="world"), **now)
    assert w.shape == (len(robot.tree), 6)
    left = w.copy()
    for i, p in robot.tree:
        if p >= 0:
            left[p] -= w[i]
    rates = momentum_rates(name, now)
    assert_close(left, np.array([rates[i] for i in range(len(left))]))


@pytest.mark.parametrize("name", ["every_joint_type", "floating_base"])
def test_axes_and_points_of_joint_wrenches_are_those_named(
    name: str, rng: np.random.Generator
) -> None:
    robot = case(name)
    now = state(robot, rng)
    local, world, aligned = (
        value(robot, joint_wrenches(expressed_in=x), **now)
        for x in ("local", "world", ALIGNED)
    )
    found = states.evaluate(motions(name), now)
    for body in bodies_with_mass(robot):
        if not body.joints:
            continue
        i = robot.model.frames[body.name].body
        T = found[f"pose_{body.name}"]
        at = T[:3, :3] @ body.joints[-1].position + T[:3, 3]
        assert_close(aligned[i], turned(robot, T[:3, :3], local[i]))
        assert_close(world[i], moved(robot, aligned[i], at))


def along_axis(robot: Robot, local: Array, joint: Any) -> float:
    """Return Sᵀ w of a joint with one coordinate, with the axis from its file."""
    n, f = angular(robot, local) @ joint.axis, linear(robot, local) @ joint.axis
    return float(
        {"revolute": n, "prismatic": f, "helical": n + joint.pitch * f}[joint.type]
    )


def test_transmissions_pass_on_what_followers_need(rng: np.random.Generator) -> None:
    robot = case("coupled")
    now = state(robot, rng)
    w = value(robot, joint_wrenches, **now)
    tau = value(robot, inverse_dynamics, **now)
    sums = np.zeros(robot.nv)
    joints = {j.name: j for b in robot.description.bodies for j in b.joints}
    for i, body in enumerate(robot.tree.bodies):
        j = body.joint
        own = along_axis(robot, w[i], joints[j.name])
        rotor = j.armature * j.multiplier**2 * now["qdd"][j.v_index]
        sums[j.v_index] += j.multiplier * own + rotor
    assert len(robot.model.mimics) == 3
    assert_close(sums, tau)


def test_external_forces_relieve_all_joints_before_them(
    rng: np.random.Generator,
) -> None:
    robot = case("floating_base")
    now = state(robot, rng)
    frame = robot.body_names[-1]
    wrench = rng.normal(size=6)
    T = value(robot, pose(frame), q=now["q"])
    pushes = {"world": wrench, ALIGNED: moved(robot, wrench, T[:3, 3])}
    carries = robot.tree.support(robot.model.frames[frame].body)
    for axes, push in pushes.items():
        alone = value(robot, joint_wrenches(expressed_in=axes), **now)
        pushed = joint_wrenches(external=(frame,), expressed_in=axes)
        relief = alone - value(robot, pushed, **now, external=wrench[None])
        for i in range(len(robot.tree)):
            f = linear(robot, push) * (i in carries)
            assert_close(linear(robot, relief[i]), f)
        if axes == "world":
            assert_close(relief[carries[0]], push)


def test_a_pendulum_hangs_on_its_joint() -> None:
    text = """<mujoco><worldbody><body pos="0 0 2"><joint name="pin" axis="0 1 0"
      pos="0 0 0.5"/><geom type="sphere" size="0.1" mass="2"/></body></worldbody>
      </mujoco>"""
    robot = Robot.from_description(parse(text), conventions="pinocchio")
    still = np.zeros(1)
    (w,) = value(robot, joint_wrenches, q=still, qd=still, qdd=still)
    assert_close(w, [0, 0, 2 * 9.81, 0, 0, 0])
    turning = np.array([3.0])  # and the joint bears m r w² more, up the rod
    (w,) = value(robot, joint_wrenches, q=still, qd=turning, qdd=still)
    assert_close(w, [0, 0, 2 * (9.81 + 0.5 * 9.0), 0, 0, 0])
    aside = np.array([np.pi / 2])  # held still at the side: axes of the body turn along
    (w,) = value(robot, joint_wrenches, q=aside, qd=still, qdd=still)
    assert_close(w, [-2 * 9.81, 0, 0, 0, 2 * 9.81 * 0.5, 0])


def test_the_method_takes_batches_and_forces_by_frame() -> None:
    robot = ramidyn.robots.chain(2)
    rng = np.random.default_rng(0)
    q, qd, qdd = rng.normal(size=(3, 4, 2))
    wrench = np.arange(6.0)
    external = {"body1": wrench}
    w = robot.joint_wrenches(q, qd, qdd, external=external, expressed_in="world")
    assert w.shape == (4, 2, 6)
    quantity = joint_wrenches(external=("body1",), expressed_in="world")
    one = {"q": q[2], "qd": qd[2], "qdd": qdd[2], "external": wrench[None]}
    assert_close(w[2], value(robot, quantity, **one))
    with pytest.raises(ArgumentError, match="expressed_in is 'body'; possible"):
        robot.joint_wrenches(q, qd, qdd, expressed_in="body")


def test_joints_carry_force_elements(rng: np.random.Generator) -> None:
    robot = Robot.from_description(random_tree(3, 2, joints=("revolute",)))
    between = ramidyn.forces.PointSpring(
        "world", "body2", 50.0, 2.0, 0.1, point_b=(0.1, 0.2, 0.3)
    )
    inside = ramidyn.forces.JointSpring("joint0", 5.0)
    robot = robot.add_force(between).add_force(inside)
    now = state(robot, rng)
    w, tau = (value(robot, x, **now) for x in (joint_wrenches, inverse_dynamics))
    joints = {j.name: j for b in robot.description.bodies for j in b.joints}
    for i, body in enumerate(robot.tree.bodies):
        j = body.joint
        spring = -5.0 * now["q"][j.q_index] if j.name == "joint0" else 0.0
        along = along_axis(robot, w[i], joints[j.name])
        assert_close(along, tau[j.v_index] + spring)


# ------------------------------------------------------------ loops


def _rows(model: Any, **_: Any) -> Shapes:
    return {"x": (sum(len(ROWS[loop.type]) for loop in model.loops),)}


@quantity("q", further_inputs=_rows)
def wrenches(context: Context, expressed_in: str = "local") -> Any:
    """What loops do with multipliers x."""
    return array(wrenches_of_cuts(context, list(context.inputs["x"]), expressed_in))


@functools.cache
def every_cut() -> Robot:
    """A tree with a loop of every type, open as they are: rows are defined anywhere."""
    rng = np.random.default_rng(1)
    description = random_tree(9, 4, roots=2)
    robot = Robot.from_description(description)
    moving = [b.name for b in description.bodies if b.joints]
    pairs = list(zip(moving, (*moving[3:], None, *moving[:2]), strict=False))
    new = [
        LoopDescription(
            f"loop{k}",
            type_,
            *pairs[k % len(pairs)],
            random_pose(rng),
            random_pose(rng),
            length=0.7,
        )
        for k, type_ in enumerate(JOINT_TYPES)
    ]
    simple = [j.name for j in robot.model.joints if j.nv == 1][:2]
    gear = LoopDescription(
        "gear", "coupling", joints=tuple(simple), coefficients=(0.1, 2.0)
    )
    return Robot.from_description(
        replace(description, loops=(*new[:4], gear, *new[4:]))
    )


@functools.cache
def at_random() -> tuple[Robot, Array, Array, dict[str, Array]]:
    robot = every_cut()
    rng = np.random.default_rng(2)
    q = state(robot, rng)["q"]
    x = rng.normal(size=sum(len(loop.rows) for loop in robot.loops))
    found = {
        axes: value(robot, wrenches(expressed_in=axes), q=q, x=x)
        for axes in ("local", "world", ALIGNED)
    }
    return robot, q, x, found


def ends(loop: LoopDescription) -> tuple[tuple[str, Pose], tuple[str, Pose]]:
    return (
        (loop.body_a or "world", loop.placement_a),
        (loop.body_b or "world", loop.placement_b),
    )


def test_loop_wrenches_have_the_generalized_forces_of_the_multipliers() -> None:
    robot, q, x, found = at_random()
    J = value(robot, constraint_jacobian, q=q)
    for k, loop in enumerate(robot.loops):
        expected = J[loop.rows].T @ x[loop.rows]
        if loop.type == "coupling":
            assert not found["world"][k].any()
            continue
        assert np.abs(expected).max() > 1e-3
        total = np.zeros(robot.nv)
        for name, w in zip((loop.body_a, loop.body_b), found["world"][k], strict=True):
            total += value(robot, jacobian(name, expressed_in="world"), q=q).T @ w
        assert_close(total, expected, loop.type)


def test_loop_wrenches_are_opposite_and_in_the_frames_of_the_cut() -> None:
    robot, q, _, found = at_random()
    assert_close(found["world"][:, 0], -found["world"][:, 1], tolerance=1e-15)
    for k, loop in enumerate(robot.model.loops):
        if loop.type == "coupling":
            continue
        for side, (name, placement) in enumerate(ends(loop)):
            body = value(robot, pose(name), q=q)
            T = Pose(body[:3, :3], body[:3, 3]) @ placement
            aligned = found[ALIGNED][k, side]
            assert_close(aligned, turned(robot, T.R, found["local"][k, side]))
            assert_close(found["world"][k, side], moved(robot, aligned, T.p))


DIRECTIONS = {
    "px": "force along x of A",
    "py": "force along y of A",
    "pz": "force along z of A",
    "rx": "moment along x of A",
    "ry": "moment along y of A",
    "rz": "moment along z of A",
    "u": "moment along z of A × x of B",
    "d": "force from A to B",
}


@pytest.mark.parametrize("type_", JOINT_TYPES)
def test_a_multiplier_of_one_is_the_documented_force_on_b(type_: str) -> None:
    rng = np.random.default_rng(5)
    free = Robot.from_description(random_tree(2, 1, joints=("floating",), roots=2))
    q = state(free, rng)["q"]
    loop = loops.closed_loop(free, type_, "body0", "body1", q, rng)
    robot = loops.with_loops(free, loop)
    A, B = (
        Pose(T[:3, :3], T[:3, 3]) @ placement
        for T, placement in (
            (value(robot, pose(name), q=q), T) for name, T in ends(loop)
        )
    )
    for k, row in enumerate(ROWS[type_]):
        x = np.eye(len(ROWS[type_]))[k]
        found = value(robot, wrenches(expressed_in=ALIGNED), q=q, x=x)[0, 1]
        match DIRECTIONS[row].split():
            case "force", "along", axis, *_:
                expected = six(robot, np.zeros(3), A.R[:, "xyz".index(axis)])
            case "moment", "along", "z", "of", "A", "×", *_:
                expected = six(robot, np.cross(A.R[:, 2], B.R[:, 0]), np.zeros(3))
            case "moment", "along", axis, *_:
                expected = six(robot, A.R[:, "xyz".index(axis)], np.zeros(3))
            case _:
                rod = B.p - A.p
                expected = six(robot, np.zeros(3), rod / np.linalg.norm(rod))
        assert_close(found, expected, f"{type_}.{row}")


def test_joint_and_loop_wrenches_hold_a_linkage_together() -> None:
    robot = four_bar()
    q, qd = Planar("four_bar").state(0.3, 2.0)
    tau = np.array([0.1, 0.0, 0.0])
    now = {"q": q, "qd": qd, "tau": tau}
    qdd = value(robot, forward_dynamics(algorithm="loopwise"), **now)
    multipliers = value(robot, loop_forces(algorithm="loopwise"), **now)
    moving = {"q": q, "qd": qd, "qdd": qdd}
    local = value(robot, joint_wrenches, **moving, loop_forces=multipliers)
    axes = [b.joints[0].axis for b in robot.description.bodies if b.joints]
    assert_close([w[3:] @ axis for w, axis in zip(local, axes, strict=True)], tau)
    assert_close(robot.joint_wrenches(q, qd, qdd, multipliers), local)
    in_world = joint_wrenches(expressed_in="world")
    held, alone = (
        value(robot, in_world, **moving, loop_forces=x)
        for x in (multipliers, 0.0 * multipliers)
    )
    both = robot.loop_wrenches(q, qd, tau, expressed_in="world", on="both")
    on_a, on_b = both[0]
    assert_close(on_a, -on_b)
    rocker, coupler, crank = (
        robot.joint(f"{n}_joint").bodies[-1] for n in ("rocker", "coupler", "crank")
    )
    assert_close(alone[rocker] - held[rocker], on_b)
    for i in (coupler, crank):
        assert_close(alone[i] - held[i], on_a)


def test_a_robot_with_loops_needs_their_forces() -> None:
    robot = four_bar()
    q, qd = Planar("four_bar").state(0.3, 2.0)
    missing = r"^robot.joint_wrenches is missing argument 'loop_forces'; it takes q, qd"
    with pytest.raises(ArgumentError, match=missing):
        robot.joint_wrenches(q, qd, np.zeros(3))
    chain = ramidyn.robots.chain(2)
    unknown = r"^robot.joint_wrenches has no argument 'loop_forces'; it takes q, qd"
    with pytest.raises(ArgumentError, match=unknown):
        chain.joint_wrenches(*np.zeros((3, 2)), loop_forces=np.zeros(5))
    with pytest.raises(ModelError, match="robot 'chain' has no loops"):
        chain.loop_wrenches(np.zeros(2), np.zeros(2), np.zeros(2))
