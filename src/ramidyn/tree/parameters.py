"""Parameters of a model that become inputs of a function instead of constants.

gravity              (3,)   acceleration of free fall, world axes [m/s²]
inertia:<body>       (10,)  m, m·c (3), then Ixx Ixy Iyy Ixz Iyz Izz about the body
                            frame's origin, in its axes [kg, kg m, kg m²]
placement:<body>     (7,)   position and unit quaternion of the body's frame in its
                            parent's, at the reference configuration
<number>:<force>     () or (n,)  a number of a force element or a contact, such as
                            "stiffness:spring", "friction:foot"

Other inertia is moved across joints, leaves to root, where that leaves the equation of
motion alone. Inertia that is the same seen from both sides of a joint, at every joint
position, may belong to either side (Featherstone's notes; the base parameters of
identification):

    revolute    masses on the axis: m, h_z, and J of a rod along z, I = diag(J, J, 0)
    prismatic   I, which does not depend on where its body is
    helical     J of a rod along z
    planar      J of a rod along z
    spherical   a point mass at the center

It is moved where that leaves no more nonzero parameters than there were. Afterwards
most masses and several moments are zero. A rod is as heavy as leaves Iyy = 0 (a
composite inertia takes one operation less). Where velocities are asked for, it leaves
∫ z² dm = 0 (the force on a moving body takes four less) unless Iyy = 0 leaves fewer
parameters. What moved moves alike on both sides, so the equation of motion, kinetic
energy and momentum stay; the center of mass and the potential energy change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any, Generic, TypeVar, final

from ramidyn.description.conventions import Conventions
from ramidyn.description.description import BodyDescription
from ramidyn.description.forces.fields import entries, parameters
from ramidyn.description.joint_types import SimpleJoint
from ramidyn.description.pose import Pose
from ramidyn.errors import (
    ArgumentError,
    CompileError,
    did_you_mean,
    printable,
    unknown_name,
)
from ramidyn.spatial.inertia import RigidInertia
from ramidyn.spatial.transform import Rotate, Shift, Step, Transform
from ramidyn.spatial.vector3 import Vec, mat, transposed_rotation
from ramidyn.tree.frames import fixed_steps
from ramidyn.tree.model import Model
from ramidyn.tree.tree import ROOT, BodyInertia, Tree, TreeBody, nonzeros


@final
@dataclass(frozen=True, slots=True)
class MassTransfer:
    """What one body gave to its parent, without a change to the equation of motion."""

    body: str
    parent: str | None
    """None: the world, which does not feel it"""
    mass: float
    """[kg]"""
    inertia: tuple[float, ...]
    """about the joint: h = m c [kg m] (3), and I [kg m²] as xx, xy, xz, yy, yz, zz"""


RobotType = TypeVar("RobotType")


@final
@dataclass(frozen=True, slots=True)
class Regrouping(Generic[RobotType]):
    """A simpler robot with the same equation of motion; print it."""

    robot: RobotType
    """an equivalent design, with masses moved as far as bodies can exist: its dynamics,
    kinetic energy and momentum are the same; its center of mass and potential energy
    are not"""
    moves: tuple[MassTransfer, ...]
    """what moves in compiled functions that take velocities, from the tips to the root;
    in others, other moments of inertia may move"""
    massless: tuple[str, ...]
    """bodies without mass there"""
    bodies: int
    """how many there are"""
    parameters: tuple[int, int]
    """entries of m, h and I that are not zero, before and after these moves"""

    def __str__(self) -> str:
        before, after = self.parameters
        lines = [
            f"{before} nonzero inertial parameters become {after}; "
            f"{len(self.massless)} of {self.bodies} bodies have no mass"
        ]
        for move in self.moves:
            to = "the world" if move.parent is None else move.parent
            lines.append(f"  {move.body} -> {to}: {move.mass:.4g} kg")
        return printable("\n".join(lines))


def regroup(tree: Tree, is_moving: bool) -> Tree:
    """Return the tree with inertia moved toward the root where possible."""
    return regroup_masses(tree, is_moving)[0]


def regroup_masses(
    tree: Tree, is_moving: bool
) -> tuple[Tree, tuple[MassTransfer, ...]]:
    """Return the regrouped tree, and what moved, from the tips to the root.

    Args:
        tree: the tree.
        is_moving: whether velocities are asked for.
    """
    inertias = [b.inertia for b in tree.bodies]
    moves: list[MassTransfer] = []
    for i, p in reversed(tree):
        body = tree.bodies[i]
        moved = movable(body.joint.type, inertias[i], is_moving)
        if moved is None or body.steps is not None:
            continue
        own = inertias[i]
        left = own - moved
        if p != ROOT:
            carried = inertias[p] + moved.seen_from(body.placement)
            before, after = (
                sum(nonzeros(inertia, is_moving) for inertia in pair)
                for pair in ((own, inertias[p]), (left, carried))
            )
            if after > before:
                continue
            inertias[p] = carried
        inertias[i] = left
        if nonzeros(moved, is_moving):
            parent = None if p == ROOT else tree.bodies[p].name
            numbers = (*moved.h, *moved.upper)
            moves.append(MassTransfer(body.name, parent, moved.m, numbers))
    bodies = [replace(b, inertia=I) for b, I in zip(tree.bodies, inertias, strict=True)]
    return Tree(tuple(bodies), tree.gravity), tuple(moves)


def movable(
    joint: SimpleJoint, inertia: BodyInertia, is_moving: bool
) -> BodyInertia | None:
    """Return the part of an inertia that its parent may carry instead."""
    shared = joint.shared_inertia
    if not shared:
        return None
    m, hz = inertia.m, inertia.h[2]
    rods = (inertia.second_moments[2], inertia.upper[3])
    if "rod" not in shared:
        rods = (0.0,)
    elif not is_moving:
        rods = rods[1:]

    def with_rod(J: float) -> BodyInertia:
        rod = (J, 0.0, 0.0, J, 0.0, 0.0)
        return BodyInertia(
            m if "m" in shared else 0.0,
            (0.0, 0.0, hz if "hz" in shared else 0.0),
            inertia.upper if "I" in shared else rod,
        )

    return min(
        map(with_rod, rods), key=lambda part: nonzeros(inertia - part, is_moving)
    )


SIZES = {"gravity": 3, "inertia": 10, "placement": 7}


@cache
def _of_forces() -> frozenset[str]:
    """Return the names of the numbers of forces and contacts, which can be inputs."""
    from ramidyn.description.contacts import CONTACTS  # noqa: PLC0415  where they are asked for
    from ramidyn.description.forces.element import KINDS  # noqa: PLC0415  where they are asked for

    return frozenset(
        f.name
        for kind in (*KINDS, *CONTACTS)
        for f in fields(kind)
        if "unit" in f.metadata
    )


def is_parameter(name: str) -> bool:
    """Say whether a name can only be that of a parameter."""
    kind, _, owner = name.partition(":")
    if kind in _of_forces():
        return owner != ""
    return kind in SIZES and (kind == "gravity") == (owner == "")


def parameter_shapes(names: Sequence[str], model: Model) -> dict[str, tuple[int, ...]]:
    """Return the shape of each parameter; an error lists the valid ones."""
    shapes: dict[str, tuple[int, ...]] = {}
    for name in names:
        kind, _, body = name.partition(":")
        if not is_parameter(name):
            kinds = [k for k in SIZES if k != "gravity"]
            bodies = [f"{k}:{b}" for k in kinds for b in model.body_names]
            elements = (*model.forces, *model.contacts)
            forces = [f"{k}:{f.name}" for f in elements for k in parameters(f)]
            raise ArgumentError(
                f"unknown parameter {name!r}"
                f"{did_you_mean(name, ['gravity', *bodies, *forces])}; possible: "
                "'gravity', 'inertia:<body>', 'placement:<body>', and numbers of "
                "forces: 'stiffness:<force>', 'damping:<force>', 'friction:<force>', "
                "..."
            )
        if kind in _of_forces():
            shapes[name] = _of_force(name, kind, body, model)
            continue
        if body:
            _check(kind, _described_body(body, model), model)
        shapes[name] = (SIZES[kind],)
    return shapes


def _of_force(name: str, kind: str, owner: str, model: Model) -> tuple[int, ...]:
    """Return the shape of a number of a force element or a contact."""
    known = {f.name: f for f in (*model.forces, *model.contacts)}
    if owner not in known:
        word = "force or contact" if model.contacts else "force"
        raise unknown_name(word, owner, f"robot {model.name!r}", known)
    possible = parameters(known[owner])
    if kind not in possible:
        is_force = any(f.name == owner for f in model.forces)
        word = "force" if is_force else "contact"
        listed = ", ".join(map(repr, possible)) or "none"
        raise ArgumentError(
            f"parameter {name!r}: {word} {owner!r} has no {kind}; possible: {listed}"
        )
    value: object = getattr(known[owner], kind)
    return (len(entries(value)),) if isinstance(value, tuple) else ()


def _described_body(name: str, model: Model) -> BodyDescription:
    assert model.description is not None
    for b in model.description.bodies:
        if b.name == name:
            return b
    raise unknown_name("body", name, f"robot {model.name!r}", model.body_names)


def _check(kind: str, body: BodyDescription, model: Model) -> None:
    if kind == "placement" and not body.joints:
        raise CompileError(
            f"parameter 'placement:{body.name}': the body is fixed to its parent; only "
            "a body with a joint has a placement parameter"
        )
    if model.frames[body.name].body == ROOT:
        raise CompileError(
            f"parameter '{kind}:{body.name}': the body is fixed to the world, so its "
            f"{kind} has no effect"
        )


def parametrized_trees(
    model: Model, conventions: Conventions, inputs: Mapping[str, Any]
) -> tuple[Tree, Tree]:
    """Return the tree, and the tree with masses regrouped, with symbols in them."""
    bodies = list(model.tree.bodies)
    added: dict[int, RigidInertia] = {}
    for name, value in inputs.items():
        kind, _, body = name.partition(":")
        if not body:
            continue  # gravity, or an input of a quantity
        if kind == "inertia":
            frame = model.frames[body]
            own = _own_inertia(model, body)
            bodies[frame.body] = replace(
                bodies[frame.body], inertia=bodies[frame.body].inertia + own
            )
            X = Transform(fixed_steps(frame.placement), model.tree.name(frame.body))
            given = X.back(_inertia(value))
            total = added.get(frame.body, RigidInertia.zero())
            added[frame.body] = total + given
        elif kind == "placement":
            i, steps = _placement(model, conventions, body, value)
            bodies[i] = replace(bodies[i], steps=steps)
    tree = Tree(tuple(bodies), model.tree.gravity)
    return _with(tree, added), _with(regroup(tree, "qd" in inputs), added)


def _with(tree: Tree, added: Mapping[int, RigidInertia]) -> Tree:
    if not added:
        return tree
    bodies: list[TreeBody] = list(tree.bodies)
    for i, inertia in added.items():
        bodies[i] = replace(bodies[i], extra=inertia)
    return Tree(tuple(bodies), tree.gravity)


def _own_inertia(model: Model, name: str) -> BodyInertia:
    """Return minus what the model holds for a body, in its tree body's frame."""
    inertial = _described_body(name, model).inertial
    if inertial is None:
        return BodyInertia.zero()
    own = BodyInertia.of(-inertial.mass, inertial.com, -inertial.inertia)
    return own.seen_from(model.frames[name].placement)


