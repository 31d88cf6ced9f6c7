"""Vectors of constants that are shorter than a line, in memory.

An instruction on 64 bytes reads one number into all lanes, and LLVM makes use of that.
One on fewer bytes can read a whole vector. But of a number in all lanes LLVM keeps one,
and takes an instruction on x86, or up to five on ARM, to bring it to all lanes.
"""

from __future__ import annotations

from typing import final


@final
class VectorConstants:
    """The constants of a cut or a function.

    Args:
        name: of all together.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._places: dict[str, int] = {}
        self._end: int = 0

    def read(self, kind: str, numbers: str, size: int) -> str:
        """Return IR that reads a vector of so many bytes."""
        vector, aligned = f"{kind} {numbers}", 1 << (size - 1).bit_length()
        if vector not in self._places:
            self._places[vector] = start = -(-self._end // aligned) * aligned
            self._end = start + aligned
        at = f"getelementptr (i8, ptr @{self.name}, i64 {self._places[vector]})"
        return f"load {kind}, ptr {at}, align {aligned}"

    def definition(self) -> str:
        """Return the IR of all that have been read."""
        if not self._places:
            return ""
        kinds = ", ".join(vector[: vector.index(">") + 1] for vector in self._places)
        values = ", ".join(self._places)
        return f"@{self.name} = private constant {{{kinds}}} {{{values}}}, align 64"
