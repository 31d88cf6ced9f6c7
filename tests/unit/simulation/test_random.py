"""Random numbers in rollouts: known answers, independence of batches, distributions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ramidyn
from ramidyn import ArgumentError
from ramidyn.builder import Body, Inertia, Joint, RobotBuilder
from ramidyn.robot import Robot
from ramidyn.simulation.run import Run
from ramidyn.symbolic import expr
from ramidyn.symbolic.random_numbers import philox, seed_parts, uniform

SEED = 0x0123456789ABCDEF
DT = 1e-3

pytestmark = pytest.mark.filterwarnings("ignore:.* is too long for this motion")


@pytest.fixture(scope="module")
def pendulum() -> Robot:
    builder = RobotBuilder("pendulum")
    rod = Inertia.from_box(1.0, (0.05, 0.05, 0.3), at=(0, 0, 0.15))
    builder.add(Body("link", rod), "world", Joint.revolute((0, 1, 0)))
    return Robot.from_description(builder.description())


KNOWN = [
    (
        (0, 0, 0, 0),
        (0, 0),
        (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8),
    ),
    (
        (0xFFFFFFFF,) * 4,
        (0xFFFFFFFF,) * 2,
        (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD),
    ),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]
"""of the authors of Philox: counter, key, words"""


@pytest.mark.parametrize(("counter", "key", "words"), KNOWN)
def test_philox_gives_the_known_answers(counter: Any, key: Any, words: Any) -> None:
    assert tuple(int(w) for w in philox(counter, key)) == words


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_native_numbers_are_those_of_the_reference(dtype: str) -> None:
    rng = np.random.default_rng(0)
    seeds = [
        seed_parts(int(s)) for s in rng.integers(0, 2**63, size=37, dtype=np.int64)
    ]
    most = 2**24 if dtype == "float32" else 2**53
    states = rng.integers(0, 2**24, size=37).astype(float)
    steps = rng.integers(0, most, size=37).astype(float)
    indices = rng.integers(0, 2**13, size=37).astype(float)
    draw = ramidyn.kernel(
        lambda seed, state, step, index: expr.random(*seed, state, step, index),
        {"seed": 3, "state": (), "step": (), "index": ()},
        dtype=dtype,
        name="draw",
    )
    given = [np.array(seeds), states, steps, indices]
    given = [x.astype(dtype) for x in given]
    found = draw(*given)
    expected = uniform(*given[0].T, *given[1:])
    np.testing.assert_array_equal(found, expected)
    one = draw(*(x[5] for x in given))
    assert one == expected[5]


def test_the_first_number_is_the_first_known_answer(pendulum: Robot) -> None:
    run = pendulum.rollout(
        np.zeros(1),
        dt=DT,
        steps=1,
        seed=0,
        policy=lambda random: random.uniform(2)[:1],
        record=["tau"],
    )
    expected = ((0x6627E8D5 >> 5) * 2**26 + (0xE169C58D >> 6)) * 2.0**-53
    assert run.tau[0, 0] == expected


def noisy(robot: Robot, batch: int | None, steps: int = 6, **options: Any) -> Run:
    q: Any = np.zeros(1) if batch is None else np.zeros((batch, 1))
    options = {"seed": SEED, "record": {"noise": noise, "tau": "tau"}, **options}
    return robot.rollout(q, dt=DT, steps=steps, policy=push, **options)


def noise(random: Any) -> Any:
    return np.concatenate([random.normal(3), random.uniform(2)])


def push(random: Any, qd: Any) -> Any:
    return 0.1 * random.normal(1) - qd


def test_numbers_do_not_depend_on_batch_lanes_and_threads(pendulum: Robot) -> None:
    run = noisy(pendulum, 2000)
    threads = noisy(pendulum, 2000, threads=2)
    np.testing.assert_array_equal(threads.q, run.q)
    few = noisy(pendulum, 3)
    np.testing.assert_array_equal(few.noise[..., 3:], run.noise[:3, :, 3:])
    np.testing.assert_allclose(few.noise, run.noise[:3], atol=1e-15)
    alone = noisy(pendulum, None)
    np.testing.assert_allclose(alone.noise, run.noise[0], atol=1e-15)
    np.testing.assert_allclose(alone.q, run.q[0], atol=1e-15)


def test_functions_states_steps_and_seeds_draw_apart(pendulum: Robot) -> None:
    run = noisy(pendulum, 50)
    other = noisy(pendulum, 50, seed=SEED + 1)
    numbers = np.concatenate([run.noise.ravel(), run.tau.ravel(), other.noise.ravel()])
    assert len(np.unique(numbers)) == len(numbers)


def test_a_run_that_continues_draws_on(pendulum: Robot) -> None:
    whole, first = noisy(pendulum, 9), noisy(pendulum, 9, steps=2)
    assert first.end is not None
    options: dict[str, Any] = {"dt": DT, "steps": 4, "policy": push, "seed": SEED}
    second = pendulum.rollout(first.end, **options)
    np.testing.assert_array_equal(second.q, whole.q[:, 2:])
    some = pendulum.rollout(first.end[np.array([4, 7])], **options)
    np.testing.assert_allclose(some.q, whole.q[[4, 7], 2:], atol=1e-15)


def test_distributions_have_their_moments(pendulum: Robot) -> None:
    def draws(random: Any) -> Any:
        normal = random.normal((2, 2), mean=1.0, deviation=2.0)
        return np.concatenate([normal.ravel(), random.uniform(3, low=-1.0, high=3.0)])

    run = noisy(pendulum, 4000, steps=10, record={"draws": draws})
    normal, even = run.draws[..., :4].ravel(), run.draws[..., 4:].ravel()
    n = len(normal)
    assert abs(normal.mean() - 1.0) < 5 * 2.0 / np.sqrt(n)
    assert abs(normal.var() - 4.0) < 5 * 4.0 * np.sqrt(2.0 / n)
    z = (normal - 1.0) / 2.0
    assert abs((z**3).mean()) < 5 * np.sqrt(15.0 / n)
    assert abs((z**4).mean() - 3.0) < 5 * np.sqrt(96.0 / n)
    assert -1.0 <= even.min() < -0.999
    assert 2.999 < even.max() < 3.0
    assert abs(even.mean() - 1.0) < 5 * np.sqrt(16.0 / 12.0 / len(even))
    assert abs(even.var() - 16.0 / 12.0) < 0.01
    pairs = np.corrcoef(run.draws.reshape(-1, 7).T)
    assert np.abs(pairs - np.eye(7)).max() < 5.0 / np.sqrt(len(run.draws) * 11)


def test_restarts_begin_in_a_distribution(pendulum: Robot) -> None:
    run = pendulum.rollout(
        np.zeros((500, 1)),
        dt=DT,
        steps=9,
        seed=3,
        memory={"age": 0.0},
        updates={"age": lambda age: age + 1.0},
        until=lambda age: age > 2.5,
        restart=lambda random: {"q": random.uniform(1, 0.2, 0.4), "qd": np.ones(1)},
        record=["age"],
    )
    first = run.q[:, [3, 6, 9], 0]
    assert (first >= 0.2).all()
    assert (first < 0.4).all()
    assert len(np.unique(first)) == first.size
    np.testing.assert_array_equal(run.qd[:, [3, 6, 9]], 1.0)
    np.testing.assert_array_equal(run.age[0], np.arange(10) % 3)
    np.testing.assert_array_equal(run.totals["ended"], 3.0)


BAD: list[tuple[dict[str, Any], str]] = [
    ({"seed": 1.5}, r"seed is 1.5; expected an integer from 0 to 2\*\*64 - 1"),
    ({"seed": -1}, "seed is -1; expected an integer"),
    ({"seed": 2**64}, "seed is 18446744073709551616; expected an integer"),
    ({"seed": "a"}, "seed is 'a'; expected an integer"),
    ({"seed": True}, "seed is True; expected an integer"),
    ({"seed": None}, "policy asks for random numbers; pass seed=, such as seed=0"),
    ({"restart": lambda q: q}, "restart needs until"),
    (
        {"restart": lambda q: q, "until": lambda q: q[0] > 1},
        "restart returns ndarray; expected a dict with any of q, qd",
    ),
    (
        {"restart": lambda q: {"qq": q}, "until": lambda q: q[0] > 1},
        r"restart returns 'qq' \(did you mean 'q'",
    ),
]


@pytest.mark.parametrize(("options", "message"), BAD)
def test_bad_seeds_are_refused(
    pendulum: Robot, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ArgumentError, match=message):
        noisy(pendulum, 2, **options)


def test_too_many_draws_are_refused(pendulum: Robot) -> None:
    with pytest.raises(
        ramidyn.TraceError, match="draws more than 4,096 random numbers"
    ):
        noisy(pendulum, 2, record={"x": lambda random: random.uniform(4097)})
