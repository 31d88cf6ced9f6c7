"""What users call, NumPy in, NumPy out: compiled functions and methods of robots."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import partial
from inspect import Parameter
from types import NoneType
from typing import TYPE_CHECKING, Any, Literal, cast, final

import numpy as np
import numpy.typing as npt

from ramidyn.backend.calls.arguments import Parameters
from ramidyn.backend.calls.callable import Calls, Kind, Signature, make_callable
from ramidyn.backend.calls.vectorcall import (
    Vectorcall,
    attach,
    attach_choice,
    enter_first,
    use_vectorcall,
)
from ramidyn.backend.runtime.memory_layout import LANES, libm_table
from ramidyn.concurrency import made_once, once
from ramidyn.errors import ArgumentError, flag_of, printable
from ramidyn.progress import ProgressLine

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

    @staticmethod
    def of(dtype: npt.DTypeLike = "float64", threads: int = 1) -> CallOptions:
        """Return the options that methods take, checked."""
        return CallOptions.checked(dtype, None, threads, "batch_first")


@use_vectorcall
class Function(Vectorcall):
    """A program compiled to native code, called with NumPy arrays.

    Call it with one array per input, by position or by name, for one state or with a
    batch axis in front (at the end with ``layout="batch_last"``). ``out=`` takes the
    array, or the tuple of arrays, to write results to. Code is generated at the first
    call of one state and at the first call of a batch, or by `prepare`; then it is kept
    on disk.
    """

    def __init__(self, compilation: Compilation, called: str | None = None) -> None:
        """Prepare the calls; messages use the name ``called``, if there is one."""
        self._compilation = compilation
        self._called: str = called or compilation.name
        kernels, traced = partial(native_kernel, compilation), compilation.traced_for
        call = make_callable(signature_of(self), kernels, libm_table(), traced)
        attach(self, call)
        self._sign([name for name, _ in compilation.inputs])

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
        """The LLVM IR of the batch kernel, all parts, as a single tile runs them."""
        from ramidyn.backend.llvm.build import ir_text  # noqa: PLC0415  loads LLVM

        target = self._compilation.target("batch")
        return ir_text(self._compilation.schedule(target.lanes), target)

    @property
    def assembly(self) -> str:
        """The machine code of the batch kernel as text: see `ir`."""
        from ramidyn.backend.llvm.build import assembly_text  # noqa: PLC0415  loads LLVM

        target = self._compilation.target("batch")
        return assembly_text(self._compilation.schedule(target.lanes), target)

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
        if flag_of("single", single):
            native_kernel(self._compilation, "single")
        if flag_of("batch", batch):
            native_kernel(self._compilation, "batch")
        return self

    def __repr__(self) -> str:
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
        return Function, (self._compilation,)


Key = tuple[Hashable, ...]


@final
@use_vectorcall
class Method(Vectorcall):
    """A method of a robot: its options select the compiled function that it calls.

    ``robot.jacobian(q, "hand")`` is ``robot.jacobian.function(frame="hand")(q)``. A
    function is compiled when it is first needed. Without options, a method behaves like
    its function: it has ``ops``, ``program`` and the like.
    """

    def __init__(
        self,
        owner: object,
        name: str,
        signature: inspect.Signature,
        options: Collection[str],
        resolve: Callable[..., Key],
        make: Callable[..., Function],
        *,
        needs_options: bool = False,
        split: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
    ) -> None:
        """Prepare the calls.

        Args:
            owner: the robot.
            name: of the method.
            signature: how it is called.
            options: the parameters that select the function; all others are inputs.
            resolve: returns what the options mean, which is hashable.
            make: compiles that.
            needs_options: whether it cannot be called without options.
            split: removes arrays from the options, and returns them as inputs.
        """
        self.__name__ = name
        self.__signature__ = signature
        self._owner = owner
        self._options = options
        self._resolve, self._make, self._split = resolve, make, split
        self._needs_options = needs_options
        known = {n: p for n, p in signature.parameters.items() if n != "out"}
        by_name = [n for n, p in known.items() if p.kind is Parameter.KEYWORD_ONLY]
        first = tuple(n for n in known if n not in by_name)
        self._state = tuple(n for n in first if n not in options)
        self._found_by_code = {*self._state, "out"}
        self._parameters = Parameters(
            f"robot.{name}",
            (*first, *(n for n in by_name if n not in options)),  # as in its functions
            (*(n for n in by_name if n in options), "out"),
            {"out", *(n for n, p in known.items() if p.default is not Parameter.empty)},
        )
        # By the options as given and by what they mean: looking up the first is fast,
        # and the second is compiled only once.
        self._functions: dict[Key, Function] = {}
        attach_choice(self, self._select_and_call, len(self._state), self._functions)

    def function(self, **options: Any) -> Function:
        """Return the compiled function for some options, which takes the inputs."""
        key = (tuple(options), *options.values())
        try:
            found = self._functions.get(key)
        except TypeError:  # for example, a list cannot be part of a key
            key, found = None, None
        if found is None:
            wanted = self._resolve(**options)
            found = made_once(self._functions, wanted, lambda: self._make(*wanted))
            if key is not None:
                self._functions[key] = found
        return found

    def select(
        self, values: Sequence[Any], named: Mapping[str, Any]
    ) -> tuple[Function, dict[str, Any]]:
        """Return the function of a call, and its inputs and out= by name."""
        inputs = self._parameters.bind((*values, *named.values()), tuple(named))
        options = {n: inputs.pop(n) for n in self._options if n in inputs}
        for name in self._state if self._needs_options else ():
            if isinstance(inputs.get(name), str):
                raise ArgumentError(
                    f"robot.{self.__name__}: {name} is {inputs[name]!r}; expected an "
                    f"array; the arguments are {self._parameters}"
                )
        if options and self._split is not None:
            inputs |= self._split(options)
        if options.get("dtype") is None and self._is_float32(inputs):
            options["dtype"] = "float32"
        return self.function(**options), inputs

    def _is_float32(self, inputs: Mapping[str, Any]) -> bool:
        """Return whether inputs without dtype= select a function of float32."""
        return "dtype" in self._options and _are_float32(inputs)

    def _select_and_call(self, *values: Any, **named: Any) -> Any:
        """Call in Python, and let emitted code find the function from now on."""
        external = named.get("external") if self._split is not None else None
        if type(external) is dict and not external:  # no wrench: emitted code can call
            return self(*values, **{n: x for n, x in named.items() if n != "external"})
        function, inputs = self.select(values, named)
        if named.get("dtype") is None and self._is_float32(inputs):
            return function(**inputs)  # emitted code finds functions by options only
        if function is self._functions.get(NO_OPTIONS):
            enter_first(self, function)
        count = len(self._state)
        if inputs.keys() <= self._found_by_code and len(values) >= count:
            names = tuple(map(sys.intern, named)) or None
            options = [x for n, x in named.items() if n != "out"]
            with suppress(TypeError):  # for example, a list cannot be part of a key
                self._functions[(names, *values[count:], *options)] = function
        return function(**inputs)

    def __getattr__(self, name: str) -> Any:
        if self._needs_options or name not in vars(Function):
            raise AttributeError(f"robot.{self.__name__} has no attribute {name!r}")
        return getattr(self.function(), name)

    def __get__(self, owner: object, kind: type | None = None) -> Method:
        """Return itself: to Python a routine, whose signature `help` shows."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return getattr, (self._owner, self.__name__)

    def __repr__(self) -> str:
        if self._needs_options:
            return f"{self.__name__}({', '.join((*self._state, '...'))})"
        if NO_OPTIONS not in self._functions:
            return f"{self.__name__}: not compiled yet"
        return repr(self._functions[NO_OPTIONS])


