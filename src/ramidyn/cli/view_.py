"""``ramidyn view``: show a robot in the browser."""

from __future__ import annotations

import threading
import webbrowser
from functools import partial
from pathlib import Path

import click
import numpy as np

from ramidyn.cli.arguments import RobotFile, check_output, robot_argument
from ramidyn.cli.screen import paragraph, show_warnings, wrap_text
from ramidyn.description.pose import Array
from ramidyn.robot import Robot


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
@click.option(
    "--ik", "dragged", multiple=True, metavar="FRAME",
    help="Give this frame a handle; the robot follows. Repeatable.",
)  # fmt: skip
@click.option(
    "--hold", "held", multiple=True, metavar="FRAME",
    help="With --ik: keep this frame where it is. Repeatable.",
)  # fmt: skip
def command(
    robot: str,
    port: int,
    is_opened: bool,
    directories: tuple[str, ...],
    save: str | None,
    dragged: tuple[str, ...],
    held: tuple[str, ...],
    **options: str,
) -> None:
    """Show a robot in the browser, with a slider for every joint.

    Ctrl-C ends it. Examples: ramidyn view panda.urdf;
    ramidyn view panda.urdf --ik panda_hand
    """
    file = RobotFile(robot, **options)
    if save is not None:
        check_output(save, file.path)
    loaded = file.load()
    show_warnings(loaded.warnings)
    if held and not dragged:
        raise click.UsageError("--hold is for --ik, which says what is dragged")
    for frame in (*dragged, *held):
        loaded.frame(frame)  # raises an error if there is none
    start = loaded.clamp() if dragged else None
    with loaded.show(start, port=port, mesh_directories=directories) as viewer:
        for frame in dragged:
            viewer.drag(frame, partial(reach, loaded, frame, held))
        if save is not None:
            viewer.save(Path(save))
            paragraph(wrap_text(f"wrote {save}"))
            return
        paragraph(wrap_text(f"{loaded.name}: {viewer.url} (Ctrl-C ends it)"))
        if is_opened:
            webbrowser.open(viewer.url)
        threading.Event().wait()


def reach(
    robot: Robot, frame: str, held: tuple[str, ...], target: Array, q: Array
) -> Array:
    """Return the configuration near q that brings a frame to a target, or nearest."""
    found = robot.inverse_kinematics({frame: target}, q, constraints=held, starts=1)
    return np.asarray(found.q)
