"""Negrut, Serban & Potra (1997): the operation counts of Tables 1 to 5."""

from __future__ import annotations

from collections.abc import Callable

from ramidyn.algorithms.loops.counting import (
    STEPS,
    joint_formulation_counts,
    loopwise_counts,
)
from ramidyn.catalog import paper_robots as robots
from ramidyn.explain.closed_loops import explain_loops, step_times
from ramidyn.explain.shape import TreeShape
from ramidyn.papers.document import Section, Table, comparison, robot_of
from ramidyn.papers.negrut_solvers import (
    SOLVES,
    Sparsity,
    algorithm_d_counts,
    algorithm_s_counts,
    dense_notes,
    gauss_counts,
    minus,
    sparse_notes,
)
from ramidyn.robot import Robot
from ramidyn.symbolic.count import Ops

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
    at = Sparsity.of(robot)
    counts = joint_formulation_counts(at.parents, at.columns)
    loopwise = loopwise_counts(at.parents, at.columns)
    n, m = len(at.parents), len(at.columns)
    dense = algorithm_d_counts(n, m)
    return [
        gauss(robot, n + m),
        steps(at, counts),
        totals(counts, dense, loopwise, m),
        times(counts, dense, n + m),
        profile(counts, dense),
        graph(),
        symbols(),
        parallel(),
    ]


TREES: dict[str, Callable[[], tuple[int, ...]]] = {
    "HMMWV": lambda: robot_of(robots.hmmwv()).tree.dof_parents,
    "tractor with semi-trailer": lambda: (
        robot_of(robots.tractor_semitrailer()).tree.dof_parents
    ),
    "humanoid": lambda: robot_of(robots.humanoid30()).tree.dof_parents,
    "trunk of 6, 10 branches of 20": lambda: comb(6, 10, 20),
    "trunk of 6, 10 branches of 200": lambda: comb(6, 10, 200),
    "chain": lambda: comb(0, 1, 60),
}


def comb(trunk: int, branches: int, length: int) -> tuple[int, ...]:
    """Return a chain with equal chains on its tip."""
    limbs = (
        p
        for k in range(branches)
        for p in (trunk - 1, *range(trunk + k * length, trunk + (k + 1) * length - 1))
    )
    return (*range(-1, trunk - 1), *limbs)


