"""The values of a cut in LLVM IR: their names, and when they are read and written."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, final

from ramidyn.backend.llvm.packed_values import PackedValues
from ramidyn.backend.llvm.target import BYTES
from ramidyn.backend.runtime.memory_layout import LINE, is_table
from ramidyn.symbolic.expr import Expr
from ramidyn.symbolic.program import terms_of

if TYPE_CHECKING:
    from ramidyn.backend.llvm.emit import Emitter
    from ramidyn.backend.llvm.frames import Cut
    from ramidyn.backend.llvm.packs import Lanes

LEEWAY = 32
"""Operations among which LLVM may choose the order; beyond, it keeps ours.

Its own order puts up to three times as many values on the stack. A label is a bound
that it does not cross, and leaves nothing in the code.
"""
LABEL = "call void @llvm.codeview.annotation(metadata !0)"
FAR = 2
"""Blocks of so many operations after which a value that has a slot is read there again.

LLVM would keep it on the stack: written once more, and read as often.
"""


@final
class CutValues:
    """The values of one cut: their names, and where they are in the workspace.

    Args:
        emitter: knows types and constants.
        cut: says what is read and written.
        order: of its operations.
        lines: the text of the cut so far.
    """

    def __init__(
        self, emitter: Emitter, cut: Cut, order: Sequence[Expr], lines: list[str]
    ) -> None:
        self.emitter, self.lines = emitter, lines
        self.names: dict[Expr, str] = {}
        self.numbers: Iterator[int] = itertools.count()
        self.now: int = 0
        """the number of the current operation"""
        self.block: int = 0
        """the number of the current block of operations"""
        self._near: dict[Expr, int] = {}
        """the block in which each value was made, read or used last"""
        self._stores: dict[Expr, list[int]] = {}
        for e, slot in cut.stores:
            self._stores.setdefault(e, []).append(slot)
        written = {slot for _, slot in cut.stores}
        self._places = {
            e: ("%in" if e.op == "input" and slot not in written else "%out", slot)
            for e, slot in cut.loads.items()
        }
        over = [(e, slot) for e, slot in cut.loads.items() if slot in written]
        last = _last_uses(order) if over else {}
        self._free: dict[int, int] = {slot: last.get(e, -1) for e, slot in over}
        """the operation after which a slot that is read may be written"""
        self._waiting: dict[int, list[tuple[Expr, int]]] = {}
        """what is to be stored after an operation, and where"""
        self._addresses: dict[int, str] = {}
        """of tables that have been read, by their offsets"""
        self.packed: PackedValues = PackedValues(self, FAR)

    def begin(self, k: int) -> None:
        """Begin operation k, and with it perhaps a block."""
        self.now = k
        if k % LEEWAY == LEEWAY - 1:
            self.block += 1
            self.lines.append(LABEL)

    def add(self, e: Expr, name: str) -> None:
        """Take note of a value that has been made, and store it."""
        self.names[e], self._near[e] = name, self.block
        if e in self._stores:
            self._store(e)

    def operand(self, a: Expr) -> str:
        """Return the name of a value, which is read if it is not near."""
        name, block = self.names.get(a), self.block
        if name is None and a.op == "const":
            name = self.names[a] = self._constant(a.value)
            return name
        if name is None and a in self.packed.lane:
            name = self.names[a] = self.packed.one(a)
        near = self._near.get(a, block)
        self._near[a] = block
        if name is None or (block - near >= FAR and a in self._places):
            k = next(self.numbers)
            name = self.names[a] = f"%v{k}"
            self._load(a, k)
            if a.op == "result":  # passed on
                self._store(a)
        return name

    def store_pack(self, lanes: Lanes) -> list[int]:
        """Store the results of a pack one by one, unless they are to be neighbors.

        Return the first slots of such neighbors, to be stored as vectors.
        """
        slots = [self._stores.get(e, []) for e in lanes]
        places = [list(place) for place in zip(*slots, strict=False)]
        is_free = all(self._free.keys().isdisjoint(place) for place in places)
        is_whole = all(len(own) == len(places) for own in slots)
        if is_whole and is_free and all(map(are_neighbors, places)):
            for e in lanes:
                self._stores.pop(e, None)
            return [place[0] for place in places]
        for e in lanes:
            if e in self._stores:
                self._store(e)
        return []

    def place_of_neighbors(self, lanes: Lanes) -> tuple[str, int] | None:
        """Return where values are that lie side by side, if they do."""
        if any(e.op == "input" and is_table(e.value[0]) for e in lanes):
            return None  # their slots have addresses
        places = [self._places.get(e, ("", -1)) for e in lanes]
        pointer, slot = places[0]
        is_one = slot >= 0 and all(p == pointer for p, _ in places)
        return places[0] if is_one and are_neighbors([k for _, k in places]) else None

    def store_rest(self) -> None:
        """Store what no operation of the cut makes."""
        for e in list(self._stores):
            self._store(e)

    def store_waiting(self) -> None:
        """Store what may be written after the operations so far."""
        if self._waiting:
            for k in [k for k in self._waiting if k <= self.now]:
                for e, slot in self._waiting.pop(k):
                    self._write(e, slot)

    def _store(self, e: Expr) -> None:
        for slot in self._stores.pop(e, ()):
            free = self._free.get(slot, -1)
            if free > self.now:
                self._waiting.setdefault(free, []).append((e, slot))
            else:
                self._write(e, slot)

    def _write(self, e: Expr, slot: int) -> None:
        value, stride = self.operand(e), self.emitter.stride
        at = f"getelementptr i8, ptr %out, i64 {slot * stride}"
        self.lines += [
            f"%s{slot} = {at}",
            f"store {self.emitter.type} {value}, ptr %s{slot}, align {stride}",
        ]
        self._places.setdefault(e, ("%out", slot))

    def _constant(self, value: float) -> str:
        """Return the name of a number, or itself: see `VectorConstants`."""
        of = self.emitter
        number = of.constant(value)
        if of.lanes == 1 or of.stride >= LINE:
            return number
        name = f"%v{next(self.numbers)}"
        self.lines.append(f"{name} = {of.vectors.read(of.type, number, of.stride)}")
        return name

    def _load(self, a: Expr, k: int) -> None:
        """Read a value into %v; of a table, into every lane."""
        of, addresses, (pointer, slot) = self.emitter, self._addresses, self._places[a]
        offset = slot * of.stride
        if a.op != "input" or not is_table(a.value[0]):
            self.lines += [
                f"%p{k} = getelementptr i8, ptr {pointer}, i64 {offset}",
                f"%v{k} = load {of.type}, ptr %p{k}, align {of.stride}",
            ]
            return
        scalar, lines = of.scalar, self.lines
        if offset not in addresses:
            addresses[offset] = f"%a{k}"
            lines.append(f"%t{k} = getelementptr i8, ptr %in, i64 {offset}")
            lines.append(f"%a{k} = load ptr, ptr %t{k}, align 4")
        at = f"getelementptr {scalar}, ptr {addresses[offset]}"
        number = f"%v{k}" if of.lanes == 1 else f"%x{k}"
        lines += [
            f"%p{k} = {at}, i64 {a.value[1]}",
            f"{number} = load {scalar}, ptr %p{k}, align {BYTES[of.dtype]}",
        ]
        if of.lanes > 1:
            v, zero = of.type, f"<{of.lanes} x i32> zeroinitializer"
            one = f"insertelement {v} poison, {scalar} {number}, i32 0"
            lines += [
                f"%o{k} = {one}",
                f"%v{k} = shufflevector {v} %o{k}, {v} poison, {zero}",
            ]


def are_neighbors(slots: Sequence[int]) -> bool:
    """Return whether slots follow one another."""
    return all(slot == slots[0] + k for k, slot in enumerate(slots))


def _last_uses(order: Sequence[Expr]) -> dict[Expr, int]:
    """Return the last operation that uses each value."""
    found: dict[Expr, int] = {}
    for k, e in enumerate(order):
        for a in e.args:
            found[a] = k
        if e.op in ("sin", "cos"):
            found.update(dict.fromkeys(terms_of(e.args[0]) or (), k))
    return found
