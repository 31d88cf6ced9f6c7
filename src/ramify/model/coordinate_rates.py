"""How the entries of q change with q̇, over symbols: dq/dt = Q(q) q̇.

quaternion      ½ q ⊗ (ω, 0)
planar          the velocity in the axes of the parent
floating        the same, unless q̇ is along them already
"""

from __future__ import annotations

from collections.abc import Sequence

from ramify.model.configurations import assembled
from ramify.model.conventions import Conventions
from ramify.model.coordinates import Coordinates, Entries
from ramify.model.joints import TreeJoint, transposed_rotation
from ramify.model.model import Model
from ramify.spatial.vector3 import Vec
from ramify.symbolic.expr import Expr, const


def rates(
    model: Model, conventions: Conventions, q: Sequence[Expr], qd: Sequence[Expr]
) -> list[Expr]:
    """Return dq/dt at velocity q̇."""
    here = Coordinates(model, conventions, q)
    v = here.velocity(qd)
    return assembled(model, conventions, lambda i, joint: _rate(joint, here.q[i], v[i]))


def _rate(joint: TreeJoint, q: Entries, v: Entries) -> Entries:
    match joint.kind:
        case "spherical":
            return _turning(q, v)
        case "planar":
            c, s = q[2].cos(), q[2].sin()
            return c * v[0] - s * v[1], s * v[0] + c * v[1], v[2]
        case "floating":
            R = transposed_rotation(*q[3:]).T
            return (*(R @ Vec(v[3:])), *_turning(q[3:], v[:3]))
        case _:
            return v


def _turning(q: Entries, w: Entries) -> Entries:
    x, y, z, s = (e * const(0.5) for e in q)
    return (
        s * w[0] + y * w[2] - z * w[1],
        s * w[1] + z * w[0] - x * w[2],
        s * w[2] + x * w[1] - y * w[0],
        -(x * w[0] + y * w[1] + z * w[2]),
    )
