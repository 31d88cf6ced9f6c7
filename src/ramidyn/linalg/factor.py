"""Sparse factorizations along a tree, for any matrix: H = Lᵀ D L and H = Lᵀ L.

A symmetric positive definite matrix whose entry (i, j) is zero unless one of i and j
is an ancestor of the other factors without fill-in, at D1 + 2 D2 operations
(Featherstone 2005). The loops of `backend.sparse_factor.factor_loops` do the work for
any tree: a new tree needs no compiling. Code unrolled for one tree, as
`ramidyn.compile` makes it for robots, is 1.6 times as fast in batches at D2 = 1,000 and
1.1 times at 4,500: less than checking and packing a dense matrix costs, for 0.2 s and
0.7 s of compiling. So there is no switch to it here, at any D2.
"""

# ruff: noqa: N802, N803, N806  (H, L and D are the paper's letters)
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np
import numpy.typing as npt

from ramidyn.algorithms.matrix_layout import Layout
from ramidyn.backend.runtime.memory_layout import WORD
from ramidyn.backend.sparse_factor.factor_loops import address, functions, vector_width
from ramidyn.backend.sparse_factor.sweeps import Diagonal
from ramidyn.errors import ShapeError
from ramidyn.linalg.branches import plan_of, solve_plan_of
from ramidyn.linalg.pattern import (
    Array,
    Parents,
    Pattern,
    between_branches,
    check_out,
    check_threads,
    check_writeable,
    eliminate,
    lanes_for,
    not_positive,
    not_symmetric,
    numbers,
    pattern_from,
    repack,
    rounding,
    square,
    start,
    unpack,
)
from ramidyn.linalg.sparse_arrays import csr_of, is_sparse, scipy_sparse

Kind = Literal["ltdl", "ltl"]
MISSING = (
    "parents is missing; only a TreeMatrix has its own. linalg.parents_of(H) finds "
    "the tree of a matrix"
)


def ltdl(
    H: npt.ArrayLike | TreeMatrix,
    parents: Parents | None = None,
    *,
    overwrite: bool = False,
    check: bool = True,
    threads: int = 1,
) -> Factor:
    """Factor H = Lᵀ D L along a tree, with a unit diagonal in L.

    Args:
        H: (n, n) or (batch, n, n), symmetric positive definite; a `TreeMatrix`; or a
            sparse matrix of SciPy's.
        parents: parent of each row, −1 for none, ``parents[i] < i``. For a robot's mass
            matrix, ``robot.tree.dof_parents``. A `TreeMatrix` has its own; `parents_of`
            finds those of any matrix.
        overwrite: write L and D into H, in the lower triangle and on the diagonal. A
            `TreeMatrix` may become the factor's own memory.
        check: check all of H first. Otherwise only the lower triangle's entries along
            the tree are read, and the others are assumed to be valid.
        threads: how many may share the branches of one large matrix. They are used
            where that pays: from about 10 million operations on, for trees with
            branches of similar size. Sums in the trunk are then in another order.

    Raises:
        ShapeError: H or parents have a wrong shape or type.
        ModelError: H is not symmetric, finite and zero between branches; or it is not
            positive definite.

    >>> import numpy as np
    >>> from ramidyn.linalg.factor import ltdl
    >>> H = np.array([[4.0, 1.0, 1.0], [1.0, 2.0, 0.0], [1.0, 0.0, 2.0]])
    >>> factor = ltdl(H, [-1, 0, 0])
    >>> factor.D
    array([3., 2., 2.])
    >>> factor.solve(H @ [1.0, 2.0, 3.0])
    array([1., 2., 3.])
    """
    return _factored("ltdl", H, parents, overwrite, check, threads)


def ltl(
    H: npt.ArrayLike | TreeMatrix,
    parents: Parents | None = None,
    *,
    overwrite: bool = False,
    check: bool = True,
    threads: int = 1,
) -> Factor:
    """Factor H = Lᵀ L along a tree; arguments as for `ltdl`."""
    return _factored("ltl", H, parents, overwrite, check, threads)


