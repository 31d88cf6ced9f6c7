"""Closed loops: counts against the paper's, and times against dense and sparse solvers.

    python benchmarks/loops.py [--quick] [--json] [--counts | --closing]

The augmented system [M Jᵀ; J 0] of the paper's vehicle (hmmwv), of cassie (if its file
is there) and of a delta robot with six rods, for one state and for batches:

    gesv     Gauss, LAPACK                     sysv    symmetric indefinite, LAPACK
    superlu  sparse, SciPy                     alg_d   the paper's steps, dense LAPACK
    alg_s    the paper's steps, compiled       loops   loop by loop, compiled

All get M, J, Q and γ as arrays in their own layout (dense, compressed columns, or the
nonzeros); where rows are redundant (cassie) the others get only the independent ones.
Our outputs are allocated beforehand. In a batch the others are a loop in Python that
keeps the solutions, or numpy's solve.
`whole` is q̈ from q, q̇ and τ, beside Pinocchio's constraintDynamics. `--counts` prints
only the table of operations. `--closing` times only `assemble` and `project` of random
states near closed ones: in a batch, and the same states one by one. A state of hmmwv on
which Newton's method wanders about for 20 steps ends elsewhere with any other rounding.
"""

from __future__ import annotations

import os
import sys
import warnings
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # threads only slow such sizes down

import numpy as np
import scipy.sparse
import scipy.sparse.linalg
from machine import best, best_call, options, report
from scipy.linalg import lapack

import ramidyn
from ramidyn.algorithms.block_cholesky import block_cholesky, blocks_of
from ramidyn.algorithms.loops.counting import joint_formulation_counts, loopwise_counts
from ramidyn.algorithms.loops.cuts import cuts_of
from ramidyn.algorithms.ltdl import ltdl, ltl
from ramidyn.catalog import paper_robots as robots
from ramidyn.compiler import compile
from ramidyn.loading import load
from ramidyn.mechanism.constraints import rank as constraint_rank
from ramidyn.mechanism.mobility import partition_of
from ramidyn.mechanism.projection import project
from ramidyn.quantities import closed_loops, dynamics, mass_matrix
from ramidyn.quantities.closed_loops import resolve_solver, solver_of, system_of
from ramidyn.quantities.dynamics import forward_dynamics
from ramidyn.robot import Robot
from ramidyn.tracing.chooser import trace_with_context
from ramidyn.tracing.context import Context
from ramidyn.tree.tree import ancestors

SHARED = Path(__file__).resolve().parents[2] / "shared" / "robots"
PROMISES = {"one": 5.0, "batch": 20.0, "pinocchio_one": 4.0, "pinocchio_batch": 20.0}

PAPER = {
    "Gauss": (27391, 27391, 946, 0),
    "Alg-S": (3871, 4258, 513, 43),
    "Alg-D": (15914, 16410, 989, 43),
}
"""A, M, D, SQ of the paper's tables 1 to 3"""
OVER_GAUSS = {
    "gesv": ("Gauss", 2336),
    "sysv": ("Symmetric", 2022),
    "superlu": ("Harwell", 3532),
    "alg_d": ("Alg-D", 1179),
    "alg_s": ("Alg-S", 1201),
}
"""what each solver was in the paper, and its µs in Table 4"""


