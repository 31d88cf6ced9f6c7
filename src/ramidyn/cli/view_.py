"""``ramidyn view``: show a robot in the browser."""

from __future__ import annotations

import threading
import webbrowser
from pathlib import Path

import click

from ramidyn.cli.arguments import RobotFile, check_output, robot_argument
from ramidyn.cli.screen import paragraph, show_warnings, wrap_text


@click.command("view")
@robot_argument
@click.option("--port", default=8080, show_default=True, help="First port to try.")
@click.option("--open", "is_opened", is_flag=True, help="Open the browser.")
@click.option(
    "--mesh-directory", "directories", multiple=True,
    type=click.Path(file_okay=False), help="Where else meshes are; repeatable.",
)  # fmt: skip
@click.option(
    "--save", type=click.Path(dir_okay=False),
    help="Write a page that needs no server, and exit.",
)  # fmt: skip
def command(
    robot: str,
    port: int,
    is_opened: bool,
    directories: tuple[str, ...],
    save: str | None,
    **options: str,
) -> None:
    """Show a robot in the browser, with a slider for every joint.

    Ctrl-C ends it. Example: ramidyn view panda.urdf
    """
    file = RobotFile(robot, **options)
    if save is not None:
        check_output(save, file.path)
    loaded = file.load()
    show_warnings(loaded.warnings)
    with loaded.show(port=port, mesh_directories=directories) as viewer:
        if save is not None:
            viewer.save(Path(save))
            paragraph(wrap_text(f"wrote {save}"))
            return
        paragraph(wrap_text(f"{loaded.name}: {viewer.url} (Ctrl-C ends it)"))
        if is_opened:
            webbrowser.open(viewer.url)
        threading.Event().wait()
