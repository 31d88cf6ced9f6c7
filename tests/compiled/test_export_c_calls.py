"""Exported C of programs that call others: functions, loops, and the same numbers."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ramidyn
from ramidyn import math, robots
from ramidyn.backend.c99.files import Files, files
from ramidyn.backend.c99.source import About
from ramidyn.errors import ArgumentError
from ramidyn.explain.counts import stages_of
from ramidyn.export.c_export import found_compiler, prepared
from ramidyn.export.library_export import export_library
from ramidyn.quantities.derivative_rows import UNROLLED
from ramidyn.symbolic import expr
from ramidyn.symbolic.calls import call_program, unrolled
from ramidyn.symbolic.count import count, operations_by_call
from ramidyn.symbolic.derivatives import jvp, vjp
from ramidyn.symbolic.interpreter import evaluate
from ramidyn.symbolic.program import Program
from ramidyn.symbolic.trace import trace
from ramidyn.tracing.quantity import quantity
from support.called_programs import (
    FUNCTIONS,
    INNER,
    depth_four,
    in_steps,
    loops_in_loops,
    once,
    until_small,
)
from support.parameters import some

REMAINDERS = [1, 7, 8, 9, 33]
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]

needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")


def exported(program: Program, dtype: str = "float64") -> Files:
    about = About(program.name, (), (), {}, {}, {}, {}, {})
    return files(prepared(program), "kernel", dtype, about, "batch_first")


class Compiled:
    """A program as C, compiled, to call with arrays of states."""

    def __init__(self, program: Program, folder: Path, dtype: str = "float64") -> None:
        self.program, self.dtype = program, dtype
        self.files = exported(program, dtype)
        for name, text in self.files.texts.items():
            (folder / name).write_text(text)
        self.source = self.files.texts["kernel.c"]
        command = [found_compiler(), "-std=c99", *STRICT, "-O2", "-shared", "-fPIC"]
        command += [str(folder / "kernel.c"), "-o", str(folder / "kernel.so"), "-lm"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[:3000]
        self.library = ctypes.CDLL(str(folder / "kernel.so"))

    def __call__(self, *inputs: Any) -> list[Any]:
        """Return all outputs of a batch."""
        given = [np.ascontiguousarray(x, self.dtype) for x in inputs]
        n = len(given[0])
        made = [np.empty((n, *v.shape), self.dtype) for v in self.program.outputs]
        self.library.kernel_batch(ctypes.c_int(n), *_pointers([*given, *made]))
        return made

    def one(self, *inputs: Any) -> list[Any]:
        """Return all outputs of one state."""
        given = [np.ascontiguousarray(x, self.dtype) for x in inputs]
        made = [np.empty(v.shape, self.dtype) for v in self.program.outputs]
        self.library.kernel(*_pointers([*given, *made]))
        return made


def _pointers(arrays: Sequence[Any]) -> list[ctypes.c_void_p]:
    return [ctypes.c_void_p(a.ctypes.data) for a in arrays]


@needs_compiler
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("fn", FUNCTIONS)
def test_c_with_calls_is_what_the_interpreter_does(
    fn: Callable[..., Any], dtype: str, tmp_path: Path, rng: np.random.Generator
) -> None:
    program = trace(fn, {"a": 3})
    f = Compiled(program, tmp_path, dtype)
    a = rng.normal(size=(max(REMAINDERS), 3)).astype(dtype)
    want = evaluate(program, {"a": a})["result"]
    tolerance = 1e-12 if dtype == "float64" else 1e-4
    (together,) = f(a)
    np.testing.assert_allclose(together, want, rtol=tolerance, atol=tolerance)
    alone = np.array([f.one(x)[0] for x in a])
    np.testing.assert_allclose(alone, want, rtol=tolerance, atol=tolerance)
    for n in REMAINDERS:
        np.testing.assert_array_equal(f(a[:n])[0], together[:n])


@needs_compiler
@pytest.mark.parametrize("change", [jvp, vjp])
@pytest.mark.parametrize("fn", [depth_four, in_steps, loops_in_loops])
def test_derivatives_with_calls_are_what_the_interpreter_finds(
    fn: Callable[..., Any], change: Any, tmp_path: Path, rng: np.random.Generator
) -> None:
    program = change(trace(fn, {"a": 3}), ["a"])
    assert program.calls
    f = Compiled(program, tmp_path)
    given = {v.name: rng.normal(size=(11, *v.shape)) for v in program.inputs}
    want = evaluate(program, given)
    for found, name in zip(f(*given.values()), want, strict=True):
        np.testing.assert_allclose(found, want[name], rtol=1e-10, atol=1e-10)
    alone = f.one(*(x[3] for x in given.values()))
    for found, name in zip(alone, want, strict=True):
        np.testing.assert_allclose(found, want[name][3], rtol=1e-10, atol=1e-10)


def _largest(a: Any) -> Any:
    found = a[0]
    for k in range(1, 30):
        found = math.maximum(found, k * a[k % 3])
    return {"result": found}


@needs_compiler
def test_chain_of_maxima_is_as_long_as_it_is(
    tmp_path: Path, rng: np.random.Generator
) -> None:
    f = Compiled(trace(_largest, {"a": 3}), tmp_path)
    assert len(f.source) < 20_000
    a = rng.normal(size=(9, 3))
    want = np.max([a[:, 0], *(k * a[:, k % 3] for k in range(1, 30))], axis=0)
    np.testing.assert_allclose(f(a)[0], want, rtol=1e-14)


@needs_compiler
def test_each_state_takes_its_own_steps(tmp_path: Path) -> None:
    f = Compiled(trace(until_small, {"x": ()}), tmp_path)
    x = np.array([0.5, 3.0, 2.0**60, np.nan, 5.0, -1.0, 1e300, 1.0, 7.0, 0.0, 2.0])
    value, is_done, steps = f(x)
    np.testing.assert_array_equal(steps, [0, 2, 50, 50, 3, 0, 50, 1, 3, 0, 2])
    np.testing.assert_array_equal(is_done, [1, 1, 0, 0, 1, 1, 0, 1, 1, 1, 1])
    np.testing.assert_array_equal(value[[0, 1, 5, 7]], [0.5, 0.75, -1.0, 0.5])
    assert np.isnan(value[3])
    for k, one in enumerate(x):
        np.testing.assert_array_equal(
            f.one(one), [value[k], is_done[k], steps[k]], strict=False
        )


@needs_compiler
@pytest.mark.parametrize(
    ("until", "most", "steps"),
    [
        (lambda y: y < 1e300, 6, 0.0),
        (lambda y: y > 1e300, 6, 6.0),
        (lambda y: y > 1e300, 1, 1.0),
        (lambda y: y > 1e300, 0, 0.0),
    ],
    ids=["always", "never", "once", "no steps"],
)
def test_conditions_may_hold_always_or_never(
    until: Any, most: int, steps: float, tmp_path: Path
) -> None:
    def fn(x: Any) -> Any:
        return ramidyn.repeat_until(lambda y: y + 1.0, x, until, most)[::2]

    f = Compiled(trace(fn, {"x": ()}), tmp_path)
    x = np.linspace(0.25, 3.0, 11)
    value, taken = f(x)
    np.testing.assert_array_equal(value, x + steps)
    np.testing.assert_array_equal(taken, np.full(11, steps))
    np.testing.assert_array_equal(f.one(x[0]), [x[0] + steps, steps])


@needs_compiler
def test_no_step_changes_nothing(tmp_path: Path) -> None:
    program = trace(lambda x: ramidyn.repeat(lambda y: 2.0 * y, x, 0), {"x": 2})
    assert program.calls
    f = Compiled(program, tmp_path)
    np.testing.assert_array_equal(f.one([1.0, 3.0])[0], [1.0, 3.0])
    np.testing.assert_array_equal(f([[1.0, 3.0]])[0], [[1.0, 3.0]])


@needs_compiler
@pytest.mark.parametrize("is_loop", [False, True])
def test_many_arguments_and_results(
    is_loop: bool, tmp_path: Path, rng: np.random.Generator
) -> None:
    """They are moved by functions of their own, constants too."""

    def fn(x: Any) -> Any:
        given = [
            *(k * x for k in range(2, 150)),
            *map(expr.const, map(float, range(90))),
        ]
        if is_loop:
            made = ramidyn.repeat(lambda y: 0.5 * y[::-1] + x, np.array(given), 3)
        else:
            body = trace(lambda a: [a[k] * a[k - 1] for k in range(238)], {"a": 238})
            made = call_program(body, given)
        return np.array([*made[::2], made[3] + made[40], sum(made[1::2])])

    program = trace(fn, {"x": ()})
    f = Compiled(program, tmp_path)
    assert len(re.findall("^APART void move_", f.source, re.MULTILINE)) > 8
    x = rng.normal(size=9)
    want = evaluate(program, {"x": x})["result"]
    np.testing.assert_allclose(f(x)[0], want, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(f.one(x[2])[0], want[2], rtol=1e-12, atol=1e-12)
    alone = trace(
        lambda x: call_program(
            trace(lambda a, b: b + sum(a), {"a": 90, "b": ()}),
            [*map(expr.const, map(float, range(90))), x],
        )[0],
        {"x": ()},
    )
    (tmp_path / "alone").mkdir()
    assert Compiled(alone, tmp_path / "alone").one(1.0)[0] == 1.0 + sum(range(90))


WORDS = ["c", "k", "w", "i", "copy", "sliced", "hand_batch", "hand", "int", "a"]


@needs_compiler
def test_an_input_may_be_called_unused(
    tmp_path: Path, rng: np.random.Generator
) -> None:
    """As the array for sines and cosines that nobody needs."""
    f = Compiled(trace(lambda unused: 2.0 * math.sin(unused), {"unused": ()}), tmp_path)
    x = rng.normal(size=9)
    np.testing.assert_allclose(f(x)[0], 2.0 * np.sin(x), rtol=1e-12)


@needs_compiler
def test_names_of_what_is_called_are_data(
    tmp_path: Path, rng: np.random.Generator
) -> None:
    """They may be those of locals, of helpers, of C, or end like those of batches."""

    def fn(k: Any, sliced: Any) -> Any:
        total = k * sliced
        for n, word in enumerate([*WORDS, "*/ int main(void)"]):
            body = trace(lambda c, w, n=n: c * w + float(n), {"c": (), "w": ()}, word)
            total = call_program(body, [total, k])[0]
        return ramidyn.repeat(lambda y: 0.5 * y + k, total, 3)

    program = trace(fn, {"k": (), "sliced": ()})
    f = Compiled(program, tmp_path)
    k, s = rng.normal(size=(2, 9))
    want = evaluate(program, {"k": k, "sliced": s})["result"]
    np.testing.assert_allclose(f(k, s)[0], want, rtol=1e-13)
    np.testing.assert_allclose(f.one(k[2], s[2])[0], want[2], rtol=1e-13)


def test_what_is_called_twice_is_one_function_and_loops_are_loops() -> None:
    source = exported(trace(once, {"a": 3})).texts["kernel.c"]
    assert len(re.findall(r"^APART void inner\(", source, re.MULTILINE)) == 1
    assert len(re.findall(r"^    inner\(c\);", source, re.MULTILINE)) == 2
    source = exported(trace(loops_in_loops, {"a": 3})).texts["kernel.c"]
    for line in (
        r"    for \(k = 0; k < 3; \+\+k\) {\n        outer\(c\);",
        r"        if \(c->\w+\[0\] > 0\)\n            break;\n        loop\(c\);",
        r"        if \(all_done\(c->\w+\[0\]\)\)\n            break;",
    ):
        assert re.search(line, source)
    straight = exported(unrolled(trace(loops_in_loops, {"a": 3}))).texts["kernel.c"]
    assert len(source) < 0.8 * len(straight)


def test_the_header_says_how_often_what_runs() -> None:
    program = trace(loops_in_loops, {"a": 3})
    shown = operations_by_call(prepared(program))
    assert shown == "1 + 3 x (10 + up to 7 x 9 + 2 x 3)"
    header = exported(program).texts["kernel.h"]
    assert f" * Operations by call: {shown}.\n" in header
    assert count(prepared(program)).total == 1 + 3 * (10 + 7 * 9 + 2 * 3)
    assert operations_by_call(prepared(trace(depth_four, {"a": 3}))) == (
        "7 + 2 x (7 + 2 x (7 + 2 x 7))"
    )
    plain = trace(lambda x: 2.0 * x, {"x": ()})
    assert operations_by_call(plain) == "1"
    assert "by call" not in exported(plain).texts["kernel.h"]


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc says how much it uses")
@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize("fn", FUNCTIONS)
def test_the_stack_is_within_what_the_header_says(
    fn: Callable[..., Any], level: str, tmp_path: Path
) -> None:
    made = exported(trace(fn, {"a": 3}))
    for name, text in made.texts.items():
        (tmp_path / name).write_text(text)
    command = ["gcc", level, "-fstack-usage", "-c", str(tmp_path / "kernel.c")]
    subprocess.run([*command, "-o", str(tmp_path / "k.o")], check=True)
    usage: dict[str, int] = {}
    for line in (tmp_path / "k.su").read_text().splitlines():
        place, size, kind = line.split("\t")
        assert kind == "static"
        usage[place.split(":")[-1].split(".")[0]] = int(size)
    source = made.texts["kernel.c"]
    assert _deepest(source, "kernel", usage) <= made.stack
    assert made.batch_stack is not None
    assert _deepest(source, "kernel_batch", usage) <= made.batch_stack
    assert f"at most {made.stack} bytes" in made.texts["kernel.h"]
    assert f"at most {made.batch_stack} bytes" in made.texts["kernel.h"]


def _deepest(source: str, name: str, usage: dict[str, int]) -> int:
    """Return the most bytes on the stack; functions that are inlined have no frame."""
    texts = {
        found[1]: found[2]
        for found in re.finditer(
            r"^(?:\w+ )?(?:void|int) (\w+)(\(.*?\n}\n)",
            source,
            re.MULTILINE | re.DOTALL,
        )
    }

    def bytes_of(function: str) -> int:
        called = set(re.findall(r"(\w+)\(", texts[function])) & set(texts)
        return usage.get(function, 0) + 8 + max(map(bytes_of, called), default=0)

    return bytes_of(name)


@needs_compiler
@pytest.mark.parametrize("dtype", some(["float64", "float32"], slow=["float32"]))
def test_sweeps_over_columns_are_loops(dtype: str, tmp_path: Path) -> None:
    robot = robots.chain(UNROLLED + 1, "plain")
    made = ramidyn.export_c(
        ramidyn.forward_dynamics_derivatives, robot, tmp_path / "c", dtype=dtype
    )
    source = made.source.read_text()
    assert re.search(r"^APART void sweep_of_columns\(", source, re.MULTILINE)
    assert "for (k = first; k < end; ++k) {" in source
    checked = made.check(states=19)
    tolerance = 1e-9 if dtype == "float64" else 1e-2
    assert checked.single < tolerance
    assert checked.batch is not None
    assert checked.batch < tolerance


@quantity("q")
def settled(context: Any) -> Any:
    """Calls, loops, and an open end, of a robot's q."""
    q = np.array([context.q[k][0] for k in range(3)])
    u, v = call_program(INNER, list(q))
    found = ramidyn.repeat_until(
        lambda y: 0.5 * y + 0.1 * u, q[0] * 8.0, lambda y: y * y < 1.0, most=9
    )
    moved = ramidyn.repeat(lambda y: 0.9 * y + v * q, q, times=4)
    return np.array([u, found.carry, found.steps, *moved])