def delta() -> str:
    """Return a delta robot as URDF: three arms, six rods, a platform; 18 loop rows."""
    links, joints, cuts = ['<link name="base"/>'], [], []

    def link(
        name: str, mass: float, at: str, moments: tuple[float, float, float]
    ) -> str:
        x, y, z = moments
        return (
            f'<link name="{name}"><inertial><mass value="{mass}"/><origin xyz="{at}"/>'
            f'<inertia ixx="{x}" iyy="{y}" izz="{z}" ixy="0" ixz="0" iyz="0"/>'
            "</inertial></link>"
        )

    def joint(
        name: str, kind: str, parent: str, child: str, origin: str, axis: str
    ) -> str:
        limit = '<limit lower="-3" upper="3" effort="0" velocity="0"/>'
        limit = limit if kind == "revolute" else ""
        return (
            f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child '
            f'link="{child}"/><origin {origin}/><axis xyz="{axis}"/>{limit}</joint>'
        )

    links.append(link("platform", 0.5, "0 0 0", (5e-4, 5e-4, 1e-3)))
    joints.append(
        joint("platform", "floating", "base", "platform", 'xyz="0 0 -0.4"', "1 0 0")
    )
    reach = 0.2 + 0.2 - 0.05  # from the platform's edge to the elbow, outwards
    pitch = float(np.arctan2(0.4, -reach))
    for k in range(3):
        yaw = 2 * np.pi * k / 3
        c, s = np.cos(yaw), np.sin(yaw)
        links.append(link(f"arm{k}", 0.3, "0.1 0 0", (1e-4, 1e-3, 1e-3)))
        at = f'xyz="{0.2 * c:.9f} {0.2 * s:.9f} 0" rpy="0 0 {yaw:.12f}"'
        joints.append(joint(f"shoulder{k}", "revolute", "base", f"arm{k}", at, "0 1 0"))
        for side, y in (("l", 0.03), ("r", -0.03)):
            rod, cross = f"rod{k}{side}", f"cross{k}{side}"
            length = float(np.hypot(0.4, reach))
            links.append(link(cross, 0.01, "0 0 0", (1e-6, 1e-6, 1e-6)))
            links.append(link(rod, 0.1, f"{length / 2} 0 0", (1e-5, 2e-3, 2e-3)))
            at = f'xyz="0.2 {y} 0" rpy="0 {pitch:.12f} 0"'
            joints.append(
                joint(f"{cross}_y", "revolute", f"arm{k}", cross, at, "0 1 0")
            )
            joints.append(
                joint(f"{rod}_z", "revolute", cross, rod, 'xyz="0 0 0"', "0 0 1")
            )
            x, z = 0.05 * c - y * s, 0.05 * s + y * c
            cuts.append(
                f'<loop name="ball{k}{side}" type="spherical"><body_a link="{rod}" '
                f'xyz="{length} 0 0"/><body_b link="platform" xyz="{x} {z} 0"/></loop>'
            )
    return f'<robot name="delta">{"".join(links + joints + cuts)}</robot>'


