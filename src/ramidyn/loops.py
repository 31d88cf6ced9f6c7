"""Closed loops: the types that methods of a robot with loops return.

    Loop               one loop of a robot: what it connects, and its rows (robot.loops)
    Mobility           degrees of freedom and redundant rows (robot.mobility)
    InverseDynamics    forces that produce a motion (constrained_inverse_dynamics)
    ROWS               the types of cut joints, and what each constrains

Methods of a robot: ``add_loop``, ``pin``, ``loops`` and ``without_clusters``;
``assemble``, ``project`` and ``check_state`` for states in which the loops are closed;
``mobility``;
``forward_dynamics``, ``loop_forces``, ``loop_wrenches``, ``joint_wrenches``,
``constrained_inverse_dynamics`` and ``simulate``; ``constraint_residual``,
``constraint_jacobian``, ``constraint_bias``.
"""

from ramidyn.description.loop_types import ROWS
from ramidyn.mechanism.loops import Loop
from ramidyn.mechanism.mobility import InverseDynamics, Mobility

__all__ = ["ROWS", "InverseDynamics", "Loop", "Mobility"]
