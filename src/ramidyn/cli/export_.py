"""``ramidyn export-c``, ``export-library``, ``write-inertials``: write files."""

from __future__ import annotations

from pathlib import Path

import click

from ramidyn.cli.arguments import (
    RobotFile,
    check_output,
    functions_option,
    layout_option,
    passive_option,
    quantity_named,
    robot_argument,
)
from ramidyn.cli.screen import paragraph, show_warnings, wrap_text
from ramidyn.description.formats.mjcf.write_inertials import with_inertials
from ramidyn.export.c_export import export_c
from ramidyn.export.library_export import export_library
from ramidyn.output_files import replaceable_file


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
def export_c_command(
    robot: str,
    names: tuple[str, ...],
    output: str,
    casadi: bool,
    layout: str,
    **options: str,
) -> None:
    """Export quantities as C99 that depends only on libm."""
    wanted = [quantity_named(n) for n in names]
    loaded = RobotFile(robot, **options).load()
    show_warnings(loaded.warnings)
    quantities = wanted if len(wanted) > 1 else wanted[0]
    made = export_c(quantities, loaded, Path(output), layout=layout, casadi=casadi)
    paragraph(wrap_text(str(made)))


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
    help="host, x86-64[-v2, -v3, -v4] or aarch64; for Linux, or with -macos or "
    "-windows at the end.",
)  # fmt: skip
@layout_option
@click.option("--linker", help="Linker, such as cc, ld or zig (package ziglang).")
def export_library_command(
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
    wanted = [quantity_named(n) for n in names]
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
    paragraph(wrap_text(str(made)))
    if target == "host":
        paragraph(wrap_text(str(made.check())))


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
def write_inertials_command(
    model: str, output: str, include_directory: str | None
) -> None:
    """Write an MJCF model's inertias into it: no meshes needed.

    Run it where the mesh files are. The model that it writes loads anywhere.

    Example: ramidyn write-inertials robot.xml -o robot_inertials.xml
    """
    check_output(output, Path(model))
    text, bodies, files = with_inertials(model, include_directory)
    check_output(output, *files)
    replaceable_file(output, "an XML file").write_text(text, encoding="utf-8")
    word = "body" if len(bodies) == 1 else "bodies"
    paragraph(wrap_text(f"{output}: wrote the inertia of {len(bodies)} {word}"))