def mechanisms() -> dict[str, Robot]:
    found: dict[str, Any] = {"hmmwv": robots.hmmwv("general")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = SHARED / "cassie" / "cassie.xml"
        if path.exists():
            found["cassie"] = load(path)
        found["delta"] = load(delta())
    return {
        n: r if isinstance(r, Robot) else Robot.from_description(r)
        for n, r in found.items()
    }


# ------------------------------------------------------------ counts


def count_table() -> dict[str, tuple[int, int, int, int]]:
    robot = mechanisms()["hmmwv"]
    tree, columns = robot.tree, []
    for cut in cuts_of(robot.model):
        on_path = set(tree.support(cut.a)) ^ set(tree.support(cut.b))
        row = sorted(k for i in on_path for k in tree.dofs[i])
        columns += [row] * len(cut.rows)
    steps = joint_formulation_counts(tree.dof_parents, columns)
    rows = {f"ours, step {n}": ops for n, ops in steps.items() if n != "Total"}
    rows["ours, Alg-S steps 1-4"] = steps["Total"]
    rows["ours, loop by loop"] = loopwise_counts(tree.dof_parents, columns)
    ours = {n: (x.add, x.mul, x.div, x.sqrt) for n, x in rows.items()}
    return {**{f"paper, {n}": x for n, x in PAPER.items()}, **ours}


# ------------------------------------------------------------ times


def solver_kernel(robot: Robot, algorithm: str) -> tuple[ramidyn.Function, Any]:
    """Return (M, J, Q, gamma) -> (q̈, λ), compiled, and what packs the nonzeros."""
    model, conventions = robot.placed_model, robot.conventions
    chosen, mu, rank = resolve_solver(model, conventions, algorithm, None)
    found: list[closed_loops.System] = []

    def pattern_of(context: Context) -> Any:
        found.append(system_of(context, chosen, with_velocities=False))
        return context.inputs["q"]

    trace_with_context(pattern_of, model, conventions, {"q": robot.nq})
    (pattern,) = found
    order, kept = pattern.order, pattern.kept
    at_M = [(order[i], order[j]) for i, j in pattern.M]
    at_J = [(r, order[k]) for r, row in zip(kept, pattern.J, strict=True) for k in row]

    def traced(M: Any, J: Any, Q: Any, gamma: Any) -> dict[str, Any]:
        entries, left = dict(zip(pattern.M, M, strict=True)), iter(J)
        rows = [{k: next(left) for k in row} for row in pattern.J]
        system = closed_loops.System(
            entries, pattern.parents, order, rows, [], [], kept
        )
        solve = solver_of(system, chosen, mu, rank.scales)
        b = {k: Q[v] for k, v in enumerate(order)}
        x, multipliers = solve(b, [gamma[r] for r in kept])
        out = [x[order.index(v)] for v in range(len(order))]
        return {"qdd": out, "multipliers": multipliers}

    def pack(M: Any, J: Any, Q: Any, gamma: Any) -> list[Any]:
        packed = (M[tuple(zip(*at_M, strict=True))], J[tuple(zip(*at_J, strict=True))])
        return [*packed, Q, gamma]

    shapes = {"M": len(at_M), "J": len(at_J), "Q": robot.nv, "gamma": rank.rows}
    name = f"{algorithm} of {robot.name}"
    return ramidyn.kernel(traced, shapes, name=name), pack


def others(M: Any, J: Any, Q: Any, gamma: Any) -> dict[str, Any]:
    """Return the solvers of one system by what others have."""
    n, m = J.shape[1], J.shape[0]
    A = np.asfortranarray(np.block([[M, J.T], [J, np.zeros((m, m))]]))
    b = np.concatenate([Q, -gamma])
    sparse = scipy.sparse.csc_matrix(A)
    Mf, Jt = np.asfortranarray(M), np.asfortranarray(J.T)

    def alg_d() -> Any:
        L, _ = lapack.dpotrf(Mf, lower=1)
        z, _ = lapack.dtrtrs(L, Q, lower=1)
        T, _ = lapack.dtrtrs(L, Jt, lower=1)
        _, x, _ = lapack.dposv(T.T @ T, -gamma - T.T @ z, lower=1)
        qdd, _ = lapack.dtrtrs(L, z + T @ x, lower=1, trans=1)
        return qdd

    return {
        "gesv": lambda: lapack.dgesv(A, b)[2][:n],
        "sysv": lambda: lapack.dsysv(A, b)[2][:n],
        "superlu": lambda: scipy.sparse.linalg.splu(sparse).solve(b)[:n],
        "alg_d": alg_d,
    }


def times(name: str, robot: Robot, batch: int, seconds: float) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    q0 = constraint_rank.rank_of(robot.placed_model, robot.conventions).q
    q, qd = project(robot, q0, rng.normal(size=robot.nv))
    tau = rng.normal(size=robot.nv)
    terms = [mass_matrix.mass_matrix, dynamics.bias_forces]
    terms += [closed_loops.constraint_jacobian, closed_loops.constraint_bias]
    M, h, J, gamma = (np.ascontiguousarray(x) for x in compile(terms, robot)(q, qd))
    Q = tau - h
    kept = [r for r in range(len(J)) if r not in partition_of(J).redundant]
    result: dict[str, Any] = {"one_us": {}, "batch_us": {}}
    expected = None
    for label, solve in others(M, J[kept], Q, gamma[kept]).items():
        x = solve()
        expected = x if expected is None else expected
        np.testing.assert_allclose(x, expected, atol=1e-7 * np.abs(expected).max())
        result["one_us"][label] = 1e6 * best_call(solve, seconds, 20)
    A = np.block([[M, J[kept].T], [J[kept], np.zeros((len(kept), len(kept)))]])
    As, bs = np.tile(A, (batch, 1, 1)), np.tile(np.append(Q, -gamma[kept]), (batch, 1))
    for label, solver in (("gesv", lapack.dgesv), ("sysv", lapack.dsysv)):
        took = best(partial(keep, solver, As, bs, np.empty_like(bs)), seconds)
        result["batch_us"][label] = 1e6 * took / batch
    numpys = best(partial(np.linalg.solve, As, bs[..., None]), seconds)
    in_batch = result["batch_us"]
    in_batch["gesv"] = min(in_batch["gesv"], 1e6 * numpys / batch)
    for label, algorithm in (("alg_s", "joint_formulation"), ("loops", "loopwise")):
        f, pack = solver_kernel(robot, algorithm)
        given = pack(M, J, Q, gamma)
        many = [np.tile(x, (batch, 1)) for x in given]
        out = tuple(f(*given))
        np.testing.assert_allclose(out[0], expected, atol=1e-7 * np.abs(expected).max())
        result["one_us"][label] = 1e6 * best_call(partial(f, *given, out=out), seconds)
        outs = tuple(f(*many))
        took = best(partial(f, *many, out=outs), seconds)
        result["batch_us"][label] = 1e6 * took / batch
    fastest = min(v for k, v in result["one_us"].items() if k not in ("alg_s", "loops"))
    result["one_ratio"] = fastest / min(result["one_us"][k] for k in ("alg_s", "loops"))
    ours = min(in_batch[k] for k in ("alg_s", "loops"))
    result["batch_ratio"] = min(in_batch["gesv"], in_batch["sysv"]) / ours
    forming = 1e6 * best_call(partial(compile(terms, robot), q, qd), seconds)
    result["whole"] = whole(name, robot, (q, qd, tau), batch, seconds)
    result["whole"]["others_us"] = fastest + forming
    return result


def keep(solver: Any, As: Any, bs: Any, out: Any) -> None:
    """Solve one system after the other in Python, and keep the solutions."""
    for k, (A, b) in enumerate(zip(As, bs, strict=True)):
        out[k] = solver(A.T, b)[2]  # symmetric: in LAPACK's order without a copy


def whole(
    name: str, robot: Robot, state: tuple[Any, Any, Any], batch: int, seconds: float
) -> dict[str, float]:
    """Return µs of q̈ from the state: ours, and Pinocchio's where it has the loops."""
    f = robot.forward_dynamics
    out = f(*state)
    many = [np.tile(x, (batch, 1)) for x in state]
    outs = f(*many)
    result = {
        "operations": f.ops.total,
        "one_us": 1e6 * best_call(partial(f, *state, out=out), seconds),
        "batch_us": 1e6 * best(partial(f, *many, out=outs), seconds) / batch,
    }
    theirs = pinocchio(name, robot, state)
    if theirs is not None:
        qdd = theirs()
        error = np.abs(np.sort(qdd) - np.sort(out)).max() / np.abs(out).max()
        result["pinocchio_us"] = 1e6 * best_call(theirs, seconds, 20)
        result["pinocchio_difference"] = float(error)
    return result


def pinocchio(name: str, robot: Robot, state: tuple[Any, Any, Any]) -> Any:
    """Return Pinocchio's constraintDynamics of the same robot and state."""
    try:
        import pinocchio as pin  # noqa: PLC0415  absent on some machines
    except ImportError:
        return None
    if name == "hmmwv":  # Pinocchio has no rods
        return None
    if name == "delta":
        model = pin.buildModelFromXML(delta())
    else:
        model = pin.buildModelFromMJCF(str(SHARED / "cassie" / "cassie.xml"))
    cuts = pin.StdVec_RigidConstraintModel()
    for loop in robot.model.loops:
        ends = []
        for body, T in (
            (loop.body_a, loop.placement_a),
            (loop.body_b, loop.placement_b),
        ):
            frame = model.frames[model.getFrameId(body, pin.BODY)]
            ends += [frame.parentJoint, frame.placement * pin.SE3(T.R, T.p)]
        kind = pin.ContactType.CONTACT_3D
        cuts.append(pin.RigidConstraintModel(kind, model, *ends, pin.LOCAL))
    data, cut_data = model.createData(), pin.StdVec_RigidConstraintData()
    for cut in cuts:
        cut_data.append(cut.createData())
    pin.initConstraintDynamics(model, data, cuts, cut_data)
    settings = pin.ProximalSettings(1e-12, 1e-10, 10)
    q, qd, tau = (_in_order(model, robot, x, k) for k, x in enumerate(state))
    run = pin.constraintDynamics
    return partial(run, model, data, q, qd, tau, cuts, cut_data, settings)


def _in_order(model: Any, robot: Robot, x: Any, k: int) -> Any:
    """Return q (k = 0), qd or tau in Pinocchio's order of joints."""
    out = np.zeros(model.nq if k == 0 else model.nv)
    for joint in robot.model.joints:
        j = model.getJointId(joint.name) if model.existJointName(joint.name) else 1
        if k == 0:
            at, own = model.idx_qs[j], slice(joint.q_index, joint.q_index + joint.nq)
        else:
            at, own = model.idx_vs[j], slice(joint.v_index, joint.v_index + joint.nv)
        out[at : at + own.stop - own.start] = x[own]
    return out


def factors(batch: int, seconds: float) -> dict[str, dict[str, float]]:
    """Return what step 1 takes as block Cholesky, and by the scalar factorizations."""
    robot = ramidyn.robots.hmmwv("general")
    tree = robot.tree
    parents = tree.dof_parents
    pairs = [(k, i) for k in range(robot.nv) for i in (k, *ancestors(parents, k))]

    def block(M: Any) -> list[Any]:
        blocks = blocks_of(M, tree.dofs, tree.parents)
        found = block_cholesky(blocks, tree.parents).values()
        return [e for b in found for row in b for e in row]

    def scalar(M: Any) -> list[Any]:
        L, D = ltdl(M, parents)
        return [*L.values(), *D.values()]

    forms = {
        "block Cholesky": block,
        "LTL, scalar": lambda M: list(ltl(M, parents).values()),
        "LTDL, scalar": scalar,
    }
    q = robot.random_configuration(np.random.default_rng(0))
    dense = robot.mass_matrix(q)
    given = np.array([dense[i, j] for i, j in pairs])
    found: dict[str, dict[str, float]] = {}
    for name, form in forms.items():

        def traced(m: Any, form: Any = form) -> Any:
            entries = form(dict(zip(pairs, m, strict=True)))
            return np.array(entries, dtype=object)

        f = ramidyn.kernel(traced, {"m": len(pairs)}, name=name)
        many = np.tile(given, (batch, 1))
        found[name] = {
            "operations": f.ops.total,
            "one_us": 1e6 * best_call(partial(f, given, out=f(given)), seconds),
            "batch_us": 1e6 * best(partial(f, many, out=f(many)), seconds) / batch,
        }
    return found


def branches(seconds: float) -> dict[str, float]:
    """Return what threads give to one state and to a batch (Corollary 3).

    The factorization of one state takes microseconds, a thread as long to wake; lanes
    and threads over a batch use the same hardware at full load.
    """
    robot = mechanisms()["hmmwv"]
    q = np.tile(robot.neutral(), (4096, 1))
    qd = np.zeros((4096, robot.nv))
    found: dict[str, float] = {}
    for threads in (1, 2):
        f = compile(forward_dynamics, robot, threads=threads)
        out = f(q, qd, qd)
        took = best(partial(f, q, qd, qd, out=out), seconds)
        found[f"batch_threads_{threads}_us"] = 1e6 * took / len(q)
        one = out[0].copy()
        took = best_call(partial(f, q[0], qd[0], qd[0], out=one), seconds)
        found[f"one_threads_{threads}_us"] = 1e6 * took
    return found


def closing(robot: Robot, batch: int, seconds: float) -> dict[str, dict[str, float]]:
    """Return µs a state of `assemble` and `project`, and how far both ways differ."""
    rng = np.random.default_rng(0)
    start = np.tile(robot.assemble(), (batch, 1))
    q = robot.integrate(start, rng.normal(scale=0.05, size=(batch, robot.nv)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # states that project cannot close are left out
        q = q[~np.isnan(robot.project(q)).any(axis=1)]
    batch = len(q)
    qd = rng.normal(size=(batch, robot.nv))
    residual = compile(closed_loops.constraint_residual, robot)
    cases: dict[str, tuple[Any, tuple[Any, ...]]] = {
        "assemble(q)": (robot.assemble, (q,)),
        "project(q)": (robot.project, (q,)),
        "project(q, qd)": (robot.project, (q, qd)),
    }
    found: dict[str, dict[str, float]] = {}
    for name, (close, given) in cases.items():
        one = partial(_one_by_one, close, given)
        apart, together = one(), close(*given)
        pairs = [(apart, together)]
        if len(given) > 1:
            pairs = list(zip(zip(*apart, strict=True), together, strict=True))
        gaps = [float(np.abs(residual(np.array(x))).max()) for x in pairs[0]]
        one_us = 1e6 * best(one, seconds) / batch
        batch_us = 1e6 * best(partial(close, *given), seconds) / batch
        found[name] = {
            "states": batch,
            "one_us": one_us,
            "batch_us": batch_us,
            "ratio": one_us / batch_us,
            "difference": max(float(np.abs(np.array(x) - y).max()) for x, y in pairs),
            "one_gap": gaps[0],
            "batch_gap": gaps[1],
        }
    return found


def _one_by_one(close: Any, given: tuple[Any, ...]) -> list[Any]:
    return [close(*state) for state in zip(*given, strict=True)]


def show_closing(batch: int, seconds: float, as_json: bool) -> None:
    """Print what closing loops takes."""
    result = {n: closing(r, batch, seconds) for n, r in mechanisms().items()}
    load_average = os.getloadavg()[0]
    report({"load": load_average, **result}, as_json)
    if as_json:
        return
    print(f"closing loops, µs a state; load {load_average:.1f}")
    for name, cases in result.items():
        for case, r in cases.items():
            print(f"  {name:8} {case:15} {r['states']:,} states: ", end="")
            print(f"one by one {r['one_us']:8.1f}, ", end="")
            print(f"batch {r['batch_us']:7.2f}: {r['ratio']:5.0f} x; ", end="")
            print(f"largest |Φ| {r['one_gap']:.1e}, {r['batch_gap']:.1e}; ", end="")
            print(f"they differ by {r['difference']:.0e}")


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--counts", action="store_true", help="the counts only")
    parser.add_argument("--closing", action="store_true", help="only closing loops")
    args = parser.parse_args()
    seconds, batch = (0.2, 512) if args.quick else (2.0, 1024)
    if args.closing:
        show_closing(256 if args.quick else 4096, seconds, args.json)
        return
    result: dict[str, Any] = {"counts": count_table()}
    if not args.counts:
        for name, robot in mechanisms().items():
            result[name] = times(name, robot, batch, seconds)
        result["branches"] = branches(seconds)
        result["step 1"] = factors(batch, seconds)
    report(result, args.json, "scipy", "pin")
    if args.json:
        return
    print(
        f"\n{'hmmwv, operations of one solution':36}{'A':>7}{'M':>7}{'D':>6}{'SQ':>5}"
    )
    for name, row in result["counts"].items():
        print(f"{name:36}{row[0]:7}{row[1]:7}{row[2]:6}{row[3]:5}")
    for name in mechanisms() if not args.counts else ():
        r = result[name]
        print(f"\n{name}: the augmented system, µs")
        for label, t in r["one_us"].items():
            many = r["batch_us"].get(label)
            line = f"  {label:8} one {t:8.2f}" + (
                f"   batch {many:8.3f}" if many else ""
            )
            if name == "hmmwv" and label in OVER_GAUSS:
                paper, printed = OVER_GAUSS[label]
                line = f"{line:42}{t / r['one_us']['gesv']:6.2f} of gesv; in Table 4 "
                line += f"{paper} {printed / OVER_GAUSS['gesv'][1]:.2f} of Gauss"
            print(line)
        print(
            f"  ours: {r['one_ratio']:.1f} x the fastest other, one state (promise: 5)"
        )
        print(f"        {r['batch_ratio']:.1f} x in batch (promise: 20)")
        w = r["whole"]
        print(f"  whole: {w['one_us']:.2f} one, {w['batch_us']:.3f} batch, ", end="")
        print(
            f"{w['operations']:,} operations; the fastest other, with M and J formed "
        )
        print(f"         by our kernel: {w['others_us']:.2f}, ", end="")
        print(f"{w['others_us'] / w['one_us']:.1f} x, ", end="")
        print(f"{w['others_us'] / w['batch_us']:.1f} x", end="")
        if "pinocchio_us" in w:
            print(f"; Pinocchio {w['pinocchio_us']:.1f}: ", end="")
            print(f"{w['pinocchio_us'] / w['one_us']:.1f} x, ", end="")
            print(f"{w['pinocchio_us'] / w['batch_us']:.1f} x", end="")
            print(f" (q̈ differs by {w['pinocchio_difference']:.0e})", end="")
        print()
    if not args.counts:
        print("\nhmmwv, step 1, every entry of M given, compiled:")
        for name, r in result["step 1"].items():
            print(f"  {name:16} {r['operations']:5} operations, ", end="")
            print(f"one {r['one_us']:.2f} µs, batch {r['batch_us']:.3f} µs a matrix")
        b = result["branches"]
        print("\nindependent branches (Corollary 3), hmmwv, whole q̈, µs a state:")
        for kind in ("one", "batch"):
            x, y = b[f"{kind}_threads_1_us"], b[f"{kind}_threads_2_us"]
            print(f"  {kind}: 1 thread {x:.3f}, 2 threads {y:.3f}")
        print("  one state is straight-line code of a few µs: threads give it nothing")
        print("  (see branches.py for one huge tree);")
        print(
            "  the lanes of a batch already fill the vector units, threads add cores."
        )


if __name__ == "__main__":
    sys.exit(main())
