"""MPPI: move an arm's hand to a goal by sampling 4,096 rollouts at every step.

Samples are joint accelerations, made torques by inverse dynamics in the compiled step.
Prints the distance to the goal, and how often the controller runs.
"""

import time

import numpy as np

import ramify
from ramify.builder import Body, Inertia, Joint, RobotBuilder

SAMPLES, HORIZON, STEPS, DT = 4096, 12, 60, 0.02
NOISE, TEMPERATURE = 10.0, 0.05  # of accelerations [rad/s^2] and of costs


def arm() -> ramify.Robot:
    """Return an arm of seven joints."""
    builder, parent = RobotBuilder("arm"), "world"
    for k in range(7):
        inertia = Inertia.from_box(1.5, (0.08, 0.08, 0.2), at=(0, 0, 0.1))
        joint = Joint.revolute((0, 0, 1) if k % 2 == 0 else (0, 1, 0))
        builder.add(Body(f"link{k}", inertia), parent, joint, (0, 0, 0.2))
        parent = f"link{k}"
    return ramify.Robot.from_description(builder.description())


def main() -> None:
    """Run the example."""
    robot, rng, q, qd = arm(), np.random.default_rng(0), np.full(7, 0.3), np.zeros(7)
    goal = robot.pose(np.full(robot.nq, 0.5), "link6")[:3, 3]

    def policy(q, qd, wanted):
        return robot.inverse_dynamics(q, qd, wanted - 3.0 * qd)

    def cost(q, qd):
        error = robot.pose(q, "link6")[:3, 3] - goal
        return 20.0 * (error @ error) + 0.01 * (qd @ qd)

    mean, spent = np.zeros((HORIZON, robot.nv)), 0.0
    options = {"policy": policy, "total": {"cost": cost}, "every": HORIZON, "dt": DT}
    for step in range(STEPS):
        start = time.perf_counter()
        wanted = mean + NOISE * rng.standard_normal((SAMPLES, HORIZON, robot.nv))
        runs = robot.rollout(q, qd, inputs={"wanted": wanted}, **options)
        weight = np.exp((runs.cost.min() - runs.cost) / TEMPERATURE)
        mean = np.tensordot(weight / weight.sum(), wanted, axes=1)
        spent += (time.perf_counter() - start) * (step > 0)  # the first one compiles
        qd = qd + DT * (mean[0] - 3.0 * qd)
        q = q + DT * qd
        mean = np.vstack([mean[1:], mean[-1:]])
        if step % 20 == 19:
            gap = 1000 * np.linalg.norm(robot.pose(q, "link6")[:3, 3] - goal)
            print(f"t = {step * DT:4.2f} s: {gap:6.1f} mm from the goal")
    print(f"{SAMPLES:,} rollouts, {(STEPS - 1) / spent:.0f} times a second")


if __name__ == "__main__":
    main()
