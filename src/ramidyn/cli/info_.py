"""``ramidyn info``: show a robot."""

from __future__ import annotations

from typing import Any

import click

from ramidyn.algorithms.matrix_layout import sparsity_tree
from ramidyn.cli.arguments import RobotFile, passive_option, robot_argument
from ramidyn.cli.screen import console, json_option, paragraph, print_json, wrap_text
from ramidyn.robot import Robot
from ramidyn.tree.tree import D1, D2
from ramidyn.view.robot_text import drawing


@click.command("info")
@robot_argument
@passive_option
@json_option
def command(robot: str, as_json: bool, **options: str) -> None:
    """Show a robot: tree, joints, masses, frames, warnings."""
    loaded = RobotFile(robot, **options).load()
    if as_json:
        print_json(description_of(loaded))
        return
    show_robot(loaded)
    others = [n for n in loaded.frame_names if n not in loaded.body_names]
    if others:
        paragraph("\n" + wrap_text(f"frames that are not bodies: {', '.join(others)}"))
    paragraph(
        f"\nsparsity: {nonzeros(loaded)} of {loaded.nv**2} entries of M can be nonzero "
        "(ramidyn explain shows what that saves)"
    )
    for text in loaded.warnings:
        paragraph(wrap_text(f"warning: {text}"), "yellow")


def show_robot(robot: Robot) -> None:
    """Print a robot's tree in lines that fit the screen."""
    width = console().width
    text = drawing(
        robot.model, robot.description, robot.conventions, robot.joint_order, width
    )
    console().print(text, markup=False, soft_wrap=True)


def nonzeros(robot: Robot) -> int:
    """Return how many entries of the mass matrix can be nonzero."""
    _, parents = sparsity_tree(robot.model)
    return len(parents) + 2 * D1(parents)


def description_of(robot: Robot) -> dict[str, Any]:
    """Return the robot as plain data."""
    _, parents = sparsity_tree(robot.model)
    return {
        "name": robot.name,
        "nq": robot.nq,
        "nv": robot.nv,
        "mass": robot.mass,
        "gravity": list(robot.gravity),
        "conventions": str(robot.conventions),
        "bodies": [
            {"name": n, "mass": robot.masses.get(n, 0.0)} for n in robot.body_names
        ],
        "joints": [
            {
                "name": j.name,
                "type": j.type,
                "q": [j.q_index, j.q_index + j.nq],
                "v": [j.v_index, j.v_index + j.nv],
            }
            for j in robot.model.joints
        ],
        "mimic_joints": list(robot.model.mimics),
        "frames": list(robot.frame_names),
        "loops": [{"name": x.name, "type": x.type} for x in robot.model.loops],
        "forces": [{"name": f.name, "type": type(f).__name__} for f in robot.forces],
        "dof_parents": list(parents),
        "D1": D1(parents),
        "D2": D2(parents),
        "warnings": list(robot.warnings),
    }