def parallel() -> Section:
    """Return section 5: what must follow each other if branches run in parallel."""
    rows: list[tuple[str, ...]] = []
    for name, parents in TREES.items():
        s = TreeShape(parents())
        row = [name, f"{s.n:,}", f"{s.factor_cost:,}"]
        for longest in (s.on_threads(2), s.on_threads(4), s.critical_path):
            row += [f"{longest:,}", f"{s.factor_cost / longest:.2f}"]
        rows.append(tuple(row))
    head = ["tree", "n", "operations of LTDL"]
    for threads in ("2 threads", "4 threads", "a thread a branch"):
        head += [f"{threads}: in a row", "at most"]
    return Section(
        f"{NAME}, section 5: branches in parallel",
        "A column of the factor waits for the columns of its descendants alone "
        "(Lemma 4), so branches are independent (Corollary 3). Counted: the operations "
        "that follow each other, those of the busiest thread and of the trunk as "
        "`linalg.ltdl(threads=)` divides them, and of the longest path; and how many "
        "times faster that can be at most. Sums of what branches subtract from rows "
        "that they share are not counted.",
        (Table(tuple(head), tuple(rows)),),
        after="Where it pays is a matter of time, not of counts: starting a thread "
        "takes as long as a million operations. [Papers: times](papers_times.md) has "
        "it.",
    )


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
    sizes = comparison(
        "",
        {
            "bodies": (14, len(found.edges)),
            "coordinates": (27, found.n),
            "constraints": (16, found.m),
            "equations": (43, found.n + found.m),
            "degrees of freedom": (11, found.n - found.m),
        },
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
        "`S` in `algorithms/crba.py`; `BodyMotion` in `kinematics.py`",
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
    values = {
        f"{stage}, {letter}": (f"{printed[letter]:,}", f"{ours:,}")
        for stage, printed in GAUSS.items()
        for letter, ours in _letters(counts[stage]).items()
        if letter in printed
    }
    return Section(
        f"{NAME}, Table 1: Gaussian elimination",
        f"The vehicle (HMMWV, {len(robot.tree)} bodies, {robot.nv} coordinates, "
        f"{n - robot.nv} constraints) gives a system of {n} equations. Ours is "
        "elimination without pivoting, run on unknown numbers.",
        (comparison("", values),),
    )


def steps(at: Sparsity, ours: dict[str, Ops]) -> Section:
    """Return Table 2: the sparse algorithm, step by step."""
    counts = algorithm_s_counts(at)
    counts["Total"] = minus(counts["Total"], counts[SOLVES])
    notes = sparse_notes(at, {step: printed_row(SPARSE, step) for step in STEPS})
    rows = _steps_beside(SPARSE, counts, notes)
    rows = [
        (*r[:-1], _own(ours, step), r[-1]) for r, step in zip(rows, ALL, strict=True)
    ]
    solves = [f"- / {v:,}" for v in _letters(counts[SOLVES]).values()]
    rows.insert(
        6, (SOLVES, *solves, "in step 3.4", "the paper counts the factor alone")
    )
    head = ("", *(f"{letter}, printed / counted" for letter in SPARSE))
    return Section(
        f"{NAME}, Table 2: the sparse algorithm",
        "Counted is the paper's own algorithm on the same topology (`algorithm_s` of "
        "`papers/negrut_solvers.py`): Cholesky, with a dense block for each joint "
        "(`algorithms/block_cholesky.py`) and for each pair of cut joints, every "
        "nonzero of M and J an unknown number. Our own solver computes M = LᵀDL by "
        "scalars, so it takes no roots, and only the triangle of a block.",
        (Table((*head, "ours, LᵀDL", ""), tuple(rows)),),
        after="The sum is without the solve for λ, which the paper does not count. "
        "Where counts differ, the notes say what fits, not what is proven. Two of the "
        "printed ones are 10 below what fits; we do not know why.",
    )


ALL = (*STEPS, "Total")


def _steps_beside(
    table: dict[str, tuple[int, ...]], counts: dict[str, Ops], notes: dict[str, str]
) -> list[tuple[str, ...]]:
    """Return a row for each step: printed / counted, and "the same" or a note."""
    rows: list[tuple[str, ...]] = []
    for step in ALL:
        printed, ours = printed_row(table, step), _letters(counts[step])
        cells = [f"{printed[k]:,} / {ours[k]:,}" for k in printed]
        last = "the same" if printed == ours else notes.get(step, "sum of the steps")
        rows.append((f"step {step}" if step in STEPS else "all", *cells, last))
    return rows


def _own(ours: dict[str, Ops], step: str) -> str:
    return " + ".join(f"{v:,}{k}" for k, v in _letters(ours[step]).items() if v)


def printed_row(table: dict[str, tuple[int, ...]], step: str) -> dict[str, int]:
    """Return what a table prints for a step, by letter."""
    return {letter: values[ALL.index(step)] for letter, values in table.items()}


def totals(
    counts: dict[str, Ops], dense: dict[str, Ops], loopwise: Ops, m: int
) -> Section:
    """Return Table 3: the dense algorithm, and what became of the wish at the end."""
    note = dense_notes(m, DENSE, STEPS.index("3.4"))
    rows = _steps_beside(DENSE, dense, {"3.4": note})
    head = ("", *(f"{letter}, printed / counted" for letter in DENSE), "")
    sums = {
        "Alg-D, dense, printed": tuple(f"{v[-1]:,}" for v in DENSE.values()),
        "Alg-D, ours": _shown(dense["Total"]),
        "Alg-S, sparse, printed": tuple(f"{v[-1]:,}" for v in SPARSE.values()),
        "ours, LᵀDL": _shown(counts["Total"]),
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


def _letters(ops: Ops) -> dict[str, int]:
    return {"A": ops.add, "M": ops.mul, "D": ops.div, "SQ": ops.sqrt}


def _shown(ops: Ops) -> tuple[str, ...]:
    return tuple(f"{v:,}" for v in (ops.add, ops.mul, ops.div, ops.sqrt))
