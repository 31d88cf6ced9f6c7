"""The mass matrix: dense, sparse, factored, inverted; and the Coriolis matrix.

    M = Lᵀ D L       x = M⁻¹ b       τ = M q̈ + C q̇ + g

Matrices over the tree's degrees of freedom become the caller's by Pᵀ M P.

M⁻¹ times many columns is a loop:

    y = L⁻ᵀ b             nonzero where b is, and at the ancestors: a few rows
    x = L⁻¹ D⁻¹ y         there, and beyond as long as there is one way to go

All other rows are on branches that nothing pushes. They follow their trunk by the rules
W of `following_rules`, where enough columns use these. Columns with their nonzeros at
the same rows are one group. Of M⁻¹ itself, which is symmetric, the rows up to each
column's own are enough.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeAlias, final

from ramidyn.algorithms.coriolis import coriolis_in_body_frames, coriolis_in_root_frame
from ramidyn.algorithms.crba import crba, crba_root
from ramidyn.algorithms.ltdl import (
    MOST_OPERATIONS,
    DofVector,
    TreeEntries,
    elimination_parents,
    filled_matrix,
    ltdl,
    operations,
    solve,
    solve_LT,
)
from ramidyn.algorithms.matrix_layout import mass_matrix_layout
from ramidyn.algorithms.minv import Rules, following_rules, minv_aba, minv_ltdl
from ramidyn.coordinates.coordinates import DofOrder
from ramidyn.description.conventions import Conventions
from ramidyn.errors import ArgumentError, CompileError
from ramidyn.quantities.frames import world_linear
from ramidyn.symbolic.column_loop import ColumnGroup, map_columns, nested_groups
from ramidyn.symbolic.expr import ONE, ZERO, Expr
from ramidyn.symbolic.program import FRESH, KEPT, Sweep, SweepStep
from ramidyn.tracing.context import Context, array
from ramidyn.tracing.quantity import Shapes, quantity
from ramidyn.tree.model import Model
from ramidyn.tree.singular import check_dynamics
from ramidyn.tree.tree import ROOT, ancestors, depths

CRBA: dict[str, Callable[..., TreeEntries]] = {"crba": crba, "crba_root": crba_root}
_Sized: TypeAlias = tuple[ColumnGroup, int]
"""a group of columns, and how many of their rows are needed"""
CORIOLIS: dict[str, Callable[..., TreeEntries]] = {
    "body_frames": coriolis_in_body_frames,
    "root_frame": coriolis_in_root_frame,
}


def factored_trees(
    model: Model, _conventions: Conventions | None = None, **_: Any
) -> tuple[str, ...]:
    """Return the tree algorithms that can be compiled for a robot."""
    is_small = operations(model.tree.dof_parents) <= MOST_OPERATIONS
    return ("aba", "ltdl") if is_small else ("aba",)


LOOPS_INSTEAD = (
    "compile ramidyn.mass_matrix and factor its result with "
    "ramidyn.linalg.ltdl(H, parents), which runs native loops"
)


def check_factor(model: Model, instead: str) -> None:
    """Refuse a factor of M that would take minutes to compile, before it is traced."""
    count = operations(model.tree.dof_parents)
    if count > MOST_OPERATIONS:
        raise CompileError(
            f"the sparse factor of this mass matrix ({model.nv} degrees of freedom, "
            f"up to {max(depths(model.tree.dof_parents))} in a row) takes {count:,} "
            f"operations; more than {MOST_OPERATIONS:,} are not compiled to "
            f"straight-line code. Instead, {instead}"
        )


def check_tree_algorithm(
    name: str, algorithm: str, model: Model, factored: tuple[str, ...] = ()
) -> None:
    """Raise ArgumentError for options that a robot without loops does not allow.

    ``factored`` names algorithms that factor M, besides "ltdl".
    """
    allowed = (*factored_trees(model), *factored)
    if algorithm in allowed or algorithm == "ltdl":
        return  # a factor that is too large has its own message
    listed = ", ".join(map(repr, ("auto", *allowed)))
    raise ArgumentError(
        f"{name}: algorithm {algorithm!r} cannot be used, because robot "
        f"{model.name!r} has no loops; possible: {listed}"
    )


@quantity("q", algorithms=tuple(CRBA), returns="[kg m^2, kg m, kg]")
def mass_matrix(context: Context, algorithm: str = "auto") -> Any:
    """M."""
    M = CRBA[algorithm](context.dynamics_tree, context.q)
    return array(context.coordinates.matrix(M), context.model.nv)


@quantity("q", returns="nonzero entries of the mass matrix")
def mass_matrix_csr(context: Context) -> Any:
    """The entries of M in `mass_matrix_layout`, MuJoCo's M."""
    M, _, order = sparse_mass_matrix(context)
    return array(_packed_matrix(order.scatter_matrix(M), context.model))


