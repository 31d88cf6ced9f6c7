"""A vehicle with loops: the topology of Negrut, Serban & Potra (1997), HMMWV by size.

A chassis on four double wishbones. At each corner two control arms on the chassis carry
a spindle between ball joints; a rod steers the front spindles from a rack and holds the
rear ones to the chassis. In chassis axes, x forward, y to the left, z up, origin midway
between the wheel centers; all of the left front corner, others by symmetry [m]:

    upper arm   pivot (1.65, 0.40, 0.14), axis x    ball (1.65, 0.70, 0.16)
    lower arm   pivot (1.65, 0.30, -0.10), axis x   ball (1.65, 0.75, -0.14)
    rod         rack (1.45, 0.325, -0.04)           spindle (1.45, 0.73, -0.04)
    wheel       center (1.65, 0.91, 0), axis y      radius 0.47
"""

from __future__ import annotations

import math
from typing import NamedTuple

from ramify.model.body_inertia import Inertia
from ramify.model.builder import Body, Joint, RobotBuilder
from ramify.model.description import Description
from ramify.model.general_geometry import with_geometry
from ramify.model.pose import Pose

X, Y = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)
HALF_WHEELBASE, HALF_TRACK = 1.65, 0.91
RADIUS, WIDTH = 0.47, 0.3
"""of a wheel with its tire"""
UPPER_PIVOT, UPPER_BALL = (0.40, 0.14), (0.70, 0.16)
LOWER_PIVOT, LOWER_BALL = (0.30, -0.10), (0.75, -0.14)
ROD_INNER, ROD_OUTER = (0.325, -0.04), (0.73, -0.04)
"""y and z of points, left of the middle"""
BEHIND = 0.2
"""of rods, behind the axle at either end"""


class Corner(NamedTuple):
    """One of the four corners of a vehicle."""

    name: str
    x: float
    side: float
    """1 on the left, −1 on the right"""

    def point(self, at: tuple[float, float]) -> tuple[float, float, float]:
        """Return a point in the plane of the axle, in chassis axes."""
        return self.x, self.side * at[0], at[1]


CORNERS = tuple(
    Corner(f"{side}_{end}_", x, y)
    for end, x in (("front", HALF_WHEELBASE), ("rear", -HALF_WHEELBASE))
    for side, y in (("right", -1.0), ("left", 1.0))
)
"""in the paper's order"""


def hmmwv(geometry: str = "plain", seed: int = 0) -> Description:
    """Return the vehicle of Negrut, Serban & Potra (1997, Fig. 3): 14 bodies, 8 loops.

    A floating chassis; at each corner an upper control arm (revolute) that carries a
    wheel spindle (spherical) and a lower control arm (revolute); a rack (prismatic).
    27 degrees of freedom in the tree. A spherical cut connects each spindle to its
    lower arm, and a rod connects it to the rack (front) or the chassis (rear): 16
    constraints, closed with all joints at zero. Bodies are in the paper's order.

    The paper gives neither lengths nor masses. Those of "plain" geometry are about
    those of the car: 2,340 kg, wheelbase 3.3 m, track 1.82 m. Each wheel is a part of
    its spindle: a body that is fixed to it.

    Args:
        geometry: "plain", or "general": random, as for the paper's operation counts.
        seed: seed of the general geometry.
    """
    builder = RobotBuilder("hmmwv")
    chassis = Inertia.from_box(1940.0, (4.4, 1.6, 0.8), at=(-0.1, 0, 0.3))
    builder.add(Body("chassis", chassis), joint=Joint.floating(name="base"))
    for corner in CORNERS:
        _add_upper_arm(builder, corner)
        _add_spindle(builder, corner)
    rack = Inertia.from_cylinder(
        8.0, radius=0.02, length=0.6, at=Pose.from_axis_angle(X, math.pi / 2)
    )
    rail = Joint.prismatic(Y, name="rack_joint")
    at = (HALF_WHEELBASE - BEHIND, 0, ROD_INNER[1])
    builder.add(Body("rack", rack), "chassis", rail, at)
    for corner in CORNERS:
        _add_lower_arm(builder, corner)
    for corner in CORNERS:
        a, b = f"{corner.name}lower_arm", f"{corner.name}spindle"
        ball = _between(corner, LOWER_PIVOT, LOWER_BALL)
        builder.close(f"{corner.name}cut", "spherical", a, b, at=ball)
    for corner in CORNERS:
        _add_rod(builder, corner)
    return with_geometry(builder.description(), geometry, seed)


def _between(
    corner: Corner, start: tuple[float, float], end: tuple[float, float]
) -> tuple[float, float, float]:
    """Return the way from a point to another one of the same axle."""
    return 0.0, corner.side * (end[0] - start[0]), end[1] - start[1]


def _add_upper_arm(builder: RobotBuilder, corner: Corner) -> None:
    _, y, z = _between(corner, UPPER_PIVOT, UPPER_BALL)
    arm = Inertia.from_box(6.0, (0.3, abs(y), 0.05), at=(0, y / 2, z / 2))
    joint = Joint.revolute(X, name=f"{corner.name}upper")
    at = corner.point(UPPER_PIVOT)
    builder.add(Body(f"{corner.name}upper_arm", arm), "chassis", joint, at)


def _add_spindle(builder: RobotBuilder, corner: Corner) -> None:
    """Add the spindle, its frame at the upper ball, and the wheel."""
    ball = _between(corner, UPPER_PIVOT, UPPER_BALL)
    center = _between(corner, UPPER_BALL, (HALF_TRACK, 0.0))
    hub = (0.0, 0.4 * center[1], center[2])
    spindle = Inertia.from_box(30.0, (0.16, 0.12, 0.34), at=hub)
    round_y = Pose.from_axis_angle(X, math.pi / 2)
    wheel = Inertia.from_cylinder(50.0, RADIUS, WIDTH, at=round_y)
    joint = Joint.spherical(name=f"{corner.name}ball")
    name = f"{corner.name}spindle"
    builder.add(Body(name, spindle), f"{corner.name}upper_arm", joint, ball)
    axle = Joint.fixed(name=f"{corner.name}axle")
    builder.add(Body(f"{corner.name}wheel", wheel), name, axle, center)


def _add_lower_arm(builder: RobotBuilder, corner: Corner) -> None:
    _, y, z = _between(corner, LOWER_PIVOT, LOWER_BALL)
    arm = Inertia.from_box(12.0, (0.4, abs(y), 0.06), at=(0, y / 2, z / 2))
    joint = Joint.revolute(X, name=f"{corner.name}lower")
    at = corner.point(LOWER_PIVOT)
    builder.add(Body(f"{corner.name}lower_arm", arm), "chassis", joint, at)


def _add_rod(builder: RobotBuilder, corner: Corner) -> None:
    """Hold a spindle by a rod to the rack, or to the chassis at the rear."""
    _, y, z = corner.point(ROD_INNER)
    is_front = corner.x > 0
    a, start = (
        ("rack", (0, y, 0)) if is_front else ("chassis", (corner.x - BEHIND, y, z))
    )
    _, y, z = _between(corner, UPPER_BALL, ROD_OUTER)
    b = f"{corner.name}spindle"
    builder.close(f"{corner.name}rod", "distance", a, b, at=start, at_b=(-BEHIND, y, z))
