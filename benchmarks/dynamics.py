"""How fast dynamics are compared with Pinocchio and MuJoCo, for 7 to 54 DoF.

    python benchmarks/dynamics.py [--quick] [--json] [--robots panda,talos] [--readme]

One run on one core, the same random states for all, the shorter of two measurements
of each time. Results are compared before they are timed: 1e-9 of the largest entry. A
call is one state from Python, whose result is a new array, the best mean of a
millisecond's loop; a batch is 4,096 states in one call, outputs allocated beforehand,
by state. Pinocchio has no batches from Python: a batch is compared with a loop over the
same states, converted beforehand, that keeps every result in an array; and `filling` is
the time that NumPy takes to fill the array of results with one number. MuJoCo's time
includes copying the state into its MjData; contacts, constraints, actuators and sensors
are off. --readme writes the tables and pictures of README and the docs.

The promises: a batch of forward dynamics of 30 DoF and more at least 33 x Pinocchio's,
inverse dynamics 20 x, mass matrix 10 x, as most of its time goes to memory; one call
5 x the faster of the two for forward and inverse dynamics, 3.5 x for the mass matrix.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from machine import best, machine, options, report
from robots import sources

from ramidyn.cli.arguments import RobotFile
from ramidyn.cli.bench_ import (
    QUANTITIES,
    answer_error,
    best_of,
    our_times,
    peer_time,
)
from ramidyn.cli.peers import Peer, PeerError, State, peer
from ramidyn.cli.selfcheck import state_of
from ramidyn.compiler import compile
from ramidyn.quantities.mass_matrix import mass_matrix_csr
from ramidyn.robot import Robot

BATCH, AGREEMENT = 4096, 1e-9
PEERS = ("pinocchio", "mujoco")
WORDS = {
    "inverse_dynamics": "inverse\u00a0dynamics",
    "mass_matrix": "mass\u00a0matrix",
    "forward_dynamics": "forward\u00a0dynamics",
}
BATCH_PROMISE = {"forward_dynamics": 33, "inverse_dynamics": 20, "mass_matrix": 10}
CALL_PROMISE = {"forward_dynamics": 5, "inverse_dynamics": 5, "mass_matrix": 3.5}
ROOT = Path(__file__).resolve().parents[1]
MARKS = ("<!-- speed: python benchmarks/dynamics.py --readme -->", "<!-- end -->")


def peers_of(source: RobotFile) -> list[Peer]:
    """Return the other libraries that can have this robot."""
    found = []
    for name in PEERS:
        try:
            found.append(peer(name, source))
        except (PeerError, ImportError) as reason:
            print(f"{source.name}: without {name}: {reason}")
    return found


def measured(name: str, source: RobotFile, seconds: float, batch: int) -> list[dict]:
    """Return a row for each quantity."""
    robot = source.load()
    others = peers_of(source)
    state = state_of(robot, batch, np.random.default_rng(0))
    rows = []
    for quantity in (q.name for q in QUANTITIES):
        row: dict[str, Any] = {"robot": name, "nv": robot.nv, "quantity": quantity}
        row |= our_times(robot, quantity, state, seconds)
        single = our_times(robot, quantity, state, seconds, "float32")
        row["state_float32"], row["call_float32"] = single["state"], single["call"]
        shape = (batch, robot.nv, robot.nv)[: 3 if quantity == "mass_matrix" else 2]
        row["write"] = best(partial(np.zeros(shape).fill, 1.0), seconds) / batch
        if quantity == "mass_matrix":
            row["csr"] = nonzeros_time(robot, state, seconds)
        for other in others:
            few = state_of(other.robot, 16, np.random.default_rng(1))
            error = answer_error(other, quantity, few)
            assert error < AGREEMENT, (name, quantity, other.name, error)
            row[other.name] = peer_time(other, quantity, few[0], seconds)
            if other.name == "pinocchio":
                states = state_of(other.robot, batch, np.random.default_rng(1))
                row["loop"] = peer_loop_time(other, quantity, states, seconds)
        rows.append(row)
    return rows


def peer_loop_time(
    other: Peer, name: str, states: State, duration: float
) -> float | None:
    """Return the time of a state in a loop from Python that keeps every result.

    What a batch is to libraries that have none; the inputs are converted beforehand.
    """
    found = [other.caller(name, states[k]) for k in range(len(states))]
    calls = [call for call in found if call is not None]
    if not calls:
        return None
    kept = np.empty((len(states), *np.asarray(calls[0]()).shape))

    def loop() -> None:
        for k, call in enumerate(calls):
            kept[k] = call()

    return best_of(loop, duration) / len(states)


def shorter(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Return a row with the shorter of each two times."""
    times = {k: min(t, other[k]) for k, t in one.items() if isinstance(t, float)}
    return {**one, **times}


