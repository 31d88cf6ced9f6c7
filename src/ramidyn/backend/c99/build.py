"""The rest of exported C around its steps: lane copies, an example, CMake."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ramidyn.backend.c99.names import number, wrap_statement

# With all steps in one function, compilers take long and spill registers.
APART_MACRO = (
    "/* Not inlined: one large function would compile slowly and spill registers. */",
    "#if defined(__GNUC__)",
    "#define APART static __attribute__((noinline))",
    "#elif defined(_MSC_VER)",
    "#define APART static __declspec(noinline)",
    "#else",
    "#define APART static",
    "#endif",
    "",
)
# For a vector of two fields gcc 12 writes loads of all that lies between them, and
# takes most of them out again: its time would grow with the size of the struct.
VECTORS_OFF = (
    "/* gcc finds little to vectorize in steps for one state, and takes long. */",
    "#if defined(__GNUC__) && !defined(__clang__)",
    "#pragma GCC push_options",
    '#pragma GCC optimize("no-tree-slp-vectorize")',
    "#endif",
    "",
)
VECTORS_ON = (
    "#if defined(__GNUC__) && !defined(__clang__)",
    "#pragma GCC pop_options",
    "#endif",
    "",
)


def copies(t: str, layout: str) -> list[str]:
    """Return the functions between the caller's arrays of n states and lanes."""
    about = "/* LANES states of an array; if there are fewer, the last one repeats. */"
    if layout == "batch_first":
        return [
            about,
            f"static void load(int size, int count, const {t} *from, values *to)",
            "{",
            "    int i, j;",
            "",
            "    for (i = 0; i < LANES; ++i) {",
            "        const int k = i < count ? i : count - 1;",
            f"        const {t} *state = from + (long long)k * size;",
            "",
            "        for (j = 0; j < size; ++j)",
            "            to[j][i] = state[j];",
            "    }",
            "}",
            "",
            f"static void store(int size, int count, {t} *to, values *from)",
            "{",
            "    int i, j;",
            "",
            "    for (i = 0; i < count; ++i) {",
            f"        {t} *state = to + (long long)i * size;",
            "",
            "        for (j = 0; j < size; ++j)",
            "            state[j] = from[j][i];",
            "    }",
            "}",
            "",
        ]
    return [
        about,
        f"static void load(int rows, int n, int count, const {t} *from, values *to)",
        "{",
        "    int i, j;",
        "",
        "    for (j = 0; j < rows; ++j) {",
        f"        const {t} *row = from + (long long)j * n;",
        "",
        "        if (count == LANES) {",
        "            for (i = 0; i < LANES; ++i)",
        "                to[j][i] = row[i];",
        "        } else {",
        "            for (i = 0; i < LANES; ++i)",
        "                to[j][i] = row[i < count ? i : count - 1];",
        "        }",
        "    }",
        "}",
        "",
        f"static void store(int rows, int n, int count, {t} *to, values *from)",
        "{",
        "    int i, j;",
        "",
        "    for (j = 0; j < rows; ++j) {",
        f"        {t} *row = to + (long long)j * n;",
        "",
        "        if (count == LANES) {",
        "            for (i = 0; i < LANES; ++i)",
        "                row[i] = from[j][i];",
        "        } else {",
        "            for (i = 0; i < count; ++i)",
        "                row[i] = from[j][i];",
        "        }",
        "    }",
        "}",
        "",
    ]


def example(
    name: str,
    dtype: str,
    first_line: str,
    inputs: Mapping[str, Sequence[float]],
    outputs: Mapping[str, int],
) -> str:
    """Return a program that calls the function for one state.

    Args:
        name: of the function and its header.
        dtype: "float64" or "float32".
        first_line: says where the file comes from.
        inputs: values by the names of arrays.
        outputs: sizes by the names of arrays.
    """
    t = "double" if dtype == "float64" else "float"
    lines = [f"/* {first_line}", " *", " * An example: one state. */"]
    lines += [f'#include "{name}.h"', "", "#include <stdio.h>", ""]
    lines += ["int main(void)", "{"]
    for array, given in inputs.items():
        values = ", ".join(number(float(v), dtype) for v in given or [0.0])
        size = max(len(given), 1)
        lines += wrap_statement(f"const {t} {array}[{size}] = {{{values}}};", 4)
    lines += [f"    {t} {array}[{max(n, 1)}];" for array, n in outputs.items()]
    arguments = ", ".join([*inputs, *outputs])
    lines += ["    int j;", "", *wrap_statement(f"{name}({arguments});", 4)]
    for array, n in outputs.items():
        lines += [
            f"    for (j = 0; j < {n}; ++j)",
            f'        printf("{array}[%d] = %.9g\\n", j, (double){array}[j]);',
        ]
    return "\n".join([*lines, "    return 0;", "}", ""])


def cmake(name: str, first_line: str) -> str:
    """Return a CMakeLists.txt for the library and its example."""
    return f"""# {first_line}
cmake_minimum_required(VERSION 3.10)
project({name} C)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

add_library({name} STATIC {name}.c {name}.h)
target_include_directories({name} PUBLIC ${{CMAKE_CURRENT_SOURCE_DIR}})
set_target_properties({name} PROPERTIES C_STANDARD 99)
if(CMAKE_C_COMPILER_ID MATCHES "GNU|Clang")
  # Fuse products; vectorize roots and selects. -march=native helps more.
  target_compile_options({name} PRIVATE
    -ffp-contract=fast -fno-math-errno -fno-trapping-math)
endif()
if(UNIX)
  target_link_libraries({name} PUBLIC m)
endif()

add_executable({name}_example example.c)
target_link_libraries({name}_example PRIVATE {name})
"""
