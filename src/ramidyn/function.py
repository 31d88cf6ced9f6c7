"""The compiled function that users call: NumPy in, NumPy out."""

from __future__ import annotations

import inspect
import sys
import time
import weakref
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import partial
from inspect import Parameter
from typing import TYPE_CHECKING, Any, Literal, final

import numpy as np
import numpy.typing as npt

from ramidyn.backend.calls.callable import (
    Calls,
    Kind,
    Otherwise,
    Signature,
    make_callable,
)
from ramidyn.backend.calls.vectorcall import Vectorcall, attach, vectorcalled
from ramidyn.backend.llvm.libm import libm_table
from ramidyn.backend.runtime.memory_layout import LANES
from ramidyn.concurrency import made_once, once
from ramidyn.errors import ArgumentError, printable

if TYPE_CHECKING:
    from ramidyn.backend.calls.c_entry import Entry
    from ramidyn.compilation import Compilation
    from ramidyn.symbolic.count import Ops
    from ramidyn.symbolic.program import Program
    from ramidyn.tracing.quantity import Choice

DType = Literal["float64", "float32"]
Layout = Literal["batch_first", "batch_last"]
DTYPES: tuple[DType, ...] = ("float64", "float32")
LAYOUTS: tuple[Layout, ...] = ("batch_first", "batch_last")
Variables = tuple[tuple[str, tuple[int, ...]], ...]
"""Names and shapes."""


Progress = Callable[[int, int], None]
"""Called with (parts done, total parts) while code is generated."""


@final
@dataclass(frozen=True, slots=True)
class CallOptions:
    """How a function is compiled and called."""

    dtype: DType = "float64"
    lanes: int | None = None
    threads: int = 1
    layout: Layout = "batch_first"
    defaults: tuple[tuple[str, float], ...] = ()
    """default values of scalar inputs, by name"""
    hints: tuple[tuple[str, str], ...] = ()
    """why an input may have a different shape than expected, by name"""

    @staticmethod
    def checked(
        dtype: npt.DTypeLike, lanes: int | None, threads: object, layout: str
    ) -> CallOptions:
        """Return the options; an ArgumentError lists the valid values."""
        try:
            name = str(np.dtype(dtype))
        except TypeError:
            name = repr(dtype)
        if name not in DTYPES:
            raise ArgumentError(f"dtype is {name}; possible: {', '.join(DTYPES)}")
        if lanes is not None and not (isinstance(lanes, int) and lanes in LANES):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentError(
                f"lanes is {lanes!r}; possible: {', '.join(map(str, LANES))}"
            )
        if not isinstance(threads, int) or threads < 1:
            raise ArgumentError(f"threads is {threads!r}; expected 1 or more")
        if not isinstance(layout, str) or layout not in LAYOUTS:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentError(f"layout is {layout!r}; possible: {', '.join(LAYOUTS)}")
        return CallOptions(name, lanes, threads, layout)


