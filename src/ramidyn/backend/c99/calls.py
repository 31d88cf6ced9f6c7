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

from ramidyn.backend.c99.emit import StepBody, Style, loop, step_sentence
from ramidyn.backend.c99.emit import StepWriter as Writer
from ramidyn.backend.c99.names import Names, wrap_statement
from ramidyn.backend.c99.steps import LONGEST_MOVE, Entry, SourcePlan, SourceStep, plan
from ramidyn.symbolic.column_loop import SIDE_BY_SIDE
from ramidyn.symbolic.program import Callee, ColumnLoop, Program, SweepStep

LOCALS = ("c", "called", "i", "j", "k", "w", "sliced", "stacked")


@final
@dataclass(frozen=True, slots=True, eq=False)
class Called:
    """What is called: a function and its struct, to which the caller's c points."""

    symbol: str
    body: SourcePlan | ColumnLoop
    inputs: dict[str, str]
    """names in C"""
    outputs: dict[str, str]
    sizes: Mapping[str, int]
    """of the arrays in the struct"""
    arguments: Sequence[Entry]
    """where those of one step are"""
    results: Sequence[Entry]
    sweeps: Mapping[tuple[SweepStep, ...], str]
    """the function of each sweep over columns"""

    @property
    def values(self) -> int:
        """The number of values in the struct."""
        fields = len(self.body.fields) if isinstance(self.body, SourcePlan) else 0
        return fields + sum(self.sizes.values())

    def style(self, dtype: str, lanes: str | None) -> Style:
        """Return how its values are written."""
        columns = dict.fromkeys(self.outputs, 0)
        struct = self.struct(lanes)
        return Style(dtype, self.inputs, self.outputs, columns, lanes, struct, True)

    def struct(self, lanes: str | None) -> str:
        """Return the name of its struct."""
        return f"{self.symbol}_{'work' if lanes is None else 'lanes'}"


Calls: TypeAlias = Mapping[str, Called]
"""what is called, by digest of the callee"""


