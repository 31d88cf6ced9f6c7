"""Edit robots: lock joints, attach parts, change the root, add frames.

Each function takes a description and returns another; unknown or duplicate names are
errors.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ramidyn.description.constants import quaternion
from ramidyn.description.description import (
    BodyDescription,
    Description,
    FrameDescription,
    JointDescription,
    LoopDescription,
)
from ramidyn.description.forces.editing import (
    contacts_without,
    forces_without,
    on_frame,
    with_prefix,
    without_element,
)
from ramidyn.description.forces.fields import referred_names
from ramidyn.description.joint_types import (
    joint_pose,
    joint_type,
    neutral_coordinates,
)
from ramidyn.description.pose import Array, Pose
from ramidyn.errors import (
    ArgumentError,
    ModelError,
    is_among,
    names_of,
    unknown_name,
)

ROOTS = ("fixed", "floating", "planar")
WORLD = "world"


# ------------------------------------------------------------ another root


def with_root(description: Description, root: str) -> Description:
    """Return the description with its one root body on a joint of that type.

    A root that was free stands, fixed or planar, where the file's own configuration
    (``qpos0``) has it.
    """
    if not is_among(root, ROOTS):
        raise ArgumentError(f"root is {root!r}; possible: {', '.join(ROOTS)} or None")
    tops = [b for b in description.bodies if b.parent is None]
    parents = {b.parent for b in description.bodies}
    moving = [b for b in tops if b.joints or b.name in parents] or tops
    if len(moving) != 1:
        names = ", ".join(repr(b.name) for b in moving[:6])
        raise ModelError(
            f"root={root!r} needs exactly one body attached to the world; "
            f"{description.name!r} has {len(moving)}: {names}"
        )
    (top,) = moving
    types = [j.type for j in top.joints]
    if types == [root] or (not types and root == "fixed"):
        return description
    placement = _root_pose(description, top)
    start = np.zeros(0)
    joints: tuple[JointDescription, ...] = ()
    if root != "fixed":
        joints = (JointDescription(_free_name(description, "root_joint"), root),)
        start = neutral_coordinates(joints[0])
        if root == "floating" and description.format == "mjcf":
            # As MuJoCo has it: q of a free joint is the pose in the world.
            start = np.array([*placement.origin, *quaternion(placement.rows)])
            placement = Pose.identity()
    new = replace(top, joints=joints, placement=placement)
    bodies = tuple(new if b is top else b for b in description.bodies)
    gone = {j.name for j in top.joints}
    keyframes: dict[str, Array] = {}
    for name, q in description.keyframes.items():
        by_joint = split_configuration(description, q)
        by_joint = {n: x for n, x in by_joint.items() if n not in gone}
        by_joint |= {j.name: start for j in joints}
        keyframes[name] = join_configuration(bodies, by_joint)
    changed = replace(
        description,
        bodies=bodies,
        keyframes=keyframes,
        actuators=tuple(a for a in description.actuators if a.joint not in gone),
        forces=forces_without(description.forces, dict.fromkeys(gone)),
        contacts=contacts_without(description.contacts, gone),
    )
    return without_followers(changed, gone)


def _root_pose(description: Description, top: BodyDescription) -> Pose:
    """Return the pose of a root body in the configuration of its file."""
    q = description.keyframes.get("qpos0")
    if [j.type for j in top.joints] != ["floating"] or q is None:
        return top.placement
    own = split_configuration(description, q)[top.joints[0].name]
    return top.placement @ Pose.from_quaternion(own[3:], own[:3], order="wxyz")


def _free_name(description: Description, name: str) -> str:
    taken = {j.name for b in description.bodies for j in b.joints}
    while name in taken:
        name += "_"
    return name


def without_followers(description: Description, gone: set[str]) -> Description:
    """Return the description without mimic joints whose leader is gone."""
    bodies = tuple(
        replace(
            b,
            joints=tuple(
                replace(j, mimic=None) if j.mimic and j.mimic.of in gone else j
                for j in b.joints
            ),
        )
        for b in description.bodies
    )
    return replace(description, bodies=bodies)


# ------------------------------------------------------------ locked joints


def lock_joints(description: Description, values: Mapping[str, Array]) -> Description:
    """Return the description with joints fixed at values, quaternions (w, x, y, z).

    A body with several joints is split where one in the middle is locked.
    """
    bodies: list[BodyDescription] = []
    for body in description.bodies:
        bodies.extend(_locked_body(body, values))
    kept = {j.name for b in bodies for j in b.joints}
    keyframes = {
        name: join_configuration(
            bodies,
            {n: x for n, x in split_configuration(description, q).items() if n in kept},
        )
        for name, q in description.keyframes.items()
    }
    references = {j.name: j.reference for b in description.bodies for j in b.joints}
    loops: list[LoopDescription] = []
    for loop in description.loops:
        left = _locked_loop(loop, values, references)
        if left is not None:
            loops.append(left)
    return replace(
        description,
        bodies=tuple(bodies),
        keyframes=keyframes,
        loops=tuple(loops),
        actuators=tuple(a for a in description.actuators if a.joint not in values),
        forces=forces_without(description.forces, values),
        contacts=contacts_without(description.contacts, values),
    )


def _locked_body(
    body: BodyDescription, values: Mapping[str, Array]
) -> list[BodyDescription]:
    """Return the body, behind massless ones where a joint before the locked stays."""
    out: list[BodyDescription] = []
    placement, parent = body.placement, body.parent
    waiting: list[JointDescription] = []
    for joint in body.joints:
        if joint.name not in values:
            waiting.append(joint)
            continue
        if waiting:
            name = f"{body.name}:{waiting[-1].name}"
            out.append(BodyDescription(name, parent, placement, tuple(waiting)))
            placement, parent, waiting = Pose.identity(), name, []
        there, back = Pose.at(joint.position), Pose.at(-joint.position)
        placement = placement @ there @ joint_pose(joint, values[joint.name]) @ back
    if len(waiting) == len(body.joints):
        return [body]
    fixed = body.fixed_joint
    if not waiting:
        fixed = body.joints[-1].name
    moved = replace(
        body,
        parent=parent,
        placement=placement,
        joints=tuple(waiting),
        fixed_joint=fixed,
    )
    return [*out, moved]


def _locked_loop(
    loop: LoopDescription, values: Mapping[str, Array], references: Mapping[str, float]
) -> LoopDescription | None:
    """Return the loop, a coupling with what is left of it, or None: it holds anyway."""
    if not any(n in values for n in loop.joints):
        return loop
    dependent, *others = loop.joints
    if dependent in values:
        left = [n for n in others if n not in values]
        if left:
            raise ModelError(
                f"joint {dependent!r} cannot be locked alone: {loop.name!r} makes it "
                f"follow {left[0]!r}; lock both"
            )
        return None
    x = {n: float(values[n][0]) - references[n] for n in others if n in values}
    if len(others) == 1:
        y = 0.0
        for c in reversed(loop.coefficients):
            y = y * x[others[0]] + c
        return replace(loop, joints=(dependent,), coefficients=(y,))
    c0, *slopes = loop.coefficients
    left = {n: c for n, c in zip(others, slopes, strict=True) if n not in x}
    y = c0 + sum(c * x[n] for n, c in zip(others, slopes, strict=True) if n in x)
    coefficients = (y, *left.values())
    return replace(loop, joints=(dependent, *left), coefficients=coefficients)


# ------------------------------------------------------------ parts and frames


def attach_robot(
    description: Description,
    other: Description,
    body: str | None,
    placement: Pose,
    prefix: str,
) -> Description:
    """Return both robots as one, the other's roots on a body of the first."""
    part = add_prefix(other, prefix)
    _refuse_shared_names(description, part)
    roots = tuple(
        replace(b, parent=body, placement=placement @ b.placement)
        if b.parent is None
        else b
        for b in part.bodies
    )
    frames = tuple(
        replace(f, body=body, placement=placement @ f.placement)
        if f.body is None
        else f
        for f in part.frames
    )
    loops = tuple(_moved_loop(loop, body, placement) for loop in part.loops)
    forces, contacts = part.forces, part.contacts
    if any(WORLD in referred_names(f, "frame") for f in (*forces, *contacts)):
        # Its world is a frame of this robot now.
        stand = FrameDescription(
            f"{prefix or other.name + '_'}{WORLD}", body, placement
        )
        forces = tuple(on_frame(f, WORLD, stand.name) for f in forces)
        contacts = tuple(on_frame(c, WORLD, stand.name) for c in contacts)
        frames = (*frames, stand)
    rest, part_rest = rest_coordinates(description), rest_coordinates(other)
    keyframes = {n: np.concatenate([rest, q]) for n, q in part.keyframes.items()}
    keyframes |= {
        n: np.concatenate([q, part_rest]) for n, q in description.keyframes.items()
    }
    return replace(
        description,
        bodies=(*description.bodies, *roots),
        frames=(*description.frames, *frames),
        loops=(*description.loops, *loops),
        keyframes=keyframes,
        actuators=(*description.actuators, *part.actuators),
        forces=(*description.forces, *forces),
        contacts=(*description.contacts, *contacts),
        sensors=(*description.sensors, *part.sensors),
        warnings=(*description.warnings, *part.warnings),
        shape_sources=(
            *description.shape_sources,
            *(s.attached(body, placement, prefix) for s in other.shape_sources),
        ),
    )


