"""One state, whose equal operations run side by side: the bits are those of a batch."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ramidyn
from ramidyn.backend.llvm.build import ir_text
from ramidyn.backend.llvm.schedule import schedule_of_one
from ramidyn.backend.llvm.target import target
from ramidyn.compilation import Compilation
from ramidyn.compiler import Stages
from ramidyn.function import CallOptions, Function
from ramidyn.simplify.passes import lower, simplify
from support.programs import Recipe, random_recipe, recipes, values_for

BATCH = 5


def assert_rows_equal(f: Function, arrays: list[Any]) -> None:
    """Assert that one state gives the bits of its row in a batch."""
    whole = listed(f(*arrays))
    for k in range(BATCH):
        one = listed(f(*(np.array(a[k]) for a in arrays)))
        for y, row in zip(one, whole, strict=True):
            np.testing.assert_array_equal(y, row[k])


def listed(results: Any) -> list[Any]:
    """Return the results of a function, one or several."""
    if isinstance(results, dict):
        return list(results.values())
    return list(results) if isinstance(results, tuple) else [results]


@settings(max_examples=25, deadline=None)
@given(
    recipe=recipes(),
    count=st.integers(2, 5),
    dtype=st.sampled_from(["float64", "float32"]),
    seed=st.integers(0, 1000),
)
def test_repeated_programs(recipe: Recipe, count: int, dtype: str, seed: int) -> None:
    program = recipe.repeated(count)
    shapes = {v.name: v.shape for v in program.inputs}
    values = values_for(shapes, np.random.default_rng(seed), BATCH, dtype)
    f = Function(Compilation.of(program, CallOptions(dtype), Stages))
    assert_rows_equal(f, list(values.values()))


@pytest.mark.parametrize("count", [2, 3, 4])
def test_programs_of_several_cuts(count: int, rng: np.random.Generator) -> None:
    program = random_recipe(rng, 1500, functions=0.1).repeated(count)
    assert len(schedule_of_one(lower(simplify(program))).cuts) > 1
    shapes = {v.name: v.shape for v in program.inputs}
    f = Function(Compilation.of(program, CallOptions("float64"), Stages))
    assert_rows_equal(f, list(values_for(shapes, rng, BATCH).values()))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(
    "quantity", ["forward_dynamics", "inverse_dynamics", "mass_matrix"]
)
def test_a_humanoid(quantity: str, dtype: str, rng: np.random.Generator) -> None:
    robot = ramidyn.robots.humanoid30()
    f = ramidyn.compile(getattr(ramidyn, quantity), robot, dtype=dtype)
    q = robot.random_configuration(rng=rng, batch=BATCH)
    given = [q, *rng.normal(size=(2, BATCH, robot.nv))][: len(f.program.inputs)]
    assert_rows_equal(f, [x.astype(dtype) for x in given])


def test_loops_whose_values_are_carried(rng: np.random.Generator) -> None:
    """Two equal oscillators in one loop: slots are read and then written."""

    def step(x: Any) -> Any:
        p, v = x[:2], x[2:]
        for _ in range(3):
            v = v - 0.1 * np.sin(p) / (1.0 + p * p)
            p = p + 0.1 * v
        return np.concatenate([p, v])

    f = ramidyn.kernel(lambda x: ramidyn.repeat(step, x, 7), {"x": (4,)})
    assert_rows_equal(f, [rng.normal(size=(BATCH, 4))])


def test_limbs_that_go_into_different_loops(rng: np.random.Generator) -> None:
    """Calls that use what is side by side may have other arguments."""

    def limb(x: Any) -> Any:
        return (x[0] * np.cos(x[1]) + x[2]) / (1.0 + x[3] * x[3])

    def body(q: Any) -> Any:
        a, b = limb(q[:4]), limb(q[4:])
        u = ramidyn.repeat(lambda s: 0.5 * s + a, a, 3)
        v, w = ramidyn.repeat(lambda s: (s[0] * b + s[1], 0.3 * s[1]), (b, q[0]), 3)
        return u + v - w

    assert_rows_equal(ramidyn.kernel(body, {"q": (8,)}), [rng.normal(size=(BATCH, 8))])


def test_only_code_for_one_state_has_limbs_side_by_side() -> None:
    """A batch has its states side by side."""
    robot = ramidyn.robots.humanoid30("plain")
    f = ramidyn.compile(ramidyn.inverse_dynamics, robot, lanes=8)
    plan = schedule_of_one(lower(f.program))
    text = ir_text(plan, target("float64", 1))
    limbs = re.compile(r"fmuladd\.v[234]f64")
    assert limbs.search(text)
    assert not limbs.search(f.ir)
    assert "fmuladd.v8f64" in f.ir
