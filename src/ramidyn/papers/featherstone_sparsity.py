"""Featherstone (2005), sections 2 to 5: zeros, steps, bounds, families, and causes."""

# ruff: noqa: N806  the paper's letters

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np

from ramidyn.catalog import paper_robots as catalog
from ramidyn.explain.counts import traced
from ramidyn.explain.crba_cost import CrbaCost
from ramidyn.explain.factor_steps import factor_steps
from ramidyn.explain.shape import TreeShape, family
from ramidyn.explain.zeros import zeros_of
from ramidyn.linalg.factor import ltl
from ramidyn.papers.document import (
    Section,
    Table,
    compared,
    comparison,
    cost,
    robot_of,
    verdict,
    word,
)
from ramidyn.papers.featherstone import FORMULAS, NAME, TREE1, TREE1_EXPANDED
from ramidyn.papers.featherstone_humanoid import PRINTED, QUANTITIES, two_robots
from ramidyn.papers.notes import OPERATIONS as SPATIAL
from ramidyn.quantities.mass_matrix import mass_matrix
from ramidyn.robot import Robot
from ramidyn.simplify.passes import SIMPLIFICATIONS, everywhere, simplify
from ramidyn.spatial import RigidInertia, Transform
from ramidyn.spatial.transform import Shift, Turn
from ramidyn.spatial.vector3 import matrix3, vector3
from ramidyn.symbolic.count import count
from ramidyn.symbolic.expr import const
from ramidyn.symbolic.trace import trace


def sections() -> list[Section]:
    """Return these sections."""
    return [
        zeros(),
        steps(),
        reordered(),
        bounds(),
        crba_families(),
        inertia_transforms(),
        causes(),
    ]


# ------------------------------------------------------------ section 2


def zeros() -> Section:
    """Return the four kinds of zeros of some robots."""
    made: dict[str, Robot] = {
        "humanoid, general": robot_of(catalog.humanoid30("general")),
        "humanoid, plain": robot_of(catalog.humanoid30("plain")),
        "chain of 30, general": robot_of(catalog.chain30("general")),
        "ASIMO": robot_of(catalog.asimo()),
    }
    rows: list[tuple[str, ...]] = []
    for name, robot in made.items():
        z = zeros_of(robot)
        kinds = (z.branch, z.kinematic, z.inertia, z.coincidental)
        rows.append((name, f"{z.entries:,}", *(f"{k:,}" for k in kinds)))
    head = ("robot", "entries of M", "branch", "kinematic", "inertia")
    return Section(
        f"{NAME}, section 2: four kinds of zeros",
        "Entries of M are zero because two joints are on different branches; because "
        "of where joints are, whatever the inertias; because of the inertias; or at "
        "one configuration only (here at the neutral one). The paper is about the "
        "first kind. The compiler folds the second and third while it traces. "
        "`ramidyn explain` counts them for any robot.",
        (Table((*head, "coincidental"), tuple(rows)),),
    )


def steps() -> Section:
    """Return Fig. 3 and the worked example of section 2, on Tree 1."""
    first = factor_steps(TREE1)[0]
    ours = (len(first.divided), len(first.updated), *first.dense)
    names = ("divided", "updated", "divided in a full matrix", "updated there")
    pairs = zip(EXAMPLE, ours, strict=True)
    example = comparison("k = 7", dict(zip(names, pairs, strict=True)))
    moves = tuple(
        (f"{s.k + 1}", f"{len(s.divided)}", f"{len(s.updated)}", *map(str, s.dense))
        for s in factor_steps(TREE1_EXPANDED)
    )
    fig2 = tuple(p + 1 for p in TREE1_EXPANDED)
    return Section(
        f"{NAME}, Figs. 2 and 3: the factorization row by row",
        "Row k = 7 of Tree 1, the paper's example: the entries that are divided "
        "(region 4 of the figure) and updated (region 5), beside those of a full "
        "matrix. Then all rows of the expanded tree of Fig. 2, which "
        "`linalg.expanded_parents` makes of Tree 1 and its joints. Its λ: "
        f"{compared(fig2, FIG2)}. `ramidyn.explain.factor_steps` has the steps of any "
        "tree, as pictures in text.",
        (example, Table(("row", *names), moves)),
        after="Of row 7: `" + "` / `".join(first.text().splitlines()) + "`.",
    )


