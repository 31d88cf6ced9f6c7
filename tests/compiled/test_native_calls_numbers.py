"""Numbers, lists and arrays of other dtypes are read as float64 arrays are."""

from __future__ import annotations

import functools
import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ramidyn.backend.calls.callable import Calls
from ramidyn.backend.runtime.memory_layout import HAS_KNOWN_OBJECTS
from ramidyn.errors import ArgumentError, ShapeError
from support.affine import Affine, affine

EMITTED = pytest.mark.skipif(not HAS_KNOWN_OBJECTS, reason="only Python reads here")
PATHS = pytest.mark.parametrize("call_path", ["emitted", "plain"], indirect=True)


@functools.cache
def shared(call_path: str, dtype: str) -> Affine:  # noqa: ARG001 (the fixture sets it)
    """Return a kernel that is compiled once for each call path."""
    inputs = {"x": (5,), "w": (5,), "s": ()}
    return affine(inputs, {"y": (4,), "z": (2,)}, dtype=dtype)


SCALARS: list[Any] = [
    *(0.1, -1.0, 2, -1, 2**53 + 1, 2**70, -(10**30), True, False),
    *(kind(3) for kind in (np.float64, np.float32, np.float16, np.longdouble)),
    *(kind(3) for kind in (np.int8, np.int16, np.int32, np.int64, np.longlong)),
    *(kind(3) for kind in (np.uint8, np.uint16, np.uint32, np.uint64, np.ulonglong)),
    np.float64(-1.0),
    np.bool_(True),
    np.array(0.1),
    np.array(7),
    np.array(0.1, np.float32),
    np.array(0.1, ">f8"),
    np.array(True),
    np.array(3, np.longdouble),
    type("Float", (float,), {})(0.1),
    type("Int", (int,), {})(3),
]


@PATHS
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("number", SCALARS, ids=lambda x: f"{type(x).__name__} {x}")
def test_a_number_is_read_as_a_scalar(call_path: str, number: Any, dtype: str) -> None:
    f = shared(call_path, dtype)
    x, scalar = np.arange(5.0).astype(dtype), np.asarray(float(number)).astype(dtype)
    expected = f.call(x, x, scalar)
    for given in (f.call(x, x, number), f.call(s=number, x=x, w=x)):
        np.testing.assert_array_equal(given.y, expected.y)
    X = np.stack([x] * 5)
    np.testing.assert_array_equal(f.call(X, x, number).y, f.call(X, x, scalar).y)


@PATHS
@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_numbers_that_are_not_finite_pass_through(
    call_path: str, number: float
) -> None:
    f, x = shared(call_path, "float64"), np.ones(5)
    for given in (number, np.float32(number), np.array(number), [number] * 5):
        assert not np.isfinite(f.call(x, x, given).y).any()
    assert not np.isfinite(f.call(x, [1.0, number, 2.0, 3.0, 4.0], 1.0).y).any()


VECTORS: dict[str, Callable[[np.ndarray], Any]] = {
    "list": np.ndarray.tolist,
    "tuple": lambda x: tuple(x.tolist()),
    "list of ints": lambda x: x.astype(int).tolist(),
    "tuple of all kinds": lambda x: (1.5, 2, True, np.float32(x[3]), np.array(7)),
    "list of NumPy's scalars": list,
    "list of large ints": lambda _: [2**70, -(2**65), 1, 2, 0.5],
    "range": lambda _: range(5),
    "float32": lambda x: x.astype(np.float32),
    "float16": lambda x: x.astype(np.float16),
    "long double": lambda x: x.astype(np.longdouble),
    "int64": lambda x: x.astype(np.int64),
    "int8": lambda x: x.astype(np.int8),
    "bool": lambda x: x > 0,
    "other byte order": lambda x: x.astype(">f8"),
    "unpickled": lambda x: pickle.loads(pickle.dumps(x)),
    "with metadata": lambda x: x.astype(np.dtype(float, metadata={"unit": "m"})),
    "unaligned": lambda x: np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view(float),
    "strided float32": lambda x: np.repeat(x.astype(np.float32), 2)[::-2],
    "memoryview": memoryview,
    "subclass": lambda x: x.view(type("Subclass", (np.ndarray,), {})),
    "list subclass": lambda x: type("List", (list,), {})(x.tolist()),
}


@PATHS
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("kind", VECTORS)
def test_a_vector_of_any_kind_is_read_as_an_array(
    rng: np.random.Generator, call_path: str, kind: str, dtype: str
) -> None:
    f = shared(call_path, dtype)
    x, w = (10 * rng.normal(size=(2, 5))).astype(dtype).astype(float)
    given = VECTORS[kind](x)
    array = np.asarray(given).astype(float).astype(dtype)
    w = w.astype(dtype)
    expected = f.call(array, w, 0.5)
    for result in (
        f.call(given, w, 0.5),
        f.call(given, w=w, s=0.5),
        f.call(given, w.tolist(), 0.5, out=(np.ones(4, dtype), np.ones(2, dtype))),
    ):
        np.testing.assert_array_equal(result[0], expected.y)
        np.testing.assert_array_equal(result[1], expected.z)
    batch = np.stack([array] * 6)
    for result in (f.call([given] * 6, w, 0.5), f.call(given, np.stack([w] * 6), 0.5)):
        np.testing.assert_array_equal(result.y, f.call(batch, w, 0.5).y)


