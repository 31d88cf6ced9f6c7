"""The inertia of a body built in Python: given, or computed from a solid."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import cast, final

import numpy as np

from ramidyn.description.builder_checks import (
    Placement,
    checked_array,
    checked_direction,
    checked_number,
    checked_pose,
    checked_vector,
    shown,
)
from ramidyn.description.constants import (
    Array,
    eigen,
    full,
    squares,
    turned_inertia,
    upper,
)
from ramidyn.description.description import Inertial
from ramidyn.description.pose import Pose, Vector, frame_with_z, placed_at
from ramidyn.errors import ModelError

ORIGIN = (0.0, 0.0, 0.0)
Z = (0.0, 0.0, 1.0)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Inertia:
    """The mass distribution of a body, built from shapes of uniform density.

    Each shape has its center at the body's origin, or ``at`` a position or pose; a
    cylinder or capsule lies along its ``axis``, z by default. Inertias can be added.
    """

    mass: float
    """[kg]"""
    com: Array
    """(3,) center of mass in body coordinates [m]"""
    matrix: Array
    """(3, 3) rotational inertia about the center of mass, body axes [kg m²]"""

    def __post_init__(self) -> None:
        mass = checked_number("Inertia: mass", self.mass, at_least=0.0)
        object.__setattr__(self, "mass", mass)
        object.__setattr__(self, "com", checked_vector("Inertia: com", self.com))
        object.__setattr__(self, "matrix", _physical("Inertia: matrix", self.matrix))

    @staticmethod
    def from_box(mass: float, size: Vector, at: Placement = ORIGIN) -> Inertia:
        """Return the inertia of a box with three edge lengths [m]."""
        a, b, c = checked_vector("Inertia.from_box: size", size, at_least=0.0)
        squares = (b * b + c * c, c * c + a * a, a * a + b * b)
        return _solid("from_box", mass, (s / 12 for s in squares), at)

    @staticmethod
    def from_sphere(mass: float, radius: float, at: Placement = ORIGIN) -> Inertia:
        """Return the inertia of a solid sphere."""
        r = checked_number("Inertia.from_sphere: radius", radius, at_least=0.0)
        return _solid("from_sphere", mass, (2 / 5 * r * r,) * 3, at)

    @staticmethod
    def from_ellipsoid(mass: float, radii: Vector, at: Placement = ORIGIN) -> Inertia:
        """Return the inertia of a solid ellipsoid with three semi-axes [m]."""
        a, b, c = checked_vector("Inertia.from_ellipsoid: radii", radii, at_least=0.0)
        squares = (b * b + c * c, c * c + a * a, a * a + b * b)
        return _solid("from_ellipsoid", mass, (s / 5 for s in squares), at)

    @staticmethod
    def from_cylinder(
        mass: float,
        radius: float,
        length: float,
        at: Placement = ORIGIN,
        axis: Vector = Z,
    ) -> Inertia:
        """Return the inertia of a solid cylinder along an axis."""
        r = checked_number("Inertia.from_cylinder: radius", radius, at_least=0.0)
        l = checked_number("Inertia.from_cylinder: length", length, at_least=0.0)
        across = r * r / 4 + l * l / 12
        moments = across, across, r * r / 2
        return _solid("from_cylinder", mass, moments, at, axis)

    @staticmethod
    def from_capsule(
        mass: float,
        radius: float,
        length: float,
        at: Placement = ORIGIN,
        axis: Vector = Z,
    ) -> Inertia:
        """Return the inertia of a solid capsule along an axis.

        ``length`` [m] is that of its cylinder, without the two hemispheres.
        """
        r = checked_number("Inertia.from_capsule: radius", radius, at_least=0.0)
        l = checked_number("Inertia.from_capsule: length", length, at_least=0.0)
        if r == 0:
            rod = l * l / 12, l * l / 12, 0.0
            return _solid("from_capsule", mass, rod, at, axis)
        ball = 4 * r / (4 * r + 3 * l)  # its share of the volume
        tube = 1 - ball
        # The hemispheres: a ball's 2/5 r², its halves moved apart by l.
        across = ball * (2 / 5 * r * r + 3 / 8 * r * l + l * l / 4)
        across += tube * (r * r / 4 + l * l / 12)
        along = ball * 2 / 5 * r * r + tube * r * r / 2
        return _solid("from_capsule", mass, (across, across, along), at, axis)

    @staticmethod
    def from_point(mass: float, at: Vector = ORIGIN) -> Inertia:
        """Return the inertia of a point mass."""
        return _solid("from_point", mass, (0.0, 0.0, 0.0), at)

    @staticmethod
    def from_matrix(
        mass: float,
        com: Vector,
        inertia: Sequence[Sequence[float]] | Array,
        at: Placement = ORIGIN,
    ) -> Inertia:
        """Return the inertia of a mass with ``inertia`` (3, 3) about its ``com``."""
        about_com = Inertia(mass, cast(Array, com), cast(Array, inertia))
        pose = checked_pose("Inertia.from_matrix: at", at)
        return _placed_inertia(about_com.mass, about_com.com, about_com.matrix, pose)

    def __add__(self, other: Inertia) -> Inertia:
        mass = self.mass + other.mass
        if mass == 0:
            return Inertia(0.0, self.com, self.matrix + other.matrix)
        com = (self.mass * self.com + other.mass * other.com) / mass
        matrix = self.matrix + other.matrix
        for part in (self, other):
            matrix = matrix + part.mass * full(squares((part.com - com).tolist()))
        return Inertia(mass, com, matrix)

    def inertial(self) -> Inertial:
        """Return this inertia in the form used by a Description."""
        return Inertial(self.mass, self.com, self.matrix)


def _solid(
    shape: str,
    mass: float,
    moments: Iterable[float],
    at: Placement,
    axis: Vector = Z,
) -> Inertia:
    """Return the inertia of a centered shape, given its moments per mass.

    ``axis`` is where its z points, in the axes of the placement.
    """
    owner = f"Inertia.{shape}"
    m = checked_number(f"{owner}: mass", mass, at_least=0.0)
    matrix = m * np.array(list(moments)) * np.eye(3)
    z = checked_direction(f"{owner}: axis", axis)
    pose = checked_pose(f"{owner}: at", at) @ placed_at(frame_with_z(z), ORIGIN)
    return _placed_inertia(m, np.zeros(3), matrix, pose)


def _placed_inertia(mass: float, com: Array, matrix: Array, T: Pose) -> Inertia:
    return Inertia(mass, T.apply(com), full(turned_inertia(upper(matrix), T.rows)))


def _physical(what: str, inertia: object) -> Array:
    """Return a physically valid rotational inertia.

    Numbers are often rounded: an error of a millionth of the largest eigenvalue is
    accepted.
    """
    given = checked_array(what, inertia, (3, 3))
    if np.abs(given - np.transpose(given)).max() > 1e-9 * np.abs(given).max():
        raise ModelError(f"{what} is {shown(inertia)}; expected a symmetric one")
    I: Array = (given + np.transpose(given)) / 2
    low, middle, high = eigen(I)[0]
    tolerance = 1e-6 * max(-low, high) + 1e-15
    values = f"{what} has the eigenvalues {low:.4g}, {middle:.4g}, {high:.4g} kg m²"
    if low < -tolerance:
        raise ModelError(f"{values}; none may be negative")
    if low + middle < high - tolerance:
        raise ModelError(f"{values}; the sum of any two must be at least the third")
    I.setflags(write=False)
    return I
