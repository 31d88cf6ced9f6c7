"""Drive an arm by model predictive control: a new plan for every control period.

Prints how far the arm is from a moving goal, and how long the plans took.
"""

import time

import numpy as np

import ramidyn
from ramidyn.builder import Body, Inertia, Joint, RobotBuilder

builder, parent = RobotBuilder("arm"), "world"
for name, axis in (("base", (0, 0, 1)), ("upper", (0, 1, 0)), ("lower", (0, 1, 0))):
    box = Inertia.from_box(2.0, (0.1, 0.1, 0.4), at=(0.0, 0.0, 0.2))
    builder.add(Body(name, box), parent, Joint.revolute(axis), (0.0, 0.0, 0.4))
    parent = name
robot = builder.robot()
dt, period = 0.02, 0.005  # of the plan's steps, and of control


def cost(q, qd, tau, goal):
    """Return the cost of a step."""
    return 10 * (q - goal) @ (q - goal) + 0.1 * qd @ qd + 1e-4 * tau @ tau


planner = ramidyn.control.ILQR(
    robot,
    30,
    dt,
    cost,
    inputs={"goal": 3},
    limits=(np.full(3, -30.0), np.full(3, 30.0)),
)
q, qd, tau = np.zeros(3), np.zeros(3), None
errors, seconds = [], []
for k in range(400):
    goal = np.array([0.5 * np.sin(0.01 * k), 0.6, -0.8])
    begin = time.perf_counter()
    plan = planner(q, qd, tau, goal=goal, iterations=1)
    seconds.append(time.perf_counter() - begin)
    tau = plan.tau  # the next plan begins with this one
    run = robot.rollout(q, qd, tau[0], 1e-3, steps=5)  # the arm moves meanwhile
    q, qd = run.q[-1], run.qd[-1]
    errors.append(np.abs(q - goal).max())
print(f"largest error in the last second: {max(errors[200:]):.3f} rad")
slow = 1e3 * np.percentile(seconds[5:], [50, 99])
print(f"one iteration takes {slow[0]:.2f} ms (median), {slow[1]:.2f} ms (99 %)")
