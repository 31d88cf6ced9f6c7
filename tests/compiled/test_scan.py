"""Time loops in native code give what the same steps give one by one."""

from __future__ import annotations

import _thread
import pickle
import sys
import threading
import time
from typing import Any

import numpy as np
import pytest

import ramidyn
from ramidyn import math, progress
from ramidyn.backend.calls import runnable
from ramidyn.simulation import scan as time_loop

LENGTH = 12


def swing(q: Any, qd: Any, u: Any, k: Any, dt: Any = 0.01) -> dict[str, Any]:
    """A step that mixes what is carried, exchanges two entries, and reports."""
    qdd = u - k * math.sin(q) - q * q[::-1]
    return {
        "q": np.array([q[1], q[0] + dt * qd[0], q[2]]) + dt * dt * qdd,
        "energy": qd @ qd,
        "qd": qd + dt * qdd,
        "before": q,
        "three": 3.0,
    }


SHAPES = {"q": 3, "qd": 3, "u": 3, "k": (), "dt": ()}


def made(every: int = 1, record: Any = None, **options: Any) -> Any:
    step = ramidyn.kernel(swing, SHAPES, **options)
    run = ramidyn.scan(
        step,
        carry=("q", "qd"),
        length=LENGTH,
        per_step=("u",),
        every=every,
        record=record,
    )
    return step, run


def inputs(rng: np.random.Generator, batch: int | None, dtype: str = "float64") -> Any:
    lead = () if batch is None else (batch,)
    q, qd = rng.normal(size=(2, *lead, 3)).astype(dtype)
    u = rng.normal(size=(*lead, LENGTH, 3)).astype(dtype)
    return q, qd, u, rng.normal(size=lead).astype(dtype)


def one_by_one(step: Any, q: Any, qd: Any, u: Any, k: Any) -> Any:
    """Return the outputs of each step; time is the axis before the core."""
    rows = []
    for i in range(LENGTH):
        rows.append(step(q, qd, u[..., i, :], k))
        q, qd = rows[-1].q, rows[-1].qd
    lead = np.ndim(k)
    return {
        name: np.stack([getattr(r, name) for r in rows], lead)
        for name in rows[0]._fields
    }


@pytest.mark.parametrize(
    ("batch", "options"),
    [
        (None, {}),
        (1, {}),
        (67, {}),
        (None, {"dtype": "float32"}),
        (37, {"dtype": "float32"}),
        (11, {"lanes": 8}),
    ],
)
def test_a_scan_gives_the_steps_one_by_one_to_the_bit(
    rng: np.random.Generator, batch: int | None, options: dict[str, Any]
) -> None:
    step, run = made(**options)
    values = inputs(rng, batch, options.get("dtype", "float64"))
    expected, found = one_by_one(step, *values), run(*values)
    for name, array in expected.items():
        np.testing.assert_array_equal(getattr(found, name), array)
        assert getattr(found, name).dtype == array.dtype


