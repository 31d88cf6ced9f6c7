"""The four kinds of zeros of a mass matrix (Featherstone 2005, section 2).

    branch         two joints on different branches: by the tree alone
    kinematic      by the placement and kind of joints, whatever the inertias are
    inertia        by the inertias of this robot: symmetric bodies, balanced ones
    coincidental   at one configuration only

Entries are found zero at several random configurations, by the interpreter: with the
robot's own inertias, and with general ones in their place.
"""

# ruff: noqa: N806  the paper's letters
from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from ramidyn.algorithms.matrix_layout import sparsity_tree
from ramidyn.description.pose import Array
from ramidyn.quantities.mass_matrix import mass_matrix
from ramidyn.robot import Robot
from ramidyn.symbolic.interpreter import evaluate
from ramidyn.tracing.chooser import trace_quantities
from ramidyn.tree.model import Model
from ramidyn.tree.tree import BodyInertia, Tree, sparsity_pattern

STATES = 3
ROUNDING = 1e-12
"""relative to the diagonal: what is below is zero"""


@final
@dataclass(frozen=True, slots=True)
class Zeros:
    """How many entries of M are zero, off the diagonal too, by cause."""

    entries: int
    branch: int
    kinematic: int
    inertia: int
    coincidental: int
    """at the neutral configuration"""

    @property
    def permanent(self) -> int:
        """Zeros at every configuration."""
        return self.branch + self.kinematic + self.inertia


def zeros_of(robot: Robot, seed: int = 0) -> Zeros:
    """Count the zeros of a robot's mass matrix by their cause."""
    rng = np.random.default_rng(seed)
    q = np.array([robot.random_configuration(rng) for _ in range(STATES)])
    order, parents = sparsity_tree(robot.model)
    along = np.zeros((robot.nv, robot.nv), dtype=bool)
    along[np.ix_(order, order)] = sparsity_pattern(parents)
    own = _zero(robot, robot.model, q)
    general = _zero(robot, _with_general_inertias(robot.model, rng), q)
    here = _zero(robot, robot.model, robot.neutral()[None])
    kinematic = general & along
    return Zeros(
        along.size,
        int((~along).sum()),
        int(kinematic.sum()),
        int((own & along & ~kinematic).sum()),
        int((here & along & ~own).sum()),
    )


def _zero(robot: Robot, model: Model, q: Array) -> Any:
    """Return where M is zero at all of some configurations."""
    wanted = [mass_matrix(algorithm="crba")]
    program = trace_quantities(wanted, model, robot.conventions, regroup=False)
    M: Any = evaluate(program, {"q": q})["mass_matrix"]
    size = np.sqrt(np.einsum("bii->bi", M))
    small = np.abs(M) <= ROUNDING * size[:, :, None] * size[:, None, :]
    return small.all(axis=0)


def _with_general_inertias(model: Model, rng: np.random.Generator) -> Model:
    """Return a model whose bodies have masses without any symmetry."""
    bodies = [
        replace(
            b,
            inertia=BodyInertia.of(
                rng.uniform(1, 2), rng.uniform(0.2, 0.4, size=3), _general(rng)
            ),
        )
        for b in model.tree.bodies
    ]
    return replace(model, tree=Tree(tuple(bodies), model.tree.gravity))


def _general(rng: np.random.Generator) -> Array:
    """Return a positive definite rotational inertia without zeros."""
    A = rng.uniform(0.1, 0.3, size=(3, 3))
    second: Array = A @ np.transpose(A) + 0.1 * np.eye(3)
    return np.trace(second) * np.eye(3) - second
