"""A figure that a notebook shows once. Imported only when a figure is made."""

from __future__ import annotations

from typing import final

import matplotlib
from matplotlib import pyplot
from matplotlib.figure import Figure


@final
class NotebookFigure(Figure):
    """A figure that notebooks do not show twice where a cell ends with it.

    They show the value of a cell's last line, then all open figures of pyplot: a figure
    that is shown is no longer among those.
    """

    def _ipython_display_(self) -> None:
        if "inline" in matplotlib.get_backend():
            pyplot.close(self)
        raise NotImplementedError  # IPython then displays it like any figure
