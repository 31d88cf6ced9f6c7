"""Draw how a loop is modeled: a tree with two open ends, and a joint that joins them.

python examples/pictures/cut_joint.py docs/images/cut_joint.png
"""

import sys

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

RODS = {"crank": "#3b6ea5", "coupler": "#4c9a76", "rocker": "#c2793a"}


def main() -> None:
    """Draw the open tree on the left, the closed linkage on the right."""
    figure = Figure(figsize=(9, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    angles = np.array([1.2, 0.24, 1.0])
    ends = linkage(left, angles)
    left.plot(*np.transpose(ends), ":", color="#b03060", lw=1.5)
    left.annotate(
        "the cut joint is open",
        np.mean(ends, axis=0),
        (0.02, 0.27),
        arrowprops={"arrowstyle": "->", "color": "#b03060"},
        color="#b03060",
    )
    left.set_title("a tree: every body has one parent")
    angles[1:] = closed(angles[0])
    end, _ = linkage(right, angles)
    right.annotate(
        "constraint: both ends are here",
        end,
        (0.0, 0.3),
        arrowprops={"arrowstyle": "->", "color": "#b03060"},
        color="#b03060",
    )
    right.set_title("the same tree with its constraint")
    figure.savefig(sys.argv[1], dpi=100)


def linkage(axes: Axes, angles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Draw the rods at absolute angles; return the ends of coupler and rocker."""
    crank, coupler, rocker = (
        length * np.array([np.cos(a), np.sin(a)])
        for length, a in zip((0.1, 0.3, 0.25), angles, strict=True)
    )
    ground = np.zeros(2), np.array([0.3, 0.0])
    rods = {"crank": (ground[0], ground[0] + crank)}
    rods["coupler"] = (ground[0] + crank, ground[0] + crank + coupler)
    rods["rocker"] = (ground[1], ground[1] + rocker)
    for name, rod in rods.items():
        axes.plot(*np.transpose(rod), lw=6, color=RODS[name], solid_capstyle="round")
        middle = np.mean(rod, axis=0)
        axes.annotate(name, middle, (8, -14), textcoords="offset points")
    for joint in (*ground, ground[0] + crank):
        axes.plot(*joint, "o", ms=9, mfc="white", mec="black")
    ends = rods["coupler"][1], rods["rocker"][1]
    for end in ends:
        axes.plot(*end, "o", ms=10, mfc="none", mec="#b03060", mew=2)
    axes.plot([-0.08, 0.42], [-0.02, -0.02], color="0.6", lw=4)
    axes.set(aspect="equal", xlim=(-0.1, 0.5), ylim=(-0.04, 0.33))
    axes.axis("off")
    return ends


def closed(crank: float) -> tuple[float, float]:
    """Return the angles of coupler and rocker that close the loop."""
    a = 0.1 * np.array([np.cos(crank), np.sin(crank)])
    b = np.array([0.3, 0.0])
    d = np.linalg.norm(b - a)
    along = (0.3**2 - 0.25**2 + d**2) / (2 * d)
    up = np.sqrt(0.3**2 - along**2)
    e = (b - a) / d
    pin = a + along * e + up * np.array([-e[1], e[0]])
    return tuple(np.arctan2(v[1], v[0]) for v in (pin - a, pin - b))


if __name__ == "__main__":
    main()
