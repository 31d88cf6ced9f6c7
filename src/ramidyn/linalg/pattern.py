"""Where the entries of a matrix along a tree are stored, and how they get there."""

# ruff: noqa: N803, N806  (H is the paper's letter)

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, cast, final

import numpy as np
import numpy.typing as npt

from ramidyn.algorithms.matrix_layout import Layout, layout_of
from ramidyn.backend.runtime.memory_layout import WORD
from ramidyn.backend.sparse_factor.factor_loops import (
    BLOCKS,
    address,
    functions,
    vector_width,
)
from ramidyn.concurrency import Lock
from ramidyn.errors import ArgumentError, ModelError, ShapeError, TraceError
from ramidyn.symbolic.expr import users_line
from ramidyn.symbolic.inline import has_symbols
from ramidyn.tree.tree import check_parents, depth_first

Array = npt.NDArray[np.float64]
Parents = Sequence[int] | npt.NDArray[np.integer[Any]]

FLOAT64 = np.dtype(np.float64)
TILE_ENTRIES = 8192
"""Matrices with more entries than this are factored one by one, not lane by lane: a
tile of eight would exceed the second-level cache (half a megabyte), and rows that long
fill vectors by themselves."""
LEAST_BATCH = 3
"""Minimum batch size for which lanes pay off."""


@final
class Pattern:
    """A tree, and where the entries of matrices along it are stored.

    Rows are stored in depth-first order; compressed rows (`layout`) are in the order
    of their numbers. For most numberings the two are the same.
    """

    def __init__(self, parents: tuple[int, ...]) -> None:
        check_parents(parents)
        self.parents = parents
        n = len(parents)
        self.n: int = n
        self.layout: Layout = layout_of(parents)
        self.nnz: int = len(self.layout.colind)
        order = np.array(depth_first(parents), dtype=np.int64)
        sizes = self.layout.rownnz[order].astype(np.int64)
        place = np.empty(n + 1, dtype=np.int64)
        place[order] = np.arange(n)
        place[n] = -1  # where parents[i] = −1 looks
        above = place[np.array(parents, dtype=np.int64)[order]]
        starts = np.cumsum(sizes) - sizes
        self.table: npt.NDArray[np.int64] = np.stack(
            [starts, sizes - 1, above, order], axis=1
        )
        self.depth: int = int(sizes.max(initial=0))
        self.blocks: npt.NDArray[np.int64] = chain_blocks(above)
        self.table_address: int = address(self.table)
        self.blocks_address: int = address(self.blocks)
        self.in_order: npt.NDArray[np.int64] | None = None
        if not np.array_equal(order, np.arange(n)):
            first = self.layout.rowadr[order].astype(np.int64)
            self.in_order = np.repeat(first - starts, sizes) + np.arange(self.nnz)

    def __reduce__(self) -> tuple[Any, ...]:
        return pattern_from, (self.parents,)

    @functools.cached_property
    def diagonal(self) -> npt.NDArray[np.int32]:
        """Where the diagonal is in compressed rows."""
        return self.layout.rowadr + self.layout.rownnz - 1


def chain_blocks(
    above: npt.NDArray[np.int64], owner: npt.NDArray[np.int64] | None = None
) -> npt.NDArray[np.int64]:
    """Return (first place, rows) of pieces of chains, tips first.

    ``owner`` is a number of each place: all rows of a piece have the same.
    """
    ends = above[1:] != np.arange(len(above) - 1)
    if owner is not None:
        ends |= owner[1:] != owner[:-1]
    breaks = np.flatnonzero(ends) + 1
    bounds = [0, *breaks.tolist(), len(above)]
    blocks: list[tuple[int, int]] = []
    for start, end in zip(bounds[-2::-1], bounds[:0:-1], strict=True):
        at = end
        for size in BLOCKS:
            while at - start >= size:
                at -= size
                blocks.append((at, size))
    return np.array([*blocks, (0, 0)], dtype=np.int64)[:-1]  # (0, 2) for none


_known: dict[tuple[int, ...], Pattern] = {}
_lock = Lock()
MOST_KNOWN = 64


def pattern_from(parents: Parents) -> Pattern:
    """Return the pattern of a tree, cached for the next call."""
    if isinstance(parents, (tuple, list)):
        try:
            found = _known.get(tuple(parents))
        except TypeError:  # not hashable, so not integers
            found = None
        if found is not None:
            return found
    given = np.asarray(parents)
    if given.size == 0:
        given = given.astype(np.int64)
    if given.ndim != 1 or given.dtype.kind not in "iu":
        raise ShapeError(
            f"parents has shape {given.shape} and dtype {given.dtype}; expected one "
            "integer for each row, -1 where there is no parent"
        )
    key = tuple(given.tolist())
    with _lock:
        pattern = _known.pop(key, None) or Pattern(key)
        while len(_known) >= MOST_KNOWN:
            del _known[next(iter(_known))]
        _known[key] = pattern
    return pattern


