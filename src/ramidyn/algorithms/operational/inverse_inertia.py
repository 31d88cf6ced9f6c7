"""The inverse inertia of one body: its acceleration per unit force on it.

    Ω = [W Hᵀ; H V]:  w = W n + Hᵀ f,  v = H n + V f

It goes outwards as an articulated inertia goes inwards, with motions in the place of
forces: (v, w) changes from p to i as (n, f) does from p's to i's where X is inverted.
So its congruence costs what that of an articulated inertia costs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from ramidyn.algorithms.operational.propagators import Propagator
from ramidyn.spatial.inertia import ArticulatedInertia
from ramidyn.spatial.transform import Transform
from ramidyn.spatial.vector3 import IDENTITY, ZERO3
from ramidyn.spatial.vectors import Force, Motion


@final
@dataclass(frozen=True, slots=True, eq=False)
class InverseInertia:
    """Ω of one body, kept as the inertia that it is the dual of."""

    dual: ArticulatedInertia

    @staticmethod
    def zero() -> InverseInertia:
        """Return Ω of what does not move."""
        return InverseInertia(ArticulatedInertia.zero())

    def __matmul__(self, f: Force) -> Motion:
        """Return the acceleration for a force."""
        swapped = self.dual @ Motion(f.f, f.n, f.frame)
        return Motion(swapped.f, swapped.n, swapped.frame)

    def across(self, X: Transform) -> InverseInertia:
        """Return X Ω Xᵀ."""
        return InverseInertia(X.inverted().back(self.dual))

    def beyond(self, column: Propagator) -> InverseInertia:
        """Return L Ω Lᵀ + S D⁻¹ Sᵀ."""
        dual = self.dual
        if column.e is not None:
            dual = dual.without((column.e + 3) % 6)
        t = InverseInertia(dual) @ column.Ud
        m = column.Dinv + column.Ud.dot(t)
        # Ω − S tᵀ − t Sᵀ + S m Sᵀ,  t = Ω Ud
        s, rest = column.s, t - column.s * m
        return InverseInertia(_minus(_minus(dual, s, rest), t, s))

    def columns(self) -> list[Motion]:
        """Return the accelerations for the six unit forces, moments first."""
        return [self @ f for f in unit_forces()]


def unit_forces() -> tuple[Force, ...]:
    """Return the six unit forces, moments first."""
    couples = (Force(e, ZERO3) for e in IDENTITY)
    return (*couples, *(Force(ZERO3, e) for e in IDENTITY))


def _minus(dual: ArticulatedInertia, a: Motion, b: Motion) -> ArticulatedInertia:
    """Return Ω − a bᵀ as far as the dual keeps it: upper triangles, and H."""
    return dual.minus_outer(Force(a.v, a.w, a.frame), Force(b.v, b.w, b.frame))
