"""Native code as a shared library that C programs link: functions, header, linking.

    int name(const T *input, ..., T *output, ...)
    int name_batch(int64_t n, const T *input, ..., T *output, ...)

Each function fills the views of its arrays on the stack and calls the driver with a
kernel that is constant data of the library: the cuts, the places of results and the C
library's functions by their symbols. Both return 0, or 1 if there is no memory.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, final

from ramidyn.backend.c99.files import array_lines, layout_lines
from ramidyn.backend.c99.names import (
    RESERVED,
    Names,
    comment,
    tie_words,
    wrap_statement,
)
from ramidyn.backend.c99.source import About, first_line
from ramidyn.backend.llvm.build import sources
from ramidyn.backend.llvm.frames import Schedule
from ramidyn.backend.llvm.jit import compile_objects
from ramidyn.backend.llvm.target import BYTES, Processor, Target, host
from ramidyn.backend.llvm.word_builder import I64, Module, Value, const, ir
from ramidyn.backend.runtime.driver_code import emit
from ramidyn.backend.runtime.instructions import encode, has_open_ends
from ramidyn.backend.runtime.memory_layout import (
    LIBM,
    PORT_WORDS,
    VIEW_WORDS,
    Kernel,
    View,
    kernel_sizes,
)
from ramidyn.backend.runtime.tiles import Tile
from ramidyn.errors import CompileError
from ramidyn.symbolic.program import Program, Variable


@final
@dataclass(frozen=True, slots=True)
class Arrays:
    """The entries of each input and each output."""

    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


def library_objects(
    schedule_for: Callable[[int], Schedule],
    arrays: Arrays,
    name: str,
    processor: Processor,
    dtype: str,
    layout: str,
) -> list[bytes]:
    """Return the object files of a library: for one state, and for batches.

    The schedule of a program is for so many states side by side.
    """
    objects: list[bytes] = []
    for symbol, lanes in ((name, 1), (f"{name}_batch", processor.lanes(dtype))):
        target, schedule = Target(processor, lanes, dtype), schedule_for(lanes)
        seal = "_single" if lanes == 1 else "_batch"
        cuts = [partial(_hidden, write) for write in sources(schedule, target, seal)]
        objects += compile_objects(cuts, processor)
        module = _entry(schedule, arrays, symbol, target, seal, layout)
        objects += compile_objects([lambda m=module: str(m.llvm)], processor)
    return objects


def _hidden(write: Callable[[], str]) -> str:
    """Return the module of a cut that the library does not show."""
    return write().replace("\ndefine void @cut", "\ndefine hidden void @cut")


def _entry(
    schedule: Schedule,
    arrays: Arrays,
    symbol: str,
    target: Target,
    seal: str,
    layout: str,
) -> Module:
    module = emit(Tile(target.dtype, target.lanes), target.processor)
    for function in module.llvm.functions:
        if not function.is_declaration:
            function.linkage = "internal"
    kernel = _kernel(module, schedule, arrays, target, seal)
    sizes = (*arrays.inputs, *arrays.outputs)
    is_batch = seal == "_batch"
    code = module.function(symbol, len(sizes) + is_batch)
    if target.processor.system == "windows":
        code.function.storage_class = "dllexport"
    views = code.cell(0, VIEW_WORDS * max(len(sizes), 1))
    batch: Value = code.arguments[0] if is_batch else const(1)
    code.leave_if(code.compare(batch, "<=", 0), 0)
    item = BYTES[target.dtype]
    for k, size in enumerate(sizes):
        step, stride = const(item), const(size * item)
        if is_batch and layout == "batch_last":
            step, stride = code.mul(batch, item), const(item)
        view = k * VIEW_WORDS
        code.store(code.arguments[k + is_batch], views, view + View.DATA)
        code.store(step, views, view + View.STEP)
        code.store(stride, views, view + View.STRIDE)
    code.leave(code.call("run", code.b.ptrtoint(kernel, I64), views, batch))
    return module


def _kernel(
    module: Module, schedule: Schedule, arrays: Arrays, target: Target, seal: str
) -> Value:
    """Return the constant block that the driver reads: see `memory_layout.Kernel`."""
    pointer = ir.IntType(8).as_pointer()
    double = ir.DoubleType()
    functions = [
        module.external(f"cut{k}{seal}", ir.VoidType(), [pointer] * 3)
        for k in range(len(schedule.functions) + len(schedule.ferries))
    ]
    cuts = functions[: len(schedule.functions)]
    pairs = ("atan2", "pow")
    libm = [
        module.external(name, double, [double] * (2 if name in pairs else 1))
        for name in LIBM
    ]
    malloc, free = (module.external(name, I64, [I64]) for name in ("malloc", "free"))
    ports: list[Any] = []
    for size in (*arrays.inputs, *arrays.outputs):
        ports += [size, *[0] * (PORT_WORDS - 1)]
    sizes = kernel_sizes(
        schedule.slots,
        schedule.outputs,
        len(cuts),
        target.lanes,
        target.dtype,
        has_open_ends(schedule.steps),
    )
    words: list[Any] = [0] * len(Kernel)
    for field, value in sizes.fields.items():
        words[field] = value
    words[Kernel.CUTS] = _constants(module, "cuts", cuts)
    words[Kernel.N_CUTS] = len(cuts)
    words[Kernel.N_INPUTS] = len(arrays.inputs)
    words[Kernel.N_OUTPUTS] = len(arrays.outputs)
    words[Kernel.PORTS] = _constants(module, "ports", ports)
    words[Kernel.PLACES] = _constants(module, "places", sizes.places, ir.IntType(32))
    words[Kernel.WRITERS] = _constants(module, "writers", [0] * len(arrays.outputs))
    words[Kernel.LIBM] = _constants(module, "libm", libm)
    steps = encode(schedule.steps, target.lanes * BYTES[target.dtype])
    words[Kernel.STEPS] = _constants(module, "steps", steps.words)
    words[Kernel.N_STEPS] = len(schedule.steps)
    words[Kernel.MOVES] = _constants(module, "moves", steps.moves, ir.IntType(32))
    for word, k in zip((Kernel.BRING, Kernel.TAKE), schedule.carriers, strict=True):
        words[word] = functions[k] if k >= 0 else 0
    words[Kernel.MALLOC], words[Kernel.FREE] = malloc, free
    return _constants(module, "kernel", words)


def _constants(
    module: Module, name: str, values: Sequence[Any], kind: Any = I64
) -> Value:
    """Return a global array of numbers and addresses."""
    words = [
        ir.Constant(kind, v) if isinstance(v, int) else v.ptrtoint(kind) for v in values
    ] or [ir.Constant(kind, 0)]
    array = ir.ArrayType(kind, len(words))
    found: Any = ir.GlobalVariable(module.llvm, array, name)
    found.linkage, found.global_constant = "internal", True
    found.align = 64
    found.initializer = ir.Constant(array, words)
    return found


# ------------------------------------------------------------ header and package file


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
                return tie_words(f"{const}{number} *{called}")
            return tie_words(f"{const}{number} {called}[{max(v.size, 1)}]")

        given = [tie_words("int64_t n")] if batch else []
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
        f" * {library_name(name, processor)} is for {comment(processor.triple)},",
        f" * processor {comment(processor.cpu)}.",
        " * No globals that change; calls may run in parallel. Small workspaces are on",
        " * the stack (at most 64 kB; not on Windows), others are allocated.",
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
        *wrap_statement(prototype(batch=False), 0),
        "",
        "/* For n states.",
        *layout_lines(layout),
        " * Returns 0, or 1 if there is no memory.",
        " */",
        *wrap_statement(prototype(batch=True), 0),
        "",
        "#ifdef __cplusplus",
        "}",
        "#endif",
        "",
        "#endif",
        "",
    ]
    return "\n".join(lines)


LIBRARIES: Final = {"linux": "lib{}.so", "macos": "lib{}.dylib", "windows": "{}.dll"}


def library_name(name: str, processor: Processor) -> str:
    """Return the file name of a library."""
    return LIBRARIES[processor.system].format(name)


def import_library(library: Path) -> Path | None:
    """Return what programs link to on Windows, where it is a file of its own."""
    return library.with_suffix(".lib") if library.suffix == ".dll" else None


def cmake_package(name: str, about: About, library: Path) -> str:
    """Return what ``find_package(<name> CONFIG)`` reads: an imported target."""
    target, folder = f"{name}::{name}", "${CMAKE_CURRENT_LIST_DIR}"
    linked = import_library(library)
    linked_as = (
        f'IMPORTED_SONAME "{library.name}"'
        if linked is None
        else f'IMPORTED_IMPLIB "{folder}/{linked.name}"'
    )
    return f"""# {first_line(about)}
