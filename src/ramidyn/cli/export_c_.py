"""``ramidyn export-c``: export quantities as C99."""

from __future__ import annotations

from pathlib import Path

import click

from ramidyn.cli.quantities import functions_option, layout_option, named
from ramidyn.cli.robots import RobotFile, passive_option, robot_argument
from ramidyn.cli.screen import paragraph, show_warnings, wrapped
from ramidyn.export.c_export import export_c


@click.command("export-c")
@robot_argument
@passive_option
@functions_option
@click.option(
    "-o", "--output", default=".", type=click.Path(file_okay=False),
    help="Output folder.",
)  # fmt: skip
@click.option(
    "--casadi", is_flag=True, help="Also write Jacobians for casadi.external.",
)  # fmt: skip
@layout_option
def command(
    robot: str,
    names: tuple[str, ...],
    output: str,
    casadi: bool,
    layout: str,
    **options: str,
) -> None:
    """Export quantities as C99 that depends only on libm."""
    wanted = [named(n) for n in names]
    loaded = RobotFile(robot, **options).load()
    show_warnings(loaded.warnings)
    quantities = wanted if len(wanted) > 1 else wanted[0]
    made = export_c(quantities, loaded, Path(output), layout=layout, casadi=casadi)
    paragraph(wrapped(str(made)))
