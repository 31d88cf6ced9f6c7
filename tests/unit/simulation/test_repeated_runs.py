"""Runs that repeat an earlier call with other numbers equal runs of a new robot."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import ramidyn
from ramidyn import Robot
from ramidyn.errors import ArgumentError, ModelError, ShapeError

STEPS, DT = 4, 1e-3
GIVEN: dict[str, Any] = {"dt": DT, "integrator": "semi_implicit_euler"}


def make() -> Robot:
    return ramidyn.robots.chain(3)


def numbers(seed: int, *shape: int) -> Any:
    return np.random.default_rng(seed).normal(size=shape)


def assert_equal(found: ramidyn.Run, expected: ramidyn.Run) -> None:
    names = ["times", "q", "qd", *expected.recorded, *expected.totals]
    for name in names:
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    assert found.end is not None
    assert expected.end is not None
    for name, value in expected.end.values.items():
        np.testing.assert_array_equal(found.end.values[name], value)


def strided(x: Any) -> Any:
    return np.repeat(x, 2, axis=-1)[..., ::2]


def backwards(x: Any) -> Any:
    return np.ascontiguousarray(x[..., ::-1])[..., ::-1]


def unaligned(x: Any) -> Any:
    memory = np.empty(x.nbytes + 1, np.uint8)[1:]
    found = np.ndarray(x.shape, x.dtype, memory)
    found[...] = x
    return found


LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "dense": np.array,
    "strided": strided,
    "backwards": backwards,
    "unaligned": unaligned,
    "float32": lambda x: x.astype(np.float32),
    "big-endian": lambda x: x.astype(">f8"),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("lead", [(), (5,)])
def test_a_repeated_rollout_reads_its_own_arrays(
    layout: str, lead: tuple[int, ...]
) -> None:
    robot, change = make(), LAYOUTS[layout]
    for seed in range(3):
        q, qd = (change(numbers(seed + 7 * k, *lead, 3)) for k in range(2))
        tau = change(numbers(seed, *lead, STEPS, 3))
        given = {
            **GIVEN,
            "record": ["tau", "energy"],
            "total": {"cost": sum_of_squares},
        }
        dense = [np.array(x, dtype=float) for x in (q, qd, tau)]
        assert_equal(
            robot.rollout(q, qd, tau, **given), make().rollout(*dense, **given)
        )


def sum_of_squares(q: Any) -> Any:
    return q @ q


@pytest.mark.parametrize("method", ["rollout", "simulate"])
def test_one_array_in_place_of_several_is_not_remembered(method: str) -> None:
    robot, length = make(), {"steps": 4} if method == "rollout" else {"duration": 0.004}
    x, y, z = numbers(0, 3, 3)
    for q, qd, tau in ((x, x, x), (x, y, z), (y, y, x)):
        found = getattr(robot, method)(q, qd, tau, DT, **length)
        expected = getattr(make(), method)(
            q.copy(), qd.copy(), tau.copy(), DT, **length
        )
        assert_equal(found, expected)


def test_results_of_a_run_stay_as_they_are() -> None:
    robot = make()
    first = robot.rollout(numbers(0, 3), steps=STEPS, **GIVEN)
    assert first.end is not None
    q, end = first.q.copy(), first.end.q.copy()
    first.times[:] = -1.0
    second = robot.rollout(numbers(1, 3), steps=STEPS, **GIVEN)
    np.testing.assert_allclose(second.times, DT * np.arange(STEPS + 1))
    np.testing.assert_array_equal(first.q, q)
    np.testing.assert_array_equal(first.end.q, end)


def test_threads_repeat_a_run_at_the_same_time() -> None:
    robot = make()
    starts = numbers(0, 64, 2, 3)

    def last(start: Any) -> Any:
        runs = [robot.rollout(*start, steps=50, **GIVEN) for _ in range(5)]
        return [run.q[-1] for run in runs]

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(last, starts))
    whole = make().rollout(starts[:, 0], starts[:, 1], steps=50, **GIVEN)
    for k, own in enumerate(found):
        np.testing.assert_allclose(own, [whole.q[k, -1]] * 5, rtol=0, atol=1e-12)


@pytest.mark.parametrize("k", range(3))
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_numbers_of_a_repeated_call_are_checked(k: int, bad: float) -> None:
    robot, given = make(), [numbers(n, 3) for n in range(3)]
    robot.rollout(*given, steps=STEPS, **GIVEN)
    given[k][1] = bad
    with pytest.raises(ArgumentError, match=f"{bad} at"):
        robot.rollout(*given, steps=STEPS, **GIVEN)


def test_a_quaternion_of_a_repeated_call_is_checked() -> None:
    robot = ramidyn.robots.humanoid30()
    robot.simulate(robot.neutral(), duration=DT, dt=DT)
    q = robot.neutral()
    q[3:7] = 0.0
    with pytest.raises(ModelError, match="quaternion of zero length"):
        robot.simulate(q, duration=DT, dt=DT)


def test_options_of_equal_value_and_other_type_are_checked() -> None:
    robot, q = make(), np.zeros(3)
    robot.rollout(q, dt=DT, steps=1, every=1)
    with pytest.raises(ArgumentError, match="every"):
        robot.rollout(q, dt=DT, steps=1, every=1.0)  # type: ignore[arg-type]


def test_a_run_may_be_written_where_its_inputs_are() -> None:
    robot, q, qd = make(), numbers(0, 5, 3), numbers(1, 5, 3)
    for given in (q, 2.0 * q):
        out = robot.rollout(given, qd, steps=STEPS, **GIVEN)
        expected = make().rollout(out.q[:, -1].copy(), qd, steps=STEPS, **GIVEN)
        found = robot.rollout(out.q[:, -1], qd, steps=STEPS, out=out, **GIVEN)
        assert np.shares_memory(found.q, out.q)
        assert_equal(found, expected)


def test_a_run_may_be_written_into_rows_that_are_apart() -> None:
    robot, q = make(), numbers(0, 5, 3)
    expected = robot.rollout(q, steps=STEPS, **GIVEN)
    big = robot.rollout(numbers(1, 10, 3), steps=STEPS, **GIVEN)
    found = robot.rollout(q, steps=STEPS, out=big[::2], **GIVEN)
    assert_equal(found, expected)
    np.testing.assert_array_equal(big.q[::2], expected.q)


def test_a_run_is_not_written_to_arrays_that_share_memory_or_are_read_only() -> None:
    robot, q = make(), numbers(0, 5, 3)
    run = robot.rollout(q, steps=STEPS, **GIVEN)
    with pytest.raises(ShapeError, match="out 'q' and out 'qd' share memory"):
        robot.rollout(q, steps=STEPS, out=replace(run, qd=run.q), **GIVEN)
    run.qd.flags.writeable = False
    with pytest.raises(ShapeError, match="out 'qd' is read-only"):
        robot.rollout(q, steps=STEPS, out=run, **GIVEN)


def cost_of(q: Any, qd: Any, tau: Any) -> Any:
    return q @ q + 0.1 * (qd @ qd) + 0.01 * (tau @ tau)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("lead", [(), (5,)])
@pytest.mark.parametrize("has_rows", [False, True])
def test_a_repeated_gradient_reads_its_own_arrays(
    layout: str, lead: tuple[int, ...], has_rows: bool
) -> None:
    robot, change = make(), LAYOUTS[layout]
    for seed in range(3):
        q, qd = (change(numbers(seed + 7 * k, *lead, 3)) for k in range(2))
        tau = change(numbers(seed, *lead, STEPS, 3))
        rows = numbers(seed + 9, *lead, STEPS + 1, 3)
        given: dict[str, Any] = {
            **GIVEN,
            "total": {"cost": cost_of},
            "gradient_of": {"cost": 1.0 + seed, "q": rows} if has_rows else "cost",
            "wrt": ["q", "qd", "tau", "dt"],
        }
        dense = [np.array(x, dtype=float) for x in (q, qd, tau)]
        found, expected = (
            robot.rollout(q, qd, tau, **given),
            make().rollout(*dense, **given),
        )
        assert_equal(found, expected)
        for name in given["wrt"]:
            np.testing.assert_array_equal(
                found.gradients[name], expected.gradients[name]
            )


def test_one_array_in_place_of_several_is_not_remembered_by_gradients() -> None:
    step = ramidyn.kernel(
        lambda x, a, b: {"x": a * x + b}, {"x": 3, "a": 3, "b": 3}, name="step"
    )
    back = ramidyn.scan(step, carry=["x"], length=4, record=()).vjp(["x", "a", "b"])
    x, a, b, w = numbers(0, 4, 3)
    for values in (
        (x, x, x, x),
        (x, a, b, w),
        (b, b, a, w),
        ([1, 2, 3], a, b, [1] * 3),
    ):
        again = ramidyn.scan(step, carry=["x"], length=4, record=()).vjp(back.wrt)
        copies = [np.array(v, dtype=float) for v in values]
        for found, expected in zip(back(*values), again(*copies), strict=True):
            np.testing.assert_array_equal(found, expected)


def test_threads_repeat_a_gradient_at_the_same_time() -> None:
    robot, given = make(), {**GIVEN, "total": {"cost": cost_of}, "wrt": "tau"}
    given["gradient_of"] = "cost"
    starts, tau = numbers(0, 64, 2, 3), numbers(1, 20, 3)

    def gradient(start: Any) -> Any:
        runs = [robot.rollout(*start, tau, **given) for _ in range(5)]
        return [run.gradients["tau"] for run in runs]

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(gradient, starts))
    for start, own in zip(starts, found, strict=True):
        expected = make().rollout(*start, tau, **given).gradients["tau"]
        for one in own:
            np.testing.assert_array_equal(one, expected)
