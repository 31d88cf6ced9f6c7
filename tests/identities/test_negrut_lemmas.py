"""The lemmas and corollaries of Negrut, Serban & Potra (1997), by their names.

F(i) are the descendants of body i, F[i] those and i; d[i] is the path from the base to
i, d(r, w] that from below r to w. All over random trees.
"""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

import ramidyn
from ramidyn.algorithms.block_cholesky import block_cholesky, blocks_of
from ramidyn.algorithms.loops.cuts import cuts_of
from ramidyn.errors import ModelError
from ramidyn.papers.negrut_solvers import (
    algorithm_d,
    gauss_back,
    gauss_factor,
    gauss_forward,
)
from ramidyn.papers.negrut_solvers import cholesky as dense_cholesky
from ramidyn.symbolic.expr import const
from ramidyn.tree.tree import ROOT, ancestors, renumbering, sparsity_pattern
from support.close import assert_close

Parents = tuple[int, ...]


def random_parents(rng: np.random.Generator, n: int) -> Parents:
    return tuple(int(rng.integers(-1, i)) for i in range(n))


def path(parents: Parents, w: int) -> list[int]:
    """d[w]"""
    return [w, *ancestors(parents, w)]


def family(parents: Parents, r: int) -> list[int]:
    """F(r); ROOT stands for a body below the base"""
    if r == ROOT:
        return list(range(len(parents)))
    return [i for i in range(len(parents)) if r in ancestors(parents, i)]


@pytest.fixture(params=range(8))
def tree(request: pytest.FixtureRequest) -> tuple[Parents, np.random.Generator]:
    rng = np.random.default_rng(request.param)
    return random_parents(rng, int(rng.integers(2, 14))), rng


Tree = tuple[Parents, np.random.Generator]


def test_lemma_1_sums_over_families_are_sums_over_paths(tree: Tree) -> None:
    parents, rng = tree
    x, y = rng.normal(size=(2, len(parents), 3, 3))
    for r in range(ROOT, len(parents)):
        own = set() if r == ROOT else set(path(parents, r))
        left = right = np.zeros((3, 3))
        for s in family(parents, r):
            for w in [s, *family(parents, s)]:
                left = left + x[w] @ y[s]
        for w in family(parents, r):
            for s in set(path(parents, w)) - own:
                right = right + x[w] @ y[s]
        assert_close(left, right)


def test_corollary_1_is_lemma_1_over_the_whole_tree(tree: Tree) -> None:
    parents, rng = tree
    bodies = range(len(parents))
    x, y = rng.normal(size=(2, len(parents), 3))
    left = sum(y[s] @ x[w] for s in bodies for w in [s, *family(parents, s)])
    right = sum(y[s] @ x[w] for w in bodies for s in path(parents, w))
    assert_close(left, right)


def test_corollary_2_kinetic_energy_is_the_sum_over_bodies() -> None:
    robot = ramidyn.robots.hmmwv("general")
    rng = np.random.default_rng(0)
    q, qd = robot.random_configuration(rng), rng.normal(size=robot.nv)
    total = 0.0
    for body in robot.description.bodies:
        v, w = np.split(robot.velocity(q, qd, body.name, expressed_in="local"), 2)
        own = body.inertial
        assert own is not None
        at_center = v + np.cross(w, own.com)
        total += 0.5 * (own.mass * at_center @ at_center + w @ own.inertia @ w)
    assert_close(total, 0.5 * qd @ robot.mass_matrix(q) @ qd)
    assert_close(total, robot.kinetic_energy(q, qd))


def test_lemma_2_descendants_first_leaves_no_fill_in(tree: Tree) -> None:
    parents, rng = tree
    n = len(parents)
    shuffled = rng.permutation(n)  # any numbering
    place = {int(old): new for new, old in enumerate(shuffled)}
    given = tuple(
        ROOT if parents[old] == ROOT else place[parents[old]] for old in shuffled
    )
    b = renumbering(given)
    p = {u: i for i, u in enumerate(b)}
    assert sorted(b) == list(range(n))
    for v in range(n):
        assert given[v] == ROOT or p[v] < p[given[v]]
    pattern = sparsity_pattern(parents)[np.ix_(shuffled, shuffled)]
    M = np.where(pattern, rng.normal(size=(n, n)), 0.0)
    M = M + M.T + 10 * n * np.eye(n)
    L = np.linalg.cholesky(M[np.ix_(b, b)])
    assert not L[~np.tril(pattern[np.ix_(b, b)])].any()


def test_lemma_2_the_other_way_around_fills_in() -> None:
    parents = (-1, 0, 0)
    M = np.where(sparsity_pattern(parents), 1.0, 0.0) + 3 * np.eye(3)
    assert np.linalg.cholesky(M)[2, 1] != 0.0  # ancestors first
    b = renumbering(parents)
    assert (np.linalg.cholesky(M[np.ix_(b, b)]) == 0.0).sum() == 4


