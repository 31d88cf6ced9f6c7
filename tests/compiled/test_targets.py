"""Code for other processors: levels of x86-64, and vectors wider than the registers."""

from __future__ import annotations

import math
import os
import platform
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ramidyn
from ramidyn import robots
from ramidyn.backend.llvm import cut_values, jit, target
from ramidyn.backend.llvm.target import (
    Processor,
    chosen_processor,
    host,
    processor_named,
)
from ramidyn.backend.runtime import driver_code
from ramidyn.backend.runtime.tiles import Tile
from ramidyn.compilation import Compilation
from ramidyn.compiler import Stages
from ramidyn.errors import CompileError
from ramidyn.function import CallOptions, Function
from ramidyn.symbolic.interpreter import evaluate
from support.affine import affine
from support.programs import assert_same, random_recipe, values_for

ROOT = Path(__file__).parents[2]
IS_X86 = platform.machine().lower() in ("x86_64", "amd64")
WIDTHS = [(t, n) for t in ("float64", "float32") for n in (1, 2, 4, 8, 16)]
SIZES = (1, 3, 4, 5, 7, 8, 9, 15, 16, 17, 24, 31, 33)
TARGETS = target.names()[:2]  # this processor and, of x86-64, the one that all have
ALL_TARGETS = [t for t in target.names() if not processor_named(t).missing]

only_x86 = pytest.mark.skipif(not IS_X86, reason="levels are those of x86-64")


