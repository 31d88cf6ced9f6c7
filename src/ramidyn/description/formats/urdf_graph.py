"""The links and joints of a URDF file as a graph, which must be a tree; its motors."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from collections.abc import Container, Iterable, Mapping

from ramidyn.description.description import Actuator
from ramidyn.description.formats.xml import fault, where, word
from ramidyn.errors import UnsupportedJoint, unknown_name

Elements = Mapping[str, ET.Element]
"""elements by their names, in file order"""


def by_name(robot: ET.Element, tag: str) -> dict[str, ET.Element]:
    """Return the children of that tag by their names, which must differ."""
    found: dict[str, ET.Element] = {}
    for element in robot.iterfind(tag):
        name = word(element, "name")
        if name in found:
            line = getattr(found[name], "line", "?")
            raise fault(
                element,
                f"duplicate {tag} name, first used on line {line}; names must be "
                "unique",
            )
        found[name] = element
    return found


def known_link(element: ET.Element, links: Elements) -> str:
    """Return the link that an element names in ``link="..."``."""
    name = word(element, "link")
    if name not in links:
        raise fault(element, str(unknown_name("link", name, "the file", links)))
    return name


def ends(
    joint: ET.Element, links: Elements, tags: tuple[str, str] = ("parent", "child")
) -> tuple[ET.Element, ET.Element]:
    """Return the two child elements that name the links which a joint joins."""
    found: list[ET.Element] = []
    for tag in tags:
        element = joint.find(tag)
        if element is None:
            raise fault(joint, f'no <{tag}>; expected <{tag} link="..."/>')
        found.append(element)
    a, b = found
    if known_link(a, links) == known_link(b, links):
        raise fault(joint, f"joins link {known_link(a, links)!r} to itself")
    return a, b


def depth_first(
    robot: ET.Element, links: Elements, joints: Elements
) -> list[tuple[str, str | None, str | None]]:
    """Return (link, parent link, joint), parents first, siblings in file order."""
    above: dict[str, tuple[str, str]] = {}
    below: dict[str, list[str]] = {link: [] for link in links}
    for name, element in joints.items():
        parent, child = (known_link(e, links) for e in ends(element, links))
        if child in above:
            raise fault(
                element,
                f"link {child!r} has two parents, {above[child][0]!r} and {parent!r} "
                f"(joint {above[child][1]!r} moves it too); expected a tree, with "
                "loops closed by <loop>",
            )
        above[child] = parent, name
        below[parent].append(child)
    roots = [link for link in links if link not in above]
    if len(roots) > 1:
        raise fault(
            robot,
            f"{len(roots)} links without a parent joint: {joined_names(roots)}; "
            "expected one root link",
        )
    order: list[tuple[str, str | None, str | None]] = []
    stack = roots
    while stack:
        link = stack.pop()
        parent, joint = above.get(link, (None, None))
        order.append((link, parent, joint))
        stack.extend(reversed(below[link]))
    if len(order) < len(links):
        reached = {link for link, _, _ in order}
        start = next(link for link in links if link not in reached)
        up = {link: parent for link, (parent, _) in above.items()}
        raise fault(robot, f"a cycle of links, child to parent: {_cycle(start, up)}")
    return order


def refuse_cycles(mimics: Mapping[str, str], joints: Elements) -> None:
    """Raise where joints mimic each other in a circle."""
    sound: set[str] = set()
    for start in mimics:
        chain: dict[str, None] = {}
        name = start
        while name in mimics and name not in sound:
            if name in chain:
                raise fault(
                    joints[name],
                    f"mimics itself: {_cycle(name, mimics)}; expected a "
                    "joint that does not depend on it",
                )
            chain[name] = None
            name = mimics[name]
        sound.update(chain)


def _cycle(start: str, following: Mapping[str, str]) -> str:
    """Return the cycle that a walk from ``start`` enters, as text."""
    path: dict[str, None] = {}
    name = start
    while name not in path:
        path[name] = None
        name = following[name]
    names = list(path)
    return joined_names([*names[names.index(name) :], name], " -> ")


def joined_names(names: Iterable[str], separator: str = ", ") -> str:
    """Return names for a message, the first dozen if there are more."""
    shown = [repr(name) for name in names]
    return separator.join(shown[:12] + (["..."] if len(shown) > 12 else []))


def supported_type(joint: ET.Element, types: Mapping[str, str]) -> tuple[str, str]:
    """Return the type of a joint in the file, and ours."""
    given = word(joint, "type")
    if given not in types:
        raise UnsupportedJoint(
            f"{where(joint)}: type {given!r} is not supported; expected one of "
            f"{joined_names(types)}"
        )
    return given, types[given]


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
