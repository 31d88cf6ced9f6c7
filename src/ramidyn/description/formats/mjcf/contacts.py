"""Which geoms of an MJCF model can touch others, by MuJoCo's rules.

Two geoms can touch if the contype of one meets the conaffinity of the other, unless
their bodies are fixed to each other, are parent and child (the world excepted), or are
excluded. Masks are counted by body, so that the work is linear in the geoms.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final, final

from ramidyn.description.formats.mjcf.bodies import MjcfBody, Worldbody
from ramidyn.description.formats.mjcf.defaults import flag, whole
from ramidyn.description.formats.xml import Element

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
        for child in section:
            if child.tag == "exclude":
                rules.exclude(child.get("body1", ""), child.get("body2", ""))
            elif child.tag == "pair":
                paired |= {child.get("geom1", ""), child.get("geom2", "")}
    found: list[str] = []
    for body in world.bodies:
        for geom, _ in body.geoms:
            name = geom.get("name", "")
            if rules.can_touch(body, _mask(geom)) or (name and name in paired):
                found.append(name or f"geom of {body.name}")
    return tuple(found)


def _mask(geom: Element) -> Mask:
    return whole(geom, "contype", 1), whole(geom, "conaffinity", 1)


@final
class _Rules:
    def __init__(self, world: Worldbody, filter_parents: bool) -> None:
        self._filter_parents = filter_parents
        self._bodies = {body.name: body for body in world.bodies}
        self._fixed_to: dict[MjcfBody, MjcfBody] = {}
        self._own: dict[MjcfBody, Counter[Mask]] = {}
        self._group: dict[MjcfBody, Counter[Mask]] = {}
        self._below: dict[MjcfBody, Counter[Mask]] = {}
        self._total: Counter[Mask] = Counter()
        self._excluded: dict[MjcfBody, set[MjcfBody]] = {}
        self._known: dict[tuple[MjcfBody, Mask], bool] = {}
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

    def exclude(self, a: str, b: str) -> None:
        """Note that two bodies cannot touch."""
        if a in self._bodies and b in self._bodies:
            first, second = self._bodies[a], self._bodies[b]
            self._excluded.setdefault(first, set()).add(second)
            self._excluded.setdefault(second, set()).add(first)

    def can_touch(self, body: MjcfBody, mask: Mask) -> bool:
        """Return whether a geom of a body can touch any other."""
        if (body, mask) not in self._known:
            self._known[body, mask] = any(
                self._count(body, other) > 0
                for other in self._total
                if mask[0] & other[1] or other[0] & mask[1]
            )
        return self._known[body, mask]

    def _count(self, body: MjcfBody, mask: Mask) -> int:
        """Return how many geoms with a mask a body may touch."""
        first = self._fixed_to[body]
        count = self._total[mask] - self._group[first][mask]
        if self._filter_parents and first.parent is not None:
            count -= self._below.get(first, _NOTHING)[mask]
            above = self._fixed_to[first.parent]
            if not above.is_world:
                count -= self._group[above][mask]
        for other in self._excluded.get(body, ()):
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
