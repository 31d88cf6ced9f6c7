"""Warnings that name the parts of an MJCF model that Ramify ignores."""

from __future__ import annotations

from collections.abc import Iterable

from ramify.model.formats.mjcf.bodies import Worldbody
from ramify.model.formats.mjcf.defaults import Defaults
from ramify.model.formats.xml import Element, numbers, where
from ramify.model.warning_groups import listed


def ignored_options(options: Element) -> list[str]:
    """Return warnings about the fluid around the model."""
    given = [
        name
        for name, count in (("density", 1), ("viscosity", 1), ("wind", 3))
        if any(numbers(options, name, count, (0.0,) * count))
    ]
    if not given:
        return []
    return [f"{where(options)}: the fluid ({', '.join(given)}) is ignored"]


def ignored_tendons(sections: list[Element], defaults: Defaults) -> list[str]:
    """Return warnings about tendons that pull on their own."""
    warnings: list[str] = []
    for tendon in _children(sections):
        merged = defaults.apply(tendon, tag="tendon")
        given = [
            name
            for name in ("stiffness", "damping", "armature", "frictionloss")
            if any(numbers(merged, name, range(1, 4), (0.0,)))
        ]
        if given:
            warnings.append(
                f"{where(tendon)}: the tendon's {', '.join(given)} is ignored"
            )
    return warnings


def ignored_actuators(sections: list[Element], defaults: Defaults) -> list[str]:
    """Return a warning about actuators that are more than a given force."""
    names = [
        _name(actuator, i)
        for i, actuator in enumerate(_children(sections))
        if _is_active(actuator, defaults)
    ]
    if not names:
        return []
    return [
        f"actuators are not modeled beyond a joint force; the servos, dynamics, "
        f"armature and damping of {listed(names)} are ignored"
    ]


def _is_active(actuator: Element, defaults: Defaults) -> bool:
    """Return whether an actuator is a servo, has dynamics, or changes its joint."""
    merged = defaults.apply(actuator).attrib
    if actuator.tag == "general":
        words = ("none", "none", "fixed")
        names = ("dyntype", "biastype", "gaintype")
        if any(merged.get(n, w) != w for n, w in zip(names, words, strict=True)):
            return True
    elif actuator.tag != "motor":
        return True
    return any(merged.get(name, "0") != "0" for name in ("armature", "damping"))


def ignored_flexes(sections: list[Element]) -> list[str]:
    """Return warnings about deformable bodies."""
    return [
        f"{where(flex)}: the elasticity of the flex is ignored"
        for flex in _children(sections)
        if flex.tag == "flex"
    ]


def kept_as_data(world: Worldbody) -> list[str]:
    """Return warnings about springs and gravity compensation."""
    springs = [j.name for b in world.bodies for j in b.joints if j.stiffness]
    lifted = [b.name for b in world.bodies if b.gravity_compensation]
    warnings: list[str] = []
    if springs:
        warnings.append(
            f"springs (stiffness) of joints {listed(springs)} are kept as data and "
            "exert no force"
        )
    if lifted:
        warnings.append(
            f"gravity compensation (gravcomp) of bodies {listed(lifted)} is kept as "
            "data and exerts no force"
        )
    return warnings


def _children(sections: list[Element]) -> Iterable[Element]:
    for section in sections:
        for child in section:
            assert isinstance(child, Element)
            yield child


def _name(element: Element, i: int) -> str:
    return element.get("name") or f"{element.tag} {i} (line {element.line})"
