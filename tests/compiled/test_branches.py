"""Independent branches (Negrut, Serban & Potra 1997, Corollary 3): order is free."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from ramify.linalg.factor import Factor, TreeMatrix, ltdl, ltl
from ramify.linalg.pattern import pattern_from
from ramify.model.tree import depth_first


def along(parents: tuple[int, ...], rng: np.random.Generator) -> TreeMatrix:
    """Return a random positive definite matrix along a tree."""
    pattern = pattern_from(parents)
    values = rng.uniform(-1, 1, size=pattern.nnz)
    values[pattern.diagonal] = 2.0 * pattern.n
    return TreeMatrix(parents, values)


def chain(n: int) -> tuple[int, ...]:
    return tuple(range(-1, n - 1))


@pytest.mark.parametrize("factored", [ltdl, ltl])
def test_a_branch_factors_to_the_bit_as_it_does_alone(
    factored: Any, rng: np.random.Generator
) -> None:
    lengths = [1, 3, 6, 12, 7]
    starts = np.cumsum([0, *lengths])
    swarm = tuple(
        -1 if k == 0 else int(start) + k - 1
        for start, n in zip(starts[:-1], lengths, strict=True)
        for k in range(n)
    )
    H = along(swarm, rng)
    whole = factored(H).rows()
    at = 0
    for n in lengths:
        size = n * (n + 1) // 2
        alone = factored(TreeMatrix(chain(n), H.values[at : at + size]))
        np.testing.assert_array_equal(whole[at : at + size], alone.rows())
        at += size


def test_siblings_may_stand_in_any_order(rng: np.random.Generator) -> None:
    # A trunk of 3 and branches of 4 and 2: either branch first, the same L and D.
    one = (-1, 0, 1, 2, 3, 4, 5, 2, 7)
    other = (-1, 0, 1, 2, 3, 2, 5, 6, 7)
    place = [0, 1, 2, 5, 6, 7, 8, 3, 4]  # where a row of one is in the other
    assert list(depth_first(one)) == list(range(9))
    H = along(one, rng).dense()
    turned = np.zeros_like(H)
    turned[np.ix_(place, place)] = H
    a, b = ltdl(H, one), ltdl(turned, other)
    np.testing.assert_allclose(b.D[place], a.D, rtol=1e-15)
    np.testing.assert_allclose(b.L[np.ix_(place, place)], a.L, rtol=0, atol=1e-15)


def test_threads_factor_what_one_thread_does(rng: np.random.Generator) -> None:
    many = [along(chain(n), rng) for n in (300, 200, 300, 100)]
    with ThreadPoolExecutor(4) as pool:
        found: list[Factor] = list(pool.map(ltdl, many))
    for H, factor in zip(many, found, strict=True):
        np.testing.assert_array_equal(factor.rows(), ltdl(H).rows())


def test_others_run_while_a_tree_is_factored(rng: np.random.Generator) -> None:
    H = along(chain(2000), rng)

    def longest_pause() -> float:
        """Return how long this thread stood still, over what the other one took."""
        took: list[float] = []

        def work() -> None:
            start = time.perf_counter()
            ltdl(H)
            took.append(time.perf_counter() - start)

        thread = threading.Thread(target=work)
        stamps = [time.perf_counter()]
        thread.start()
        while thread.is_alive():
            stamps.append(time.perf_counter())
        return float(np.diff(stamps).max()) / took[0]

    # Held, the GIL would stop this thread for as long as the native loops take, every
    # time; another program that takes the processor does so only now and then.
    assert any(longest_pause() < 0.5 for _ in range(5))
