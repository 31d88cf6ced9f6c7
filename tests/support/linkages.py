"""Local loops that leave two coordinates: parallel ankles and five-bar legs."""

from __future__ import annotations

import numpy as np

from ramidyn.builder import Body, Inertia, Joint, RobotBuilder
from ramidyn.robot import Robot
from support.planar import UP, pin_at


def bar(name: str, mass: float, length: float) -> Body:
    box = Inertia.from_box(mass, (length, 0.03, 0.02), at=(length / 2, 0.01, 0))
    return Body(name, box)


def five_bar_legs(legs: int = 2) -> Robot:
    """Return legs of two motors and two rods each, that meet in a pin at the toe."""
    b = RobotBuilder("five_bars")
    b.add(Body("base", Inertia.from_box(6.0, (0.4, 0.2, 0.1))), "world")
    for k in range(legs):
        for side, x in (("left", -0.03), ("right", 0.03)):
            name = f"{side}{k}"
            motor = Joint.revolute(UP, name=f"motor_{name}", armature=0.01)
            at = (0.2 * k + x, 0.15, 0.0)
            b.add(bar(f"upper_{name}", 0.3, 0.1), "base", motor, at)
            knee = Joint.revolute(UP, name=f"knee_{name}")
            b.add(bar(f"lower_{name}", 0.2, 0.2), f"upper_{name}", knee, (0.1, 0, 0))
    robot = b.robot(root="floating")
    for k in range(legs):
        robot = robot.add_loop(
            f"lower_left{k}",
            f"lower_right{k}",
            joint="revolute",
            placement_a=pin_at(0.2),
            placement_b=pin_at(0.2),
            name=f"toe{k}",
            check=False,
        )
    return robot


def parallel_ankle(rod: str = "spherical", hip: int = 4) -> Robot:
    """Return a leg whose ankle is moved by two motors on the shank, by two rods.

    A rod is a body on a universal joint, with a ball at the foot, or a distance.
    """
    b = RobotBuilder("leg")
    b.add(Body("base", Inertia.from_box(8.0, (0.3, 0.2, 0.1))), "world")
    parent, axes = "base", ((0, 0, 1), (1, 0, 0), (0, 1, 0), (0, 1, 0))
    for k in range(hip):
        joint = Joint.revolute(axes[k % 4], name=f"leg{k}")
        box = Inertia.from_box(2.0, (0.06, 0.05, 0.3), at=(0.0, 0.01, -0.15))
        at = (0, 0.1, 0) if k == 0 else (0, 0, -0.3 if k > 2 else -0.05)
        b.add(Body(f"link{k}", box), parent, joint, at)
        parent = f"link{k}"
    shank = parent
    cross = Body("cross", Inertia.from_box(0.1, (0.03, 0.04, 0.03)))
    b.add(cross, shank, Joint.revolute((0, 1, 0), name="pitch"), (0, 0, -0.35))
    foot = Body("foot", Inertia.from_box(0.8, (0.2, 0.08, 0.03), at=(0.03, 0, -0.05)))
    b.add(foot, "cross", Joint.revolute((1, 0, 0), name="roll"))
    ends: list[tuple[str, str, np.ndarray, np.ndarray]] = []
    for k, y in enumerate((0.04, -0.04)):
        motor = Joint.revolute((0, 1, 0), name=f"motor{k}", armature=0.01)
        top, crank = np.array((0.0, y, -0.05 - 0.05 * k)), np.array((-0.05, 0.0, 0.0))
        b.add(bar(f"crank{k}", 0.1, 0.05), shank, motor, top)
        heel = np.array((-0.05, y, -0.02))
        along = heel - top - crank + np.array((0, 0, -0.35))
        if rod == "spherical":
            box = Inertia.from_box(0.15, (0.01, 0.01, 0.2), at=along / 2)
            joint = Joint.universal((1, 0, 0), (0, 1, 0), name=f"rod{k}")
            b.add(Body(f"rod{k}", box), f"crank{k}", joint, crank)
            ends.append((f"rod{k}", "foot", along, heel))
        else:
            ends.append((f"crank{k}", "foot", crank, heel))
    robot = b.robot(root="floating")
    for k, (a, c, at, to) in enumerate(ends):
        robot = robot.add_loop(
            a, c, joint=rod, placement_a=at, placement_b=to, name=f"rod_end{k}"
        )
    return robot
