"""Controllers: torques that make a robot perform tasks.

OperationalSpace   tasks in priority levels, and a posture that disturbs none
"""

from ramidyn.control.operational_space import OperationalSpace

__all__ = ["OperationalSpace"]


def __dir__() -> list[str]:
    return __all__
