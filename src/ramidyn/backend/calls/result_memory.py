"""Memory of large results, used again when nobody has them any more.

New memory costs a page fault for every 4 kB: filling it for the first time takes longer
than computing a mass matrix. So large results lie in blocks of their own, in huge pages
where the system has them. When the last array on a block is gone, the block is kept for
a later result, up to ``RAMIDYN_KEPT_MB`` megabytes in all (256; 0 keeps none).
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import math
import mmap
import os
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np

from ramidyn.backend.runtime.memory_layout import LARGE
from ramidyn.errors import ArgumentError

HUGE: Final = 2**21
"""bytes of a huge page: blocks are multiples of it"""
KEPT_MB: Final = 256
ROOMY: Final = 2
"""a block may be so many times larger than what it is used for"""


@final
@dataclass(frozen=True, slots=True, eq=False)
class MemoryBlock:
    """Memory of the system."""

    pages: mmap.mmap
    address: int
    size: int

    @staticmethod
    def of(size: int) -> MemoryBlock:
        """Return new memory, all zero."""
        pages = mmap.mmap(-1, size)
        if hasattr(mmap, "MADV_HUGEPAGE"):
            with contextlib.suppress(OSError):  # a system may have small ones only
                pages.madvise(mmap.MADV_HUGEPAGE)
        return MemoryBlock(
            pages, ctypes.addressof(ctypes.c_char.from_buffer(pages)), size
        )


@final
class Lease:
    """What an array on a block has as its base; its end gives the block back."""

    __slots__ = ("__array_interface__", "_block", "_memory")

    def __init__(
        self,
        memory: ResultMemory,
        block: MemoryBlock,
        shape: tuple[int, ...],
        typestr: str,
    ) -> None:
        self._memory, self._block = memory, block
        self.__array_interface__: dict[str, Any] = {
            "shape": shape,
            "typestr": typestr,
            "data": (block.address, False),
            "version": 3,
        }

    def __del__(self) -> None:
        self._memory.give_back(self._block)


@final
class ResultMemory:
    """Blocks that no array uses, oldest first."""

    def __init__(self, most: int) -> None:
        self.most: int = most
        """bytes that are kept"""
        self._free: list[MemoryBlock] = []

    @property
    def kept(self) -> int:
        """Bytes of the blocks that are kept."""
        return sum(block.size for block in self._free)

    def empty(self, shape: int | tuple[int, ...], dtype: Any) -> Any:
        """Return a new array, as `numpy.empty` does."""
        lengths = (shape,) if isinstance(shape, int) else shape
        kind: Any = np.dtype(dtype)
        size = math.prod(lengths) * kind.itemsize
        if size < LARGE or not self.most:
            return np.empty(lengths, kind)
        return np.asarray(Lease(self, self._block(size), lengths, kind.str))

    def _block(self, size: int) -> MemoryBlock:
        """Return the newest block that fits, or a new one."""
        for block in reversed(self._free):
            if size <= block.size <= max(ROOMY * size, HUGE):
                try:
                    self._free.remove(block)
                except ValueError:  # another thread was faster
                    continue
                return block
        try:
            return MemoryBlock.of(-(-size // HUGE) * HUGE)
        except OSError as error:
            raise MemoryError(f"no memory for a result of {size:,} bytes") from error

    def give_back(self, block: MemoryBlock) -> None:
        """Keep a block that no array uses; let the oldest go beyond the bound."""
        self._free.append(block)
        while self._free and self.kept > self.most:
            del self._free[:1]


def kept_bytes() -> int:
    """Return how much memory is kept, as the environment says."""
    text = os.environ.get("RAMIDYN_KEPT_MB", str(KEPT_MB))
    try:
        megabytes = float(text)
    except ValueError:
        megabytes = math.nan
    if not 0.0 <= megabytes < math.inf:
        raise ArgumentError(
            f"RAMIDYN_KEPT_MB is {text!r}; expected megabytes of memory, such as "
            f"{KEPT_MB}, or 0"
        )
    return int(megabytes * 2**20)


@functools.cache
def memory() -> ResultMemory:
    """Return the blocks of this process."""
    return ResultMemory(kept_bytes())


def empty(shape: int | tuple[int, ...], dtype: Any) -> Any:
    """Return a new array, as `numpy.empty` does."""
    return memory().empty(shape, dtype)
