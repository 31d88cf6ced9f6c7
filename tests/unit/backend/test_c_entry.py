"""The C entry of a compiled function, and arrays that offer only DLPack."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

import ramidyn

TWICE = ramidyn.kernel(
    lambda x, a: {"scaled": a * x, "norm": x @ x}, {"x": 3, "a": ()}, name="twice"
)


def native(f: ramidyn.Function, arrays: int) -> Any:
    kind = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, *[ctypes.c_void_p] * arrays)
    return kind(f.address)


@pytest.mark.parametrize("batch", [0, 1, 2, 7])
def test_the_c_entry_gives_the_results_of_a_call(
    batch: int, rng: np.random.Generator
) -> None:
    x, a = rng.normal(size=(batch, 3)), rng.normal(size=batch)
    scaled, norm = np.full((batch, 3), 9.0), np.full(batch, 9.0)
    addresses = [y.ctypes.data for y in (x, a, scaled, norm)]
    assert native(TWICE, 4)(batch, *addresses) == 0
    expected = TWICE(x, a)
    np.testing.assert_array_equal(scaled, expected.scaled)
    np.testing.assert_array_equal(norm, expected.norm)


def test_one_state_has_the_kernel_of_one_state(rng: np.random.Generator) -> None:
    x, a, scaled, norm = rng.normal(size=3), np.array(2.0), np.empty(3), np.empty(())
    assert native(TWICE, 4)(1, *(y.ctypes.data for y in (x, a, scaled, norm))) == 0
    np.testing.assert_array_equal(scaled, TWICE(x, a).scaled)
    np.testing.assert_array_equal(norm, TWICE(x, a).norm)


def test_the_address_stays_the_same() -> None:
    assert TWICE.address == TWICE.address != 0


class OnlyDLPack:
    """An array of a library that knows nothing of NumPy."""

    def __init__(self, array: Any, error: Exception | None = None) -> None:
        self.array = array
        self.error = error

    def __dlpack__(self, **options: Any) -> Any:
        if self.error:
            raise self.error
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


class OnlyInterface:
    """An array that tells only where its numbers are."""

    def __init__(self, array: Any) -> None:
        self.array = array
        self.__array_interface__ = array.__array_interface__


@pytest.mark.parametrize("kind", [OnlyDLPack, OnlyInterface])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_arrays_of_other_libraries_are_taken(
    kind: type, dtype: str, rng: np.random.Generator
) -> None:
    x = rng.normal(size=(4, 3)).astype(dtype)
    expected = TWICE(x, 2.0)
    np.testing.assert_array_equal(TWICE(kind(x), 2.0).scaled, expected.scaled)
    np.testing.assert_array_equal(TWICE(kind(x[::2]), 2.0).norm, expected.norm[::2])


def test_an_array_on_another_device_is_refused() -> None:
    far: Any = OnlyDLPack(np.zeros(3), BufferError("not in CPU memory"))
    with pytest.raises(
        ramidyn.ShapeError, match="x is not an array: not in CPU memory"
    ):
        TWICE(far, 2.0)


def test_an_array_of_one_symbol_stays_a_symbol() -> None:
    def scaled(x: Any, a: Any) -> Any:
        return TWICE(x, np.array(a, dtype=object)).scaled

    again = ramidyn.kernel(scaled, {"x": 3, "a": ()}, name="again")
    np.testing.assert_array_equal(again(np.ones(3), 2.0), [2.0, 2.0, 2.0])
