"""Functions that users give to rollout and simulate, and the inputs that they take."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

from ramidyn.algorithms.integrators import INTEGRATORS
from ramidyn.backend.runtime.memory_layout import TABLE
from ramidyn.description.pose import Array
from ramidyn.errors import ArgumentError, did_you_mean, names_of
from ramidyn.simulation.actions import EXTERNAL, action_shapes, needed_input
from ramidyn.simulation.run import Run
from ramidyn.simulation.sensors import sensors_by_name
from ramidyn.simulation.traced_step import (
    BUILT_IN,
    CONTACT_RECORDS,
    OWN_INPUTS,
    RANDOM,
    StepOptions,
    Traced,
    wanted_names,
)
from ramidyn.symbolic.parameters import parameters_of

if TYPE_CHECKING:
    from ramidyn.robot import Robot


def by_name(what: str, given: object, expected: str) -> dict[str, Any]:
    """Return a mapping from names; None is empty."""
    if given is None:
        return {}
    if isinstance(given, Mapping):
        found = dict(cast(Mapping[Any, Any], given))
        if all(isinstance(name, str) for name in found):
            return found
    raise ArgumentError(f"{what} is {given!r}; expected {expected} by name")


def functions_by_name(what: str, given: object) -> dict[str, Traced]:
    """Return functions by name, which become attributes of a run or of its events."""
    found = by_name(what, given, "a dictionary of functions")
    for name, function in found.items():
        if not callable(function):
            raise ArgumentError(
                f"{what} has {name!r}: {function!r}; expected a function"
            )
        if what == "total":
            check_run_name(what, name)
    return found


def check_run_name(what: str, name: str) -> None:
    """Raise ArgumentError for a name that cannot be an attribute of a run."""
    if not name.isidentifier() or hasattr(Run, name) or name == "ended":
        raise ArgumentError(f"{what} has the name {name!r}; choose another name")


def checked_updates(
    updates: object, memory: Collection[str], integrator: str
) -> tuple[tuple[str, Traced], ...]:
    """Return the functions that change what is remembered, by name."""
    if memory and integrator == "adaptive":
        raise ArgumentError(
            "memory is for fixed steps, and integrator is 'adaptive'; use 'rk4'"
        )
    found = functions_by_name("updates", updates)
    for name in found:
        if name not in memory:
            raise ArgumentError(
                f"updates has {name!r}{did_you_mean(name, memory)}, which has no start "
                f"value; pass memory={{{name!r}: ...}}"
            )
    return tuple(found.items())


def checked_record(
    record: object,
    robot: Robot,
    integrator: str,
    stabilize: str,
    memory: Iterable[str],
) -> tuple[tuple[str, str | Traced], ...]:
    """Return what is recorded besides q and q̇, by name."""
    given: object = record
    if isinstance(record, Iterable) and not isinstance(record, Mapping):
        given = {n: n for n in names_of("record", cast(object, record))}
    named = by_name("record", given, "a list of names, or a dictionary of functions")
    has_loops = bool(robot.model.loops)
    has_steps = INTEGRATORS[integrator].step is not None
    closes = has_loops and has_steps and stabilize in ("project", "partition")
    needs = {"residual": has_loops, "closing_steps": closes}
    needs |= dict.fromkeys(CONTACT_RECORDS, bool(robot.model.contacts))
    possible = [n for n in BUILT_IN if needs.get(n, True)]
    further = (*action_shapes(robot.model), *memory, *sensors_by_name(robot))
    possible += [n for n in further if n not in possible]
    for name, what in named.items():
        if not callable(what) and not (isinstance(what, str) and what in possible):
            raise ArgumentError(
                f"record has {what!r}{did_you_mean(what, possible)}; possible: "
                f"{', '.join(map(repr, possible))}, or "
                "a function by name, such as {'hand': lambda q: robot.pose(q, 'hand')}"
            )
        check_run_name("record", name)
    return tuple(named.items())


def check_one_source(tau: object, policy: object, controller: object) -> None:
    """Raise ArgumentError if joint forces come from more than one function."""
    given = {"policy": policy is not None, "controller": controller is not None}
    given |= {"tau": tau is not None and (callable(tau) or controller is not None)}
    sources = [name for name, is_given in given.items() if is_given]
    if len(sources) > 1:
        raise ArgumentError(
            f"joint forces are given by {' and by '.join(sources)}; pass one of them"
        )


def check_controller(controller: object, control_dt: object) -> None:
    """Raise ArgumentError for a controller that cannot be called."""
    if controller is None:
        if control_dt is not None:
            raise ArgumentError("control_dt is given without a controller")
        return
    expected = "expected a function of (time, q, qd)"
    if not callable(controller):
        raise ArgumentError(f"controller is {controller!r}; {expected}")
    try:
        inspect.signature(controller).bind(0.0, None, None)
    except TypeError as error:
        raise ArgumentError(f"controller: {error}; {expected}") from None
    except ValueError:  # a function without a signature, such as some of C
        return


def check_functions(
    robot: Robot,
    options: StepOptions,
    events: Mapping[str, Traced],
    constants: Mapping[str, Array],
) -> None:
    """Raise ArgumentError for a function with an argument that no input provides."""
    o = options
    if o.restart and o.until is None:
        raise ArgumentError("restart needs until, the condition of a restart")
    inputs = [n.removeprefix(TABLE) for n, _ in o.inputs]
    inputs += dict(o.memory)
    inputs += [RANDOM] if o.has_random else []
    inputs += [s.name for s in o.sensors if s.is_of_motion]
    known = dict.fromkeys(["q", "qd", "dt", "time", *inputs, *o.parameters])
    if o.policy is not None:
        what = "policy" if o.is_held else "tau"
        for s in o.sensors:
            if not s.is_of_motion and s.name in (parameters_of(o.policy) or ()):
                raise ArgumentError(
                    f"{what} asks for sensor {s.name!r}, which needs accelerations "
                    f"that the {what} sets; remember what it measured by "
                    f"memory={{'last': ...}}, updates={{'last': lambda {s.name}: ...}}"
                )
        wanted_names(what, o.policy, known | ({"tau": None} if o.has_tau else {}))
    known |= dict.fromkeys([*action_shapes(robot.model), "qdd"])
    if o.until is not None:
        wanted_names("until", o.until, known)
    known |= dict.fromkeys(s.name for s in o.sensors)
    known |= dict.fromkeys(CONTACT_RECORDS if robot.model.contacts else ())
    for name, function in (*o.record, *o.total):
        if callable(function):
            wanted_names(name, function, known)
    if o.restart_state is not None:
        wanted_names("restart", o.restart_state, known)
    for name, function in o.updates:
        wanted_names(f"update {name!r}", function, known)
    twice = [name for name, _ in o.total if name in dict(o.record)]
    if twice:
        raise ArgumentError(f"record and total both have {twice[0]!r}")
    for name, event in events.items():
        known = dict.fromkeys(["q", "qd", "time", *constants])
        wanted_names(f"event {name!r}", event, known)


def check_inputs(
    robot: Robot, options: StepOptions, events: Mapping[str, Traced]
) -> None:
    """Raise ArgumentError unless inputs are those that forces and functions take."""
    given = [n.removeprefix(TABLE) for n, _ in options.inputs]
    wanted = [n for n in robot.model.force_inputs if n != "time"]
    missing = [n for n in wanted if n not in (*given, *dict(options.memory))]
    if missing and options.policy is None:
        raise ArgumentError(needed_input(robot.name, missing[0]))
    wanted.append(EXTERNAL)
    named = (*options.record, *options.total, *options.updates, *events.items())
    alone = (options.policy, options.until, options.restart_state)
    for function in (*alone, *(what for _, what in named)):
        if callable(function):
            wanted += [n for n in parameters_of(function) or () if n not in OWN_INPUTS]
    own = {*CONTACT_RECORDS, *(s.name for s in options.sensors)}
    wanted = [n for n in wanted if n not in own]
    for name in given:
        if name not in wanted:
            raise ArgumentError(
                f"inputs has {name!r}{did_you_mean(name, wanted)}, which no function "
                f"and no force of robot {robot.name!r} takes; they take: "
                f"{', '.join(dict.fromkeys(wanted))}"
            )
