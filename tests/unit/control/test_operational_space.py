"""Operational-space control: what is commanded happens, and nothing else."""

from __future__ import annotations

import copy
import functools
from typing import Any

import numpy as np
import pytest

from ramidyn.algorithms.operational.tasks import Task
from ramidyn.catalog.paper_robots import asimo, chain, chang_khatib24, random_tree
from ramidyn.compiler import program_of
from ramidyn.control import OperationalSpace
from ramidyn.description.pose import Array
from ramidyn.errors import ArgumentError, ModelError, ShapeError, UnknownName
from ramidyn.quantities.dynamics import forward_dynamics
from ramidyn.quantities.operational import task_acceleration
from ramidyn.robot import Robot
from ramidyn.symbolic.interpreter import evaluate
from support.asimo import as_robot
from support.states import case

COUPLING = 1e-9
"""of the commanded accelerations: what one task may feel of another"""
HANDS = ["left_hand", Task("right_hand", ("position", "rz"))]
ONE = {"algorithm": "sfa"}
"""for what every algorithm does: "auto" traces all seven"""

two_hands = functools.cache(lambda: as_robot(chang_khatib24()))


class Trial:
    """A controller in one random state, its torques put into forward dynamics."""

    def __init__(self, robot: Robot, tasks: Any, **options: Any) -> None:
        self.robot = robot
        self.controller = OperationalSpace(robot, tasks, **options)
        rng = np.random.default_rng(1)
        self.q = robot.random_configuration(rng)
        self.qd = rng.normal(size=robot.nv)
        self.rows = self.controller.slices[-1].stop
        self.wanted = rng.normal(size=self.rows)
        self.posture = rng.normal(size=robot.nv)
        self.program = self.controller.function.program
        self.reaction = program_of(task_acceleration(self.controller.tasks), robot)
        by_bodies = "ltdl" if robot.model.mimics else "aba"
        self.motion = program_of(forward_dynamics(algorithm=by_bodies), robot)

    def torques(self, wanted: Array, posture: Array) -> Array:
        given = {"q": self.q, "qd": self.qd, "accelerations": wanted}
        return evaluate(self.program, {**given, "posture": posture})["torques"]

    def moved(self, wanted: Array, posture: Array) -> Array:
        """Return how the tasks accelerate."""
        given = {"q": self.q, "qd": self.qd, "tau": self.torques(wanted, posture)}
        return evaluate(self.reaction, given)["task_acceleration"]

    def accelerated(self, wanted: Array, posture: Array) -> Array:
        """Return how the joints accelerate."""
        given = {"q": self.q, "qd": self.qd, "tau": self.torques(wanted, posture)}
        return evaluate(self.motion, given)["forward_dynamics"]


@pytest.fixture(scope="module")
def hands() -> Trial:
    return Trial(two_hands(), HANDS)


def test_tasks_accelerate_as_commanded(hands: Trial) -> None:
    moved = hands.moved(hands.wanted, hands.posture)
    assert np.abs(moved - hands.wanted).max() < COUPLING * np.abs(hands.wanted).max()


def test_no_task_feels_another(hands: Trial) -> None:
    first, second = hands.controller.slices
    still = np.zeros(hands.rows)
    base = hands.moved(still, hands.posture)
    for own, other in ((first, second), (second, first)):
        command = still.copy()
        command[own] = 100.0
        change = hands.moved(command, hands.posture) - base
        assert np.abs(change[other]).max() < COUPLING * 100.0
        assert np.abs(change[own] - 100.0).max() < COUPLING * 100.0


def test_tasks_do_not_feel_the_posture(hands: Trial) -> None:
    change = hands.moved(hands.wanted, 100 * hands.posture) - hands.moved(
        hands.wanted, np.zeros(hands.robot.nv)
    )
    assert np.abs(change).max() < COUPLING * np.abs(100 * hands.posture).max()


def test_the_posture_has_what_tasks_leave(hands: Trial) -> None:
    base = hands.accelerated(hands.wanted, np.zeros(hands.robot.nv))
    change = hands.accelerated(hands.wanted, hands.posture) - base
    again = hands.accelerated(hands.wanted, change) - base
    assert np.abs(change).max() > 0.1
    np.testing.assert_allclose(again, change, atol=1e-9 * np.abs(change).max())


def test_gravity_is_compensated_at_rest(hands: Trial) -> None:
    trial = copy.copy(hands)
    trial.qd = np.zeros(trial.robot.nv)
    still = trial.accelerated(np.zeros(trial.rows), np.zeros(trial.robot.nv))
    assert np.abs(still).max() < 1e-9


def test_free_levels_are_all_met() -> None:
    levels = [["left_hand"], [Task("chest", "z")], ["right_hand"]]
    trial = Trial(two_hands(), levels, **ONE)
    moved = trial.moved(trial.wanted, trial.posture)
    assert np.abs(moved - trial.wanted).max() < COUPLING * np.abs(trial.wanted).max()


