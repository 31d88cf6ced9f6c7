"""From a Description to a Tree: root, order, fixed bodies merged, mimic joints bound.

Every joint gets a frame with its axis along z, and the body behind it takes that frame
as its own; bodies without joints become part of the body they are fixed to, and stay
as named frames.
"""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, final

from ramidyn.description.constants import IDENTITY
from ramidyn.description.conventions import NAMED, Conventions
from ramidyn.description.description import (
    BodyDescription,
    Description,
    JointDescription,
    Limits,
    LoopDescription,
    Mimic,
)
from ramidyn.description.forces.fields import referred_names
from ramidyn.description.forces.inputs import actuators, force_inputs
from ramidyn.description.joint_types import SimpleJoint, joint_type
from ramidyn.description.pose import Array, Pose, frame_with_z, placed_at
from ramidyn.errors import (
    ArgumentError,
    ModelError,
    UnknownName,
    group_warnings,
    is_among,
    readable,
    unknown_name,
)
from ramidyn.tree.frames import place_frames
from ramidyn.tree.singular import warn_massless
from ramidyn.tree.tree import ROOT, BodyInertia, Tree, TreeBody, TreeJoint

if TYPE_CHECKING:
    from ramidyn.description.contacts import Contact
    from ramidyn.description.forces.element import ForceElement


@final
@dataclass(frozen=True, slots=True)
class JointRange:
    """The limits of one joint, infinite where the file gives none.

    Numbers if the joint has one degree of freedom; otherwise one number for each.
    """

    lower: float | tuple[float, ...]
    """[rad, m]"""
    upper: float | tuple[float, ...]
    """[rad, m]"""
    velocity: float | tuple[float, ...]
    """[rad/s, m/s]"""
    effort: float | tuple[float, ...]
    """[N m, N]"""

    @staticmethod
    def of(limits: Limits, nv: int) -> JointRange:
        """Return the limits of a joint as its file has them."""
        no_limit = (math.inf,) * nv
        each = (
            limits.lower,
            limits.upper,
            limits.velocity or no_limit,
            limits.effort or no_limit,
        )
        return JointRange(*(x[0] if nv == 1 else x for x in each))


@final
@dataclass(frozen=True, slots=True, eq=False)
class PublicJoint:
    """A joint as the user knows it, and its place in q and q̇."""

    name: str
    type: str
    bodies: tuple[int, ...]
    """the tree's bodies that it moves: more than one for universal and cylindrical"""
    q_index: int
    nq: int
    v_index: int
    nv: int
    limits: JointRange | None
    """lower, upper, velocity and effort; None where the file gives none"""
    parent: str
    """its parent body, or "world" """
    child: str
    """the body that it moves"""
    damping: float = 0.0
    """[N m s/rad, N s/m]"""
    friction: float = 0.0
    """[N m, N]"""
    stiffness: float = 0.0
    """of its spring [N m/rad, N/m]"""
    spring_reference: float = 0.0
    """where its spring rests [rad, m]"""
    armature: float = 0.0
    """rotor inertia on the diagonal of M [kg m², kg]"""

    @property
    def q_slice(self) -> slice:
        """Its entries of q: ``q[..., joint.q_slice]``."""
        return slice(self.q_index, self.q_index + self.nq)

    @property
    def v_slice(self) -> slice:
        """Its entries of q̇, q̈ and τ: ``tau[..., joint.v_slice]``."""
        return slice(self.v_index, self.v_index + self.nv)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """A named frame: where it is fixed, and its pose in that body's frame."""

    name: str
    body: int
    placement: Pose


