"""Controllers: torques that make a robot do what tasks ask."""

from ramify.control.operational_space import OperationalSpace

__all__ = ["OperationalSpace"]
