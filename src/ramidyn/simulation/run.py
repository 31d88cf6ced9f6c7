"""The result of a rollout or a simulation: times, states and what was recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import TYPE_CHECKING, Any, final

import numpy as np
import numpy.typing as npt

from ramidyn.description.pose import Array
from ramidyn.errors import ArgumentError, printable
from ramidyn.mechanism.state_arrays import is_finite
from ramidyn.simulation.state import RunState

if TYPE_CHECKING:
    from ramidyn.robot import Robot
    from ramidyn.view.viewer import Viewer


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Run:
    """States over time, of one robot or of a batch.

    What else was recorded is an attribute of its own name, such as ``run.energy``. Of a
    batch, ``run[3]`` is the run of one state, and ``run[:8]`` that of the first eight.
    """

    robot: Robot | None
    """None if the run was loaded without its robot"""
    times: Array
    """(rows,) [s]"""
    q: Array
    """(rows, nq) or (batch, rows, nq)"""
    qd: Array
    """(rows, nv) or (batch, rows, nv)"""
    recorded: Mapping[str, Array] = field(default_factory=dict[str, Array])
    """what else was recorded: (rows, ...) or (batch, rows, ...)"""
    totals: Mapping[str, Array] = field(default_factory=dict[str, Array])
    """sums over all steps, and times at which states ended: () or (batch,)"""
    events: Mapping[str, Array] = field(default_factory=dict[str, Array])
    """times of the events of a simulation by name [s]"""
    end: RunState | None = None
    """the state after the last step; `Robot.rollout` and `simulate` continue from it"""
    gradients: Mapping[str, Array] = field(default_factory=dict[str, Array])
    """of ``gradient_of`` by the inputs in ``wrt``, by name: in their shapes, with an
    axis for the batch"""
    tangents: Mapping[str, Array] = field(default_factory=dict[str, Array])
    """changes of q, qd and totals with the inputs in ``tangents``, in their shapes"""

    def __getattr__(self, name: str) -> Array:
        for found in ("recorded", "totals"):
            try:
                return object.__getattribute__(self, found)[name]
            except (AttributeError, KeyError):
                continue
        known = ", ".join(["times", "q", "qd", *self.recorded, *self.totals])
        raise AttributeError(f"this run has no {name!r}; it has {known}")

    def __dir__(self) -> list[str]:
        own = [n for n in dir(Run) if not n.startswith("_")]
        return [*own, *self.recorded, *self.totals]

    @property
    def batch(self) -> int | None:
        """The number of states, or None for one without a batch axis."""
        return self.q.shape[0] if self.q.ndim == 3 else None

    @property
    def diverged(self) -> npt.NDArray[np.intp]:
        """Indices of the states that are not finite at the end."""
        if not len(self.times):
            return np.zeros(0, dtype=np.intp)
        ends = self.q[..., -1, :], self.qd[..., -1, :]
        if is_finite(ends[0]) and is_finite(ends[1]):
            return np.zeros(0, dtype=np.intp)
        whole = np.isfinite(np.concatenate(ends, axis=-1))
        return np.flatnonzero(~np.atleast_2d(whole).all(axis=1))

    def __getitem__(self, index: int | slice | npt.ArrayLike) -> Run:
        """Return the run of one state of a batch, or of some."""
        if self.batch is None:
            raise ArgumentError(
                "this run has one state without a batch axis; rows are run.q[k], and "
                "states between rows run.at(time)"
            )
        kind = np.asarray(index).dtype.kind if not isinstance(index, slice) else "i"
        if kind not in "iub":
            raise ArgumentError(
                f"run[{index!r}]: expected an integer, a slice, or an array of integers"
            )
        chosen: Any = index

        def of(arrays: Mapping[str, Array]) -> dict[str, Array]:
            return {name: array[chosen] for name, array in arrays.items()}

        return Run(
            self.robot,
            self.times,
            self.q[chosen],
            self.qd[chosen],
            of(self.recorded),
            of(self.totals),
            self.events,
            None if self.end is None else self.end[chosen],
            of(self.gradients),
            of(self.tangents),
        )

    def at(self, time: npt.ArrayLike) -> tuple[Array, Array]:
        """Return q and qd at other times, interpolated between rows.

        Cubic in q, from q and qd of the rows on both sides, and along the manifold:
        quaternions stay of length one. The error of q is of order four in the time
        between rows, that of qd, its derivative, of order three. Loops are closed
        within that error; `Robot.project` closes them.

        Args:
            time: a number, or (n,), within the times of the run [s].

        Returns:
            q (nq,) and qd (nv,); with several times or states (batch, n, nq).
        """
        from ramidyn.simulation.interpolation import interpolated  # noqa: PLC0415  only here

        return interpolated(self, time)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the run to a file in NumPy's .npz format, without the robot.

        Of files that exist, only runs are replaced.
        """
        from ramidyn.simulation.run_files import save  # noqa: PLC0415  only here

        save(self, path)

    @staticmethod
    def load(path: str | PathLike[str], robot: Robot | None = None) -> Run:
        """Read a run that `save` wrote.

        Args:
            path: the file.
            robot: the robot of the run, which `at` and pictures need. Its name, its
                joints and their order, and its conventions must be those of the run.
        """
        from ramidyn.simulation.run_files import load  # noqa: PLC0415  only here

        return load(Run, path, robot)

    def draw(
        self,
        times: int | npt.ArrayLike = 6,
        *,
        states: int | Sequence[int] = 0,
        trails: Sequence[str] = (),
        layers: Sequence[str] = ("visual", "bars"),
        axes: Any = None,
        view: tuple[float, float] = (20.0, -55.0),
        mesh_directories: Sequence[str | PathLike[str]] = (),
    ) -> Any:
        """Draw the motion with matplotlib: several poses, earlier ones paler.

        States that diverged are left out from where they are not finite. Forces of
        contacts, if "contact_forces" was recorded, are red arrows; no arrow is longer
        than that of the robot's weight.

        Args:
            times: how many poses, evenly over time, or the times of the poses [s].
            states: which states of a batch, one or several.
            trails: frames whose paths are drawn.
            layers: what of the robot; see `Robot.draw`.
            axes: 3-D axes to draw into; None makes a new figure.
            view: elevation and azimuth of the eye [degree].
            mesh_directories: where else to look for meshes; see `Robot.draw`.

        Returns:
            The 3-D axes of matplotlib; ``axes.figure.savefig("run.png")`` saves them.
        """
        from ramidyn.view.runs.pictures import draw  # noqa: PLC0415  only here

        return draw(self, times, states, trails, layers, axes, view, mesh_directories)

    def plot(
        self,
        *names: str,
        joints: Sequence[str] | None = None,
        states: int | Sequence[int] | None = None,
    ) -> Any:
        """Plot q, qd and what was recorded over time with matplotlib.

        Each joint has a row, or each limb if there are more than ten; q, qd, tau and
        qdd are columns, other quantities are below them. Limits are shaded where the
        curves come near. A batch of more than four states is drawn as its median and
        the band of 5 to 95 %.

        Args:
            names: what to plot, such as "q" or "tau"; nothing given: all that there is.
            joints: names of joints; None: all of them.
            states: which states of a batch, one or several, as curves.

        Returns:
            The figure of matplotlib; ``figure.savefig("run.png")`` saves it.
        """
        from ramidyn.view.runs.pictures import plot  # noqa: PLC0415  only here

        return plot(self, names, joints, states)

    def log_rerun(
        self,
        path: str | PathLike[str] | None = None,
        *,
        states: int | Sequence[int] = 0,
        layers: Sequence[str] = ("visual", "bars"),
        mesh_directories: Sequence[str | PathLike[str]] = (),
    ) -> None:
        """Log the motion to Rerun (rerun.io): poses, shapes and curves over time.

        Args:
            path: a file to write, such as "run.rrd"; of files that exist, only
                recordings are replaced. None: the active recording, which
                ``rerun.init(name, spawn=True)`` starts.
            states: which states of a batch, one or several.
            layers: what of the robot; see `Robot.draw`.
            mesh_directories: where else to look for meshes; see `Robot.draw`.
        """
        from ramidyn.view.runs.pictures import log_rerun  # noqa: PLC0415  only here

        log_rerun(self, path, states, layers, mesh_directories)

    def play(
        self,
        *,
        trails: Sequence[str] = (),
        layers: Sequence[str] | None = None,
        port: int = 8080,
        mesh_directories: Sequence[str | PathLike[str]] = (),
    ) -> Viewer:
        """Play the run in the browser; return the `Viewer`.

        The page has a time slider and a speed, and draws the forces of springs,
        contacts and tires as arrows, those of rigid contacts if "contact_forces" was
        recorded. States of a batch stand side by side, the first 16
        of them; ``run[16:32].play()`` shows others. ``viewer.save("run.html")`` writes
        the motion as a page that needs no server, ``viewer.close()`` ends it.

        Args:
            trails: frames whose path is drawn.
            layers: what is shown first; see `Robot.show`.
            port: the first port to try; the next free one is taken.
            mesh_directories: where else to look for meshes and ROS packages.
        """
        from ramidyn.view.runs.playback import play  # noqa: PLC0415  only here

        return play(self, trails, layers, port, mesh_directories)

    def __repr__(self) -> str:
        of = "" if self.robot is None else f" of {self.robot.name}"
        states = "" if self.batch is None else f"{self.batch:,} states, "
        further = [*self.recorded, *self.totals, *self.events]
        listed = f"; {', '.join(further)}" if further else ""
        bad = f"; {len(self.diverged):,} diverged" if len(self.diverged) else ""
        rows = "no rows"
        if len(self.times):
            first, last = self.times[[0, -1]]
            rows = f"t = {first:.4g} to {last:.4g} s in {len(self.times):,} rows"
        return printable(
            f"Run{of}: {states}{rows}, nq "
            f"{self.q.shape[-1]}, nv {self.qd.shape[-1]}{listed}{bad}"
        )

    def _repr_html_(self) -> str:
        from ramidyn.view.runs.pictures import run_in_notebook  # noqa: PLC0415  only notebooks

        return run_in_notebook(self)


def selected_rows(run: Run, rows: slice) -> Run:
    """Return a run with some of its rows."""
    return replace(
        run,
        times=run.times[rows],
        q=run.q[..., rows, :],
        qd=run.qd[..., rows, :],
        recorded={name: x[rows] for name, x in run.recorded.items()},
    )
