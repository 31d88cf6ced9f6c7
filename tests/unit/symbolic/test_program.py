"""Programs as data: round trips, digests, and walks of graphs of any depth."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from types import NoneType

import numpy as np
from hypothesis import given, settings

from ramidyn.symbolic import functions
from ramidyn.symbolic.checker import check
from ramidyn.symbolic.expr import Expr, const, symbol
from ramidyn.symbolic.interpreter import evaluate
from ramidyn.symbolic.program import Program, Variable, from_flat, live, reachable
from ramidyn.symbolic.trace import trace
from support.programs import random_program, recipes, values_for

DEEP = 40_000


def deep_chain(x: Expr) -> Expr:
    y = x
    for _ in range(DEEP // 2):
        y = y * x + 0.5
    return y


def pendulum(q: Expr, qd: Expr) -> dict[str, Expr]:
    return {
        "energy": 0.5 * qd * qd - 9.81 * functions.cos(q),
        "power": functions.where(q < 1.0, qd, -q),
    }


DIGEST_SCRIPT = """
from ramidyn.symbolic import functions
from ramidyn.symbolic.trace import trace
from ramidyn.simplify.passes import lower, simplify

def pendulum(q, qd):
    return {
        "energy": 0.5 * qd * qd - 9.81 * functions.cos(q),
        "power": functions.where(q < 1.0, qd, -q),
    }

program = trace(pendulum, {"q": (), "qd": ()})
print(program.digest(), lower(simplify(program)).digest())
"""


def same_order(a: Program, b: Program) -> bool:
    return a.flat() == b.flat()


@settings(max_examples=50, deadline=None)
@given(recipes())
def test_a_program_survives_pickling(recipe: object) -> None:
    program = recipe.program()
    again = pickle.loads(pickle.dumps(program))
    check(again)
    assert same_order(program, again)
    assert again.digest() == program.digest()
    values = values_for(recipe.inputs, np.random.default_rng(0))
    before, after = evaluate(program, values), evaluate(again, values)
    for name, array in before.items():
        np.testing.assert_array_equal(after[name], array)


def test_a_deep_program_survives_pickling() -> None:
    program = trace(deep_chain, {"x": ()})
    assert len(program.order) >= DEEP
    again = pickle.loads(pickle.dumps(program))
    assert same_order(program, again)


def test_flat_holds_no_nodes() -> None:
    program = trace(pendulum, {"q": (), "qd": ()})
    allowed = (str, bytes, int, tuple, NoneType)  # None: no loop over columns
    stack = [program.flat()]
    while stack:
        part = stack.pop()
        assert isinstance(part, allowed)
        stack.extend(part if isinstance(part, tuple) else ())
    assert same_order(from_flat(program.flat()), program)


def test_the_digest_is_the_same_in_every_process() -> None:
    digests = set()
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", DIGEST_SCRIPT]
        run = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=True
        )
        digests.add(run.stdout)
    assert len(digests) == 1
    here = trace(pendulum, {"q": (), "qd": ()}).digest()
    assert digests.pop().split()[0] == here


def test_the_digest_does_not_depend_on_what_was_traced_before(
    rng: np.random.Generator,
) -> None:
    before = trace(pendulum, {"q": (), "qd": ()}).digest()
    kept = [random_program(rng, 100), symbol("q") * 0.5, const(9.81)]
    assert trace(pendulum, {"q": (), "qd": ()}).digest() == before
    assert len(kept) == 3


def test_the_digest_tells_programs_apart() -> None:
    def program(c: float, shape: int = 2, output: str = "y") -> Program:
        return trace(lambda x: {output: x * c}, {"x": shape}, name="f")

    programs = [program(2.0), program(2.5), program(2.0, 3), program(2.0, output="z")]
    assert len({p.digest() for p in programs}) == 4


def test_uses_counts_arguments_and_results() -> None:
    program = trace(lambda x: [x * x, x * x + 1.0], {"x": ()})
    uses = {e.op: n for e, n in program.uses().items()}
    assert uses == {"input": 2, "const": 1, "mul": 2, "add": 1}


def test_live_keeps_what_results_need_in_order() -> None:
    x, y = symbol("x"), symbol("y")
    total, unused, product = x + y, x - y, (x + y) * x
    assert live((x, y, total, unused, product), [product]) == (x, y, total, product)


def test_live_finds_what_was_made_before_its_nodes() -> None:
    x, half = symbol("x"), const(0.53)
    product = x * half
    assert set(live((x, product), [product])) == {x, half, product}


def test_reachable_puts_arguments_first() -> None:
    program = trace(deep_chain, {"x": ()})
    order = reachable(program.results)
    assert len(order) == len(program.order)
    place = {e: i for i, e in enumerate(order)}
    assert all(place[a] < place[e] for e in order for a in e.args)


def test_inputs_are_laid_end_to_end() -> None:
    program = trace(lambda a, b, c: a + b[0] + c[0, 0], {"a": (), "b": 3, "c": (2, 2)})
    assert program.input_offsets() == {"a": 0, "b": 1, "c": 4}
    assert [v.size for v in program.inputs] == [1, 3, 4]
    assert Variable("empty", (3, 0)).size == 0


def test_a_program_shows_its_signature() -> None:
    program = trace(pendulum, {"q": (), "qd": ()})
    assert repr(program).startswith("Program pendulum(q[], qd[]) -> energy[], power[],")
    assert "energy = " in str(program)
