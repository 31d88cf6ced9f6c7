"""Compiled functions inside JAX: the same numbers, and exact derivatives."""

from __future__ import annotations

import concurrent.futures
import ctypes
import inspect
import pickle
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import ramidyn
from ramidyn import function
from ramidyn.backend.runtime.memory_layout import Kernel
from ramidyn.interop import jax_primitive
from ramidyn.robot import Robot
from support.library_robots import DYNAMICS, EXACT, ROBOTS, arm, check_jacobians, states

jax = pytest.importorskip("jax", reason="jax is absent")
jnp = jax.numpy
check_grads = pytest.importorskip("jax.test_util", reason="jax is absent").check_grads


@pytest.fixture(autouse=True)
def doubles() -> Iterator[None]:
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", False)


@pytest.fixture(params=ROBOTS)
def robot(request: pytest.FixtureRequest) -> Robot:
    return ROBOTS[request.param]()


# ------------------------------------------------------------ the same numbers


@pytest.mark.parametrize("quantity", DYNAMICS)
def test_jit_vmap_and_scan_give_the_numbers_of_numpy(
    robot: Robot, quantity: str, rng: np.random.Generator
) -> None:
    own = getattr(robot, quantity)
    f = ramidyn.to_jax(own)
    batch = states(robot, rng, 9)
    one = [x[0] for x in batch]
    singles = [own(*(x[k] for x in batch)) for k in range(9)]
    np.testing.assert_array_equal(f(*one), singles[0])
    np.testing.assert_array_equal(jax.jit(f)(*one), singles[0])
    np.testing.assert_array_equal(jax.jit(jax.vmap(f))(*batch), own(*batch))
    np.testing.assert_array_equal(f(*batch), own(*batch))

    def step(carry: Any, x: Any) -> Any:
        return carry, f(*x)

    _, scanned = jax.jit(lambda xs: jax.lax.scan(step, 0.0, xs))(tuple(batch))
    np.testing.assert_array_equal(scanned, singles)


def test_axes_of_vmap_may_be_anywhere_and_nested(rng: np.random.Generator) -> None:
    own = arm().forward_dynamics
    f = ramidyn.to_jax(own)
    Q, QD, TAU = states(arm(), rng, 5)
    some = jax.vmap(f, in_axes=(1, None, 0))(Q.T, QD[0], TAU)
    np.testing.assert_array_equal(some, own(Q, QD[0], TAU))
    nested = jax.vmap(jax.vmap(f, (None, 0, None)), (0, None, 0), out_axes=1)
    found = jax.jit(nested)(Q, QD, TAU)
    expected = np.stack([own(q, QD, tau) for q, tau in zip(Q, TAU, strict=True)], 1)
    np.testing.assert_array_equal(found, expected)
    twice = jax.vmap(jax.vmap(f))(*(np.stack([x, x + 1.0]) for x in (Q, QD, TAU)))
    np.testing.assert_array_equal(twice[1], own(Q + 1.0, QD + 1.0, TAU + 1.0))


def test_an_empty_batch_gives_an_empty_result() -> None:
    f = ramidyn.to_jax(arm().mass_matrix)
    assert jax.jit(jax.vmap(f))(np.zeros((0, 3))).shape == (0, 3, 3)


def test_the_dtype_is_that_of_the_inputs(rng: np.random.Generator) -> None:
    f = ramidyn.to_jax(arm().forward_dynamics)
    batch = [x.astype(np.float32) for x in states(arm(), rng, 6)]
    own = ramidyn.compile(ramidyn.forward_dynamics, arm(), dtype="float32")
    assert f(*batch).dtype == jnp.float32
    np.testing.assert_array_equal(jax.vmap(f)(*batch), own(*batch))
    assert f(batch[0], batch[1], batch[2].astype(float)).dtype == jnp.float64
    assert (
        jax.grad(lambda q: f(q, *(x[0] for x in batch[1:])).sum())(
            jnp.asarray(batch[0][0])
        ).dtype
        == jnp.float32
    )


def test_several_outputs_are_a_named_tuple_and_numbers_are_taken() -> None:
    both = ramidyn.kernel(
        lambda x, dt: {"area": x * x, "twice": dt * x}, {"x": 2, "dt": ()}, name="both"
    )
    found = jax.jit(ramidyn.to_jax(both))(jnp.array([1.0, 2.0]), dt=2)
    np.testing.assert_array_equal(found.area, [1.0, 4.0])
    np.testing.assert_array_equal(found.twice, [2.0, 4.0])
    assert jax.tree.leaves(found)[0] is found.area


@pytest.mark.parametrize("kind", ["int64", "int8", "uint8", "bool"])
def test_integers_are_taken(kind: str) -> None:
    f, own = ramidyn.to_jax(arm().inverse_dynamics), arm().inverse_dynamics
    whole = np.array([0, 1, 1], kind)
    x = np.array([0.5, 1.0, 2.0])
    expected = own(whole, x, x)
    np.testing.assert_array_equal(f(whole, x, x), expected)
    np.testing.assert_array_equal(jax.jit(f)(jnp.asarray(whole), x, x), expected)
    many = np.array([whole, whole])
    np.testing.assert_array_equal(
        jax.vmap(f)(many, *np.array([[x, x], [x, x]]))[1], expected
    )
    single = x.astype(np.float32)
    assert f(whole, single, single).dtype == jnp.float32
    assert f(whole, whole, whole).dtype == jnp.float64


