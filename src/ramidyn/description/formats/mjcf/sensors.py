"""The sensors of MJCF that can be computed; the others are named in a warning."""

from __future__ import annotations

from collections.abc import Collection

from ramidyn.description.formats.xml import Element, numbers, where
from ramidyn.description.sensors import (
    ACTUATOR,
    JOINT,
    MAGNETIC_FIELD,
    SENSOR_KINDS,
    Sensor,
)


def read_sensors(
    sections: list[Element],
    options: list[Element],
    frames: Collection[str],
    joints: Collection[str],
    warnings: list[str],
) -> tuple[Sensor, ...]:
    """Return the sensors of a file; ``joints`` are those with one coordinate."""
    field = MAGNETIC_FIELD
    for option in options:
        if option.get("magnetic") is not None:
            x, y, z = numbers(option, "magnetic", 3)
            field = (float(x), float(y), float(z))
    found: dict[str, Sensor] = {}
    for section in sections:
        for element in section:
            assert isinstance(element, Element)
            sensor = _sensor(element, field, frames, joints, len(found))
            if sensor is None:
                warnings.append(
                    f"{where(element)}: a sensor of this kind is not computed"
                )
            elif sensor.name not in found:
                found[sensor.name] = sensor
    return tuple(found.values())


def _sensor(
    element: Element,
    field: tuple[float, float, float],
    frames: Collection[str],
    joints: Collection[str],
    number: int,
) -> Sensor | None:
    """Return one sensor, or None if it cannot be computed."""
    kind = element.tag
    if kind not in SENSOR_KINDS:
        return None
    (cutoff,) = numbers(element, "cutoff", 1, (0.0,))
    at = SENSOR_KINDS[kind].at
    if kind.startswith("frame"):
        is_known = element.get("objtype") in ("site", "xbody")
        if not is_known or element.get("reftype") is not None:
            return None
        name = element.get("objname", "")
    else:
        name = element.get({JOINT: "joint", ACTUATOR: "actuator"}.get(at, "site"), "")
    places = {JOINT: joints, ACTUATOR: (name,)}.get(at, frames)
    if not name or name not in places:
        return None
    called = element.get("name") or f"{kind}_{number}"
    return Sensor(kind, name, called, field, max(0.0, cutoff))
