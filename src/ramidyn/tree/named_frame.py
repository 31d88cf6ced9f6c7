"""A frame as users know it: where it is fixed, and what moves it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from ramidyn.description.editing import WORLD, frame_of
from ramidyn.description.pose import Pose
from ramidyn.tree.model import Model
from ramidyn.tree.tree import ROOT


@final
@dataclass(frozen=True, slots=True, eq=False)
class NamedFrame:
    """A frame by name: see `Robot.frame`."""

    name: str
    body: str
    """the body that it is fixed to, or "world" """
    placement: Pose
    """its pose in that body's frame"""
    joint: str | None
    """the last joint that moves it; None where nothing does"""


def named_frame(model: Model, name: str) -> NamedFrame:
    """Return the frame of that name."""
    found = model.frame(str(name))
    assert model.description is not None
    body, placement = frame_of(model.description, found.name)
    joint = None if found.body == ROOT else model.tree.bodies[found.body].joint.name
    return NamedFrame(found.name, body or WORLD, placement, joint)
