"""Contacts, hard limits and dry friction that a robot's file asks for.

Shapes of moving bodies touch the planes of the file that are fixed to the world, or
ground that the user gives. What cannot be taken is named in lines for the warning at
loading.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, final

from ramidyn.description.constants import times
from ramidyn.description.contacts import (
    Contact,
    ContactBox,
    ContactCapsule,
    ContactPoints,
    ContactSphere,
    DryFriction,
    GroundContact,
    HardLimit,
    check_number_of_candidates,
)
from ramidyn.description.description import Description, JointDescription
from ramidyn.description.forces.bodies import Point
from ramidyn.description.forces.contacts import UP, Height
from ramidyn.description.forces.joints import JointFriction, Tendon
from ramidyn.description.joint_types import joint_type
from ramidyn.description.pose import Pose
from ramidyn.errors import ModelError, counted_noun, quoted_names, unknown_name

if TYPE_CHECKING:
    from ramidyn.description.formats.colliders import (
        Collider,
        ContactNumbers,
        FileColliders,
    )

TAKEN: Final = ("sphere", "capsule", "box")
MANY: Final = {"sphere": "spheres", "box": "boxes", "mesh": "meshes"}
SHOWN = 3
"""names in a line"""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Ground:
    """What shapes can touch: a plane of the file, or the ground that a user gives."""

    normal: Point = UP
    offset: float = 0.0
    height: Height | None = None
    plane: Collider | None = None
    """the shape of the file"""


def file_contacts(
    description: Description,
    found: FileColliders,
    ground: float | Height | None,
    wanted: Collection[str] | None,
) -> tuple[list[GroundContact], list[str]]:
    """Return contacts of a file's shapes, and lines about those that are not taken.

    Args:
        description: the robot, with the root that it will have.
        found: the collision shapes of its file.
        ground: its height [m], or a function of x and y; None: the planes of the file.
        wanted: names of shapes or bodies; None: all.

    Raises:
        ModelError: there is no ground, or a wanted shape cannot touch it.
        UnknownName: there is no such shape or body.
    """
    name = description.name
    if found.is_disabled:
        return [], ["the file switches contacts off (<flag>); none are taken"]
    fixed = _fixed_poses(description)
    moving = [c for c in found.colliders if c.shape.body not in fixed]
    grounds = _grounds(found, fixed) if ground is None else [_given_ground(ground)]
    if not grounds:
        raise ModelError(
            f"{name}: contacts is given, but the file has no plane for its shapes to "
            "touch; pass ground=0.0 (its height [m]), or a function of x and y"
        )
    if wanted is None:
        taken = _take(found, moving, grounds, TAKEN)
        lines = _lines_about_others(found, fixed, moving) + taken.lines()
        if not taken.contacts:
            lines.append("no shape of the file can touch the ground")
    else:
        chosen = _chosen(name, moving, wanted)
        taken = _take(found, chosen, grounds, (*TAKEN, "mesh"))
        taken.check_wanted(name, chosen, wanted)
        lines = taken.lines()
    check_number_of_candidates(name, taken.contacts)
    return taken.contacts, lines


@final
@dataclass(slots=True)
class _Taken:
    """Contacts of a file's shapes, and the shapes that cannot be taken."""

    contacts: list[GroundContact] = field(default_factory=list["GroundContact"])
    shapes: list[Collider] = field(default_factory=list["Collider"])
    """of the contacts"""
    left: list[Collider] = field(default_factory=list["Collider"])
    """shapes of other kinds that would touch the ground"""
    rough: list[str] = field(default_factory=list[str])
    """shapes with more friction than sliding, or an uneven one"""

    def check_wanted(
        self, robot: str, chosen: Sequence[Collider], wanted: Collection[str]
    ) -> None:
        """Raise an error for a name that has brought no contact."""
        for name in wanted:
            own = [c for c in chosen if name in (c.name, c.shape.body)]
            if any(c in self.shapes for c in own):
                continue
            why = ", which cannot touch the ground"
            if all(c in self.left for c in own):
                why = "; contacts are taken of spheres, capsules, boxes and meshes"
            raise ModelError(f"{robot}: {name!r} in contacts has {_by_kind(own)}{why}")

    def lines(self) -> list[str]:
        """Return lines about what was not taken."""
        lines: list[str] = []
        if self.left:
            lines.append(
                f"contacts are not taken of {_by_kind(self.left)}: only spheres, "
                "capsules, boxes and the corners of meshes that you name touch the "
                "ground; name the shapes you need in contacts=[...]"
            )
        if self.rough:
            lines.append(
                f"friction of {_counted(self.rough, 'shape')} resists sliding only, "
                "and alike in all directions: torsional and rolling friction are not "
                "taken"
            )
        return lines


