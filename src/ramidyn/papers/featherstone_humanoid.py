"""Featherstone (2005), sections 5 and 6: CRBA's cost analysis, the humanoid, Fig. 7."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from ramidyn.catalog import paper_robots as robots
from ramidyn.compiler import count
from ramidyn.explain.crba_cost import CrbaCost
from ramidyn.explain.shape import TreeShape
from ramidyn.papers.document import (
    Plot,
    Section,
    Table,
    compared,
    comparison,
    cost,
    robot_of,
    word,
)
from ramidyn.papers.featherstone import NAME, OPERATIONS, counted
from ramidyn.quantities.dynamics import forward_dynamics, inverse_dynamics
from ramidyn.quantities.mass_matrix import mass_matrix
from ramidyn.robot import Robot
from ramidyn.tracing.quantity import Quantity

TWO = ("humanoid", "chain")
Cost = tuple[int, int]
"""multiplications and divisions, additions"""


def sections() -> list[Section]:
    """Return the sections on the two robots."""
    return [crba_analysis(), humanoid(), formulas(), figure7()]


@cache
def two_robots() -> tuple[Robot, Robot]:
    """Return the humanoid and the chain, in general geometry."""
    made = robots.humanoid30("general"), robots.chain30("general")
    return robot_of(made[0]), robot_of(made[1])


# ------------------------------------------------------------ section 5

ANALYSIS = {
    "D0": (24, None),
    "D0a": (21, 24),
    "D0b": (3, 0),
    "D0c": (1, 1),
    "D1": (84, None),
    "D1a": (66, 300),
    "D1b": (18, 0),
    "D1c": (6, 24),
    "non-DH nodes": (3, None),
}
"""of the humanoid and of the chain, as printed; None where it is not printed"""
CRBA_PRINTED: tuple[Cost, Cost] = (2475, 2124), (6462, 4419)


def crba_analysis() -> Section:
    """Return the numbers of section 5, and the cost by equation 21."""
    costs = [CrbaCost.of(robot.tree) for robot in two_robots()]
    tables = [dict(c.table()) for c in costs]
    rows: list[tuple[str, ...]] = []
    for name, printed in ANALYSIS.items():
        row = [name]
        for p, ours in zip(printed, tables, strict=True):
            verdict = "" if p is None else compared(p, ours[name])
            row += ["-" if p is None else f"{p}", f"{ours[name]}", verdict]
        rows.append(tuple(row))
    whole = ["cost by (21)"]
    for printed, c in zip(CRBA_PRINTED, costs, strict=True):
        ours = c.cost.mul, c.cost.add
        whole += [cost(*printed), cost(*ours), compared(printed, ours)]
    saved = ["saved at the floating base"]
    for c in costs:
        saved += ["-", cost(c.saving.mul, c.saving.add), ""]
    return Section(
        f"{NAME}, section 5: what CRBA costs",
        "The numbers of equations 14 to 21, from the tree of bodies "
        "(`ramidyn.explain.crba_cost`, also in `ramidyn explain`). Of several children "
        "one has Denavit-Hartenberg parameters: the one with the largest subtree, "
        "which maximizes D1a.",
        (Table(_head("number"), (*rows, tuple(saved), tuple(whole))),),
    )


# ------------------------------------------------------------ section 6

PRINTED: Mapping[str, tuple[Cost, Cost]] = {
    "RNEA": ((2275, 1996), (2263, 1972)),
    "CRBA": CRBA_PRINTED,
    "ABA": ((5544, 5054), (5346, 4883)),
    "LTDL": ((1258, 1039), (4930, 4495)),
    "back-substitution": ((468, 438), (900, 870)),
    "forward dynamics by CRBA": ((6476, 5597), (14555, 11756)),
}
"""of the humanoid and of the chain"""
BY_CRBA, BY_ABA = "forward dynamics by CRBA", "ABA"
BY_ROOT = "forward dynamics by crba_root"
QUANTITIES: Mapping[str, Quantity] = {
    "RNEA": inverse_dynamics,
    "CRBA": mass_matrix(algorithm="crba"),
    "our crba_root": mass_matrix(algorithm="crba_root"),
    BY_ABA: forward_dynamics(algorithm="aba"),
    BY_CRBA: forward_dynamics(algorithm="crba"),
    BY_ROOT: forward_dynamics(algorithm="crba_root"),
}
PROGRAMS = {"LTDL": "LTDL factorize", "back-substitution": "LTDL back-substitute"}
"""rows of Table 1"""


@cache
def our_counts() -> Mapping[str, tuple[Cost, ...]]:
    """Return our counts for the same two robots."""
    found: dict[str, tuple[Cost, ...]] = {}
    for name, quantity in QUANTITIES.items():
        counts = [count(quantity, robot) for robot in two_robots()]
        found[name] = tuple((c.mul + c.div, c.add) for c in counts)
    for name, operation in PROGRAMS.items():
        program = OPERATIONS[operation][0]
        counts = [counted(program, r.tree.dof_parents) for r in two_robots()]
        found[name] = tuple((c.mul + c.div, c.add) for c in counts)
    return found


def humanoid() -> Section:
    """Return the size of M, and all costs of section 6."""
    expanded = TreeShape(two_robots()[0].tree.dof_parents)
    sizes = {
        "D1 expanded": (219, expanded.d1),
        "D2 expanded": (1039, expanded.d2),
        "nonzeros of M": (468, expanded.nonzeros),
    }
    topology = comparison("humanoid", sizes)
    counts = our_counts()
    rows: list[tuple[str, ...]] = []
    for name in (*PRINTED, "our crba_root", BY_ROOT):
        row = [name]
        for k in range(2):
            ours = counts[name][k]
            if name in PRINTED:
                printed = PRINTED[name][k]
                row += [cost(*printed), cost(*ours), word(sum(printed), sum(ours))]
            else:
                row += ["-", cost(*ours), ""]
        rows.append(tuple(row))
    return Section(
        f"{NAME}, section 6: the humanoid",
        "A floating torso with four limbs of six joints, and the chain of as many "
        "bodies; general geometry and inertia. Divisions count as multiplications; "
        "sines and cosines are counted by neither. `crba_root` is not in the paper: it "
        "carries the forces of a body straight to the root frame. Both are algorithms "
        "of `mass_matrix` and of `forward_dynamics`.",
        (topology, Table(_head("algorithm"), tuple(rows))),
        after="Ours are lower where masses are moved across joints first, where a "
        "transform meets a constant zero, and where two sums share a product. Ours "
        "also normalize the quaternion of the base. Forward dynamics by CRBA includes "
        "RNEA, CRBA, LTDL and the solve.",
    )


def evaluated() -> Mapping[str, tuple[Cost, ...]]:
    """Return the paper's formulas, evaluated for our trees of the two robots."""
    found: dict[str, list[Cost]] = {name: [] for name in PRINTED}
    for robot in two_robots():
        crba, s = CrbaCost.of(robot.tree), TreeShape(robot.tree.dof_parents)
        n, others = len(robot.tree), crba.non_dh
        costs = {
            "RNEA": (93 * n - 69 + 7 + 4 * others, 81 * n - 66 + 13 + 8 * others),
            "CRBA": (crba.cost.mul, crba.cost.add),
            "ABA": (224 * (n - 1) - 30 + 66 * others, 205 * (n - 1) - 37 + 57 * others),
            "LTDL": (s.d1 + s.d2, s.d2),
            "back-substitution": (2 * s.d1 + s.n, 2 * s.d1),
        }
        parts = [costs[name] for name in PARTS]
        costs[BY_CRBA] = sum(m for m, _ in parts), sum(a for _, a in parts)
        for name, own in costs.items():
            found[name].append(own)
    return {name: tuple(pair) for name, pair in found.items()}