EXAMPLE = (2, 3, 6, 21)
FIG2 = (0, 1, 2, 3, 2, 4, 4, 5, 8, 9, 5)
"""as printed"""


def reordered() -> Section:
    """Return section 3: Lᵀ = R G R, Cholesky of the reversed matrix."""
    rows: list[tuple[str, ...]] = []
    for name, robot in zip(("humanoid", "chain"), two_robots(), strict=True):
        H: Any = robot.mass_matrix(robot.random_configuration(0))
        L = ltl(H, robot.tree.dof_parents).L
        cholesky: Any = np.linalg.cholesky
        G = cholesky(H[::-1, ::-1])
        error = float(np.abs(np.transpose(L) - G[::-1, ::-1]).max() / np.abs(L).max())
        rows.append((name, "0", f"below {SMALL:.0e}", verdict(error < SMALL)))
    return Section(
        f"{NAME}, section 3: reordered Cholesky",
        "LTL is Cholesky of the matrix with its rows and columns reversed: Lᵀ = R G R. "
        "The largest difference between our L and LAPACK's G, over the largest entry.",
        (Table(("robot", "printed", "ours", ""), tuple(rows)),),
    )


SMALL = 1e-11


# ------------------------------------------------------------ section 4


def bounds() -> Section:
    """Return the bounds 10 to 13, and both rules of thumb."""
    shapes = {
        "humanoid": TreeShape(two_robots()[0].tree.dof_parents),
        "ASIMO": TreeShape(robot_of(catalog.asimo()).tree.dof_parents),
        "binary tree, 255": TreeShape(tuple(family("binary tree", 255))),
        "swarm, 100 arms of 6": TreeShape(
            tuple(-1 if i % 6 == 0 else i - 1 for i in range(600))
        ),
    }
    limits: list[tuple[str, ...]] = []
    rules: list[tuple[str, ...]] = []
    for name, s in shapes.items():
        by_n, by_depth = s.bounds["n"], s.bounds["depth"]
        holds = s.d1 <= min(by_n[0], by_depth[0]) and s.d2 <= min(by_n[1], by_depth[1])
        limits.append(
            (
                name,
                *(f"{x:,}" for x in (s.d1, by_n[0], by_depth[0])),
                *(f"{x:,}" for x in (s.d2, by_n[1], by_depth[1])),
                verdict(holds),
            )
        )
        factor = s.factor_cost / s.chain.factor_cost
        solve = s.solve_cost / s.chain.solve_cost
        a = s.density
        rules.append((name, *(f"{x:.2f}" for x in (a, a * a, factor, a, solve))))
    longer: list[tuple[str, ...]] = []
    for length in (1, 2):
        s = TreeShape(side_branches(LARGE, length))
        beta = 1 / (1 + length)
        d1, d2 = s.d1 / s.chain.d1, s.d2 / s.chain.d2
        near = abs(d1 / beta - 1) < NEAR and abs(d2 / beta**2 - 1) < NEAR
        shares = f"{beta:.3f}", f"{d1:.3f}", f"{beta**2:.3f}", f"{d2:.3f}"
        longer.append((f"side branches of {length}", f"{s.n}", *shares, verdict(near)))
    head = ("tree", "D1", "by n (10)", "by depth (12)", "D2", "by n (11)")
    return Section(
        f"{NAME}, section 4: bounds and rules of thumb",
        "D1 and D2 beside their bounds; the rule that factoring takes α² and solving α "
        "of what a full matrix takes, where α is the share of nonzeros; and the rule "
        "that D1 and D2 of a chain with side branches approach β and β² of an "
        "unbranched one's, where β is the main chain's share of the bodies (within "
        f"{NEAR:.0%} at this size).",
        (
            Table((*head, "by depth (13)", ""), tuple(limits)),
            Table(("tree", "α", "α²", "factor", "α", "solve"), tuple(rules)),
            Table(("chain with", "n", "β", "D1", "β²", "D2", ""), tuple(longer)),
        ),
    )


LARGE, NEAR = 600, 0.02


