"""The libraries that Ramidyn is compared with, behind one small interface."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

import click

from ramidyn.cli.arguments import RobotFile
from ramidyn.description.pose import Array
from ramidyn.robot import Robot
from ramidyn.tracing.quantity import Quantity


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """One state of a robot, or a batch of them, in Ramidyn's order of joints."""

    q: Array
    qd: Array
    qdd: Array
    tau: Array

    def __getitem__(self, k: int) -> State:
        return State(self.q[k], self.qd[k], self.qdd[k], self.tau[k])

    def __len__(self) -> int:
        return len(self.q)


@dataclass(frozen=True, slots=True)
class Answer:
    """A quantity of ours, and how the other library computes it for one state."""

    quantity: Quantity
    theirs: Callable[[State], Any]


class Peer(Protocol):
    """Another library with the same robot in it."""

    name: str
    version: str
    robot: Robot
    """ours, in the conventions of the other library"""

    def answers(self, frames: Sequence[str]) -> list[Answer]:
        """Return what can be compared."""
        ...

    def caller(self, name: str, state: State) -> Callable[[], Any] | None:
        """Return the fastest call for one state, inputs converted beforehand."""
        ...

    def roller(
        self, state: State, steps: int, dt: float
    ) -> Callable[[Array], Array] | None:
        """Return a rollout of a batch: tau (batch, steps, nv) -> q after each step."""
        ...


PACKAGES = {"pinocchio": ("pinocchio", "pin"), "mujoco": ("mujoco", "mujoco")}
"""module and package by the name on the command line"""
MODULES = {"pinocchio": "pinocchio_", "mujoco": "mujoco_"}
"""our own, which import theirs"""


def names_in(text: str | None, source: RobotFile) -> list[str]:
    """Return the peers in ``a,b``; without a text, those that are installed.

    MJCF is MuJoCo's own: by default no other reading of it is compared.
    """
    if text is None:
        known = ["mujoco"] if source.is_mjcf else list(PACKAGES)
        return [n for n in known if _is_installed(PACKAGES[n][0])]
    names = [n.strip() for n in text.split(",") if n.strip()]
    for name in names:
        if name not in PACKAGES:
            raise click.UsageError(
                f"unknown library {name!r}; possible: {', '.join(PACKAGES)}"
            )
        module, package = PACKAGES[name]
        if not _is_installed(module):
            raise click.UsageError(f"{name} is not installed: pip install {package}")
    return names


def _is_installed(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def peer(name: str, source: RobotFile) -> Peer:
    """Load a robot into another library; a PeerError says why it cannot."""
    return import_module(f"ramidyn.cli.peers.{MODULES[name]}").load(source)


class PeerError(Exception):
    """The other library cannot have this robot."""
