"""The solvers that Negrut, Serban & Potra (1997) compare: Gauss, Alg-D and Alg-S.

They are written for any numbers with operators: floats to check them, unknown ones to
count them. Matrices are lists of rows.
"""

# ruff: noqa: N803, N806  the paper's letters

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

from ramidyn.algorithms.block_cholesky import block_cholesky, blocks_of
from ramidyn.algorithms.loops.cuts import cuts_of
from ramidyn.algorithms.ltdl import TreeEntries, solve_L, solve_LT
from ramidyn.explain.closed_loops import columns_of
from ramidyn.papers.featherstone import entries_of
from ramidyn.papers.operation_counts import Unknown, count_of
from ramidyn.robot import Robot
from ramidyn.symbolic.count import Ops
from ramidyn.symbolic.dense import inner
from ramidyn.tree.tree import ancestors

Matrix = list[list[Any]]
Vector = list[Any]


def gauss_factor(A: Matrix) -> Matrix:
    """Return L and U of A = L U in one matrix, without pivoting."""
    LU = [list(row) for row in A]
    n = len(LU)
    for k in range(n):
        for i in range(k + 1, n):
            LU[i][k] = LU[i][k] / LU[k][k]
            for j in range(k + 1, n):
                LU[i][j] = LU[i][j] - LU[i][k] * LU[k][j]
    return LU


def gauss_forward(LU: Matrix, b: Vector) -> Vector:
    """Return y of L y = b."""
    y = list(b)
    for i in range(len(y)):
        for j in range(i):
            y[i] = y[i] - LU[i][j] * y[j]
    return y


def gauss_back(LU: Matrix, y: Vector) -> Vector:
    """Return x of U x = y."""
    x = list(y)
    for i in reversed(range(len(x))):
        for j in range(i + 1, len(x)):
            x[i] = x[i] - LU[i][j] * x[j]
        x[i] = x[i] / LU[i][i]
    return x


def cholesky(A: Matrix) -> Matrix:
    """Return the lower triangle L of A = L Lᵀ."""
    n = len(A)
    L: Matrix = [list(A[i][: i + 1]) for i in range(n)]
    for k in range(n):
        L[k][k] = square_root(L[k][k])
        for i in range(k + 1, n):
            L[i][k] = L[i][k] / L[k][k]
        for i in range(k + 1, n):
            for j in range(k + 1, i + 1):
                L[i][j] = L[i][j] - L[i][k] * L[j][k]
    return L


def square_root(x: Any) -> Any:
    """Return the root of a number of any kind."""
    return x**0.5 if isinstance(x, float) else x.sqrt()


def lower_solve(L: Matrix, b: Vector) -> Vector:
    """Return y of L y = b."""
    y = list(b)
    for i in range(len(y)):
        for j in range(i):
            y[i] = y[i] - L[i][j] * y[j]
        y[i] = y[i] / L[i][i]
    return y


def upper_solve(L: Matrix, y: Vector) -> Vector:
    """Return x of Lᵀ x = y."""
    x = list(y)
    for i in reversed(range(len(x))):
        for j in range(i + 1, len(x)):
            x[i] = x[i] - L[j][i] * x[j]
        x[i] = x[i] / L[i][i]
    return x


def algorithm_d(
    M: Matrix,
    J: Matrix,
    Q: Vector,
    gamma: Vector,
    done: Callable[[str], None] = lambda _: None,
) -> tuple[Vector, Vector]:
    """Solve M q̈ + Jᵀ λ = Q, J q̈ = γ by the steps of section 4.3, dense.

    ``done`` is told of each step that is finished.
    """
    L = cholesky(M)
    done("1")
    z = lower_solve(L, Q)
    done("2")
    T = [lower_solve(L, row) for row in J]  # the columns of T
    done("3.1")
    r = [inner(column, z) - g for column, g in zip(T, gamma, strict=True)]
    done("3.2")
    G = [[inner(a, b) for b in T[: i + 1]] for i, a in enumerate(T)]
    done("3.3")
    C = cholesky(G)
    multipliers = upper_solve(C, lower_solve(C, r))
    done("3.4")
    y = [inner(row, multipliers) for row in zip(*T, strict=True)]
    done("3.5")
    qdd = upper_solve(L, [a - b for a, b in zip(z, y, strict=True)])
    done("4")
    return qdd, multipliers


