"""How many rows of the constraints are independent, found where the loops are closed.

Before anything is compiled, the interpreter closes the loops from several starts, and
the rank of J is that of the best-conditioned closed configuration met.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, final

import numpy as np
import numpy.typing as npt

from ramify.algorithms.crba import crba
from ramify.algorithms.loops.constraints import constraint_rows
from ramify.algorithms.loops.cuts import cuts_of
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
"""of a singular value over the largest: below it, a row is redundant"""
STARTS = 4
SAMPLES = 6
ROUNDING = 1e-12
"""of what is zero but for rounding, over what is not"""
CLOSED = 1e-9
"""|Φ| [m, rad] of a closed configuration"""


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

    @property
    def is_redundant(self) -> bool:
        """Whether rows that are left depend on others somewhere; or none was closed."""
        return self.lowest < self.rows - len(self.dropped) or self.q is None


@lru_cache(maxsize=64)
def rank_of(model: Model, conventions: Conventions) -> Rank:
    """Return the rank of a model's constraints at sampled closed configurations."""
    program = _program(model, conventions)
    step = trace(
        partial(configurations.integrated, model, conventions),
        {"q": model.nq, "qd": model.nv, "dt": ()},
    )
    rng = np.random.default_rng(0)
    J = np.zeros((0, model.nv))
    start = ranges.neutral(model, conventions)
    best, rank, lowest, scales, found = np.inf, 0, 0, np.zeros(0), None
    for k in range(STARTS):
        push = rng.normal(scale=0.1 * min(k, 2), size=model.nv)
        if found is None:
            q, residual = _closed(program, step, _moved(step, start, push))
        else:  # further along the same motion
            push = push - np.linalg.pinv(J, rcond=1e-6) @ (J @ push)
            q, residual = _closed(program, step, _moved(step, found, push), 1e-2)
        J, G = _at(program, q)
        here = numerical_rank(J)
        if residual < CLOSED:
            lowest = here if found is None else min(lowest, here)
        if residual < CLOSED and (found is None or here > rank):
            rank, found, scales = here, q, G
        if found is None and residual < best:
            rank, scales = here, G
        best = min(best, residual)
    largest = max(float(scales.max(initial=0.0)), 1e-300)
    safe = np.maximum(scales, 1e-6 * largest)
    pushes = rng.normal(scale=0.7, size=(SAMPLES, model.nv))
    samples = [_at(program, _moved(step, start, v))[0] for v in pushes]
    dropped, null = always_redundant(np.hstack(samples))
    spare = ()
    if found is not None:
        left = [r for r in range(len(scales)) if r not in dropped]
        spare = _spare(_at(program, found)[0], left, rank)
    floats = tuple(map(float, safe))
    return Rank(len(scales), rank, lowest, floats, found, best, dropped, null, spare)


def _spare(J: Array, rows: list[int], rank: int) -> tuple[int, ...]:
    """Return what is left of some rows without as many as can be independent.

    Those are taken one by one, each the farthest from all that its predecessors span.
    """
    lengths = np.linalg.norm(J, axis=1, keepdims=True)
    left: Array = J / np.where(lengths > TOLERANCE, lengths, 1.0)
    spare = list(rows)
    for _ in range(min(rank, len(rows))):
        far = np.linalg.norm(left[spare], axis=1)
        e = left[spare.pop(int(np.argmax(far)))] / far.max()
        left = left - np.outer(left @ e, e)
    return tuple(spare)


def always_redundant(J: Array) -> tuple[tuple[int, ...], Array]:
    """Return rows to drop, and all n with nᵀ J = 0, for J of many places in a row."""
    rows = len(J)
    lengths = np.linalg.norm(J, axis=1, keepdims=True)
    scale = np.where(lengths > ROUNDING * lengths.max(initial=0.0), lengths, 1.0)
    square = np.hstack([J / scale, np.zeros((rows, rows))])
    U, values, _ = np.linalg.svd(square, full_matrices=False)
    is_null = values <= ROUNDING * float(values.max(initial=0.0))
    null: Array = np.linalg.qr(U[:, is_null] / scale)[0].astype(float)
    left, dropped = np.array(null), list[int]()
    for _ in range(int(is_null.sum())):  # each n can spare the row largest in it
        r, c = np.unravel_index(int(np.argmax(np.abs(left))), left.shape)
        dropped.append(int(r))
        left = left - np.outer(left[:, c], left[r] / left[r, c])
        left[r] = 0.0
    null[np.abs(null) < ROUNDING] = 0.0
    return tuple(sorted(dropped)), null


def numerical_rank(J: npt.NDArray[Any]) -> int:
    """Return the rank of J, its rows scaled to one length."""
    if not J.size:
        return 0
    lengths = np.linalg.norm(J, axis=1, keepdims=True)
    scaled = J / np.where(lengths > TOLERANCE, lengths, 1.0)
    values = np.linalg.svd(scaled, compute_uv=False)
    return int((values > TOLERANCE * values.max(initial=0.0)).sum())


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


def _closed(
    program: Program, step: Program, q: Array, cutoff: float = 0.0
) -> tuple[Array, float]:
    """Return q after some Gauss-Newton steps towards closed loops, and |Φ| there.

    Singular values below ``cutoff`` (over the largest) are taken as zero.
    """
    values = evaluate(program, {"q": q})
    size = float(np.abs(values["phi"]).max(initial=0.0))
    for _ in range(30):
        if size < 1e-13:
            break
        jacobian, phi = values["J"], values["phi"]
        mu = 1e-3 * min(size, 1.0) * np.abs(jacobian).max(initial=1e-3)
        rows = np.vstack([jacobian, mu * np.eye(jacobian.shape[1])])
        rhs = np.concatenate([-phi, np.zeros(jacobian.shape[1])])
        move: Array = np.linalg.lstsq(rows, rhs, rcond=cutoff)[0].astype(float)
        length = float(np.abs(move).max(initial=0.0))
        q_new = _moved(step, q, move * min(1.0, 0.5 / max(length, 1e-12)))
        values = evaluate(program, {"q": q_new})
        new = float(np.abs(values["phi"]).max(initial=0.0))
        if size < 1e-10 and new >= size:
            break
        q, size = q_new, new
    return q, size


def _moved(step: Program, q: Array, v: Array) -> Array:
    return evaluate(step, {"q": q, "qd": v, "dt": 1.0})["result"]


def _at(program: Program, q: Array) -> tuple[Array, Array]:
    """Return J and the diagonal of J M⁻¹ Jᵀ."""
    values = evaluate(program, {"q": q})
    J, M = values["J"], values["M"]
    inverse = np.linalg.pinv(M, hermitian=True)
    return J, np.einsum("ri,ij,rj->r", J, inverse, J)