def reorder_bodies(description: Description, body_names: Sequence[str]) -> Description:
    """Return the description with its bodies in another order, parents first."""
    by_name = {b.name: b for b in description.bodies}
    bodies = tuple(by_name[n] for n in body_names)
    keyframes = {
        name: join_configuration(bodies, split_configuration(description, q))
        for name, q in description.keyframes.items()
    }
    return replace(description, bodies=bodies, keyframes=keyframes)


def _moved_loop(
    loop: LoopDescription, body: str | None, placement: Pose
) -> LoopDescription:
    """Return a loop whose ends on the world are on a body now."""
    if loop.joints:
        return loop
    if loop.body_a is None:
        loop = replace(loop, body_a=body, placement_a=placement @ loop.placement_a)
    if loop.body_b is None:
        loop = replace(loop, body_b=body, placement_b=placement @ loop.placement_b)
    return loop


def add_prefix(description: Description, prefix: str) -> Description:
    """Return the description with every name behind a prefix."""
    if not prefix:
        return description

    def named(name: str | None) -> str | None:
        return None if name is None else prefix + name

    def joint(j: JointDescription) -> JointDescription:
        mimic = replace(j.mimic, of=prefix + j.mimic.of) if j.mimic else None
        return replace(j, name=prefix + j.name, mimic=mimic)

    return replace(
        description,
        bodies=tuple(
            replace(
                b,
                name=prefix + b.name,
                parent=named(b.parent),
                joints=tuple(map(joint, b.joints)),
                fixed_joint=named(b.fixed_joint),
            )
            for b in description.bodies
        ),
        frames=tuple(
            replace(f, name=prefix + f.name, body=named(f.body))
            for f in description.frames
        ),
        loops=tuple(
            replace(
                loop,
                name=prefix + loop.name,
                body_a=named(loop.body_a),
                body_b=named(loop.body_b),
                joints=tuple(prefix + n for n in loop.joints),
            )
            for loop in description.loops
        ),
        keyframes={prefix + n: q for n, q in description.keyframes.items()},
        actuators=tuple(
            replace(a, name=prefix + a.name, joint=named(a.joint))
            for a in description.actuators
        ),
        forces=tuple(with_prefix(f, prefix) for f in description.forces),
        contacts=tuple(with_prefix(c, prefix) for c in description.contacts),
        sensors=tuple(
            replace(s, name=prefix + s.name, at=prefix + s.at)
            for s in description.sensors
        ),
    )


