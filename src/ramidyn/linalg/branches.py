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
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

from ramidyn.backend.sparse_factor.factor_loops import address, functions
from ramidyn.linalg.pattern import Array, Pattern, chain_blocks

Words = npt.NDArray[np.int64]
ROW = 200
"""operations that take as long as the step from one row to the next"""
LEAST_WORK = 10_000_000
"""operations below which a second thread does not pay, rows counted as `ROW` more"""
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

        others = [threading.Thread(target=run, args=(k + 1,)) for k in range(helpers)]
        for thread in others:
            thread.start()
        run(0)
        for thread in others:
            thread.join()
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
    costs = (ROW + depths * (depths + 1)).tolist()
    if threads < 2 or sum(costs) < LEAST_WORK:
        return None
    longest, shares, trunk = _shared(pattern.table[:, 2].tolist(), costs, threads)
    if sum(costs) < LEAST_GAIN * longest:
        return None
    return _plan(pattern, shares, trunk)


def _shared(
    above: list[int], costs: list[int], threads: int
) -> tuple[int, list[list[range]], list[int]]:
    """Return the branches of each thread and the trunk, and what takes longest.

    The largest branch gives its root to the trunk, again and again, as long as it has
    more than a fraction of a thread's share; the best of all these divisions counts.
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


def _factor(room: Array, table: Words, blocks: Words, roots: bool) -> int:
    words = address(room), 0, address(table), 1, address(blocks), len(blocks), roots
    return functions()["factor_row"](*words)
