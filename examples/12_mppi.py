"""MPPI: move an arm's hand to a goal by sampling 4,096 rollouts at every step.

Samples are joint accelerations, held for a few steps, made torques by inverse dynamics
in the compiled step. Prints the distance to the goal, and how often it is controlled.
"""

import time

import numpy as np

import ramidyn
from ramidyn.builder import Body, Inertia, Joint, RobotBuilder

SAMPLES, HORIZON, HELD, STEPS, DT = 4096, 12, 4, 60, 0.02
NOISE, TEMPERATURE = 5.0, 0.2  # of accelerations [rad/s^2] and of costs


def arm() -> ramidyn.Robot:
    """Return an arm of seven joints."""
    builder, parent = RobotBuilder("arm"), "world"
    for k in range(7):
        inertia = Inertia.from_box(1.5, (0.08, 0.08, 0.2), at=(0, 0, 0.1))
        link, joint = Body(f"link{k}", inertia), Joint.revolute((0, k % 2, 1 - k % 2))
        builder.add(link, parent, joint, (0, 0, 0.2))
        parent = link.name
    return builder.robot()


robot, rng, q, qd = arm(), np.random.default_rng(0), np.full(7, 0.3), np.zeros(7)
goal = robot.pose(np.full(robot.nq, 0.5), "link6")[:3, 3]


def policy(q, qd, wanted):
    """Return torques that accelerate as wanted, with some damping."""
    return robot.inverse_dynamics(q, qd, wanted - 3.0 * qd)


def cost(q, qd):
    """Return what a step costs."""
    error = robot.pose(q, "link6")[:3, 3] - goal
    return 100.0 * (error @ error) + 0.1 * (qd @ qd)


mean, spent = np.zeros((HORIZON, robot.nv), np.float32), 0.0
options = {"total": {"cost": cost}, "every": HORIZON, "dt": DT, "dtype": "float32"}
for step in range(STEPS):
    start = time.perf_counter()
    noise = rng.standard_normal((SAMPLES, HORIZON // HELD, robot.nv), np.float32)
    wanted = mean + np.repeat(np.float32(NOISE) * noise, HELD, axis=1)
    runs = robot.rollout(q, qd, policy=policy, inputs={"wanted": wanted}, **options)
    weight = np.exp((runs.cost.min() - runs.cost) / TEMPERATURE)
    mean = np.tensordot(weight / weight.sum(), wanted, axes=1)
    spent += (time.perf_counter() - start) * (step > 0)  # the first one compiles
    qd += DT * (mean[0] - 3.0 * qd)
    q += DT * qd
    mean = np.vstack([mean[1:], mean[-1:]])
    if step % 20 == 19:
        gap = 1000 * np.linalg.norm(robot.pose(q, "link6")[:3, 3] - goal)
        print(f"t = {step * DT:.2f} s: {gap:.1f} mm from the goal")
print(f"{SAMPLES:,} rollouts, {(STEPS - 1) / spent:.0f} times a second")
