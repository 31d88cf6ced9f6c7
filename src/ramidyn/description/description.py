"""A robot as its file describes it, before anything is merged or renumbered.

Produced by every loader and the builder; the Tree is built from it. Bodies are in
file order, parents before children; a body has no joints (fixed to its parent), one, or
several (MJCF), which act in their order from the parent outwards:

    T_parent_body = placement · Π_j  T(position_j) J_j(q_j − reference_j) T(−position_j)

with the axis and position of each joint in body coordinates.

Shapes are data that dynamics never needs.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, final

import numpy as np
import numpy.typing as npt

from ramidyn.description.pose import Array, Pose

if TYPE_CHECKING:
    from ramidyn.description.contacts import Contact
    from ramidyn.description.forces.element import ForceElement
    from ramidyn.description.sensors import Sensor


KINDS = ("box", "sphere", "cylinder", "capsule", "ellipsoid", "plane", "mesh")
Color = tuple[float, float, float, float]
Role = Literal["visual", "collision"]


@final
@dataclass(frozen=True, slots=True, eq=False)
class MeshShape:
    """The mesh of a shape: a file, or vertices given in the model."""

    file: str = ""
    """as the model names it: a path, ``package://...`` or ``file://...``"""
    folder: Path | None = None
    """where a relative path starts; None: the model was given as text"""
    limit: Path | None = None
    """the directory that the file may not leave"""
    scale: tuple[float, float, float] = (1.0, 1.0, 1.0)
    reference: Pose = field(default_factory=Pose.identity)
    """the mesh's frame among the file's coordinates: x = scale · T⁻¹ x_file"""
    vertices: Array | None = None
    """(n, 3), where no file is named"""
    faces: npt.NDArray[np.int64] | None = None
    """(m, 3) indices of vertices; None: their convex hull"""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """A shape fixed to a body."""

    kind: str
    """one of `KINDS`"""
    body: str
    """a body of the robot, or "world" """
    placement: Pose
    """its center and axes in the body's frame"""
    size: tuple[float, ...] = ()
    """box: its three edges; sphere: radius; cylinder, capsule: radius, and length along
    z without the caps; ellipsoid: its three radii; plane: two edges, 0: endless [m]"""
    color: Color | None = None
    """red, green, blue, opacity from 0 to 1; None where the model gives none"""
    role: Role = "visual"
    name: str = ""
    mesh: MeshShape | None = None


@final
@dataclass(frozen=True, slots=True, eq=False)
class ShapeSource:
    """The file that the shapes of a description are read from, on demand."""

    text: str = ""
    """the model, where it was given as text or is not what its file holds"""
    path: str = ""
    """the model's file, if it has one"""
    include_directory: str | None = None
    prefix: str = ""
    """of every name, after the robot was attached to another"""
    body: str | None = None
    """the body that its world is fixed to, None: the world"""
    placement: Pose = field(default_factory=Pose.identity)
    """of its world in that body"""

    @staticmethod
    def of(
        text: str,
        path: Path | None,
        include_directory: str | os.PathLike[str] | None,
        is_expanded: bool = False,
    ) -> ShapeSource:
        """Return the source of a model that has just been read, or expanded."""
        limit = None if include_directory is None else os.fspath(include_directory)
        file = "" if path is None else os.path.abspath(path)
        kept = text if is_expanded or not file else ""
        return ShapeSource(kept, file, limit)

    def attached(self, body: str | None, placement: Pose, prefix: str) -> ShapeSource:
        """Return the source, its robot attached to a body of another."""
        if self.body is not None:
            return replace(self, prefix=prefix + self.prefix, body=prefix + self.body)
        return replace(
            self,
            prefix=prefix + self.prefix,
            body=body,
            placement=placement @ self.placement,
        )


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
    as_rows: bool = False
    """it is always solved by rows, never as a cluster"""


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
    """the option of `load` that declines it: "passive", "actuators", "hard_limits" """
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
    contacts: tuple[Contact, ...] = ()
    """rigid contacts, hard limits and dry friction"""
    sensors: tuple[Sensor, ...] = ()
    """those that can be computed"""
    offered: FileForces = field(default_factory=FileForces)
    """those that the file asks for"""
    warnings: tuple[str, ...] = ()
    """warnings about the file, each naming its element"""
    shape_sources: tuple[ShapeSource, ...] = field(default=(), compare=False)
    """where its shapes are read from; no part of what it is"""
