"""Negrut, Serban & Potra (1997): the operation counts of Tables 1 to 5."""

# ruff: noqa: N806  the paper's letters; a symbol a line

from __future__ import annotations

from typing import Any

from ramidyn.algorithms.block_cholesky import block_cholesky, blocks_of
from ramidyn.algorithms.loops.counting import (
    STEPS,
    joint_formulation_counts,
    loopwise_counts,
)
from ramidyn.catalog import paper_robots as robots
from ramidyn.explain.closed_loops import columns_of, explain_loops, step_times
from ramidyn.papers import negrut_solvers as differences
from ramidyn.papers.document import Section, Table, compared, robot_of
from ramidyn.papers.featherstone import entries_of
from ramidyn.papers.negrut_solvers import algorithm_d_counts, gauss_counts
from ramidyn.papers.operation_counts import count_of
from ramidyn.robot import Robot
from ramidyn.symbolic.count import Ops
from ramidyn.tree.tree import ancestors

SPARSE = {
    "A": (975, 165, 708, 172, 834, 680, 145, 192, 3871),
    "M": (975, 165, 804, 172, 1135, 680, 162, 165, 4258),
    "D": (165, 27, 174, 0, 0, 120, 0, 27, 513),
    "SQ": (27, 0, 0, 0, 0, 16, 0, 0, 43),
}
"""Table 2 as printed: additions, multiplications, divisions, roots by step"""
DENSE = {
    "A": (3276, 351, 5616, 432, 3536, 2280, 405, 378, 15914),
    "M": (3276, 351, 5616, 432, 3672, 2280, 432, 351, 16410),
    "D": (351, 27, 432, 0, 0, 152, 0, 27, 989),
    "SQ": (27, 0, 0, 0, 0, 16, 0, 0, 43),
}
"""Table 3 as printed"""
GAUSS = {
    "factorize": {"A": 25585, "M": 25585, "D": 903},
    "substitute forward": {"A": 903, "M": 903, "D": 0},
    "substitute back": {"A": 903, "M": 903, "D": 43},
    "Total": {"A": 27391, "M": 27391, "D": 946},
}
"""Table 1 as printed"""
TIMES = {
    "Gauss": 2336,
    "Symmetric": 2022,
    "Harwell": 3532,
    "Alg-S": 1201,
    "Alg-D": 1179,
}
"""Table 4 as printed: microseconds of one solution, on a workstation of 1997"""
STEP_TIMES = (300, 59, 246, 50, 276, 159, 57, 54, 1201)
DENSE_STEP_TIMES = (289, 31, 347, 27, 276, 147, 31, 31, 1179)
"""Table 5 as printed: microseconds of each step of Alg-S and of Alg-D"""
NAME = "Negrut, Serban & Potra 1997"


def sections() -> list[Section]:
    """Return the sections of this paper."""
    robot = robot_of(robots.hmmwv("general"))
    parents, columns = robot.tree.dof_parents, columns_of(robot)
    counts = joint_formulation_counts(parents, columns)
    loopwise = loopwise_counts(parents, columns)
    dense = algorithm_d_counts(len(parents), len(columns))
    n = len(parents) + len(columns)
    return [
        gauss(robot, n),
        steps(robot, counts, block_count(robot)),
        totals(counts, dense, loopwise, len(columns)),
        times(counts, dense, n),
        profile(counts, dense),
        graph(),
        symbols(),
    ]


