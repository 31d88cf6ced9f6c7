"""Featherstone (2005), section 4: Tables 1 and 2, Fig. 5."""

# ruff: noqa: N803  the paper's letters

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ramidyn.algorithms import ltdl as tree_factor
from ramidyn.backend.sparse_factor.sweeps import SWEEPS, Diagonal
from ramidyn.catalog import paper_robots as robots
from ramidyn.explain.shape import TreeShape, family
from ramidyn.linalg.numbering import expanded_parents
from ramidyn.papers.document import Plot, Section, Table, compared, robot_of
from ramidyn.papers.operation_counts import count_of, factor_count, sweep_count
from ramidyn.symbolic.count import Ops
from ramidyn.tree.tree import ancestors

TREE1 = (-1, 0, 0, 1, 1, 2, 2)
"""Fig. 1, numbered from 0"""
TREE1_EXPANDED = expanded_parents(TREE1, (2, 2, 1, 1, 1, 3, 1))
"""Fig. 2: some of its joints have several degrees of freedom"""
NAME = "Featherstone 2005"
Operation = tuple[
    Callable[..., Any], Callable[[Sequence[int]], Ops], Callable[[TreeShape], Ops]
]
"""its program, what counts its native loops, and its formula"""


def sections() -> list[Section]:
    """Return the sections on the cost of factors."""
    return [trees(), table1(), table2()]


def humanoid_parents() -> tuple[int, ...]:
    """Return the expanded parents of the humanoid."""
    return robot_of(robots.humanoid30("general")).tree.dof_parents


# ------------------------------------------------------------ Table 1


def table1() -> Section:
    """Return the counts of programs and of native loops, with the formulas."""
    shapes = {
        "Tree 1": TreeShape(TREE1_EXPANDED),
        "humanoid": TreeShape(humanoid_parents()),
    }
    tables: list[Table] = []
    for name, s in shapes.items():
        rows: list[tuple[str, ...]] = []
        for operation, (program, loops, formula) in OPERATIONS.items():
            printed, ours = formula(s), counted(program, s.parents)
            native = loops(s.parents)
            rows.append(
                (
                    operation,
                    cost(printed),
                    cost(ours),
                    compared(printed, ours),
                    cost(native),
                )
            )
        head = (f"{name}, n = {s.n}", "printed", "program", "", "native loops")
        tables.append(Table(head, tuple(rows)))
    return Section(
        f"{NAME}, Table 1",
        "Table 1 gives the cost of LTL and LTDL, and of products with their factors, "
        "by n, D1, and D2. The programs are those that compiled code is made of "
        "(`algorithms/ltdl.py`), run on unknown numbers. The loops are the native ones "
        "behind `ramidyn.ltdl` and `Factor`, counted while they run. Both are counted "
        "for the expanded Tree 1 of section 2 and for the humanoid of section 6. √ is "
        "a square root, d a division, m a multiplication, a an addition.",
        tuple(tables),
        after="The loops divide once a row and multiply by the quotient, because a "
        "division takes as long as several products: D1 divisions become n, and 2 D1 "
        "products, because a row is scaled once for the rows above it, and once more "
        "where it stays. On the way to the root they "
        "collect what each ancestor gets before they add it, which takes one more "
        "addition a row.",
    )


def entries_of(parents: Sequence[int], x: Any) -> dict[tuple[int, int], Any]:
    """Return a matrix along a tree, every entry x."""
    return {(k, i): x for k in range(len(parents)) for i in (k, *ancestors(parents, k))}


def counted(program: Callable[..., Any], parents: Sequence[int]) -> Ops:
    """Return the operations of a program over a tree, all entries unknown."""
    dofs = range(len(parents))
    return count_of(
        lambda x: program(entries_of(parents, x), dict.fromkeys(dofs, x), parents)
    )


def _factor(M: Any, _: Any, parents: Sequence[int]) -> Any:
    return tree_factor.ltdl(M, parents)


