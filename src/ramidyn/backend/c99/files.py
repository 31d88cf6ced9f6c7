"""The text of exported files: header, source, example and CMakeLists."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ramidyn.backend.c99.build import cmake, example
from ramidyn.backend.c99.calls import callees_of
from ramidyn.backend.c99.names import (
    RESERVED,
    Names,
    comment,
    identifier,
    wrap_statement,
)
from ramidyn.backend.c99.source import (
    BYTES,
    LANES,
    About,
    Export,
    first_line,
    prototype,
    source,
)
from ramidyn.backend.c99.steps import plan
from ramidyn.symbolic.count import count, operations_by_call
from ramidyn.symbolic.program import Program


@dataclass(frozen=True, slots=True)
class Files:
    """The texts of an export, by the names of their files."""

    texts: dict[str, str]
    function: str
    stack: int
    """bytes that one call takes at most"""
    batch_stack: int | None


def files(
    program: Program, name: str, dtype: str, about: About, layout: str | None
) -> Files:
    """Return the files of a program.

    Args:
        program: simplified, with shared divisions as reciprocals.
        name: an identifier: of the function, and of the files.
        dtype: "float64" or "float32".
        about: what the header says.
        layout: of the version for batches, "batch_first" or "batch_last"; None: do not
            write one.
    """
    variables = Names([*RESERVED, *"wijnxsc", "start", "count", "row"])
    inputs = {v.name: variables.unique(v.name) for v in program.inputs}
    outputs = {v.name: variables.unique(v.name) for v in program.outputs}
    taken = [
        name,
        f"{name}_batch",
        "work",
        "lanes",
        *inputs.values(),
        *outputs.values(),
    ]
    names = _reserve_batch_names(Names(taken), program)
    arrays = [*inputs.values(), *outputs.values()]
    made = plan(program, about.entry_names, names, arrays)
    calls = callees_of(program, about.entry_names, names) if program.calls else {}
    export = Export(name, dtype, about, made, calls, inputs, outputs, layout)
    texts = {
        f"{name}.h": _header(export),
        f"{name}.c": source(export),
        "example.c": _example(export),
        "CMakeLists.txt": cmake(name, first_line(about)),
    }
    lanes = LANES[dtype]
    batch_stack = None if layout is None else export.stack(lanes)
    return Files(texts, name, export.stack(1), batch_stack)


def _reserve_batch_names(names: Names, program: Program) -> Names:
    """Keep the names of batch steps free: a body may be called "hand_batch"."""
    for name in sorted(set(_names(program))):
        if identifier(name).endswith("batch"):
            names.unique(name)
    return names


def _names(program: Program) -> Iterator[str]:
    """Return what functions are named by, those of calls too."""
    yield from program.regions
    for callee in {e.value.digest: e.value for e in program.calls}.values():
        yield from (callee.name, f"call {callee.name}")
        if isinstance(callee.body, Program):
            yield from _names(callee.body)


def _header(x: Export) -> str:
    ops, size = count(x.program), BYTES[x.dtype]
    lines = [
        f"/* {first_line(x.about)}",
        " *",
        *(f" * {comment(f, 92)}".rstrip() for f in x.about.facts),
        " *",
        *(f" * {comment(row, 110)}".rstrip() for row in x.about.table),
        " *",
        f" * One evaluation: {ops}.",
        *_how_often(x.program),
        f" * Stack: at most {x.stack(1)} bytes; numbers are {x.type} ({size} bytes).",
        " * No allocation, no globals, no recursion; calls may run in parallel.",
        " */",
        f"#ifndef {x.macro}_RAMIDYN_H",
        f"#define {x.macro}_RAMIDYN_H",
        "",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        "",
        "/* For one state. Arrays must not overlap.",
        " *",
        *array_lines(x.about, x.program, x.inputs, x.outputs),
        " */",
        *wrap_statement(prototype(x, batch=False) + ";", 0),
    ]
    if x.layout is not None:
        lines += [
            "",
            f"/* For n states, {LANES[x.dtype]} at a time.",
            *layout_lines(x.layout),
            f" * Stack: at most {x.stack(LANES[x.dtype])} bytes.",
            " */",
            *wrap_statement(prototype(x, batch=True) + ";", 0),
        ]
    lines += ["", "#ifdef __cplusplus", "}", "#endif", "", "#endif", ""]
    return "\n".join(lines)


def _how_often(program: Program) -> list[str]:
    """Return the comment that says how many operations run how often."""
    if not program.calls:
        return []
    text = f"Operations by call: {operations_by_call(program)}."
    return [f" * {line}" for line in textwrap.wrap(text, 92, subsequent_indent="  ")]


def layout_lines(layout: str) -> list[str]:
    """Return the comment that says where the entries of a batch are."""
    if layout == "batch_first":
        return [
            " * Layout batch_first: entry j of state i is at [i * size + j], where",
            " * size is that of the array: states lie one after the other.",
        ]
    return [
        " * Layout batch_last: entry j of state i is at [j * n + i]: the states of one",
        " * entry lie side by side.",
    ]


def array_lines(
    about: About,
    program: Program,
    inputs: Mapping[str, str],
    outputs: Mapping[str, str],
) -> list[str]:
    """Return a line of comment for each input and output: what it is."""
    lines: list[str] = []
    for names, variables in ((inputs, program.inputs), (outputs, program.outputs)):
        for v in variables:
            shape = ""
            if len(v.shape) > 1:
                shape = f"{' by '.join(map(str, v.shape))}, row by row; "
            is_result = "result: " if names is outputs else ""
            text = f"{is_result}{shape}{about.arrays.get(v.name, '')}".rstrip("; :")
            lines.append(f" *   {f'{names[v.name]}[{v.size}]':<12} {comment(text)}")
    return [line.rstrip() for line in lines]


def _example(x: Export) -> str:
    given = {
        x.inputs[v.name]: x.about.example.get(v.name, [0.0] * v.size)
        for v in x.program.inputs
    }
    results = {x.outputs[v.name]: v.size for v in x.program.outputs}
    return example(x.name, x.dtype, first_line(x.about), given, results)
