"""The text of an exported source file: steps, what is called, and batches."""

from __future__ import annotations

from dataclasses import dataclass

from ramidyn.backend.c99 import emit as c99
from ramidyn.backend.c99.about import About, first_line
from ramidyn.backend.c99.build import APART_MACRO, VECTORS_OFF, VECTORS_ON, copies
from ramidyn.backend.c99.calls import (
    Called,
    Calls,
    CallWriter,
    helpers,
    stack_values,
    struct_lines,
)
from ramidyn.backend.c99.columns import sweep_lines
from ramidyn.backend.c99.names import comment, tied, wrapped
from ramidyn.backend.c99.sines import far_sum, sin_cos
from ramidyn.backend.c99.steps import SourcePlan, SourceStep
from ramidyn.symbolic.angles import terms_of
from ramidyn.symbolic.program import Program, Variable

LANES = {"float64": 8, "float32": 16}
BYTES = {"float64": 8, "float32": 4}
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
    first, last = c99.constant_results(x.plan, style)
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
        lines += [
            "/* Values that one step computes and later steps need. */",
            "struct work {",
        ]
        for step in x.plan.steps:
            if step.fields:
                lines.append(f"    /* {comment(step.name)} */")
                names = [x.plan.fields[e] for e in step.fields]
                lines += c99.declarations(x.type, names)
        lines += ["};", ""]
    lines += structs
    if any(p.angles for p in x.plans):
        lines += sin_cos(x.dtype)
    if any(terms_of(angle) for p in x.plans for angle in p.angles):
        lines += far_sum(x.dtype)
    lines += [*angles, *VECTORS_OFF, *helpers(functions, x.type, None), *functions]
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
    for part in writer.plan.parts:
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
) -> tuple[list[str], c99.Body]:
    """Return the function of a step, and what its body uses."""
    if step.call is None:
        return writer.write(step)
    return CallWriter(writer, step, x.calls[step.call.value.digest]).write()


def _called(x: Export, lanes: str | None) -> tuple[list[str], list[str]]:
    """Return the functions of all that is called, and their structs."""
    functions: list[str] = []
    structs: list[str] = []
    for to in x.called:
        structs += struct_lines(to, x.type if lanes is None else "values", lanes)
        if isinstance(to.body, SourcePlan):
            writer = c99.StepWriter(to.body, to.style(x.dtype, lanes), x.about.steps)
            functions += _called_program(x, to, writer)
        else:
            functions += sweep_lines(to, x.dtype, lanes)
    return functions, structs


def _called_program(x: Export, to: Called, writer: c99.StepWriter) -> list[str]:
    """Return the function of a program that is called, and those of its steps."""
    style, of = writer.style, writer.plan
    first, last = c99.constant_results(of, style)
    lines = ["    int j;"] * bool(first)
    if style.lanes is None:
        angles, steps, calls = _steps(x, writer)
        functions = [*angles, *steps]
        body = [*first, *calls, *last]
    else:
        functions = [line for step in of.steps for line in _step(x, writer, step)[0]]
        lines += ["    int i;"] * bool(first or last)
        calls = [f"    {step.symbol}_batch(w);" for step in of.steps]
        body = [*c99.loop([*first, *last], style.lanes), *calls]
    batch = "" if style.lanes is None else "_batch"
    head = f"APART void {to.symbol}{batch}(struct {style.struct} *RESTRICT w)"
    about = f"/* {comment(of.program.name)} */"
    return [
        *functions,
        about,
        head,
        "{",
        *lines,
        *[""] * bool(lines),
        *body,
        "}",
        "",
    ]


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
    functions, structs = _called(x, lanes)
    for step in x.plan.steps:
        functions += _step(x, writer, step)[0]
    first, last = c99.constant_results(x.plan, style)
    inputs, outputs = x.program.inputs, x.program.outputs
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
        "struct lanes {",
        *(f"    values {x.inputs[v.name]}[{max(v.size, 1)}];" for v in inputs),
        *(f"    values {x.outputs[v.name]}[{max(v.size, 1)}];" for v in outputs),
    ]
    for step in x.plan.steps:
        names = [x.plan.fields[e] for e in step.fields]
        lines += c99.declarations("values", names)
    if any(len(pair) < 2 for pair in x.plan.angles.values()):
        lines.append("    values unused;")
    lines += ["};", "", *structs, *copies(t, layout)]
    lines += [*helpers(functions, t, lanes), *functions]
    calls = [f"{step.symbol}_batch(&w);" for step in x.plan.steps]
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
    lines += [f"        {c}" for c in calls]
    lines += [copied("store", v, x.outputs[v.name]) for v in outputs]
    return [*lines, "    }", "}", ""]
