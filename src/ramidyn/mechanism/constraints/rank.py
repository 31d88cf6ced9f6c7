"""Which rows of the constraints are independent, and how well loops can be closed.

`closed_samples` closes the loops from several starts, before anything is compiled. Here
rank and closure are decided, for dynamics, mobility, assembly and multipliers alike.

A file has a few digits, and redundant loops close no better than they allow: rows that
would be redundant are off by as much, a few parts in a million. Such a mechanism
shows itself when it moves: wherever it is pushed, something stays open, and the
singular values of J (scaled by the size of each loop) have a gap. What is below the gap
is rounding: it constrains nothing, and what stays open is how well the loops close.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import final

import numpy as np

from ramidyn.algorithms.loops.cuts import cuts_of
from ramidyn.algorithms.loops.proximal import DAMPING, PASSES
from ramidyn.description.conventions import Conventions
from ramidyn.description.pose import Array
from ramidyn.mechanism.constraints.samples import (
    PRECISION,
    ClosedSample,
    Mechanism,
    closed_places,
    row_sizes,
)
from ramidyn.tree.model import Model

TOLERANCE = 1e-7
"""of a singular value over the largest: below it, nothing is constrained"""
GAP = 10.0
"""between singular values that count and those that rounding leaves"""
SAMPLES = 6
ROUNDING = 1e-12
"""of values that are zero except for rounding, over the others"""
DIGITS = 12
"""of combinations of rows: those that follow are noise, and differ by processor"""
CLOSED = 1e-9
"""|Φ| [m, rad] of a closed configuration"""
MARGIN = 10.0
"""of |Φ| at any configuration, over the largest at those that were looked at"""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Rank:
    """The rank of the constraints where the loops are closed."""

    rows: int
    rank: int
    """the largest of all closed configurations met"""
    lowest: int
    """the smallest"""
    scales: tuple[float, ...]
    """the diagonal of J M⁻¹ Jᵀ there, which damping is measured by"""
    q: Array | None
    """a closed configuration; None if none was found"""
    samples: Array
    """(n, nq) the closed configurations met; the best one if none is closed"""
    residual: float
    """|Φ| of the best configuration met"""
    dropped: tuple[int, ...]
    """rows that depend on the others in every configuration, and are removed from the
    dynamics: a planar loop has some, a loop given twice"""
    null: Array
    """(rows, dropped): combinations of rows that are zero in every configuration"""
    spare: tuple[int, ...]
    """of the rows that are left, those that follow from the others of them where the
    loops are closed: an extra crank"""
    sizes: Array
    """(rows,) what each row is measured by: the size of its loop [m], 1 for turns"""
    tolerance: float
    """of a singular value of J (rows over sizes) over the largest: below it, nothing
    is constrained"""
    closed: float
    """|Φ| up to which the loops count as closed: more than CLOSED where the digits of
    the file do not allow better"""
    damping: float
    """that tells rows that count from those that rounding leaves; 0 for exact files"""

    @property
    def is_redundant(self) -> bool:
        """Return whether rows left depend on others somewhere, or none was closed."""
        return self.lowest < self.rows - len(self.dropped) or self.q is None

    def of(self, J: Array) -> int:
        """Return the rank of a Jacobian of these constraints."""
        return numerical_rank(J / self.sizes[:, None], self.tolerance)

    def filter(self, J: Array) -> Array:
        """Return F (rows, rows): F J is J without what the digits of the file leave.

        F x is what counts of other rows: of Φ, J q̇ or γ.
        """
        if self.tolerance <= TOLERANCE:
            return np.eye(self.rows)
        U, values, _ = np.linalg.svd(J / self.sizes[:, None], full_matrices=False)
        U = U[:, values > self.tolerance * values[0]]
        return U @ np.transpose(U) * np.outer(self.sizes, 1.0 / self.sizes)


@lru_cache(maxsize=64)
def rank_of(model: Model, conventions: Conventions) -> Rank:
    """Return the rank of a model's constraints at sampled closed configurations."""
    rng = np.random.default_rng(0)
    mechanism = Mechanism(model, conventions)
    start = mechanism.start
    pushes = rng.normal(scale=0.7, size=(SAMPLES, model.nv))
    opened = [mechanism.constraints(mechanism.moved(start, v)).J for v in pushes]
    mechanism.sizes = sizes = row_sizes(model, opened)
    rows = len(sizes)
    opened = [J / sizes[:, None] for J in opened]
    places, best = closed_places(mechanism, model.nv, rng)
    tolerance, closed = TOLERANCE, CLOSED
    if places and all(p.residual >= CLOSED for p in places[1:] or places):
        split = _rounding_threshold(places)
        if split is not None:
            tolerance, closed = split, MARGIN * max(p.residual for p in places)
    if closed == CLOSED:
        places = [p for p in places if p.residual < CLOSED]
    ranks = [numerical_rank(p.J, tolerance) for p in places or [best]]
    rank = max(ranks)
    place = places[ranks.index(rank)] if places else best
    dropped, null = always_redundant(np.hstack(opened), sizes)
    if tolerance > TOLERANCE:
        more = always_redundant(np.hstack(opened), sizes, tolerance)
        left = _rows_left(rows, more[0])
        if all(numerical_rank(p.J[left], tolerance) == rank for p in places):
            dropped, null = more
    left = _rows_left(rows, dropped)
    spare = _spare(place.J, left, rank) if places else ()
    scales = _scales(model, place, sizes, tolerance > TOLERANCE)
    damping = 0.0
    if tolerance > TOLERANCE and spare:
        damping = _damping(places, left, scales, rank)
    return Rank(
        rows,
        rank,
        min(ranks) if places else 0,
        tuple(map(float, scales)),
        place.q if places else None,
        np.array([p.q for p in places or [best]]),
        place.residual,
        dropped,
        null,
        spare,
        sizes,
        tolerance,
        closed,
        damping,
    )


