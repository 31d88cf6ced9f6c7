"""Do threads or lanes speed up the factorization of independent branches?

    python benchmarks/branches.py [--quick] [--json]

Columns of independent branches of one matrix can be factored at the same time (Negrut,
Serban & Potra 1997, Corollary 3). Here one matrix along a tree is factored

    whole     by one thread, branch after branch: `ramidyn.linalg.ltdl(H)`
    threads   by two threads: `ltdl(H, threads=2)`, its least size not heeded
    lanes     equal branches side by side in one vector, the trunk when they are done
    batch     for comparison: many such matrices side by side, a state to a lane
    solve     forward and backward substitution of one vector by one thread
    solve 2   by two threads: `Factor.solve(b, threads=2)`, its least size not heeded

Rows of the trunk get something from every branch, so each thread and lane has its own
copy of them, added at the end. The native loops run without the GIL. Times are the
shortest of many runs; those of lanes and of a batch without packing the entries.
``used`` is whether `ltdl(H, threads=2)` takes the second thread by itself. ``most`` is
the speedup that the division of branches allows, counted: the operations of all rows
over those of the busier thread and of the trunk.
``difference`` is over the largest entry: zero where there is no trunk, rounding where
sums are in another order. Threads must give the same bits in every run. ``control`` is
the speedup of two threads that share nothing, just then: 2 if both cores were free.
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

from ramidyn.backend.runtime.memory_layout import WORD
from ramidyn.backend.sparse_factor.factor_loops import address, functions, vector_width
from ramidyn.explain.shape import TreeShape
from ramidyn.linalg import branches as library
from ramidyn.linalg.branches import plan_of, solve_plan_of
from ramidyn.linalg.factor import ltdl
from ramidyn.linalg.pattern import (
    TILE_ENTRIES,
    Pattern,
    eliminate,
    pattern_from,
    repack,
)
from ramidyn.papers.negrut import comb
from ramidyn.robots import tractor_semitrailer

Array = Any


def cases(quick: bool) -> dict[str, Parents]:
    trees = {
        "humanoid 30: 4 limbs of 6": humanoid(),
        "truck 60: 10 wheels, 2 frames": tractor_semitrailer().tree.dof_parents,
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
            "tree 506: 10 branches of 50": comb(6, 10, 50),
            "tree 1,006: 10 branches of 100": comb(6, 10, 100),
            "tree 2,006: 10 branches of 200": comb(6, 10, 200),
            "tree 4,006: 10 branches of 400": comb(6, 10, 400),
            "tree 1,606: 8 branches of 200": comb(6, 8, 200),
            "binary tree 65,535": binary(65_535),
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
    ways: dict[str, tuple[Callable[[], object], Array]], seconds: float
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
    H = matrix(parents, 0)
    entries = repack(H.values[None], pattern, 1)
    ways: dict[str, tuple[Callable[[], object], Array]] = {}
    none = np.zeros(0)
    ways["whole"] = (lambda: ltdl(H)), none
    whole = ltdl(H).entries
    _, branches = branches_of(pattern)
    read: dict[str, Callable[[], Array]] = {"whole": lambda: whole[0, :, 0]}
    used = plan_of(pattern, 2) is not None
    if len(branches) > 1:
        heed_no_size(pattern)
        ways["threads"] = (lambda: ltdl(H, threads=2)), none
        expected = ltdl(H, threads=2).entries
        read["threads"] = lambda: expected[0, :, 0]
        factor, b = ltdl(H), np.ones(len(parents))
        ways["solve"] = (lambda: factor.solve(b)), none
        ways["solve 2"] = (lambda: factor.solve(b, threads=2)), none
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
    out["used"] = used
    shape = TreeShape(parents)
    out["most"] = shape.factor_cost / shape.on_threads(2)
    for name, t in times.items():
        out[name] = 1e6 * t / (256 if name == "batch" else 1)
    for name, result in read.items():
        gap = np.abs(result() - whole[0, :, 0]).max() / np.abs(whole).max()
        out[f"{name} difference"] = float(gap)
    if "threads" in ways:
        again = ltdl(H, threads=2).entries
        assert np.array_equal(again, expected), "threads changed a bit"
    return out


def heed_no_size(pattern: Pattern) -> None:
    """Let two threads share a tree from now on, however small it is."""
    names = ("LEAST_WORK", "LEAST_SOLVE_WORK", "LEAST_GAIN")
    least = {name: getattr(library, name) for name in names}
    for name in names:
        setattr(library, name, 0)
    for plan in (plan_of, solve_plan_of):
        plan.cache_clear()
    plan_of(pattern, 2), solve_plan_of(pattern, 2, 1)  # are kept
    for name in names:
        setattr(library, name, least[name])


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
        f"{'solve':>9}{'solve 2':>9}{'batch':>9}   most used   differences"
    )
    free = result.pop("control")
    for name, row in result.items():
        cells = ""
        for way in ("threads", "lanes"):
            cells += f"{row[way]:11.1f}" if way in row else f"{'-':>11}"
        for way in ("solve", "solve 2", "batch"):
            cells += f"{row[way]:9.2f}" if way in row else f"{'-':>9}"
        shown = ", ".join(
            f"{row[f'{w} difference']:.0e}" for w in ("threads", "lanes") if w in row
        )
        is_used = "yes" if row["used"] else "no"
        most = f"{row['most']:.2f}"
        print(f"{name:36}{row['whole']:11.1f}{cells}   {most} {is_used:7}{shown}")
    print(f"control: 2 threads give {free['before']:.2f} x, then {free['after']:.2f} x")


if __name__ == "__main__":
    main()
