"""The links, joints and frames of an SDF model: their poses, and the tree they form.

A pose is relative to another frame: the one that ``relative_to`` names, or that of the
model (a link), the frame it is attached to (a frame), or its child (a joint).

SDF is a graph: a link may be the child of several joints, or of none. The tree grows
from the world, or from the first link that is nobody's child, each time by the first
joint of the file that leads from a link in the tree to a child outside of it; where
there is none, by the first one that leads to a parent, reversed. The joints left over
close loops: so the last joint of a loop, in file order, is the one that is cut.
"""

from __future__ import annotations

import heapq
import math
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, final

from ramidyn.description.constants import IDENTITY
from ramidyn.description.formats.urdf_graph import Elements, joined_names
from ramidyn.description.formats.xml import CONTENT, LARGEST, fault, numbers, word
from ramidyn.description.pose import Pose
from ramidyn.errors import unknown_name

MODEL: Final = "__model__"
"""the name of the model's own frame"""
WORLD: Final = "world"

_FORMATS: Final = {"euler_rpy": 6, "quat_xyzw": 7}


@final
class SdfFrames:
    """The frames of one model, by name."""

    def __init__(
        self, model: ET.Element, links: Elements, joints: Elements, frames: Elements
    ) -> None:
        self._links = links
        # Before version 1.7 a joint may have the name of a link.
        self._elements: Elements = {**joints, **frames, **links}
        self._poses: dict[str, Pose] = {MODEL: Pose.identity()}
        first = next(iter(links))
        self._canonical = first
        if model.get("canonical_link", "").strip():
            self._canonical = word(model, "canonical_link")
            self._check(model, self._canonical, links)
        self._fixed_to = {MODEL: self._canonical, **{name: name for name in links}}

    def pose(self, name: str, user: ET.Element) -> Pose:
        """Return T_model_name; ``user`` is the element that names it."""
        chain: dict[str, ET.Element] = {}
        while name not in self._poses:
            self._check(user, name, self._elements)
            if name in chain:
                path = joined_names([*chain, name], " -> ")
                raise fault(user, f"a cycle of poses: {path}")
            user = chain[name] = self._elements[name]
            name = _base(user)
        T = self._poses[name]
        for below, element in reversed(chain.items()):
            T = self._poses[below] = T @ read_pose(element)
        return T

    def link(self, name: str, user: ET.Element) -> str:
        """Return the link that a frame is fixed to."""
        chain: dict[str, None] = {}
        while name not in self._fixed_to:
            self._check(user, name, self._elements)
            if name in chain:
                path = joined_names([*chain, name], " -> ")
                raise fault(user, f"a cycle of attached frames: {path}")
            chain[name] = None
            user = self._elements[name]
            name = _parent_frame(user)
        found = self._fixed_to[name]
        self._fixed_to.update(dict.fromkeys(chain, found))
        return found

    def _check(self, user: ET.Element, name: str, known: Mapping[str, object]) -> None:
        if name in known:
            return
        if "::" in name:
            raise fault(
                user, f"{name!r} is in a nested model; nested models are not supported"
            )
        kind = "link" if known is self._links else "link, joint or frame"
        raise fault(user, str(unknown_name(kind, name, "the model", known)))


def _base(element: ET.Element) -> str:
    """Return the name of the frame that an element's pose is relative to."""
    pose = element.find("pose")
    given = "" if pose is None else pose.get("relative_to", "").strip()
    if given:
        return given
    return MODEL if element.tag == "link" else _parent_frame(element)


def _parent_frame(element: ET.Element) -> str:
    if element.tag == "joint":
        return child_text(element, "child")
    return element.get("attached_to", "").strip() or MODEL


def child_text(element: ET.Element, tag: str) -> str:
    """Return the text of a required child."""
    child = element.find(tag)
    if child is None:
        raise fault(element, f"no <{tag}>; it is required")
    return word(child, CONTENT)


