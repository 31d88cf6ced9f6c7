"""The numbers of a Kernel block that follow from its program and lanes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ramidyn.backend.runtime.memory_layout import LINE, NEVER, Kernel

BYTES = {"float64": 8, "float32": 4}
TILES, NEAR = 8, 512 * 1024
"""Tiles that a cut runs on before the next, and bytes of their workspaces at most.

A second cache of 1 MB holds them with the code: from there a cut reads its values in
less time than from the third.
"""
FAR, PIECE = 16 * 1024 * 1024, 5 * 1024
"""Bytes of a call's results that are streamed, and of a tile's that follow a cut.

FAR is what a last cache hardly keeps beside all else. Some 3 kB wait in the processor
to be written while a cut computes; smaller pieces cost more than they hide, and tiles
with fewer results are not streamed.
"""


@dataclass(frozen=True, slots=True)
class KernelSizes:
    """The sizes of a kernel, and the offsets of its results in a workspace."""

    fields: dict[Kernel, int]
    places: list[int]
    bytes: int
    """of the workspace of one tile"""


def kernel_sizes(
    slots: int, outputs: Sequence[int], cuts: int, lanes: int, dtype: str
) -> KernelSizes:
    """Return the sizes of a kernel with so many slots, results and cuts."""
    slot = lanes * BYTES[dtype]
    size = -(-slots * slot // LINE) * LINE
    places = [k * slot for k in outputs]
    part = max(PIECE // slot, -(-len(places) // max(cuts, 1)))
    fields = {
        Kernel.BYTES: size,
        Kernel.TILES: max(1, min(TILES, NEAR // max(size, 1))),
        Kernel.ELEMENTS: len(places),
        Kernel.PART: part,
        Kernel.FAR: FAR if len(places) * slot >= PIECE else NEVER,
    }
    return KernelSizes(fields, places, size)
