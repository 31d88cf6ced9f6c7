"""Draw the humanoid of the page about pictures: a strobe of its flight.

python examples/pictures/motion.py docs/images/motion.png
"""

import sys

import numpy as np

import ramidyn

robot = ramidyn.robots.humanoid30("plain")


def springs(q, qd):
    """Return torques that pull the joints to where they are at neutral."""
    tau = 5 * robot.difference(q, robot.neutral()) - 0.1 * qd
    return np.concatenate([np.zeros(6), tau[6:]])  # the base is not actuated


def main() -> None:
    """Let it fly for 0.6 s, and draw it."""
    qd = np.zeros(robot.nv)
    qd[:5] = 1.2, 0, 2.5, 0, 1.5  # the base flies and turns [m/s, rad/s]
    run = robot.rollout(robot.neutral(), qd, dt=1e-3, steps=600, policy=springs)
    axes = run.draw(5, trails=["left_hand", "right_hand"], view=(12, -70))
    axes.figure.savefig(sys.argv[1], dpi=90)


if __name__ == "__main__":
    main()
