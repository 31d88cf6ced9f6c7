"""C code export: a robot's quantities as plain C99, and a check of it.

    exported = ramidyn.export_c(ramidyn.inverse_dynamics, robot, "panda_c")
    exported.check().single         # the largest error against the compiled kernel

The program is the one that `ramidyn.compile` turns into native code.
"""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np
import numpy.typing as npt

from ramidyn.backend.c99.casadi import casadi_source
from ramidyn.backend.c99.files import Files, files
from ramidyn.backend.c99.names import identifier
from ramidyn.backend.c99.source import MARK, first_line
from ramidyn.compilation import as_list
from ramidyn.compiler import compile, program_of
from ramidyn.errors import ArgumentError, CompileError
from ramidyn.export.glossary import about
from ramidyn.function import CallOptions
from ramidyn.robot import Robot
from ramidyn.simplify.passes import everywhere, share_reciprocals, simplify
from ramidyn.simplify.rules import copied
from ramidyn.symbolic.count import Ops, count
from ramidyn.symbolic.program import Program
from ramidyn.symbolic.sparse_jacobian import SparseJacobian, sparse_jacobian
from ramidyn.tracing.quantity import Quantity

TAKEN = frozenset(
    re.findall(
        r"\w+",
        "assert complex ctype errno fenv float inttypes iso646 limits locale math "
        "setjmp signal stdarg stdbool stddef stdint stdio stdlib string tgmath time "
        "wchar wctype example cmakelists con nul aux prn",
    )
)
"""File names reserved by C, Windows or the export itself."""


@final
@dataclass(frozen=True, slots=True)
class ExportedC:
    """The files written and the program they were generated from."""

    folder: Path
    header: Path
    source: Path
    example: Path
    cmake: Path
    casadi: Path | None
    """the functions for CasADi, if they were asked for"""
    function: str
    """the C function; ``<function>_batch`` is the one for batches"""
    ops: Ops
    stack_bytes: int
    """maximum stack size of one call"""
    batch_stack_bytes: int | None
    layout: str
    """of the arrays of a batch"""
    dtype: str
    quantities: tuple[Quantity, ...]
    robot: Robot
    parameters: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"{self.function} in {self.folder}: {self.ops}; at most "
            f"{self.stack_bytes:,} bytes of stack"
        )

    def check(
        self, states: int = 64, seed: int = 0, compiler: str | None = None
    ) -> CheckedC:
        """Compile the C files and compare them with the compiled kernel.

        Args:
            states: the number of random states.
            seed: seed of the random states.
            compiler: the C compiler; the first of $CC, cc, gcc and clang by default.

        Raises:
            CompileError: there is no C compiler, or it rejected the files.
        """
        return _checked(self, states, seed, compiler)


@final
@dataclass(frozen=True, slots=True)
class CheckedC:
    """The error of exported C relative to the compiled kernel, and the compiler used.

    Errors are relative to the largest entry of an output over all states.
    """

    compiler: str
    states: int
    single: float
    batch: float | None

    def __str__(self) -> str:
        batch = "" if self.batch is None else f", {self.batch:.1e} in batches"
        return (
            f"{self.states} random states by {self.compiler}: largest relative "
            f"error {self.single:.1e}{batch}"
        )


def export_c(
    quantities: Quantity | Sequence[Quantity],
    robot: Robot,
    folder: str | os.PathLike[str],
    name: str | None = None,
    dtype: npt.DTypeLike = "float64",
    parameters: Sequence[str] = (),
    *,
    batch: bool = True,
    layout: str = "batch_first",
    casadi: bool = False,
) -> ExportedC:
    """Write one quantity of a robot, or several in one function, as C99.

    The folder gets ``<name>.c`` and ``<name>.h``, which need only ``math.h``, an
    example and a CMakeLists.txt. It is created if necessary; it may contain only an
    earlier export of that name.

    Args:
        quantities: such as ``ramidyn.forward_dynamics``, or a list.
        robot: the robot to write them for.
        folder: where to write them.
        name: of the function and the files; robot and quantity by default.
        dtype: "float64" (double) or "float32" (float).
        parameters: constants that become arguments; see `compile`.
        batch: also write the function for batches.
        layout: of the arrays of a batch, as in `compile`: "batch_first" (one state
            after the other) or "batch_last" (the states of one entry side by side).
        casadi: also write ``<name>_jacobian.c``, the derivatives by all inputs, and
            ``<name>_casadi.c``, with which ``casadi.external("<name>_casadi", ...)``
            loads both. Derivatives by q are by its entries.

    Raises:
        ArgumentError: CasADi does not support these outputs or this dtype.
        CompileError: the folder cannot be written or contains other files. Nothing is
            written in this case.
    """
    kind = CallOptions.checked(dtype, None, 1, layout).dtype
    chosen = as_list(quantities)
    parameters = tuple(parameters)
    traced = program_of(chosen, robot, parameters, kind)
    program = prepared(traced)
    clean = file_name(
        name if name is not None else default_name(chosen, robot), "export_c"
    )
    words = about(program, robot, parameters)
    made = files(program, clean, kind, words, layout if batch else None)
    if casadi:
        _check_casadi(program, kind)
        jacobian = sparse_jacobian(traced)
        made.texts.update(_casadi_texts(program, jacobian, clean, robot, parameters))
    at = Path(folder)
    _write(at, made, clean)
    return ExportedC(
        folder=at,
        header=at / f"{clean}.h",
        source=at / f"{clean}.c",
        example=at / "example.c",
        cmake=at / "CMakeLists.txt",
        casadi=at / f"{clean}_casadi.c" if casadi else None,
        function=made.function,
        ops=count(program),
        stack_bytes=made.stack,
        batch_stack_bytes=made.batch_stack,
        layout=layout,
        dtype=kind,
        quantities=tuple(chosen),
        robot=robot,
        parameters=parameters,
    )


