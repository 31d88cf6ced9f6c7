"""The address of the function that runs a kernel on arrays; `driver_code` writes it."""

from __future__ import annotations

import functools

from ramidyn.backend.llvm.emitted import load
from ramidyn.backend.llvm.target import Processor, runnable


def driver(dtype: str, lanes: int) -> int:
    """Return the address of ``run`` for one element type and tile width."""
    return _driver(dtype, lanes, runnable())


@functools.cache
def _driver(dtype: str, lanes: int, target: Processor) -> int:
    def write() -> str:
        from ramidyn.backend.runtime.driver_code import emit  # noqa: PLC0415  not in the cache
        from ramidyn.backend.runtime.tiles import Tile  # noqa: PLC0415  not in the cache

        return str(emit(Tile(dtype, lanes), target).llvm)

    return load(write, ["run"], f"driver {dtype} {lanes}")[0]
