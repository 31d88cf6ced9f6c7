"""Trees of matrices: found from nonzeros, expanded from joints, numbered anew.

A matrix need not be a robot's, and its rows need not be numbered along a tree: any
symmetric matrix has a tree along which it factors without further fill-in, its
elimination tree. How much that tree holds depends on the numbering of the rows.
"""

# ruff: noqa: N803  (H is the paper's letter)
from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt

from ramidyn.algorithms.ltdl import elimination_parents, operations
from ramidyn.errors import ModelError, ShapeError
from ramidyn.linalg.pattern import Array, Parents, numbers
from ramidyn.linalg.sparse_arrays import csr_of, is_sparse
from ramidyn.tree.tree import ROOT, check_parents, renumbering


def parents_of(H: Any) -> tuple[int, ...]:
    """Return a tree along which H factors, its rows numbered as they are.

    The ancestors of a row cover its nonzeros to the left. For a matrix along a tree,
    with no accidental zeros, this is that tree; otherwise entries along the tree that
    are zero in H fill in, and `numbering_of` may find a better numbering.

    Args:
        H: (n, n), or (batch, n, n) for a tree of all of them, symmetric; or a sparse
            matrix of SciPy's. Only its nonzeros count, in either triangle.

    >>> from ramidyn.linalg import parents_of
    >>> parents_of([[4.0, 1.0, 1.0], [1.0, 2.0, 0.0], [1.0, 0.0, 2.0]])
    (-1, 0, 0)
    """
    n, pairs = _nonzeros(H)
    return elimination_parents(pairs, n)


def numbering_of(H: Any) -> Numbering:
    """Return a numbering in which H factors at little cost, and its tree.

    Rows with the fewest neighbors are eliminated first (minimum degree). If H belongs
    to a tree, in whatever order its rows are, this finds a numbering without fill-in.
    The numbering of H itself is kept if it costs no more.

    Args:
        H: as for `parents_of`.

    >>> from ramidyn.linalg import numbering_of
    >>> H = [[2.0, 0.0, 1.0], [0.0, 2.0, 1.0], [1.0, 1.0, 4.0]]  # the root is last
    >>> numbering_of(H)
    Numbering(order=(2, 1, 0), parents=(-1, 0, 0))
    """
    n, pairs = _nonzeros(H)
    same = Numbering(tuple(range(n)), elimination_parents(pairs, n))
    order = tuple(reversed(_minimum_degree(pairs, n)))
    place = {old: new for new, old in enumerate(order)}
    moved = [(place[i], place[j]) for i, j in pairs]
    other = Numbering(order, elimination_parents(moved, n))
    return min(same, other, key=lambda found: operations(found.parents))


def regular_numbering(parents: Parents) -> Numbering:
    """Return a numbering in which parents come before their children.

    ``parents`` may be numbered in any way, −1 for none. Limbs stay together: the order
    is depth first, the reverse of `renumbering` (Negrut, Serban & Potra 1997, Lemma 2).

    >>> from ramidyn.linalg import regular_numbering
    >>> regular_numbering((1, -1, 1))
    Numbering(order=(1, 0, 2), parents=(-1, 0, 0))
    """
    given = [int(p) for p in parents]
    order = tuple(reversed(renumbering(given)))
    place = {old: new for new, old in enumerate(order)}
    return Numbering(
        order, tuple(ROOT if given[i] == ROOT else place[given[i]] for i in order)
    )


def expanded_parents(parents: Parents, sizes: Sequence[int]) -> tuple[int, ...]:
    """Return the tree of degrees of freedom of a tree of joints.

    A joint with n degrees of freedom becomes a chain of n (Featherstone 2005, Fig. 2).
    One with none joins its children to its parent.

    Args:
        parents: of each joint, −1 for none, ``parents[i] < i``.
        sizes: degrees of freedom of each joint.

    >>> from ramidyn.linalg import expanded_parents
    >>> expanded_parents((-1, 0, 0), (2, 1, 3))
    (-1, 0, 1, 1, 3, 4)
    """
    given = [int(p) for p in parents]
    check_parents(given)
    if len(sizes) != len(given):
        raise ShapeError(
            f"sizes has {len(sizes)} entries; parents has {len(given)}, one per joint"
        )
    last: list[int] = []
    found: list[int] = []
    for i, (p, n) in enumerate(zip(given, sizes, strict=True)):
        if n < 0:
            raise ModelError(f"sizes[{i}] is {n}; expected 0 or more")
        above = ROOT if p == ROOT else last[p]
        for _ in range(n):
            found.append(above)
            above = len(found) - 1
        last.append(above)
    return tuple(found)


