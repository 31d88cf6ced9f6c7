"""The parameters that joint forces are linear in: of bodies, and of joints.

inertia of a body   m, h = m c (3), then Ixx Ixy Iyy Ixz Iyz Izz about the origin of
                    its frame, in its axes; its own and that of all bodies fixed to it,
                    except those that are listed too
armature            rotor inertia, damping and friction of each degree of freedom, those
damping             of joints that follow it included
friction
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ramidyn.description.pose import Array
from ramidyn.errors import ArgumentError, unknown_name
from ramidyn.tree.model import Frame, Model
from ramidyn.tree.tree import ROOT, BodyInertia

TEN = ("m", "hx", "hy", "hz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")
"""the parameters of a body, in order"""
_UPPER = (0, 1, 3, 2, 4, 5)
"""where entries of I are in the upper triangle that `BodyInertia` has"""
JOINT_TERMS: dict[str, Callable[[float], float]] = {
    "armature": lambda multiplier: multiplier**2,
    "damping": lambda multiplier: multiplier**2,
    "friction": abs,
}
"""Parameters of joints -> what those of a mimic joint count for in its leader's."""


def inertia_frames(model: Model, bodies: Sequence[str] | None = None) -> list[Frame]:
    """Return the frames of some bodies; of all that have a joint by default."""
    if bodies is None:
        assert model.description is not None
        jointed = [b.name for b in model.description.bodies if b.joints]
        frames = [model.frames[name] for name in jointed]
        return sorted(frames, key=lambda frame: frame.body)
    for name in bodies:
        if name not in model.body_names:
            raise unknown_name("body", name, f"robot {model.name!r}", model.body_names)
        if model.frames[name].body == ROOT:
            raise ArgumentError(
                f"bodies has {name!r}, which is fixed to the world, so its inertia "
                "changes nothing; leave it out"
            )
    return [model.frames[name] for name in bodies]


def inertial_parameters(
    model: Model, bodies: Sequence[str] | None, joint_terms: Sequence[str]
) -> Array:
    """Return the parameters that the model has, in the order of `parameter_names`."""
    assert model.description is not None
    frames = {f.name: f for f in inertia_frames(model, bodies)}
    found = {name: BodyInertia.zero() for name in frames}
    by_name = {b.name: b for b in model.description.bodies}
    for body in model.description.bodies:
        owner = body
        while owner.name not in frames and not owner.joints and owner.parent:
            owner = by_name[owner.parent]
        if body.inertial is None or owner.name not in frames:
            continue
        x = body.inertial
        own = BodyInertia.of(x.mass, x.com, x.inertia)
        outer = frames[owner.name].placement.inverse()
        pose = outer @ model.frames[body.name].placement
        found[owner.name] = found[owner.name] + own.seen_from(pose)
    values = [x for inertia in found.values() for x in ten(inertia)]
    for term in joint_terms:
        values.extend(joint_parameters(model, term))
    return np.array(values)


def ten(inertia: BodyInertia) -> list[float]:
    """Return an inertia as ten parameters."""
    return [inertia.m, *inertia.h, *(inertia.upper[k] for k in _UPPER)]


def inertia_of(parameters: Sequence[float]) -> BodyInertia:
    """Return the inertia that has ten parameters."""
    m, hx, hy, hz, *I = parameters
    return BodyInertia(m, (hx, hy, hz), tuple(I[k] for k in _UPPER))


def joint_parameters(model: Model, term: str) -> Array:
    """Return the armature, damping or friction of each degree of freedom."""
    found = np.zeros(model.nv)
    for body in model.tree.bodies:
        joint = body.joint
        value = getattr(joint, term) * JOINT_TERMS[term](joint.multiplier)
        found[joint.v_index : joint.v_index + joint.nv] += value
    return found


def parameter_names(
    model: Model, bodies: Sequence[str] | None, joint_terms: Sequence[str]
) -> tuple[str, ...]:
    """Return the name of each parameter, such as 'Ixx:forearm' and 'damping:elbow'."""
    names = [f"{x}:{f.name}" for f in inertia_frames(model, bodies) for x in TEN]
    for term in joint_terms:
        for joint in model.joints:
            several = [f"[{k}]" for k in range(joint.nv)] if joint.nv > 1 else [""]
            names += [f"{term}:{joint.name}{k}" for k in several]
    return tuple(names)
