"""Mass matrices that are singular in every configuration.

Joints may move nothing that has mass, or several may move together without
moving any inertia: two hinges on one axis, four slides. Where each body resists every
motion, or its joint has armature, there are none, and the check ends. For other robots,
the articulated inertia of every joint is evaluated at one configuration:

    D = Sᵀ IA S,   q̇ of what hangs on it: −D⁻¹ Uᵀ v

    X[i]  motions, p to i (6, 6)     IA[i]  articulated inertia
    S[i]  joint motion basis         Ic[i]  inertia with all joints beyond locked
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ramidyn.description.constants import eigen, full, squares
from ramidyn.description.pose import Array, Vector
from ramidyn.errors import ModelError
from ramidyn.symbolic.expr import Expr, const
from ramidyn.tree.frames import position, rotation, transform
from ramidyn.tree.tree import ROOT, BodyInertia, Tree, TreeJoint

if TYPE_CHECKING:
    from ramidyn.tree.model import Model


NEGLIGIBLE = 1e-14
"""Moments below this share of the largest are zero."""


def massless_bodies(tree: Tree) -> tuple[str, ...]:
    """Return the bodies whose joint moves no inertia at all, whatever q is.

    That is: neither the body nor what it carries has mass, or it carries nothing and
    its inertia does not resist some motion of its joint. Rotor inertia resists, and so
    does a mimic joint that follows.
    """
    empty = [_is_nothing(b.inertia) for b in tree.bodies]
    for i, p in reversed(tree):
        if p != ROOT:
            empty[p] = empty[p] and empty[i]
    found: dict[int, list[tuple[bool, str]]] = {}
    for i, body in enumerate(tree.bodies):
        joint = body.joint
        is_idle = joint.armature == 0.0 and (
            empty[i] or (not tree.children[i] and _gives_way(joint, body.inertia))
        )
        leader = i if joint.leader is None else joint.leader
        found.setdefault(leader, []).append((is_idle, body.name))
    return tuple(group[0][1] for group in found.values() if all(x for x, _ in group))


def warn_massless(tree: Tree) -> tuple[str, ...]:
    """Return the warning about such bodies, if there are any."""
    names = massless_bodies(tree)
    if not names:
        return ()
    return (
        f"{listed_bodies(names)}: movable, but with zero inertia; forward_dynamics "
        "will raise an error",
    )


def resists(inertia: BodyInertia) -> bool:
    """Return whether a body resists every motion."""
    (hx, hy, hz), m, I = inertia.h, inertia.m, inertia.upper
    if m == 0.0:
        return False
    at_com = squares((hx / m, hy / m, hz / m))
    about_com = [x - m * y for x, y in zip(I, at_com, strict=True)]
    values = [abs(x) for x in eigen(full(about_com))[0]]
    return min(values) > NEGLIGIBLE * max(values)


def _is_nothing(inertia: BodyInertia) -> bool:
    return inertia.m == 0.0 and not any(inertia.upper)


def _gives_way(joint: TreeJoint, inertia: BodyInertia) -> bool:
    """Return whether a body that carries nothing can move along its joint for free."""
    if joint.nv > 1 and resists(inertia):
        return False
    S = joint.basis()
    scale = max(map(abs, (*inertia.upper, inertia.m if S[3:].any() else 0.0)))
    resistance = np.linalg.eigvalsh(np.transpose(S) @ inertia.matrix() @ S)
    return bool(np.abs(resistance).min() <= NEGLIGIBLE * scale)


def listed_bodies(names: tuple[str, ...]) -> str:
    """Return the names of some bodies, the first of many."""
    shown = ", ".join(map(repr, names[:6])) + (", ..." if len(names) > 6 else "")
    return f"body {shown}" if len(names) == 1 else f"bodies {shown}"


SINGULAR = 1e-12
"""of D over what it is with the joints beyond locked"""


def check_dynamics(model: Model) -> None:
    """Raise ModelError where the mass matrix is singular in every configuration."""
    names = massless_bodies(model.tree)
    if names:
        joints = {b.name: b.joint.name for b in model.tree.bodies}
        raise ModelError(
            f"robot {model.name!r}: the mass matrix is singular because no inertia "
            f"resists joint {joints[names[0]]!r}: {listed_bodies(names)}; give it "
            "mass or armature, or lock the joint"
        )
    idle = idle_joints(model.tree)
    if idle:
        raise ModelError(
            f"robot {model.name!r}: the mass matrix is singular because joints "
            f"{', '.join(map(repr, idle))} can move together without moving any "
            "inertia; remove or lock one of them, or give one armature"
        )


@lru_cache(maxsize=64)
def idle_joints(tree: Tree) -> tuple[str, ...]:
    """Return joints that can move together without moving any inertia, or nothing."""
    is_weak = [not resists(b.inertia) for b in tree.bodies]
    weak = [b for b, x in zip(tree.bodies, is_weak, strict=True) if x]
    if all(b.joint.armature > 0.0 for b in weak):
        return ()
    if any(b.joint.leader is not None for b in tree.bodies):
        return _by_matrix(tree)
    return _by_sweep(tree, is_weak)


def _by_sweep(tree: Tree, is_weak: list[bool]) -> tuple[str, ...]:
    # A body that resists every motion does so with anything on it: the sweep goes
    # over weak bodies, and those that they carry.
    rng = np.random.default_rng(0)
    swept = [i for i, p in tree if is_weak[i] or (p != ROOT and is_weak[p])]
    bodies = {i: tree.bodies[i] for i in swept}
    X = {i: _motion_transform(tree, i, rng) for i in swept}
    S = {i: b.joint.basis() for i, b in bodies.items()}
    IA = {i: b.inertia.matrix() for i, b in bodies.items()}
    Ic = {i: np.array(I) for i, I in IA.items()}
    U: dict[int, Array] = {}
    D: dict[int, Array] = {}
    for i in reversed(swept):
        p = tree.parents[i]
        armature = tree.bodies[i].joint.armature * np.eye(S[i].shape[1])
        U[i] = IA[i] @ S[i]
        D[i] = np.transpose(S[i]) @ U[i] + armature
        free = _null(D[i], np.transpose(S[i]) @ Ic[i] @ S[i] + armature)
        if free is not None:
            return _moved_joints(tree, i, S[i] @ free, X, S, U, D)
        if p != ROOT and is_weak[p]:
            left = IA[i] - U[i] @ np.linalg.solve(D[i], np.transpose(U[i]))
            IA[p] += np.transpose(X[i]) @ left @ X[i]
            Ic[p] += np.transpose(X[i]) @ Ic[i] @ X[i]
    return ()


def _moved_joints(
    tree: Tree,
    first: int,
    v: Array,
    X: dict[int, Array],
    S: dict[int, Array],
    U: dict[int, Array],
    D: dict[int, Array],
) -> tuple[str, ...]:
    """Return the joints that move with a first one so that no inertia does."""
    velocities = {first: v}
    names = [tree.bodies[first].joint.name]
    for i in sorted(D):
        p = tree.parents[i]
        if p in velocities and i != first:
            given = X[i] @ velocities[p]
            qd = -np.linalg.solve(D[i], np.transpose(U[i]) @ given)
            velocities[i] = given + S[i] @ qd
            if np.abs(qd).max() > 1e-6 * np.abs(v).max():
                names.append(tree.bodies[i].joint.name)
    return tuple(names)


def _by_matrix(tree: Tree) -> tuple[str, ...]:
    """Do the same by M itself, where joints follow others."""
    rng = np.random.default_rng(0)
    n = max(b.joint.v_index + b.joint.nv for b in tree.bodies)
    J: dict[int, Array] = {ROOT: np.zeros((6, n))}
    M = np.zeros((n, n))
    for i, p in tree:
        joint = tree.bodies[i].joint
        P = np.zeros((joint.nv, n))
        factor = 1.0 if joint.leader is None else joint.multiplier
        P[:, joint.v_index : joint.v_index + joint.nv] = factor * np.eye(joint.nv)
        X = _motion_transform(tree, i, rng)
        J[i] = X @ J[p] + joint.basis() @ P
        M += np.transpose(J[i]) @ tree.bodies[i].inertia.matrix() @ J[i]
        M += joint.armature * np.transpose(P) @ P
    free = _null(M, M)
    if free is None:
        return ()
    places = set(np.flatnonzero(np.abs(free) > 1e-6 * np.abs(free).max()).tolist())
    joints = [b.joint for b in tree.bodies]
    return tuple(
        j.name for j in joints if places & set(range(j.v_index, j.v_index + j.nv))
    )


def _null(D: Array, whole: Array) -> Array | None:
    """Return x with D x = 0 up to rounding of ``whole``, or None."""
    sizes = np.abs(np.diagonal(whole))
    if not (sizes > 0.0).all():
        return np.where(sizes > 0.0, 0.0, 1.0)
    roots = np.sqrt(sizes)
    values, vectors = np.linalg.eigh(D / np.outer(roots, roots))
    k = int(np.argmin(np.abs(values)))
    return vectors[:, k] / roots if abs(values[k]) < SINGULAR else None


def _motion_transform(tree: Tree, i: int, rng: np.random.Generator) -> Array:
    """Return X at a random coordinate of the joint."""
    q = [const(float(x)) for x in rng.uniform(0.2, 1.0, tree.bodies[i].joint.nq)]
    steps = transform(tree, i, tuple(q))
    E = np.transpose(_numbers(rotation(steps)))
    r = _numbers(position(steps))
    X = np.zeros((6, 6))
    X[:3, :3] = X[3:, 3:] = E
    X[3:, :3] = -E @ _cross(r)
    return X


def _cross(r: Vector) -> Array:
    x, y, z = (float(e) for e in r)
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def _numbers(x: Sequence[Any]) -> Array:
    """Return nested constants as numbers."""
    return np.array(
        [e.value if isinstance(e, Expr) else _numbers(e).tolist() for e in x],
        dtype=np.float64,
    )
