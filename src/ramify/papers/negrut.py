"""Negrut, Serban & Potra (1997): the operation counts of Tables 1 to 5."""

from __future__ import annotations

from ramify.algorithms.loops.counting import (
    STEPS,
    joint_formulation_counts,
    loopwise_counts,
)
from ramify.algorithms.loops.cuts import cuts_of
from ramify.model import catalog as robots
from ramify.papers.document import Section, Table, robot_of, word
from ramify.robot import Robot
from ramify.symbolic.count import Ops

SPARSE = {
    "A": (975, 165, 708, 172, 834, 680, 145, 192, 3871),
    "M": (975, 165, 804, 172, 1135, 680, 162, 165, 4258),
    "D": (165, 27, 174, 0, 0, 120, 0, 27, 513),
    "SQ": (27, 0, 0, 0, 0, 16, 0, 0, 43),
}
"""Table 2 as printed: additions, multiplications, divisions, roots by step"""
DENSE_TOTALS = {"A": 15914, "M": 16410, "D": 989, "SQ": 43}
"""the totals of Table 3 as printed"""


TIMES = {
    "Gauss": 2336,
    "Symmetric": 2022,
    "Harwell": 3532,
    "Alg-S": 1201,
    "Alg-D": 1179,
}
"""Table 4 as printed: microseconds of one solution, on a workstation of 1997"""
STEP_TIMES = (300, 59, 246, 50, 276, 159, 57, 54, 1201)
"""Table 5 as printed: microseconds of each step of Alg-S"""


def sections() -> list[Section]:
    """Return the sections of this paper."""
    robot = robot_of(robots.hmmwv())
    parents, columns = robot.tree.dof_parents, columns_of(robot)
    counts = joint_formulation_counts(parents, columns)
    loopwise = loopwise_counts(parents, columns)
    n = len(parents) + len(columns)
    return [
        gauss(n),
        steps(counts),
        totals(counts, loopwise),
        times(counts, n),
        profile(counts),
    ]


def columns_of(robot: Robot) -> list[list[int]]:
    """Return the degrees of freedom of each row of J, by the topology alone."""
    tree = robot.tree
    columns: list[list[int]] = []
    for cut in cuts_of(robot.model):
        path = set(tree.support(cut.a)) ^ set(tree.support(cut.b))
        row = sorted(k for i in path for k in tree.dofs[i])
        columns += [row] * len(cut.rows)
    return columns


