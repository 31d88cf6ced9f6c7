"""Native calls share nothing by accident: threads, forks, references, memory."""

from __future__ import annotations

import gc
import os
import pickle
import sys
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from ramidyn.backend.calls.callable import Calls
from ramidyn.backend.runtime import memory_layout as words
from ramidyn.errors import ArgumentError, ShapeError
from support.affine import affine
from support.processes import run_script

LAYOUTS = ["batch_first", "batch_last"]


@pytest.mark.usefixtures("call_path")
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
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert failures == []
    assert sorted(f.compiled) == ["batch", "single"]


@pytest.mark.usefixtures("call_path")
@pytest.mark.parametrize("layout", LAYOUTS)
def test_threads_give_the_same_result(rng: np.random.Generator, layout: str) -> None:
    one = affine({"x": (5,), "w": (2,)}, {"y": (3,)}, layout=layout)
    many = affine({"x": (5,), "w": (2,)}, {"y": (3,)}, layout=layout, threads=3)
    for batch in (1, 99, 30_001, 100_003):
        x, _ = one.random(rng, batch)
        w = rng.normal(size=2)
        np.testing.assert_array_equal(one.check(x, w), many.check(x, w))


@pytest.fixture
def quick_collections() -> Iterator[None]:
    """Let the collector pass over what is there already: much, in a long run."""
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("quick_collections")
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
    h = affine({"x": (5,), "s": ()}, {"y": (3,)}, defaults=(("s", 0.5),))
    s = affine({"s": ()}, {"y": (3,)})
    numbers: list[Any] = [1e300, 10**20, np.float64(2.5), np.float32(0.1), np.int64(7)]
    listed, mixed, short = x.tolist(), tuple(numbers), x.astype(np.float32)
    huge, pickled = 10**400, pickle.loads(pickle.dumps(x))
    calls: list[Callable[[], Any]] = [
        lambda: f.call(x, w),
        lambda: f.call(x, w, out=out),
        lambda: f.call(x, w, out=None),
        lambda: f.call(X, w),
        lambda: f.call(X, w, out=batch_out),
        lambda: f.call(x, w=w),
        lambda: f.call([1, 2, 3, 4, 5], w),
        lambda: [h.call(x, number) for number in numbers],
        lambda: h.call(x),
        lambda: h.call(x, np.array(2)),
        lambda: h.call(listed, 2, out=out),
        lambda: h.call(mixed, s=2),
        lambda: h.call(short, 1.0, out=out),
        lambda: h.call(pickled, 1.0, out=out),
        lambda: h.call([listed, listed], 1.0),
        lambda: h.call(x, listed),
        lambda: s.call(X[0]),
        lambda: raises(h.call, x, huge),
        lambda: raises(h.call, [1, 2, 3, 4, huge], 1.0),
        lambda: raises(h.call, [1, 2, 3, 4, None], 1.0),
        lambda: raises(h.call, short, 1.0, out=bad),
        lambda: raises(h.call, short[:3], 1.0),
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
        h.call,
        *numbers,
        *listed,
        *(listed, mixed, short, huge, pickled),
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
        low = len(tracemalloc.take_snapshot().traces)
        is_fast = words.HAS_KNOWN_OBJECTS and call in calls[:5]
        for _ in range(3_000 if is_fast else 300):
            call()
        gc.collect()
        # Blocks, not bytes: one table of the interpreter may grow, once.
        grown = len(tracemalloc.take_snapshot().traces) - low
        tracemalloc.stop()
        assert [sys.getrefcount(o) for o in kept] == before
        assert grown < 100


def raises(call: Callable[..., Any], *args: Any, **named: Any) -> None:
    with pytest.raises((ShapeError, ArgumentError)):
        call(*args, **named)


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
    bound = type("F", (), {"__call__": staticmethod(call)})()
    np.testing.assert_array_equal(bound(x), expected[0])


def test_a_dropped_callable_is_freed_without_the_collector() -> None:
    f = affine({"x": (5,)}, {"y": (3,)})
    f.check(np.ones(5))
    del f
    gc.collect()
    gc.disable()
    try:
        count = sum(isinstance(o, Calls) for o in gc.get_objects())
        g = affine({"x": (5,)}, {"y": (3,)})
        g.check(np.ones(5))
        del g
        assert sum(isinstance(o, Calls) for o in gc.get_objects()) == count
    finally:
        gc.enable()


@pytest.mark.usefixtures("call_path")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_child_can_call() -> None:
    assert "parent and child agree" in run_script("fork_calls.py")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_child_forked_while_a_thread_compiles_does_not_hang() -> None:
    assert "all children compiled" in run_script("fork_compiles.py")


@pytest.mark.parametrize("name", ["llvm.emit", "llvm.schedule", "runtime.driver_code"])
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_child_forked_while_a_thread_imports_does_not_hang(name: str) -> None:
    assert "the child compiled" in run_script("fork_imports.py", name)
