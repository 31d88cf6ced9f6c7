"""Pictures and plots of a run; see `Run.draw` and `Run.plot`."""

from __future__ import annotations

import html
import operator
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from ramidyn.compiler import compile
from ramidyn.coordinates.coordinates import (
    Label,
    configuration_labels,
    force_unit,
    velocity_labels,
)
from ramidyn.description.formats.shapes import warn_of_shapes
from ramidyn.description.pose import Array
from ramidyn.errors import ArgumentError, Error, names_of, unknown_name
from ramidyn.quantities.contact_places import contact_places
from ramidyn.quantities.public import pose
from ramidyn.view.notebook import run_html
from ramidyn.view.picture import (
    MOST_BODIES,
    draw_arrows,
    draw_trails,
    inline_picture,
)
from ramidyn.view.plots import Row, Series, plot_series, rows_of
from ramidyn.view.rerun_log import log_poses, log_series, log_shapes, rerun_recording
from ramidyn.view.scene import check_layers, scene_of

if TYPE_CHECKING:
    from ramidyn.robot import Robot
    from ramidyn.simulation.run import Run

FEW: Final = 4
"""states of a batch that are plotted as curves, not as bands"""
UNITS: Final = {"energy": "J", "residual": "m, rad"}
"""of recorded quantities that are not of joints"""
FAR: Final = 1e4
"""[m, rad] A configuration with a larger entry has diverged, and is not drawn."""
MOST_POSES: Final = 10_000
POSES: Final = 5
"""in the picture of a notebook"""
Index = npt.NDArray[np.intp]


def draw(
    run: Run,
    times: int | npt.ArrayLike,
    states: int | Sequence[int],
    trails: Sequence[str],
    layers: Sequence[str],
    axes: Any,
    view: tuple[float, float],
    mesh_directories: Sequence[str | os.PathLike[str]],
) -> Any:
    """Draw a strobe picture; see `Run.draw`."""
    robot = robot_of(run, "draw")
    trails = names_of("trails", trails)
    for name in trails:
        if name not in robot.frame_names:
            owner = f"robot {robot.name!r}"
            raise unknown_name("frame", name, owner, robot.frame_names)
    q = states_first(run, run.q)[chosen_states(run, states)]
    is_shown: npt.NDArray[np.bool_] = np.all(np.abs(q) < FAR, axis=2)  # not if NaN
    if not is_shown.any():
        raise ArgumentError("draw: no state to draw is finite")
    rows = _chosen_rows(run.times, times, is_shown.any(axis=0))
    drawn = np.transpose(is_shown[:, rows])
    poses = np.swapaxes(q[:, rows], 0, 1)[drawn]
    if not len(poses):
        raise ArgumentError("draw: no state is finite at these times")
    axes = robot.draw(
        poses, layers=layers, axes=axes, view=view, mesh_directories=mesh_directories
    )
    path: Any = robot.pose
    paths = {
        name: [
            path(np.ascontiguousarray(q[k, is_shown[k]]), name)[:, :3, 3]
            for k in range(len(q))
        ]
        for name in trails
    }
    draw_trails(axes, paths)
    forces = run.recorded.get("contact_forces")
    if forces is not None:
        chosen = states_first(run, forces)[chosen_states(run, states)]
        pushes = np.swapaxes(chosen[:, rows], 0, 1)[drawn]
        if pushes.shape[1]:
            places: Any = compile(contact_places, robot)(np.ascontiguousarray(poses))
            weight = robot.mass * float(np.linalg.norm(robot.gravity))
            draw_arrows(axes, places[..., :3], pushes, weight)
    return axes


def nearest_rows(times: Array, wanted: Array) -> Index:
    """Return the rows of a run that are nearest to some times."""
    return np.abs(times[None] - wanted[:, None]).argmin(axis=1)