def prepared(program: Program) -> Program:
    """Return a traced program in the form to be written; C compilers fuse products."""
    return everywhere(lambda p: share_reciprocals(copied(p)), simplify(program))


def default_name(quantities: Sequence[Quantity], robot: Robot) -> str:
    """Return the name of an export unless it is given: robot and quantities."""
    joined = "_".join(q.name for q in quantities)
    return f"{robot.name}_{joined if len(joined) <= 40 else 'kernel'}"


def file_name(name: str, caller: str) -> str:
    """Return an identifier for a name that does not collide with other files."""
    if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"{caller}: name is {name!r}; expected a string")
    clean = identifier(name)
    return f"{clean}_robot" if clean.lower().rstrip("_") in TAKEN else clean


def _check_casadi(program: Program, dtype: str) -> None:
    if dtype != "float64":
        raise ArgumentError(
            f"export_c: casadi=True with dtype={dtype!r}; CasADi's numbers are "
            "float64: leave dtype out"
        )
    for v in (*program.inputs, *program.outputs):
        if len(v.shape) > 2:
            raise ArgumentError(
                f"export_c: casadi=True, but {v.name!r} has shape {v.shape}; CasADi's "
                "arrays have at most two axes"
            )


def _casadi_texts(
    program: Program,
    jacobian: SparseJacobian,
    name: str,
    robot: Robot,
    parameters: Sequence[str],
) -> dict[str, str]:
    """Return the files that CasADi needs beside those of the function."""
    derived = f"{name}_jacobian"
    derivatives = prepared(jacobian.program)
    words = about(derivatives, robot, parameters)
    texts = files(derivatives, derived, "float64", words, layout=None).texts
    source = casadi_source(
        name, first_line(words), program.inputs, program.outputs, jacobian.patterns
    )
    kept = {n: texts[n] for n in (f"{derived}.h", f"{derived}.c")}
    return {**kept, f"{name}_casadi.c": source}


# ---------------------------------------------------------------- files


def _write(folder: Path, made: Files, function: str) -> None:
    """Write all files or none: obstacles are found first."""
    optional = ("_jacobian.h", "_jacobian.c", "_casadi.c")
    known = {f"{function}{end}" for end in optional} | set(made.texts)
    try:
        _check_folder(folder, known)
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError("it is read-only")
        for name, text in made.texts.items():
            handle, temporary = tempfile.mkstemp(dir=folder, prefix=".ramidyn")
            with os.fdopen(handle, "w", encoding="ascii", newline="\n") as file:
                file.write(text)
            Path(temporary).chmod(0o644)
            os.replace(temporary, folder / name)
        for name in known - set(made.texts):  # of an earlier export
            (folder / name).unlink(missing_ok=True)
    except (OSError, ValueError) as error:
        raise CompileError(
            f"export_c: the folder {str(folder)!r} cannot be written: {error}"
        ) from None


def _check_folder(folder: Path, names: set[str]) -> None:
    if not folder.exists():
        return
    if not folder.is_dir():
        raise NotADirectoryError("it is a file")
    foreign = [
        p.name
        for p in sorted(folder.iterdir())
        if p.name not in names or not is_marked(p)
    ]
    if foreign:
        shown = ", ".join(map(repr, foreign[:5])) + (
            ", ..." if len(foreign) > 5 else ""
        )
        raise CompileError(
            f"export_c: the folder {str(folder)!r} holds {len(foreign)} files that are "
            f"not from an earlier export of this name: {shown}; expected a new "
            "or empty folder"
        )


