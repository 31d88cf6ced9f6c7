"""Draw what example 06 simulates: the linkage, its angles, and what stays constant.

python examples/pictures/four_bar.py docs/images/four_bar.png
"""

import runpy
import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

EXAMPLE = Path(__file__).parents[1] / "06_four_bar.py"


def main() -> None:
    """Simulate the linkage of the example for two seconds, and draw it."""
    robot = runpy.run_path(str(EXAMPLE))["four_bar"]()
    robot = robot.add_frame("pin", "coupler", (0.3, 0, 0))
    q, qd = robot.project(robot.assemble(fixed={"crank": 0.5}), [12.0, 0.0, 0.0])
    run = robot.simulate(q, qd, duration=2.0)
    figure = Figure(figsize=(12, 4.2), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=(1, 1.25))
    linkage = left.add_subplot(projection="3d")
    run.draw(np.linspace(0, 0.3, 5), trails=["pin"], view=(14, -78), axes=linkage)
    angles, energy, residual = right.subplots(3, 1, sharex=True)
    for joint, values in zip(("crank", "coupler", "rocker"), run.q.T, strict=True):
        angles.plot(run.times, values, label=joint)
    angles.set(ylabel="angle [rad]")
    angles.legend(ncols=3, frameon=False, fontsize=8)
    change = run.energy - run.energy[0]
    energy.plot(run.times, 1e9 * change, color="#3c8d5f")
    energy.set(ylabel="change of\nenergy [nJ]")
    residual.semilogy(run.times[1:], run.residual[1:], color="#b0487a")
    residual.set(ylabel="the pin\nopens by [m]", xlabel="t [s]")
    for axes in (angles, energy, residual):
        axes.grid(alpha=0.3)
    figure.savefig(sys.argv[1], dpi=90)


if __name__ == "__main__":
    main()