def _are_float32(inputs: Mapping[str, Any]) -> bool:
    """Return whether all arrays are of float32, and at least one is there.

    A number has no precision of its own. Emitted code asks only where an input may be
    of float32: see `arrays.emit_may_be_float32`.
    """
    weak = (int, float, np.generic, NoneType)
    given: list[Any] = []
    for x in inputs.values():
        given += cast("tuple[Any, ...]", x) if isinstance(x, tuple) else (x,)
    dtypes = {getattr(x, "dtype", None) for x in given if not isinstance(x, weak)}
    return dtypes == {np.dtype("float32")}


NO_OPTIONS = ((),)
"""the key of the function of a method without options"""


def as_function(f: object) -> Function | None:
    """Return a compiled function, or that of a method; None for anything else."""
    found = f.function() if isinstance(f, Method) else f
    return found if isinstance(found, Function) else None


def compilation_of(function: Function) -> Compilation:
    """Return what a function is compiled from."""
    return function._compilation  # pyright: ignore[reportPrivateUsage]


def signature_of(function: Function) -> Signature:
    """Return how a function is called."""
    called = function._called  # pyright: ignore[reportPrivateUsage]
    return _signature(compilation_of(function), called)


def _signature(compilation: Compilation, called: str) -> Signature:
    options = compilation.options
    return Signature(
        called,
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
    return Calls(_signature(compilation, compilation.name), kernels, libm_table())


def native_kernel(compilation: Compilation, kind: Kind) -> Any:
    """Return native code, with a line on the terminal if generating it takes long."""
    line = ProgressLine(f"compiling {compilation.name}", "parts")
    return compilation.kernel(kind, line)
