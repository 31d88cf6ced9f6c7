"""Negrut, Serban & Potra (1997): their algorithms solve, and take what they print."""

from __future__ import annotations

import numpy as np
import pytest

from ramidyn import linalg
from ramidyn.algorithms.loops.counting import STEPS
from ramidyn.catalog.paper_robots import hmmwv
from ramidyn.explain.shape import TreeShape
from ramidyn.papers import negrut
from ramidyn.papers.document import robot_of
from ramidyn.papers.negrut_solvers import (
    SOLVES,
    Sparsity,
    algorithm_d,
    algorithm_s,
    algorithm_s_counts,
    dense_notes,
    minus,
    sparse_notes,
)
from ramidyn.symbolic.count import Ops
from ramidyn.tree.tree import ancestors
from support.close import assert_close


@pytest.fixture(scope="module")
def vehicle() -> Sparsity:
    return Sparsity.of(robot_of(hmmwv("general")))


class Number(float):
    """A float with the method by which block Cholesky takes roots."""

    def sqrt(self) -> Number:
        return Number(float(self) ** 0.5)

    def __sub__(self, other: float) -> Number:
        return Number(float(self) - float(other))

    def __mul__(self, other: float) -> Number:
        return Number(float(self) * float(other))

    def __truediv__(self, other: float) -> Number:
        return Number(float(self) / float(other))


def test_both_algorithms_solve_the_augmented_system(
    vehicle: Sparsity, rng: np.random.Generator
) -> None:
    n, m = len(vehicle.parents), len(vehicle.columns)
    L = np.tril(rng.normal(size=(n, n)) * linalg.sparsity_pattern(vehicle.parents))
    M = L.T @ L + n * np.eye(n)
    J = np.zeros((m, n))
    for r, columns in enumerate(vehicle.columns):
        J[r, list(columns)] = rng.normal(size=len(columns))
    Q, gamma = rng.normal(size=n), rng.normal(size=m)
    whole = np.block([[M, J.T], [J, np.zeros((m, m))]])
    expected = np.linalg.solve(whole, np.concatenate([Q, gamma]))
    dense = algorithm_d(M.tolist(), J.tolist(), Q.tolist(), gamma.tolist())
    entries = {
        (k, i): Number(M[k, i])
        for k in range(n)
        for i in (k, *ancestors(vehicle.parents, k))
    }
    rows = [{k: Number(J[r, k]) for k in c} for r, c in enumerate(vehicle.columns)]
    sparse = algorithm_s(entries, rows, list(map(Number, Q)), list(gamma), vehicle)
    for found in (dense, sparse):
        assert_close([float(x) for part in found for x in part], expected)


def test_steps_of_the_sparse_algorithm_are_the_printed_ones(vehicle: Sparsity) -> None:
    counts = algorithm_s_counts(vehicle)
    for step in ("1", "2", "3.1", "3.4", "4"):
        ops, printed = counts[step], negrut.printed_row(negrut.SPARSE, step)
        letters = {"A": ops.add, "M": ops.mul, "D": ops.div, "SQ": ops.sqrt}
        assert letters == printed, step
    assert counts["3.3"].mul == negrut.printed_row(negrut.SPARSE, "3.3")["M"]
    without = minus(counts["Total"], counts[SOLVES])
    assert (without.div, without.sqrt) == (513, 43)
    assert minus(without, without) == Ops()


def test_notes_are_counted(vehicle: Sparsity) -> None:
    printed = {step: negrut.printed_row(negrut.SPARSE, step) for step in STEPS}
    notes = sparse_notes(vehicle, printed)
    assert notes["3.2"].endswith("2 fewer, as many as it has at the joint of rack")
    assert "take 844 A: 10 more than printed" in notes["3.3"]
    assert "takes 145 A, and 10 M more than printed" in notes["3.5"]
    other = {**printed, "3.2": {"A": 169, "M": 169, "D": 0, "SQ": 0}}
    assert sparse_notes(vehicle, other)["3.2"].endswith("are 5 fewer")
    note = dense_notes(16, negrut.DENSE, STEPS.index("3.4"))
    assert "the printed M fit 3 x 680 + 240" in note
    assert "15,914, fits 3 x 560 + 240 = 1,920 here, not 2,280: a guess" in note
    right = {"A": (920, 920), "M": (920, 920)}
    assert dense_notes(16, right, 0).startswith("680 M to factor and 240 for two")


# ------------------------------------------------------------ section 5


@pytest.mark.parametrize("name", negrut.TREES)
def test_branches_in_parallel_take_no_more(name: str) -> None:
    s = TreeShape(negrut.TREES[name]())
    two, four = s.on_threads(2), s.on_threads(4)
    assert s.critical_path <= four <= two <= s.factor_cost
    assert 2 * two >= s.factor_cost


def test_the_critical_path_is_that_of_a_limb_and_its_trunk() -> None:
    s = TreeShape(negrut.comb(6, 10, 20))
    limb = TreeShape(tuple(range(-1, 25)))
    assert s.critical_path == limb.factor_cost  # one limb on the trunk
    trunk = TreeShape(tuple(range(-1, 5))).factor_cost
    assert s.factor_cost == trunk + 10 * (limb.factor_cost - trunk)
    assert s.on_threads(2) == trunk + 5 * (limb.factor_cost - trunk)
    assert TreeShape(()).critical_path == 0
    assert s.main_share == 26 / 206
