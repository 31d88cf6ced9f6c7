"""MJCF's passive forces, and which geoms can touch others, by MuJoCo's rules.

Two geoms can touch if the contype of one meets the conaffinity of the other, unless
their bodies are fixed to each other, are parent and child (the world excepted), or are
excluded. Masks are counted by body, so that the work is linear in the geoms.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final, final

from ramidyn.description.constants import quaternion
from ramidyn.description.description import JointDescription, Unsupported
from ramidyn.description.forces.bodies import GravityCompensation
from ramidyn.description.forces.element import ForceElement
from ramidyn.description.forces.from_file import joint_elements
from ramidyn.description.forces.joints import Tendon
from ramidyn.description.formats.mjcf.bodies import MjcfBody, Worldbody
from ramidyn.description.formats.mjcf.defaults import (
    LARGEST,
    Defaults,
    Settings,
    flag,
    unknown,
    whole,
)
from ramidyn.description.formats.mjcf.joints import LARGEST_FORCE, is_limited
from ramidyn.description.formats.xml import Element, fault, number, numbers


def read_passive(
    world: Worldbody, has_springs: bool, has_dampers: bool
) -> list[ForceElement]:
    """Return the passive forces of joints."""
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
    return found


def read_gravity_compensation(
    world: Worldbody,
) -> tuple[list[ForceElement], list[ForceElement]]:
    """Return the gravity compensation: as passive forces, and by actuators.

    MuJoCo has none unless some body's is positive.
    """
    passive: list[ForceElement] = []
    actuated: list[ForceElement] = []
    if not any(body.gravity_compensation > 0 for body in world.bodies):
        return passive, actuated
    kinds: dict[MjcfBody | None, frozenset[bool]] = {None: frozenset()}
    for body in world.bodies:
        own = {j.actuator_gravity_compensation for j in body.joints}
        kinds[body] = kinds[body.parent] | own
        for by_actuators in sorted(kinds[body]) if body.gravity_compensation else ():
            is_all = len(kinds[body]) == 1
            element = GravityCompensation(
                body.name,
                body.gravity_compensation,
                () if is_all else _carrying_joints(body, by_actuators),
                by_actuators,
                name=f"{body.name}_{'actuator_' * by_actuators}gravity_compensation",
            )
            (actuated if by_actuators else passive).append(element)
    return passive, actuated


def _carrying_joints(body: MjcfBody, by_actuators: bool) -> tuple[str, ...]:
    """Return the joints of one kind between the world and a body."""
    names: list[str] = []
    above: MjcfBody | None = body
    while above is not None:
        for joint in reversed(above.joints):
            if joint.actuator_gravity_compensation == by_actuators:
                names.append(joint.name)
        above = above.parent
    return tuple(reversed(names))


def _spring_reference(
    body: MjcfBody, joint: JointDescription
) -> float | tuple[float, ...]:
    """Return the rest position of a spring: of a free joint, the body's in the file."""
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
) -> tuple[list[Tendon], list[Unsupported]]:
    """Return the fixed tendons, and what is not supported about all tendons."""
    joints = {j.name: j for body in world.bodies for j in body.joints}
    found: list[Tendon] = []
    unsupported: list[Unsupported] = []
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
                kind = f"{{n}} spatial tendon{{s}} with {' and '.join(acting)}"
                unsupported.append(Unsupported(kind, name, "passive"))
            continue
        if "armature" in acting:
            kind = "armature of {n} tendon{s}"
            unsupported.append(Unsupported(kind, name, "passive"))
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


def read_tendon_ranges(
    sections: list[Element], defaults: Defaults, settings: Settings, notes: list[str]
) -> dict[str, tuple[float, float]]:
    """Return the limits of the sum of all actuators of each tendon, by its name."""
    found: dict[str, tuple[float, float]] = {}
    elements = [e for section in sections for e in section]
    for k, element in enumerate(elements):
        assert isinstance(element, Element)
        merged = defaults.apply(element, tag="tendon")
        if is_limited(merged, "actuatorfrc", settings, notes):
            low, high = numbers(merged, "actuatorfrcrange", 2, (0.0, 0.0))
            if not low <= 0.0 <= high:
                raise fault(element, "actuatorfrcrange excludes 0; expected it inside")
            found[element.get("name") or f"tendon{k}"] = low, high
    return found


def limited_tendons(
    sections: list[Element], defaults: Defaults, settings: Settings
) -> list[Unsupported]:
    """Return the tendons with limits, which are not supported."""
    elements = [e for section in sections for e in section]
    found: list[Unsupported] = []
    for k, element in enumerate(elements):
        assert isinstance(element, Element)
        if is_limited(defaults.apply(element, tag="tendon"), "", settings, []):
            name = element.get("name") or f"tendon{k}"
            found.append(Unsupported("limits of {n} tendon{s}", name, "hard_limits"))
    return found


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