def test_priority_is_strict() -> None:
    levels = [["left_hand"], [Task("left_palm", "position")], ["right_hand"]]
    trial = Trial(two_hands(), levels, damping=1e-2, **ONE)
    first, second, third = trial.controller.slices
    scale = np.abs(trial.wanted).max()
    moved = trial.moved(trial.wanted, trial.posture)
    assert np.abs(moved - trial.wanted)[first].max() < COUPLING * scale
    assert np.abs(moved - trial.wanted)[third].max() < COUPLING * scale
    assert np.abs(moved - trial.wanted)[second].max() > 0.01
    for lower in (second, third):
        louder = trial.wanted.copy()
        louder[lower] *= 100
        change = trial.moved(louder, trial.posture) - moved
        assert np.abs(change[first]).max() < COUPLING * 100 * scale


@pytest.mark.parametrize(
    ("damping", "passive"),
    [(1e-2, 1), pytest.param(1e-2, 0, marks=pytest.mark.slow), (1e-6, 0)],
)
def test_redundant_levels_are_not_disturbed(damping: float, passive: int) -> None:
    robot = two_hands()
    driven = list(robot.joint_names[passive:])
    hand, forearm, chest = (
        Task(name, "pose", "local_world_aligned")
        for name in ("left_hand", "left_forearm", "chest")
    )
    palm = Task("left_palm", "position", "local_world_aligned")
    levels = [[hand, palm], [forearm], [chest]]
    trial = Trial(robot, levels, damping=damping, actuated=driven, **ONE)
    first = slice(0, 9)
    moved = trial.moved(trial.wanted, trial.posture)
    louder = trial.wanted.copy()
    louder[first.stop :] += 1.0
    for change in (
        trial.moved(louder, trial.posture) - moved,
        trial.moved(trial.wanted, trial.posture + 1.0) - moved,
    ):
        assert np.abs(change[first]).max() < 1e-12 / damping  # rounding, undamped


def test_a_redundant_level_is_met_as_well_as_it_can_be() -> None:
    tasks = ["left_hand", "left_palm"]
    trial = Trial(two_hands(), tasks, damping=1e-5, **ONE)
    missed = trial.wanted - trial.moved(trial.wanted, trial.posture)
    assert np.abs(missed).max() > 1e-2
    inverse = trial.robot.operational_inertia_inverse(trial.q, tasks)
    assert np.abs(inverse @ missed).max() < 1e-3  # no force on the tasks helps


def test_damping_bounds_torques_where_tasks_are_singular() -> None:
    robot = as_robot(chain(7, "plain"))
    tasks = ["body6"]
    rest = np.zeros(7)
    exact = OperationalSpace(robot, tasks, **ONE)
    assert not np.isfinite(exact(robot.neutral(), rest, np.ones(6))).all()
    for damping in (1e-1, 1e-3):
        control = OperationalSpace(robot, tasks, damping=damping, **ONE)
        tau = control(robot.neutral(), rest, np.ones(6))
        weight = control(robot.neutral(), rest, np.zeros(6))
        assert np.abs(tau - weight).max() < 10 / damping
    q = robot.random_configuration(1)
    np.testing.assert_allclose(
        control(q, rest, np.ones(6)), exact(q, rest, np.ones(6)), rtol=1e-9
    )


def test_gears_and_passive_joints_go_together() -> None:
    rng = np.random.default_rng(0)
    robot = as_robot(chain(7))
    q, qd, posture = rng.normal(size=(3, 7))
    for passive in range(7):
        ratios = rng.choice([-3.0, 0.5, 2.0], size=7)
        B = np.delete(np.diag(ratios), passive, axis=1)
        control = OperationalSpace(robot, Task("body6", "x"), actuated=B, **ONE)
        tau = B @ control(q, qd, np.array([2.0]), posture)
        moved = robot.task_acceleration(q, qd, tau, Task("body6", "x"))
        np.testing.assert_allclose(moved, [2.0], atol=1e-9)


def test_levels_may_come_from_an_iterator() -> None:
    levels = [[Task("body3", "x")], [Task("body3", "y")]]
    control = OperationalSpace(as_robot(chain(4)), iter(levels))
    assert control.levels == tuple(map(tuple, levels))
    control = OperationalSpace(as_robot(chain(4)), iter(levels[0]))
    assert control.levels == (tuple(levels[0]),)


def test_parameters_are_given_by_name() -> None:
    robot = as_robot(chain(4))
    control = OperationalSpace(robot, Task("body3", "x"), parameters=["gravity"])
    q, qd = np.random.default_rng(0).normal(size=(2, 4))
    tau = control(q, qd, np.ones(1), gravity=[0, 0, -9.81])
    plain = OperationalSpace(robot, Task("body3", "x"))
    np.testing.assert_allclose(tau, plain(q, qd, np.ones(1)))


