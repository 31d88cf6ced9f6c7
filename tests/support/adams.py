"""Single joints computed by MSC ADAMS: their models and series (../shared/exams).

A case has a moving body, the marker I on the ground and the marker J on the body; the
body's frame is its center-of-mass marker. Each becomes two robots: a tree, in which the
joint moves the body, and a free body with a cut joint.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ramidyn.builder import Body, Joint, RobotBuilder
from ramidyn.description.body_inertia import Inertia
from ramidyn.description.pose import Array, Pose
from ramidyn.quantities.frames import jacobian
from ramidyn.robot import Robot
from support.paths import SHARED_ROBOTS
from support.states import value

ADAMS = SHARED_ROBOTS.parent / "exams" / "adams"
ALIGNED = "local_world_aligned"
X, Y, Z = np.eye(3)
GRAVITY = (0.0, 0.0, -9.80665)
ORIGIN = Pose.identity()


@dataclass(frozen=True)
class Case:
    """One model of ADAMS, and what its joint is here."""

    folder: str
    inertia: tuple[float, ...] = (0.04, 0.1, 0.1)
    """IP, about the center of mass; the mass is 1 kg"""
    marker_i: Pose = ORIGIN
    marker_j: Pose = ORIGIN
    """in the body's frame"""

    @property
    def box(self) -> Inertia:
        return Inertia(1.0, (0, 0, 0), np.diag(self.inertia))

    @functools.cached_property
    def data(self) -> dict[str, Array]:
        """The series by name, without time: Pos, Vel, Acc, Quat, Avel, Aacc ..."""
        found: dict[str, Array] = {}
        for path in sorted((ADAMS / self.folder).glob("*.txt")):
            name = path.stem.rpartition("_ADAMS_")[2]
            found[name] = np.loadtxt(path, skiprows=3)[:, 1:]
        assert len(found) >= 8
        return found

    @functools.cached_property
    def poses(self) -> list[Pose]:
        """The pose of the body in each state."""
        both = zip(self.data["Quat"], self.data["Pos"], strict=True)
        return [Pose.from_quaternion(x, p, order="wxyz") for x, p in both]


def read(folder: str, model: str) -> Case:
    """Return a case with the masses and markers of its .adm file."""
    text = (ADAMS / "adams_models" / f"test_{model}.adm").read_text()
    text = "\n".join(x for x in text.splitlines() if not x.startswith("!"))
    statements = re.split(r"\n(?=\w+/)", text.replace("\n,", ","))
    markers: dict[int, Pose] = {}
    facts: dict[str, list[float]] = {}
    for statement in statements:
        word, _, rest = statement.partition("/")
        fields = {
            name: [float(n) * (np.pi / 180 if d else 1.0) for n, d in numbers(values)]
            for name, values in re.findall(r"(\w+) *= *([^=]*?)(?=, *\w+ *=|$)", rest)
        }
        if word == "MARKER":
            turn = fields.get("REULER", [0.0, 0.0, 0.0])
            R = Pose.identity()
            for axis, angle in zip((Z, X, Z), turn, strict=True):
                R = R @ Pose.from_axis_angle(axis, angle)
            markers[int(rest.split(",")[0])] = Pose(
                R.R, np.array(fields.get("QP", [0.0, 0.0, 0.0]))
            )
        elif word in ("PART", "JOINT"):
            facts |= fields
    assert facts["MASS"] == [1.0]
    to_body = markers[int(facts["CM"][0])].inverse()
    i, j = (markers[int(facts.get(x, [k])[0])] for x, k in (("I", 102), ("J", 202)))
    return Case(folder, tuple(facts["IP"]), i, to_body @ j)


def numbers(text: str) -> list[tuple[str, str]]:
    return re.findall(r"([-+]?\d*\.?\d+(?:E[-+]?\d+)?)(D?)", text)


def free(case: Case, *cuts: tuple[str, Pose, Pose, float | None]) -> Robot:
    """Return a free body with cut joints: type, frame on ground and body, length."""
    b = RobotBuilder("free", gravity=GRAVITY)
    b.add(Body("body", case.box, {"cm": ORIGIN}), joint=Joint.floating())
    for k, (type_, at, at_b, length) in enumerate(cuts):
        b.add_loop(
            "world",
            "body",
            joint=type_,
            placement_a=at,
            placement_b=at_b,
            length=length,
            name=f"cut{k}",
        )
    return Robot.from_description(b.description())


def tree(
    case: Case, joint: Joint, rod: Joint | None = None, end: Pose = ORIGIN
) -> Robot:
    """Return the body on a joint; its frame is marker J, its center a frame "cm".

    A rod without mass may be between marker I and the joint at its end.
    """
    b = RobotBuilder("tree", gravity=GRAVITY)
    T = case.marker_j.inverse()
    inertia = Inertia(1.0, T.p, T.R @ np.diag(case.inertia) @ T.R.T)
    parent, at = "world", case.marker_i
    if rod is not None:
        b.add(Body("rod"), "world", rod, case.marker_i)
        parent, at = "rod", end
    b.add(Body("body", inertia, {"cm": T}), parent, joint, at)
    return Robot.from_description(b.description())


Coordinates = Callable[[Pose], Any]
"""q of a joint, of the pose of marker J in marker I"""


def states_of(
    robot: Robot, case: Case, coordinates: Coordinates | None = None
) -> tuple[Array, Array]:
    """Return ADAMS' states as q and qd; without coordinates, those of a free body."""
    if coordinates is None:
        q = [np.append(T.p, T.quaternion(order="xyzw")) for T in case.poses]
    else:
        back = case.marker_i.inverse()
        q = [np.atleast_1d(coordinates(back @ T @ case.marker_j)) for T in case.poses]
    v = np.hstack([case.data["Vel"], case.data["Avel"]])
    J = value(robot, jacobian("cm", expressed_in=ALIGNED), q=np.array(q))
    qd = [np.linalg.lstsq(a, b, rcond=None)[0] for a, b in zip(J, v, strict=True)]
    return np.array(q), np.array(qd)


def about_z(T: Pose) -> float:
    return float(np.arctan2(T.R[1, 0], T.R[0, 0]))


def hooke(T: Pose) -> list[float]:
    """Return the angles about x of I, then y of J."""
    a = np.arctan2(T.R[2, 1], T.R[1, 1])
    return [float(a), float(np.arctan2(T.R[0, 2], T.R[0, 0]))]


def ball(T: Pose) -> Array:
    return T.quaternion(order="xyzw")


def rod_and_ball(T: Pose) -> Array:
    """Return the angles of a rod along y, about x and z, and how the body turned."""
    x, y, z = T.p / np.linalg.norm(T.p)
    angles = [np.arctan2(z, y), -np.arcsin(x)]
    rod = Pose.from_axis_angle(X, angles[0]) @ Pose.from_axis_angle(Z, angles[1])
    return np.append(angles, (rod.inverse() @ T).quaternion(order="xyzw"))


def crank_and_ball(T: Pose) -> Array:
    """Return the angle of a crank along x, about z, and how the body turned."""
    angle = np.arctan2(T.p[1], T.p[0])
    crank = Pose.from_axis_angle(Z, angle)
    return np.append(angle, (crank.inverse() @ T).quaternion(order="xyzw"))


def turned(T: Pose, x: Array, z: Array) -> Pose:
    """Return a frame in place of T, its x and z along axes of T."""
    R = np.column_stack([x, np.cross(z, x), z])
    return T @ Pose(R, np.zeros(3))