@pytest.fixture(autouse=True)
def lanes_of_the_target(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the lanes to the target, also where a run of all tests forces them."""
    monkeypatch.delenv("RAMIDYN_LANES", raising=False)


@pytest.fixture(params=TARGETS)
def each_target(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Make code for this processor, and for the least one of its kind."""
    monkeypatch.setenv("RAMIDYN_TARGET", request.param)
    return request.param


@pytest.mark.usefixtures("each_target")
@pytest.mark.parametrize(("dtype", "lanes"), WIDTHS)
def test_kernels_equal_the_interpreter(
    dtype: str, lanes: int, rng: np.random.Generator
) -> None:
    recipe = random_recipe(rng, 60, functions=0.5)
    program = recipe.program()
    values = values_for(recipe.inputs, rng, batch=2 * lanes + 1, dtype=dtype)
    f = Function(Compilation.of(program, CallOptions(dtype, lanes), Stages))
    found = f(*(values[v.name] for v in program.inputs))
    names = [v.name for v in program.outputs]
    results = found if isinstance(found, tuple) else (found,)
    expected = evaluate(program, values, dtype)
    assert_same(dict(zip(names, results, strict=True)), expected, dtype)


@pytest.mark.usefixtures("each_target")
@pytest.mark.parametrize(("dtype", "lanes"), WIDTHS)
def test_elements_keep_their_places_at_every_width(
    dtype: str, lanes: int, rng: np.random.Generator
) -> None:
    shapes = {f"x{n}": n for n in SIZES}

    def twice(*arrays: np.ndarray) -> dict[str, np.ndarray]:
        return {f"y{n}": 2.0 * a for n, a in zip(SIZES, arrays, strict=True)}

    f = ramidyn.kernel(twice, shapes, dtype=dtype, lanes=lanes)
    for batch in (1, lanes, 2 * lanes + 1, 9 * lanes - 1):
        arrays = [rng.normal(size=(batch, n)).astype(dtype) for n in SIZES]
        for found, given in zip(f(*arrays), arrays, strict=True):
            np.testing.assert_array_equal(found, 2 * given)


@pytest.mark.usefixtures("each_target", "streamed")
@pytest.mark.parametrize(
    ("dtype", "lanes"), [("float64", 4), ("float64", 8), ("float32", 16)]
)
def test_streamed_results_are_to_the_bit_those_of_one_lane(
    dtype: str, lanes: int, rng: np.random.Generator
) -> None:
    assert Tile(dtype, lanes).is_streamed
    shapes = {"M": (8, 10), "b": (5,), "J": (2, 16)}
    wide = affine({"x": (2,)}, shapes, dtype=dtype, lanes=lanes)
    one = affine({"x": (2,)}, shapes, dtype=dtype, lanes=1)
    guard = 7.0
    for batch in (1, 8 * lanes, 17 * lanes - 3):
        (x,) = wide.random(rng, batch)
        expected = one.call(x)
        for offset in (0, 1, lanes - 1, lanes, lanes + 3):
            blocks, arrays = [], []
            for core in shapes.values():
                size = batch * math.prod(core)
                blocks.append(np.full(size + 2 * lanes + 8, guard, dtype))
                inside = blocks[-1][offset : offset + size]
                arrays.append(inside.reshape((batch, *core)))
            wide.call(x, out=tuple(arrays))
            for block, array, values in zip(blocks, arrays, expected, strict=True):
                np.testing.assert_array_equal(array, values)
                assert (block[:offset] == guard).all()
                assert (block[offset + array.size :] == guard).all()


@pytest.mark.usefixtures("each_target")
def test_a_robot_moves_alike() -> None:
    robot = robots.humanoid30()
    q = robot.random_configuration(0, batch=21)
    qd, tau = np.random.default_rng(0).normal(size=(2, 21, robot.nv))
    f = ramidyn.compile(ramidyn.forward_dynamics, robot)
    assert f.lanes == chosen_processor().lanes("float64")
    qdd = f(q, qd, tau)
    back = ramidyn.compile(ramidyn.inverse_dynamics, robot)(q, qd, qdd)
    np.testing.assert_allclose(back, tau, rtol=0, atol=1e-9 * np.abs(qdd).max())


@pytest.mark.parametrize("lanes", [1, 2, 8, 16])
def test_lanes_are_set_for_all_batches(
    lanes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAMIDYN_LANES", str(lanes))
    robot = robots.chain(4)
    f = ramidyn.compile(ramidyn.mass_matrix, robot)
    assert f.lanes == lanes
    assert ramidyn.compile(ramidyn.mass_matrix, robot, lanes=4).lanes == 4
    q = robot.random_configuration(0, batch=2 * lanes + 1)
    np.testing.assert_allclose(f(q), [f(one) for one in q], rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("text", ["3", "0", "x", "128"])
def test_impossible_lanes_say_what_is_possible(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAMIDYN_LANES", text)
    message = f"RAMIDYN_LANES is '{text}'; possible: 1, 2, 4, 8, 16, 32, 64"
    with pytest.raises(CompileError, match=re.escape(message)):
        ramidyn.kernel(lambda x: x + 1.0, {"x": 2}).prepare()


def test_an_unknown_target_says_what_is_possible(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("RAMIDYN_TARGET", "pentium")
    message = f"RAMIDYN_TARGET is 'pentium'; possible: {', '.join(target.names())}"
    with pytest.raises(CompileError, match=re.escape(message)):
        ramidyn.kernel(lambda x: x + 1.0, {"x": 2}).prepare()


@only_x86
def test_code_that_cannot_run_here_can_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    # A processor that lacks what this one has, so that the test is the same everywhere.
    lacking = {**target.host_features(), "avx512f": False, "avx512bw": False}
    monkeypatch.setattr(target, "host_features", lambda: lacking)
    monkeypatch.setenv("RAMIDYN_TARGET", "x86-64-v4")
    f = ramidyn.kernel(lambda x: x @ x, {"x": 3})
    assert f.lanes == 8
    assert "zmm" in f.assembly
    message = "RAMIDYN_TARGET is 'x86-64-v4', but this processor lacks avx512bw, "
    for x in (np.zeros(3), np.zeros((9, 3))):
        with pytest.raises(CompileError, match=message) as caught:
            f(x)
        assert "Possible here: host, x86-64, x86-64-v2" in str(caught.value)
        assert "can be inspected (Function.assembly) but not run" in str(caught.value)


@only_x86
def test_baseline_code_has_no_wide_registers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAMIDYN_TARGET", "x86-64")
    f = ramidyn.compile(ramidyn.inverse_dynamics, robots.chain(3))
    assert f.lanes == 2
    text = f.assembly
    assert "mulpd" in text
    assert not re.search(r"[yz]mm|\tv[a-z]+pd", text)


@only_x86
@pytest.mark.parametrize("name", ["x86-64-v3", "x86-64-v4"])
def test_our_order_leaves_fewer_values_on_the_stack(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("RAMIDYN_TARGET", name)
    f = ramidyn.compile(ramidyn.forward_dynamics, robots.humanoid30())
    ours = f.assembly
    monkeypatch.setattr(cut_values, "LEEWAY", 10**9)
    theirs = f.assembly
    assert ours.count("(%rsp)") < 0.98 * theirs.count("(%rsp)")


@only_x86
def test_each_target_has_its_own_code_in_the_cache(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("RAMIDYN_CACHE_DIR", str(tmp_path))
    found = []
    for name in ("x86-64", "x86-64-v2", "x86-64"):
        monkeypatch.setenv("RAMIDYN_TARGET", name)
        f = ramidyn.kernel(lambda x: x @ x, {"x": 3}).prepare()
        found.append(f.cached)
    assert found == [False, False, True]


@only_x86
@pytest.mark.parametrize(("dtype", "lanes"), [("float64", 8), ("float32", 16)])
def test_squares_of_avx512_are_transposed_in_registers(dtype: str, lanes: int) -> None:
    wide = Processor(host().triple, "icelake-server", target.WHOLE[1:], 64)
    text = jit.assembly(str(driver_code.emit(Tile(dtype, lanes), wide).llvm), wide)
    whole = r"^stream_lines:\n(.*?)^\.Lfunc_end"
    found = re.search(whole, text, re.DOTALL | re.MULTILINE)
    assert found
    code = found.group(1)
    assert len(re.findall(r"\tvmovnt\w+\t%zmm", code)) == lanes
    assert not re.search(r"\tv(insert|extract)", code)
    # A line has parts of two squares, and the first square is transposed by itself.
    assert len(re.findall(r"\tvperm[it]2p\w+", code)) == lanes
    # Each of log2(lanes) steps has one instruction for each vector.
    moves = len(re.findall(r"\tv(?:unpck|shuf)\w+", code))
    assert moves == 2 * lanes * int(math.log2(lanes))


@pytest.mark.slow
@pytest.mark.parametrize("lanes", ["", "1", "2", "4", "8", "16"])
@pytest.mark.parametrize("name", ALL_TARGETS)
def test_whole_suites_pass(name: str, lanes: str) -> None:
    suites = ["test_kernels.py", "test_native_calls.py", "test_branches.py"]
    paths = [f"tests/compiled/{s}" for s in suites]
    paths.append("tests/unit/linalg/test_factor.py")
    found = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *paths],
        cwd=ROOT,
        env={**os.environ, "RAMIDYN_TARGET": name, "RAMIDYN_LANES": lanes},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stdout[-3000:]


def test_factors_of_trees_are_the_same_at_every_width() -> None:
    script = (
        "import numpy as np, ramidyn\n"
        "from ramidyn import robots\n"
        "robot = robots.humanoid30()\n"
        "M = robot.mass_matrix(robot.random_configuration(0, batch=37))\n"
        "factor = ramidyn.linalg.ltdl(M, robot.tree.dof_parents)\n"
        "b = np.random.default_rng(0).normal(size=(37, robot.nv))\n"
        "x = factor.solve(b)\n"
        "error = np.abs(np.einsum('bij,bj->bi', M, x) - b).max()\n"
        "assert error < 1e-9, error\n"
    )
    for name, lanes in ((TARGETS[0], "8"), (TARGETS[-1], "")):
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "RAMIDYN_TARGET": name, "RAMIDYN_LANES": lanes},
            check=True,
        )
