"""Animate quadrupeds of example 14 that are dropped, in slow motion.

python examples/pictures/landing.py docs/images/landing.gif
"""

import io
import runpy
import sys
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from PIL import Image

EXAMPLE = Path(__file__).parents[1] / "14_quadruped.py"
ROWS, COLUMNS, FRAMES = 3, 4, 36
APART = np.array([0.9, 0.75])  # [m]


def main() -> None:
    """Drop them all in one call, and draw frame after frame."""
    ran = runpy.run_path(str(EXAMPLE))
    robot, rng = ran["robot"], np.random.default_rng(2)
    count = ROWS * COLUMNS
    q = np.tile([0, 0, 0.62, 0, 0, 0, 1, *ran["BEND"]], (count, 1))
    turned = np.pad(0.16 * rng.normal(size=(count, 3)), ((0, 0), (3, 12)))
    q = robot.integrate(q, turned)
    options = {"policy": ran["stand"], "integrator": "implicit", "every": 20}
    run = robot.rollout(q, dt=ran["DT"], steps=20 * (FRAMES - 1), **options)
    places = np.stack(np.meshgrid(range(COLUMNS), range(ROWS)), axis=-1) * APART
    shown = np.array(run.q)
    shown[:, :, :2] += places.reshape(-1, 1, 2)
    frames = [frame(robot, shown[:, k]) for k in range(FRAMES)]
    first, *rest = [image.quantize(32, dither=Image.Dither.NONE) for image in frames]
    first.save(sys.argv[1], save_all=True, append_images=rest, duration=60, loop=0)


def frame(robot: Any, q: Any) -> Image.Image:
    """Return a picture of all robots, those behind first."""
    figure = Figure(figsize=(7.6, 3.9))
    axes = figure.add_axes((-0.02, -0.5, 1.04, 1.98), projection="3d")
    axes.scatter([0], [0], [0], alpha=0)  # the lowest point: the ground
    axes.set_zlim(0, 0.8)
    for one in sorted(q, key=lambda q: -q[1]):
        robot.draw(one, axes=axes, view=(22, -65))
    axes.set_axis_off()
    high = (COLUMNS - 0.4, ROWS - 0.4) * APART
    axes.set(xlim=(-0.4, high[0]), ylim=(-0.4, high[1]), zlim=(0, 0.8))
    axes.set_box_aspect((high[0] + 0.4, high[1] + 0.4, 0.8), zoom=1.08)
    data = io.BytesIO()
    figure.savefig(data, format="png", dpi=80)
    return Image.open(data).convert("RGB")


if __name__ == "__main__":
    main()
