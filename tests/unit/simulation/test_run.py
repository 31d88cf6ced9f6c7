"""A run: what it shows, saves and interpolates."""

from __future__ import annotations

import json
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ramidyn
from ramidyn import ArgumentError, Run, ShapeError
from ramidyn.builder import Body, Inertia, Joint, RobotBuilder
from ramidyn.robot import Robot

INERTIA = Inertia.from_box(1.0, (0.1, 0.2, 0.3), at=(0.1, 0.05, 0.2))


def built(*joints: Any, **options: Any) -> Robot:
    builder, parent = RobotBuilder("tumbler"), "world"
    for k, joint in enumerate(joints):
        builder.add(Body(f"link{k}", INERTIA), parent, joint, (0.1, 0.2, 0.3))
        parent = f"link{k}"
    return Robot.from_description(builder.description(), **options)


def tumbler(**options: Any) -> Robot:
    """Return a robot with every kind of manifold."""
    joints = (Joint.floating(), Joint.spherical(), Joint.planar())
    return built(*joints, Joint.revolute((0, 1, 0)), **options)


def spinning(robot: Robot, dt: float = 1e-3, **options: Any) -> Run:
    qd = 2.0 + np.linspace(-1.0, 1.0, robot.nv)
    return robot.simulate(robot.neutral(), qd, dt=dt, duration=0.2, **options)


def test_a_run_is_one_line() -> None:
    run = spinning(built(Joint.revolute((0, 1, 0))))
    assert repr(run) == (
        "Run of tumbler: t = 0 to 0.2 s in 201 rows, nq 1, nv 1; energy, work"
    )


def test_tab_completion_shows_what_was_recorded_and_what_a_run_can_do() -> None:
    run = spinning(built(Joint.revolute((0, 1, 0))), record=("qdd",))
    names = {"q", "qd", "times", "qdd", "at", "save", "load", "batch", "diverged"}
    assert names <= set(dir(run))
    assert not [n for n in dir(run) if n.startswith("_")]
    assert np.array_equal(run.qdd, run.recorded["qdd"])
    with pytest.raises(AttributeError, match=r"this run has no 'energy'; it has .*qdd"):
        _ = run.energy


@pytest.mark.parametrize("name", ["q", "at", "save", "robot", "events"])
def test_a_record_cannot_hide_what_a_run_has(name: str) -> None:
    robot = built(Joint.revolute((0, 1, 0)))
    with pytest.raises(ArgumentError, match=f"record has the name '{name}'; choose an"):
        spinning(robot, record={name: lambda q: q[0]})


def test_a_batch_has_the_runs_of_its_states() -> None:
    robot = built(Joint.revolute((0, 1, 0)), Joint.spherical())
    q = robot.random_configuration(rng=0, batch=5)
    run = robot.rollout(
        q, steps=4, record=("energy",), total={"cost": lambda qd: qd @ qd}
    )
    one = run[3]
    alone = robot.rollout(
        q[3], steps=4, record=("energy",), total={"cost": lambda qd: qd @ qd}
    )
    assert one.batch is None
    np.testing.assert_allclose(one.q, alone.q, atol=1e-14)
    np.testing.assert_allclose(one.energy, alone.energy, atol=1e-12)
    np.testing.assert_allclose(one.cost, alone.cost, atol=1e-12)
    assert run[1:3].q.shape == (2, *one.q.shape)
    assert len(list(run)) == 5
    with pytest.raises(IndexError):
        run[5]
    with pytest.raises(ArgumentError, match="one state without a batch axis; rows are"):
        one[0]


# ------------------------------------------------------------ files


def test_a_run_is_the_same_from_its_file(tmp_path: Path) -> None:
    robot = tumbler()
    run = spinning(robot, events={"level": lambda q: q[2] - 0.01})
    path = tmp_path / "run.npz"
    run.save(path)
    for again in (Run.load(path, robot), Run.load(str(path)), pickled(run)):
        for name in ("times", "q", "qd", "energy", "work"):
            np.testing.assert_array_equal(getattr(again, name), getattr(run, name))
        np.testing.assert_array_equal(again.events["level"], run.events["level"])
    again = Run.load(path, robot)
    np.testing.assert_array_equal(again.at(0.0123)[0], run.at(0.0123)[0])
    assert repr(again) == repr(run)
    assert repr(Run.load(path)).startswith("Run: t = 0 to 0.2 s in 201 rows, nq 15")
    with pytest.raises(ArgumentError, match="loaded without its robot, which interp"):
        Run.load(path).at(0.1)


def pickled(run: Run) -> Run:
    return pickle.loads(pickle.dumps(run))


def test_a_batch_with_totals_is_the_same_from_its_file(tmp_path: Path) -> None:
    robot = built(Joint.revolute((0, 1, 0)))
    q = robot.random_configuration(rng=0, batch=3)
    run = robot.rollout(q, steps=4, until=lambda q: q[0] > 100.0)
    run.save(tmp_path / "batch.npz")
    again = Run.load(tmp_path / "batch.npz")
    np.testing.assert_array_equal(again.ended, run.ended)
    assert again.batch == 3


def test_a_file_holds_no_pickle(tmp_path: Path) -> None:
    spinning(built(Joint.revolute((0, 1, 0)))).save(tmp_path / "run.npz")
    with np.load(tmp_path / "run.npz", allow_pickle=False) as file:
        about = json.loads(str(file["about"]))
        assert about["robot"]["joints"] == [["link0_joint", 1, 1]]
        assert {"times", "q", "qd", "recorded/energy"} <= set(file.files)