@dataclass(frozen=True)
class Sparsity:
    """Where M and J of a mechanism can be nonzero."""

    bodies: tuple[int, ...]
    """parents of the bodies of the spanning tree"""
    dofs: tuple[tuple[int, ...], ...]
    """of each body's joint"""
    parents: tuple[int, ...]
    """of the degrees of freedom"""
    columns: tuple[tuple[int, ...], ...]
    """of each row of J: the degrees of freedom where it is not zero"""
    cuts: tuple[range, ...]
    """the rows of each cut joint"""
    names: tuple[str, ...]
    """of the bodies"""

    @staticmethod
    def of(robot: Robot) -> Sparsity:
        """Return that of a robot with loops."""
        tree, ends = robot.tree, [0]
        for cut in cuts_of(robot.model):
            ends.append(ends[-1] + len(cut.rows))
        columns = tuple(map(tuple, columns_of(robot)))
        cuts = tuple(range(a, b) for a, b in pairwise(ends))
        names = tuple(tree.name(i) for i in range(len(tree)))
        parents = tree.parents, tree.dofs, tree.dof_parents
        return Sparsity(*parents, columns, cuts, names)

    @cached_property
    def reached(self) -> tuple[frozenset[int], ...]:
        """The nonzeros of each column of T (Lemma 3)."""
        return tuple(
            frozenset(i for k in c for i in (k, *ancestors(self.parents, k)))
            for c in self.columns
        )


def algorithm_s(
    M: TreeEntries,
    J: Sequence[Mapping[int, Any]],
    Q: Vector,
    gamma: Vector,
    at: Sparsity,
    done: Callable[[str], None] = lambda _: None,
) -> tuple[Vector, Vector]:
    """Solve the same system by the same steps, sparse, as the paper takes them.

    M has a dense block for each joint, and TᵀT one for each pair of cut joints; those
    on its diagonal are computed in full.
    """
    blocks = block_cholesky(blocks_of(M, at.dofs, at.bodies), at.bodies)
    L = {
        (a, b): block[r][c]
        for (i, j), block in blocks.items()
        for r, a in enumerate(at.dofs[i])
        for c, b in enumerate(at.dofs[j])
        if a >= b
    }
    done("1")
    z = solve_LT(L, dict(enumerate(Q)), at.parents)
    done("2")
    T = [_column(L, row, at.parents) for row in J]
    done("3.1")
    r = [_inner(t, z) - g for t, g in zip(T, gamma, strict=True)]
    done("3.2")
    m = len(J)
    G: Matrix = [[None] * m for _ in range(m)]
    for k, own in enumerate(at.cuts):
        for other in at.cuts[: k + 1]:
            for i in own:
                for j in other:
                    G[i][j] = _inner(T[i], T[j])
    done("3.3")
    C = cholesky(G)
    done("3.4")
    multipliers = upper_solve(C, lower_solve(C, r))
    done(SOLVES)
    y: dict[int, Any] = {}
    for t, x in zip(T, multipliers, strict=True):
        for i, e in t.items():
            y[i] = y[i] + e * x if i in y else e * x
    done("3.5")
    qdd = solve_L(L, {i: z[i] - y[i] if i in y else z[i] for i in z}, at.parents)
    done("4")
    return [qdd[i] for i in range(len(Q))], multipliers


SOLVES = "solve for λ"
"""a part of step 3.4 that the paper does not count"""


def _column(L: TreeEntries, row: Mapping[int, Any], parents: Sequence[int]) -> Any:
    """Return L⁻ᵀ times a row of J, a column of T."""
    y = dict(row)
    for k in reversed(range(len(parents))):
        if k in y:
            y[k] = y[k] / L[k, k]
            for i in ancestors(parents, k):
                more = L[k, i] * y[k]
                y[i] = y[i] - more if i in y else -more
    return y


def _inner(a: Mapping[int, Any], b: Mapping[int, Any]) -> Any:
    common = [i for i in a if i in b]
    return inner([a[i] for i in common], [b[i] for i in common])


def stage_counts(run: Callable[[Any, Callable[[str], None]], object]) -> dict[str, Ops]:
    """Return the operations between one stage and the next, and "Total".

    ``run`` gets an unknown number and a function to call at the end of each stage.
    """
    x = Unknown()
    found: dict[str, Ops] = {}
    before = Ops()

    def done(stage: str) -> None:
        nonlocal before
        now = Ops(x.mul, x.add, x.div, x.roots)
        found[stage], before = minus(now, before), now

    run(x, done)
    return {**found, "Total": before}


