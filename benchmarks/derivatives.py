"""How fast derivatives are compared with Pinocchio, for robots of 7 to 54 DoF.

    python benchmarks/derivatives.py [--quick] [--json] [--robots panda,talos]

One run on one core, the same random states for all. Results are compared before they
are timed: 1e-9 of the largest entry. A call is one state from Python, outputs allocated
beforehand; a batch is 1,024 states in one call, by state. Pinocchio's derivatives are
called from Python: a batch is compared with a loop over the same states, converted
beforehand, that keeps every result. `filling` is the time that NumPy takes to fill the
results with one number. Packed is dID along the tree's sparsity, compared with the
dense results of Pinocchio. The gradient, the vjp of forward dynamics, is compared with
Pinocchio's dense derivatives times a vector.

The promises: dFD in one call at least 3 x; in a batch 20 x at 7 DoF, 8 x at 30, 5 x at
50; dID along the tree at least 12 x at 50; the gradient 40 x.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from machine import best, best_call, options, report
from robots import sources

import ramify
from ramify.cli.peers import Peer, PeerError, peer
from ramify.cli.robots import RobotFile
from ramify.cli.selfcheck import state_of
from ramify.function import Function

AGREEMENT = 1e-9
WANTED = ("panda", "humanoid30", "g1", "talos")


def our_times(f: Function, inputs: tuple[Any, ...], seconds: float) -> dict[str, float]:
    """Return the times of one call and of a state in a batch."""
    out = f(*inputs)
    one = tuple(x[0] for x in inputs)
    single = f(*one)
    return {
        "call": best_call(partial(f, *one, out=single), seconds),
        "state": best(partial(f, *inputs, out=out), seconds) / len(inputs[0]),
    }


def theirs(other: Peer) -> dict[str, Callable[..., Any]]:
    """Return Pinocchio's derivatives of one state, in its own order of joints."""
    import pinocchio as pin  # noqa: PLC0415  only where it is installed

    m, d = other.model, other.data  # type: ignore[attr-defined]

    def forward(q: Any, qd: Any, tau: Any) -> Any:
        pin.computeABADerivatives(m, d, q, qd, tau)
        return d.ddq_dq, d.ddq_dv, d.Minv

    def inverse(q: Any, qd: Any, qdd: Any) -> Any:
        pin.computeRNEADerivatives(m, d, q, qd, qdd)
        return d.dtau_dq, d.dtau_dv

    def gradient(q: Any, qd: Any, tau: Any, weights: Any) -> Any:
        pin.computeABADerivatives(m, d, q, qd, tau)
        full = np.triu(d.Minv) + np.triu(d.Minv, 1).T
        return weights @ d.ddq_dq, weights @ d.ddq_dv, weights @ full

    return {
        "forward": forward,
        "inverse": inverse,
        "packed": inverse,
        "gradient": gradient,
    }


def loop_time(f: Callable[..., Any], states: list[Any], seconds: float) -> float:
    """Return the time of a state in a loop that keeps every result."""
    kept = [np.empty((len(states), *x.shape)) for x in f(*states[0])]

    def loop() -> None:
        for k, state in enumerate(states):
            for out, x in zip(kept, f(*state), strict=True):
                out[k] = x

    return best(loop, seconds) / len(states)


