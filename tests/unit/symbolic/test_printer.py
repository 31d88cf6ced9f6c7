"""The text of small programs, as golden files (renew: pytest --update-golden)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ramidyn.simplify.passes import lower, simplify
from ramidyn.symbolic import functions
from ramidyn.symbolic.expr import Expr, region
from ramidyn.symbolic.printer import text
from ramidyn.symbolic.program import Program
from ramidyn.symbolic.trace import trace
from support.paths import GOLDENS


def pendulum(q: Expr, qd: Expr, tau: Expr) -> dict[str, Expr]:
    m, length, g = 1.5, 0.8, 9.81
    return {
        "qdd": (tau - m * g * length * functions.sin(q)) / (m * length**2),
        "energy": m * (length * qd) ** 2 / 2 - m * g * length * functions.cos(q),
    }


def rotation(q: Expr, p: Any) -> Any:
    s, c = functions.sin(q), functions.cos(q)
    R = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    region("rotate")
    turned = R @ p
    region("lengths")
    return {"turned": turned, "square": turned @ turned, "R": R}


def choices(x: Any, A: Any) -> dict[str, Any]:
    inside = (x[0] < A[0, 1]) & ~(x[1] == 0) | (x[0] <= -1)
    return {
        "chosen": functions.where(inside, abs(x), functions.minimum(x, 1.0)),
        "largest": functions.maximum(A[1, 0], A[1, 1]),
        "angle": functions.atan2(x[0], 1 + A[0, 0] ** 1.5),
        "same": x[0],
        "constant": 2.5,
    }


CASES: dict[str, Program] = {
    "pendulum": trace(pendulum, {"q": (), "qd": (), "tau": ()}),
    "rotation": trace(rotation, {"q": (), "p": 3}),
    "choices": trace(choices, {"x": 2, "A": (2, 2)}),
}


@pytest.mark.parametrize("stage", ["traced", "lowered"])
@pytest.mark.parametrize("name", CASES)
def test_the_text_of_a_program_is_the_golden_one(
    name: str, stage: str, update_golden: bool
) -> None:
    program = CASES[name]
    if stage == "lowered":
        program = lower(simplify(program))
    path = GOLDENS / f"program_{name}_{stage}.txt"
    found = text(program) + "\n"
    if update_golden:
        path.write_text(found, encoding="utf-8")
    assert found == path.read_text(encoding="utf-8")


def test_a_long_text_says_how_much_is_left() -> None:
    lines = text(CASES["rotation"], most=4).splitlines()
    whole = text(CASES["rotation"]).splitlines()
    assert lines[:4] == whole[:4]
    assert lines[4:] == [
        f"  ... {len(whole) - 4} more lines: ramidyn.symbolic.printer.text"
    ]
