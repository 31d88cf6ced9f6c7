"""What policies of rollouts need: networks, and the arrangement of their inputs.

shared       the same for all states and steps, such as the weights of a network
per_state    one for each state of a batch
per_step     one for each step
Sensor       what a robot measures, for `Robot.add_sensor`
network      a policy that is a neural network, from PyTorch or from arrays
"""

from ramidyn.description.sensors import Sensor
from ramidyn.simulation.inputs import per_state, per_step, shared
from ramidyn.simulation.networks import network

__all__ = ["Sensor", "network", "per_state", "per_step", "shared"]


def __dir__() -> list[str]:
    return __all__
