"""The address of the function that Python calls; `entry_code` writes it."""

from __future__ import annotations

import functools

from ramidyn.backend.llvm.emitted import load


def entry(name: str = "call") -> int:
    """Return the address of ``call``, or of ``choose`` (`dispatch_entry`)."""
    return _entries()[name]


@functools.cache
def _entries() -> dict[str, int]:
    def write() -> str:
        from ramidyn.backend.calls.entry_code import emit  # noqa: PLC0415  not in the cache

        return str(emit().llvm)

    names = ("call", "choose")
    return dict(zip(names, load(write, names, "pycall"), strict=True))