def graph() -> Section:
    """Return Figs. 3 and 4: the graph, its spanning tree, cuts and renumbering."""
    found = explain_loops(robot_of(robots.hmmwv("general")))
    tree = Table(
        ("spanning tree: body", "on", "joint"),
        tuple((body, parent, joint) for parent, body, joint in found.edges),
    )
    cuts = Table(
        ("cut joint", "kind", "between", "rows"),
        tuple(
            (c.name, c.type, " and ".join(c.bodies), f"{c.rows}") for c in found.cuts
        ),
    )
    entries = sum(map(len, found.reached))
    sizes = Table(
        ("", "printed", "ours", ""),
        tuple(
            (name, f"{printed}", f"{ours}", compared(printed, ours))
            for name, printed, ours in (
                ("bodies", 14, len(found.edges)),
                ("coordinates", 27, found.n),
                ("constraints", 16, found.m),
                ("equations", 43, found.n + found.m),
                ("degrees of freedom", 11, found.n - found.m),
            )
        ),
    )
    return Section(
        f"{NAME}, Figs. 3 and 4: graph, spanning tree, cuts",
        "The vehicle's graph becomes a tree where joints are cut. `ramidyn explain "
        "hmmwv` shows this for any mechanism, with the augmented matrix as a picture "
        "and the steps of Alg-S, counted and timed.",
        (sizes, tree, cuts),
        after=f"T has {entries} nonzeros of {found.n * found.m} (Lemma 3). Renumbered "
        f"by Lemma 2, leaves first: {', '.join(found.order)}.",
    )


def symbols() -> Section:
    """Return the paper's symbols beside ours."""
    return Section(
        f"{NAME}, sections 2 and 3: their symbols, our lines",
        "The paper refers all motion to one global frame: its state vector Ŷ is the "
        "spatial velocity in world axes at the origin. Our recursions are in body "
        "frames; `crba_root` is the nearest relative.",
        (Table(("theirs", "meaning", "ours"), SYMBOLS),),
    )


SYMBOLS = (
    ("Ŷ", "state vector of a body", '`robot.velocity(q, qd, body, "world")`'),
    (
        "B_j, D_j",
        "joint axes and their rates",
        "`S` in `algorithms/crba.py`; c in `aba.py`",
    ),
    (
        "T_j, R_j",
        "from the origin to the centroid",
        "`RigidInertia` about a body's origin",
    ),
    ("M̂, Q̂ (8-11)", "inertia and force at the origin", "`f` of `algorithms/rnea.py`"),
    ("K_i (12-16)", "composite inertia", "`Ic` of `algorithms/crba.py`"),
    ("L_i (12-16)", "composite force", "`f` summed inward in `algorithms/rnea.py`"),
    ("M̄ (18)", "composite inertia matrix", "`robot.mass_matrix(q)`"),
    (
        "Φ_q, γ (17)",
        "constraint Jacobian and bias",
        "`robot.constraint_jacobian`, `constraint_bias`",
    ),
    ("A, L, T (23, 24)", "augmented matrix and factors", "`linalg.augmented`"),
    (
        "b, p (Lemma 2)",
        "renumbering and its inverse",
        "`linalg.renumbering`, `Numbering.undo`",
    ),
)


def measured_profile() -> Section:
    """Return Table 5 beside times of today: each step of Alg-S, compiled."""
    found = explain_loops(robot_of(robots.hmmwv("general")))
    times_ = step_times(found)
    whole = sum(times_[s] for s in STEPS)
    rows = tuple(
        (
            f"step {step}",
            f"{STEP_TIMES[k]:,}",
            f"{STEP_TIMES[k] / STEP_TIMES[-1]:.0%}",
            f"{times_[step] * 1e9:.0f}",
            f"{times_[step] / whole:.0%}",
        )
        for k, step in enumerate(STEPS)
    )
    head = ("", "printed µs", "of the time", "today, ns a state", "of the time")
    return Section(
        f"{NAME}, Table 5: the profile of today",
        "Times of Alg-S by step, compiled and run on a batch of states on this "
        "processor: differences between programs that stop after each step.",
        (Table(head, rows),),
    )


def gauss(robot: Robot, n: int) -> Section:
    """Return Table 1: Gaussian elimination of the augmented system."""
    counts = gauss_counts(n)
    rows: list[tuple[str, ...]] = []
    for stage, printed in GAUSS.items():
        ops = counts[stage]
        for letter, ours in (("A", ops.add), ("M", ops.mul), ("D", ops.div)):
            value = printed[letter]
            rows.append(
                (f"{stage}, {letter}", f"{value:,}", f"{ours:,}", compared(value, ours))
            )
    return Section(
        f"{NAME}, Table 1: Gaussian elimination",
        f"The vehicle (HMMWV, {len(robot.tree)} bodies, {robot.nv} coordinates, "
        f"{n - robot.nv} constraints) gives a system of {n} equations. Ours is "
        "elimination without pivoting, run on unknown numbers.",
        (Table(("", "printed", "ours", ""), tuple(rows)),),
    )