def test_large_integers_are_not_cut_off() -> None:
    half = ramidyn.kernel(lambda x: 0.5 * x, {"x": ()}, name="half")
    with jax.enable_x64(False):
        assert ramidyn.to_jax(half)(np.array(2**40)) == 2.0**39


def test_functions_are_pickled_with_what_they_are_of(rng: np.random.Generator) -> None:
    q, frame = rng.normal(size=3), arm().body_names[-1]
    own = ramidyn.compile(ramidyn.mass_matrix, arm())
    for f, given in ((arm().mass_matrix, ()), (own, ()), (arm().pose, (frame,))):
        here = ramidyn.to_jax(f)
        there = pickle.loads(pickle.dumps(here))
        np.testing.assert_array_equal(there(q, *given), here(q, *given))
        assert inspect.signature(there) == inspect.signature(here)


def test_methods_of_frames_take_the_frame(rng: np.random.Generator) -> None:
    robot = arm()
    frame, q = robot.body_names[-1], rng.normal(size=3)
    pose = ramidyn.to_jax(robot.pose)
    found = jax.jit(lambda q: pose(q, frame))(q)
    np.testing.assert_array_equal(found, robot.pose(q, frame))
    np.testing.assert_array_equal(pose(q, frame=frame), robot.pose(q, frame))


def test_threads_may_call_at_the_same_time(rng: np.random.Generator) -> None:
    own = arm().forward_dynamics
    f = jax.jit(jax.vmap(ramidyn.to_jax(own)))
    given = [states(arm(), rng, 500) for _ in range(8)]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda x: np.asarray(f(*x)), given))
    for x, y in zip(given, found, strict=True):
        np.testing.assert_array_equal(y, own(*x))


def test_the_same_function_is_made_once() -> None:
    assert ramidyn.to_jax(arm().mass_matrix) is ramidyn.to_jax(arm().mass_matrix)


def test_without_the_interface_python_is_called(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jax_primitive, "wants_plain_calls", lambda: True)
    own = ramidyn.compile(ramidyn.forward_dynamics, arm())
    f = ramidyn.to_jax(own)
    Q, QD, TAU = states(arm(), rng, 4)
    text = jax.jit(f).lower(Q[0], QD[0], TAU[0]).as_text()
    assert "callback" in text
    np.testing.assert_array_equal(
        jax.jit(f)(Q[0], QD[0], TAU[0]), own(Q[0], QD[0], TAU[0])
    )
    np.testing.assert_array_equal(
        jax.vmap(f, (0, None, 0))(Q, QD[0], TAU), own(Q, QD[0], TAU)
    )
    slope = jax.jacrev(f)(Q[0], QD[0], TAU[0])
    monkeypatch.undo()
    exact = jax.jacrev(ramidyn.to_jax(arm().forward_dynamics))(Q[0], QD[0], TAU[0])
    np.testing.assert_allclose(slope, exact, rtol=1e-12, atol=1e-12)


def test_missing_memory_is_an_error_of_xla(monkeypatch: pytest.MonkeyPatch) -> None:
    kind = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 3)
    failing = kind(lambda *_: 1)  # what the driver returns if there is no memory

    def calls_of(compilation: Any) -> Any:
        calls = function.calls_of(compilation)
        run = ctypes.cast(failing, ctypes.c_void_p).value
        calls.loaded("single").block[Kernel.RUN] = run
        return calls

    monkeypatch.setattr(jax_primitive, "calls_of", calls_of)
    lost = ramidyn.kernel(lambda x: 3.0 * x, {"x": 2}, name="lost")
    with pytest.raises(jax.errors.JaxRuntimeError, match="lost ran out of memory"):
        jax.block_until_ready(ramidyn.to_jax(lost)(jnp.zeros(2)))


# ------------------------------------------------------------ derivatives


@pytest.mark.parametrize("quantity", DYNAMICS)
def test_derivatives_are_those_of_complex_steps(
    robot: Robot, quantity: str, rng: np.random.Generator
) -> None:
    f = ramidyn.to_jax(getattr(robot, quantity))
    x = [x[0] for x in states(robot, rng, 1)]
    forward = jax.jit(jax.jacfwd(f, argnums=(0, 1, 2)))(*x)
    reverse = jax.jit(jax.jacrev(f, argnums=(0, 1, 2)))(*x)
    check_jacobians(robot, quantity, x, forward, reverse)


@pytest.mark.parametrize("quantity", DYNAMICS)
def test_dynamics_pass_the_checks_of_jax(
    robot: Robot, quantity: str, rng: np.random.Generator
) -> None:
    f = ramidyn.to_jax(getattr(robot, quantity))
    x = tuple(jnp.asarray(x[0]) for x in states(robot, rng, 1))
    order = 2 if robot is arm() else 1
    check_grads(f, x, order=order, rtol=1e-4, atol=1e-4)


