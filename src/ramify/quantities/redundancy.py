"""Which rows of the constraints are independent, and how well loops can be closed.

Before anything is compiled, the interpreter closes the loops from several starts. This
is where rank and closure are decided, for dynamics, mobility, assembly and multipliers
alike.

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
from functools import lru_cache, partial
from typing import Any, final

import numpy as np

from ramify.algorithms.crba import crba
from ramify.algorithms.loops.constraints import constraint_rows
from ramify.algorithms.loops.cuts import cuts_of
from ramify.algorithms.loops.proximal import DAMPING, PASSES
from ramify.model import configurations, ranges
from ramify.model.assembly import Model
from ramify.model.conventions import Conventions
from ramify.model.pose import Array
from ramify.quantities.base import Context, array, zeros
from ramify.quantities.dynamics import public_matrix
from ramify.symbolic.interpreter import evaluate
from ramify.symbolic.program import Program
from ramify.symbolic.trace import trace

TOLERANCE = 1e-7
"""of a singular value over the largest: below it, nothing is constrained"""
PRECISION = 2e-3
"""the coarsest file: four digits. Of singular values, and of |Φ| over a loop's size."""
GAP = 10.0
"""between singular values that count and those that rounding leaves"""
STARTS = 4
SAMPLES = 6
ROUNDING = 1e-12
"""of what is zero but for rounding, over what is not"""
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
    residual: float
    """|Φ| of the best configuration met"""
    dropped: tuple[int, ...]
    """rows that follow from the others wherever the robot is, and are left out of the
    dynamics: a planar loop has some, a loop given twice"""
    null: Array
    """(rows, dropped): combinations of rows that are zero wherever the robot is"""
    spare: tuple[int, ...]
    """of the rows that are left, those that follow from the others of them where the
    loops are closed: a crank too many"""
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
        """Whether rows that are left depend on others somewhere; or none was closed."""
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


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Place:
    """A configuration, as closed as it can be."""

    q: Array
    residual: float
    """|Φ| [m, rad]"""
    gap: float
    """|Φ| over the sizes of the rows"""
    J: Array
    """its rows over their sizes"""
    G: Array
    """J M⁻¹ Jᵀ, of J as it is"""


@final
class _Mechanism:
    """Φ, J and M of a model, evaluated; sizes of its rows."""

    def __init__(self, model: Model, conventions: Conventions) -> None:
        self.program = _program(model, conventions)
        self.step = trace(
            partial(configurations.integrated, model, conventions),
            {"q": model.nq, "qd": model.nv, "dt": ()},
        )
        self.start = ranges.neutral(model, conventions)
        self.sizes = np.ones(0)

    def moved(self, q: Array, v: Array) -> Array:
        return evaluate(self.step, {"q": q, "qd": v, "dt": 1.0})["result"]

    def jacobian(self, q: Array) -> Array:
        return evaluate(self.program, {"q": q})["J"]

    def at(self, q: Array) -> _Place:
        values = evaluate(self.program, {"q": q})
        J: Array = values["J"]
        inverse = np.linalg.pinv(values["M"], hermitian=True)
        phi = np.abs(values["phi"])
        return _Place(
            q,
            float(phi.max(initial=0.0)),
            float((phi / self.sizes).max(initial=0.0)),
            J / self.sizes[:, None],
            J @ inverse @ np.transpose(J),
        )

    def closed(self, q: Array, cutoff: float = 0.0) -> _Place:
        """Return where some Gauss-Newton steps towards closed loops lead from q.

        Singular values below ``cutoff`` (over the largest) are taken as zero.
        """
        over = self.sizes if cutoff else np.ones(len(self.sizes))
        values = evaluate(self.program, {"q": q})
        size = float(np.abs(values["phi"]).max(initial=0.0))
        for _ in range(30):
            if size < 1e-13:
                break
            jacobian, phi = values["J"] / over[:, None], values["phi"] / over
            mu = 1e-3 * min(size, 1.0) * np.abs(jacobian).max(initial=1e-3)
            rows = np.vstack([jacobian, mu * np.eye(jacobian.shape[1])])
            rhs = np.concatenate([-phi, np.zeros(jacobian.shape[1])])
            move: Array = np.linalg.lstsq(rows, rhs, rcond=cutoff)[0].astype(float)
            length = float(np.abs(move).max(initial=0.0))
            if cutoff and length < 1e-12:
                break
            q_new = self.moved(q, move * min(1.0, 0.5 / max(length, 1e-12)))
            values = evaluate(self.program, {"q": q_new})
            new = float(np.abs(values["phi"]).max(initial=0.0))
            if size < 1e-10 and new >= size:
                break
            q, size = q_new, new
        return self.at(q)


