"""Λ⁻¹ by PV-OSIMr: Popov-Vereshchagin over a reduced tree.

    Ω_xy = K_x Ω_a K_yᵀ + dΩ_xy        Λ⁻¹_kl = P_k Ω_xy P_lᵀ

A junction is a body where more than six rows meet. From there towards the root go six
rows only, starting from the identity; the chain of joints between two junctions is an
edge of the reduced tree, taken once however many ends are beyond it.

    x, y    carriers: rows that go together, from an end or from a junction
    a       the junction that both x and y come to; Ω = 0 where that is the world
    K_x     the rows of x at a; they start as C_k, the rows of end k, or as the identity
    dΩ_xy   Σ (K_x S) D⁻¹ (K_y S)ᵀ over the joints that both pass
    Ω_a     Ω_xx of the carrier x that starts at junction a
    P_k     the rows of end k in terms of those of x: the K on the way, multiplied

Sathya, Decré & Swevers, "PV-OSIMr: a lowest order complexity algorithm for computing
the Delassus matrix", IEEE RA-L 2024. `mixed` chooses which junctions to reduce at.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field
from typing import final

from ramidyn.algorithms.operational.propagators import (
    Propagators,
    propagators,
    unit_forces,
)
from ramidyn.algorithms.operational.rjk import inverse_inertias
from ramidyn.algorithms.operational.tasks import End
from ramidyn.algorithms.sweeps import inward
from ramidyn.coordinates.coordinates import JointVector
from ramidyn.spatial.vector3 import ZERO, Vec
from ramidyn.spatial.vectors import Force, Motion
from ramidyn.symbolic.dense import (
    Symmetric,
    add,
    add_outer,
    inner,
)
from ramidyn.symbolic.expr import Expr, region
from ramidyn.tree.tree import ROOT, Tree


@final
@dataclass(slots=True, eq=False)
class Carrier:
    """Rows that go towards the root together, numbered from ``first``."""

    first: int
    rows: tuple[Force, ...]
    """in the coordinates of the body that they have reached"""
    end: End | None = None
    """whose rows they are, or"""
    members: list[Carrier] = field(default_factory=list["Carrier"])
    """what meets in the junction that they stand for"""

    @property
    def span(self) -> range:
        """The numbers of its rows."""
        return range(self.first, self.first + len(self.rows))


def pvr(tree: Tree, q: JointVector, ends: Sequence[End]) -> Symmetric:
    """Return Λ⁻¹."""
    return over_junctions(tree, q, ends, lambda _, rows: rows > 6)


def over_junctions(
    tree: Tree,
    q: JointVector,
    ends: Sequence[End],
    is_reduced: Callable[[int, int], bool],
    trunks: Container[int] = (),
) -> Symmetric:
    """Return Λ⁻¹, reduced at body i where ``is_reduced(i, rows that meet there)``.

    A body of ``trunks`` is one that all ends of its tree hang on: if it is reduced, no
    rows go on from there, and its Ω comes from the root outwards, as in `rjk`.
    """
    A = propagators(tree, q)
    tops, sums, standing = _inwards(tree, A, ends, is_reduced, trunks)
    Lam: Symmetric = {}
    _add_pairs(Lam, tops, sums, None)
    W = inverse_inertias(tree, A, list(standing))
    for i, members in standing.items():
        Om = [list(a.parts()) for a in W[i].columns()]
        _add_pairs(Lam, members, sums, Om)
    return Lam


def _inwards(
    tree: Tree,
    A: Propagators,
    ends: Sequence[End],
    is_reduced: Callable[[int, int], bool],
    trunks: Container[int],
) -> tuple[list[Carrier], Symmetric, dict[int, list[Carrier]]]:
    """Return carriers that reach the world, dΩ by row numbers, and those at trunks."""
    at: dict[int, list[Carrier]] = {i: [] for i in range(ROOT, len(tree))}
    count = 0
    for end in ends:
        at[end.body].append(Carrier(count, end.rows, end))
        count += len(end.rows)
    sums: Symmetric = {}
    standing: dict[int, list[Carrier]] = {}
    for i, p in inward(tree, "reduced edge"):
        if is_reduced(i, sum(len(c.rows) for c in at[i])):
            if i in trunks:
                standing[i], at[i] = at[i], []
                continue
            at[i] = [Carrier(count, unit_forces(), None, at[i])]
            count += 6
        going = [Carrier(c.first, c.rows, c.end, c.members) for c in at[i]]
        for column in reversed(A.columns[i]):
            v = {
                n: row.dot(column.s)
                for c in going
                for n, row in zip(c.span, c.rows, strict=True)
            }
            add_outer(sums, v, column.Dinv)
            for c in going:
                c.rows = tuple(
                    row - column.Ud * v[n]
                    for n, row in zip(c.span, c.rows, strict=True)
                )
        for c in going:
            c.rows = tuple(A.X[i].back(row) for row in c.rows)
        at[p] += going
    return at[ROOT], sums, standing


Block = list[list[Expr]]


def _add_pairs(
    Lam: Symmetric,
    carriers: Sequence[Carrier],
    sums: Symmetric,
    Om: Block | None,
) -> None:
    """Add to Λ⁻¹ all pairs that meet among carriers at a junction with mobility Om."""
    region("reduced tree")
    moved = [_moved_rows(c.rows, Om) for c in carriers]
    for x, first in enumerate(carriers):
        own = _pairs(first, first, moved[x], sums)
        if first.end is not None:
            _place(Lam, first.end, first.end, own)
        else:
            _add_pairs(Lam, first.members, sums, own)
        for second in carriers[:x]:
            _cross(Lam, first, second, moved[x], sums)


def _moved_rows(rows: Sequence[Force], Om: Block | None) -> list[Motion] | None:
    if Om is None:
        return None
    out: list[Motion] = []
    for row in rows:
        parts = row.parts()
        x = [inner(parts, Om[k]) for k in range(6)]
        out.append(Motion(Vec(x[:3]), Vec(x[3:])))
    return out


def _pairs(
    first: Carrier, second: Carrier, moved: list[Motion] | None, sums: Symmetric
) -> Block:
    """Return rows of first × rows of second: what their common edges add, and Om."""
    block: Block = []
    for k, r in enumerate(first.span):
        line: list[Expr] = []
        for row, c in zip(second.rows, second.span, strict=True):
            if first is second and c > r:
                continue
            x = sums.get((r, c) if c <= r else (c, r), ZERO)
            line.append(x if moved is None else x + row.dot(moved[k]))
        block.append(line)
    if first is second:
        for k, line in enumerate(block):
            line.extend(block[j][k] for j in range(k + 1, len(block)))
    return block


def _cross(
    Lam: Symmetric,
    first: Carrier,
    second: Carrier,
    moved: list[Motion] | None,
    sums: Symmetric,
) -> None:
    """Add the pairs of an end of one carrier and an end of another."""
    block = _pairs(first, second, moved, sums)
    left, right = _ends_of(first), _ends_of(second)
    for l, C in left:
        half = block if C is None else [_combined_row(row, block) for row in C]
        for k, E in right:
            full = half
            if E is not None:
                full = [[inner(row.parts(), line) for row in E] for line in half]
            _place(Lam, l, k, full)


def _ends_of(carrier: Carrier) -> list[tuple[End, tuple[Force, ...] | None]]:
    """Return the ends behind a carrier, with their rows in terms of the carrier's."""
    if carrier.end is not None:
        return [(carrier.end, None)]
    found: list[tuple[End, tuple[Force, ...] | None]] = []
    for member in carrier.members:
        for end, rows in _ends_of(member):
            if rows is None:
                found.append((end, member.rows))
            else:
                found.append((end, tuple(_through(row, member.rows) for row in rows)))
    return found


def _through(row: Force, P: Sequence[Force]) -> Force:
    total = Force.zero()
    for x, line in zip(row.parts(), P, strict=True):
        total = total + line * x
    return total


def _combined_row(row: Force, block: Block) -> list[Expr]:
    return [inner(row.parts(), column) for column in zip(*block, strict=True)]


def _place(Lam: Symmetric, first: End, second: End, block: Block) -> None:
    for r, line in zip(first.span, block, strict=True):
        for c, x in zip(second.span, line, strict=True):
            if first is not second or c <= r:
                add(Lam, r, c, x)
