"""Arms with joint limits, for inverse kinematics."""

from __future__ import annotations

from functools import cache

from ramidyn.builder import Body, Inertia, Joint, RobotBuilder
from ramidyn.robot import Robot

AXES = {"x": (1, 0, 0), "y": (0, 1, 0), "z": (0, 0, 1)}


def _link(name: str) -> Body:
    return Body(name, Inertia.from_box(1.0, (0.05, 0.05, 0.2), at=(0, 0, 0.1)))


@cache
def arm7() -> Robot:
    """Return an arm with seven joints, z y z y z y z, each limited."""
    b = RobotBuilder("arm7")
    parent: Body | str = "world"
    for k, axis in enumerate("zyzyzyz"):
        link = _link(f"link{k}")
        limits = (-2.8, 2.8) if axis == "z" else (-2.0, 2.0)
        b.add(link, parent, Joint.revolute(AXES[axis], limits=limits), (0, 0, 0.18))
        parent = link
    b.add_frame("hand", parent, (0.02, 0.0, 0.1))
    return b.robot()


@cache
def planar2() -> Robot:
    """Return two links of 1 m in the x-z plane, the elbow from 0 to 2."""
    b = RobotBuilder("planar2")
    upper, lower = _link("upper"), _link("lower")
    b.add(upper, "world", Joint.revolute(AXES["y"], limits=(-3.0, 3.0)))
    b.add(lower, upper, Joint.revolute(AXES["y"], limits=(0.0, 2.0)), (0, 0, 1.0))
    b.add_frame("tip", lower, (0, 0, 1.0))
    return b.robot()


@cache
def torso() -> Robot:
    """Return a floating body with two arms of four joints."""
    b = RobotBuilder("torso")
    body = Body("body", Inertia.from_box(10.0, (0.3, 0.2, 0.5)))
    b.add(body, "world", Joint.floating(name="root"))
    for side, y in (("left", 0.2), ("right", -0.2)):
        parent = body
        at: tuple[float, float, float] = (0.0, y, 0.2)
        for k, axis in enumerate("yxzy"):
            link = _link(f"{side}{k}")
            b.add(link, parent, Joint.revolute(AXES[axis], limits=(-2.0, 2.0)), at)
            parent, at = link, (0.0, 0.0, 0.15)
        b.add_frame(f"{side}_hand", parent, (0.01, 0.0, 0.1))
    return b.robot()
