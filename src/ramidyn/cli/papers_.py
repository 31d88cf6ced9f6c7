"""``ramidyn papers``: the founding papers' tables and figures, recomputed."""

from __future__ import annotations

import importlib.util
from dataclasses import asdict
from pathlib import Path

import click

from ramidyn.cli.screen import (
    console,
    json_option,
    paragraph,
    print_json,
    progress,
    table,
)
from ramidyn.output_files import replaceable_file
from ramidyn.papers import MEASURED, PAPERS, PARTS, accuracy, sections
from ramidyn.papers.document import Plot, Section, draw, markdown, page
from ramidyn.papers.notes import robots_in, saved_by_regrouping

TITLE = "The founding papers, recomputed"
HEAD = f"""# {TITLE}

What a paper prints is marked as printed. Our figures beside it are counted: from
programs and native loops that Ramidyn ships, or by running the paper's own algorithm
on unknown numbers, as each section says. They are the same on every processor. Made by

    ramidyn papers --markdown docs/papers.md --images docs/images \\
        --robots ../shared/robots

which takes about four minutes, most of it for wensing; one paper takes 1 to 90 s
(`ramidyn papers negrut`), and one table or figure less (`ramidyn papers featherstone
--table 2`). Times and rounding errors depend on the processor: they stand in
[Papers: times](papers_times.md). A section near the end lists every item.
Who is behind which module is in [References](references.md).

Each document has a notebook with pictures that step:
[branches and sparsity](notebooks/branch_sparsity.ipynb),
[efficient implementation](notebooks/efficient_implementation.ipynb),
[operational space, recursively](notebooks/operational_space_recursion.ipynb),
[extended force propagators](notebooks/extended_force_propagators.ipynb),
[a vehicle with loops](notebooks/vehicle_with_loops.ipynb)."""


@click.command("papers")
@click.argument("names", nargs=-1, type=click.Choice([*PAPERS, *MEASURED]))
@click.option(
    "--table", "number", type=int, help="One table of a paper, by its number."
)
@click.option("--figure", type=int, help="One figure of a paper, by number.")
@click.option("--markdown", "text", type=click.Path(), help="Write a Markdown page.")
@click.option("--html", type=click.Path(), help="Write an HTML page.")
@click.option("--images", type=click.Path(), help="Folder for the plots (PNG).")
@click.option(
    "--robots",
    type=click.Path(exists=True, file_okay=False),
    help="Folder of robots (one folder each): what regrouping saves for them.",
)
@json_option
def command(
    names: tuple[str, ...],
    number: int | None,
    figure: int | None,
    text: str | None,
    html: str | None,
    images: str | None,
    robots: str | None,
    as_json: bool,
) -> None:
    """Recompute the tables and figures of the founding papers.

    All of them, or those named: all take about four minutes, most of it for wensing.
    With one paper, --table or --figure shows one of its tables or figures. "accuracy"
    measures rounding on this processor, "profile" times; ask for them by name.
    """
    for path, kind in ((text, "a Markdown page"), (html, "an HTML page")):
        if path is not None:
            replaceable_file(path, kind)
    if text or html or images:
        _check_matplotlib()
    loaded = {} if robots is None else robots_in(Path(robots))
    if number is not None or figure is not None:
        found = [_part(names, number, figure)]
    elif names == ("accuracy",):
        found = accuracy.sections(loaded)
    else:
        with progress(len(names) or len(PAPERS) + 1) as step:
            found = sections(names, step)
        if robots is not None:
            of = f", {len(loaded)} robots of files"
            found.append(saved_by_regrouping(loaded, of))
    folder = Path(images) if images else None
    if folder is None and (text or html):
        folder = Path(text or html or ".").parent / "images"
    if folder is not None:
        _draw(found, folder)
        for path, write in ((text, _markdown), (html, _html)):
            if path is not None:
                Path(path).write_text(
                    write(found, Path(path), folder), encoding="utf-8"
                )
    if as_json:
        print_json([asdict(s) for s in found])
    elif text is None and html is None:
        _show(found)


def _part(names: tuple[str, ...], number: int | None, figure: int | None) -> Section:
    """Return one table or figure of one paper."""
    if len(names) != 1 or names[0] not in PARTS:
        raise click.UsageError(
            "--table and --figure need one paper: " + ", ".join(PARTS)
        )
    if number is not None and figure is not None:
        raise click.UsageError("give --table or --figure, not both")
    label = f"table {number}" if figure is None else f"figure {figure}"
    parts = PARTS[names[0]]
    if label not in parts:
        raise click.UsageError(
            f"{names[0]} has no {label} here; possible: {', '.join(parts)}"
        )
    return parts[label]()


def _check_matplotlib() -> None:
    """Refuse to compute for minutes what cannot be drawn."""
    if importlib.util.find_spec("matplotlib") is None:
        raise click.ClickException("plots need matplotlib: pip install matplotlib")


def _draw(found: list[Section], folder: Path) -> None:
    for section in found:
        for plot in section.plots:
            draw(plot, folder)


def _relative(folder: Path, path: Path) -> str:
    try:
        return folder.resolve().relative_to(path.resolve().parent).as_posix()
    except ValueError:
        return folder.resolve().as_posix()


def _markdown(found: list[Section], path: Path, folder: Path) -> str:
    return markdown(found, HEAD, _relative(folder, path))


def _html(found: list[Section], path: Path, folder: Path) -> str:
    return page(found, TITLE, _relative(folder, path))


def _data(plot: Plot) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the data of a figure: a line for each place on its x axis."""
    points = {name: dict(line) for name, line in plot.series.items()}
    places = sorted({x for line in points.values() for x in line})
    rows: list[tuple[str, ...]] = []
    for k, x in enumerate(places):
        label = plot.labels[k].replace("\n", " ") if plot.labels else f"{x:,.0f}"
        cells = (f"{line[x]:,.0f}" if x in line else "-" for line in points.values())
        rows.append((label, *cells))
    return (plot.axes[0], *points), rows


def _show(found: list[Section]) -> None:
    out = console()
    for section in found:
        out.rule(section.title, align="left", style="dim")
        if section.words:
            paragraph(section.words)
        for t in section.tables:
            out.print(table("", t.head, t.rows))
        for plot in section.plots:
            out.print(table(plot.title, *_data(plot)))
        if section.after:
            paragraph(section.after, "dim")
        out.print()
