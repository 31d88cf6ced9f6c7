"""How fast derivatives are compared with Pinocchio, for robots of 7 to 54 DoF.

    python benchmarks/derivatives.py [--quick] [--json] [--readme] [--robots panda]

One run on one core, the same random states for all. Results are compared before they
are timed: 1e-9 of the largest entry. A call is one state from Python, outputs allocated
beforehand; a batch is 1,024 states in one call, by state. Pinocchio's derivatives are
called from Python: a batch is compared with a loop over the same states, converted
beforehand, that keeps every result. `filling` is the time that NumPy takes to fill the
results with one number. Packed is dID along the tree's sparsity, compared with the
dense results of Pinocchio. The gradient, the vjp of forward dynamics, is compared with
Pinocchio's dense derivatives times a vector. CasADi's own derivatives of the book's
algorithms (textbook_casadi.py), as generated C compiled with -O3, are beside those of
arms, if CasADi and a C compiler are installed: a call through its buffers, a batch by
its `map`.

The promises: dFD in one call at least 4 x; in a batch 30 x at 7 DoF, 10 x at 30, 8 x at
50; dID along the tree at least 12 x at 50; the gradient 40 x.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from machine import best, best_call, machine, options, report
from robots import sources

import ramidyn
from ramidyn.cli.arguments import RobotFile
from ramidyn.cli.peers import Peer, PeerError, peer
from ramidyn.cli.selfcheck import state_of
from ramidyn.function import Function

AGREEMENT = 1e-9
WANTED = ("xarm7", "panda", "humanoid30", "g1", "talos")
CASADI = 9
"""degrees of freedom up to which a C compiler is done within a minute"""


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


def casadi_times(
    kind: str, robot: ramidyn.Robot, inputs: tuple[Any, ...], seconds: float
) -> dict[str, float]:
    """Return the times of CasADi's derivatives; none where it cannot be compared."""
    kinds = {joint.type for joint in robot.model.joints}
    if robot.nv > CASADI or not kinds <= {"revolute", "prismatic"}:
        return {}
    try:
        from textbook_casadi import compiled, derivatives  # noqa: PLC0415  optional
    except ImportError:
        return {}
    if shutil.which("cc") is None:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        begin = time.perf_counter()
        f = compiled(derivatives(kind, robot), Path(folder))
        found = {"compile": time.perf_counter() - begin}
        batch, n = inputs[0].shape
        expected = getattr(robot, f"{kind}_dynamics_derivatives")(*inputs)
        cases = {"call": (f, [x[0] for x in inputs]), "state": (f.map(batch), inputs)}
        for name, (function, given) in cases.items():
            buffer, trigger = function.buffer()
            results = [np.zeros((batch, n, n)) for _ in expected]
            for k, x in enumerate(given):
                buffer.set_arg(k, memoryview(np.ascontiguousarray(x)))
            for k, out in enumerate(results):
                buffer.set_res(k, memoryview(out if name == "state" else out[0]))
            trigger()
            for out, x in zip(results, expected, strict=True):
                error = np.abs(out[0].T - x[0]).max() / np.abs(x[0]).max()
                assert error < AGREEMENT, ("casadi", kind, error)
            if name == "call":
                found[name] = best_call(trigger, seconds)
            else:
                found[name] = best(trigger, seconds) / batch
    return {f"{kind}_casadi_{k}": t for k, t in found.items()}


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
    gradient = ramidyn.vjp(ramidyn.forward_dynamics, wrt)
    cases = {
        "forward": (ramidyn.forward_dynamics_derivatives, (s.q, s.qd, s.tau)),
        "inverse": (ramidyn.inverse_dynamics_derivatives, (s.q, s.qd, s.qdd)),
        "packed": (
            ramidyn.inverse_dynamics_derivatives(packed=True),
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
        f = ramidyn.compile(quantity, robot).prepare()
        times = our_times(f, inputs, seconds)
        single = ramidyn.compile(quantity, robot, dtype="float32")
        floats = tuple(x.astype(np.float32) for x in inputs)
        times["state_float32"] = our_times(single, floats, seconds)["state"]
        row |= {f"{kind}_{k}": t for k, t in times.items()}
        row[f"{kind}_cost"] = f.ops.cost
        if kind in ("forward", "inverse"):
            row |= casadi_times(kind, robot, inputs, seconds)
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


def check_packed(robot: ramidyn.Robot, f: Function, inputs: tuple[Any, ...]) -> None:
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
        if f"{kind}_casadi_call" in row:
            one, many = row[f"{kind}_casadi_call"], row[f"{kind}_casadi_state"]
            line += (
                f"; CasADi {1e6 * one:8.2f} us ({one / call:.1f} x), "
                f"batch {1e6 * many:8.2f} us ({many / state:.1f} x)"
            )
        lines.append(line)
    return "\n".join(lines)


HEAD = """\
| robot | DoF | derivatives | Pinocchio | in a loop | CasADi's C | Ramidyn, one call | \
Ramidyn, in a batch | float32 | memory-fill baseline |
|---|---|---|---|---|---|---|---|---|---|"""
KINDS = {
    "forward": "∂q̈/∂q, ∂q̈/∂q̇, M⁻¹",
    "inverse": "∂τ/∂q, ∂τ/∂q̇, M",
    "packed": "the same, packed",
    "gradient": "gradient of q̈ · w",
}


def table_rows(row: dict[str, Any]) -> str:
    """Return the rows of a robot in the table of the docs [us]."""

    def entry(key: str, digits: int) -> str:
        return f"{1e6 * row[key]:.{digits}f}" if key in row else ""

    lines: list[str] = []
    for kind, words in KINDS.items():
        call, state = row[f"{kind}_call"], row[f"{kind}_state"]
        cells = [
            row["robot"],
            str(row["nv"]),
            words,
            entry(f"{kind}_pinocchio", 1),
            entry(f"{kind}_loop", 1),
            entry(f"{kind}_casadi_state", 1),
            f"{1e6 * call:.1f} ({row[f'{kind}_pinocchio'] / call:.1f} x)",
            f"{1e6 * state:.3f} ({row[f'{kind}_loop'] / state:.0f} x)",
            entry(f"{kind}_state_float32", 3),
            entry("filling", 2) if kind in ("forward", "inverse") else "",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def note() -> str:
    """Return the lines below the table of the docs."""
    about = machine("pin", "casadi")
    versions = about["versions"]
    return (
        "Microseconds of one core, one run, batches of 1,024 states; in parentheses, "
        "how many times faster than Pinocchio's call and loop. CasADi: its own "
        "derivatives of the book's algorithms, generated C with -O3, per state of its "
        f"`map`. {about['cpu']}, pin {versions['pin']}, casadi {versions['casadi']}, "
        f"{about['date']}. Generated by `python benchmarks/derivatives.py --readme`."
    )


def main() -> None:
    """Measure and print."""
    parser = options(__doc__ or "")
    parser.add_argument("--robots", default=",".join(WANTED), help="by name")
    parser.add_argument("--readme", action="store_true", help="print the docs' table")
    given = parser.parse_args()
    names = ["xarm7"] if given.quick else given.robots.split(",")
    seconds, batch = (0.05, 64) if given.quick else (1.0, 1024)
    rows = []
    for name, source in sources(names).items():
        row = measured(name, source, seconds, batch)
        rows.append(row)
        if not (given.json or given.readme):
            print(text(row), flush=True)
    if given.readme:
        print("\n".join([HEAD, *map(table_rows, rows), "", note()]))
        return
    report({"rows": rows, "batch": batch}, given.json, "pin", "casadi")


if __name__ == "__main__":
    main()
