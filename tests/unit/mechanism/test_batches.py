"""`assemble` and `project` of batches: equal to one state at a time, failures named."""

from __future__ import annotations

import re
import warnings
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

from ramidyn.builder import Body, Joint, RobotBuilder
from ramidyn.catalog import paper_robots as robots
from ramidyn.errors import ModelError, ModelWarning, ShapeError
from ramidyn.loading import load
from ramidyn.mechanism.batches import is_regular
from ramidyn.mechanism.loops import add_loop
from ramidyn.mechanism.states import kernels
from ramidyn.robot import Robot
from support.loops import as_robot
from support.paths import SHARED_ROBOTS
from support.planar import Planar, four_bar, parallelogram, rod
from support.rounded import rounded, three_cranks

pytestmark = pytest.mark.filterwarnings("ignore:loop .* is redundant:UserWarning")

SAME = 1e-9
"""[rad, m, rad/s, m/s] between a batch and one state at a time, for regular states"""


@lru_cache
def robot_of(name: str) -> Robot:
    if name == "cassie":
        path = SHARED_ROBOTS / "cassie" / "cassie.xml"
        if not path.exists():
            pytest.skip("needs ../shared/robots/cassie")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return load(path)
    if name == "hmmwv":
        return as_robot(robots.hmmwv("general"))
    return {
        "four_bar": four_bar,
        "parallelogram": parallelogram,
        "rounded": lambda: rounded(three_cranks(), 6),
    }[name]()


def nearby(robot: Robot, n: int, scale: float) -> tuple[Any, Any]:
    """Return states around a closed configuration."""
    rng = np.random.default_rng(5)
    start = np.tile(robot.assemble(), (n, 1))
    q = robot.integrate(start, rng.normal(scale=scale, size=(n, robot.nv)))
    return q, rng.normal(size=(n, robot.nv))


def largest_gap(robot: Robot, q: Any) -> float:
    return float(np.abs(kernels(robot).position(q)[0]).max())


@pytest.mark.parametrize(
    ("name", "scale"), [("four_bar", 0.1), ("hmmwv", 0.05), ("cassie", 0.3)]
)
def test_a_batch_is_assembled_as_one_state_at_a_time(name: str, scale: float) -> None:
    robot = robot_of(name)
    assert is_regular(robot)
    q, _ = nearby(robot, 11, scale)  # a full vector and a remainder
    found = robot.assemble(q)
    alone = np.array([robot.assemble(x) for x in q])
    np.testing.assert_allclose(found, alone, rtol=0, atol=SAME)
    assert largest_gap(robot, found) < 1e-9
    low, high = robot.limits.lower, robot.limits.upper
    assert ((found >= low) & (found <= high)).all()


@pytest.mark.parametrize(
    ("name", "scale"),
    [("four_bar", 0.05), ("hmmwv", 0.02), ("cassie", 0.05), ("parallelogram", 0.01)],
)
def test_a_batch_is_projected_as_one_state_at_a_time(name: str, scale: float) -> None:
    robot = robot_of(name)
    q, qd = nearby(robot, 11, scale)
    found, moving = robot.project(q, qd)
    alone = [robot.project(x, v) for x, v in zip(q, qd, strict=True)]
    tolerance = SAME if is_regular(robot) else 1e-7
    np.testing.assert_allclose(found, [x for x, _ in alone], rtol=0, atol=tolerance)
    np.testing.assert_allclose(moving, [v for _, v in alone], rtol=0, atol=tolerance)
    assert largest_gap(robot, found) < 1e-14
    np.testing.assert_array_equal(robot.project(q), found)


@pytest.mark.parametrize("name", ["parallelogram", "rounded"])
def test_redundant_mechanisms_are_assembled_one_by_one(name: str) -> None:
    robot = robot_of(name)
    assert not is_regular(robot)
    q, qd = nearby(robot, 3, 0.05)
    alone = [robot.assemble(x) for x in q]
    np.testing.assert_array_equal(robot.assemble(q), alone)
    found, moving = robot.project(q, qd)
    robot.check_state(found, moving)