PARTS = ("RNEA", "CRBA", "LTDL", "back-substitution")
"""of forward dynamics by CRBA"""
FORMULAS = {
    "RNEA": "(93n − 69)m + (81n − 66)a, 7m + 13a, and 4m + 8a for each",
    "ABA": "(224n − 30)m + (205n − 37)a, n less by one, and 66m + 57a for each",
}


def formulas() -> Section:
    """Return the printed formulas of RNEA and ABA, evaluated with their corrections."""
    values = evaluated()
    rows = tuple(
        (f"{name}, {robot}", text, cost(*printed), cost(*ours), compared(printed, ours))
        for name, text in FORMULAS.items()
        for robot, printed, ours in zip(TWO, PRINTED[name], values[name], strict=True)
    )
    head = ("algorithm", "formula", "printed total", "evaluated", "")
    return Section(
        f"{NAME}, section 6: the formulas of RNEA and ABA",
        "Totals follow from formulas for chains of n bodies: a floating base is one "
        "more joint with a correction, and each node without DH parameters has "
        "another (three of the humanoid).",
        (Table(head, rows),),
    )


# ------------------------------------------------------------ Fig. 7


def _ratio(over: Cost, under: Cost, additions: bool) -> float:
    return sum(over) / sum(under) if additions else over[0] / under[0]


