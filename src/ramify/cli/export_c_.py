"""``ramify export-c``: a quantity as C99."""

from __future__ import annotations

from pathlib import Path

import click

from ramify.cli.quantities import named
from ramify.cli.robots import RobotFile, robot_argument
from ramify.cli.screen import paragraph, show_warnings, wrapped
from ramify.export.c_export import export_c


@click.command("export-c")
@robot_argument
@click.option(
    "-f", "--function", "names", multiple=True, default=["forward_dynamics"],
    show_default=True, help="A quantity, or word:frame; may be repeated.",
)  # fmt: skip
@click.option(
    "-o", "--output", default=".", type=click.Path(file_okay=False),
    help="The folder that the files go to.",
)  # fmt: skip
def command(robot: str, names: tuple[str, ...], output: str, **options: str) -> None:
    """Write quantities as C99 that needs no library but libm."""
    wanted = [named(n) for n in names]
    loaded = RobotFile(robot, **options).load()
    show_warnings(loaded.warnings)
    made = export_c(wanted if len(wanted) > 1 else wanted[0], loaded, Path(output))
    paragraph(wrapped(str(made)))
