"""The bodies that MuJoCo fuses into their parents (compiler fusestatic).

A Tree merges every body without joints anyway. What is left to know: a body that
becomes part of the world no longer counts in settotalmass, and one without mass takes
no inertia along, not even that of boundinertia.
"""

from __future__ import annotations

from typing import Final

from ramidyn.description.formats.mjcf.bodies import MjcfBody, Worldbody
from ramidyn.description.formats.mjcf.defaults import flag
from ramidyn.description.formats.xml import Element

_NAMES: Final = ("body", "body1", "body2")
_TYPED: Final = (("objtype", "objname"), ("reftype", "refname"))
_BODIES: Final = ("body", "xbody")


def fused_bodies(world: Worldbody, root: Element) -> set[MjcfBody]:
    """Return the bodies without joints that nothing refers to by name."""
    named = _referred(root)
    return {
        body
        for body in world.bodies[1:]
        if not body.joints
        and body.name not in named
        and not flag(body.element, "mocap")
    }


def part_of_world(world: Worldbody, fused: set[MjcfBody]) -> set[MjcfBody]:
    """Return those of the fused bodies that become part of the world."""
    found: set[MjcfBody] = set()
    for body in world.bodies[1:]:
        assert body.parent is not None
        if body in fused and (body.parent.is_world or body.parent in found):
            found.add(body)
    return found


def _referred(root: Element) -> set[str]:
    """Return the names of bodies that sensors, equalities and the like refer to."""
    names: set[str] = set()
    for element in root.iter():
        for attribute in _NAMES:
            names.update(element.get(attribute, "").split())
        if element.tag in ("camera", "light"):
            names.add(element.get("target", ""))
        for type_, name in _TYPED:
            if element.get(type_) in _BODIES:
                names.add(element.get(name, ""))
    return names