def figure7() -> Section:
    """Return forward dynamics by CRBA and by ABA, for both robots."""
    counts = our_counts()
    ratios: dict[str, tuple[tuple[str, int], tuple[str, int]]] = {
        "chain over humanoid: CRBA": (("CRBA", 1), ("CRBA", 0)),
        "chain over humanoid: forward dynamics by CRBA": ((BY_CRBA, 1), (BY_CRBA, 0)),
        "humanoid: by CRBA over ABA": ((BY_CRBA, 0), (BY_ABA, 0)),
        "chain: by CRBA over ABA": ((BY_CRBA, 1), (BY_ABA, 1)),
        "humanoid: by crba_root over ABA": ((BY_ROOT, 0), (BY_ABA, 0)),
        "chain: by crba_root over ABA": ((BY_ROOT, 1), (BY_ABA, 1)),
    }
    values = evaluated()
    rows: list[tuple[str, ...]] = []
    for name, ((over, i), (under, k)) in ratios.items():
        row = [name]
        for additions in (True, False):
            cells = ["-", "-", ""]
            if over in PRINTED:
                pair = (
                    f"{_ratio(table[over][i], table[under][k], additions):.2f}"
                    for table in (PRINTED, values)
                )
                printed, formula = pair
                cells = [printed, formula, compared(printed, formula)]
            ours = _ratio(counts[over][i], counts[under][k], additions)
            row += [*cells, f"{ours:.2f}"]
        rows.append(tuple(row))
    bars: dict[str, list[tuple[float, float]]] = {"printed": [], "ours": []}
    labels: list[str] = []
    for k, robot in enumerate(TWO):
        for name in (BY_CRBA, BY_ABA):
            labels.append(f"{robot}\n{name.replace('forward dynamics by ', '')}")
            bars["printed"].append((len(labels), sum(PRINTED[name][k])))
            bars["ours"].append((len(labels), sum(counts[name][k])))
    plot = Plot(
        "figure7",
        f"{NAME}, Fig. 7: operations of forward dynamics",
        "bars",
        bars,
        tuple(labels),
        ("", "multiplications + additions"),
    )
    head = ["ratio"]
    for weight in ("a = m", "a = 0"):
        head += [f"printed, {weight}", "by formulas", "", "our programs"]
    on_humanoid, on_chain = (
        _ratio(PRINTED[BY_CRBA][k], PRINTED[BY_ABA][k], True) for k in range(2)
    )
    return Section(
        f"{NAME}, Fig. 7",
        f"The paper's point: on the chain, forward dynamics by CRBA takes "
        f"{on_chain:.1f} times the operations of ABA, on the humanoid only "
        f"{on_humanoid - 1:.0%} more. An addition costs as much as a multiplication "
        "(a = m) or nothing (a = 0). Printed ratios are those of the printed counts, "
        "and beside them are those of the paper's formulas, evaluated for our trees.",
        (Table(tuple(head), tuple(rows)),),
        (plot,),
        "Our programs have other ratios: each is below the printed count by another "
        "share; the section on causes switches the causes off.",
    )


def _head(first: str) -> tuple[str, ...]:
    return (first, "humanoid, printed", "ours", "", "chain, printed", "ours", "")
