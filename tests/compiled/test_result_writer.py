"""Code that writes a result of one state puts every slot where it belongs."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from ramidyn.backend.llvm.jit import LoadedCode, compile_objects
from ramidyn.backend.llvm.result_writer import BLOCK, FEWEST, MOST, is_written, writer
from ramidyn.backend.llvm.target import runnable
from ramidyn.function import native_kernel
from ramidyn.kernels import kernel

DTYPES = ("float64", "float32")


def written(slots: list[int], dtype: str) -> Any:
    """Return what the code writes from slots with their own numbers."""
    processor = runnable()
    objects = compile_objects([lambda: writer(slots, dtype, "write")], processor)
    code = LoadedCode([(objects[0], ["write"])], processor)
    kind = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)
    workspace = np.arange(max(slots) + 1, dtype=dtype)
    result = np.full(len(slots) + 1, -1.0, dtype)
    kind(code.addresses[0])(workspace.ctypes.data, result.ctypes.data, None)
    assert result[-1] == -1.0, "it wrote behind its end"
    return result[:-1]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [1, 7, FEWEST, BLOCK - 1, BLOCK, 2 * BLOCK + 5])
def test_every_element_comes_from_its_slot(
    size: int, dtype: str, rng: np.random.Generator
) -> None:
    slots = [int(k) for k in rng.integers(0, 2 * size, size)]
    np.testing.assert_array_equal(written(slots, dtype), slots)


@pytest.mark.parametrize("dtype", DTYPES)
def test_elements_may_share_slots(dtype: str) -> None:
    slots = [3] * 40 + [5, 3, 3, 3] * 2 + [3] * 9
    np.testing.assert_array_equal(written(slots, dtype), slots)


def test_large_results_of_one_state_have_such_code() -> None:
    assert is_written(FEWEST, 1)
    assert is_written(MOST, 1)
    assert not is_written(FEWEST - 1, 1)
    assert not is_written(MOST + 1, 1)
    assert not is_written(FEWEST, 8)


def banded(x: Any) -> tuple[Any, Any]:
    """Return a symmetric matrix with zeros, and a vector."""
    n = len(x)
    rows = [
        [x[min(i, j)] * (1.0 + i + j) if abs(i - j) < 3 else 0.0 for j in range(n)]
        for i in range(n)
    ]
    return np.array(rows), 3.0 * x


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [6, 19])
def test_one_state_fills_arrays_of_any_layout(
    n: int, dtype: str, rng: np.random.Generator
) -> None:
    f = kernel(banded, {"x": n}, name="banded", dtype=dtype)
    x = rng.normal(size=n).astype(dtype)
    matrix, vector = banded(x.astype(object))
    expected = np.array(matrix, float)
    layouts = {
        "C": np.full((n, n), np.nan, dtype),
        "columns first": np.full((n, n), np.nan, dtype, order="F"),
        "every other column": np.full((n, 2 * n), np.nan, dtype)[:, ::2],
        "part of rows": np.full((n, n + 3), np.nan, dtype)[:, :n],
        "reversed": np.full((n, n), np.nan, dtype)[::-1, ::-1],
    }
    f(x)
    writers = native_kernel(f._compilation, "single").writers
    assert [w > 0 for w in writers] == [True, False]
    for name, out in layouts.items():
        found = f(x, out=(out, np.empty(n, dtype)))
        tight = 1e-12 if dtype == "float64" else 1e-5
        np.testing.assert_allclose(out, expected, rtol=tight, err_msg=name)
        np.testing.assert_allclose(found[1], np.array(vector, float), rtol=tight)
