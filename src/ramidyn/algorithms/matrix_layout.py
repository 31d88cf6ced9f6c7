"""Where the entries of a matrix along a tree are in compressed rows.

The layout is MuJoCo's: the row of a degree of freedom holds its ancestors, the nearest
to the root first, and then itself. In an order of q̇ in which parents come first, as in
files, that is the lower triangle by rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ramidyn.algorithms.ltdl import elimination_parents
from ramidyn.coordinates.coordinates import DofOrder
from ramidyn.tree.model import Model
from ramidyn.tree.tree import depths

Indices = npt.NDArray[np.int32]


class Layout(NamedTuple):
    """Where the entries of compressed rows are; MuJoCo's M_rownnz, M_rowadr, M_colind.

    Row i has ``rownnz[i]`` entries from ``rowadr[i]`` on, in columns ``colind``.
    """

    rownnz: Indices
    rowadr: Indices
    colind: Indices

    @property
    def rowind(self) -> Indices:
        """The row of each entry."""
        return np.repeat(np.arange(len(self.rownnz), dtype=np.int32), self.rownnz)

    def pairs(self) -> list[tuple[int, int]]:
        """Return the row and column of each entry."""
        rows: list[int] = self.rowind.tolist()
        return list(zip(rows, self.colind.tolist(), strict=True))

    @property
    def indptr(self) -> Indices:
        """The addresses of rows with the end of the last, as SciPy has them."""
        return np.append(self.rowadr, np.int32(len(self.colind)))


def layout_of(parents: Sequence[int]) -> Layout:
    """Return the layout of a matrix along a tree, rows in the order of its nodes."""
    rownnz = np.array(depths(parents), dtype=np.int32)
    ends = np.cumsum(rownnz, dtype=np.int64)
    if len(ends) and ends[-1] > np.iinfo(np.int32).max:
        raise MemoryError(f"{ends[-1]} entries exceed the range of 32-bit indices")
    rowadr = (ends - rownnz).astype(np.int32)
    colind = np.empty(ends[-1] if len(ends) else 0, dtype=np.int32)
    for i, (start, end) in enumerate(zip(rowadr.tolist(), ends.tolist(), strict=True)):
        if parents[i] >= 0:
            above = rowadr[parents[i]]
            colind[start : end - 1] = colind[above : above + end - 1 - start]
        colind[end - 1] = i
    return Layout(rownnz, rowadr, colind)


def mass_matrix_layout(model: Model) -> Layout:
    """Return the layout of ``mass_matrix_csr`` and ``mass_matrix_factor(packed=True)``.

    It is the same at every configuration. Mimic joints tie branches together; the
    layout then has what their factorization fills in.
    """
    order, parents = sparsity_tree(model)
    of_tree = layout_of(parents)
    place = np.empty(len(order), dtype=np.int32)
    place[list(order)] = np.arange(len(order), dtype=np.int32)
    rownnz = of_tree.rownnz[place]
    rowadr = (np.cumsum(rownnz) - rownnz).astype(np.int32)
    colind = np.empty_like(of_tree.colind)
    for v, k in enumerate(place):
        start, n = of_tree.rowadr[k], rownnz[v]
        columns = of_tree.colind[start : start + n]
        colind[rowadr[v] : rowadr[v] + n] = np.array(order, np.int32)[columns]
    return Layout(rownnz, rowadr, colind)


def derivatives_layout(model: Model) -> Layout:
    """Return the layout of ``inverse_dynamics_derivatives(packed=True)``.

    It has both triangles of the layout of the mass matrix.
    """
    rows: list[set[int]] = [set() for _ in range(model.nv)]
    for i, j in mass_matrix_layout(model).pairs():
        rows[i].add(j)
        rows[j].add(i)
    return _layout(rows)


def forward_derivatives_layout(model: Model) -> Layout:
    """Return the layout of ``forward_dynamics_derivatives(packed=True)``.

    M⁻¹ is full within a tree: a block for each tree that shares nothing but the world
    with others, or one for all if there are loops.
    """
    if model.loops:
        return _layout([set(range(model.nv))] * model.nv)
    order, parents = sparsity_tree(model)
    root, blocks = tree_roots(parents), dict[int, set[int]]()
    for k, v in enumerate(order):
        blocks.setdefault(root[k], set()).add(v)
    of = {v: blocks[root[k]] for k, v in enumerate(order)}
    return _layout([of[v] for v in range(model.nv)])


def _layout(rows: Sequence[set[int]]) -> Layout:
    """Return the layout of a matrix, given the columns of the entries of each row."""
    rownnz = np.array([len(row) for row in rows], dtype=np.int32)
    rowadr = (np.cumsum(rownnz) - rownnz).astype(np.int32)
    columns = [j for row in rows for j in sorted(row)]
    return Layout(rownnz, rowadr, np.array(columns, dtype=np.int32))


def tree_roots(parents: Sequence[int]) -> list[int]:
    """Return the root of the tree that each node is in, parents first."""
    root: list[int] = []
    for k, parent in enumerate(parents):
        root.append(k if parent < 0 else root[parent])
    return root


def sparsity_tree(model: Model) -> tuple[DofOrder, tuple[int, ...]]:
    """Return the entries of q̇, parents first, and the tree that M is sparse along.

    Without mimic joints that is the tree of the robot's degrees of freedom; with them
    it has one node for each entry of q̇ that is left.
    """
    tree, order = model.tree, DofOrder.of(model.tree)
    place = {v: k for k, v in enumerate(order)}
    of_dof: list[int] = [
        place[b.joint.v_index + k]
        for i, b in enumerate(tree.bodies)
        for k in range(len(tree.dofs[i]))
    ]
    layout = layout_of(tree.dof_parents)
    pattern = {(of_dof[i], of_dof[j]) for i, j in layout.pairs()}
    return order, elimination_parents(pattern, len(order))
