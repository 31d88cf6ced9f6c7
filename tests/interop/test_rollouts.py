"""Rollouts by other libraries over compiled steps: the states of `ramidyn.scan`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import ramidyn
from support.library_robots import arm, states

STEPS, DT = 40, 0.01


def compiled_step() -> Any:
    def step(q: Any, qd: Any, tau: Any) -> Any:
        qd = qd + DT * arm().forward_dynamics(q, qd, tau)
        return {"q": q + DT * qd, "qd": qd}

    return ramidyn.kernel(step, {"q": 3, "qd": 3, "tau": 3}, name="step")


@pytest.fixture
def start(rng: np.random.Generator) -> list[Any]:
    return [x[0] for x in states(arm(), rng, 1)]


def native_end(start: list[Any]) -> Any:
    roll = ramidyn.scan(compiled_step(), carry=("q", "qd"), length=STEPS, record=())
    return roll(*start).q


def slopes(start: list[Any]) -> Any:
    """Return dq(end)/dτ by central differences of the native rollout."""
    h, columns = 1e-6, np.eye(3)
    q, qd, tau = start
    ends = [
        [native_end([q, qd, tau + sign * h * unit]) for sign in (1.0, -1.0)]
        for unit in columns
    ]
    return np.stack([(ahead - back) / (2.0 * h) for ahead, back in ends], axis=1)


@pytest.fixture
def jax() -> Iterator[Any]:
    found = pytest.importorskip("jax", reason="jax is absent")
    found.config.update("jax_enable_x64", True)
    yield found
    found.config.update("jax_enable_x64", False)


def test_lax_scan_over_a_step_is_the_native_rollout(jax: Any, start: list[Any]) -> None:
    advance = ramidyn.to_jax(compiled_step())
    q, qd, tau = (jax.numpy.asarray(x) for x in start)

    def end(tau: Any) -> Any:
        def body(state: Any, _: Any) -> Any:
            return tuple(advance(*state, tau)), None

        (q_end, _), _ = jax.lax.scan(body, (q, qd), length=STEPS)
        return q_end

    np.testing.assert_array_equal(jax.jit(end)(tau), native_end(start))
    for jacobian in (jax.jacfwd, jax.jacrev):
        found = jax.jit(jacobian(end))(tau)
        np.testing.assert_allclose(found, slopes(start), rtol=1e-5, atol=1e-6)


@pytest.mark.filterwarnings("ignore:.*is too long for this motion:RuntimeWarning")
def test_jax_step_by_step_gives_the_gradient_of_a_rollout(
    jax: Any, start: list[Any], rng: np.random.Generator
) -> None:
    advance = ramidyn.to_jax(compiled_step())
    tau = np.stack([start[2]] * STEPS) + 0.1 * rng.normal(size=(STEPS, 3))

    def total(q: Any, qd: Any, tau: Any) -> Any:
        def body(state: Any, u: Any) -> Any:
            q, qd = state
            return tuple(advance(q, qd, u)), q @ q + 0.1 * (qd @ qd) + 0.01 * (u @ u)

        return jax.lax.scan(body, (q, qd), tau)[1].sum()

    expected = jax.jit(jax.grad(total, argnums=(0, 1, 2)))(*start[:2], tau)
    run = arm().rollout(
        *start[:2],
        tau,
        DT,
        total={"cost": lambda q, qd, tau: q @ q + 0.1 * qd @ qd + 0.01 * tau @ tau},
        gradient_of="cost",
        wrt=("q", "qd", "tau"),
    )
    for one, other in zip(run.gradients.values(), expected, strict=True):
        scale = np.abs(other).max()
        np.testing.assert_allclose(one / scale, other / scale, atol=1e-9)


def test_a_torch_loop_over_a_step_is_the_native_rollout(start: list[Any]) -> None:
    torch = pytest.importorskip("torch", reason="torch is absent")
    advance = ramidyn.to_torch(compiled_step())
    q, qd, tau = (torch.from_numpy(x) for x in start)

    def end(tau: Any) -> Any:
        state = q, qd
        for _ in range(STEPS):
            state = tuple(advance(*state, tau))
        return state[0]

    np.testing.assert_array_equal(end(tau), native_end(start))
    found = torch.func.jacrev(end)(tau)
    np.testing.assert_allclose(found, slopes(start), rtol=1e-5, atol=1e-6)
