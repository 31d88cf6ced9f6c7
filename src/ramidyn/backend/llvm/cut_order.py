"""The order of the operations inside a cut, by the processor that runs them."""

from __future__ import annotations

from heapq import heapify, heappop, heappush

from ramidyn.symbolic.count import LATENCY, PRODUCT_LATENCY
from ramidyn.symbolic.expr import Expr

MANY = 64
"""Bytes of the registers of which there are 32: more values may wait in them."""


def order_in_cut(order: list[Expr], lanes: int, register: int) -> list[Expr]:
    """Return the order for so many states in registers of so many bytes.

    One state takes its sines several at once, and waits for the results of most of its
    operations: there, neither order is faster.
    """
    if lanes == 1:
        return order
    order = sines_first(order)
    return filled_waits(order) if register == MANY else order


SIMPLE = 4
"""Operations that an angle takes, at most, to come first."""


def sines_first(order: list[Expr]) -> list[Expr]:
    """Return an order that begins with the sines of simple angles.

    Before a call, all values that are needed after it go to the stack.
    """
    here, first = set(order), dict[Expr, None]()
    for e in order:
        if e.op in ("sin", "cos") and e not in first:
            needed, waiting = [e], [*e.args]
            while waiting and len(needed) <= SIMPLE:
                a = waiting.pop()
                if a in here and a not in first:
                    needed.append(a)
                    waiting += a.args
            if not waiting:
                first.update(dict.fromkeys(reversed(needed)))
    return [*first, *(e for e in order if e not in first)]


def filled_waits(order: list[Expr]) -> list[Expr]:
    """Return an order in which operations do not wait for their arguments.

    One begins each cycle: the first one whose arguments are there. A processor does the
    same, but looks ahead by some hundred operations only: less than a limb takes.
    """
    place = dict(zip(order, range(len(order)), strict=True)).get
    users: list[list[int]] = [[] for _ in order]
    missing = [0] * len(order)
    for k, e in enumerate(order):
        for a in e.args:
            made = place(a)
            if made is not None:
                users[made].append(k)
                missing[k] += 1
    begins = [0] * len(order)
    ready = [k for k, count in enumerate(missing) if not count]
    heapify(ready)
    later: dict[int, list[int]] = {}
    found: list[Expr] = []
    now = 0
    while len(found) < len(order):
        if now in later:
            for k in later.pop(now):
                heappush(ready, k)
        if ready:
            k = heappop(ready)
            found.append(order[k])
            end = now + LATENCY.get(order[k].op, PRODUCT_LATENCY)
            for user in users[k]:
                begins[user] = max(begins[user], end)
                missing[user] -= 1
                if not missing[user]:
                    later.setdefault(begins[user], []).append(user)
        now += 1
    return found
