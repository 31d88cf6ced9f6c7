"""MJCF's <actuator>: as data, and as force elements without a state of their own.

What each shortcut means is MuJoCo's: a position actuator is a gain kp and a bias
(0, −kp, −kv), a velocity actuator kv and (0, 0, −kv), a damper the gain (0, 0, −kv).
"""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from typing import Any, Final

from ramidyn.description.description import Actuator, JointDescription, Unsupported
from ramidyn.description.forces.actuators import (
    ANY,
    ActuatorForceRange,
    GeneralActuator,
    Motor,
    PositionServo,
    VelocityServo,
)
from ramidyn.description.forces.element import ForceElement
from ramidyn.description.forces.fields import referred_names
from ramidyn.description.forces.inputs import actuators
from ramidyn.description.forces.joints import JointDamper, Tendon
from ramidyn.description.formats.mjcf.bodies import Worldbody
from ramidyn.description.formats.mjcf.defaults import (
    LARGEST,
    Attributes,
    Defaults,
    Settings,
    choice,
    like,
    unknown,
    whole,
)
from ramidyn.description.formats.xml import Element, number, numbers

KINDS: Final = (
    *("general", "motor", "position", "velocity", "intvelocity", "damper", "cylinder"),
    *("muscle", "adhesion", "dcmotor", "plugin", "pid", "orientation"),
)
"""the elements; in a default class they all set the same attributes"""
FREEDOMS: Final = {"spherical": 3, "floating": 6}
Range = tuple[float, float]
NONE: Final[Range] = (-math.inf, math.inf)


def read_actuators(
    sections: list[Element], world: Worldbody, defaults: Defaults, settings: Settings
) -> tuple[Actuator, ...]:
    """Return the actuators in document order."""
    joints = {j.name: j for body in world.bodies for j in body.joints}
    found: list[Actuator] = []
    for i, (element, merged) in enumerate(actuator_elements(sections, defaults)):
        name = merged.get("joint") or merged.get("jointinparent")
        if name is not None and name not in joints:
            raise unknown(element, "joint", name, joints)
        joint = joints[name] if name is not None else None
        gear = numbers(merged, "gear", range(1, 7), (1.0,), largest=LARGEST)
        if joint is not None:
            gear = (*gear, *(0.0,) * 6)[: FREEDOMS.get(joint.type, 1)]
        control = _range(merged, "ctrl", settings)
        if control == NONE and joint is not None:
            control = _inherited_range(merged, joint)
        found.append(
            Actuator(
                element.get("name") or f"{element.tag}{i}",
                element.tag,
                name,
                tuple(gear),
                control,
                _range(merged, "force", settings),
            )
        )
    return tuple(found)


def actuator_elements(
    sections: list[Element], defaults: Defaults
) -> list[tuple[Element, Element]]:
    """Return every actuator in document order, as written and with its defaults."""
    elements = [e for section in sections for e in section if e.tag in KINDS]
    found: list[tuple[Element, Element]] = []
    for element in elements:
        assert isinstance(element, Element)
        found.append((element, _merged_actuator(element, defaults)))
    return found


def _merged_actuator(element: Element, defaults: Defaults) -> Element:
    attributes: Attributes = {}
    for kind in KINDS:
        attributes.update(defaults.apply(element, tag=kind).attrib)
    return like(element, {**attributes, **element.attrib})


def _range(element: Element, what: str, settings: Settings) -> Range:
    """Return a range of the file where it counts, else an infinite one."""
    given = f"{what}range" in element.attrib
    limited = choice(element, f"{what}limited", "true", "false", "auto", default="auto")
    counts = limited == "true" or (limited == "auto" and settings.autolimits)
    if not given or not counts:
        return NONE
    low, high = numbers(element, f"{what}range", 2, (0.0, 0.0), largest=LARGEST)
    return low, high


