"""Sparse factorisations along a tree, for any matrix: H = Lᵀ D L and H = Lᵀ L.

A symmetric positive definite matrix whose entry (i, j) is zero unless one of i and j
is an ancestor of the other factors without fill-in, at D1 + 2 D2 operations
(Featherstone 2005). The work is done by the loops of `backend.treeloops`, which know no
particular tree and need no compiling: a batch is factored lane by lane, at half the
speed of code unrolled for one tree, which the copying around it hides.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast, final

import numpy as np
import numpy.typing as npt

from ramify.backend.treeloops import BLOCKS, Diagonal, functions, vector_width
from ramify.errors import ModelError, ShapeError
from ramify.model.tree import check_parents, depth_first
from ramify.quantities.factor import Layout, layout_of

Array = npt.NDArray[np.float64]
Parents = Sequence[int] | npt.NDArray[np.integer[Any]]
Matrix = "npt.ArrayLike | TreeMatrix"

TILE_ENTRIES = 8192
"""Matrices with more entries than this are factored one by one, not lane by lane: a
tile of eight would leave the second-level cache (half a megabyte), and rows that long
fill vectors by themselves."""
LEAST_BATCH = 3
"""What a batch must have to be worth lanes."""


def ltdl(
    H: npt.ArrayLike | TreeMatrix,
    parents: Parents | None = None,
    *,
    overwrite: bool = False,
    check: bool = True,
) -> Factor:
    """Factor H = Lᵀ D L along a tree, with a unit diagonal in L.

    Args:
        H: (n, n) or (batch, n, n), symmetric positive definite; or a `TreeMatrix`.
        parents: of each row, −1 for none, ``parents[i] < i``. A robot's mass matrix
            has ``robot.tree.dof_parents``. A `TreeMatrix` brings its own.
        overwrite: write L and D into H, in the lower triangle and on the diagonal. A
            `TreeMatrix` may become the factor's own memory.
        check: look at all of H first. Without, only the lower triangle's entries along
            the tree are read, and the others are taken for what they should be.

    Raises:
        ShapeError: H or parents are not what they should be.
        ModelError: H is not symmetric, finite and zero between branches; or it is not
            positive definite.

    >>> import numpy as np, ramify
    >>> H = np.array([[4.0, 1.0, 1.0], [1.0, 2.0, 0.0], [1.0, 0.0, 2.0]])
    >>> factor = ramify.ltdl(H, [-1, 0, 0])
    >>> factor.D
    array([3., 2., 2.])
    >>> factor.solve(H @ [1.0, 2.0, 3.0])
    array([1., 2., 3.])
    """
    return _factored("ltdl", H, parents, overwrite, check)


def ltl(
    H: npt.ArrayLike | TreeMatrix,
    parents: Parents | None = None,
    *,
    overwrite: bool = False,
    check: bool = True,
) -> Factor:
    """Factor H = Lᵀ L along a tree; arguments as for `ltdl`."""
    return _factored("ltl", H, parents, overwrite, check)


@final
class Pattern:
    """A tree, and where the entries of matrices along it are stored.

    Rows are stored in depth-first order; compressed rows (`layout`) are in the order
    of their numbers. For most numberings the two are one.
    """

    def __init__(self, parents: tuple[int, ...]) -> None:
        check_parents(parents)
        self.parents = parents
        self.n = n = len(parents)
        self.layout = layout_of(parents)
        self.nnz = len(self.layout.colind)
        order = np.array(depth_first(parents), dtype=np.int64)
        sizes = self.layout.rownnz[order].astype(np.int64)
        place = np.empty(n + 1, dtype=np.int64)
        place[order] = np.arange(n)
        place[n] = -1  # where parents[i] = −1 looks
        above = place[np.array(parents, dtype=np.int64)[order]]
        address = np.cumsum(sizes) - sizes
        self.table = np.stack([address, sizes - 1, above, order], axis=1).copy()
        self.depth = int(sizes.max(initial=0))
        self.blocks = _blocks(above)
        self.in_order: npt.NDArray[np.int64] | None = None
        if not np.array_equal(order, np.arange(n)):
            first = self.layout.rowadr[order].astype(np.int64)
            self.in_order = np.repeat(first - address, sizes) + np.arange(self.nnz)

    def __reduce__(self) -> tuple[Any, ...]:
        return pattern_of, (self.parents,)

    @functools.cached_property
    def diagonal(self) -> npt.NDArray[np.int32]:
        """Where the diagonal is in compressed rows."""
        return self.layout.rowadr + self.layout.rownnz - 1


def _blocks(above: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return (first place, rows) of pieces of chains, tips first."""
    starts = np.flatnonzero(above != np.arange(len(above)) - 1)
    blocks: list[tuple[int, int]] = []
    ends = [*starts[1:].tolist(), len(above)]
    for start, end in zip(reversed(starts.tolist()), reversed(ends), strict=True):
        at = end
        for size in BLOCKS:
            while at - start >= size:
                at -= size
                blocks.append((at, size))
    return np.array(blocks, dtype=np.int64).reshape(-1, 2)