def _rounding_threshold(places: Sequence[ClosedSample]) -> float | None:
    """Return a value between singular values that count and those of rounding.

    None where all rows count: then it is not rounding that keeps the loops open.
    """
    spectra = [np.linalg.svd(p.J, compute_uv=False) for p in places]
    spectra = [s / max(float(s[0]), 1e-300) for s in spectra]
    ranks = [_rank_above_gap(s) for s in spectra]
    rank = max(ranks)
    if rank == len(places[0].J):
        return None
    here = [s for s, r in zip(spectra, ranks, strict=True) if r == rank]
    if rank == len(here[0]):
        return TOLERANCE  # nothing moves, and too many rows say so
    strong = min(float(s[rank - 1]) for s in here)
    weak = max(float(s[rank]) for s in here)
    return max(TOLERANCE, float(np.sqrt(strong * weak)))


def _rank_above_gap(values: Array) -> int:
    for r in range(1, len(values)):
        if values[r] < PRECISION and values[r] * GAP < values[r - 1]:
            return r
    return len(values)


def _rows_left(rows: int, dropped: Sequence[int]) -> list[int]:
    return [r for r in range(rows) if r not in dropped]


def _spare(J: Array, rows: list[int], rank: int) -> tuple[int, ...]:
    """Return the rows left without as many as can be independent.

    Those are taken one by one, each the farthest from all that its predecessors span.
    """
    left, spare = np.array(J), list(rows)
    for _ in range(min(rank, len(rows))):
        far = np.linalg.norm(left[spare], axis=1)
        k = _first_largest(far)
        e = left[spare.pop(k)] / far[k]
        left = left - np.outer(left @ e, e)
    return tuple(spare)


