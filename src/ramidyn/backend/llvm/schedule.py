"""Cut a Program into parts that compile fast, and place the values between them.

One function for a whole program would compile in time n^1.7. A cut holds 750 to 1,500
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

import numpy as np

from ramidyn.backend.llvm import ferries
from ramidyn.backend.llvm.frames import Cut, Schedule, Scheduler
from ramidyn.backend.llvm.orders import WORTH, Numbers, Operations
from ramidyn.backend.llvm.packs import (
    Pack,
    find_packs,
    side_by_side,
    simple_sines,
    whole_packs,
)
from ramidyn.backend.llvm.placement import Placement
from ramidyn.symbolic.expr import Expr
from ramidyn.symbolic.program import Program

SMALLEST, LARGEST = 750, 1500
Packs = list[Pack] | None
"""those of one state, which has an order of its own; None for batches"""


def schedule(program: Program, carried: int = 0) -> Schedule:
    """Return the cuts of a program with all loads and stores.

    So many results, the first ones, are inputs of the next step of a loop: they take
    the slots of these inputs where they can.
    """
    return _placed(program, None, schedule, carried)


def schedule_of_batch(program: Program) -> Schedule:
    """Return the schedule for batches: some cuts carry data of other tiles."""
    return ferries.with_ferries(schedule(program), program)


def schedule_of_one(program: Program, carried: int = 0) -> Schedule:
    """Return the schedule for one state: equal operations run side by side."""
    return _placed(program, find_packs(program.order), schedule_of_one, carried)


def _placed(
    program: Program, packs: Packs, scheduler: Scheduler, carried: int
) -> Schedule:
    cuts = _between_calls(program, packs) if program.calls else [_cuts(program, packs)]
    return Placement(cuts, program, scheduler, carried).schedule()


def _cuts(program: Program, packs: Packs) -> list[Cut]:
    """Return the cuts of a program without calls.

    Three orders are tried, and the one with the fewest memory accesses is used: that of
    the trace, each step when it is needed, and depth first.
    """
    operations = Operations([e for e in program.order if e.args], set(program.results))
    order = operations.as_traced()
    best = _cut(operations, order)
    if len(best) > 1:
        constants = len({e for e in program.results if e.op == "const"})
        least = WORTH * (
            operations.far(order)[0] + operations.traffic(best) + constants
        )
        for order in (operations.by_need(), operations.depth_first()):
            memory = operations.far(order)[0] + constants
            if memory < least:
                cuts = _cut(operations, order)
                memory += operations.traffic(cuts)
                if memory < least:
                    best, least = cuts, memory
    return _as_cuts(best, operations, program, packs)


def _as_cuts(
    parts: list[Numbers], operations: Operations, program: Program, packs: Packs
) -> list[Cut]:
    if packs is not None:
        # What a condition needs comes before those that ask for it.
        conditions = np.flatnonzero(operations.is_condition)
        given: list[int] = np.concatenate([*parts, conditions]).tolist()
        order = [operations.all[k] for k in given]
        packed = side_by_side([*simple_sines(order), *order], packs)
        number = operations.number
        parts = _cut(operations, np.array([number[e] for e in packed], np.int64))
    begins = {p.operations[0]: p for p in packs or ()}
    cuts: list[Cut] = []
    for part in parts:
        order: list[Expr] = [operations.all[k] for k in part.tolist()]
        name = program.regions[order[0].region] if order else "start"
        cuts.append(Cut(name, order, whole_packs(order, begins) if begins else []))
    return cuts


def _between_calls(program: Program, packs: Packs) -> list[list[Cut]]:
    """Return the cuts before each call of a program, and those after the last one.

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
    return [
        _nearest(Operations(s, wanted), program, packs) if s else [] for s in segments
    ]


def _nearest(operations: Operations, program: Program, packs: Packs) -> list[Cut]:
    """Return the cuts of the order in which the fewest values go through memory."""
    best = operations.as_traced()
    if len(best) > LARGEST:
        least = WORTH * operations.far(best)[0]
        for order in (operations.by_need(), operations.depth_first()):
            far = operations.far(order)[0]
            if far < least:
                least, best = far, order
    return _as_cuts(_cut(operations, best), operations, program, packs)


def _cut(operations: Operations, order: Numbers) -> list[Numbers]:
    """Cut where few values live, preferably where a region of the trace begins.

    Conditions are left out: no slot holds a truth, so each cut makes those that it asks
    for.
    """
    order = operations.angles_first(order[~operations.is_condition[order]])
    n = len(order)
    if n <= LARGEST:
        return [order]
    same_region = np.diff(operations.region[order], prepend=-1, append=-1) == 0
    crossing = operations.alive(order) * np.where(same_region, 1.25, 1.0)
    parts: list[Numbers] = []
    start = 0
    while n - start > LARGEST:
        # Leave the last two parts even rather than one of them tiny.
        earliest, latest = start + SMALLEST, min(start + LARGEST, n - SMALLEST)
        best = earliest + int(np.argmin(crossing[earliest : latest + 1]))
        parts.append(order[start:best])
        start = best
    return [*parts, order[start:]]
