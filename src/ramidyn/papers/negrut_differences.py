"""Why our counts differ from those of Negrut, Serban & Potra (1997), counted.

Each function returns a sentence on one step. A printed number is explained only where
the explanation gives it, to the operation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ramidyn.algorithms.loops.cuts import cuts_of
from ramidyn.papers.dense_solvers import cholesky, lower_solve, upper_solve
from ramidyn.papers.unknown import count_of
from ramidyn.robot import Robot
from ramidyn.symbolic.count import Ops
from ramidyn.symbolic.dense import ldl

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


def entries_of_t(entries: int, printed: Printed) -> str:
    """Return how many products step 3.2 or 3.5 has."""
    text = f"one product and one sum for each of {entries} entries of T"
    is_printed = printed["A"] == printed["M"] == entries
    return text if is_printed else f"{text}; {NO_CAUSE}"


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
    is_printed = printed["A"] == factor.add + solves.add
    return text if is_printed else f"{text}; {NO_CAUSE}"


def dense_total(printed: Sequence[int]) -> str:
    """Return whether printed additions add up to their printed sum."""
    *steps, total = printed
    if sum(steps) == total:
        return "step 3.4"
    return f"step 3.4; the printed A add up to {sum(steps):,}, not {total:,}"


def _explained(text: str, is_all: bool) -> str:
    return text if is_all else f"{text}, which is not all"
