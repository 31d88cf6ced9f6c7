"""``ramidyn export-library``: export compiled quantities as a shared library."""

from __future__ import annotations

from pathlib import Path

import click

from ramidyn.cli.quantities import functions_option, layout_option, named
from ramidyn.cli.robots import RobotFile, robot_argument
from ramidyn.cli.screen import paragraph, show_warnings, wrapped
from ramidyn.export.library_export import export_library


@click.command("export-library")
@robot_argument
@functions_option
@click.option(
    "-o", "--output", default=".", type=click.Path(file_okay=False),
    help="Output folder.",
)  # fmt: skip
@click.option("--name", help="Name of the function and the files.")
@click.option(
    "--target", default="host", show_default=True,
    help="Processor: host, x86-64[-v2, -v3, -v4] or aarch64.",
)  # fmt: skip
@layout_option
@click.option("--linker", help="Linker, such as cc, ld or zig (package ziglang).")
def command(
    robot: str,
    names: tuple[str, ...],
    output: str,
    name: str | None,
    target: str,
    layout: str,
    linker: str | None,
    **options: str,
) -> None:
    """Export quantities as a shared library with a C header."""
    wanted = [named(n) for n in names]
    loaded = RobotFile(robot, **options).load()
    show_warnings(loaded.warnings)
    made = export_library(
        wanted,
        loaded,
        Path(output),
        name,
        layout=layout,
        target=target,
        linker=linker,
    )
    paragraph(wrapped(str(made)))
    if target == "host":
        paragraph(wrapped(str(made.check())))
