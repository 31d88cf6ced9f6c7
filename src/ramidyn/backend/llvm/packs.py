"""Packs: equal operations of one state, which run side by side in a vector.

Limbs that are built alike take the same operations on other numbers. Two operations
have one shape if they are alike with all that they are computed from, down to inputs
and constants, whose values do not matter. Packs of one shape are found from the results
down: the arguments of a pack, place by place, are the next ones. So the lanes of all
packs of a limb agree, and few values change lanes.

Limbs may differ somewhere. So then what uses the values of a pack is packed, whatever
else it uses, unless packs would need each other.

Limbs that mirror each other differ in signs: a sum and a difference have one shape too.
Signs that differ from lane to lane go to constants, or take an instruction.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from operator import is_
from typing import final

from ramidyn.symbolic.expr import Expr
from ramidyn.symbolic.program import terms_of

Lanes = tuple[Expr, ...]
"""values side by side"""
Flips = tuple[bool, ...]
"""the lanes whose signs are changed; empty if none are"""
WIDEST = 4
FEWEST = 8
"""Packs are looked for if one operation of so many has the shape of another: in a chain
few have."""
PACKED = frozenset({"add", "sub", "mul", "div", "fma", "fms", "fnma", "neg", "sqrt"})
EXCHANGED = frozenset({"add", "sub", "mul", "fma", "fms", "fnma"})
"""operations whose first two arguments can be exchanged, with their signs"""
NEGATIVE = {"sub": ("add", 1), "fnma": ("fma", 0), "fms": ("fma", 2)}
"""operations that change the sign of an argument of another one, and which"""
FAMILY = {name: op for name, (op, _) in NEGATIVE.items()}


@final
@dataclass(frozen=True, slots=True, eq=False)
class Pack:
    """Equal operations, and their arguments, place by place."""

    operations: Lanes
    op: str
    columns: tuple[Lanes, ...]
    flips: tuple[Flips, ...]
    """of each column"""


def find_packs(order: Sequence[Expr]) -> list[Pack]:
    """Return packs that save instructions; each operation is in one at most."""
    shape = shapes(order)
    sizes = Counter([shape[e] for e in order if e.op in PACKED])
    alike = sum(n for n in sizes.values() if n > 1)
    if FEWEST * alike <= sizes.total():
        return []
    packs = PackSearch(order, shape).packs()
    return _in_some_order(_worthwhile(packs, order), order)


@final
class PackSearch:
    """The search for packs, from the results down and then from arguments up."""

    def __init__(self, order: Sequence[Expr], shape: dict[Expr, int]) -> None:
        self.order, self.shape = order, shape
        self.place: dict[Expr, int] = dict(zip(order, range(len(order)), strict=True))
        self.alike: dict[int, list[Expr]] = {}
        """operations by their shapes"""
        self.users: dict[Expr, list[Expr]] = {}
        for e in order:
            if e.op in PACKED:
                self.alike.setdefault(self.shape[e], []).append(e)
            for a in dict.fromkeys(e.args):
                self.users.setdefault(a, []).append(e)
        self.lane: dict[Expr, tuple[Lanes, int]] = {}
        """of what is side by side: with what, and where"""
        self.found: list[Pack] = []

    def packs(self) -> list[Pack]:
        """Return all packs."""
        for e in reversed(self.order):
            if e.op not in PACKED or e in self.lane:
                continue
            alike = self.alike[self.shape[e]]
            if len(alike) > 1:
                alike[:] = free = [a for a in alike if a not in self.lane]
                if len(free) > 1:
                    self._pack_down(tuple(free[-_width(len(free)) :]))
        self._pack_users()
        return self.found

    def _pack_down(self, results: Lanes) -> None:
        """Pack results, their arguments, and so on."""
        waiting = [self._in_lanes_of_arguments(results)]
        while waiting:
            waiting += self._put_side_by_side(waiting.pop())

    def _pack_users(self) -> None:
        """Pack what uses, in the same order, what is side by side.

        So limbs that differ somewhere are side by side again where they do not.
        """
        waiting = list({id(lanes): lanes for lanes, _ in self.lane.values()}.values())
        while waiting:
            users = [self.users.get(e, []) for e in waiting.pop()]
            if len({len(own) for own in users}) == 1:
                for lanes in zip(*users, strict=True):
                    columns = self._put_side_by_side(lanes)
                    for column in columns:
                        self._put_side_by_side(column)
                    waiting += [c for c in (lanes, *columns) if self._is_known(c)]

    def _put_side_by_side(self, lanes: Lanes) -> list[Lanes]:
        """Pack operations, if they can be; return their columns of operations."""
        first, *others = lanes
        if first in self.lane or not first.args:
            return []
        family, count = FAMILY.get(first.op, first.op), len(first.args)
        for e in others:
            if FAMILY.get(e.op, e.op) != family or len(e.args) != count:
                return []
        if len(set(lanes)) < len(lanes) or not self.lane.keys().isdisjoint(lanes):
            return []
        pack = self._pack(lanes)
        self.lane |= {e: (lanes, k) for k, e in enumerate(lanes)}
        if first.op in PACKED:
            self.found.append(pack)
        return [c for c in pack.columns if c[0].args]

    def _is_known(self, lanes: Lanes) -> bool:
        return lanes[0] in self.lane and self.lane[lanes[0]][0] is lanes

    def _pack(self, lanes: Lanes) -> Pack:
        """Return operations with their arguments, like values side by side."""
        op, place = lanes[0].op, self.place
        rows: list[list[Expr]] = []
        exchanged: list[bool] = []
        for e in lanes:
            row = list(e.args)
            if op in EXCHANGED:
                if rows:
                    is_other = self._is_misfit(row, rows[0])
                else:
                    is_other = place[row[0]] > place[row[1]]
                if is_other:
                    row[:2] = row[1::-1]
                exchanged.append(is_other)
            rows.append(row)
        columns = tuple(zip(*rows, strict=True))
        if any(e.op != op for e in lanes) or (op == "sub" and any(exchanged)):
            return _with_signs(lanes, columns, exchanged)
        return Pack(lanes, op, columns, ((),) * len(columns))

    def _is_misfit(self, row: list[Expr], first: list[Expr]) -> bool:
        """Return whether two arguments fit those of a lane better if exchanged."""
        a, b, c, d = *row[:2], *first[:2]
        as_they_are = self._fit(c, a) + self._fit(d, b)
        return as_they_are < self._fit(c, b) + self._fit(d, a)

    def _fit(self, e: Expr, other: Expr) -> int:
        """Return how well two values go side by side."""
        if e in self.lane and other in self.lane:
            return 3 * (self.lane[e][0] is self.lane[other][0])
        return 2 * (e is other) or self.shape[e] == self.shape[other]

    def _in_lanes_of_arguments(self, results: Lanes) -> Lanes:
        """Return results in the order of their arguments, if these are side by side."""
        for column in self._pack(results).columns:
            known = [self.lane[a] for a in column if a in self.lane]
            if len(known) == len(results) and len({lanes for lanes, _ in known}) == 1:
                order = sorted(range(len(results)), key=lambda k: known[k][1])
                return tuple(results[k] for k in order)
        return results


def _with_signs(
    lanes: Lanes, columns: tuple[Lanes, ...], exchanged: list[bool]
) -> Pack:
    """Return a pack of sums and differences: some lanes of columns change their signs.

    Arguments of some were exchanged; a product has its sign at the first factor.
    """
    op = FAMILY.get(lanes[0].op, lanes[0].op)
    flips = [[False] * len(lanes) for _ in columns]
    for k, e in enumerate(lanes):
        if e.op in NEGATIVE:
            _, place = NEGATIVE[e.op]
            flips[1 - place if op == "add" and exchanged[k] else place][k] = True
    if op == "add" and all(flips[0]) and not any(flips[1]):
        return Pack(lanes, "sub", columns[::-1], ((), ()))
    if op == "fma" and all(a.op == "const" for a in columns[1]):
        flips[:2] = flips[1::-1]  # a constant takes the sign
    signs = tuple(tuple(own) if any(own) else () for own in flips)
    return Pack(lanes, op, columns, signs)


def _in_some_order(packs: list[Pack], order: Sequence[Expr]) -> list[Pack]:
    """Return packs of which none needs itself by way of others.

    Of a ring of packs, those go of which only some operations wait for others.
    """
    pack_of = {e: p for p in packs for e in p.operations}
    users: dict[Expr, list[Expr]] = {}
    for e in order:
        for a in e.args:
            users.setdefault(a, []).append(e)
    missing = {e: len(e.args) for e in order}
    ready = [e for e in order if not missing[e]]
    begun: dict[Pack, int] = {}
    """operations that wait for no other, of packs of which others do"""
    while True:
        while ready:
            for user in users.get(ready.pop(), ()):
                missing[user] -= 1
                if missing[user]:
                    continue
                pack = pack_of.get(user)
                if pack is None:
                    ready.append(user)
                    continue
                begun[pack] = begun.get(pack, 0) + 1
                if begun[pack] == len(pack.operations):
                    del begun[pack]
                    ready += pack.operations
        if not begun:
            return [p for p in packs if pack_of.get(p.operations[0]) is p]
        for p in begun:
            ready += [e for e in p.operations if not missing[e]]
            for e in p.operations:
                del pack_of[e]
        begun.clear()


def _width(count: int) -> int:
    """Return how many of some equal operations make a pack."""
    if count <= WIDEST:
        return count
    return next((w for w in (4, 3, 2) if count % w == 0), WIDEST)


def shapes(order: Sequence[Expr]) -> dict[Expr, int]:
    """Return a number for each node, equal ones for equal shapes."""
    shape: dict[Expr, int] = {}
    numbers: dict[object, int] = {}
    for e in order:
        inner = [shape[a] for a in e.args]
        if e.op in EXCHANGED and inner[0] > inner[1]:
            inner[:2] = inner[1::-1]
        what = e.value if e.op in ("result", "call") else None
        key = (FAMILY.get(e.op, e.op), what, *inner)
        shape[e] = numbers.setdefault(key, len(numbers))
    return shape


ROUNDS, ENOUGH = 3, 0.99
"""How often costs are looked at, unless this part of the packs was kept."""


def _worthwhile(packs: list[Pack], order: Sequence[Expr]) -> list[Pack]:
    """Return the packs without which there would be more instructions.

    What is dropped changes what others take, so this is done a few times.
    """
    easy = {c for p in packs for c in p.columns if _is_easy(c)}
    for _ in range(ROUNDS):
        before = len(packs)
        packs = PackCosts(packs, order, easy).worthwhile()
        if len(packs) > ENOUGH * before:
            break
    return packs


def _is_easy(column: Lanes) -> bool:
    """Return whether values are all the same one, or constants."""
    first = column[0]
    if first.op == "const":
        return all(a.op == "const" for a in column)
    return column[1] is first and all(a is first for a in column)


@final
class PackCosts:
    """What packs save, and what they take besides."""

    def __init__(
        self, packs: list[Pack], order: Sequence[Expr], easy: Set[Lanes]
    ) -> None:
        self.packs, self.easy = packs, easy
        self.pack_of: dict[Expr, Pack] = {e: p for p in packs for e in p.operations}
        self.needed: Counter[Lanes] = Counter([c for p in packs for c in p.columns])
        """how often values are needed side by side"""
        made = {p.operations for p in packs}
        self.gathered: set[Lanes] = {*self.needed} - made - easy
        """those that are brought together one by one"""
        self.alone: set[Expr] = {a for c in self.gathered for a in c}
        """values that are needed one by one"""
        for e in order:
            if e not in self.pack_of:
                self.alone.update(e.args)

    def worthwhile(self) -> list[Pack]:
        """Return the packs that save instructions."""
        return [p for p in self.packs if self._is_free(p) or self._saved(p) > 0]

    def _is_free(self, pack: Pack) -> bool:
        """Return whether a pack takes nothing besides."""
        return (
            self.gathered.isdisjoint(pack.columns)
            and self.alone.isdisjoint(pack.operations)
            and not any(pack.flips)
        )

    def _saved(self, pack: Pack) -> float:
        """Return how many more instructions there are without a pack, others kept.

        Then packs that use its results gather them, and its arguments come apart.
        """
        lanes, alone = pack.operations, self.alone
        saved: float = (len(lanes) - 1) * (2 if self.needed[lanes] else 1)
        for e in lanes[1:]:
            saved -= e in alone
        for column, flips in zip(pack.columns, pack.flips, strict=True):
            saved -= bool(flips) and column[0].op != "const"
            if column in self.easy:
                continue
            if column in self.gathered:
                cost = -self._gathering(column)
            else:
                cost = len([a for a in column[1:] if a not in alone])
            saved += cost / self.needed[column]
        return saved

    def _gathering(self, column: Lanes) -> int:
        """Return how many instructions bring values together."""
        packs = {self.pack_of.get(a) for a in column}
        is_permuted = len(packs) == 1 and None not in packs
        return 1 if is_permuted else len(column) - 1


def simple_sines(order: Iterable[Expr]) -> list[Expr]:
    """Return the sines of inputs and of sums of two, after these sums.

    Their angles are there from the start: several sines are taken in one call.
    """
    sines = [
        e
        for e in order
        if e.op in ("sin", "cos")
        and (e.args[0].op == "input" or terms_of(e.args[0]) is not None)
    ]
    angles = dict.fromkeys(e.args[0] for e in sines)
    return [*(a for a in angles if a.args), *sines]


def side_by_side(order: Iterable[Expr], packs: Iterable[Pack]) -> list[Expr]:
    """Return an order in which the operations of each pack are neighbors.

    What a pack needs comes just before it, so limbs that are alike go side by side.
    """
    given = list(order)
    left = set(given)
    here = [p.operations for p in packs if left.issuperset(p.operations)]
    pack_of = {e: lanes for lanes in here for e in lanes}
    found: list[Expr] = []
    for e in given:
        stack = [e] if e in left else []
        while stack:
            lanes = pack_of.get(stack[-1], (stack[-1],))
            missing = [a for x in lanes for a in x.args if a in left]
            if stack[-1] not in left:
                stack.pop()
            elif missing:
                stack += reversed(missing)
            else:
                found += lanes
                left.difference_update(lanes)
    return found


def whole_packs(order: Sequence[Expr], begins: Mapping[Expr, Pack]) -> list[Pack]:
    """Return the packs whose operations are neighbors in an order.

    They are given by their first operations.
    """
    found: list[Pack] = []
    for k, e in enumerate(order):
        if e in begins:
            lanes = begins[e].operations
            here = order[k : k + len(lanes)]
            if len(here) == len(lanes) and all(map(is_, here, lanes)):
                found.append(begins[e])
    return found
