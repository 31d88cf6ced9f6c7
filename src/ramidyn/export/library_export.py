"""Library export: a robot's compiled quantities as a shared library with a C header.

    exported = ramidyn.export_library(ramidyn.inverse_dynamics, robot, "panda_lib")
    exported.check()                    # equal to the Python call, bit for bit

The object code is the one that a call from Python runs; nothing is compiled from C.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np
import numpy.typing as npt

from ramidyn.compilation import Request
from ramidyn.compiler import compilation_of, compile
from ramidyn.errors import ArgumentError, CompileError, is_among
from ramidyn.export.c_export import (
    default_name,
    empty_batch,
    file_name,
    is_marked,
    random_inputs,
)
from ramidyn.export.glossary import about
from ramidyn.function import CallOptions
from ramidyn.robot import Robot
from ramidyn.tracing.quantity import Quantity

if TYPE_CHECKING:
    from ramidyn.backend.llvm.target import Processor


@final
@dataclass(frozen=True, slots=True)
class CheckedLibrary:
    """How many results of a library differ from those of the Python call."""

    states: int
    single: int
    """results that differ, of calls with one state"""
    batch: int
    """results that differ, of one call with all states"""

    def __str__(self) -> str:
        if not self.single and not self.batch:
            return f"{self.states} random states: equal to the Python call, to the bit"
        return (
            f"{self.states} random states: {self.single} results of single calls and "
            f"{self.batch} of the batch differ from the Python call"
        )


@final
@dataclass(frozen=True, slots=True)
class ExportedLibrary:
    """The files written, and what they were made from."""

    library: Path
    header: Path
    cmake: Path
    """read by ``find_package(<function> CONFIG)``"""
    function: str
    """the C function; ``<function>_batch`` is the one for batches"""
    target: str
    linker: str
    layout: str
    """of the arrays of a batch"""
    dtype: str
    quantities: tuple[Quantity, ...]
    robot: Robot
    parameters: tuple[str, ...]

    def __str__(self) -> str:
        size = self.library.stat().st_size / 1024
        return (
            f"{self.function} in {self.library}: {size:,.0f} kB for {self.target}, "
            f"linked by {self.linker}"
        )

    def check(self, states: int = 64, seed: int = 0) -> CheckedLibrary:
        """Load the library and compare it with the Python call on random states.

        Args:
            states: the number of random states.
            seed: seed of the random states.

        Raises:
            CompileError: this process cannot load the library.
        """
        try:
            library = ctypes.CDLL(str(self.library.resolve()))
        except OSError as error:
            raise CompileError(
                f"check: {self.library.name} (for {self.target}) cannot "
                f"be loaded here: {error}"
            ) from None
        kernel = compile(
            list(self.quantities),
            self.robot,
            dtype=self.dtype,
            parameters=self.parameters,
        )
        program = kernel.program
        rng = np.random.default_rng(seed)
        inputs = [
            np.ascontiguousarray(a, self.dtype)
            for a in random_inputs(program, self.robot, rng, states)
        ]
        shapes = [v.shape for v in program.outputs]
        one = getattr(library, self.function)
        many = getattr(library, f"{self.function}_batch")
        axis = 0 if self.layout == "batch_first" else -1
        single = empty_batch(program, states, self.dtype, 0)
        batch = empty_batch(program, states, self.dtype, axis)
        for i in range(states):
            arrays = [*(a[i, ...] for a in inputs), *(r[i, ...] for r in single)]
            one(*map(_pointer, arrays))
        given = [np.ascontiguousarray(np.moveaxis(a, 0, axis)) for a in inputs]
        many(ctypes.c_int64(states), *map(_pointer, [*given, *batch]))
        found = [np.ascontiguousarray(np.moveaxis(r, axis, 0)) for r in batch]
        rows = [
            _results(kernel(*(a[i] for a in inputs)), len(shapes))
            for i in range(states)
        ]
        expected = [np.stack(entries) for entries in zip(*rows, strict=True)]
        return CheckedLibrary(
            states,
            _differences(single, expected),
            _differences(found, _results(kernel(*inputs), len(shapes))),
        )


def export_library(
    quantities: Quantity | Sequence[Quantity],
    robot: Robot,
    folder: str | os.PathLike[str],
    name: str | None = None,
    dtype: npt.DTypeLike = "float64",
    parameters: Sequence[str] = (),
    *,
    layout: str = "batch_first",
    target: str = "host",
    linker: str | None = None,
) -> ExportedLibrary:
    """Write one quantity of a robot, or several, as a shared library with a C header.

    The folder gets ``lib<name>.so``, ``<name>.h`` and ``<name>Config.cmake``;
    ``lib<name>.dylib`` for macOS, ``<name>.dll`` and ``<name>.lib`` for Windows. On the
    host, results equal those of the Python call to the bit.

    Args:
        quantities: such as ``ramidyn.forward_dynamics``, or a list.
        robot: the robot to compile them for.
        folder: where to write the files; created if necessary.
        name: of the function and the files; robot and quantity by default.
        dtype: "float64" (double) or "float32" (float).
        parameters: constants that become arguments; see `compile`.
        layout: of the arrays of a batch, as in `compile`: "batch_first" (one state
            after the other) or "batch_last" (the states of one entry side by side).
        target: "host", or a processor: "x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"
            or "aarch64", with Linux; "-macos" or "-windows" at the end is another
            system, as in "aarch64-macos".
        linker: such as "cc", "ld", "aarch64-linux-gnu-gcc" or "zig" (the package
            ziglang); the first one found by default.

    Raises:
        CompileError: there is no linker, or the files cannot be written.
    """
    from ramidyn.backend.shared_library import (  # noqa: PLC0415  loads LLVM
        Arrays,
        cmake_package,
        find_linker,
        header,
        library_name,
        library_objects,
        link,
    )

    processor = _processor(target)
    options = CallOptions.checked(dtype, None, 1, layout)
    request = Request(quantities, robot, parameters)
    parameters = request.parameters
    compilation = compilation_of(request, options)
    if name is None:
        name = default_name(request.quantities, robot)
    clean = file_name(name, "export_library")
    found = find_linker(processor, linker)
    interface = compilation.interface
    arrays = Arrays(interface.inputs, interface.outputs)
    at = Path(folder)
    made = ExportedLibrary(
        at / library_name(clean, processor),
        at / f"{clean}.h",
        at / f"{clean}Config.cmake",
        clean,
        processor.triple if target == "host" else target,
        str(found),
        layout,
        options.dtype,
        tuple(request.quantities),
        robot,
        parameters,
    )
    _check_free(made)
    objects = library_objects(
        compilation.schedule, arrays, clean, processor, options.dtype, layout
    )
    words = about(compilation.program, robot, parameters)
    try:
        at.mkdir(parents=True, exist_ok=True)
        link(objects, made.library, found)
        text = header(
            compilation.program, clean, options.dtype, words, processor, layout
        )
        made.header.write_text(text, encoding="ascii", newline="\n")
        package = cmake_package(clean, words, made.library)
        made.cmake.write_text(package, "ascii", newline="\n")
    except OSError as error:
        raise CompileError(
            f"export_library: the folder {str(at)!r} cannot be written: {error}"
        ) from None
    return made


def _processor(target: str) -> Processor:
    """Return the processor to export to."""
    from ramidyn.backend.llvm.target import (  # noqa: PLC0415  loads LLVM
        library_names,
        library_target,
    )

    if not is_among(target, library_names()):
        possible = ", ".join(library_names())
        raise ArgumentError(
            f"export_library: target is {target!r}; possible: {possible}"
        )
    return library_target(target)


def _check_free(made: ExportedLibrary) -> None:
    """Raise where a file of somebody else would be overwritten."""
    from ramidyn.backend.shared_library import import_library  # noqa: PLC0415  loads LLVM

    libraries = [made.library, *filter(None, [import_library(made.library)])]
    ours = {p for p in (made.header, made.cmake) if is_marked(p)}
    if made.header in ours:  # a library has no comment to mark it
        ours.update(libraries)
    for path in (made.header, *libraries, made.cmake):
        if path.is_symlink() or (path.exists() and path not in ours):
            raise CompileError(
                f"export_library: {str(path)!r} exists and is not from an earlier "
                "export; choose another folder or name"
            )


def _pointer(array: Any) -> ctypes.c_void_p:
    return ctypes.c_void_p(np.asarray(array).ctypes.data)


def _results(found: Any, count: int) -> list[Any]:
    parts: Sequence[Any] = found if count > 1 else [found]
    return [np.asarray(part) for part in parts]


def _differences(found: Sequence[Any], expected: Sequence[Any]) -> int:
    """Return how many numbers differ in any bit."""
    pairs = zip(found, expected, strict=True)
    return sum(int(np.count_nonzero(a.view("u1") != b.view("u1"))) for a, b in pairs)
