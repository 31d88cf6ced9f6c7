"""Factorizations along a tree, stand-alone: identities, counts, errors."""

from __future__ import annotations

import functools
import pickle
import re
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from ramidyn.algorithms import ltdl as symbolic
from ramidyn.backend.sparse_factor import factor_loops as treeloops
from ramidyn.backend.sparse_factor.factor_loops import vector_width
from ramidyn.errors import ModelError
from ramidyn.linalg import factor as sparse
from ramidyn.linalg import pattern as treerows
from ramidyn.linalg.factor import Factor, TreeMatrix, ltdl, ltl
from ramidyn.symbolic.count import count
from ramidyn.symbolic.trace import trace
from ramidyn.tree.tree import D1, D2, sparsity_pattern
from support.close import assert_close

Parents = tuple[int, ...]
KINDS = (ltdl, ltl)
HUMANOID: Parents = (
    *range(-1, 5),
    *(p for limb in range(4) for p in (5, *range(6 + 6 * limb, 11 + 6 * limb))),
)


def chain(n: int) -> Parents:
    return tuple(range(-1, n - 1))


def swarm(n: int, length: int) -> Parents:
    return tuple(-1 if i % length == 0 else i - 1 for i in range(n))


def binary(n: int) -> Parents:
    return tuple((i + 1) // 2 - 1 for i in range(n))


TREES: dict[str, Parents] = {
    "nothing": (),
    "one": (-1,),
    "pair": (-1, 0),
    "three roots": (-1, -1, -1),
    "Featherstone's tree 1": (-1, 0, 0, 1, 1, 2, 2),
    "Featherstone's expanded tree": (-1, 0, 1, 2, 1, 3, 3, 4, 7, 8, 4),
    "humanoid": HUMANOID,
    "chain of 4": chain(4),
    "chain of 8": chain(8),
    "chain of 13": chain(13),
    "chain of 61": chain(61),
    "binary tree, breadth first": binary(63),
    "swarm": swarm(30, 3),
    "comb": tuple(i - 1 if i % 2 else i - 2 if i else -1 for i in range(24)),
}
close = functools.partial(assert_close, tolerance=1e-12)
BATCHES = (None, 0, 1, 2, 3, 4, 7, 17)


def random_matrix(
    parents: Parents, rng: np.random.Generator, batch: int | None = None
) -> Any:
    """Return Lᵀ L of a random L, well conditioned, exactly symmetric and sparse."""
    n = len(parents)
    pattern = np.tril(sparsity_pattern(parents))
    L = rng.uniform(-1, 1, size=(batch or 1, n, n)) * pattern / max(1, n) ** 0.5
    L[:, range(n), range(n)] = rng.uniform(1, 2, size=(batch or 1, n))
    H = np.swapaxes(L, 1, 2) @ L
    H = (H + np.swapaxes(H, 1, 2)) / 2
    H[:, ~sparsity_pattern(parents)] = 0.0
    return H[0] if batch is None else H[:batch]


def rebuilt(factor: Factor) -> Any:
    LT = np.swapaxes(factor.L, -1, -2)
    return (LT * factor.D[..., None, :]) @ factor.L


# ------------------------------------------------------------ identities


@pytest.mark.parametrize("factorize", KINDS)
@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("name", TREES)
def test_factor_rebuilds_its_matrix_without_fill_in(
    name: str,
    batch: int | None,
    factorize: Callable[..., Factor],
    rng: np.random.Generator,
) -> None:
    parents = TREES[name]
    H = random_matrix(parents, rng, batch)
    before = H.copy()
    factor = factorize(H, parents)
    close(rebuilt(factor), H)
    assert (before == H).all()
    assert not factor.L[..., ~np.tril(sparsity_pattern(parents))].any()
    diagonal = np.diagonal(factor.L, axis1=-2, axis2=-1)
    assert ((diagonal if factorize is ltdl else factor.D) == 1.0).all()
    assert factor.parents == parents
    assert_close(factor.logdet(), np.linalg.slogdet(H)[1], tolerance=1e-11)


@pytest.mark.parametrize("factorize", KINDS)
@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("name", TREES)
def test_products_and_solves_are_numpys(
    name: str,
    batch: int | None,
    factorize: Callable[..., Factor],
    rng: np.random.Generator,
) -> None:
    parents = TREES[name]
    H = random_matrix(parents, rng, batch)
    factor = factorize(H, parents)
    L = factor.L
    LT = np.swapaxes(L, -1, -2)
    lead = () if batch is None else (batch,)
    for columns in ((), (0,), (1,), (3,), (vector_width(),), (19,)):
        x = rng.normal(size=(*lead, len(parents), *columns))
        X = x if columns else x[..., None]
        for ours, theirs in (
            (factor.mul_L(x), L @ X),
            (factor.mul_LT(x), LT @ X),
            (factor.solve_L(x), np.linalg.solve(L, X)),
            (factor.solve_LT(x), np.linalg.solve(LT, X)),
            (factor.solve(x), np.linalg.solve(H, X)),
        ):
            assert_close(ours, theirs.reshape(x.shape))


@pytest.mark.parametrize("name", ["mul_L", "mul_LT", "solve_L", "solve_LT", "solve"])
@pytest.mark.parametrize("batch", [None, 2, 5])
def test_results_go_where_out_says(
    name: str, batch: int | None, rng: np.random.Generator
) -> None:
    factor = ltdl(random_matrix(HUMANOID, rng, batch), HUMANOID)
    method = getattr(factor, name)
    lead = () if batch is None else (batch,)
    for columns in ((), (1,), (3,)):
        x = rng.normal(size=(*lead, 30, *columns))
        expected, before = method(x), x.copy()
        strided = np.zeros((*x.shape, 2))[..., 0]
        for out in (np.empty_like(x), strided):
            assert method(x, out=out) is out
            assert (out == expected).all()
            assert (x == before).all()
        assert method(x, out=x) is x
        assert (x == expected).all()


@st.composite
def regular_numberings(draw: st.DrawFn) -> Parents:
    n = draw(st.integers(0, 40))
    return tuple(draw(st.integers(-1, i - 1)) for i in range(n))


@settings(max_examples=60, deadline=None)
@given(
    regular_numberings(),
    st.integers(0, 2**32 - 1),
    st.sampled_from((None, 1, 5)),
    st.sampled_from(KINDS),
)
def test_any_regular_numbering_factors(
    parents: Parents, seed: int, batch: int | None, factorize: Callable[..., Factor]
) -> None:
    rng = np.random.default_rng(seed)
    H = random_matrix(parents, rng, batch)
    factor = factorize(H, parents)
    close(rebuilt(factor), H)
    x = rng.normal(size=(*(() if batch is None else (batch,)), len(parents), 2))
    assert_close(H @ factor.solve(x), x)


def test_chain_of_1000(rng: np.random.Generator) -> None:
    parents = chain(1000)
    H = random_matrix(parents, rng)
    factor = ltdl(H, parents)
    close(rebuilt(factor), H)
    b = rng.normal(size=1000)
    assert_close(H @ factor.solve(b), b)
    assert ltl(H, parents).logdet() == pytest.approx(factor.logdet(), rel=1e-12)


def test_swarm_of_4000_dense_and_packed(rng: np.random.Generator) -> None:
    length, n = 4, 4_000
    parents = swarm(n, length)
    blocks = random_matrix(chain(length), rng, n // length)
    H = np.zeros((n, n))
    for k, block in enumerate(blocks):
        H[k * length : (k + 1) * length, k * length : (k + 1) * length] = block
    factor = ltdl(H, parents)
    assert len(factor.csr()[0]) == D1(parents) + n
    b = rng.normal(size=n)
    x = np.linalg.solve(blocks, b.reshape(-1, length, 1)).ravel()
    assert_close(factor.solve(b), x, tolerance=1e-11)
    packed = TreeMatrix.from_dense(H, parents)
    assert_close(ltdl(packed).solve(b), x, tolerance=1e-11)
    assert_close(factor.logdet(), np.linalg.slogdet(blocks)[1].sum())
    H[5, 2] = H[2, 5] = 1e-3
    with pytest.raises(ModelError, match=re.escape("H[5, 2] is 0.001")):
        ltdl(H, parents)


@pytest.mark.parametrize("most", [0, 10**9])
def test_one_by_one_and_lane_by_lane_agree(
    most: int, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(treerows, "TILE_ENTRIES", most)
    H = random_matrix(HUMANOID, rng, 9)
    factor = ltdl(H, HUMANOID)
    assert factor.entries.shape[2] == (vector_width() if most else 1)
    close(rebuilt(factor), H)


def test_a_matrix_of_a_batch_factors_as_it_does_alone(rng: np.random.Generator) -> None:
    H = random_matrix(HUMANOID, rng, 11)
    together = ltdl(H, HUMANOID).solve(np.ones((11, 30)))
    alone = np.array([ltdl(h, HUMANOID).solve(np.ones(30)) for h in H])
    close(together, alone)


# ------------------------------------------------------------ inputs of all kinds


@pytest.mark.parametrize("factorize", KINDS)
@pytest.mark.parametrize("batch", [None, 2, 7])
@pytest.mark.parametrize("name", ["humanoid", "binary tree, breadth first"])
def test_overwriting_leaves_the_factor_in_the_lower_triangle(
    name: str,
    batch: int | None,
    factorize: Callable[..., Factor],
    rng: np.random.Generator,
) -> None:
    parents = TREES[name]
    n = len(parents)
    H = random_matrix(parents, rng, batch)
    packed = TreeMatrix.from_dense(H, parents)
    upper = np.triu(H, 1)
    reference = factorize(H, parents)
    factor = factorize(H, parents, overwrite=True)
    expected = reference.L
    if factorize is ltdl:
        expected[..., range(n), range(n)] = reference.D
    close(np.tril(H), expected)
    assert (np.triu(H, 1) == upper).all()
    H[...] = np.nan
    close(factor.L, reference.L)

    factorize(packed, overwrite=True)
    layout = packed.layout
    close(packed.values, expected[..., layout.rowind, layout.colind])


def test_a_failed_factorization_leaves_a_dense_matrix_alone() -> None:
    H = np.array([[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(ModelError):
        ltdl(H, [-1, 0], overwrite=True)
    assert (H == [[1.0, 2.0], [2.0, 1.0]]).all()


@pytest.mark.parametrize("batch", [None, 5])
def test_any_layout_and_dtype(batch: int | None, rng: np.random.Generator) -> None:
    H = random_matrix(HUMANOID, rng, batch)
    lead = (slice(None),) * (H.ndim - 2)
    wide = np.zeros((*H.shape[:-2], 60, 90))
    wide[(*lead, slice(None, None, 2), slice(None, None, 3))] = H
    fortran = np.asfortranarray(H)
    strided = wide[(*lead, slice(None, None, 2), slice(None, None, 3))]
    backwards = H[(*lead, slice(None, None, -1), slice(None, None, -1))].copy()
    backwards = backwards[(*lead, slice(None, None, -1), slice(None, None, -1))]
    unaligned = np.zeros(H.nbytes + 1, np.uint8)[1:].view(np.float64).reshape(H.shape)
    unaligned[...] = H
    for given_ in (fortran, strided, backwards, unaligned, H.astype(">f8"), H.tolist()):
        close(rebuilt(ltdl(given_, HUMANOID)), H)
    single = H.astype(np.float32)
    close(rebuilt(ltdl(single, HUMANOID)), single.astype(np.float64))
    whole = np.array([[2, 1], [1, 3]])
    close(rebuilt(ltdl(whole, [-1, 0])), whole)
    b = rng.normal(size=(30, 8))[:, ::2]
    if batch is None:
        assert_close(H @ ltdl(H, HUMANOID).solve(b), b)
        x = ltdl(H, HUMANOID).solve(np.arange(30))
        assert_close(H @ x, np.arange(30.0))


def test_a_broadcast_batch_is_read_as_it_is(rng: np.random.Generator) -> None:
    H = random_matrix(HUMANOID, rng)
    many = np.broadcast_to(H, (6, 30, 30))
    close(rebuilt(ltdl(many, HUMANOID)), many)


def test_parents_may_be_an_array_a_list_or_a_tuple(rng: np.random.Generator) -> None:
    H = random_matrix(HUMANOID, rng)
    for parents in (np.array(HUMANOID, np.int32), list(HUMANOID), HUMANOID):
        assert ltdl(H, parents).parents == HUMANOID


def test_rounding_is_no_asymmetry_and_no_entry(rng: np.random.Generator) -> None:
    H = random_matrix(HUMANOID, rng)
    H[3, 1] += 1e-14
    H[20, 8] = 1e-15
    close(rebuilt(ltdl(H, HUMANOID)), random_like(H))
    single = random_matrix(HUMANOID, rng).astype(np.float32)
    single[3, 1] *= 1 + 1e-6
    ltdl(single, HUMANOID)


def random_like(H: Any) -> Any:
    """Return H with its lower triangle on both sides, and zeros between branches."""
    low = np.tril(H) * sparsity_pattern(HUMANOID)
    return low + np.tril(low, -1).T


def test_unchecked_only_the_lower_triangle_counts(rng: np.random.Generator) -> None:
    H = random_matrix(HUMANOID, rng)
    half = np.where(np.triu(np.ones((30, 30)), 1) > 0, np.nan, H)
    half[20, 8] = 77.0  # between branches
    close(rebuilt(ltdl(half, HUMANOID, check=False)), H)
    half[7, 6] = np.nan
    with pytest.raises(ModelError, match="pivot 6 is nan"):
        ltdl(half, HUMANOID, check=False)


# ------------------------------------------------------------ forms


@pytest.mark.parametrize("batch", [None, 1, 5])
@pytest.mark.parametrize("name", TREES)
def test_packed_rows_hold_the_matrix(
    name: str, batch: int | None, rng: np.random.Generator
) -> None:
    parents = TREES[name]
    H = random_matrix(parents, rng, batch)
    packed = TreeMatrix.from_dense(H, parents)
    assert (packed.dense() == H).all()
    for factorize in KINDS:
        values = packed.values.copy()
        close(rebuilt(factorize(packed)), H)
        close(rebuilt(factorize(packed, parents)), H)
        assert (packed.values == values).all()
    layout = packed.layout
    for i in range(len(parents)):
        start = layout.rowadr[i]
        columns = layout.colind[start : start + layout.rownnz[i]]
        pattern = np.tril(sparsity_pattern(parents))
        assert columns.tolist() == np.flatnonzero(pattern[i]).tolist()


@pytest.mark.parametrize("name", TREES)
def test_compressed_rows_come_from_scipy_and_go_to_it(
    name: str, rng: np.random.Generator
) -> None:
    parents = TREES[name]
    n = len(parents)
    H = random_matrix(parents, rng)
    if n:
        for given_ in (H, np.tril(H)):
            csr = scipy.sparse.csr_matrix(given_)
            packed = TreeMatrix.from_csr(csr.data, csr.indices, csr.indptr, parents)
            assert (packed.dense() == H).all()
        for factorize in KINDS:
            factor = factorize(H, parents)
            L = scipy.sparse.csr_matrix(factor.csr(), shape=(n, n))
            assert (L.toarray() == factor.L).all()
    empty = TreeMatrix.from_csr([], [], np.zeros(n + 1, int), parents)
    assert not empty.dense().any()


def test_factor_is_immutable_and_pickles(rng: np.random.Generator) -> None:
    H = random_matrix(binary(31), rng)
    factor = ltdl(H, binary(31))
    with pytest.raises(AttributeError):
        factor.kind = "ltl"  # type: ignore[misc]
    L = factor.L
    for array in (L, factor.D, factor.csr()[0], factor.csr()[1]):
        array[...] = 0
    close(rebuilt(factor), H)
    again = pickle.loads(pickle.dumps(factor))
    assert (again.L == factor.L).all()
    assert again.pattern is factor.pattern
    assert repr(factor) == "Factor Lᵀ D L: 31 rows, 129 entries"
    assert repr(ltl(H[None], binary(31))) == (
        "Factor Lᵀ L: 31 rows, 129 entries, batch of 1"
    )
    packed = TreeMatrix.from_dense(H, binary(31))
    assert repr(packed) == "TreeMatrix of 31 rows, values (129,)"


def test_a_batch_releases_the_interpreter(rng: np.random.Generator) -> None:
    H = random_matrix(chain(60), rng, 2000)
    turns, done = 0, threading.Event()

    def factorize() -> None:
        for _ in range(3):
            ltdl(H, chain(60))
        done.set()

    thread = threading.Thread(target=factorize)
    thread.start()
    while not done.is_set():
        turns += 1
    thread.join()
    assert turns > 10


def test_patterns_are_kept_within_bounds() -> None:
    for n in range(1, treerows.MOST_KNOWN + 10):
        ltdl(np.eye(n), [-1] * n)
    assert len(treerows._known) <= treerows.MOST_KNOWN


# ------------------------------------------------------------ costs


def test_unrolled_programs_cost_what_the_paper_says() -> None:
    assert (D1(HUMANOID), D2(HUMANOID)) == (219, 1039)
    for parents in (HUMANOID, binary(31), chain(12), swarm(20, 4)):
        n = len(parents)

        def entries(v: Any, parents: Parents = parents) -> dict[tuple[int, int], Any]:
            where = np.argwhere(np.tril(sparsity_pattern(parents))).tolist()
            return {(i, j): v[k] for k, (i, j) in enumerate(where)}

        def factor(v: Any, parents: Parents = parents) -> Any:
            L, D = symbolic.ltdl(entries(v), parents)
            return np.array([*L.values(), *D.values()], dtype=object)

        def solve(v: Any, b: Any, parents: Parents = parents) -> Any:
            L = entries(v)
            D = {k: L.pop((k, k)) for k in range(len(parents))}
            x = symbolic.solve(L, D, dict(enumerate(b)), parents)
            return np.array([x[k] for k in range(len(parents))], dtype=object)

        nnz = D1(parents) + n
        ops = count(trace(factor, {"v": nnz}))
        assert (ops.div, ops.mul, ops.add) == (D1(parents), D2(parents), D2(parents))
        ops_solve = count(trace(solve, {"v": nnz, "b": n}))
        assert (ops_solve.div, ops_solve.mul) == (n, 2 * D1(parents))
        assert ops_solve.add == 2 * D1(parents)
        if parents is HUMANOID:
            assert (ops.mul + ops.div, ops.add) == (1258, 1039)
            assert (ops_solve.mul + ops_solve.div, ops_solve.add) == (468, 438)


def test_every_row_is_eliminated_once_after_its_subtree() -> None:
    for parents in TREES.values():
        pattern = treerows.pattern_from(parents)
        blocks = pattern.blocks.tolist()
        assert {size for _, size in blocks} <= set(treeloops.BLOCKS)
        rows = [first + r for first, size in blocks for r in reversed(range(size))]
        assert rows == list(reversed(range(len(parents))))
        for first, size in blocks:
            above = pattern.table[first + 1 : first + size, 2].tolist()
            assert above == list(range(first, first + size - 1))


def test_the_module_has_no_other_public_names() -> None:
    own = {
        name
        for name, value in vars(sparse).items()
        if getattr(value, "__module__", "") == sparse.__name__ and name[0] != "_"
    }
    assert own == {"Factor", "TreeMatrix", "ltdl", "ltl"}
