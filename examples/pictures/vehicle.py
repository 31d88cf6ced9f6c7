"""Draw what example 13 does: the car on the road, its suspension, and how it rides.

python examples/pictures/vehicle.py docs/images/vehicle.png
"""

import runpy
import sys
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Polygon

import ramidyn

EXAMPLE = Path(__file__).parents[1] / "13_vehicle.py"
LENGTH, WIDTH, FLOOR, ROOF = 4.6, 2.1, 0.55, 1.5
TIRE, TREAD, STIFFNESS = 0.47, 0.3, 380e3
BLUE, ORANGE, GREEN, GRAY = "#2f6f9f", "#d9822b", "#3c8d5f", "0.45"
BALL = (0.0, 0.45, -0.04)  # of the left lower arm, in its frame


def main() -> None:
    """Run the example and draw its log."""
    ran = runpy.run_path(str(EXAMPLE))
    robot, run = ran["robot"], ran["run"]
    names = ["chassis", *(f"{c}_wheel" for c in ran["CORNERS"])]
    chassis, *wheels = ramidyn.compile([*map(ramidyn.pose, names)], robot)(run.q)
    figure = Figure(figsize=(13, 9), layout="constrained")
    rows = figure.add_gridspec(3, 6, height_ratios=(1.0, 1.7, 1.7))
    from_above(figure.add_subplot(rows[0, :]), run, chassis, wheels)
    over_bump(figure.add_subplot(rows[1, :4]), ran, chassis, wheels)
    from_front(figure.add_subplot(rows[1, 4:]), robot, run)
    first, second, third = (figure.add_subplot(rows[2, k : k + 2]) for k in (0, 2, 4))
    t, q = run.times, run.q
    roll, pitch = (np.degrees(2 * np.arcsin(q[:, k])) for k in (3, 4))
    first.plot(t, 1000 * q[:, 2], color=BLUE, label="height of the chassis [mm]")
    first.plot(t, 10 * pitch, color=ORANGE, label="pitch, nose down [0.1 deg]")
    first.set(title="over the bump", xlim=(1.5, 4.0))
    second.plot(t, 1000 * q[:, robot.joint("rack_joint").q_index], color=GRAY)
    second.lines[0].set_label("rack [mm]")
    speed = run.qd[:, 0]
    second.plot(t, speed * run.qd[:, 5], color=BLUE, label="speed x yaw rate [m/s²]")
    second.plot(t, roll, color=ORANGE, label="roll [deg]")
    second.set(title="through the lane change", xlim=(4.0, 9.0))
    road = np.vectorize(ran["road"])
    for corner, pose, color in zip(
        ran["CORNERS"], wheels, (BLUE, ORANGE, GREEN, GRAY), strict=True
    ):
        x, y, z = pose[:, :3, 3].T
        load = STIFFNESS * np.maximum(0.0, TIRE + road(x, y) - z) / 1000
        third.plot(t, load, color=color, lw=1, label=corner.replace("_", " "))
    third.set(title="spring force of the tires [kN]", ylim=(0, None))
    for axis in (first, second, third):
        axis.set_xlabel("t [s]")
        axis.grid(alpha=0.3)
        axis.legend(fontsize=8)
    figure.savefig(sys.argv[1], dpi=90)


def from_above(axis: Any, run: Any, chassis: Any, wheels: Any) -> None:
    """Draw the car every half second, on its path."""
    box = np.array([[1, 1], [1, -1], [-1, -1], [-1, 1]]) * (LENGTH / 2, WIDTH / 2)
    tire = np.array([[1, 1], [1, -1], [-1, -1], [-1, 1]]) * (TIRE, TREAD / 2)
    axis.axvspan(30, 32, color="#8a7a2e", alpha=0.4, label="bump")
    for lane in (-1.75, 1.75, 5.25):
        axis.axhline(lane, color="0.7", lw=1, ls="--" if lane == 1.75 else "-")
    axis.plot(*chassis[:, :2, 3].T, color=ORANGE, lw=1.5, label="path")
    for k in range(0, len(run.times), 50):
        axis.add_patch(Polygon(placed(chassis[k], box), color=BLUE, alpha=0.5, lw=0))
        for wheel in wheels:
            heading = np.cross(wheel[k, :3, 1], (0, 0, 1))[:2]  # axle x up
            across = wheel[k, :2, 1]
            corners = wheel[k, :2, 3] + tire @ np.array([heading, across])
            axis.add_patch(Polygon(corners, color="0.1", lw=0))
    title = "from above, every half second [m]"
    axis.set(title=title, aspect="equal", xlim=(-3, 152), ylim=(-2.5, 6.0))
    axis.legend(fontsize=8, loc="lower right")