@final
@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """A Tree and the names and frames that users know it by."""

    name: str
    tree: Tree
    joints: tuple[PublicJoint, ...]
    """in the order of q and q̇"""
    frames: dict[str, Frame]
    body_names: tuple[str, ...]
    """every body of the description, fixed ones included"""
    masses: dict[str, float]
    nq: int
    nv: int
    loops: tuple[LoopDescription, ...] = ()
    forces: tuple[ForceElement, ...] = ()
    """force elements, in the order in which they were added"""
    contacts: tuple[Contact, ...] = ()
    """rigid contacts, hard limits and dry friction, in that order too"""
    keyframes: dict[str, Array] = field(default_factory=dict[str, Array])
    warnings: tuple[str, ...] = ()
    mimics: tuple[str, ...] = ()
    """the joints that follow others and have no coordinates"""
    description: Description | None = None

    @property
    def force_inputs(self) -> dict[str, tuple[int, ...]]:
        """Run-time inputs of the force elements: names and shapes, in order."""
        return force_inputs(self.forces) if self.forces else {}

    def frame(self, name: str) -> Frame:
        """Return the frame of that name."""
        if name not in self.frames:
            raise unknown_name("frame", name, f"robot {self.name!r}", self.frames)
        return self.frames[name]

    def joint(self, name: str) -> PublicJoint:
        """Return the joint of that name."""
        names = [j.name for j in self.joints]
        if is_among(name, names):
            return self.joints[names.index(name)]
        name = str(name)
        if name in self.mimics:
            raise UnknownName(
                f"joint {name!r} of robot {self.name!r} mimics another and is not in "
                'q; load(..., mimic="independent") gives it an entry'
            )
        raise unknown_name("joint", name, f"robot {self.name!r}", names)


ORDERS = "possible: 'auto', 'file', 'alphabetical' or a list of all joint names"


def resolved_order(
    joint_order: str | Sequence[str], description: Description, conventions: Conventions
) -> str | Sequence[str]:
    """Return the order that "auto" means for a robot; any other order as it is.

    With the conventions of Pinocchio a URDF has Pinocchio's order. Everything else has
    the file's, which is MuJoCo's too, for MJCF and for URDF.
    """
    if not isinstance(joint_order, str) or joint_order != "auto":
        return joint_order
    is_pinocchio = conventions == NAMED["pinocchio"]
    is_urdf = description.format == "urdf"
    return "alphabetical" if is_urdf and is_pinocchio else "file"


def build_model(
    description: Description,
    joint_order: str | Sequence[str] = "file",
    mimic: str = "reduce",
) -> Model:
    """Return the model of a description.

    Args:
        description: the robot as its file describes it.
        joint_order: "file" (depth first), "alphabetical" (siblings by joint name, as
            Pinocchio orders them) or the names of all joints in the order wanted.
        mimic: "reduce" (a mimic joint follows and is not in q) or "independent".
    """
    if not is_among(mimic, ("reduce", "independent")):
        raise ArgumentError(f"mimic is {mimic!r}; possible: 'reduce', 'independent'")
    if isinstance(joint_order, str) and joint_order not in ("file", "alphabetical"):
        raise ArgumentError(f"joint_order is {joint_order!r}; {ORDERS}")
    is_sorted = isinstance(joint_order, str) and joint_order == "alphabetical"
    bodies = _ordered_bodies(description.bodies, is_sorted)
    builder = _ModelBuilder(mimic == "reduce")
    for body in bodies:
        builder.add(body)
    return builder.finish(description, joint_order)


def _ordered_bodies(
    bodies: Sequence[BodyDescription], alphabetical: bool
) -> list[BodyDescription]:
    """Return the bodies depth first, siblings in file order or by joint name."""
    children: dict[str | None, list[BodyDescription]] = {}
    for b in bodies:
        children.setdefault(b.parent, []).append(b)
    if alphabetical:
        for siblings in children.values():
            siblings.sort(key=_joint_name)
    order: list[BodyDescription] = []
    stack = list(reversed(children.get(None, [])))
    while stack:
        b = stack.pop()
        order.append(b)
        stack.extend(reversed(children.get(b.name, [])))
    if len(order) != len(bodies):
        lost = sorted({b.name for b in bodies} - {b.name for b in order})
        raise ModelError(
            f"bodies not connected to the world: {', '.join(map(repr, lost[:6]))}"
        )
    return order


def _joint_name(body: BodyDescription) -> str:
    return body.joints[0].name if body.joints else body.fixed_joint or ""


WORLD = ROOT, Pose.identity()


@dataclass(slots=True)
class _ModelPart:
    """A body of the tree in the making."""

    name: str
    parent: int
    joint: JointDescription
    type: SimpleJoint
    placement: Pose
    inertia: BodyInertia | None = None
    q_index: int = -1
    v_index: int = -1
    leader: int | None = None
    multiplier: float = 1.0
    offset: float = 0.0

    def body(self) -> TreeBody:
        """Return the body, when all is known."""
        d = self.joint
        joint = TreeJoint(
            d.name,
            self.type,
            self.q_index,
            self.v_index,
            reference=d.reference if self.type.nq == 1 else 0.0,
            armature=d.armature,
            damping=d.damping,
            friction=d.friction,
            is_continuous=d.is_continuous,
            leader=self.leader,
            multiplier=self.multiplier,
            offset=self.offset,
        )
        inertia = self.inertia or BodyInertia.zero()
        return TreeBody(self.name, self.parent, joint, self.placement, inertia)


