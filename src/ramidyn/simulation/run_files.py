"""Runs in files of NumPy's format .npz: arrays, and a line of JSON about the robot.

Nothing is pickled: loading a file from elsewhere runs no code of it.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Sequence
from itertools import zip_longest
from os import PathLike, fspath, getpid, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ramidyn.description.pose import Array
from ramidyn.errors import ArgumentError
from ramidyn.output_files import checked_path
from ramidyn.simulation.state import RunState

if TYPE_CHECKING:
    from ramidyn.robot import Robot
    from ramidyn.simulation.run import Run

FORMAT = "ramidyn run 2"
GROUPS = ("recorded", "totals", "events", "gradients", "tangents")
NOT_A_RUN = (zipfile.BadZipFile, ValueError, KeyError, AttributeError, EOFError)
"""what NumPy and JSON raise for other files"""


def save(run: Run, path: str | PathLike[str]) -> None:
    """Write a run to a file; of files that exist, only runs are replaced."""
    target = checked_path(path).resolve()
    if target.exists() and target.stat().st_size:
        _read(path, ["about"])
    about: dict[str, Any] = {"format": FORMAT, "robot": None, "end": None}
    if run.robot is not None:
        about["robot"] = facts(run.robot)
    if run.end is not None:
        about["end"] = {"start": run.end.start, "dt": run.end.dt}
    arrays: dict[str, Any] = {"about": np.array(json.dumps(about))}
    arrays |= {"times": run.times, "q": run.q, "qd": run.qd}
    for group in GROUPS:
        arrays |= {f"{group}/{n}": x for n, x in getattr(run, group).items()}
    if run.end is not None:
        arrays |= {f"end/{n}": x for n, x in run.end.values.items()}
    part = target.with_name(f".{target.name}.{getpid()}")
    try:
        with part.open("wb") as file:
            np.savez(file, **arrays)
        replace(part, target)
    finally:
        part.unlink(missing_ok=True)


def load(kind: type[Run], path: str | PathLike[str], robot: Robot | None) -> Run:
    """Return the run of a file; with a robot, it must be that of the run."""
    if robot is not None and not hasattr(robot, "model"):
        raise ArgumentError(f"robot is {robot!r}; expected a Robot, or None")
    about, arrays = _read(path)
    if robot is not None and about["robot"] is not None:
        check_robot(robot, about["robot"], fspath(path))
    groups: dict[str, dict[str, Array]] = {
        group: {
            n.removeprefix(f"{group}/"): x
            for n, x in arrays.items()
            if n.startswith(f"{group}/")
        }
        for group in (*GROUPS, "end")
    }
    values, about_end = groups.pop("end"), about["end"]
    end = None if about_end is None else RunState(values, **about_end)
    times, q, qd = (arrays[n] for n in ("times", "q", "qd"))
    return kind(robot, times, q, qd, **groups, end=end)


def _read(
    path: str | PathLike[str], names: Sequence[str] | None = None
) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the facts about a run and its arrays; raise if the file is not a run."""
    file_path = checked_path(path)
    try:
        with file_path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            arrays = {name: np.asarray(file[name]) for name in names or file.files}
        about: dict[str, Any] = json.loads(str(arrays.pop("about")))
        is_run = about.get("format") == FORMAT
    except NOT_A_RUN:
        about, arrays, is_run = {}, {}, False
    if not is_run:
        advice = "" if names is None else "; choose another file to save to"
        raise ArgumentError(
            f"{fspath(path)!r} is not a run that Run.save wrote ({FORMAT!r}){advice}"
        )
    return about, arrays


def facts(robot: Robot) -> dict[str, Any]:
    """Return what q and q̇ mean: joints in their order, and conventions."""
    return {
        "name": robot.name,
        "joints": [[j.name, j.nq, j.nv] for j in robot.model.joints],
        "conventions": str(robot.conventions),
    }


def check_robot(robot: Robot, saved: dict[str, Any], path: str) -> None:
    """Raise ArgumentError if q of a run is not q of the robot."""
    own = facts(robot)
    if own["conventions"] != saved["conventions"]:
        raise ArgumentError(
            f"{path!r} is a run in the conventions {saved['conventions']!r}; robot "
            f"{robot.name!r} has {own['conventions']!r}"
        )
    pairs = zip_longest(saved["joints"], own["joints"])
    for k, (theirs, ours) in enumerate(pairs):
        if theirs != ours:
            there, here = (_joint(x) for x in (theirs, ours))
            raise ArgumentError(
                f"{path!r} is a run of {saved['name']!r}, whose joint {k} is {there}; "
                f"that of robot {robot.name!r} is {here}"
            )


def _joint(facts: list[Any] | None) -> str:
    """Return a joint as an error message names it."""
    return "none" if facts is None else "{!r} (nq {}, nv {})".format(*facts)