@pytest.mark.parametrize(
    ("parents", "text"),
    [
        ((-1, 5), r"parents\[1\] is 5; expected -1, or a body from 0 to 1"),
        ((1, 0), "body 0 is its own ancestor; expected a tree"),
    ],
)
def test_renumbering_takes_trees_only(parents: Parents, text: str) -> None:
    with pytest.raises(ModelError, match=text):
        renumbering(parents)


def test_block_cholesky_is_the_papers_factor() -> None:
    robot = ramidyn.robots.hmmwv("general")
    rng = np.random.default_rng(0)
    tree = robot.tree
    M = robot.mass_matrix(robot.random_configuration(rng))
    entries = {
        (k, i): const(float(M[k, i]))
        for k in range(robot.nv)
        for i in (k, *ancestors(tree.dof_parents, k))
    }
    blocks = block_cholesky(blocks_of(entries, tree.dofs, tree.parents), tree.parents)
    L = np.zeros_like(M)
    for (k, i), block in blocks.items():
        for a, row in zip(tree.dofs[k], block, strict=True):
            for c, value in zip(tree.dofs[i], row, strict=False):
                L[a, c] = value.value
    assert_close(L.T @ L, M)
    b = np.array(renumbering(tree.dof_parents))
    reordered = np.linalg.cholesky(M[np.ix_(b, b)])
    assert_close(np.abs(reordered).sum(), np.abs(L).sum())


def test_lemma_3_loops_reach_no_further_than_their_bodies() -> None:
    robot = ramidyn.robots.hmmwv("general")
    rng = np.random.default_rng(0)
    q = robot.random_configuration(rng)
    tree = robot.tree
    b = np.array(renumbering(tree.dof_parents))
    L = np.linalg.cholesky(robot.mass_matrix(q)[np.ix_(b, b)])
    T = np.linalg.solve(L, robot.constraint_jacobian(q)[:, b].T)
    row = 0
    for cut in cuts_of(robot.model):
        bodies = {*tree.support(cut.a), *tree.support(cut.b)}
        reached = {k for i in bodies for k in tree.dofs[i]}
        away = [i for i, k in enumerate(b) if int(k) not in reached]
        assert away
        column = T[:, row : row + len(cut.rows)]
        assert np.abs(column[away]).max() <= 1e-14 * np.abs(column).max()
        row += len(cut.rows)


def test_lemma_4_a_column_needs_those_of_its_descendants_only(tree: Tree) -> None:
    parents, rng = tree
    n = len(parents)
    pattern = sparsity_pattern(parents)
    M = np.where(pattern, rng.normal(size=(n, n)), 0.0)
    M = M + M.T + 10 * n * np.eye(n)
    b = renumbering(parents)
    whole = np.linalg.cholesky(M[np.ix_(b, b)])
    for j, v in enumerate(b):
        needed = {i for i in range(j) if b[i] in family(parents, v)}
        for k in (i for i in range(j, n) if b[i] in path(parents, v)):
            entry = M[b[k], v] - sum(whole[j, i] * whole[k, i] for i in needed)
            own = M[v, v] - sum(whole[j, i] ** 2 for i in needed)
            assert_close(whole[k, j], entry / math.sqrt(own))


def test_corollary_3_branches_factor_one_without_the_other(tree: Tree) -> None:
    parents, rng = tree
    n = len(parents)
    M = np.where(sparsity_pattern(parents), rng.normal(size=(n, n)), 0.0)
    M = M + M.T + 10 * n * np.eye(n)
    b = renumbering(parents)
    p = {u: i for i, u in enumerate(b)}
    whole = np.linalg.cholesky(M[np.ix_(b, b)])
    for u, v in product(range(n), repeat=2):
        branch, other = [u, *family(parents, u)], [v, *family(parents, v)]
        if set(branch) & {*other, *path(parents, v)} or v in path(parents, u):
            continue
        changed = M.copy()
        changed[np.ix_(other, other)] += n * np.eye(len(other))
        again = np.linalg.cholesky(changed[np.ix_(b, b)])
        columns = [p[w] for w in branch]
        assert_close(again[:, columns], whole[:, columns])


def test_dense_solvers_solve() -> None:
    rng = np.random.default_rng(0)
    root = rng.normal(size=(5, 5))
    M = root @ root.T + 5 * np.eye(5)
    J, Q, gamma = rng.normal(size=(2, 5)), rng.normal(size=5), rng.normal(size=2)
    assert_close(
        np.array(
            [
                [*row, *[0.0] * (4 - i)]
                for i, row in enumerate(dense_cholesky(M.tolist()))
            ]
        ),
        np.linalg.cholesky(M),
    )
    A = np.block([[M, J.T], [J, np.zeros((2, 2))]])
    exact = np.linalg.solve(A, np.concatenate([Q, gamma]))
    qdd, multipliers = algorithm_d(M.tolist(), J.tolist(), Q.tolist(), gamma.tolist())
    assert_close(np.array([*qdd, *multipliers]), exact)
    LU = gauss_factor(A.tolist())
    x = gauss_back(LU, gauss_forward(LU, [*Q, *gamma]))
    assert_close(np.array(x), exact)
