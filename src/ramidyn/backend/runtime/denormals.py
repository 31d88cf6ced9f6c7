"""Denormal numbers are treated as zero, by setting a bit of the processor.

Each thread has that bit. Ours are set for the time of a run, and what was there before
is put back: Python and NumPy never see it.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from ramidyn.backend.llvm.target import Processor
from ramidyn.backend.llvm.word_builder import I32, I64, Code, Value, const, ir

MXCSR_ZERO = 0x8040  # x86: results that are denormal become zero, and arguments
FPCR_ZERO = 1 << 24  # AArch64: both in one bit


@contextmanager
def flushed(code: Code, target: Processor) -> Generator[None]:
    """Take denormal numbers as zero in what is written inside."""
    arch = target.triple.partition("-")[0]
    if arch == "x86_64":
        with _flushed_x86(code):
            yield
    elif arch in ("aarch64", "arm64"):
        with _flushed_arm(code):
            yield
    else:
        yield


@contextmanager
def _flushed_x86(code: Code) -> Generator[None]:
    pointer = ir.IntType(8).as_pointer()
    read, write = (
        code.module.external(f"llvm.x86.sse.{name}", ir.VoidType(), [pointer])
        for name in ("stmxcsr", "ldmxcsr")
    )
    kept, ours = code.cell(0), code.cell(0)
    code.b.call(read, [code.b.inttoptr(kept, pointer)])
    before = code.load_as(I32, kept, 4)
    code.store_as(code.b.or_(before, ir.Constant(I32, MXCSR_ZERO)), ours, 4)
    code.b.call(write, [code.b.inttoptr(ours, pointer)])
    yield
    code.b.call(write, [code.b.inttoptr(kept, pointer)])


@contextmanager
def _flushed_arm(code: Code) -> Generator[None]:
    read: Value = code.module.external("llvm.aarch64.get.fpcr", I64, [])
    write: Value = code.module.external("llvm.aarch64.set.fpcr", ir.VoidType(), [I64])
    before = code.b.call(read, [])
    code.b.call(write, [code.b.or_(before, const(FPCR_ZERO))])
    yield
    code.b.call(write, [before])
