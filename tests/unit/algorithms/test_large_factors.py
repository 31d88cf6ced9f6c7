"""Factors that are too large for straight-line code are refused before any work."""

from __future__ import annotations

import numpy as np
import pytest

import ramidyn
from ramidyn.algorithms import ltdl
from ramidyn.compilation import Request
from ramidyn.symbolic import expr
from ramidyn.symbolic.expr import Expr
from ramidyn.symbolic.trace import trace

LARGE = ramidyn.robots.chain(200, "plain")
BY_FACTOR = [
    (ramidyn.forward_dynamics(algorithm="ltdl"), "use algorithm='aba'"),
    (ramidyn.mass_matrix_inverse(algorithm="ltdl"), "use algorithm='aba'"),
    (
        ramidyn.mass_matrix_factor,
        r"factor its result with ramidyn.linalg.ltdl",
    ),
    (
        ramidyn.mass_matrix_solve,
        r"factor its result with ramidyn.linalg.ltdl",
    ),
    (
        ramidyn.operational_inertia("body199", algorithm="sfa"),
        "use algorithm='efpa'",
    ),
]


@pytest.mark.parametrize(("quantity", "remedy"), BY_FACTOR, ids=lambda x: str(x)[:30])
def test_a_large_factor_is_refused_with_its_count(
    quantity: ramidyn.Quantity, remedy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_work(*_: object) -> None:
        raise AssertionError("the factor was begun")

    monkeypatch.setattr(ltdl, "ancestors", no_work)
    count = r"\(200 degrees of freedom, up to 200 in a row\) takes 2,686,500 operations"
    with pytest.raises(ramidyn.CompileError, match=f"{count}.*{remedy}"):
        ramidyn.compile(quantity, LARGE)


@pytest.mark.parametrize(
    "quantity",
    [
        ramidyn.forward_dynamics,
        pytest.param(ramidyn.mass_matrix_inverse, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_the_choice_for_a_large_tree_does_not_trace_a_factor(
    quantity: ramidyn.Quantity,
) -> None:
    (choice,) = Request([quantity], ramidyn.robots.chain(150, "plain")).choose().choices
    assert choice.algorithm == "aba"
    assert set(choice.costs) == set(choice.traced) == {"aba"}


def test_a_bushy_tree_of_the_same_size_is_not_refused() -> None:
    bushy = ramidyn.robots.binary_tree(255, "plain")
    model = bushy.model
    assert ltdl.operations(model.tree.dof_parents) < ltdl.MOST_OPERATIONS / 50
    possible = ramidyn.forward_dynamics.algorithms(model, bushy.conventions)
    assert set(possible) == {"aba", "ltdl"}


@pytest.mark.parametrize(
    "parents",
    [[], [-1], [-1, 0], [-1, 0, 1, 2, 3], [-1, 0, 0, 1, 1, 2, -1, 6], [-1, -1, -1]],
    ids=str,
)
def test_the_operations_of_a_factor_are_known_before_it_is_made(
    parents: list[int],
) -> None:
    places = [(k, k) for k in range(len(parents))]
    for k, _ in list(places):
        above = parents[k]
        while above >= 0:
            places.append((k, above))
            above = parents[above]

    def factored(x: np.ndarray[tuple[int], np.dtype[np.object_]]) -> list[Expr]:
        M = {place: x[n] for n, place in enumerate(places)}
        L, D = ltdl.ltdl(M, parents)
        return [*L.values(), *D.values(), expr.const(0.0)]

    program = trace(factored, {"x": len(places)})
    counted = sum(1 for e in program.order if e.args)
    assert counted == ltdl.operations(parents)
