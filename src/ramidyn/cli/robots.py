"""The robot argument of subcommands: a file, or a built-in robot."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import click

from ramidyn.catalog import paper_robots as robots
from ramidyn.description.conventions import NAMED
from ramidyn.description.description import Description
from ramidyn.description.formats.read import read_source
from ramidyn.errors import ModelError
from ramidyn.loading import load
from ramidyn.robot import Robot

BUILT_IN: dict[str, Callable[[], Any]] = {
    "humanoid30": lambda: robots.humanoid30("plain"),
    "chain30": lambda: robots.chain30("plain"),
    "asimo": lambda: robots.asimo("plain"),
    "chang_khatib24": lambda: robots.chang_khatib24("plain"),
    "hmmwv": lambda: robots.hmmwv("plain"),
    "tree1": lambda: robots.featherstone_tree1("plain"),
}

"""what each gives: a Robot, or the Description of one"""

Command = TypeVar("Command", bound=Callable[..., Any])


def built_in(name: str) -> Description:
    """Return the description of a built-in robot."""
    made = BUILT_IN[name]()
    return made.description if isinstance(made, Robot) else made


@dataclass(frozen=True, slots=True)
class RobotFile:
    """Where a robot comes from, and how it is to be loaded."""

    name: str
    root: str | None = None
    joint_order: str = "auto"
    mimic: str = "reduce"
    conventions: str = "pinocchio"
    passive: bool | str = False
    """whether springs, damping and friction of the file act"""

    @property
    def path(self) -> Path | None:
        """The file; None for a built-in robot."""
        path = Path(self.name).expanduser()
        return None if self.name in BUILT_IN and not path.exists() else path

    @property
    def is_mjcf(self) -> bool:
        """Whether the file is MuJoCo's own format."""
        return self.path is not None and "<mujoco" in read_source(self.path)[0]

    def load(self, **changes: Any) -> Robot:
        """Load the robot without showing its warnings, which it keeps."""
        options: dict[str, Any] = {
            "root": self.root,
            "joint_order": self.joint_order,
            "mimic": self.mimic,
            "conventions": self.conventions,
            **changes,
        }
        if self.path is not None and self.passive:
            options["passive"] = True
        if self.path is None:
            return Robot.from_description(built_in(self.name), **options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return load(self.path, **options)
            except ModelError as error:
                raise self._advised(error) from None

    def tree(self, **changes: Any) -> Robot:
        """Load the robot as the tree that it is when its loops are open."""
        robot = self.load(**changes)
        if robot.nv == 0:
            raise ModelError(
                f"robot {robot.name!r} cannot move: no joint has a degree of freedom; "
                "--root floating gives it a free root"
            )
        return opened(robot)

    def _advised(self, error: ModelError) -> ModelError:
        """Return the error, with the built-in robot that the user may have meant."""
        close = difflib.get_close_matches(self.name, BUILT_IN, n=1)
        if close and "no such file" in str(error):
            return ModelError(f"{error}; did you mean the built-in {close[0]!r}?")
        return error


def opened(robot: Robot) -> Robot:
    """Return a robot without its loops."""
    if not robot.model.loops:
        return robot
    model = replace(robot.model, loops=())
    return Robot(model, robot.conventions, robot.joint_order, robot.mimic)


def passive_option(command: Command) -> Command:
    """Add the option to take the passive forces of the file."""
    return click.option(
        "--passive",
        is_flag=True,
        help="Let springs, damping and friction of the file act.",
    )(command)


def robot_argument(command: Command) -> Command:
    """Add the ROBOT argument and the options of loading."""
    options = (
        click.argument("robot"),
        click.option(
            "--root",
            type=click.Choice(["floating", "fixed", "planar"]),
            help="Attach the root body by this joint.",
        ),
        click.option(
            "--joint-order",
            type=click.Choice(["auto", "file", "alphabetical"]),
            default="auto",
            help="Order of the joints in q. auto: Pinocchio's for URDF with "
            "Pinocchio's conventions, otherwise the file's.",
        ),
        click.option(
            "--mimic",
            type=click.Choice(["reduce", "independent"]),
            default="reduce",
            help="How to treat mimic joints.",
        ),
        click.option(
            "--conventions",
            type=click.Choice(list(NAMED)),
            default="pinocchio",
            help="Layout of q, qd and 6-vectors.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command
