"""Values of one state that are side by side in vectors: see `packs`."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from ramidyn.backend.llvm.packs import Flips, Lanes
from ramidyn.backend.llvm.target import BYTES
from ramidyn.symbolic.expr import Expr

if TYPE_CHECKING:
    from ramidyn.backend.llvm.cut_values import CutValues


@final
class PackedValues:
    """The vectors of a cut: made by packs, read, or put together from single values.

    Args:
        values: the single values.
        far: blocks after which a vector that lies in the workspace is read there again.
    """

    def __init__(self, values: CutValues, far: int) -> None:
        self._values, self._far = values, far
        self._names: dict[Lanes, str] = {}
        self._near: dict[Lanes, int] = {}
        """the block in which each vector was made or used last"""
        self.lane: dict[Expr, tuple[Lanes, int]] = {}
        """of the results of packs"""

    def add(self, lanes: Lanes, name: str) -> None:
        """Take note of the results of a pack, and store them."""
        self._names[lanes], self._near[lanes] = name, self._values.block
        self.lane.update((e, (lanes, k)) for k, e in enumerate(lanes))
        of = self._values
        for slot in of.store_pack(lanes):
            k, scalar = next(of.numbers), of.emitter.stride
            of.lines += [
                f"%p{k} = getelementptr i8, ptr %out, i64 {slot * scalar}",
                f"store {self._type(lanes)} {name}, ptr %p{k}, align {scalar}",
            ]

    def operand(self, lanes: Lanes, flips: Flips = ()) -> str:
        """Return the name of a vector of values, signs of some lanes changed."""
        if not flips:
            return self._vector(lanes)
        if all(e.op == "const" for e in lanes):
            pairs = zip(lanes, flips, strict=True)
            return self._numbers([-e.value if flip else e.value for e, flip in pairs])
        size = 8 * BYTES[self._values.emitter.dtype]
        kind, bits = self._type(lanes), f"<{len(lanes)} x i{size}>"
        signs = ", ".join(f"i{size} {flip << size - 1}" for flip in flips)
        one = self._let(f"bitcast {kind} {self._vector(lanes)} to {bits}")
        other = self._let(f"xor {bits} {one}, <{signs}>")
        return self._let(f"bitcast {bits} {other} to {kind}")

    def _vector(self, lanes: Lanes) -> str:
        block = self._values.block
        name, near = self._names.get(lanes), self._near.get(lanes, block)
        self._near[lanes] = block
        if name is not None and block - near < self._far:
            return name
        found = self._read(lanes)
        if found is None and name is not None:
            return name
        if found is None:
            found = self._put_together(lanes)
        self._names[lanes] = found
        return found

    def one(self, e: Expr) -> str:
        """Return the name of a result of a pack, taken out."""
        lanes, k = self.lane[e]
        vector = f"{self._type(lanes)} {self._names[lanes]}"
        return self._let(f"extractelement {vector}, i32 {k}")

    def _type(self, lanes: Lanes) -> str:
        return f"<{len(lanes)} x {self._values.emitter.scalar}>"

    def _let(self, code: str) -> str:
        name = f"%v{next(self._values.numbers)}"
        self._values.lines.append(f"{name} = {code}")
        return name

    def _numbers(self, values: list[float]) -> str:
        of = self._values.emitter
        vector = f"<{', '.join(f'{of.scalar} {of.constant(x)}' for x in values)}>"
        kind, size = f"<{len(values)} x {of.scalar}>", len(values) * of.stride
        return self._let(of.vectors.read(kind, vector, size))

    def _read(self, lanes: Lanes) -> str | None:
        """Return values that lie side by side in the workspace."""
        place = self._values.place_of_neighbors(lanes)
        if place is None or any(e in self._values.names for e in lanes):
            return None
        pointer, slot = place
        size = self._values.emitter.stride
        at = self._let(f"getelementptr i8, ptr {pointer}, i64 {slot * size}")
        return self._let(f"load {self._type(lanes)}, ptr {at}, align {size}")

    def _put_together(self, lanes: Lanes) -> str:
        of, first = self._values, lanes[0]
        kind, scalar = self._type(lanes), of.emitter.scalar
        if all(e.op == "const" for e in lanes):
            return self._numbers([e.value for e in lanes])
        if all(e is first for e in lanes):
            one = f"insertelement {kind} poison, {scalar} {of.operand(first)}, i32 0"
            zeros = f"<{len(lanes)} x i32> zeroinitializer"
            return self._let(
                f"shufflevector {kind} {self._let(one)}, {kind} poison, {zeros}"
            )
        sources = {self.lane[e][0] if e in self.lane else None for e in lanes}
        source = sources.pop()
        if source is not None and not sources:
            given = f"{self._type(source)} {self._names[source]}"
            mask = ", ".join(f"i32 {self.lane[e][1]}" for e in lanes)
            return self._let(
                f"shufflevector {given}, {self._type(source)} poison, "
                f"<{len(lanes)} x i32> <{mask}>"
            )
        name = "poison"
        for k, e in enumerate(lanes):
            value = f"{scalar} {of.operand(e)}"
            name = self._let(f"insertelement {kind} {name}, {value}, i32 {k}")
        return name
