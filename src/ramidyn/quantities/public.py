"""The quantities that users see, as attributes of a module.

``public.pyi`` declares each one for editors, with its options and its docstring.
`tools/stub.py` generates it.
"""

from __future__ import annotations

from typing import Any

from ramidyn.quantities.registry import QUANTITIES

__all__ = list(QUANTITIES)  # pyright: ignore[reportUnsupportedDunderAll]  the stub lists them


def __getattr__(name: str) -> Any:
    """Return a quantity by name."""
    if name not in QUANTITIES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return QUANTITIES[name]
