"""Integrate the motion of a robot over time: `Robot.rollout` and `Robot.simulate`.

Run          times, states and what else a rollout recorded
Simulation   times, states and loop errors of a run
Torque       its input torques: a function of (t, q, qd)
"""

from ramify.simulation.run import Run
from ramify.simulation.simulate import Simulation, Torque

__all__ = ["Run", "Simulation", "Torque"]


def __dir__() -> list[str]:
    return __all__
