"""What a compiled function is of, what is known about its program, and its native code.

A `Request` is quantities of a robot, checked. The `Facts` about their program that a
call needs (names, shapes, its digest) are remembered on disk by everything that they
depend on. A process that finds them, and native code for the digest, traces nothing.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, cast, final
from weakref import WeakValueDictionary

from ramidyn.backend.llvm import cache
from ramidyn.backend.runtime.memory_layout import slots_of
from ramidyn.concurrency import Lock, without_collection
from ramidyn.errors import ArgumentError, CompileError
from ramidyn.function import CallOptions, Kind, Variables
from ramidyn.progress import Progress, announced
from ramidyn.tracing.quantity import Choice, Quantity
from ramidyn.version import fingerprint, source_digest

if TYPE_CHECKING:
    from ramidyn.backend.llvm.build import Interface, NativeKernel
    from ramidyn.backend.llvm.schedule import Schedule
    from ramidyn.backend.llvm.target import Target
    from ramidyn.compiler import Stages
    from ramidyn.robot import Robot
    from ramidyn.symbolic.program import Program
    from ramidyn.tracing.chooser import Candidate, Chosen
    from ramidyn.tree.model import Model


@final
class Facts(NamedTuple):
    """What is known about a program without tracing it."""

    name: str
    inputs: Variables
    outputs: Variables
    digest: str
    choices: tuple[Choice, ...]

    @staticmethod
    def of(program: Program, choices: tuple[Choice, ...] = ()) -> Facts:
        """Return the facts about a program that has been traced."""
        inputs = tuple((v.name, v.shape) for v in program.inputs)
        outputs = tuple((v.name, v.shape) for v in program.outputs)
        return Facts(program.name, inputs, outputs, program.digest(), choices)

    def checked(self, candidate: Candidate) -> Candidate:
        """Return a program; raise CompileError if its inputs or outputs differ."""
        program = candidate.program
        found = [(v.name, v.shape) for v in (*program.inputs, *program.outputs)]
        if found != [*self.inputs, *self.outputs]:
            raise CompileError(
                f"the inputs or outputs of {self.name!r} in the disk cache do not "
                "match the robot; run `ramidyn cache clear`"
            )
        return candidate

    def packed(self) -> bytes:
        """Return the facts as bytes, for the disk cache."""
        return json.dumps(self).encode()

    @staticmethod
    def unpacked(stored: bytes) -> Facts:
        """Return facts from the disk cache; ValueError or TypeError if invalid."""
        name, inputs, outputs, digest, choices = json.loads(stored)
        variables = _variables(inputs), _variables(outputs)
        return Facts(
            str(name), *variables, str(digest), tuple(Choice(*c) for c in choices)
        )


def _variables(stored: Any) -> Variables:
    """Return names and shapes from the cache; raise TypeError if they are invalid."""
    found = tuple((str(name), tuple(shape)) for name, shape in stored)
    if not all(type(n) is int and n >= 0 for _, shape in found for n in shape):
        raise TypeError("not a shape")
    return found


@final
class Request:
    """Quantities of a robot, and the parameters that are inputs of their program."""

    def __init__(
        self, quantities: object, robot: Robot, parameters: Sequence[str] = ()
    ) -> None:
        self.quantities = as_list(quantities)
        check_robot(robot)
        self.robot = robot
        if isinstance(parameters, str):
            raise ArgumentError(
                f"parameters is {parameters!r}; expected a list of names, such as "
                f"[{parameters!r}]"
            )
        self.parameters = tuple(parameters)

    def choose(self, dtype: str = "float64") -> Chosen:
        """Return the program, traced by the cheapest algorithms."""
        from ramidyn.tracing.chooser import choose  # noqa: PLC0415  not from the cache

        rounding = self._rounding(dtype)
        names = ", ".join(map(str, self.quantities))
        with announced(f"tracing {names} of {self.robot.name}"):
            model, conventions = self.robot.placed_model, self.robot.conventions
            wanted = self.quantities, model, conventions, self.parameters
            return choose(*wanted, rounding)

    def key(self, dtype: str) -> str | None:
        """Return what the program depends on; None if a user's function is in it."""
        asked = [x.identity() for x in self.quantities]
        if None in asked:
            return None  # it may change at any time
        model = self.robot.fingerprint
        return model and fingerprint(
            "program",
            source_digest(),
            model,
            asked,
            list(self.parameters),
            self._rounding(dtype),
        )

    def _rounding(self, dtype: str) -> str:
        """Return the dtype that programs depend on: only loops and contacts do."""
        model = self.robot.model
        return dtype if model.loops or model.contacts else "float64"


