"""Reach with one hand while both feet stand: one target, a grid of them, a motion.

Prints how well a hand reaches a target, how many of a grid of targets can be reached
with both feet on the ground, and how far the hand is from a circle that it draws.
"""

import numpy as np

import ramidyn
from ramidyn.tasks import CenterOfMass, Posture, Task

FEET = ["left_foot", "right_foot"]


def main() -> None:
    """Run the example."""
    robot = ramidyn.robots.humanoid30("plain")
    stance = robot.neutral()
    hand = Task("left_hand", "position")
    rest = robot.pose(stance, "left_hand")[:3, 3]
    above = robot.center_of_mass(stance)

    # The hand reaches out; the center of mass stays above the feet.
    goals = {hand: rest + np.array([0.15, 0.1, 0.2]), CenterOfMass(("x", "y")): above}
    found = robot.inverse_kinematics(goals, stance, constraints=FEET)
    print(found)
    print(f"error {found.errors[hand][0]:.1e} m, feet moved {found.gap:.1e}")

    # A grid of 1,000 targets around the hand.
    steps = np.linspace(-1.0, 1.0, 10)
    grid = rest + np.stack(np.meshgrid(steps, steps, steps), axis=-1).reshape(-1, 3)
    goals[hand] = grid
    found = robot.inverse_kinematics(goals, stance, constraints=FEET, starts=3)
    print(f"{found.success.sum()} of {len(grid)} in reach")

    # A circle, near a posture; no joint is faster than 3 rad/s.
    angle = np.linspace(0.0, 2.0 * np.pi, 200)[:, None]
    circle = rest + 0.1 * np.hstack([np.sin(angle), 1 - np.cos(angle), 0 * angle])
    motion = robot.track(
        {hand: circle, Posture(): stance},
        stance,
        dt=0.02,
        constraints=FEET,
        velocity_limits=3.0,
    )
    print(f"circle: {motion.errors[hand].max():.1e} m off at most")


if __name__ == "__main__":
    main()
