"""The dense solvers that Negrut, Serban & Potra (1997) compare with: Gauss and Alg-D.

They are written for any numbers with operators: floats to check them, unknown ones to
count them. Matrices are lists of rows.
"""

# ruff: noqa: N803, N806  the paper's letters

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ramidyn.algorithms.loops.cuts import cuts_of
from ramidyn.papers.operation_counts import Unknown, count_of
from ramidyn.robot import Robot
from ramidyn.symbolic.count import Ops
from ramidyn.symbolic.dense import inner, ldl

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


def stage_counts(run: Callable[[Any, Callable[[str], None]], object]) -> dict[str, Ops]:
    """Return the operations between one stage and the next, and "Total".

    ``run`` gets an unknown number and a function to call at the end of each stage.
    """
    x = Unknown()
    found: dict[str, Ops] = {}
    before = [0, 0, 0, 0]

    def done(stage: str) -> None:
        now = [x.mul, x.add, x.div, x.roots]
        found[stage] = Ops(*(b - a for a, b in zip(before, now, strict=True)))
        before[:] = now

    run(x, done)
    return {**found, "Total": Ops(x.mul, x.add, x.div, x.roots)}


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


# ------------------------------------------------------------ why counts differ


Printed = Mapping[str, int]
"""a row of a table: A, M, D and SQ"""
NO_CAUSE = "we find no count that gives the printed figures"


def step1(robot: Robot, printed: Printed, ours: Ops) -> str:
    """Return what full products of blocks add to the triangle."""
    tree, parts, more = robot.tree, list[str](), 0
    for i, dofs in enumerate(tree.dofs):
        above = len(dofs) * (len(dofs) - 1) // 2
        below = sum(
            len(tree.dofs[k]) for k in range(len(tree)) if i in tree.support(k)[:-1]
        )
        if above and below:
            parts.append(f"{above} · {below}")
            more += above * below
    text = "the triangle alone; full diagonal blocks take "
    return _explained(
        text + " + ".join(parts) + " more A and M",
        ours.add + more == printed["A"] and ours.mul + more == printed["M"],
    )


def step2(printed: Printed, ours: Ops, last: Ops) -> str:
    """Return where LᵀDL divides."""
    n = printed["D"] - ours.div
    return _explained(
        f"Cholesky divides {n} times here and in step 4, LᵀDL in step 4 alone",
        ours.div == 0 and last.div == n,
    )


def entries_of_t(entries: int, printed: Printed, also: Printed, n: int) -> str:
    """Return how many products step 3.2 or 3.5 has; ``also`` is the other's row."""
    text = f"one product and one sum for each of {entries} entries of T"
    if printed["A"] == printed["M"] == entries:
        return text
    if printed["A"] == also["A"] - n:
        return (
            f"{text}; the printed A are those of step 3.2 less one for each of {n} "
            f"entries of y ({also['A']} - {n}); of M, {NO_CAUSE}"
        )
    return f"{text}; {NO_CAUSE}"


def step33(robot: Robot, lengths: Sequence[int], printed: Printed, ours: Ops) -> str:
    """Return what full diagonal blocks of G add; ``lengths`` of the columns of T."""
    more, parts, at = 0, dict[int, int](), 0
    for cut in cuts_of(robot.model):
        rows = len(cut.rows)
        extra = rows * (rows - 1) // 2 * lengths[at]
        parts[extra] = parts.get(extra, 0) + 1
        more, at = more + extra, at + rows
    shown = " + ".join(f"{n} · {extra}" for extra, n in parts.items() if extra)
    text = f"the triangle alone; in full, diagonal blocks take {shown} more M"
    text = _explained(text, ours.mul + more == printed["M"])
    return text if ours.add == printed["A"] else f"{text}; of A, {NO_CAUSE}"


def step34(m: int, printed: Printed) -> str:
    """Return whether the paper counts the factorization alone."""
    factor = count_of(lambda x: ldl([[x] * (k + 1) for k in range(m)]))
    shown = f"{factor.add:,} A, {factor.mul:,} M and {factor.div:,} D"
    is_printed = (factor.add, factor.mul, factor.div) == tuple(
        printed[letter] for letter in "AMD"
    )
    text = f"the factorization alone takes {shown}; ours solves too"
    return _explained(text, is_printed)


def step4(printed: Printed, ours: Ops, n: int) -> str:
    """Return where y is subtracted."""
    return _explained(
        f"the paper subtracts {n} entries of y here, ours in step 3.5",
        ours.add + n == printed["A"],
    )


def dense34(m: int, printed: Printed) -> str:
    """Return what the dense step 3.4 takes."""

    def matrix(x: Any) -> list[list[Any]]:
        return [[x] * m for _ in range(m)]

    factor = count_of(lambda x: cholesky(matrix(x)))
    solves = count_of(lambda x: upper_solve(matrix(x), lower_solve(matrix(x), [x] * m)))
    text = f"factor {factor.add:,} A and M, two solves {solves.add:,}"
    if printed["A"] == factor.add + solves.add:
        return text
    for times in range(2, 6):
        if printed["A"] == times * factor.add + solves.add:
            return (
                f"{text}; the printed count fits {times} factorizations and the solves "
                f"({times} x {factor.add:,} + {solves.add:,}), a guess"
            )
    return f"{text}; {NO_CAUSE}"


def dense_total(printed: Sequence[int]) -> str:
    """Return whether printed additions add up to their printed sum."""
    *steps, total = printed
    if sum(steps) == total:
        return "step 3.4"
    return f"step 3.4; the printed A add up to {sum(steps):,}, not {total:,}"


def _explained(text: str, is_all: bool) -> str:
    return text if is_all else f"{text}, which is not all"
