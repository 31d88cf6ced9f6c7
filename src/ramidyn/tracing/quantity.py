"""A Quantity: something that can be computed from a robot's state, declared once.

    @quantity("q", "qd", "tau", algorithms=("aba", "ltdl"))
    def forward_dynamics(context: Context, algorithm: str = "auto", ...) -> Any: ...

The function traces the quantity over symbols. The decorator names its inputs; its
options are the further parameters of the function, with their defaults, checked by name
(`context`). Calling a quantity gives it options: ``forward_dynamics(algorithm="aba")``,
``jacobian("hand")``. `registry` lists the quantities that users see.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from textwrap import fill
from typing import Any, NamedTuple, cast, final

import numpy as np

from ramidyn.description.conventions import Conventions
from ramidyn.description.forces.inputs import INPUT_WORDS as FORCE_INPUT_WORDS
from ramidyn.errors import ArgumentError, one_of
from ramidyn.tracing.context import SHARED, Checks, Context
from ramidyn.tree.model import Model

METHOD_DOCSTRINGS: dict[str, str] = {}
"""name -> docstring of the method of Robot; `methods.computed` enters it, and every
`import ramidyn` defines all methods"""


Shapes = dict[str, tuple[int, ...]]

INPUTS: dict[str, Callable[[Model], int]] = {
    "q": lambda model: model.nq,
    "qd": lambda model: model.nv,
    "qdd": lambda model: model.nv,
    "tau": lambda model: model.nv,
}
"""The inputs that quantities share, and their sizes, in the order of calls."""

INPUT_WORDS = {
    "q": "coordinates [rad, m]",
    "qd": "velocities [rad/s, m/s]",
    "qdd": "accelerations [rad/s^2, m/s^2]",
    "tau": "joint forces [N m, N]",
}
"""What the shared inputs are, in ASCII, as C headers need it."""

REQUIRED = inspect.Parameter.empty


@final
@dataclass(frozen=True, eq=False)
class Declaration:
    """The declaration of a quantity; see the decorator `quantity`."""

    name: str
    inputs: tuple[str, ...]
    trace: Callable[..., Any]
    """(Context, **options) -> array of symbols, or a dict of arrays by name"""
    further_inputs: Callable[..., Shapes] | None
    algorithms: tuple[str, ...]
    possible: Callable[..., tuple[str, ...]] | None
    """(Model, Conventions, **options) -> those that a robot allows"""
    by_name_only: tuple[str, ...]
    shares_choice: bool
    has_forces: bool
    """whether the robot's force elements act in it: their inputs are its inputs"""
    returns: str
    """what it is, with units, in a few words of ASCII"""
    checks: Checks
    """of its own options; the others are `SHARED`"""

    @cached_property
    def signature(self) -> inspect.Signature:
        """How options are given to the quantity."""
        given = inspect.signature(self.trace)
        options = list(given.parameters.values())[1:]
        return given.replace(parameters=options, return_annotation=Quantity)

    @cached_property
    def defaults(self) -> dict[str, Any]:
        """The options by name, with their defaults; REQUIRED where there is none."""
        return {p.name: p.default for p in self.signature.parameters.values()}

    @cached_property
    def documentation(self) -> str | None:
        """What users read: the docstring of the method, and how a quantity is used."""
        of_method = METHOD_DOCSTRINGS.get(self.name)
        if of_method is None:
            return inspect.getdoc(self.trace)
        text = f"This quantity takes options only: {self.usage}."
        if "external" in self.defaults:
            text += (
                " Its ``external`` is a list of frames; their wrenches, (frames, 6), "
                "are an input."
            )
        return f"{of_method}\n\n{fill(text, 84, break_on_hyphens=False)}"

    @property
    def usage(self) -> str:
        """How it is called and how it is compiled, for messages."""
        needed = [EXAMPLES[n] for n, x in self.defaults.items() if x is REQUIRED]
        arguments, options = ", ".join([*self.inputs, *needed]), ", ".join(needed)
        quantity = (
            f"ramidyn.{self.name}({options})" if needed else f"ramidyn.{self.name}"
        )
        compiled = f"the function that ramidyn.compile({quantity}, robot) returns"
        if self.name not in METHOD_DOCSTRINGS:  # it is not a method
            return f"call {compiled}"
        return f"call robot.{self.name}({arguments}), or {compiled}"

    @property
    def all_algorithms(self) -> tuple[str, ...]:
        """Every value of ``algorithm=`` that some robot allows."""
        return ("auto", *self.algorithms, *self.by_name_only)

    def checked(self, option: str, value: object) -> Any:
        """Return the value of an option, or raise ArgumentError."""
        if option not in self.defaults:
            known = ", ".join(self.defaults) or "none"
            raise ArgumentError(
                f"{self.name} has no option {option!r}; options: {known}"
            )
        if option == "algorithm":
            return one_of("algorithm", value, self.all_algorithms)
        if value is None and self.defaults[option] is None:
            return None
        check = self.checks.get(option) or SHARED.get(option)
        return value if check is None else check(value)


