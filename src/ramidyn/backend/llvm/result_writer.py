"""Code that writes one result of one state: from its slots to an array.

    void write(T *workspace, T *result, void *unused)

A driver that looks up the slot of every element takes longer for a large matrix than
some cuts do. Here the slots are part of the code, and so is what they have in common:
in a mass matrix most elements are the same zero.
"""

from __future__ import annotations

from collections.abc import Sequence

from ramidyn.backend.llvm.target import BYTES

FEWEST, MOST = 36, 8192
"""Elements of a result that has such code: fewer gain nothing, more make it large."""
BLOCK = 256
"""Elements of a function: LLVM takes longer for each in a longer one."""
SIDE_BY_SIDE = 32
"""bytes that are written at once"""
GIVEN = "ptr noalias %in, ptr noalias %out, ptr %unused"


def is_written(size: int, lanes: int) -> bool:
    """Return whether a result of so many elements has code that writes it."""
    return lanes == 1 and FEWEST <= size <= MOST


def writer(slots: Sequence[int], dtype: str, symbol: str) -> str:
    """Return the module of the code for a result in these slots."""
    starts = range(0, len(slots), BLOCK)
    blocks = [_Block(dtype, start, slots[start : start + BLOCK]) for start in starts]
    parts = [_function(f"internal void @part{b.start}", b.lines) for b in blocks]
    calls = [f"call void @part{start}({GIVEN})" for start in starts]
    return "".join([*parts, _function(f"void @{symbol}", calls)])


def _function(head: str, lines: Sequence[str]) -> str:
    body = "\n  ".join([*lines, "ret void"])
    return f"define {head}({GIVEN}) nounwind {{\n  {body}\n}}\n"


class _Block:
    """The lines that write some neighboring elements."""

    def __init__(self, dtype: str, start: int, slots: Sequence[int]) -> None:
        self.start = start
        self.lines: list[str] = []
        self.item: int = BYTES[dtype]
        self.scalar = "double" if dtype == "float64" else "float"
        width = SIDE_BY_SIDE // self.item
        self.vector: str = f"<{width} x {self.scalar}>"
        self.loaded: dict[int, str] = {}
        self.joined: dict[tuple[int, ...], str] = {}
        whole = len(slots) // width * width
        for k in range(0, whole, width):
            self._store(k, self.vector, self._join(tuple(slots[k : k + width])))
        for k in range(whole, len(slots)):
            self._store(k, self.scalar, self._load(slots[k]))

    def _store(self, k: int, kind: str, value: str) -> None:
        offset = (self.start + k) * self.item
        self.lines += [
            f"%r{k} = getelementptr i8, ptr %out, i64 {offset}",
            f"store {kind} {value}, ptr %r{k}, align {self.item}",
        ]

    def _load(self, slot: int) -> str:
        if slot not in self.loaded:
            self.loaded[slot] = f"%s{slot}"
            self.lines += [
                f"%p{slot} = getelementptr i8, ptr %in, i64 {slot * self.item}",
                f"%s{slot} = load {self.scalar}, ptr %p{slot}, align {self.item}",
            ]
        return self.loaded[slot]

    def _join(self, slots: tuple[int, ...]) -> str:
        if slots not in self.joined:
            number, text = len(self.joined), "poison"
            for lane, slot in enumerate(slots):
                value = f"{self.scalar} {self._load(slot)}, i32 {lane}"
                made = f"%v{number}_{lane}"
                self.lines.append(
                    f"{made} = insertelement {self.vector} {text}, {value}"
                )
                text = made
            self.joined[slots] = text
        return self.joined[slots]
