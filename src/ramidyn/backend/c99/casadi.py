"""Functions that CasADi's ``external`` loads, around exported C.

    int f(const double **arg, double **res, long long *iw, double *w, int mem)

and, for its signature, ``f_n_in``, ``f_n_out``, ``f_name_in``, ``f_name_out``,
``f_sparsity_in``, ``f_sparsity_out`` and ``f_work``. ``jac_f`` has the same. It takes
the inputs of f, then its outputs, which are not used here; it returns every output by
every input, in compressed columns. An argument that is null is zero, a result that is
null is not wanted. CasADi's matrices are column by column, ours row by row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from ramidyn.backend.c99.names import identifier, wrap_statement
from ramidyn.symbolic.program import Variable
from ramidyn.symbolic.sparse_jacobian import JacobianPattern

HEAD = """\
#if defined(_WIN32)
#define EXPORTED __declspec(dllexport)
#else
#define EXPORTED
#endif

/* An argument row by row, as the function needs it; w holds a copy if necessary. */
static const double *taken(const double *from, int rows, int columns, double *w)
{
    int i, j;

    if (from && (rows == 1 || columns == 1))
        return from;
    for (i = 0; i < rows; ++i)
        for (j = 0; j < columns; ++j)
            w[columns * i + j] = from ? from[rows * j + i] : 0.0;
    return w;
}

/* Where a result is written: to its place, or to w. */
static double *place(double *to, int rows, int columns, double *w)
{
    return to && (rows == 1 || columns == 1) ? to : w;
}

/* Copy a matrix from w, column by column. */
static void give(const double *w, int rows, int columns, double *to)
{
    int i, j;

    if (!to || rows == 1 || columns == 1)
        return;
    for (i = 0; i < rows; ++i)
        for (j = 0; j < columns; ++j)
            to[rows * j + i] = w[columns * i + j];
}
"""


@final
@dataclass(frozen=True, slots=True)
class _Array:
    """An argument or a result of a function."""

    name: str
    pattern: JacobianPattern | None
    """None if all its entries are there"""
    rows: int
    columns: int
    is_used: bool = True
    is_flat: bool = False
    """whether its entries are in CasADi's order as they are"""

    @property
    def layout(self) -> str:
        """Return its rows and columns, as arguments."""
        rows, columns = (1, self.size) if self.is_flat else (self.rows, self.columns)
        return f"{rows}, {columns}"

    @property
    def size(self) -> int:
        if self.pattern is not None:
            return len(self.pattern.places)
        return self.rows * self.columns

    @property
    def sparsity(self) -> list[int]:
        if self.pattern is None:
            return [self.rows, self.columns, 1]
        p = self.pattern
        return [p.rows, p.columns, *p.starts, *p.places]


def casadi_source(
    name: str,
    first_line: str,
    inputs: Sequence[Variable],
    outputs: Sequence[Variable],
    patterns: Sequence[JacobianPattern],
) -> str:
    """Return the file with ``<name>_casadi`` and ``jac_<name>_casadi``.

    Args:
        name: of the exported function; its Jacobian is called ``<name>_jacobian``.
        first_line: says where the file comes from.
        inputs: of both.
        outputs: of the function, of at most two axes.
        patterns: of the outputs of the Jacobian.
    """
    given = [_dense(v) for v in inputs]
    made = [_dense(v) for v in outputs]
    nominal = [_nominal(v) for v in made]
    blocks = [
        _Array(f"jac_{y.name}_{x.name}", _sparse(p), p.rows, p.columns, is_flat=True)
        for (y, x), p in zip(
            [(y, x) for y in made for x in given], patterns, strict=True
        )
    ]
    lines = [
        f"/* {first_line}",
        " *",
        f' * For CasADi: casadi.external("{name}_casadi", <shared library>). */',
        f'#include "{name}.h"',
        f'#include "{name}_jacobian.h"',
        "",
        *HEAD.splitlines(),
        "",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        "",
        *_function(f"{name}_casadi", name, given, made),
        *_function(
            f"jac_{name}_casadi", f"{name}_jacobian", [*given, *nominal], blocks
        ),
        "#ifdef __cplusplus",
        "}",
        "#endif",
        "",
    ]
    return "\n".join(lines)


def _dense(v: Variable) -> _Array:
    rows, columns = (*v.shape, 1, 1)[:2]
    return _Array(identifier(v.name), None, rows, columns)


def _nominal(y: _Array) -> _Array:
    empty = JacobianPattern(y.rows, y.columns, (0,) * (y.columns + 1), ())
    return _Array(f"out_{y.name}", empty, y.rows, y.columns, is_used=False)


def _sparse(p: JacobianPattern) -> JacobianPattern | None:
    return None if len(p.places) == p.rows * p.columns else p


def _function(
    name: str, called: str, inputs: Sequence[_Array], outputs: Sequence[_Array]
) -> list[str]:
    """Return a function of CasADi's signature, and those that describe it."""
    lines = [
        f"EXPORTED int {name}(const double **arg, double **res, long long *iw,",
        "        double *w, int mem)",
        "{",
    ]
    arguments: list[str] = []
    after: list[str] = []
    work = 0
    for k, x in enumerate(inputs):
        if not x.is_used:
            continue
        call = f"taken(arg[{k}], {x.layout}, w + {work})"
        lines.append(f"    const double *in{k} = {call};")
        arguments.append(f"in{k}")
        work += x.size
    for k, y in enumerate(outputs):
        call = f"place(res[{k}], {y.layout}, w + {work})"
        lines.append(f"    double *out{k} = {call};")
        arguments.append(f"out{k}")
        after.append(f"    give(out{k}, {y.layout}, res[{k}]);")
        work += y.size
    lines += ["", "    (void)iw;", "    (void)mem;"]
    lines += wrap_statement(f"{called}({', '.join(arguments)});", 4)
    lines += [*after, "    return 0;", "}", ""]
    for word, arrays in (("in", inputs), ("out", outputs)):
        lines += _describe_arrays(name, word, arrays)
    return [*lines, *_work(name, len(inputs), len(outputs), work)]


def _describe_arrays(name: str, word: str, arrays: Sequence[_Array]) -> list[str]:
    lines = [
        f"EXPORTED long long {name}_n_{word}(void)",
        "{",
        f"    return {len(arrays)};",
        "}",
        "",
        f"EXPORTED const char *{name}_name_{word}(long long i)",
        "{",
        "    switch (i) {",
        *(f'    case {k}: return "{x.name}";' for k, x in enumerate(arrays)),
        "    default: return 0;",
        "    }",
        "}",
        "",
        f"EXPORTED const long long *{name}_sparsity_{word}(long long i)",
        "{",
    ]
    for k, x in enumerate(arrays):
        numbers = ", ".join(map(str, x.sparsity))
        size = len(x.sparsity)
        lines += wrap_statement(
            f"static const long long s{k}[{size}] = {{{numbers}}};", 4
        )
    return [
        *lines,
        "",
        "    switch (i) {",
        *(f"    case {k}: return s{k};" for k in range(len(arrays))),
        "    default: return 0;",
        "    }",
        "}",
        "",
    ]


def _work(name: str, inputs: int, outputs: int, work: int) -> list[str]:
    sizes = {"arg": inputs, "res": outputs, "iw": 0, "w": work}
    return [
        f"EXPORTED int {name}_work(long long *sz_arg, long long *sz_res,",
        "        long long *sz_iw, long long *sz_w)",
        "{",
        *(f"    if (sz_{n}) *sz_{n} = {size};" for n, size in sizes.items()),
        "    return 0;",
        "}",
        "",
    ]
