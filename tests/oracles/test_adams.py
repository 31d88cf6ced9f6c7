"""Motions, accelerations and reactions of single joints that ADAMS computed.

Each joint is a joint of a tree, and a cut joint of a free body. Reactions are what acts
on the ground, about the origin. ADAMS' series have six digits, and drift in energy by
up to 4e-4: the bar is 1e-3 of the largest entry.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest

from ramidyn.description.builder import Joint
from ramidyn.description.pose import Array, Pose
from ramidyn.forces import JointDamper, JointSpring, PointSpring, TorsionSpring
from ramidyn.quantities.applied import applied_forces
from ramidyn.quantities.dynamics import forward_dynamics, inverse_dynamics
from ramidyn.quantities.frames import acceleration, pose, velocity
from ramidyn.quantities.reactions import joint_wrenches, loop_wrenches
from ramidyn.robot import Robot
from ramidyn.simulation.run import Run
from support import adams
from support.adams import ADAMS, Case, X, Y, Z
from support.dense_body import (
    Applied,
    DenseBody,
    Row,
    distance,
    point,
    rotation,
    square,
)
from support.states import value

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.skipif(not ADAMS.is_dir(), reason=f"no exams in {ADAMS}"),
]

TOLERANCE = 1e-3
MIDDLE = Pose.at((2.0, 0.0, 0.0))


class Exam(NamedTuple):
    case: Callable[[], Case]
    tree: Callable[[Case], Robot]
    coordinates: adams.Coordinates
    free: Callable[[Case], Robot]
    force: str = "Rforce"
    torque: str = "Rtorque"


def standard(folder: str, name: str) -> Callable[[], Case]:
    return lambda: adams.read(folder, f"{name}_Case01")


def cut(type_: str) -> Callable[[Case], Robot]:
    return lambda c: adams.free(c, (type_, c.marker_i, c.marker_j, None))


def hooke_cut(c: Case) -> Robot:
    """Return the cut whose z of A is x of I, and whose x of B is y of J."""
    at, at_b = adams.turned(c.marker_i, Y, X), adams.turned(c.marker_j, Y, Z)
    return adams.free(c, ("universal", at, at_b, None))


def crank_cut(c: Case) -> Robot:
    """Return the two cuts of a crank with a ball: a rod, and a plane."""
    rod = ("distance", c.marker_i, c.marker_j, 2.0)
    return adams.free(c, rod, ("point_on_plane", c.marker_i, c.marker_j, None))


EXAMS = {
    "revolute": Exam(
        standard("revolute_joint", "Revolute"),
        lambda c: adams.tree(c, Joint.revolute(Z)),
        adams.about_z,
        cut("revolute"),
    ),
    "prismatic": Exam(
        standard("prismatic_joint", "Prismatic"),
        lambda c: adams.tree(c, Joint.prismatic(Z)),
        lambda T: T.p[2],
        cut("prismatic"),
    ),
    "cylindrical": Exam(
        standard("cylindrical_joint", "Cylindrical"),
        lambda c: adams.tree(c, Joint.cylindrical(Z)),
        lambda T: [adams.about_z(T), T.p[2]],
        cut("cylindrical"),
    ),
    "spherical": Exam(
        standard("spherical_joint", "Spherical"),
        lambda c: adams.tree(c, Joint.spherical()),
        adams.ball,
        cut("spherical"),
    ),
    "universal": Exam(
        standard("universal_joint", "Universal"),
        lambda c: adams.tree(c, Joint.universal(X, Y)),
        adams.hooke,
        hooke_cut,
    ),
    "distance": Exam(
        standard("distance_constraint", "Distance"),
        lambda c: adams.tree(
            c, Joint.spherical(), Joint.universal(X, Z), Pose.at((0.0, 2.0, 0.0))
        ),
        adams.rod_and_ball,
        lambda c: adams.free(c, ("distance", c.marker_i, c.marker_j, 2.0)),
    ),
    "revolute and spherical": Exam(
        lambda: Case(
            "revsph_constraint", (0.1, 0.04, 0.1), marker_j=Pose.at((0, -2, 0))
        ),
        lambda c: adams.tree(c, Joint.spherical(), Joint.revolute(Z), MIDDLE),
        adams.crank_and_ball,
        crank_cut,
        "Rforce_Body1",
        "Rtorque_Body1",
    ),
}


@functools.cache
def case_of(name: str) -> Case:
    return EXAMS[name].case()


def agree(ours: Array, theirs: Array, what: str, least: float = 0.0) -> None:
    scale = max(float(np.abs(theirs).max()), least)
    np.testing.assert_allclose(
        ours, theirs, rtol=0, atol=TOLERANCE * scale, err_msg=what
    )


def check(exam: Exam, case: Case, a: Array, w: Array) -> None:
    """Compare the acceleration of the center and the wrench on the ground."""
    data = case.data
    agree(a[:, :3], data["Acc"], "acceleration")
    agree(a[:, 3:], data["Aacc"], "angular acceleration", 1.0)
    largest = float(np.abs(data[exam.force]).max())
    agree(w[:, :3], data[exam.force], "force", 1.0)
    agree(w[:, 3:], data[exam.torque], "moment", max(largest, 1.0))


@pytest.mark.parametrize("name", EXAMS)
def test_a_joint_of_a_tree_moves_and_carries_as_in_adams(name: str) -> None:
    exam, case = EXAMS[name], case_of(name)
    robot = exam.tree(case)
    q, qd = adams.states_of(robot, case, exam.coordinates)
    now = {"q": q, "qd": qd}
    forward = forward_dynamics(algorithm="aba" if robot.nv < 5 else "ltdl")
    now["qdd"] = value(robot, forward, **now, tau=np.zeros(robot.nv))
    a = value(robot, acceleration("cm", expressed_in=adams.ALIGNED), **now)
    w = value(robot, joint_wrenches(expressed_in="world"), **now)
    check(exam, case, a, -w[:, 0])


@pytest.mark.parametrize("name", EXAMS)
def test_a_cut_joint_moves_and_carries_as_in_adams(name: str) -> None:
    exam, case = EXAMS[name], case_of(name)
    robot = exam.free(case)
    q, qd = adams.states_of(robot, case)
    now = {"q": q, "qd": qd}
    tau = np.zeros(6)
    forward = forward_dynamics(algorithm="loopwise")
    now["qdd"] = value(robot, forward, **now, tau=tau)
    a = value(robot, acceleration("cm", expressed_in=adams.ALIGNED), **now)
    wrenches = loop_wrenches("loopwise", expressed_in="world", on="both")
    w = value(robot, wrenches, q=q, qd=qd, tau=tau)
    check(exam, case, a, w[:, :, 0].sum(axis=1))


# ------------------------------------------------------------ springs


def torsion_tree(case: Case) -> Robot:
    robot = adams.tree(case, Joint.revolute(Z, name="hinge"))
    for element in (JointSpring("hinge", 200.0), JointDamper("hinge", 10.0)):
        robot = robot.add_force(element)
    return robot


def torsion_cut(case: Case) -> Robot:
    robot = cut("revolute")(case)
    robot = robot.add_frame("i", "world", case.marker_i)
    robot = robot.add_frame("j", "body", case.marker_j)
    return robot.add_force(TorsionSpring("i", "j", 200.0, 10.0), name="spring")


def test_a_torsion_spring_in_a_joint_acts_as_in_adams() -> None:
    case = adams.read("rotspring_force", "Revolute_Case01")
    robot = torsion_tree(case)
    q, qd = adams.states_of(robot, case, adams.about_z)
    now = {"q": q, "qd": qd}
    forward = forward_dynamics(algorithm="aba")
    now["qdd"] = value(robot, forward, **now, tau=np.zeros(1))
    a = value(robot, acceleration("cm", expressed_in=adams.ALIGNED), **now)
    w = value(robot, joint_wrenches(expressed_in="world"), **now)
    check(EXAMS["revolute"], case, a, -w[:, 0])


def test_a_torsion_spring_beside_a_cut_acts_as_in_adams() -> None:
    case = adams.read("rotspring_force", "Revolute_Case01")
    robot = torsion_cut(case)
    q, qd = adams.states_of(robot, case)
    now = {"q": q, "qd": qd, "tau": np.zeros(6)}
    qdd = value(robot, forward_dynamics(algorithm="loopwise"), **now)
    center = acceleration("cm", expressed_in=adams.ALIGNED)
    a = value(robot, center, q=q, qd=qd, qdd=qdd)
    wrenches = loop_wrenches("loopwise", expressed_in="world", on="both")
    w = value(robot, wrenches, **now)[:, 0, 0]
    on_body = value(robot, applied_forces, q=q, qd=qd)
    for k, T in enumerate(case.poses):  # a pure moment, given along the body's axes
        w[k, 3:] -= T.R @ on_body[k, 3:]
    check(EXAMS["revolute"], case, a, w)


@pytest.mark.parametrize("folder", ["transpring_force", "transpringcb_force"])
def test_a_spring_between_points_acts_as_in_adams(folder: str) -> None:
    case = Case(folder)
    robot = adams.free(case).add_force(PointSpring("world", "body", 10.0, 0.5))
    q, qd = adams.states_of(robot, case)
    now = {"q": q, "qd": qd}
    on_body = value(robot, applied_forces, **now)
    forward = forward_dynamics(algorithm="aba")
    now["qdd"] = value(robot, forward, **now, tau=np.zeros(6))
    a = value(robot, acceleration("cm", expressed_in=adams.ALIGNED), **now)
    check(EXAMS["revolute"], case, a, -on_body)  # the body does not turn


def test_a_linear_actuator_carries_what_it_lifts() -> None:
    case = Case("lin_actuator")
    robot = adams.tree(case, Joint.prismatic(Z))
    q, qd = adams.states_of(robot, case, lambda T: T.p[2])
    now = {"q": q, "qd": qd, "qdd": case.data["Acc"][:, 2:]}
    tau = value(robot, inverse_dynamics, **now)
    agree(tau[:, 0], case.data["RforceA"][:, 2], "force on the body")
    w = value(robot, joint_wrenches(expressed_in="world"), **now)[:, 0]
    w[:, 2] -= tau[:, 0]  # what is left is the reaction of the guide
    agree(-w[:, :3], case.data["RforceP"], "reaction", 9.80665)
    agree(-w[:, 3:], case.data["RtorqueP"], "moment", 9.80665)


# ------------------------------------------------------------ motions

TIMES = 0.01 * np.arange(501)
DENSE = 1e-8
"""of the largest entry of a series: what two ways to integrate differ by"""
UP = np.array([0.0, 0.0, 9.80665])
"""lifts the body at constant speed"""


def dense_torsion(case: Case) -> Applied:
    """Return a torsion spring about z of I: the angle of x of J from x of I."""
    i, j = case.marker_i.R, case.marker_j.R

    def applied(_p: Array, R: Array, _v: Array, w: Array) -> Array:
        T = i.T @ R @ j
        angle = np.arctan2(T[1, 0], T[0, 0])
        speed = j[:, 2] @ w
        return np.append(np.zeros(3), -(200.0 * angle + 10.0 * speed) * j[:, 2])

    return applied


def dense_spring(p: Array, _R: Array, v: Array, _w: Array) -> Array:
    length = np.linalg.norm(p)
    line = p / length if length else p  # it starts at the anchor
    return np.append(-(10.0 * length + 0.5 * (line @ v)) * line, np.zeros(3))


def dense_lift(_p: Array, _R: Array, _v: Array, _w: Array) -> Array:
    return np.append(UP, np.zeros(3))


class Motion(NamedTuple):
    """A case as a tree, as cut joints of a free body, and as dense equations."""

    case: Callable[[], Case]
    tree: Callable[[Case], Robot] | None
    coordinates: adams.Coordinates
    free: Callable[[Case], Robot]
    rows: Callable[[Pose, Pose], list[Row]]
    applied: Callable[[Case], Applied] | None = None
    tau: tuple[float, ...] | None = None
    """of the tree"""
    free_tau: tuple[float, ...] | None = None
    force: str = "Rforce"
    torque: str = "Rtorque"


def of(name: str, rows: Callable[[Pose, Pose], list[Row]]) -> Motion:
    e = EXAMS[name]
    return Motion(
        e.case, e.tree, e.coordinates, e.free, rows, force=e.force, torque=e.torque
    )


def spring_case(folder: str) -> Motion:
    return Motion(
        lambda: Case(folder),
        None,
        lambda T: T.p,
        lambda c: adams.free(c).add_force(PointSpring("world", "body", 10.0, 0.5)),
        lambda _i, _j: [],
        lambda _: dense_spring,
    )


PINNED = ((0, 2), (1, 2))
"""x and y of I are square to z of J"""
MOTIONS = {
    "revolute": of(
        "revolute", lambda i, j: [*point(i, j, 0, 1, 2), *square(i, j, *PINNED)]
    ),
    "prismatic": of(
        "prismatic", lambda i, j: [*point(i, j, 0, 1), *square(i, j, *PINNED, (0, 1))]
    ),
    "cylindrical": of(
        "cylindrical", lambda i, j: [*point(i, j, 0, 1), *square(i, j, *PINNED)]
    ),
    "spherical": of("spherical", lambda i, j: point(i, j, 0, 1, 2)),
    "universal": of(
        "universal", lambda i, j: [*point(i, j, 0, 1, 2), *square(i, j, (0, 1))]
    ),
    "distance": of("distance", distance),
    "revolute and spherical": of(
        "revolute and spherical", lambda i, j: [*point(i, j, 2), *distance(i, j)]
    ),
    "torsion spring": Motion(
        lambda: adams.read("rotspring_force", "Revolute_Case01"),
        torsion_tree,
        adams.about_z,
        torsion_cut,
        lambda i, j: [*point(i, j, 0, 1, 2), *square(i, j, *PINNED)],
        dense_torsion,
    ),
    "spring": spring_case("transpring_force"),
    "spring by callback": spring_case("transpringcb_force"),
    "actuator": Motion(
        lambda: Case("lin_actuator"),
        lambda c: adams.tree(c, Joint.prismatic(Z)),
        lambda T: T.p[2],
        cut("prismatic"),
        lambda i, j: [*point(i, j, 0, 1), *square(i, j, *PINNED, (0, 1))],
        lambda _: dense_lift,
        tau=(9.80665,),
        free_tau=(0.0, 0.0, 9.80665, 0.0, 0.0, 0.0),
        force="RforceP",
        torque="RtorqueP",
    ),
}


@functools.cache
def motion_case(name: str) -> Case:
    return MOTIONS[name].case()


def series_of(robot: Robot, run: Run) -> dict[str, Array]:
    """Return the motion of the center of mass as ADAMS has it."""
    now = {"q": run.q, "qd": run.qd}
    poses = value(robot, pose("cm"), q=run.q)
    v = value(robot, velocity("cm", expressed_in=adams.ALIGNED), **now)
    a = value(robot, acceleration("cm", expressed_in=adams.ALIGNED), **now, qdd=run.qdd)
    turns = [Pose(T[:3, :3], T[:3, 3]).quaternion(order="wxyz") for T in poses]
    series = {"Pos": poses[:, :3, 3], "Quat": np.array(turns)}
    series |= {"Vel": v[:, :3], "Avel": v[:, 3:]}
    return series | {"Acc": a[:, :3], "Aacc": a[:, 3:]}


def simulated(robot: Robot, q: Array, qd: Array, tau: tuple[float, ...] | None) -> Run:
    return robot.simulate(
        q,
        qd,
        tau,
        times=TIMES,
        integrator="adaptive",
        rtol=1e-12,
        atol=1e-12,
        record=("qdd",),
        dt=1e-3,
    )


def as_tree(name: str) -> tuple[Robot, Run, Array]:
    """Return the tree, its run, and the wrench on the ground."""
    m, case = MOTIONS[name], motion_case(name)
    assert m.tree is not None
    robot = m.tree(case)
    q, qd = adams.states_of(robot, case, m.coordinates)
    run = simulated(robot, robot.normalize(q[0]), qd[0], m.tau)
    now = {"q": run.q, "qd": run.qd, "qdd": run.qdd}
    w = -value(robot, joint_wrenches(expressed_in="world"), **now)[:, 0]
    if m.tau is not None:
        w[:, 2] += m.tau[0]  # what is left is the reaction of the guide
    return robot, run, w


def as_cuts(name: str) -> tuple[Robot, Run, Array]:
    """Return the free body, its run, and the wrench on the ground."""
    m, case = MOTIONS[name], motion_case(name)
    robot = m.free(case)
    q, qd = (x[0] for x in adams.states_of(robot, case))
    if robot.model.loops:
        q, qd = robot.project(q, qd)
    run = simulated(robot, q, qd, m.free_tau)
    now = {"q": run.q, "qd": run.qd}
    tau = np.zeros(6) if m.free_tau is None else np.array(m.free_tau)
    w = np.zeros((len(TIMES), 6))
    if robot.model.loops:
        wrenches = loop_wrenches("loopwise", expressed_in="world", on="both")
        w = value(robot, wrenches, **now, tau=tau)[:, :, 0].sum(axis=1)
    if robot.model.forces:  # along the body's axes, about its center
        on_body = value(robot, applied_forces, **now)
        poses = value(robot, pose("cm"), q=run.q)
        for k, T in enumerate(poses):
            f, n = T[:3, :3] @ on_body[k, :3], T[:3, :3] @ on_body[k, 3:]
            w[k] -= np.append(f, n + np.cross(T[:3, 3], f))
    return robot, run, w


@functools.cache
def dense_solution(name: str) -> dict[str, Array]:
    """Return the dense solution from ADAMS' first state, elements in the reaction."""
    m, case = MOTIONS[name], motion_case(name)
    data = case.data
    applied = None if m.applied is None else m.applied(case)
    rows = m.rows(case.marker_i, case.marker_j)
    body = DenseBody(np.array(case.inertia), rows, np.array(adams.GRAVITY), applied)
    start = np.append(data["Vel"][0], data["Avel"][0])
    found = body.solved(closed_start(name), start, TIMES)
    if applied is not None and m.tau is None:
        for k, T in enumerate(found["Quat"]):
            R, p = rotation(T), found["Pos"][k]
            w = R.T @ found["Avel"][k]
            f = applied(p, R, found["Vel"][k], w)
            found["force"][k] -= f[:3]
            found["torque"][k] -= R @ f[3:] + np.cross(p, f[:3])
    return found