@dataclass(frozen=True)
class Quantity:
    """Something that can be computed from a robot's state; call it to set options."""

    declaration: Declaration
    given: tuple[tuple[str, Any], ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "__doc__", self.declaration.documentation)
        object.__setattr__(self, "__name__", self.declaration.name)
        object.__setattr__(self, "__module__", self.declaration.trace.__module__)
        object.__setattr__(self, "__signature__", self.declaration.signature)

    def __reduce__(self) -> str | tuple[Any, ...]:
        """Pickle it by the name of its module's attribute, if it is one."""
        trace = self.declaration.trace
        plain = getattr(sys.modules[trace.__module__], trace.__name__, None)
        if not isinstance(plain, Quantity) or plain.declaration is not self.declaration:
            return Quantity, (self.declaration, self.given)
        return (_with_options, (plain, self.given)) if self.given else trace.__name__

    def __get__(self, owner: object, kind: type | None = None) -> Quantity:
        """Return itself: to Python a routine, whose signature `help` shows."""
        return self

    def __call__(self, *arguments: Any, **options: Any) -> Quantity:
        """Return this quantity with other options."""
        names = tuple(self.declaration.defaults)
        if len(arguments) > len(names) or any(map(_is_data, arguments)):
            raise ArgumentError(
                f"ramidyn.{self.declaration.name} takes only options "
                f"({', '.join(names) or 'there are none'}); {self.declaration.usage}"
            )
        by_place = dict(zip(names, arguments, strict=False))
        for name in by_place:
            if name in options:
                raise ArgumentError(f"{self.declaration.name} was given {name!r} twice")
        new = {
            name: self.declaration.checked(name, value)
            for name, value in {**by_place, **options}.items()
        }
        merged = {**dict(self.given), **new}
        return Quantity(
            self.declaration, tuple((n, merged[n]) for n in names if n in merged)
        )

    @property
    def name(self) -> str:
        """The name of its output: its own name, and that of its frame."""
        frame = dict(self.given).get("frame")
        word = self.declaration.name
        return word if frame is None else re.sub(r"\W", "_", f"{word}_{frame}")

    @property
    def options(self) -> dict[str, Any]:
        """All its options; ArgumentError if a required one was not given."""
        values = {**self.declaration.defaults, **dict(self.given)}
        missing = [n for n, value in values.items() if value is REQUIRED]
        if missing:
            raise ArgumentError(
                f"{self.declaration.name} is missing argument "
                f"{', '.join(map(repr, missing))}; {self.declaration.usage}"
            )
        return values

    def algorithms(self, model: Model, conventions: Conventions) -> tuple[str, ...]:
        """Return the candidates for ``algorithm="auto"`` with this robot."""
        of = self.declaration
        if of.possible is None:
            return of.algorithms
        return of.possible(model, conventions, **self.options)

    @property
    def is_open(self) -> bool:
        """Return whether its algorithm is still to be chosen."""
        return self.options.get("algorithm") == "auto"

    def input_shapes(self, model: Model) -> Shapes:
        """Return the shape of every input for this robot."""
        shapes: Shapes = {n: (INPUTS[n](model),) for n in self.declaration.inputs}
        further, options = self.declaration.further_inputs, self.options
        if further is not None:
            shapes.update(further(model, **options))
        if frames := options.get("external"):
            for name in frames:
                model.frame(name)
            shapes["external"] = (len(frames), 6)  # one wrench each
        if self.declaration.has_forces:
            shapes.update(model.force_inputs)
        return shapes

    def force_inputs(self, model: Model) -> dict[str, str]:
        """Return the inputs of a robot's force elements that it has, with words."""
        of, found = self.declaration, dict[str, str]()
        if not model.forces or not (of.has_forces or "forces" in of.defaults):
            return found
        for name, shape in model.force_inputs.items():
            words = FORCE_INPUT_WORDS.get(name, "input of a force element")
            found[name] = f"{shape} or with a batch axis, {words}."
        return found

    def identity(self) -> tuple[Any, ...] | None:
        """Return a key that identifies it, as plain data; None for user functions."""
        if not self.declaration.trace.__module__.startswith("ramidyn."):
            return None
        options: list[Any] = []
        for name, value in self.options.items():
            if isinstance(value, tuple) and value and isinstance(value[0], Quantity):
                parts = tuple(x.identity() for x in cast("tuple[Quantity]", value))
                if None in parts:
                    return None
                value = parts  # noqa: PLW2901
            options.append((name, value))
        return self.name, tuple(options)

    def of(self, context: Context) -> Any:
        """Return the symbols of this quantity, by its cheapest algorithm if it is open.

        That is for quantities that are a part of others: `choose` decides the rest.
        """
        options = self.options
        if self.is_open and self.algorithms(context.model, context.conventions):
            options["algorithm"] = context.algorithm_of(self)
        return self.declaration.trace(context, **options)

    def __str__(self) -> str:
        shown = ", ".join(f"{k}={v!r}" for k, v in self.given)
        return f"{self.declaration.name}({shown})" if shown else self.declaration.name

    __repr__ = __str__


