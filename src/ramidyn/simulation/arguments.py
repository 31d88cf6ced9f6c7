"""The arguments of rollout and simulate, checked before anything is compiled."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast, final

import numpy as np
import numpy.typing as npt

from ramidyn.algorithms.integrators import (
    check_contacts,
    check_loops,
    integrators_of,
    stabilizations_of,
)
from ramidyn.concurrency import made_once
from ramidyn.description.forces.fields import is_signed
from ramidyn.description.pose import Array
from ramidyn.errors import ArgumentError, ShapeError, one_of
from ramidyn.function import CallOptions
from ramidyn.mechanism.state_arrays import checked_numbers, normalized, vector
from ramidyn.mechanism.states import check_closed
from ramidyn.simulation.actions import EXTERNAL, action_shapes
from ramidyn.simulation.function_arguments import (
    by_name,
    check_controller,
    check_functions,
    check_inputs,
    check_one_source,
    checked_record,
    checked_updates,
    functions_by_name,
)
from ramidyn.simulation.inputs import (
    CheckedInput,
    arrangements,
    checked_inputs,
    checked_memory,
    random_inputs,
    step_names,
)
from ramidyn.simulation.sensors import asked_sensors
from ramidyn.simulation.state import START, RunState, continued
from ramidyn.simulation.traced_step import (
    StepOptions,
    Traced,
    TracedStep,
)
from ramidyn.tracing.context import (
    SHARED,
    finite_number,
    flag,
    nonnegative,
)
from ramidyn.tree.parameters import parameter_shapes

if TYPE_CHECKING:
    from ramidyn.robot import Robot

Controller = Callable[
    [float, Array, Array], npt.ArrayLike | Mapping[str, npt.ArrayLike]
]
"""(time, q, qd) -> tau, or a dict of tau, control and other inputs of forces"""
Record = Sequence[str] | Mapping[str, str | Traced]
MOST_STEPS = 2**53
"""they are counted by a float"""


@final
@dataclass(frozen=True, slots=True)
class CheckedArguments:
    """A rollout or a simulation whose arguments have been checked."""

    robot: Robot
    method: str
    """of Robot: rollout or simulate"""
    options: StepOptions
    values: dict[str, Any]
    """all inputs, dt and the time at the start among them"""
    steps: int
    every: int
    controller: Controller | None
    period: int
    """steps between calls of the controller"""
    events: Mapping[str, Traced]
    constants: Mapping[str, Array]
    """inputs of events"""
    given: Collection[str]
    """names of the inputs that the user gave"""
    timed: Mapping[str, Array]
    """inputs with a row for each step"""

    def with_arrays(
        self, values: dict[str, Any], timed: Mapping[str, Array]
    ) -> CheckedArguments:
        """Return the same call with other numbers."""
        return CheckedArguments(
            self.robot,
            self.method,
            self.options,
            values,
            self.steps,
            self.every,
            self.controller,
            self.period,
            self.events,
            self.constants,
            self.given,
            timed,
        )

    @property
    def is_held(self) -> bool:
        """Whether a function sets τ, which is held, or something is remembered."""
        o = self.options
        has_policy = o.policy is not None and o.is_held
        return self.controller is not None or has_policy or bool(o.memory)


def check_arguments(
    robot: Robot,
    method: str,
    q: npt.ArrayLike | RunState,
    qd: npt.ArrayLike | None,
    tau: npt.ArrayLike | Traced | None,
    dt: float,
    *,
    integrator: str | None,
    policy: Traced | None,
    inputs: Mapping[str, Any] | None,
    record: Record,
    every: int,
    until: Traced | None,
    parameters: Mapping[str, npt.ArrayLike] | None,
    stabilize: str,
    rate: float,
    start: float,
    steps: int | None = None,
    duration: float | None = None,
    controller: Controller | None = None,
    control_dt: float | None = None,
    total: Mapping[str, Traced] | None = None,
    events: Mapping[str, Traced] | None = None,
    restart: bool | Traced = False,
    seed: int | None = None,
    damping: float | None = None,
    memory: Mapping[str, Any] | None = None,
    updates: Mapping[str, Traced] | None = None,
    expressed_in: str = "local",
    dtype: str = "float64",
    threads: int = 1,
    has_tables: bool = True,
) -> CheckedArguments:
    """Return the arguments of a method, "rollout" or "simulate", or raise an error."""
    has_loops, is_one = bool(robot.model.loops), method == "simulate"
    if integrator is None:
        integrator = "semi_implicit_euler" if robot.model.contacts else "rk4"
    one_of("integrator", integrator, integrators_of(method))
    one_of("stabilize", stabilize, stabilizations_of(method))
    if has_loops:
        check_loops(robot.name, method, integrator, stabilize)
    if robot.model.contacts:
        check_contacts(robot.name, integrator, stabilize if has_loops else None)
    given, frames = checked_inputs(robot, inputs, is_one)
    changed = arrays_by_name("parameters", parameters)
    check_parameters(robot, changed, is_one)
    check_one_source(tau, policy, controller)
    check_controller(controller, control_dt)
    call = CallOptions.checked(dtype, None, threads, "batch_first")
    values = first_state(robot, q, qd, start, is_one)
    is_function = is_one and callable(tau)
    timed: dict[str, CheckedInput] = dict(given)
    if controller is not None:
        shapes = action_shapes(robot.model)
        held = {n: CheckedInput(np.zeros(s), s) for n, s in shapes.items()}
        own = {"tau", *(memory or ())}
        given = {n: x for n, x in held.items() if n not in own} | given
        values["tau"] = np.zeros(robot.nv)
    elif tau is not None and not is_function:
        values["tau"] = checked_tau(robot, cast(Any, tau), is_one)
        timed["tau"] = CheckedInput(values["tau"], (robot.nv,))
    h = finite_number("dt", dt, "a positive number of seconds", lambda x: x > 0.0)
    names = step_names(
        given, has_tables and policy is not None and integrator != "adaptive"
    )
    values |= {**{names[n]: x.array for n, x in given.items()}, **changed, "dt": h}
    remembered = checked_memory(robot, memory, values, is_one)
    values |= {n: x.array for n, x in remembered.items()}
    values[START] = finite_number("start", start, "a number of seconds")
    functions = (policy, tau, until, restart, record, total, updates)
    options = StepOptions(
        integrator=integrator,
        stabilize=stabilize if has_loops else "none",
        rate=nonnegative("rate")(rate),
        policy=cast(Any, tau) if is_function else policy,
        has_tau="tau" in values,
        record=checked_record(record, robot, integrator, stabilize, remembered),
        total=tuple(functions_by_name("total", total).items()),
        until=until,
        restart=callable(restart) or flag("restart")(restart),
        restart_state=restart if callable(restart) else None,
        has_random=seed is not None,
        inputs=tuple((names[n], x.shape) for n, x in given.items()),
        external=frames,
        expressed_in=SHARED["expressed_in"](expressed_in),
        sensors=asked_sensors(robot, functions),
        memory=tuple((n, x.shape) for n, x in remembered.items()),
        updates=checked_updates(updates, remembered, integrator),
        parameters=tuple(changed),
        dtype=call.dtype,
        threads=call.threads,
        is_held=not is_function,
        damping=None if damping is None else nonnegative("damping")(damping),
    )
    if seed is not None:
        values |= random_inputs(seed, values, given, integrator)
    if isinstance(q, RunState):
        step = TracedStep(robot, options)
        values |= continued(q, h, () if integrator == "adaptive" else step.state)
    watched = functions_by_name("events", events)
    fixed = {n: x.array for n, x in given.items() if not x.leading}
    constants = {n: x for n, x in fixed.items() if n != EXTERNAL} | changed
    check_functions(robot, options, watched, constants)
    check_inputs(robot, options, watched)
    if is_one:
        steps = steps_of(duration, h, timed)
    if has_loops and is_one:
        check_closed(robot, values["q"], values["qd"])
    return CheckedArguments(
        robot,
        method,
        options,
        values,
        checked_steps(steps, timed, every),
        operator.index(every),
        controller,
        1 if control_dt is None else steps_in("control_dt", control_dt, h),
        watched,
        constants,
        tuple(timed),
        {n: x.array for n, x in timed.items() if (x.rows or 1) > 1},
    )


REPEATED = 16
"""calls of a robot whose options are remembered"""


def repeated_arguments(
    robot: Robot, method: str, state: tuple[Any, ...], options: dict[str, Any]
) -> CheckedArguments:
    """Return `check_arguments`; what was checked before is checked by its key.

    Calls that differ only in the numbers of q, qd and tau take a tenth of the time.

    Args:
        robot: the robot.
        method: "rollout" or "simulate".
        state: q, qd, tau and dt.
        options: all others, always in the same order.
    """
    q, qd, tau, dt = state
    known: OrderedDict[Any, CheckedArguments] = made_once(
        robot.__dict__, "_calls", OrderedDict[Any, CheckedArguments]
    )
    key, before = _call_key(robot, method, (q, qd, tau), (dt, *options.values())), None
    if key is not None:
        try:
            before = known.get(key)
        except TypeError:  # some are lists, dictionaries or arrays
            key = _hashable_key(key)
            before = None if key is None else known.get(key)
    if before is None:
        found = check_arguments(robot, method, q, qd, tau, dt, **options)
        if key is not None:
            own = {"q", "qd"} if tau is None else {"q", "qd", "tau"}
            constant = {n: x for n, x in found.values.items() if n not in own}
            known[key] = found.with_arrays(constant, {})
            if len(known) > REPEATED:
                known.popitem(last=False)
        return found
    is_one = method == "simulate"
    values = before.values | first_state(robot, q, qd, options["start"], is_one)
    timed: dict[str, Array] = {}
    if tau is not None:
        values["tau"] = checked = checked_tau(robot, tau, is_one)
        if checked.ndim > 1 and checked.shape[-2] > 1:
            timed["tau"] = checked
    return before.with_arrays(values, timed)


def _call_key(
    robot: Robot, method: str, arrays: tuple[Any, ...], options: tuple[Any, ...]
) -> tuple[Any, ...] | None:
    """Return what the checks of a call depend on, or None if that may change.

    Types are part of it: 1, 1.0 and True are equal.
    """
    if arrays[0] is None or robot.model.loops:
        return None
    shapes: list[Any] = []
    for array in arrays:
        if type(array) is np.ndarray:
            shapes.append(array.shape)
        elif array is None:
            shapes.append(None)
        else:
            return None
    return (method, *shapes, *options, *map(type, options))


def _hashable_key(key: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """Return a key with what lists and dictionaries contain; None if it may change."""
    found = tuple([_value_key(x) if type(x) in (dict, list) else x for x in key])
    try:
        hash(found)
    except TypeError:  # inputs and parameters may have arrays
        return None
    return found


def _value_key(value: Any) -> Any:
    """Return a value with its type, and with those of what it contains."""
    if type(value) is dict:
        named = cast(dict[Any, Any], value)
        return (dict, *named, *map(_value_key, named.values()))
    if type(value) is list:
        return list, *map(_value_key, cast(list[Any], value))
    return type(value), value


# Numbers and arrays.


def arrays_by_name(what: str, given: object) -> dict[str, Array]:
    """Return arrays of numbers by name."""
    found = by_name(what, given, "a dictionary of arrays")
    return {name: checked_numbers(name, value) for name, value in found.items()}


def first_state(
    robot: Robot,
    q: npt.ArrayLike | RunState,
    qd: npt.ArrayLike | None,
    start: object,
    is_one: bool,
) -> dict[str, Any]:
    """Return q and q̇ before the first step."""
    if isinstance(q, RunState):
        return end_of_run(robot, q, qd, start, is_one)
    if is_one:
        return one_state(robot, q, qd)
    velocity = np.zeros(robot.nv) if qd is None else checked_numbers("qd", qd)
    return {"q": checked_numbers("q", q), "qd": velocity}


def one_state(
    robot: Robot, q: npt.ArrayLike, qd: npt.ArrayLike | None
) -> dict[str, Any]:
    """Return one state; ShapeError for a batch."""
    array = checked_numbers("q", q)
    if array.ndim > 1:
        raise ShapeError(
            f"q has shape {array.shape}; simulate takes one state of shape "
            f"({robot.nq},); rollout takes a batch"
        )
    velocity = np.zeros(robot.nv) if qd is None else vector("qd", qd, robot.nv)
    return {"q": normalized(robot, "q", q), "qd": velocity}


def end_of_run(
    robot: Robot, state: RunState, qd: object, start: object, is_one: bool
) -> dict[str, Any]:
    """Return q and q̇ of a state that is continued, as they are."""
    if qd is not None or start != 0.0:
        name = "start" if qd is None else "qd"
        raise ArgumentError(
            f"{name} is given, and q is the end of a run, which has its own; pass "
            "q=state.q to replace it"
        )
    if state.q.shape[-1] != robot.nq or state.qd.shape[-1] != robot.nv:
        raise ArgumentError(
            f"q is the end of a run with nq = {state.q.shape[-1]}, nv = "
            f"{state.qd.shape[-1]}; robot {robot.name!r} has {robot.nq} and {robot.nv}"
        )
    if is_one and state.q.ndim > 1:
        raise ShapeError(
            f"q is the end of {len(state.q)} motions; simulate continues one, such as "
            "run.end[0]"
        )
    return {"q": state.q, "qd": state.qd}


def checked_tau(robot: Robot, tau: npt.ArrayLike, is_one: bool) -> Array:
    """Return joint forces; those of one state are of all steps or of each one."""
    array = checked_numbers("tau", tau)
    if is_one and (array.ndim > 2 or array.shape[-1:] != (robot.nv,)):
        nv = robot.nv
        raise ShapeError(
            f"tau has shape {array.shape}; expected ({nv},), (steps, {nv}), or a "
            "function such as lambda time: ..."
        )
    return array


def check_parameters(robot: Robot, given: Mapping[str, Array], is_one: bool) -> None:
    """Raise an error for an unknown parameter, or one of the wrong shape."""
    for name, shape in parameter_shapes(tuple(given), robot.model).items():
        found = given[name].shape
        lead = len(found) - len(shape)
        if found[lead:] != shape or lead not in ((0,) if is_one else (0, 1)):
            each = "" if is_one else f" or {('batch', *shape)}".replace("'", "")
            raise ShapeError(
                f"parameters has {name!r} of shape {found}; expected {shape}{each}"
            )
        _check_number_of_contact(robot, name, given[name])


def _check_number_of_contact(robot: Robot, name: str, values: Array) -> None:
    """Raise ArgumentError for a number of a contact that would add energy."""
    number, _, owner = name.partition(":")
    for contact in robot.contacts:
        if contact.name != owner or is_signed(contact, number):
            continue
        is_bounce = number == "restitution"
        wrong = values[(values < 0) | (is_bounce & (values > 1))]
        if wrong.size:
            wanted = "numbers from 0 to 1" if is_bounce else "numbers of 0 or more"
            raise ArgumentError(
                f"parameters has {wrong[0]:g} for {name!r}; expected {wanted}"
            )


# Steps and times.


def checked_steps(
    steps: object, timed: Mapping[str, CheckedInput], every: object
) -> int:
    """Return the number of steps: as given, or as many as the inputs have."""
    lengths = {n: x.rows for n, x in timed.items() if x.rows is not None}
    if steps is None:
        steps = max(lengths.values(), default=None)
        if steps is None:
            raise ArgumentError(
                "steps is missing; pass steps=, or tau of shape (steps, nv)"
            )
    try:
        count = operator.index(cast(Any, steps))
        period = operator.index(cast(Any, every))
    except TypeError:
        count = period = 0
    if not 1 <= count <= MOST_STEPS or period < 1:
        raise ArgumentError(
            f"steps is {steps!r}, every {every!r}; expected integers of 1 or more"
        )
    if count % period:
        raise ArgumentError(
            f"steps is {count}; expected a multiple of every, which is {period}"
        )
    for name, length in lengths.items():
        if length not in (1, count):
            given = timed[name]
            others = "" if name == "tau" else f"; {arrangements(given.array.shape)}"
            raise ArgumentError(
                f"steps is {count}; {name} has {length} of shape {given.array.shape}"
                f"{others}"
            )
    return count


def steps_of(
    duration: object, dt: float, timed: Mapping[str, CheckedInput]
) -> int | None:
    """Return the number of steps of a duration; None if τ or inputs have one."""
    if duration is None:
        if any((x.rows or 1) > 1 for x in timed.values()):
            return None
        duration = 1.0
    return steps_in("duration", duration, dt)


def steps_in(what: str, value: object, dt: float) -> int:
    """Return how many steps a time is long."""
    time = finite_number(what, value, "a positive number of seconds", lambda x: x > 0.0)
    count = time / dt
    steps = round(min(count, MOST_STEPS))
    if steps < 1 or abs(count - steps) > 1e-6 * steps:
        raise ArgumentError(
            f"{what} is {value!r} s, which is {count:.6g} steps of dt = {dt!r} s; "
            "expected a whole number"
        )
    return steps


def checked_times(arguments: CheckedArguments, times: npt.ArrayLike | None) -> Array:
    """Return the times of the rows of an adaptive run."""
    start, dt = arguments.values[START], arguments.values["dt"]
    if times is None:
        rows = arguments.steps // arguments.every + 1
        return start + dt * arguments.every * np.arange(rows)
    array = checked_numbers("times", times).astype(float)
    is_usable = array.ndim == 1 and len(array) > 0 and array[-1] > start <= array[0]
    if not is_usable or not (np.diff(array) > 0.0).all():
        raise ArgumentError(
            f"times is {times!r}; expected increasing numbers from start = {start:g} on"
        )
    return array
