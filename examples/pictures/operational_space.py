"""Draw what example 05 does: the robot, the box, errors, posture and torques.

python examples/pictures/operational_space.py docs/images/operational_space.png
"""

import runpy
import sys
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

import ramidyn

EXAMPLE = Path(__file__).parents[1] / "05_operational_space.py"
SPINE = ("base", "shank", "thigh", "pelvis", "chest", "neck", "head_tip")
ARM = ("shoulder_pitch", "forearm", "palm", "hand")
ARMS = (*(f"left_{part}" for part in ARM[::-1]), *(f"right_{part}" for part in ARM))
LIMBS = {  # the joints of each, and their line
    "base": (slice(0, 3), "0.6", "-"),
    "legs": (slice(3, 6), "#2f6f9f", "-"),
    "trunk": (slice(6, 8), "#3c8d5f", "-"),
    "head": (slice(8, 10), "#7a5fb5", "-"),
    "left arm": (slice(10, 17), "#d9822b", "-"),
    "right arm": (slice(17, 24), "#7a2e2e", ":"),
}
VIEWS = {"robot, box and floor from the side [m]": 0, "from the front [m]": 1}
SHADES = ("#b9cfe0", "#6c9cc0", "#123a5a")


def main() -> None:
    """Run the example and draw its log."""
    ran = runpy.run_path(str(EXAMPLE))
    t = ran["STEP"] * np.arange(len(ran["states"]))
    figure = Figure(figsize=(13, 9), layout="constrained")
    axes = figure.subplots(2, 3)
    for axis, (title, across) in zip(axes[0], VIEWS.items(), strict=False):
        draw_robot(axis, ran, across)
        axis.set(title=title, aspect="equal", xlim=(-0.65, 1.05), ylim=(-0.06, 1.64))
    for hand, error, line in zip(ran["HANDS"], ran["errors"].T, "-:", strict=True):
        axes[0, 2].plot(t, error, line, label=hand.replace("_", " "), lw=2)
    axes[0, 2].set(title="hands off their paths [mm]", ylim=(0, None))
    limbs(axes[1, 0], t, ran["posture"], "joints off the posture [rad, m]")
    limbs(axes[1, 1], t, ran["torques"], "joint torques and forces [N m, N]")
    limbs(axes[1, 2], t, ran["torques"], "those of arms and head", first=8)
    for axis in axes.flat[2:]:
        axis.set_xlabel("t [s]")
        axis.grid(alpha=0.3)
        axis.legend(fontsize=8)
    for axis in axes[0, :2]:
        axis.legend(fontsize=8, loc="upper right")
    figure.savefig(sys.argv[1], dpi=90)


def draw_robot(axis: Any, ran: dict[str, Any], across: int) -> None:
    """Draw the robot and the box at the start, on the way and at the end."""
    poses = ramidyn.compile([*map(ramidyn.pose, SPINE + ARMS)], ran["robot"])
    width, height = ran["BOX"][across], ran["BOX"][2]
    axis.axhline(0, color="#8a7a2e", lw=3)
    places = np.array(poses(ran["states"]))[..., :3, 3][..., [across, 2]]
    for hand, label in ((len(SPINE), "paths of the hands"), (-1, None)):
        axis.plot(*places[hand].T, color="#d9822b", lw=1.5, zorder=3, label=label)
    for k, shade in zip((0, len(ran["log"]) // 2, -1), SHADES, strict=True):
        spine, arms = places[: len(SPINE), k], places[len(SPINE) :, k]
        label = f"t = {ran['STEP'] * (k % len(ran['log'])):.1f} s"
        axis.plot(*spine.T, "o-", color=shade, lw=4, ms=5, label=label)
        axis.plot(*arms.T, "o-", color=shade, lw=2, ms=4)
        corner = (arms[0] + arms[-1] - (width, height)) / 2
        axis.add_patch(Rectangle(corner, width, height, fill=False, ec=shade, lw=2))


def limbs(axis: Any, t: Any, values: Any, title: str, first: int = 0) -> None:
    """Draw a line for every joint, colored by its limb."""
    for name, (joints, color, line) in LIMBS.items():
        if joints.start >= first:
            lines = axis.plot(t, values[:, joints], line, color=color, lw=1.5)
            lines[0].set_label(name)
    axis.set_title(title)


if __name__ == "__main__":
    main()
