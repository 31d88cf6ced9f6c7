"""Redundant mechanisms of known rank, and the same with placements rounded.

What `rounded` leaves of a mechanism is a file with a few digits: axes are no longer
parallel, links no longer of one length, and no loop closes better than the digits.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ramidyn.builder import Body, Inertia, Joint, RobotBuilder
from ramidyn.description.description import LoopDescription
from ramidyn.description.pose import Pose
from ramidyn.robot import Robot

X = (1.0, 0.0, 0.0)
TILT = Pose.from_quaternion((0.9, 0.2, -0.3, 0.25), order="wxyz")
"""of the whole mechanism: along no axis, so that every placement is rounded"""


@dataclass(frozen=True)
class Known:
    """A mechanism, with what is known of it."""

    make: Callable[[], Robot]
    rows: int
    rank: int


TURNED = 0.37
"""of the frame of a crank, so that rounding turns no two axes alike"""


def _beam(length: float) -> Inertia:
    return Inertia.from_box(1.0, (0.1, length, 0.15), at=(0.02, length / 2, 0.03))


def _along(angle: float, y: float = 0.0) -> Pose:
    """Return a frame turned about the axis of a planar mechanism, in its plane."""
    return Pose.from_axis_angle(X, angle, (0.0, y, 0.0))


def _loop(name: str, type_: str, a: str, b: str | None, T_a: Pose, T_b: Pose) -> object:
    turned = Pose.from_axis_angle((0, 1, 0), np.pi / 2)  # z along the axis
    return LoopDescription(name, type_, a, b, T_a @ turned, T_b @ turned)


def _closed(builder: RobotBuilder, loops: list[object]) -> Robot:
    description = replace(builder.description(), loops=tuple(loops))  # type: ignore[arg-type]
    return Robot.from_description(description)


def _bars(name: str) -> RobotBuilder:
    """Return two upright cranks of 0.4 m, 0.7 m apart, one with a coupler."""
    b = RobotBuilder(name)
    up = _along(0.6)
    joint = Joint.revolute(X, name="crank")
    b.add(Body("crank_body", _beam(0.4)), "world", joint, TILT @ up)
    joint = Joint.revolute(X, name="coupler")
    b.add(Body("coupler_body", _beam(0.7)), "crank_body", joint, _along(-0.6, 0.4))
    joint = Joint.revolute(X, name="rocker")
    at = TILT @ Pose.at((0, 0.7, 0)) @ up @ _along(TURNED)
    b.add(Body("rocker_body", _beam(0.4)), "world", joint, at)
    return b


PIN = _along(0.0, 0.7), _along(-TURNED) @ _along(-0.6, 0.4)


def four_bar(type_: str) -> Robot:
    """Return a parallelogram; a spatial cut has rows that a planar loop has not."""
    loop = _loop("pin", type_, "coupler_body", "rocker_body", *PIN)
    return _closed(_bars("four_bar"), [loop])


def doubled() -> Robot:
    """Return a four-bar closed twice by the same pin."""
    loops = [_loop(n, "revolute", "coupler_body", "rocker_body", *PIN) for n in "ab"]
    return _closed(_bars("doubled"), loops)


def three_cranks() -> Robot:
    """Return a parallelogram with a crank too many: redundant where it is closed."""
    b = _bars("three_cranks")
    at = TILT @ Pose.at((0, 0.35, 0)) @ _along(0.6 + TURNED)
    joint = Joint.revolute(X, name="middle")
    b.add(Body("middle_body", _beam(0.4)), "world", joint, at)
    ends = {"rocker_body": 0.7, "middle_body": 0.35}
    loops = [
        _loop(n, "revolute", "coupler_body", n, _along(0.0, y), PIN[1])
        for n, y in ends.items()
    ]
    return _closed(b, loops)


def rrr() -> Robot:
    """Return a planar 3-RRR platform: mobility three, of two loops in one plane."""
    b = RobotBuilder("rrr")
    platform = None
    loops: list[object] = []
    for k in range(3):
        turn = 2 * np.pi / 3 * k
        base = TILT @ _along(turn) @ _along(0.5, 0.8)
        shoulder = Joint.revolute(X, name=f"shoulder{k}")
        b.add(Body(f"upper{k}", _beam(0.5)), "world", shoulder, base)
        elbow = Joint.revolute(X, name=f"elbow{k}")
        b.add(Body(f"lower{k}", _beam(0.5)), f"upper{k}", elbow, _along(2.0, 0.5))
        at = _along(turn) @ _along(0.5, 0.8) @ _along(2.0, 0.5) @ _along(0.0, 0.5)
        if platform is None:
            wrist = Joint.revolute(X, name="wrist")
            body = Body("platform", _beam(0.3))
            b.add(body, "lower0", wrist, _along(0.0, 0.5))
            platform = at
        else:
            ends, T_b = (f"lower{k}", "platform"), platform.inverse() @ at
            loops.append(_loop(f"pin{k}", "revolute", *ends, _along(0.0, 0.5), T_b))
    return _closed(b, loops)


MECHANISMS = {
    "four_bar": Known(lambda: four_bar("revolute"), 5, 2),
    "four_bar_ball": Known(lambda: four_bar("spherical"), 3, 2),
    "doubled": Known(doubled, 10, 2),
    "three_cranks": Known(three_cranks, 10, 3),
    "rrr": Known(rrr, 10, 4),
}


def rounded(robot: Robot, digits: int) -> Robot:
    """Return a robot with the placements of bodies and cuts rounded, as in a file."""

    def shortened(T: Pose) -> Pose:
        return Pose.from_quaternion(
            np.round(_quaternion(T.R), digits), T.p.round(digits), order="wxyz"
        )

    d = robot.description
    bodies = tuple(replace(b, placement=shortened(b.placement)) for b in d.bodies)
    loops = tuple(
        replace(
            x,
            placement_a=shortened(x.placement_a),
            placement_b=shortened(x.placement_b),
        )
        for x in d.loops
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Robot.from_description(replace(d, bodies=bodies, loops=loops))


def _quaternion(R: object) -> np.ndarray:
    """Return w, x, y, z of a rotation."""
    values, vectors = np.linalg.eigh(_davenport(np.asarray(R)))
    return vectors[:, int(np.argmax(values))]


def _davenport(R: np.ndarray) -> np.ndarray:
    z = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    K = np.empty((4, 4))
    K[0, 0], K[0, 1:], K[1:, 0] = np.trace(R), z, z
    K[1:, 1:] = R + R.T - np.trace(R) * np.eye(3)
    return K
