"""Independent branches on several threads (Negrut, Serban & Potra 1997, Corollary 3).

Rows of different branches do not touch each other: each thread eliminates branches of
its own. All of them subtract from the rows of the trunk, the ancestors that branches
share. So every thread but the first has a copy of those rows, which starts at zero and
is added before the trunk itself is eliminated.

Starting a thread and waiting for it takes 0.1 ms, as long as a million operations.
Below `LEAST_WORK`, and where branches of similar work cannot be found, one thread does
it all.
"""

from __future__ import annotations

import functools
import heapq
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

from ramidyn.backend.sparse_factor.factor_loops import address, functions, vector_width
from ramidyn.linalg.pattern import Array, Pattern, chain_blocks

Words = npt.NDArray[np.int64]
ROW = 200
"""operations that take as long as the step from one row to the next"""
LEAST_WORK = 10_000_000
"""operations below which a second thread does not pay, rows counted as `ROW` more"""
LEAST_SOLVE_WORK = 100_000_000
"""the same of a substitution, which starts threads twice and waits for memory"""
LEAST_GAIN = 1.2
"""how much less the busiest thread must do than one alone, with the trunk"""
PARTS = 4
"""branches with less than a thread's share over this are not divided"""
MOST_BRANCHES = 10_000


@final
@dataclass(frozen=True, slots=True, eq=False)
class ThreadPlan:
    """Which rows each thread eliminates, and where it finds those of the trunk."""

    tables: tuple[Words, ...]
    """of each thread; the copies of the trunk lie behind the entries"""
    blocks: tuple[Words, ...]
    trunk_blocks: Words
    trunk: Words
    """places of the trunk's entries"""

    def eliminate(
        self, values: Array, order: Words | None, roots: bool
    ) -> tuple[Array, int]:
        """Return entries of one matrix, factored, and what `pattern.eliminate` does.

        ``values`` (nnz,) are in another ``order``, if one is given.
        """
        nnz, helpers = len(values), len(self.tables) - 1
        room = np.empty(nnz + helpers * len(self.trunk))
        if order is None:
            room[:nnz] = values
        else:
            np.take(values, order, out=room[:nnz], mode="clip")  # "raise" copies twice
        room[nnz:] = 0.0
        found = [0] * len(self.tables)

        def run(k: int) -> None:
            found[k] = _factor(room, self.tables[k], self.blocks[k], roots)

        _on_threads(run, len(self.tables))
        copies = np.reshape(room[nnz:], (helpers, len(self.trunk)))
        room[self.trunk] += copies.sum(axis=0)
        failed = max(found)
        if not failed:
            failed = _factor(room, self.tables[0], self.trunk_blocks, roots)
        return np.reshape(room[:nnz], (1, nnz, 1)), failed


@functools.lru_cache(maxsize=16)
def plan_of(pattern: Pattern, threads: int) -> ThreadPlan | None:
    """Return how threads share the branches of a tree; None if that does not pay."""
    depths = pattern.table[:, 1]
    found = _worth(pattern, ROW + depths * (depths + 1), threads, LEAST_WORK)
    return None if found is None else _plan(pattern, *found)


def _worth(
    pattern: Pattern, costs: Words, threads: int, least: int
) -> tuple[list[list[range]], list[int]] | None:
    """Return the branches of each thread and the trunk; None if that does not pay."""
    total = int(costs.sum())
    if threads < 2 or total < least:
        return None
    above = pattern.table[:, 2].tolist()
    longest, shares, trunk = divide_branches(above, costs.tolist(), threads)
    return None if total < LEAST_GAIN * longest else (shares, trunk)


def divide_branches(
    above: Sequence[int], costs: Sequence[int], threads: int
) -> tuple[int, list[list[range]], list[int]]:
    """Return what takes longest, the branches of each thread, and the trunk.

    ``above`` are the parents of rows, numbered depth first. The largest branch gives
    its root to the trunk, again and again, as long as it has more than a fraction of a
    thread's share; the best of all these divisions counts.
    """
    n = len(above)
    whole, sizes, children = list(costs), [1] * n, [list[int]() for _ in range(n)]
    for k in reversed(range(n)):
        if (p := above[k]) >= 0:
            whole[p] += whole[k]
            sizes[p] += sizes[k]
            children[p].append(k)
    queue = [(-whole[k], k) for k in range(n) if above[k] < 0]
    heapq.heapify(queue)
    share = sum(costs) // (threads * PARTS)
    trunk, taken = list[int](), 0
    best = sum(costs), [[range(n)]], list[int]()
    while queue and len(queue) < MOST_BRANCHES:
        loads, shares = [0] * threads, [list[int]() for _ in range(threads)]
        for cost, k in sorted(queue):
            least = loads.index(min(loads))
            loads[least] -= cost
            shares[least].append(k)
        if max(loads) + taken < best[0]:
            ranges = [[range(k, k + sizes[k]) for k in own] for own in shares if own]
            best = max(loads) + taken, ranges, sorted(trunk)
        if -queue[0][0] <= share or taken > sum(costs) // 2:
            break
        _, k = heapq.heappop(queue)
        while len(children[k]) == 1:  # nothing parts before the end of a chain
            trunk.append(k)
            taken += costs[k]
            k = children[k][0]
        trunk.append(k)
        taken += costs[k]
        for child in children[k]:
            heapq.heappush(queue, (-whole[child], child))
    return best


