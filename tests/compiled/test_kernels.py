"""Native code against the interpreter: every lane width, every remainder of a batch."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import re
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ramidyn
from ramidyn import robots
from ramidyn.compilation import Compilation
from ramidyn.compiler import Stages
from ramidyn.errors import ArgumentError, CompileError
from ramidyn.function import CallOptions, Function
from ramidyn.kernels import kernel
from ramidyn.symbolic import functions
from ramidyn.symbolic.interpreter import evaluate
from ramidyn.symbolic.program import Program
from support.programs import (
    Recipe,
    assert_same,
    random_recipe,
    recipes,
    values_for,
)

WIDTHS = [("float64", n) for n in (1, 2, 4, 8)]
WIDTHS += [("float32", n) for n in (1, 2, 4, 8, 16)]
SEEDS = range(2)


def function(program: Program, *options: Any, **named: Any) -> Function:
    """Return a program as a function, not compiled yet."""
    return Function(Compilation.of(program, CallOptions(*options, **named), Stages))


def outputs_of(program: Program, results: Any) -> dict[str, Any]:
    """Return what a function returned by name, one output or several."""
    names = [v.name for v in program.outputs]
    if isinstance(results, dict):
        return results
    if len(names) == 1 and not isinstance(results, tuple):
        results = (results,)
    return dict(zip(names, results, strict=True))


def native(f: Function, program: Program, values: dict[str, Any]) -> dict[str, Any]:
    return outputs_of(program, f(*(values[v.name] for v in program.inputs)))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("dtype", "lanes"), WIDTHS)
def test_native_equals_interpreter_for_every_remainder(
    dtype: str, lanes: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    recipe = random_recipe(rng, 120, functions=0.5)
    program = recipe.program()
    f = function(program, dtype, lanes)
    values = values_for(recipe.inputs, rng, batch=2 * lanes + 1, dtype=dtype)
    expected = evaluate(program, values, dtype)
    for batch in range(2 * lanes + 2):
        some = {name: a[:batch].copy() for name, a in values.items()}
        result = native(f, program, some)
        assert_same(result, {n: a[:batch] for n, a in expected.items()}, dtype)


@settings(max_examples=25, deadline=None)
@given(recipes(), st.sampled_from(WIDTHS), st.integers(0, 1000))
def test_native_equals_interpreter(
    recipe: Recipe, width: tuple[str, int], seed: int
) -> None:
    dtype, lanes = width
    program = recipe.program()
    f = function(program, dtype, lanes)
    rng = np.random.default_rng(seed)
    values = values_for(recipe.inputs, rng, batch=lanes + 1, dtype=dtype)
    expected = evaluate(program, values, dtype)
    assert_same(native(f, program, values), expected, dtype)
    one = {name: a[0] for name, a in values.items()}
    first = {name: a[0] for name, a in expected.items()}
    assert_same(native(f, program, one), first, dtype)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_program_of_several_cuts_equals_the_interpreter(
    dtype: str, rng: np.random.Generator
) -> None:
    recipe = random_recipe(rng, 6000, functions=0.05)
    program = recipe.program()
    assert len(program.order) > 10_000
    f = function(program, dtype)
    assert f.ir.count("define void @cut") >= 4
    values = values_for(recipe.inputs, rng, batch=f.lanes + 3, dtype=dtype)
    assert_same(native(f, program, values), evaluate(program, values, dtype), dtype)


def test_threads_compute_what_one_thread_computes(rng: np.random.Generator) -> None:
    recipe = random_recipe(rng, 200, functions=0.3)
    program = recipe.program()
    values = values_for(recipe.inputs, rng, batch=3001)
    one = native(function(program), program, values)
    four = native(function(program, threads=4), program, values)
    for name, array in one.items():
        np.testing.assert_array_equal(four[name], array)


@pytest.mark.parametrize("piece", [100, 9600])
def test_streamed_batches_equal_those_that_are_not(
    monkeypatch: pytest.MonkeyPatch, piece: int
) -> None:
    robot = robots.humanoid30()
    f = ramidyn.compile(ramidyn.mass_matrix, robot)
    counts = [8 * groups + tiles for groups in (1, 2, 4) for tiles in (0, 1, 5)]
    states = [robot.random_configuration(0, batch=f.lanes * n - 1) for n in counts]
    expected = [f(q) for q in states]
    monkeypatch.setattr("ramidyn.backend.runtime.memory_layout.FAR", 1)
    monkeypatch.setattr("ramidyn.backend.runtime.memory_layout.PIECE", piece)
    streamed = ramidyn.compile(ramidyn.mass_matrix, robot)
    for q, M in zip(states, expected, strict=True):
        np.testing.assert_array_equal(streamed(q), M)


@pytest.mark.usefixtures("streamed")
@pytest.mark.parametrize("n", [92, 94])
def test_large_workspaces_are_streamed_at_once(
    n: int, rng: np.random.Generator
) -> None:
    """States of 92 by 92 doubles begin with lines, those of 94 with halves of lines."""
    f = ramidyn.kernel(np.outer, {"a": n, "b": n}, name="outer")
    for batch in (1, 3 * f.lanes - 1):
        a, b = rng.normal(size=(2, batch, n))
        np.testing.assert_array_equal(f(a, b), a[:, :, None] * b[:, None, :])


def test_batch_last_is_batch_first_turned(rng: np.random.Generator) -> None:
    recipe = random_recipe(rng, 100, functions=0.3)
    program = recipe.program()
    values = values_for(recipe.inputs, rng, batch=11)
    turned = {n: np.moveaxis(a, 0, -1).copy() for n, a in values.items()}
    f = function(program, layout="batch_last")
    expected = evaluate(program, values)
    result = {n: np.moveaxis(a, -1, 0) for n, a in native(f, program, turned).items()}
    assert_same(result, expected)


def test_outputs_may_be_inputs_constants_and_duplicates() -> None:
    def f(x: Any) -> Any:
        return {"a": x, "b": [1.5, x[0] * x[1], x[0] * x[1]], "c": x[1] < x[0]}

    compiled = kernel(f, {"x": 2})
    results = outputs_of(compiled.program, compiled(np.array([[3.0, 5.0], [2.0, 1.0]])))
    np.testing.assert_array_equal(results["a"], [[3.0, 5.0], [2.0, 1.0]])
    np.testing.assert_array_equal(results["b"], [[1.5, 15.0, 15.0], [1.5, 2.0, 2.0]])
    np.testing.assert_array_equal(results["c"], [0.0, 1.0])


def test_inputs_that_nothing_needs_are_still_arguments() -> None:
    f = kernel(lambda _x, y: y * 2.0, {"x": 3, "y": ()})
    assert f(np.zeros(3), 4.0) == 8.0


def test_calls_from_eight_threads_agree(rng: np.random.Generator) -> None:
    recipe = random_recipe(rng, 150, functions=0.3)
    program = recipe.program()
    f = function(program)  # not prepared: all compile at their first call
    batches = [values_for(recipe.inputs, rng, batch=17) for _ in range(8)]

    def work(k: int) -> list[dict[str, Any]]:
        single = {name: a[0] for name, a in batches[k].items()}
        return [native(f, program, single if n % 2 else batches[k]) for n in range(40)]

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(work, range(8)))
    for values, results in zip(batches, found, strict=True):
        expected = evaluate(program, values)
        first = {name: a[0] for name, a in expected.items()}
        for n, result in enumerate(results):
            assert_same(result, first if n % 2 else expected)


def norm(x: Any) -> Any:
    return functions.sqrt(x @ x)


def test_a_function_survives_pickling_to_a_spawned_process() -> None:
    x = np.array([[2.0, 3.0, 6.0], [0.0, 3.0, 4.0]])
    f = kernel(norm, {"x": 3}, dtype="float32", lanes=2, threads=2)
    again = pickle.loads(pickle.dumps(f))
    assert again._compilation.options == f._compilation.options
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        there = pool.apply_async(f, (x,)).get(timeout=120)
    np.testing.assert_array_equal(there, np.array([7.0, 5.0], dtype=np.float32))
    np.testing.assert_array_equal(there, f(x))
    assert there.dtype == np.float32


def test_no_compiler_is_needed(tmp_path: Path) -> None:
    script = """
        import numpy as np, shutil
        from ramidyn.kernels import kernel
        from ramidyn.symbolic.functions import sin, atan2

        assert shutil.which("cc") is shutil.which("ld") is shutil.which("as") is None
        f = kernel(lambda x: sin(x) * atan2(x, 2.0), {"x": ()})
        x = np.linspace(-1.0, 1.0, 9)
        assert np.allclose(f(x), np.sin(x) * np.arctan2(x, 2.0), rtol=1e-14, atol=0)
        assert not f.cached
        print("computed")
    """
    environment = {
        **os.environ,
        "PATH": str(tmp_path),
        "RAMIDYN_CACHE_DIR": str(tmp_path / "cache"),
    }
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (run.returncode, run.stdout) == (0, "computed\n"), run.stderr


def test_functions_in_cycles_are_freed_in_any_order() -> None:
    script = """
        import gc
        import numpy as np
        from ramidyn.kernels import kernel

        for k in range(20):
            f = kernel(lambda x: x * (k + 0.5), {"x": 3})
            assert f(np.ones(3))[0] == k + 0.5
            f.itself = f
            del f
            gc.collect()
        print("freed")
    """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (run.returncode, run.stdout) == (0, "freed\n"), run.stderr


def test_code_is_cached_by_what_it_computes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAMIDYN_CACHE_DIR", str(tmp_path))

    def compiled(c: float, **options: Any) -> Function:
        return kernel(lambda x: x * c + 1.0, {"x": 2}, name="f", **options).prepare()

    assert not kernel(norm, {"x": 3}).cached
    assert not compiled(2.0).cached
    assert compiled(2.0).cached
    assert not compiled(2.5).cached
    assert not compiled(2.0, dtype="float32").cached
    np.testing.assert_array_equal(compiled(2.0)(np.array([1.0, 2.0])), [3.0, 5.0])


def test_values_with_a_slot_are_read_again_where_they_are_needed_far_away() -> None:
    def far(x: Any, y: Any) -> dict[str, Any]:
        first = x * y
        z = first
        for k in range(100):  # no value of this chain has a slot
            z = z * y + 0.01 * k
        return {"first": first, "z": z, "last": z + x + first}

    f = kernel(far, {"x": (), "y": ()}, lanes=4)
    values = np.linspace(0.1, 0.9, 9)
    inputs = {"x": values, "y": values[::-1].copy()}
    meant = evaluate(f.program, inputs)
    for name, found in f(*inputs.values())._asdict().items():
        np.testing.assert_allclose(found, meant[name], rtol=1e-14)
    read = re.findall(r"getelementptr i8, ptr (%in|%out), i64 (\d+)\n +%v", f.ir)
    assert read.count(("%in", "0")) == 2
    assert read.count(("%in", "32")) < 10  # y is near all the time
    assert [p for p, _ in read].count("%out") == 1


def test_every_stage_can_be_looked_at() -> None:
    f = kernel(norm, {"x": 3}, lanes=2)
    assert (f.name, f.lanes) == ("norm", 2)
    assert str(f.ops) == "3 mul, 2 add, 1 sqrt"
    assert repr(f) == "norm: 3 mul, 2 add, 1 sqrt; float64 x 2"
    assert "<2 x double>" in f.ir
    assert "cut0" in f.assembly
    traced = f.compile_seconds
    assert 0.0 < traced < f.prepare().compile_seconds


def test_results_repeat_bit_for_bit(rng: np.random.Generator) -> None:
    recipe = random_recipe(rng, 300, functions=0.3)
    program = recipe.program()
    values = values_for(recipe.inputs, rng, batch=9)
    first = native(function(program), program, values)
    again = native(function(recipe.program()), program, values)
    for name, array in first.items():
        np.testing.assert_array_equal(again[name], array)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dtype": "float16"}, "dtype is float16; possible: float64, float32"),
        ({"dtype": int}, "dtype is int64; possible: float64, float32"),
        ({"dtype": "fancy"}, "dtype is 'fancy'; possible: float64, float32"),
        ({"lanes": 3}, r"lanes is 3; possible: 1, 2, 4, 8, 16, 32, 64"),
        ({"lanes": 0}, r"lanes is 0; possible: 1, 2, 4, 8, 16, 32, 64"),
        ({"lanes": "8"}, r"lanes is '8'; possible: 1, 2, 4, 8, 16, 32, 64"),
        ({"threads": 0}, "threads is 0; expected 1 or more"),
        ({"threads": 1.5}, "threads is 1.5; expected 1 or more"),
        ({"layout": "columns"}, "layout is 'columns'; possible: batch_first, batch_"),
    ],
)
def test_a_bad_option_says_what_is_possible(
    options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ArgumentError, match=message):
        kernel(norm, {"x": 3}, **options)


def test_a_constant_beyond_float32_is_refused() -> None:
    f = kernel(lambda x: x * 1e300, {"x": ()}, dtype="float32")
    with pytest.raises(
        CompileError, match=r"constant 1e\+300 is too large for float32"
    ):
        f(1.0)
