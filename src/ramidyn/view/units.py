"""Figures with units, for people."""

from __future__ import annotations


def seconds(x: float) -> str:
    """Return a time with a unit that suits it."""
    for unit, scale in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if x * scale >= 0.9995:
            return f"{x * scale:.3g} {unit}"
    return f"{x * 1e9:.0f} ns"