def callees_of(
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
                bodies[key] = _new_callee(callee, entry_names, names)
            found[callee.digest] = bodies[key]

    add(program)
    return found


def _new_callee(
    callee: Callee, entry_names: Mapping[Entry, str], names: Names
) -> Called:
    symbol, body = names.unique(callee.name), callee.body
    if isinstance(body, ColumnLoop):
        return _called_sweeps(symbol, body, names)
    own = Names()
    inputs = {v.name: own.unique(v.name) for v in body.inputs}
    outputs = {v.name: own.unique(v.name) for v in body.outputs}
    given = {inputs[v.name]: v.size for v in body.inputs}
    made = {outputs[v.name]: v.size for v in body.outputs}
    sizes = {**given, **made}
    steps = plan(body, entry_names, names, sizes)
    return Called(
        symbol, steps, inputs, outputs, sizes, _entries(given), _entries(made), {}
    )


def _called_sweeps(symbol: str, body: ColumnLoop, names: Names) -> Called:
    def in_rows(place: int) -> Entry:
        """Return where an entry of the matrix is, row by row."""
        block, k = divmod(place, SIDE_BY_SIDE * body.rows)
        row, column = divmod(k, SIDE_BY_SIDE)
        return "c->x", row * body.columns + block * SIDE_BY_SIDE + column

    sizes = {"shared": body.shared, "x": body.rows * body.columns}
    given = [*_entries({"shared": body.shared}), *map(in_rows, body.places)]
    made = [in_rows(k) for k in range(sizes["x"])]
    distinct = dict.fromkeys(sweep.steps for sweep in body.sweeps)
    sweeps = {steps: names.unique(f"sweep of {symbol}") for steps in distinct}
    return Called(symbol, body, {}, {}, sizes, given, made, sweeps)


def _entries(sizes: Mapping[str, int]) -> list[Entry]:
    return [(f"c->{name}", k) for name, n in sizes.items() for k in range(n)]


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


COPY = """\
/* Copy n values. */
APART void copy(int n, const REAL *from, REAL *to)
{
    int j;

    for (j = 0; j < n; ++j)
        to[j] = from[j];
}
"""
COPY_BATCH = """\
/* Copy n values. */
APART void copy_batch(int n, values *from, values *to)
{
    int i, j;

    for (j = 0; j < n; ++j)
        for (i = 0; i < LANES; ++i)
            to[j][i] = from[j][i];
}
"""
ALL_DONE = """\
/* Whether all states are done. */
static int all_done(const REAL *done)
{
    int i, n = 0;

    for (i = 0; i < LANES; ++i)
        n += done[i] > 0;
    return n == LANES;
}
"""


def helpers(lines: Sequence[str], t: str) -> list[str]:
    """Return the functions that calls among these lines need."""
    text, found = "\n".join(lines), list[str]()
    words = {" copy(": COPY, " copy_batch(": COPY_BATCH, "all_done(": ALL_DONE}
    for word, helper in words.items():
        found += helper.replace("REAL", t).split("\n") if word in text else []
    return found


@final
class CallWriter:
    """Writes the step that calls, for one state or for lanes."""

    def __init__(self, writer: Writer, step: SourceStep, to: Called) -> None:
        assert step.call is not None
        self.writer, self.step, self.to = writer, step, to
        self.call = step.call
        self.callee: Callee = step.call.value
        self.style = writer.style
        self.is_loop = _is_loop(self.callee)
        s = self.style
        names = Names(
            ["c", "called", "i", "w", *s.inputs.values(), *s.outputs.values()]
        )
        self.body = StepBody(names)
        self.moves, self.functions = iter(step.moves), list[str]()
        self.k = names.unique("k")
        self.sliced, self.stacked = names.unique("sliced"), names.unique("stacked")

    def write(self) -> tuple[list[str], StepBody]:
        """Return the lines of the function, and what its body uses."""
        s, callee, symbol = self.style, self.callee, self.step.symbol
        t = s.type if s.lanes is None else "values"
        given, taken = self._store_arguments(), self._store_results()
        lines = [f"    struct {self.to.struct(s.lanes)} called, *const c = &called;"]
        for name, n in ((self.sliced, callee.sliced), (self.stacked, callee.stacked)):
            if self.is_loop and n * callee.times:
                lines.append(f"    {t} {name}[{n * callee.times}];")
        loops = [line for line in (*given, *taken) if line.startswith("    for (i")]
        lines += ["    int i;"] * bool(loops) + [f"    int {self.k};"] * self.is_loop
        lines += ["", *given, *self._run(), *taken]
        head = f"APART void {self.writer.signature(symbol, self.body)}"
        about = f"/* {step_sentence(self.step.name, self.writer.sentences)} */"
        whole = [*self.functions, about, *wrap_statement(head, 0), "{", *lines, "}", ""]
        return whole, self.body

    def _argument(self, k: int) -> Entry:
        """Return where argument k of the call is written."""
        own = self.callee.carried + self.callee.shared
        is_sliced = self.is_loop and k >= own
        return (self.sliced, k - own) if is_sliced else self.to.arguments[k]

    def _result(self, k: int) -> Entry:
        """Return where result k of the call is found; a loop may take no step."""
        if not self.is_loop:
            return self.to.results[k]
        carried = self.callee.carried
        return self.to.arguments[k] if k < carried else (self.stacked, k - carried)

    def _store_arguments(self) -> list[str]:
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

    def _store_results(self) -> list[str]:
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
        call = f"{self.to.symbol}{self.style.suffix}(c);"
        if not self.is_loop:
            return [f"    {call}"]
        callee, given, results = self.callee, self.to.arguments, self.to.results
        c, s = callee.carried, callee.carried + callee.shared
        own = f"{self.sliced} + {self._times(callee.sliced)}"
        made = f"{self.stacked} + {self._times(callee.stacked)}"
        inside = [
            *(self._until() if callee.until else []),
            *self._copies(((own, k), a) for k, a in enumerate(given[s:])),
            f"    {call}",
            *self._copies((r, (made, k)) for k, r in enumerate(results[c:])),
            *self._copies(zip(results[:c], given[:c], strict=True)),
        ]
        head = f"    for ({self.k} = 0; {self.k} < {callee.times}; ++{self.k}) {{"
        return [head, *(f"    {line}" for line in inside), "    }"]

    def _until(self) -> list[str]:
        done = "{}[{}]".format(*self.to.arguments[0])
        condition = f"all_done({done})" if self.style.lanes else f"{done} > 0"
        return [f"    if ({condition})", "        break;"]

    def _times(self, n: int) -> str:
        return self.k if n == 1 else f"{n} * {self.k}"

    def _statements(self, values: Sequence[str]) -> list[str]:
        """Return statements, or calls of functions that have some of them each."""
        callee, s = self.callee, self.style
        has_arrays = self.is_loop and callee.sliced + callee.stacked > 0
        has_work = bool(s.is_called or s.lanes or self.writer.plan.fields)
        if len(values) <= LONGEST_MOVE or has_arrays or not has_work:
            return self._lane_loop(values)
        self.body.writes = True
        calls: list[str] = []
        to = f"struct {self.to.struct(s.lanes)} *RESTRICT c"
        for k in range(0, len(values), LONGEST_MOVE):
            lines = self._lane_loop(values[k : k + LONGEST_MOVE])
            symbol = f"{next(self.moves)}{s.suffix}"
            head = f"APART void {symbol}(struct {s.struct} *RESTRICT w, {to})"
            index = ["    int i;", ""] * bool(s.lanes) + ["    (void)w;"]
            self.functions += [*wrap_statement(head, 0), "{", *index, *lines, "}", ""]
            calls.append(f"    {symbol}(w, c);")
        return calls

    def _lane_loop(self, values: Sequence[str]) -> list[str]:
        lines = [
            line for text in values for line in wrap_statement(text, self.writer.indent)
        ]
        return loop(lines, self.style.lanes)

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
            text = f"copy{self.style.suffix}({n}, {_at(a)}, {_at(b)});"
            if n == 1 and self.style.lanes is None:
                text = f"{_one(b)} = {_one(a)};"
            lines += wrap_statement(text, 4)
        return lines


def _at(entry: Entry) -> str:
    array, index = entry
    return f"{array} + {index}" if index else array


def _one(entry: Entry) -> str:
    array, _, offset = _at(entry).partition(" + ")
    return f"{array}[{offset or 0}]"
