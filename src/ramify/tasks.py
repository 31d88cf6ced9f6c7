"""Tasks of operational space: which rows of a frame's velocity to control.

    Task                  a frame, its rows, and the axes that they are expressed in
    Tasks                 what methods take as tasks: a frame, a Task, or several
    explain_operational   what each algorithm of Λ⁻¹ costs for a robot and some tasks
    OperationalCounts     the table that it returns

Methods of a robot that take tasks: ``task_jacobian``, ``task_bias``,
``task_acceleration``, ``operational_inertia``, ``operational_inertia_inverse``,
``dynamically_consistent_inverse``, ``null_space_projector``,
``constrained_operational_inertia_inverse``. `ramify.control` has the controller.
"""

from ramify.algorithms.operational.tasks import Task, Tasks
from ramify.explain.operational import OperationalCounts, explain_operational

__all__ = ["OperationalCounts", "Task", "Tasks", "explain_operational"]
