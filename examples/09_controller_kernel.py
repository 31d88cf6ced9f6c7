"""Compile a controller, the dynamics and the integrator into one kernel.

Prints the operations of the whole step and of its parts, the difference from running
the parts one by one, and the time per step for 1,000 robots.
"""

import time

import numpy as np

import ramidyn
from ramidyn import math

DT = 1e-3


def main() -> None:
    """Run the example."""
    robot = ramidyn.robots.humanoid30("plain")
    home = robot.neutral()

    def step(q, qd):
        error = robot.difference(q, home)
        qdd = math.clip(80.0 * error - 10.0 * qd, -50.0, 50.0)
        tau = robot.inverse_dynamics(q, qd, qdd)
        qd = qd + DT * robot.forward_dynamics(q, qd, tau)
        return robot.integrate(q, qd, DT), qd

    kernel = ramidyn.kernel(step, {"q": robot.nq, "qd": robot.nv})
    print(kernel)
    parts = (robot.inverse_dynamics, robot.forward_dynamics)
    print(f"the parts: {' and '.join(str(part.ops) for part in parts)}")

    q = robot.random_configuration(0, batch=1000)
    qd = np.zeros((1000, robot.nv))
    (one_q, one_qd), (q_1, qd_1) = step(q[0], qd[0]), kernel(q, qd)
    print(f"difference: {abs(q_1[0] - one_q).max() + abs(qd_1[0] - one_qd).max():.0e}")

    start = time.perf_counter()
    for _ in range(20):
        kernel(q, qd, out=(q_1, qd_1))
    seconds = time.perf_counter() - start
    print(f"{seconds / 20 / len(q) * 1e6:.2f} us per step and robot")


if __name__ == "__main__":
    main()