def closed_start(name: str) -> Pose:
    """Return the first pose of ADAMS, whose six digits leave joints open a little."""
    m, case = MOTIONS[name], motion_case(name)
    robot = m.free(case)
    q = adams.states_of(robot, case)[0][0]
    q = robot.project(q) if robot.model.loops else robot.normalize(q)
    return Pose.from_quaternion(q[3:], q[:3], order="xyzw")


def compare(name: str, robot: Robot, run: Run, w: Array) -> None:
    """Compare a motion and its reaction with the dense solution, and with ADAMS."""
    m, data, dense = MOTIONS[name], motion_case(name).data, dense_solution(name)
    ours = series_of(robot, run) | {"force": w[:, :3], "torque": w[:, 3:]}
    theirs = {n: data[n] for n in ("Pos", "Quat", "Vel", "Avel", "Acc", "Aacc")}
    theirs |= {"force": data[m.force], "torque": data[m.torque]}
    least = dict.fromkeys(("Acc", "Aacc", "Vel", "Avel", "Pos", "Quat"), 1.0)
    least["force"] = 1.0
    least["torque"] = max(float(np.abs(theirs["force"]).max()), 1.0)
    for what, series in ours.items():
        for tolerance, other in ((DENSE, dense[what]), (TOLERANCE, theirs[what])):
            expected = other
            if what == "Quat":
                expected = other * np.sign(np.sum(series * other, axis=1))[:, None]
            scale = max(float(np.abs(expected).max()), least[what])
            np.testing.assert_allclose(
                series, expected, rtol=0, atol=tolerance * scale, err_msg=what
            )


QUICK = ("cylindrical", "distance", "spring", "actuator")


def named(*names: str) -> pytest.MarkDecorator:
    slow = pytest.mark.slow
    some = [n if n in QUICK else pytest.param(n, marks=slow) for n in names]
    return pytest.mark.parametrize("name", some)


@named(*(name for name, m in MOTIONS.items() if m.tree is not None))
def test_a_tree_moves_for_five_seconds_as_in_adams(name: str) -> None:
    pytest.importorskip("scipy")
    compare(name, *as_tree(name))


@named(*MOTIONS)
def test_cut_joints_move_for_five_seconds_as_in_adams(name: str) -> None:
    pytest.importorskip("scipy")
    compare(name, *as_cuts(name))
