"""Native calls give what NumPy gives, whatever the arrays look like."""

from __future__ import annotations

import itertools
import math
import pickle
from typing import Any

import numpy as np
import pytest

from ramidyn.backend.calls.callable import Calls
from ramidyn.backend.calls.vectorcall import Vectorcall, attach, use_vectorcall
from ramidyn.backend.runtime import memory_layout as words
from ramidyn.errors import ArgumentError
from support.affine import affine

WIDTHS = [("float64", n) for n in (1, 2, 4, 8)] + [
    ("float32", n) for n in (1, 4, 8, 16)
]
LAYOUTS = ["batch_first", "batch_last"]
INPUTS = {"x": (5,), "A": (2, 3), "s": ()}
OUTPUTS = {"y": (7,), "B": (2, 2), "z": ()}


class Subclass(np.ndarray):
    """An array that is more than one."""


@pytest.mark.usefixtures("call_path")
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("dtype", "lanes"), WIDTHS)
def test_every_batch_size_equals_numpy(
    rng: np.random.Generator, dtype: str, lanes: int, layout: str
) -> None:
    f = affine(
        INPUTS, OUTPUTS, lanes=lanes, single_lanes=lanes, dtype=dtype, layout=layout
    )
    for batch in (None, *range(2 * lanes + 2), 8 * lanes + 1, 9 * lanes + 3):
        inputs = f.random(rng, batch)
        for _ in range(2):  # the first call compiles
            f.check(*inputs)


@pytest.mark.usefixtures("call_path")
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("dtype", "lanes"), WIDTHS)
def test_results_do_not_depend_on_the_place_in_the_batch(
    rng: np.random.Generator, dtype: str, lanes: int, layout: str
) -> None:
    f = affine(INPUTS, OUTPUTS, lanes=lanes, dtype=dtype, layout=layout)
    axis = 0 if layout == "batch_first" else -1
    inputs = f.random(rng, 9 * lanes + 1)
    together = f.call(*inputs)
    for i in (*range(2 * lanes + 1), *range(8 * lanes - 1, 9 * lanes + 1)):
        alone = f.call(*(np.take(v, [i], axis) for v in inputs))
        for whole, one in zip(together, alone, strict=True):
            np.testing.assert_array_equal(np.take(whole, [i], axis), one)


@pytest.mark.usefixtures("call_path")
@pytest.mark.parametrize("layout", LAYOUTS)
def test_batches_broadcast_like_numpy(rng: np.random.Generator, layout: str) -> None:
    f = affine(INPUTS, OUTPUTS, layout=layout)
    for mix in itertools.product((None, 1, 71), repeat=3):
        inputs = [f.random(rng, batch)[k] for k, batch in enumerate(mix)]
        f.check(*inputs)
        f.check(*inputs)


def views(full: np.ndarray, axis: int) -> list[np.ndarray]:
    """Return arrays of one shape and all kinds of strides."""
    moved = np.moveaxis(full, axis, 0)
    far = np.zeros((7 * len(moved), *moved.shape[1:]), full.dtype)
    wide = np.zeros((*moved.shape, 3), full.dtype)
    arrays = [
        moved,
        moved[::-1],
        np.repeat(moved, 2, 0)[::2],
        np.asfortranarray(moved),
        np.broadcast_to(moved[:1], moved.shape),
        far[::-7],
        wide[..., 1],
        moved[..., ::-1] if moved.ndim > 1 else moved,
        np.moveaxis(np.moveaxis(moved, 0, -1).copy(), -1, 0),
    ]
    return [np.moveaxis(a, 0, axis) for a in arrays]


@pytest.mark.usefixtures("call_path")
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("lanes", [1, 4])
def test_any_strides_are_read_and_written(
    rng: np.random.Generator, lanes: int, layout: str
) -> None:
    f = affine({"x": (5,), "A": (2, 3)}, {"y": (4,)}, lanes=lanes, layout=layout)
    axis = 0 if layout == "batch_first" else -1
    x, A = f.random(rng, 6 if lanes == 1 else 35)
    for xs, As in itertools.product(views(x, axis), views(A, axis)):
        y = f.check(xs, As)
        for out in views(np.zeros_like(y), axis):
            if out.flags.writeable:
                assert f.check(xs, As, out=out) is out


