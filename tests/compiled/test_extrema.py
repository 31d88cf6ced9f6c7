"""Minimum, maximum and clip of NaN are NaN, as NumPy's: a limit does not hide it."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ramidyn.catalog.paper_robots import chain
from ramidyn.export.c_export import export_c
from ramidyn.kernels import kernel
from ramidyn.robot import Robot
from ramidyn.symbolic import functions
from ramidyn.symbolic.interpreter import evaluate
from ramidyn.tracing.context import Context, array
from ramidyn.tracing.quantity import quantity

VALUES = (np.nan, -np.inf, -1.0, 0.0, 2.0, np.inf)
A, B = (x.flatten() for x in np.meshgrid(VALUES, VALUES))
NUMPY = {"minimum": np.minimum, "maximum": np.maximum}


@pytest.mark.parametrize("lanes", [1, 4, 8])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", NUMPY)
def test_native_extrema_are_numpys(name: str, dtype: str, lanes: int) -> None:
    f = kernel(getattr(functions, name), {"a": (), "b": ()}, dtype=dtype, lanes=lanes)
    a, b = A.astype(dtype), B.astype(dtype)
    expected = NUMPY[name](a, b)
    np.testing.assert_array_equal(f(a, b), expected)
    one_by_one = [f(x, y) for x, y in zip(a, b, strict=True)]
    np.testing.assert_array_equal(one_by_one, expected)
    meant = evaluate(f.program, {"a": a, "b": b})["result"]
    np.testing.assert_array_equal(meant, expected)


def test_a_limit_does_not_hide_nan() -> None:
    f = kernel(lambda x: functions.clip(x, -1.0, 1.0), {"x": ()}, name="clip")
    assert np.isnan(f(np.nan))
    np.testing.assert_array_equal(f(np.array(VALUES)), np.clip(VALUES, -1.0, 1.0))


@quantity("q", "qd")
def extrema(context: Context) -> Any:
    """The smaller and the larger of q and q̇."""
    q, qd = context.inputs["q"], context.inputs["qd"]
    return array([*functions.minimum(q, qd), *functions.maximum(q, qd)])


def test_exported_extrema_are_numpys(tmp_path: Path) -> None:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("cc is not installed")
    robot = Robot.from_description(chain(len(A)))
    exported = export_c(extrema, robot, tmp_path / "c", name="extrema")
    library = tmp_path / "extrema.so"
    options = ["-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    command = [compiler, *options, "-o", library, exported.source, "-lm"]
    subprocess.run(command, check=True)
    out = np.zeros(2 * len(A))
    pointers = (x.ctypes.data_as(ctypes.c_void_p) for x in (A, B, out))
    ctypes.CDLL(str(library)).extrema(*pointers)
    expected = np.concatenate([np.minimum(A, B), np.maximum(A, B)])
    np.testing.assert_array_equal(out, expected)