def _plan(
    pattern: Pattern, shares: Sequence[list[range]], trunk: list[int]
) -> ThreadPlan:
    """Return the tables and blocks of each thread."""
    owner = np.full(pattern.n, -1)
    for k, rows in enumerate(shares):
        for branch in rows:
            owner[branch.start : branch.stop] = k
    blocks = chain_blocks(pattern.table[:, 2], owner)
    by = owner[blocks[:, 0]]
    sizes: Words = pattern.table[trunk, 1] + 1
    starts: Words = pattern.table[trunk, 0]
    behind: Words = np.cumsum(sizes) - sizes
    shift: Words = np.repeat(starts - behind, sizes)
    entries: Words = np.add(shift, np.arange(len(shift)))
    tables = [pattern.table]
    for k in range(1, len(shares)):
        table: Words = np.copy(pattern.table)
        table[trunk, 0] = pattern.nnz + (k - 1) * len(entries) + behind
        tables.append(table)
    return ThreadPlan(
        tuple(tables),
        tuple(blocks[by == k] for k in range(len(shares))),
        blocks[by == -1],
        entries,
    )


# ------------------------------------------------------------ substitution


@final
@dataclass(frozen=True, slots=True, eq=False)
class BranchRows:
    """Rows of branches that hang on the same row of the trunk."""

    table: Words
    path: Words
    """the ancestors of these branches, the root first: rows of x"""


@final
@dataclass(frozen=True, slots=True, eq=False)
class SolvePlan:
    """Which rows each thread substitutes, for L⁻ᵀ b and then for L⁻¹ of that."""

    shares: tuple[tuple[BranchRows, ...], ...]
    trunk: Words
    """the table of the trunk"""
    depth: int

    def solve(self, form: str, entries: Array, x: Array, diagonals: Words) -> None:
        """Replace x by H⁻¹ x; x is (n, m), m numbers or vectors for each row.

        Tips to root, every thread keeps what its branches take from the trunk; the
        trunk is solved when all have come that far, and then the branches, outward.
        """
        loops, (own, last) = functions(), diagonals.tolist()
        side = 1 if form == "row" else vector_width()
        columns = x.shape[1] // side

        def sweep(name: str, table: Words, kept: Array, diagonal: int) -> None:
            words = (address(entries), 0, address(table), len(table), 1, address(x), 0)
            loops[f"{name}_{form}"](*words, columns, address(kept), diagonal)

        taken = [list[Array]() for _ in self.shares]

        def inward(k: int) -> None:
            for rows in self.shares[k]:
                kept = np.zeros((self.depth, x.shape[1]))
                sweep("solve_LT", rows.table, kept, own)
                taken[k].append(kept[: len(rows.path)])

        def outward(k: int) -> None:
            for rows in self.shares[k]:
                kept = np.zeros((self.depth, x.shape[1]))
                kept[: len(rows.path)] = x[rows.path]
                sweep("solve_L", rows.table, kept, last)

        _on_threads(inward, len(self.shares))
        for share, gained in zip(self.shares, taken, strict=True):
            for rows, amount in zip(share, gained, strict=True):
                x[rows.path] -= amount
        sweep("solve_LT", self.trunk, np.zeros((self.depth, x.shape[1])), own)
        sweep("solve_L", self.trunk, np.zeros((self.depth, x.shape[1])), last)
        _on_threads(outward, len(self.shares))


@functools.lru_cache(maxsize=16)
def solve_plan_of(pattern: Pattern, threads: int, columns: int) -> SolvePlan | None:
    """Return how threads share a substitution; None if that does not pay."""
    costs = ROW + 4 * columns * (pattern.table[:, 1] + 1)
    found = _worth(pattern, costs, threads, LEAST_SOLVE_WORK)
    if found is None:
        return None
    shares, trunk = found
    table, above = pattern.table, pattern.table[:, 2]

    def path_to(place: int) -> Words:
        places: list[int] = []
        while place >= 0:
            places.append(place)
            place = int(above[place])
        return table[places[::-1], 3]

    groups: list[tuple[BranchRows, ...]] = []
    for branches in shares:
        on: dict[int, list[range]] = {}
        for branch in sorted(branches, key=lambda b: b.start):
            on.setdefault(int(above[branch.start]), []).append(branch)
        groups.append(
            tuple(
                BranchRows(
                    np.concatenate([table[b.start : b.stop] for b in own]), path_to(p)
                )
                for p, own in on.items()
            )
        )
    return SolvePlan(tuple(groups), table[trunk], pattern.depth)


def _on_threads(run: Callable[[int], None], threads: int) -> None:
    """Run a function of a thread's number on so many threads, this one included."""
    others = [threading.Thread(target=run, args=(k,)) for k in range(1, threads)]
    for thread in others:
        thread.start()
    run(0)
    for thread in others:
        thread.join()


def _factor(room: Array, table: Words, blocks: Words, roots: bool) -> int:
    words = address(room), 0, address(table), 1, address(blocks), len(blocks), roots
    return functions()["factor_row"](*words)
