"""Λ⁻¹ of several ends: counts, their growth, and speed against Pinocchio.

    python benchmarks/operational.py [--quick] [--json] [--plot FOLDER] [--only speed]

Counts: ASIMO in the cases of Wensing, Featherstone & Orin 2012, Fig. 6, and growth with
depth, bodies and ends. Growth is shown on a hand: a trunk of revolute joints that ends
in fingers of two joints, every fingertip an end with six rows. What one more trunk
joint costs tells the orders apart: it does not depend on the ends for PV-OSIMr, O(n +
m²); it grows with them for EFPA, O(n + md + m²), and with their square for PV-OSIM and
SFA; for SFA with the depth as well. RJK's m² d is between a pair of ends, not above
them: it shows where the fingers themselves grow, one more joint in every one of m.

Speed: the same numbers (compared first, 1e-9 of the largest) by Pinocchio's own ways:
computeMinverse and then J M⁻¹ Jᵀ, computeDelassusMatrix, and the Cholesky
decomposition of contacts. One state from Python, and a state of a batch of 4,096,
against the fastest of them; our outputs are allocated beforehand. The promises: a batch
at least 20 x, one call at least 4 x.
"""

from __future__ import annotations

import itertools
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from machine import best, best_call, options, report
from robots import sources

import ramidyn
from ramidyn.algorithms.operational.tasks import Task
from ramidyn.cli.peers.urdf import urdf
from ramidyn.compiler import program_of
from ramidyn.control import OperationalSpace
from ramidyn.quantities.operational import operational_inertia_inverse
from ramidyn.quantities.operational_inertia import ALGORITHMS
from ramidyn.robot import Robot
from ramidyn.symbolic.count import count

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from support.asimo import CASES, PRINTED, as_robot, counted, table
from support.hands import hand

BATCH, AGREEMENT = 4096, 1e-9
BATCH_PROMISE, CALL_PROMISE = 20, 4
LOOP = ", in a loop that keeps the results"
DEPTHS, ENDS, BODIES = (4, 8, 16, 32), (1, 2, 4, 8), (0, 8, 16, 32)
FINGERS = (2, 4, 6, 8)


# ------------------------------------------------------------ tasks


def tips(fingers: int) -> tuple[Task, ...]:
    return tuple(Task(f"tip{f}", "pose", "local") for f in range(fingers))


# ------------------------------------------------------------ counts


def operations(robot: Robot, tasks: tuple[Task, ...]) -> dict[str, int]:
    """Return the operations of each algorithm, as traced."""
    return {
        a: count(program_of(operational_inertia_inverse(tasks, a), robot)).total
        for a in ALGORITHMS
    }


def growth(quick: bool) -> dict[str, dict[int, dict[str, int]]]:
    """Return operations against depth, length of fingers, ends and bodies."""
    sizes = (DEPTHS, FINGERS, ENDS, BODIES)
    depths, lengths, ends, bodies = (x[:3] if quick else x for x in sizes)
    of = lambda *a: operations(as_robot(hand(*a)), tips(a[1]))  # noqa: E731
    return {
        "trunk joints, 4 ends": {d: of(d, 4) for d in depths},
        "trunk joints, 8 ends": {d: of(d, 8) for d in depths},
        "joints in every finger, 4 ends": {k: of(4, 4, 0, k) for k in lengths},
        "joints in every finger, 8 ends": {k: of(4, 8, 0, k) for k in lengths},
        "ends, 8 trunk joints": {m: of(8, m) for m in ends},
        "idle bodies, 2 ends": {n: of(8, 2, n) for n in bodies},
    }


def steps(series: dict[int, dict[str, int]], algorithm: str) -> list[float]:
    """Return what one more costs, between the sizes."""
    sizes = list(series)
    return [
        (series[b][algorithm] - series[a][algorithm]) / (b - a)
        for a, b in itertools.pairwise(sizes)
    ]


def show_growth(found: dict[str, dict[int, dict[str, int]]]) -> None:
    for name, series in found.items():
        sizes = list(series)
        spans = [f"{a} to {b}" for a, b in itertools.pairwise(sizes)]
        print(f"\none more of: {name}; operations between {', '.join(spans)}")
        for a in ALGORITHMS:
            print(f"  {a:<14}" + "".join(f"{x:>10,.0f}" for x in steps(series, a)))


