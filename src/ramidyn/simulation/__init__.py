"""Integrate the motion of a robot over time: `Robot.rollout` and `Robot.simulate`.

Run          times, states and what else was recorded
Controller   a Python function that `simulate` calls: (time, q, qd) -> tau
"""

from ramidyn.simulation.arguments import Controller
from ramidyn.simulation.run import Run

__all__ = ["Controller", "Run"]


def __dir__() -> list[str]:
    return __all__
