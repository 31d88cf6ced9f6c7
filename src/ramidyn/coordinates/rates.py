"""How the entries of q change with q̇, over symbols: dq/dt = Q(q) q̇, and back.

quaternion      ½ q ⊗ (ω, 0)
planar          the velocity in the axes of the parent
floating        the same, unless q̇ is along them already
"""

from __future__ import annotations

from collections.abc import Sequence

from ramidyn.coordinates.configurations import assembled, assembled_velocity
from ramidyn.coordinates.coordinates import Coordinates, joint_coordinates
from ramidyn.description.conventions import Conventions
from ramidyn.description.joint_interface import Entries
from ramidyn.symbolic.expr import Expr
from ramidyn.tree.joints import TreeJoint
from ramidyn.tree.model import Model


def rates(
    model: Model, conventions: Conventions, q: Sequence[Expr], qd: Sequence[Expr]
) -> list[Expr]:
    """Return dq/dt at velocity q̇."""
    here = Coordinates(model, conventions, q)
    v = here.velocity(qd)
    return assembled(
        model, conventions, lambda i, joint: joint.type.rate(here.q[i], v[i])
    )


def velocity_of(
    model: Model, conventions: Conventions, q: Sequence[Expr], rate: Sequence[Expr]
) -> list[Expr]:
    """Return the q̇ at which q changes by a rate that keeps quaternions' lengths."""

    def of(_: int, joint: TreeJoint) -> Entries:
        here, change = (joint_coordinates(joint, conventions, x) for x in (q, rate))
        return joint.type.under(conventions).velocity(here, change)

    return assembled_velocity(model, conventions, of)