def plot(found: dict[str, dict[int, dict[str, int]]], folder: str) -> Path:
    import matplotlib as mpl  # noqa: PLC0415  a picture is an extra

    mpl.use("Agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415  after the choice of backend

    figure, axes = plt.subplots(2, 3, figsize=(13, 7.5), layout="constrained")
    for axis, (name, series) in zip(axes.T.flat, found.items(), strict=True):
        for a in ALGORITHMS:
            values = [series[n][a] for n in series]
            axis.plot(list(series), values, "o-", label=a, lw=1.5, ms=4)
        axis.set(xlabel=name, ylim=(0, None), xticks=list(series))
        axis.yaxis.set_major_formatter("{x:,.0f}")
        axis.grid(alpha=0.3)
    for axis in axes[:, 0]:
        axis.set_ylabel("operations")
    lines = axes[0, 0].get_legend_handles_labels()
    figure.legend(*lines, loc="outside upper center", ncols=len(ALGORITHMS))
    path = Path(folder) / "operational_growth.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    plt.savefig(path, dpi=100)
    return path


# ------------------------------------------------------------ speed


def pinocchio_ways(
    model: Any, frames: list[str]
) -> dict[str, Callable[[np.ndarray], np.ndarray]]:
    """Return Pinocchio's ways to Λ⁻¹ of some frames, in their own coordinates."""
    import pinocchio as pin  # noqa: PLC0415  counts need no Pinocchio

    data = model.createData()
    ids = [model.getFrameId(f) for f in frames]
    J = np.zeros((6 * len(ids), model.nv))
    contacts, contact_data = (
        pin.StdVec_RigidConstraintModel(),
        pin.StdVec_RigidConstraintData(),
    )
    for k in ids:
        f = model.frames[k]
        kind = pin.ContactType.CONTACT_6D
        contacts.append(
            pin.RigidConstraintModel(kind, model, f.parentJoint, f.placement, pin.LOCAL)
        )
        contact_data.append(contacts[-1].createData())
    cholesky = pin.ContactCholeskyDecomposition(model, data, contacts, contact_data)

    def by_minverse(q: np.ndarray) -> np.ndarray:
        Minv = pin.computeMinverse(model, data, q)
        pin.computeJointJacobians(model, data, q)
        for k, i in enumerate(ids):
            J[6 * k : 6 * k + 6] = pin.getFrameJacobian(model, data, i, pin.LOCAL)
        return J @ (np.triu(Minv) + np.triu(Minv, 1).T) @ J.T

    def by_delassus(q: np.ndarray) -> np.ndarray:
        return pin.computeDelassusMatrix(model, data, q, contacts, contact_data, 0.0)

    def by_cholesky(q: np.ndarray) -> np.ndarray:
        pin.crba(model, data, q, pin.Convention.WORLD)
        for contact, values in zip(contacts, contact_data, strict=True):
            contact.calc(model, data, values)
        cholesky.compute(model, data, contacts, contact_data, 0.0)
        return cholesky.getInverseOperationalSpaceInertiaMatrix()

    return {
        "Minv, J Minv J'": by_minverse,
        "computeDelassusMatrix": by_delassus,
        "contact Cholesky": by_cholesky,
    }


def cases() -> dict[str, tuple[Robot, Any, list[str]]]:
    """Return robots, here and in Pinocchio, and their ends."""
    import pinocchio as pin  # noqa: PLC0415  counts need no Pinocchio

    found: dict[str, tuple[Robot, Any, list[str]]] = {}
    five = hand(2, 5, joints=4)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "hand.urdf"
        path.write_text(urdf(five), encoding="utf-8")
        model = pin.buildModelFromUrdf(str(path))
    ours = Robot.from_description(five, joint_order="alphabetical")
    found["hand, five fingertips"] = ours, model, [f"finger{k}_3" for k in range(5)]
    if source := sources(["talos"]).get("talos"):
        robot = source.load(joint_order="alphabetical")
        model = pin.buildModelFromUrdf(str(source.path), pin.JointModelFreeFlyer())
        ends = [f"{n}_link" for n in ("arm_left_7", "arm_right_7")]
        ends += [f"{side}_sole_link" for side in ("left", "right")]
        found["talos, hands and feet"] = robot, model, ends
    return found


def speed(quick: bool, seconds: float) -> list[dict[str, Any]]:
    rows = []
    for name, (robot, model, frames) in cases().items():
        tasks = [Task(f, "pose", "local") for f in frames]
        ours = ramidyn.compile(operational_inertia_inverse(tasks), robot)
        q = robot.random_configuration(0, batch=256 if quick else BATCH)
        out, one = ours(q), ours(q[0])
        row: dict[str, Any] = {
            "case": name,
            "dof": robot.nv,
            "operations": ours.ops.total,
            "state": best(partial(ours, q, out=out), seconds) / len(q),
            "call": best_call(partial(ours, q[0], out=one), seconds),
            "write": best(partial(out.fill, 0.0), seconds) / len(q),
        }
        for way, run in pinocchio_ways(model, frames).items():
            error = np.abs(run(q[0]) - one).max() / np.abs(one).max()
            if way == "contact Cholesky" and len(one) > robot.nv:
                continue  # it divides by zero: there are more rows than the rank
            assert error < AGREEMENT, (name, way, error)
            row[way] = best_call(partial(run, q[0]), seconds)
            row[way + LOOP] = best(partial(keep, run, q, out), seconds) / len(q)
        rows.append(row)
    return rows


def keep(run: Callable[[Any], Any], states: Any, out: Any) -> None:
    """Do what a batch is to a library that has none: a loop that keeps all results."""
    for k, state in enumerate(states):
        out[k] = run(state)


def controller(seconds: float) -> dict[str, float]:
    """Return the servo rate of the paper's robot: torques of both hands and posture."""
    robot = ramidyn.robots.chang_khatib24("plain")
    control = OperationalSpace(robot, ["left_hand", "right_hand"])
    rng = np.random.default_rng(0)
    q, qd, posture = rng.normal(size=(3, robot.nv))
    wanted, tau = rng.normal(size=12), np.empty(robot.nv)
    f = control.function
    time = best_call(partial(f, q, qd, wanted, posture, out=tau), seconds)
    return {"call": time, "rate": 1 / time, "operations": f.ops.total}


def show_speed(rows: list[dict[str, Any]]) -> None:
    for r in rows:
        ways = {w: t for w, t in r.items() if isinstance(t, float)}
        state, call, write = (ways.pop(k) for k in ("state", "call", "write"))
        print(f"\n{r['case']}: {r['dof']} DoF, {r['operations']:,} operations")
        for way, t in ways.items():
            print(f"  {1e6 * t:>8.2f} us  pinocchio: {way}")
        one = min(t for way, t in ways.items() if not way.endswith(LOOP))
        kept = min(t for way, t in ways.items() if way.endswith(LOOP))
        print(
            f"  {1e6 * call:>8.2f} us  one call: {one / call:.1f} x "
            f"(promise: {CALL_PROMISE})"
        )
        print(
            f"  {1e6 * state:>8.3f} us  in a batch: {kept / state:.0f} x their loop, "
            f"{one / state:.0f} x their call (promise: {BATCH_PROMISE}); "
            f"NumPy takes {1e6 * write:.3f} us to fill the array of results"
        )


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--plot", metavar="FOLDER", help="draw the growth there")
    parser.add_argument("--only", choices=("asimo", "growth", "speed"))
    args = parser.parse_args()
    seconds = 0.2 if args.quick else 2.0
    wanted = (args.only,) if args.only else ("asimo", "growth", "speed")
    result: dict[str, Any] = {}
    if "asimo" in wanted:
        few = list(CASES)[:1] if args.quick else list(CASES)
        counts = {name: counted(CASES[name]) for name in few}
        result["asimo"] = {
            name: {r.algorithm: r.total for r in c.rows} for name, c in counts.items()
        }
    if "growth" in wanted:
        result["growth"] = growth(args.quick)
        if args.plot:
            result["plot"] = str(plot(result["growth"], args.plot))
    if "speed" in wanted:
        result["speed"] = speed(args.quick, seconds)
        result["controller"] = controller(seconds)
    report(result, args.json, "pin")
    if args.json:
        return
    if "asimo" in wanted:
        print(
            "\nASIMO, Fig. 6 of Wensing, Featherstone & Orin 2012; printed there: "
            + ", ".join(f"{a} {x} ({c})" for (c, a), x in PRINTED.items())
        )
        print(table(counts))
    if "growth" in wanted:
        show_growth(result["growth"])
    if "speed" in wanted:
        show_speed(result["speed"])
        c = result["controller"]
        print(
            f"\ncontroller of chang_khatib24, both hands and posture: "
            f"{c['operations']:,} operations, {1e6 * c['call']:.1f} us a call, "
            f"{c['rate']:,.0f} Hz (300 Hz in the paper)"
        )


if __name__ == "__main__":
    main()