def gauss(n: int) -> Section:
    """Return Table 1: Gaussian elimination of the augmented system."""
    elimination = sum(k * k for k in range(n))
    divisions = sum(range(n))
    printed = {
        "factorize, A = M": (25585, elimination),
        "factorize, D": (903, divisions),
        "substitute forward, A = M": (903, n * (n - 1) // 2),
        "substitute back, A = M": (903, n * (n - 1) // 2),
        "substitute back, D": (43, n),
    }
    rows = tuple((k, f"{p:,}", f"{o:,}", word(p, o)) for k, (p, o) in printed.items())
    return Section(
        "Negrut, Serban & Potra 1997, Table 1: Gaussian elimination",
        f"The vehicle (HMMWV, 14 bodies, 27 coordinates, 16 constraints) gives a "
        f"system of {n} equations.",
        (Table(("", "printed", "ours", ""), rows),),
    )


def steps(counts: dict[str, Ops]) -> Section:
    """Return Table 2: the sparse algorithm, step by step."""
    rows: list[tuple[str, ...]] = []
    for k, step in enumerate((*STEPS, "Total")):
        ops = counts[step]
        ours = {"A": ops.add, "M": ops.mul, "D": ops.div, "SQ": ops.sqrt}
        row = [f"step {step}" if step in STEPS else "all"]
        for letter, values in SPARSE.items():
            row.append(f"{values[k]:,} / {ours[letter]:,}")
        rows.append((*row, NOTES.get(step, "")))
    head = (
        "",
        *(f"{letter}, printed / ours" for letter in SPARSE),
        "where they differ",
    )
    return Section(
        "Negrut, Serban & Potra 1997, Table 2: the sparse algorithm",
        "Ours is the same algorithm traced over the same topology, with every nonzero "
        "of M and J an unknown number; M = LᵀDL instead of Cholesky, so no roots.",
        (Table(head, tuple(rows)),),
    )


NOTES = {
    "1": "the paper computes diagonal blocks in full: 660 + 15 · 21",
    "2": "LᵀDL needs no division here",
    "3.2": "the printed 172 does not follow from the topology, 174 does",
    "3.3": "the upper triangle alone",
    "3.4": "the paper counts the factorization alone, ours solves too",
    "3.5": "the printed figures do not follow from the topology",
}


def totals(counts: dict[str, Ops], loopwise: Ops) -> Section:
    """Return Table 3: totals, and what became of the wish at the end."""
    whole = counts["Total"]
    columns = {
        "Alg-D, dense (Table 3)": tuple(f"{v:,}" for v in DENSE_TOTALS.values()),
        "Alg-S, sparse (Table 2)": tuple(f"{v[-1]:,}" for v in SPARSE.values()),
        "ours, the same algorithm": _shown(whole),
        "ours, loop by loop": _shown(loopwise),
    }
    rows = tuple((name, *values) for name, values in columns.items())
    return Section(
        "Negrut, Serban & Potra 1997, Table 3: totals",
        "The dense algorithm beside the sparse one.",
        (Table(("algorithm", "A", "M", "D", "SQ"), rows),),
        after="On that machine Alg-S gained nothing over Alg-D for all its fewer "
        "operations, for its indexing. The paper ends with a wish: a version without "
        "loops, made for the mechanism by a preprocessing tool. A compiler makes "
        "that; for the vehicle itself, with its zeros, it takes fewer still.",
    )


def times(counts: dict[str, Ops], n: int) -> Section:
    """Return Table 4: times of 1997 as shares of Gauss, beside our operations."""
    elimination = 2 * sum(k * k for k in range(n)) + 2 * n * (n - 1)
    gauss_total = elimination + sum(range(n)) + n
    dense = sum(DENSE_TOTALS.values()) / gauss_total
    ours = {
        "Gauss": "1.00",
        "Alg-S": f"{counts['Total'].total / gauss_total:.2f}",
        "Alg-D": f"{dense:.2f} (printed counts)",
    }
    rows = tuple(
        (name, f"{t:,}", f"{t / TIMES['Gauss']:.2f}", ours.get(name, "not counted"))
        for name, t in TIMES.items()
    )
    return Section(
        "Negrut, Serban & Potra 1997, Table 4: times",
        "Times of a workstation of 1997 cannot be compared with ours; their shares of "
        "Gaussian elimination can stand beside shares of its operations.",
        (Table(("", "printed µs", "of Gauss", "operations, of Gauss"), rows),),
        after="What a count promises and an indexed loop did not keep, code without "
        "loops keeps: `benchmarks/loops.py` times it beside LAPACK.",
    )


def profile(counts: dict[str, Ops]) -> Section:
    """Return Table 5: where the time of Alg-S went, beside where operations are."""
    whole, printed = counts["Total"].total, STEP_TIMES[-1]
    rows = tuple(
        (
            f"step {step}",
            f"{t:,}",
            f"{t / printed:.0%}",
            f"{counts[step].total / whole:.0%}",
        )
        for step, t in zip(STEPS, STEP_TIMES, strict=False)
    )
    return Section(
        "Negrut, Serban & Potra 1997, Table 5: where the time goes",
        "Each step's share of the printed time of Alg-S, and of our operations.",
        (Table(("", "printed µs", "of the time", "of our operations"), rows),),
    )


def _shown(ops: Ops) -> tuple[str, ...]:
    return tuple(f"{v:,}" for v in (ops.add, ops.mul, ops.div, ops.sqrt))
