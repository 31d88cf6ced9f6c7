"""A vehicle with loops: the topology of Negrut, Serban & Potra (1997), HMMWV by size.

A chassis on four double wishbones. At each corner two control arms on the chassis carry
a spindle between ball joints; a rod steers the front spindles from a rack and holds the
rear ones to the chassis. In chassis axes, x forward, y to the left, z up, the origin on
the ground below the middle of the car; all of the left front corner, others by symmetry
[m]:

    upper arm   pivot (1.65, 0.40, 0.595), axis x    ball (1.65, 0.70, 0.615)
    lower arm   pivot (1.65, 0.30, 0.355), axis x    ball (1.65, 0.75, 0.315)
    rod         rack (1.45, 0.325, 0.415)            spindle (1.45, 0.73, 0.415)
    wheel       center (1.65, 0.91, 0.455), axis y   radius 0.47, 15 mm flat
    spring      chassis (1.65, 0.50, 0.80)           lower arm (1.65, 0.58, 0.355)
    damper      0.12 behind the spring
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from ramidyn.catalog.general_geometry import with_geometry
from ramidyn.description.body_inertia import Inertia
from ramidyn.description.builder import Body, Joint
from ramidyn.description.description import Description
from ramidyn.description.forces.actuators import PositionServo
from ramidyn.description.forces.bodies import PointSpring
from ramidyn.description.forces.contacts import Height, Tire
from ramidyn.description.forces.element import ForceElement
from ramidyn.description.forces.joints import JointFriction
from ramidyn.description.pose import Pose
from ramidyn.errors import ArgumentError
from ramidyn.robot_builder import RobotBuilder

X, Y = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)
HALF_WHEELBASE, CENTER = 1.65, (0.91, 0.455)
RADIUS, WIDTH = 0.47, 0.3
"""of a wheel with its tire"""
UPPER_PIVOT, UPPER_BALL = (0.40, 0.595), (0.70, 0.615)
LOWER_PIVOT, LOWER_BALL = (0.30, 0.355), (0.75, 0.315)
ROD_INNER, ROD_OUTER = (0.325, 0.415), (0.73, 0.415)
"""y and z of points on the left side"""
BEHIND = 0.2
"""of rods, behind the axle at either end"""
SPRING_TOP, SPRING_FOOT = (0.50, 0.80), (0.58, 0.355)
STIFFNESS = {"front": 100e3, "rear": 120e3}
REST_LENGTH = {"front": 0.534, "rear": 0.528}
"""of springs; at neutral, 0.452 m long, they carry the chassis"""
STEERING = PositionServo(
    "rack_joint",
    stiffness=400e3,
    damping=8e3,
    control_range=(-0.1, 0.1),
    name="steering",
)


class Corner(NamedTuple):
    """One of the corners of a vehicle."""

    name: str
    x: float
    side: float
    """1 on the left, −1 on the right"""
    frame: str = "chassis"
    """the body that carries it"""
    height: float = 0.0
    """of that body's origin above the ground"""
    load: float = 1.0
    """on its wheel, over that of the car: springs, dampers and tires are as stiff"""

    def point(self, at: tuple[float, float]) -> tuple[float, float, float]:
        """Return a point in the plane of the axle, in axes of the body."""
        return self.x, self.side * at[0], at[1] - self.height


CORNERS = tuple(
    Corner(f"{side}_{end}_", x, y)
    for end, x in (("front", HALF_WHEELBASE), ("rear", -HALF_WHEELBASE))
    for side, y in (("right", -1.0), ("left", 1.0))
)
"""in the paper's order"""