if(NOT TARGET {target})
  add_library({target} SHARED IMPORTED)
  set_target_properties({target} PROPERTIES
    IMPORTED_LOCATION "{folder}/{library.name}"
    {linked_as}
    INTERFACE_INCLUDE_DIRECTORIES "{folder}")
endif()
"""


# ------------------------------------------------------------ linking


ZIG: Final = "zig"
"""the linker in the package ziglang"""


@final
@dataclass(frozen=True, slots=True)
class Linker:
    """A program that links, and how it takes its options."""

    command: tuple[str, ...]
    is_compiler: bool
    """a C compiler that passes options on to its linker"""

    def __str__(self) -> str:
        return ZIG if "ziglang" in self.command else Path(self.command[0]).name


def find_linker(processor: Processor, wanted: str | None = None) -> Linker:
    """Return the linker to use for a processor, or the wanted one.

    Raises:
        CompileError: there is none.
    """
    names = [wanted] if wanted else _candidates(processor)
    for name in names:
        found = _linker(name, processor)
        if found is not None:
            return found
    raise CompileError(
        f"export_library: no linker for {processor.triple}; looked for "
        f"{', '.join(names)}. Install a C compiler, or run: pip install ziglang"
    )


def _candidates(processor: Processor) -> list[str]:
    here = (host().is_x86, host().system)
    if here == (processor.is_x86, processor.system):
        own = [*filter(None, [os.environ.get("CC")]), "cc", "gcc", "clang"]
        return [*own, *(["ld"] if processor.system == "linux" else []), ZIG]
    machine = processor.triple.partition("-")[0]
    cross = {"linux": "linux-gnu-gcc", "windows": "w64-mingw32-gcc"}
    compiler = cross.get(processor.system)
    return [f"{machine}-{compiler}", ZIG] if compiler else [ZIG]


def _linker(name: str, processor: Processor) -> Linker | None:
    if name == ZIG:
        if importlib.util.find_spec("ziglang") is None:
            return None
        ends = {"linux": "linux-gnu", "macos": "macos", "windows": "windows-gnu"}
        target = f"{processor.triple.partition('-')[0]}-{ends[processor.system]}"
        command = (sys.executable, "-m", "ziglang", "cc", "-target", target)
        return Linker(command, is_compiler=True)
    path = shutil.which(name)
    if path is None:
        return None
    return Linker((path,), is_compiler=not Path(name).name.endswith("ld"))


def _link_options(library: Path, linker: Linker) -> list[str]:
    """Return what a linker is told about a library of its system."""
    linked = import_library(library)
    if linked is not None:
        return [f"-Wl,--out-implib,{linked}"]
    if library.suffix == ".dylib":
        return [f"-Wl,-install_name,@rpath/{library.name}"]
    if linker.is_compiler:
        return [f"-Wl,-soname,{library.name}", "-lm"]
    # A linker without a compiler knows no folder of development files.
    return [f"-soname={library.name}", "-l:libm.so.6"]


def link(objects: Sequence[bytes], library: Path, linker: Linker) -> None:
    """Link objects to a shared library.

    The library is there whole, or not at all.
    """
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        files: list[str] = []
        for k, code in enumerate(objects):
            path = folder / f"part{k}.o"
            path.write_bytes(code)
            files.append(str(path))
        made = folder / library.name
        command = [*linker.command, "-shared", "-o", str(made), *files]
        done = subprocess.run(
            [*command, *_link_options(made, linker)],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode or not made.exists():
            raise CompileError(
                f"export_library: {linker} cannot link {library.name}:\n"
                f"{(done.stderr or done.stdout)[:2000]}"
            )
        for file in filter(None, (import_library(made), made)):
            moved = library.with_name(f".{file.name}.part")
            shutil.copyfile(file, moved)
            moved.chmod(0o755)
            os.replace(moved, library.with_name(file.name))