@EMITTED
def test_numbers_and_lists_are_read_without_python(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    entered = watch(monkeypatch, "slow", "convert", "bind")
    f = affine(
        {"x": (5,), "s": (), "t": ()}, {"y": (4,), "z": ()}, defaults=(("t", 2.0),)
    )
    x = rng.normal(size=5)
    f.call(x, 1.0)
    assert entered == ["slow"]  # it compiles
    for given in (x, x.tolist(), tuple(x.tolist()), x.astype("f4"), x.astype(int)):
        for s in (1.0, 2, True, np.float64(3), np.int32(4), np.array(5)):
            expected = f.reference(np.asarray(given), s, 2.0)
            for result in (f.call(given, s), f.call(given, s=s), f.call(given, s, 2)):
                np.testing.assert_allclose(result.y, expected[0])
                np.testing.assert_allclose(result.z, expected[1])
    assert entered == ["slow"]


@EMITTED
def test_other_values_are_converted_and_then_read_as_fast(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    entered = watch(monkeypatch, "slow", "convert")
    f = affine({"A": (2, 3), "s": ()}, {"y": (4,)})
    A = rng.normal(size=(2, 3))
    f.check(A, 1.0)
    entered.clear()
    for given in (A.tolist(), A.T.copy().T, pickle.loads(pickle.dumps(A)), A > 0):
        f.check(given, 1.0)
        f.call(**{"".join("A"): given, "".join(["", "s"]): 0.5})
    assert set(entered) == {"convert"}


def watch(monkeypatch: pytest.MonkeyPatch, *names: str) -> list[str]:
    """Return a list that grows with every call of a method of Calls."""
    entered: list[str] = []

    def watched(name: str) -> Callable[..., Any]:
        original = getattr(Calls, name)

        def noted(*arguments: Any) -> Any:
            entered.append(name)
            return original(*arguments)

        return noted

    for name in names:
        monkeypatch.setattr(Calls, name, watched(name))
    return entered


@PATHS
@pytest.mark.usefixtures("call_path")
def test_an_input_with_a_default_may_be_left_out(rng: np.random.Generator) -> None:
    f = affine({"x": (3,), "s": ()}, {"y": (4,)}, defaults=(("s", 0.25),))
    for x in (rng.normal(size=3), rng.normal(size=(5, 3)), [1, 2, 3]):
        expected, out = f.call(x, 0.25), np.empty_like(f.call(x, 0.25))
        for _ in range(2):
            np.testing.assert_array_equal(f.call(x), expected)
            np.testing.assert_array_equal(f.call(x=x), expected)
            np.testing.assert_array_equal(f.call(x, out=out), expected)
        assert np.any(f.call(x, 0.5) != expected)
    with pytest.raises(ArgumentError, match=r"f is missing argument 'x'"):
        f.call(s=1.0)


@PATHS
@pytest.mark.usefixtures("call_path")
@pytest.mark.parametrize("count", [250, 300])
def test_long_vectors_of_numbers_are_read_too(count: int) -> None:
    f = affine({"x": (count,), "w": (count,), "s": ()}, {"y": (2,)})
    x = np.arange(float(count)) / count
    for _ in range(2):
        f.check(x.tolist(), tuple(x[::-1].tolist()), 3)


@PATHS
@pytest.mark.usefixtures("call_path")
def test_what_a_conversion_does_to_other_arguments_is_harmless() -> None:
    f = affine({"x": (3,), "w": (3,), "s": ()}, {"y": (2,)})
    f.check(np.ones(3), np.ones(3), 1.0)
    x, listed = np.ones(3), [1.0, 2.0, 3.0]

    class Spoiler:
        def __array__(self, *_: object, **__: object) -> np.ndarray:
            x.resize(100_000, refcheck=False)
            listed.clear()
            return np.ones(())

    with pytest.raises(ShapeError, match=r"x has shape \(100000,\)"):
        f.call(x, listed, Spoiler())
    with pytest.raises(ShapeError, match=r"x has shape \(0,\)"):
        f.call(listed, np.ones(3), Spoiler())


@pytest.mark.usefixtures("call_path")
def test_numbers_of_all_kinds_beside_an_int_beyond_64_bits_are_read() -> None:
    f = affine({"x": (4,)}, {"y": (3,)})
    numbers = [10**20, 1.5, np.float64(2.5), np.int64(7)]
    expected = f.check(np.array([1e20, 1.5, 2.5, 7.0]))
    np.testing.assert_array_equal(f.call(numbers), expected)
    np.testing.assert_array_equal(f.call(tuple(numbers)), expected)
