"""How the entries of q change with q̇, over symbols: dq/dt = Q(q) q̇, and back.

quaternion      ½ q ⊗ (ω, 0)
planar          the velocity in the axes of the parent
floating        the same, unless q̇ is along them already
"""

from __future__ import annotations

from collections.abc import Sequence

from ramidyn.coordinates.configurations import assembled
from ramidyn.coordinates.coordinates import Coordinates, Entries
from ramidyn.description.conventions import Conventions
from ramidyn.spatial.vector3 import ZERO, Vec
from ramidyn.symbolic.expr import Expr, const
from ramidyn.tree.joints import TreeJoint, transposed_rotation
from ramidyn.tree.model import Model


def rates(
    model: Model, conventions: Conventions, q: Sequence[Expr], qd: Sequence[Expr]
) -> list[Expr]:
    """Return dq/dt at velocity q̇."""
    here = Coordinates(model, conventions, q)
    v = here.velocity(qd)
    return assembled(model, conventions, lambda i, joint: _rate(joint, here.q[i], v[i]))


def velocity_of(
    model: Model, conventions: Conventions, q: Sequence[Expr], rate: Sequence[Expr]
) -> list[Expr]:
    """Return the q̇ at which q changes by a rate that keeps quaternions' lengths."""
    out = [ZERO] * model.nv
    for body in model.tree.bodies:
        joint = body.joint
        if joint.leader is None:
            here, change = (_entries(joint, conventions, x) for x in (q, rate))
            v = _velocity(joint, conventions, here, change)
            out[joint.v_index : joint.v_index + joint.nv] = v
    return out


def _entries(joint: TreeJoint, conventions: Conventions, x: Sequence[Expr]) -> Entries:
    """Return the entries of a joint, quaternions x y z w."""
    own = tuple(x[joint.q_index : joint.q_index + joint.nq])
    if conventions.quaternion == "wxyz" and joint.nq in (4, 7):
        *lead, s, x_, y, z = own
        return (*lead, x_, y, z, s)
    return own


def _velocity(
    joint: TreeJoint, conventions: Conventions, q: Entries, rate: Entries
) -> Entries:
    match joint.kind:
        case "spherical":
            return _turned_by(q, rate)
        case "planar":
            c, s = q[2].cos(), q[2].sin()
            return c * rate[0] + s * rate[1], c * rate[1] - s * rate[0], rate[2]
        case "floating":
            v, w = Vec(rate[:3]), _turned_by(q[3:], rate[3:])
            if conventions.floating_velocity == "body":
                v = transposed_rotation(*q[3:]) @ v
            return (*v, *w) if conventions.order == "linear_first" else (*w, *v)
        case _:
            return rate


def _turned_by(q: Entries, rate: Entries) -> Entries:
    """Return w of dq/dt = ½ q ⊗ (w, 0): twice the vector of q* ⊗ dq/dt over q · q."""
    x, y, z, s = q
    dx, dy, dz, ds = rate
    k = const(2.0) / (x * x + y * y + (z * z + s * s))
    return (
        k * (s * dx - x * ds + (z * dy - y * dz)),
        k * (s * dy - y * ds + (x * dz - z * dx)),
        k * (s * dz - z * ds + (y * dx - x * dy)),
    )


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
