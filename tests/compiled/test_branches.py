"""Independent branches (Negrut, Serban & Potra 1997, Corollary 3): order is free."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from ramidyn.errors import ArgumentError, ModelError
from ramidyn.linalg import branches
from ramidyn.linalg.branches import plan_of
from ramidyn.linalg.factor import Factor, TreeMatrix, ltdl, ltl
from ramidyn.linalg.pattern import pattern_from
from ramidyn.tree.tree import depth_first


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


# ------------------------------------------------------------ ltdl(threads=)


def comb(trunk: int, branches: int, length: int) -> tuple[int, ...]:
    """A chain with equal chains on its tip."""
    limbs = (
        p
        for k in range(branches)
        for p in (trunk - 1, *range(trunk + k * length, trunk + (k + 1) * length - 1))
    )
    return (*range(-1, trunk - 1), *limbs)


def binary(n: int) -> tuple[int, ...]:
    return tuple((i + 1) // 2 - 1 for i in range(n))


def scattered(n: int, rng: np.random.Generator) -> tuple[int, ...]:
    return tuple(int(rng.integers(-1, i)) if i else -1 for i in range(n))


@pytest.fixture
def any_size(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Branches are shared however small they are."""
    monkeypatch.setattr(branches, "LEAST_WORK", 0)
    monkeypatch.setattr(branches, "LEAST_GAIN", 0.0)
    plan_of.cache_clear()
    yield
    plan_of.cache_clear()


@pytest.mark.usefixtures("any_size")
@pytest.mark.parametrize("threads", [2, 3, 5])
@pytest.mark.parametrize("factored", [ltdl, ltl])
def test_threads_share_the_branches_of_one_matrix(
    factored: Any, threads: int, rng: np.random.Generator
) -> None:
    trees = [comb(6, 7, 20), binary(200), chain(40), comb(0, 9, 8), comb(3, 1, 5)]
    trees += [scattered(60, rng) for _ in range(20)]
    for parents in trees:
        H = along(parents, rng)
        whole, shared = factored(H), factored(H, threads=threads)
        np.testing.assert_allclose(shared.rows(), whole.rows(), rtol=0, atol=1e-12)
        again = factored(H.dense(), parents, threads=threads)
        np.testing.assert_array_equal(again.rows(), shared.rows())
        b = rng.normal(size=len(parents))
        np.testing.assert_allclose(H.dense() @ shared.solve(b), b, atol=1e-12)


@pytest.mark.usefixtures("any_size")
def test_branches_without_a_trunk_are_shared_to_the_bit(
    rng: np.random.Generator,
) -> None:
    H = along(comb(0, 9, 8), rng)
    np.testing.assert_array_equal(ltdl(H, threads=3).rows(), ltdl(H).rows())


@pytest.mark.usefixtures("any_size")
def test_threads_write_in_place_and_find_bad_pivots(rng: np.random.Generator) -> None:
    parents = binary(100)
    H = along(parents, rng)
    rows, given = ltdl(H, threads=2).rows(), H.values.copy()
    np.testing.assert_array_equal(H.values, given)
    ltdl(H, threads=2, overwrite=True)
    np.testing.assert_array_equal(H.values, rows)
    for place in (0, 3, 99):
        bad = along(parents, rng)
        bad.values[pattern_from(parents).diagonal[place]] = -1.0
        with pytest.raises(ModelError, match=rf"not positive definite: pivot {place} "):
            ltdl(bad, threads=2)


@pytest.mark.parametrize(
    ("parents", "is_shared"),
    [
        (comb(6, 4, 6), False),
        (chain(2000), False),
        (tuple(-1 if i % 6 == 0 else i - 1 for i in range(9996)), False),
        (comb(6, 4, 500), True),
        (comb(6, 100, 100), True),
        (binary(65_535), True),
    ],
    ids=["humanoid", "chain", "swarm", "long limbs", "limbs", "binary tree"],
)
def test_size_and_shape_decide_whether_threads_are_used(
    parents: tuple[int, ...], is_shared: bool
) -> None:
    plan = plan_of(pattern_from(parents), 2)
    assert (plan is not None) == is_shared


def test_threads_must_be_a_number(rng: np.random.Generator) -> None:
    H = along(chain(3), rng)
    with pytest.raises(ArgumentError, match="threads is 0; expected an integer, 1 or"):
        ltdl(H, threads=0)