@pytest.mark.usefixtures("streamed")
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_streamed_results_are_whole_wherever_they_begin(
    rng: np.random.Generator, dtype: str
) -> None:
    f = affine({"x": (3,)}, {"M": (12, 12), "b": (5,), "J": (6, 8)}, dtype=dtype)
    guard = 7.0
    for batch, offset in itertools.product((3, 68, 77), range(9)):
        (x,) = f.random(rng, batch)
        memory, arrays = [], []
        for _, core in f.signature.outputs:
            shape = (batch, *core)
            block = np.full(math.prod(shape) + 16, guard, dtype)
            memory.append(block)
            arrays.append(block[offset : offset + math.prod(shape)].reshape(shape))
        f.check(x, out=arrays)
        for block, array in zip(memory, arrays, strict=True):
            assert (block[:offset] == guard).all()
            assert (block[offset + array.size :] == guard).all()


@pytest.mark.usefixtures("call_path")
def test_far_apart_states_are_read(rng: np.random.Generator) -> None:
    f = affine({"x": (5,)}, {"y": (3,)})
    sparse = np.zeros((9, 1 << 20))[:, :5]
    sparse[...] = rng.normal(size=(9, 5))
    f.check(sparse)
    f.check(sparse[::-4])


@pytest.mark.usefixtures("call_path")
def test_any_real_numbers_are_taken(rng: np.random.Generator) -> None:
    f = affine({"x": (3,), "A": (2, 3), "s": ()}, {"y": (4,)})
    A = rng.normal(size=(5, 2, 3))
    read_only = A.copy()
    read_only.flags.writeable = False
    shifted = np.frombuffer(b"\0" + A.tobytes(), np.uint8)[1:].view(np.float64)
    for given in (
        A.astype(np.float32),
        A.astype(">f8"),
        A.astype(np.longdouble),
        (10 * A).astype(np.int16),
        A > 0,
        A.tolist(),
        np.asfortranarray(A),
        read_only,
        shifted.reshape(A.shape),
        memoryview(A),
    ):
        f.check([1, 2, 3], given, 0.5)
    f.check((1, 2.5, True), A[0].view(Subclass), np.float32(2))


@pytest.mark.usefixtures("call_path")
def test_inputs_go_by_name_too(rng: np.random.Generator) -> None:
    f = affine({"x": (3,), "A": (2, 3)}, {"y": (4,)})
    x, A = f.random(rng, None)
    expected = f.check(x, A)
    out = np.empty(4)
    np.testing.assert_array_equal(f.call(A=A, x=x), expected)
    np.testing.assert_array_equal(f.call(x, A=A), expected)
    assert f.call(x, out=out, A=A) is out
    np.testing.assert_array_equal(out, expected)
    assert f.call(*(x, A), **{"".join(["o", "ut"]): out}) is out


@pytest.mark.usefixtures("call_path")
@pytest.mark.parametrize("batch", [None, 1, 6])
def test_several_outputs_come_as_a_named_tuple(
    rng: np.random.Generator, batch: int | None
) -> None:
    f = affine(INPUTS, OUTPUTS)
    inputs = f.random(rng, batch)
    result = f.check(*inputs)
    assert result._fields == ("y", "B", "z")
    assert result.B is result[1]
    copy = pickle.loads(pickle.dumps(result))
    assert type(copy) is type(result)
    for out in (result, tuple(result), list(result)):
        assert f.check(*inputs, out=out) is out
    named = {"z": result.z, "y": result.y, "B": result.B}
    result.y[...] = np.nan
    assert f.call(*inputs, out=named) is named
    np.testing.assert_allclose(result.y, f.reference(*inputs)[0])


@pytest.mark.usefixtures("call_path")
@pytest.mark.parametrize("layout", LAYOUTS)
def test_out_may_overlap_inputs(rng: np.random.Generator, layout: str) -> None:
    f = affine({"x": (4,), "w": (4,)}, {"y": (4,)}, layout=layout)
    for batch in (None, 1, 4, 11, 71):
        inputs = f.random(rng, batch)
        (expected,) = f.reference(*inputs)
        x, w = (v.copy() for v in inputs)
        f.call(x, w, out=x)
        np.testing.assert_allclose(x, expected, atol=1e-12)
    memory = rng.normal(size=1000)
    for shift, step in itertools.product(
        (-20, -4, -3, -1, 0, 1, 2, 4, 8, 20), (4, 5, 8)
    ):
        block = np.lib.stride_tricks.as_strided(memory[50:], (71, 4), (8 * step, 8))
        other = np.lib.stride_tricks.as_strided(memory[50 + shift :], (71, 4), (32, 8))
        x, out = (block, other) if layout == "batch_first" else (block.T, other.T)
        saved = memory.copy()
        (expected,) = f.reference(x, x[:1] if layout == "batch_first" else x[:, :1])
        f.call(x, x[:1] if layout == "batch_first" else x[:, :1], out=out)
        np.testing.assert_allclose(out, expected, atol=1e-12)
        memory[...] = saved