Mask = tuple[int, int]
"""contype and conaffinity"""
_NOTHING: Final[Counter[Mask]] = Counter()


def touching_geoms(
    world: Worldbody, sections: Iterable[Element], filter_parents: bool
) -> tuple[str, ...]:
    """Return the geoms that can touch others, in document order.

    Args:
        world: all bodies.
        sections: the sections <contact>: excluded bodies and pairs.
        filter_parents: whether parent and child cannot touch.
    """
    rules = _Rules(world, filter_parents)
    paired: set[str] = set()
    for section in sections:
        rules.exclude_bodies(section)
        for child in section.iter("pair"):
            paired |= {child.get("geom1", ""), child.get("geom2", "")}
    found: list[str] = []
    for body in world.bodies:
        for geom, _ in body.geoms:
            name = geom.get("name", "")
            if rules.can_touch(body, _mask(geom)) or (name and name in paired):
                found.append(name or f"geom of {body.name}")
    return tuple(found)


def self_touching_geoms(
    world: Worldbody, sections: Iterable[Element], filter_parents: bool
) -> tuple[str, ...]:
    """Return the geoms that can touch geoms of other moving bodies."""
    rules = _Rules(world, filter_parents)
    for section in sections:
        rules.exclude_bodies(section)
    return tuple(
        geom.get("name") or f"geom of {body.name}"
        for body in world.bodies
        if body.is_moving
        for geom, _ in body.geoms
        if rules.can_touch(body, _mask(geom), only_moving=True)
    )


def _mask(geom: Element) -> Mask:
    return whole(geom, "contype", 1), whole(geom, "conaffinity", 1)


@final
class _Rules:
    def __init__(self, world: Worldbody, filter_parents: bool) -> None:
        self._filter_parents = filter_parents
        self._bodies = {body.name: body for body in world.bodies}
        self._world = world.bodies[0]
        self._fixed_to: dict[MjcfBody, MjcfBody] = {}
        self._own: dict[MjcfBody, Counter[Mask]] = {}
        self._group: dict[MjcfBody, Counter[Mask]] = {}
        self._below: dict[MjcfBody, Counter[Mask]] = {}
        self._total: Counter[Mask] = Counter()
        self._excluded: dict[MjcfBody, set[MjcfBody]] = {}
        self._known: dict[tuple[MjcfBody, Mask, bool], bool] = {}
        for body in world.bodies:
            own = Counter(_mask(geom) for geom, _ in body.geoms)
            stands_alone = body.parent is None or body.joints or _is_mocap(body)
            first = body if stands_alone else self._fixed_to[body.parent]  # type: ignore[index]
            self._fixed_to[body] = first
            self._own[body] = own
            self._group.setdefault(first, Counter()).update(own)
            self._total.update(own)
            if first.parent is not None:
                above = self._fixed_to[first.parent]
                self._below.setdefault(above, Counter()).update(own)

    def exclude_bodies(self, section: Element) -> None:
        """Note the pairs of bodies in a section <contact> that cannot touch."""
        for child in section.iter("exclude"):
            a, b = child.get("body1", ""), child.get("body2", "")
            if a in self._bodies and b in self._bodies:
                first, second = self._bodies[a], self._bodies[b]
                self._excluded.setdefault(first, set()).add(second)
                self._excluded.setdefault(second, set()).add(first)

    def can_touch(
        self, body: MjcfBody, mask: Mask, *, only_moving: bool = False
    ) -> bool:
        """Return whether a geom of a body can touch any other, or any that moves."""
        key = body, mask, only_moving
        if key not in self._known:
            self._known[key] = any(
                self._count(body, other, only_moving) > 0
                for other in self._total
                if mask[0] & other[1] or other[0] & mask[1]
            )
        return self._known[key]

    def _count(self, body: MjcfBody, mask: Mask, only_moving: bool) -> int:
        """Return the number of geoms with a mask that a body may touch."""
        first = self._fixed_to[body]
        count = self._total[mask] - self._group[first][mask]
        if only_moving and not first.is_world:
            count -= self._group[self._world][mask]
        if self._filter_parents and first.parent is not None:
            count -= self._below.get(first, _NOTHING)[mask]
            above = self._fixed_to[first.parent]
            if not above.is_world:
                count -= self._group[above][mask]
        for other in self._excluded.get(body, ()):
            if only_moving and self._fixed_to[other].is_world:
                continue  # not counted to begin with
            if not self._are_near(first, self._fixed_to[other]):
                count -= self._own[other][mask]
        return count

    def _are_near(self, a: MjcfBody, b: MjcfBody) -> bool:
        """Return whether two groups of fixed bodies are one, or parent and child."""
        if a is b or a.is_world or b.is_world or not self._filter_parents:
            return a is b
        assert a.parent is not None
        assert b.parent is not None
        return self._fixed_to[a.parent] is b or self._fixed_to[b.parent] is a


def _is_mocap(body: MjcfBody) -> bool:
    return flag(body.element, "mocap")
