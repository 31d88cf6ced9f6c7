"""Operational-space tasks: which rows of a frame's velocity to control.

    Task                  a frame, its rows, and the axes they are expressed in
    Tasks                 type of task arguments: a frame, a Task, or several
    explain_operational   costs of the algorithms for Λ⁻¹, for a robot and some tasks
    OperationalCounts     the table it returns

Methods of a robot that take tasks: ``task_jacobian``, ``task_bias``,
``task_acceleration``, ``operational_inertia``, ``operational_inertia_inverse``,
``dynamically_consistent_inverse``, ``null_space_projector``,
``constrained_operational_inertia_inverse``. `ramidyn.control` has the controller.
"""

from ramidyn.algorithms.operational.tasks import Task, Tasks
from ramidyn.explain.counts import OperationalCounts, explain_operational

__all__ = ["OperationalCounts", "Task", "Tasks", "explain_operational"]
