"""What a compiled function costs inside JAX, PyTorch and CasADi, beside the kernel.

    python benchmarks/interop.py [--quick] [--json]

All figures are from one run, in float64. The promises: a call in lax.scan at most
0.3 us above the kernel; a jit call, less the kernel, at most 1.1 times that of a jit
function that adds its inputs (one that returns an input does not run at all); a
vmapped batch of 4,096 at most 1.1 times our own.

The kernel alone is timed by `ramidyn.scan` of the same step, which leaves native code
as rarely as lax.scan does; the step of lax.scan without the call is taken off.

PyTorch's rows are those of eager calls; the optimal control in CasADi (arm_ocp.py) is
solved by Ipopt with our dynamics and with the same written in CasADi's own symbols.
"""

from __future__ import annotations

import importlib.util
import sys
import time
from typing import Any

import numpy as np
from machine import best, best_call, options, report

import ramidyn

BATCH = 4096
PROMISES = {
    "call in scan [us]": 0.3,
    "jit call": 1.1,
    "vmap": 1.1,
    "a tensor instead of an array [us]": 3.0,
}


def main() -> None:
    given = options(__doc__ or "").parse_args()
    rows: dict[str, dict[str, float]] = {}
    sizes = [7] if given.quick else [7, 30]
    for library, measure in MEASURES.items():
        if importlib.util.find_spec(library) is None:
            install = f"pip install 'ramidyn[{library}]'"
            print(f"{library} is not installed ({install})", file=sys.stderr)
            continue
        for n in sizes if library != "casadi" else sizes[:1]:
            rows[f"{library}, {n} joints"] = measure(n, given.quick)
    if not given.json:
        for name, row in rows.items():
            print(f"\nforward dynamics, {name}")
            for what, value in row.items():
                promise = PROMISES.get(what)
                most = f"   (promise: at most {promise})" if promise else ""
                print(f"  {what:34} {value:10.3f}{most}")
    report({"interop": rows}, given.json, *MEASURES)


def in_jax(joints: int, quick: bool) -> dict[str, float]:
    """Return the figures of one arm in JAX."""
    import jax  # noqa: PLC0415  an extra

    jax.config.update("jax_enable_x64", True)
    seconds, steps = (0.05, 200) if quick else (2.0, 20_000)
    robot = ramidyn.robots.chain(joints)
    compiled = ramidyn.compile(ramidyn.forward_dynamics, robot)
    f = ramidyn.to_jax(compiled)
    rng = np.random.default_rng(0)
    q, qd, tau = rng.normal(size=(3, joints))
    states = rng.normal(size=(3, BATCH, joints))
    us = 1e6

    # One call: beside a function of the same inputs and outputs that does nothing else.
    own, empty = jax.jit(f), jax.jit(lambda q, qd, tau: q + qd + tau)
    x = [jax.numpy.asarray(a) for a in (q, qd, tau)]
    call = in_turns(
        seconds,
        20,
        lambda: own(*x).block_until_ready(),
        lambda: empty(*x).block_until_ready(),
    )
    kernel = best_call(lambda: compiled(q, qd, tau), seconds)

    # In a scan: with the call, and with a step of the same inputs and outputs.
    def with_call(qd: Any, _: Any) -> Any:
        return qd + 1e-9 * f(x[0], qd, x[2]), None

    def without(qd: Any, _: Any) -> Any:
        return qd + 1e-9 * (x[0] + qd + x[2]), None

    def scanned(step: Any) -> Any:
        return jax.jit(lambda v: jax.lax.scan(step, v, length=steps)[0])

    scan, bare = scanned(with_call), scanned(without)
    step = ramidyn.kernel(
        lambda q, qd, tau: {"qd": qd + 1e-9 * robot.forward_dynamics(q, qd, tau)},
        {"q": joints, "qd": joints, "tau": joints},
        name="step",
    )
    native = ramidyn.scan(step, carry=("qd",), length=steps, record=())
    in_scan, in_bare, in_native = (
        total / steps
        for total in in_turns(
            seconds,
            1,
            lambda: scan(x[1]).block_until_ready(),
            lambda: bare(x[1]).block_until_ready(),
            lambda: native(q, qd, tau),
        )
    )

    # A batch, results in new arrays in both.
    mapped = jax.jit(jax.vmap(f))
    X = [jax.numpy.asarray(a) for a in states]
    batch = in_turns(
        seconds,
        1,
        lambda: mapped(*X).block_until_ready(),
        lambda: compiled(*states),
    )
    gradient = jax.jit(jax.value_and_grad(lambda *a: f(*a).sum(), argnums=(0, 1, 2)))
    start = time.perf_counter()
    jax.block_until_ready(gradient(*x))
    first = time.perf_counter() - start
    grads = jax.jit(jax.vmap(gradient))
    both = best(lambda: jax.block_until_ready(grads(*X)), seconds)
    return {
        "kernel, called from Python [us]": kernel * us,
        "kernel, in ramidyn.scan [us]": in_native * us,
        "lax.scan step with the call [us]": in_scan * us,
        "lax.scan step without it [us]": in_bare * us,
        "call in scan [us]": (in_scan - in_bare - in_native) * us,
        "jit call [us]": call[0] * us,
        "jit call that adds [us]": call[1] * us,
        "jit call": (call[0] - in_native) / call[1],
        f"vmap of {BATCH:,} [us]": batch[0] * us,
        f"our own batch of {BATCH:,} [us]": batch[1] * us,
        "vmap": batch[0] / batch[1],
        "value and gradient, first call [s]": first,
        f"value and gradient of {BATCH:,} [us]": both * us,
    }