def over_bump(axis: Any, ran: dict[str, Any], chassis: Any, wheels: Any) -> None:
    """Draw the left side while the wheels are on the bump."""
    x = np.linspace(22, 39, 400)
    ground = np.array([ran["road"](float(u), 0.0) for u in x])
    axis.fill_between(x, -0.3, ground, color="#8a7a2e", alpha=0.4, lw=0)
    half = LENGTH / 2
    side = np.array([[-half, FLOOR], [half, FLOOR], [half, 1.1], [0.9, ROOF]])
    side = np.vstack([side, [[-half, ROOF]]])
    for k, shade in zip((165, 203, 241), (GRAY, ORANGE, BLUE), strict=True):
        placed_side = placed(chassis[k], side, z=True)
        axis.add_patch(Polygon(placed_side, fill=False, ec=shade, lw=1.5))
        for wheel in wheels[::2]:
            at = wheel[k, [0, 2], 3]
            axis.add_patch(Circle(at, TIRE, fill=False, ec=shade, lw=1.5))
    axis.set(title="from the left, over the bump [m]", aspect="equal")
    axis.set(xlim=(22, 39), ylim=(-0.3, 1.9))


def from_front(axis: Any, robot: Any, run: Any) -> None:
    """Draw the front axle from behind, standing and at the largest roll."""
    parts = ("upper_arm", "spindle", "lower_arm", "wheel")
    names = [f"{s}_front_{part}" for s in ("left", "right") for part in parts]
    poses = np.array(ramidyn.compile([*map(ramidyn.pose, names)], robot)(run.q))
    leaning = int(np.argmax(np.abs(run.q[:, 3])))
    for k, color in ((0, "0.7"), (leaning, BLUE)):
        base = poses[[3, 7], k, 1, 3].mean()
        for side, sign in ((0, 1.0), (4, -1.0)):
            upper, spindle, lower, wheel = poses[side : side + 4, k]
            ball = lower @ np.array([*(BALL * np.array((1, sign, 1))), 1.0])
            for a, b in ((upper, spindle[:3, 3]), (lower, ball[:3])):
                line = np.array([a[:3, 3], b])[:, 1:]
                axis.plot(-(line[:, 0] - base), line[:, 1], "o-", color=color, lw=3)
            upright = np.array([spindle[:3, 3], wheel[:3, 3], ball[:3]])[:, 1:]
            axis.plot(-(upright[:, 0] - base), upright[:, 1], color=color, lw=2)
            across, up = wheel[:3, 1], np.cross(wheel[:3, 1], (-1.0, 0, 0))
            square = [(-1, -1), (1, -1), (1, 1), (-1, 1)]
            corners = [
                wheel[:3, 3] + a * TREAD / 2 * across + b * TIRE * up for a, b in square
            ]
            tire = np.array([(-(c[1] - base), c[2]) for c in corners])
            axis.add_patch(Polygon(tire, fill=False, ec=color, lw=2))
    axis.axhline(0, color="#8a7a2e", lw=3)
    title = f"front axle from behind, t = 0 and {run.times[leaning]:.2f} s [m]"
    axis.set(title=title, aspect="equal", ylim=(-0.1, 1.2))


def placed(pose: Any, outline: Any, z: bool = False) -> Any:
    """Return an outline in the ground plane, or in the plane x-z, where a pose is."""
    across = 2 if z else 1
    points = np.zeros((len(outline), 3))
    points[:, 0], points[:, across] = outline.T
    return (points @ pose[:3, :3].T + pose[:3, 3])[:, [0, across]]


if __name__ == "__main__":
    main()
