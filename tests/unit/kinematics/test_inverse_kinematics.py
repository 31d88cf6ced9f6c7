"""Inverse kinematics: solutions reach their targets, within limits, in every way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import least_squares

import ramidyn
from ramidyn.kinematics.structure import Starts
from ramidyn.math import log_so3
from ramidyn.robot import Robot
from ramidyn.tasks import (
    CenterOfMass,
    Direction,
    Posture,
    RelativePose,
    Residual,
    Task,
)
from support.arms import arm7, planar2, torso

METERS, RADIANS = 1e-4, 1e-3
"""the default tolerances"""


def poses(robot: Robot, rng: np.random.Generator, n: int, frame: str = "hand") -> Any:
    return robot.pose(robot.random_configuration(rng, batch=n), frame)


def errors(T: Any, target: Any) -> tuple[Any, Any]:
    """Return the distance and the angle between poses."""
    gap = np.linalg.norm(T[..., :3, 3] - target[..., :3, 3], axis=-1)
    turn = np.swapaxes(T[..., :3, :3], -1, -2) @ target[..., :3, :3]
    return gap, np.linalg.norm(log_so3(turn), axis=-1)


def is_within(robot: Robot, q: Any) -> bool:
    return bool(((q >= robot.limits.lower) & (q <= robot.limits.upper)).all())


# ------------------------------------------------------------ poses


def test_reachable_poses_are_reached_within_limits(rng: np.random.Generator) -> None:
    robot = arm7()
    T = poses(robot, rng, 2000)
    found = robot.inverse_kinematics({"hand": T})
    gap, turn = errors(robot.pose(found.q, "hand"), T)
    assert found.success.mean() > 0.999
    assert (gap[found.success] <= METERS).all()
    assert (turn[found.success] <= RADIANS).all()
    assert is_within(robot, found.q)
    np.testing.assert_allclose(found.errors["hand"][:, 0], gap, atol=1e-9)
    np.testing.assert_allclose(found.errors["hand"][:, 1], turn, atol=1e-7)
    assert np.median(gap) < 1e-7  # the last step is taken beyond the tolerance


def test_a_solution_does_not_depend_on_the_batch(rng: np.random.Generator) -> None:
    robot = arm7()
    T = poses(robot, rng, 300)
    whole = robot.inverse_kinematics({"hand": T})
    order = rng.permutation(300)
    shuffled = robot.inverse_kinematics({"hand": T[order]})
    np.testing.assert_array_equal(shuffled.q, whole.q[order])
    np.testing.assert_array_equal(shuffled.starts, whole.starts[order])
    np.testing.assert_array_equal(shuffled.iterations, whole.iterations[order])
    for i in (0, 7, 150):
        one = robot.inverse_kinematics({"hand": T[i]})
        np.testing.assert_array_equal(one.q, whole.q[i])
        assert (one.success, one.starts) == (whole.success[i], whole.starts[i])


def test_targets_that_wait_for_a_lane_are_solved_alike(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    robot = arm7()
    T = poses(robot, rng, 200)
    whole = robot.inverse_kinematics({"hand": T})
    monkeypatch.setattr("ramidyn.kinematics.solver.POOL", 16)
    queued = robot.inverse_kinematics({"hand": T})
    np.testing.assert_array_equal(queued.q, whole.q)
    np.testing.assert_array_equal(queued.starts, whole.starts)


@pytest.mark.slow
def test_a_solution_does_not_depend_on_the_threads(rng: np.random.Generator) -> None:
    robot = arm7()
    T = poses(robot, rng, 5000)
    one = robot.inverse_kinematics({"hand": T})
    two = robot.inverse_kinematics({"hand": T}, threads=2)
    np.testing.assert_array_equal(one.q, two.q)


def test_the_guess_is_the_first_start(rng: np.random.Generator) -> None:
    robot = arm7()
    q = robot.random_configuration(rng, batch=50)
    near = robot.clamp(q + rng.normal(scale=0.02, size=q.shape))
    found = robot.inverse_kinematics({"hand": robot.pose(q, "hand")}, near)
    assert found.success.all()
    assert (found.starts == 1).all()
    assert np.abs(found.q - q).max() < 0.5


def test_seeds_begin_the_starts_elsewhere(rng: np.random.Generator) -> None:
    robot = arm7()
    T = poses(robot, rng, 300)
    found = [robot.inverse_kinematics({"hand": T}, rng=k) for k in (0, 0, 1)]
    np.testing.assert_array_equal(found[0].q, found[1].q)
    late = found[0].starts > 1
    assert late.any()
    assert (found[0].q[late] != found[2].q[late]).any()
    np.testing.assert_array_equal(found[0].q[~late], found[2].q[~late])


def test_starts_fill_the_ranges_of_joints() -> None:
    robot = arm7()
    starts = Starts.of(robot.model, robot.joint_names[:1])
    s = [starts.first(robot.neutral(), starts.origin(np.random.default_rng(0)))]
    for _ in range(199):
        s.append(starts.following(s[-1]))
    points = np.array(s)
    assert (points[:, 0] == 0.0).all()  # fixed
    for k in range(1, robot.nq):
        counts, _ = np.histogram(
            points[:, k], 10, (robot.limits.lower[k], robot.limits.upper[k])
        )
        assert counts.min() >= 15  # of 20; random points would leave 12


def test_a_batch_of_none_and_a_batch_of_one() -> None:
    robot = arm7()
    none = robot.inverse_kinematics({"hand": np.zeros((0, 4, 4))})
    assert none.q.shape == (0, 7)
    assert "all 0 targets solved" in repr(none)
    T = robot.pose(np.zeros((1, 7)), "hand")
    one = robot.inverse_kinematics({"hand": T}, np.zeros(7))
    assert one.q.shape == (1, 7)
    assert repr(one) == "inverse kinematics of 'arm7': solved, 1 iterations"
    several = robot.inverse_kinematics({"hand": T[0]}, np.zeros((3, 7)))
    assert several.success.tolist() == [True, True, True]


@pytest.mark.parametrize(
    "types",
    [
        ("floating", "revolute", "spherical"),
        ("planar", "revolute", "prismatic"),
        ("helical", "universal", "cylindrical", "revolute"),
    ],
    ids=lambda types: types[0],
)
@pytest.mark.parametrize("conventions", ["pinocchio", "mujoco"])
def test_every_joint_type_moves(types: tuple[str, ...], conventions: str) -> None:
    robot = ramidyn.robots.random_tree(6, 3, types, massless=0.0)
    robot = robot.with_conventions(conventions)
    tip = robot.body_names[-1]
    T = robot.pose(robot.random_configuration(rng=0, batch=20), tip)
    found = robot.inverse_kinematics({tip: T})
    assert found.success.all()
    np.testing.assert_allclose(robot.pose(found.q, tip), T, atol=1e-3)
    np.testing.assert_allclose(robot.normalize(found.q), found.q, atol=1e-12)


# ------------------------------------------------------------ out of reach


def residuals(robot: Robot, target: Any) -> Any:
    def function(q: Any) -> Any:
        T = robot.pose(q, "hand")
        turn = target[:3, :3] @ T[:3, :3].T
        return np.concatenate([target[:3, 3] - T[:3, 3], log_so3(turn)])

    return function


@pytest.mark.parametrize("n", [20, pytest.param(200, marks=pytest.mark.slow)])
def test_the_best_pose_is_stationary_within_limits(
    rng: np.random.Generator, n: int
) -> None:
    # Most are out of reach: half a meter beyond, at limits or stretched.
    robot = arm7()
    T = poses(robot, rng, n)
    T[:, :3, 3] += rng.normal(scale=0.5, size=(n, 3))
    found = robot.inverse_kinematics({"hand": T}, starts=2)
    assert (~found.success).sum() > n / 10
    limits = (robot.limits.lower, robot.limits.upper)
    for q, target, active, ok in zip(
        found.q, T, found.active_limits, found.success, strict=True
    ):
        if ok:
            continue
        f = residuals(robot, target)
        e = f(q)
        J = robot.jacobian(q, "hand", expressed_in="local_world_aligned")
        push = J.T @ e  # where ½ |e|² falls
        assert (push[active > 0] >= -1e-7).all()
        assert (push[active < 0] <= 1e-7).all()
        assert np.abs(push[active == 0]).max(initial=0.0) < 1e-6
        inside = np.clip(q, limits[0] + 1e-9, limits[1] - 1e-9)
        peer = least_squares(f, inside, bounds=limits, xtol=1e-14, ftol=1e-14)
        assert e @ e / 2 <= peer.cost + 1e-7


def test_an_active_limit_is_exact() -> None:
    # The elbow would have to bend backward: it stays straight, at its limit.
    robot = planar2()
    at = Task("tip", "position")
    shoulder = {robot.joint_names[0]: 0.0}
    found = robot.inverse_kinematics({at: [-1.0, 0.0, 1.0]}, fixed=shoulder)
    assert not found.success
    np.testing.assert_array_equal(found.active_limits, [0, -1])
    np.testing.assert_array_equal(found.q, [0.0, 0.0])
    np.testing.assert_allclose(found.errors[at], [np.sqrt(2.0)], rtol=1e-14)
    assert "not solved; largest errors: 'tip' (position) 1.4 m" in repr(found)


def test_nothing_is_nan_where_a_target_is_turned_by_half_a_turn() -> None:
    robot = arm7()
    q = np.array([0.3, 0.7, -0.2, 1.0, 0.4, 0.6, 0.1])
    T = robot.pose(q, "hand")
    T[:3, :3] = T[:3, :3] @ np.diag([1.0, -1.0, -1.0])
    found = robot.inverse_kinematics({"hand": T}, q, starts=1)
    assert np.isfinite(found.q).all()
    assert np.isfinite(found.errors["hand"]).all()


# ------------------------------------------------------------ kinds of goals


def reached(robot: Robot, goals: dict[Any, Any], **options: Any) -> Any:
    found = robot.inverse_kinematics(goals, **options)
    assert found.success, found
    assert is_within(robot, found.q)
    return found.q


def test_position_alone_and_orientation_alone(rng: np.random.Generator) -> None:
    robot = arm7()
    T = poses(robot, rng, 1)[0]
    q = reached(robot, {Task("hand", "position"): T[:3, 3]})
    assert errors(robot.pose(q, "hand"), T)[0] < METERS
    q = reached(robot, {Task("hand", "orientation"): T[:3, :3]})
    assert errors(robot.pose(q, "hand"), T)[1] < RADIANS


@pytest.mark.parametrize("axes", ["local", "world"])
def test_single_rows_are_in_the_axes_of_the_task(
    rng: np.random.Generator, axes: str
) -> None:
    robot = arm7()
    T = poses(robot, rng, 1)[0]
    q = reached(robot, {Task("hand", ("x", "y", "rz"), axes): T})
    here = robot.pose(q, "hand")
    gap = T[:3, 3] - here[:3, 3]
    if axes == "local":
        gap = here[:3, :3].T @ gap
        turn = log_so3(here[:3, :3].T @ T[:3, :3])
    else:
        turn = log_so3(T[:3, :3] @ here[:3, :3].T)
    assert np.abs(gap[:2]).max() < METERS
    assert abs(turn[2]) < RADIANS
    assert np.abs(gap[2]) + np.abs(turn[:2]).max() > 1e-2  # these are free


def test_direction_turns_an_axis(rng: np.random.Generator) -> None:
    robot = arm7()
    d = rng.normal(size=3)
    q = reached(robot, {Direction("hand", (1, 1, 0)): d})
    axis = robot.pose(q, "hand")[:3, :3] @ np.array([1, 1, 0]) / np.sqrt(2)
    np.testing.assert_allclose(axis, d / np.linalg.norm(d), atol=RADIANS)


def test_relative_pose_and_center_of_mass(rng: np.random.Generator) -> None:
    robot = torso()
    q = robot.random_configuration(rng)
    between = np.linalg.inv(robot.pose(q, "left_hand")) @ robot.pose(q, "right_hand")
    center = robot.center_of_mass(q)
    goals = {RelativePose("right_hand", "left_hand"): between, CenterOfMass(): center}
    q = reached(robot, goals)
    found = np.linalg.inv(robot.pose(q, "left_hand")) @ robot.pose(q, "right_hand")
    gap, turn = errors(found, between)
    assert gap < METERS
    assert turn < RADIANS
    np.testing.assert_allclose(robot.center_of_mass(q), center, atol=METERS)


def test_residual_is_a_traced_function(rng: np.random.Generator) -> None:
    robot = arm7()

    def height(q: Any, at: Any) -> Any:
        return robot.pose(q, "hand")[2, 3] - at[0]

    goal = Residual(height, 1, target=(1,))
    q = reached(robot, {goal: [0.7]}, q_guess=robot.random_configuration(rng))
    assert abs(robot.pose(q, "hand")[2, 3] - 0.7) < 1e-6


def test_posture_chooses_among_solutions(rng: np.random.Generator) -> None:
    robot = arm7()
    like = 0.5 * robot.random_configuration(rng)
    T = robot.pose(like + 0.1, "hand")
    plain = reached(robot, {"hand": T}, q_guess=like)
    found = robot.inverse_kinematics({"hand": T, Posture(): like}, like)
    assert found.success
    assert np.linalg.norm(found.q - like) < np.linalg.norm(plain - like)
    # It is the nearest: moving along the null space does not shorten the way.
    J = robot.jacobian(found.q, "hand")
    free = np.linalg.svd(J)[2][6]
    assert abs(free @ (found.q - like)) < 1e-3


def test_weights_decide_what_gives_way() -> None:
    robot = planar2()
    near, far = Task("tip", "position"), Task("upper", "orientation")
    turn = ramidyn.math.exp_so3(np.array([0.0, -1.0, 0.0]))
    goals = {near: [1.2, 0.0, 0.5], far: turn}
    first = robot.inverse_kinematics(goals, starts=1, weights={near: 10.0})
    second = robot.inverse_kinematics(goals, starts=1, weights={far: 10.0})
    assert not first.success
    assert first.errors[near] < second.errors[near]
    assert first.errors[far] > second.errors[far]


# ------------------------------------------------------------ constraints


def test_constraints_hold_exactly(rng: np.random.Generator) -> None:
    robot = torso()
    q0 = robot.random_configuration(rng)
    T = robot.pose(robot.random_configuration(rng), "right_hand")
    T = T[:3, 3] * 0.1 + robot.pose(q0, "right_hand")[:3, 3]
    goal = Task("right_hand", "position")
    found = robot.inverse_kinematics({goal: T}, q0, constraints=["left_hand"])
    assert found.success
    assert found.gap < 1e-12
    gap, turn = errors(robot.pose(found.q, "left_hand"), robot.pose(q0, "left_hand"))
    assert gap < 1e-12
    assert turn < 1e-12
    assert is_within(robot, found.q)


def test_fixed_joints_do_not_move(rng: np.random.Generator) -> None:
    robot = arm7()
    q0 = robot.random_configuration(rng)
    T = robot.pose(q0, "hand")[:3, 3] * 0.95
    name = robot.joint_names[2]
    goal = Task("hand", "position")
    q = reached(robot, {goal: T}, q_guess=q0, fixed=[name])
    assert q[2] == q0[2]
    q = reached(robot, {goal: T}, q_guess=q0, fixed={name: 0.25})
    assert q[2] == 0.25
    many = robot.inverse_kinematics({goal: T}, q0, fixed={name: [0.1, 0.2, 0.3]})
    np.testing.assert_array_equal(many.q[:, 2], [0.1, 0.2, 0.3])


# ------------------------------------------------------------ mistakes


def test_mistakes_are_named() -> None:  # noqa: PLR0915  one list
    robot = arm7()
    T = np.eye(4)
    solve = robot.inverse_kinematics
    with pytest.raises(ramidyn.UnknownName, match=r"no frame 'hant'.*Close: 'hand'"):
        solve({"hant": T})
    with pytest.raises(ramidyn.UnknownName, match="no joint 'elbow'"):
        solve({"hand": T}, fixed=["elbow"])
    with pytest.raises(ramidyn.ShapeError, match=r"\(3, 4\); expected \(4, 4\), or"):
        solve({"hand": T[:3]})
    with pytest.raises(
        ramidyn.ShapeError, match=r"\(2,\); expected \(3,\) or \(4, 4\)"
    ):
        solve({Task("hand", "position"): [0.0, 1.0]})
    with pytest.raises(ramidyn.ShapeError, match=r"target of 'hand'.*non-finite"):
        solve({"hand": np.full((4, 4), np.nan)})
    with pytest.raises(ramidyn.ShapeError, match="non-finite"):
        solve({"hand": np.full((2, 4, 4), np.inf)})
    with pytest.raises(
        ramidyn.ArgumentError, match=r"not a pose: its axes are.*up to 3"
    ):
        solve({"hand": 2.0 * T})
    with pytest.raises(ramidyn.ArgumentError, match="not a pose"):
        solve({"hand": np.stack([T, np.diag([1.0, 1.0, -1.0, 1.0])])})
    with pytest.raises(ramidyn.ArgumentError, match=r"targets is .*expected a dict"):
        solve(["hand"])  # type: ignore[arg-type]
    with pytest.raises(ramidyn.ArgumentError, match="3 is not a goal; expected the"):
        solve({3: T})  # type: ignore[dict-item]
    with pytest.raises(ramidyn.ArgumentError, match="weights has 'foot', which is not"):
        solve({"hand": T}, weights={"foot": 1.0})
    with pytest.raises(ramidyn.ArgumentError, match="expected a number, 2 for its par"):
        solve({"hand": T}, weights={"hand": [1.0, 2.0, 3.0]})
    with pytest.raises(ramidyn.ArgumentError, match="weight of 'hand' is -1; expected"):
        solve({"hand": T}, weights={"hand": -1})
    with pytest.raises(ramidyn.ArgumentError, match="tolerance is 0; expected more"):
        solve({"hand": T}, tolerance=0)
    with pytest.raises(ramidyn.ArgumentError, match="starts is 0; expected an integer"):
        solve({"hand": T}, starts=0)
    with pytest.raises(ramidyn.ArgumentError, match="fixed is 'a'; expected a list"):
        solve({"hand": T}, fixed="a")
    with pytest.raises(ramidyn.ArgumentError, match="all joints of robot 'arm7' are"):
        solve({"hand": T}, fixed=robot.joint_names)
    with pytest.raises(ramidyn.ShapeError, match="batch sizes differ: 2, 3; expected"):
        solve({"hand": np.stack([T, T])}, np.zeros((3, 7)))
    with pytest.raises(ramidyn.ArgumentError, match="no goal besides a Posture"):
        solve({Posture(): np.zeros(7)})
    with pytest.raises(ramidyn.ArgumentError, match="a vector of length 0"):
        solve({Direction("hand"): [0.0, 0.0, 0.0]})
    with pytest.raises(ramidyn.ArgumentError, match=r"axis of Direction.*not all zero"):
        Direction("hand", (0, 0, 0))
    with pytest.raises(ramidyn.ArgumentError, match="rows of CenterOfMass is 'rx'"):
        CenterOfMass("rx")
    with pytest.raises(ramidyn.ArgumentError, match="returned 2 entries; expected 3"):
        solve({Residual(lambda q: q[:2], 3): None})
    with pytest.raises(ramidyn.ArgumentError, match="expected None, because the Resid"):
        solve({Residual(lambda q: q[:2], 2): [1.0]})
    with pytest.raises(ramidyn.ShapeError, match=r"q_guess is .*expected 7 finite"):
        solve({"hand": T}, [0.0, np.nan])


def test_contradictory_constraints_do_not_succeed() -> None:
    robot = planar2()
    held = {Task("tip", "position"): [0.0, 0.0, 3.0]}
    goal = {Task("upper", "orientation"): np.eye(3)}
    found = robot.inverse_kinematics(goal, constraints=held, starts=2)
    assert not found.success
    assert np.isfinite(found.q).all()
    assert found.gap > 0.5
    assert "equations" in repr(found)


def test_quaternions_of_a_guess_are_normalized(rng: np.random.Generator) -> None:
    robot = torso()
    q = robot.random_configuration(rng)
    goal = {Task("left_hand", "position"): robot.pose(q, "left_hand")}
    scaled = q.copy()
    scaled[3:7] *= 3.0
    found = robot.inverse_kinematics(goal, scaled)
    np.testing.assert_allclose(found.q, q, atol=1e-12)
    scaled[3:7] = 0.0
    with pytest.raises(ramidyn.ModelError, match="quaternion of zero length"):
        robot.inverse_kinematics(goal, scaled)


def test_nonuniform_weights_give_a_stationary_point(rng: np.random.Generator) -> None:
    robot = arm7()
    T = poses(robot, rng, 1)[0]
    T[:3, 3] *= 1.6
    weights = np.array([1.0, 2.0, 3.0, 0.5, 1.5, 1.0])
    task = Task("hand", "pose", "world")
    found = robot.inverse_kinematics({task: T}, weights={task: weights}, starts=1)
    assert not found.success

    def cost(q: Any) -> Any:
        e = weights * residuals(robot, T)(q)
        return e @ e / 2

    free = found.active_limits == 0
    for v in 1e-6 * np.eye(7)[free]:
        slope = (cost(found.q + v) - cost(found.q - v)) / 2e-6
        assert abs(slope) < 1e-6