def read_pose(element: ET.Element) -> Pose:
    """Return the pose of an element in the frame it is relative to."""
    pose = element.find("pose")
    if pose is None:
        return Pose.identity()
    old = pose.get("frame", "").strip()
    if old:
        raise fault(
            pose,
            f"frame={old!r} has no defined meaning; name the frame with relative_to "
            "(SDF 1.7)",
        )
    if not (pose.text or "").strip():
        return Pose.identity()
    form = pose.get("rotation_format", "euler_rpy").strip()
    if form not in _FORMATS:
        raise fault(
            pose,
            f"rotation_format is {form!r}; expected one of {joined_names(_FORMATS)}",
        )
    x = numbers(pose, CONTENT, _FORMATS[form], largest=LARGEST)
    if form == "quat_xyzw":
        if not any(x[3:]):
            raise fault(pose, "a quaternion of zeros; expected a rotation")
        return Pose.from_quaternion(x[3:], x[:3], order="xyzw")
    rpy = x[3:]
    if flag(pose, pose.get("degrees", "false")):
        rpy = tuple(map(math.radians, rpy))
    return Pose.from_rpy(rpy, x[:3]) if any(rpy) else Pose.of(IDENTITY, x[:3])


def flag(element: ET.Element, text: str) -> bool:
    """Return a truth value as SDF writes it."""
    given = text.strip().lower()
    if given in ("true", "1"):
        return True
    if given in ("false", "0"):
        return False
    raise fault(element, f"cannot read {given!r}; expected true or false")


Ends = Mapping[str, tuple[str, str]]
"""parent and child of every joint, in file order; the parent may be the world"""


@final
@dataclass(frozen=True, slots=True)
class Place:
    """How a link hangs in the tree."""

    link: str
    parent: str | None
    """None: the link floats"""
    joint: str | None
    is_reversed: bool = False
    """the joint's child is nearer to the root than its parent"""


@final
@dataclass(slots=True)
class SpanningTree:
    """The places of all links, parents first, and the joints that close loops."""

    places: list[Place] = field(default_factory=list[Place])
    loops: list[str] = field(default_factory=list[str])


def spanning_tree(links: Sequence[str], ends: Ends) -> SpanningTree:
    """Return the tree of a model: depth first, siblings in file order."""
    children = {child for _, child in ends.values()}
    starts = [WORLD] if any(parent == WORLD for parent, _ in ends.values()) else []
    starts += sorted(links, key=lambda link: link in children)  # stable
    below: dict[str, list[Place]] = {name: [] for name in (WORLD, *links)}
    reached: set[str] = set()
    used: set[str] = set()
    names = list(ends)
    outgoing: dict[str, list[int]] = {name: [] for name in (WORLD, *links)}
    for k, (parent, _) in enumerate(ends.values()):
        outgoing[parent].append(k)

    def grow(start: str) -> None:
        reached.add(start)
        queue = [*outgoing[start]]
        heapq.heapify(queue)
        while queue:
            name = names[heapq.heappop(queue)]
            parent, child = ends[name]
            if child not in reached:
                hang(Place(child, parent, name))
                for k in outgoing[child]:
                    heapq.heappush(queue, k)

    def hang(place: Place) -> None:
        assert place.parent is not None
        assert place.joint is not None
        reached.add(place.link)
        used.add(place.joint)
        below[place.parent].append(place)

    def grow_backward() -> bool:
        for name, (parent, child) in ends.items():
            if child in reached and parent not in reached:
                hang(Place(parent, child, name, is_reversed=True))
                grow(parent)
                return True
        return False

    order = {name: k for k, name in enumerate(names)}
    tree = SpanningTree()
    for start in starts:
        if start in reached:
            continue
        grow(start)
        while grow_backward():
            pass
        stack = [Place(start, None, None)]
        while stack:
            place = stack.pop()
            if place.link != WORLD:
                tree.places.append(place)
            siblings = sorted(below[place.link], key=lambda p: order[p.joint or ""])
            stack.extend(reversed(siblings))
    tree.loops = [name for name in ends if name not in used]
    return tree
