"""Sines of large angles keep their digits, also where a constant is added to them."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest

import ramidyn
from ramidyn.symbolic.interpreter import evaluate

SHIFTS = (0.7, -2.1)
TOPS = {"float64": (0, 3, 8, 10, 16, 100, 300), "float32": (0, 3, 8, 10, 16, 30, 38)}
NEAR = 1e5  # up to here a sum may round, once


def sines(x: Any, y: Any) -> dict[str, Any]:
    a, b = SHIFTS
    return {
        "shifted": [ramidyn.math.sin(x + a), ramidyn.math.cos(x + a)],
        "mirrored": [ramidyn.math.sin(b - x), ramidyn.math.cos(b - x)],
        "added": [ramidyn.math.sin(x + y), ramidyn.math.cos(x + y)],
        "less": [ramidyn.math.sin(x - y), ramidyn.math.cos(x - y)],
        "plain": [ramidyn.math.sin(x), ramidyn.math.cos(x), ramidyn.math.tan(x)],
    }


def angles(dtype: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    parts = [rng.uniform(-1, 1, 40) * 10.0**top for top in TOPS[dtype]]
    x = np.concatenate(parts).astype(dtype)
    return x, rng.permutation(x)


def true_values(x: Any, y: Any, dtype: str) -> dict[str, np.ndarray]:
    a, b = (mpmath.mpf(float(np.dtype(dtype).type(v))) for v in SHIFTS)

    def rows(sums: list[mpmath.mpf], *functions: Any) -> np.ndarray:
        return np.array([[float(f(v)) for f in functions] for v in sums])

    with mpmath.workprec(1400):
        u, w = ([mpmath.mpf(float(v)) for v in values] for values in (x, y))
        both = mpmath.sin, mpmath.cos
        pairs = list(zip(u, w, strict=True))
        return {
            "shifted": rows([v + a for v in u], *both),
            "mirrored": rows([b - v for v in u], *both),
            "added": rows([v + z for v, z in pairs], *both),
            "less": rows([v - z for v, z in pairs], *both),
            "plain": rows(u, *both, mpmath.tan),
        }


def assert_true(found: dict[str, Any], x: Any, y: Any, dtype: str) -> None:
    eps = float(np.finfo(dtype).eps)
    size = np.abs(x).astype(float)
    for name, true in true_values(x, y, dtype).items():
        if name == "plain":
            allowed = 2 * eps * np.abs(true)
        else:
            whole = np.hypot(size, np.abs(y)) if name in ("added", "less") else size
            # What is rounded is a sum that may be near though its terms are not.
            near = np.minimum(whole + 3, 1.01 * NEAR) * eps
            is_near = np.abs(sum_of(name, x, y)) <= NEAR
            allowed = np.where(is_near, near, 3 * eps)[:, None]
        error = np.abs(np.asarray(found[name], float) - true)
        assert (error <= allowed).all(), (name, error.max())


def sum_of(name: str, x: Any, y: Any) -> np.ndarray:
    wide = x.astype(float), y.astype(float)
    terms = {
        "shifted": (wide[0], SHIFTS[0]),
        "mirrored": (-wide[0], SHIFTS[1]),
        "added": wide,
        "less": (wide[0], -wide[1]),
    }
    left, right = terms[name]
    return left + right


@pytest.mark.parametrize("lanes", [None, 1, 2, 8])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_sines_of_large_sums_keep_their_digits(
    dtype: str, lanes: int | None, rng: np.random.Generator
) -> None:
    f = ramidyn.kernel(sines, {"x": (), "y": ()}, dtype=dtype, lanes=lanes)
    x, y = angles(dtype, rng)
    assert_true(f(x, y)._asdict(), x, y, dtype)
    singles = [f(a, b)._asdict() for a, b in zip(x[::7], y[::7], strict=True)]
    found = {name: [one[name] for one in singles] for name in singles[0]}
    assert_true(found, x[::7], y[::7], dtype)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_interpreter_keeps_the_digits_too(
    dtype: str, rng: np.random.Generator
) -> None:
    f = ramidyn.kernel(sines, {"x": (), "y": ()}, dtype=dtype)
    x, y = angles(dtype, rng)
    assert_true(evaluate(f.program, {"x": x, "y": y}, dtype), x, y, dtype)


def test_a_turn_of_many_rounds_changes_nothing(rng: np.random.Generator) -> None:
    robot = ramidyn.robots.humanoid30()
    f = ramidyn.compile(ramidyn.mass_matrix, robot)
    sums = [e for e in f.program.order if e.op == "add" and e.args[0].op == "input"]
    assert sums  # there are angles with a constant added
    q = rng.uniform(-3, 3, size=(5, robot.nq)) * 1e12
    with mpmath.workprec(200):
        turn = 2 * mpmath.pi
        turned = [[float(mpmath.fmod(mpmath.mpf(v), turn)) for v in row] for row in q]
    M = f(np.array(turned))
    error = np.abs(f(q) - M).max() / np.abs(M).max()
    assert error < 1e-13  # 1e-5 if the constant is added to the large angle


@pytest.mark.skipif(shutil.which("cc") is None, reason="cc is not installed")
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_exported_c_keeps_the_digits_too(
    dtype: str, tmp_path: Path, rng: np.random.Generator
) -> None:
    robot = ramidyn.robots.humanoid30()
    exported = ramidyn.export_c(
        ramidyn.mass_matrix,
        robot,
        tmp_path / "c",
        name="far",
        dtype=dtype,
        layout="batch_last",
    )
    assert "far_sum(" in exported.source.read_text()
    shared = tmp_path / "far.so"
    command = ["cc", "-O1", "-shared", "-fPIC", exported.source, "-lm", "-o", shared]
    subprocess.run(command, check=True)
    library = ctypes.CDLL(str(shared))
    n, size = 5, (robot.nv, robot.nv)
    q = (rng.uniform(-3, 3, size=(n, robot.nq)) * 1e12).astype(dtype)
    expected = ramidyn.compile(ramidyn.mass_matrix, robot, dtype=dtype)(q)
    tolerance = 30 * np.finfo(dtype).eps * np.abs(expected).max()
    one, all_ = np.zeros(size, dtype), np.zeros((*size, n), dtype)
    columns = np.ascontiguousarray(q.T)
    library.far(*(ctypes.c_void_p(a.ctypes.data) for a in (q, one)))
    library.far_batch(n, *(ctypes.c_void_p(a.ctypes.data) for a in (columns, all_)))
    np.testing.assert_allclose(one, expected[0], rtol=0, atol=tolerance)
    found = np.moveaxis(all_, -1, 0)
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)
