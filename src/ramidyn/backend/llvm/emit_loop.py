"""Write sweeps over the columns of a matrix as LLVM IR: loops that read tables.

    void loop(T *in, T *out, void **libm)

The code is the same for every program, and small; what it does is data. Written out,
the sweeps of a large robot would not fit into the cache of instructions. Four vectors
of columns go side by side, and two rows that need the same others: eight sums that do
not wait for each other, and 0.75 reads for each product. In one state a vector holds
neighboring columns, sixteen in all, and a factor is put into every lane.

    @blocks    for each four vectors: their places, where their steps begin and end
    @steps     for each two rows: terms, rows, scales, link;
               and for each term: row, first factor, second factor

All are offsets in bytes. The link is the factor of the first row in the second.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ramidyn.backend.llvm.emit import ALIGNED, Emitter
from ramidyn.backend.llvm.frames import SweepLoop
from ramidyn.backend.llvm.target import BYTES, Target
from ramidyn.symbolic.column_loop import SIDE_BY_SIDE, place
from ramidyn.symbolic.program import FRESH, KEPT, SweepStep

ABREAST, COLUMNS = 4, 16
"""vectors of columns side by side; columns of one state, at most"""
WORD = 4
HEAD, TERM = 6, 3
"""words of the tables"""


def loop_module(loop: SweepLoop, target: Target, symbol: str) -> str:
    """Return the module of a loop, its function called ``symbol``."""
    is_single = target.lanes == 1
    processor, lanes = target.processor, target.lanes
    if is_single:
        lanes = min(processor.lanes(target.dtype), SIDE_BY_SIDE)
    emitter = Emitter(lanes, target.dtype, processor.is_fused)
    size = BYTES[emitter.dtype] if is_single else emitter.stride
    width = emitter.lanes if is_single else 1
    abreast = min(ABREAST, COLUMNS // width)
    steps: list[int] = []
    blocks: list[int] = []
    for sweep in loop.wide if is_single else loop.sweeps:
        start = WORD * len(steps)
        for first, second in pairs(sweep.steps):
            steps += _record(first, second, loop, size)
        columns = list(dict.fromkeys(k - k % width for k in sweep.columns))
        columns += [loop.spare] * (-len(columns) % abreast)
        places = [(loop.matrix + place(loop.rows, 0, k)) * size for k in columns]
        for k in range(0, len(places), abreast):
            blocks += [*places[k : k + abreast], start, WORD * len(steps)]
    return _Text(emitter, is_single, abreast).module(symbol, blocks, steps)


def pairs(steps: Sequence[SweepStep]) -> Iterator[tuple[SweepStep, SweepStep]]:
    """Yield two steps that need the same rows (the second maybe the first), or a step.

    A step alone comes twice. Of steps that go up or down a chain, these are neighbors.
    """
    k = 0
    while k < len(steps):
        first = second = steps[k]
        k += 1
        if k < len(steps) and _fit(first, steps[k]):
            second = steps[k]
            k += 1
        yield first, second


def _fit(first: SweepStep, second: SweepStep) -> bool:
    """Return whether two steps begin alike and need the same rows."""
    rows = {i for _, i in first.terms}
    others = {i for _, i in second.terms}
    return (
        others - {first.row} == rows
        and len(first.terms) + len(second.terms) == len(rows) + len(others)
        and min(first.scale, 0) == min(second.scale, 0)
        and first.row not in (second.row, *rows)
    )


def _record(
    first: SweepStep, second: SweepStep, loop: SweepLoop, size: int
) -> list[int]:
    def factor(k: int) -> int:
        return k if k in (KEPT, FRESH) else (loop.shared + k) * size

    def row(r: int) -> int:
        return r * SIDE_BY_SIDE * size

    both = [(i, f, f) for f, i in first.terms]
    link = -1
    if first is not second:
        of = {i: g for g, i in second.terms}
        both = [(i, f, of[i]) for f, i in first.terms]
        link = factor(of[first.row]) if first.row in of else -1
    words = [len(both), row(first.row), row(second.row)]
    words += [factor(first.scale), factor(second.scale), link]
    for i, f, g in both:
        words += [row(i), factor(f), factor(g)]
    return words


class _Text:
    """The function that reads the tables, line by line."""

    def __init__(self, emitter: Emitter, is_single: bool, abreast: int) -> None:
        self.emitter = emitter
        self.type: str = emitter.type
        self.abreast = abreast
        self.is_spread: bool = is_single and emitter.lanes > 1
        self.align: int = BYTES[emitter.dtype] if is_single else emitter.stride
        self.lines: list[str] = []

    def module(self, symbol: str, blocks: list[int], steps: list[int]) -> str:
        """Return the tables and the function."""
        self._begin_block()
        begin = self._begin_pair()
        self._add_terms(begin)
        self._end_pair(begin)
        self._end_block(len(blocks))
        body = "\n  ".join(self.lines)
        return (
            f"{_table('blocks', blocks)}\n{_table('steps', steps)}\n"
            f"define void @{symbol}(ptr %in, ptr %out, ptr %libm) "
            f'nounwind {ALIGNED} "prefer-vector-width"="512" {{\n'
            f"entry:\n  br label %block\n  {body}\nend:\n  ret void\n}}\n"
        )

    def _begin_block(self) -> None:
        self._add("block:")
        self._phi("k", "i64", ("0", "entry"), ("%knext", "done"))
        self._add("%b = getelementptr i32, ptr @blocks, i64 %k")
        for c in range(self.abreast):
            self._address(f"x{c}", "%in", self._word(f"o{c}", "%b", c))
        self._address("first", "@steps", self._word("begin", "%b", self.abreast))
        self._address("last", "@steps", self._word("stop", "%b", self.abreast + 1))
        self._branch("icmp ult ptr %first, %last", "pair", "done")

    def _begin_pair(self) -> list[str]:
        """Return the sums, called a of the first row and b of the second."""
        sums = [f"{x}{c}" for x in "ab" for c in range(self.abreast)]
        self._add("pair:")
        self._phi("t", "ptr", ("%first", "block"), ("%uend", "store"))
        terms = self._word("terms", "%t", 0)
        rows = {x: self._word(f"{x}row", "%t", 1 + k) for k, x in enumerate("ab")}
        scales = {x: self._word(f"{x}at", "%t", 3 + k) for k, x in enumerate("ab")}
        self._branch(f"icmp eq i64 {scales['a']}, {FRESH}", "begun", "held")
        self._add("held:")
        for s in sums:
            self._load(f"{s}h", f"%x{s[1:]}", rows[s[0]])
        self._branch(f"icmp eq i64 {scales['a']}, {KEPT}", "begun", "scaled")
        self._add("scaled:")
        factors = {x: self._factor(f"{x}scale", at) for x, at in scales.items()}
        for s in sums:
            self._add(f"%{s}s = fmul {self.type} %{s}h, {factors[s[0]]}")
        self._add("br label %begun", "begun:")
        for s in sums:
            zero = ("zeroinitializer", "pair")
            self._phi(s, self.type, zero, (f"%{s}h", "held"), (f"%{s}s", "scaled"))
        self._add(
            f"%size = mul i64 {terms}, {TERM * WORD}",
            f"%u0 = getelementptr i32, ptr %t, i64 {HEAD}",
            "%uend = getelementptr i8, ptr %u0, i64 %size",
        )
        self._branch(f"icmp ne i64 {terms}, 0", "term", "link")
        return sums

    def _add_terms(self, sums: list[str]) -> None:
        self._add("term:")
        self._phi("u", "ptr", ("%u0", "begun"), ("%unext", "term"))
        for s in sums:
            self._phi(f"{s}n", self.type, (f"%{s}", "begun"), (f"%{s}m", "term"))
        row = self._word("row", "%u", 0)
        f = self._factor("f", self._word("fat", "%u", 1))
        g = self._factor("g", self._word("gat", "%u", 2))
        for c in range(self.abreast):
            y = self._load(f"y{c}", f"%x{c}", row)
            self._subtract(f"a{c}m", f"%a{c}n", f, y)
            self._subtract(f"b{c}m", f"%b{c}n", g, y)
        self._add(f"%unext = getelementptr i32, ptr %u, i64 {TERM}")
        self._branch("icmp ult ptr %unext, %uend", "term", "link")

    def _end_pair(self, sums: list[str]) -> None:
        v, columns = self.type, range(self.abreast)
        self._add("link:")
        for s in sums:
            self._phi(f"{s}d", v, (f"%{s}", "begun"), (f"%{s}m", "term"))
        at = self._word("hat", "%t", HEAD - 1)
        self._branch(f"icmp sge i64 {at}, 0", "join", "store")
        self._add("join:")
        h = self._factor("h", at)
        for c in columns:
            self._subtract(f"b{c}j", f"%b{c}d", h, f"%a{c}d")
        self._add("br label %store", "store:")
        for c in columns:
            self._phi(f"b{c}e", v, (f"%b{c}d", "link"), (f"%b{c}j", "join"))
        for c in columns:
            self._store(f"%a{c}d", f"%x{c}", "%arow")
            self._store(f"%b{c}e", f"%x{c}", "%brow")
        self._branch("icmp ult ptr %uend, %last", "pair", "done")

    def _end_block(self, size: int) -> None:
        self._add("done:", f"%knext = add i64 %k, {self.abreast + 2}")
        self._branch(f"icmp slt i64 %knext, {size}", "block", "end")

    def _add(self, *lines: str) -> None:
        self.lines += lines

    def _address(self, name: str, base: str, offset: str) -> None:
        self._add(f"%{name} = getelementptr i8, ptr {base}, i64 {offset}")

    def _word(self, name: str, table: str, index: int) -> str:
        """Read an entry of a table."""
        self._add(
            f"%{name}a = getelementptr i32, ptr {table}, i64 {index}",
            f"%{name}w = load i32, ptr %{name}a, align {WORD}",
            f"%{name} = sext i32 %{name}w to i64",
        )
        return f"%{name}"

    def _load(self, name: str, base: str, offset: str) -> str:
        self._address(f"{name}p", base, offset)
        self._add(f"%{name} = load {self.type}, ptr %{name}p, align {self.align}")
        return f"%{name}"

    def _store(self, value: str, base: str, offset: str) -> None:
        name = f"s{len(self.lines)}"
        self._address(name, base, offset)
        self._add(f"store {self.type} {value}, ptr %{name}, align {self.align}")

    def _factor(self, name: str, offset: str) -> str:
        """Read a factor, for all lanes."""
        if not self.is_spread:
            return self._load(name, "%in", offset)
        v, scalar = self.type, self.emitter.scalar
        zeros = f"<{self.emitter.lanes} x i32> zeroinitializer"
        self._address(f"{name}p", "%in", offset)
        self._add(
            f"%{name}s = load {scalar}, ptr %{name}p, align {self.align}",
            f"%{name}i = insertelement {v} poison, {scalar} %{name}s, i32 0",
            f"%{name} = shufflevector {v} %{name}i, {v} poison, {zeros}",
        )
        return f"%{name}"

    def _subtract(self, name: str, total: str, factor: str, x: str) -> None:
        """Write total − factor · x."""
        v = self.type
        self._add(
            f"%{name}n = fneg {v} {factor}",
            f"%{name} = call {v} @llvm.fmuladd.{self.emitter.suffix}"
            f"({v} %{name}n, {v} {x}, {v} {total})",
        )

    def _phi(self, name: str, kind: str, *sources: tuple[str, str]) -> None:
        text = ", ".join(f"[{value}, %{block}]" for value, block in sources)
        self._add(f"%{name} = phi {kind} {text}")

    def _branch(self, condition: str, yes: str, no: str) -> None:
        name = f"%is{len(self.lines)}"
        self._add(f"{name} = {condition}", f"br i1 {name}, label %{yes}, label %{no}")


def _table(name: str, values: list[int]) -> str:
    words = ", ".join(f"i32 {x}" for x in values)
    return f"@{name} = private unnamed_addr constant [{len(values)} x i32] [{words}]"