def _take(
    found: FileColliders,
    moving: Iterable[Collider],
    grounds: Sequence[Ground],
    kinds: Collection[str],
) -> _Taken:
    """Return the contacts of shapes of some kinds with all grounds."""
    taken = _Taken()
    for collider in moving:
        touches = [(g, _touch(found, collider, g)) for g in grounds]
        for ground, touch in touches:
            if touch is None:
                continue
            if collider.shape.kind not in kinds:
                taken.left.append(collider)
                break
            name = collider.name
            if len(grounds) > 1 and ground.plane is not None:
                name = f"{name}_{ground.plane.name}"
            taken.contacts.append(_contact(collider, ground, touch, name))
            taken.shapes.append(collider)
            if touch.dimension > 3 or touch.is_uneven:
                taken.rough.append(collider.name)
    return taken


def _fixed_poses(description: Description) -> dict[str, Pose]:
    """Return the pose of every body that is fixed to the world."""
    fixed = {"world": Pose.identity()}
    for body in description.bodies:
        above = body.parent or "world"
        if above in fixed and not body.joints:
            fixed[body.name] = fixed[above] @ body.placement
    return fixed


def _grounds(found: FileColliders, fixed: dict[str, Pose]) -> list[Ground]:
    grounds: list[Ground] = []
    for collider in found.colliders:
        shape = collider.shape
        if shape.kind == "plane" and shape.body in fixed:
            T = fixed[shape.body] @ shape.placement
            x, y, z = times(T.rows, UP)
            offset = sum(a * b for a, b in zip((x, y, z), T.origin, strict=True))
            grounds.append(Ground((x, y, z), offset, plane=collider))
    return grounds


def _given_ground(ground: float | Height) -> Ground:
    return Ground(height=ground) if callable(ground) else Ground(offset=float(ground))


def _chosen(
    robot: str, moving: Sequence[Collider], wanted: Collection[str]
) -> list[Collider]:
    """Return the shapes with those names, and the shapes of bodies with those names."""
    known = {c.name for c in moving} | {c.shape.body for c in moving}
    for name in wanted:
        if name not in known:
            owner = f"robot {robot!r}, for contacts"
            raise unknown_name("collision shape or body", name, owner, sorted(known))
    return [c for c in moving if c.name in wanted or c.shape.body in wanted]


def _touch(
    found: FileColliders, collider: Collider, where: Ground
) -> ContactNumbers | None:
    """Return how a shape touches a ground; None: it never does."""
    if where.plane is not None:
        return found.touch(collider, where.plane)
    return collider.touch if any(collider.masks) else None


def _contact(
    collider: Collider, where: Ground, touch: ContactNumbers, name: str
) -> GroundContact:
    shape = collider.shape
    T, size = shape.placement, shape.size
    x, y, z = T.origin
    margin = 0.0 if where.plane is None else touch.margin
    shared: dict[str, Any] = {
        "friction": touch.friction if touch.dimension > 1 else 0.0,
        "restitution": touch.restitution,
        "normal": where.normal,
        "offset": where.offset + margin,
        "height": where.height,
        "name": name,
    }
    if shape.kind == "mesh":
        from ramidyn.description.shape_meshes import mesh_corners  # noqa: PLC0415  where a mesh is asked for

        try:
            corners = tuple(mesh_corners(shape))
        except ModelError as e:
            raise ModelError(
                f"shape {name!r} in contacts needs the corners of its mesh: "
                f"{str(e).partition(';')[0]}"
            ) from None
        return ContactPoints(shape.body, corners, **shared)
    if shape.kind == "sphere":
        return ContactSphere(shape.body, size[0], (x, y, z), **shared)
    if shape.kind == "box":
        a, b, c = size
        return ContactBox(shape.body, (a, b, c), T, **shared)
    ux, uy, uz = times(T.rows, UP)
    radius, length = size
    axis = (ux, uy, uz)
    return ContactCapsule(shape.body, radius, length / 2.0, (x, y, z), axis, **shared)


