"""Accelerations and reactions of single joints at the states that ADAMS computed.

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

from ramify.forces import JointDamper, JointSpring, PointSpring, TorsionSpring
from ramify.model.builder import Joint
from ramify.model.pose import Array, Pose
from ramify.quantities.applied import applied_forces
from ramify.quantities.dynamics import forward_dynamics, inverse_dynamics
from ramify.quantities.frames import acceleration
from ramify.quantities.reactions import joint_wrenches, loop_wrenches
from ramify.robot import Robot
from support import adams
from support.adams import ADAMS, Case, X, Y, Z
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
    wrenches = loop_wrenches(algorithm="loopwise", expressed_in="world")
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
    wrenches = loop_wrenches(algorithm="loopwise", expressed_in="world")
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
