"""Layout of numbers in the public API: see docs/conventions.md.

Inside, everything is Featherstone's: angular part first, body coordinates,
quaternions (x, y, z, w). A `Conventions` value says what q, q̇ and 6-vectors look like
to the caller; it is resolved while a function is traced.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, final

from ramidyn.errors import ArgumentError


@final
@dataclass(frozen=True, slots=True)
class Conventions:
    """The layout of coordinates, velocities and 6-vectors.

    Args:
        quaternion: the order of a quaternion's entries in q: "xyzw" or "wxyz".
        floating_velocity: a floating joint's q̇: linear and angular in the body's frame
            ("body"), or linear along the axes of its parent, the world, and angular in
            the body's frame ("world_linear").
        order: the order of the halves of every 6-vector, of the rows of Jacobians, and
            of a floating joint's q̇: "linear_first" or "angular_first".
    """

    quaternion: Literal["xyzw", "wxyz"] = "xyzw"
    floating_velocity: Literal["body", "world_linear"] = "body"
    order: Literal["linear_first", "angular_first"] = "linear_first"

    def __post_init__(self) -> None:
        allowed = {
            "quaternion": ("xyzw", "wxyz"),
            "floating_velocity": ("body", "world_linear"),
            "order": ("linear_first", "angular_first"),
        }
        for name, options in allowed.items():
            value = getattr(self, name)
            if value not in options:
                raise ArgumentError(
                    f"Conventions: {name} is {value!r}; possible: {', '.join(options)}"
                )

    def __str__(self) -> str:
        for name, value in NAMED.items():
            if value == self:
                return name
        return f"quaternion {self.quaternion}, {self.floating_velocity}, {self.order}"


NAMED = {
    "pinocchio": Conventions(),
    "mujoco": Conventions("wxyz", "world_linear", "linear_first"),
    "featherstone": Conventions("xyzw", "body", "angular_first"),
}


def conventions(value: str | Conventions) -> Conventions:
    """Return the conventions of that name, or the value itself."""
    if isinstance(value, Conventions):
        return value
    if not isinstance(value, str) or value not in NAMED:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(
            f"unknown conventions {value!r}; possible: {', '.join(map(repr, NAMED))}, "
            "or a ramidyn.Conventions(...)"
        )
    return NAMED[value]


EXPRESSED_IN: Final = ("local", "world", "local_world_aligned")


def axes_named(value: object) -> str | None:
    """Return a word of EXPRESSED_IN, also for Pinocchio's name of it, or None."""
    word = getattr(value, "name", value)  # pinocchio.LOCAL, a ReferenceFrame
    word = word.lower() if isinstance(word, str) else None
    return word if word in EXPRESSED_IN else None
