"""Sweeps over a tree that label their position and results in the program.

A sweep begins a region of the program at each body, and labels what the algorithm keeps
there, so exported C uses the letters of the algorithm's symbol table. A label is a
letter, the half or block of a spatial quantity, and the name of the body:

    Expr, Vec, Mat   D_link3, w_link3_x, B_link3_xy
    Motion           dwd, da
    Force            pA_n, pA_f
    inertias         Ic_h, Ic_I; IA_I, IA_H, IA_M
    BodyMotion       w, wd, a, B
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Generic, TypeVar, final

from ramidyn.spatial.inertia import ArticulatedInertia, RigidInertia
from ramidyn.spatial.vector3 import Mat, Vec
from ramidyn.spatial.vectors import Force, Motion
from ramidyn.symbolic.expr import Expr, label, region
from ramidyn.tree.tree import ROOT, Tree

if TYPE_CHECKING:
    from ramidyn.algorithms.kinematics import BodyMotion

    Inertia = RigidInertia | ArticulatedInertia
    Value = Expr | Vec | Mat | Motion | Force | Inertia | BodyMotion
T = TypeVar("T")


def outward(
    tree: Tree, title: str, **found: Mapping[int, Value]
) -> Iterator[tuple[int, int]]:
    """Yield (body, parent), parents first; then label the values found at the body."""
    for i, p in tree:
        name = tree.bodies[i].name
        region(f"{title} {name}")
        yield i, p
        for letter, values in found.items():
            label_value(letter, name, values[i])


def inward(
    tree: Tree, title: str, **complete: Mapping[int, Value]
) -> Iterator[tuple[int, int]]:
    """Yield (body, parent), children first; label what is complete at a body before it.

    What children add to their parent is complete when the sweep gets to the parent.
    """
    for i, p in reversed(tree):
        name = tree.bodies[i].name
        region(f"{title} {name}")
        for letter, values in complete.items():
            label_value(letter, name, values[i])
        yield i, p


@final
class Outward(dict[int, T], Generic[T]):
    """Values at bodies, each found from its parent's when it is first needed."""

    def __init__(
        self, tree: Tree, world: T, step: Callable[[int, T], T], title: str = ""
    ) -> None:
        super().__init__({ROOT: world})
        self._tree, self._step, self._title = tree, step, title

    def __missing__(self, i: int) -> T:
        for j in self._tree.support(i):
            if j not in self:
                if self._title:
                    region(f"{self._title} {self._tree.name(j)}")
                self[j] = self._step(j, self[self._tree.parents[j]])
        return self[i]


def label_value(letter: str, name: str, value: Value) -> None:
    """Label the parts of a value; without a letter, n and f are enough."""
    for part, entries in _parts(letter, value):
        label(f"{part.lstrip('_')}_{name}", *entries)


def _parts(letter: str, value: Value) -> Iterator[tuple[str, tuple[Expr, ...]]]:
    match value:
        case Expr():
            yield letter, (value,)
        case Vec():
            yield letter, value
        case Mat():
            yield letter, (*value[0], *value[1], *value[2])
        case Motion():
            is_acceleration = letter == "da"
            yield "dwd" if is_acceleration else f"{letter}_w", value.w
            yield "da" if is_acceleration else f"{letter}_v", value.v
        case Force():
            yield f"{letter}_n", value.n
            yield f"{letter}_f", value.f
        case RigidInertia():
            yield f"{letter}_h", value.h
            yield from _parts(f"{letter}_I", value.I)
        case ArticulatedInertia():
            yield from _parts(f"{letter}_I", value.I)
            yield from _parts(f"{letter}_H", value.H)
            yield from _parts(f"{letter}_M", value.M)
        case _:
            for own, part in zip(value._fields, value, strict=True):
                yield from _parts(own, part)
