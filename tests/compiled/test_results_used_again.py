"""A result that nobody has any more is used again, and no other one ever is."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ramidyn.backend.runtime import memory_layout as words
from ramidyn.function import Function
from ramidyn.kernels import kernel

pytestmark = pytest.mark.skipif(
    not words.HAS_KNOWN_OBJECTS, reason="calls go through Python here"
)


def doubled(n: int = 3) -> Function:
    f = kernel(lambda x: 2.0 * x, {"x": n}, name="doubled")
    f(np.ones(n))  # the first call compiles, and its result is not kept
    return f


def test_results_that_are_held_keep_their_values() -> None:
    f = doubled()
    held = [f(np.full(3, float(k))) for k in range(20)]
    for k, result in enumerate(held):
        np.testing.assert_array_equal(result, np.full(3, 2.0 * k))
    assert len({id(x) for x in held}) == 20


def test_a_result_that_nobody_has_is_used_again() -> None:
    f, x = doubled(), np.ones(3)
    first = id(f(x))
    assert all(id(f(x)) == first for _ in range(5))
    q = f(x)
    places = set()
    for _ in range(8):  # a state from the one before
        q = f(q)
        places.add(id(q))
    assert len(places) == 2
    np.testing.assert_array_equal(q, np.full(3, 2.0**9))


HOLDERS: dict[str, Callable[[Any], Any]] = {
    "a name": lambda x: x,
    "a view": lambda x: x[1:],
    "a transposed view": lambda x: x.T,
    "a memoryview": memoryview,
    "an array on its buffer": lambda x: np.frombuffer(x.data),
    "a list": lambda x: [x],
    "an iterator": iter,
    "a flat iterator": lambda x: x.flat,
}


@pytest.mark.parametrize("how", HOLDERS)
def test_whoever_holds_a_result_keeps_it(how: str) -> None:
    f = doubled()
    for _ in range(3):
        holder = HOLDERS[how](f(np.ones(3)))
        others = [f(np.full(3, 5.0)) for _ in range(4)]
        del others
        f(np.full(3, 7.0))
        values = np.ravel(np.array(list(holder), dtype=float))
        np.testing.assert_array_equal(values, np.full(len(values), 2.0))


def test_a_result_with_a_weak_reference_is_not_used_again() -> None:
    f = doubled()
    result = f(np.ones(3))
    reference = weakref.ref(result)
    del result
    other = f(np.full(3, 5.0))
    assert reference() is not other


def change_shape(x: Any) -> None:
    x.shape = (3, 1)


def change_dtype(x: Any) -> None:
    x.dtype = np.int64


def change_flags(x: Any) -> None:
    x.flags.writeable = False


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("change", [change_shape, change_dtype, change_flags])
def test_a_result_that_was_changed_is_not_used_again(change: Any) -> None:
    f = doubled()
    for _ in range(3):
        result = f(np.ones(3))
        change(result)
        del result
        again = f(np.full(3, 5.0))
        assert (again.shape, again.dtype) == ((3,), np.float64)
        assert again.flags.writeable
        np.testing.assert_array_equal(again, np.full(3, 10.0))


def test_results_go_with_their_function() -> None:
    f = doubled()
    result = f(np.ones(3))
    reference = weakref.ref(result)
    del result
    assert reference() is not None
    del f
    gc.collect()
    assert reference() is None


def test_large_results_are_not_kept() -> None:
    f = doubled(2000)
    reference = weakref.ref(f(np.ones(2000)))
    assert reference() is None