@pytest.mark.parametrize("layout", ["batch_first", "batch_last"])
@pytest.mark.parametrize("size", [3, 4, 5, 6, 7, 9, 12, 15])
@pytest.mark.parametrize(
    ("dtype", "lanes"),
    [("float64", 4), ("float64", 8), ("float32", 8), ("float32", 16)],
)
def test_rows_of_any_length_are_read_and_written_whole(
    rng: np.random.Generator, dtype: str, lanes: int, size: int, layout: str
) -> None:
    step = ramidyn.kernel(
        lambda x, u: {"x": x + u, "double": 2.0 * u},
        {"x": size, "u": size},
        dtype=dtype,
        lanes=lanes,
        layout=layout,
    )
    batch, length, every = 2 * lanes + 3, 6, 2
    run = ramidyn.scan(step, carry=["x"], length=length, per_step=["u"], every=every)
    numbers = rng.integers(-99, 99, size=(batch, length + 1, size)).astype(dtype)
    sums, axis = numbers.cumsum(axis=1)[:, 1:], -(layout == "batch_last")
    x, u = (np.moveaxis(a, 0, axis) for a in (numbers[:, 0], numbers[:, 1:]))
    memory = np.full((2, batch + 2, length // every, size), np.nan, dtype)
    states, doubles = (np.moveaxis(a[1:-1], 0, axis) for a in memory)
    run(x.copy(), u.copy(), out={"x": states, "double": doubles})
    np.testing.assert_array_equal(memory[0, 1:-1], sums[:, every - 1 :: every])
    last = 2.0 * numbers[:, every::every]
    np.testing.assert_array_equal(memory[1, 1:-1], last)
    assert np.isnan(memory[:, [0, -1]]).all()


def test_only_every_kth_step_of_some_outputs_is_recorded(
    rng: np.random.Generator,
) -> None:
    step, run = made(every=4, record=("energy", "q"))
    values = inputs(rng, 9)
    expected, found = one_by_one(step, *values), run(*values)
    for name in ("energy", "q"):
        np.testing.assert_array_equal(getattr(found, name), expected[name][:, 3::4])
    for name in ("qd", "before", "three"):  # after the last step
        np.testing.assert_array_equal(getattr(found, name), expected[name][:, -1])


def test_what_is_given_once_holds_for_all_states_and_steps(
    rng: np.random.Generator,
) -> None:
    _, run = made()
    q, qd, u, k = inputs(rng, 6)
    full = run(q, np.repeat(qd[:1], 6, 0), np.repeat(u[:1], 6, 0), np.full(6, k[0]))
    np.testing.assert_array_equal(run(q, qd[0], u[0], k[0]).q, full.q)
    still = run(q, qd, np.repeat(u[:, :1], LENGTH, 1), k)
    np.testing.assert_array_equal(run(q, qd, u[:, :1], k=k).q, still.q)
    same = run(q, qd, np.broadcast_to(u[0, 0], (6, LENGTH, 3)), k)
    np.testing.assert_array_equal(run(q, qd, u[0, 0], k).q, same.q)
    assert run(q[:0], qd[:0], u[0], 1.0).q.shape == (0, LENGTH, 3)


def test_the_batch_may_be_the_last_axis(rng: np.random.Generator) -> None:
    _, first = made()
    _, last = made(layout="batch_last")
    values = inputs(rng, 7)
    turned = [np.moveaxis(x, 0, -1).copy() for x in values]
    for a, b in zip(first(*values), last(*turned), strict=True):
        np.testing.assert_array_equal(np.moveaxis(b, -1, 0), a)


def test_threads_and_slices_change_nothing(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = inputs(rng, 333)
    expected = made(every=3)[1](*values)
    monkeypatch.setattr(runnable, "CHUNK_WORK", 1)  # threads for the smallest work
    threaded = made(every=3, threads=4)[1](*values)
    monkeypatch.setattr(runnable, "SLICE", 1e-9)  # a few steps of one group at a time
    _, run = made(every=3)
    for _ in range(2):
        sliced = run(*values)
    for name in expected._fields:
        np.testing.assert_array_equal(getattr(threaded, name), getattr(expected, name))
        np.testing.assert_array_equal(getattr(sliced, name), getattr(expected, name))


def test_results_go_to_out_whatever_its_layout(rng: np.random.Generator) -> None:
    _, run = made(record=("q",))
    q, qd, u, k = inputs(rng, 5)
    expected = run(q, qd, u, k)
    out = {
        "q": np.zeros((5, 2 * LENGTH, 6))[:, ::2, ::-2],
        "energy": np.zeros(5),
        "qd": qd,  # the input itself
        "before": np.zeros((3, 5)).T,
        "three": np.zeros(10)[::2],
    }
    assert run(q, qd, u, k, out=out) is out
    for name, array in out.items():
        np.testing.assert_array_equal(array, getattr(expected, name))


def test_outputs_of_other_names_are_carried_by_a_mapping() -> None:
    step = ramidyn.kernel(lambda x: (x + 1.0, 2.0 * x), {"x": ()}, name="count")
    run = ramidyn.scan(step, carry={"x": "result_0"}, length=5)
    found = run(0.0)
    assert found.result_0.tolist() == [1, 2, 3, 4, 5]
    assert found.result_1.tolist() == [0, 2, 4, 6, 8]
    alone = ramidyn.scan(
        ramidyn.kernel(lambda x: x + 1.0, {"x": ()}), carry={"x": "result"}, length=3
    )
    assert alone(0.0).tolist() == [1, 2, 3]


def test_a_state_that_diverges_leaves_the_others_alone(
    rng: np.random.Generator,
) -> None:
    _, run = made()
    q, qd, u, k = inputs(rng, 8)
    expected = run(q, qd, u, k)
    q[3] = np.nan
    found = run(q, qd, u, k)
    assert np.isnan(found.q[3]).any()
    rest = [0, 1, 2, 4, 5, 6, 7]
    np.testing.assert_array_equal(found.q[rest], expected.q[rest])


def test_a_scan_prints_and_pickles(rng: np.random.Generator) -> None:
    _, run = made()
    assert repr(run).startswith("12 steps of swing: ")
    values = inputs(rng, 3)
    again = pickle.loads(pickle.dumps(run))
    np.testing.assert_array_equal(again(*values).q, run(*values).q)


def test_an_interrupt_ends_a_long_scan() -> None:
    step = ramidyn.kernel(lambda x: math.sin(x) + 1.0, {"x": ()})
    run = ramidyn.scan(step, carry={"x": "result"}, length=10**13, record=())
    threading.Timer(0.2, _thread.interrupt_main).start()
    start = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        run(0.5)
    assert time.perf_counter() - start < 60.0


def test_a_long_scan_shows_each_percent_once(monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []

    class Terminal:
        def isatty(self) -> bool:
            return True

        def write(self, text: str) -> None:
            lines.append(text)

        def flush(self) -> None:
            pass

    monkeypatch.setattr(sys, "stderr", Terminal())
    line = progress.ProgressLine("running 1,000 steps", "%")
    line.percent(1, 1000)
    assert not lines
    line.start -= 10.0
    for done in range(1001):
        line.percent(done, 1000)
    assert lines[0] == "\rramidyn: running 1,000 steps " + 25 * "╌" + "   0%"
    bars = [text for text in lines if "running" in text]
    assert bars[50] == f"\rramidyn: running 1,000 steps {12 * '━'}{13 * '╌'}  50%"
    assert bars[-1] == "\rramidyn: running 1,000 steps " + 25 * "━" + " 100%"
    assert sum("running" in text for text in lines) == 101


def test_results_that_do_not_fit_in_memory_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    step = ramidyn.kernel(lambda x: x + 1.0, {"x": 3}, name="count")
    run = ramidyn.scan(step, carry={"x": "result"}, length=10**6)
    monkeypatch.setattr(time_loop, "available_memory", lambda: 3 * 10**9)
    message = (
        r"results of 'count' take 24.0 GB, and 3.0 GB of memory are available; record "
        r"fewer steps with every=, or fewer outputs with record="
    )
    with pytest.raises(ramidyn.ArgumentError, match=message):
        run(np.zeros((1000, 3)))
    assert time_loop.SMALL < 10**9


def test_the_memory_that_is_available_is_known_here() -> None:
    assert 10**7 < time_loop.available_memory() < 2**50


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"step": swing}, "expected a compiled function, such as ramidyn.kernel"),
        ({"carry": ("p",)}, "carry has 'p', which is not an input of 'swing'; inp"),
        ({"carry": ("u",)}, "carry has 'u', which is not an output of 'swing'; out"),
        (
            {"carry": {"q": "energy"}},
            r"'q' of 'swing' has shape \(3,\), output 'energy'",
        ),
        ({"carry": "q"}, r"sequences of names, such as \('q', 'qd'\)"),
        ({"per_step": ("q",)}, "'q' is in carry and in per_step"),
        ({"per_step": ("w",)}, "per_step has 'w', which is not an input of 'swing'"),
        ({"record": ("w",)}, "record has 'w', which is not an output of 'swing'"),
        ({"length": 0}, "length is 0; expected 1 or more"),
        ({"length": 2.0}, "length is 2.0; expected 1 or more"),
        ({"every": True}, "every is True; expected 1 or more"),
        ({"every": 5}, "length is 12; expected a multiple of every, which is 5"),
    ],
)
def test_a_scan_says_what_does_not_fit_its_step(
    changed: dict[str, Any], message: str
) -> None:
    step = ramidyn.kernel(swing, SHAPES)
    options = {"step": step, "carry": ("q", "qd"), "length": LENGTH, **changed}
    with pytest.raises(ramidyn.ArgumentError, match=message):
        ramidyn.scan(options.pop("step"), **options)


def test_a_scan_says_which_shapes_it_takes() -> None:
    step, run = made()
    q, u = np.zeros((4, 3)), np.zeros((4, LENGTH, 3))
    message = (
        r"u has shape \(4, 5, 3\); 12 steps of 'swing' need \(12, 3\), "
        r"\(batch, 12, 3\), or \(3,\) for all steps"
    )
    with pytest.raises(ramidyn.ShapeError, match=message):
        run(q, q, u[:, :5], 1.0)
    with pytest.raises(ramidyn.ShapeError, match="batch sizes differ: q 4, qd 4, u 3"):
        run(q, q, u[:3], 1.0)
    with pytest.raises(ramidyn.ArgumentError, match="swing is missing argument 'k'"):
        run(q, q, u)
    with pytest.raises(ramidyn.ShapeError, match=r"out 'q' has shape \(4, 3\)"):
        run(q, q, u, 1.0, out=[q, q[:, 0], q, q, q[:, 0]])

    def unrolled(q: Any) -> Any:
        return run(q, q, u[0], 1.0).q

    with pytest.raises(ramidyn.TraceError, match="Call 'swing' in a Python loop"):
        ramidyn.kernel(unrolled, {"q": 3})
    assert step.name == "swing"
