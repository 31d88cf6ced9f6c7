"""New figures of matplotlib, which is imported only here and when it is used."""

from __future__ import annotations

import importlib
from typing import Any, Final

from ramidyn.errors import Error

COLORS: Final = (
    "#2f6f9f", "#d9822b", "#3c8d5f", "#b0487a", "#7a5fb5", "#8a7a2e", "#3aa9b8",
    "#c4574a",
)  # fmt: skip
"""of curves"""


def new_figure(**options: Any) -> Any:
    """Return a new figure of pyplot: its windows show it, and so do notebooks.

    Raises:
        Error: matplotlib is not installed.
    """
    try:
        pyplot: Any = importlib.import_module("matplotlib.pyplot")
    except ImportError:
        raise Error("pictures need matplotlib: pip install 'ramidyn[plot]'") from None
    shown_once: Any = importlib.import_module("ramidyn.view.notebook_figure")
    return pyplot.figure(FigureClass=shown_once.NotebookFigure, **options)
