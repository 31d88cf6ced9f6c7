"""Compiled functions as CasADi functions, with exact and sparse Jacobians.

With a C compiler the function is an external one: exported C, compiled to a library.
Otherwise CasADi calls back to Python, which runs the native code.
"""

from __future__ import annotations

import importlib
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ramidyn.backend.c99.casadi import casadi_source
from ramidyn.backend.c99.files import files
from ramidyn.backend.c99.names import identifier
from ramidyn.backend.c99.source import About
from ramidyn.compilation import Compilation
from ramidyn.compiler import Stages
from ramidyn.concurrency import made_once
from ramidyn.errors import ArgumentError, CompileError
from ramidyn.export.c_export import found_compiler, prepared
from ramidyn.function import Function, as_function, compilation_of
from ramidyn.interop.wrapping import require
from ramidyn.symbolic.program import Program, Variable
from ramidyn.symbolic.sparse_jacobian import (
    JacobianPattern,
    SparseJacobian,
    sparse_jacobian,
)


def to_casadi(f: Function) -> Any:
    """Return a compiled function as a ``casadi.Function``.

    It has an exact Jacobian with its sparsity; derivatives with respect to q are those
    by its entries. There are no second derivatives: let Ipopt approximate them
    (``{"ipopt.hessian_approximation": "limited-memory"}``).

    Args:
        f: a method of a robot such as ``robot.forward_dynamics``, or a function from
            `compile` or `kernel`, in float64, with arrays of at most two axes.
    """
    require("casadi", "CasADi")
    casadi: Any = importlib.import_module("casadi")
    function = as_function(f)
    if function is None:
        raise ArgumentError(
            f"f is {f!r}; expected a compiled function, such as "
            "robot.forward_dynamics or what ramidyn.compile returns"
        )
    compilation = compilation_of(function)
    if compilation.options.dtype != "float64":
        raise ArgumentError(
            "f is compiled for float32; CasADi's numbers are float64: leave dtype out"
        )
    for name, shape in (*compilation.inputs, *compilation.outputs):
        if len(shape) > 2:
            raise ArgumentError(
                f"{name!r} has shape {shape}; CasADi's arrays have at most two axes"
            )
    return made_once(
        function.__dict__, "_to_casadi", lambda: _made(casadi, compilation)
    )


def _made(casadi: Any, compilation: Compilation) -> Any:
    traced = compilation.traced_for("float64")
    jacobian = sparse_jacobian(traced)
    name = identifier(compilation.name.split("(")[0].replace(" ", "_"))
    try:
        compiler = found_compiler()
    except CompileError:
        return _callback(casadi, name, compilation, traced, jacobian)
    return _external(casadi, name, traced, jacobian, compiler)


# ------------------------------------------------------------ exported C


def _external(
    casadi: Any, name: str, traced: Program, jacobian: SparseJacobian, compiler: str
) -> Any:
    """Return the function of a library that is compiled now."""
    texts: dict[str, str] = {}
    for program, called in ((traced, name), (jacobian.program, f"{name}_jacobian")):
        about = About(program.name, (), (), {}, {}, {}, {}, {})
        texts |= files(prepared(program), called, "float64", about, layout=None).texts
    texts[f"{name}_casadi.c"] = casadi_source(
        name, traced.name, traced.inputs, traced.outputs, jacobian.patterns
    )
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        for path, text in texts.items():
            (Path(folder) / path).write_text(text, encoding="utf-8")
        library = Path(folder) / f"{name}.so"
        sources = [f"{name}{end}.c" for end in ("", "_jacobian", "_casadi")]
        command = [compiler, "-O1", "-shared", "-fPIC", "-o", library.name, *sources]
        done = subprocess.run(
            [*command, "-lm"], capture_output=True, text=True, check=False, cwd=folder
        )
        if done.returncode:
            raise CompileError(f"{compiler} failed: {done.stderr.strip()}")
        return casadi.external(f"{name}_casadi", str(library))


# ------------------------------------------------------------ called from Python


def _callback(
    casadi: Any,
    name: str,
    compilation: Compilation,
    traced: Program,
    jacobian: SparseJacobian,
) -> Any:
    """Return the function as a callback, which has its Jacobian as another."""
    called = _callback_type(casadi)
    dense = [_dense(casadi, v) for v in traced.inputs]
    made = [_dense(casadi, v) for v in traced.outputs]
    blocks = [_sparse(casadi, p) for p in jacobian.patterns]
    shapes = [shape for _, shape in compilation.inputs]
    given = [identifier(v.name) for v in traced.inputs]
    found = [identifier(v.name) for v in traced.outputs]
    nominal = [f"out_{n}" for n in found]
    names = [f"jac_{y}_{x}" for y in found for x in given]
    options = replace(compilation.options, defaults=(), hints=())
    slope = Function(Compilation.of(jacobian.program, options, Stages))
    second = called(
        slope, shapes, ([*given, *nominal], names), ([*dense, *made], blocks)
    )
    first = called(Function(compilation), shapes, (given, found), (dense, made), second)
    first.construct(name, {})
    return first


def _dense(casadi: Any, v: Variable) -> Any:
    rows, columns = (*v.shape, 1, 1)[:2]
    return casadi.Sparsity.dense(rows, columns)


def _sparse(casadi: Any, p: JacobianPattern) -> Any:
    return casadi.Sparsity(p.rows, p.columns, list(p.starts), list(p.places))


def _callback_type(casadi: Any) -> Any:
    """Return the class of callbacks; CasADi calls its methods by these names."""

    class NativeCallback(casadi.Callback):
        def __init__(
            self,
            function: Function,
            shapes: Sequence[tuple[int, ...]],
            names: tuple[list[str], list[str]],
            sparsities: tuple[list[Any], list[Any]],
            jacobian: Any = None,
        ) -> None:
            casadi.Callback.__init__(self)
            self.function = function
            self.shapes = shapes
            self.names = names
            self.sparsities = sparsities
            self.jacobian_callback = jacobian

        def get_n_in(self) -> int:
            return len(self.names[0])

        def get_n_out(self) -> int:
            return len(self.names[1])

        def get_name_in(self, k: int) -> str:
            return self.names[0][k]

        def get_name_out(self, k: int) -> str:
            return self.names[1][k]

        def get_sparsity_in(self, k: int) -> Any:
            return self.sparsities[0][k]

        def get_sparsity_out(self, k: int) -> Any:
            return self.sparsities[1][k]

        def has_eval_buffer(self) -> bool:
            return True

        def eval_buffer(self, given: Sequence[Any], results: Sequence[Any]) -> int:
            """Run on CasADi's memory: nonzeros column by column, None where unused."""
            arrays = [
                np.zeros(shape)
                if buffer is None
                else np.reshape(np.frombuffer(buffer), shape, order="F")
                for buffer, shape in zip(given, self.shapes, strict=False)
            ]  # behind them are nominal outputs, which are not needed
            found: Any = self.function(*arrays)
            several: Any = (found,) if len(self.names[1]) == 1 else found
            for buffer, x in zip(results, several, strict=True):
                if buffer is not None:
                    np.frombuffer(buffer)[:] = np.ravel(x, order="F")
            return 0

        def has_jacobian(self) -> bool:
            return self.jacobian_callback is not None

        def get_jacobian(self, name: str, *_: Any) -> Any:
            self.jacobian_callback.construct(name, {})
            return self.jacobian_callback

    return NativeCallback
