"""Do threads or lanes speed up the factorization of independent branches?

    python benchmarks/branches.py [--quick] [--json]

Columns of independent branches of one matrix can be factored at the same time (Negrut,
Serban & Potra 1997, Corollary 3). Here one matrix along a tree is factored

    whole     by one thread, branch after branch: what `ramify.linalg.ltdl` does
    threads   half of the branches by a second thread, the trunk when both are done
    lanes     equal branches side by side in one vector, the trunk when they are done
    batch     for comparison: many such matrices side by side, a state to a lane

Rows of the trunk get something from every branch, so each thread and lane has its own
copy of them, added at the end. The native loops run without the GIL. Times are the
shortest of many runs, without packing the entries. ``difference`` is over the
largest entry: zero where there is no trunk, rounding where sums are in another order.
Threads must give bit for bit what the same halves give one after the other. ``control``
is the speedup of two threads that share nothing, just then: 2 if both cores were free.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise
from typing import Any

import numpy as np
from factorization import Parents, binary, chain, humanoid, matrix, swarm
from machine import options, report

from ramify.backend.runtime.memory_layout import WORD
from ramify.backend.tree.factor_loops import address, functions, vector_width
from ramify.linalg.pattern import TILE_ENTRIES, Pattern, eliminate, pattern_from, repack

Array = Any


def comb(trunk: int, branches: int, length: int) -> Parents:
    """Return a chain with equal chains on its tip."""
    limbs = (
        p
        for k in range(branches)
        for p in (trunk - 1, *range(trunk + k * length, trunk + (k + 1) * length - 1))
    )
    return (*range(-1, trunk - 1), *limbs)


def cases(quick: bool) -> dict[str, Parents]:
    trees = {
        "humanoid 30: 4 limbs of 6": humanoid(),
        "swarm 600: 100 arms of 6": swarm(600),
        "tree 1,006: 100 branches of 10": comb(6, 100, 10),
        "chain 300: no branches": chain(300),
    }
    if not quick:
        trees |= {
            "swarm 9,996: 1,666 arms of 6": swarm(9996),
            "binary tree 10,001": binary(10_001),
            "tree 10,006: 1,000 branches of 10": comb(6, 1000, 10),
            "tree 10,006: 100 branches of 100": comb(6, 100, 100),
            "tree 10,006: 10 branches of 1,000": comb(6, 10, 1000),
            "chain 2,000: no branches": chain(2000),
        }
    return trees


@dataclass(frozen=True)
class Work:
    """Some blocks of rows, and the table by which they are found."""

    table: Array
    blocks: Array

    def __call__(self, entries: Array) -> None:
        """Eliminate the blocks, in place."""
        tiles, nnz, lanes = entries.shape
        failed = functions()["factor_row" if lanes == 1 else "factor_tile"](
            address(entries),
            nnz * lanes * WORD,
            address(self.table),
            tiles,
            address(self.blocks),
            len(self.blocks),
            False,
        )
        assert not failed


def branches_of(pattern: Pattern) -> tuple[int, list[range]]:
    """Return the rows of the trunk, and the places of each branch, depth first."""
    above = pattern.table[:, 2]
    children = np.bincount(above[above >= 0], minlength=pattern.n)
    trunk = 0
    if (above < 0).sum() == 1:
        while trunk < pattern.n and children[trunk] == 1:
            trunk += 1
        trunk = min(trunk + 1, pattern.n)
    starts = np.flatnonzero(above == trunk - 1)
    bounds = [*starts[starts >= trunk].tolist(), pattern.n]
    return trunk, [range(a, b) for a, b in pairwise(bounds)]


def blocks_of(pattern: Pattern, rows: range) -> Array:
    """Return blocks of some places, chains cut into pieces, tips first."""
    above, found, end = pattern.table[:, 2], [], rows.stop
    while end > rows.start:
        start = end - 1
        while start > rows.start and end - start < 8 and above[start] == start - 1:
            start -= 1
        size = next(s for s in (8, 4, 1) if s <= end - start)
        found.append((end - size, size))
        end -= size
    return np.array(found, dtype=np.int64).reshape(-1, 2)


def halves(pattern: Pattern, branches: list[range]) -> list[Array]:
    """Return blocks for two threads, of about the same work."""
    depth = pattern.table[:, 1].astype(float)
    cost = {b: float((depth[b.start : b.stop] ** 2).sum()) for b in branches}
    loads, parts = [0.0, 0.0], [[], []]
    for b in sorted(branches, key=lambda b: -cost[b]):
        k = int(np.argmin(loads))
        loads[k] += cost[b]
        parts[k].append(b)
    return [
        np.concatenate(
            [blocks_of(pattern, b) for b in sorted(p, key=lambda b: -b.start)]
        )
        for p in parts
    ]


def threaded(parents: Parents, entries: Array) -> tuple[Any, Any, Array]:
    """Return both halves by two threads, and by one, and where they do it."""
    pattern = pattern_from(parents)
    trunk, branches = branches_of(pattern)
    first, second = halves(pattern, branches)
    size = int(pattern.table[trunk, 0]) if trunk < pattern.n else pattern.nnz
    away = np.array(pattern.table)
    away[:trunk, 0] += pattern.nnz  # the second thread's own trunk, behind all rows
    one, other = Work(pattern.table, first), Work(away, second)
    last = Work(pattern.table, blocks_of(pattern, range(trunk)))
    work = np.zeros((1, pattern.nnz + size, 1))
    work[:, : pattern.nnz] = entries
    pool = ThreadPoolExecutor(1)

    def finish() -> None:
        if trunk:
            work[:, :size] += work[:, pattern.nnz :]
            last(work)

    def two() -> None:
        rest = pool.submit(other, work)
        one(work)
        rest.result()
        finish()

    def in_turn() -> None:
        one(work)
        other(work)
        finish()

    return two, in_turn, work


def laned(parents: Parents, entries: Array) -> tuple[Any, Array, Callable[[], Array]]:
    """Return equal branches in lanes, where it does it, and how to read the result."""
    pattern = pattern_from(parents)
    trunk, branches = branches_of(pattern)
    n = len(branches[0])
    part = pattern_from(tuple(parents[: trunk + n]))
    size, length = int(part.table[trunk, 0]), part.nnz
    limbs = Work(part.table, blocks_of(part, range(trunk, trunk + n)))
    last = Work(pattern.table, blocks_of(pattern, range(trunk)))
    values = np.zeros((len(branches), length))
    values[0, :size] = entries[0, :size, 0]
    values[:, size:] = entries[0, size:, 0].reshape(len(branches), -1)
    lanes = vector_width()
    filler = np.zeros((-len(branches) % lanes, length))
    filler[:, part.diagonal[trunk:]] = 1.0  # lanes left over: they add nothing
    work = repack(np.concatenate([values, filler]), part, lanes)
    middle = np.zeros((1, max(size, 1), 1))

    def run() -> None:
        limbs(work)
        if trunk:
            middle[0, :size, 0] = work[:, :size].sum(axis=(0, 2))
            last(middle)

    def result() -> Array:
        limb = np.transpose(work, (0, 2, 1)).reshape(-1, length)[: len(branches), size:]
        return np.concatenate([middle[0, :size, 0], limb.ravel()])

    return run, work, result


def best(
    ways: dict[str, tuple[Callable[[], None], Array]], seconds: float
) -> dict[str, float]:
    """Return the shortest single run of each; they take turns, on fresh entries."""
    starts = {name: np.array(work) for name, (_, work) in ways.items()}
    shortest = dict.fromkeys(ways, float("inf"))
    end = time.perf_counter() + seconds * len(ways)
    while time.perf_counter() < end:
        for name, (run, work) in ways.items():
            for _ in range(10 if starts[name].size < 1e5 else 1):
                work[...] = starts[name]
                start = time.perf_counter()
                run()
                took = time.perf_counter() - start
                shortest[name] = min(shortest[name], took)
    return shortest


def measure(parents: Parents, seconds: float) -> dict[str, Any]:
    """Return microseconds of one factorization in each way, and how they differ."""
    pattern = pattern_from(parents)
    entries = repack(matrix(parents, 0).values[None], pattern, 1)
    ways: dict[str, tuple[Callable[[], None], Array]] = {}
    whole = np.array(entries)
    ways["whole"] = (lambda: _done(eliminate(whole, pattern, False))), whole
    _, branches = branches_of(pattern)
    read: dict[str, Callable[[], Array]] = {"whole": lambda: whole[0, :, 0]}
    if len(branches) > 1:
        two, in_turn, work = threaded(parents, entries)
        ways["threads"] = two, work
        read["threads"] = lambda: work[0, : pattern.nnz, 0]
        start = np.array(work)
        in_turn()
        expected = np.array(read["threads"]())
        work[...] = start
    equal = pattern.in_order is None and len({len(b) for b in branches}) == 1
    if equal and len(branches) > 1:
        run, lanes, read["lanes"] = laned(parents, entries)
        ways["lanes"] = run, lanes
    if pattern.nnz <= TILE_ENTRIES:
        batch = matrix(parents, 256).values
        many = repack(batch, pattern, vector_width())
        ways["batch"] = (lambda: _done(eliminate(many, pattern, False))), many
    times = best(ways, seconds)  # and leaves every result in its place
    out: dict[str, Any] = {"rows": len(parents), "branches": len(branches)}
    for name, t in times.items():
        out[name] = 1e6 * t / (256 if name == "batch" else 1)
    for name, result in read.items():
        gap = np.abs(result() - whole[0, :, 0]).max() / np.abs(whole).max()
        out[f"{name} difference"] = float(gap)
    if "threads" in ways:
        assert np.array_equal(read["threads"](), expected), "threads changed a bit"
    return out


def control() -> float:
    """Return how much faster two threads compute two hashes than one does."""
    text = bytes(1_000_000)
    pool = ThreadPoolExecutor(1)

    def two() -> None:
        rest = pool.submit(sha256, text)
        sha256(text)
        rest.result()

    def in_turn() -> None:
        sha256(text)
        sha256(text)

    none = np.zeros(0)
    times = best({"one": (in_turn, none), "two": (two, none)}, 1.0)
    return times["one"] / times["two"]


def _done(failed: int) -> None:
    assert not failed


def main() -> None:
    args = options(__doc__ or "").parse_args()
    seconds = 0.1 if args.quick else 0.5
    result: dict[str, Any] = {"control": {"before": control()}}
    result |= {name: measure(p, seconds) for name, p in cases(args.quick).items()}
    result["control"]["after"] = control()
    report(result, args.json)
    if args.json:
        return
    print(
        f"\n{'µs for one matrix':36}{'whole':>11}{'threads':>11}{'lanes':>11}"
        f"{'batch':>9}   differences"
    )
    free = result.pop("control")
    for name, row in result.items():
        cells = ""
        for way in ("threads", "lanes"):
            cells += f"{row[way]:11.1f}" if way in row else f"{'-':>11}"
        cells += f"{row['batch']:9.2f}" if "batch" in row else f"{'-':>9}"
        shown = ", ".join(
            f"{row[f'{w} difference']:.0e}" for w in ("threads", "lanes") if w in row
        )
        print(f"{name:36}{row['whole']:11.1f}{cells}   {shown}")
    print(f"control: 2 threads give {free['before']:.2f} x, then {free['after']:.2f} x")


if __name__ == "__main__":
    main()