@quantity("q", returns="L and D of M = L' D L")
def mass_matrix_factor(context: Context, packed: bool = False) -> dict[str, Any]:
    """L and D of M = Lᵀ D L."""
    check_dynamics(context.model)
    check_factor(context.model, LOOPS_INSTEAD)
    M, parents, order = sparse_mass_matrix(context)
    L, D = ltdl(M, parents)
    if packed:
        LD = order.scatter_matrix({**L, **{(k, k): d for k, d in D.items()}})
        return {"LD": array(_packed_matrix(LD, context.model))}
    n = len(order)
    unit = order.scatter_matrix({**L, **{(k, k): ONE for k in range(n)}})
    return {"L": array(unit, n), "D": array(order.scatter(D))}


def _right_hand_side(model: Model, **_: Any) -> Shapes:
    return {"b": (model.nv,)}


@quantity("q", further_inputs=_right_hand_side, returns="M^-1 b")
def mass_matrix_solve(context: Context) -> Any:
    """M⁻¹ b."""
    check_dynamics(context.model)
    check_factor(context.model, LOOPS_INSTEAD)
    solver = MassSolver(*sparse_mass_matrix(context))
    return array(solver.solved(context.inputs["b"]))


def inverse_algorithms(
    model: Model, _conventions: Conventions | None = None, **_: Any
) -> tuple[str, ...]:
    """Return the algorithms for M⁻¹: with mimic joints, only by the factor."""
    return ("ltdl",) if model.mimics else factored_trees(model)


@quantity("q", algorithms=("aba", "ltdl"), possible=inverse_algorithms, returns="M^-1")
def mass_matrix_inverse(context: Context, algorithm: str = "auto") -> Any:
    """M⁻¹."""
    check_dynamics(context.model)
    if algorithm == "aba" and context.model.mimics:
        raise ArgumentError(
            f"mass_matrix_inverse: algorithm 'aba' cannot be used, because robot "
            f"{context.model.name!r} has mimic joints, such as "
            f"{context.model.mimics[0]!r}; possible: 'auto', 'ltdl'"
        )
    check_tree_algorithm("mass_matrix_inverse", algorithm, context.model)
    if algorithm == "aba":
        found = minv_aba(context.dynamics_tree, context.q)
        return array(context.coordinates.matrix(found), context.model.nv)
    by_aba = "use algorithm='aba'"
    check_factor(context.model, LOOPS_INSTEAD if context.model.mimics else by_aba)
    M, parents, order = sparse_mass_matrix(context)
    L, D = ltdl(M, parents)
    lower = minv_ltdl(L, D, parents)
    upper = {(j, i): value for (i, j), value in lower.items()}
    return array(order.scatter_matrix({**lower, **upper}), context.model.nv)


@quantity("q", "qd", algorithms=tuple(CORIOLIS), returns="C of C qd")
def coriolis_matrix(context: Context, algorithm: str = "auto") -> Any:
    """C, with Ṁ − 2 C skew."""
    tree = context.dynamics_tree
    still = {k for i in world_linear(context) for k in tree.dofs[i][3:]}
    C = CORIOLIS[algorithm](tree, context.q, context.qd, still)
    return array(_congruent(context, C), context.model.nv)


# ------------------------------------------------------------ in the caller's q̇


