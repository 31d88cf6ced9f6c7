"""Arguments that commands share: robots, quantities, and files to write."""

from __future__ import annotations

import difflib
import os
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
from ramidyn.errors import Error, ModelError, UnknownName
from ramidyn.function import LAYOUTS
from ramidyn.loading import load
from ramidyn.quantities.registry import QUANTITIES
from ramidyn.robot import Robot
from ramidyn.tracing.quantity import REQUIRED, Quantity

BUILT_IN: dict[str, Callable[[], Any]] = {
    "humanoid30": lambda: robots.humanoid30("plain"),
    "chain30": lambda: robots.chain30("plain"),
    "asimo": lambda: robots.asimo("plain"),
    "chang_khatib24": lambda: robots.chang_khatib24("plain"),
    "hmmwv": lambda: robots.hmmwv("plain"),
    "tractor_semitrailer": robots.tractor_semitrailer,
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
                raise self._with_advice(error) from None

    def tree(self, **changes: Any) -> Robot:
        """Load the robot as the tree that it is when its loops are open."""
        return open_loops(self.moving(**changes))

    def moving(self, **changes: Any) -> Robot:
        """Load a robot that has degrees of freedom."""
        robot = self.load(**changes)
        if robot.nv == 0:
            raise ModelError(
                f"robot {robot.name!r} cannot move: no joint has a degree of freedom; "
                "--root floating gives it a free root"
            )
        return robot

    def _with_advice(self, error: ModelError) -> ModelError:
        """Return the error, with the built-in robot that the user may have meant."""
        close = difflib.get_close_matches(self.name, BUILT_IN, n=1)
        if close and "no such file" in str(error):
            return ModelError(f"{error}; did you mean the built-in {close[0]!r}?")
        return error


def open_loops(robot: Robot) -> Robot:
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


# ------------------------------------------------------------ quantities


functions_option = click.option(
    "-f", "--function", "names", multiple=True, default=["forward_dynamics"],
    show_default=True, help="A quantity, or quantity:frame; repeatable.",
)  # fmt: skip
"""the quantities of a command, as ``names``"""

layout_option = click.option(
    "--layout", type=click.Choice(LAYOUTS), default="batch_first", show_default=True,
    help="Arrays of a batch: one state after the other, or side by side.",
)  # fmt: skip
"""where the batch axis of exported functions is"""


def needs(quantity: Quantity) -> str:
    """Return what must follow the name: "", "frame" or "tasks"."""
    defaults = quantity.declaration.defaults
    return next((n for n, value in defaults.items() if value is REQUIRED), "")


def quantity_spelling(name: str) -> str:
    """Return how a quantity is written, for messages."""
    needed = needs(QUANTITIES[name])
    return name + {"": "", "frame": ":<frame>", "tasks": ":<frame>,<frame>,..."}[needed]


def quantity_named(text: str) -> Quantity:
    """Return a quantity by name: ``word``, ``word:frame`` or ``word:frame,frame``."""
    word, _, rest = text.partition(":")
    if word not in QUANTITIES:
        close = difflib.get_close_matches(word, QUANTITIES, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        known = ", ".join(map(quantity_spelling, QUANTITIES))
        raise UnknownName(f"no quantity {word!r}.{hint} All: {known}.")
    quantity = QUANTITIES[word]
    needed = needs(quantity)
    if bool(needed) != bool(rest):
        given = "needs a frame" if needed else "takes no frame"
        raise UnknownName(f"{word} {given}; expected {quantity_spelling(word)}")
    if not needed:
        return quantity
    return quantity(rest if needed == "frame" else rest.split(","))


# ------------------------------------------------------------ outputs


def check_output(output: str | os.PathLike[str], *inputs: Path | None) -> None:
    """Raise Error where writing an output would destroy an input.

    An output that is an input, holds it or lies inside of it is refused, whatever links
    lead there; links inside of an input folder count as inputs.
    """
    for given in inputs:
        if given is None or not given.exists():
            continue
        links = (p for p in given.rglob("*") if p.is_symlink())
        for path in (given, *(links if given.is_dir() else ())):
            relation = _relation(Path(output).resolve(), path.resolve())
            if relation:
                raise Error(
                    f"{os.fspath(output)}: the output {relation} the input {path}; "
                    "choose another output"
                )


def _relation(output: Path, given: Path) -> str:
    if output == given or (output.exists() and output.samefile(given)):
        return "is"
    if given.is_relative_to(output):
        return "holds"
    return "is inside" if output.is_relative_to(given) else ""
