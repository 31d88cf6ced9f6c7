"""The functions that a program becomes: cuts, sweeps, and what runs when."""

from __future__ import annotations

from dataclasses import dataclass, field

from ramidyn.backend.runtime.instructions import Instruction
from ramidyn.symbolic.expr import Expr
from ramidyn.symbolic.program import Sweep


@dataclass(slots=True)
class Cut:
    """A run of operations that becomes one function."""

    name: str
    order: list[Expr]
    """operations, arguments first; constants and inputs are not listed"""
    loads: dict[Expr, int] = field(default_factory=dict[Expr, int])
    """values made before this cut: node -> slot"""
    stores: list[tuple[Expr, int]] = field(default_factory=list[tuple[Expr, int]])
    """what later cuts or the caller need: (node, slot)"""


@dataclass(frozen=True, slots=True)
class SweepLoop:
    """Sweeps over columns of a matrix: one function."""

    sweeps: tuple[Sweep, ...]
    shared: int
    """the first slot of what all columns need"""
    matrix: int
    """the first slot of the matrix"""
    rows: int
    spare: int
    """a column of the matrix that nobody reads, with others at its side"""


@dataclass(frozen=True, slots=True)
class Schedule:
    """The functions of a program, what is where in the workspace, and what runs when.

    Without ``steps``, functions run once and in their order.
    """

    functions: tuple[Cut | SweepLoop, ...]
    slots: int
    outputs: tuple[int, ...]
    """the slot of every result, flat and in order"""
    steps: tuple[Instruction, ...] = ()

    @property
    def cuts(self) -> list[Cut]:
        """The functions that are cuts."""
        return [f for f in self.functions if isinstance(f, Cut)]

    @property
    def traffic(self) -> int:
        """The number of values that cuts read from and write to the workspace."""
        return sum(len(cut.loads) + len(cut.stores) for cut in self.cuts)
