"""The way from a Python call to the native kernel and back."""

from __future__ import annotations

import gc
import itertools
import os
import pickle
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.affine import NO_LIBM, Affine, affine

from ramify.backend.arguments import Signature
from ramify.backend.native import Calls, make_callable
from ramify.errors import CompileError, ShapeError

WIDTHS = [("float64", n) for n in (1, 2, 4, 8)] + [
    ("float32", n) for n in (1, 4, 8, 16)
]
LAYOUTS = ["batch_first", "batch_last"]
INPUTS = {"x": (5,), "A": (2, 3), "s": ()}
OUTPUTS = {"y": (7,), "B": (2, 2), "z": ()}
SUPPORT = Path(__file__).resolve().parents[1] / "support"


class Subclass(np.ndarray):
    """An array that is more than one."""


@pytest.fixture(params=["emitted", "plain"])
def path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run a test on the emitted call path and on the plain one."""
    monkeypatch.setenv("RAMIFY_PLAIN_CALLS", str(int(request.param == "plain")))
    return request.param


def random_inputs(
    rng: np.random.Generator, f: Affine, batch: int | None
) -> list[np.ndarray]:
    shapes = [f.signature.shape(core, batch) for _, core in f.signature.inputs]
    return [rng.normal(size=shape).astype(f.signature.dtype) for shape in shapes]


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("dtype", "lanes"), WIDTHS)
def test_every_batch_size_equals_numpy(
    rng: np.random.Generator, dtype: str, lanes: int, layout: str
) -> None:
    f = affine(
        INPUTS, OUTPUTS, lanes=lanes, single_lanes=lanes, dtype=dtype, layout=layout
    )
    for batch in (None, *range(2 * lanes + 2)):
        inputs = random_inputs(rng, f, batch)
        for _ in range(2):  # the first call compiles
            f.check(*inputs)


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("dtype", "lanes"), WIDTHS)
def test_results_do_not_depend_on_the_place_in_the_batch(
    rng: np.random.Generator, dtype: str, lanes: int, layout: str
) -> None:
    f = affine(INPUTS, OUTPUTS, lanes=lanes, dtype=dtype, layout=layout)
    axis = 0 if layout == "batch_first" else -1
    inputs = random_inputs(rng, f, 2 * lanes + 1)
    together = f.call(*inputs)
    for i in range(2 * lanes + 1):
        alone = f.call(*(np.take(v, [i], axis) for v in inputs))
        for whole, one in zip(together, alone, strict=True):
            np.testing.assert_array_equal(np.take(whole, [i], axis), one)


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize("layout", LAYOUTS)
def test_batches_broadcast_like_numpy(rng: np.random.Generator, layout: str) -> None:
    f = affine(INPUTS, OUTPUTS, layout=layout)
    for mix in itertools.product((None, 1, 6), repeat=3):
        inputs = [random_inputs(rng, f, batch)[k] for k, batch in enumerate(mix)]
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


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("lanes", [1, 4])
def test_any_strides_are_read_and_written(
    rng: np.random.Generator, lanes: int, layout: str
) -> None:
    f = affine({"x": (5,), "A": (2, 3)}, {"y": (4,)}, lanes=lanes, layout=layout)
    axis = 0 if layout == "batch_first" else -1
    x, A = random_inputs(rng, f, 6)
    for xs, As in itertools.product(views(x, axis), views(A, axis)):
        y = f.check(xs, As)
        for out in views(np.zeros_like(y), axis):
            if out.flags.writeable:
                assert f.check(xs, As, out=out) is out


@pytest.mark.usefixtures("path")
def test_far_apart_states_are_read(rng: np.random.Generator) -> None:
    f = affine({"x": (5,)}, {"y": (3,)})
    sparse = np.zeros((9, 1 << 20))[:, :5]
    sparse[...] = rng.normal(size=(9, 5))
    f.check(sparse)
    f.check(sparse[::-4])


@pytest.mark.usefixtures("path")
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


@pytest.mark.usefixtures("path")
def test_inputs_go_by_name_too(rng: np.random.Generator) -> None:
    f = affine({"x": (3,), "A": (2, 3)}, {"y": (4,)})
    x, A = random_inputs(rng, f, None)
    expected = f.check(x, A)
    out = np.empty(4)
    np.testing.assert_array_equal(f.call(A=A, x=x), expected)
    np.testing.assert_array_equal(f.call(x, A=A), expected)
    assert f.call(x, out=out, A=A) is out
    np.testing.assert_array_equal(out, expected)
    assert f.call(*(x, A), **{"".join(["o", "ut"]): out}) is out


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize("batch", [None, 1, 6])
def test_several_outputs_come_as_a_named_tuple(
    rng: np.random.Generator, batch: int | None
) -> None:
    f = affine(INPUTS, OUTPUTS)
    inputs = random_inputs(rng, f, batch)
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


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize("layout", LAYOUTS)
def test_out_may_overlap_inputs(rng: np.random.Generator, layout: str) -> None:
    f = affine({"x": (4,), "w": (4,)}, {"y": (4,)}, layout=layout)
    for batch in (None, 1, 4, 11):
        inputs = random_inputs(rng, f, batch)
        (expected,) = f.reference(*inputs)
        x, w = (v.copy() for v in inputs)
        f.call(x, w, out=x)
        np.testing.assert_allclose(x, expected, atol=1e-12)
    memory = rng.normal(size=400)
    for shift, step in itertools.product(
        (-20, -4, -3, -1, 0, 1, 2, 4, 8, 20), (4, 5, 8)
    ):
        block = np.lib.stride_tricks.as_strided(memory[50:], (11, 4), (8 * step, 8))
        other = np.lib.stride_tricks.as_strided(memory[50 + shift :], (11, 4), (32, 8))
        x, out = (block, other) if layout == "batch_first" else (block.T, other.T)
        saved = memory.copy()
        (expected,) = f.reference(x, x[:1] if layout == "batch_first" else x[:, :1])
        f.call(x, x[:1] if layout == "batch_first" else x[:, :1], out=out)
        np.testing.assert_allclose(out, expected, atol=1e-12)
        memory[...] = saved


@pytest.mark.usefixtures("path")
def test_out_that_overlaps_itself_is_written_like_numpy_does() -> None:
    f = affine({"x": (2,)}, {"y": (2,)})
    row = np.zeros(9)
    out = np.lib.stride_tricks.as_strided(row, (8, 2), (8, 8))
    f.call(np.ones((8, 2)), out=out)
    assert np.isin(row, f.reference(np.ones(2))[0]).all()


CALLS: list[tuple[type[Exception], str, Callable[[Callable[..., Any]], Any]]] = [
    (ShapeError, r"x has shape \(2,\); kernel 'f' needs \(3,\) or \(batch, 3\)", lambda f: f(np.ones(2), 1.0)),
    (ShapeError, r"x has shape \(2, 2, 3\)", lambda f: f(np.ones((2, 2, 3)), 1.0)),
    (ShapeError, r"s has shape \(2, 2\).*needs \(\) or \(batch,\)", lambda f: f(np.ones(3), np.ones((2, 2)))),
    (ShapeError, "batches differ: x 2, s 3", lambda f: f(np.ones((2, 3)), np.ones(3))),
    (ShapeError, "batches differ: x 0, s 3", lambda f: f(np.ones((0, 3)), np.ones(3))),
    (ShapeError, "x is str", lambda f: f("abc", 1.0)),
    (ShapeError, "x is NoneType", lambda f: f(None, 1.0)),
    (ShapeError, "x is ndarray of complex128", lambda f: f(np.ones(3, complex), 1.0)),
    (ShapeError, "x is ndarray of object", lambda f: f(np.array([1, None, 2]), 1.0)),
    (ShapeError, "x is ndarray of datetime64", lambda f: f(np.zeros(3, "M8[s]"), 1.0)),
    (ShapeError, "x is no array", lambda f: f([[1, 2], [3]], 1.0)),
    (TypeError, r"f\(\) misses 's'", lambda f: f(np.ones(3))),
    (TypeError, r"f\(\) misses 'x', 's'", lambda f: f()),
    (TypeError, "takes 2 inputs .x, s. and out=; 3 values", lambda f: f(np.ones(3), 1.0, 2)),
    (TypeError, r"f\(\) has no input 'y'", lambda f: f(np.ones(3), 1.0, y=2)),
    (TypeError, "got 'x' twice", lambda f: f(np.ones(3), x=1.0)),
    (ShapeError, r"out has shape \(3,\).*float64 array of shape \(2,\)", lambda f: f(np.ones(3), 1.0, out=np.ones(3))),
    (ShapeError, r"out has shape \(2,\).*shape \(4, 2\)", lambda f: f(np.ones((4, 3)), 1.0, out=np.ones(2))),
    (ShapeError, "out is an array of float32", lambda f: f(np.ones(3), 1.0, out=np.ones(2, "f4"))),
    (ShapeError, "out is an array of >f8", lambda f: f(np.ones(3), 1.0, out=np.ones(2, ">f8"))),
    (ShapeError, "out has 2 arrays; kernel 'f' has 1 outputs", lambda f: f(np.ones(3), 1.0, out=[1, 2])),
    (ShapeError, "out is str", lambda f: f(np.ones(3), 1.0, out="y")),
    (ShapeError, "out is read-only", lambda f: f(np.ones(3), 1.0, out=np.broadcast_to(0.0, 2))),
    (ShapeError, "out has 'u'; outputs are y", lambda f: f(np.ones(3), 1.0, out={"u": np.ones(2)})),
]  # fmt: skip


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize(("error", "message", "call"), CALLS)
def test_wrong_calls_say_what_is_wrong(
    error: type[Exception], message: str, call: Callable[[Callable[..., Any]], Any]
) -> None:
    f = affine({"x": (3,), "s": ()}, {"y": (2,)})
    for _ in range(2):
        with pytest.raises(error, match=message):
            call(f.call)
        f.check(np.ones(3), np.ones(()))
        f.check(np.ones((5, 3)), np.ones(5))


@pytest.mark.usefixtures("path")
def test_outputs_may_not_share_memory() -> None:
    f = affine({"x": (3,)}, {"y": (2,), "z": (2,)})
    y = np.ones(3)
    with pytest.raises(ShapeError, match="out 'y' and out 'z' share memory"):
        f.call(np.ones(3), out=(y[:2], y[1:]))
    both = np.zeros((5, 4))
    f.check(np.ones((5, 3)), out=(both[:, :2], both[:, 2:]))
    with pytest.raises(ShapeError, match="needs a tuple or dict of 2 arrays"):
        f.call(np.ones(3), out=y)


def test_an_input_named_out_is_refused() -> None:
    with pytest.raises(ValueError, match="an input 'out'"):
        make_callable(Signature("f", (("out", ()),), ()), lambda _: 1 / 0, NO_LIBM)


@pytest.mark.usefixtures("path")
def test_an_error_while_compiling_reaches_the_caller_and_the_next_call_tries_again() -> (
    None
):
    good = affine({"x": (3,)}, {"y": (2,)})
    tries: list[str] = []

    def kernel_for(kind: str) -> Any:
        tries.append(kind)
        if len(tries) < 3:
            raise CompileError("no luck")
        return good.call  # never reached

    f = make_callable(good.signature, kernel_for, NO_LIBM)
    for x in (np.ones(3), np.ones((4, 3))):
        with pytest.raises(CompileError, match="no luck"):
            f(x)
    assert tries == ["single", "batch"]


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize("slots", [10, 100, 9_000, 300_000])
def test_workspaces_of_any_size(rng: np.random.Generator, slots: int) -> None:
    f = affine({"x": (5,)}, {"y": (3,)}, extra_slots=slots)
    for _ in range(3):
        f.check(rng.normal(size=5))
        f.check(rng.normal(size=(9, 5)))


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize("count", [0, 1, 31, 32, 40])
def test_any_number_of_inputs(rng: np.random.Generator, count: int) -> None:
    f = affine({f"x{k}": (2,) for k in range(count)}, {"y": (3,)})
    for _ in range(2):
        f.check(*rng.normal(size=(count, 2)))
        if count:
            f.check(*rng.normal(size=(count, 7, 2)))


@pytest.mark.usefixtures("path")
def test_empty_inputs_and_matrices_with_no_rows() -> None:
    f = affine({"x": (0,), "A": (0, 3), "w": (1, 1)}, {"y": (1, 2)})
    for _ in range(2):
        f.check(np.ones(0), np.ones((0, 3)), np.ones((1, 1)))
        f.check(np.ones((5, 0)), np.ones((0, 3)), np.ones((5, 1, 1)))


@pytest.mark.usefixtures("path")
def test_one_kernel_is_compiled_for_eight_threads(rng: np.random.Generator) -> None:
    f = affine({"x": (5,)}, {"y": (3,)})
    singles, batches = rng.normal(size=(8, 5)), rng.normal(size=(8, 50, 5))
    start, failures = threading.Barrier(8), []

    def work(k: int) -> None:
        start.wait()
        try:
            for _ in range(200):
                f.check(batches[k])
                f.check(singles[k])
        except BaseException as error:  # noqa: BLE001 (shown by the assertion below)
            failures.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert failures == []
    assert sorted(f.compiled) == ["batch", "single"]


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize("layout", LAYOUTS)
def test_threads_give_the_same_result(rng: np.random.Generator, layout: str) -> None:
    one = affine({"x": (5,), "w": (2,)}, {"y": (3,)}, layout=layout)
    many = affine({"x": (5,), "w": (2,)}, {"y": (3,)}, layout=layout, threads=3)
    for batch in (1, 99, 30_001, 100_003):
        x, _ = random_inputs(rng, one, batch)
        w = rng.normal(size=2)
        np.testing.assert_array_equal(one.check(x, w), many.check(x, w))


def test_a_call_leaves_no_reference_and_no_memory(rng: np.random.Generator) -> None:
    f = affine({"x": (5,), "w": (2,)}, {"y": (3,)})
    g = affine({"x": (5,), "w": (2,)}, {"y": (3,), "z": ()})
    x, w, out, z = rng.normal(size=5), rng.normal(size=2), np.empty(3), np.empty(())
    X, batch_out, pair, bad = (
        rng.normal(size=(6, 5)),
        np.empty((6, 3)),
        (out, z),
        np.ones(4),
    )
    calls: list[Callable[[], Any]] = [
        lambda: f.call(x, w),
        lambda: f.call(x, w, out=out),
        lambda: f.call(x, w, out=None),
        lambda: f.call(X, w),
        lambda: f.call(X, w, out=batch_out),
        lambda: f.call(x, w=w),
        lambda: f.call([1, 2, 3, 4, 5], w),
        lambda: f.call(X, w, out=X[:, :3]),
        lambda: g.call(x, w),
        lambda: g.call(x, w, out=pair),
        lambda: g.call(X, w),
        lambda: raises(f.call, bad, w),
        lambda: raises(f.call, x),
        lambda: raises(f.call, x, w, out=bad),
        lambda: raises(g.call, x, w, out=(out, bad)),
        lambda: raises(f.call, None, "w"),
    ]
    kept = [
        f.call,
        g.call,
        x,
        w,
        out,
        X,
        batch_out,
        pair,
        bad,
        np.dtype("f8"),
        "out",
        (),
    ]
    for call in calls:
        for _ in range(50):
            call()
        gc.collect()
        before = [sys.getrefcount(o) for o in kept]
        tracemalloc.start()
        call()
        low = tracemalloc.get_traced_memory()[0]
        for _ in range(10_000 if call in calls[:5] else 1_000):
            call()
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0] - low
        tracemalloc.stop()
        assert [sys.getrefcount(o) for o in kept] == before
        assert grown < 4_000


def raises(call: Callable[..., Any], *args: Any, **named: Any) -> None:
    with pytest.raises((ShapeError, TypeError)):
        call(*args, **named)


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
    x, X = random_inputs(rng, f, None), random_inputs(rng, f, 9)
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


def test_the_callable_keeps_alive_what_it_needs(rng: np.random.Generator) -> None:
    f = affine({"x": (5,)}, {"y": (3,)})
    x, X = rng.normal(size=5), rng.normal(size=(6, 5))
    call, expected = f.call, (f.check(x), f.check(X))
    del f
    gc.collect()
    junk = [np.ones(n) for n in range(1000)]
    for _ in range(100):
        np.testing.assert_array_equal(call(x), expected[0])
        np.testing.assert_array_equal(call(X), expected[1])
    del junk
    bound = type("F", (), {"__call__": call})()
    np.testing.assert_array_equal(bound(x), expected[0])


def test_a_dropped_callable_is_freed_without_the_collector() -> None:
    f = affine({"x": (5,)}, {"y": (3,)})
    f.check(np.ones(5))
    owner = type(f.call.__self__.keepalive[0])  # type: ignore[attr-defined]
    del f
    gc.collect()
    gc.disable()
    try:
        count = sum(isinstance(o, owner) for o in gc.get_objects())
        g = affine({"x": (5,)}, {"y": (3,)})
        g.check(np.ones(5))
        del g
        assert sum(isinstance(o, owner) for o in gc.get_objects()) == count
    finally:
        gc.enable()


def run_script(name: str, *arguments: str) -> str:
    """Run a script of tests/support in its own process and return what it prints."""
    paths = [str(SUPPORT.parent), str(SUPPORT.parents[1] / "src")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", str(SUPPORT / name), *arguments],
        capture_output=True, text=True, env=environment, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.usefixtures("path")
def test_no_arguments_can_crash_the_interpreter() -> None:
    assert "survived" in run_script("abuse_calls.py")


@pytest.mark.usefixtures("path")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_child_can_call() -> None:
    assert "parent and child agree" in run_script("fork_calls.py")