@final
@dataclass(frozen=True, eq=False, repr=False)
class TreeMatrix:
    """A symmetric matrix, or a batch of them, as compressed rows along a tree.

    ``values`` (nnz,) or (batch, nnz) holds, row by row, the entries of the ancestors in
    ascending order, then the diagonal: MuJoCo's layout (`layout`).
    """

    parents: tuple[int, ...]
    values: Array

    def __post_init__(self) -> None:
        pattern = pattern_from(self.parents)
        object.__setattr__(self, "parents", pattern.parents)
        values = numbers("values", self.values)
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
        """Return the entries along the tree of a matrix (n, n) or (batch, n, n)."""
        pattern = pattern_from(parents)
        dense = square(H, pattern)
        entries, _ = start(H, dense, pattern, check=check, factors=False)
        values = unpack(entries, pattern)
        return TreeMatrix(pattern.parents, values if dense.ndim == 3 else values[0])

    @staticmethod
    def from_csr(
        data: npt.ArrayLike,
        indices: npt.ArrayLike,
        indptr: npt.ArrayLike,
        parents: Parents,
    ) -> TreeMatrix:
        """Return the matrix of compressed rows in any order (SciPy's three arrays).

        They hold the lower triangle, or both; missing entries are zero.
        """
        pattern = pattern_from(parents)
        layout = pattern.layout
        values = numbers("data", data)
        starts, columns = np.asarray(indptr), np.asarray(indices)
        if columns.size == 0:
            columns = columns.astype(np.int64)
        if (
            (starts.dtype.kind, columns.dtype.kind) not in (("i", "i"), ("u", "u"))
            or starts.shape != (pattern.n + 1,)
            or columns.shape != values.shape
            or values.ndim != 1
            or starts[0] != 0
            or starts[-1] != len(columns)
            or (np.diff(starts) < 0).any()
            or (len(columns) and not 0 <= columns.min() <= columns.max() < pattern.n)
        ):
            raise ShapeError(
                f"data, indices and indptr have shapes {values.shape}, {columns.shape} "
                f"and {starts.shape}; they do not describe the compressed rows of a "
                f"({pattern.n}, {pattern.n}) matrix"
            )
        rows = np.repeat(np.arange(pattern.n), np.diff(starts))
        i, j = np.maximum(rows, columns), np.minimum(rows, columns)
        level = layout.rownnz[j] - 1
        slot = np.minimum(
            layout.rowadr[i] + level, layout.rowadr[i] + layout.rownnz[i] - 1
        )
        wrong = (layout.colind[slot] != j) & (values != 0.0)
        if wrong.any():
            k = int(np.flatnonzero(wrong)[0])
            raise between_branches(
                f"entry ({rows[k]}, {columns[k]})", rows[k], columns[k], values[k]
            )
        lower, upper = np.zeros(pattern.nnz), np.zeros(pattern.nnz)
        on = layout.colind[slot] == j
        below = on & (rows >= columns)
        np.add.at(lower, slot[below], values[below])
        over = on & (rows <= columns)
        np.add.at(upper, slot[over], values[over])
        if (rows < columns).any():
            size = np.sqrt(np.abs(lower[pattern.diagonal]))
            bound = rounding(data) * size[layout.rowind] * size[layout.colind]
            for k in np.flatnonzero(np.abs(lower - upper) > bound)[:1]:
                i, j = layout.rowind[k], layout.colind[k]
                ours, mirror = f"entry ({i}, {j})", f"entry ({j}, {i})"
                raise not_symmetric(ours, float(lower[k]), mirror, float(upper[k]))
        return TreeMatrix(pattern.parents, lower)

    @staticmethod
    def from_scipy(H: Any, parents: Parents) -> TreeMatrix:
        """Return the entries of a sparse matrix of SciPy's, of any format."""
        rows = csr_of(H)
        return TreeMatrix.from_csr(rows.data, rows.indices, rows.indptr, parents)

    def scipy(self) -> Any:
        """Return the matrix as a SciPy array of compressed rows, both triangles."""
        if self.values.ndim != 1:
            raise ShapeError(
                f"values has shape {self.values.shape}; SciPy has no batches of sparse "
                "matrices, so take one: TreeMatrix(parents, values[k])"
            )
        rows, columns = self.layout.rowind, self.layout.colind
        off = rows != columns
        i = np.concatenate([rows, columns[off]])
        j = np.concatenate([columns, rows[off]])
        values, n = np.concatenate([self.values, self.values[off]]), len(self.parents)
        return scipy_sparse().csr_array((values, (i, j)), shape=(n, n))

    @property
    def layout(self) -> Layout:
        """Where the entries are; MuJoCo's M_rownnz, M_rowadr, M_colind."""
        return pattern_from(self.parents).layout

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
    """A factorization H = Lᵀ D L or H = Lᵀ L along a tree, from `ltdl` or `ltl`.

    Vectors are (n,), or (n, k) for k of them; for a batch, (batch, n) or (batch, n, k).
    ``out`` is a float64 array for the result, of its shape; it may be the input.
    """

    kind: Kind
    pattern: Pattern
    entries: Array
    """(tiles, nnz, lanes), in the pattern's order; internal"""
    batch: int | None

    @property
    def parents(self) -> tuple[int, ...]:
        """The tree."""
        return self.pattern.parents

    def solve(
        self, b: npt.ArrayLike, *, out: Array | None = None, threads: int = 1
    ) -> Array:
        """Return H⁻¹ b; in place with ``out=b``.

        ``threads`` may share the branches of one large matrix, as in `ltdl`: used where
        that pays, from about 100 million operations on (10,000 rows 1,000 deep, and 5
        columns).
        """
        check_threads(threads)
        own = Diagonal.DIVIDE if self.kind == "ltdl" else Diagonal.OF_L
        return self._sweep("b", b, out, "solve", own, self._diagonal, threads=threads)

    def mul_L(self, x: npt.ArrayLike, *, out: Array | None = None) -> Array:
        """Return L x; in place with ``out=x``."""
        return self._sweep("x", x, out, "mul_L", self._diagonal)

    def mul_LT(self, x: npt.ArrayLike, *, out: Array | None = None) -> Array:
        """Return Lᵀ x; in place with ``out=x``."""
        return self._sweep("x", x, out, "mul_LT", self._diagonal)

    def solve_L(self, x: npt.ArrayLike, *, out: Array | None = None) -> Array:
        """Return L⁻¹ x; in place with ``out=x``."""
        return self._sweep("x", x, out, "solve_L", self._diagonal)

    def solve_LT(self, x: npt.ArrayLike, *, out: Array | None = None) -> Array:
        """Return L⁻ᵀ x; in place with ``out=x``."""
        return self._sweep("x", x, out, "solve_LT", self._diagonal)

    def logdet(self) -> Any:
        """Return log det H: a number, or one per matrix of a batch."""
        pivots = self.rows()[..., self.pattern.diagonal]
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
        pivots = self.rows()[..., self.pattern.diagonal]
        return pivots if self.kind == "ltdl" else np.ones_like(pivots)

    def csr(self) -> tuple[Array, npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """Return L as compressed rows in SciPy's form: data, indices, indptr.

        A batch has data (batch, nnz).
        """
        values = self.rows()
        if self.kind == "ltdl":
            values[..., self.pattern.diagonal] = 1.0
        return values, np.copy(self.pattern.layout.colind), self.pattern.layout.indptr

    def scipy(self) -> Any:
        """Return L as a SciPy array of compressed rows."""
        if self.batch is not None:
            raise ShapeError(
                f"the factor is a batch of {self.batch}; SciPy has no batches of "
                "sparse matrices (csr() returns data (batch, nnz))"
            )
        return scipy_sparse().csr_array(self.csr(), shape=(self.pattern.n,) * 2)

    def __repr__(self) -> str:
        form = "Lᵀ D L" if self.kind == "ltdl" else "Lᵀ L"
        many = "" if self.batch is None else f", batch of {self.batch}"
        return f"Factor {form}: {self.pattern.n} rows, {self.pattern.nnz} entries{many}"

    @property
    def _diagonal(self) -> Diagonal:
        return Diagonal.UNIT if self.kind == "ltdl" else Diagonal.OF_L

    def rows(self) -> Array:
        """Return L as new compressed rows; those of Lᵀ D L have D on the diagonal."""
        values = unpack(self.entries, self.pattern)
        return np.copy(values[0] if self.batch is None else values[: self.batch])

    def _sweep(
        self,
        name: str,
        given: npt.ArrayLike,
        out: Array | None,
        sweep: str,
        *diagonals: Diagonal,
        threads: int = 1,
    ) -> Array:
        """Apply a sweep to the caller's vectors and return the result."""
        x, n = numbers(name, given), self.pattern.n
        lead = () if self.batch is None else (self.batch,)
        if x.shape[: len(lead) + 1] != (*lead, n) or x.ndim > len(lead) + 2:
            sizes = ", ".join(map(str, (*lead, n)))
            raise ShapeError(
                f"{name} has shape {x.shape}; the factor needs "
                f"({sizes}{',' * (not lead)}) or ({sizes}, k)"
            )
        if out is None:
            out = np.empty(x.shape)
        else:
            check_out(out, x.shape)
        if x.size:
            many = (self.batch or 1, n, x.size // (n * (self.batch or 1)))
            if out.flags.c_contiguous:
                view = np.reshape(out, many)
                self._swept(np.reshape(x, many), view, sweep, diagonals, threads)
            else:
                new = np.empty(many)
                self._swept(np.reshape(x, many), new, sweep, diagonals, threads)
                out[...] = np.reshape(new, x.shape)
        return out

    def _swept(
        self,
        x: Array,
        out: Array,
        sweep: str,
        diagonals: Sequence[Diagonal],
        threads: int,
    ) -> None:
        """Apply a sweep to x (batch, n, k), into ``out``, which may be x."""
        tiles, nnz, lanes = self.entries.shape
        batch, n, k = x.shape
        form, columns, side = "row", k, 1
        if lanes > 1:
            form, side = "tile", lanes
            whole = np.zeros((tiles * lanes, n, k))
            whole[:batch] = x
            lanewise = np.reshape(whole, (tiles, lanes, n, k))
            work = np.ascontiguousarray(np.transpose(lanewise, (0, 2, 3, 1)))
        elif k == 1:
            work = out
            if work is not x:
                work[...] = x
        else:
            form, side = "columns", vector_width()
            columns = -(-k // side)
            work = np.zeros((tiles, n, columns * side))
            work[:, :, :k] = x
        plan = None
        if threads > 1 and self.batch is None:
            plan = solve_plan_of(self.pattern, threads, k)
        if plan is not None:
            plan.solve(form, self.entries, work[0], np.array(diagonals))
        else:
            kept = np.zeros(self.pattern.depth * columns * side)
            functions()[f"{sweep}_{form}"](
                address(self.entries),
                nnz * lanes * WORD,
                self.pattern.table_address,
                n,
                tiles,
                address(work),
                n * columns * side * WORD,
                columns,
                address(kept),
                *diagonals,
            )
        if lanes > 1:
            out[...] = np.reshape(np.transpose(work, (0, 3, 1, 2)), (-1, n, k))[:batch]
        elif k > 1:
            out[...] = work[:, :, :k]


def _factored(
    kind: Kind,
    H: npt.ArrayLike | TreeMatrix,
    parents: Parents | None,
    overwrite: bool,
    check: bool,
    threads: int,
) -> Factor:
    """Return the factor of a dense or packed matrix."""
    check_threads(threads)
    if is_sparse(H):
        if parents is None:
            raise ShapeError(MISSING)
        if overwrite:
            raise ShapeError("overwrite=True needs an array; H is a sparse matrix")
        H = TreeMatrix.from_scipy(H, parents)
    if isinstance(H, TreeMatrix):
        if parents is not None and pattern_from(parents).parents != H.parents:
            raise ShapeError(
                "parents differ from those of the TreeMatrix; omit parents"
            )
        return _factored_rows(kind, H, overwrite, threads)
    if parents is None:
        raise ShapeError(MISSING)
    pattern = pattern_from(parents)
    dense = square(H, pattern)
    if overwrite:
        check_writeable(H)
    batch = None if dense.ndim == 2 else len(dense)
    lanes, roots = lanes_for(pattern, batch), kind == "ltl"
    plan = plan_of(pattern, threads) if batch is None and threads > 1 else None
    entries, failed = start(
        H,
        dense,
        pattern,
        lanes=lanes,
        check=check,
        factors=plan is None,
        roots=roots,
    )
    if plan is not None:
        entries, failed = plan.eliminate(entries[0, :, 0], None, roots)
    if failed:
        raise not_positive(entries, pattern, failed, batch is not None)
    factor = Factor(kind, pattern, entries, batch)
    if overwrite:
        layout = pattern.layout
        dense[..., layout.rowind, layout.colind] = factor.rows()
    return factor


def _factored_rows(kind: Kind, H: TreeMatrix, overwrite: bool, threads: int) -> Factor:
    """Return the factor of a packed matrix."""
    pattern, values, roots = pattern_from(H.parents), H.values, kind == "ltl"
    if overwrite:
        check_writeable(values)
    batch = None if values.ndim == 1 else len(values)
    plan = plan_of(pattern, threads) if batch is None and threads > 1 else None
    if plan is not None:
        entries, failed = plan.eliminate(values, pattern.in_order, roots)
    else:
        many = values[None] if batch is None else values
        entries = repack(many, pattern, lanes_for(pattern, batch))
        if not overwrite and np.may_share_memory(entries, values):
            entries = np.copy(entries)
        failed = eliminate(entries, pattern, roots)
    if failed:
        raise not_positive(entries, pattern, failed, batch is not None)
    factor = Factor(kind, pattern, entries, batch)
    if overwrite and not np.may_share_memory(entries, values):
        values[...] = factor.rows()
    return factor