def is_marked(path: Path) -> bool:
    """Whether a file, not a link to one, was written by an export."""
    if path.is_symlink() or not path.is_file():
        return False
    with path.open("rb") as file:
        return MARK.encode() in file.readline(200)


# ---------------------------------------------------------------- check


def _checked(
    exported: ExportedC, states: int, seed: int, compiler: str | None
) -> CheckedC:
    cc = found_compiler(compiler)
    robot, rng = exported.robot, np.random.default_rng(seed)
    kernel = compile(
        list(exported.quantities),
        robot,
        dtype=exported.dtype,
        parameters=exported.parameters,
    )
    inputs = random_inputs(kernel.program, robot, rng, states)
    expected: Any = kernel(*inputs)
    arrays: Sequence[Any] = expected if len(kernel.program.outputs) > 1 else [expected]
    outputs: list[Any] = [np.asarray(a) for a in arrays]
    with tempfile.TemporaryDirectory() as scratch:
        library = shared_library(exported, Path(scratch), cc)
        single = _single(exported, library, kernel.program, inputs)
        batch = None
        if exported.batch_stack_bytes is not None:
            batch = _batched(exported, library, kernel.program, inputs)
    return CheckedC(
        Path(cc).name,
        states,
        _error(single, outputs),
        None if batch is None else _error(batch, outputs),
    )


def found_compiler(compiler: str | None = None) -> str:
    """Return the path of the C compiler to use."""
    wanted = (
        [compiler] if compiler else [os.environ.get("CC", ""), "cc", "gcc", "clang"]
    )
    for name in wanted:
        path = shutil.which(name) if name else None
        if path:
            return path
    raise CompileError(f"no C compiler; looked for {', '.join(filter(None, wanted))}")


def shared_library(
    exported: ExportedC, folder: Path, cc: str, flags: Sequence[str] = ("-O1",)
) -> ctypes.CDLL:
    """Compile exported C to a library in a folder, and load it."""
    path = folder / f"lib{exported.function}.so"
    command = [cc, "-shared", "-fPIC", *flags, "-o", str(path), str(exported.source)]
    done = subprocess.run(
        [*command, "-lm"], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise CompileError(f"{' '.join(command)} failed:\n{done.stderr[:2000]}")
    return ctypes.CDLL(str(path))


def random_inputs(
    program: Program, robot: Robot, rng: np.random.Generator, states: int
) -> list[Any]:
    """Return random values for all inputs, one row per state."""
    inputs: list[Any] = []
    for v in program.inputs:
        if v.name == "q":
            inputs.append(robot.random_configuration(rng, batch=states))
        else:
            inputs.append(rng.normal(size=(states, *v.shape)))
    return inputs


def _single(
    exported: ExportedC, library: ctypes.CDLL, program: Program, inputs: list[Any]
) -> list[Any]:
    function = getattr(library, exported.function)
    states = len(inputs[0]) if inputs else 1
    results: list[Any] = [
        np.empty((states, *v.shape), exported.dtype) for v in program.outputs
    ]
    given = [np.ascontiguousarray(a, exported.dtype) for a in inputs]
    for i in range(states):
        arrays = [*(a[i, ...] for a in given), *(r[i, ...] for r in results)]  # views
        function(*(ctypes.c_void_p(np.asarray(a).ctypes.data) for a in arrays))
    return results


def _batched(
    exported: ExportedC, library: ctypes.CDLL, program: Program, inputs: list[Any]
) -> list[Any]:
    function = getattr(library, f"{exported.function}_batch")
    n = len(inputs[0]) if inputs else 1
    axis = 0 if exported.layout == "batch_first" else -1
    given = [
        np.ascontiguousarray(np.moveaxis(a, 0, axis), exported.dtype) for a in inputs
    ]
    results = empty_batch(program, n, exported.dtype, axis)
    arrays = [*given, *results]
    function(ctypes.c_int(n), *(ctypes.c_void_p(a.ctypes.data) for a in arrays))
    return [np.moveaxis(r, axis, 0) for r in results]


def empty_batch(program: Program, n: int, dtype: str, axis: int) -> list[Any]:
    """Return arrays for the results of n states, the batch at the given axis."""
    shapes = [(n, *v.shape) if axis == 0 else (*v.shape, n) for v in program.outputs]
    return [np.empty(shape, dtype) for shape in shapes]


def _error(found: list[Any], expected: list[Any]) -> float:
    """Return the largest difference over the largest entry, of all outputs."""
    worst = 0.0
    for a, b in zip(found, expected, strict=True):
        if not b.size:
            continue
        scale = float(np.abs(b).max()) or 1.0
        difference = float(np.abs(a - b).max())
        worst = max(worst, difference / scale if np.isfinite(difference) else np.inf)
    return worst
