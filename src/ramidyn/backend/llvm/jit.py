"""From LLVM IR to object code, on all cores; and from object code to addresses.

Every cut is a module of its own, in a context of its own, that refers to nothing
outside: objects need no linking, and compile in parallel.
"""

from __future__ import annotations

import functools
import importlib
import itertools
import os
import struct
import sys
import threading
from collections.abc import Callable, Sequence
from ctypes import string_at
from typing import Any

from ramidyn.backend.llvm.target import Processor
from ramidyn.concurrency import Native
from ramidyn.errors import CompileError

# llvmlite carries no types; behind Any it stays out of the signatures below.
llvm: Any = importlib.import_module("llvmlite.binding")
ffi: Any = llvm.ffi

SPEED = 1
"""The code generator's level: 2 gives the same code and takes a third longer."""


ALWAYS_INLINE = "alwaysinline"


def _initialize() -> None:
    for step in ("", "_native_target", "_native_asmprinter", "_native_asmparser"):
        try:
            getattr(llvm, f"initialize{step}")()
        except RuntimeError:  # newer llvmlite initializes itself, and says so
            continue


_initialize()


@functools.cache
def _initialize_others() -> None:
    """Let LLVM generate code for architectures other than this one."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()


# Windows grows a stack page by page: a frame of more than a page is touched first, %rax
# bytes, by a function that changes no register. Every object has one of its own, as
# objects refer to nothing outside.
PROBE = """
__chkstk:
pushq %rcx
pushq %rax
leaq 24(%rsp), %rcx
.Lnext_page:
cmpq $4096, %rax
jb .Llast_page
subq $4096, %rcx
testq %rcx, (%rcx)
subq $4096, %rax
jmp .Lnext_page
.Llast_page:
subq %rax, %rcx
testq %rcx, (%rcx)
popq %rax
popq %rcx
retq
"""
PROBE_IR = "".join(f'module asm "{line}"\n' for line in PROBE.split("\n") if line)


def symbol(k: int, seal: str) -> str:
    """Return the name of the function of cut k."""
    return f"cut{k}{seal}"


def _target_machine(processor: Processor) -> Any:
    here, there = llvm.get_process_triple(), processor.triple
    if here.partition("-")[0] != there.partition("-")[0]:
        _initialize_others()
    return llvm.Target.from_triple(processor.triple).create_target_machine(
        cpu=processor.cpu,
        features=processor.features,
        opt=SPEED,
        reloc="pic",
        # Constants lie near the code (see `LoadedCode`): one instruction reaches them.
        codemodel="small",
    )


class _Workers(threading.local):
    """Each thread has its own code generator."""

    machines: dict[Processor, Any]

    def machine(self, processor: Processor) -> Any:
        if not hasattr(self, "machines"):
            self.machines = {}
        if processor not in self.machines:
            self.machines[processor] = _target_machine(processor)
        return self.machines[processor]


_workers = _Workers()


def _without_lock(function: Any) -> Any:
    """Return a function of llvmlite without the lock around all of LLVM.

    Modules in contexts of their own may compile at the same time; llvmlite does not
    know that, and lets one thread in. Without the attribute we compile in turn.
    """
    return getattr(function, "_cfn", function)


# llvmlite's lock keeps a fork out of all other work of LLVM.
_emitting = Native(getattr(ffi.lib, "_lock", None))


def _emit(ir: str, processor: Processor, is_object: bool) -> bytes:
    machine = _workers.machine(processor)
    own = PROBE_IR if processor.is_loaded_windows else ""
    module = llvm.parse_assembly(ir + own, llvm.create_context())
    module.triple = processor.triple
    module.data_layout = str(machine.target_data)
    if ALWAYS_INLINE in ir:
        _inline(module, machine)
    emit = _without_lock(ffi.lib.LLVMPY_TargetMachineEmitToMemory)
    with ffi.OutputString() as error:
        with _emitting:
            buffer = emit(machine, module, int(is_object), error)
        if not buffer:
            raise CompileError(f"LLVM cannot generate code: {error}")
    start = ffi.lib.LLVMPY_GetBufferStart(buffer)
    size = ffi.lib.LLVMPY_GetBufferSize(buffer)
    try:
        return string_at(start, size)
    finally:
        ffi.lib.LLVMPY_DisposeMemoryBuffer(buffer)


def _inline(module: Any, machine: Any) -> None:
    """Put functions of a module where they are called, and do nothing else."""
    manager = llvm.create_new_module_pass_manager()
    manager.add_always_inliner_pass()
    manager.run(
        module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options())
    )


def compile_objects(
    sources: Sequence[Callable[[], str]],
    processor: Processor,
    progress: Callable[[int], None] | None = None,
) -> list[bytes]:
    """Return the object code of each module; a source makes its IR when it is due."""

    def work(source: Callable[[], str]) -> bytes:
        code = _emit(source(), processor, is_object=True)
        if progress is not None:
            progress(1)
        return code

    codes = [b""] * len(sources)
    left = iter(range(len(sources)))
    errors: list[BaseException] = []

    def work_on() -> None:
        try:
            while not errors and (k := next(left, None)) is not None:
                codes[k] = work(sources[k])
        except BaseException as error:
            errors.append(error)

    # Nothing is imported for this, such as `concurrent.futures`: a child that is forked
    # while a thread imports would wait for that import for ever.
    others = min(_cores(), len(sources)) - 1
    threads = [threading.Thread(target=work_on) for _ in range(others)]
    try:
        for thread in threads:
            thread.start()
    except RuntimeError:  # there are as many threads as can be
        pass
    except KeyboardInterrupt as error:
        errors.append(error)
    work_on()
    for thread in threads:
        while thread.is_alive():  # also after Ctrl-C: it ends with its module
            try:
                thread.join()
            except KeyboardInterrupt as error:
                errors.append(error)
    if errors:
        raise next((e for e in errors if isinstance(e, KeyboardInterrupt)), errors[0])
    return codes


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def assembly(ir: str, processor: Processor) -> str:
    """Return the assembly of one module."""
    return _emit(ir, processor, is_object=False).decode()


LIBRARIES_PER_LINKER = 64
"""llvmlite frees all memory of a library, and its name, only with the linker (9 kB)."""


@functools.lru_cache(maxsize=2)  # the current one, even if two processors take turns
def _linker(processor: Processor, _number: int) -> Any:
    """Return a JIT; it lives as long as it is in use or code that it loaded lives."""
    # RuntimeDyld, the default, aborts on AArch64, and takes twice as long on x86-64.
    return llvm.create_lljit_compiler(_target_machine(processor), use_jit_link=True)


_library = itertools.count()


class LoadedCode:
    """Object code in memory, ready to run, for as long as this object lives.

    The code and constants of each object are in one piece of memory.
    """

    def __init__(
        self,
        objects: Sequence[tuple[bytes, Sequence[str]]],
        processor: Processor,
    ) -> None:
        """Load the code of each object; its functions come to ``addresses``."""
        link = {"win32": _link_by_engine}.get(sys.platform, _link)
        self._library, address_of = link(objects, processor)
        self.addresses: tuple[int, ...] = tuple(
            address_of(f) for _, functions in objects for f in functions
        )
        if not all(self.addresses):
            raise CompileError("LLVM cannot load object code: a function is missing")


Linked = tuple[Any, Callable[[str], int]]
"""What keeps code alive, and where its functions are."""


def _link(
    objects: Sequence[tuple[bytes, Sequence[str]]], processor: Processor
) -> Linked:
    """Return one library of all objects: a library of its own for each takes longer."""
    builder = llvm.JITLibraryBuilder()
    for code, functions in objects:
        builder.add_object_img(code)
        for f in functions:
            builder.export_symbol(f)
    number = next(_library)
    linker = _linker(processor, number // LIBRARIES_PER_LINKER)
    try:
        library = builder.link(linker, f"ramidyn{number}")
    except RuntimeError as error:
        raise CompileError(f"LLVM cannot load object code: {error}") from None
    return library, library.__getitem__


def _link_by_engine(
    objects: Sequence[tuple[bytes, Sequence[str]]], processor: Processor
) -> Linked:
    """Return the same for Windows, where llvmlite has no JITLink.

    llvmlite's memory manager keeps the code and constants of an object in one piece, as
    `_link` does; LLVM's own may put them further apart than an instruction reaches.
    """
    module = llvm.parse_assembly("")  # a context of its own could be freed before
    module.triple = processor.triple
    machine = _target_machine(processor)
    engine = llvm.create_mcjit_compiler(module, machine, use_lmm=True)
    for code, _ in objects:
        if not _is_whole(code):  # LLVM would stop the process
            raise CompileError("LLVM cannot load object code: it is not a whole object")
        engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return engine, engine.get_function_address


def _is_whole(code: bytes) -> bool:
    """Return whether an ELF object ends where its table of sections does."""
    if len(code) < 64 or code[:4] != b"\x7fELF":
        return False
    (start,), (size, count) = (
        struct.unpack_from(f"<{kind}", code, at) for kind, at in (("Q", 40), ("HH", 58))
    )
    return start + size * count == len(code)


def llvm_version() -> str:
    """Return the version of the LLVM that generates code."""
    return ".".join(map(str, llvm.llvm_version_info))
