"""Checks that force elements and contacts share: names, numbers, the ground."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import Field, fields, replace
from numbers import Real
from typing import Any, cast

from ramidyn.description.builder_checks import checked_pose
from ramidyn.description.contacts import (
    CONTACTS,
    GROUND_CONTACTS,
    DryFriction,
    HardLimit,
    ground_candidates,
)
from ramidyn.description.description import JointDescription
from ramidyn.description.forces.contacts import PointContact, SphereContact, Tire
from ramidyn.description.forces.fields import references
from ramidyn.description.forces.joints import JointFriction, Tendon
from ramidyn.description.joint_types import joint_type
from ramidyn.errors import ArgumentError, ModelError, unknown_name
from ramidyn.tree.model import Model
from ramidyn.tree.tree import ROOT

POSITIVE = ("radius", "radius_a", "radius_b", "low_speed", "transition_velocity")
LIMITS = ("lower", "upper")
VECTORS = (
    *("point", "point_a", "point_b", "center", "center_a", "center_b"),
    *("normal", "axis", "size"),
)
RANGES = ("control_range", "force_range")
NUMBERS = ("exponent", "armature", "damping_ratio", "half_length")
"""fields that are numbers without being parameters"""


def element_word(element: object) -> str:
    """Return "contact" or "force": how messages call an element."""
    return "contact" if isinstance(element, CONTACTS) else "force"


def labeled_element(element: Any, name: object, model: Model) -> tuple[str, Any]:
    """Return how messages call an element, and the element with name and numbers.

    Forces and contacts share their names.

    Raises:
        ArgumentError, ModelError, UnknownName: a name or a number is wrong.
    """
    word = element_word(element)
    known = {e.name: element_word(e) for e in (*model.forces, *model.contacts)}
    label = _label(element, name, known)
    what = f"{word} {label!r}"
    if label in known:
        also = f" (a {known[label]})" if known[label] != word else ""
        raise ModelError(f"{what} already exists in robot {model.name!r}{also}")
    new = replace(element, name=label, **_numbers(what, element))
    _check_names(what, new, model)
    return what, new


def _label(element: Any, name: object, taken: Iterable[str]) -> str:
    given = element.name if name is None else name
    if not isinstance(given, str) or (name is not None and not given):
        raise ArgumentError(
            f"name is {given!r}; expected the name of a {element_word(element)}"
        )
    if given:
        return given
    kind = type(element).__name__
    stem = "".join("_" + c.lower() if c.isupper() else c for c in kind).strip("_")
    k = 0
    while f"{stem}{k}" in taken:
        k += 1
    return f"{stem}{k}"


# ------------------------------------------------------------ numbers


def _numbers(what: str, element: Any) -> dict[str, Any]:
    """Return all numbers of an element as floats; an error names the field."""
    found: dict[str, Any] = {}
    for f in fields(element):
        value: object = getattr(element, f.name)
        said = f"{what}: {f.name}"
        if "unit" in f.metadata and value is not None:
            found[f.name] = _parameter(said, value, f)
        elif f.name in VECTORS:
            found[f.name] = _vector(said, value)
        elif f.name == "points":
            found[f.name] = _vectors(said, value)
        elif f.name in RANGES:
            found[f.name] = _range(said, value)
        elif f.name in NUMBERS and value is not None:
            found[f.name] = _finite(said, value)
        elif f.name == "placement":
            found[f.name] = checked_pose(said, value, ArgumentError)
        if f.name in POSITIVE and not cast(float, found[f.name]) > 0.0:
            raise ArgumentError(f"{said} is {value!r}; expected more than 0")
    return found


def _finite(said: str, value: object, is_bounded: bool = True) -> float:
    number = math.nan
    if isinstance(value, Real) and value is not True and value is not False:
        number = float(value)
    if math.isnan(number) or (is_bounded and math.isinf(number)):
        raise ArgumentError(f"{said} is {value!r}; expected a finite number")
    return number


def _parameter(said: str, value: object, field: Field[Any]) -> Any:
    default: object = field.default
    if isinstance(value, Iterable) and not isinstance(value, str):
        entries = tuple(_finite(said, x) for x in cast("Iterable[object]", value))
        if isinstance(default, tuple) and len(entries) != len(
            cast("tuple[float]", default)
        ):
            raise ArgumentError(f"{said} is {value!r}; expected 3 numbers")
        return entries
    if isinstance(default, tuple):
        raise ArgumentError(f"{said} is {value!r}; expected 3 numbers")
    return _finite(said, value, is_bounded=field.name not in LIMITS)


def _vector(said: str, value: object) -> tuple[float, float, float]:
    try:
        x, y, z = cast("Iterable[object]", value)
    except (TypeError, ValueError):
        raise ArgumentError(f"{said} is {value!r}; expected 3 numbers") from None
    return _finite(said, x), _finite(said, y), _finite(said, z)


def _vectors(said: str, value: object) -> tuple[tuple[float, float, float], ...]:
    try:
        given = tuple(cast("Iterable[object]", value))
    except TypeError:
        raise ArgumentError(f"{said} is {value!r}; expected a list of points") from None
    return tuple(_vector(said, x) for x in given)


def _range(said: str, value: object) -> tuple[float, float]:
    try:
        low, high = cast("Iterable[float]", value)
        ok = float(low) <= float(high)
    except (TypeError, ValueError):
        ok, low, high = False, 0.0, 0.0
    if not ok:
        raise ArgumentError(
            f"{said} is {value!r}; expected (lower, upper), infinite where unlimited"
        )
    return float(low), float(high)


def unit_direction(
    said: str, v: tuple[float, float, float]
) -> tuple[float, float, float]:
    """Return a direction with length 1."""
    length = math.sqrt(sum(x * x for x in v))
    if not length > 0.0:
        raise ArgumentError(f"{said} is {v!r}; expected a direction")
    return v[0] / length, v[1] / length, v[2] / length


# ------------------------------------------------------------ names


def described_joints(model: Model) -> dict[str, JointDescription]:
    """Return every joint by name, those that follow others included."""
    assert model.description is not None
    return {j.name: j for b in model.description.bodies for j in b.joints}


def joint_types(model: Model) -> dict[str, str]:
    """Return the type of every joint, those that follow others included."""
    return {name: j.type for name, j in described_joints(model).items()}


def _check_names(what: str, element: Any, model: Model) -> None:
    owner = f"robot {model.name!r}, for {what}"
    tendons = [f.name for f in model.forces if isinstance(f, Tendon)]
    known: dict[str, tuple[str, Sequence[str]]] = {
        "joint": ("joint", list(joint_types(model))),
        "frame": ("body or frame", list(model.frames)),
        "force": ("tendon", tendons),
    }
    for _, kind, names in references(element):
        word, possible = known[kind]
        for name in names:
            if name not in possible:
                raise unknown_name(word, str(name), owner, possible)


def check_single(what: str, joint: str, model: Model) -> None:
    """Refuse a joint that has several coordinates."""
    kind = joint_types(model)[joint]
    if joint_type(joint, kind).nq != 1:
        raise ModelError(
            f"{what}: joint {joint!r} is {kind}; expected a joint with one coordinate"
        )


# ------------------------------------------------------------ limits and the ground


def with_limits(what: str, element: Any, model: Model) -> Any:
    """Return an element whose limits are numbers: its own, or those of its joint."""
    check_single(what, element.joint, model)
    limits = described_joints(model)[element.joint].limits
    low, high = element.lower, element.upper
    if low is None:
        low = limits.lower[0] if limits else -math.inf
    if high is None:
        high = limits.upper[0] if limits else math.inf
    if not low < high:
        raise ArgumentError(
            f"{what}: lower is {low:g} and upper is {high:g}; expected lower < upper"
        )
    if math.isinf(low) and math.isinf(high):
        raise ArgumentError(
            f"{what}: joint {element.joint!r} has no limits; pass lower or upper"
        )
    return replace(element, lower=low, upper=high)


def check_apart(what: str, element: Any, model: Model) -> None:
    """Refuse an element between two frames of one body."""
    a, b = element.frame_a, element.frame_b
    if model.frames[a].body == model.frames[b].body:
        raise ModelError(
            f"{what}: {a!r} and {b!r} are fixed to each other; a "
            f"{element_word(element)} between them does nothing"
        )


def with_ground(what: str, element: Any, model: Model) -> Any:
    """Return a contact with a plane or a height function as its ground, checked."""
    if model.frames[element.frame].body == ROOT:
        raise ModelError(
            f"{what}: {element.frame!r} is fixed to the world and cannot touch it"
        )
    normal = unit_direction(f"{what}: normal", element.normal)
    height: Callable[..., Any] | None = element.height
    if height is not None:
        if not callable(height):
            raise ArgumentError(
                f"{what}: height is {height!r}; expected a function of x and y"
            )
        if normal != (0.0, 0.0, 1.0) or element.offset:
            raise ArgumentError(
                f"{what}: height is given, and normal or offset too; expected one "
                "ground"
            )
    return replace(element, normal=normal)


# ------------------------------------------------------------ rigid or compliant


def check_unclaimed(what: str, element: Any, model: Model) -> None:
    """Refuse a second description of the same thing, one rigid and one compliant."""
    own = _claims(element)
    for other in (*model.forces, *model.contacts) if own else ():
        word = element_word(other)
        is_both = word != element_word(element)
        shared = own & _claims(other)
        if shared and (is_both or isinstance(other, (HardLimit, DryFriction))):
            raise ModelError(
                f"{what}: {word} {other.name!r} already has {min(shared)}; keep one of "
                "them"
            )


def _claims(element: Any) -> set[str]:
    """Return what only one element may describe."""
    if isinstance(element, (JointFriction, DryFriction)):
        return {f"friction in joint {element.joint!r}"}
    if isinstance(element, HardLimit):
        return {f"hard limits of joint {element.joint!r}"}
    if isinstance(element, GROUND_CONTACTS):
        centers = [c.center for c in ground_candidates(element)]
    elif isinstance(element, (SphereContact, Tire)):
        centers = [element.center]
    elif isinstance(element, PointContact):
        centers = [element.point]
    else:
        return set()
    return {f"a contact of {element.frame!r} at {c}" for c in centers}
