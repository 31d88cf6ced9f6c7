"""Dynamics with loops over the coordinates that clusters leave (`loop_clusters`).

    q̈ = G ÿ + g        J G = 0,  J g = −γ  of the rows of clusters

What is left is the augmented matrix of the other rows, solved loop by loop:

    [ GᵀMG   (JG)ᵀ ] [ ÿ ]   [ Gᵀ (Q − M g) ]
    [ JG      −μ   ] [−λ ] = [ −γ − J g     ]

The multipliers of clusters come last, from what is left to balance:

    e = M q̈ − Q − Jᵀ λ of the other rows = Jᵀ λ
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from ramidyn.algorithms.loops.loop_clusters import ClusterMotion
from ramidyn.algorithms.loops.loopwise import LoopElimination, eliminate, loopwise
from ramidyn.algorithms.ltdl import DofVector, TreeEntries
from ramidyn.spatial.vector3 import ZERO
from ramidyn.symbolic.dense import add_multiples, dot, total
from ramidyn.symbolic.expr import Expr, region


@final
@dataclass(frozen=True, slots=True, eq=False)
class Clustered:
    """Rows over degrees of freedom, and those of them that are in clusters."""

    J: Sequence[DofVector]
    motion: ClusterMotion
    inside: Sequence[int]
    """rows of clusters, in the order of the motion"""

    @property
    def outside(self) -> list[int]:
        """The other rows."""
        return [r for r in range(len(self.J)) if r not in self.inside]

    def bias(self, gamma: Sequence[Expr]) -> DofVector:
        """Return g."""
        return self.motion.bias(gamma[r] for r in self.inside)

    def multipliers(self, e: DofVector, found: Sequence[Expr]) -> list[Expr]:
        """Return λ of all rows.

        Args:
            e: what forces lack, M q̈ − Q.
            found: λ of the rows that are not in clusters.
        """
        region("multipliers")
        e, out = dict(e), dict(zip(self.outside, found, strict=True))
        add_multiples(e, [self.J[r] for r in out], [-x for x in found])
        out.update(zip(self.inside, self.motion.multipliers(e), strict=True))
        return [out[r] for r in range(len(self.J))]


@final
@dataclass(frozen=True, slots=True, eq=False)
class ReducedSystem:
    """The augmented matrix over the coordinates that are left, factored."""

    rows: Clustered
    M: TreeEntries
    """over all degrees of freedom"""
    place: dict[int, int]
    """of each coordinate that is left, parents first"""
    A: LoopElimination

    @staticmethod
    def of(
        rows: Clustered, reduced: TreeEntries, M: TreeEntries, damping: Sequence[float]
    ) -> ReducedSystem:
        """Factor what is left; ``reduced`` is GᵀMG, over degrees of freedom."""
        size = 1 + max(i for i, _ in M)
        left = sorted({z for k in range(size) for z in rows.motion.factors(k)})
        place = {z: p for p, z in enumerate(left)}
        My = {
            (place[i], place[j]): x
            for (i, j), x in reduced.items()
            if i in place and j in place
        }
        J = [
            {place[z]: x for z, x in rows.motion.row(rows.J[r]).items()}
            for r in rows.outside
        ]
        mu = [damping[r] for r in rows.outside] if damping else []
        return ReducedSystem(rows, M, place, eliminate(My, J, len(left), mu))

    def solve(
        self, Q: DofVector, gamma: Sequence[Expr]
    ) -> tuple[DofVector, list[Expr]]:
        """Return q̈ and λ."""
        motion, J = self.rows.motion, self.rows.J
        g = self.rows.bias(gamma)
        force = motion.row(_minus(Q, self._inertia_times(g)))
        outside = [gamma[r] + dot(J[r], g) for r in self.rows.outside]
        y, found = loopwise(
            self.A, {self.place[z]: x for z, x in force.items()}, outside
        )
        x: DofVector = {}
        for k in range(1 + max(i for i, _ in self.M)):
            at = motion.factors(k).items()
            x[k] = total((*(f * y[self.place[z]] for z, f in at), g.get(k, ZERO)))
        lack = _minus(self._inertia_times(x), Q)
        return x, self.rows.multipliers(lack, found)

    def _inertia_times(self, x: DofVector) -> DofVector:
        """Return M x."""
        out: DofVector = {}
        for (i, j), m in self.M.items():
            for a, b in {(i, j), (j, i)}:
                if b in x:
                    out[a] = out.get(a, ZERO) + m * x[b]
        return out


def _minus(a: DofVector, b: DofVector) -> DofVector:
    """Return a − b."""
    return {k: a.get(k, ZERO) - b.get(k, ZERO) for k in {**a, **b}}
