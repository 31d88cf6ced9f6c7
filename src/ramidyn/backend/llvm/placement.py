"""Where the values of a program are: slots and frames."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from ramidyn.backend.llvm.frames import (
    CalleeFrame,
    Cut,
    Schedule,
    Scheduler,
    aligned_slots,
    frame_of,
)
from ramidyn.backend.llvm.packs import Lanes
from ramidyn.backend.llvm.steps import Steps
from ramidyn.backend.runtime.memory_layout import is_table, slots_of
from ramidyn.symbolic.expr import Condition, Expr
from ramidyn.symbolic.program import Program, terms_of


class Placement:
    """Where the values of a program are.

    Results of a call either are kept in its frame, as long as they are needed, as those
    of the last call are; or they are left there for the operations up to the next call,
    whose first cut passes on what is needed later; or they are moved out at once.

    Args:
        segments: the cuts before each call, and those after the last one.
        program: lowered.
        schedule: gives the schedules of what it calls.
        carried: how many results, the first ones, are the next inputs.
    """

    def __init__(
        self,
        segments: list[list[Cut]],
        program: Program,
        schedule: Scheduler,
        carried: int = 0,
    ) -> None:
        self.program = program
        self.calls: list[Expr] = program.calls
        conditions = [e for e in program.order if isinstance(e, Condition)]
        self.has_conditions: bool = bool(conditions)
        _insert_all_conditions(segments, conditions)
        callees = {call.value.digest: call.value for call in self.calls}
        made = {d: frame_of(c, schedule) for d, c in callees.items()}
        self.frames: list[CalleeFrame] = [made[c.value.digest] for c in self.calls]
        for k, segment in enumerate(segments):
            if not segment and self._needs_cut(k):
                segment.append(Cut("start", []))
        self.parts: list[Cut | Expr] = []
        self.start: list[int] = []
        """the first part of the segment before each call, and behind the last one"""
        for k, segment in enumerate(segments):
            self.start.append(len(self.parts))
            self.parts += [*segment, *self.calls[k : k + 1]]
        self.number: dict[Expr, int] = {call: k for k, call in enumerate(self.calls)}
        self.offsets: dict[str, int] = {}
        self.slots: int = 0
        for v in program.inputs:
            self.offsets[v.name] = self.slots
            self.slots += slots_of(v.name, v.size)
        self.results_of: dict[Expr, list[Expr]] = {c: [] for c in self.calls}
        for e in program.order if self.calls else ():
            if e.op == "result":
                self.results_of[e.args[0]].append(e)
        self.kept: list[bool] = [
            frame.keeps(len(self.results_of[call])) or call is self.calls[-1]
            for call, frame in zip(self.calls, self.frames, strict=True)
        ]
        self.left: list[bool] = [self._is_left(k) for k in range(len(self.calls))]
        self.made_in: dict[Expr, int] = {}
        self.last_used: dict[Expr, int] = {}
        self._find_lives()
        self.slot_of: dict[Expr, int] = self._replaced(carried)
        self.left_until: dict[Expr, tuple[int, int]] = {}
        """of results that are left in a frame: up to which part, and the slot"""

    def _needs_cut(self, k: int) -> bool:
        """Return whether constants must be written in an empty segment."""
        if k < len(self.calls):
            return any(map(_has_no_slot, self._read(k).values()))
        is_constant = any(_has_no_slot(e) for e in self.program.results)
        return is_constant or not self.calls

    def _read(self, k: int) -> dict[int, Expr]:
        """Return the arguments of a call that are read, by their slots in the frame."""
        given = zip(self.frames[k].arguments, self.calls[k].args, strict=True)
        return {slot: a for slot, a in given if slot is not None}

    def _is_left(self, k: int) -> bool:
        """Return whether results of a call are left in its frame for what follows.

        The next call has to be one of the same program: it has the same frame.
        """
        if self.kept[k] or not isinstance(self.parts[self.start[k + 1]], Cut):
            return False
        one, following = (call.value.digest for call in self.calls[k : k + 2])
        return one == following and self.frames[k].is_free

    def _place_of(self, k: int) -> int:
        """Return which part a call is."""
        return self.start[k + 1] - 1

    def _find_lives(self) -> None:
        """Find the parts that make each value, and the last that use it."""
        for k, part in enumerate(self.parts):
            if isinstance(part, Cut):
                made = part.order
                if self.has_conditions:
                    made = [e for e in made if not isinstance(e, Condition)]
                used = [*arguments_of(part.order), *angle_terms(part.order)]
            else:
                made, number = self.results_of[part], self.number[part]
                read = self._read(number).values()
                used = [a for a in read if not self._is_near(a, number)]
            self.made_in.update(dict.fromkeys(made, k))
            self.last_used.update(dict.fromkeys(used, k))

    def _replaced(self, carried: int) -> dict[Expr, int]:
        """Return the results that are written over the inputs that they become.

        No later part may need such an input, nor may it be another result.
        """
        results = self.program.results
        needed = {self._slot(a): k for a, k in self.last_used.items() if _has_slot(a)}
        for k, e in enumerate(results):
            if _has_slot(e) and self._slot(e) != k:
                needed[self._slot(e)] = len(self.parts)
        found: dict[Expr, int] = {}
        for slot, e in enumerate(results[:carried]):
            made = self.made_in.get(e, -1)
            is_free = needed.get(slot, 0) <= made
            if is_free and isinstance(self.parts[made], Cut):
                found.setdefault(e, slot)
        return found

    def _is_near(self, a: Expr, call: int) -> bool:
        """Return whether an argument is made just before its call: stored in place."""
        return a.op != "result" and self.made_in.get(a, -1) >= self.start[call]

    def schedule(self) -> Schedule:
        """Place everything."""
        bases = self._place_frames()
        self._place_values()
        cuts = [part for part in self.parts if isinstance(part, Cut)]
        for k, part in enumerate(self.parts):
            if isinstance(part, Cut):
                self._load_and_store(k, part)
        steps = self._steps(Steps(cuts), bases)
        outputs = tuple(self._slot(e) for e in self.program.results)
        for e in dict.fromkeys(filter(_has_no_slot, self.program.results)):
            self._write(cuts[-1], e, self.slot_of[e])
        instructions = steps.steps if self.calls else ()
        return Schedule(
            tuple(steps.functions), self.slots, outputs, tuple(instructions)
        )

    def _steps(self, writer: Steps, bases: list[int]) -> Steps:
        """Write what runs when."""
        there: dict[int, Expr] = {}
        """arguments that are still in the frames of earlier calls, by slot"""
        for part in self.parts:
            if isinstance(part, Cut):
                writer.run(part)
                continue
            k = self.number[part]
            frame, base = self.frames[k], bases[k]
            given = {base + slot: a for slot, a in self._read(k).items()}
            begin = self._first_argument(k)
            moves = self._arguments(k, given, there) if begin is None else ()
            writer.call(frame, base, part.value.digest, moves, begin)
            inside = range(base, base + frame.slots)
            there = {slot: a for slot, a in there.items() if slot not in inside}
            there |= given if frame.keeps_arguments and begin is None else {}
            found = [e for e in self.results_of[part] if e in self.slot_of]
            slots = [base + frame.results[int(e.value)] for e in found]
            if self.left[k]:
                following = self.parts[self.start[k + 1]]
                assert isinstance(following, Cut)
                following.loads.update(zip(found, slots, strict=True))
                following.stores += [(e, self.slot_of[e]) for e in found]
            elif not self.kept[k]:
                writer.move(zip(slots, map(self._slot, found), strict=True))
        return writer

    def _first_argument(self, k: int) -> int | None:
        """Return where the arguments of a call begin, if they lie as it reads them."""
        frame, place, read = self.frames[k], self._place_of(k), self._read(k)
        if not (frame.is_free and frame.is_straight):
            return None
        if any(_has_no_slot(a) or self._is_near(a, k) for a in read.values()):
            return None
        shifts = {self._slot(a, place) - slot for slot, a in read.items()}
        begin = min(shifts, default=-1)
        return begin if len(shifts) == 1 and begin >= 0 else None

    def _slot(self, e: Expr, part: int | None = None) -> int:
        """Return where a value is, or where a part finds it."""
        if _has_slot(e):
            return self.offsets[e.value[0]] + e.value[1]
        if part is not None and e in self.left_until:
            until, slot = self.left_until[e]
            if part <= until:
                return slot
        return self.slot_of[e]

    def _write(self, cut: Cut, e: Expr, slot: int) -> None:
        """Let a cut write a constant, or an entry of a table."""
        cut.stores.append((e, slot))
        if e.op == "input":
            cut.loads[e] = self.offsets[e.value[0]]

    def _place_frames(self) -> list[int]:
        """Return where frames begin; those whose lives do not meet share slots."""
        in_frame = {
            e
            for call, stays in zip(self.calls, self.kept, strict=True)
            for e in self.results_of[call]
            if stays
        }
        for e in self.program.results:
            is_made = e.op != "input" or _has_no_slot(e)
            if is_made and e not in in_frame and e not in self.slot_of:
                self.slot_of[e] = self.slots
                self.slots += 1
        lives = self._lives()
        sizes = [self.frames[run[0]].slots for run in lives]
        packed = _pack_frames(list(lives.values()), sizes, self.slots)
        bases = [0] * len(self.calls)
        for run, base in zip(lives, packed, strict=True):
            for k in run:
                bases[k] = base
        ends = [*self.start[2:], len(self.parts) + 1]
        for k, (call, frame) in enumerate(zip(self.calls, self.frames, strict=True)):
            self.slots = max(self.slots, bases[k] + frame.slots)
            for e in self.results_of[call]:
                slot = bases[k] + frame.results[int(e.value)]
                if self.kept[k]:
                    self.slot_of[e] = slot
                elif self.left[k]:
                    self.left_until[e] = (ends[k] - 1, slot)
        return bases

    def _lives(self) -> dict[tuple[int, ...], tuple[int, int]]:
        """Return the first and the last part in which calls use one frame."""
        visible = set(self.program.results)
        lives: dict[tuple[int, ...], tuple[int, int]] = {}
        run: tuple[int, ...] = ()
        for k, call in enumerate(self.calls):
            end, found = self._place_of(k), self.results_of[call]
            if self.kept[k]:
                end = max([end, *(self.last_used.get(e, end) for e in found)])
                if not visible.isdisjoint(found):
                    end = len(self.parts)
            run = (*run, k)
            if self.left[k]:
                continue
            lives[run] = (self.start[run[0]], end)
            run = ()
        return lives

    def _place_values(self) -> None:
        """Give values that later parts need slots, used again when they die."""
        free: dict[int, list[int]] = {1: []}
        """first slots of neighbors that nobody uses now, by their number"""
        dying: dict[int, list[tuple[int, int]]] = {}
        for k, part in enumerate(self.parts):
            for width, slot in dying.pop(k, ()):
                free.setdefault(width, []).append(slot)
            if not isinstance(part, Cut):
                free[1].sort(reverse=True)  # neighbors are moved together
            for lanes in self._to_place(k, part):
                width = len(lanes)
                if free.get(width):
                    slot = free[width].pop()
                else:
                    slot = self.slots
                    self.slots += width
                for place, e in enumerate(lanes, slot):
                    self.slot_of[e] = place
                # Free again after the part that uses it last, never within it.
                last = max(map(self.last_used.__getitem__, lanes))
                dying.setdefault(last + 1, []).append((width, slot))

    def _to_place(self, k: int, part: Cut | Expr) -> Iterator[Lanes]:
        """Yield what a part makes for later ones: packs whole, or one by one."""
        if isinstance(part, Cut):
            made, packs = part.order, part.packs
        else:
            kept = self.kept[self.number[part]]
            made, packs = ([] if kept else self.results_of[part]), ()
        last_used, made_in, slot_of = self.last_used.get, self.made_in.get, self.slot_of
        wanted = [e for e in made if last_used(e, k) > k and made_in(e) == k]
        if self.left_until:
            left, last = self.left_until, self.last_used
            wanted = [e for e in wanted if e not in left or last[e] > left[e][0]]
        pack_of = {e: p.operations for p in packs for e in p.operations}
        wanting = set(wanted) if packs else ()
        for e in wanted:
            if e not in slot_of:
                lanes = pack_of.get(e, (e,))
                is_whole = len(lanes) == 1 or (
                    all(a in wanting and a not in slot_of for a in lanes)
                )
                yield lanes if is_whole else (e,)

    def _load_and_store(self, k: int, cut: Cut) -> None:
        """List what a cut reads, and what it writes for others."""
        slot_of, made_in = self.slot_of, self.made_in.get
        cut.stores += [(e, slot_of[e]) for e in cut.order if e in slot_of]
        needed = dict.fromkeys([*arguments_of(cut.order), *angle_terms(cut.order)])
        for a in needed:
            if a.args:
                if made_in(a, k) != k:
                    is_left = a.op == "result"
                    cut.loads[a] = self._slot(a, k) if is_left else slot_of[a]
            elif a.op == "input":
                is_address = _has_no_slot(a)
                cut.loads[a] = self.offsets[a.value[0]] if is_address else self._slot(a)

    def _arguments(
        self, call: int, given: dict[int, Expr], there: dict[int, Expr]
    ) -> Iterator[tuple[int, int]]:
        """Let cuts store what they make for a call; yield the moves of the others."""
        place = self._place_of(call)
        for target, a in given.items():
            if there.get(target) is a:
                continue
            if _has_no_slot(a):
                before = self.parts[place - 1]
                assert isinstance(before, Cut)
                self._write(before, a, target)
            elif self._is_near(a, call):
                near = self.parts[self.made_in[a]]
                assert isinstance(near, Cut)
                near.stores.append((a, target))
            else:
                yield self._slot(a, place), target


def arguments_of(operations: list[Expr]) -> Iterator[Expr]:
    """Return the arguments of operations, in their order."""
    return chain.from_iterable([e.args for e in operations])


def angle_terms(operations: list[Expr]) -> list[Expr]:
    """Return the terms of the angles whose sines and cosines are taken."""
    angles = [e.args[0] for e in operations if e.op in ("sin", "cos")]
    return [x for a in angles for x in terms_of(a) or ()]


def _has_slot(e: Expr) -> bool:
    """Return whether a value is an input with a slot."""
    return e.op == "input" and not _has_no_slot(e)


def _has_no_slot(e: Expr) -> bool:
    """Return whether a value is nowhere in the workspace before it is used."""
    return e.op == "const" or (e.op == "input" and is_table(e.value[0]))


def _insert_all_conditions(
    segments: list[list[Cut]], conditions: list[Condition]
) -> None:
    place: dict[Expr, int] = {c: i for i, c in enumerate(conditions)}
    if place:
        for cut in (cut for segment in segments for cut in segment):
            _insert_conditions(cut, place)


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


def _pack_frames(
    lives: Sequence[tuple[int, int]], sizes: Sequence[int], first: int
) -> list[int]:
    """Return where frames begin, from slot ``first`` on.

    Frames that are alive at the same time, both ends included, have slots of their own.
    """
    placed: list[tuple[int, int, int, int]] = []
    bases: list[int] = []
    for (born, dies), size in zip(lives, sizes, strict=True):
        base = aligned_slots(first)
        meeting = sorted(
            (begin, end)
            for begin, end, other_born, other_dies in placed
            if born <= other_dies and other_born <= dies
        )
        for begin, end in meeting:
            if base + size <= begin:
                break
            base = max(base, end)
        bases.append(base)
        placed.append((base, base + size, born, dies))
    return bases
