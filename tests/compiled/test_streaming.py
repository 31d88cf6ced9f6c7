"""Results that are streamed are the same as others, wherever states begin."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ramidyn.backend.runtime import memory_layout
from ramidyn.kernels import kernel


@pytest.fixture(autouse=True)
def every_result_is_streamed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_layout, "FAR", 1)
    monkeypatch.setattr(memory_layout, "PIECE", 64)


def begin_at(address: int, shape: tuple[int, ...], dtype: str) -> Any:
    """Return an array of NaN that begins so many bytes behind a cache line."""
    item = np.dtype(dtype).itemsize
    size = int(np.prod(shape))
    memory = np.full(size + 2 * 64 // item, np.nan, dtype)
    first = (-memory.ctypes.data % 64 + address) // item
    return memory[first : first + size].reshape(shape)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("address", [0, 8, 24, 32, 56])
@pytest.mark.parametrize("size", [3, 8, 17, 35, 64, 129])
def test_states_may_begin_anywhere_in_a_line(
    size: int, address: int, dtype: str, rng: np.random.Generator
) -> None:
    def scaled(x: Any) -> tuple[Any, Any]:
        return x * np.arange(1.0, size + 1.0), 2.0 * x[:2]

    f = kernel(scaled, {"x": size}, name="scaled", dtype=dtype)
    for batch in (70, 131):
        x = rng.normal(size=(batch, size)).astype(dtype)
        around = begin_at(address, (batch * size + 2,), dtype)
        out = around[1:-1].reshape(batch, size)
        first = begin_at(address, (batch, 2), dtype)
        f(x, out=(out, first))
        np.testing.assert_array_equal(out, x * np.arange(1.0, size + 1.0, dtype=dtype))
        np.testing.assert_array_equal(first, 2.0 * x[:, :2])
        assert np.isnan(around[[0, -1]]).all(), "written beside the result"
