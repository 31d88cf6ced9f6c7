"""The C header of a shared library, and its package file for CMake."""

from __future__ import annotations

from ramidyn.backend.c99.about import About, first_line
from ramidyn.backend.c99.files import array_lines, layout_lines
from ramidyn.backend.c99.names import RESERVED, Names, comment, tied, wrapped
from ramidyn.backend.llvm.target import Processor
from ramidyn.symbolic.program import Program, Variable


def header(
    program: Program,
    name: str,
    dtype: str,
    about: About,
    processor: Processor,
    layout: str,
) -> str:
    """Return the header of a library."""
    names = Names([*RESERVED, name, f"{name}_batch", "n"])
    inputs = {v.name: names.unique(v.name) for v in program.inputs}
    outputs = {v.name: names.unique(v.name) for v in program.outputs}
    number = "double" if dtype == "float64" else "float"

    def prototype(batch: bool) -> str:
        def argument(v: Variable, const: str, called: str) -> str:
            if batch:
                return tied(f"{const}{number} *{called}")
            return tied(f"{const}{number} {called}[{max(v.size, 1)}]")

        given = [tied("int64_t n")] if batch else []
        given += [argument(v, "const ", inputs[v.name]) for v in program.inputs]
        given += [argument(v, "", outputs[v.name]) for v in program.outputs]
        return f"int {name}{'_batch' if batch else ''}({', '.join(given)});"

    lines = [
        f"/* {first_line(about)}",
        " *",
        *(f" * {comment(f, 92)}".rstrip() for f in about.facts),
        " *",
        *(f" * {comment(row, 110)}".rstrip() for row in about.table),
        " *",
        f" * lib{name}.so is for {comment(processor.triple)},",
        f" * processor {comment(processor.cpu)}.",
        " * No globals that change; calls may run in parallel. Small workspaces are on",
        " * the stack (at most 64 kB), larger ones are allocated for the call.",
        " */",
        f"#ifndef {name.upper()}_RAMIDYN_H",
        f"#define {name.upper()}_RAMIDYN_H",
        "",
        "#include <stdint.h>",
        "",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        "",
        "/* For one state. Returns 0, or 1 if there is no memory.",
        " *",
        *array_lines(about, program, inputs, outputs),
        " */",
        *wrapped(prototype(batch=False), 0),
        "",
        "/* For n states.",
        *layout_lines(layout),
        " * Returns 0, or 1 if there is no memory.",
        " */",
        *wrapped(prototype(batch=True), 0),
        "",
        "#ifdef __cplusplus",
        "}",
        "#endif",
        "",
        "#endif",
        "",
    ]
    return "\n".join(lines)


def cmake_package(name: str, about: About) -> str:
    """Return what ``find_package(<name> CONFIG)`` reads: an imported target."""
    target = f"{name}::{name}"
    return f"""# {first_line(about)}
if(NOT TARGET {target})
  add_library({target} SHARED IMPORTED)
  set_target_properties({target} PROPERTIES
    IMPORTED_LOCATION "${{CMAKE_CURRENT_LIST_DIR}}/lib{name}.so"
    IMPORTED_SONAME "lib{name}.so"
    INTERFACE_INCLUDE_DIRECTORIES "${{CMAKE_CURRENT_LIST_DIR}}")
endif()
"""
