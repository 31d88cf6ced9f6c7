"""New figures of matplotlib, which is imported only here and when it is used."""

from __future__ import annotations

import functools
import importlib
from typing import Any, Final

from ramidyn.errors import Error, install_command

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
        raise Error(f"pictures need matplotlib: {install_command('plot')}") from None
    return pyplot.figure(FigureClass=_notebook_figure(pyplot), **options)


@functools.cache  # a class is made once; its base is matplotlib's
def _notebook_figure(pyplot: Any) -> Any:
    """Return a class of figures that notebooks do not show twice where a cell ends.

    They show the value of a cell's last line, then all open figures of pyplot: a figure
    that is shown is no longer among those.
    """
    matplotlib: Any = importlib.import_module("matplotlib")

    class NotebookFigure(pyplot.Figure):
        def _ipython_display_(self) -> None:
            if "inline" in matplotlib.get_backend():
                pyplot.close(self)
            raise NotImplementedError  # IPython then displays it like any figure

    return NotebookFigure