@functools.lru_cache(maxsize=64)
def pattern_of(parents: tuple[int, ...]) -> Pattern:
    """Return the pattern of a tree, kept for the next call."""
    return Pattern(parents)


def _pattern(parents: Parents) -> Pattern:
    given = np.asarray(parents)
    if given.size == 0:
        given = given.astype(np.int64)
    if given.ndim != 1 or given.dtype.kind not in "iu":
        raise ShapeError(
            f"parents has shape {given.shape} and dtype {given.dtype}; expected one "
            "integer for each row, -1 where there is no parent"
        )
    return pattern_of(tuple(given.tolist()))


@final
@dataclass(frozen=True, eq=False, repr=False)
class TreeMatrix:
    """A symmetric matrix, or a batch of them, as compressed rows along a tree.

    ``values`` (nnz,) or (batch, nnz) has row after row the entries of the ancestors,
    in ascending order, and then the diagonal: MuJoCo's layout (`layout`).
    """

    parents: tuple[int, ...]
    values: Array

    def __post_init__(self) -> None:
        pattern = _pattern(self.parents)
        object.__setattr__(self, "parents", pattern.parents)
        values = _numbers("values", self.values)
        if values.ndim not in (1, 2) or values.shape[-1] != pattern.nnz:
            raise ShapeError(
                f"values has shape {values.shape}; the tree of {pattern.n} rows needs "
                f"({pattern.nnz},) or (batch, {pattern.nnz})"
            )
        object.__setattr__(self, "values", values)

    @staticmethod
    def from_dense(
        H: npt.ArrayLike, parents: Parents, *, check: bool = True
    ) -> TreeMatrix:
        """Return the entries along the tree of (n, n) or (batch, n, n)."""
        pattern = _pattern(parents)
        dense = _square(H, pattern)
        entries = _packed(dense, pattern, 1, check, _tolerance(H))
        values = _in_rows(entries, pattern)
        return TreeMatrix(pattern.parents, values if dense.ndim == 3 else values[0])

    @staticmethod
    def from_csr(
        data: npt.ArrayLike,
        indices: npt.ArrayLike,
        indptr: npt.ArrayLike,
        parents: Parents,
    ) -> TreeMatrix:
        """Return the matrix of compressed rows in any order (SciPy's three arrays).

        They hold the lower triangle, or both; what they miss is zero.
        """
        pattern = _pattern(parents)
        layout = pattern.layout
        values = _numbers("data", data)
        starts, columns = np.asarray(indptr), np.asarray(indices)
        if (
            starts.shape != (pattern.n + 1,)
            or columns.shape != values.shape
            or values.ndim != 1
            or starts[0] != 0
            or starts[-1] != len(columns)
            or (np.diff(starts) < 0).any()
            or (len(columns) and not 0 <= columns.min() <= columns.max() < pattern.n)
        ):
            raise ShapeError(
                f"data, indices and indptr have shapes {values.shape}, {columns.shape} "
                f"and {starts.shape}; they are no compressed rows of a "
                f"({pattern.n}, {pattern.n}) matrix"
            )
        rows = np.repeat(np.arange(pattern.n), np.diff(starts))
        i, j = np.maximum(rows, columns), np.minimum(rows, columns)
        level = layout.rownnz[j] - 1
        slot = np.minimum(layout.rowadr[i] + level, layout.rowadr[i] + layout.rownnz[i] - 1)
        wrong = (layout.colind[slot] != j) & (values != 0.0)
        if wrong.any():
            k = int(np.flatnonzero(wrong)[0])
            raise _between_branches("", int(rows[k]), int(columns[k]), float(values[k]))
        lower, upper = np.zeros(pattern.nnz), np.zeros(pattern.nnz)
        on = layout.colind[slot] == j
        below = on & (rows >= columns)
        np.add.at(lower, slot[below], values[below])
        over = on & (rows <= columns)
        np.add.at(upper, slot[over], values[over])
        if (rows < columns).any():
            _check_mirror(lower, upper, pattern, _tolerance(values))
        return TreeMatrix(pattern.parents, lower)

    @property
    def layout(self) -> Layout:
        """Where the entries are; MuJoCo's M_rownnz, M_rowadr, M_colind."""
        return _pattern(self.parents).layout

    def dense(self) -> Array:
        """Return (n, n) or (batch, n, n), both triangles."""
        layout, n = self.layout, len(self.parents)
        dense = np.zeros((*self.values.shape[:-1], n, n))
        dense[..., layout.rowind, layout.colind] = self.values
        dense[..., layout.colind, layout.rowind] = self.values
        return dense

    def __repr__(self) -> str:
        return f"TreeMatrix of {len(self.parents)} rows, values {self.values.shape}"


