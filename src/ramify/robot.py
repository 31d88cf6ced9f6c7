"""A robot: a model, its conventions, and everything that can be computed of it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, final

import numpy as np

from ramify.compiling import compile
from ramify.function import Function
from ramify.model.assembly import Model, assemble, with_root
from ramify.model.conventions import Conventions
from ramify.model.conventions import conventions as conventions_named
from ramify.model.description import Description
from ramify.model.pose import Array
from ramify.model.tree import Tree
from ramify.quantities import dynamics
from ramify.quantities.base import Quantity, placed


@final
class Compiled:
    """A quantity as an attribute of Robot: compiled on first use, and kept."""

    def __init__(self, quantity: Quantity) -> None:
        self.quantity = quantity

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, robot: Robot | None, owner: type) -> Any:
        if robot is None:
            return self.quantity
        made = robot.__dict__[self.name] = compile(self.quantity, robot)
        return made


@final
class Robot:
    """A robot, immutable: what changes it returns a new one.

    Quantities are compiled on first use: ``robot.inverse_dynamics(q, qd, qdd)``, with
    arrays of one state or with a leading batch axis.
    """

    def __init__(self, model: Model, conventions: Conventions) -> None:
        self.model = model
        self.conventions = conventions

    @staticmethod
    def from_description(
        description: Description,
        *,
        root: str | None = None,
        conventions: str | Conventions = "pinocchio",
        joint_order: str | Sequence[str] = "file",
        mimic: str = "reduce",
    ) -> Robot:
        """Return the robot of a description; see `ramify.load` for the options."""
        model = assemble(with_root(description, root), joint_order, mimic)
        return Robot(model, conventions_named(conventions))

    @property
    def name(self) -> str:
        """The robot's name."""
        return self.model.name

    @property
    def nq(self) -> int:
        """The number of coordinates: entries of q."""
        return self.model.nq

    @property
    def nv(self) -> int:
        """The number of degrees of freedom: entries of q̇, q̈ and τ."""
        return self.model.nv

    @property
    def tree(self) -> Tree:
        """The moving bodies and their topology."""
        return self.model.tree

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The joints, in the order of q and q̇."""
        return tuple(j.name for j in self.model.joints)

    @property
    def body_names(self) -> tuple[str, ...]:
        """The bodies of the description, fixed ones included."""
        return self.model.body_names

    @property
    def frame_names(self) -> tuple[str, ...]:
        """The frames: every body's, sites, and "world"."""
        return tuple(self.model.frames)

    @property
    def masses(self) -> dict[str, float]:
        """The mass of each body [kg]."""
        return dict(self.model.masses)

    @property
    def mass(self) -> float:
        """The mass of all bodies that move [kg]."""
        return float(sum(b.inertia.m for b in self.tree.bodies))

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is odd about the description."""
        return self.model.warnings

    @cached_property
    def placed_model(self) -> Model:
        """The model with body frames where transforms are cheapest."""
        return placed(self.model)

    def neutral(self) -> Array:
        """Return the configuration in which every body stands at its placement."""
        q = np.zeros(self.nq)
        for body in self.tree.bodies:
            joint = body.joint
            if joint.leader is None:
                values = joint.neutral()
                if joint.nq in (4, 7) and self.conventions.quaternion == "wxyz":
                    values = np.concatenate([values[:-4], values[-1:], values[-4:-1]])
                q[joint.q_index : joint.q_index + joint.nq] = values
        return q

    inverse_dynamics: Function = Compiled(dynamics.inverse_dynamics)  # type: ignore[assignment]
    forward_dynamics: Function = Compiled(dynamics.forward_dynamics)  # type: ignore[assignment]
    mass_matrix: Function = Compiled(dynamics.mass_matrix)  # type: ignore[assignment]
    bias_forces: Function = Compiled(dynamics.bias_forces)  # type: ignore[assignment]
    gravity_forces: Function = Compiled(dynamics.gravity_forces)  # type: ignore[assignment]