def _lines_about_others(
    found: FileColliders, fixed: Collection[str], moving: Iterable[Collider]
) -> list[str]:
    """Return lines about contacts of other things than shapes with the ground."""
    lines: list[str] = []
    still = [
        c.name
        for c in found.colliders
        if c.shape.body in fixed and c.shape.kind != "plane" and any(c.masks)
    ]
    if still:
        lines.append(
            f"{_counted(still, 'shape')} of the world cannot be touched: only planes "
            "can; ground= takes a function of x and y"
        )
    names = {c.name for c in moving}
    paired = [n for pair in found.pairs if pair <= names for n in sorted(pair)]
    between = list(dict.fromkeys((*found.between, *paired)))
    if between:
        lines.append(
            f"contacts between bodies of the robot are not taken, of "
            f"{_counted(between, 'geom')}; add contacts.SpherePair where they matter"
        )
    lines += [f"{text} (its contacts are not taken)" for text in found.problems]
    return lines


def _by_kind(colliders: Iterable[Collider]) -> str:
    kinds: dict[str, list[str]] = {}
    for c in colliders:
        kinds.setdefault(c.shape.kind, []).append(c.name)
    return ", ".join(
        _counted(names, kind, MANY.get(kind, f"{kind}s"))
        for kind, names in kinds.items()
    )


def _counted(names: Sequence[str], one: str, many: str = "") -> str:
    """Return how many there are, and some of their names."""
    noun = counted_noun(len(names), one, many or f"{one}s")
    return f"{noun} ({quoted_names(names, SHOWN)})"


# ------------------------------------------------------------ limits and friction


def file_limits(
    description: Description, follows: Callable[[JointDescription], bool]
) -> tuple[list[Contact], list[str]]:
    """Return the limits of joints that have some, and lines about those not taken."""
    found: list[Contact] = []
    narrow: list[str] = []
    several: list[str] = []
    for joint in (j for b in description.bodies for j in b.joints):
        limits = joint.limits
        if limits is None or follows(joint):
            continue
        ends = (*limits.lower, *limits.upper)
        if not any(map(math.isfinite, ends)):
            continue
        if joint_type(joint.name, joint.type).nq != 1:
            several.append(joint.name)
        elif not ends[0] < ends[1]:
            narrow.append(joint.name)
        else:
            name = f"{joint.name}_limit"
            found.append(HardLimit(joint.name, ends[0], ends[1], name=name))
    lines: list[str] = []
    for names, why in (
        (several, "joints with several coordinates have none"),
        (narrow, "lower and upper are the same"),
    ):
        if names:
            lines.append(
                f"hard limits of {_counted(names, 'joint')} are not taken: {why}"
            )
    return found, lines


def file_friction(
    description: Description, follows: Callable[[JointDescription], bool]
) -> tuple[list[Contact], list[str]]:
    """Return the friction of joints as dry friction, and lines about the rest."""
    joints = {j.name: j for b in description.bodies for j in b.joints}
    offered = [f for f in description.offered.passive if isinstance(f, JointFriction)]
    own = [f for f in offered if f.joint in joints]  # the root may have changed
    left = [f.joint for f in own if follows(joints[f.joint])]
    tendons = [
        f.name
        for f in description.offered.passive
        if isinstance(f, Tendon) and f.friction
    ]
    found: list[Contact] = [
        DryFriction(f.joint, f.friction, name=f"{f.joint}_dry_friction")
        for f in own
        if f.joint not in left
    ]
    lines: list[str] = []
    if left:
        lines.append(
            f"dry friction of {_counted(left, 'joint')} is not taken: they follow "
            "others"
        )
    if tendons:
        lines.append(
            f"dry friction of {_counted(tendons, 'tendon')} is not taken: passive=True "
            "takes it as a force"
        )
    return found, lines
