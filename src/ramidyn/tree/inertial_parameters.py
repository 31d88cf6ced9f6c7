"""The parameters that joint forces are linear in, and which motion can tell apart.

inertia of a body   m, h = m c (3), then Ixx Ixy Iyy Ixz Iyz Izz about the origin of
                    its frame, in its axes; its own and that of all bodies fixed to it,
                    except those that are listed too
armature            rotor inertia, damping and friction of each degree of freedom, those
damping             of joints that follow it included
friction

A change of inertias cannot be seen where it leaves kinetic energy alone, and potential
energy except for a constant. At a joint with columns S, that is decided by what all
bodies beyond it would be as one body (with their joints at rest): its change δ must
not show in the motion of this joint, for any motion v that the parent can have,

    Sᵀ δ S = 0        Sᵀ δ v = 0        vᵀ δ v independent of the joint's position

and these conditions for all joints are all there are. What fulfills them may as well
belong to the parent, as in mass regrouping: where v can be any motion, it is what
can be moved there. Near the root v is restricted, and more is hidden. Gravity is a
world that may accelerate along it (Wensing, Niemeyer & Slotine 2018).

Joints are groups: what a body can see of its parent's motions is the smallest space
that holds them and that the joint leaves alone.

    V   attainable velocities of a body, in its frame       6 rows each
    Q   their squares v vᵀ, as factors of ten parameters     10 rows each
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ramidyn.description.pose import Array, Pose
from ramidyn.errors import ArgumentError, unknown_name
from ramidyn.tree.model import Frame, Model
from ramidyn.tree.tree import ROOT, BodyInertia, Tree

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


SMALL = 1e-9
"""below this, a direction is rounding"""


def identifiable(tree: Tree, frames: Sequence[Frame]) -> Array:
    """Return rows that span the identifiable combinations of parameters.

    Ten columns for each frame. Joints that follow others are taken as independent.
    """
    conditions = _conditions(tree)
    rows = [np.zeros((0, len(TEN) * len(frames)))]
    for i, _ in tree:
        blocks = [_lumped_parameters(tree, i, frame) for frame in frames]
        rows.append(conditions[i] @ np.hstack(blocks))
    return span(np.vstack(rows))


def span(rows: Array) -> Array:
    """Return an orthonormal basis of the space that some rows span."""
    if rows.size == 0:
        return rows
    _, sizes, basis = np.linalg.svd(rows, full_matrices=False)
    return basis[sizes > SMALL * max(1.0, float(sizes[0]))]


def _conditions(tree: Tree) -> dict[int, Array]:
    """Return for each body the rows that vanish on a change that its joint hides."""
    gravity = np.array([[0.0, 0.0, 0.0, *tree.gravity]])
    V = {ROOT: span(gravity)}
    Q = {ROOT: span(_products(gravity, gravity))}
    found: dict[int, Array] = {}
    for i, p in tree:
        body = tree.bodies[i]
        S = np.transpose(body.joint.basis())
        crosses = [_cross(s) for s in S]
        rates = [_rate(X) for X in crosses]
        v = V[p] @ np.transpose(_motion(body.placement))
        v = _invariant_space(v, crosses)
        squares = _invariant_space(Q[p] @ _parameter_transform(body.placement), rates)
        shown = np.vstack([_products(S, S), _products(S, v)])
        turning = [squares @ rate for rate in rates]
        found[i] = span(np.vstack([shown, *turning]))
        V[i] = span(np.vstack([v, S]))
        Q[i] = span(np.vstack([squares, shown]))
    return found


def _invariant_space(rows: Array, generators: Sequence[Array]) -> Array:
    """Return the smallest space that holds some rows and that generators map to it."""
    basis = span(rows)
    while True:
        larger = span(np.vstack([basis, *(basis @ g for g in generators)]))
        if len(larger) == len(basis):
            return basis
        basis = larger


def _cross(s: Array) -> Array:
    """Return the change of a motion in body coordinates that moves along s, row-wise.

    v̇ = −s × v, and rows are vᵀ.
    """
    w, v = _skew(s[:3]), _skew(s[3:])
    zero = np.zeros((3, 3))
    return -np.transpose(np.block([[w, zero], [v, w]]))


def _skew(a: Array) -> Array:
    x, y, z = a.tolist()
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def _rate(change: Array) -> Array:
    """Return the change of squares of motions, row-wise, given that of motions."""
    rows: list[list[float]] = []
    for k in range(len(TEN)):
        I = _matrix(k)
        d = change @ I + I @ np.transpose(change)  # of vᵀ I v
        h = [d[2, 4], d[0, 5], d[1, 3]]
        rows.append([d[3, 3], *h, *_upper(d)])
    return np.transpose(np.array(rows))


def _upper(I: Array) -> list[float]:
    return [I[0, 0], I[0, 1], I[1, 1], I[0, 2], I[1, 2], I[2, 2]]


def _matrix(k: int) -> Array:
    """Return the spatial inertia (6, 6) whose k-th parameter is 1."""
    return inertia_of([float(n == k) for n in range(len(TEN))]).matrix()


def _products(a: Array, b: Array) -> Array:
    """Return aᵀ I b of all pairs of rows, as factors of ten parameters."""
    n = len(TEN)
    factors = [np.ravel(a @ _matrix(k) @ np.transpose(b)) for k in range(n)]
    return np.stack(factors, axis=-1)


def _motion(T: Pose) -> Array:
    """Return the matrix that maps motions in T's outer frame to the inner one."""
    R = np.transpose(T.R)
    return np.block([[R, np.zeros((3, 3))], [-R @ _skew(T.p), R]])


def _parameter_transform(T: Pose) -> Array:
    """Return the matrix that maps parameters in a frame at T to its outer frame."""
    columns = [ten(inertia_of(e).seen_from(T)) for e in np.eye(len(TEN)).tolist()]
    return np.transpose(np.array(columns))


def _lumped_parameters(tree: Tree, i: int, frame: Frame) -> Array:
    """Return parameters in a frame as those of body i, joints between them at rest.

    Zero where the frame is not beyond body i.
    """
    pose = frame.placement
    for j in reversed(tree.support(frame.body)):
        if j == i:
            return _parameter_transform(pose)
        pose = tree.bodies[j].placement @ pose
    return np.zeros((len(TEN), len(TEN)))
