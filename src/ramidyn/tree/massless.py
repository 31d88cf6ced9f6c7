"""Joints that move no inertia, which make the mass matrix singular."""

from __future__ import annotations

import numpy as np

from ramidyn.description.constants import eigen, full, squares
from ramidyn.tree.tree import ROOT, BodyInertia, Tree, TreeJoint

SINGULAR = 1e-14
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
        f"{listed(names)}: movable, but with zero inertia; forward_dynamics will raise "
        "an error",
    )


def resists(inertia: BodyInertia) -> bool:
    """Return whether a body resists every motion."""
    (hx, hy, hz), m, I = inertia.h, inertia.m, inertia.upper
    if m == 0.0:
        return False
    at_com = squares((hx / m, hy / m, hz / m))
    about_com = [x - m * y for x, y in zip(I, at_com, strict=True)]
    values = [abs(x) for x in eigen(full(about_com))[0]]
    return min(values) > SINGULAR * max(values)


def _is_nothing(inertia: BodyInertia) -> bool:
    return inertia.m == 0.0 and not any(inertia.upper)


def _gives_way(joint: TreeJoint, inertia: BodyInertia) -> bool:
    """Return whether a body that carries nothing can move along its joint for free."""
    if joint.nv > 1 and resists(inertia):
        return False
    S = joint.basis()
    scale = max(map(abs, (*inertia.upper, inertia.m if S[3:].any() else 0.0)))
    resistance = np.linalg.eigvalsh(np.transpose(S) @ inertia.matrix() @ S)
    return bool(np.abs(resistance).min() <= SINGULAR * scale)


def listed(names: tuple[str, ...]) -> str:
    """Return the names of some bodies, the first of many."""
    shown = ", ".join(map(repr, names[:6])) + (", ..." if len(names) > 6 else "")
    return f"body {shown}" if len(names) == 1 else f"bodies {shown}"