def steps(robot: Robot, counts: dict[str, Ops], block: Ops) -> Section:
    """Return Table 2: the sparse algorithm, step by step."""
    rows: list[tuple[str, ...]] = []
    notes = step_notes(robot, counts)
    for k, step in enumerate((*STEPS, "Total")):
        row = [f"step {step}" if step in STEPS else "all"]
        for letter, values in SPARSE.items():
            row.append(f"{values[k]:,} / {_letters(counts[step])[letter]:,}")
        is_same = all(
            values[k] == _letters(counts[step])[letter]
            for letter, values in SPARSE.items()
        )
        rows.append((*row, "the same" if is_same else notes.get(step, "")))
    blocks = ["step 1, block Cholesky"]
    for letter, values in SPARSE.items():
        blocks.append(f"{values[0]:,} / {_letters(block)[letter]:,}")
    is_same = all(_letters(block)[k] == values[0] for k, values in SPARSE.items())
    rows.insert(1, (*blocks, "the same" if is_same else "differs"))
    head = (
        "",
        *(f"{letter}, printed / ours" for letter in SPARSE),
        "where they differ",
    )
    return Section(
        f"{NAME}, Table 2: the sparse algorithm",
        "Ours is the same algorithm traced over the same topology, with every nonzero "
        "of M and J an unknown number; M = LᵀDL instead of Cholesky, so no roots. "
        "Block Cholesky is the paper's own step 1, with a dense block for each joint "
        "(`algorithms/block_cholesky.py`).",
        (Table(head, tuple(rows)),),
    )


def printed_row(table: dict[str, tuple[int, ...]], step: str) -> dict[str, int]:
    """Return what a table prints for a step, by letter."""
    k = (*STEPS, "Total").index(step)
    return {letter: values[k] for letter, values in table.items()}


def step_notes(robot: Robot, counts: dict[str, Ops]) -> dict[str, str]:
    """Return where the counts of each step differ from the printed ones."""
    parents, columns = robot.tree.dof_parents, columns_of(robot)
    reached = [{i for k in c for i in (k, *ancestors(parents, k))} for c in columns]
    lengths = [*map(len, reached)]  # of the columns of T
    p = {step: printed_row(SPARSE, step) for step in STEPS}
    return {
        "1": differences.step1(robot, p["1"], counts["1"]),
        "2": differences.step2(p["2"], counts["2"], counts["4"]),
        "3.2": differences.entries_of_t(sum(lengths), p["3.2"], p["3.2"], len(parents)),
        "3.3": differences.step33(robot, lengths, p["3.3"], counts["3.3"]),
        "3.4": differences.step34(len(columns), p["3.4"]),
        "3.5": differences.entries_of_t(sum(lengths), p["3.5"], p["3.2"], len(parents)),
        "4": differences.step4(p["4"], counts["4"], len(parents)),
    }