@pytest.mark.parametrize("name", ["robot.urdf", "states.npz"])
def test_a_run_is_saved_over_runs_only(name: str, tmp_path: Path) -> None:
    run, path = spinning(built(Joint.revolute((0, 1, 0)))), tmp_path / name
    path.write_text("<robot/>")
    if path.suffix == ".npz":
        np.savez(path, q=run.q)
    (tmp_path / "link.npz").symlink_to(path)
    before = path.read_bytes()
    message = r"is not a run that Run.save wrote .*; choose another file to save to"
    for refused in (path, tmp_path / "link.npz"):
        with pytest.raises(ArgumentError, match=message):
            run.save(refused)
    assert path.read_bytes() == before
    path.write_bytes(b"")  # such as a temporary file
    run.save(path)
    run.save(path)
    np.testing.assert_array_equal(Run.load(path).q, run.q)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link.npz", name]


def test_a_run_of_another_robot_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    spinning(tumbler()).save(path)
    message = r"run.npz' is a run of 'tumbler', whose joint 1 is 'link1_joint' \(nq 4, "
    with pytest.raises(ArgumentError, match=message + r".*is 'link1_joint' \(nq 1, nv"):
        Run.load(path, built(Joint.floating(), Joint.revolute((0, 1, 0))))
    with pytest.raises(ArgumentError, match=r"joint 1 is 'link1_joint'.* is none"):
        Run.load(path, built(Joint.floating()))
    with pytest.raises(
        ArgumentError, match=r"conventions 'pinocchio'; .* has 'mujoco'"
    ):
        Run.load(path, tumbler(conventions="mujoco"))


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x03\x04 neither"])
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "other.npz"
    path.write_bytes(content)
    with pytest.raises(ArgumentError, match=r"is not a run that Run.save wrote"):
        Run.load(path)
    np.savez(tmp_path / "arrays.npz", q=np.zeros(3))
    with pytest.raises(ArgumentError, match=r"is not a run that Run.save wrote"):
        Run.load(tmp_path / "arrays.npz")
    with pytest.raises(FileNotFoundError):
        Run.load(tmp_path / "nothing.npz")


# ------------------------------------------------------------ between rows


@pytest.mark.parametrize("conventions", ["pinocchio", "mujoco", "featherstone"])
def test_states_between_rows_are_those_of_a_finer_run(conventions: str) -> None:
    robot = tumbler(conventions=conventions)
    fine = spinning(robot, dt=5e-4)
    errors: list[tuple[float, float]] = []
    for dt in (8e-3, 4e-3):
        rows = round(dt / 5e-4)
        coarse = Run(robot, fine.times[::rows], fine.q[::rows], fine.qd[::rows])
        q, qd = coarse.at(fine.times)
        np.testing.assert_allclose(robot.normalize(q), q, atol=1e-14)
        np.testing.assert_allclose(q[::rows], coarse.q, atol=1e-14)
        np.testing.assert_allclose(qd[::rows], coarse.qd, atol=1e-12)
        errors.append(
            (
                float(np.abs(robot.difference(q, fine.q)).max()),
                float(np.abs(qd - fine.qd).max()),
            )
        )
    assert errors[1][0] < 1e-7
    assert errors[1][1] < 1e-4
    assert np.log2(errors[0][0] / errors[1][0]) > 3.5  # order four
    assert np.log2(errors[0][1] / errors[1][1]) > 2.6  # order three


def test_a_joint_that_turned_more_than_half_a_turn_between_rows_goes_on() -> None:
    robot = built(Joint.revolute((0, 0, 1)))
    times = np.array([0.0, 1.0])
    run = Run(robot, times, np.array([[0.0], [7.0]]), np.array([[7.0], [7.0]]))
    np.testing.assert_allclose(run.at([0.25, 0.5])[0][:, 0], [1.75, 3.5])


def test_times_may_be_one_or_several_and_runs_a_batch() -> None:
    robot = built(Joint.revolute((0, 1, 0)), Joint.spherical())
    run = robot.rollout(robot.random_configuration(rng=0, batch=5), steps=4)
    assert [x.shape for x in run.at(1.5e-3)] == [(5, 5), (5, 4)]
    q, qd = run.at([0.0, 1.5e-3, 4e-3])
    assert q.shape == (5, 3, 5)
    np.testing.assert_allclose(qd[:, 2], run.qd[:, -1], atol=1e-15)
    np.testing.assert_allclose(run[2].at(1.5e-3)[0], q[2, 1], atol=1e-15)
    for time in (-1.0, 5e-3):
        with pytest.raises(ArgumentError, match=r"expected numbers from 0 to 0.004 s"):
            run.at(time)


def test_runs_have_a_public_name() -> None:
    assert ramidyn.Run is Run
    assert re.search(r"run\.energy", Run.__doc__ or "")


def test_no_times_give_no_states() -> None:
    robot = built(Joint.revolute((0, 1, 0)), Joint.spherical())
    run = robot.rollout(robot.random_configuration(rng=0, batch=5), steps=4)
    assert [x.shape for x in run.at([])] == [(5, 0, 5), (5, 0, 4)]
    assert [x.shape for x in run[0].at([])] == [(0, 5), (0, 4)]
    with pytest.raises(ShapeError, match="time is 'now'; expected real numbers"):
        run.at("now")  # pyright: ignore[reportArgumentType]