@pytest.mark.parametrize("name", ["four_bar", "cassie"])
def test_no_result_depends_on_its_neighbors(name: str) -> None:
    robot = robot_of(name)
    q, qd = nearby(robot, 9, 0.1)
    assembled, (closed, moving) = robot.assemble(q), robot.project(q, qd)
    for k in (slice(0, 1), slice(3, 4), slice(2, 7)):
        np.testing.assert_array_equal(robot.assemble(q[k]), assembled[k])
        x, v = robot.project(q[k], qd[k])
        np.testing.assert_array_equal(x, closed[k])
        np.testing.assert_array_equal(v, moving[k])


def test_a_state_that_cannot_close_is_named_by_its_index() -> None:
    robot, known = four_bar(), Planar("four_bar")
    q = np.tile([0.3, 0.5, 1.7], (5, 1))
    rocker = known.state(0.3, 0.0)[0][2]
    fixed: dict[str, Any] = {"crank_joint": 0.3, "rocker_joint": [rocker] * 5}
    fixed["rocker_joint"][2] = -1.0
    message = (
        "assemble failed for 1 of 5 states of robot 'four_bar', which are NaN in the "
        "result: state 2: no closed configuration found from 20 starts with "
        "'crank_joint', 'rocker_joint' held: the best has |Φ| = "
    )
    with pytest.warns(ModelWarning, match=re.escape(message)) as caught:
        found = robot.assemble(q, fixed=fixed)
    assert [w.filename for w in caught] == [__file__]
    assert np.isnan(found[2]).all()
    kept = found[[0, 1, 3, 4]]
    np.testing.assert_allclose(kept, [known.state(0.3, 0.0)[0]] * 4, atol=1e-8)
    fixed["rocker_joint"] = rocker
    np.testing.assert_array_equal(kept, robot.assemble(q[:4], fixed=fixed))
    with pytest.raises(ModelError, match="no closed configuration found from 20"):
        robot.assemble(q[2], fixed={"crank_joint": 0.3, "rocker_joint": -1.0})


def test_a_state_that_cannot_be_projected_is_named_by_its_index() -> None:
    robot = four_bar()
    q, qd = nearby(robot, 4, 0.05)
    q[1] = [np.pi, 0.0, 0.0]  # stretched out to the wrong side: J loses rank there
    with pytest.raises(ModelError) as alone:
        robot.project(q[1], qd[1])
    message = (
        "project failed for 1 of 4 states of robot 'four_bar', which are NaN in the "
        f"result: state 1: {alone.value}"
    )
    with pytest.warns(ModelWarning, match=re.escape(message)) as caught:
        closed, moving = robot.project(q, qd)
    assert [w.filename for w in caught] == [__file__]
    failed = np.isnan(closed).any(axis=1)
    assert failed.tolist() == [False, True, False, False]
    np.testing.assert_array_equal(np.isnan(moving).all(axis=1), failed)
    for k in np.flatnonzero(~failed):
        x, v = robot.project(q[k], qd[k])
        np.testing.assert_allclose(closed[k], x, rtol=0, atol=SAME)
        np.testing.assert_allclose(moving[k], v, rtol=0, atol=SAME)


@pytest.mark.parametrize("name", ["four_bar", "cassie"])
def test_invalid_states_are_named_by_their_index(name: str) -> None:
    robot = robot_of(name)
    q, qd = nearby(robot, 10, 0.05)
    assembled, (closed, moving) = robot.assemble(q), robot.project(q, qd)
    q[3, 0], qd[7, 1] = np.nan, np.inf
    texts = {3: "q_guess is array", 7: "qd is array"}
    if name == "cassie":
        q[5, 3:7] = 0.0
        texts[5] = "q has a quaternion of zero length at joint"
    with pytest.warns(ModelWarning, match=f"state 3: {texts[3]}"):
        found = robot.assemble(q)
    bad = [3, 5] if name == "cassie" else [3]
    np.testing.assert_array_equal(found, _without(assembled, bad))
    with pytest.warns(ModelWarning) as caught:
        x, v = robot.project(q, qd)
    (text,) = (str(w.message) for w in caught)
    assert f"state 7: {texts[7]}" in text
    assert 5 not in texts or f"state 5: {texts[5]}" in text
    np.testing.assert_array_equal(x, _without(closed, [*bad, 7]))
    np.testing.assert_array_equal(v, _without(moving, [*bad, 7]))


