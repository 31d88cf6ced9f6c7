"""Close a four-bar linkage: assemble it, find its mobility, drive it and simulate it.

Prints its mobility, a closed configuration, the force in its pin, the torque that
produces a motion, and the energy drift and loop error over ten seconds.
"""

import numpy as np

import ramidyn
from ramidyn import Pose
from ramidyn.builder import Body, Inertia, Joint, RobotBuilder

LENGTHS = {"crank": 0.1, "coupler": 0.3, "rocker": 0.25}


def four_bar() -> ramidyn.Robot:
    """Return crank, coupler and rocker in the x-z plane, joined by a hinge."""
    b = RobotBuilder("four_bar")
    parents = {"crank": ("world", 0.0), "coupler": ("crank", 0.1)}
    parents["rocker"] = ("world", 0.3)
    for name, length in LENGTHS.items():
        rod = Inertia.from_box(length, (length, 0.02, 0.02), at=(length / 2, 0, 0))
        parent, x = parents[name]
        b.add(Body(name, rod), parent, Joint.revolute((0, -1, 0), name=name), (x, 0, 0))
    hinge = Pose.from_axis_angle((1, 0, 0), np.pi / 2).R  # z along the joints' axes
    return b.robot().add_loop(
        "coupler",
        "rocker",
        joint="revolute",
        placement_a=Pose(hinge, np.array([0.3, 0, 0])),
        placement_b=Pose(hinge, np.array([0.25, 0, 0])),
        name="pin",
    )


def main() -> None:
    """Run the example."""
    robot = four_bar()
    print(robot.mobility())
    q = robot.assemble(fixed={"crank": 0.5})
    print("closed at", q.round(6))
    q, qd = robot.project(q, [2.0, 0.0, 0.0])
    tau = np.array([0.1, 0.0, 0.0])
    force = robot.loop_forces(q, qd, tau)
    print("the coupler pushes the rocker with", force[:2].round(4), "N along its axes")
    qdd = robot.forward_dynamics(q, qd, tau)
    found = robot.constrained_inverse_dynamics(q, qd, qdd, ["crank"])
    print("torque that produces this motion:", found.tau.round(9), found.is_unique)
    run = robot.simulate(q, qd, duration=10.0)
    drift = np.ptp(run.energy) / np.abs(run.energy).max()
    print(
        f"10 s: energy drifts by {drift:.1e}, the pin opens by {run.residual.max():.1e}"
    )


if __name__ == "__main__":
    main()