def _inherited_range(element: Element, joint: JointDescription) -> Range:
    """Return the joint's range, scaled by ``inheritrange``, where that is given."""
    share = number(element, "inheritrange", 0.0, largest=LARGEST)
    if share <= 0 or joint.limits is None:
        return NONE
    low, high = joint.limits.lower[0], joint.limits.upper[0]
    middle, half = (low + high) / 2, share * (high - low) / 2
    return middle - half, middle + half


class ActuatorForces:
    """The actuators of a file that can be elements, and those not supported.

    Args:
        joints: all joints by name.
        tendons: the fixed tendons.
        defaults: the default classes.
        clamps: whether the ranges of controls count.
        disabled: groups of actuators that are switched off.
    """

    def __init__(
        self,
        joints: Mapping[str, JointDescription],
        tendons: Sequence[Tendon],
        defaults: Defaults,
        clamps: bool,
        disabled: Container[int],
    ) -> None:
        self.found: list[ForceElement] = []
        self.unsupported: list[Unsupported] = []
        self._joints = joints
        self._tendons = {t.name: t for t in tendons}
        self._defaults = defaults
        self._clamps = clamps
        self._disabled = disabled

    def read(self, sections: list[Element], data: Sequence[Actuator]) -> None:
        """Read the sections <actuator>, and ``data``, made of them before."""
        pairs = actuator_elements(sections, self._defaults)
        for (element, merged), actuator in zip(pairs, data, strict=True):
            if whole(merged, "group", 0) in self._disabled:
                self._leave_out("{n} actuator{s}", actuator, "in a disabled group")
                continue
            common = self._transmission(merged, actuator)
            made = None
            if common and number(merged, "delay", 0.0, largest=LARGEST) == 0.0:
                if not self._clamps:
                    common["control_range"] = ANY
                made = _element(element, merged, common)
            if made is None:
                self._leave_out(f"{{n}} {element.tag} actuator{{s}}", actuator)
                continue
            self.found.append(made)
            self._read_damping(merged, actuator)

    def _read_damping(self, merged: Element, actuator: Actuator) -> None:
        damping = numbers(merged, "damping", range(1, 4), (0.0,), largest=LARGEST)
        if any(damping[1:]) or (damping[0] and not actuator.joint):
            self._leave_out("damping of {n} actuator{s}", actuator)
        elif damping[0] and actuator.joint:
            d = damping[0] * actuator.gear[0] ** 2
            name = f"{actuator.name}_damping"
            self.found.append(JointDamper(actuator.joint, d, name=name))

    def _leave_out(
        self, kind: str, actuator: Actuator, reason: str = "not supported"
    ) -> None:
        one = Unsupported(kind, actuator.name, "actuators", reason)
        self.unsupported.append(one)

    def limits(
        self,
        compensation: Sequence[ForceElement],
        tendon_ranges: Mapping[str, tuple[float, float]],
    ) -> list[ForceElement]:
        """Return the limits of the sums of actuators on joints and tendons.

        A range that excludes zero pushes a joint that nothing drives, as in MuJoCo.
        """
        pulled = {a.tendon for a in actuators(self.found)}
        driven = {n for f in self.found for n in referred_names(f, "joint")}
        driven |= {
            n for t in pulled & set(self._tendons) for n in self._tendons[t].joints
        }
        is_lifted = any(not referred_names(f, "joint") for f in compensation)
        driven |= {n for f in compensation for n in referred_names(f, "joint")}
        found: list[ForceElement] = []
        for joint in self._joints.values():
            given = joint.actuator_force_range
            if given is None:
                continue
            lifted = is_lifted and joint.actuator_gravity_compensation
            if joint.name in driven or lifted or not given[0] <= 0.0 <= given[1]:
                name = f"{joint.name}_actuator_range"
                found.append(ActuatorForceRange(joint.name, *given, name=name))
        for tendon, given in tendon_ranges.items():
            if tendon in pulled:
                name = f"{tendon}_actuator_range"
                limit = ActuatorForceRange("", *given, tendon=tendon, name=name)
                found.append(limit)
        return found

    def _transmission(
        self, merged: Element, actuator: Actuator
    ) -> dict[str, Any] | None:
        """Return the fields that all actuators share, or None if not supported."""
        common: dict[str, Any] = {
            "name": actuator.name,
            "control_range": actuator.control_range,
            "force_range": actuator.force_range,
            "armature": number(merged, "armature", 0.0, largest=LARGEST),
        }
        if actuator.joint is not None:
            n = FREEDOMS.get(self._joints[actuator.joint].type, 1)
            if n == 1:
                return {**common, "joint": actuator.joint, "gear": actuator.gear[0]}
            if common["armature"]:
                return None
            if "jointinparent" in merged.attrib:
                common["in_parent"] = True
            return {**common, "joint": actuator.joint, "gear": tuple(actuator.gear)}
        tendon = merged.get("tendon")
        if tendon in self._tendons and not common["armature"]:
            return {**common, "tendon": tendon, "gear": actuator.gear[0]}
        return None


