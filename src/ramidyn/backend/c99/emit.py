"""Write the steps of a Program as C99: one function each, for one state or for lanes.

For one state a step is plain code. For a batch the same statements stand in a loop over
LANES states, with every value an array of that many: what gcc and clang vectorize.
Values used once are folded into the expression that uses them, up to a line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ramidyn.backend.c99.names import Names, comment, number, tie_words, wrap_statement
from ramidyn.backend.c99.steps import JoinedSteps, SourcePlan, SourceStep, name_of
from ramidyn.symbolic.expr import Condition, Expr
from ramidyn.symbolic.program import terms_of

FOLD = 66
"""An expression longer than this takes no more operands."""

SUM, PRODUCT, SIGN, ATOM = 1, 2, 3, 4
CALLS = ("sqrt", "sin", "cos", "tan", "asin", "acos", "exp", "log", "atan2", "pow")
LOGIC = {"and": "&&", "or": "||"}
COMPARE = {"lt": "<", "le": "<=", "eq": "=="}


@dataclass(frozen=True, slots=True)
class Style:
    """How values are written: the number type, and whether a step is for lanes."""

    dtype: str
    inputs: dict[str, str]
    """the C name of every input"""
    outputs: dict[str, str]
    """the C name of every output"""
    columns: dict[str, int]
    """how long the rows of a matrix among the outputs are, and 0 for others"""
    lanes: str | None = None
    """the macro with the number of lanes"""
    struct: str = "work"
    """what w points to"""
    is_called: bool = False
    """whether another program calls it: w is a pointer, with all inputs and outputs"""

    @property
    def type(self) -> str:
        """The C type of a number."""
        return "double" if self.dtype == "float64" else "float"

    def call(self, function: str) -> str:
        """Return the C function of that name for this type."""
        return function if self.dtype == "float64" else f"{function}f"

    def input(self, name: str, index: int) -> str:
        """Return an entry of an input."""
        return self.entry(self.inputs[name], str(index))

    def output(self, name: str, index: int) -> str:
        """Return an entry of an output."""
        columns = self.columns[name]
        if not columns:
            return self.entry(self.outputs[name], str(index))
        row, column = divmod(index, columns)
        return self.entry(self.outputs[name], f"{columns} * {row} + {column}")

    @property
    def in_struct(self) -> bool:
        """Whether inputs and outputs are in the struct."""
        return self.is_called or self.lanes is not None

    @property
    def suffix(self) -> str:
        """What names of functions end with."""
        return "" if self.lanes is None else "_batch"

    def array(self, name: str) -> str:
        """Return an input or output by its C name."""
        return f"w->{name}" if self.in_struct else name

    def entry(self, array: str, index: str) -> str:
        """Return an entry of an input or output by its C name."""
        return f"{self.array(array)}[{index}]{self.lane}"

    @property
    def lane(self) -> str:
        """What follows a value: the place of the state, if there are several."""
        return "" if self.lanes is None else "[i]"

    def field(self, name: str) -> str:
        """Return a field of the struct of values between steps."""
        return f"w->{name}{self.lane}"


@dataclass(slots=True)
class StepBody:
    """The statements of a step on their way, and what they touch."""

    names: Names
    lines: list[str] = field(default_factory=list[str])
    text: dict[Expr, tuple[str, int]] = field(
        default_factory=dict[Expr, tuple[str, int]]
    )
    """how a value is written, and how tightly that binds"""
    inputs: set[str] = field(default_factory=set[str])
    outputs: set[str] = field(default_factory=set[str])
    reads: bool = False
    writes: bool = False
    temporaries: int = 0


class StepWriter:
    """Writes one step of a plan."""

    def __init__(
        self, plan: SourcePlan, style: Style, sentences: Mapping[str, str]
    ) -> None:
        self.plan = plan
        self.style = style
        self.sentences = sentences
        self.indent = 4 if style.lanes is None else 8

    def write(self, step: SourceStep) -> tuple[list[str], StepBody]:
        """Return the lines of the function of a step, and what its body uses."""
        s = self.style
        body = StepBody(Names(["w", "i", *s.inputs.values(), *s.outputs.values()]))
        sines = {e for pair in self.plan.angles.values() for e in pair}
        for e in step.order:
            if e not in sines:
                self._node(e, step, body)
        if step.angles and s.lanes is None:
            self._all_sines(step, body)
        return self._function(step, body), body

    def _function(self, step: SourceStep, body: StepBody) -> list[str]:
        s = self.style
        head = [f"/* {step_sentence(step.name, self.sentences)} */"]
        if s.lanes is not None:
            after = StepBody(Names())
            self._sine_results(step, after)
            loops = [loop(b.lines, s.lanes) for b in (body, after)]
            index = ["    int i;", ""] if loops[0] or loops[1] else []
            lines = [*index, *loops[0], *self._sines(step), *loops[1]]
        else:
            lines = body.lines
        kind = "APART" if step.angles or s.lanes is not None else "static"
        opening = wrap_statement(f"{kind} void {self.signature(step.symbol, body)}", 0)
        return [*head, *opening, "{", *lines, "}", ""]

    def write_part(self, part: JoinedSteps, bodies: Sequence[StepBody]) -> list[str]:
        """Return the lines of the function that calls the steps of a part."""
        assert part.symbol is not None
        first, last = part.steps[0].name, part.steps[-1].name
        about = comment(first if first == last else f"{first} ... {last}")
        calls = [
            line
            for step, body in zip(part.steps, bodies, strict=True)
            for line in self.call(step.symbol, body, "w")
        ]
        head = f"APART void {self.signature(part.symbol, join_bodies(bodies))}"
        return [f"/* {about} */", *wrap_statement(head, 0), "{", *calls, "}", ""]

    def signature(self, symbol: str, body: StepBody) -> str:
        """Return the head of a step or part, with what its body uses."""
        s, p = self.style, self.plan.program
        if s.in_struct:
            return f"{symbol}{s.suffix}({tie_words(f'struct {s.struct} *RESTRICT w')})"
        given = [
            f"const {s.type} *RESTRICT {s.inputs[v.name]}"
            for v in p.inputs
            if v.name in body.inputs
        ]
        if body.reads or body.writes:
            const = "" if body.writes else "const "
            given.append(f"{const}struct {s.struct} *RESTRICT w")
        given += [
            f"{s.type} *RESTRICT {s.outputs[v.name]}"
            for v in p.outputs
            if v.name in body.outputs
        ]
        return f"{symbol}({', '.join(map(tie_words, given))})"

    def call(self, symbol: str, body: StepBody, work: str = "&w") -> list[str]:
        """Return the call of a step or part, with what its body uses."""
        s, p = self.style, self.plan.program
        if s.in_struct:
            return [f"    {symbol}{s.suffix}({'w' if s.is_called else work});"]
        given = [s.inputs[v.name] for v in p.inputs if v.name in body.inputs]
        given += [work] if body.reads or body.writes else []
        given += [s.outputs[v.name] for v in p.outputs if v.name in body.outputs]
        return wrap_statement(f"{symbol}({', '.join(given)});", 4)

    def _all_sines(self, step: SourceStep, body: StepBody) -> None:
        """Write the sines and cosines of a step as one call, so that it is a vector."""
        angles, t = step.angles, self.style.type
        n = len(angles)
        texts = ", ".join(self._text(angle, body)[0] for angle in angles)
        self._say(body, f"const {t} x[{n}] = {{{texts}}};")
        self._say(body, f"{t} s[{n}], c[{n}];")
        body.lines.append("")
        self._say(body, f"sin_cos({n}, x, s, c);")
        for k, angle in enumerate(angles):
            for line in self._far_sum(angle, "1", f"&s[{k}]", f"&c[{k}]", body):
                self._say(body, line)
        body.writes = True
        for k, pair in enumerate(angles.values()):
            for e in pair:
                self._say(body, f"w->{self.plan.fields[e]} = {e.op[0]}[{k}];")
        self._sine_results(step, body)

    def _sine_results(self, step: SourceStep, body: StepBody) -> None:
        """Write the results that are sines or cosines themselves."""
        for e in (e for pair in step.angles.values() for e in pair):
            for name, k in self.plan.results.get(e, ()):
                body.outputs.add(name)
                value = self.style.field(self.plan.fields[e])
                self._say(body, f"{self.style.output(name, k)} = {value};")

    def _sines(self, step: SourceStep) -> list[str]:
        """Return the calls for sines and cosines of lanes, one for each angle."""
        lines: list[str] = []
        for angle, pair in step.angles.items():
            found = {e.op: f"w->{self.plan.fields[e]}" for e in pair}
            x = self._text(angle, StepBody(Names()))[0].removesuffix("[i]")
            s, c = (found.get(op, "w->unused") for op in ("sin", "cos"))
            lines += wrap_statement(f"sin_cos({self.style.lanes}, {x}, {s}, {c});", 4)
            for line in self._far_sum(angle, str(self.style.lanes), s, c):
                lines += wrap_statement(line, 4)
        return lines

    def _far_sum(
        self, angle: Expr, n: str, s: str, c: str, body: StepBody | None = None
    ) -> list[str]:
        """Return the call that gives a large sum its digits, if the angle is a sum."""
        terms = terms_of(angle)
        if terms is None:
            return []
        x, y = terms if terms[0].op == "input" else terms[::-1]
        sign = -1.0 if angle.op == "sub" and x is terms[1] else 1.0
        offset = -y.value if angle.op == "sub" and y is terms[1] else y.value
        text = self._text(x, body or StepBody(Names()))[0]
        place = f"&{text}" if body else text.removesuffix("[i]")
        numbers = (number(v, self.style.dtype) for v in (sign, offset))
        return [f"far_sum({n}, {place}, {', '.join(numbers)}, {s}, {c});"]

    # ------------------------------------------------------------ one value

    def _node(self, e: Expr, step: SourceStep, body: StepBody) -> None:
        plan, s = self.plan, self.style
        text, binding = self._operation(e, step, body)
        targets = [s.output(*entry) for entry in plan.results.get(e, ())]
        body.outputs.update(name for name, _ in plan.results.get(e, ()))
        uses = plan.uses[e] - len(targets)
        if e in plan.fields:
            name = s.field(plan.fields[e])
            body.writes = True
            self._say(body, f"{name} = {text};")
            body.text[e] = name, ATOM
            text = name
        elif targets and not uses:
            pass
        elif uses > 1 or targets or e in plan.program.labels:
            text = self._temporary(e, text, body)
        else:
            body.text[e] = text, binding  # written where it is used
        if targets:
            self._say(body, f"{' = '.join(targets)} = {text};")

    def _temporary(self, e: Expr, text: str, body: StepBody) -> str:
        """Give a value a name of its own; return it."""
        wanted = name_of(e, self.plan)
        if wanted is None:
            body.temporaries += 1
            wanted = f"t{body.temporaries}"
        name = body.names.unique(wanted)
        kind = "int" if isinstance(e, Condition) else self.style.type
        self._say(body, f"const {kind} {name} = {text};")
        body.text[e] = name, ATOM
        return name

    def _say(self, body: StepBody, statement: str) -> None:
        body.lines += wrap_statement(statement, self.indent)

    def text(self, e: Expr, body: StepBody) -> str:
        """Return how a value that exists is written, on its own."""
        return self._text(e, body)[0]

    def _text(self, e: Expr, body: StepBody) -> tuple[str, int]:
        """Return how a value that exists is written."""
        found = body.text.get(e)
        if found is not None:
            return found
        if e.op == "const":
            text = number(e.value, self.style.dtype)
            return text, SIGN if text.startswith("-") else ATOM
        if e.op == "input":
            body.inputs.add(e.value[0])
            return self.style.input(*e.value), ATOM
        body.reads = True
        return self.style.field(self.plan.fields[e]), ATOM

    def _operands(
        self, e: Expr, step: SourceStep, body: StepBody, atoms: bool
    ) -> list[tuple[str, int]]:
        """Return the operands, the longest of them named first if all is too long."""
        for a in e.args:
            if isinstance(a, Condition) and a not in body.text:
                self._condition(a, step, body)
        foldable: list[Expr] = [
            a for a in e.args if a in body.text and body.text[a][1] != ATOM
        ]
        room = 0 if atoms else FOLD
        while foldable and sum(len(self._text(a, body)[0]) for a in e.args) > room:
            longest = max(foldable, key=lambda a: len(body.text[a][0]))
            self._temporary(longest, body.text[longest][0], body)
            foldable = [a for a in foldable if a is not longest]
        return [self._text(a, body) for a in e.args]

    def _condition(self, e: Expr, step: SourceStep, body: StepBody) -> None:
        """Make a condition, and those it is made of, in this step."""
        stack = [e]
        while stack:
            c = stack[-1]
            missing = [
                a for a in c.args if isinstance(a, Condition) and a not in body.text
            ]
            if missing:
                stack += missing
                continue
            stack.pop()
            if c not in body.text:
                text, _ = self._operation(c, step, body)
                self._temporary(c, text, body)

    def _operation(self, e: Expr, step: SourceStep, body: StepBody) -> tuple[str, int]:
        op = e.op
        # A vector has no branches: both sides of a choice are values already.
        atoms = op in ("where", "min", "max", "not", "abs") or op in COMPARE
        args = self._operands(e, step, body, atoms)
        if op in ("add", "sub"):
            return _sum(op, *args), SUM
        if op in ("mul", "div"):
            sign = " * " if op == "mul" else " / "
            return _at(args[0], PRODUCT) + sign + _at(args[1], SIGN), PRODUCT
        if op == "neg":
            return f"-{_at(args[0], ATOM)}", SIGN
        if op in ("fma", "fms", "fnma"):
            product = (f"{_at(args[0], PRODUCT)} * {_at(args[1], SIGN)}", PRODUCT)
            if op == "fnma":
                return _sum("sub", args[2], product), SUM
            return _sum("add" if op == "fma" else "sub", product, args[2]), SUM
        first = [_at(a, ATOM) for a in args]
        if op in COMPARE:
            return f"{first[0]} {COMPARE[op]} {first[1]}", SUM
        if op in LOGIC:
            return f"{first[0]} {LOGIC[op]} {first[1]}", SUM
        if op == "not":
            return f"!{first[0]}", SIGN
        if op == "where":
            return f"({first[0]} ? {first[1]} : {first[2]})", ATOM
        if op in ("min", "max"):
            a, sign, b = first[0], "<" if op == "min" else ">", first[1]
            # NaN stays. No atom: written three times in another, a chain would explode.
            return f"({a} {sign} {b} || {a} != {a} ? {a} : {b})", SIGN
        name = {"abs": "fabs"}.get(op, op)
        assert name == "fabs" or name in CALLS, f"no C for {op}"
        return f"{self.style.call(name)}({', '.join(a for a, _ in args)})", ATOM


def step_sentence(step: str, sentences: Mapping[str, str]) -> str:
    """Return what a step does, in words where there are some."""
    for verb, sentence in sentences.items():
        if step.startswith(f"{verb} "):
            return sentence.replace("{}", comment(step[len(verb) + 1 :]))
    return comment(step)


def join_bodies(bodies: Sequence[StepBody]) -> StepBody:
    """Return what several bodies touch."""
    return StepBody(
        Names(),
        inputs={name for b in bodies for name in b.inputs},
        outputs={name for b in bodies for name in b.outputs},
        reads=any(b.reads for b in bodies),
        writes=any(b.writes for b in bodies),
    )


def loop(lines: list[str], lanes: str | None) -> list[str]:
    """Return statements in a loop over lanes; nothing for none."""
    if not lines or lanes is None:
        return lines
    return [f"    for (i = 0; i < {lanes}; ++i) {{", *lines, "    }"]


def _at(operand: tuple[str, int], binding: int) -> str:
    """Return an operand, in parentheses where it binds less tightly."""
    text, own = operand
    return text if own >= binding else f"({text})"


def _sum(op: str, a: tuple[str, int], b: tuple[str, int]) -> str:
    left, (right, binding) = _at(a, SUM), b
    sign = "+" if op == "add" else "-"
    if right.startswith("-") and binding >= PRODUCT:
        sign, right = "-" if sign == "+" else "+", right[1:]
    elif binding == SUM:
        right = f"({right})"
    return f"{left} {sign} {right}"