def _chosen_rows(times: Array, wanted: int | npt.ArrayLike, is_shown: Any) -> Index:
    """Return the rows to draw: that many of those that can be, or nearest to times."""
    try:
        count = operator.index(wanted)  # type: ignore[arg-type]  # a number, or times
    except TypeError:
        try:
            at = np.atleast_1d(np.asarray(wanted, dtype=float))
        except (TypeError, ValueError):
            at = np.zeros(0)
        if at.size == 0 or not np.isfinite(at).all():
            raise ArgumentError(
                f"times is {wanted!r}; expected a number of poses, or times [s]"
            ) from None
        outside = at[(at < times[0] - 1e-9) | (at > times[-1] + 1e-9)]
        if outside.size:
            raise ArgumentError(
                f"times has {outside[0]:g}; the run is from {times[0]:g} to "
                f"{times[-1]:g} s"
            ) from None
        return nearest_rows(times, at)
    if not 1 <= count <= MOST_POSES:
        raise ArgumentError(
            f"times is {wanted!r}; expected from 1 to {MOST_POSES:,} poses"
        )
    possible = np.flatnonzero(is_shown)
    even = np.linspace(times[possible[0]], times[possible[-1]], count)
    nearest = nearest_rows(times[possible], even)
    return possible[np.unique(nearest)] if count > 1 else possible[-1:]


# ------------------------------------------------------------ plots


def plot(
    run: Run,
    names: Sequence[str],
    joints: Sequence[str] | None,
    states: int | Sequence[int] | None,
) -> Any:
    """Plot quantities over time; see `Run.plot`."""
    check_rows(run)
    known = ["q", "qd", *run.recorded]
    for name in names:
        if name not in known:
            raise unknown_name("quantity", name, "this run", known)
    is_few = run.batch is None or run.batch <= FEW
    if states is None:
        chosen = chosen_states(run, range(run.batch or 1))
    else:
        chosen = chosen_states(run, states)
    curves = [f"state {s}" for s in chosen] if is_few or states is not None else []
    return plot_series(
        _title(run, curves),
        run.times,
        [series_of(run, name, chosen) for name in (names or known)],
        _rows(run, joints),
        curves,
        run.events,
    )


def series_of(run: Run, name: str, states: Index) -> Series:
    """Return a quantity of a run with labels and limits."""
    array = {"q": run.q, "qd": run.qd, **run.recorded}[name]
    values = states_first(run, array)[states]
    values = np.reshape(values, (len(states), len(run.times), -1))
    n = values.shape[2]
    lower, upper = np.full(n, -np.inf), np.full(n, np.inf)
    robot = run.robot
    if robot is not None and name in ("q", "qd", "qdd", "tau"):
        labels, limit = _joint_labels(robot, name)
        lower, upper = (lower, upper) if limit is None else limit
        return Series(name, values, labels, lower, upper, "q" if name == "q" else "v")
    unit = UNITS.get(name, "")
    texts = [f"{name}[{k}]" for k in range(n)] if n > 1 else [name]
    return Series(name, values, [Label(x, unit) for x in texts], lower, upper)


def _joint_labels(
    robot: Robot, name: str
) -> tuple[list[Label], tuple[Array, Array] | None]:
    """Return the labels of a joint quantity, and its limits."""
    limits = robot.limits
    if name == "q":
        labels = configuration_labels(robot.model, robot.conventions)
        return labels, (limits.lower, limits.upper)
    labels = velocity_labels(robot.model, robot.conventions)
    if name == "qd":
        return labels, (-limits.velocity, limits.velocity)
    if name == "qdd":
        return [Label(x.name, f"{x.unit}²") for x in labels], None
    labels = [Label(x.name, force_unit(x.unit)) for x in labels]
    return labels, (-limits.effort, limits.effort)


def _rows(run: Run, joints: Sequence[str] | None) -> list[Row]:
    robot = run.robot
    if robot is None:
        if joints is not None:
            robot_of(run, "plot(joints=...)")
        return []
    public = {joint.name: joint for joint in robot.model.joints}
    if joints is None:
        return rows_of(robot.model, list(public.values()))
    names = names_of("joints", joints)
    if not names:
        raise ArgumentError("joints is empty; None plots all of them")
    for name in names:
        if name not in public:
            raise unknown_name("joint", name, f"robot {robot.name!r}", public)
    return rows_of(robot.model, [public[name] for name in names])


def _title(run: Run, curves: Sequence[str]) -> str:
    title = "run" if run.robot is None else run.robot.name
    if run.batch is not None and not curves:
        title += f", {run.batch:,} states: median and 5 to 95 %"
    elif run.batch is not None and len(curves) == 1:
        title += f", {curves[0]}"
    bad = len(run.diverged)
    if bad and run.batch is not None:
        title += f"; {bad:,} of {run.batch:,} diverged"
    return title


# ------------------------------------------------------------ Rerun


