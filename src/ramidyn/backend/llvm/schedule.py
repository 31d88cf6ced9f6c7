"""Cut a Program into parts that compile fast, and place the values between them.

One function for a whole program would compile in time n^1.7. A cut holds 400 to 1,000
operations: some 15 kB of code, which stays in the processor's nearest cache while it
runs on tile after tile. What one cut makes and a later one needs goes through a
workspace:

    slots [0, inputs)    the inputs, flat and in order
    then                 the results, each value once: a symmetric matrix has half
    then                 the frames of calls: workspaces of their own (`frames`)
    above                values between cuts, reused when they die

A program that calls others is cut where it calls: cuts and calls are instructions.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from ramidyn.backend.llvm.frames import Cut, Schedule
from ramidyn.backend.llvm.placement import Placement
from ramidyn.symbolic.expr import Condition, Expr
from ramidyn.symbolic.program import Program

SMALLEST, LARGEST = 400, 1000
REACH = 24
"""Operations after which a value that is not used has left the registers."""
WORTH = 0.975
"""Fraction of memory accesses that another order must reach to be used."""


def schedule(program: Program) -> Schedule:
    """Return the cuts of a program with all loads and stores.

    Three orders are tried, and the one with the fewest memory accesses is used: that of
    the trace, each step when it is needed, and depth first.
    """
    if program.calls:
        return _with_calls(program)
    operations = [e for e in program.order if e.args]
    best = _plan(operations, program)
    if len(best.functions) == 1:
        return best
    far, results = _far(operations), set(program.results)
    least = WORTH * (far + best.traffic)
    for order in (_by_need(operations, results), _depth_first(operations, results)):
        memory = _far(order)
        if memory < least:
            plan = _plan(order, program)
            memory += plan.traffic
            if memory < least:
                best, least = plan, memory
    return best


def _plan(operations: list[Expr], program: Program) -> Schedule:
    """Return the cuts of operations in this order."""
    return Placement([_cuts(operations, program)], program, schedule).schedule()


def _cuts(operations: list[Expr], program: Program) -> list[Cut]:
    """Return operations in cuts."""
    # A condition is made again in each cut that asks for it: no slot holds a truth.
    operations = [e for e in operations if not isinstance(e, Condition)]
    return [
        Cut(program.regions[part[0].region] if part else "start", part)
        for part in _cut(_angles_first(operations))
    ]


def _with_calls(program: Program) -> Schedule:
    """Return the schedule of a program that calls others.

    What a call needs is done before it, and nothing else.
    """
    calls = program.calls
    needed_by: dict[Expr, int] = {}
    for k, call in enumerate(calls):
        stack = list(call.args)
        while stack:
            e = stack.pop()
            if e.args and e.op != "result" and e not in needed_by:
                needed_by[e] = k
                stack.extend(e.args)
    segments: list[list[Expr]] = [[] for _ in range(len(calls) + 1)]
    for e in program.order:
        if e.args and e.op not in ("call", "result"):
            segments[needed_by.get(e, len(calls))].append(e)
    wanted = {*program.results, *(a for call in calls for a in call.args)}
    for k, segment in enumerate(segments):
        wanted.update(
            a for e in segment for a in e.args if needed_by.get(a, len(calls)) != k
        )
    cuts = [_cuts(_nearest(s, wanted), program) if s else [] for s in segments]
    return Placement(cuts, program, schedule).schedule()


def _nearest(operations: list[Expr], wanted: set[Expr]) -> list[Expr]:
    """Return operations in the order in which the fewest values go through memory."""
    if len(operations) <= LARGEST:
        return operations
    least, best = WORTH * _far(operations), operations
    for order in (_by_need(operations, wanted), _depth_first(operations, wanted)):
        far = _far(order)
        if far < least:
            least, best = far, order
    return best


def _by_need(operations: list[Expr], results: set[Expr]) -> list[Expr]:
    """Put each step of the trace just before the first one that needs it.

    So a limb goes out and back before the next one does, and what it made on the way
    out is used while it is near. A step is a run of operations of one region; inside,
    it is in the order of the trace or depth first.
    """
    steps = [list(run) for _, run in groupby(operations, lambda e: e.region)]
    made_in = {e: k for k, step in enumerate(steps) for e in step}
    wanted = set(results)
    needs: list[list[int]] = []
    for k, step in enumerate(steps):
        other = {a for e in step for a in e.args if made_in.get(a, k) != k}
        wanted |= other
        needs.append(sorted({made_in[a] for a in other}))
    needed = {d for found in needs for d in found}
    waiting = [k for k in reversed(range(len(steps))) if k not in needed]
    done: dict[int, None] = {}
    while waiting:
        missing = [d for d in reversed(needs[waiting[-1]]) if d not in done]
        if missing:
            waiting.extend(missing)
        else:
            done[waiting.pop()] = None
    order: list[Expr] = []
    for k in done:
        deep = _depth_first(steps[k], wanted)
        order += deep if _far(deep) < WORTH * _far(steps[k]) else steps[k]
    return order


def _depth_first(operations: list[Expr], wanted: set[Expr]) -> list[Expr]:
    """Put what a wanted value needs before it, and nothing else."""
    left = set(operations)
    order: list[Expr] = []
    for root in operations:
        stack = [root] if root in wanted else []
        while stack:
            missing = [a for a in reversed(stack[-1].args) if a in left]
            if missing and stack[-1] in left:
                stack.extend(missing)
                continue
            e = stack.pop()
            if e in left:
                left.remove(e)
                order.append(e)
    return order


def _far(operations: Iterable[Expr]) -> int:
    """Return about how many operands come from memory, and values go there."""
    seen: dict[Expr, int] = {}
    kept: set[Expr] = set()
    loads = 0
    for k, e in enumerate(operations):
        for a in e.args:
            before = seen.get(a)
            if before is None or k - before > REACH:
                loads += 1
                if before is not None and a.args:
                    kept.add(a)
            seen[a] = k
        seen[e] = k
    return loads + len(kept)


def _angles_first(operations: list[Expr]) -> list[Expr]:
    """Put sines and cosines of inputs in front, and each sine beside its cosine.

    They are function calls, at which no value survives in a register.
    """
    twins: dict[Expr, list[Expr]] = {}
    for e in operations:
        if e.op in ("sin", "cos"):
            twins.setdefault(e.args[0], []).append(e)
    if not twins:
        return operations
    early = [e for x, pair in twins.items() if x.op == "input" for e in pair]
    done = set(early)
    order = early
    for e in operations:
        if e in done:
            continue
        group = twins[e.args[0]] if e.op in ("sin", "cos") else (e,)
        for g in group:
            done.add(g)
            order.append(g)
    return order


def _cut(operations: list[Expr]) -> list[list[Expr]]:
    """Cut where few values live, preferably where a region of the trace begins."""
    n = len(operations)
    if n <= LARGEST:
        return [operations]
    alive = _live_values(operations)
    parts: list[list[Expr]] = []
    start = 0
    while n - start > LARGEST:
        # Leave the last two parts even rather than one of them tiny.
        latest = min(start + LARGEST, n - SMALLEST)
        candidates = range(start + SMALLEST, latest + 1)
        best = min(candidates, key=lambda i: _crossing(i, alive, operations))
        parts.append(operations[start:best])
        start = best
    parts.append(operations[start:])
    return parts


def _crossing(i: int, alive: list[int], operations: list[Expr]) -> float:
    same_region = operations[i].region == operations[i - 1].region
    return alive[i] * (1.25 if same_region else 1.0)


def _live_values(operations: list[Expr]) -> list[int]:
    """Return how many values made before operation i are needed at i or later."""
    last: dict[Expr, int] = {}
    for i, e in enumerate(operations):
        for a in e.args:
            last[a] = i
    alive = [0] * (len(operations) + 1)
    for i, e in enumerate(operations):
        if e in last:
            alive[i + 1] += 1
            alive[last[e] + 1 if last[e] + 1 < len(alive) else -1] -= 1
    total = 0
    for i, change in enumerate(alive):
        total += change
        alive[i] = total
    return alive
