"""Runs in Rerun: what was written to a file is what the run has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ramidyn import robots
from ramidyn.errors import ArgumentError
from ramidyn.robot import Robot
from ramidyn.simulation import Run
from support.every_joint import every_joint

rerun: Any = pytest.importorskip("rerun", reason="rerun-sdk is absent")


@pytest.fixture(scope="module")
def robot() -> Robot:
    return every_joint()


@pytest.fixture(scope="module")
def run(robot: Robot) -> Run:
    rng = np.random.default_rng(0)
    q = robot.random_configuration(rng, batch=3)
    qd = rng.normal(size=(3, robot.nv))
    return robot.rollout(q, qd, dt=1e-2, steps=8, record=("tau", "energy"))


def read(path: Path) -> dict[str, dict[str, list[Any]]]:
    """Return the columns of every entity in a file."""
    found: dict[str, dict[str, list[Any]]] = {}
    for chunk in rerun.chunk.RrdReader(path).stream():
        batch = chunk.to_record_batch()
        columns = found.setdefault(str(chunk.entity_path), {})
        for name in set(batch.schema.names) - {"log_time", "log_tick"}:
            columns.setdefault(name, []).extend(batch.column(name).to_pylist())
    return found


def vectors(column: list[Any]) -> Any:
    return np.array([value[0] for value in column])


def test_poses_and_curves_come_back_from_the_file(
    robot: Robot, run: Run, tmp_path: Path
) -> None:
    run.log_rerun(tmp_path / "run.rrd", states=1)
    found = read(tmp_path / "run.rrd")
    for body in robot.body_names:
        T = robot.pose(run.q[1], body)
        columns = found[f"/every_joint/{body}"]
        times = [t.total_seconds() for t in columns["time"]]
        np.testing.assert_allclose(times, run.times, atol=1e-9)
        p = vectors(columns["Transform3D:translation"])
        np.testing.assert_allclose(p, T[:, :3, 3], atol=1e-6)
        # stored column by column, in single precision
        R = vectors(columns["Transform3D:mat3x3"]).reshape(-1, 3, 3).swapaxes(1, 2)
        np.testing.assert_allclose(R, T[:, :3, :3], atol=1e-6)
    curve = found["/curves/q/prismatic_joint"]
    at = next(j for j in robot.model.joints if j.name == "prismatic_joint").q_index
    np.testing.assert_array_equal(vectors(curve["Scalars:scalars"]), run.q[1, :, at])
    assert curve["SeriesLines:names"] == [["q prismatic_joint [m]"]]
    assert len([e for e in found if e.startswith("/curves/q/")]) == robot.nq
    assert len([e for e in found if e.startswith("/curves/tau/")]) == robot.nv
    energy = vectors(found["/curves/energy/energy"]["Scalars:scalars"])
    np.testing.assert_array_equal(energy, run.energy[1])


def test_rotations_are_stored_as_rerun_stores_its_own(
    robot: Robot, run: Run, tmp_path: Path
) -> None:
    T = robot.pose(run.q[0, -1], "spherical")
    with rerun.RecordingStream("own") as own:
        own.save(tmp_path / "own.rrd")
        own.log("x", rerun.Transform3D(mat3x3=T[:3, :3]))
        own.flush()
    run.log_rerun(tmp_path / "run.rrd")
    key = "Transform3D:mat3x3"
    expected = vectors(read(tmp_path / "own.rrd")["/x"][key])[0]
    stored = vectors(read(tmp_path / "run.rrd")["/every_joint/spherical"][key])[-1]
    np.testing.assert_allclose(stored, expected, atol=1e-6)


def test_shapes_and_several_states_have_their_own_entities(tmp_path: Path) -> None:
    vehicle = robots.hmmwv(tires=True, suspension=True)
    start = np.stack([vehicle.neutral()] * 2)
    run = vehicle.rollout(start, dt=1e-4, steps=2)
    run.log_rerun(tmp_path / "run.rrd", states=[0, 1])
    found = read(tmp_path / "run.rrd")
    for k in (0, 1):
        entity = f"/hmmwv/state_{k}/left_front_wheel/bars/"
        (shape,) = [e for e in found if e.startswith(entity)]
        corners = np.array(found[shape]["Mesh3D:vertex_positions"][0])
        assert np.ptp(corners, axis=0)[0] == pytest.approx(2 * 0.47, rel=0.02)
        assert f"/curves/state_{k}/q/rack_joint" in found


def test_the_active_recording_is_used(run: Run, tmp_path: Path) -> None:
    with pytest.raises(
        ArgumentError, match=r"Rerun has no active recording; call reru"
    ):
        run.log_rerun()
    with rerun.RecordingStream("mine") as recording:
        recording.save(tmp_path / "mine.rrd")
        run.log_rerun()
    assert "/every_joint/planar" in read(tmp_path / "mine.rrd")


def test_bad_arguments_are_named(run: Run, tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=r"no such directory"):
        run.log_rerun(tmp_path / "nowhere" / "run.rrd")
    with pytest.raises(ArgumentError, match="states is 7; expected integers from 0 to"):
        run.log_rerun(tmp_path / "run.rrd", states=7)
    with pytest.raises(ArgumentError, match="layers has 'skin'"):
        run.log_rerun(tmp_path / "run.rrd", layers=["skin"])
    assert not list(tmp_path.iterdir())


def test_only_recordings_are_replaced(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "robot.urdf"
    path.write_text("<robot/>")
    with pytest.raises(ArgumentError, match="exists and is not a recording of Rerun"):
        run.log_rerun(path)
    assert path.read_text() == "<robot/>"
    with pytest.raises(ArgumentError, match="is a directory; expected a file"):
        run.log_rerun(tmp_path)
    run.log_rerun(tmp_path / "run.rrd")
    run.log_rerun(tmp_path / "run.rrd")
