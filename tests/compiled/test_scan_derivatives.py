"""Derivatives of time loops equal differences, and each other's transposes."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import ramidyn
from ramidyn import math
from ramidyn.simulation import backward_pass

LENGTH = 12
WRT = ("q", "qd", "u", "k")
ROUNDING = 1e-10
"""of sums of some hundred products"""


def swing(q: Any, qd: Any, u: Any, k: Any, dt: Any = 0.1) -> dict[str, Any]:
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
    return ramidyn.scan(
        step,
        carry=("q", "qd"),
        length=LENGTH,
        per_step=("u",),
        every=every,
        record=record,
    )


def arrays(
    rng: np.random.Generator, batch: int | None, layout: str = "batch_first"
) -> list[Any]:
    lead = () if batch is None else (batch,)
    found = [rng.normal(size=(*lead, *core)) for core in ((3,), (3,), (LENGTH, 3), ())]
    if batch is not None and layout == "batch_last":
        found = [np.moveaxis(x, 0, -1).copy() for x in found]
    return found


def dot(left: Any, right: Any) -> float:
    return sum(float(np.sum(a * b)) for a, b in zip(left, right, strict=True))


def difference(f: Any, h: float = 0.02) -> float:
    """Return df/dh at zero by extrapolated central differences."""
    slopes = [(f(h / 2**k) - f(-h / 2**k)) / (2 * h / 2**k) for k in range(5)]
    for order in range(1, 5):
        pairs = zip(slopes[1:], slopes, strict=False)
        slopes = [a + (a - b) / (4**order - 1) for a, b in pairs]
    return slopes[0]


def check_transposed(run: Any, rng: np.random.Generator, given: list[Any]) -> None:
    outputs = run(*given)
    weights = [rng.normal(size=np.shape(y)) for y in outputs]
    moves = [rng.normal(size=np.shape(x)) for x in given]
    forward = run.jvp(WRT)(*given, **_named("tangent", WRT, moves))
    backward = run.vjp(WRT)(*given, **_named("cotangent", outputs._fields, weights))
    count = len(outputs)
    for own, there, back in zip(outputs, forward, backward, strict=False):
        np.testing.assert_allclose(there, own, rtol=0, atol=1e-12)
        assert np.array_equal(back, own)
    slope = dot(weights, forward[count:])
    assert dot(moves, backward[count:]) == pytest.approx(slope, ROUNDING, ROUNDING)

    def moved(h: float) -> float:
        there = run(*[x + h * dx for x, dx in zip(given, moves, strict=True)])
        return dot(weights, there)

    assert difference(moved) == pytest.approx(slope, rel=1e-9, abs=1e-9)


def _named(word: str, names: Any, values: Any) -> dict[str, Any]:
    return {f"{n}_{word}": x for n, x in zip(names, values, strict=True)}


@pytest.mark.parametrize("layout", ["batch_first", "batch_last"])
@pytest.mark.parametrize("batch", [None, 5, 150])
@pytest.mark.parametrize(
    ("every", "record"), [(1, None), (3, None), (4, ("q", "energy")), (1, ())]
)
def test_gradients_equal_differences(
    every: int, record: Any, batch: int | None, layout: str, rng: np.random.Generator
) -> None:
    run = made(every, record, layout=layout)
    check_transposed(run, rng, arrays(rng, batch, layout))


@pytest.mark.parametrize("batch", [None, 150])
@pytest.mark.parametrize("every", [1, 3])
def test_a_tape_in_segments_gives_the_same_gradients(
    every: int,
    batch: int | None,
    rng: np.random.Generator,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run, given = made(every), arrays(rng, batch)
    weights = [rng.normal(size=y.shape) for y in run(*given)]
    whole = run.vjp(WRT)(*given, 0.1, *weights)
    monkeypatch.setattr(backward_pass, "MOST", 1)
    monkeypatch.setattr(backward_pass, "CACHED", 1)
    parts = run.vjp(WRT)(*given, 0.1, *weights)
    for one, other in zip(whole, parts, strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize(("dtype", "close"), [("float64", 1e-12), ("float32", 1e-4)])
def test_threads_and_dtypes(dtype: str, close: float, rng: np.random.Generator) -> None:
    given = arrays(rng, 200)
    expected = made(record=("energy",)).vjp(WRT, of="energy")
    weights = rng.normal(size=(200, LENGTH))
    double = expected(*given, energy_cotangent=weights)
    run = made(record=("energy",), dtype=dtype, threads=2)
    found = run.vjp(WRT, of="energy")(*given, energy_cotangent=weights)
    assert {x.dtype for x in found} == {np.dtype(dtype)}
    for one, other in zip(found, double, strict=True):
        np.testing.assert_allclose(one, other, rtol=close, atol=close)


def test_inputs_for_all_steps_and_states_get_sums(rng: np.random.Generator) -> None:
    run = made(record=("energy",))
    q, qd, _, _ = arrays(rng, 4)
    u, k = rng.normal(size=3), 0.7
    gradient = run.vjp(("u", "k"), of=("energy", "q"))
    weights = {"energy_cotangent": np.ones(LENGTH), "q_cotangent": np.ones(3)}
    short = gradient(q, qd, u, k, **weights)
    rows = gradient(q, qd, u[None], k, **weights)
    full = np.broadcast_to(u, (4, LENGTH, 3))
    long = gradient(q, qd, full, np.full(4, k), **weights)
    assert short.u_cotangent.shape == (4, 3)
    assert rows.u_cotangent.shape == (4, 1, 3)
    np.testing.assert_allclose(short.u_cotangent, long.u_cotangent.sum(1), atol=1e-12)
    assert np.array_equal(rows.u_cotangent[:, 0], short.u_cotangent)
    assert np.array_equal(short.k_cotangent, long.k_cotangent)


@pytest.mark.parametrize("layout", ["batch_first", "batch_last"])
@pytest.mark.parametrize("every", [1, 3])
def test_weights_alone_may_be_a_batch(
    every: int, layout: str, rng: np.random.Generator
) -> None:
    run = made(every, ("energy",), layout=layout)
    given = arrays(rng, None)
    weights = rng.normal(size=(4, LENGTH // every))
    gradient = run.vjp(WRT, of="energy")
    batched = weights if layout == "batch_first" else weights.T
    found = gradient(*given, energy_cotangent=batched)
    for k in range(4):
        one = gradient(*given, energy_cotangent=weights[k])
        for name in one._fields:
            whole = getattr(found, name)
            state = whole[k] if layout == "batch_first" else whole[..., k]
            np.testing.assert_allclose(state, getattr(one, name), atol=1e-12)


def test_what_outputs_do_not_depend_on_has_no_gradient(
    rng: np.random.Generator,
) -> None:
    gradient = made().vjp(("u", "q"), of="three")
    found = gradient(*arrays(rng, 2), three_cotangent=np.ones(LENGTH))
    assert not found.u_cotangent.any()
    assert not found.q_cotangent.any()


def test_one_output_that_two_inputs_carry(rng: np.random.Generator) -> None:
    step = ramidyn.kernel(
        lambda a, b, c: {"x": a * b + c * math.sin(a)}, dict.fromkeys("abc", ())
    )
    run = ramidyn.scan(step, carry={"a": "x", "b": "x"}, length=4, record=())
    a, b, c = rng.normal(size=3)
    found = run.vjp(("a", "b", "c"))(a, b, c, x_cotangent=2.0)
    for k, x in enumerate(found[1:]):
        unit = np.eye(3)[k]

        def moved(h: float, unit: Any = unit) -> float:
            return 2.0 * float(run(*(np.array([a, b, c]) + h * unit)))

        assert difference(moved) == pytest.approx(float(x), rel=1e-9, abs=1e-9)


def test_derivatives_pickle(rng: np.random.Generator) -> None:
    run, given = made(record=("energy",)), arrays(rng, 3)
    backward = pickle.loads(pickle.dumps(run.vjp("u", of="energy")))
    weights = {"energy_cotangent": np.ones(LENGTH)}
    found = backward(*given, **weights)
    expected = run.vjp("u", of="energy")(*given, **weights)
    assert np.array_equal(found.u_cotangent, expected.u_cotangent)
    forward = pickle.loads(pickle.dumps(run.jvp("k")))
    moved = forward(*given, k_tangent=1.0)
    assert np.array_equal(
        moved.energy_tangent, run.jvp("k")(*given, k_tangent=1.0).energy_tangent
    )
    assert repr(backward).startswith("vjp of 12 steps of")
    assert repr(forward).startswith("jvp of 12 steps of")


def test_errors_say_what_is_expected(rng: np.random.Generator) -> None:
    run, given = made(), arrays(rng, 2)
    with pytest.raises(ramidyn.ArgumentError, match="wrt names 'x', which is not an"):
        run.vjp("x")
    with pytest.raises(ramidyn.ArgumentError, match="wrt names 'x', which is not an"):
        run.jvp("x")
    with pytest.raises(ramidyn.ArgumentError, match="of has 'x', which is not an out"):
        run.vjp("q", of=["x"])
    backward = run.vjp("q", of="energy")
    with pytest.raises(ramidyn.ArgumentError, match="missing argument 'energy_cotan"):
        backward(*given)
    with pytest.raises(ramidyn.ShapeError, match="energy_cotangent has shape"):
        backward(*given, energy_cotangent=np.ones(3))
    with pytest.raises(ramidyn.ShapeError, match="batch sizes differ"):
        backward(*given, energy_cotangent=np.ones((3, LENGTH)))