def _ltl(M: Any, _: Any, parents: Sequence[int]) -> Any:
    return tree_factor.ltl(M, parents)


def _unit(L: Any) -> Any:
    return {at: v for at, v in L.items() if at[0] != at[1]}


def _ltl_solve(L: Any, x: Any, parents: Sequence[int]) -> Any:
    y = tree_factor.solve_LT(L, x, parents)
    return tree_factor.solve_L(L, y, parents)


def _ltdl_solve(L: Any, x: Any, parents: Sequence[int]) -> Any:
    return tree_factor.solve(_unit(L), dict(x), x, parents)


def _sweep(
    name: str, diagonal: Diagonal
) -> tuple[Callable[..., Any], Callable[[Sequence[int]], Ops]]:
    """Return a product with a factor: its program and its loops."""
    function = getattr(tree_factor, name)

    def program(L: Any, x: Any, parents: Sequence[int]) -> Any:
        return function(_unit(L) if diagonal == Diagonal.UNIT else L, x, parents)

    return program, lambda parents: sweep_count(parents, name, diagonal)


def _products() -> dict[str, Operation]:
    found: dict[str, Operation] = {}
    letters = ("L x", "Lᵀ x", "L⁻¹ x", "L⁻ᵀ x")
    for name, what in zip(SWEEPS, letters, strict=True):
        scale = "div" if name.startswith("solve") else "mul"

        def ltl(s: TreeShape, scale: str = scale) -> Ops:
            own = {scale: s.n}
            return Ops(mul=s.d1 + own.get("mul", 0), add=s.d1, div=own.get("div", 0))

        def ltdl(s: TreeShape) -> Ops:
            return Ops(mul=s.d1, add=s.d1)

        found[f"LTL, {what}"] = (*_sweep(name, Diagonal.OF_L), ltl)
        found[f"LTDL, {what}"] = (*_sweep(name, Diagonal.UNIT), ltdl)
    return found


OPERATIONS: dict[str, Operation] = {
    "LTL factorize": (
        _ltl,
        lambda parents: factor_count(parents, roots=True),
        lambda s: Ops(sqrt=s.n, div=s.d1, mul=s.d2, add=s.d2),
    ),
    "LTDL factorize": (
        _factor,
        lambda parents: factor_count(parents, roots=False),
        lambda s: Ops(div=s.d1, mul=s.d2, add=s.d2),
    ),
    "LTL back-substitute": (
        _ltl_solve,
        lambda parents: sweep_count(parents, "solve", Diagonal.OF_L, Diagonal.OF_L),
        lambda s: Ops(div=2 * s.n, mul=2 * s.d1, add=2 * s.d1),
    ),
    "LTDL back-substitute": (
        _ltdl_solve,
        lambda parents: sweep_count(parents, "solve", Diagonal.DIVIDE, Diagonal.UNIT),
        lambda s: Ops(div=s.n, mul=2 * s.d1, add=2 * s.d1),
    ),
    **_products(),
}
"""the rows of Table 1"""


def cost(ops: Ops) -> str:
    """Return a count in the paper's letters."""
    parts = ((ops.sqrt, "√"), (ops.div, "d"), (ops.mul, "m"), (ops.add, "a"))
    return " + ".join(f"{n}{letter}" for n, letter in parts if n) or "0"


# ------------------------------------------------------------ Figs. 1 and 4