def sparse_mass_matrix(
    context: Context, algorithm: str = "auto"
) -> tuple[TreeEntries, tuple[int, ...], DofOrder]:
    """Return M along a tree, that tree's parents, and where its rows are in q̇.

    The rows are in an order in which parents come first, whatever the order of q̇ is.
    """
    if algorithm == "auto":
        algorithm = context.algorithm_of(mass_matrix)
    return sparse_rows(context, CRBA[algorithm](context.dynamics_tree, context.q))


@final
class MassSolver:
    """M = Lᵀ D L of a robot, for right-hand sides in the order of q̇."""

    def __init__(
        self, M: TreeEntries, parents: tuple[int, ...], order: DofOrder
    ) -> None:
        self.parents, self.order = parents, order
        self.L, self.D = ltdl(M, parents)

    def solved(self, b: Sequence[Expr]) -> list[Expr]:
        """Return M⁻¹ b."""
        x = solve(self.L, self.D, self.order.gather(b), self.parents)
        return self.order.scatter(x)

    def half_solved(self, b: Sequence[Expr]) -> DofVector:
        """Return L⁻ᵀ b in the order of the tree."""
        return solve_LT(self.L, self.order.gather(b), self.parents)


def sparse_rows(
    context: Context, M: TreeEntries
) -> tuple[TreeEntries, tuple[int, ...], DofOrder]:
    """Return the entries of a matrix over the tree's degrees of freedom, likewise."""
    full = context.coordinates.matrix(M)
    order = DofOrder.of(context.tree)
    sparse: TreeEntries = {}
    for i, a in enumerate(order):
        for j, b in enumerate(order[: i + 1]):
            if i == j or not full[a][b].is_zero:
                sparse[i, j] = full[a][b]
    parents = elimination_parents(sparse, len(order))
    return filled_matrix(sparse, parents), parents, order


def _congruent(context: Context, C: TreeEntries) -> list[list[Expr]]:
    """Return Pᵀ C P of any matrix over the tree's degrees of freedom."""
    dofs = range(len(context.coordinates.P))
    row = context.coordinates.row
    half = [row([C.get((i, j), ZERO) for j in dofs]) for i in dofs]
    columns = [row([half[i][b] for i in dofs]) for b in range(context.model.nv)]
    return [list(r) for r in zip(*columns, strict=True)]


def _packed_matrix(dense: list[list[Expr]], model: Model) -> list[Expr]:
    return [dense[i][j] for i, j in mass_matrix_layout(model).pairs()]


def solved_columns(
    solver: MassSolver,
    columns: Sequence[Mapping[int, Expr]],
    factor: Expr = ONE,
    unit: int | None = None,
) -> list[list[Expr]]:
    """Return M⁻¹ times a matrix, by rows in the solver's order, through a loop.

    Args:
        solver: the factor.
        columns: the entries of each that are not zero, by row in the solver's order.
        factor: what the result is multiplied by.
        unit: the column from which on all are those of the unit matrix. Their result
            is symmetric: of each, the rows up to its own are enough.
    """
    L, D, n = solver.L, solver.D, len(solver.parents)
    tree = _Tree(solver.parents)
    unit, groups, wide = _groups(tree, [tree.closed(b) for b in columns], unit)
    use = Counter[tuple[int, int]]()
    for group, size in groups:
        for k, c in tree.trunks(group.rows, size).items():
            use[k, c] += len(group.columns)
    # A rule takes as many products to make for each joint between as its trunk is long.
    rules: dict[int, Rules] = {}
    for k, path in enumerate(tree.above):
        trunks = [c for c in path if use[k, c] > len(tree.above[c]) + 1]
        rules[k] = following_rules(k, L, tree.above, trunks, rules)

    shared = [*L.values(), *(factor / D[k] for k in range(n))]
    place = {entry: k for k, entry in enumerate(L)}
    in_rule: dict[tuple[int, int, int], int] = {}
    for k, found in rules.items():
        for c, rule in found.items():
            for i, w in rule.items():
                in_rule[k, c, i] = len(shared)
                shared.append(-w)

    def sweep(group: ColumnGroup, size: int) -> Sweep:
        rows, trunks = group.rows, tree.trunks(group.rows, size)
        steps: list[SweepStep] = []
        for i in sorted(rows, reverse=True):
            beyond = [k for k in tree.beyond[i] if k in rows]
            if beyond:
                steps.append(
                    SweepStep(i, KEPT, tuple((place[k, i], k) for k in beyond))
                )
        for k, path in enumerate(tree.above[:size]):
            start, c = (len(L) + k, None) if k in rows else (FRESH, trunks.get(k))
            if c in rules[k]:
                terms = [(in_rule[k, c, i], i) for i in (c, *tree.above[c])]
            else:
                terms = [(place[k, i], i) for i in path]
            steps.append(SweepStep(k, start, tuple(reversed(terms))))
        return Sweep(group.columns, tuple(steps))

    given: list[dict[int, Expr]] = [{} for _ in columns]
    for group, _ in wide:
        for c in group.columns:
            given[c] = {k: columns[c].get(k, ZERO) for k in sorted(group.rows)}
    every = [group.columns for group, _ in wide]
    sweeps, single = ([sweep(*x) for x in found] for found in (groups, wide))
    solved = map_columns(shared, given, every, sweeps, n, single)
    for k, row in enumerate(solved):
        row[unit:] = [
            solved[min(i, k)][unit + max(i, k)] for i in range(len(row) - unit)
        ]
    return solved