@lru_cache(maxsize=64)
def rank_of(model: Model, conventions: Conventions) -> Rank:
    """Return the rank of a model's constraints at sampled closed configurations."""
    rng = np.random.default_rng(0)
    mechanism = _Mechanism(model, conventions)
    start = mechanism.start
    pushes = rng.normal(scale=0.7, size=(SAMPLES, model.nv))
    opened = [mechanism.jacobian(mechanism.moved(start, v)) for v in pushes]
    mechanism.sizes = sizes = row_sizes(model, opened)
    rows = len(sizes)
    opened = [J / sizes[:, None] for J in opened]
    places, best = _places(mechanism, model.nv, rng)
    tolerance, closed = TOLERANCE, CLOSED
    if places and all(p.residual >= CLOSED for p in places[1:] or places):
        split = _split(places)
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
        left = _left(rows, more[0])
        if all(numerical_rank(p.J[left], tolerance) == rank for p in places):
            dropped, null = more
    left = _left(rows, dropped)
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
        place.residual,
        dropped,
        null,
        spare,
        sizes,
        tolerance,
        closed,
        damping,
    )


def row_sizes(model: Model, jacobians: Sequence[Array]) -> Array:
    """Return what each row is measured by: what moves its loop's point at most, or 1.

    Rows of one loop share it, so that one that only rounding fills stays small.
    """
    lengths = np.max([np.linalg.norm(J, axis=1) for J in jacobians], axis=0)
    sizes, r = np.ones(len(lengths)), 0
    positions: list[slice] = []
    for cut in cuts_of(model):
        for name in cut.rows:
            if name == "c":
                sizes[r] = lengths[r]
            r += 1
        own = [k for k, name in enumerate(cut.rows) if name[0] in "pd"]
        if own:  # positions come first
            positions.append(slice(r - len(cut.rows), r - len(cut.rows) + len(own)))
    largest = max((float(lengths[own].max()) for own in positions), default=1.0)
    for own in positions:
        length = float(lengths[own].max())
        sizes[own] = length if length > PRECISION * largest else largest
    return np.where(sizes > 0.0, sizes, 1.0)


def _places(
    mechanism: _Mechanism, nv: int, rng: np.random.Generator
) -> tuple[list[_Place], _Place]:
    """Return closed configurations along a motion, and the best one met."""
    places: list[_Place] = []
    best: _Place | None = None
    for k in range(STARTS):
        push = rng.normal(scale=0.1 * min(k, 2), size=nv)
        if not places:
            begin = mechanism.moved(mechanism.start, push)
            place = mechanism.closed(begin, PRECISION)
            if place.gap >= PRECISION:  # perhaps near a singular configuration
                place = mechanism.closed(begin)
        else:  # further along the same motion, where only rounding is in the way
            J = places[-1].J
            push = push - np.linalg.pinv(J, rcond=PRECISION) @ (J @ push)
            begin = mechanism.moved(places[-1].q, push)
            place = mechanism.closed(begin, PRECISION)
        if best is None or place.residual < best.residual:
            best = place
        if place.gap < PRECISION:
            places.append(place)
    assert best is not None
    return places, best


def _split(places: Sequence[_Place]) -> float | None:
    """Return what is between singular values that count and those of rounding.

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


def _left(rows: int, dropped: Sequence[int]) -> list[int]:
    return [r for r in range(rows) if r not in dropped]


def _spare(J: Array, rows: list[int], rank: int) -> tuple[int, ...]:
    """Return what is left of some rows without as many as can be independent.

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
    return tuple(sorted(dropped)), np.array(_orthonormal(vectors)).reshape(-1, rows).T


def _first_largest(values: Array) -> int:
    """Return the first of those that are largest but for rounding."""
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


def _scales(model: Model, place: _Place, sizes: Array, is_rough: bool) -> Array:
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
    places: Sequence[_Place], left: Sequence[int], scales: Array, rank: int
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


def _program(model: Model, conventions: Conventions) -> Program:
    """Return the program of Φ, J and M, in the tree's own coordinates."""
    cuts = cuts_of(model)

    def traced(q: Any) -> dict[str, Any]:
        context = Context(model, conventions, {"q": q})
        rows = constraint_rows(context.tree, cuts, context.q)
        n = len(context.coordinates.P)
        J = [
            context.coordinates.row([r.J.get(k, zeros(1)[0]) for k in range(n)])
            for r in rows
        ]
        M = public_matrix(context, crba(context.tree, context.q))
        return {"phi": array([r.residual for r in rows]), "J": array(J), "M": array(M)}

    return trace(traced, {"q": model.nq})