def _refuse_shared_names(a: Description, b: Description) -> None:
    kinds = {
        "body or frame": (_frame_names(a), _frame_names(b)),
        "joint": (_joint_names(a), _joint_names(b)),
        "loop": ({x.name for x in a.loops}, {x.name for x in b.loops}),
        "force or contact": (_element_names(a), _element_names(b)),
    }
    for kind, (first, second) in kinds.items():
        shared = sorted(first & second)
        if shared:
            raise ModelError(
                f"attach: both robots have a {kind} {shared[0]!r} ({len(shared)} names "
                'are shared); pass prefix="..." to rename those of the second'
            )


def _frame_names(description: Description) -> set[str]:
    names = {b.name for b in description.bodies}
    return names | {f.name for f in description.frames} - {WORLD}


def _element_names(description: Description) -> set[str]:
    return {x.name for x in (*description.forces, *description.contacts)}


def _joint_names(description: Description) -> set[str]:
    moving = {j.name for b in description.bodies for j in b.joints}
    return moving | {b.fixed_joint for b in description.bodies if b.fixed_joint}


def with_frame(
    description: Description, name: str, on: str, placement: Pose
) -> Description:
    """Return the description with an additional frame, fixed to a body or a frame."""
    if not isinstance(name, str) or not name:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ModelError(f"a frame is called {name!r}; expected a name")
    if name in _frame_names(description) | {WORLD}:
        raise ModelError(
            f"robot {description.name!r} already has a body or frame {name!r}"
        )
    body, T = frame_of(description, on)
    frame = FrameDescription(name, body, T @ placement)
    return replace(description, frames=(*description.frames, frame))