def hmmwv(
    geometry: str = "plain",
    seed: int = 0,
    *,
    suspension: bool = False,
    tires: bool = False,
    steering: bool = False,
    ground: Height | None = None,
) -> Description:
    """Return the vehicle of Negrut, Serban & Potra (1997, Fig. 3): 14 bodies, 8 loops.

    A floating chassis; at each corner an upper control arm (revolute) that carries a
    wheel spindle (spherical) and a lower control arm (revolute); a rack (prismatic).
    27 degrees of freedom in the tree. A spherical cut connects each spindle to its
    lower arm, and a rod connects it to the rack (front) or the chassis (rear): 16
    constraints, closed with all joints at zero. Bodies are in the paper's order.

    The paper gives neither lengths nor masses. Those of "plain" geometry are about
    those of the car: 2,340 kg, wheelbase 3.3 m, track 1.82 m. Each wheel is a part of
    its spindle: a body that is fixed to it. The origin of the chassis is on the ground:
    with springs and tires, the vehicle stands on z = 0 nearly as it is at neutral.

    Args:
        geometry: "plain", or "general": random, as for the paper's operation counts.
        seed: seed of the general geometry.
        suspension: whether springs and dampers hold the chassis up: at each corner one
            of each, from the chassis to the lower arm.
        tires: whether wheels spin (joints "left_front_axle" ...) on tires that touch
            the ground with some rolling resistance.
        steering: whether a servo moves the rack: then ``control`` is an input, where
            the rack should be [m], ±0.1 at most; positive steers to the right.
        ground: z of the ground below the tires as a function of x and y, such as a
            bump, in place of z = 0.

    Raises:
        ArgumentError: forces are for plain geometry only, a ground for tires.
    """
    if geometry == "general" and (suspension or tires or steering):
        raise ArgumentError(
            "suspension, tires and steering need geometry='plain'; leave them out"
        )
    if ground is not None and not tires:
        raise ArgumentError("ground is below the tires; pass tires=True")
    builder = RobotBuilder("hmmwv")
    chassis = Inertia.from_box(1940.0, (4.4, 1.6, 0.8), at=(-0.1, 0, 0.75))
    builder.add(Body("chassis", chassis), joint=Joint.floating(name="base"))
    _add_corners(builder, CORNERS, tires)
    description = with_geometry(builder.description(), geometry, seed)
    forces = _forces(CORNERS, suspension, tires, steering, ground)
    return replace(description, forces=tuple(forces))


TRACTOR = {"front": 4.6, "rear": 6.42}
"""loads on wheels of the tractor and of its trailer, over the car's: with a tractor of
6 t and a trailer of 12 t, of which the hitch carries 4.8 t"""
TRAILER = 2.33
HITCH = (-1.2, 0.0, 1.1)
"""in axes of the tractor"""
AXLES = (-6.7, -8.0, -9.3)
"""behind the hitch"""


def tractor_semitrailer(
    suspension: bool = False, tires: bool = False, steering: bool = False
) -> Description:
    """Return a tractor with a semi-trailer on five axles: 33 bodies, 20 loops.

    The larger model that Negrut, Serban & Potra (1997) speak of, with the suspension of
    `hmmwv` at ten wheels: a tractor with a steered and a driven axle, and a trailer
    with three axles on a ball joint above the driven one. 60 degrees of freedom in the
    tree, 40 constraints: 20 are left.

    Args:
        suspension: whether springs and dampers hold both bodies up.
        tires: whether wheels spin on tires that touch the ground.
        steering: whether a servo moves the rack; as for `hmmwv`.
    """
    builder = RobotBuilder("tractor_semitrailer")
    chassis = Inertia.from_box(6000.0, (5.5, 2.0, 1.6), at=(0.3, 0, 1.1))
    builder.add(Body("chassis", chassis), joint=Joint.floating(name="base"))
    tractor = tuple(
        corner._replace(load=TRACTOR["front" if corner.x > 0 else "rear"])
        for corner in CORNERS
    )
    _add_corners(builder, tractor, tires)
    load = Inertia.from_box(12000.0, (11.5, 2.4, 2.6), at=(-4.8, 0, 0.9))
    builder.add(Body("trailer", load), "chassis", Joint.spherical(name="hitch"), HITCH)
    trailer = tuple(
        Corner(f"{side}_trailer{k}_", x, y, "trailer", HITCH[2], TRAILER)
        for k, x in enumerate(AXLES, 1)
        for side, y in (("right", -1.0), ("left", 1.0))
    )
    _add_corners(builder, trailer, tires)
    forces = _forces((*tractor, *trailer), suspension, tires, steering, None)
    return replace(builder.description(), forces=tuple(forces))


def _forces(
    corners: Sequence[Corner],
    suspension: bool,
    tires: bool,
    steering: bool,
    ground: Height | None,
) -> list[ForceElement]:
    """Return the forces that were asked for."""
    forces: list[ForceElement] = []
    for corner in corners:
        forces += _suspension(corner) if suspension else []
        forces += _tire(corner, ground) if tires else []
    return [*forces, STEERING] if steering else forces


def _add_corners(builder: RobotBuilder, corners: Sequence[Corner], spins: bool) -> None:
    """Add the wheels of a body with their arms; the rack too, if one is steered."""
    for corner in corners:
        _add_upper_arm(builder, corner)
        _add_spindle(builder, corner, spins)
    if any(corner.x > 0 for corner in corners):
        _add_rack(builder)
    for corner in corners:
        _add_lower_arm(builder, corner)
    for corner in corners:
        a, b = f"{corner.name}lower_arm", f"{corner.name}spindle"
        ball = _between(corner, LOWER_PIVOT, LOWER_BALL)
        builder.add_loop(a, b, name=f"{corner.name}cut", placement_a=ball)
    for corner in corners:
        _add_rod(builder, corner)


