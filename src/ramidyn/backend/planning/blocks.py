"""The memory of planners, shared by emitted code and Python: blocks of 64-bit words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property

from ramidyn.backend.runtime.memory_layout import WORD

KNOT = (
    *("A", "B", "P", "R", "lx", "lu", "lxx", "lux", "luu", "low", "high", "gap"),
    *("policy", "lxx_below"),
)
"""arrays with an entry for each knot: an address, and the bytes from knot to knot"""


class Recursion(IntEnum):
    """The block of one recursion, followed by the words of KNOT."""

    STEPS = 0
    SCRATCH = 1  # address of RiccatiSizes.scratch
    BOX = 2  # address of a call, see `iteration_code`


def knot_word(name: str) -> int:
    """Return the place of an array's address in the block; its pace follows."""
    return len(Recursion) + 2 * KNOT.index(name)


@dataclass(frozen=True)
class RiccatiSizes:
    """The sizes that the code is written for.

    Attributes:
        n: entries of x.
        m: entries of u.
        dt: the time step, if A and B are given as C and D; else None.
        width: numbers of a vector.
        has_limits: whether u has limits.
        has_gaps: whether there are defects.
        block: size of P and R; 0 if both are 1.
        varying: rows of lxx that differ from knot to knot; those below are constant.
    """

    n: int
    m: int
    dt: float | None
    width: int
    has_limits: bool
    has_gaps: bool
    block: int = 0
    varying: int = 0

    @property
    def rows(self) -> int:
        """Of A and B as they are given."""
        return self.n if self.dt is None else self.n // 2

    def padded(self, columns: int) -> int:
        """Return the columns of whole vectors."""
        return -(-columns // self.width) * self.width

    @property
    def nx(self) -> int:
        """Columns of a matrix over x with its vector."""
        return self.padded(self.n + 1)

    @property
    def nu(self) -> int:
        """Columns of a matrix over u."""
        return self.padded(self.m)

    @cached_property
    def scratch(self) -> dict[str, tuple[int, tuple[int, ...]]]:
        """Places in bytes and shapes of what the recursion keeps, by name."""
        h = self.padded(self.rows)
        shapes = {
            "V": (self.n, self.nx),
            "W": (self.rows, h),
            "Ut": (self.rows, h),
            "G": (self.rows, self.nx),
            "Q": (self.n, self.nx),
            "WB": (self.rows, self.nu),
            "Qux": (self.m, self.nx),
            "Quu": (self.m, self.nu),
            "work": (self.m, self.nu + self.nx),
            "inverses": (1, self.m),
            "Qu": (self.nu,),
            "k": (self.nu,),
            "free": (self.nu,),
            "step": (self.nx,),
            "w": (self.rows,),
            "damping": (1,),
            "sums": (len(SUMS) + 1,),
        }
        found: dict[str, tuple[int, tuple[int, ...]]] = {}
        place = 0
        for name, shape in shapes.items():
            found[name] = place, shape
            # a vector more: blocks are read a few columns beyond their end
            place += (self.padded(math.prod(shape)) + self.width) * WORD
        return found

    @property
    def scratch_size(self) -> int:
        """Numbers of all of it."""
        place, shape = self.scratch["sums"]
        return place // WORD + math.prod(shape) + 2 * self.width


SUMS = ("slope", "curvature", "defect")
"""of all knots: k·Qu, ½ k·Quu k, Σ|f|; what f changes is part of the first two. Behind
them is what the recursion returned."""


class KernelCall(IntEnum):
    """A kernel with its arrays."""

    KERNEL = 0
    LOOP = 1  # of a scan, else 0
    N_PORTS = 2
    TEMPLATE = 3  # address of its views for the first problem
    OFFSETS = 4  # address of the bytes from problem to problem, of each view
    VIEWS = 5  # address of memory for the views of a call
    FAILED = 6  # address of a word that is not zero if there was no memory


class Copy(IntEnum):
    """An array of one problem, and where it comes from."""

    TARGET = 0
    PER_PROBLEM = 1  # bytes of the target
    SOURCE = 2
    PER_ROW = 3  # bytes of the source
    BYTES = 4


class Search(IntEnum):
    """The block of a search."""

    RECURSION = 0  # address of a block of the Riccati recursion
    STEPS = 1
    LENGTHS = 2  # how many are tried at once
    SUMS = 3  # address of the sums of the recursion
    DERIVATIVES = 4  # the first of the addresses of calls
    END = 5
    DECIDE = 6
    FIRST_ROLLOUT = 7
    ROLLOUT = 8
    FINAL_COST = 9
    TAKE_FULL = 10
    ROLLOUT_LENGTHS = 11
    FINAL_LENGTHS = 12
    TAKE_BEST = 13
    TAKE_FIRST = 14
    DONE = 15  # the first of the addresses of numbers, one for each problem
    GOES = 16
    ROW = 17  # of what was tried, that is taken; -1: none
    IS_SOUND = 18
    DAMPING = 19
    MOTION = 20  # address of N_MOTION copies
    N_MOTION = 21
    POLICY = 22  # address of N_POLICY copies
    N_POLICY = 23
    GAPS = 24  # address of N_GAPS copies
    N_GAPS = 25
    IS_BATCH = 26  # 0 if there is one problem, which need not try the full step first