def totals(
    counts: dict[str, Ops], dense: dict[str, Ops], loopwise: Ops, m: int
) -> Section:
    """Return Table 3: the dense algorithm, and what became of the wish at the end."""
    rows: list[tuple[str, ...]] = []
    notes = {
        "3.4": differences.dense34(m, printed_row(DENSE, "3.4")),
        "Total": differences.dense_total(DENSE["A"]),
    }
    for k, step in enumerate((*STEPS, "Total")):
        ours = _letters(dense[step])
        row = [f"step {step}" if step in STEPS else "all"]
        row += [f"{v[k]:,} / {ours[letter]:,}" for letter, v in DENSE.items()]
        is_same = all(v[k] == ours[letter] for letter, v in DENSE.items())
        rows.append((*row, "the same" if is_same else notes.get(step, "differs")))
    head = ("", *(f"{letter}, printed / ours" for letter in DENSE), "")
    sums = {
        "Alg-D, dense, printed": tuple(f"{v[-1]:,}" for v in DENSE.values()),
        "Alg-D, ours": _shown(dense["Total"]),
        "Alg-S, sparse, printed": tuple(f"{v[-1]:,}" for v in SPARSE.values()),
        "ours, the same algorithm": _shown(counts["Total"]),
        "ours, loop by loop": _shown(loopwise),
    }
    time = TIMES["Alg-S"] / TIMES["Alg-D"]
    operations = sum(v[-1] for v in SPARSE.values()) / sum(
        v[-1] for v in DENSE.values()
    )
    return Section(
        f"{NAME}, Table 3: the dense algorithm",
        "Alg-D takes the same steps with full matrices. Ours runs on unknown numbers.",
        (
            Table(head, tuple(rows)),
            Table(
                ("all steps", "A", "M", "D", "SQ"),
                tuple((name, *values) for name, values in sums.items()),
            ),
        ),
        after=f"On the machine of 1997 Alg-S took {time:.2f} of Alg-D's time with "
        f"{operations:.2f} of its operations, both as printed; the paper names the "
        "bookkeeping of sparsity as the cause. It ends with a wish: a version without "
        "loops, made for the mechanism by a preprocessing tool. A compiler makes that.",
    )


def times(counts: dict[str, Ops], dense: dict[str, Ops], n: int) -> Section:
    """Return Table 4: times of 1997 as shares of Gauss, beside our operations."""
    whole = gauss_counts(n)["Total"].total
    ours = {
        "Gauss": whole,
        "Alg-S": counts["Total"].total,
        "Alg-D": dense["Total"].total,
    }
    rows = tuple(
        (
            name,
            f"{t:,}",
            f"{t / TIMES['Gauss']:.2f}",
            f"{ours[name] / whole:.2f}" if name in ours else "-",
        )
        for name, t in TIMES.items()
    )
    return Section(
        f"{NAME}, Table 4: times",
        "Times of a workstation of 1997 cannot be compared with ours. Here their "
        "ratios to Gaussian elimination stand beside ratios of operations, as we count "
        "them. `benchmarks/loops.py` times the same solvers of today.",
        (Table(("", "printed µs", "over Gauss", "operations over Gauss"), rows),),
    )


def profile(counts: dict[str, Ops], dense: dict[str, Ops]) -> Section:
    """Return Table 5: where the time went, beside where operations are."""
    rows: list[tuple[str, ...]] = []
    for k, step in enumerate(STEPS):
        row = [f"step {step}"]
        for times_, ops in ((STEP_TIMES, counts), (DENSE_STEP_TIMES, dense)):
            share = ops[step].total / ops["Total"].total
            row += [f"{times_[k]:,}", f"{times_[k] / times_[-1]:.0%}", f"{share:.0%}"]
        rows.append(tuple(row))
    head = ("", "Alg-S, printed µs", "of the time", "of our operations")
    head = (*head, "Alg-D, printed µs", "of the time", "of our operations")
    return Section(
        f"{NAME}, Table 5: where the time goes",
        "Each step's share of the printed time, and of our operations.",
        (Table(head, tuple(rows)),),
    )


def block_count(robot: Robot) -> Ops:
    """Return the operations of block Cholesky along a robot's joints."""
    tree = robot.tree

    def run(x: Any) -> None:
        M = entries_of(tree.dof_parents, x)
        block_cholesky(blocks_of(M, tree.dofs, tree.parents), tree.parents)

    return count_of(run)


def _letters(ops: Ops) -> dict[str, int]:
    return {"A": ops.add, "M": ops.mul, "D": ops.div, "SQ": ops.sqrt}


def _shown(ops: Ops) -> tuple[str, ...]:
    return tuple(f"{v:,}" for v in (ops.add, ops.mul, ops.div, ops.sqrt))
