"""What the user calls: a compiled program, NumPy in, NumPy out."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ramify.backend import jit
from ramify.backend.libm import libm_table
from ramify.backend.native import NativeKernel, Signature, make_callable
from ramify.backend.schedule import Schedule
from ramify.backend.target import LANES, chosen, default_lanes
from ramify.backend.vectorcall import Vectorcall, attach, vectorcalled
from ramify.compiler import Interface, Machine, build, plan_of, sources
from ramify.errors import CompileError
from ramify.forks import Lock
from ramify.simplify.passes import simplify
from ramify.symbolic.count import Ops, count
from ramify.symbolic.program import Program
from ramify.symbolic.trace import Shape, trace

DType = Literal["float64", "float32"]
Layout = Literal["batch_first", "batch_last"]
DTYPES: tuple[DType, ...] = ("float64", "float32")
LAYOUTS: tuple[Layout, ...] = ("batch_first", "batch_last")


@dataclass(frozen=True, slots=True)
class Options:
    """How a function is compiled and called."""

    dtype: DType = "float64"
    lanes: int | None = None
    threads: int = 1
    layout: Layout = "batch_first"
    defaults: tuple[tuple[str, float], ...] = ()
    """what scalar inputs are unless given, by name"""

    @staticmethod
    def checked(
        dtype: npt.DTypeLike, lanes: int | None, threads: object, layout: str
    ) -> Options:
        """Return the options; a CompileError says what is possible."""
        try:
            name = str(np.dtype(dtype))
        except TypeError:
            name = repr(dtype)
        if name not in DTYPES:
            raise CompileError(f"dtype is {name}; possible: {', '.join(DTYPES)}")
        if lanes is not None and lanes not in LANES:
            raise CompileError(
                f"lanes is {lanes!r}; possible: 1, 2, 4, ... {LANES[-1]}"
            )
        if not isinstance(threads, int) or threads < 1:
            raise CompileError(f"threads is {threads!r}; expected 1 or more")
        if layout not in LAYOUTS:
            raise CompileError(f"layout is {layout!r}; possible: {', '.join(LAYOUTS)}")
        return Options(name, lanes, threads, layout)


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A program by its digest, that may not have been traced in this process."""

    name: str
    inputs: tuple[tuple[str, tuple[int, ...]], ...]
    outputs: tuple[tuple[str, tuple[int, ...]], ...]
    digest: str
    trace: Callable[[], Program]

    @staticmethod
    def of(program: Program) -> Source:
        """Return a program that has been traced."""
        return Source(
            program.name,
            tuple((v.name, v.shape) for v in program.inputs),
            tuple((v.name, v.shape) for v in program.outputs),
            program.digest(),
            lambda: program,
        )

    @property
    def interface(self) -> Interface:
        """What the cache can be asked by."""
        inputs = tuple(math.prod(shape) for _, shape in self.inputs)
        outputs = tuple(math.prod(shape) for _, shape in self.outputs)
        return Interface(self.digest, inputs, outputs)

    def traced(self) -> Program:
        """Return the program; it must be what the cache said that it is."""
        program = self.trace()
        given = [(v.name, v.shape) for v in (*program.inputs, *program.outputs)]
        if given != [*self.inputs, *self.outputs]:
            raise CompileError(
                f"the disk cache holds other inputs or outputs for {self.name!r} than "
                "the robot has; run `ramify cache clear`"
            )
        return program


class _Compilation:
    """A traced program on its way to native code, one kernel per number of lanes.

    Apart from `Function`, so that native code can hold it without holding itself.
    """

    def __init__(self, source: Source, options: Options, seconds: float) -> None:
        self.source = source
        self.options = options
        self.seconds = seconds
        self.from_cache: list[bool] = []
        self._kernels: dict[int, NativeKernel] = {}
        self._lock = Lock()

    @cached_property
    def traced(self) -> Program:
        return self.source.traced()

    @cached_property
    def program(self) -> Program:
        return simplify(self.traced)

    @cached_property
    def plan(self) -> Schedule:
        return plan_of(self.program)

    @cached_property
    def ops(self) -> Ops:
        return count(self.program)

    def machine(self, kind: str) -> Machine:
        o = self.options
        lanes = o.lanes or (1 if kind == "single" else default_lanes(o.dtype))
        return Machine(chosen(), lanes, o.dtype)

    def sources(self) -> list[Callable[[], str]]:
        return sources(self.plan, self.machine("batch"))

    def kernel_for(self, kind: Literal["single", "batch"]) -> NativeKernel:
        machine = self.machine(kind)
        with self._lock:
            if machine.lanes not in self._kernels:
                start = time.perf_counter()
                kernel, was_cached = build(
                    self.source.interface,
                    lambda: self.plan,
                    machine,
                    _Progress(self.source.name),
                )
                self._kernels[machine.lanes] = kernel
                self.from_cache.append(was_cached)
                self.seconds += time.perf_counter() - start
            return self._kernels[machine.lanes]


