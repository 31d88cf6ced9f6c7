"""What the fields of a force element are: names, parameters, or plain data.

Elements are frozen dataclasses. A field that names a part of the robot, or that is a
number with a unit, says so in its metadata: checks, editing, printing and
``parameters=`` read it from there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import MISSING, Field, field, fields
from typing import Any, Final, cast

ANGULAR_STIFFNESS: Final = "N m/rad or N/m"
ANGULAR_DAMPING: Final = "N m s/rad or N s/m"


def _field(metadata: dict[str, Any], default: Any) -> Any:
    if default is MISSING:
        return field(metadata=metadata)
    return field(default=default, metadata=metadata)


def joint(default: Any = MISSING) -> Any:
    """Return a field that names a joint, or several."""
    return _field({"refers": "joint"}, default)


def frame(default: Any = MISSING) -> Any:
    """Return a field that names a body, a frame, or "world"."""
    return _field({"refers": "frame"}, default)


def element(default: Any = MISSING) -> Any:
    """Return a field that names another force element."""
    return _field({"refers": "force"}, default)


def parameter(unit: str, default: Any = MISSING, *, signed: bool = False) -> Any:
    """Return a field with a number, or several, which ``parameters=`` may name.

    Unless it is ``signed``, a negative one adds energy and is warned of.
    """
    return _field({"unit": unit, "signed": signed}, default)


def label() -> Any:
    """Return the field with the name of an element, which only keywords set."""
    return field(default="", kw_only=True)


def entries(value: Any) -> tuple[Any, ...]:
    """Return a tuple as it is, and anything else as a tuple of one."""
    return cast("tuple[Any, ...]", value) if isinstance(value, tuple) else (value,)


def references(element: Any) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield (field, kind of what it names, the names) for what an element names."""
    for f in fields(element):
        if "refers" in f.metadata:
            names = entries(getattr(element, f.name))
            yield f.name, f.metadata["refers"], tuple(n for n in names if n)


def referred_names(element: Any, kind: str) -> tuple[str, ...]:
    """Return the names of all joints, frames or forces that an element names."""
    return tuple(n for _, k, names in references(element) if k == kind for n in names)


def renamed_fields(element: Any, new_name: Callable[[str, str], str]) -> dict[str, Any]:
    """Return the fields that change if (kind, name) is called something else."""
    changes: dict[str, Any] = {}
    for name, kind, names in references(element):
        if names:
            new = tuple(new_name(kind, n) for n in names)
            changes[name] = new if isinstance(getattr(element, name), tuple) else new[0]
    return changes


def parameters(element: Any) -> dict[str, str]:
    """Return the parameters of an element that have a value, with their units."""
    return {
        f.name: f.metadata["unit"]
        for f in fields(element)
        if "unit" in f.metadata and getattr(element, f.name) is not None
    }


def is_signed(element: Any, name: str) -> bool:
    """Say whether a parameter of an element may be negative."""
    found: list[Field[Any]] = [f for f in fields(element) if f.name == name]
    return bool(found[0].metadata["signed"])


ANGULAR = frozenset(("revolute", "helical", "universal", "spherical"))
"""joints whose coordinates are all angles"""


def unit_on(unit: str, types: Iterable[str]) -> str:
    """Return the unit for joints of these types, if it is "angular or linear"."""
    angular, _, linear = unit.partition(" or ")
    found = set(types)
    if not linear or not found:
        return unit
    if found <= ANGULAR:
        return angular
    return linear if found == {"prismatic"} else unit


def element_text(element: Any, joints: Iterable[Any]) -> str:
    """Return an element of a robot in a few words: its parameters with units.

    ``joints`` are those of the robot: what they are decides between N m/rad and N/m.
    """
    types = {joint.name: joint.type for joint in joints}
    on = [types.get(name, "") for name in referred_names(element, "joint")]
    parts: list[str] = []
    for name, either in parameters(element).items():
        unit = unit_on(either, on)
        value = getattr(element, name)
        if value not in (0.0, (0.0, 0.0, 0.0)):
            shown = ", ".join(f"{x:.4g}" for x in entries(value))
            shown = f"({shown})" if isinstance(value, tuple) else shown
            parts.append(f"{name} {shown}" + (f" {unit}" if unit != "-" else ""))
    return ", ".join(parts)
