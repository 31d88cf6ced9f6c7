"""LTDL row by row: which entries each step changes, and which stay zero.

The steps of Featherstone (2005), section 2 and Fig. 3, on any tree: row k, from the
last to the first, is divided by its pivot; then multiples of it are subtracted from the
rows of its ancestors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from ramidyn.tree.tree import ancestors, check_parents, sparsity_pattern

MARKS = {
    "pivot": "D",
    "divided": "/",
    "updated": "*",
    "done": "L",
    "waiting": "x",
    "zero": "·",
}
"""how `FactorStep.text` shows an entry of the lower triangle"""


@final
@dataclass(frozen=True, slots=True)
class FactorStep:
    """What happens while row k is eliminated."""

    parents: tuple[int, ...]
    k: int
    divided: tuple[tuple[int, int], ...]
    """entries of row k that are divided by the pivot: region 4 of the figure"""
    updated: tuple[tuple[int, int], ...]
    """entries that a product is subtracted from: region 5"""

    @property
    def dense(self) -> tuple[int, int]:
        """How many entries a full matrix has in the two regions."""
        return self.k, self.k * (self.k + 1) // 2

    def kinds(self) -> list[list[str]]:
        """Return the kind of each entry of the lower triangle: a key of MARKS."""
        pattern = sparsity_pattern(self.parents)
        rows: list[list[str]] = []
        for i in range(len(self.parents)):
            row: list[str] = []
            for j in range(i + 1):
                if not pattern[i, j]:
                    row.append("zero")
                elif (i, j) == (self.k, self.k):
                    row.append("pivot")
                elif (i, j) in self.divided:
                    row.append("divided")
                elif (i, j) in self.updated:
                    row.append("updated")
                else:
                    row.append("done" if i > self.k else "waiting")
            rows.append(row)
        return rows

    def text(self) -> str:
        """Return the lower triangle, an entry a character."""
        return "\n".join(" ".join(MARKS[e] for e in row) for row in self.kinds())

    def __str__(self) -> str:
        four, five = self.dense
        return (
            f"row {self.k + 1}: {len(self.divided)} divided and {len(self.updated)} "
            f"updated (of a full matrix, {four} and {five})\n{self.text()}"
        )


def factor_steps(parents: Sequence[int]) -> tuple[FactorStep, ...]:
    """Return the steps of LTDL along a tree, the last row first.

    >>> step = factor_steps((-1, 0, 0, 1, 1, 2, 2))[0]  # Tree 1 of the paper
    >>> print(step)
    row 7: 2 divided and 3 updated (of a full matrix, 6 and 21)
    *
    x x
    * · *
    x x · x
    x x · · x
    x · x · · x
    / · / · · · D
    """
    given = tuple(int(p) for p in parents)
    check_parents(given)
    steps: list[FactorStep] = []
    for k in reversed(range(len(given))):
        above = tuple(ancestors(given, k))
        updated = tuple((i, j) for i in above for j in (i, *ancestors(given, i)))
        steps.append(FactorStep(given, k, tuple((k, i) for i in above), updated))
    return tuple(steps)