def test_a_floating_base_is_not_pushed() -> None:
    robot = as_robot(asimo())
    driven = [j for j in robot.joint_names if j != "base"]
    tasks = [["left_hand"], [Task("right_foot", "position")]]
    trial = Trial(robot, tasks, actuated=driven, **ONE)
    tau = trial.torques(trial.wanted, trial.posture)
    assert not tau[:6].any()
    moved = trial.moved(trial.wanted, trial.posture)
    assert np.abs(moved - trial.wanted).max() < COUPLING * np.abs(trial.wanted).max()


def test_an_actuation_matrix_gives_efforts() -> None:
    robot = as_robot(random_tree(8, 3, ("revolute",)))
    rng = np.random.default_rng(0)
    B = rng.normal(size=(8, 6))
    trial = Trial(robot, Task("body7", ("x", "y")), actuated=B)
    efforts = trial.torques(trial.wanted, trial.posture)
    assert efforts.shape == (6,)
    given = {"q": trial.q, "qd": trial.qd, "tau": B @ efforts}
    moved = evaluate(trial.reaction, given)["task_acceleration"]
    assert np.abs(moved - trial.wanted).max() < COUPLING * np.abs(trial.wanted).max()


def test_mimic_joints_are_controlled_too() -> None:
    robot = case("coupled")
    trial = Trial(robot, Task(robot.body_names[-1], "position"))
    moved = trial.moved(trial.wanted, trial.posture)
    assert np.abs(moved - trial.wanted).max() < COUPLING * np.abs(trial.wanted).max()


def test_native_code_takes_one_state_or_a_batch() -> None:
    robot = as_robot(chain(4))
    controller = OperationalSpace(robot, Task("body3", "position"))
    rng = np.random.default_rng(0)
    q, qd, posture = rng.normal(size=(3, 5, 4))
    wanted = rng.normal(size=(5, 3))
    batch = controller(q, qd, wanted, posture)
    assert batch.shape == (5, 4)
    np.testing.assert_allclose(controller(q[1], qd[1], wanted[1], posture[1]), batch[1])
    still = controller(q[1], qd[1], wanted[1])
    np.testing.assert_allclose(
        still, controller(q[1], qd[1], wanted[1], np.zeros(4)), rtol=0, atol=0
    )
    without = OperationalSpace(robot, Task("body3", "position"), posture=False)
    np.testing.assert_allclose(without(q[1], qd[1], wanted[1]), still)
    with pytest.raises(ShapeError, match="was created without a posture"):
        without(q[1], qd[1], wanted[1], posture[1])
    assert repr(controller).startswith(
        "OperationalSpace of chain: 'body3' (position); "
    )


def test_levels_without_freedom_are_refused_with_rank_and_names() -> None:
    robot = as_robot(chain(4))
    with pytest.raises(
        ModelError,
        match=r"robot 'chain': tasks 'body3' \(pose\) \(level 1\) have 6 rows, but "
        r"only 4 can move independently; request fewer rows, or pass damping=",
    ):
        OperationalSpace(robot, "body3")
    with pytest.raises(
        ModelError,
        match=r"tasks 'body2' \(position\) \(level 2\) have 3 rows, but only 0 can "
        r"move independently of the levels above; request",
    ):
        OperationalSpace(
            robot, [[Task("body3", "position")], [Task("body2", "position")]]
        )


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"actuated": "base"},
            ArgumentError,
            "actuated is 'base'; expected a list of joint names or a matrix",
        ),
        ({"actuated": ["joint9"]}, UnknownName, "no joint 'joint9' in robot 'chain'"),
        (
            {"actuated": np.eye(3)},
            ShapeError,
            r"actuated has shape \(3, 3\); expected \(4, n\), with τ = B u",
        ),
        (
            {"actuated": np.ones((4, 2))},
            ShapeError,
            "actuated has 2 columns but rank 1; expected independent columns",
        ),
        (
            {"actuated": 7},
            ArgumentError,
            "actuated is 7; expected a list of joint names",
        ),
        ({"actuated": np.full((4, 1), np.nan)}, ShapeError, "non-finite entries"),
        (
            {"posture": "home"},
            ArgumentError,
            "posture is 'home'; possible: True, False",
        ),
        ({"posture": np.zeros(4)}, ArgumentError, "possible: True, False"),
        ({"damping": -1}, ArgumentError, "damping is -1; expected a number, 0 or more"),
        ({"algorithm": "aba"}, ArgumentError, "algorithm is 'aba'; possible: 'auto', "),
    ],
)
def test_wrong_options_are_named(
    options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        OperationalSpace(as_robot(chain(4)), Task("body3", "x"), **options)