def minus(a: Ops, b: Ops) -> Ops:
    """Return the operations that a has more than b."""
    return Ops(a.mul - b.mul, a.add - b.add, a.div - b.div, a.sqrt - b.sqrt)


def gauss_counts(n: int) -> dict[str, Ops]:
    """Return the operations of Gaussian elimination of n equations, by stage."""

    def run(x: Any, done: Callable[[str], None]) -> None:
        LU = gauss_factor([[x] * n for _ in range(n)])
        done("factorize")
        y = gauss_forward(LU, [x] * n)
        done("substitute forward")
        gauss_back(LU, y)
        done("substitute back")

    return stage_counts(run)


def algorithm_d_counts(n: int, m: int) -> dict[str, Ops]:
    """Return the operations of Alg-D for n coordinates and m constraints, by step."""
    return stage_counts(
        lambda x, done: algorithm_d(
            [[x] * n for _ in range(n)],
            [[x] * n for _ in range(m)],
            [x] * n,
            [x] * m,
            done,
        )
    )


def algorithm_s_counts(at: Sparsity) -> dict[str, Ops]:
    """Return the operations of Alg-S for a mechanism, by step."""

    def run(x: Any, done: Callable[[str], None]) -> None:
        n, m = len(at.parents), len(at.columns)
        rows = [dict.fromkeys(c, x) for c in at.columns]
        algorithm_s(entries_of(at.parents, x), rows, [x] * n, [x] * m, at, done)

    return stage_counts(run)


# ------------------------------------------------------------ why counts differ


Printed = Mapping[str, int]
"""a row of a table: A, M, D and SQ"""


def sparse_notes(at: Sparsity, printed: Mapping[str, Printed]) -> dict[str, str]:
    """Return what is known of the printed counts that Alg-S does not take."""
    entries, n = sum(map(len, at.reached)), len(at.parents)
    p32, p33, p35 = (printed[step] for step in ("3.2", "3.3", "3.5"))
    left_out = entries - p32["M"]
    fits = [
        name
        for name, dofs in zip(at.names, at.dofs, strict=True)
        if sum(k in t for t in at.reached for k in dofs) == left_out
    ]
    blocks = [
        (len(dofs), len(a) * len(b))
        for k, a in enumerate(at.cuts)
        for b in at.cuts[: k + 1]
        for dofs in at.dofs
        if dofs[0] in at.reached[a[0]] and dofs[0] in at.reached[b[0]]
    ]
    alone_sums = sum((d - 1) * size for d, size in blocks)
    found: dict[str, str] = {}
    found["3.2"] = f"T has {entries} entries; the printed counts are {left_out} fewer"
    if fits:
        found["3.2"] += f", as many as it has at the joint of {', '.join(fits)}"
    found["3.3"] = (
        f"products of blocks, without the sums of products, take {alone_sums} A: "
        f"{alone_sums - p33['A']} more than printed"
    )
    found["3.5"] = (
        f"with {p32['M']} entries as in step 3.2, T λ takes {p32['M'] - n} A, and "
        f"{p32['M'] - p35['M']} M more than printed"
    )
    return found


def dense_notes(m: int, printed: Mapping[str, Sequence[int]], step: int) -> str:
    """Return what is known of step 3.4 of the dense algorithm (at place ``step``)."""

    def matrix(x: Any) -> Matrix:
        return [[x] * m for _ in range(m)]

    factor = count_of(lambda x: cholesky(matrix(x)))
    solves = count_of(lambda x: upper_solve(matrix(x), lower_solve(matrix(x), [x] * m)))
    sums = factor.add - m * (m - 1) // 2  # of inner products that start with a product
    *steps, total = printed["A"]
    wanted = total - (sum(steps) - steps[step])
    text = f"{factor.mul:,} M to factor and {solves.mul:,} for two solves"
    times = (printed["M"][step] - solves.mul) // factor.mul
    if printed["M"][step] == times * factor.mul + solves.mul:
        text += f"; the printed M fit {times} x {factor.mul:,} + {solves.mul:,}"
    if wanted == times * sums + solves.add:
        text += (
            f", and their sum of A, {total:,}, fits {times} x {sums:,} + {solves.add:,}"
            f" = {wanted:,} here, not {steps[step]:,}: a guess"
        )
    return text