@vectorcalled
class Function(Vectorcall):
    """A program as native code, called with NumPy arrays.

    Call it with one array per input, by position or by name: each of its own shape
    (one state), or with a batch axis in front (at the end with
    ``layout="batch_last"``). ``out=`` takes the array, or the tuple of arrays, that
    results are written to. Code is generated at the first call of one state and at
    the first call of a batch, or by `prepare`; then it is kept on disk.
    """

    def __init__(
        self, source: Source | Program, options: Options, trace_seconds: float = 0.0
    ) -> None:
        if isinstance(source, Program):
            source = Source.of(source)
        signature = Signature(
            source.name,
            source.inputs,
            source.outputs,
            options.dtype,
            options.layout,
            options.threads,
            options.defaults,
        )
        self._compilation = _Compilation(source, options, trace_seconds)
        kernel_for = self._compilation.kernel_for
        attach(self, make_callable(signature, kernel_for, libm_table()))

    @property
    def name(self) -> str:
        """The name of the program."""
        return self._compilation.source.name

    @property
    def program(self) -> Program:
        """The program after the simplifications."""
        return self._compilation.program

    @property
    def ops(self) -> Ops:
        """The operations of one evaluation, by kind."""
        return self._compilation.ops

    @property
    def ir(self) -> str:
        """The LLVM IR of the batch kernel, all cuts."""
        return "\n".join(write() for write in self._compilation.sources())

    @property
    def assembly(self) -> str:
        """The machine code of the batch kernel as text, all cuts."""
        texts = [write() for write in self._compilation.sources()]
        return "\n".join(jit.assembly(text, chosen()) for text in texts)

    @property
    def compile_seconds(self) -> float:
        """Seconds spent on tracing and on native code so far (`prepare` does it)."""
        return self._compilation.seconds

    @property
    def cached(self) -> bool:
        """Whether there is native code, and all of it came from the disk cache."""
        from_cache = self._compilation.from_cache
        return bool(from_cache) and all(from_cache)

    @property
    def lanes(self) -> int:
        """How many states one vector register of the batch kernel holds."""
        return self._compilation.machine("batch").lanes

    def prepare(self, *, single: bool = True, batch: bool = True) -> Function:
        """Generate the code for one state and for batches now; return self."""
        if single:
            self._compilation.kernel_for("single")
        if batch:
            self._compilation.kernel_for("batch")
        return self

    def __repr__(self) -> str:
        o = self._compilation.options
        return f"{self.name}: {self.ops}; {o.dtype} x {self.lanes}"

    def __reduce__(self) -> tuple[Any, ...]:
        return Function, (self._compilation.traced, self._compilation.options)


class _Progress:
    """One line on a terminal when code generation takes longer than a second."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.start = time.perf_counter()

    def __call__(self, done: int, total: int) -> None:
        late = time.perf_counter() - self.start > 1.0
        if late and sys.stderr.isatty():
            end = "\n" if done == total else ""
            text = f"\rramify: compiling {self.name}, {done} of {total} parts"
            print(text, end=end, file=sys.stderr, flush=True)


def kernel(
    fn: Callable[..., Any],
    inputs: Mapping[str, Shape],
    *,
    dtype: npt.DTypeLike = "float64",
    lanes: int | None = None,
    threads: int = 1,
    layout: str = "batch_first",
    name: str | None = None,
) -> Function:
    """Compile a Python function of scalars and arrays to native code.

    Args:
        fn: called once with symbols: NumPy arrays of them, or a scalar for shape ().
            It returns a symbol, an array of them, or a dict of named outputs.
        inputs: the shape of each input by name, in the order of fn's parameters.
        dtype: "float64" or "float32".
        lanes: states per vector, for batches; what the processor holds by default.
        threads: how many threads share a large batch.
        layout: where the batch axis is: "batch_first" or "batch_last".
        name: what the function is called in messages; fn's own name by default.

    >>> import numpy as np, ramify
    >>> norm = ramify.kernel(lambda x: ramify.sqrt(x @ x), {"x": 3}, name="norm")
    >>> norm(np.array([2.0, 3.0, 6.0]))
    array(7.)
    >>> norm(np.array([[2.0, 3.0, 6.0], [0.0, 3.0, 4.0]]))
    array([7., 5.])
    """
    options = Options.checked(dtype, lanes, threads, layout)
    start = time.perf_counter()
    program = trace(fn, inputs, name)
    return Function(program, options, time.perf_counter() - start)