@final
class Compilation:
    """A program on its way to native code.

    Args:
        facts: known before it is traced.
        options: how it is compiled and called.
        stages: what makes it.
        request: what it is of, unless a user's function is in it.
    """

    def __init__(
        self,
        facts: Facts,
        options: CallOptions,
        stages: Stages,
        request: Request | None = None,
    ) -> None:
        self.name, self.inputs, self.outputs, self.digest, self.choices = facts
        self.options, self.stages, self.request = options, stages, request
        self.seconds: float = 0.0
        self.from_cache: list[bool] = []
        self._kernels: dict[int, NativeKernel] = {}
        self._lock = Lock()

    def traced_for(self, dtype: str) -> Program:
        """Return the program for a dtype, as the algorithms made it."""
        return self.stages.chosen(dtype).program

    @property
    def program(self) -> Program:
        """The program after the simplifications."""
        return self.stages.program

    def schedule(self, lanes: int) -> Schedule:
        """Return the lowered program in cuts, and the places of its values."""
        return self.stages.schedule(lanes)

    @property
    def interface(self) -> Interface:
        """What the code depends on: the program's digest and sizes."""
        from ramidyn.backend.llvm.build import Interface  # noqa: PLC0415  loads LLVM

        inputs = tuple(slots_of(n, math.prod(shape)) for n, shape in self.inputs)
        outputs = tuple(math.prod(shape) for _, shape in self.outputs)
        return Interface(self.digest, inputs, outputs)

    def target(self, kind: Kind) -> Target:
        """Return the target of the code: one state at a time, or batches."""
        from ramidyn.backend.llvm.target import target  # noqa: PLC0415  loads LLVM

        lanes = 1 if kind == "single" else None
        return target(self.options.dtype, self.options.lanes or lanes)

    def kernel(self, kind: Kind, progress: Progress) -> NativeKernel:
        """Return native code: from memory, the disk cache, or generated now."""
        target = self.target(kind)
        with self._lock:
            if target.lanes not in self._kernels:
                start = time.perf_counter()
                with without_collection():
                    made = self.stages.native(self.interface, target, progress)
                found, was_cached = made
                self._kernels[target.lanes] = found
                self.from_cache.append(was_cached)
                self.seconds += time.perf_counter() - start
            return self._kernels[target.lanes]

    @staticmethod
    def of(
        program: Program,
        options: CallOptions,
        stages: type[Stages],
        choices: tuple[Choice, ...] = (),
        traced: Callable[[str], Program] | None = None,
    ) -> Compilation:
        """Return the compilation of a program that has been traced.

        ``traced`` traces it for another dtype.
        """
        from ramidyn.tracing.chooser import Candidate  # noqa: PLC0415  not from the cache

        facts, first = Facts.of(program, choices), Candidate(program)

        def choose(dtype: str) -> Candidate:
            return facts.checked(Candidate(traced(dtype)) if traced else first)

        return Compilation(facts, options, stages(choose, options.dtype, first))

    def __reduce__(self) -> tuple[Any, ...]:
        options, stages = self.options, type(self.stages)
        if self.request is not None:  # smaller than the program
            return _unpickled, (self.request, options, stages)
        program = self.traced_for(options.dtype)
        return Compilation.of, (program, options, stages, self.choices)


def remembered(
    request: Request, options: CallOptions, stages: type[Stages]
) -> Compilation:
    """Return the compilation of quantities: remembered on disk, or traced now."""
    start = time.perf_counter()
    options = replace(options, hints=_size_hints(request.robot.model))
    key = request.key(options.dtype)
    facts, first = _recall(key), None
    if facts is None:
        with without_collection():
            chosen = request.choose(options.dtype)
            first = chosen.candidate
            facts = Facts.of(first.program, chosen.choices)
        if key:
            cache.store(key, facts.packed())

    def choose(dtype: str) -> Candidate:
        return facts.checked(request.choose(dtype).candidate)

    made = stages(choose, options.dtype, first)
    found = Compilation(facts, options, made, request if key else None)
    found.seconds = time.perf_counter() - start
    return found


def _size_hints(model: Model) -> tuple[tuple[str, str], ...]:
    """Return why q, q̇, q̈ and τ may be shorter than a caller thinks, by input."""
    texts = dict.fromkeys(("q", "qd", "qdd", "tau"), "")
    if model.mimics:
        for name in texts:
            texts[name] = (
                f"Joints of robot {model.name!r} that mimic others have no entry "
                f'({len(model.mimics)}); load(..., mimic="independent") adds them.'
            )
    if any(b.joint.is_continuous for b in model.tree.bodies):
        continuous = (
            "A continuous joint is one angle, not (cos, sin) as in Pinocchio; 'Coming "
            "from Pinocchio' in the docs has the conversion."
        )
        texts["q"] = f"{texts['q']} {continuous}".strip()
    return tuple((name, text) for name, text in texts.items() if text)


def _recall(key: str | None) -> Facts | None:
    """Return the facts that are on disk."""
    stored = cache.load(key) if key else None
    try:
        return Facts.unpacked(stored) if stored is not None else None
    except (ValueError, TypeError):
        return None  # made by something else: trace it anew


_in_use: WeakValueDictionary[str, Compilation] = WeakValueDictionary()
"""compilations that were unpickled and are still used, by what they are of"""


def _unpickled(
    request: Request, options: CallOptions, stages: type[Stages]
) -> Compilation:
    """Return a compilation, the same one each time: it compiles once in a process."""
    key = f"{request.key(options.dtype)} {options}"
    found = _in_use.get(key)
    if found is None:
        found = _in_use[key] = remembered(request, options, stages)
    return found


# ------------------------------------------------------------ checks


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
