"""Warnings about a finished run: divergence, open loops, passed limits, overlaps.

Each is issued at most once for a run, at the line that called rollout or simulate.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from ramidyn.compiler import compile
from ramidyn.concurrency import made_once
from ramidyn.coordinates.configurations import JointLimits
from ramidyn.coordinates.coordinates import configuration_labels
from ramidyn.description.contacts import HardLimit
from ramidyn.description.forces.fields import unit_on
from ramidyn.description.pose import Array
from ramidyn.errors import ModelWarning
from ramidyn.mechanism.state_arrays import is_finite
from ramidyn.mechanism.states import ADMISSIBLE, rank
from ramidyn.quantities.contact_places import contact_places
from ramidyn.quantities.contact_step import touch_names
from ramidyn.simulation.run import Run

if TYPE_CHECKING:
    from ramidyn.robot import Robot

PASSED = 0.1
"""[rad, m]: a joint that passes its limit by more is named"""
FEW, MANY, APART = 2**10, 2**14, 32
"""states of a run, rows counted: so few are all looked at, of more one in APART, at
most MANY; reading all would take longer than computing them"""

OVERLAPPING = 1e-4
"""[m, rad]: contacts that overlap by more at the start are named"""


def robot_of(run: Run) -> Robot:
    """Return the robot of a run that was just computed."""
    assert run.robot is not None
    return run.robot


def warn_of_divergence(run: Run, integrator: str) -> None:
    """Warn of states that are no longer finite."""
    if run.end is not None and is_finite(run.end.q) and is_finite(run.end.qd):
        return
    bad = run.diverged
    if not len(bad):
        return
    first = int(bad[0])
    states = np.concatenate([run.q, run.qd], axis=-1)
    rows = np.isfinite(states if run.batch is None else states[first]).all(axis=-1)
    when = run.times[int(np.argmin(rows))]
    which = "the state" if run.batch is None else f"state {first}"
    more = f" ({len(bad):,} of {run.batch:,} states in all)" if len(bad) > 1 else ""
    cure = "" if integrator == "adaptive" else "a shorter dt may help, "
    warnings.warn(
        f"robot {robot_of(run).name!r}: {which} is not finite from t = {when:.6g} s "
        f"on{more}; {cure}see run.diverged",
        RuntimeWarning,
        stacklevel=4,
    )


def warn_of_open_loops(run: Run, stabilize: str) -> None:
    """Warn of loops that opened."""
    residual, robot = run.recorded.get("residual"), robot_of(run)
    if residual is None or not np.isfinite(residual).any():
        return
    worst = float(np.nanmax(residual))
    if worst <= ADMISSIBLE or worst <= rank(robot).closed:
        return
    warnings.warn(
        f"robot {robot.name!r}: |Φ| reaches {worst:.3g} with stabilize={stabilize!r}; "
        "'project' or a smaller dt keeps it closed",
        ModelWarning,
        stacklevel=4,
    )


def warn_of_passed_limits(run: Run, is_examined: bool = True) -> None:
    """Warn of the joint that is first beyond a limit, if by more than `PASSED`.

    Of a large run some rows are looked at, the last one always, and only that unless
    the run ``is_examined``; if one of them is beyond, all are.
    """
    robot = robot_of(run)
    lower, upper, is_limited = made_once(
        robot.__dict__, "_passed", lambda: widened(robot.limits)
    )
    if not is_limited or not run.q.size:
        return
    q = run.q if run.batch is not None else run.q[None]
    count = q.shape[0] * q.shape[1]
    if count <= FEW and not np.count_nonzero((q > upper) | (q < lower)):
        return
    apart = max(1, min(APART, count // FEW), count // MANY)
    rows = q[:, ::-apart]
    if not is_examined and count > FEW and run.end is not None:
        rows = run.end.q
    by_joint: Array = np.ascontiguousarray(np.transpose(rows))
    some: Array = np.reshape(by_joint, (q.shape[2], -1))
    highest, lowest = some.max(axis=1), some.min(axis=1)
    is_inside = (highest <= upper) & (lowest >= lower)
    if np.count_nonzero(is_inside) == len(is_inside):
        return
    if np.isnan(highest).any():  # of states that diverged, which are left out
        some = some[:, np.isfinite(some).all(axis=0)]
        highest, lowest = (f(some, axis=1, initial=0.0) for f in (np.max, np.min))
    is_passed = (highest > upper) | (lowest < lower)
    columns: npt.NDArray[np.intp] = np.flatnonzero(is_passed)
    if not len(columns):
        return
    limits = robot.limits
    q, upper, lower = q[..., columns], limits.upper[columns], limits.lower[columns]
    is_beyond = ((q > upper + PASSED) | (q < lower - PASSED)) & np.isfinite(q)
    if not is_beyond.any():
        return
    row = int(np.argmax(is_beyond.any(axis=(0, 2))))
    state, k = (int(x) for x in np.argwhere(is_beyond[:, row])[0])
    value = float(q[state, row, k])
    which, limit = ("upper", upper[k]) if value > upper[k] else ("lower", lower[k])
    label = configuration_labels(robot.model, robot.conventions)[int(columns[k])]
    states = int(is_beyond.any(axis=(1, 2)).sum())
    where = "" if run.batch is None else f" in state {state}"
    count = "" if states < 2 else f" ({states:,} of {run.batch:,} states in all)"
    more = int(is_beyond.any(axis=(0, 1)).sum()) - 1
    if more:
        count += f", as are {more} more of its coordinates"
    warnings.warn(
        f"robot {robot.name!r}: joint {label.name!r} is {abs(value - limit):.3g} "
        f"{label.unit} beyond its {which} limit, {limit:.4g} {label.unit}, at t = "
        f"{run.times[row]:.6g} s{where}{count}; limits do not act by themselves: "
        "robot.add_hard_limits() or ramidyn.forces.JointLimit make them stops",
        RuntimeWarning,
        stacklevel=4,
    )


def widened(limits: JointLimits) -> tuple[Array, Array, bool]:
    """Return limits that joints may not pass, and whether there are any."""
    lower, upper = limits.lower - PASSED, limits.upper + PASSED
    return lower, upper, bool(np.isfinite([lower, upper]).any())


def warn_of_overlaps(run: Run, changed: Collection[str] = ()) -> None:
    """Warn of a contact that overlaps at the start of a run, the deepest one.

    Args:
        run: the run.
        changed: parameters with values of their own; those of contacts prevent it.
    """
    robot = robot_of(run)
    contacts = {c.name for c in robot.contacts}
    if not contacts or any(name.partition(":")[2] in contacts for name in changed):
        return
    q = run.q[..., 0, :] if run.batch is not None else run.q[:1]
    gaps: list[Array] = []
    names = touch_names(robot.model)
    if names:
        places: Any = compile(contact_places, robot)(np.ascontiguousarray(q))
        gaps.append(places[..., 3])
    joints = {j.name: j for j in robot.model.joints}
    for limit in robot.contacts:
        if isinstance(limit, HardLimit):
            low, high = cast("tuple[float, float]", (limit.lower, limit.upper))
            x = q[:, joints[limit.joint].q_index]
            gaps.append(np.minimum(x - low, high - x)[:, None])
            names.append(limit.name)
    if not names:
        return
    depth = -np.nan_to_num(np.concatenate(gaps, axis=1))
    state, k = (int(i) for i in np.unravel_index(np.argmax(depth), depth.shape))
    if depth[state, k] <= OVERLAPPING:
        return
    unit = "m"
    for limit in robot.contacts:
        if limit.name == names[k] and isinstance(limit, HardLimit):
            unit = unit_on("rad or m", [joints[limit.joint].type])
    where = "" if run.batch is None else f" in state {state}"
    more = int((depth > OVERLAPPING).any(axis=0).sum()) - 1
    others = f", as do {more} more" if more > 1 else ", as does 1 more" if more else ""
    warnings.warn(
        f"robot {robot.name!r}: contact {names[k]!r} overlaps by {depth[state, k]:.3g} "
        f"{unit} at the start{where}{others}; steps take overlaps apart little by "
        "little: start where nothing overlaps",
        ModelWarning,
        stacklevel=4,
    )
