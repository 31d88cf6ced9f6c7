"""A robot as its file describes it, before anything is merged or renumbered.

Produced by every loader and the builder; the Tree is built from it. Bodies are in
file order, parents before children; a body has no joints (fixed to its parent), one, or
several (MJCF), which act in their order from the parent outwards:

    T_parent_body = placement · Π_j  T(position_j) J_j(q_j − reference_j) T(−position_j)

with the axis and position of each joint in body coordinates.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ramidyn.description.pose import Array, Pose

if TYPE_CHECKING:
    from ramidyn.description.forces.element import ForceElement
    from ramidyn.description.shapes import ShapeSource

Z, ORIGIN = np.array([0.0, 0.0, 1.0]), np.zeros(3)
for shared in (Z, ORIGIN):
    shared.setflags(write=False)


@dataclass(frozen=True, slots=True, eq=False)
class Inertial:
    """The mass distribution of a body, in body coordinates."""

    mass: float
    """[kg]"""
    com: Array
    """(3,) center of mass in the body frame [m]"""
    inertia: Array
    """(3, 3) rotational inertia about the center of mass, body axes [kg m²]"""


@dataclass(frozen=True, slots=True, eq=False)
class Limits:
    """The range of each coordinate of a joint; infinite if the file gives none."""

    lower: tuple[float, ...]
    upper: tuple[float, ...]
    velocity: tuple[float, ...] = ()
    effort: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Mimic:
    """q = multiplier · q_of + offset, on one-coordinate joints."""

    of: str
    multiplier: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class JointDescription:
    """One joint of a body.

    The axis of a planar joint is the plane's normal; of a universal joint, the
    first axis (``axis2`` is the second, in body coordinates at the reference).
    Spherical and floating joints ignore it.
    """

    name: str
    type: str
    axis: Array = field(default_factory=lambda: Z)
    """(3,) unit vector in body coordinates"""
    position: Array = field(default_factory=lambda: ORIGIN)
    """(3,) the joint's anchor in body coordinates"""
    reference: float = 0.0
    """the coordinate at which the body is at its placement (MJCF ``ref``)"""
    axis2: Array | None = None
    pitch: float = 0.0
    """helical: advance per radian [m/rad]"""
    limits: Limits | None = None
    armature: float = 0.0
    """rotor inertia added to the diagonal of M"""
    damping: float = 0.0
    friction: float = 0.0
    stiffness: float = 0.0
    spring_reference: float = 0.0
    is_continuous: bool = False
    """a URDF continuous joint: an angle without limits"""
    mimic: Mimic | None = None
    actuator_force_range: tuple[float, float] | None = None
    """of the sum of all actuators on it (MJCF ``actuatorfrcrange``)"""
    actuator_gravity_compensation: bool = False
    """whether actuators apply the gravity compensation along it, within that range
    (MJCF ``actuatorgravcomp``)"""


@dataclass(frozen=True, slots=True, eq=False)
class BodyDescription:
    """One body (URDF link, MJCF body) and how it is attached to its parent."""

    name: str
    parent: str | None
    """name of the parent body; None is the world"""
    placement: Pose
    """the body frame in the parent's frame, at the reference configuration"""
    joints: tuple[JointDescription, ...] = ()
    inertial: Inertial | None = None
    fixed_joint: str | None = None
    """the name of the fixed joint in the file, if it has one (URDF)"""
    gravity_compensation: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class FrameDescription:
    """A named frame fixed to a body (site, tool, the user's own)."""

    name: str
    body: str | None
    placement: Pose


@dataclass(frozen=True, slots=True, eq=False)
class LoopDescription:
    """A constraint that closes a loop: a cut joint between two bodies, or a coupling.

    ``type`` is one of `loop_types.ROWS`; "spherical" is MJCF's connect, "coupling"
    its joint. Placements are the cut's frames in each body.
    """

    name: str
    type: str
    body_a: str | None = None
    body_b: str | None = None
    placement_a: Pose = field(default_factory=Pose.identity)
    placement_b: Pose = field(default_factory=Pose.identity)
    joints: tuple[str, ...] = ()
    """coupling: the dependent joint, then the one it follows (if any)"""
    coefficients: tuple[float, ...] = ()
    """coupling: y − y0 = Σ c_k (x − x0)^k"""
    length: float = math.nan
    """distance: the rod's length"""


@dataclass(frozen=True, slots=True)
class Actuator:
    """A motor as the file describes it: data only, not part of the equations."""

    name: str
    type: str
    """"motor", "position", "velocity", ... (MJCF); "transmission" (URDF)"""
    joint: str | None
    """the joint it drives; None if it drives a tendon, a site or a body"""
    gear: tuple[float, ...] = (1.0,)
    """joint force per unit of its control (MJCF); reduction of a transmission (URDF)"""
    control_range: tuple[float, float] = (-math.inf, math.inf)
    force_range: tuple[float, float] = (-math.inf, math.inf)
    """[N m, N], before the gear"""


@dataclass(frozen=True, slots=True)
class Unsupported:
    """A force of a file that cannot act."""

    kind: str
    """such as "{n} muscle actuator{s}": how a number of them is called"""
    name: str
    option: str
    """the option of `load` that declines it: "passive" or "actuators" """
    reason: str = "not supported"


@dataclass(frozen=True, slots=True, eq=False)
class FileForces:
    """What a file asks for."""

    passive: tuple[ForceElement, ...] = ()
    actuators: tuple[ForceElement, ...] = ()
    """with the limits of their sums, and tendons that they pull"""
    unsupported: tuple[Unsupported, ...] = ()
    """what no option takes"""
    contacts: tuple[str, ...] = ()
    """geoms that touch others in MuJoCo"""


@dataclass(frozen=True, slots=True, eq=False)
class Description:
    """A whole robot as described."""

    name: str
    bodies: tuple[BodyDescription, ...]
    frames: tuple[FrameDescription, ...] = ()
    loops: tuple[LoopDescription, ...] = ()
    keyframes: dict[str, Array] = field(default_factory=dict[str, Array])
    """configurations by name, in the file's own coordinates (MJCF qpos)"""
    gravity: tuple[float, float, float] = (0.0, 0.0, -9.81)
    format: str = "python"
    """"urdf", "mjcf", "sdf" or "python" """
    actuators: tuple[Actuator, ...] = ()
    """as the file has them"""
    forces: tuple[ForceElement, ...] = ()
    """those that act"""
    offered: FileForces = field(default_factory=FileForces)
    """those that the file asks for"""
    warnings: tuple[str, ...] = ()
    """warnings about the file, each naming its element"""
    shape_sources: tuple[ShapeSource, ...] = field(default=(), compare=False)
    """where its shapes are read from; no part of what it is"""