def _without(x: Any, rows: list[int]) -> Any:
    out = x.copy()
    out[rows] = np.nan
    return out


def test_long_lists_of_failures_are_shortened() -> None:
    with pytest.warns(ModelWarning, match=r"state 4: .*; and 3 more$") as caught:
        four_bar().assemble(np.full((8, 3), np.nan))
    assert "state 5" not in str(caught[0].message)


def test_joints_are_held_at_values_of_their_own() -> None:
    robot, known = four_bar(), Planar("four_bar")
    angles = np.linspace(0.2, 2.0, 6)
    guess = np.tile([0.0, 0.5, 1.5], (6, 1))
    expected = [known.state(t, 0.0)[0] for t in angles]
    for each in (angles, angles[:, None]):
        found = robot.assemble(guess, fixed={"crank_joint": each})
        np.testing.assert_allclose(found, expected, atol=1e-8)
    guess[:, 0] = 0.3
    held = robot.assemble(guess, fixed=["crank_joint"])
    np.testing.assert_array_equal(held[:, 0], np.full(6, 0.3))
    with pytest.raises(ShapeError, match=r"fixed\['crank_joint'\] is .*1 finite num"):
        robot.assemble(guess, fixed={"crank_joint": angles[:4]})
    angles[2] = np.nan
    with pytest.raises(ShapeError, match=r"fixed is .*nan.*; expected 3 finite num"):
        robot.assemble(guess, fixed={"crank_joint": angles})


def test_a_weld_in_a_batch_is_not_assembled_the_wrong_way_round() -> None:
    b = RobotBuilder("arm")
    b.add(Body("body", rod(1.0, 0.1)), "world", Joint.spherical())
    robot = add_loop(as_robot(b.description()), "world", "body", joint="weld")
    flipped = np.tile([1.0, 0.0, 0.0, 0.0], (3, 1))
    found = robot.assemble(flipped)
    np.testing.assert_allclose(np.abs(found), [[0, 0, 0, 1]] * 3, atol=1e-9)
    np.testing.assert_allclose(found[0], robot.assemble(flipped[0]), atol=SAME)


@pytest.mark.parametrize("tolerance", [1e-3, 1e-12])
def test_tolerances_hold_in_a_batch(tolerance: float) -> None:
    robot = four_bar()
    q, _ = nearby(robot, 9, 0.1)
    for close in (robot.assemble, robot.project):
        found = close(q, tolerance=tolerance)
        assert largest_gap(robot, found) < tolerance
        alone = [close(x, tolerance=tolerance) for x in q]
        np.testing.assert_allclose(found, alone, rtol=0, atol=SAME)


def test_arrays_of_float32_are_closed_in_float64() -> None:
    robot = four_bar()
    q, qd = (x.astype(np.float32) for x in nearby(robot, 5, 0.05))
    closed, moving = robot.project(q, qd)
    assert closed.dtype == moving.dtype == robot.assemble(q).dtype == np.float64
    assert largest_gap(robot, closed) < 1e-14
    np.testing.assert_array_equal(closed, robot.project(q.astype(float)))


@pytest.mark.parametrize("name", ["four_bar", "parallelogram"])
def test_batches_may_be_empty(name: str) -> None:
    robot = robot_of(name)
    q, qd = np.zeros((0, robot.nq)), np.zeros((0, robot.nv))
    assert robot.assemble(q).shape == robot.project(q).shape == q.shape
    closed, moving = robot.project(q, qd)
    assert closed.shape == q.shape
    assert moving.shape == qd.shape


def test_one_configuration_takes_many_velocities() -> None:
    robot = four_bar()
    q, qd = nearby(robot, 4, 0.05)
    closed, moving = robot.project(q[0], qd)
    for k in range(4):
        x, v = robot.project(q[0], qd[k])
        np.testing.assert_allclose(closed[k], x, rtol=0, atol=SAME)
        np.testing.assert_allclose(moving[k], v, rtol=0, atol=SAME)
    with pytest.raises(ShapeError, match="batch sizes differ: q 4, qd 3; expected"):
        robot.project(q, qd[:3])
