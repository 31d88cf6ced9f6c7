"""Scans in JAX and PyTorch are one node, with the gradient of the steps one by one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import ramidyn
from ramidyn import math

LENGTH = 8


def scanned(**options: Any) -> Any:
    def step(x: Any, u: Any, k: Any) -> Any:
        return {"x": x + 0.1 * (math.sin(u) - k * x[::-1]), "cost": x @ x}

    made = ramidyn.kernel(step, {"x": 2, "u": 2, "k": ()}, **options)
    return ramidyn.scan(
        made, carry=["x"], per_step=["u"], length=LENGTH, record=["cost"]
    )


def inputs(rng: np.random.Generator, batch: int) -> list[Any]:
    x, u = rng.normal(size=(batch, 2)), rng.normal(size=(LENGTH, 2))
    return [x, u, rng.normal(size=(1,))]


def by_numpy(given: list[Any]) -> Any:
    """Return the gradients of the sum of all outputs, of shared inputs as sums."""
    batch = len(given[0])
    full = [given[0], np.broadcast_to(given[1], (batch, LENGTH, 2)).copy()]
    full.append(np.broadcast_to(given[2], (batch,)).copy())
    ones = np.ones((batch, 2)), np.ones((batch, LENGTH))
    found = scanned().vjp(("x", "u", "k"))(*full, *ones)
    return [
        found.x_cotangent,
        found.u_cotangent.sum(0),
        found.k_cotangent.sum(keepdims=True),
    ]


def test_pytorch(rng: np.random.Generator) -> None:
    torch = pytest.importorskip("torch", reason="torch is absent")
    given = inputs(rng, 3)
    tensors = [torch.tensor(x, requires_grad=True) for x in given]
    found = ramidyn.to_torch(scanned())(*tensors)
    expected = scanned()(*given)
    assert np.array_equal(found.cost.detach(), expected.cost)
    (found.x.sum() + found.cost.sum()).backward()
    for tensor, gradient in zip(tensors, by_numpy(given), strict=True):
        np.testing.assert_allclose(tensor.grad, gradient, atol=1e-12)
    with pytest.raises(ramidyn.ArgumentError, match="omit out="):
        ramidyn.to_torch(scanned())(*tensors, out=())


@pytest.fixture
def jax() -> Iterator[Any]:
    found = pytest.importorskip("jax", reason="jax is absent")
    found.config.update("jax_enable_x64", True)
    yield found
    found.config.update("jax_enable_x64", False)


def test_jax(jax: Any, rng: np.random.Generator) -> None:
    given = inputs(rng, 3)
    function = ramidyn.to_jax(scanned())

    def total(*values: Any) -> Any:
        found = function(*values)
        return found.x.sum() + found.cost.sum()

    gradients = jax.jit(jax.grad(total, argnums=(0, 1, 2)))(*given)
    for one, other in zip(gradients, by_numpy(given), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)
    np.testing.assert_array_equal(function(*given).cost, scanned()(*given).cost)


def test_errors_say_what_to_change() -> None:
    pytest.importorskip("torch", reason="torch is absent")
    with pytest.raises(ramidyn.ArgumentError, match="layout='batch_first'"):
        ramidyn.to_torch(scanned(layout="batch_last"))
    pytest.importorskip("jax", reason="jax is absent")
    function = ramidyn.to_jax(scanned())
    with pytest.raises(ramidyn.ArgumentError, match="runs in float64, which JAX has"):
        function(np.zeros(2), np.zeros(2), 0.1)
