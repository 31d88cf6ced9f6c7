"""The checker finds every way in which a Program can be none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from ramidyn.symbolic.checker import check
from ramidyn.symbolic.expr import Condition, Expr
from ramidyn.symbolic.program import Program, Variable

X = Expr("input", (), ("x", 0), 0)
Y = Expr("input", (), ("x", 1), 0)
TWO = Expr("const", (), 2.0, 0)
SUM = Expr("add", (X, Y), None, 0)
LESS = Condition("lt", (X, Y), None, 0)
CHOSEN = Expr("where", (LESS, SUM, X), None, 0)
ROOT = Expr("pow", (X, TWO), None, 0)
GOOD = Program(
    "good",
    (Variable("x", (2,)),),
    (Variable("y", (2,)),),
    (CHOSEN, ROOT),
    (X, Y, TWO, SUM, LESS, CHOSEN, ROOT),
)


def ending_with(e: Expr) -> Program:
    return replace(GOOD, order=(*GOOD.order, e), results=(e, ROOT))


def test_a_program_passes() -> None:
    assert check(GOOD) is GOOD


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (
            lambda: replace(GOOD, inputs=GOOD.inputs * 2),
            "two inputs have the same name",
        ),
        (
            lambda: replace(GOOD, outputs=GOOD.outputs * 2),
            "two outputs have the same name",
        ),
        (lambda: replace(GOOD, results=(SUM,)), "results do not fill the outputs"),
        (lambda: replace(GOOD, order=GOOD.order[:-1]), "is not in the order"),
        (lambda: replace(GOOD, results=(LESS, SUM)), "is a condition"),
        (lambda: replace(GOOD, order=GOOD.order[::-1]), "comes before its argument"),
        (lambda: replace(GOOD, order=GOOD.order * 2), "appears twice in the order"),
        (lambda: ending_with(Expr("cbrt", (X,), None, 0)), "'cbrt' is not an operatio"),
        (lambda: ending_with(Expr("add", (X,), None, 0)), "has 1 arguments"),
        (lambda: ending_with(Expr("neg", (X,), None, 1)), "has no region"),
        (lambda: ending_with(Expr("neg", (X,), None, -1)), "has no region"),
        (lambda: ending_with(Expr("lt", (X, Y), None, 0)), "has a wrong kind"),
        (lambda: ending_with(Condition("neg", (X,), None, 0)), "has a wrong kind"),
        (lambda: ending_with(Expr("neg", (LESS,), None, 0)), "argument 0"),
        (lambda: ending_with(Expr("where", (X, X, Y), None, 0)), "argument 0"),
        (lambda: ending_with(Expr("where", (LESS, X, LESS), None, 0)), "argument 2"),
        (lambda: ending_with(Condition("and", (LESS, X), None, 0)), "argument 1"),
        (
            lambda: ending_with(Expr("const", (), float("nan"), 0)),
            "the constant nan is not finite",
        ),
        (
            lambda: ending_with(Expr("input", (), ("x", 2), 0)),
            r"x\[2\] is not an input",
        ),
        (
            lambda: ending_with(Expr("input", (), ("z", 0), 0)),
            r"z\[0\] is not an input",
        ),
        (lambda: ending_with(Expr("pow", (X, Y), None, 0)), "exponent that is not"),
    ],
)
def test_each_violation_is_found(broken: Callable[[], Program], message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check(broken())
