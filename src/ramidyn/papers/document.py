"""Sections with tables and plots, as Markdown and as HTML."""

from __future__ import annotations

import html
import importlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ramidyn.description.description import Description
from ramidyn.explain.style import STYLE
from ramidyn.robot import Robot


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of text under a head."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Plot:
    """What a picture shows; `plots` draws it."""

    name: str
    """of its file, without the suffix"""
    title: str
    kind: str
    """"lines" (over logarithmic axes) or "bars" """
    series: dict[str, list[tuple[float, float]]]
    labels: tuple[str, ...] = ()
    """under the bars"""
    axes: tuple[str, str] = ("", "")


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the document."""

    title: str
    words: str = ""
    tables: tuple[Table, ...] = ()
    plots: tuple[Plot, ...] = field(default=())
    after: str = ""
    """what is said below the tables"""


def robot_of(made: Description) -> Robot:
    """Return the robot of a function of `ramidyn.robots`."""
    return Robot.from_description(made)


def compared(printed: object, ours: object) -> str:
    """Return whether two results are equal, in a plain word."""
    return "the same" if printed == ours else "differs"


def verdict(is_met: bool) -> str:
    """Return whether a claim holds, in a word."""
    return "holds" if is_met else "differs"


def comparison(first: str, values: Mapping[str, tuple[object, object]]) -> Table:
    """Return a table of printed values and ours, a row each."""
    rows = ((k, f"{p}", f"{o}", compared(p, o)) for k, (p, o) in values.items())
    return Table((first, "printed", "ours", ""), tuple(rows))


def cost(m: int, a: int) -> str:
    """Return a count in the papers' letters."""
    return f"{m}m + {a}a"


def word(printed: float, ours: float) -> str:
    """Return how our number compares with the printed one, in a word."""
    if printed == ours:
        return "the same"
    share = ours / printed - 1
    size = f"{abs(share):.0%}" if abs(share) >= 0.005 else "slightly"
    return f"{size} {'higher' if share > 0 else 'lower'}"


def markdown(sections: Sequence[Section], head: str, images: str) -> str:
    """Return the document as Markdown; plots are files in the folder ``images``."""
    parts = [head]
    for s in sections:
        parts.append(f"## {s.title}")
        parts += [s.words] if s.words else []
        parts += [_markdown_table(t) for t in s.tables]
        parts += [f"![{p.title}]({images}/{p.name}.png)" for p in s.plots]
        parts += [s.after] if s.after else []
    return "\n\n".join(parts) + "\n"


def _markdown_table(table: Table) -> str:
    lines = ["| " + " | ".join(table.head) + " |", "|" + "---|" * len(table.head)]
    lines += ["| " + " | ".join(row) + " |" for row in table.rows]
    return "\n".join(lines)


def page(sections: Sequence[Section], title: str, images: str) -> str:
    """Return the document as one HTML page, next to a folder of plots."""
    parts = [f"<header><h1>{html.escape(title)}</h1></header>"]
    for s in sections:
        inner = [f"<h2>{_text(s.title)}</h2>"]
        inner += [f"<p>{_text(s.words)}</p>"] if s.words else []
        inner += [_html_table(t) for t in s.tables]
        inner += [
            f'<img src="{images}/{p.name}.png" alt="{html.escape(p.title)}" '
            'style="max-width:100%;margin-top:1rem">'
            for p in s.plots
        ]
        inner += [f"<p class=note>{_text(s.after)}</p>"] if s.after else []
        parts.append(f"<section>{''.join(inner)}</section>")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<link rel="icon" href="data:,"><title>{html.escape(title)}</title>'
        f"<style>{STYLE}</style></head><body><main>{''.join(parts)}</main></body></html>\n"
    )


def _html_table(table: Table) -> str:
    head = "".join(f"<th>{_text(h)}</th>" for h in table.head)
    rows = "".join(
        "<tr>" + "".join(f"<td>{_text(c)}</td>" for c in row) + "</tr>"
        for row in table.rows
    )
    return f"<div class=wide><table><tr>{head}</tr>{rows}</table></div>"


def _text(words: str) -> str:
    """Return HTML of a line of Markdown with code in it."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(words))


# ------------------------------------------------------------ plots as PNG files


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
