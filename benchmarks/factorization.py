"""Factoring along a tree compared with dense Cholesky: chains, binary trees, swarms.

    python benchmarks/factorization.py [--quick] [--json]

All figures are of one run: the competitors take turns on the same matrices, on one
thread each, and the best of many short turns counts. ``D1 + 2 D2`` is the paper's cost
(Featherstone 2005), and ``ns/op`` our factorization's time over it, entries packed:
where the rows are long it settles, where they are short the step from row to row shows.
``growth`` is the exponent x of time ~ (D1 + 2 D2)^x between the two largest of a kind.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import scipy.linalg

from ramidyn.linalg.factor import TreeMatrix, ltdl
from ramidyn.linalg.pattern import eliminate, pattern_from, repack
from ramidyn.tree.tree import D1, D2

Parents = tuple[int, ...]


def chain(n: int) -> Parents:
    return tuple(range(-1, n - 1))


def binary(n: int) -> Parents:
    return tuple((i + 1) // 2 - 1 for i in range(n))


def swarm(n: int, length: int = 6) -> Parents:
    return tuple(-1 if i % length == 0 else i - 1 for i in range(n))


def humanoid() -> Parents:
    limbs = (p for k in range(4) for p in (5, *range(6 + 6 * k, 11 + 6 * k)))
    return (*range(-1, 5), *limbs)


def cases(quick: bool) -> dict[str, tuple[Parents, int]]:
    """Return trees and batches (0: one matrix) by name."""
    trees = {
        "humanoid 30": (humanoid(), 0),
        "chain 10": (chain(10), 0),
        "chain 30": (chain(30), 0),
        "chain 100": (chain(100), 0),
        "chain 300": (chain(300), 0),
        "binary tree 63": (binary(63), 0),
        "binary tree 255": (binary(255), 0),
        "binary tree 1023": (binary(1023), 0),
        "swarm 60": (swarm(60), 0),
        "swarm 600": (swarm(600), 0),
        "humanoid 30, batch of 1024": (humanoid(), 1024),
        "chain 30, batch of 1024": (chain(30), 1024),
        "binary tree 63, batch of 256": (binary(63), 256),
        "swarm 60, batch of 256": (swarm(60), 256),
    }
    if not quick:
        trees["chain 1000"] = (chain(1000), 0)
        trees["swarm 3000"] = (swarm(3000), 0)
        trees["swarm 10000"] = (swarm(10_000), 0)
    return trees


def matrix(parents: Parents, batch: int) -> TreeMatrix:
    """Return random matrices along a tree, their diagonals large enough."""
    pattern = pattern_from(parents)
    rng = np.random.default_rng(0)
    shape = (batch, pattern.nnz) if batch else (pattern.nnz,)
    values = rng.uniform(-1, 1, size=shape)
    values[..., pattern.diagonal] = 2.0 * pattern.n
    return TreeMatrix(parents, values)


def best(turns: dict[str, Callable[[], object]], seconds: float) -> dict[str, float]:
    """Return the least seconds of each; they take turns."""
    least = dict.fromkeys(turns, float("inf"))
    counts: dict[str, int] = {}
    for name, turn in turns.items():
        start = time.perf_counter()
        turn()
        once = time.perf_counter() - start
        counts[name] = max(1, min(1000, int(seconds / 50 / max(once, 1e-9))))
    end = time.perf_counter() + seconds * len(turns)
    rounds = 0
    while rounds < 3 or time.perf_counter() < end:
        rounds += 1
        for name, turn in turns.items():
            n = counts[name]
            start = time.perf_counter()
            for _ in range(n):
                turn()
            least[name] = min(least[name], (time.perf_counter() - start) / n)
    return least


def measure(parents: Parents, batch: int, seconds: float) -> dict[str, float]:
    """Return microseconds per matrix, and the ratios."""
    packed = matrix(parents, batch)
    H = packed.dense()
    factor = ltdl(H, parents)
    lanes = factor.entries.shape[2]
    many = packed.values if batch else packed.values[None]
    entries = repack(many, factor.pattern, lanes)
    work = entries.copy()
    b = np.ones((*((batch,) if batch else ()), len(parents)))

    def copy() -> None:
        work[...] = entries

    def loops() -> None:
        work[...] = entries
        eliminate(work, factor.pattern, False)

    turns: dict[str, Callable[[], Any]] = {
        "copy": copy,
        "loops": loops,
        "ltdl": lambda: ltdl(H, parents),
        "ltdl packed": lambda: ltdl(packed),
        "solve": lambda: factor.solve(b),
    }
    if len(parents) <= 3000:
        turns["numpy"] = lambda: np.linalg.cholesky(H)
        if not batch:
            turns["scipy"] = lambda: scipy.linalg.cho_factor(H, lower=True)
    times = {k: t / max(1, batch) * 1e6 for k, t in best(turns, seconds).items()}
    times["factor"] = times.pop("loops") - times.pop("copy")
    cost = D1(parents) + 2 * D2(parents)
    times["cost"] = cost
    times["ns per operation"] = times["factor"] * 1e3 / cost
    dense = min((times[k] for k in ("numpy", "scipy") if k in times), default=None)
    if dense is not None:
        times["ratio"] = dense / times["ltdl"]
        times["ratio packed"] = dense / times["ltdl packed"]
    return times


def growth(report: dict[str, dict[str, float]]) -> dict[str, float]:
    """Return how time grows with cost in each kind of tree: 1 is linear."""
    exponents: dict[str, float] = {}
    for kind in ("chain", "binary tree", "swarm"):
        sizes = [t for k, t in report.items() if k.startswith(kind) and "," not in k]
        a, b = sizes[-2:]
        exponents[kind] = float(
            np.log(b["factor"] / a["factor"]) / np.log(b["cost"] / a["cost"])
        )
    return exponents


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small ones, fewer rounds")
    parser.add_argument("--json", action="store_true", help="print JSON only")
    options = parser.parse_args()
    report: dict[str, dict[str, float]] = {}
    columns = (
        ("cost", "D1+2D2", "{:14,.0f}"),
        ("factor", "factor", "{:11.2f}"),
        ("ns per operation", "ns/op", "{:8.3f}"),
        ("ltdl packed", "ltdl(rows)", "{:12.2f}"),
        ("ltdl", "ltdl(H)", "{:11.2f}"),
        ("solve", "solve", "{:10.2f}"),
        ("numpy", "numpy", "{:13.2f}"),
        ("scipy", "scipy", "{:13.2f}"),
        ("ratio", "dense/ours", "{:12.2f}"),
    )
    if not options.json:
        widths = [int(form[2:].split(",")[0].split(".")[0]) for _, _, form in columns]
        heads = [
            f"{head:>{w}}" for (_, head, _), w in zip(columns, widths, strict=True)
        ]
        print(f"{'us per matrix':30s}" + "".join(heads))
    for name, (parents, batch) in cases(options.quick).items():
        times = measure(parents, batch, 0.1 if options.quick else 0.6)
        report[name] = times
        if not options.json:
            cells = [
                form.format(times[key]) if key in times else " " * len(form.format(0))
                for key, _, form in columns
            ]
            print(f"{name:30s}" + "".join(cells), flush=True)
    exponents = growth(report)
    if options.json:
        print(json.dumps({"microseconds": report, "growth": exponents}, indent=2))
        return
    shown = ", ".join(f"{kind} {x:.2f}" for kind, x in exponents.items())
    print(f"growth with D1 + 2 D2: {shown}")


if __name__ == "__main__":
    main()
