"""What cut joints do to their bodies: the wrenches that multipliers stand for.

Each row of a cut is a covector F on B in coordinates of A (`constraints`). So the loop
exerts W = Σ λ F on body b, and −W on body a.

    R, p  axes and origin of B in A          W  in coordinates of A, about its origin
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

from ramidyn.algorithms.loops.constraints import Path, covector, path_of
from ramidyn.algorithms.loops.cuts import CutJoint
from ramidyn.coordinates.coordinates import JointVector
from ramidyn.spatial.transform import Transform
from ramidyn.spatial.vectors import Force
from ramidyn.symbolic.expr import Expr, region
from ramidyn.tree.joint_transform import fixed_steps
from ramidyn.tree.tree import ROOT, Tree


@final
@dataclass(frozen=True, slots=True, eq=False)
class CutWrench:
    """The wrench of one cut on body b, and the path between its frames."""

    path: Path
    W: Force

    @property
    def at_b(self) -> Force:
        """W about B's origin, along the axes of A."""
        return Force(self.W.n - self.path.p.cross(self.W.f), self.W.f)

    @property
    def in_b(self) -> Force:
        """W in coordinates of B."""
        E, W = self.path.R.T, self.at_b
        return Force(E @ W.n, E @ W.f)

    @property
    def in_a(self) -> Force:
        """−W, what acts on a, in coordinates of A."""
        return Force(-self.W.n, -self.W.f)


def cut_wrenches(
    tree: Tree, cuts: Sequence[CutJoint], q: JointVector, multipliers: Sequence[Expr]
) -> list[CutWrench | None]:
    """Return the wrench of each cut; None for a coupling, which acts in its joints."""
    found: list[CutWrench | None] = []
    row = 0
    for cut in cuts:
        own, row = multipliers[row : row + len(cut.rows)], row + len(cut.rows)
        if cut.type == "coupling":
            found.append(None)
            continue
        region(f"wrench {cut.name}")
        path = path_of(tree, cut, q)
        W = Force.zero()
        for kind, x in zip(cut.rows, own, strict=True):
            W = W + covector(kind, path, cut.length)[1] * x
        found.append(CutWrench(path, W))
    return found


def forces_of_cuts(
    tree: Tree, cuts: Sequence[CutJoint], q: JointVector, multipliers: Sequence[Expr]
) -> Mapping[int, Force]:
    """Return the force of all cuts on each body, in its own coordinates."""
    forces: dict[int, Force] = {}
    wrenches = cut_wrenches(tree, cuts, q, multipliers)
    for cut, wrench in zip(cuts, wrenches, strict=True):
        if wrench is None:
            continue
        ends = (cut.a, cut.T_a, wrench.in_a), (cut.b, cut.T_b, wrench.in_b)
        for i, T, force in ends:
            if i != ROOT:
                there = Transform(fixed_steps(T)).back(force)
                forces[i] = forces.get(i, Force.zero()) + there
    return forces