def test_poses_pass_the_checks_of_jax(rng: np.random.Generator) -> None:
    pose = ramidyn.to_jax(arm().pose)
    frame = arm().body_names[-1]
    check_grads(lambda q: pose(q, frame), (rng.normal(size=3),), order=2)


def test_gradients_of_shared_inputs_add_up(rng: np.random.Generator) -> None:
    f = ramidyn.to_jax(arm().forward_dynamics)
    Q, QD, TAU = states(arm(), rng, 5)

    def total(qd: Any) -> Any:
        return jax.vmap(f, (0, None, 0))(Q, qd, TAU).sum()

    slope = jax.jit(jax.grad(total))(QD[0])
    alone = [jax.grad(lambda v, k=k: f(Q[k], v, TAU[k]).sum())(QD[0]) for k in range(5)]
    np.testing.assert_allclose(slope, np.sum(alone, 0), rtol=1e-12, atol=1e-12)


def test_gradients_go_through_a_scan(rng: np.random.Generator) -> None:
    f = ramidyn.to_jax(arm().forward_dynamics)
    q, qd, tau = (x[0] for x in states(arm(), rng, 1))

    def rollout(tau: Any) -> Any:
        def step(state: Any, _: Any) -> Any:
            q, qd = state
            qd = qd + 0.01 * f(q, qd, tau)
            return (q + 0.01 * qd, qd), None

        (end, _), _ = jax.lax.scan(step, (jnp.asarray(q), jnp.asarray(qd)), length=20)
        return end @ end

    check_grads(rollout, (jnp.asarray(tau),), order=1, modes=["fwd", "rev"])


def test_hessians_are_symmetric(rng: np.random.Generator) -> None:
    energy = ramidyn.to_jax(arm().kinetic_energy)
    q, qd, _ = (x[0] for x in states(arm(), rng, 1))
    ((qq, qv), (vq, vv)) = jax.hessian(energy, argnums=(0, 1))(q, qd)
    np.testing.assert_allclose(vv, arm().mass_matrix(q), rtol=EXACT, atol=EXACT)
    np.testing.assert_allclose(qq, qq.T, rtol=EXACT, atol=EXACT)
    np.testing.assert_allclose(qv, vq.T, rtol=EXACT, atol=EXACT)
    twice = jax.jacrev(jax.jacrev(energy))(q, qd)
    np.testing.assert_allclose(qq, twice, rtol=EXACT, atol=EXACT)


# ------------------------------------------------------------ mistakes


def test_a_wrong_shape_is_refused_when_jit_traces() -> None:
    f = ramidyn.to_jax(arm().mass_matrix)
    with pytest.raises(
        ramidyn.ShapeError, match=r"q has shape \(4,\); kernel .* needs"
    ):
        jax.jit(f).lower(jnp.zeros(4))
    with pytest.raises(ramidyn.ShapeError, match="batch sizes differ: q 2, qd 3"):
        ramidyn.to_jax(arm().kinetic_energy)(jnp.zeros((2, 3)), jnp.zeros((3, 3)))


@pytest.mark.parametrize(
    ("value", "given"),
    [
        (np.zeros(3, complex), "an array of complex128"),
        (np.zeros(3, np.float16), "an array of float16"),
        ("q", "str"),
    ],
)
def test_other_dtypes_are_refused(value: Any, given: str) -> None:
    f = ramidyn.to_jax(arm().mass_matrix)
    with pytest.raises(
        ramidyn.ShapeError, match=f"^q is {given}; .* needs float32, float64 or int"
    ):
        f(value)


def test_out_is_refused() -> None:
    f = ramidyn.to_jax(arm().mass_matrix)
    with pytest.raises(ramidyn.ArgumentError, match="JAX functions do not support;"):
        f(jnp.zeros(3), out=np.zeros((3, 3)))


def test_what_is_not_compiled_is_refused() -> None:
    with pytest.raises(
        ramidyn.ArgumentError, match="expected a compiled function, such"
    ):
        ramidyn.to_jax(ramidyn.mass_matrix)
    last = ramidyn.compile(ramidyn.mass_matrix, arm(), layout="batch_last")
    with pytest.raises(ramidyn.ArgumentError, match="in JAX batch axes come first"):
        ramidyn.to_jax(last)


def test_other_devices_are_refused() -> None:
    f = ramidyn.to_jax(arm().mass_matrix)
    traced = jax.jit(f).trace(jnp.zeros(3))
    with pytest.raises(ramidyn.Error, match="runs on the CPU only; move its inputs"):
        traced.lower(lowering_platforms=("cuda",))


def test_a_missing_package_names_the_command() -> None:
    code = (
        "import sys; sys.modules['jax'] = None; import ramidyn\n"
        "try: ramidyn.to_jax(ramidyn.robots.chain(1).mass_matrix)\n"
        "except ramidyn.Error as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout == 'to_jax needs JAX: pip install "ramidyn[jax]"\n'
