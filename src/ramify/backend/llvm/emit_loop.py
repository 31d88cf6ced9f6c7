"""Write sweeps over the columns of a matrix as LLVM IR: loops that read tables.

    void loop(T *in, T *out, void **libm)

The code is the same for every program, and small; what it does is data. Written out,
the sweeps of a large robot would not fit into the cache of instructions. Four vectors
of columns go side by side, and two rows that need the same others: eight sums that do
not wait for each other, and 0.75 reads for each product. In one state a vector holds
neighboring columns, and a factor is put into every lane.

    @blocks    for each four vectors: their places, where their steps begin and end
    @steps     zeros and their rows; then for each two rows: terms, rows, scales, link;
               and for each term: row, first factor, second factor

All are offsets in bytes. The link is the factor of the first row in the second.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ramify.backend.llvm.emit import ALIGNED, Emitter
from ramify.backend.llvm.schedule import Loop
from ramify.backend.llvm.target import BYTES
from ramify.symbolic.column_loop import SIDE_BY_SIDE, place
from ramify.symbolic.program import Step

ABREAST = 4
"""vectors of columns side by side"""
COLUMNS = range(ABREAST)
WORD = 4
HEAD, TERM = 6, 3
"""words of the tables"""


def loop_module(emitter: Emitter, loop: Loop, symbol: str, is_single: bool) -> str:
    """Return the module of a loop, its function called ``symbol``."""
    size = BYTES[emitter.dtype] if is_single else emitter.stride
    steps: list[int] = []
    blocks: list[int] = []
    for sweep in loop.sweeps:
        start = WORD * len(steps)
        steps += [len(sweep.zeros), *(r * SIDE_BY_SIDE * size for r in sweep.zeros)]
        for first, second in pairs(sweep.steps):
            steps += _record(first, second, loop, size)
        width = emitter.lanes if is_single else 1
        columns = list(dict.fromkeys(k - k % width for k in sweep.columns))
        columns += [loop.spare] * (-len(columns) % ABREAST)
        places = [(loop.matrix + place(loop.rows, 0, k)) * size for k in columns]
        for k in range(0, len(places), ABREAST):
            blocks += [*places[k : k + ABREAST], start, WORD * len(steps)]
    text = _Text(emitter, is_single, loop.is_scaled)
    return text.module(symbol, blocks, steps)


def pairs(steps: Sequence[Step]) -> Iterator[tuple[Step, Step]]:
    """Yield two steps that need the same rows (the second maybe the first), or a step.

    A step alone comes twice. Of steps that go up or down a chain, these are neighbors.
    """
    k = 0
    while k < len(steps):
        first = second = steps[k]
        rows = [i for _, i in first.terms]
        if k + 1 < len(steps) and rows == [
            i for _, i in steps[k + 1].terms[: len(rows)]
        ]:
            rest = [i for _, i in steps[k + 1].terms[len(rows) :]]
            if rest in ([], [first.row]):
                second = steps[k + 1]
                k += 1
        yield first, second
        k += 1


def _record(first: Step, second: Step, loop: Loop, size: int) -> list[int]:
    def factor(k: int | None) -> int:
        return 0 if k is None else (loop.shared + k) * size

    def row(r: int) -> int:
        return r * SIDE_BY_SIDE * size

    both = list(zip(first.terms, second.terms, strict=False))
    rest = second.terms[len(both) :]
    link = factor(rest[0][0]) if rest else -1
    words = [len(both), row(first.row), row(second.row)]
    words += [factor(first.scale), factor(second.scale), link]
    for (f, i), (g, _) in both:
        words += [row(i), factor(f), factor(g)]
    return words


class _Text:
    """The function that reads the tables, line by line."""

    def __init__(self, emitter: Emitter, is_single: bool, is_scaled: bool) -> None:
        self.emitter = emitter
        self.type: str = emitter.type
        self.is_scaled = is_scaled
        self.is_spread: bool = is_single and emitter.lanes > 1
        self.align: int = BYTES[emitter.dtype] if is_single else emitter.stride
        self.lines: list[str] = []

    def module(self, symbol: str, blocks: list[int], steps: list[int]) -> str:
        """Return the tables and the function."""
        self._begin_block()
        self._clear()
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
        for c in COLUMNS:
            self._address(f"x{c}", "%in", self._word(f"o{c}", "%b", c))
        self._address("first", "@steps", self._word("begin", "%b", ABREAST))
        self._address("last", "@steps", self._word("stop", "%b", ABREAST + 1))

    def _clear(self) -> None:
        zeros = self._word("zeros", "%first", 0)
        self._add(
            "%z0 = getelementptr i32, ptr %first, i64 1",
            f"%zend = getelementptr i32, ptr %z0, i64 {zeros}",
            "br label %zero",
            "zero:",
        )
        self._phi("z", "ptr", ("%z0", "block"), ("%znext", "clear"))
        self._branch("icmp ult ptr %z, %zend", "clear", "ready")
        self._add("clear:")
        row = self._word("zrow", "%z", 0)
        for c in COLUMNS:
            self._store("zeroinitializer", f"%x{c}", row)
        self._add("%znext = getelementptr i32, ptr %z, i64 1", "br label %zero")
        self._add("ready:")
        self._branch("icmp ult ptr %zend, %last", "pair", "done")

    def _begin_pair(self) -> dict[str, str]:
        """Return what the sums begin with: a of the first row, b of the second."""
        self._add("pair:")
        self._phi("t", "ptr", ("%zend", "ready"), ("%uend", "store"))
        terms = self._word("terms", "%t", 0)
        begin: dict[str, str] = {}
        for k, x in enumerate("ab"):
            row = self._word(f"{x}row", "%t", 1 + k)
            for c in COLUMNS:
                begin[f"{x}{c}"] = self._load(f"{x}{c}0", f"%x{c}", row)
            if not self.is_scaled:
                continue
            scale = self._factor(f"{x}scale", self._word(f"{x}at", "%t", 3 + k))
            for c in COLUMNS:
                before, begin[f"{x}{c}"] = begin[f"{x}{c}"], f"%{x}{c}1"
                self._add(f"%{x}{c}1 = fmul {self.type} {before}, {scale}")
        self._add(
            f"%size = mul i64 {terms}, {TERM * WORD}",
            f"%u0 = getelementptr i32, ptr %t, i64 {HEAD}",
            "%uend = getelementptr i8, ptr %u0, i64 %size",
        )
        self._branch(f"icmp ne i64 {terms}, 0", "term", "link")
        return begin

    def _add_terms(self, begin: dict[str, str]) -> None:
        self._add("term:")
        self._phi("u", "ptr", ("%u0", "pair"), ("%unext", "term"))
        for x, value in begin.items():
            self._phi(f"{x}n", self.type, (value, "pair"), (f"%{x}m", "term"))
        row = self._word("row", "%u", 0)
        f = self._factor("f", self._word("fat", "%u", 1))
        g = self._factor("g", self._word("gat", "%u", 2))
        for c in COLUMNS:
            y = self._load(f"y{c}", f"%x{c}", row)
            self._subtract(f"a{c}m", f"%a{c}n", f, y)
            self._subtract(f"b{c}m", f"%b{c}n", g, y)
        self._add(f"%unext = getelementptr i32, ptr %u, i64 {TERM}")
        self._branch("icmp ult ptr %unext, %uend", "term", "link")

    def _end_pair(self, begin: dict[str, str]) -> None:
        v = self.type
        self._add("link:")
        for x, value in begin.items():
            self._phi(f"{x}d", v, (value, "pair"), (f"%{x}m", "term"))
        at = self._word("hat", "%t", HEAD - 1)
        self._branch(f"icmp sge i64 {at}, 0", "join", "store")
        self._add("join:")
        h = self._factor("h", at)
        for c in COLUMNS:
            self._subtract(f"b{c}j", f"%b{c}d", h, f"%a{c}d")
        self._add("br label %store", "store:")
        for c in COLUMNS:
            self._phi(f"b{c}e", v, (f"%b{c}d", "link"), (f"%b{c}j", "join"))
        for c in COLUMNS:
            self._store(f"%a{c}d", f"%x{c}", "%arow")
            self._store(f"%b{c}e", f"%x{c}", "%brow")
        self._branch("icmp ult ptr %uend, %last", "pair", "done")

    def _end_block(self, size: int) -> None:
        self._add("done:", f"%knext = add i64 %k, {ABREAST + 2}")
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
