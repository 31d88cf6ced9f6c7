"""Programs that a program calls, as C: one function each, of one struct.

    struct inner_work { double x[2]; double result[1]; ... };
    APART void inner(struct inner_work *RESTRICT w);

The struct has the arguments, the results, and the values between steps. A call is a
step of the caller: it fills the arguments, runs the function once or in a loop, and
takes the results. Sweeps over the columns of a matrix x are one function too, which
calls one for each sweep.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, final

from ramidyn.backend.c99.emit import Body, Style, declarations, loop, said
from ramidyn.backend.c99.emit import StepWriter as Writer
from ramidyn.backend.c99.names import Names, comment, wrapped
from ramidyn.backend.c99.steps import LONGEST_MOVE, Entry, SourcePlan, SourceStep, plan
from ramidyn.symbolic.column_loop import SIDE_BY_SIDE
from ramidyn.symbolic.program import Callee, ColumnLoop, Program, SweepStep, Variable

LOCALS = ("c", "called", "i", "j", "k", "w", "sliced", "stacked")


@final
@dataclass(frozen=True, slots=True, eq=False)
class Called:
    """What is called: a function and its struct."""

    symbol: str
    body: SourcePlan | ColumnLoop
    inputs: tuple[Variable, ...]
    """by their names in C"""
    outputs: tuple[Variable, ...]
    sweeps: Mapping[tuple[SweepStep, ...], str]
    """the function of each sweep over columns"""

    def argument(self, k: int) -> Entry:
        """Return where argument k of one step is."""
        if isinstance(self.body, SourcePlan):
            return _entry(self.inputs, k)
        if k < self.body.shared:
            return "shared", k
        return _in_rows(self.body, self.body.places[k - self.body.shared])

    def result(self, k: int) -> Entry:
        """Return where result k of one step is."""
        if isinstance(self.body, SourcePlan):
            return _entry(self.outputs, k)
        return _in_rows(self.body, k)

    @property
    def values(self) -> int:
        """The number of values in the struct."""
        fields = len(self.body.fields) if isinstance(self.body, SourcePlan) else 0
        return fields + sum(v.size for v in (*self.inputs, *self.outputs))

    def style(self, dtype: str, lanes: str | None) -> Style:
        """Return how its values are written."""
        assert isinstance(self.body, SourcePlan)
        p = self.body.program
        inputs = {v.name: c.name for v, c in zip(p.inputs, self.inputs, strict=True)}
        outputs = {v.name: c.name for v, c in zip(p.outputs, self.outputs, strict=True)}
        columns = dict.fromkeys(outputs, 0)
        return Style(
            dtype, inputs, outputs, columns, lanes, self.struct(lanes), is_called=True
        )

    def struct(self, lanes: str | None) -> str:
        """Return the name of its struct."""
        return f"{self.symbol}_{'work' if lanes is None else 'lanes'}"


Calls: TypeAlias = Mapping[str, Called]
"""what is called, by digest of the callee"""


def _entry(variables: Iterable[Variable], k: int) -> Entry:
    for v in variables:
        if k < v.size:
            return v.name, k
        k -= v.size
    raise AssertionError("there are not so many entries")


def _in_rows(columns: ColumnLoop, place: int) -> Entry:
    """Return where an entry of the matrix is, row by row."""
    block, k = divmod(place, SIDE_BY_SIDE * columns.rows)
    row, column = divmod(k, SIDE_BY_SIDE)
    return "x", row * columns.columns + block * SIDE_BY_SIDE + column


def called_by(
    program: Program, entry_names: Mapping[Entry, str], names: Names
) -> dict[str, Called]:
    """Return what a program calls, and before it what that calls.

    Args:
        program: the caller.
        entry_names: what the entries of inputs are called, such as joints.
        names: those in use at the level of the file.
    """
    for name in LOCALS:
        names.unique(name)
    found: dict[str, Called] = {}
    bodies: dict[str | ColumnLoop, Called] = {}

    def add(caller: Program) -> None:
        for callee in (e.value for e in caller.calls):
            if callee.digest in found:
                continue
            body = callee.body
            key = body if isinstance(body, ColumnLoop) else body.digest()
            if key not in bodies:
                if isinstance(body, Program):
                    add(body)
                bodies[key] = _called(callee, entry_names, names)
            found[callee.digest] = bodies[key]

    add(program)
    return found


def _called(callee: Callee, entry_names: Mapping[Entry, str], names: Names) -> Called:
    symbol, body = names.unique(callee.name), callee.body
    if isinstance(body, ColumnLoop):
        matrix = Variable("x", (body.rows * body.columns,))
        shared = Variable("shared", (body.shared,))
        distinct = dict.fromkeys(sweep.steps for sweep in body.sweeps)
        sweeps = {steps: names.unique(f"sweep of {symbol}") for steps in distinct}
        return Called(symbol, body, (shared,), (matrix,), sweeps)
    own = Names()
    inputs = tuple(Variable(own.unique(v.name), v.shape) for v in body.inputs)
    outputs = tuple(Variable(own.unique(v.name), v.shape) for v in body.outputs)
    arrays = [v.name for v in (*inputs, *outputs)]
    made = plan(body, entry_names, names, arrays)
    return Called(symbol, made, inputs, outputs, {})


def _is_loop(callee: Callee) -> bool:
    return callee.times != 1 or callee.until


def stack_values(of: SourcePlan, calls: Calls) -> tuple[int, int]:
    """Return how many values the functions of a plan have at most, and how deep it is.

    A compiler may give each operation of a step a place (-O0), and may join steps.
    """
    values = max((len(s.order) for s in of.steps), default=0)
    values = max(values, *(p.operations for p in of.parts if p.symbol is not None), 0)
    most = deepest = 0
    for callee in (e.value for e in of.program.calls):
        to = calls[callee.digest]
        inner, depth = 0, 0
        if isinstance(to.body, SourcePlan):
            inner, depth = stack_values(to.body, calls)
        inner += to.values
        if _is_loop(callee):
            inner += callee.times * (callee.sliced + callee.stacked)
        most, deepest = max(most, inner), max(deepest, depth + 1)
    return values + most, deepest


# ------------------------------------------------------------ the call


@final
class CallWriter:
    """Writes the step that calls, for one state or for lanes."""

    def __init__(self, writer: Writer, step: SourceStep, to: Called) -> None:
        assert step.call is not None
        self.writer, self.step, self.to = writer, step, to
        self.call = step.call
        self.callee: Callee = step.call.value
        self.style = writer.style
        self.suffix = "" if self.style.lanes is None else "_batch"
        self.is_loop = _is_loop(self.callee)
        s = self.style
        names = Names(
            ["c", "called", "i", "w", *s.inputs.values(), *s.outputs.values()]
        )
        self.body = Body(names)
        self.moves, self.functions = iter(step.moves), list[str]()
        self.k = names.unique("k")
        self.sliced, self.stacked = names.unique("sliced"), names.unique("stacked")

    def write(self) -> tuple[list[str], Body]:
        """Return the lines of the function, and what its body uses."""
        s, callee, symbol = self.style, self.callee, self.step.symbol
        t = s.type if s.lanes is None else "values"
        given, taken = self._given(), self._taken()
        lines = [f"    struct {self.to.struct(s.lanes)} called, *const c = &called;"]
        for name, n in ((self.sliced, callee.sliced), (self.stacked, callee.stacked)):
            if self.is_loop and n * callee.times:
                lines.append(f"    {t} {name}[{n * callee.times}];")
        loops = [line for line in (*given, *taken) if line.startswith("    for (i")]
        lines += ["    int i;"] * bool(loops) + [f"    int {self.k};"] * self.is_loop
        lines += ["", *given, *self._run(), *taken]
        if s.lanes is None:
            head = f"APART void {self.writer.signature(symbol, self.body)}"
        else:
            head = f"APART void {symbol}_batch(struct {s.struct} *RESTRICT w)"
        about = f"/* {comment(said(self.step.name, self.writer.sentences))} */"
        whole = [*self.functions, about, *wrapped(head, 0), "{", *lines, "}", ""]
        return whole, self.body

    def _given_at(self, k: int) -> Entry:
        """Return where argument k of one step is."""
        name, index = self.to.argument(k)
        return f"c->{name}", index

    def _made_at(self, k: int) -> Entry:
        """Return where result k of one step is."""
        name, index = self.to.result(k)
        return f"c->{name}", index

    def _argument(self, k: int) -> Entry:
        """Return where argument k of the call is written."""
        own = self.callee.carried + self.callee.shared
        is_sliced = self.is_loop and k >= own
        return (self.sliced, k - own) if is_sliced else self._given_at(k)

    def _result(self, k: int) -> Entry:
        """Return where result k of the call is found; a loop may take no step."""
        if not self.is_loop:
            return self._made_at(k)
        carried = self.callee.carried
        return self._given_at(k) if k < carried else (self.stacked, k - carried)

    def _given(self) -> list[str]:
        moves: list[tuple[Entry, Entry]] = []
        values: list[str] = []
        s = self.style
        for k, a in enumerate(self.call.args):
            array, index = self._argument(k)
            if a.op == "input":
                name, at = a.value
                self.body.inputs.add(name)
                moves.append(((s.array(s.inputs[name]), at), (array, index)))
            else:
                text = self.writer.text(a, self.body)
                values.append(f"{array}[{index}]{s.lane} = {text};")
        return [*self._copies(moves), *self._statements(values)]

    def _taken(self) -> list[str]:
        moves: list[tuple[Entry, Entry]] = []
        values: list[str] = []
        s, p = self.style, self.writer.plan
        for e in self.step.order[1:]:
            array, index = self._result(e.value)
            if e in p.fields:
                self.body.writes = True
                values.append(f"{s.field(p.fields[e])} = {array}[{index}]{s.lane};")
            for name, at in p.results.get(e, ()):
                self.body.outputs.add(name)
                to = s.array(s.outputs[name]), at
                moves.append(((array, index), to))
        moves.sort(key=lambda move: move[1])
        return [*self._copies(moves), *self._statements(values)]

    def _run(self) -> list[str]:
        call = f"{self.to.symbol}{self.suffix}(c);"
        if not self.is_loop:
            return [f"    {call}"]
        callee = self.callee
        c, s = callee.carried, callee.carried + callee.shared
        own = f"{self.sliced} + {self._times(callee.sliced)}"
        made = f"{self.stacked} + {self._times(callee.stacked)}"
        inside = [
            *(self._until() if callee.until else []),
            *self._copies(
                ((own, k), self._given_at(s + k)) for k in range(callee.sliced)
            ),
            f"    {call}",
            *self._copies(
                (self._made_at(c + k), (made, k)) for k in range(callee.stacked)
            ),
            *self._copies((self._made_at(k), self._given_at(k)) for k in range(c)),
        ]
        head = f"    for ({self.k} = 0; {self.k} < {callee.times}; ++{self.k}) {{"
        return [head, *(f"    {line}" for line in inside), "    }"]

    def _until(self) -> list[str]:
        done = "{}[{}]".format(*self._given_at(0))
        condition = f"all_done({done})" if self.suffix else f"{done} > 0"
        return [f"    if ({condition})", "        break;"]

    def _times(self, n: int) -> str:
        return self.k if n == 1 else f"{n} * {self.k}"

    def _statements(self, values: Sequence[str]) -> list[str]:
        """Return statements, or calls of functions that have some of them each."""
        callee, s = self.callee, self.style
        has_arrays = self.is_loop and callee.sliced + callee.stacked > 0
        has_work = bool(s.is_called or s.lanes or self.writer.plan.fields)
        if len(values) <= LONGEST_MOVE or has_arrays or not has_work:
            return self._looped(values)
        self.body.writes = True
        calls: list[str] = []
        to = f"struct {self.to.struct(s.lanes)} *RESTRICT c"
        for k in range(0, len(values), LONGEST_MOVE):
            lines = self._looped(values[k : k + LONGEST_MOVE])
            symbol = f"{next(self.moves)}{self.suffix}"
            head = f"APART void {symbol}(struct {s.struct} *RESTRICT w, {to})"
            index = ["    int i;", ""] * bool(self.suffix) + ["    (void)w;"]
            self.functions += [*wrapped(head, 0), "{", *index, *lines, "}", ""]
            calls.append(f"    {symbol}(w, c);")
        return calls

    def _looped(self, values: Sequence[str]) -> list[str]:
        lines = [line for text in values for line in wrapped(text, self.writer.indent)]
        lanes = self.style.lanes
        return lines if lanes is None else loop(lines, lanes)

    def _copies(self, pairs: Iterable[tuple[Entry, Entry]]) -> list[str]:
        """Return calls that copy entries, runs of them at once."""
        runs: list[tuple[Entry, Entry, int]] = []
        for source, target in pairs:
            if runs:
                a, b, n = runs[-1]
                if source == (a[0], a[1] + n) and target == (b[0], b[1] + n):
                    runs[-1] = a, b, n + 1
                    continue
            runs.append((source, target, 1))
        lines: list[str] = []
        for a, b, n in runs:
            text = f"copy{self.suffix}({n}, {_at(a)}, {_at(b)});"
            if n == 1 and self.style.lanes is None:
                text = f"{_one(b)} = {_one(a)};"
            lines += wrapped(text, 4)
        return lines


def _at(entry: Entry) -> str:
    array, index = entry
    return f"{array} + {index}" if index else array


def _one(entry: Entry) -> str:
    array, _, offset = _at(entry).partition(" + ")
    return f"{array}[{offset or 0}]"


def helpers(lines: Sequence[str], t: str, lanes: str | None) -> list[str]:
    """Return the functions that calls among these lines need."""
    source, suffix, text = f"const {t} *from, {t} *to", "", "\n".join(lines)
    copied = ["        to[j] = from[j];"]
    found: list[str] = []
    if lanes is not None:
        source, suffix = "values *from, values *to", "_batch"
        copied = [
            f"        for (i = 0; i < {lanes}; ++i)",
            "            to[j][i] = from[j][i];",
        ]
    if f" copy{suffix}(" in text:
        found += [
            "/* Copy n values. */",
            f"APART void copy{suffix}(int n, {source})",
            "{",
            "    int i, j;" if lanes else "    int j;",
            "",
            "    for (j = 0; j < n; ++j)",
            *copied,
            "}",
            "",
        ]
    if "all_done(" in text:
        found += [
            "/* Whether all states are done. */",
            f"static int all_done(const {t} *done)",
            "{",
            "    int i, n = 0;",
            "",
            f"    for (i = 0; i < {lanes}; ++i)",
            "        n += done[i] > 0;",
            f"    return n == {lanes};",
            "}",
            "",
        ]
    return found


# ------------------------------------------------------------ what is called


def struct_lines(called: Called, t: str, lanes: str | None) -> list[str]:
    """Return the struct of what is called."""
    lines = [f"struct {called.struct(lanes)} {{"]
    arrays = (*called.inputs, *called.outputs)
    lines += [f"    {t} {v.name}[{max(v.size, 1)}];" for v in arrays]
    if isinstance(called.body, SourcePlan):
        lines += declarations(t, list(called.body.fields.values()))
        if lanes and any(len(pair) < 2 for pair in called.body.angles.values()):
            lines.append(f"    {t} unused;")
    return [*lines, "};", ""]