def _add_rack(builder: RobotBuilder) -> None:
    rack = Inertia.from_cylinder(
        8.0, radius=0.02, length=0.6, at=Pose.from_axis_angle(X, math.pi / 2)
    )
    rail = Joint.prismatic(Y, name="rack_joint")
    at = (HALF_WHEELBASE - BEHIND, 0, ROD_INNER[1])
    builder.add(Body("rack", rack), "chassis", rail, at)


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
    builder.add(Body(f"{corner.name}upper_arm", arm), corner.frame, joint, at)


def _add_spindle(builder: RobotBuilder, corner: Corner, spins: bool) -> None:
    """Add the spindle, its frame at the upper ball, and the wheel."""
    ball = _between(corner, UPPER_PIVOT, UPPER_BALL)
    center = _between(corner, UPPER_BALL, CENTER)
    hub = (0.0, 0.4 * center[1], center[2])
    spindle = Inertia.from_box(30.0, (0.16, 0.12, 0.34), at=hub)
    round_y = Pose.from_axis_angle(X, math.pi / 2)
    wheel = Inertia.from_cylinder(50.0, RADIUS, WIDTH, at=round_y)
    joint = Joint.spherical(name=f"{corner.name}ball")
    name = f"{corner.name}spindle"
    builder.add(Body(name, spindle), f"{corner.name}upper_arm", joint, ball)
    axle_name = f"{corner.name}axle"
    axle = Joint.revolute(Y, name=axle_name) if spins else Joint.fixed(axle_name)
    builder.add(Body(f"{corner.name}wheel", wheel), name, axle, center)


def _add_lower_arm(builder: RobotBuilder, corner: Corner) -> None:
    _, y, z = _between(corner, LOWER_PIVOT, LOWER_BALL)
    arm = Inertia.from_box(12.0, (0.4, abs(y), 0.06), at=(0, y / 2, z / 2))
    joint = Joint.revolute(X, name=f"{corner.name}lower")
    at = corner.point(LOWER_PIVOT)
    builder.add(Body(f"{corner.name}lower_arm", arm), corner.frame, joint, at)


def _add_rod(builder: RobotBuilder, corner: Corner) -> None:
    """Hold a spindle by a rod to the rack, or to the chassis at the rear."""
    _, y, z = corner.point(ROD_INNER)
    is_front = corner.x > 0
    a, start = (
        ("rack", (0, y, 0)) if is_front else (corner.frame, (corner.x - BEHIND, y, z))
    )
    _, y, z = _between(corner, UPPER_BALL, ROD_OUTER)
    b = f"{corner.name}spindle"
    builder.add_loop(
        a,
        b,
        joint="distance",
        placement_a=start,
        placement_b=(-BEHIND, y, z),
        name=f"{corner.name}rod",
    )


def _suspension(corner: Corner) -> list[ForceElement]:
    """Return the spring and the damper of a corner."""
    end = "front" if corner.x > 0 else "rear"
    arm = f"{corner.name}lower_arm"
    _, y, z = _between(corner, LOWER_PIVOT, SPRING_FOOT)
    x, side, top = corner.point(SPRING_TOP)
    spring = PointSpring(
        corner.frame,
        arm,
        stiffness=STIFFNESS[end] * corner.load,
        rest_length=REST_LENGTH[end],
        point_a=(x, side, top),
        point_b=(0.0, y, z),
        name=f"{corner.name}spring",
    )
    damper = PointSpring(
        corner.frame,
        arm,
        damping=7e3 * corner.load,
        point_a=(x - 0.12, side, top),
        point_b=(-0.12, y, z),
        name=f"{corner.name}damper",
    )
    return [spring, damper]


def _tire(corner: Corner, ground: Height | None) -> list[ForceElement]:
    """Return the tire of a corner, and its rolling resistance: 1.5 % of the load."""
    tire = Tire(
        f"{corner.name}wheel",
        RADIUS,
        stiffness=380e3 * corner.load,
        damping=2e3 * corner.load,
        longitudinal_stiffness=100e3 * corner.load,
        cornering_stiffness=70e3 * corner.load,
        friction=0.8,
        height=ground,
        name=f"{corner.name}tire",
    )
    axle = f"{corner.name}axle"
    resistance = 40.0 * corner.load
    rolling = JointFriction(axle, resistance, name=f"{corner.name}rolling_resistance")
    return [tire, rolling]
