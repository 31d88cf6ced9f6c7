"""What policies of rollouts need: the arrangement of their inputs.

shared       the same for all states and steps, such as the weights of a network
per_state    one for each state of a batch
per_step     one for each step
"""

from ramidyn.simulation.inputs import per_state, per_step, shared

__all__ = ["per_state", "per_step", "shared"]


def __dir__() -> list[str]:
    return __all__