def side_branches(n: int, length: int) -> tuple[int, ...]:
    """Return a chain with a side branch of some bodies on each body, n in all."""
    parents: list[int] = []
    last = -1
    for _ in range(n // (length + 1)):
        parents.append(last)
        last = len(parents) - 1
        parents += [last, *range(last + 1, last + length)]
    return tuple(parents)


# ------------------------------------------------------------ section 5


def crba_families() -> Section:
    """Return the cost of CRBA along the families, by formula and counted."""
    made: dict[str, tuple[tuple[int, ...], Callable[[int], float]]] = {
        "short side branches": ((8, 16, 32), lambda n: n * n / 2),
        "binary tree": ((7, 15, 31), lambda n: n * math.log2(n)),
        "square grid": ((9, 16, 36), lambda n: n**1.5),
    }
    growth = {
        "short side branches": "half of a chain's",
        "binary tree": "n log n",
        "square grid": "n^1.5",
    }
    rows: list[tuple[str, ...]] = []
    for name, (sizes, order) in made.items():
        for n in sizes:
            tree = CrbaCost(tuple(family(name, n)))
            robot = _family_robot(name, n)
            ours = count(_simplified(robot))
            formula = tree.fixed_base_cost
            whole, counted = formula.mul + formula.add, ours.mul + ours.div + ours.add
            rows.append(
                (
                    name,
                    f"{n}",
                    f"{tree.D1:,}",
                    growth[name],
                    f"{tree.D1 / order(n):.2f}",
                    f"{whole:,}",
                    f"{counted:,}",
                    f"{counted / whole:.2f}",
                )
            )
    limits = tuple(
        (name, growth[name], *_limits(name)) for name in ("binary tree", "square grid")
    )
    head = ("family", "n", "D1", "grows like", "D1 over that", "by (20)", "counted")
    return Section(
        f"{NAME}, section 5: CRBA along the families",
        "D1 decides what CRBA costs: of n²/2, n log₂ n or n^1.5 it takes a share that "
        "settles (the second table has larger trees, by D1 alone). Counted are our "
        "programs of the paper's CRBA for trees of the catalog; Eq. 20 is for general "
        "geometry.",
        (
            Table((*head, "over (20)"), tuple(rows)),
            Table(("family", "grows like", "D1 over that", "", ""), limits),
        ),
    )


def _limits(name: str) -> tuple[str, str, str]:
    sizes = {"binary tree": (8, 10, 12), "square grid": (16, 32, 64)}[name]
    shown: list[str] = []
    for m in sizes:
        n, d1, _ = FORMULAS[name](m)
        over = n * math.log2(n) if name == "binary tree" else n**1.5
        shown.append(f"n = {n:,}: {d1 / over:.2f}")
    return shown[0], shown[1], shown[2]


def _family_robot(name: str, n: int) -> Robot:
    make = {
        "short side branches": lambda: catalog.chain_with_side_branches(n),
        "binary tree": lambda: catalog.binary_tree(n),
        "square grid": lambda: catalog.square_grid(n),
    }[name]
    robot = robot_of(make())
    assert robot.nv == n, (name, n, robot.nv)
    return robot


def _simplified(robot: Robot) -> Any:
    return simplify(
        traced(CRBA_ONLY, robot.placed_model, robot.conventions, regroup=False)
    )


CRBA_ONLY = mass_matrix(algorithm="crba")
RX = {
    "rx, two screws (DH node)": ((32, 33), 2),
    "rx, three screws (other nodes)": ((47, 48), 3),
}
"""rx as printed, and how many axial screws it takes"""
OTHERS = {
    "ra": ((0, 10), SPATIAL["I + I, rigid"][1]),
    "vx, two screws (DH node)": ((20, 12), SPATIAL["Xᵀ f"][2] or SPATIAL["Xᵀ f"][1]),
    "vx, rotation and offset (other nodes)": ((24, 18), SPATIAL["Xᵀ f"][1]),
}
"""as printed, and the operation of `ramidyn.spatial`"""


def inertia_transforms() -> Section:
    """Return rx: a rigid inertia through axial screws, with more and more known."""
    rows: list[tuple[str, ...]] = []
    for name, (printed, screws) in RX.items():
        unknown = _screw_cost(screws, False)
        known = _screw_cost(screws, True)
        rows.append(
            (
                name,
                cost(*printed),
                cost(*unknown),
                cost(*known),
                word(sum(printed), sum(known)),
            )
        )
    for name, (printed, run) in OTHERS.items():
        ops = count(trace(run, {"x": 80}))
        ours = ops.mul, ops.add
        near = word(sum(printed), sum(ours))
        rows.append((name, cost(*printed), cost(*ours), cost(*ours), near))
    return Section(
        f"{NAME}, section 5: rx, an inertia taken to the parent",
        "A rigid inertia through axial screws (rx), and beside it a sum of two (ra) "
        "and a force through screws (vx), by `ramidyn.spatial`: with every number "
        "unknown, and as in CRBA, where lengths, twists and the composite mass are "
        "constants and only the joint's sine and cosine are not.",
        (Table(("", "printed", "all unknown", "as in CRBA", ""), tuple(rows)),),
        after="With everything unknown, every turn also doubles its cosine, and every "
        "shift multiplies mass and length.",
    )


def _screw_cost(screws: int, known: bool) -> tuple[int, int]:
    """Return (m, a) of a rigid inertia taken through screws about x, z, x."""

    def run(x: Any) -> Any:
        m = const(1.7) if known else x[9]
        inertia = RigidInertia(
            m, vector3(x[6:9]), matrix3([x[:3], (x[1], x[3], x[4]), (x[2], x[4], x[5])])
        )
        parts: list[Any] = []
        for k in range(screws):
            axis = 0 if k % 2 == 0 else 2
            is_joint = axis == 2
            turn = Turn(axis, x[10 + 3 * k], x[11 + 3 * k])
            shift = Shift(axis, x[12 + 3 * k])
            if known:
                shift = Shift(axis, const(0.3 + 0.1 * k))
                if not is_joint:
                    turn = Turn(axis, const(0.6), const(0.8))
            parts += [turn, shift]
        return Transform(tuple(parts)).invapply(inertia).parts()

    found = count(simplify(trace(run, {"x": 20})))
    return found.mul, found.add


# ------------------------------------------------------------ section 6


@cache
def toggled() -> Mapping[str, Mapping[str, tuple[int, int]]]:
    """Return counts of the humanoid and the chain, causes switched off in turn."""
    variants: dict[str, tuple[bool, str | None]] = {
        "all on": (True, None),
        "masses not regrouped": (False, None),
        **{
            f"without {p.__name__}": (True, p.__name__)
            for p in SIMPLIFICATIONS
            if p.__name__ != "drop_dead_code"
        },
        "neither": (False, "every pass"),
    }
    found: dict[str, dict[str, tuple[int, int]]] = {}
    for name in ("RNEA", "CRBA", "ABA"):
        found[name] = {}
        for variant, (regroup, left_out) in variants.items():
            pair: list[int] = []
            for robot in two_robots():
                program = traced(
                    QUANTITIES[name], robot.placed_model, robot.conventions, regroup
                )
                for p in SIMPLIFICATIONS:
                    is_off = left_out in (p.__name__, "every pass")
                    if not is_off or p.__name__ == "drop_dead_code":
                        program = everywhere(p, program)
                ops = count(program)
                pair.append(ops.mul + ops.div + ops.add)
            found[name][variant] = (pair[0], pair[1])
    return found


def causes() -> Section:
    """Return why our counts are below the printed ones: each cause switched off."""
    found = toggled()
    rows: list[tuple[str, ...]] = []
    for name, variants in found.items():
        for variant, pair in variants.items():
            if variant != "all on" and pair == variants["all on"]:
                continue
            cells = [f"{name}, {variant}"]
            for k in range(2):
                printed = sum(PRINTED[name][k])
                cells += [f"{pair[k]:,}", f"{pair[k] / printed - 1:+.1%}"]
            rows.append(tuple(cells))
    base = found["ABA"]["all on"]
    head = ("algorithm", "humanoid", "over printed", "chain", "over printed")
    chain = {n: found[n]["all on"][1] / sum(PRINTED[n][1]) - 1 for n in found}
    return Section(
        f"{NAME}, section 6: causes, switched off one at a time",
        "Multiplications, divisions and additions of our programs for the two robots, "
        "with one cause of the difference switched off: the regrouping of masses, or a "
        "pass of the simplifier (those that change nothing are left out). The last row "
        "of each has none of them, only frames in Denavit-Hartenberg form and "
        "constants folded while tracing.",
        (Table(head, tuple(rows)),),
        after="So the ratio of Fig. 7 on the chain differs because our CRBA is "
        f"{-chain['CRBA']:.0%} below the printed count there, RNEA "
        f"{-chain['RNEA']:.0%} and ABA {-chain['ABA']:.0%} ({base[1]:,} operations).",
    )