def nonzeros_time(robot: Robot, state: State, seconds: float) -> float:
    """Return the time of a state's mass matrix without its zeros and its mirror."""
    f = compile(mass_matrix_csr, robot)
    out = f(state.q)
    return best(partial(f, state.q, out=out), seconds) / len(state)


def ratios(row: dict[str, Any]) -> tuple[float, float]:
    """Return (batch, call) speed: against Pinocchio, against the faster of the two."""
    known = [row[p] for p in PEERS if row.get(p)]
    loop = row.get("loop", float("nan"))
    return loop / row["state"], min(known, default=float("nan")) / row["call"]


def markdown(rows: list[dict[str, Any]]) -> str:
    """Return the table of all quantities and columns."""
    lines = [
        "| robot | DoF | quantity | Pinocchio | in a loop | MuJoCo | Ramidyn, one call "
        "| Ramidyn, in a batch | in a batch, float32 | memory-fill baseline |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for r in rows:
        names = ("pinocchio", "loop", "mujoco")
        theirs = [f"{1e6 * r[p]:.2f}" if r.get(p) else "-" for p in names]
        call = f"{1e6 * r['call']:.2f} ({ratios(r)[1]:.1f}\u00a0x)"
        batch = f"{1e6 * r['state']:.3f} ({ratios(r)[0]:.0f}\u00a0x)"
        lines.append(
            f"| {r['robot']} | {r['nv']} | {WORDS[r['quantity']]} | "
            f"{' | '.join(theirs)} | {call} | {batch} | "
            f"{1e6 * r['state_float32']:.3f} | {1e6 * r['write']:.3f} |"
        )
    return "\n".join(lines)


def others(rows: list[dict[str, Any]]) -> str:
    """Return the ratios of the other quantities, in a sentence."""
    parts = []
    for quantity in ("inverse_dynamics", "mass_matrix"):
        found = [ratios(r) for r in rows if r["quantity"] == quantity]
        batch, call = ([f(x[k] for x in found) for f in (min, max)] for k in (0, 1))
        parts.append(
            f"{WORDS[quantity]} is {batch[0]:.0f} to {batch[1]:.0f} times faster in a "
            f"batch and {call[0]:.1f} to {call[1]:.1f} times in one call"
        )
    text = (
        f"The {', and the '.join(parts)}. A mass matrix gains least: writing its n x n "
        "entries to memory takes longer than computing them."
    )
    packed = [r["loop"] / r["csr"] for r in rows if r.get("csr") and r.get("loop")]
    if packed:
        text += (
            " Its nonzeros alone (`mass_matrix_csr`) are "
            f"{min(packed):.0f} to {max(packed):.0f} times faster."
        )
    return text


def caption() -> str:
    """Return what the figures depend on, in a paragraph."""
    about = machine("pin", "mujoco")
    versions = ", ".join(f"{k} {v}" for k, v in about["versions"].items())
    return (
        "Microseconds per state, one core, one run, the shorter of two measurements "
        "of each time. In parentheses, how many times faster Ramidyn is: for one call, "
        "which returns a new array, than the faster of Pinocchio and MuJoCo, also "
        "called from Python; for a batch of 4,096, than Pinocchio in a loop over as "
        "many states that keeps the results. The last column is the time that NumPy "
        "takes to fill the array of results with one number. Results are checked to "
        "agree within 1e-9 before timing. MuJoCo's time includes the copy of the "
        "state, and has contacts, constraints and actuators off. "
        f"{about['cpu']}, {about['lanes']} doubles per vector, "
        f"Python {about['python']}, {versions}, {about['date']}. "
        "Generated by `python benchmarks/dynamics.py --readme`."
    )


def summary(rows: list[dict[str, Any]], link: str) -> str:
    """Return the four columns of README and the first page of the docs."""
    lines = [
        "| forward dynamics, µs per state | Pinocchio, in a loop | Ramidyn, one call "
        "| Ramidyn, batch of 4,096 |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {r['robot']}, {r['nv']} DoF | {1e6 * r['loop']:.2f} "
        f"| {1e6 * r['call']:.2f} "
        f"| {1e6 * r['state']:.3f} ({ratios(r)[0]:.0f}\u00a0x) |"
        for r in shown(rows)
    ]
    about = machine()
    return "\n".join(lines) + (
        f"\n\nOne core of an {about['cpu']}, float64, without contacts, "
        f"{about['date']}. The loop is a Python loop over the same states, because "
        f"Pinocchio takes one at a time. [All figures and the method]({link})."
    )


def shown(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return forward dynamics of four robots: an arm, a quadruped, two humanoids."""
    names = ("panda", "go2", "humanoid30", "talos")
    forward = [r for r in rows if r["quantity"] == "forward_dynamics"]
    return [r for r in forward if r["robot"] in names and r.get("loop")]


def write_readme(rows: list[dict[str, Any]]) -> None:
    """Put the tables between their marks, and draw the pictures."""
    docs = ROOT / "docs"
    put(ROOT / "README.md", summary(rows, "docs/benchmarks.md"))
    put(docs / "index.md", summary(rows, "benchmarks.md"))
    table = f"{markdown(rows)}\n\n{others(rows)}\n\n{caption()}"
    put(docs / "benchmarks.md", table)
    about = machine()
    where = f"one core of an {about['cpu']}, float64, {about['date']}"
    for name, ink in (("speed", "#333333"), ("speed_dark", "#dddddd")):
        plot(shown(rows), where, ink, docs / "images" / f"{name}.png")


def put(path: Path, table: str) -> None:
    """Write a table between its marks in a page."""
    before, rest = path.read_text(encoding="utf-8").split(MARKS[0], 1)
    after = rest.split(MARKS[1], 1)[1]
    block = f"{MARKS[0]}\n\n{table}\n\n{MARKS[1]}"
    path.write_text(before + block + after, encoding="utf-8")


def plot(rows: list[dict[str, Any]], where: str, ink: str, path: Path) -> None:
    """Draw the times of forward dynamics, legible on a telephone and in the dark."""
    import matplotlib as mpl  # noqa: PLC0415  for pictures alone

    mpl.use("Agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415

    series = {
        "Pinocchio, in a loop": ("loop", "#9aa5ad"),
        "MuJoCo, one call": ("mujoco", "#c9b458"),
        "Ramidyn, one call": ("call", "#6aaede"),
        "Ramidyn, batch of 4,096": ("state", "#2f7fbf"),
    }
    inked = ("text.color", "axes.labelcolor", "axes.edgecolor")
    mpl.rcParams.update(dict.fromkeys((*inked, "xtick.color", "ytick.color"), ink))
    figure, axes = plt.subplots(figsize=(6, 5.6), layout="constrained")
    for k, (label, (key, color)) in enumerate(series.items()):
        y = [i + 0.2 * (k - 1.5) for i in range(len(rows))]
        times = [1e6 * r[key] if r.get(key) else 0 for r in rows]
        bars = axes.barh(y, times, 0.19, label=label, color=color)
        axes.bar_label(bars, [f" {t:.2g}" if t else "" for t in times], fontsize=10)
    axes.set_yticks(range(len(rows)), [f"{r['robot']}\n{r['nv']} DoF" for r in rows])
    axes.invert_yaxis()
    axes.tick_params(labelsize=11)
    axes.set_title("Forward dynamics, µs per state: lower is better", fontsize=13)
    axes.set_xlabel(where, fontsize=9)
    axes.legend(frameon=False, fontsize=11, loc="upper right")
    axes.spines[["top", "right"]].set_visible(False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110, transparent=True)
    plt.close(figure)


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--robots", help="only these, by name")
    parser.add_argument("--readme", action="store_true", help="renew README's table")
    args = parser.parse_args()
    wanted = args.robots.split(",") if args.robots else None
    seconds, batch = (0.02, 256) if args.quick else (0.4, BATCH)
    rows: list[dict[str, Any]] = []
    for name, source in sources(wanted).items():
        found = measured(name, source, seconds, batch)
        if not args.quick:  # a second time: other programs may disturb the first
            again = measured(name, source, seconds, batch)
            found = [shorter(a, b) for a, b in zip(found, again, strict=True)]
        rows += found
        if not args.json:
            print(markdown(found).split("\n", 2)[2], flush=True)
    report({"rows": rows, "batch": batch}, args.json, "pin", "mujoco")
    if not args.json:
        print(others(rows))
        for r in rows:
            big, one = ratios(r)
            short = r["nv"] >= 30 and big < BATCH_PROMISE[r["quantity"]]
            if short or one < CALL_PROMISE[r["quantity"]]:
                words = f"{r['robot']}, {WORDS[r['quantity']]}"
                print(
                    f"below the promise: {words}: batch {big:.1f} x, call {one:.1f} x"
                )
    if args.readme:
        write_readme(rows)


if __name__ == "__main__":
    main()