def trees() -> Section:
    """Return Figs. 1 and 4: the trees as arrays of parents, and their patterns."""
    made = {
        "Tree 1": TREE1,
        "short side branches": tuple(family("short side branches", 8)),
        "binary tree": tuple(family("binary tree", 7)),
        "square grid": tuple(family("square grid", 9)),
    }
    rows: list[tuple[str, ...]] = []
    for name, parents in made.items():
        s = TreeShape(parents)
        lower = (
            "".join("x" if s.pattern[i, j] else "·" for j in range(i + 1))
            for i in range(s.n)
        )
        shown = ", ".join(f"{p + 1}" for p in parents)
        rows.append((name, shown, f"{s.d1}", f"{s.d2}", " / ".join(lower)))
    return Section(
        f"{NAME}, Figs. 1 and 4: trees",
        "Trees of the figures by their parents λ, numbered from 1, 0 for the root; and "
        "the nonzeros of H row by row, the lower triangle alone (Eq. 4).",
        (Table(("tree", "λ", "D1", "D2", "nonzeros of H"), tuple(rows)),),
    )


# ------------------------------------------------------------ Table 2 and Fig. 5

FORMULAS: dict[str, Callable[[int], tuple[int, int, int]]] = {
    "chain": lambda m: (m, (m * m - m) // 2, (m**3 - m) // 6),
    "short side branches": lambda m: (2 * m, m * m, (2 * m**3 + 3 * m * m + m) // 6),
    "binary tree": lambda m: (
        2**m - 1,
        sum(i * 2**i for i in range(1, m)),
        sum(i * (i + 1) * 2 ** (i - 1) for i in range(1, m)),
    ),
    "square grid": lambda m: (m * m, m**3 - m * m, (7 * m**4 - 6 * m**3 - m * m) // 12),
}
"""n, D1 and D2 in m, as printed"""
SIZES = {
    "chain": (2, 4, 8, 16, 32, 64, 128, 256),
    "short side branches": (2, 4, 8, 16, 32, 64, 128),
    "binary tree": (2, 3, 4, 5, 6, 7, 8),
    "square grid": (2, 4, 6, 8, 11, 16),
}
"""the m that are counted"""
RATIOS = (
    ("binary tree", 15, 7.8),
    ("binary tree", 255, 430.0),
    ("square grid", 16, 5.3),
    ("square grid", 256, 74.0),
)
"""how much cheaper than a full matrix, as printed"""


def factor_operations(name: str, n: int) -> int:
    """Return the operations of LTDL over a tree of a family, counted."""
    return counted(_factor, family(name, n)).total


def table2() -> Section:
    """Return the cost to factor along four families of trees, counted."""
    counts = {
        name: [
            (n, factor_operations(name, n), d1 + 2 * d2)
            for n, d1, d2 in map(formula, SIZES[name])
        ]
        for name, formula in FORMULAS.items()
    }
    rows: list[tuple[str, ...]] = []
    for name, sizes in counts.items():
        n, ours, printed = sizes[-1]
        equal = sum(a == b for _, a, b in sizes)
        rows.append(
            (
                name,
                f"{n}",
                f"{printed:,}",
                f"{ours:,}",
                f"equal at {equal} of {len(sizes)} sizes",
            )
        )
    ratios: list[tuple[str, ...]] = []
    for name, n, printed in RATIOS:
        ours = factor_operations("chain", n) / factor_operations(name, n)
        digits = f"{printed:.2g}" == f"{ours:.2g}"
        ratios.append(
            (
                name,
                f"{n}",
                f"{printed:g} ×",
                f"{ours:.1f} ×",
                "the same" if digits else "differs",
            )
        )
    plot = Plot(
        "figure5",
        f"{NAME}, Fig. 5: operations to factor M",
        "lines",
        {name: [(n, ours) for n, ours, _ in sizes] for name, sizes in counts.items()},
        axes=("n", "operations of LTDL, counted"),
    )
    return Section(
        f"{NAME}, Table 2 and Fig. 5",
        "What LTDL takes along four families of trees: counted while it factors, and "
        "by the formulas of Table 2, as D1 + 2 D2. The table shows the largest size; "
        "the figure shows all.",
        (
            Table(("topology", "n", "by formula", "counted", ""), tuple(rows)),
            Table(
                ("topology", "n", "cheaper than a full matrix, printed", "ours", ""),
                tuple(ratios),
            ),
        ),
        (plot,),
    )
