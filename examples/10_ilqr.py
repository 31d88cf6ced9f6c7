"""Plan the motions of an arm from 256 starts at once, by iterative LQR.

Prints the mean cost after each iteration, and how far the arms are from their goal.
"""

import numpy as np

import ramidyn
from ramidyn.builder import Body, Inertia, Joint, RobotBuilder

builder, parent = RobotBuilder("arm"), "world"
for name, axis in (("base", (0, 0, 1)), ("upper", (0, 1, 0)), ("lower", (0, 1, 0))):
    box = Inertia.from_box(2.0, (0.1, 0.1, 0.4), at=(0.0, 0.0, 0.2))
    joint = Joint.revolute(axis)
    builder.add(Body(name, box), parent, joint, (0.0, 0.0, 0.4))
    parent = name
robot = builder.robot()
goal, dt = np.array([0.5, 1.0, -1.5]), 0.02


def cost(q, qd, tau, goal):
    """Return the cost of a step."""
    return dt * (10 * (q - goal) @ (q - goal) + 0.5 * qd @ qd + 5e-3 * tau @ tau)


def final_cost(q, qd, goal):
    """Return the cost of the last state."""
    return 500 * (q - goal) @ (q - goal) + 25 * qd @ qd


planner = ramidyn.control.ILQR(
    robot,
    100,
    dt,
    cost,
    final_cost,
    inputs={"goal": 3},
    limits=(np.full(3, -40.0), np.full(3, 40.0)),
)
starts = np.random.default_rng(0).uniform(-0.5, 0.5, size=(256, 3))
hold = np.repeat(robot.gravity_forces(starts)[:, None], 100, axis=1)
plans = planner(
    starts,
    tau=hold,
    goal=goal,
    report=lambda k, costs: print(f"iteration {k}: mean cost {costs.mean():.4f}"),
)
distance = np.abs(plans.q[:, -1] - goal).max()
print(
    f"{plans.converged.sum()} of 256 plans converged, {distance:.4f} rad from the goal"
)
