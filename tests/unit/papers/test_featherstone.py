"""Featherstone (2005): what the paper prints, from programs and loops that we ship."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from ramidyn.algorithms import ltdl as tree_factor
from ramidyn.explain.crba_cost import CrbaCost
from ramidyn.explain.shape import TreeShape, family
from ramidyn.papers import featherstone, featherstone_humanoid
from ramidyn.papers.featherstone import OPERATIONS, TREE1_EXPANDED, counted
from ramidyn.papers.operation_counts import factor_count
from ramidyn.symbolic.count import count
from ramidyn.symbolic.trace import trace
from ramidyn.tree.tree import ROOT, ancestors

TREE1 = (-1, 0, 0, 1, 1, 2, 2)
HUMANOID = featherstone.humanoid_parents()
Parents = tuple[int, ...]


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("parents", [TREE1_EXPANDED, HUMANOID], ids=["tree1", "30"])
def test_table_1_is_met_by_the_programs(operation: str, parents: Parents) -> None:
    program, _, formula = OPERATIONS[operation]
    assert counted(program, parents) == formula(TreeShape(parents))


@pytest.mark.parametrize("operation", OPERATIONS)
def test_native_loops_trade_divisions_and_collect_once_a_row(operation: str) -> None:
    _, loops, formula = OPERATIONS[operation]
    s = TreeShape(HUMANOID)
    printed, ours = formula(s), loops(HUMANOID)
    assert ours.sqrt == printed.sqrt
    if "factorize" in operation:
        assert ours.add == printed.add
        assert ours.mul == s.d2 + 2 * s.d1  # by the inverse pivot, twice an entry
        assert ours.div == s.n + printed.sqrt
    else:
        assert (ours.mul, ours.div) == (printed.mul, printed.div)
        goes_up = "ᵀ" in operation or "back" in operation
        assert ours.add == printed.add + (s.n if goes_up else 0)


def test_unknown_numbers_count_what_a_trace_counts() -> None:
    pairs = [(k, i) for k in range(30) for i in (k, *ancestors(HUMANOID, k))]

    def run(v: Any) -> Any:
        L, D = tree_factor.ltdl(dict(zip(pairs, v, strict=True)), HUMANOID)
        return np.array([*L.values(), *D.values()], dtype=object)

    traced = count(trace(run, {"v": len(pairs)}))
    assert counted(OPERATIONS["LTDL factorize"][0], HUMANOID) == traced


@pytest.mark.parametrize("name", featherstone.FORMULAS)
def test_table_2_is_met_by_the_factorization(name: str) -> None:
    for m in range(2, 7):
        n, d1, d2 = featherstone.FORMULAS[name](m)
        assert featherstone.factor_operations(name, n) == d1 + 2 * d2
        assert factor_count(family(name, n), roots=False).add == d2


def test_the_analysis_of_crba_has_the_printed_numbers() -> None:
    for k, robot in enumerate(featherstone_humanoid.two_robots()):
        cost = CrbaCost.of(robot.tree)
        ours = dict(cost.table())
        for name, printed in featherstone_humanoid.ANALYSIS.items():
            assert printed[k] in (None, ours[name]), (name, k)
        printed_cost = featherstone_humanoid.CRBA_PRINTED[k]
        assert (cost.cost.mul, cost.cost.add) == printed_cost
    tree1 = CrbaCost(TREE1)
    assert (tree1.non_dh, tree1.D0, tree1.D1) == (3, 6, 10)


@pytest.mark.parametrize("seed", range(20))
def test_no_other_choice_of_dh_nodes_is_cheaper(seed: int) -> None:
    rng = np.random.default_rng(seed)
    parents = (ROOT, *(int(rng.integers(0, i)) for i in range(1, 8)))
    cost = CrbaCost(parents, frozenset({0}))
    children = [[i for i, p in enumerate(parents) if p == b] for b in range(8)]
    most = 0
    for choice in product(*(c or [None] for c in children)):
        most = max(most, sum(cost.subtree_sizes[i] for i in choice if i is not None))
    assert cost.D1a == most
    assert cost.D0a + cost.D0b == cost.D0
    assert cost.D1a + cost.D1b == cost.D1
    assert cost.fixed_base_cost.mul - cost.saving.mul == cost.cost.mul


def test_figure_7_is_met_by_the_papers_formulas() -> None:
    assert featherstone_humanoid.evaluated() == featherstone_humanoid.PRINTED


@pytest.mark.slow
def test_figure_7_is_met_by_the_papers_own_crba() -> None:
    counts = featherstone_humanoid.our_counts()
    by_crba = counts[featherstone_humanoid.BY_CRBA]
    by_aba = counts[featherstone_humanoid.BY_ABA]
    ratios = [sum(a) / sum(b) for a, b in zip(by_crba, by_aba, strict=True)]
    assert f"{ratios[0]:.2f}" == "1.19"  # printed: 1.14; our ABA takes less yet
    assert f"{ratios[1]:.2f}" == "2.68"  # printed: 2.57
    for name, printed in featherstone_humanoid.PRINTED.items():
        for ours, theirs in zip(counts[name], printed, strict=True):
            assert ours[0] <= theirs[0]
            assert ours[1] <= theirs[1]
