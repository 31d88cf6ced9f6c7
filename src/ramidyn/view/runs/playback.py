"""Play a run in the viewer."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from ramidyn.view.runs.pictures import nearest_rows, robot_of

if TYPE_CHECKING:
    from ramidyn.simulation.run import Run
    from ramidyn.view.viewer import Viewer

SHOWN: Final = 16
"""states of a batch that are shown side by side"""
RATE: Final = 60.0
"""pictures a second; where rows are farther apart, states between them are drawn"""


def play(
    run: Run,
    trails: Sequence[str],
    layers: Sequence[str] | None,
    port: int,
    mesh_directories: Sequence[str | os.PathLike[str]],
) -> Viewer:
    """Open a viewer that plays a run; see `Run.play`."""
    robot = robot_of(run, "play")
    shown = run if run.batch is None else run[:SHOWN]
    times, q, qd = shown.times, shown.q, shown.qd
    forces = shown.recorded.get("contact_forces")
    if len(times) > 1 and np.diff(times).max() > 1 / RATE:
        first, last = float(times[0]), float(times[-1])
        steps = math.ceil(RATE * (last - first))
        between = [first + (last - first) * k / steps for k in range(steps + 1)]
        times = np.array(between)
        q, qd = shown.at(times)
        if forces is not None:
            forces = forces[..., nearest_rows(shown.times, times), :, :]
    viewer = robot.show(
        q[..., 0, :], layers=layers, port=port, mesh_directories=mesh_directories
    )
    try:
        viewer.play(times, q, qd, trails=trails, contact_forces=forces)
    except BaseException:
        viewer.close()
        raise
    return viewer
