"""URDF's <transmission>: which motor drives which joint, as data."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from collections.abc import Container

from ramidyn.description.description import Actuator


def read_transmissions(
    robot: ET.Element, joints: Container[str]
) -> tuple[Actuator, ...]:
    """Return an actuator for every joint of a transmission that can move.

    The formats of several generations of ROS are in use, so that nothing is required:
    what cannot be read is left out.
    """
    found: list[Actuator] = []
    for transmission in robot.iterfind("transmission"):
        motors = [e.get("name", "").strip() for e in transmission.iterfind("actuator")]
        gear = _reduction(transmission)
        for k, joint in enumerate(transmission.iterfind("joint")):
            name = joint.get("name", "").strip()
            if name not in joints:
                continue
            own = motors[min(k, len(motors) - 1)] if motors else ""
            own = own or transmission.get("name", "").strip() or name
            found.append(Actuator(own, "transmission", name, gear))
    return tuple(found)


def _reduction(transmission: ET.Element) -> tuple[float, ...]:
    for element in transmission.iter("mechanicalReduction"):
        try:
            value = float(element.text or "")
        except ValueError:
            continue
        if math.isfinite(value):
            return (value,)
    return (1.0,)
