"""The inputs of rollouts: shared by all states, one for each state or for each step.

    shape                   shared by all states and steps
    (steps, *shape)         one for each step
    (batch, steps, *shape)  one for each step of each state; with one step: for all

The shape at one step is declared, never guessed: by the robot's forces (``control``),
by the frames of ``external``, or by `shared`, `per_state` and `per_step`. A plain array
whose shape nothing declares is a number, a vector, or vectors in rows.
"""

from __future__ import annotations

import operator
from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast, final

import numpy as np

from ramidyn.backend.runtime.memory_layout import TABLE
from ramidyn.description.pose import Array
from ramidyn.errors import ArgumentError, ShapeError
from ramidyn.mechanism.state_arrays import checked_numbers
from ramidyn.simulation.actions import EXTERNAL
from ramidyn.simulation.function_arguments import by_name
from ramidyn.simulation.state import SEED, STATE_NUMBER
from ramidyn.simulation.traced_step import OWN_INPUTS
from ramidyn.symbolic.networks import WRITTEN_OUT
from ramidyn.symbolic.random_numbers import seed_parts

if TYPE_CHECKING:
    from ramidyn.robot import Robot

LARGE: Final = 32
"""entries of an input from which it is worth a table; larger ones than are written out
are read by loops, from the workspace"""
BATCH: Final = "batch"
STEPS: Final = "steps"
Shape = tuple[int, ...]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Arranged:
    """A value whose leading axes are declared; see `shared` and `per_state`."""

    value: Any
    axes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"{words(self.axes)}: {self.value!r}"


def shared(value: Any) -> Arranged:
    """Declare that an input of a rollout is the same for all states and steps.

    Args:
        value: an array of any shape, such as the weights of a network.

    >>> import numpy as np, ramidyn
    >>> robot = ramidyn.robots.humanoid30()
    >>> def policy(q, qd, gains):  # gains is a matrix, not one row for each step
    ...     return -gains @ qd
    >>> gains = {"gains": ramidyn.policies.shared(0.1 * np.eye(robot.nv))}
    >>> run = robot.rollout(robot.neutral(), steps=2, policy=policy, inputs=gains)
    """
    if isinstance(value, Arranged):
        raise ArgumentError(f"shared({value!r}): expected an array of numbers")
    return Arranged(value)


def per_state(value: Any) -> Arranged:
    """Declare that an input of a rollout, or of memory, has a value for each state.

    Args:
        value: (batch, ...); or `per_step` of (batch, steps, ...).
    """
    if isinstance(value, Arranged):
        if value.axes != (STEPS,):
            raise ArgumentError(
                f"per_state({value!r}): expected an array (batch, ...), or "
                "per_step of one (batch, steps, ...)"
            )
        return Arranged(value.value, (BATCH, STEPS))
    return Arranged(value, (BATCH,))


def per_step(value: Any) -> Arranged:
    """Declare that an input of a rollout has a value for each step.

    Args:
        value: (steps, ...). ``per_state(per_step(x))`` has one for each step of each
            state: (batch, steps, ...).
    """
    if isinstance(value, Arranged):
        raise ArgumentError(
            f"per_step({value!r}): expected an array (steps, ...); one for each step "
            "of each state is per_state(per_step(x))"
        )
    return Arranged(value, (STEPS,))


@final
@dataclass(frozen=True, slots=True, eq=False)
class CheckedInput:
    """An input of a rollout."""

    array: Array
    """shape, (steps, *shape) or (batch, steps, *shape)"""
    shape: Shape
    """at one step"""

    @property
    def leading(self) -> Shape:
        """Batch and steps, as far as there are such axes."""
        return self.array.shape[: self.array.ndim - len(self.shape)]

    @property
    def rows(self) -> int | None:
        """The number of steps that there are values for; None: one for all."""
        return self.leading[-1] if self.leading else None