@needs_compiler
def test_quantities_with_loops_are_exported_and_checked(tmp_path: Path) -> None:
    robot = robots.chain(3, "plain")
    in_c = ramidyn.export_c(settled, robot, tmp_path / "c")
    checked = in_c.check(states=21)
    assert checked.single < 1e-13
    assert checked.batch is not None
    assert checked.batch < 1e-13
    assert "up to 9 x" in in_c.header.read_text()
    with pytest.raises(ArgumentError, match="has a loop with an open end, up to 9 x"):
        ramidyn.export_c(settled, robot, tmp_path / "d", casadi=True)
    assert not (tmp_path / "d").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="libraries are for Linux")
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_library_with_loops_equals_python_to_the_bit(
    dtype: str, tmp_path: Path
) -> None:
    robot = robots.chain(3, "plain")
    made = export_library(settled, robot, tmp_path, name="settled", dtype=dtype)
    checked = made.check(states=21)
    assert (checked.single, checked.batch) == (0, 0)


def test_functions_with_loops_can_be_looked_at() -> None:
    f = ramidyn.compile(settled, robots.chain(3, "plain"))
    assert f.ops == count(f.program)
    *_, last = stages_of(settled, robots.chain(3, "plain"))
    assert last.ops == f.ops
    assert operations_by_call(f.program).count(" x ") >= 2
    assert "define" in f.ir
    assert "ret" in f.assembly
    assert "up to 9 x" in str(f.program)
