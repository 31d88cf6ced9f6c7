"""Drive an arm with seven joints by model predictive control, 1,000 plans a second.

Prints how far the arm is from a moving goal, and a histogram of how long plans took.
"""

import time

import numpy as np

import ramidyn
from ramidyn.builder import Body, Inertia, Joint, RobotBuilder

builder, parent = RobotBuilder("arm"), "world"
for k in range(7):
    axis = (0, 0, 1) if k % 2 == 0 else (0, 1, 0)
    box = Inertia.from_box(2.0 - 0.2 * k, (0.1, 0.1, 0.2), at=(0.0, 0.0, 0.1))
    builder.add(Body(f"link{k}", box), parent, Joint.revolute(axis), (0.0, 0.0, 0.2))
    parent = f"link{k}"
robot = builder.robot()
dt, period = 0.02, 0.001  # of the plan's steps, and of control


def cost(q, qd, tau, goal):
    """Return the cost of a step."""
    return 10 * (q - goal) @ (q - goal) + 0.1 * qd @ qd + 1e-4 * tau @ tau


planner = ramidyn.control.ILQR(
    robot,
    25,
    dt,
    cost,
    inputs={"goal": 7},
    limits=(np.full(7, -60.0), np.full(7, 60.0)),
)
middle = np.array([0.0, 0.5, 0.0, 1.0, 0.0, 0.6, 0.0])
q, qd = middle, np.zeros(7)
tau = np.repeat(robot.gravity_forces(q)[None], planner.steps, axis=0)
errors, seconds = [], []
for k in range(2000):
    goal = middle + 0.3 * np.sin(2 * period * k)
    begin = time.perf_counter()
    plan = planner(q, qd, tau, goal=goal, iterations=1)
    seconds.append(time.perf_counter() - begin)
    tau = plan.tau  # the next plan begins with this one
    run = robot.rollout(q, qd, tau[0], period, steps=1)  # the arm moves meanwhile
    q, qd = run.q[-1], run.qd[-1]
    errors.append(np.abs(q - goal).max())
print(f"largest error in the last second: {max(errors[1000:]):.3f} rad")
took = 1e6 * np.array(seconds[10:])
counts, edges = np.histogram(took, [0, 100, 150, 200, 250, 300, 400, 600, 1000, np.inf])
for count, edge in zip(counts, edges[1:], strict=True):
    print(f"up to {edge:4.0f} us {count:5d} {'#' * round(50 * count / len(took))}")
share = np.mean(took < 1e6 * period)
print(f"{share:.2%} of the plans took less than the period of {1e6 * period:.0f} us")
