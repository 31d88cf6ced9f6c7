"""Cut a Program into parts that compile fast, and place the values between them.

One function for a whole program would compile in time n^1.7. A cut holds 400 to 1,000
operations: some 15 kB of code, which stays in the processor's nearest cache while it
runs on tile after tile. What one cut makes and a later one needs goes through a
workspace:

    slots [0, inputs)    the inputs, flat and in order
    then                 the results, each value once: a symmetric matrix has half
    above                values between cuts, reused when they die
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby

from ramidyn.symbolic.angles import terms_of
from ramidyn.symbolic.column_loop import SIDE_BY_SIDE
from ramidyn.symbolic.expr import Condition, Expr
from ramidyn.symbolic.program import COLUMNS, Program, Sweep

SMALLEST, LARGEST = 400, 1000
REACH = 24
"""Operations after which a value that is not used has left the registers."""
WORTH = 0.975
"""Fraction of memory accesses that another order must reach to be used."""


@dataclass(slots=True)
class Cut:
    """A run of operations that becomes one function."""

    name: str
    order: list[Expr]
    """operations, arguments first; constants and inputs are not listed"""
    loads: dict[Expr, int] = field(default_factory=dict[Expr, int])
    """values made before this cut: node -> slot"""
    stores: list[tuple[Expr, int]] = field(default_factory=list[tuple[Expr, int]])
    """what later cuts or the caller need: (node, slot)"""


@dataclass(frozen=True, slots=True)
class SweepLoop:
    """Sweeps over columns of a matrix: one function."""

    sweeps: tuple[Sweep, ...]
    shared: int
    """the first slot of what all columns need"""
    matrix: int
    """the first slot of the matrix"""
    rows: int
    spare: int
    """a column of the matrix that nobody reads, with others at its side"""


@dataclass(frozen=True, slots=True)
class Schedule:
    """The cuts of a program in their order, and what is where in the workspace."""

    cuts: tuple[Cut, ...]
    slots: int
    outputs: tuple[int, ...]
    """the slot of every result that callers see, flat and in order"""
    loop: SweepLoop | None = None

    @property
    def functions(self) -> tuple[Cut | SweepLoop, ...]:
        """Everything that becomes a function, in call order."""
        return self.cuts if self.loop is None else (*self.cuts, self.loop)

    @property
    def traffic(self) -> int:
        """The number of values that cuts read from and write to the workspace."""
        return sum(len(cut.loads) + len(cut.stores) for cut in self.cuts)


def schedule(program: Program) -> Schedule:
    """Return the cuts of a program with all loads and stores.

    Three orders are tried, and the one with the fewest memory accesses is used: that of
    the trace, each step when it is needed, and depth first.
    """
    operations = [e for e in program.order if e.args]
    best = _plan(operations, program)
    if len(best.cuts) == 1:
        return best
    far, results = _far(operations), set(program.results)
    least = WORTH * (far + best.traffic / 2)
    for order in (_by_need(operations, results), _depth_first(operations, results)):
        memory = _far(order)
        if memory < far:
            plan = _plan(order, program)
            memory += plan.traffic / 2  # half: some of it is counted already
            if memory < least:
                best, least = plan, memory
    return best


def _plan(operations: list[Expr], program: Program) -> Schedule:
    """Return the cuts of operations in this order."""
    operations = _angles_first(operations)
    conditions = [e for e in operations if isinstance(e, Condition)]
    # A condition is made again in each cut that asks for it: no slot holds a truth.
    operations = [e for e in operations if not isinstance(e, Condition)]
    cuts = [
        Cut(program.regions[part[0].region] if part else "start", part)
        for part in _cut(operations)
    ]
    if conditions:
        place: dict[Expr, int] = {c: i for i, c in enumerate(conditions)}
        for cut in cuts:
            _insert_conditions(cut, place)
    return _place(cuts, program)


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
        other = {a for e in step for a in e.args if a.args and made_in[a] != k}
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


def _insert_conditions(cut: Cut, place: dict[Expr, int]) -> None:
    """Put conditions (``place``: their order) before their first use in this cut."""
    order: list[Expr] = []
    done: set[Expr] = set()
    for e in cut.order:
        stack = [a for a in e.args if isinstance(a, Condition)]
        needed: list[Expr] = []
        while stack:
            c = stack.pop()
            if c not in done:
                done.add(c)
                needed.append(c)
                stack.extend(a for a in c.args if isinstance(a, Condition))
        order.extend(sorted(needed, key=place.__getitem__))
        order.append(e)
    cut.order = order


def _place(cuts: list[Cut], program: Program) -> Schedule:
    """Give every value between cuts a slot, and list the loads and stores."""
    offsets = program.input_offsets()
    inputs = sum(v.size for v in program.inputs)
    results, copies, slots = _fixed_slots(program, offsets, inputs)
    visible = program.parts()[0]

    made_in: dict[Expr, int] = {}
    for k, cut in enumerate(cuts):
        made_in.update((e, k) for e in cut.order if not isinstance(e, Condition))
    last_used: dict[Expr, int] = {}
    for k, cut in enumerate(cuts):
        for e in cut.order:
            for a in e.args:
                last_used[a] = k

    slot_of = dict(results)
    free: list[int] = []
    dying: dict[int, list[int]] = {}
    for k, cut in enumerate(cuts):
        free.extend(dying.pop(k, ()))
        for e in cut.order:
            if made_in.get(e) != k:
                continue
            if e in results:
                cut.stores.append((e, results[e]))
            elif last_used.get(e, k) > k:
                if free:
                    slot = free.pop()
                else:
                    slot = slots
                    slots += 1
                slot_of[e] = slot
                cut.stores.append((e, slot))
                # Free again after the cut that uses it last, never within it.
                dying.setdefault(last_used[e] + 1, []).append(slot)
        for e in cut.order:
            for a in e.args:
                if a.op == "input":
                    cut.loads[a] = offsets[a.value[0]] + a.value[1]
                elif a.args and made_in.get(a, k) != k:
                    cut.loads[a] = slot_of[a]
            if e.op in ("sin", "cos"):
                for a in terms_of(e.args[0]) or ():
                    if a.op == "input":
                        cut.loads[a] = offsets[a.value[0]] + a.value[1]
    constants = [(e, slot) for e, slot in results.items() if e.op == "const"]
    cuts[-1].stores.extend(constants)
    for e, slot in copies:
        if results.get(e) != slot:
            _copy(e, slot, cuts[made_in.get(e, -1)], offsets)
    loop = None
    if program.loop is not None:
        of = program.loop
        loop = SweepLoop(of.sweeps, inputs, offsets[COLUMNS], of.rows, of.columns)
    return Schedule(tuple(cuts), slots, tuple(results[e] for e in visible), loop)


def _fixed_slots(
    program: Program, offsets: dict[str, int], inputs: int
) -> tuple[dict[Expr, int], list[tuple[Expr, int]], int]:
    """Return the slots of results, what the loop needs in further ones, and how many.

    What the loop works on comes first, each entry in a slot of its own.
    """
    results: dict[Expr, int] = {}
    visible, shared, given = program.parts()
    slots = inputs + len(shared)
    copies = [(e, inputs + k) for k, e in enumerate(shared)]
    if program.loop is not None:
        of = program.loop
        # In one state a vector of columns lies in one line of the cache.
        slots = matrix = offsets[COLUMNS] = -(-slots // SIDE_BY_SIDE) * SIDE_BY_SIDE
        slots += of.rows * (of.columns + SIDE_BY_SIDE)
        copies += [(e, matrix + k) for e, k in zip(given, of.places, strict=True)]
    for e in visible:
        if e.op == "input":
            results[e] = offsets[e.value[0]] + e.value[1]
        elif e not in results:
            results[e] = slots
            slots += 1
    for e, slot in copies:
        if e.op != "input":
            results.setdefault(e, slot)
    return results, copies, slots


def _copy(e: Expr, slot: int, cut: Cut, offsets: dict[str, int]) -> None:
    """Let a cut write a value to a further slot: where it is made, or at the end."""
    if e.op == "input":
        cut.loads[e] = offsets[e.value[0]] + e.value[1]
    cut.stores.append((e, slot))
