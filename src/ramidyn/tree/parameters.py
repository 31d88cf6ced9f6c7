"""Parameters of a model that become inputs of a function instead of constants.

gravity              (3,)   acceleration of free fall, world axes [m/s²]
inertia:<body>       (10,)  m, m·c (3), then Ixx Ixy Iyy Ixz Iyz Izz about the body
                            frame's origin, in its axes [kg, kg m, kg m²]
placement:<body>     (7,)   position and unit quaternion of the body's frame in its
                            parent's, at the reference configuration
<number>:<force>     () or (n,)  a number of a force element, such as "stiffness:spring"
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from functools import cache
from typing import Any

from ramidyn.description.conventions import Conventions
from ramidyn.description.description import BodyDescription
from ramidyn.description.forces.fields import entries, parameters
from ramidyn.description.pose import Pose
from ramidyn.errors import ArgumentError, CompileError, did_you_mean, unknown_name
from ramidyn.spatial.inertia import RigidInertia
from ramidyn.spatial.rotations import transposed_rotation
from ramidyn.spatial.transform import Rotate, Shift, Step, Transform
from ramidyn.spatial.vector3 import Vec, mat
from ramidyn.tree.joint_transform import fixed_steps
from ramidyn.tree.mass_regrouping import regroup
from ramidyn.tree.model import Model
from ramidyn.tree.tree import ROOT, BodyInertia, Tree, TreeBody

SIZES = {"gravity": 3, "inertia": 10, "placement": 7}


@cache
def _of_forces() -> frozenset[str]:
    """Return the names of the numbers of force elements, which can be inputs."""
    from ramidyn.description.forces.element import KINDS  # noqa: PLC0415  where they are asked for

    return frozenset(
        f.name for kind in KINDS for f in fields(kind) if "unit" in f.metadata
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
            forces = [f"{k}:{f.name}" for f in model.forces for k in parameters(f)]
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
            _check(kind, _described(body, model), model)
        shapes[name] = (SIZES[kind],)
    return shapes


def _of_force(name: str, kind: str, owner: str, model: Model) -> tuple[int, ...]:
    """Return the shape of a number of a force element."""
    known = {f.name: f for f in model.forces}
    if owner not in known:
        raise unknown_name("force", owner, f"robot {model.name!r}", known)
    possible = parameters(known[owner])
    if kind not in possible:
        listed = ", ".join(map(repr, possible)) or "none"
        raise ArgumentError(
            f"parameter {name!r}: force {owner!r} has no {kind}; possible: {listed}"
        )
    value: object = getattr(known[owner], kind)
    return (len(entries(value)),) if isinstance(value, tuple) else ()


def _described(name: str, model: Model) -> BodyDescription:
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


def parametrized(
    model: Model, conventions: Conventions, inputs: Mapping[str, Any]
) -> tuple[Tree, Tree]:
    """Return the tree, and the tree with masses regrouped, with symbols in them."""
    bodies = list(model.tree.bodies)
    added: dict[int, RigidInertia] = {}
    for name, value in inputs.items():
        kind, _, body = name.partition(":")
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
    return _with(tree, added), _with(regroup(tree), added)


def _with(tree: Tree, added: Mapping[int, RigidInertia]) -> Tree:
    if not added:
        return tree
    bodies: list[TreeBody] = list(tree.bodies)
    for i, inertia in added.items():
        bodies[i] = replace(bodies[i], extra=inertia)
    return Tree(tuple(bodies), tree.gravity)


def _own_inertia(model: Model, name: str) -> BodyInertia:
    """Return minus what the model holds for a body, in its tree body's frame."""
    inertial = _described(name, model).inertial
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
    body = _described(name, model)
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