def _inertia(x: Any) -> RigidInertia:
    m, hx, hy, hz, xx, xy, yy, xz, yz, zz = x
    I = mat((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))
    return RigidInertia(m, Vec((hx, hy, hz)), I)


def _placement(
    model: Model, conventions: Conventions, name: str, x: Any
) -> tuple[int, tuple[Step, ...]]:
    """Return the first tree body behind a placement, and its steps with the symbols."""
    body = _described_body(name, model)
    joint = body.joints[0].name
    first = next(i for i, b in enumerate(model.tree.bodies) if b.joint.name == joint)
    last = model.frames[name].body
    body_pose = model.frames[name].placement  # in the frame of its last tree body
    for i in reversed(range(first + 1, last + 1)):
        body_pose = model.tree.bodies[i].placement @ body_pose
    outer = (
        Pose.identity() if body.parent is None else model.frames[body.parent].placement
    )
    px, py, pz, *quaternion = x
    if conventions.quaternion == "wxyz":
        quaternion = [*quaternion[1:], quaternion[0]]
    middle = (Shift(0, px), Shift(1, py), Shift(2, pz))
    turn = Rotate(transposed_rotation(*quaternion))
    return first, (
        *fixed_steps(outer),
        *middle,
        turn,
        *fixed_steps(body_pose.inverse()),
    )