def numbers(name: str, given: npt.ArrayLike) -> Array:
    """Return real numbers as float64, the same array if it is one already."""
    if type(given) is np.ndarray and given.dtype is FLOAT64 and given.flags.aligned:
        return given
    try:
        array = np.asarray(given)
    except ValueError as error:  # lists of unequal lengths
        raise ShapeError(f"{name} is not an array: {error}") from error
    if has_symbols(array):
        raise TraceError(
            f"{users_line()}: {name} holds symbols, but sparse factors cannot be part "
            "of a kernel; inside a kernel, use robot.mass_matrix_solve(q, b)"
        )
    if array.dtype.kind not in "fiub":
        raise ShapeError(f"{name} has dtype {array.dtype}; expected real numbers")
    return np.require(array, np.float64, ["ALIGNED"])


def rounding(given: npt.ArrayLike) -> float:
    """Return the rounding tolerance, relative to the diagonal, for the given dtype.

    It is 4e-11 for float64 and integers, 2e-5 for float32.
    """
    dtype = np.asarray(given).dtype
    eps = np.finfo(dtype if dtype.kind == "f" else np.float64).eps
    return float(max(eps, np.finfo(np.float64).eps)) ** (2 / 3)


def square(given: npt.ArrayLike, pattern: Pattern) -> Array:
    """Return H as numbers, of the right shape."""
    H, n = numbers("H", given), pattern.n
    if H.ndim not in (2, 3) or H.shape[-2:] != (n, n):
        raise ShapeError(
            f"H has shape {H.shape}; parents has {n} entries, which needs ({n}, {n}) "
            f"or (batch, {n}, {n})"
        )
    return H


def lanes_for(pattern: Pattern, batch: int | None) -> int:
    """Return how many matrices are processed side by side."""
    worth = batch is not None and batch >= LEAST_BATCH and pattern.nnz <= TILE_ENTRIES
    return vector_width() if worth else 1


