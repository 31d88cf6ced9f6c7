"""MJCF's passive forces: springs, damping, friction, tendons, gravity compensation."""

from __future__ import annotations

from ramidyn.description.constants import quaternion
from ramidyn.description.description import JointDescription
from ramidyn.description.forces.bodies import GravityCompensation
from ramidyn.description.forces.element import ForceElement
from ramidyn.description.forces.from_file import joint_elements
from ramidyn.description.forces.joints import Tendon
from ramidyn.description.formats.mjcf.bodies import MjcfBody, Worldbody
from ramidyn.description.formats.mjcf.defaults import LARGEST, Defaults, unknown
from ramidyn.description.formats.mjcf.joints import LARGEST_FORCE
from ramidyn.description.formats.xml import Element, number, numbers


def read_passive(
    world: Worldbody, has_springs: bool, has_dampers: bool
) -> list[ForceElement]:
    """Return the passive forces of joints and bodies."""
    found: list[ForceElement] = []
    for body in world.bodies[1:]:
        for joint in body.joints:
            found += joint_elements(
                joint.name,
                joint.stiffness if has_springs else 0.0,
                _spring_reference(body, joint),
                joint.damping if has_dampers else 0.0,
                joint.friction,
            )
    if has_springs or has_dampers:
        found += [
            GravityCompensation(
                b.name, b.gravity_compensation, name=f"{b.name}_gravity_compensation"
            )
            for b in world.bodies[1:]
            if b.gravity_compensation and b.is_moving
        ]
    return found


def _spring_reference(
    body: MjcfBody, joint: JointDescription
) -> float | tuple[float, ...]:
    """Return where a spring rests: a free joint's where the file has the body."""
    if joint.type == "floating":
        w, x, y, z = quaternion(body.placement.rows)
        return (*body.placement.origin, x, y, z, w)
    return 0.0 if joint.type == "spherical" else joint.spring_reference


def read_tendons(
    sections: list[Element],
    world: Worldbody,
    defaults: Defaults,
    has_springs: bool,
    has_dampers: bool,
) -> tuple[list[Tendon], list[str]]:
    """Return the fixed tendons, and what is not supported about all tendons."""
    joints = {j.name: j for body in world.bodies for j in body.joints}
    found: list[Tendon] = []
    unsupported: list[str] = []
    elements = [e for section in sections for e in section]
    for k, element in enumerate(elements):
        assert isinstance(element, Element)
        merged = defaults.apply(element, tag="tendon")
        name = element.get("name") or f"tendon{k}"
        acting = [
            n
            for n in ("stiffness", "damping", "armature", "frictionloss")
            if any(numbers(merged, n, range(1, 4), (0.0,), largest=LARGEST_FORCE))
        ]
        if element.tag != "fixed":
            if acting:
                unsupported.append(f"spatial tendon {name!r} ({', '.join(acting)})")
            continue
        if "armature" in acting:
            unsupported.append(f"armature of tendon {name!r}")
        parts = [e for e in element if e.tag == "joint"]
        names = [str(e.get("joint")) for e in parts]
        for part, joint in zip(parts, names, strict=True):
            assert isinstance(part, Element)
            if joint not in joints:
                raise unknown(part, "joint", joint, joints)
        weights = [_weight(e) for e in parts]
        # MuJoCo measures it where all joint springs rest.
        at_rest = sum(
            c * joints[n].spring_reference for c, n in zip(weights, names, strict=True)
        )
        k1, d1 = (_first(merged, n) for n in ("stiffness", "damping"))
        found.append(
            Tendon(
                tuple(names),
                tuple(weights),
                stiffness=k1 if has_springs else 0.0,
                damping=d1 if has_dampers else 0.0,
                rest_length=_rest(merged, at_rest),
                friction=number(merged, "frictionloss", 0.0, largest=LARGEST_FORCE),
                name=name,
            )
        )
    return found, unsupported


def _weight(element: object) -> float:
    assert isinstance(element, Element)
    return number(element, "coef", 1.0, largest=LARGEST)


def _first(element: Element, attribute: str) -> float:
    return numbers(element, attribute, range(1, 4), (0.0,), largest=LARGEST_FORCE)[0]


def _rest(element: Element, at_rest: float) -> float | tuple[float, float]:
    given = numbers(element, "springlength", range(1, 3), (-1.0,), largest=LARGEST)
    if given[0] == -1.0:
        return at_rest
    return given[0] if len(given) == 1 else (given[0], given[1])
