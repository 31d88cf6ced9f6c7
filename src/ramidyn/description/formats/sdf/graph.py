"""The links and joints of an SDF model as a tree, and the joints that close loops.

SDF is a graph: a link may be the child of several joints, or of none. The tree grows
from the world, or from the first link that is nobody's child, each time by the first
joint of the file that leads from a link in the tree to a child outside of it; where
there is none, by the first one that leads to a parent, reversed. The joints left over
close loops: so the last joint of a loop, in file order, is the one that is cut.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import final

from ramidyn.description.formats.sdf.frames import WORLD

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
