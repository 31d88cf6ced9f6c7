"""Pictures and plots of runs: the right curves, limits and poses, and clear errors."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import ramidyn
from ramidyn.builder import Body, Inertia, Joint, RobotBuilder
from ramidyn.contacts import ContactSphere
from ramidyn.coordinates.coordinates import configuration_labels, velocity_labels
from ramidyn.errors import ArgumentError, Error, UnknownName
from ramidyn.robot import Robot
from ramidyn.simulation import Run
from ramidyn.view.plots import rows_of
from support.every_joint import every_joint

pytest.importorskip("matplotlib", reason="matplotlib is absent")
pyplot: Any = __import__("matplotlib.pyplot").pyplot


@pytest.fixture(autouse=True)
def closed() -> Any:
    pyplot.switch_backend("Agg")
    yield
    pyplot.close("all")


def two_links() -> Robot:
    builder = RobotBuilder("arm")
    inertia = Inertia.from_box(1.0, (0.1, 0.1, 1.0), at=(0.0, 0.0, -0.5))
    limits: dict[str, Any] = {"limits": (-1.0, 1.0), "velocity": 3.0, "effort": 5.0}
    builder.add(Body("upper", inertia), joint=Joint.revolute((0, 1, 0), **limits))
    builder.add(
        Body("lower", inertia),
        "upper",
        Joint.revolute((0, 1, 0)),
        placement=(0, 0, -1),
    )
    return ramidyn.Robot.from_description(builder.description())


ARM = two_links()
T = np.linspace(0.0, 2.0, 41)


def made(q: Any, qd: Any = None, robot: Robot | None = ARM, **recorded: Any) -> Run:
    return Run(robot, T, q, 0.0 * q if qd is None else qd, recorded)


def swing(amplitude: float = 0.5) -> Any:
    return np.stack([amplitude * np.sin(3 * T), 0.1 * np.cos(T)], axis=1)


def titles(figure: Any, where: str = "left") -> list[str]:
    return [axes.get_title(loc=where) for axes in figure.axes]


def test_each_joint_has_a_row_and_each_quantity_a_column() -> None:
    q = swing()
    figure = made(q, 2 * q, tau=3 * q, energy=T**2).plot()
    upper, lower = "upper_joint", "lower_joint"
    assert titles(figure) == [upper] * 3 + [lower] * 3 + [""]
    assert titles(figure, "right") == ["q", "qd", "tau", "", "", "", "energy"]
    units = [axes.get_ylabel() for axes in figure.axes]
    assert units == ["rad", "rad/s", "N m"] * 2 + ["J"]
    drawn = [axes.lines[0].get_ydata() for axes in figure.axes]
    for k, factor in enumerate((1, 2, 3)):
        np.testing.assert_array_equal(drawn[k], factor * q[:, 0])
        np.testing.assert_array_equal(drawn[3 + k], factor * q[:, 1])
    np.testing.assert_array_equal(drawn[6], T**2)
    only = made(q, tau=q).plot("tau", joints=["lower_joint"])
    (axes,) = only.axes
    assert axes.get_xlabel() == "t [s]"
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), q[:, 1])


def test_limits_are_shaded_where_a_curve_comes_near() -> None:
    def shaded(amplitude: float) -> list[float]:
        axes = made(swing(amplitude)).plot("q", joints=["upper_joint"]).axes[0]
        bottom, top = axes.get_ylim()
        lines = [line.get_ydata()[0] for line in axes.lines[1:]]
        assert all(bottom < y < top for y in lines)
        assert len(axes.patches) == len(lines)
        return sorted(lines)

    assert shaded(0.9) == [-1.0, 1.0]
    assert shaded(1.5) == [-1.0, 1.0]
    assert shaded(0.01) == []


def test_a_large_robot_has_a_row_for_each_limb() -> None:
    robot = ramidyn.robots.humanoid30("plain")
    rows = rows_of(robot.model, robot.model.joints)
    assert len(rows) <= 9
    assert sorted(k for row in rows for k in row.q) == list(range(robot.nq))
    assert sorted(k for row in rows for k in row.v) == list(range(robot.nv))
    assert max(len(row.q) for row in rows) <= 8
    run = robot.rollout(robot.neutral(), dt=1e-3, steps=3, record=("tau", "energy"))
    figure = run.plot()
    named = {
        text.get_text()
        for axes in figure.axes
        if axes.get_legend()
        for text in axes.get_legend().get_texts()
    }
    joints = {j.name for j in robot.model.joints if j.nq == 1}
    assert joints <= named
    assert {"x", "qw", "vx", "wz"} <= named
    figure.canvas.draw()


def test_every_entry_has_a_name_and_a_unit() -> None:
    robot = every_joint("mujoco")
    q = configuration_labels(robot.model, robot.conventions)
    v = velocity_labels(robot.model, robot.conventions)
    assert [x.name for x in q[:7]] == [
        f"floating_joint {c}" for c in ("x", "y", "z", "qw", "qx", "qy", "qz")
    ]
    named = {x.name: x.unit for x in q}
    assert len(named) == robot.nq
    assert named["prismatic_joint"] == "m"
    assert named["cylindrical_joint distance"] == "m"
    assert named["planar_joint angle"] == "rad"
    assert [x.unit for x in v[:6]] == ["m/s"] * 3 + ["rad/s"] * 3
    assert len({x.name for x in v}) == robot.nv
    other = every_joint("featherstone")
    first = velocity_labels(other.model, other.conventions)
    assert [x.name[-2:] for x in first[:4]] == ["wx", "wy", "wz", "vx"]


def test_a_batch_is_a_band_and_chosen_states_are_curves() -> None:
    scale = np.linspace(0.0, 1.0, 101)[:, None, None]
    run = made(scale * (1 + swing()))
    axes = run.plot("q").axes[0]
    np.testing.assert_allclose(axes.lines[0].get_ydata(), 0.5 * (1 + swing()[:, 0]))
    band = axes.collections[0].get_paths()[0].vertices
    assert band[:, 1].max() == pytest.approx(0.95 * 1.5, rel=0.01)
    assert "101 states: median and 5 to 95 %" in run.plot().get_suptitle()
    some = run.plot("q", states=[3, -1])
    np.testing.assert_array_equal(some.axes[0].lines[1].get_ydata(), run.q[100, :, 0])
    (legend,) = some.legends
    assert [t.get_text() for t in legend.get_texts()] == ["state 3", "state 100"]


def test_a_run_that_diverges_is_plotted_until_then() -> None:
    q = swing()
    q[20:25] = 1e12
    q[25:] = np.nan
    figure = made(q).plot("q")
    for axes in figure.axes:
        assert np.abs(axes.get_ylim()).max() < 10
        assert [t.get_text() for t in axes.texts] == ["not finite"]
    figure.canvas.draw()
    batch = np.stack([swing()] * 7 + [q])
    figure = made(batch).plot()
    assert "; 1 of 8 diverged" in figure.get_suptitle()
    assert np.isfinite(figure.axes[0].lines[0].get_ydata()).all()
    figure = made(np.full_like(q, np.nan)).plot()
    figure.canvas.draw()


def test_one_row_is_a_marker_and_none_an_error() -> None:
    run = made(swing())
    one = replace(run, times=T[:1], q=run.q[:1], qd=run.qd[:1])
    assert one.plot().axes[0].lines[0].get_marker() == "o"
    none = replace(run, times=T[:0], q=run.q[:0], qd=run.qd[:0])
    assert "no rows" in repr(none)
    for show in (none.plot, none.draw, none.log_rerun):
        with pytest.raises(ArgumentError, match="this run has no rows"):
            show()


def test_bad_arguments_are_named_with_what_is_possible() -> None:
    run = made(swing(), tau=swing())
    with pytest.raises(UnknownName, match=r"no quantity 'taau' in this run. Close: 't"):
        run.plot("taau")
    with pytest.raises(UnknownName, match="no joint 'elbow' in robot 'arm'"):
        run.plot(joints=["elbow"])
    with pytest.raises(UnknownName, match="no frame 'hand' in robot 'arm'"):
        run.draw(trails=["hand"])
    with pytest.raises(ArgumentError, match="states is 3; expected integers from 0 to"):
        run.plot(states=3)
    with pytest.raises(ArgumentError, match="states is 'a'; expected integers"):
        run.draw(states="a")  # pyright: ignore[reportArgumentType]
    with pytest.raises(ArgumentError, match="times is 0; expected from 1 to 10,000"):
        run.draw(0)
    with pytest.raises(ArgumentError, match=r"times has 5; the run is from 0 to 2 s"):
        run.draw([1.0, 5.0])
    with pytest.raises(ArgumentError, match="expected a number of poses, or times"):
        run.draw([np.nan])
    with pytest.raises(ArgumentError, match="layers has 'skin'"):
        run.draw(layers=["skin"])
    alone = made(swing(), robot=None)
    with pytest.raises(Error, match=r"draw needs the robot.*Run\.load\(path, robot\)"):
        alone.draw()
    assert titles(alone.plot(), "right") == ["q", "qd"]
    with pytest.raises(ArgumentError, match="no state to draw is finite"):
        made(np.full((41, 2), np.nan)).draw()


def test_a_strobe_has_the_poses_and_trails_of_the_run() -> None:
    q = swing()
    run = made(q)
    axes = run.draw(4, trails=["lower"])
    robots = [c for c in axes.collections if c.get_zorder() >= 3]
    assert len(robots) == 4
    (trail,) = axes.lines
    path = ARM.pose(q, "lower")[:, :3, 3]
    np.testing.assert_allclose(np.transpose(trail.get_data_3d()), path)
    low, high = np.transpose([axes.get_xlim(), axes.get_ylim(), axes.get_zlim()])
    assert (low <= path.min(axis=0)).all()
    assert (path.max(axis=0) <= high).all()
    at = run.draw([0.0, 1.0])
    assert len([c for c in at.collections if c.get_zorder() >= 3]) == 2
    bad = np.array(q)
    bad[30:] = np.nan
    strobe = made(np.stack([q, bad])).draw(5, states=[0, 1], trails="lower")
    assert len([c for c in strobe.collections if c.get_zorder() >= 3]) == 8  # 5 and 3
    assert [len(line.get_data_3d()[0]) for line in strobe.lines] == [41, 30]
    strobe.figure.canvas.draw()


def test_missing_packages_are_named_with_their_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    run = made(swing())
    for show in (run.plot, run.draw, ARM.draw):
        with pytest.raises(Error, match=r'pip install "ramidyn\[plot\]"'):
            show()
    monkeypatch.setitem(sys.modules, "rerun", None)
    with pytest.raises(Error, match=r'pip install "ramidyn\[rerun\]"'):
        run.log_rerun("run.rrd")


def test_recorded_forces_of_contacts_are_arrows() -> None:
    builder = RobotBuilder("ball")
    ball = Body("ball", Inertia.from_sphere(2.0, 0.1))
    builder.add(ball, joint=Joint.floating(), placement=(0, 0, 0.1))
    robot = builder.robot().add_contact(ContactSphere("ball", 0.1), "floor")
    run = robot.rollout(robot.neutral(), steps=50, record=["contact_forces"])
    axes = run.draw([0.05])
    (arrow,) = [c for c in axes.collections if type(c).__name__ == "Line3DCollection"]
    heights = np.concatenate([segment[:, 2] for segment in arrow._segments3d])
    extent = max(np.ptp(getattr(axes, f"get_{x}lim")()) for x in "xyz")
    ends = heights.min(), heights.max()
    np.testing.assert_allclose(ends, [0.0, 0.4 * extent], atol=1e-3)
    plain = robot.rollout(robot.neutral(), steps=50).draw([0.05])
    assert not [c for c in plain.collections if type(c).__name__ == "Line3DCollection"]