@final
@dataclass(frozen=True, eq=False, repr=False)
class Factor:
    """A factorisation H = Lᵀ D L or H = Lᵀ L along a tree; made by `ltdl` and `ltl`.

    Vectors are (n,), or (n, k) for k of them; of a batch (batch, n) or (batch, n, k).
    """

    kind: Literal["ltdl", "ltl"]
    pattern: Pattern
    entries: Array
    """(tiles, nnz, lanes), in the pattern's order; internal"""
    batch: int | None

    @property
    def parents(self) -> tuple[int, ...]:
        """The tree."""
        return self.pattern.parents

    def solve(self, b: npt.ArrayLike) -> Array:
        """Return H⁻¹ b."""
        own = Diagonal.DIVIDE if self.kind == "ltdl" else Diagonal.OF_L
        return self._sweep("b", b, ("solve_LT", own), ("solve_L", self._diagonal))

    def mul_L(self, x: npt.ArrayLike) -> Array:
        """Return L x."""
        return self._sweep("x", x, ("mul_L", self._diagonal))

    def mul_LT(self, x: npt.ArrayLike) -> Array:
        """Return Lᵀ x."""
        return self._sweep("x", x, ("mul_LT", self._diagonal))

    def solve_L(self, x: npt.ArrayLike) -> Array:
        """Return L⁻¹ x."""
        return self._sweep("x", x, ("solve_L", self._diagonal))

    def solve_LT(self, x: npt.ArrayLike) -> Array:
        """Return L⁻ᵀ x."""
        return self._sweep("x", x, ("solve_LT", self._diagonal))

    def logdet(self) -> Any:
        """Return log det H: a number, or one for each matrix of a batch."""
        pivots = self._rows()[..., self.pattern.diagonal]
        total = np.log(pivots).sum(axis=-1) * (1.0 if self.kind == "ltdl" else 2.0)
        return total if self.batch is not None else float(total)

    @property
    def L(self) -> Array:
        """L as (n, n) or (batch, n, n)."""
        n, layout = self.pattern.n, self.pattern.layout
        values = self.csr()[0]
        L = np.zeros((*values.shape[:-1], n, n))
        L[..., layout.rowind, layout.colind] = values
        return L

    @property
    def D(self) -> Array:
        """The diagonal of D, (n,) or (batch, n); ones for Lᵀ L."""
        pivots = self._rows()[..., self.pattern.diagonal]
        return pivots if self.kind == "ltdl" else np.ones_like(pivots)

    def csr(self) -> tuple[Array, npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """Return L as compressed rows: data, indices, indptr, as SciPy takes them.

        A batch has data (batch, nnz).
        """
        values = self._rows()
        if self.kind == "ltdl":
            values[..., self.pattern.diagonal] = 1.0
        return values, self.pattern.layout.colind.copy(), self.pattern.layout.indptr

    def __repr__(self) -> str:
        form = "Lᵀ D L" if self.kind == "ltdl" else "Lᵀ L"
        many = "" if self.batch is None else f", batch of {self.batch}"
        return f"Factor {form}: {self.pattern.n} rows, {self.pattern.nnz} entries{many}"

    @property
    def _diagonal(self) -> Diagonal:
        return Diagonal.UNIT if self.kind == "ltdl" else Diagonal.OF_L

    def _rows(self) -> Array:
        """Return the entries as new compressed rows."""
        values = _in_rows(self.entries, self.pattern)
        return values[0].copy() if self.batch is None else values[: self.batch].copy()

    def _sweep(
        self, name: str, x: npt.ArrayLike, *steps: tuple[str, Diagonal]
    ) -> Array:
        given = _numbers(name, x)
        n = self.pattern.n
        lead = () if self.batch is None else (self.batch,)
        if given.shape[: len(lead) + 1] != (*lead, n) or given.ndim > len(lead) + 2:
            shapes = [str((*lead, n)), f"({', '.join(map(str, (*lead, n, 'k')))})"]
            raise ShapeError(
                f"{name} has shape {given.shape}; the factor needs {' or '.join(shapes)}"
            )
        many = (*lead, n, -1) if lead else (1, n, -1)
        k = given.shape[-1] if given.ndim > len(lead) + 1 else 1
        if given.size == 0:
            return np.zeros(given.shape)
        form, work = self._arranged(given.reshape(many) if k else given, k)
        self._run(form, work, steps)
        return self._collected(work, k).reshape(given.shape)