@final
class Choice(NamedTuple):
    """An algorithm chosen by operation count, and the costs that decided.

    Costs are `Ops.cost`, in units of one multiplication. Of small programs, they
    include a unit for each cycle of the longest chain of operations.
    """

    quantity: str
    algorithm: str
    costs: Mapping[str, int]
    """of simplified programs, as compiled: the chosen one and those near it"""
    traced: Mapping[str, int]
    """of all candidates before they are simplified; the others are too far behind"""


def _with_options(plain: Quantity, given: tuple[tuple[str, Any], ...]) -> Quantity:
    """Return a quantity with options that were checked before it was pickled."""
    return Quantity(plain.declaration, given)


def _is_data(value: object) -> bool:
    """Return whether a value is an array or a robot, which are not options."""
    return isinstance(value, np.ndarray) or type(value).__name__ == "Robot"


EXAMPLES = {
    "frame": '"hand"',
    "base": '"torso"',
    "tasks": '["hand"]',
    "of": "f",
    "wrt": '"q"',
}
"""Examples of required options, for messages."""


def quantity(
    *inputs: str,
    algorithms: tuple[str, ...] = (),
    possible: Callable[..., tuple[str, ...]] | None = None,
    by_name_only: tuple[str, ...] = (),
    further_inputs: Callable[..., Shapes] | None = None,
    shares_choice: bool = False,
    has_forces: bool = False,
    name: str | None = None,
    returns: str = "",
    checks: Checks | None = None,
) -> Callable[[Callable[..., Any]], Quantity]:
    """Declare a quantity by the function that traces it.

    Args:
        inputs: names of INPUTS.
        algorithms: what ``algorithm="auto"`` chooses from, by counting.
        possible: (model, conventions, **options) -> those of ``algorithms`` that a
            robot allows, if not all.
        by_name_only: additional algorithms, used only when named.
        further_inputs: (model, **options) -> shapes of inputs beyond INPUTS, and
            beyond the wrenches of an option ``external``.
        shares_choice: whether one choice serves all such quantities of the same tasks
            in a kernel.
        has_forces: whether the robot's force elements act in it.
        name: of the quantity; that of the function by default.
        returns: what it is, with units, in a few words of ASCII.
        checks: for each option of its own, what returns the value or raises
            ArgumentError; options that quantities share are checked by name.
    """

    def declare(trace: Callable[..., Any]) -> Quantity:
        return Quantity(
            Declaration(
                name or trace.__name__,
                inputs,
                trace,
                further_inputs,
                algorithms,
                possible,
                by_name_only,
                shares_choice,
                has_forces,
                returns,
                checks or {},
            )
        )

    return declare


def input_shapes(quantities: Iterable[Quantity], model: Model) -> Shapes:
    """Return the inputs of several quantities: q, qd, qdd, tau, then others."""
    needed: Shapes = {}
    for one in quantities:
        for name, shape in one.input_shapes(model).items():
            if needed.setdefault(name, shape) != shape:
                raise ArgumentError(
                    f"quantities need different inputs {name!r}, of shapes "
                    f"{needed[name]} and {shape}; compile them separately"
                )
    first = {n: needed[n] for n in INPUTS if n in needed}
    return {**first, **{n: s for n, s in needed.items() if n not in first}}