class _ModelBuilder:
    """Collects the bodies of a tree from those of a description."""

    def __init__(self, reduce_mimics: bool) -> None:
        self.reduce_mimics = reduce_mimics
        self.parts: list[_ModelPart] = []
        self.frames: dict[str, Frame] = {}
        self.at: dict[str, tuple[int, Pose]] = {}
        """where each described body is: tree body, pose in its frame"""
        self.described: dict[str, JointDescription] = {}
        self.between: dict[str, tuple[str, str]] = {}
        """joint name -> the described bodies that it joins"""
        self.moved: dict[str, tuple[int, ...]] = {}
        """joint name -> the tree's bodies it moves"""
        self.masses: dict[str, float] = {}

    def add(self, body: BodyDescription) -> None:
        """Add one body, behind its joints or fixed to its parent."""
        if body.name in self.at:
            raise ModelError(f"two bodies are called {body.name!r}")
        at = self.at[body.parent] if body.parent is not None else WORLD
        at = at[0], at[1] @ body.placement  # the body's frame in that of a tree body
        for joint in body.joints:
            at = self._add_joint(body, joint, *at)
        i, T = self.at[body.name] = at
        if body.joints:
            self.parts[i].name = body.name
        self.frames[body.name] = Frame(body.name, i, T)
        self.masses[body.name] = body.inertial.mass if body.inertial else 0.0
        if body.inertial is not None and i != ROOT:
            own = body.inertial
            inertia = BodyInertia.of(own.mass, own.com, own.inertia).seen_from(T)
            part = self.parts[i]
            part.inertia = part.inertia + inertia if part.inertia else inertia

    def _add_joint(
        self, body: BodyDescription, joint: JointDescription, i: int, pose: Pose
    ) -> tuple[int, Pose]:
        """Add one joint; return its (last) body and the described body's pose in it."""
        if joint.name in self.described:
            raise ModelError(f"two joints are called {joint.name!r}")
        self.described[joint.name] = joint
        self.between[joint.name] = (body.parent or "world", body.name)
        first, anchor = len(self.parts), joint.position.tolist()
        for type_, axis in joint_type(joint.name, joint.type).parts(joint):
            rows = frame_with_z(axis) if type_.has_axis else IDENTITY
            T_body_joint = placed_at(rows, anchor)
            between = f"{body.name}:{joint.name}"  # unless it turns out to be the last
            self.parts.append(_ModelPart(between, i, joint, type_, pose @ T_body_joint))
            i, pose = len(self.parts) - 1, T_body_joint.inverse()
        self.moved[joint.name] = tuple(range(first, len(self.parts)))
        return i, pose

    def finish(
        self, description: Description, joint_order: str | Sequence[str]
    ) -> Model:
        """Give every joint its place in q, and return the model."""
        leaders = self._leaders()
        for contact in description.contacts:
            check_leads(contact, leaders)
        if description.forces:
            self._add_rotors(description.forces)
        free = [n for n in self.described if n not in leaders]
        order = (
            free if isinstance(joint_order, str) else _checked_order(joint_order, free)
        )
        joints, nq, nv = self._place(order)
        for name, (leader, multiplier, offset) in leaders.items():
            (k,), (j,) = self.moved[name], self.moved[leader]
            part, led = self.parts[k], self.parts[j]
            part.q_index, part.v_index, part.leader = led.q_index, led.v_index, j
            part.multiplier, part.offset = multiplier, offset
        for f in description.frames:
            i, T = self.at[f.body] if f.body is not None else WORLD
            if f.name not in self.frames:
                self.frames[f.name] = Frame(f.name, i, T @ f.placement)
        self.frames.setdefault("world", Frame("world", ROOT, Pose.identity()))
        tree = Tree(tuple(p.body() for p in self.parts), description.gravity)
        warnings = description.warnings
        if description.format != "mjcf":  # its parser has warned with lines
            warnings = (*warnings, *warn_massless(tree))
        return Model(
            name=description.name,
            tree=tree,
            joints=tuple(joints),
            frames=self.frames,
            body_names=tuple(self.at),
            masses=self.masses,
            nq=nq,
            nv=nv,
            loops=description.loops,
            forces=description.forces,
            contacts=description.contacts,
            keyframes=description.keyframes,
            warnings=tuple(map(readable, group_warnings(warnings))),
            mimics=tuple(leaders),
            description=description,
        )

    def _add_rotors(self, forces: Sequence[ForceElement]) -> None:
        """Add the armature of actuators to that of their joints."""
        for element in actuators(forces):
            if element.armature and isinstance(element.gear, float):
                rotor = element.gear**2 * element.armature
                joint = self.described[element.joint]
                joint = replace(joint, armature=joint.armature + rotor)
                self.described[element.joint] = joint
                for k in self.moved[element.joint]:
                    self.parts[k].joint = joint

    def _place(self, order: Sequence[str]) -> tuple[list[PublicJoint], int, int]:
        joints: list[PublicJoint] = []
        nq = nv = 0
        for name in order:
            q0, v0 = nq, nv
            for k in self.moved[name]:
                part = self.parts[k]
                part.q_index, part.v_index = nq, nv
                nq, nv = nq + part.type.nq, nv + part.type.nv
            d = self.described[name]
            joints.append(
                PublicJoint(
                    name,
                    d.type,
                    self.moved[name],
                    q0,
                    nq - q0,
                    v0,
                    nv - v0,
                    d.limits and JointRange.of(d.limits, nv - v0),
                    *self.between[name],
                    damping=d.damping,
                    friction=d.friction,
                    stiffness=d.stiffness,
                    spring_reference=d.spring_reference,
                    armature=d.armature,
                )
            )
        return joints, nq, nv

    def _leaders(self) -> dict[str, tuple[str, float, float]]:
        """Return, for each mimic joint, the free joint it follows in the end."""
        out: dict[str, tuple[str, float, float]] = {}
        known: dict[str, tuple[str, float, float]] = {}
        for name, joint in self.described.items():
            if joint.mimic is None or not self.reduce_mimics:
                continue
            self._follow(name, known)
            out[name] = of, _, _ = known[name]
            for n in (name, of):
                if joint_type(n, self.described[n].type).nq != 1:
                    raise ModelError(
                        f"joint {name!r} mimics {of!r}: both need one coordinate, but "
                        f"{n!r} is {self.described[n].type}"
                    )
        return out

    def _follow(self, name: str, known: dict[str, tuple[str, float, float]]) -> None:
        """Add a mimic joint, and those between it and its leader, to ``known``."""
        chain: dict[str, Mimic] = {}
        at = name
        while at not in known:
            mimic = self.described[at].mimic
            if mimic is None:
                known[at] = at, 1.0, 0.0
                break
            chain[at] = mimic
            at = mimic.of
            if at not in self.described:
                raise unknown_name("joint", at, f"mimic of {name!r}", self.described)
            if at in chain:
                raise ModelError(f"joint {name!r} mimics itself: {sorted(chain)}")
        for below, mimic in reversed(chain.items()):
            of, a, b = known[mimic.of]
            known[below] = of, mimic.multiplier * a, mimic.multiplier * b + mimic.offset


