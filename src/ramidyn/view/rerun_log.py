"""Runs in Rerun: poses and shapes of bodies, and curves. Imported only when used.

    <robot>/<body>              its pose in the world over time
    <robot>/<body>/<layer>/<k>  a shape
    curves/<quantity>/<name>    one entry of q, qd or what was recorded

Of several states, the robot's entities are below <robot>/state_<k>, and so are curves.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from ramidyn.description.pose import Array
from ramidyn.errors import ArgumentError, Error, install_command
from ramidyn.output_files import replaceable_file
from ramidyn.view.plots import Series
from ramidyn.view.scene import Part

TIMELINE: Final = "time"


def rerun_recording(path: str | os.PathLike[str] | None, name: str) -> Any:
    """Return a new recording that is written to a file, or the active one.

    Raises:
        Error: rerun-sdk is not installed.
        ArgumentError: there is neither a path nor an active recording.
    """
    rerun = _rerun()
    if path is None:
        active = rerun.get_data_recording()
        if active is None:
            raise ArgumentError(
                "Rerun has no active recording; call rerun.init(name, spawn=True) "
                "first, or log_rerun('run.rrd') to write a file"
            )
        return active
    target = replaceable_file(path, "a recording of Rerun")
    if not target.absolute().parent.is_dir():
        raise ArgumentError(f"cannot write {os.fspath(path)!r}: no such directory")
    recording = rerun.RecordingStream(name)
    recording.save(os.fspath(path))
    return recording


def log_shapes(recording: Any, entity: Sequence[str], parts: Sequence[Part]) -> None:
    """Log the shapes of a robot, once for all times."""
    rerun = _rerun()
    for k, part in enumerate(parts):
        mesh = rerun.Mesh3D(
            vertex_positions=part.mesh.vertices,
            triangle_indices=part.mesh.faces,
            albedo_factor=[round(255 * c) for c in part.color],
        )
        at = _path(*entity, part.body, part.layer, str(k))
        rerun.log(at, mesh, static=True, recording=recording)


def log_poses(
    recording: Any, entity: Sequence[str], times: Array, poses: Mapping[str, Array]
) -> None:
    """Log (rows, 4, 4) poses of bodies in the world."""
    rerun = _rerun()
    for body, T in poses.items():
        columns = rerun.Transform3D.columns(
            translation=T[:, :3, 3],
            mat3x3=np.reshape(T[:, :3, :3], (-1, 9)),
        )
        _send(recording, _path(*entity, body), times, columns)


def log_series(
    recording: Any, entity: Sequence[str], times: Array, series: Series
) -> None:
    """Log the curves of one state."""
    rerun = _rerun()
    for k, label in enumerate(series.labels):
        unit = f" [{label.unit}]" if label.unit else ""
        at = _path(*entity, series.name, label.name)
        style = rerun.SeriesLines(names=f"{series.name} {label.name}{unit}")
        rerun.log(at, style, static=True, recording=recording)
        columns = rerun.Scalars.columns(scalars=series.values[0, :, k])
        _send(recording, at, times, columns)


def _send(recording: Any, entity: str, times: Array, columns: Any) -> None:
    rerun = _rerun()
    index = rerun.TimeColumn(TIMELINE, duration=times)
    rerun.send_columns(entity, indexes=[index], columns=columns, recording=recording)


def _path(*parts: str) -> str:
    """Return the path of an entity; names may have any characters."""
    escape = _rerun().escape_entity_path_part
    return "/".join(escape(part) for part in parts)


def _rerun() -> Any:
    try:
        return importlib.import_module("rerun")
    except ImportError:
        raise Error(f"log_rerun needs Rerun: {install_command('rerun')}") from None