@final
@dataclass(frozen=True, slots=True)
class Numbering:
    """An order of the rows of a matrix, and its tree in that order."""

    order: tuple[int, ...]
    """the row that stands at each place"""
    parents: tuple[int, ...]
    """of the rows as renumbered: for `ltdl`"""

    def matrix(self, H: Any) -> Any:
        """Return H with rows and columns renumbered: (…, n, n), or SciPy's sparse."""
        order = self._places()
        if is_sparse(H):
            rows = csr_of(H)
            self._check(rows.shape)
            return rows[order][:, order]
        given = numbers("H", H)
        self._check(given.shape[-2:])
        return given[..., order[:, None], order]

    def vector(self, x: npt.ArrayLike, axis: int = 0) -> Array:
        """Return a vector, or vectors along an axis, renumbered."""
        return np.take(self._along("x", x, axis), self._places(), axis=axis)

    def undo(self, x: npt.ArrayLike, axis: int = 0) -> Array:
        """Return a renumbered vector in the order in which it was before."""
        given = self._along("x", x, axis)
        back = np.empty(len(self.order), dtype=np.int64)
        back[self._places()] = np.arange(len(back))
        return np.take(given, back, axis=axis)

    def _places(self) -> npt.NDArray[np.int64]:
        return np.array(self.order, dtype=np.int64)

    def _check(self, shape: tuple[int, ...]) -> None:
        n = len(self.order)
        if shape != (n, n):
            raise ShapeError(f"H has shape {shape}; the numbering needs ({n}, {n})")

    def _along(self, name: str, x: npt.ArrayLike, axis: int) -> Array:
        given, n = numbers(name, x), len(self.order)
        if not -given.ndim <= axis < given.ndim or given.shape[axis] != n:
            raise ShapeError(
                f"{name} has shape {given.shape}; the numbering needs {n} entries "
                f"along axis {axis}"
            )
        return given


def _nonzeros(H: Any) -> tuple[int, list[tuple[int, int]]]:
    """Return the size of a symmetric matrix and where its lower triangle is nonzero."""
    if is_sparse(H):
        rows = csr_of(H)
        n = int(rows.shape[0])
        i, j = (np.asarray(part, dtype=np.int64) for part in rows.nonzero())
    else:
        given = numbers("H", H)
        if given.ndim not in (2, 3) or given.shape[-1] != given.shape[-2]:
            raise ShapeError(
                f"H has shape {given.shape}; expected (n, n) or (batch, n, n)"
            )
        n = given.shape[-1]
        found = (given != 0) if given.ndim == 2 else (given != 0).any(axis=0)
        i, j = (np.asarray(part, dtype=np.int64) for part in np.nonzero(found))
    low = np.stack([np.maximum(i, j), np.minimum(i, j)], axis=1)
    return n, [(a, b) for a, b in np.unique(low, axis=0).tolist() if a != b]


def _minimum_degree(pairs: Sequence[tuple[int, int]], n: int) -> list[int]:
    """Return rows in the order of elimination, always one with fewest neighbors.

    Of equals, one that had fewer from the start: along a tree, an ancestor has more.
    """
    near: list[set[int]] = [set() for _ in range(n)]
    for i, j in pairs:
        near[i].add(j)
        near[j].add(i)
    at_first = [*map(len, near)]
    queue = [(len(near[i]), at_first[i], i) for i in range(n)]
    heapq.heapify(queue)
    is_done = [False] * n
    order: list[int] = []
    while queue:
        degree, _, k = heapq.heappop(queue)
        if is_done[k] or degree != len(near[k]):
            continue
        is_done[k] = True
        order.append(k)
        for i in near[k]:
            near[i] |= near[k]
            near[i] -= {i, k}
            heapq.heappush(queue, (len(near[i]), at_first[i], i))
    return order