def _groups(
    tree: _Tree, closed: Sequence[frozenset[int]], unit: int | None
) -> tuple[int, list[_Sized], list[_Sized]]:
    """Return the first column that is known by symmetry, and groups with their size.

    These are of a batch, and of one state.
    """
    n, end = len(tree.parents), len(closed)
    rows, unit = dict(enumerate(closed)), end if unit is None else unit
    every = nested_groups(rows, tree.operations)
    separate = nested_groups({c: rows[c] for c in range(unit)}, tree.operations)
    lower = nested_groups(
        {c: rows[c] for c in range(unit, end)},
        lambda some: tree.operations(some, max(some) + 1),
    )
    whole, half = (
        sum(g.cost for found in x for g in found) for x in (every, (*separate, *lower))
    )
    if half >= whole:
        unit, separate, lower = end, every, nested_groups({}, tree.operations)
    few, many = (
        [*((g, n) for g in a), *((g, max(g.rows) + 1) for g in b)]
        for a, b in zip(separate, lower, strict=True)
    )
    return unit, few, many


@final
class _Tree:
    """Ancestors, the parent first, and all joints beyond, the last first."""

    def __init__(self, parents: Sequence[int]) -> None:
        n = len(parents)
        self.parents = parents
        self.above = [tuple(ancestors(parents, k)) for k in range(n)]
        self.beyond: list[list[int]] = [[] for _ in range(n)]
        for k in reversed(range(n)):
            for i in self.above[k]:
                self.beyond[i].append(k)
        self.children = Counter(parents)

    def closed(self, rows: Collection[int]) -> frozenset[int]:
        """Return some joints with all of their ancestors."""
        return frozenset(rows).union(*(self.above[k] for k in rows))

    def trunks(self, rows: frozenset[int], size: int) -> dict[int, int]:
        """Return the end of the trunk that other joints follow, if anything moves them.

        A joint that is the only one at the end of its trunk is part of that. Only the
        first joints are looked at, ``size`` of them.
        """
        found: dict[int, int] = {}
        for k, parent in enumerate(self.parents[:size]):
            if k in rows or parent == ROOT:
                continue
            if parent in found:
                found[k] = found[parent]
            elif self.children[parent] > 1:
                found[k] = parent
        return found

    def operations(self, rows: frozenset[int], size: int | None = None) -> int:
        """Return about how many products a column takes that is not zero in rows.

        Only its first rows are needed, ``size`` of them.
        """
        size = len(self.parents) if size is None else size
        trunks = self.trunks(rows, size)
        return sum(
            1 + len(self.above[trunks.get(k, k)]) * (2 if k in rows else 1)
            for k in range(size)
        )
