"""MJCF's <equality>: the constraints that close loops or couple joints."""

from __future__ import annotations

import numpy as np

from ramidyn.description.constants import norm
from ramidyn.description.description import LoopDescription
from ramidyn.description.formats.mjcf.bodies import MjcfBody, Site, Worldbody
from ramidyn.description.formats.mjcf.defaults import (
    LARGEST,
    TINY,
    Defaults,
    flag,
    unknown,
)
from ramidyn.description.formats.mjcf.orientation import position
from ramidyn.description.formats.xml import Element, fault, numbers, where, word
from ramidyn.description.pose import Pose

CutFrame = tuple[MjcfBody, Pose]
"""a body, and where in it the cut stands"""


class EqualityReader:
    """Reads the equality constraints of a model whose bodies are known."""

    def __init__(
        self, world: Worldbody, defaults: Defaults, warnings: list[str]
    ) -> None:
        self._bodies = {body.name: body for body in world.bodies}
        self._sites = {site.name: site for site in world.sites}
        self._joints = {j.name: j for body in world.bodies for j in body.joints}
        self._defaults = defaults
        self._warnings = warnings

    def read(self, sections: list[Element]) -> tuple[LoopDescription, ...]:
        """Return the active constraints in document order."""
        loops: dict[str, LoopDescription] = {}
        for section in sections:
            for element in section:
                assert isinstance(element, Element)
                loop = self._one(element, f"{element.tag}{len(loops)}")
                if loop is None:
                    continue
                if loop.name in loops:
                    raise fault(element, f"duplicate equality {loop.name!r}")
                loops[loop.name] = loop
        return tuple(loops.values())

    def _one(self, element: Element, unnamed: str) -> LoopDescription | None:
        merged = self._defaults.apply(element, tag="equality")
        name = element.get("name") or unnamed
        if element.tag in ("tendon", "flex", "flexvert", "flexstrain"):
            self._warnings.append(
                f"{where(element)}: equality of type {element.tag} is ignored"
            )
            return None
        if not flag(merged, "active", default=True):
            self._warnings.append(
                f"{where(element)}: {element.tag} {name!r} is inactive and ignored"
            )
            return None
        match element.tag:
            case "connect":
                return self._connect(element, name)
            case "weld":
                return self._weld(element, name)
            case "joint":
                return self._coupling(element, name)
            case tag:
                raise unknown(element, "equality", tag, ("connect", "weld", "joint"))

    def _connect(self, element: Element, name: str) -> LoopDescription:
        if "site1" in element.attrib:
            a, b = self._site_cuts(element)
        else:
            word(element, "anchor")
            body_a, body_b = self._two_bodies(element)
            T_a_cut = Pose.at(position(element, "anchor"))
            a = body_a, T_a_cut
            b = body_b, body_b.T_world.inverse() @ body_a.T_world @ T_a_cut
        return _loop(name, "spherical", a, b)

    def _weld(self, element: Element, name: str) -> LoopDescription:
        if "site1" in element.attrib:
            return _loop(name, "weld", *self._site_cuts(element))
        body_a, body_b = self._two_bodies(element)
        T_b_cut = Pose.at(position(element, "anchor"))
        relative = np.array(
            numbers(element, "relpose", 7, (0,) * 7, largest=LARGEST), dtype=float
        )
        if norm(relative[3:].tolist()) > TINY:
            # MuJoCo holds the anchor, not the origin, of the second body there.
            T_a_cut = Pose.from_quaternion(relative[3:], relative[:3], order="wxyz")
        else:
            T_a_cut = body_a.T_world.inverse() @ body_b.T_world @ T_b_cut
        return _loop(name, "weld", (body_a, T_a_cut), (body_b, T_b_cut))

    def _coupling(self, element: Element, name: str) -> LoopDescription:
        joints = [word(element, "joint1")]
        if element.get("joint2"):
            joints.append(word(element, "joint2"))
        for joint in joints:
            if joint not in self._joints:
                raise unknown(element, "joint", joint, self._joints)
            if self._joints[joint].type not in ("revolute", "prismatic"):
                raise fault(
                    element,
                    f"joint {joint!r} must be a hinge or a slide joint",
                )
        given = numbers(element, "polycoef", range(1, 6), (0, 1), largest=LARGEST)
        standard = (0.0, 1.0, 0.0, 0.0, 0.0)
        coefficients = given + standard[len(given) :]
        return LoopDescription(
            name,
            "coupling",
            joints=tuple(joints),
            coefficients=coefficients if len(joints) > 1 else coefficients[:1],
        )

    def _two_bodies(self, element: Element) -> tuple[MjcfBody, MjcfBody]:
        names = word(element, "body1"), element.get("body2") or "world"
        for name in names:
            if name not in self._bodies:
                raise unknown(element, "body", name, self._bodies)
        return self._bodies[names[0]], self._bodies[names[1]]

    def _site_cuts(self, element: Element) -> tuple[CutFrame, CutFrame]:
        mixed = [a for a in ("body1", "body2", "anchor") if a in element.attrib]
        if mixed:
            raise fault(element, f"site1 and {mixed[0]}; expected sites or bodies")
        a, b = self._site(element, "site1"), self._site(element, "site2")
        return (a.body, a.placement), (b.body, b.placement)

    def _site(self, element: Element, attribute: str) -> Site:
        name = word(element, attribute)
        if name not in self._sites:
            raise unknown(element, "site", name, self._sites)
        return self._sites[name]


def _loop(name: str, kind: str, a: CutFrame, b: CutFrame) -> LoopDescription:
    names = [None if body.is_world else body.name for body, _ in (a, b)]
    return LoopDescription(name, kind, names[0], names[1], a[1], b[1])
