"""Orders of the operations of a program, and how many values each sends to memory.

Operations are numbers here, and what they work on is in arrays: a program may have a
million of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence, Set
from functools import cached_property
from itertools import chain, count, pairwise
from typing import final

import numpy as np
import numpy.typing as npt

from ramidyn.symbolic.expr import CONDITIONS, Condition, Expr
from ramidyn.symbolic.program import terms_of

Flags = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.int64]

REACH = 24
"""Operations after which a value that is not used has left the registers."""
WORTH = 0.975
"""Fraction of memory accesses that another order must reach to be used."""


@final
class Operations:
    """Operations by number, in the order of the trace; what else they use comes after.

    Args:
        operations: arguments first.
        wanted: what others need.
    """

    def __init__(self, operations: Sequence[Expr], wanted: Set[Expr]) -> None:
        self.all: Sequence[Expr] = operations
        n = len(operations)
        rows = [e.args for e in operations]
        number: defaultdict[Expr, int] = defaultdict(count(n).__next__)
        number.update(zip(operations, range(n), strict=True))
        self.arity: Numbers = np.fromiter(map(len, rows), np.int64, n)
        found = map(number.__getitem__, chain.from_iterable(rows))
        self.used: Numbers = np.fromiter(found, np.int64, int(self.arity.sum()))
        """the arguments of all operations"""
        number.default_factory = None
        self.number: dict[Expr, int] = number
        beside = list(number)[n:]
        self.first: Numbers = np.cumsum(self.arity) - self.arity
        """where the arguments of an operation begin"""
        self.region: Numbers = np.array([e.region for e in operations], np.int64)
        no, yes = [False] * n, [True] * n
        self._is_input: Flags = np.array(
            [*no, *(e.op == "input" for e in beside)], bool
        )
        self._is_made: Flags = np.array([*yes, *(bool(e.args) for e in beside)], bool)
        kinds = [e.op for e in operations]
        self._is_sine: Flags = np.array([k in ("sin", "cos") for k in kinds], bool)
        self.is_condition: Flags = np.array([k in CONDITIONS for k in kinds], bool)
        self.is_wanted: Flags = np.array([e in wanted for e in operations], bool)

    def as_traced(self) -> Numbers:
        """Return the order of the trace."""
        return np.arange(len(self.all))

    def arguments(self, order: Numbers) -> tuple[Numbers, Numbers]:
        """Return the arguments of operations, and the places of their users."""
        arity = self.arity[order]
        place = np.repeat(np.arange(len(order)), arity)
        shift = self.first[order] - np.cumsum(arity) + arity
        return self.used[np.arange(len(place)) + shift[place]], place

    def far(self, order: Numbers, part: Numbers | None = None) -> Numbers:
        """Return about how many operands come from memory, and values go there.

        Args:
            order: of operations.
            part: of each of them; each part of the order is counted for itself.
        """
        if part is None:
            part = np.zeros(len(order), np.int64)
        used, place = self.arguments(order)
        # A value is touched where it is used, and then where it is made.
        node = np.concatenate([used, order])
        at = np.concatenate([2 * place, 2 * np.arange(len(order)) + 1])
        bits = (2 * len(order)).bit_length()
        key = np.sort(node << bits | at, kind="stable")  # they are in runs
        node, at = key >> bits, key & (1 << bits) - 1
        at, is_use = at >> 1, at & 1 == 0
        again = (node[1:] == node[:-1]) & (part[at[1:]] == part[at[:-1]])
        again = np.concatenate([[False], again])
        since = np.diff(at, prepend=0)
        loads = is_use & ~(again & (since <= REACH))
        kept = loads & again & self._is_made[node]
        parts = int(part.max(initial=-1)) + 1
        stored = _distinct(node[kept] * parts + part[at[kept]]) % max(parts, 1)
        return np.bincount(part[at[loads]], minlength=parts) + np.bincount(
            stored, minlength=parts
        )

    def by_need(self) -> Numbers:
        """Put each step of the trace just before the first one that needs it.

        So a limb goes out and back before the next one does, and what it made on the
        way out is used while it is near. A step is a run of operations of one region;
        inside, it is in the order of the trace or depth first.
        """
        n = len(self.all)
        begins: Numbers = np.flatnonzero(np.diff(self.region, prepend=-1))
        step = np.repeat(np.arange(len(begins)), np.diff(begins, append=n))
        used, user = self.arguments(np.arange(n))
        used, user = used[used < n], user[used < n]
        other = step[used] != step[user]
        used, user = used[other], user[other]
        wanted: Flags = np.array(self.is_wanted)
        wanted[used] = True
        steps = _steps_by_need(len(begins), step[user], step[used])
        bounds: list[int] = [*begins.tolist(), n]
        ranges = [(bounds[k], bounds[k + 1]) for k in steps]
        plain: Numbers = np.concatenate([np.arange(*ends) for ends in ranges])
        deep = self.depth_first(wanted, ranges)
        is_deep = self.far(deep, step[plain]) < WORTH * self.far(plain, step[plain])
        return np.where(is_deep[step[plain]], deep, plain)

    def depth_first(
        self,
        wanted: Flags | None = None,
        steps: Sequence[tuple[int, int]] = (),
    ) -> Numbers:
        """Put what a wanted value needs before it, and nothing else; step by step."""
        n, rows = len(self.all), self._reversed_rows
        roots = np.flatnonzero(self.is_wanted if wanted is None else wanted)
        left = bytearray(len(self.number))
        order: list[int] = []
        for begin, end in steps or [(0, n)]:
            left[begin:end] = b"\1" * (end - begin)
            i, j = np.searchsorted(roots, (begin, end))
            for root in roots[i:j].tolist():
                stack: list[int] = [root]
                while stack:
                    e = stack.pop()
                    if e < 0:  # what ~e needs is done
                        order.append(~e)
                    elif left[e]:
                        left[e] = 0
                        missing = [a for a in rows[e] if left[a]]
                        if missing:
                            stack.append(~e)
                            stack += missing
                        else:
                            order.append(e)
        return np.array(order, np.int64)

    @cached_property
    def _reversed_rows(self) -> list[list[int]]:
        """The arguments of each operation, the last one first."""
        bounds, used = [*self.first.tolist(), len(self.used)], self.used.tolist()
        return [used[i:j][::-1] for i, j in pairwise(bounds)]

    def angles_first(self, order: Numbers) -> Numbers:
        """Put sines and cosines of inputs in front, and each sine beside its cosine.

        They are function calls, at which no value survives in a register.
        """
        twins: dict[Expr, list[int]] = {}
        for place in np.flatnonzero(self._is_sine[order]).tolist():
            twins.setdefault(self.all[int(order[place])].args[0], []).append(place)
        position = 2 * np.arange(len(order))
        early = -len(order)
        for angle, places in twins.items():
            for k, place in enumerate(places):
                position[place] = early if angle.op == "input" else 2 * places[0] + k
                early += 1
        return order[np.argsort(position, kind="stable")]

    def alive(self, order: Numbers) -> Numbers:
        """Return how many values made before each operation are needed then or later.

        One number more than there are operations.
        """
        used, place = self.arguments(order)
        last = np.full(len(self.number), -1)
        np.maximum.at(last, used, place)
        last = last[order]
        is_used = last >= 0
        n = len(order)
        change = np.bincount(np.flatnonzero(is_used) + 1, minlength=n + 1)
        return np.cumsum(change - np.bincount(last[is_used] + 1, minlength=n + 1))

    def traffic(self, cuts: Sequence[Numbers]) -> int:
        """Return how many values cuts read from and write to the workspace."""
        cut_of = np.full(len(self.number), -1)
        for k, cut in enumerate(cuts):
            cut_of[cut] = k
        used, place = self.arguments(np.concatenate(cuts))
        user = np.concatenate(cuts)[place]
        more_used, more_users = self._indirect
        used, user = np.append(used, more_used), np.append(user, more_users)
        node, cut = np.divmod(_distinct(used * len(cuts) + cut_of[user]), len(cuts))
        made = cut_of[node]
        is_read = self._is_input[node] | ((made >= 0) & (made != cut))
        is_written: Flags = np.array(self.is_wanted)
        is_written[node[is_read & (node < len(self.all))]] = True
        return int(is_read.sum() + is_written.sum())

    @cached_property
    def _indirect(self) -> tuple[Numbers, Numbers]:
        """What operations need besides their arguments, and these operations.

        A condition is made again in each cut that asks for it; the sine of a sum takes
        its terms.
        """
        used, users = list[int](), list[int]()
        is_asking = ~self.is_condition if self.is_condition.any() else self._is_sine
        for k in map(int, np.flatnonzero(is_asking)):
            e = self.all[k]
            asked = dict.fromkeys(a for a in e.args if isinstance(a, Condition))
            for c in (conditions := list(asked)):
                used += [self.number[a] for a in c.args]
                new = [a for a in c.args if isinstance(a, Condition) and a not in asked]
                asked.update(dict.fromkeys(new))
                conditions += dict.fromkeys(new)
            if self._is_sine[k]:
                used += [self.number[a] for a in terms_of(e.args[0]) or ()]
            users += [k] * (len(used) - len(users))
        return np.array(used, np.int64), np.array(users, np.int64)


def _distinct(numbers: Numbers) -> Numbers:
    """Return the numbers, sorted, each once; faster than `np.unique` on sorted runs."""
    found = np.sort(numbers, kind="stable")
    return found[np.diff(found, prepend=-1) != 0]


def _steps_by_need(count: int, users: Numbers, used: Numbers) -> list[int]:
    """Return steps in the order in which they are needed, by pairs of them."""
    pairs = _distinct(users * count + used)
    users, used = np.divmod(pairs, count)
    needs: list[list[int]] = [
        part.tolist()[::-1]
        for part in np.split(used, np.searchsorted(users, np.arange(1, count)))
    ]
    is_needed = np.zeros(count, bool)
    is_needed[used] = True
    waiting: list[int] = np.flatnonzero(~is_needed)[::-1].tolist()
    done: dict[int, None] = {}
    while waiting:
        missing = [d for d in needs[waiting[-1]] if d not in done]
        if missing:
            waiting.extend(missing)
        else:
            done[waiting.pop()] = None
    return list(done)
