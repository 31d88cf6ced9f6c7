"""``ramidyn papers``: the founding papers' tables and figures, recomputed."""

from __future__ import annotations

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
from ramidyn.papers import MEASURED, PAPERS, sections
from ramidyn.papers.document import Section, draw, markdown, page
from ramidyn.papers.notes import robots_in, saved_by_regrouping

TITLE = "The founding papers, recomputed"
HEAD = f"""# {TITLE}

What a paper prints is marked as printed. Our figures beside it are counted: from
programs and native loops that Ramidyn ships, or by running the paper's own algorithm
on unknown numbers, as each section says. They are the same on every processor. Made by

    ramidyn papers --markdown docs/papers.md --images docs/images \\
        --robots ../shared/robots

which takes about two and a half minutes, most of it for wensing; one section takes 1 to
90 s (`ramidyn papers negrut`). Times and rounding errors depend on the processor: they
stand in [Benchmarks](benchmarks.md)."""


@click.command("papers")
@click.argument("names", nargs=-1, type=click.Choice([*PAPERS, *MEASURED]))
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
    text: str | None,
    html: str | None,
    images: str | None,
    robots: str | None,
    as_json: bool,
) -> None:
    """Recompute the tables and figures of the founding papers.

    All of them, or those named: all take about two and a half minutes, most of it
    for wensing. "accuracy" measures rounding on this processor; ask for it by name.
    """
    for path, kind in ((text, "a Markdown page"), (html, "an HTML page")):
        if path is not None:
            replaceable_file(path, kind)
    with progress(len(names or PAPERS)) as step:
        found = sections(names, step)
    if robots is not None:
        loaded = robots_in(Path(robots))
        found.append(saved_by_regrouping(loaded, f", {len(loaded)} robots of files"))
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


def _draw(found: list[Section], folder: Path) -> None:
    try:
        for section in found:
            for plot in section.plots:
                draw(plot, folder)
    except ImportError:
        raise click.ClickException(
            "plots need matplotlib: pip install matplotlib"
        ) from None


def _relative(folder: Path, path: Path) -> str:
    try:
        return folder.resolve().relative_to(path.resolve().parent).as_posix()
    except ValueError:
        return folder.resolve().as_posix()


def _markdown(found: list[Section], path: Path, folder: Path) -> str:
    return markdown(found, HEAD, _relative(folder, path))


def _html(found: list[Section], path: Path, folder: Path) -> str:
    return page(found, TITLE, _relative(folder, path))


def _show(found: list[Section]) -> None:
    out = console()
    for section in found:
        out.rule(section.title, align="left", style="dim")
        if section.words:
            paragraph(section.words)
        for t in section.tables:
            out.print(table("", t.head, t.rows))
        if section.after:
            paragraph(section.after, "dim")
        out.print()
