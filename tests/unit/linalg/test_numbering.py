"""Trees of anybody's matrix, renumbering, constraints, SciPy; against NumPy."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from ramidyn import linalg, robots
from ramidyn.errors import ArgumentError, ModelError, ShapeError
from ramidyn.linalg import branches
from support.close import assert_close

Parents = tuple[int, ...]
SEEDS = st.integers(0, 2**32 - 1)


@st.composite
def trees(draw: st.DrawFn, least: int = 1) -> Parents:
    n = draw(st.integers(least, 25))
    return tuple(draw(st.integers(-1, i - 1)) for i in range(n))


def along(parents: Parents, rng: np.random.Generator) -> Any:
    """Return a random positive definite matrix along a tree, dense."""
    n = len(parents)
    H = rng.uniform(0.2, 1.0, size=(n, n)) * linalg.sparsity_pattern(parents)
    return H + H.T + 2 * n * np.eye(n)


@settings(max_examples=60, deadline=None)
@given(trees(), SEEDS)
def test_the_tree_of_a_matrix_is_found(parents: Parents, seed: int) -> None:
    H = along(parents, np.random.default_rng(seed))
    assert linalg.parents_of(H) == parents
    assert linalg.parents_of(scipy.sparse.coo_array(np.tril(H))) == parents
    assert linalg.parents_of(np.stack([np.eye(len(H)), H])) == parents


@settings(max_examples=60, deadline=None)
@given(trees(), SEEDS)
def test_a_shuffled_tree_factors_without_fill_in(parents: Parents, seed: int) -> None:
    rng = np.random.default_rng(seed)
    shuffle = rng.permutation(len(parents))
    H = along(parents, rng)[np.ix_(shuffle, shuffle)]
    found = linalg.numbering_of(H)
    assert (linalg.D1(found.parents), linalg.D2(found.parents)) == (
        linalg.D1(parents),
        linalg.D2(parents),
    )
    b = rng.normal(size=len(H))
    factor = linalg.ltdl(found.matrix(H), found.parents)
    assert_close(found.undo(factor.solve(found.vector(b))), np.linalg.solve(H, b))


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 20), SEEDS)
def test_any_sparse_matrix_has_a_tree(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    H = rng.normal(size=(n, n)) * (rng.uniform(size=(n, n)) < 0.15)
    H = H + H.T + 4 * n * np.eye(n)
    b = rng.normal(size=(n, 2))
    as_it_is = linalg.ltdl(H, linalg.parents_of(H))
    assert_close(as_it_is.solve(b), np.linalg.solve(H, b))
    found = linalg.numbering_of(scipy.sparse.csc_matrix(H))
    sparse = found.matrix(scipy.sparse.csr_array(H))
    assert_close(sparse.toarray(), found.matrix(H))
    x = found.undo(linalg.ltdl(sparse, found.parents).solve(found.vector(b)))
    assert_close(x, np.linalg.solve(H, b))
    cost = [linalg.D2(p) for p in (found.parents, linalg.parents_of(H))]
    assert cost[0] <= cost[1] + linalg.D1(linalg.parents_of(H))


@given(trees(), SEEDS)
@settings(max_examples=40, deadline=None)
def test_any_parents_get_a_regular_numbering(parents: Parents, seed: int) -> None:
    shuffle = np.random.default_rng(seed).permutation(len(parents))
    place = np.argsort(shuffle)
    mixed = [-1 if parents[i] < 0 else int(place[parents[i]]) for i in shuffle]
    found = linalg.regular_numbering(mixed)
    assert all(p < i for i, p in enumerate(found.parents))
    pattern = linalg.sparsity_pattern(parents)[np.ix_(shuffle, shuffle)]
    again = found.matrix(pattern.astype(float)) != 0
    assert (again == linalg.sparsity_pattern(found.parents)).all()
    assert tuple(reversed(found.order)) == linalg.renumbering(mixed)


def test_batches_are_renumbered_along_their_axis(rng: np.random.Generator) -> None:
    found = linalg.regular_numbering((2, 2, -1))
    x = rng.normal(size=(4, 3, 2))
    there = found.vector(x, axis=1)
    assert (there == x[:, [2, 0, 1]]).all()
    assert (found.undo(there, axis=1) == x).all()
    H = rng.normal(size=(4, 3, 3))
    assert (found.matrix(H)[:, 1, 0] == H[:, 0, 2]).all()


def test_figure_2_is_tree_1_with_joints_of_several_freedoms() -> None:
    tree1 = (-1, 0, 0, 1, 1, 2, 2)
    printed = (0, 1, 2, 3, 2, 4, 4, 5, 8, 9, 5)  # Featherstone 2005, section 2
    expanded = linalg.expanded_parents(tree1, (2, 2, 1, 1, 1, 3, 1))
    assert tuple(p + 1 for p in expanded) == printed
    assert linalg.expanded_parents((-1, 0, 1), (1, 0, 2)) == (-1, 0, 1)


@pytest.mark.parametrize("name", ["humanoid30", "asimo", "hmmwv"])
def test_the_expanded_tree_of_a_robot_is_its_own(name: str) -> None:
    tree = getattr(robots, name)().tree
    sizes = [len(dofs) for dofs in tree.dofs]
    assert linalg.expanded_parents(tuple(tree.parents), sizes) == tree.dof_parents


# ------------------------------------------------------------ constraints


@settings(max_examples=40, deadline=None)
@given(trees(least=4), SEEDS, st.integers(1, 3), st.sampled_from((None, 1, 5)))
def test_the_augmented_matrix_is_solved(
    parents: Parents, seed: int, m: int, batch: int | None
) -> None:
    rng, n = np.random.default_rng(seed), len(parents)
    lead = () if batch is None else (batch,)
    M = np.reshape([along(parents, rng) for _ in range(batch or 1)], (*lead, n, n))
    J, Q = rng.normal(size=(*lead, m, n)), rng.normal(size=(*lead, n))
    gamma = rng.normal(size=(*lead, m))
    A = linalg.augmented(M, J, parents)
    x, multipliers = A.solve(Q, gamma)
    transposed = np.swapaxes(J, -1, -2)
    whole = np.block([[M, transposed], [J, np.zeros((*lead, m, m))]])
    b = np.concatenate([Q, gamma], axis=-1)
    expected = np.linalg.solve(whole, b[..., None])[..., 0]
    assert_close(np.concatenate([x, multipliers], axis=-1), expected)
    L, D, ones = A.mass.L, A.mass.D[..., None] * np.eye(n), np.eye(m)
    lower = np.block(
        [
            [np.swapaxes(L, -1, -2), np.zeros((*lead, n, m))],
            [np.swapaxes(A.W, -1, -2), np.broadcast_to(ones, (*lead, m, m))],
        ]
    )
    upper = np.block(
        [[L, A.W], [np.zeros((*lead, m, n)), np.broadcast_to(ones, (*lead, m, m))]]
    )
    middle = np.zeros_like(whole)
    middle[..., :n, :n] = D
    middle[..., n:, n:] = -A.C @ np.swapaxes(A.C, -1, -2)
    assert_close(lower @ middle @ upper, whole)  # Eq. 23


def test_columns_of_t_reach_the_ancestors_and_no_further(
    rng: np.random.Generator,
) -> None:
    parents = (-1, 0, 1, 0, 3, 0)
    J = scipy.sparse.csr_array(([1.0, -1.0], ([0, 0], [2, 3])), shape=(1, 6))
    A = linalg.augmented(scipy.sparse.csr_array(along(parents, rng)), J, parents)
    assert (A.T[:, 0] != 0).tolist() == [True, True, True, True, False, False]
    assert repr(A) == "AugmentedFactor: 6 rows, 1 constraints"


def test_the_constraints_of_a_vehicle_are_solved() -> None:
    robot = robots.hmmwv()
    q = robot.assemble(robot.neutral())
    M, J = robot.mass_matrix(q), robot.constraint_jacobian(q)
    A = linalg.augmented(M, J, robot.tree.dof_parents)
    Q, gamma = np.arange(27.0), np.arange(16.0)
    x, multipliers = A.solve(Q, gamma)
    whole = np.block([[M, J.T], [J, np.zeros((16, 16))]])
    residual = whole @ np.concatenate([x, multipliers]) - np.concatenate([Q, gamma])
    assert_close(residual + 1.0, np.ones(43), tolerance=1e-6)


# ------------------------------------------------------------ SciPy and threads


def test_scipy_matrices_come_out(rng: np.random.Generator) -> None:
    parents = (-1, 0, 0, 2, -1)
    H = along(parents, rng)
    packed = linalg.TreeMatrix.from_scipy(scipy.sparse.coo_matrix(H), parents)
    assert_close(packed.scipy().toarray(), H)
    factor = linalg.ltdl(packed)
    assert_close(factor.scipy().toarray(), factor.L)
    assert factor.scipy().nnz == 5 + linalg.D1(parents)


def comb(trunk: int, count: int, length: int) -> Parents:
    limbs = (
        p
        for k in range(count)
        for p in (trunk - 1, *range(trunk + k * length, trunk + (k + 1) * length - 1))
    )
    return (*range(-1, trunk - 1), *limbs)


@pytest.mark.parametrize("factorize", [linalg.ltdl, linalg.ltl])
@pytest.mark.parametrize("columns", [(), (1,), (5,)])
@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize(
    "parents",
    [
        comb(4, 5, 6),
        (-1, 0, 1, 2, 3, 0, 5, 6, 5, 8, 9, -1, 11, 12),
        tuple(i - 1 if i % 4 else -1 for i in range(40)),
        tuple((i - 1) // 2 if i else -1 for i in range(31)),  # breadth first
    ],
)
def test_threads_solve_what_one_thread_does(
    parents: Parents,
    threads: int,
    columns: tuple[int, ...],
    factorize: Any,
    rng: np.random.Generator,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(branches, "LEAST_SOLVE_WORK", 0)
    monkeypatch.setattr(branches, "LEAST_GAIN", 0.0)
    branches.solve_plan_of.cache_clear()
    H = along(parents, rng)
    factor, b = factorize(H, parents), rng.normal(size=(len(H), *columns))
    plan = branches.solve_plan_of(factor.pattern, threads, *(columns or (1,)))
    assert plan is not None
    assert len(plan.shares) == threads
    before = b.copy()
    assert_close(factor.solve(b, threads=threads), np.linalg.solve(H, b))
    assert (b == before).all()
    assert factor.solve(b, threads=threads, out=b) is b
    assert_close(b, np.linalg.solve(H, before))
    branches.solve_plan_of.cache_clear()


def test_small_solves_stay_on_one_thread(rng: np.random.Generator) -> None:
    parents = comb(4, 5, 6)
    factor = linalg.ltdl(along(parents, rng), parents)
    assert branches.solve_plan_of(factor.pattern, 2, 1) is None
    assert branches.solve_plan_of(factor.pattern, 2, 200_000) is not None


# ------------------------------------------------------------ refused


WRONG: list[tuple[Any, type[Exception], str]] = [
    (
        lambda: linalg.parents_of(np.ones((2, 3))),
        ShapeError,
        "H has shape (2, 3); exp",
    ),
    (
        lambda: linalg.parents_of(scipy.sparse.csr_array(np.ones((2, 3)))),
        ShapeError,
        "H is csr_array of shape (2, 3); expected a square sparse matrix",
    ),
    (
        lambda: linalg.numbering_of(scipy.sparse.csr_array(np.eye(2) * 1j)),
        ShapeError,
        "H has dtype complex128; expected real numbers",
    ),
    (
        lambda: linalg.regular_numbering((1, 0)),
        ModelError,
        "body 0 is its own ancestor; expected a tree",
    ),
    (
        lambda: linalg.regular_numbering((1, -1)).vector(np.ones(3)),
        ShapeError,
        "x has shape (3,); the numbering needs 2 entries along axis 0",
    ),
    (
        lambda: linalg.regular_numbering((1, -1)).matrix(np.eye(3)),
        ShapeError,
        "H has shape (3, 3); the numbering needs (2, 2)",
    ),
    (
        lambda: linalg.expanded_parents((-1, 0), (1,)),
        ShapeError,
        "sizes has 1 entries; parents has 2, one per joint",
    ),
    (
        lambda: linalg.expanded_parents((-1, 0), (1, -1)),
        ModelError,
        "sizes[1] is -1; expected 0 or more",
    ),
    (
        lambda: linalg.expanded_parents((-1, 1), (1, 1)),
        ModelError,
        "parents[1] is 1; a regular numbering needs -1",
    ),
    (
        lambda: linalg.ltdl(scipy.sparse.eye_array(2)),
        ShapeError,
        "parents is missing; only a TreeMatrix has its own. linalg.parents_of(H) finds",
    ),
    (
        lambda: linalg.ltdl(scipy.sparse.eye_array(2), (-1, -1), overwrite=True),
        ShapeError,
        "overwrite=True needs an array; H is a sparse matrix",
    ),
    (
        lambda: linalg.ltdl(np.eye(2)[None], (-1, -1)).scipy(),
        ShapeError,
        "the factor is a batch of 1; SciPy has no batches of sparse matrices",
    ),
    (
        lambda: linalg.TreeMatrix((-1, -1), np.ones((3, 2))).scipy(),
        ShapeError,
        "values has shape (3, 2); SciPy has no batches",
    ),
    (
        lambda: linalg.augmented(np.eye(2), np.ones(2), (-1, -1)),
        ShapeError,
        "J has shape (2,); M needs (m, 2), a row for each constraint",
    ),
    (
        lambda: linalg.augmented(np.eye(2)[None], np.ones((1, 2)), (-1, -1)),
        ShapeError,
        "J has shape (1, 2); M needs (1, m, 2)",
    ),
    (
        lambda: linalg.augmented(np.eye(2), [[np.nan, 1.0]], (-1, -1)),
        ModelError,
        "J has entries that are not finite",
    ),
    (
        lambda: linalg.augmented(np.eye(2), [[1.0, 1.0], [2.0, 2.0]], (-1, -1)),
        ModelError,
        "the rows of J are dependent",
    ),
    (
        lambda: linalg.augmented(np.eye(2), [[1.0, 1.0]], (-1, -1)).solve([1.0], [1.0]),
        ShapeError,
        "Q has shape (1,); the factor needs (2,)",
    ),
    (
        lambda: linalg.augmented(np.eye(2), [[1.0, 1.0]], (-1, -1)).solve(
            [1.0, 2.0], [1.0, 2.0]
        ),
        ShapeError,
        "gamma has shape (2,); the factor needs (1,)",
    ),
    (
        lambda: linalg.ltdl(np.eye(2), (-1, -1)).solve(np.ones(2), threads=0),
        ArgumentError,
        "threads is 0; expected an integer, 1 or more",
    ),
]


@pytest.mark.parametrize(("call", "error", "message"), WRONG)
def test_what_is_wrong_is_said(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=re.escape(message)):
        call()
