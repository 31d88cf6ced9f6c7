"""Checks of a force element against the robot it is added to, before any tracing."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, cast

from ramidyn.description.conventions import EXPRESSED_IN
from ramidyn.description.forces.actuators import (
    ACTUATORS,
    Actuator,
    ActuatorForceRange,
)
from ramidyn.description.forces.bodies import (
    SIDES,
    Bushing,
    GravityCompensation,
    PointSpring,
    TorsionSpring,
)
from ramidyn.description.forces.contacts import PointContact, SphereContact, Tire
from ramidyn.description.forces.element import KINDS, RESERVED, ForceElement
from ramidyn.description.forces.fields import entries, is_signed, parameters
from ramidyn.description.forces.inputs import Custom
from ramidyn.description.forces.joints import JointLimit, JointSpring, Tendon
from ramidyn.description.joint_types import joint_type
from ramidyn.errors import ArgumentError, one_of, unknown_name
from ramidyn.tree.element_checks import (
    check_apart,
    check_single,
    check_unclaimed,
    joint_types,
    labeled_element,
    unit_direction,
    with_ground,
    with_limits,
)
from ramidyn.tree.model import Model


def checked_element(
    element: object, name: str | None, model: Model
) -> tuple[ForceElement, list[str]]:
    """Return an element with its name and clean numbers, and warnings about it.

    Raises:
        ArgumentError, ModelError, UnknownName: it cannot act on that robot.
    """
    if not isinstance(element, KINDS):
        raise ArgumentError(
            f"add_force: {element!r} given; expected a force element, such as "
            'ramidyn.forces.JointSpring("knee", 100.0)'
        )
    what, new = labeled_element(element, name, model)
    new = _CHECKS[type(new)](what, new, model) if type(new) in _CHECKS else new
    check_unclaimed(what, new, model)
    return new, _warnings(what, new)


def _warnings(what: str, element: ForceElement) -> list[str]:
    found: list[str] = []
    for name in parameters(element):
        value = getattr(element, name)
        if not is_signed(element, name) and any(x < 0.0 for x in entries(value)):
            found.append(f"{what}: {name} is {value!r}; a negative one adds energy")
    return found


# ------------------------------------------------------------ each kind


def _joint_spring(what: str, element: JointSpring, model: Model) -> JointSpring:
    kind = joint_types(model)[element.joint]
    type_ = joint_type(element.joint, kind)
    n = type_.nq
    given = element.reference
    if isinstance(given, tuple) and len(given) != n:
        raise ArgumentError(
            f"{what}: reference is {given!r}; joint {element.joint!r} ({kind}) has {n} "
            f"coordinate{'s' if n > 1 else ''}"
        )
    if not isinstance(given, tuple) and given and n > 1:
        raise ArgumentError(
            f"{what}: reference is {given!r}; joint {element.joint!r} ({kind}) has {n} "
            "coordinates"
        )
    if type_.has_quaternion and isinstance(given, tuple) and not any(given[-4:]):
        raise ArgumentError(f"{what}: reference has a quaternion of zero length")
    if isinstance(given, tuple) and n == 1:
        return replace(element, reference=given[0])
    return element


def _joint_names(what: str, joints: object) -> tuple[str, ...]:
    if not isinstance(joints, tuple):
        raise ArgumentError(f"{what}: joints is {joints!r}; expected a tuple of names")
    return cast("tuple[str, ...]", joints)


def _tendon(what: str, element: Tendon, model: Model) -> Tendon:
    if not _joint_names(what, element.joints):
        raise ArgumentError(f"{what}: joints is (); expected a tuple of names")
    given = entries(element.coefficients)
    if len(given) != len(element.joints):
        raise ArgumentError(
            f"{what}: coefficients is {element.coefficients!r}; expected one for each "
            f"of its {len(element.joints)} joints"
        )
    for joint in element.joints:
        check_single(what, joint, model)
    rest = element.rest_length
    if isinstance(rest, tuple) and not (len(rest) == 2 and rest[0] <= rest[1]):
        raise ArgumentError(
            f"{what}: rest_length is {rest!r}; expected a number or (shortest, longest)"
        )
    return element


def _check_joint_or_tendon(what: str, element: Actuator | ActuatorForceRange) -> None:
    if bool(element.joint) == bool(element.tendon):
        raise ArgumentError(f"{what}: expected a joint or a tendon, and not both")


def _actuator(what: str, element: Actuator, model: Model) -> Actuator:
    _check_joint_or_tendon(what, element)
    n = 1
    if element.joint:
        type_ = joint_type(element.joint, joint_types(model)[element.joint])
        if type_.has_quaternion:
            n = type_.nv
        else:
            check_single(what, element.joint, model)
    gear = element.gear if isinstance(element.gear, tuple) else (element.gear,)
    if len(gear) != n:
        expected = "1 number" if n == 1 else f"{n} numbers"
        raise ArgumentError(f"{what}: gear is {element.gear!r}; expected {expected}")
    if element.armature < 0.0 or (element.armature and n > 1):
        raise ArgumentError(
            f"{what}: armature is {element.armature!r}; expected at least 0, and 0 on "
            "joints with several degrees of freedom"
        )
    ratio = getattr(element, "damping_ratio", None)
    if ratio is not None and (ratio < 0.0 or element.damping):  # type: ignore[union-attr]
        raise ArgumentError(
            f"{what}: damping_ratio is {ratio!r}; expected at least 0, and no damping "
            "besides"
        )
    if element.armature and element.tendon:
        raise ArgumentError(f"{what}: armature on a tendon is not supported")
    return replace(element, gear=gear[0] if n == 1 else gear)


def _actuator_range(
    what: str, element: ActuatorForceRange, model: Model
) -> ActuatorForceRange:
    _check_joint_or_tendon(what, element)
    if element.joint:
        check_single(what, element.joint, model)
    elif not element.lower <= 0.0 <= element.upper:
        raise ArgumentError(
            f"{what}: lower is {element.lower:g} and upper is {element.upper:g}; "
            "expected lower <= 0 <= upper for a tendon"
        )
    if not element.lower <= element.upper:
        raise ArgumentError(
            f"{what}: lower is {element.lower:g} and upper is {element.upper:g}; "
            "expected lower <= upper"
        )
    return element


Between = PointSpring | TorsionSpring | Bushing


def _between(what: str, element: Between, model: Model) -> Between:
    check_apart(what, element, model)
    if isinstance(element, PointSpring) and element.one_sided is not None:
        one_of(f"{what}: one_sided", element.one_sided, SIDES, "None")
    return element


def _gravity_compensation(
    what: str, element: GravityCompensation, model: Model
) -> GravityCompensation:
    if element.body not in model.masses:
        raise unknown_name(
            "body", element.body, f"robot {model.name!r}, for {what}", model.body_names
        )
    return replace(element, joints=_joint_names(what, element.joints))


Contact = PointContact | SphereContact | Tire


def _contact(what: str, element: Contact, model: Model) -> Contact:
    element = with_ground(what, element, model)
    if isinstance(element, Tire):
        return replace(element, axis=unit_direction(f"{what}: axis", element.axis))
    if element.exponent < 1.0:
        raise ArgumentError(
            f"{what}: exponent is {element.exponent:g}; expected 1 or more"
        )
    return element


def _custom(what: str, element: Custom, model: Model) -> Custom:
    if not callable(element.function):
        raise ArgumentError(
            f"{what}: function is {element.function!r}; expected a function of the "
            "state, such as lambda state: -0.1 * state.qd"
        )
    one_of(f"{what}: expressed_in", element.expressed_in, EXPRESSED_IN)
    inputs = tuple(_inputs(what, element.inputs).items())
    known = model.force_inputs
    for name, shape in inputs:
        if known.get(name, shape) != shape:
            raise ArgumentError(
                f"{what}: input {name!r} has shape {shape}, but shape {known[name]} in "
                "another force; use another name"
            )
    _check_arity(what, element.function, [n for n, _ in inputs])
    return replace(element, inputs=inputs)


def _inputs(what: str, given: object) -> dict[str, tuple[int, ...]]:
    try:
        raw: dict[Any, Any] = dict(cast("Mapping[Any, Any]", given))
    except (TypeError, ValueError):
        raise ArgumentError(
            f"{what}: inputs is {given!r}; expected a dict of shapes by name"
        ) from None
    found: dict[str, tuple[int, ...]] = {}
    for name, shape in raw.items():
        if not isinstance(name, str) or not name.isidentifier() or name in RESERVED:
            raise ArgumentError(
                f"{what}: an input cannot be called {name!r}; expected an identifier "
                "that is not the name of another argument"
            )
        try:
            sizes = shape if hasattr(shape, "__iter__") else [shape]
            found[name] = tuple(operator.index(n) for n in sizes)
        except TypeError:
            found[name] = (-1,)
        if any(n < 0 for n in found[name]):
            raise ArgumentError(
                f"{what}: input {name!r} has shape {shape!r}; expected an integer or a "
                "tuple of integers"
            )
    return found


def _check_arity(what: str, function: Callable[..., Any], names: list[str]) -> None:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return  # a builtin, which does not tell
    try:
        signature.bind(None, *names)
    except TypeError:
        expected = ", ".join(["state", *names])
        raise ArgumentError(
            f"{what}: the function takes {signature}; expected ({expected})"
        ) from None


_CHECKS: dict[type, Callable[[str, Any, Model], Any]] = {
    JointSpring: _joint_spring,
    JointLimit: with_limits,
    Tendon: _tendon,
    ActuatorForceRange: _actuator_range,
    GravityCompensation: _gravity_compensation,
    Custom: _custom,
    **dict.fromkeys(ACTUATORS, _actuator),
    **dict.fromkeys((PointSpring, TorsionSpring, Bushing), _between),
    **dict.fromkeys((PointContact, SphereContact, Tire), _contact),
}