def _element(
    element: Element, merged: Element, common: dict[str, Any]
) -> ForceElement | None:
    gain = _three(merged, "gainprm", 1.0)
    bias = _three(merged, "biasprm", 0.0)
    own = merged.get("kp"), merged.get("kv")
    if "in_parent" in common and element.tag != "motor":
        return None
    match element.tag:
        case "motor":
            return Motor(**common)
        case "position":
            kp = gain[0] if own[0] is None else number(merged, "kp", largest=LARGEST)
            if number(merged, "timeconst", 0.0, largest=LARGEST):
                return None
            return _servo(kp, _damping_bias(merged, bias), common)
        case "velocity":
            kv = gain[0] if own[1] is None else number(merged, "kv", largest=LARGEST)
            return VelocityServo(damping=kv, **common)
        case "damper":
            kv = number(merged, "kv", 0.0, largest=LARGEST)
            return GeneralActuator(gain=(0.0, 0.0, -kv), **common)
        case "general":
            return _general(merged, gain, bias, common)
        case _:
            return None


def _general(
    merged: Element, gain: list[float], bias: list[float], common: dict[str, Any]
) -> ForceElement | None:
    words = [merged.get(f"{n}type", w) for n, w in _TYPES.items()]
    if words[0] != "none" or words[1] not in ("fixed", "affine"):
        return None
    if words[2] not in ("none", "affine"):
        return None
    if words[1] == "fixed":
        gain = [gain[0], 0.0, 0.0]
    if words[2] == "none":
        bias = [0.0, 0.0, 0.0]
    if words[1] == "fixed" and words[2] == "affine" and gain[0] == -bias[1]:
        if bias[0] == 0.0:
            return _servo(gain[0], bias[2], common)
        if bias[2] > 0.0:
            return None  # a damping ratio, and a constant force
    g, b = tuple(gain), tuple(bias)
    return GeneralActuator(gain=g, bias=b, **common)  # type: ignore[arg-type]


_TYPES = {"dyn": "none", "gain": "fixed", "bias": "none"}


def _servo(kp: float, last_bias: float, common: dict[str, Any]) -> PositionServo:
    """Return a servo; a positive last bias is a damping ratio, as MuJoCo has it."""
    if last_bias > 0.0:
        return PositionServo(stiffness=kp, damping_ratio=last_bias, **common)
    return PositionServo(stiffness=kp, damping=-last_bias, **common)


def _damping_bias(merged: Element, bias: list[float]) -> float:
    """Return the last bias of a position actuator."""
    if "kv" in merged.attrib:
        return -number(merged, "kv", largest=LARGEST)
    if "dampratio" in merged.attrib:
        return number(merged, "dampratio", largest=LARGEST)
    return bias[2]


def _three(element: Element, attribute: str, first: float) -> list[float]:
    given = numbers(element, attribute, range(1, 11), (first,), largest=LARGEST)
    return [*given, 0.0, 0.0][:3]