def start(
    given: npt.ArrayLike,
    H: Array,
    pattern: Pattern,
    *,
    lanes: int = 1,
    check: bool = True,
    factors: bool = True,
    roots: bool = False,
) -> tuple[Array, int]:
    """Return the entries of H along the tree, factored, and what `eliminate` returns.

    ``given`` is H as the caller had it.
    """
    many = H if H.ndim == 3 else H[None]
    batch, n, nnz = len(many), pattern.n, pattern.nnz
    entries = np.empty((-(-batch // lanes), nnz, lanes))
    failed = functions()["start_row" if lanes == 1 else "start_tile"](
        address(many),
        *many.strides,
        address(entries),
        lanes,
        nnz * lanes * WORD,
        pattern.table_address,
        n,
        batch,
        check,
        2 * nnz - n < n * n,
        pattern.blocks_address,
        len(pattern.blocks) if factors else 0,
        roots,
    )
    if failed < 0:
        examine(many, pattern, rounding(given), H.ndim == 3)
        failed = eliminate(entries, pattern, roots) if factors else 0
    return entries, failed


def eliminate(entries: Array, pattern: Pattern, roots: bool) -> int:
    """Factor entries in place; return 0, or 1 + tile · 2³² + place of a bad pivot."""
    tiles, nnz, lanes = entries.shape
    return functions()["factor_row" if lanes == 1 else "factor_tile"](
        address(entries),
        nnz * lanes * WORD,
        pattern.table_address,
        tiles,
        pattern.blocks_address,
        len(pattern.blocks),
        roots,
    )


def unpack(entries: Array, pattern: Pattern) -> Array:
    """Return entries as compressed rows, (matrices, nnz): new, or a view."""
    tiles, nnz, lanes = entries.shape
    rows = np.reshape(np.transpose(entries, (0, 2, 1)), (tiles * lanes, nnz))
    if pattern.in_order is None:
        return rows
    out = np.empty_like(rows)
    out[:, pattern.in_order] = rows
    return out


def repack(values: Array, pattern: Pattern, lanes: int) -> Array:
    """Return compressed rows (matrices, nnz) as entries; a view if possible."""
    batch = len(values)
    if batch % lanes:
        values = np.concatenate(
            [values, np.repeat(values[-1:], -batch % lanes, axis=0)]
        )
    if pattern.in_order is not None:
        values = values[:, pattern.in_order]
    if lanes == 1:
        return np.ascontiguousarray(values)[:, :, None]
    shape = (len(values) // lanes, lanes, pattern.nnz)
    return np.ascontiguousarray(np.transpose(np.reshape(values, shape), (0, 2, 1)))


def examine(H: Array, pattern: Pattern, tolerance: float, batched: bool) -> None:
    """Raise a ModelError if (batch, n, n) is invalid.

    Rounding errors are tolerated.
    """
    layout = pattern.layout
    size = np.sqrt(np.abs(np.diagonal(H, axis1=1, axis2=2)))
    for i in range(pattern.n):
        low, high = H[:, i, : i + 1], H[:, : i + 1, i]
        for part, is_low in ((low, True), (high, False)):
            for k, j in np.argwhere(~np.isfinite(part))[:1].tolist():
                at = _entry(batched, k, *((i, j) if is_low else (j, i)))
                raise ModelError(f"{at} is {part[k, j]}; expected finite numbers")
        bound = tolerance * size[:, i : i + 1] * size[:, : i + 1]
        start = layout.rowadr[i]
        columns = layout.colind[start : start + layout.rownnz[i]]
        off = np.ones(i + 1, dtype=bool)
        off[columns] = False
        for part, is_low in ((low, True), (high, False)):
            for k, j in np.argwhere((np.abs(part) > bound) & off)[:1].tolist():
                row, column = (i, j) if is_low else (j, i)
                raise between_branches(
                    _entry(batched, k, row, column), row, column, float(part[k, j])
                )
        for k, j in np.argwhere((np.abs(low - high) > bound) & ~off)[:1].tolist():
            raise not_symmetric(
                _entry(batched, k, i, j),
                float(low[k, j]),
                _entry(batched, k, j, i),
                float(high[k, j]),
            )


def _entry(batched: bool, k: int, i: int, j: int) -> str:
    return f"H[{k}, {i}, {j}]" if batched else f"H[{i}, {j}]"


def between_branches(entry: str, i: int, j: int, value: float) -> ModelError:
    """Return the error for a nonzero off the pattern."""
    return ModelError(
        f"{entry} is {value:.6g}, but {i} and {j} are on different branches of the "
        "tree; expected 0, or parents that put one above the other"
    )


def not_symmetric(entry: str, value: float, mirror: str, other: float) -> ModelError:
    """Return the error for two entries that should be equal."""
    return ModelError(
        f"{entry} is {value:.6g} and {mirror} is {other:.6g}; expected a symmetric "
        "matrix, both triangles filled (check=False reads only the lower one)"
    )


def not_positive(
    entries: Array, pattern: Pattern, failed: int, batched: bool
) -> ModelError:
    """Return the error for a pivot, by what `eliminate` returned."""
    tile, place = divmod(failed - 1, 2**32)
    row, above, _, index = pattern.table[place]
    pivots = entries[tile, row + above]
    lane = int(np.flatnonzero(~((pivots > 0) & (pivots < np.inf)))[0])
    which = f"H[{tile * entries.shape[2] + lane}]" if batched else "H"
    return ModelError(
        f"{which} is not positive definite: pivot {index} is {pivots[lane]:.6g}; "
        "expected a symmetric positive definite matrix"
    )


def check_writeable(H: Any) -> None:
    """Raise a ShapeError unless H can be overwritten."""
    if isinstance(H, np.ndarray):
        array = cast("npt.NDArray[Any]", H)
        if array.dtype == np.float64 and array.flags.writeable:
            return
        given = f"{'' if array.flags.writeable else 'read-only '}{array.dtype}"
    else:
        given = type(H).__name__
    raise ShapeError(f"overwrite=True needs a writable float64 array; H is {given}")


def check_out(out: object, shape: tuple[int, ...]) -> None:
    """Raise a ShapeError unless a result of some shape can be written to ``out``."""
    if isinstance(out, np.ndarray):
        array = cast("npt.NDArray[Any]", out)
        is_right = array.dtype == np.float64 and array.flags.aligned
        if is_right and array.flags.writeable and array.shape == shape:
            return
        kind = "" if array.flags.writeable else "read-only "
        given = f"a {kind}{array.dtype} array of shape {array.shape}"
    else:
        given = type(out).__name__
    raise ShapeError(
        f"out is {given}; expected a writable float64 array of shape {shape}"
    )


def check_threads(threads: int) -> None:
    """Raise an ArgumentError unless this is a number of threads."""
    if not isinstance(threads, int) or threads < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"threads is {threads!r}; expected an integer, 1 or more")
