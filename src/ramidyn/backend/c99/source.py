"""The text of an exported source file: steps, what is called, and batches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ramidyn.backend.c99 import emit as c99
from ramidyn.backend.c99.about import About, first_line
from ramidyn.backend.c99.build import APART_MACRO, VECTORS_OFF, VECTORS_ON, copies
from ramidyn.backend.c99.calls import Called, Calls, CallWriter, helpers, stack_values
from ramidyn.backend.c99.columns import sweep_lines
from ramidyn.backend.c99.names import comment, number, tied, wrapped
from ramidyn.backend.c99.sines import far_sum, sin_cos
from ramidyn.backend.c99.steps import JoinedSteps, SourcePlan, SourceStep
from ramidyn.symbolic.program import Program, Variable, terms_of

LANES = {"float64": 8, "float32": 16}
BYTES = {"float64": 8, "float32": 4}
MANY_ZEROS = 4
"""An output with more zeros than this is cleared by a loop."""
FRAME = 512
"""Bytes on the stack for what compilers put there besides values."""


@dataclass(frozen=True, slots=True)
class Export:
    """One export on its way."""

    name: str
    dtype: str
    about: About
    plan: SourcePlan
    calls: Calls
    inputs: dict[str, str]
    outputs: dict[str, str]
    layout: str | None
    """of the version for batches; None: there is none"""

    @property
    def program(self) -> Program:
        """What is exported."""
        return self.plan.program

    @property
    def macro(self) -> str:
        """What the names of macros begin with."""
        return self.name.upper()

    @property
    def type(self) -> str:
        """The C type of a number."""
        return "double" if self.dtype == "float64" else "float"

    def style(self, lanes: str | None = None) -> c99.Style:
        """Return how values of the exported function are written."""
        columns = {
            v.name: v.shape[1] if len(v.shape) == 2 else 0 for v in self.program.outputs
        }
        struct = "work" if lanes is None else "lanes"
        return c99.Style(self.dtype, self.inputs, self.outputs, columns, lanes, struct)

    @property
    def called(self) -> list[Called]:
        """What is called, each before those that call it."""
        return list(dict.fromkeys(self.calls.values()))

    @property
    def plans(self) -> list[SourcePlan]:
        """The plans of all programs, those that are called first."""
        found = [c.body for c in self.called if isinstance(c.body, SourcePlan)]
        return [*found, self.plan]

    def stack(self, lanes: int) -> int:
        """Return a bound on the stack bytes of a call: values, temporaries, frames."""
        values, depth = stack_values(self.plan, self.calls)
        values += len(self.plan.fields)
        if lanes > 1:
            values += sum(v.size for v in (*self.program.inputs, *self.program.outputs))
        return BYTES[self.dtype] * lanes * values + FRAME * (1 + depth)


def prototype(x: Export, batch: bool, is_definition: bool = False) -> str:
    """Return the head of a function; only where it is defined it says RESTRICT."""
    restrict = "RESTRICT " if is_definition else ""

    def argument(v: Variable, const: str, name: str) -> str:
        if batch:
            return tied(f"{const}{x.type} *{restrict}{name}")
        return tied(f"{const}{x.type} {name}[{restrict}{max(v.size, 1)}]")

    given = [tied("int n")] if batch else []
    given += [argument(v, "const ", x.inputs[v.name]) for v in x.program.inputs]
    given += [argument(v, "", x.outputs[v.name]) for v in x.program.outputs]
    suffix = "_batch" if batch else ""
    return f"void {x.name}{suffix}({', '.join(given)})"


def source(x: Export) -> str:
    """Return the text of the source file."""
    style = x.style()
    writer = c99.StepWriter(x.plan, style, x.about.steps)
    called, structs = _called(x, None)
    angles, functions, calls = _steps(x, writer)
    functions = [*called, *functions]
    first, last = _fixed_results(x.plan, style)
    has_fields = bool(x.plan.fields)
    lines = [
        f"/* {first_line(x.about)}",
        " *",
        *_letters(x),
        " */",
        f'#include "{x.name}.h"',
        "",
        "#include <math.h>",
        "",
        "#ifdef __cplusplus",
        "#define RESTRICT",
        "#else",
        "#define RESTRICT restrict",
        "#endif",
        "",
        *APART_MACRO,
    ]
    if has_fields:
        lines.append("/* Values that one step computes and later steps need. */")
        lines += _struct(style, x.plan, {})
    lines += structs
    if any(p.angles for p in x.plans):
        lines += sin_cos(x.dtype)
    if any(terms_of(angle) for p in x.plans for angle in p.angles):
        lines += far_sum(x.dtype)
    lines += [*angles, *VECTORS_OFF, *helpers(functions, x.type), *functions]
    used = {e.value[0] for e in x.program.order if e.op == "input"}
    unused = [x.inputs[v.name] for v in x.program.inputs if v.name not in used]
    unused += [x.outputs[v.name] for v in x.program.outputs if not v.size]
    start = ["    struct work w;"] if has_fields else []
    start += ["    int j;"] if first else []
    blank = [""] if start else []
    lines += [
        *wrapped(prototype(x, batch=False, is_definition=True), 0),
        "{",
        *start,
        *blank,
        *(f"    (void){name};" for name in unused),
        *first,
        *calls,
        *last,
        "}",
        "",
        *VECTORS_ON,
    ]
    if x.layout is not None:
        lines += _batch(x, x.layout)
    return "\n".join(lines)


def _steps(x: Export, writer: c99.StepWriter) -> tuple[list[str], list[str], list[str]]:
    """Return the functions for angles, for all other steps, and the calls of them."""
    angles: list[str] = []
    functions: list[str] = []
    calls: list[str] = []
    of = writer.plan
    is_batch = writer.style.lanes is not None
    for part in [JoinedSteps(None, of.steps)] if is_batch else of.parts:
        written = [_step(x, writer, step) for step in part.steps]
        bodies = [body for _, body in written]
        for step, (lines, _) in zip(part.steps, written, strict=True):
            (angles if step.angles else functions).extend(lines)
        if part.symbol is not None:
            functions += writer.write_part(part, bodies)
            calls += writer.call(part.symbol, c99.joined(bodies))
            continue
        for step, body in zip(part.steps, bodies, strict=True):
            calls += writer.call(step.symbol, body)
    return angles, functions, calls


def _step(
    x: Export, writer: c99.StepWriter, step: SourceStep
) -> tuple[list[str], c99.StepBody]:
    """Return the function of a step, and what its body uses."""
    if step.call is None:
        return writer.write(step)
    return CallWriter(writer, step, x.calls[step.call.value.digest]).write()


def _called(x: Export, lanes: str | None) -> tuple[list[str], list[str]]:
    """Return the functions of all that is called, and their structs."""
    functions: list[str] = []
    structs: list[str] = []
    for to in x.called:
        style = to.style(x.dtype, lanes)
        of = to.body if isinstance(to.body, SourcePlan) else None
        structs += _struct(style, of, to.sizes)
        functions += _called_program(x, to, of, style) if of else sweep_lines(to, style)
    return functions, structs


def _called_program(
    x: Export, to: Called, of: SourcePlan, style: c99.Style
) -> list[str]:
    """Return the function of a program that is called, and those of its steps."""
    writer = c99.StepWriter(of, style, x.about.steps)
    angles, functions, calls = _steps(x, writer)
    first, last = _fixed_results(of, style)
    lines = ["    int j;"] * bool(first)
    lines += ["    int i;"] * bool(style.lanes and (first or last))
    lines += [""] * bool(lines)
    lines += [*c99.loop([*first, *last], style.lanes), *calls]
    head = f"APART void {writer.signature(to.symbol, c99.joined([]))}"
    about = f"/* {comment(of.program.name)} */"
    return [*angles, *functions, about, *wrapped(head, 0), "{", *lines, "}", ""]


def _letters(x: Export) -> list[str]:
    """Return the comment that says what the letters of names mean."""
    shown: dict[str, str] = {}
    labels = [name for p in x.plans for name in p.program.labels.values()]
    for name in labels:
        for letters, meaning in x.about.letters.items():
            if name.removeprefix("minus_").startswith(f"{letters}_"):
                shown[letters] = meaning
    lines = [" * Values are named by what they are, in the axes of the body they name:"]
    lines += [f" *   {k:<6} {comment(shown[k])}" for k in x.about.letters if k in shown]
    if any(name.startswith("minus_") for name in labels):
        lines.append(" *   minus_ the negative of what follows")
    return lines if shown else [" * Values t1, t2, ... are those without a name."]


def _batch(x: Export, layout: str) -> list[str]:
    lanes = "LANES"
    style = x.style(lanes)
    writer = c99.StepWriter(x.plan, style, x.about.steps)
    called, structs = _called(x, lanes)
    angles, functions, calls = _steps(x, writer)
    functions = [*called, *angles, *functions]
    first, last = _fixed_results(x.plan, style)
    inputs, outputs = x.program.inputs, x.program.outputs
    sizes = {x.inputs[v.name]: v.size for v in inputs}
    sizes |= {x.outputs[v.name]: v.size for v in outputs}
    t = x.type
    lines = [
        "/* ---------------------------------------------------------------- batches",
        " *",
        " * The same steps for LANES states at once: every value is an array, every",
        " * step a loop over states, which compilers turn into vector instructions.",
        " */",
        f"enum {{ {lanes} = {LANES[x.dtype]} }};",
        f"typedef {t} values[{lanes}];",
        "",
        *_struct(style, x.plan, sizes),
        *structs,
        *copies(t, layout),
        *helpers(functions, t),
        *functions,
    ]
    lines += wrapped(prototype(x, batch=True, is_definition=True), 0)
    lines += ["{", "    struct lanes w;", "    int start;"]
    lines += ["    int i;"] if first or last else []
    lines += ["    int j;", ""] if first else [""]
    lines += [f"    for (start = 0; start < n; start += {lanes}) {{"]
    lines += [
        f"        const int count = n - start < {lanes} ? n - start : {lanes};",
        "",
    ]

    def copied(word: str, v: Variable, name: str) -> str:
        if layout == "batch_last":
            return f"        {word}({v.size}, n, count, {name} + start, w.{name});"
        start = f"{name} + (long long)start * {v.size}"
        return f"        {word}({v.size}, count, {start}, w.{name});"

    lines += [copied("load", v, x.inputs[v.name]) for v in inputs]
    if first or last:
        spread = [f"        for (i = 0; i < {lanes}; ++i) {{"]
        body = [f"    {line}" for line in [*first, *last]]
        fixed = [*spread, *body, "        }"]
        lines += [line.replace("w->", "w.") for line in fixed]
    lines += [f"    {call}" for call in calls]
    lines += [copied("store", v, x.outputs[v.name]) for v in outputs]
    return [*lines, "    }", "}", ""]


def _fixed_results(plan: SourcePlan, style: c99.Style) -> tuple[list[str], list[str]]:
    """Return statements for results that no step makes: before all steps, and after."""
    first: list[str] = []
    last: list[str] = []
    pad = "    " if style.lanes is None else "        "
    for v in plan.program.outputs:
        fixed = [
            (k, e)
            for e, entries in plan.results.items()
            if not e.args
            for name, k in entries
            if name == v.name
        ]
        zeros = [k for k, e in fixed if e.is_zero]
        cleared = len(zeros) > MANY_ZEROS
        if cleared:
            at = style.entry(style.outputs[v.name], "j")
            zero = number(0.0, style.dtype)
            first.append(f"{pad}for (j = 0; j < {v.size}; ++j)")
            first.append(f"{pad}    {at} = {zero};")
        for k, e in sorted(fixed, key=lambda pair: pair[0]):
            if cleared and k in set(zeros):
                continue
            is_const = e.op == "const"
            text = number(e.value, style.dtype) if is_const else style.input(*e.value)
            last.append(f"{pad}{style.output(v.name, k)} = {text};")
    return first, last


def _struct(
    style: c99.Style, plan: SourcePlan | None, sizes: Mapping[str, int]
) -> list[str]:
    """Return the struct: arrays, and values that one step computes and others need."""
    lanes, t = style.lanes, style.type if style.lanes is None else "values"
    lines = [f"struct {style.struct} {{"]
    lines += [f"    {t} {name}[{max(n, 1)}];" for name, n in sizes.items()]
    if plan is None:
        return [*lines, "};", ""]
    for step in (step for step in plan.steps if step.fields):
        names = ", ".join(plan.fields[e] for e in step.fields)
        lines += [f"    /* {comment(step.name)} */"] * (lanes is None)
        lines += wrapped(f"{t} {names};", 4)
    if lanes and any(len(pair) < 2 for pair in plan.angles.values()):
        lines.append(f"    {t} unused;")
    return [*lines, "};", ""]