def without_force(description: Description, name: str) -> Description:
    """Return the description without a force element."""
    owner = f"robot {description.name!r}"
    return replace(description, forces=without_element(description.forces, name, owner))


def without_contact(description: Description, name: str) -> Description:
    """Return the description without a contact."""
    names = [c.name for c in description.contacts]
    if not is_among(name, names):
        raise unknown_name("contact", str(name), f"robot {description.name!r}", names)
    kept = tuple(c for c in description.contacts if c.name != name)
    return replace(description, contacts=kept)


def without_clusters(description: Description, loops: object) -> Description:
    """Return the description with the named loops as rows; all if None."""
    known = [loop.name for loop in description.loops]
    names = known if loops is None else names_of("loops", loops)
    for name in names:
        if not is_among(name, known):
            raise unknown_name("loop", name, f"robot {description.name!r}", known)
    declined = tuple(
        replace(loop, as_rows=True) if loop.name in names else loop
        for loop in description.loops
    )
    return replace(description, loops=declined)


def frame_of(description: Description, name: str) -> tuple[str | None, Pose]:
    """Return the body of a frame (None: the world), and its pose there."""
    frames = {f.name: f for f in description.frames}
    bodies = [b.name for b in description.bodies]
    if is_among(name, bodies):
        return name, Pose.identity()
    if is_among(name, (WORLD,)):
        return None, Pose.identity()
    if not is_among(name, frames):
        owner = f"robot {description.name!r}"
        raise unknown_name("body or frame", str(name), owner, [*bodies, *frames, WORLD])
    return frames[name].body, frames[name].placement


# ------------------------------------------------------------ configurations by joint


def split_configuration(description: Description, q: Array) -> dict[str, Array]:
    """Return a configuration of the file, by joint."""
    parts: dict[str, Array] = {}
    at = 0
    for body in description.bodies:
        for joint in body.joints:
            n = joint_type(joint.name, joint.type).nq
            parts[joint.name] = q[at : at + n]
            at += n
    return parts


def join_configuration(
    bodies: Iterable[BodyDescription], parts: Mapping[str, Array]
) -> Array:
    """Return the configuration of the file that its parts make."""
    values = [parts[j.name] for b in bodies for j in b.joints]
    return np.concatenate([np.zeros(0), *values])


def rest_coordinates(description: Description) -> Array:
    """Return the configuration of the file: ``qpos0``, or the neutral one."""
    if "qpos0" in description.keyframes:
        return description.keyframes["qpos0"]
    joints = [j for b in description.bodies for j in b.joints]
    return np.concatenate([np.zeros(0), *map(neutral_coordinates, joints)])