def check_leads(contact: Contact, followers: Container[str]) -> None:
    """Refuse a limit or dry friction of a joint without coordinates of its own."""
    for name in referred_names(contact, "joint"):
        if name in followers:
            raise ModelError(
                f"contact {contact.name!r}: joint {name!r} follows another joint; use "
                'the one it follows, or load with mimic="independent"'
            )


def _checked_order(order: Sequence[str], names: Sequence[str]) -> list[str]:
    try:
        wanted = list(order)
    except TypeError:
        raise ArgumentError(f"joint_order is {order!r}; {ORDERS}") from None
    known = dict.fromkeys(names)
    for n in map(str, wanted):
        if n not in known:
            raise unknown_name("joint", n, "joint_order", names)
    missing = list(known.keys() - wanted)
    if missing or len(wanted) != len(names):
        what = f"lacks {missing}" if missing else "names a joint twice"
        raise ModelError(f"joint_order {what}; it must name every joint once")
    return wanted


def with_placed_frames(model: Model) -> Model:
    """Return the model with its body frames placed, and its named frames following.

    Where no frame needs to move, that is the model itself.
    """
    tree, moves = place_frames(model.tree)
    if all(move.is_identity() for move in moves):
        return model
    frames = {
        name: f
        if f.body < 0
        else replace(f, placement=moves[f.body].inverse() @ f.placement)
        for name, f in model.frames.items()
    }
    return replace(model, tree=tree, frames=frames)
