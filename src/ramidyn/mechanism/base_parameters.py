"""Base parameters: the combinations of inertial parameters that motion can tell apart.

τ = Y π = Y[:, columns] β, with β = matrix π. The rows of ``matrix`` span what all rows
of Y, at any state, span. That space is known by rules (`inertial_parameters`), or found
as that of Y at random states.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from ramidyn.description.pose import Array
from ramidyn.errors import ArgumentError, one_of, printable
from ramidyn.quantities.identification import checked_bodies, checked_terms
from ramidyn.tree.inertial_parameters import (
    identifiable,
    inertia_frames,
    parameter_names,
)

if TYPE_CHECKING:
    from ramidyn.robot import Robot

METHODS = ("auto", "rules", "samples")
RANK = 1e-9
"""singular values of Y, its columns scaled to one, below this are rounding"""
DEPENDENT = 1e-6
"""what is left of a column below this, of at most 1, is rounding"""


@final
@dataclass(frozen=True, slots=True, eq=False)
class BaseParameters:
    """The identifiable combinations of the columns of `regressor`."""

    names: tuple[str, ...]
    """of all parameters, such as "Ixx:forearm" and "damping:elbow" """
    columns: tuple[int, ...]
    """independent columns of Y"""
    matrix: Array
    """(rank, columns of Y): β = matrix π; the identity at ``columns``"""

    @property
    def rank(self) -> int:
        """The number of base parameters."""
        return len(self.columns)

    def __str__(self) -> str:
        """Return one line for each base parameter: what it is the sum of."""
        lines = (
            self._sum(row, own)
            for row, own in zip(self.matrix, self.columns, strict=True)
        )
        return printable("\n".join(lines))

    def _sum(self, row: Array, own: int) -> str:
        text = self.names[own]
        for k, x in enumerate(row.tolist()):
            if k != own and x != 0.0:
                factor = "" if abs(x) == 1.0 else f"{abs(x):.6g} "
                text += f" {'-' if x < 0 else '+'} {factor}{self.names[k]}"
        return text


def base_parameters(
    robot: Robot,
    bodies: Sequence[str] | None,
    joint_terms: Sequence[str],
    method: str,
) -> BaseParameters:
    """Return the base parameters of a robot; see `Robot.base_parameters`."""
    bodies, joint_terms = checked_bodies(bodies), checked_terms(joint_terms)
    one_of("method", method, METHODS)
    has_rules = not robot.model.mimics and not joint_terms
    if method == "rules" and not has_rules:
        what = "joint terms" if joint_terms else "mimic joints"
        raise ArgumentError(f"method 'rules' does not cover {what}; use 'samples'")
    names = parameter_names(robot.model, bodies, joint_terms)
    frames = inertia_frames(robot.model, bodies)
    if has_rules and method != "samples":
        basis = identifiable(robot.tree, frames)
    else:
        basis = _sampled_basis(robot, bodies, joint_terms, len(names))
    columns = _independent(basis, len(frames))
    matrix: Array = np.linalg.solve(basis[:, columns], basis).astype(np.float64)
    matrix[np.abs(matrix) < RANK] = 0.0
    matrix[:, columns] = np.eye(len(columns))
    return BaseParameters(names, tuple(columns), matrix)


def _sampled_basis(
    robot: Robot,
    bodies: tuple[str, ...] | None,
    joint_terms: tuple[str, ...],
    columns: int,
) -> Array:
    """Return an orthonormal basis of the rows of Y at random states."""
    rng = np.random.default_rng(0)
    states = 2 + 3 * columns // max(robot.nv, 1)
    step, qd, qdd = rng.normal(size=(3, states, robot.nv))
    q = robot.integrate(robot.neutral(), step)  # limits could hide what may move
    found = robot.regressor(q, qd, qdd, bodies=bodies, joint_terms=joint_terms)
    rows = np.concatenate(list(found))
    sizes = np.linalg.norm(rows, axis=0)
    scale = np.where(sizes > RANK * sizes.max(initial=0.0), sizes, np.inf)
    _, values, basis = np.linalg.svd(rows / scale, full_matrices=False)
    kept = basis[values > RANK * values.max(initial=0.0)]
    unscaled = kept * np.where(np.isinf(scale), 0.0, scale)
    return np.transpose(np.linalg.qr(np.transpose(unscaled))[0])


def _independent(basis: Array, bodies: int) -> list[int]:
    """Return independent columns: what earlier bodies can carry is theirs.

    Of the columns of a body those come first that depend least on the others.
    """
    left = basis
    found: list[int] = []
    ends = [*range(10, 10 * bodies + 1, 10), basis.shape[1]]
    for start, end in zip([0, *ends], ends, strict=False):
        own: list[int] = []
        while len(own) < end - start:
            sizes: Array = np.linalg.norm(left[:, start:end], axis=0)
            largest = float(sizes.max())
            if largest < DEPENDENT:
                break
            k = int(np.argmax(sizes > largest * (1.0 - DEPENDENT)))
            direction: Array = left[:, start + k] / sizes[k]
            left = left - np.outer(direction, direction @ left)
            own.append(start + k)
        found += sorted(own)
    return found
