"""Draw plots as PNG files, with matplotlib."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from ramidyn.papers.document import Plot

COLORS = ("#2f6f9f", "#d9822b", "#3c8d5f", "#b0487a", "#7a5fb5", "#8a7a2e")


def draw(plot: Plot, folder: Path) -> Path:
    """Write one plot into a folder; an ImportError says that matplotlib is absent."""
    matplotlib: Any = importlib.import_module("matplotlib")
    matplotlib.use("Agg")
    pyplot: Any = importlib.import_module("matplotlib.pyplot")
    figure, axes = pyplot.subplots(figsize=(7.2, 3.8), layout="constrained")
    if plot.kind == "lines":
        _lines(plot, axes)
    else:
        _bars(plot, axes)
    axes.set_title(plot.title, fontsize=10, loc="left")
    axes.set_xlabel(plot.axes[0])
    axes.set_ylabel(plot.axes[1])
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{plot.name}.png"
    figure.savefig(path, dpi=100)
    pyplot.close(figure)
    return path


def _lines(plot: Plot, axes: Any) -> None:
    for color, (name, points) in zip(COLORS, plot.series.items(), strict=False):
        x, y = zip(*points, strict=True)
        axes.plot(x, y, color=color, label=name)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.grid(color="#e4e4e0", linewidth=0.6)


def _bars(plot: Plot, axes: Any) -> None:
    width = 0.84 / len(plot.series)
    for k, (name, points) in enumerate(plot.series.items()):
        x = [n + width * (k - (len(plot.series) - 1) / 2) for n, _ in points]
        axes.bar(x, [y for _, y in points], width * 0.95, label=name, color=COLORS[k])
    places = [n for n, _ in next(iter(plot.series.values()))]
    axes.set_xticks(places, plot.labels, fontsize=8)
    axes.yaxis.set_major_formatter("{x:,.0f}")