def in_torch(joints: int, quick: bool) -> dict[str, float]:
    """Return the figures of one arm in PyTorch."""
    import torch  # noqa: PLC0415  an extra

    seconds = 0.05 if quick else 1.0
    compiled = ramidyn.compile(ramidyn.forward_dynamics, ramidyn.robots.chain(joints))
    f = ramidyn.to_torch(compiled)
    states = np.random.default_rng(0).normal(size=(3, BATCH, joints))
    x = [torch.from_numpy(a[0].copy()) for a in states]
    X = [torch.from_numpy(a) for a in states]
    leaves = [a.clone().requires_grad_() for a in X]

    def gradient() -> None:
        torch.autograd.grad(f(*leaves).sum(), leaves)

    one = [a.numpy() for a in x]
    arrays, tensors, call = in_turns(
        seconds,
        20,
        lambda: compiled(*one),
        lambda: compiled(x[0], *one[1:]),
        lambda: f(*x),
    )
    batch, own, both = in_turns(
        seconds, 1, lambda: f(*X), lambda: compiled(*states), gradient
    )
    us = 1e6
    return {
        "kernel, called with arrays [us]": arrays * us,
        "a tensor instead of an array [us]": (tensors - arrays) * us,
        "eager call [us]": call * us,
        f"eager batch of {BATCH:,} [us]": batch * us,
        f"our own batch of {BATCH:,} [us]": own * us,
        f"value and gradient of {BATCH:,} [us]": both * us,
    }


def in_casadi(joints: int, quick: bool) -> dict[str, float]:
    """Return the time that Ipopt needs for an optimal control of one arm."""
    from arm_ocp import solve  # noqa: PLC0415  imports CasADi
    from textbook_casadi import function  # noqa: PLC0415  imports CasADi

    steps = 5 if quick else 20
    robot = ramidyn.robots.chain(joints)
    own = ramidyn.to_casadi(ramidyn.compile(ramidyn.forward_dynamics, robot))
    symbolic = function("forward_dynamics", robot)
    results = {"ours": solve(own, joints, steps)}
    results["symbolic"] = solve(symbolic, joints, steps)
    torques = [found[0] for found in results.values()]
    np.testing.assert_allclose(*torques, rtol=0.0, atol=1e-6 * np.abs(torques[1]).max())
    seconds = {name: found[1] for name, found in results.items()}
    return {
        "optimal control, our dynamics [s]": seconds["ours"],
        "optimal control, CasADi's symbols [s]": seconds["symbolic"],
        "faster": seconds["symbolic"] / seconds["ours"],
    }


MEASURES = {"jax": in_jax, "torch": in_torch, "casadi": in_casadi}


def in_turns(seconds: float, times: int, *runs: Any) -> list[float]:
    """Return the shortest time of each call, measured in turns: all under one load."""
    shortest = [float("inf")] * len(runs)
    for _ in range(5):
        for k, run in enumerate(runs):
            shortest[k] = min(shortest[k], best_call(run, seconds / 5, times))
    return shortest


if __name__ == "__main__":
    main()