@vectorcalled
class Function(Vectorcall):
    """A program compiled to native code, called with NumPy arrays.

    Call it with one array per input, by position or by name, for one state or with a
    batch axis in front (at the end with ``layout="batch_last"``). ``out=`` takes the
    array, or the tuple of arrays, to write results to. Code is generated at the first
    call of one state and at the first call of a batch, or by `prepare`; then it is kept
    on disk.
    """

    def __init__(
        self,
        compilation: Compilation | Callable[[], Compilation],
        otherwise: Otherwise | None = None,
    ) -> None:
        """Prepare the calls; a function that returns the compilation runs lazily."""
        self._otherwise = otherwise
        if not callable(compilation):
            self._compile = lambda: compilation
            self._attach()
            self._sign([name for name, _ in compilation.inputs])
            return
        self._compile = compilation
        this = weakref.ref(self)  # a cycle would keep all native code of a robot

        def first_call(*values: Any, **named: Any) -> Any:
            function = this()
            assert function is not None
            made_once(function.__dict__, "_is_attached", function._attach)
            return function(*values, **named)

        attach(self, first_call)
        self._first = self.__dict__.get("_attached")  # the first call returns there

    @once
    def _compilation(self) -> Compilation:
        return self._compile()

    def _attach(self) -> bool:
        compilation = self._compilation
        attach(
            self,
            make_callable(
                signature_of(self),
                partial(native_kernel, self._compilation),
                libm_table(),
                compilation.traced_for,
                self._otherwise,
            ),
        )
        return True

    def _sign(self, names: Sequence[str]) -> None:
        """Let `inspect.signature` know the inputs, if their names can be parameters."""
        if all(map(str.isidentifier, names)):
            both, by_name = Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY
            out = Parameter("out", by_name, default=None)
            own = [Parameter(name, both) for name in names]
            self.__signature__: inspect.Signature = inspect.Signature([*own, out])

    def __get__(self, owner: object, kind: type | None = None) -> Function:
        """Return itself: to Python a routine, whose signature `help` shows."""
        return self

    @property
    def name(self) -> str:
        """The name of the program."""
        return self._compilation.name

    @property
    def program(self) -> Program:
        """The program after the simplifications."""
        return self._compilation.program

    @property
    def choices(self) -> tuple[Choice, ...]:
        """The algorithms chosen by operation count, and the costs of the others."""
        return self._compilation.choices

    @property
    def ops(self) -> Ops:
        """The operations of one evaluation, by kind."""
        from ramidyn.symbolic.count import count  # noqa: PLC0415  needs the program

        return count(self._compilation.program)

    @property
    def ir(self) -> str:
        """The LLVM IR of the batch kernel, all parts."""
        from ramidyn.backend.llvm.sources import ir_text  # noqa: PLC0415  loads LLVM

        c = self._compilation
        return ir_text(c.schedule, c.target("batch"))

    @property
    def assembly(self) -> str:
        """The machine code of the batch kernel as text, all parts."""
        from ramidyn.backend.llvm.sources import assembly_text  # noqa: PLC0415  loads LLVM

        c = self._compilation
        return assembly_text(c.schedule, c.target("batch"))

    @property
    def compile_seconds(self) -> float:
        """Seconds spent so far on tracing and native code (done by `prepare`)."""
        return self._compilation.seconds

    @property
    def cached(self) -> bool:
        """Whether native code exists and all of it came from the disk cache."""
        from_cache = self._compilation.from_cache
        return bool(from_cache) and all(from_cache)

    @property
    def lanes(self) -> int:
        """The number of states in one vector register of the batch kernel."""
        return self._compilation.target("batch").lanes

    @property
    def address(self) -> int:
        """The address of a C function that numba, ctypes or C code can call.

            int64_t call(int64_t batch, const T *input, ..., T *output, ...)

        T is double, or float for float32. Arrays are in the order of the signature, all
        with ``batch`` states (1 for one) one after another, without gaps; outputs must
        not overlap inputs. It returns 0, or 1 if there is no memory, and needs no lock
        of Python. The address is valid as long as this object exists.
        """
        return self._c_function.address

    @once
    def _c_function(self) -> Entry:
        from ramidyn.backend.calls.c_entry import c_function  # noqa: PLC0415  loads LLVM

        return c_function(calls_of(self._compilation))

    def prepare(self, *, single: bool = True, batch: bool = True) -> Function:
        """Generate the code for one state and for batches now; return self."""
        if single:
            native_kernel(self._compilation, "single")
        if batch:
            native_kernel(self._compilation, "batch")
        return self

    def __repr__(self) -> str:
        if "_compilation" not in self.__dict__ and "_first" in self.__dict__:
            return f"{self.__dict__.get('__name__', 'function')}: not compiled yet"
        return printable(
            f"{self.name}: {self.ops}; {self._compilation.options.dtype} x {self.lanes}"
        )

    def _repr_html_(self) -> str:
        from ramidyn.view.notebook import function_html  # noqa: PLC0415  only notebooks

        c = self._compilation
        counts = {f.name: getattr(self.ops, f.name) for f in fields(self.ops)}
        native = f"{c.options.dtype}, {self.lanes} states per vector"
        return function_html(self.name, c.inputs, c.outputs, counts, native)

    def __reduce__(self) -> tuple[Any, ...]:
        method_of = self.__dict__.get("method_of")
        return (getattr, method_of) if method_of else (Function, (self._compilation,))


def compilation_of(function: Function) -> Compilation:
    """Return what a function is compiled from."""
    return function._compilation  # pyright: ignore[reportPrivateUsage]


def signature_of(function: Function) -> Signature:
    """Return how a function is called."""
    return _signature(compilation_of(function))


def _signature(compilation: Compilation) -> Signature:
    options = compilation.options
    return Signature(
        compilation.name,
        compilation.inputs,
        compilation.outputs,
        options.dtype,
        options.layout,
        options.threads,
        options.defaults,
        options.hints,
    )


def calls_of(compilation: Compilation) -> Calls:
    """Return what loads the kernels of a compilation, for callers besides Python."""
    kernels = partial(native_kernel, compilation)
    return Calls(_signature(compilation), kernels, libm_table())


def native_kernel(compilation: Compilation, kind: Kind) -> Any:
    """Return native code, with a line on the terminal if generating it takes long."""
    line = ProgressLine(f"compiling {compilation.name}", "parts")
    return compilation.kernel(kind, line)


@contextmanager
def compile_progress_hidden() -> Generator[None]:
    """Suppress progress output of code generation while a progress bar is on screen."""
    before, ProgressLine.is_hidden = ProgressLine.is_hidden, True
    try:
        yield
    finally:
        ProgressLine.is_hidden = before


class ProgressLine:
    """One line on a terminal when something takes longer than a second."""

    is_hidden = False

    def __init__(self, what: str, units: str) -> None:
        self.what = printable(what)
        self.units = units
        self.start = time.perf_counter()
        self.shown: tuple[int, int] | None = None

    def __call__(self, done: int, total: int, /) -> None:
        """Show how much is done."""
        late = time.perf_counter() - self.start > 1.0
        if late and not self.is_hidden and sys.stderr.isatty():
            end = "\n" if done == total else ""
            text = f"\rramidyn: {self.what}, {done} of {total} {self.units}"
            print(text, end=end, file=sys.stderr, flush=True)

    def percent(self, done: int, total: int, /) -> None:
        """Show the part that is done in percent, each figure once."""
        now = 100 * done // total, 100
        if now != self.shown and time.perf_counter() - self.start > 1.0:
            self.shown = now
            if not self.is_hidden and sys.stderr.isatty():
                filled = now[0] // 4
                bar = "━" * filled + "╌" * (25 - filled)
                text = f"\rramidyn: {self.what} {bar} {now[0]:3d}%"
                end = "\n" if now[0] == 100 else ""
                print(text, end=end, file=sys.stderr, flush=True)