def log_rerun(
    run: Run,
    path: str | os.PathLike[str] | None,
    states: int | Sequence[int],
    layers: Sequence[str],
    mesh_directories: Sequence[str | os.PathLike[str]],
) -> None:
    """Log a run to Rerun; see `Run.log_rerun`."""
    robot = robot_of(run, "log_rerun")
    chosen = chosen_states(run, states)
    check_layers(layers)
    recording = rerun_recording(path, robot.name)
    directories = [Path(d).expanduser() for d in mesh_directories]
    scene = scene_of(robot.description, robot.shapes, directories)
    warn_of_shapes(scene.problems)
    for s in chosen:
        state = [f"state_{s}"] if len(chosen) > 1 else []
        q = np.ascontiguousarray(states_first(run, run.q)[s])
        entity = [robot.name, *state]
        log_shapes(recording, entity, scene.layer(*layers))
        log_poses(recording, entity, run.times, _body_poses(robot, q))
        for name in ("q", "qd", *run.recorded):
            series = series_of(run, name, np.array([s]))
            log_series(recording, ["curves", *state], run.times, series)
    recording.flush()


# ------------------------------------------------------------ notebooks


def run_in_notebook(run: Run) -> str:
    """Return a run as HTML: of a batch, its first state that did not diverge."""
    if not len(run.times):
        return f"<p>{html.escape(repr(run))}</p>"
    good = np.setdiff1d(np.arange(run.batch or 1), run.diverged)
    one = run if run.batch is None else run[int(good[0]) if good.size else 0]
    is_shown: npt.NDArray[np.bool_] = np.all(np.abs(one.q) < FAR, axis=1)
    end = len(is_shown) if is_shown.all() else max(int(is_shown.argmin()), 1)
    one = replace(one, times=one.times[:end], q=one.q[:end], qd=one.qd[:end])
    names = [f"q[{k}]" for k in range(one.q.shape[-1])]
    picture = ""
    if run.robot is not None:
        labels = configuration_labels(run.robot.model, run.robot.conventions)
        names = [f"{x.name} [{x.unit}]" if x.unit else x.name for x in labels]
        picture = _strobe(run.robot, one)
    energy = one.recorded.get("energy")
    energy = None if energy is None else energy[:end]
    return run_html(repr(run), one.times, one.q, energy, names, picture)


def _strobe(robot: Robot, one: Run) -> str:
    is_finite = np.isfinite(one.q).all(axis=1)
    if not is_finite.any() or len(robot.body_names) > MOST_BODIES:
        return ""
    rows = _chosen_rows(one.times, POSES, is_finite)
    poses = _body_poses(robot, np.ascontiguousarray(one.q[rows]))
    placed = [{name: T[k] for name, T in poses.items()} for k in range(len(rows))]
    return inline_picture(scene_of(robot.description, robot.shapes), placed, robot.name)


# ------------------------------------------------------------ what all share


def _body_poses(robot: Robot, q: Array) -> dict[str, Array]:
    """Return (rows, 4, 4) poses of all bodies in the world."""
    names = robot.body_names
    found: Any = compile([pose(name) for name in names], robot)(q)
    return dict(zip(names, found if len(names) > 1 else (found,), strict=True))


def robot_of(run: Run, what: str) -> Robot:
    """Return the robot of a run, which must have rows."""
    check_rows(run)
    if run.robot is None:
        raise Error(
            f"{what} needs the robot, and this run was loaded without it; "
            "use Run.load(path, robot)"
        )
    return run.robot


def check_rows(run: Run) -> None:
    """Raise ArgumentError if there is nothing to show."""
    if not len(run.times):
        raise ArgumentError("this run has no rows; there is nothing to show")


def states_first(run: Run, array: Array) -> Array:
    """Return an array of a run with a batch axis."""
    return array[None] if run.batch is None else array


def chosen_states(run: Run, states: int | Sequence[int]) -> Index:
    """Return indices of states, or raise an error with those that there are."""
    count = run.batch or 1
    try:
        given = [operator.index(s) for s in np.atleast_1d(np.asarray(states)).tolist()]
    except (TypeError, ValueError):
        given = []
    if not given or not all(-count <= s < count for s in given):
        raise ArgumentError(
            f"states is {states!r}; expected integers from 0 to {count - 1}"
        )
    return np.array(given) % count