def checked_memory(
    robot: Robot, memory: object, known: Container[str], is_one: bool
) -> dict[str, CheckedInput]:
    """Return the start values of what functions remember, by name."""
    given = by_name("memory", memory, "a dictionary of start values")
    declared = robot.model.force_inputs
    found: dict[str, CheckedInput] = {}
    for name, value in given.items():
        if not name.isidentifier() or name in {*OWN_INPUTS, EXTERNAL}:
            raise ArgumentError(
                f"memory has the name {name!r}; expected a Python name other than "
                f"{', '.join(OWN_INPUTS)}, {EXTERNAL}"
            )
        if name in known or f"{TABLE}{name}" in known:
            raise ArgumentError(f"memory and inputs both have {name!r}")
        if value is None or callable(value):
            raise ArgumentError(
                f"memory has {name!r}: {value!r}; expected its value before the first "
                "step, an array of numbers"
            )
        axes = value.axes if isinstance(value, Arranged) else ()
        if STEPS in axes:
            raise ArgumentError(
                f"memory has {name!r}: {value!r}; expected one value, or per_state(x)"
            )
        one = value if axes else Arranged(getattr(value, "value", value))
        x = checked_input(f"memory[{name!r}]", one, declared.get(name), is_one)
        array = np.asarray(x.array[:, 0] if axes else x.array, dtype=float)
        found[name] = CheckedInput(array, x.shape)
    return found


def random_inputs(
    seed: object,
    values: Mapping[str, Any],
    given: Mapping[str, CheckedInput],
    integrator: str,
) -> dict[str, Any]:
    """Return the seed, and the numbers of the states in their batch."""
    if integrator == "adaptive":
        raise ArgumentError(
            "seed is for fixed steps, and integrator is 'adaptive'; use 'rk4'"
        )
    try:
        number = operator.index(cast(Any, seed))
    except TypeError:
        number = -1
    if isinstance(seed, bool) or not 0 <= number < 2**64:
        raise ArgumentError(
            f"seed is {seed!r}; expected an integer from 0 to 2**64 - 1"
        )
    sizes = [len(values[n]) for n in ("q", "qd") if np.ndim(values[n]) > 1]
    sizes += [len(values["tau"])] if np.ndim(values.get("tau", 0.0)) > 2 else []
    sizes += [x.leading[0] for x in given.values() if len(x.leading) > 1]
    batch = max(sizes, default=None)
    state = 0.0 if batch is None else np.arange(float(batch))
    return {SEED: np.array(seed_parts(number)), STATE_NUMBER: state}


def step_names(given: Mapping[str, CheckedInput], has_tables: bool) -> dict[str, str]:
    """Return the names of inputs in a step: large ones that all share are tables.

    Only time loops read tables; with a policy, nothing else runs the step.
    """
    names: dict[str, str] = {}
    for name, x in given.items():
        is_large = not x.leading and LARGE <= x.array.size <= WRITTEN_OUT
        names[name] = f"{TABLE}{name}" if is_large and has_tables else name
    return names


def checked_inputs(
    robot: Robot, inputs: object, is_one: bool
) -> tuple[dict[str, CheckedInput], tuple[str, ...]]:
    """Return the inputs of a rollout by name, and the frames of external wrenches."""
    given = by_name("inputs", inputs, "a dictionary of arrays")
    declared = robot.model.force_inputs
    found: dict[str, CheckedInput] = {}
    frames: tuple[str, ...] = ()
    for name, value in given.items():
        if name == EXTERNAL:
            frames, wrenches = external_wrenches(robot, value, is_one)
            found |= wrenches
            continue
        if name in OWN_INPUTS:
            raise ArgumentError(
                f"inputs has {name!r}; expected a name other than "
                f"{', '.join(OWN_INPUTS)}"
            )
        found[name] = checked_input(name, value, declared.get(name), is_one)
    return found, frames


