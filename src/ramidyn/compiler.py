"""The whole pipeline on one screen: from quantities of a robot to a Function.

    quantities --trace, choose--> Program --simplify, lower--> Program
               --schedule--> Schedule --emit--> LLVM IR --compile, load--> NativeKernel

`Compilation` walks the stages, each when it is first needed: a program is known by its
digest, and code from the disk cache needs no trace.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, cast, final
from weakref import WeakValueDictionary

import numpy.typing as npt

from ramidyn.backend.llvm import cache
from ramidyn.concurrency import Lock, made_once
from ramidyn.coordinates.limits import size_hints
from ramidyn.description.fingerprint import fingerprint
from ramidyn.errors import ArgumentError, CompileError
from ramidyn.function import CallOptions, Function, Kind, Variables
from ramidyn.progress import Progress
from ramidyn.tracing.choice import Choice
from ramidyn.tracing.quantity import Quantity
from ramidyn.version import source_digest

if TYPE_CHECKING:
    from ramidyn.backend.llvm.build import Interface, NativeKernel
    from ramidyn.backend.llvm.parts import Schedule
    from ramidyn.backend.llvm.target import Target
    from ramidyn.robot import Robot
    from ramidyn.symbolic.count import Ops
    from ramidyn.symbolic.program import Program
    from ramidyn.symbolic.trace import Shape
    from ramidyn.tracing.chooser import Chosen


def compile(
    quantities: Quantity | Sequence[Quantity],
    robot: Robot,
    *,
    dtype: npt.DTypeLike = "float64",
    lanes: int | None = None,
    threads: int = 1,
    layout: str = "batch_first",
    parameters: Sequence[str] = (),
) -> Function:
    """Compile one quantity of a robot, or several into one kernel.

    Several quantities share common computations and are returned as a named tuple.
    Inputs are those they need of q, qd, qdd and tau, in this order, then others.

    Args:
        quantities: such as ``ramidyn.mass_matrix`` or ``ramidyn.jacobian("hand")``.
        robot: the robot to compile them for.
        dtype: "float64" or "float32".
        lanes: states per vector, for batches; chosen for the processor by default.
        threads: number of threads that share a large batch.
        layout: where the batch axis is: "batch_first" or "batch_last".
        parameters: constants that become inputs: "gravity",
            "inertia:<body>", "placement:<body>", and numbers of force elements, such
            as "stiffness:<force>".
    """
    options = CallOptions.checked(dtype, lanes, threads, layout)
    return Function(compilation_of(as_list(quantities), robot, parameters, options))


def kernel(
    fn: Callable[..., Any],
    inputs: Mapping[str, Shape],
    *,
    dtype: npt.DTypeLike = "float64",
    lanes: int | None = None,
    threads: int = 1,
    layout: str = "batch_first",
    name: str | None = None,
    defaults: Mapping[str, float] | None = None,
) -> Function:
    """Compile a Python function of scalars and arrays to native code.

    Methods of robots, compiled functions and other kernels that fn calls become part of
    the kernel and share common computations.

    Args:
        fn: called once with symbols: NumPy arrays of them, or a scalar for shape ().
            It returns a symbol or an array of them, or a dict, named tuple or tuple of
            these for several outputs.
        inputs: the shape of each input by the name of fn's parameter, or in their
            order. Parameters with defaults may be omitted; they become constants.
        dtype: "float64" or "float32".
        lanes: states per vector, for batches; chosen for the processor by default.
        threads: number of threads that share a large batch.
        layout: where the batch axis is: "batch_first" or "batch_last".
        name: name of the function in messages; fn's own name by default.
        defaults: default values of scalar inputs, by name; fn's own by default.

    >>> import numpy as np, ramidyn
    >>> norm = ramidyn.kernel(lambda x: ramidyn.math.sqrt(x @ x), {"x": 3}, name="norm")
    >>> norm(np.array([2.0, 3.0, 6.0]))
    array(7.)
    >>> norm(np.array([[2.0, 3.0, 6.0], [0.0, 3.0, 4.0]]))
    array([7., 5.])
    """
    from ramidyn.symbolic.parameters import default_values, matched  # noqa: PLC0415  not from the cache
    from ramidyn.symbolic.trace import trace  # noqa: PLC0415  not from the cache

    if isinstance(fn, Quantity):
        raise ArgumentError(
            f"{fn} is a quantity of a robot; "
            "compile it with ramidyn.compile(..., robot)"
        )
    if not callable(fn):
        raise ArgumentError(f"fn is {fn!r}; expected a function")
    if not isinstance(name, str | None):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"name is {name!r}; expected text")
    defaults = {} if defaults is None else defaults
    for what, given in (("inputs", inputs), ("defaults", defaults)):
        if not isinstance(given, Mapping) or not all(isinstance(n, str) for n in given):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentError(
                f"{what} is {given!r}; expected a dictionary, such as {{'q': 7}}"
            )
    options = CallOptions.checked(dtype, lanes, threads, layout)
    known = default_values(fn, inputs, defaults)
    options = replace(options, defaults=tuple(known.items()))
    start = time.perf_counter()
    called = name or getattr(fn, "__name__", type(fn).__name__)
    traced = partial(trace, matched(fn, inputs), dict(inputs), called)
    compilation = Compilation.of(traced(options.dtype), options, traced=traced)
    compilation.seconds = time.perf_counter() - start
    return Function(compilation)


def count(
    quantities: Quantity | Sequence[Quantity],
    robot: Robot,
    *,
    parameters: Sequence[str] = (),
) -> Ops:
    """Return the operation count of the compiled function, without compiling it."""
    from ramidyn.simplify.passes import simplify  # noqa: PLC0415  not from the cache
    from ramidyn.symbolic.count import count as count_operations  # noqa: PLC0415  not from the cache

    return count_operations(simplify(program_of(quantities, robot, parameters)))


def program_of(
    quantities: Quantity | Sequence[Quantity],
    robot: Robot,
    parameters: Sequence[str] = (),
    dtype: str = "float64",
) -> Program:
    """Return the traced program of some quantities, their algorithms chosen."""
    return choose_for(as_list(quantities), robot, parameters, dtype).program


def choose_for(
    wanted: Sequence[Quantity],
    robot: Robot,
    parameters: Sequence[str] = (),
    dtype: str = "float64",
) -> Chosen:
    """Return the program of some quantities of a robot, and how it was chosen."""
    from ramidyn.tracing.chooser import choose  # noqa: PLC0415  not from the cache

    check_robot(robot)
    rounding = dtype if robot.model.loops else "float64"  # all else is the same
    return choose(wanted, robot.placed_model, robot.conventions, parameters, rounding)


@final
class Compilation:
    """A program on its way to native code; each stage is done once, when needed."""

    def __init__(
        self,
        name: str,
        inputs: Variables,
        outputs: Variables,
        digest: str,
        choices: tuple[Choice, ...],
        traced: Callable[[str], Program],
        options: CallOptions,
    ) -> None:
        self.name = name
        self.inputs = inputs
        self.outputs = outputs
        self.digest = digest
        self.choices = choices
        self.options = options
        self.origin: Origin | None = None
        self.seconds: float = 0.0
        self.from_cache: list[bool] = []
        self._trace = traced
        self._programs: dict[str, Program] = {}
        self._kernels: dict[int, NativeKernel] = {}
        self._lock = Lock()

    @staticmethod
    def of(
        program: Program,
        options: CallOptions,
        choices: tuple[Choice, ...] = (),
        traced: Callable[[str], Program] | None = None,
    ) -> Compilation:
        """Return the compilation of a program that has been traced.

        ``traced`` traces it for another dtype.
        """
        made = Compilation(
            program.name,
            tuple((v.name, v.shape) for v in program.inputs),
            tuple((v.name, v.shape) for v in program.outputs),
            program.digest(),
            choices,
            traced or (lambda _: program),
            options,
        )
        made._programs[options.dtype] = program
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        if self.origin is not None:  # smaller than the program
            return _unpickled, (*self.origin, self.options)
        return Compilation.of, (self.traced, self.options, self.choices)

    @property
    def traced(self) -> Program:
        """The program as the algorithms made it."""
        return self.traced_for(self.options.dtype)

    def traced_for(self, dtype: str) -> Program:
        """Return the program for a dtype; it must match the cache."""
        return made_once(self._programs, dtype, lambda: self._traced(dtype))

    def _traced(self, dtype: str) -> Program:
        program = self._trace(dtype)
        found = [(v.name, v.shape) for v in (*program.inputs, *program.outputs)]
        if found != [*self.inputs, *self.outputs]:
            raise CompileError(
                f"the inputs or outputs of {self.name!r} in the disk cache do not "
                "match the robot; run `ramidyn cache clear`"
            )
        return program

    @cached_property
    def program(self) -> Program:
        """The program after the simplifications."""
        from ramidyn.simplify.passes import simplify  # noqa: PLC0415  not from the cache

        return simplify(self.traced)

    @cached_property
    def schedule(self) -> Schedule:
        """The lowered program in cuts, and the places of its values."""
        from ramidyn.backend.llvm.schedule import schedule  # noqa: PLC0415  not from the cache
        from ramidyn.simplify.passes import lower  # noqa: PLC0415  not from the cache

        return schedule(lower(self.program))

    @property
    def interface(self) -> Interface:
        """What is known about the program before it is traced."""
        from ramidyn.backend.llvm.build import Interface  # noqa: PLC0415  when needed

        inputs = tuple(math.prod(shape) for _, shape in self.inputs)
        outputs = tuple(math.prod(shape) for _, shape in self.outputs)
        return Interface(self.digest, inputs, outputs)

    def target(self, kind: Kind) -> Target:
        """Return the target of the code: one state at a time, or batches."""
        from ramidyn.backend.llvm.target import target  # noqa: PLC0415  when needed

        lanes = 1 if kind == "single" else None
        return target(self.options.dtype, self.options.lanes or lanes)

    def kernel(self, kind: Kind, progress: Progress) -> NativeKernel:
        """Return native code: from memory, the disk cache, or generated now."""
        from ramidyn.backend.llvm.build import build  # noqa: PLC0415  when needed

        target = self.target(kind)
        with self._lock:
            if target.lanes not in self._kernels:
                start = time.perf_counter()
                found, was_cached = build(
                    self.interface, lambda: self.schedule, target, progress
                )
                self._kernels[target.lanes] = found
                self.from_cache.append(was_cached)
                self.seconds += time.perf_counter() - start
            return self._kernels[target.lanes]


Origin = tuple[list[Quantity], "Robot", tuple[str, ...]]
"""what a compilation is of: quantities, a robot, and the names of its parameters"""
_in_use: WeakValueDictionary[str, Compilation] = WeakValueDictionary()
"""compilations that were unpickled and are still used, by what they are of"""


def _unpickled(
    wanted: list[Quantity],
    robot: Robot,
    parameters: Sequence[str],
    options: CallOptions,
) -> Compilation:
    """Return a compilation, the same one each time: it compiles once in a process."""
    of = _key(wanted, robot, parameters, options.dtype)
    key = f"{of} {options}"
    found = _in_use.get(key)
    if found is None:
        found = compilation_of(wanted, robot, parameters, options)
        _in_use[key] = found
    return found


def compilation_of(
    wanted: list[Quantity],
    robot: Robot,
    parameters: Sequence[str],
    options: CallOptions,
) -> Compilation:
    """Return the compilation of some quantities, and how long that took in it."""
    check_robot(robot)
    start = time.perf_counter()
    options = replace(options, hints=size_hints(robot.model))
    found = _remembered(wanted, robot, parameters, options)
    found.seconds += time.perf_counter() - start
    return found


def _remembered(
    wanted: list[Quantity],
    robot: Robot,
    parameters: Sequence[str],
    options: CallOptions,
) -> Compilation:
    """Return the compilation of quantities: remembered on disk, or traced now."""
    dtype = options.dtype if robot.model.loops else "float64"
    traced = partial(program_of, wanted, robot, parameters)
    key = _key(wanted, robot, parameters, dtype)
    origin = (wanted, robot, tuple(parameters)) if key else None
    stored = cache.load(key) if key else None
    if stored is not None:
        try:
            name, inputs, outputs, digest, choices = json.loads(stored)
            found = Compilation(
                str(name),
                _variables(inputs),
                _variables(outputs),
                str(digest),
                tuple(Choice(*c) for c in choices),
                traced,
                options,
            )
            found.origin = origin
            return found
        except (ValueError, TypeError):
            pass  # made by something else: trace it anew
    chosen = choose_for(wanted, robot, parameters, dtype)
    made = Compilation.of(chosen.program, options, chosen.choices, traced)
    made.origin = origin
    if key:
        choices = [(c.quantity, c.algorithm, c.costs) for c in made.choices]
        facts = [made.name, made.inputs, made.outputs, made.digest, choices]
        cache.store(key, json.dumps(facts).encode())
    return made


def _variables(stored: Any) -> Variables:
    """Return names and shapes from the cache; raise TypeError if they are invalid."""
    found = tuple((str(name), tuple(shape)) for name, shape in stored)
    if not all(type(n) is int and n >= 0 for _, shape in found for n in shape):
        raise TypeError("not a shape")
    return found


def as_list(quantities: object) -> list[Quantity]:
    """Return the quantities as a list; raise an error for anything else."""
    if isinstance(quantities, Quantity):
        return [quantities]
    if isinstance(quantities, Iterable) and not isinstance(quantities, str):
        wanted = list(cast("Iterable[object]", quantities))
        found = [x for x in wanted if isinstance(x, Quantity)]
        if found and len(found) == len(wanted):
            return found
        quantities = cast("object", wanted)
    hint = "; functions are compiled by ramidyn.kernel" if callable(quantities) else ""
    raise ArgumentError(
        f"{quantities!r} cannot be compiled; expected a quantity such as "
        f"ramidyn.inverse_dynamics, or a list of them{hint}"
    )


def check_robot(robot: object) -> None:
    """Raise ArgumentError for what is not a robot."""
    # Robot itself is imported after this. Its class is asked: a cached program must not
    # wait for frames to be placed.
    if not hasattr(type(robot), "placed_model"):
        raise ArgumentError(
            f"robot is {robot!r}; expected a Robot, such as ramidyn.load returns"
        )


def _key(
    wanted: Sequence[Quantity], robot: Robot, parameters: Sequence[str], dtype: str
) -> str | None:
    """Return what a traced program depends on, or None if that is unknown."""
    asked = [x.identity() for x in wanted]
    if None in asked:
        return None  # a user function may change at any time
    model = robot.fingerprint
    return model and fingerprint(
        "program", source_digest(), model, asked, list(parameters), dtype
    )
