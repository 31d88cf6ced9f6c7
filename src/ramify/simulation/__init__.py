"""Integrate the motion of a robot over time: `Robot.simulate` returns a Simulation.

Simulation   times, states and loop errors of a run
Torque       its input torques: a function of (t, q, qd)
"""

from ramify.simulation.simulate import Simulation, Torque

__all__ = ["Simulation", "Torque"]


def __dir__() -> list[str]:
    return __all__
