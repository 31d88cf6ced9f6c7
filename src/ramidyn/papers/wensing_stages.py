"""Wensing, Featherstone & Orin (2012): Fig. 5 by stages, J̄, and the appendix."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ramidyn.algorithms.operational.propagators import InverseInertia
from ramidyn.algorithms.operational.sfa import sfa
from ramidyn.algorithms.operational.tasks import Task
from ramidyn.catalog import paper_robots as robots
from ramidyn.description.pose import Array
from ramidyn.papers.document import (
    Section,
    Table,
    comparison,
    cost,
    robot_of,
    verdict,
    word,
)
from ramidyn.papers.operation_counts import by_region, compiled_program
from ramidyn.quantities.mass_matrix import CRBA
from ramidyn.quantities.operational import (
    dynamically_consistent_inverse,
    operational_inertia_inverse,
)
from ramidyn.quantities.operational_inertia import jacobian_entries
from ramidyn.robot import Robot
from ramidyn.simplify.passes import simplify
from ramidyn.spatial import ArticulatedInertia, Motion, Transform
from ramidyn.spatial.transform import Shift, Turn
from ramidyn.symbolic.count import count
from ramidyn.symbolic.dense import inverse as dense_inverse
from ramidyn.symbolic.dense import ldl
from ramidyn.symbolic.expr import const
from ramidyn.symbolic.program import Program
from ramidyn.symbolic.trace import trace
from ramidyn.tracing.chooser import trace_with_context
from ramidyn.tracing.context import Context

NAME = "Wensing, Featherstone & Orin 2012"
HANDS_FEET = ("left_hand", "right_hand", "left_foot", "right_foot")
STAGES = {
    "transform": "transforms",
    "jacobian": "Jacobian",
    "composite inertia": "mass matrix",
    "mass matrix": "mass matrix",
    "factor": "its factor",
    "task row": "rows J L⁻¹",
    "articulated inertia": "articulated inertias",
    "force propagators": "inward: force propagators",
    "accelerations": "outward, and all blocks of Λ⁻¹",
    "mobility": "outward: diagonal blocks",
    "task inertia": "blocks of Λ⁻¹",
}


def inverse_program(robot: Robot, ends: Sequence[str], algorithm: str) -> Program:
    """Return the program of Λ⁻¹ of some ends."""
    tasks = [Task(f, "pose", "local") for f in ends]
    return compiled_program(operational_inertia_inverse(tasks, algorithm), robot)


def stages(robot: Robot, ends: Sequence[str], algorithm: str) -> dict[str, int]:
    """Return the operations of Λ⁻¹ by stage, of the program that is compiled."""
    found: Counter[str] = Counter()
    for name, n in by_region(inverse_program(robot, ends, algorithm)).items():
        found[STAGES[name.rpartition(" ")[0]]] += n
    return dict(found)


def sections() -> list[Section]:
    """Return Table I, Fig. 5 by stages, J̄ by propagators, and the appendix."""
    return [table1(), by_stages(), future_work(), appendix_section()]


def table1() -> Section:
    """Return Table I on the robot of Fig. 4, beside the definition of Λ⁻¹."""
    robot: Any = robot_of(robots.asimo())
    tasks = [Task(f, "pose", "local") for f in HANDS_FEET]
    q = robot.random_configuration(0)
    rows_of_j: Array = robot.task_jacobian(q, tasks)
    solve: Any = np.linalg.solve
    response: Array = solve(robot.mass_matrix(q), np.transpose(rows_of_j))
    expected: Array = rows_of_j @ response
    ours: Array = robot.operational_inertia_inverse(q, tasks, "efpa")
    error = float(np.abs(ours - expected).max() / np.abs(expected).max())
    shown = "below 1e-9" if error < 1e-9 else f"{error:.0e}"
    sizes = comparison(
        "ASIMO",
        {"bodies N": (35, len(robot.tree)), "degrees of freedom n": (40, robot.nv)},
    )
    row = ("EFPA − J H⁻¹ Jᵀ", "0", shown, verdict(error < 1e-9))
    parents = ", ".join(f"{p + 1}" for p in robot.tree.parents)
    return Section(
        f"{NAME}, Table I and Fig. 4",
        "EFPA as it is compiled, for hands and feet of the robot of Fig. 4, beside the "
        "definition in NumPy.",
        (Table(sizes.head, (*sizes.rows, row)),),
        after=f"Parents of its bodies, numbered from 1, 0 for the world: {parents}.",
    )


def by_stages() -> Section:
    """Return Fig. 5 by stages, and SFA with both mass matrices."""
    robot = robot_of(robots.asimo())
    found = {a: stages(robot, HANDS_FEET, a) for a in ("efpa", "rjk", "sfa")}
    rows: list[tuple[str, ...]] = []
    for algorithm, counts in found.items():
        total = sum(counts.values())
        rows += [
            (algorithm.upper(), stage, f"{n:,}", f"{n / total:.0%}")
            for stage, n in counts.items()
        ]
        rows.append((algorithm.upper(), "all", f"{total:,}", ""))
    masses = _sfa_by_mass_matrix(robot)
    cheapest = min(masses, key=masses.__getitem__)
    efpa = sum(found["efpa"].values())
    chosen = tuple(
        (name, f"{n:,}", f"{n / efpa:.0%}", "cheaper" if name == cheapest else "")
        for name, n in masses.items()
    )
    way_in = {a: sum(found[a].get(s, 0) for s in INWARD) for a in ("efpa", "rjk")}
    way_out = {a: sum(found[a].values()) - way_in[a] for a in way_in}
    claims = (
        ("EFPA needs more than RJK on the way in", way_in["efpa"], way_in["rjk"]),
        ("RJK needs more than EFPA for the rest", way_out["rjk"], way_out["efpa"]),
    )
    verdicts = tuple(
        (text, f"{a:,}", f"{b:,}", verdict(a > b)) for text, a, b in claims
    )
    return Section(
        f"{NAME}, Fig. 5: stage by stage",
        "Where the operations of hands and feet are, in the programs that are "
        "compiled. The figure prints no numbers. SFA is counted with the paper's mass "
        "matrix (`crba`) and with ours (`crba_root`); the cheaper one is compiled.",
        (
            Table(("algorithm", "stage", "operations", "share"), tuple(rows)),
            Table(("what the figure shows", "more", "less", ""), verdicts),
            Table(("SFA with M by", "operations", "of EFPA", ""), chosen),
        ),
    )


INWARD = ("transforms", "articulated inertias", "inward: force propagators")


# ------------------------------------------------------------ future work

LARGE = 0.2
"""the saving that we call a large advantage"""
WAYS = {
    "SFA, factor of M": ("sfa", "factor"),
    "EFPA, factor of M": ("efpa", "factor"),
    "PV, factor of M": ("pv", "factor"),
    "PV, propagators": ("pv", "propagators"),
}
"""the algorithm of Λ⁻¹, and how M⁻¹ Jᵀ Λ is computed"""
ROBOTS: dict[str, tuple[Callable[[], Any], Sequence[str]]] = {
    "ASIMO, hands and feet": (robots.asimo, HANDS_FEET),
    "humanoid, hands and feet": (lambda: robots.humanoid30("general"), HANDS_FEET),
    "Chang & Khatib's robot, hands": (robots.chang_khatib24, HANDS_FEET[:2]),
    "chain of 7, tip": (lambda: robots.chain(7), ("body6",)),
    "chain of 15, tip": (lambda: robots.chain(15), ("body14",)),
    "chain of 30, tip": (lambda: robots.chain(30), ("body29",)),
}


def consistent_inverse_counts(robot: Robot, ends: Sequence[str]) -> dict[str, int]:
    """Return the operations of J̄ in each of the ways."""
    tasks = [Task(f, "pose", "local") for f in ends]
    found: dict[str, int] = {}
    for name, (algorithm, response) in WAYS.items():
        quantity = dynamically_consistent_inverse(tasks, algorithm, 0.0, response)
        found[name] = count(compiled_program(quantity, robot)).total
    return found


def future_work() -> Section:
    """Return J̄ by propagators beside J̄ through the factor of M."""
    rows: list[tuple[str, ...]] = []
    for name, (make, ends) in ROBOTS.items():
        found = consistent_inverse_counts(robot_of(make()), ends)
        cheapest = min(found, key=found.__getitem__)
        cells = [f"{n:,}" for n in found.values()]
        sparse, other = (found[f"{a}, factor of M"] for a in ("SFA", "EFPA"))
        share = 1 - sparse / other
        holds = f"{share:.0%} less: {verdict(share > LARGE)}"
        rows.append((name, *cells, cheapest, holds))
    return Section(
        f"{NAME}, section VI: future work",
        "The paper ends with three wishes. J̄ = M⁻¹ Jᵀ Λ by propagators: the columns of "
        "Λ are sent through the tree as forces on the ends, without M "
        "(`dynamically_consistent_inverse`, `response=`, which picks the cheaper way); "
        "counted below, Λ included. The paper says that the sparse factors have a "
        "large advantage over EFPA as long as this is not done: with Y = J L⁻¹ from "
        "Λ⁻¹ at hand, J̄ = L⁻¹ D⁻¹ Yᵀ Λ takes one more sweep. End effectors with "
        "common support chains: `pvr` and `mixed` send one set of six rows down a "
        "chain. Closed chains: `constrained_operational_inertia_inverse`, which the "
        "controller uses.",
        (Table(("J̄ of", *WAYS, "cheapest", "SFA far below EFPA"), tuple(rows)),),
        after=f"Far below is more than {LARGE:.0%} less, a bar of ours: the paper "
        "gives no number.",
    )


# ------------------------------------------------------------ parts of programs


def appendix_section() -> Section:
    """Return the costs that the appendix prints, beside ours."""
    operations = tuple(
        (
            name,
            _shown(*printed),
            _shown(*ours),
            word(sum(printed), sum(ours)),
            WHY.get(name, ""),
        )
        for name, (printed, ours) in appendix().items()
    )
    return Section(
        f"{NAME}, appendix",
        "The costs that the appendix prints, and those of the same operations of "
        "`ramidyn.spatial`. The privileged child of the floating base differs from "
        "it by a turn about one axis.",
        (Table(("operation", "printed", "ours", "", "why"), operations),),
    )


PRIVILEGED, GENERAL_END = "X Λ⁻¹_pp Xᵀ, privileged child", "Λ⁻¹_kk from Ω, general end"
WHY = {
    PRIVILEGED: "theirs is X Λ⁻¹ (48m + 24a) and half of the second product; ours "
    "turns both sides at once, as an articulated inertia",
    GENERAL_END: "three axial screws, which make any constant pose",
    "K₁ = (Iᴬ₁)⁻¹, all operations": "LDLᵀ and inverse of the triangle alone",
}


def _sfa_by_mass_matrix(robot: Robot) -> dict[str, int]:
    """Return the operations of SFA with each algorithm for M."""
    model, conventions = robot.placed_model, robot.conventions
    tasks = tuple(Task(f, "pose", "local") for f in HANDS_FEET)
    found: dict[str, int] = {}
    for name in CRBA:

        def run(context: Context, name: str = name) -> Any:
            rows, tree = jacobian_entries(context, tasks), context.dynamics_tree
            entries = CRBA[name](tree, context.q)
            inverse = sfa(entries, tree.dof_parents, rows)
            return np.array(list(inverse.values()), dtype=object)

        program = trace_with_context(run, model, conventions, {"q": model.nq})
        found[name] = count(simplify(program)).total
    return found


Cost = tuple[int, int]
AXES = ((60, 2), (63, 0), (66, 2))
"""of three screws, about z, x and z: where their numbers are, and their axis"""


def appendix() -> dict[str, tuple[Cost, Cost]]:
    """Return the operations of the appendix: printed, and ours as (m, a)."""

    def ops(run: Callable[[Any], Any]) -> Cost:
        found = count(trace(run, {"x": 80}))
        return found.mul + found.div, found.add

    def full(x: Any) -> ArticulatedInertia:
        rows = iter(x[:21])
        matrix = np.empty((6, 6), dtype=object)
        for i in range(6):
            for j in range(i, 6):
                matrix[i, j] = matrix[j, i] = next(rows)
        return ArticulatedInertia.of(matrix)

    def turn(x: Any) -> Transform:
        return Transform((Turn(2, x[70], x[71]),))

    def screws(x: Any) -> Transform:
        pairs = ((Turn(e, x[k], x[k + 1]), Shift(e, x[k + 2])) for k, e in AXES)
        return Transform(tuple(part for pair in pairs for part in pair))

    def general(x: Any) -> Transform:
        return Transform.of(np.reshape(x[60:69], (3, 3)), x[70:73])

    def motions(x: Any) -> list[Motion]:
        return [Motion.of(x[6 * k : 6 * k + 6]) for k in range(6)]

    def both_sides(x: Any) -> list[Any]:
        half = [(general(x) @ m).parts() for m in motions(x)]
        return [e for c in zip(*half, strict=True) for e in _sent(general(x), c)]

    def dense(x: Any) -> list[Any]:
        first: Any = np.reshape(x[:36], (6, 6))
        return list((first @ np.reshape(x[36:72], (6, 6))).ravel())

    def with_zero_row(x: Any) -> list[Any]:
        first: Any = np.empty((6, 6), dtype=object)
        first[:, :] = np.reshape(x[:36], (6, 6))
        first[:, 2] = const(0.0)
        return list((first @ np.reshape(x[36:72], (6, 6))).ravel())

    def inverse(x: Any) -> list[Any]:
        found = dense_inverse(*ldl(full(x).array()))
        return [found[i][j] for i in range(6) for j in range(i + 1)]

    return {
        "Xᵀ Iᴬ L X, privileged child": (
            (22, 25),
            ops(lambda x: turn(x).invapply(full(x).without(2)).parts()),
        ),
        "Iᴬ + ..., privileged child": (
            (0, 15),
            ops(lambda x: (full(x[21:]) + full(x).without(2)).parts()),
        ),
        "X Λ⁻¹_pk, privileged child": (
            (48, 24),
            ops(lambda x: [e for m in motions(x) for e in (turn(x) @ m).parts()]),
        ),
        PRIVILEGED: (
            (63, 54),
            ops(lambda x: InverseInertia(full(x)).across(turn(x)).dual.parts()),
        ),
        GENERAL_END: (
            (137, 137),
            ops(lambda x: InverseInertia(full(x)).across(screws(x)).dual.parts()),
        ),
        "Λ⁻¹_k₁k₂ from Ω, general ends": ((288, 216), ops(both_sides)),
        "χ Λ⁻¹_ik, dense": ((216, 180), ops(dense)),
        "χ Λ⁻¹_1k, a row of χᵀ zero": ((180, 144), ops(with_zero_row)),
        "K₁ = (Iᴬ₁)⁻¹, all operations": ((231, 0), (sum(ops(inverse)), 0)),
    }


def _sent(transform: Transform, row: Sequence[Any]) -> tuple[Any, ...]:
    return (transform @ Motion.of(np.array(row, dtype=object))).parts()


def _shown(m: int, a: int) -> str:
    return cost(m, a) if a else f"{m}"
