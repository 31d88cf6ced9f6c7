"""Joints that move no inertia, which make the mass matrix singular."""

from __future__ import annotations

from ramidyn.description.constants import Array, eigen, full, squares
from ramidyn.tree.tree import ROOT, BodyInertia, Tree

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
            empty[i] or (not tree.children[i] and _gives_way(joint.kind, body.inertia))
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
    return not _gives_way("floating", inertia)


def _is_nothing(inertia: BodyInertia) -> bool:
    return inertia.m == 0.0 and not any(inertia.upper)


def _gives_way(kind: str, inertia: BodyInertia) -> bool:
    """Return whether a body that carries nothing can move along its joint for free."""
    (hx, hy, hz), m, I = inertia.h, inertia.m, inertia.upper
    scale, about_z = max(map(abs, I)), I[5]
    match kind:
        case "revolute":
            return abs(about_z) <= SINGULAR * scale
        case "prismatic":
            return m == 0.0
        case "helical":
            return m == 0.0 and abs(about_z) <= SINGULAR * scale
        case "spherical":
            return _is_singular(inertia.I)
        case "planar":
            return _is_singular(full((m, 0.0, -hy, m, hx, about_z)))
        case _:
            if m == 0.0:
                return True
            at_com = squares((hx / m, hy / m, hz / m))
            about_com = [x - m * y for x, y in zip(I, at_com, strict=True)]
            return _is_singular(full(about_com))


def _is_singular(A: Array) -> bool:
    values = [abs(x) for x in eigen(A)[0]]
    return min(values) <= SINGULAR * max(values)


def listed(names: tuple[str, ...]) -> str:
    """Return the names of some bodies, the first of many."""
    shown = ", ".join(map(repr, names[:6])) + (", ..." if len(names) > 6 else "")
    return f"body {shown}" if len(names) == 1 else f"bodies {shown}"