def external_wrenches(
    robot: Robot, external: object, is_one: bool
) -> tuple[tuple[str, ...], dict[str, CheckedInput]]:
    """Return the frames of wrenches, and the wrenches as one input."""
    if not isinstance(external, Mapping):
        raise ArgumentError(
            f"external is {external!r}; expected a dict of wrenches by frame, such as "
            '{"left_foot": wrench}'
        )
    given = cast("Mapping[Any, Any]", external)
    for name in given:
        robot.model.frame(name)
    frames = tuple(sorted(given))
    if not frames:
        return (), {}
    each = [
        checked_input(f"external[{n!r}]", given[n], (6,), is_one).array for n in frames
    ]
    try:
        together = np.broadcast_arrays(*each)
    except ValueError:
        listed = ", ".join(f"{n} {x.shape}" for n, x in zip(frames, each, strict=True))
        raise ShapeError(
            f"shapes in external differ: {listed}; expected as many states and steps"
        ) from None
    wrenches = CheckedInput(np.stack(together, axis=-2), (len(frames), 6))
    return frames, {EXTERNAL: wrenches}


def checked_input(
    name: str, value: Any, declared: Shape | None, is_one: bool
) -> CheckedInput:
    """Return one input; a ShapeError says what was tried."""
    axes: tuple[str, ...] | None = None
    if isinstance(value, Arranged):
        value, axes = value.value, value.axes
    array = checked_numbers(name, value)
    if axes is None:
        return plain_input(name, array, declared, is_one)
    shape = array.shape[len(axes) :]
    is_whole = array.ndim >= len(axes) and (declared is None or shape == declared)
    if not is_whole or (is_one and BATCH in axes):
        possible = "one state" if is_one and BATCH in axes else written(axes, declared)
        raise ShapeError(
            f"{name} has shape {array.shape}, declared {words(axes)}; expected "
            f"{possible}"
        )
    if axes == (BATCH,):
        array = array[:, None]
    return CheckedInput(array, shape)


def plain_input(
    name: str, array: Array, declared: Shape | None, is_one: bool
) -> CheckedInput:
    """Return an input whose leading axes are told by its declared shape."""
    most = 1 if is_one else 2
    if declared is None:
        if array.ndim > most + 1:
            raise ShapeError(
                f"{name} has shape {array.shape}; expected a number, (n,), (steps, n)"
                f"{'' if is_one else ' or (batch, steps, n)'}; for arrays of another "
                "shape, pass shared(x), per_step(x) or per_state(x) of "
                "ramidyn.policies"
            )
        return CheckedInput(array, array.shape[-1:])
    leading = array.ndim - len(declared)
    if not 0 <= leading <= most or array.shape[leading:] != declared:
        tried = [written(axes, declared) for axes in PLAIN[: most + 1]]
        raise ShapeError(
            f"{name} has shape {array.shape}; tried {tried[0]} shared by all, "
            f"{tried[1]} for each step"
            + ("" if is_one else f", and {tried[2]} for each step of each state; one ")
            + ("" if is_one else "for each state is ramidyn.policies.per_state(x)")
        )
    return CheckedInput(array, declared)


PLAIN: Final = ((), (STEPS,), (BATCH, STEPS))
"""the leading axes that a plain array may have"""


def written(axes: tuple[str, ...], shape: Shape | None) -> str:
    """Return a shape as a message writes it."""
    entries = [*axes, *(["..."] if shape is None else map(str, shape))]
    return f"({entries[0]},)" if len(entries) == 1 else f"({', '.join(entries)})"


def words(axes: tuple[str, ...]) -> str:
    """Return what leading axes are declared, in words."""
    named = {BATCH: "per_state", STEPS: "per_step"}
    return " and ".join(named[a] for a in axes) or "shared"


def arrangements(shape: Shape) -> str:
    """Return how to declare what a plain array of two axes or more is."""
    return (
        f"if {shape} is not (steps, ...), pass shared(x), one for all, or "
        "per_state(x), one for each state, of ramidyn.policies"
    )
