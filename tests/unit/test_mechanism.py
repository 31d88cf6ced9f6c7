"""Robots with loops: made, refused, assembled, projected, driven, simulated."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from ramify.algorithms.operational.tasks import Task
from ramify.closing import assemble, check_state, project
from ramify.compiling import compile
from ramify.errors import (
    ModelError,
    ModelWarning,
    ShapeError,
    UnknownName,
    UnsupportedJoint,
)
from ramify.mechanism import add_loop, loops
from ramify.mobility import constrained_inverse_dynamics, mobility, partition_of
from ramify.model import catalog as robots
from ramify.model.builder import Body, Joint, RobotBuilder
from ramify.model.pose import Pose
from ramify.quantities.dynamics import forward_dynamics
from ramify.quantities.kinematics import jacobian
from ramify.quantities.loops import (
    constrained_forward_dynamics,
    constrained_operational_inertia_inverse,
    constraint_jacobian,
    constraint_residual,
    loop_forces,
)
from ramify.robot import Robot
from ramify.simulation import simulate
from support.loops import as_robot, value
from support.planar import (
    Planar,
    four_bar,
    open_bars,
    parallelogram,
    pin_at,
    rod,
)


def bars(**changes: Any) -> Robot:
    options = {
        "joint": "revolute",
        "placement_a": pin_at(0.3),
        "placement_b": pin_at(0.25),
        "name": "pin",
        **changes,
    }
    a, b = options.pop("bodies", ("coupler", "rocker"))
    return add_loop(options.pop("robot", None) or open_bars(), a, b, **options)


# ------------------------------------------------------------ adding loops


def test_a_loop_says_what_it_holds() -> None:
    robot = bars()
    (loop,) = loops(robot)
    assert (loop.name, loop.type, loop.body_a, loop.body_b) == (
        "pin",
        "revolute",
        "coupler",
        "rocker",
    )
    assert loop.rows == range(5)
    assert loop.holds == ("px", "py", "pz", "rx", "ry")
    assert not open_bars().model.loops


def test_a_loop_without_a_second_placement_is_closed_at_neutral() -> None:
    tree = as_robot(robots.random_tree(6, 3, ["revolute"], massless=0.0))
    robot = add_loop(tree, "body5", "world", joint="spherical", check=False)
    residual = compile(constraint_residual, robot)(robot.neutral())
    np.testing.assert_allclose(residual, 0.0, atol=1e-13)
    assert loops(robot)[0].name == "spherical0"


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        (
            {"bodies": ("couple", "rocker")},
            UnknownName,
            "no body 'couple' in robot 'four_bar', for loop 'pin'. Close: 'coupler'.",
        ),
        (
            {"bodies": ("rocker", "rocker")},
            ModelError,
            "loop 'pin' joins 'rocker' to itself",
        ),
        (
            {"bodies": (None, "world")},
            ModelError,
            "loop 'pin' joins 'world' to itself",
        ),
        (
            {"joint": "hinge"},
            UnsupportedJoint,
            "loop 'pin': joint is 'hinge'; a loop can be closed by: weld, revolute, pr",
        ),
        (
            {"joint": "distance", "placement_b": None},
            ModelError,
            "loop 'pin': a distance needs placement_b, its other end",
        ),
        (
            {"joint": "distance", "length": -1.0},
            ModelError,
            "loop 'pin': length is -1; expected more than 0",
        ),
        ({"length": 1.0}, ModelError, "loop 'pin': only a distance has a length"),
        (
            {"placement_a": (1, 2)},
            ShapeError,
            "loop 'pin': placement_a is (1, 2); expected a position of 3 finite",
        ),
        (
            {"placement_a": (0, float("nan"), 0)},
            ShapeError,
            "loop 'pin': placement_a is (0, nan, 0); expected a position of 3 finite",
        ),
        (
            {"placement_b": Pose(2 * np.eye(3), np.zeros(3))},
            ShapeError,
            "loop 'pin': placement_b: R is not a rotation matrix",
        ),
        (
            {"joints": ("crank_joint",)},
            ModelError,
            "loop 'pin': only a coupling has joints",
        ),
        (
            {"coefficients": (0, 2)},
            ModelError,
            "loop 'pin': only a coupling has coefficients",
        ),
        (
            {"joint": "coupling", "joints": ("crank_joint",)},
            ModelError,
            "loop 'pin': a coupling has joints and coefficients; it has no bodies, pla",
        ),
    ],
)
def test_bad_loops_are_refused(
    changes: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=re.escape(message)):
        bars(**changes)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        (
            {"joints": ("crank_joint", "x")},
            UnknownName,
            "no joint 'x' in robot 'four_bar'.",
        ),
        (
            {"joints": ()},
            ModelError,
            "loop 'gear': joints is (); a coupling needs one joint or two",
        ),
        (
            {"joints": ("crank_joint", "crank_joint")},
            ModelError,
            "loop 'gear' couples joint 'crank_joint' to itself",
        ),
        (
            {"joints": ("crank_joint",), "coefficients": (0, float("nan"))},
            ModelError,
            "loop 'gear': coefficients is (0, nan); expected finite numbers",
        ),
    ],
)
def test_bad_couplings_are_refused(
    changes: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=re.escape(message)):
        add_loop(open_bars(), joint="coupling", name="gear", **changes)


def test_a_joint_of_two_coordinates_is_not_coupled() -> None:
    b = RobotBuilder("arm")
    b.add(Body("a", rod(1.0, 0.1)), "world", Joint.universal(name="two"))
    message = "loop 'coupling0' couples joint 'two', which is universal; expected a jo"
    with pytest.raises(ModelError, match=message):
        add_loop(as_robot(b.description()), joint="coupling", joints=["two"])


def test_a_loop_that_cannot_close_says_by_how_much() -> None:
    message = (
        r"loop 'far' cannot be closed: no closed configuration found from 20 starts: "
        r"at best \|Φ\| is [0-9.]+, by loop '(pin|far)' \(row 'p[xyz]'\), where J has "
        r"rank \d+ of 6 rows; check=False adds it all the same"
    )
    with pytest.raises(ModelError, match=message):
        add_loop(
            four_bar("spherical"),
            "rocker",
            "world",
            placement_a=(0.25, 0, 0),
            placement_b=(5.0, 0, 0),
            name="far",
        )


def test_two_loops_of_one_name_are_refused() -> None:
    with pytest.raises(ModelError, match="loop 'pin' is in robot 'four_bar' already"):
        bars(robot=four_bar())


def test_bodies_fixed_to_each_other_are_refused() -> None:
    b = RobotBuilder("arm")
    b.add(Body("a", rod(1.0, 0.1)), "world", Joint.revolute((0, 1, 0)))
    b.add(Body("b", rod(1.0, 0.1)), "a")
    message = "loop 'weld0' joins 'a' and 'b', which do not move in each other"
    with pytest.raises(ModelError, match=message):
        add_loop(as_robot(b.description()), "a", "b", joint="weld")


def test_a_redundant_loop_warns_with_its_rank() -> None:
    hmmwv = as_robot(robots.hmmwv())
    first = hmmwv.description.loops[0]
    message = (
        r"loop 'again' is redundant: of its 3 rows 0 are independent of the others "
        r"\(rank 16 of 19 rows of robot 'hmmwv'\); its multipliers are not unique"
    )
    with pytest.warns(ModelWarning, match=message):
        add_loop(
            hmmwv,
            first.body_a,
            first.body_b,
            placement_a=first.placement_a,
            placement_b=first.placement_b,
            name="again",
        )


def test_redundant_rows_cannot_be_solved_without_damping() -> None:
    message = "loop 'pin2' is redundant: of its 5 rows 1 are independent of the others"
    with pytest.warns(ModelWarning, match=message):
        robot = parallelogram()
    message = "'parallelogram': damping is 0, but of 10 rows of its loops only 3 are"
    with pytest.raises(ModelError, match=message):
        value(constrained_forward_dynamics(damping=0.0), robot, q=0, qd=0, tau=0)


def test_articulated_bodies_need_independent_rows() -> None:
    with pytest.warns(ModelWarning, match="is redundant"):
        robot = parallelogram()
    message = (
        "robot 'parallelogram' has rows that depend on others: algorithm "
        "'constrained_aba' is for others; possible: 'auto', 'joint_formulation', 'loop"
    )
    with pytest.raises(ModelError, match=message):
        compile(loop_forces(algorithm="constrained_aba"), robot)


@pytest.mark.parametrize("algorithm", ["aba", "ltdl"])
def test_algorithms_of_trees_are_refused_on_loops(algorithm: str) -> None:
    message = (
        f"algorithm is '{algorithm}'; possible for a robot with loops: 'auto', "
        "'joint_formulation', 'loopwise', 'constrained_aba', 'proximal'"
    )
    with pytest.raises(UnknownName, match=message):
        compile(forward_dynamics(algorithm=algorithm), four_bar())


@pytest.mark.parametrize("damping", [0.0, 1e-6])
def test_damping_of_loops_is_refused_on_trees(damping: float) -> None:
    message = (
        f"damping is {damping}, but robot 'four_bar' has no loops; damping applies to "
        "loop constraints only: leave it out"
    )
    with pytest.raises(ModelError, match=message):
        compile(forward_dynamics(damping=damping), open_bars())


def test_unknown_options_are_refused() -> None:
    robot = four_bar()
    message = "algorithm is 'lu'; possible for a robot with loops: 'auto', 'joint_form"
    with pytest.raises(UnknownName, match=message):
        compile(loop_forces(algorithm="lu"), robot)
    with pytest.raises(
        ModelError, match=re.escape("damping is 2; expected a number in")
    ):
        compile(loop_forces(damping=2), robot)
    with pytest.raises(
        ModelError, match=r"robot 'four_bar' has no loops; robot\.add_loop"
    ):
        compile(loop_forces, open_bars())
    with pytest.raises(UnknownName, match="stabilise is 'x'; possible: 'none', 'baum"):
        simulate(robot, np.zeros(3), stabilise="x")
    with pytest.raises(UnknownName, match="method is 'x'; possible: 'rk4', 'adaptive'"):
        simulate(robot, np.zeros(3), method="x")


# ------------------------------------------------------------ states


def test_inadmissible_states_are_named() -> None:
    robot, known = four_bar(), Planar("four_bar")
    q, qd = known.state(0.3, 1.0)
    check_state(robot, q, qd)
    with pytest.raises(
        ModelError,
        match=r"loop 'pin' is open at q: \|Φ\| is 0.03 \(row 'py'\); expected at "
        r"most 1e-06; assemble\(q\) closes it",
    ):
        simulate(robot, q + np.array([0, 0.1, 0]))
    with pytest.raises(
        ModelError,
        match=r"loop 'pin' is opened by qd: \|J qd\| is 0.3 \(row 'p[xy]'\)",
    ):
        check_state(robot, q, qd + np.array([0, 1.0, 0]))
    with pytest.raises(
        ModelError,
        match=r"loop 'pin' is opened by qdd: \|J qdd \+ γ\| is .*forward_dynamics",
    ):
        constrained_inverse_dynamics(robot, q, qd, np.ones(3))


def test_assembly_closes_loops_with_joints_held() -> None:
    robot, known = four_bar(), Planar("four_bar")
    for t in (0.3, 2.0):
        q = assemble(robot, [0.0, 0.5, 1.5], fixed={"crank_joint": t})
        np.testing.assert_allclose(q, known.state(t, 0.0)[0], atol=1e-8)
    kept = assemble(robot, [0.3, 0.5, 1.7], fixed=["rocker_joint"])
    assert kept[2] == 1.7


def test_assembly_stays_within_limits() -> None:
    b = RobotBuilder("limited")
    elbow = Joint.revolute((0, -1, 0), limits=(-3.0, -0.01), name="elbow")
    b.add(Body("upper", rod(1, 0.3)), "world", Joint.revolute((0, -1, 0), name="base"))
    b.add(Body("lower", rod(1, 0.3)), "upper", elbow, (0.3, 0, 0))
    robot = add_loop(
        as_robot(b.description()),
        "world",
        "lower",
        joint="point_on_line",
        placement_a=pin_at(0.4),
        placement_b=pin_at(0.3),
    )
    q = assemble(robot, [0.0, 1.0])  # from the wrong side of the elbow's range
    assert -3.0 <= q[1] <= -0.01
    check_state(robot, q, tolerance=1e-9)


def test_assembly_says_what_holds_it_back() -> None:
    with pytest.raises(
        ModelError, match=r"no closed configuration found from 20 starts"
    ):
        assemble(four_bar(), fixed={"crank_joint": 0.3, "rocker_joint": -1.0})
    with pytest.raises(
        ShapeError, match=re.escape("q_guess is [0.0]; expected 3 finite")
    ):
        assemble(four_bar(), [0.0])
    with pytest.raises(UnknownName, match="no joint 'crank' in robot 'four_bar'"):
        assemble(four_bar(), fixed=["crank"])


def test_a_weld_is_not_assembled_the_wrong_way_round() -> None:
    b = RobotBuilder("arm")
    b.add(Body("body", rod(1.0, 0.1)), "world", Joint.spherical())
    robot = add_loop(as_robot(b.description()), "world", "body", joint="weld")
    flipped = np.array([1.0, 0.0, 0.0, 0.0])  # half a turn about x
    q = assemble(robot, flipped)
    np.testing.assert_allclose(np.abs(q), [0, 0, 0, 1], atol=1e-9)
    with pytest.raises(ModelError, match="with axes of cuts opposite"):
        check_state(robot, flipped)


def test_projection_is_the_nearest_admissible_state(rng: np.random.Generator) -> None:
    robot = as_robot(robots.hmmwv())
    q = robot.integrate(robot.neutral(), rng.normal(size=27), 0.02)
    qd = rng.normal(size=27)
    closed, moving = project(robot, q, qd)
    check_state(robot, closed, moving, tolerance=1e-9)
    # What was taken away is orthogonal, by M, to all that the loops allow.
    J = compile(constraint_jacobian, robot)(closed)
    N = partition_of(J).N
    assert np.abs(J @ N).max() < 1e-12
    M = robot.mass_matrix(closed)
    assert np.abs(N.T @ M @ (moving - qd)).max() < 1e-8 * np.abs(M).max()
    again = project(robot, closed, moving)
    np.testing.assert_allclose(again[1], moving, atol=1e-10)


# ------------------------------------------------------------ freedom and forces


def test_mobility_counts_what_is_left() -> None:
    found = mobility(as_robot(robots.hmmwv()))
    assert (found.mobility, found.rank, found.rows) == (11, 16, 16)
    assert found.redundant_rows == ()
    found = mobility(four_bar())
    assert (found.mobility, found.rank, found.rows) == (1, 2, 5)
    assert found.redundant_rows == ("pin.pz", "pin.rx", "pin.ry")
    assert str(found).startswith(
        "mobility 1: 2 of 5 rows independent (redundant: pin.pz"
    )


def test_independent_velocities_lead_the_others() -> None:
    robot, known = four_bar(), Planar("four_bar")
    q, qd = known.state(0.9, 1.7)
    p = mobility(robot, q).partition
    np.testing.assert_allclose(p.N @ qd[list(p.independent)], qd, atol=1e-12)


def test_actuation_is_reported() -> None:
    robot, known = four_bar(), Planar("four_bar")
    q, qd = known.state(0.9, 1.7)
    qdd = robot.forward_dynamics(q, qd, np.zeros(3))
    found = constrained_inverse_dynamics(robot, q, qd, qdd)
    assert (found.mobility, found.overactuation, found.underactuation) == (1, 2, 0)
    assert not found.is_unique
    np.testing.assert_allclose(found.tau, 0.0, atol=1e-9)
    found = constrained_inverse_dynamics(robot, q, qd, qdd, [])
    assert found.underactuation == 1  # and yet the motion needs no torque
    qdd = robot.forward_dynamics(q, qd, np.array([0.5, 0, 0]))
    message = (
        r"robot 'four_bar': the actuated joints drive 0 of 1 degrees of freedom, and a "
        r"force of .* is missing along the others; underactuated by 1"
    )
    with pytest.raises(ModelError, match=message):
        constrained_inverse_dynamics(robot, q, qd, qdd, [])


def test_all_torques_of_an_overactuated_robot_cause_the_motion() -> None:
    robot = as_robot(robots.hmmwv())
    q, qd = project(robot, robot.neutral(), np.full(27, 0.1))
    rng = np.random.default_rng(0)
    tau = np.concatenate([np.zeros(6), rng.normal(size=21)])
    qdd = robot.forward_dynamics(q, qd, tau)
    found = constrained_inverse_dynamics(robot, q, qd, qdd)
    again = robot.forward_dynamics(q, qd, found.tau)
    np.testing.assert_allclose(again, qdd, atol=1e-8 * np.abs(qdd).max())
    assert np.linalg.norm(found.tau) <= np.linalg.norm(tau) * (1 + 1e-9)


def test_constrained_operational_inertia_is_that_of_dense_algebra() -> None:
    robot = as_robot(robots.hmmwv())
    q = robot.neutral()
    tasks = [
        Task("left_rear_spindle", expressed_in="local"),
        Task("right_rear_spindle", "position"),
    ]
    J = compile(constraint_jacobian, robot)(q)
    found = compile(constrained_operational_inertia_inverse(tasks), robot)(q)
    frames = [(t.frame, t.expressed_in) for t in tasks]
    Jf = np.concatenate([compile(jacobian(*f), robot)(q) for f in frames])[:9]
    W = np.linalg.inv(robot.mass_matrix(q))
    N = W - W @ J.T @ np.linalg.solve(J @ W @ J.T, J @ W)
    expected = Jf @ N @ Jf.T
    np.testing.assert_allclose(found, expected, atol=1e-10 * np.abs(expected).max())


# ------------------------------------------------------------ simulation


@pytest.mark.parametrize("method", ["rk4", "adaptive"])
@pytest.mark.parametrize("stabilise", ["none", "baumgarte", "project", "partition"])
def test_a_free_four_bar_keeps_its_energy_and_its_loop(
    stabilise: str, method: str
) -> None:
    pytest.importorskip("scipy")
    robot, known = four_bar(), Planar("four_bar")
    q, qd = known.state(0.3, 1.0)
    run = simulate(robot, q, qd, duration=0.5, stabilise=stabilise, method=method)
    assert run.times[-1] == pytest.approx(0.5)
    assert np.ptp(run.energy) < 1e-7 * np.abs(run.energy).max()
    assert run.residual.max() < (1e-7 if stabilise == "none" else 1e-9)


def test_torques_may_depend_on_the_state() -> None:
    robot, known = four_bar(), Planar("four_bar")
    q, qd = known.state(0.3, 1.0)
    damped = simulate(robot, q, qd, torque=lambda _t, _q, qd: -0.05 * qd, duration=0.3)
    assert (np.diff(damped.energy[::50]) < 0).all()


def test_a_run_that_drifts_says_so() -> None:
    robot, known = four_bar(), Planar("four_bar")
    q, qd = known.state(0.3, 20.0)
    message = (
        r"robot 'four_bar': \|Φ\| reaches .* with stabilise='none'; 'project' or a"
    )
    with pytest.warns(ModelWarning, match=message):
        simulate(robot, q, qd, duration=0.5, step=0.01, stabilise="none")
