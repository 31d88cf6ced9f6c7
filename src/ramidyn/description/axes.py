"""The axes that 6-vectors are expressed in, by name."""

from __future__ import annotations

from typing import Final

EXPRESSED_IN: Final = ("local", "world", "local_world_aligned")


def axes_named(value: object) -> str | None:
    """Return a word of EXPRESSED_IN, also for Pinocchio's name of it, or None."""
    word = getattr(value, "name", value)  # pinocchio.LOCAL, a ReferenceFrame
    word = word.lower() if isinstance(word, str) else None
    return word if word in EXPRESSED_IN else None