def always_redundant(
    J: Array, sizes: Array, tolerance: float = ROUNDING
) -> tuple[tuple[int, ...], Array]:
    """Return rows to drop, and all n with nᵀ J = 0, for J of many places in a row.

    The rows of ``J`` are over their ``sizes``; those of n are not.
    """
    rows = len(J)
    scale = np.ones((rows, 1))
    if tolerance == ROUNDING:
        lengths = np.linalg.norm(J, axis=1, keepdims=True)
        scale = np.where(lengths > ROUNDING * lengths.max(initial=0.0), lengths, 1.0)
    square = np.hstack([J / scale, np.zeros((rows, rows))])
    U, values, _ = np.linalg.svd(square, full_matrices=False)
    is_null = values <= tolerance * float(values.max(initial=0.0))
    found = U[:, is_null] / (scale * sizes[:, None])
    basis: Array = np.linalg.qr(found)[0].astype(float)
    # The projector does not depend on the basis, which the processor chooses.
    left: Array = basis @ np.transpose(basis)
    dropped, vectors = list[int](), list[list[float]]()
    for _ in range(int(is_null.sum())):  # each n can spare the row largest in it
        r = _first_largest(np.diagonal(left))
        dropped.append(r)
        n: Array = left[:, r] / left[r, r]
        left = left - np.outer(left[:, r], n)
        left[r] = left[:, r] = 0.0
        vectors.append([round(x, DIGITS) for x in n.tolist()])
    null = np.reshape(np.array(_orthonormal(vectors), dtype=float), (-1, rows))
    return tuple(sorted(dropped)), np.transpose(null)


def _first_largest(values: Array) -> int:
    """Return the first of those that are largest, up to rounding."""
    return int(np.argmax(values >= values.max() * (1.0 - 1e-6)))


def _orthonormal(vectors: list[list[float]]) -> list[list[float]]:
    """Return an orthonormal basis of some vectors, the same on every processor."""
    out: list[list[float]] = []
    for vector in vectors:
        v = vector
        for _ in range(2):  # the second time takes away what rounding has left
            for e in out:
                along = math.fsum(x * y for x, y in zip(e, v, strict=True))
                v = [y - along * x for x, y in zip(e, v, strict=True)]
        length = math.sqrt(math.fsum(x * x for x in v))
        out.append([0.0 if abs(x) < ROUNDING * length else x / length for x in v])
    return out


def numerical_rank(J: Array, tolerance: float = TOLERANCE) -> int:
    """Return the rank of J, whose rows are over their sizes."""
    if not J.size:
        return 0
    values = np.linalg.svd(J, compute_uv=False)
    return int((values > tolerance * values[0]).sum())


def _scales(model: Model, place: ClosedSample, sizes: Array, is_rough: bool) -> Array:
    """Return the diagonal of J M⁻¹ Jᵀ, with floors that keep damping above rounding."""
    G: Array = np.diagonal(place.G)
    floors = np.full(len(G), 1e-6 * max(float(G.max(initial=0.0)), 1e-300))
    if is_rough:  # a row that rounding fills is measured by the others of its loop
        r = 0
        for cut in cuts_of(model):
            own = slice(r, r + len(cut.rows))
            mobility = float((G[own] / sizes[own] ** 2).max())
            floors[own] = np.maximum(floors[own], 1e-2 * mobility * sizes[own] ** 2)
            r = own.stop
    # Powers of two: what is measured here must not change with the processor.
    return np.exp2(np.round(np.log2(np.maximum(G, floors)))).astype(np.float64)


def _damping(
    places: Sequence[ClosedSample], left: Sequence[int], scales: Array, rank: int
) -> float:
    """Return μ for the least error after the passes of `proximal`.

    With eigenvalues σ that count and ω of rounding, of J M⁻¹ Jᵀ over its scales, what
    is left of the first is (μ / σ)ᵏ, and what the second add is k ω / μ.
    """
    roots = np.sqrt(scales[list(left)])
    counts, adds = 1.0, 0.0
    for place in places:
        G = place.G[np.ix_(left, left)] / np.outer(roots, roots)
        values = np.linalg.eigvalsh(G)[::-1]
        counts = min(counts, float(values[rank - 1]))
        adds = max(adds, float(values[rank]))
    best = (PASSES * adds * counts**PASSES) ** (1.0 / (PASSES + 1))
    return max(DAMPING["float64"], 10.0 ** round(np.log10(best)))