def measured(name: str, source: RobotFile, seconds: float, batch: int) -> dict:
    """Return all times of a robot [s]."""
    try:
        other: Any = peer("pinocchio", source)
        robot = other.robot
    except (PeerError, ImportError) as reason:
        print(f"{name}: without Pinocchio: {reason}")
        other, robot = None, source.load()
    s = state_of(robot, batch, np.random.default_rng(0))
    weights = np.random.default_rng(1).normal(size=s.tau.shape)
    wrt = ("q", "qd", "tau")
    gradient = ramify.vjp(ramify.forward_dynamics, wrt)
    cases = {
        "forward": (ramify.forward_dynamics_derivatives, (s.q, s.qd, s.tau)),
        "inverse": (ramify.inverse_dynamics_derivatives, (s.q, s.qd, s.qdd)),
        "packed": (
            ramify.inverse_dynamics_derivatives(packed=True),
            (s.q, s.qd, s.qdd),
        ),
        "gradient": (gradient, (s.q, s.qd, s.tau, weights)),
    }
    row: dict[str, Any] = {"robot": name, "nv": robot.nv}
    row["filling"] = (
        best(partial(np.zeros((3, batch, robot.nv, robot.nv)).fill, 1.0), seconds)
        / batch
    )
    calls = {} if other is None else theirs(other)
    for kind, (quantity, inputs) in cases.items():
        f = ramify.compile(quantity, robot).prepare()
        times = our_times(f, inputs, seconds)
        single = ramify.compile(quantity, robot, dtype="float32")
        floats = tuple(x.astype(np.float32) for x in inputs)
        times["state_float32"] = our_times(single, floats, seconds)["state"]
        row |= {f"{kind}_{k}": t for k, t in times.items()}
        row[f"{kind}_cost"] = f.ops.cost
        if other is None:
            continue
        states = [
            (other.q(s.q[k]), *(other.v(x[k]) for x in inputs[1:]))
            for k in range(batch)
        ]
        if kind == "packed":
            check_packed(robot, f, inputs)
        else:
            check(other, f, calls[kind], inputs, states[0], kind)
        row[f"{kind}_pinocchio"] = best_call(partial(calls[kind], *states[0]), seconds)
        row[f"{kind}_loop"] = loop_time(calls[kind], states, seconds)
    return row


def check(
    other: Any,
    f: Function,
    theirs_: Callable[..., Any],
    inputs: tuple[Any, ...],
    state: tuple[Any, ...],
    kind: str,
) -> None:
    """Compare the first two results of one state."""
    ours = list(f(*(x[0] for x in inputs)))[1 if kind == "gradient" else 0 :][:2]
    order = other._v
    for mine, found in zip(ours, theirs_(*state), strict=False):
        expected = found[order] if found.ndim == 1 else found[np.ix_(order, order)]
        error = np.abs(mine - expected).max() / np.abs(expected).max()
        assert error < AGREEMENT, (kind, error)


def check_packed(robot: ramify.Robot, f: Function, inputs: tuple[Any, ...]) -> None:
    """Compare packed results of one state with the dense ones, checked before."""
    one, layout = tuple(x[0] for x in inputs), robot.derivatives_layout
    for packed, dense in zip(
        f(*one), robot.inverse_dynamics_derivatives(*one), strict=True
    ):
        expected = dense[layout.rowind, layout.colind]
        assert np.abs(packed - expected).max() < AGREEMENT * np.abs(expected).max()


def text(row: dict[str, Any]) -> str:
    """Return the lines of a robot."""
    lines = [f"{row['robot']}, {row['nv']} DoF; filling {1e6 * row['filling']:.2f} us"]
    for kind in ("forward", "inverse", "packed", "gradient"):
        call, state = row[f"{kind}_call"], row[f"{kind}_state"]
        line = (
            f"  {kind:9s} call {1e6 * call:8.2f} us, batch {1e6 * state:8.3f} us "
            f"(float32 {1e6 * row[f'{kind}_state_float32']:8.3f}), cost "
            f"{row[f'{kind}_cost']:,}"
        )
        if f"{kind}_loop" in row:
            theirs_, loop = row[f"{kind}_pinocchio"], row[f"{kind}_loop"]
            line += (
                f"; Pinocchio {1e6 * theirs_:8.2f} us ({theirs_ / call:.1f} x), "
                f"loop {1e6 * loop:8.2f} us ({loop / state:.1f} x)"
            )
        lines.append(line)
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    parser = options(__doc__ or "")
    parser.add_argument("--robots", default=",".join(WANTED), help="by name")
    given = parser.parse_args()
    names = ["panda"] if given.quick else given.robots.split(",")
    seconds, batch = (0.05, 64) if given.quick else (1.0, 1024)
    rows = []
    for name, source in sources(names).items():
        row = measured(name, source, seconds, batch)
        rows.append(row)
        if not given.json:
            print(text(row), flush=True)
    report({"rows": rows, "batch": batch}, given.json, "pin")


if __name__ == "__main__":
    main()
