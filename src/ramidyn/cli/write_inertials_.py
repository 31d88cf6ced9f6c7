"""``ramidyn write-inertials``: make an MJCF model independent of its meshes."""

from __future__ import annotations

from pathlib import Path

import click

from ramidyn.cli.outputs import check_output
from ramidyn.cli.screen import paragraph, wrapped
from ramidyn.description.formats.mjcf.write_inertials import with_inertials


@click.command("write-inertials")
@click.argument("model", type=click.Path(dir_okay=False))
@click.option(
    "-o", "--output", required=True, type=click.Path(dir_okay=False),
    help="The MJCF file to write.",
)  # fmt: skip
@click.option(
    "--include-directory", type=click.Path(file_okay=False),
    help="Directory that holds all includes and meshes; default: the parent of the "
    "model's directory.",
)  # fmt: skip
def command(model: str, output: str, include_directory: str | None) -> None:
    """Write an MJCF model's inertias into it: no meshes needed.

    Run it where the mesh files are. The model that it writes loads anywhere.

    Example: ramidyn write-inertials robot.xml -o robot_inertials.xml
    """
    check_output(output, Path(model))
    text, bodies, files = with_inertials(model, include_directory)
    check_output(output, *files)
    Path(output).write_text(text, encoding="utf-8")
    word = "body" if len(bodies) == 1 else "bodies"
    paragraph(wrapped(f"{output}: wrote the inertia of {len(bodies)} {word}"))