@pytest.mark.usefixtures("call_path")
@pytest.mark.parametrize("slots", [10, 100, 900, 3_000, 300_000])
def test_workspaces_of_any_size(rng: np.random.Generator, slots: int) -> None:
    f = affine({"x": (5,), "w": (2,)}, {"y": (3,)}, extra_slots=slots)
    for batch in (1, 4, 9, 32, 33, 64, 71):  # some tiles run together, the last is cut
        f.check(rng.normal(size=5), rng.normal(size=2))
        f.check(rng.normal(size=(batch, 5)), rng.normal(size=(batch, 2)))
        f.check(rng.normal(size=(batch, 5)), rng.normal(size=2))


@pytest.mark.usefixtures("call_path")
@pytest.mark.parametrize("count", [0, 1, 31, 32, 40])
def test_any_number_of_inputs(rng: np.random.Generator, count: int) -> None:
    f = affine({f"x{k}": (2,) for k in range(count)}, {"y": (3,)})
    for _ in range(2):
        f.check(*rng.normal(size=(count, 2)))
        if count:
            f.check(*rng.normal(size=(count, 7, 2)))


@pytest.mark.usefixtures("call_path")
def test_empty_inputs_and_matrices_with_no_rows() -> None:
    f = affine({"x": (0,), "A": (0, 3), "w": (1, 1)}, {"y": (1, 2)})
    for _ in range(2):
        f.check(np.ones(0), np.ones((0, 3)), np.ones((1, 1)))
        f.check(np.ones((5, 0)), np.ones((0, 3)), np.ones((5, 1, 1)))


@pytest.mark.skipif(not words.HAS_KNOWN_OBJECTS, reason="all calls are plain")
@pytest.mark.parametrize("layout", LAYOUTS)
def test_regular_calls_stay_off_the_slow_path(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, layout: str
) -> None:
    slow: list[str] = []

    def noted(self: Calls, *arguments: Any) -> object:
        slow.append("called")
        return original(self, *arguments)

    original = Calls.slow
    monkeypatch.setattr(Calls, "slow", noted)
    f, g = (
        affine(INPUTS, {"y": (7,)}, layout=layout),
        affine(INPUTS, OUTPUTS, layout=layout),
    )
    x, X = f.random(rng, None), f.random(rng, 9)
    for h in (f, g):
        results = [h.check(*x), h.check(*X)]
        assert len(slow) == 2  # they compile
        for inputs, result in zip((x, X), results, strict=True):
            h.check(*inputs)
            h.check(*inputs, out=result)
        h.check(X[0], *x[1:])
        h.check(X[0], x[1], X[2], out=None)
        assert len(slow) == 2
        slow.clear()


@use_vectorcall
class Function(Vectorcall):
    """Something that is called."""

    def __init__(self, call: Any) -> None:
        attach(self, call)


def test_an_instance_calls_what_is_attached(rng: np.random.Generator) -> None:
    f = affine(INPUTS, OUTPUTS)
    function: Any = Function(f.call)
    for batch in (None, 9):
        inputs = f.random(rng, batch)
        for _ in range(2):
            for one, two in zip(function(*inputs), f.check(*inputs), strict=True):
                np.testing.assert_array_equal(one, two)
        named = dict(zip(INPUTS, inputs, strict=True))
        np.testing.assert_array_equal(function(**named).y, f.call(*inputs).y)
    with pytest.raises(ArgumentError, match=r"f is missing arguments 'x', 'A', 's'"):
        function()


def test_an_instance_without_a_function_cannot_be_called() -> None:
    with pytest.raises((TypeError, AttributeError)):
        Function.__new__(Function)()
