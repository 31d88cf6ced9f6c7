"""A figure that a notebook shows once. Imported only when a figure is made."""

from __future__ import annotations

from typing import Any, cast, final

import matplotlib
from matplotlib import pyplot
from matplotlib.figure import Figure


@final
class NotebookFigure(Figure):
    """A figure that notebooks do not show twice where a cell ends with it.

    They show all open figures of pyplot after a cell, and the value of its last line.
    """

    def _ipython_display_(self) -> None:
        is_inline = "inline" in matplotlib.get_backend()
        if is_inline and pyplot.fignum_exists(cast("Any", self).number):
            return
        raise NotImplementedError  # IPython then displays it like any figure
