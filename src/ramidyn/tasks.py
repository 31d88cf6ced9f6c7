"""Tasks: rows of a frame's velocity to control, and goals of inverse kinematics.

    Task                  a frame, its rows, and the axes they are expressed in
    Tasks                 type of task arguments: a frame, a Task, or several
    Direction             an axis of a frame along a direction of the world
    RelativePose          a frame in another frame
    CenterOfMass          the robot's center of mass
    Posture               a configuration to stay near
    Residual              a function of q that should be zero
    KinematicSolution     what `Robot.inverse_kinematics` returns
    kinematic_step        one step of differential inverse kinematics, to be compiled
    explain_operational   costs of the algorithms for Λ⁻¹, for a robot and some tasks
    OperationalCounts     the table it returns

Methods of a robot that take tasks: ``task_jacobian``, ``task_bias``,
``task_acceleration``, ``operational_inertia``, ``operational_inertia_inverse``,
``dynamically_consistent_inverse``, ``null_space_projector``,
``constrained_operational_inertia_inverse``. `ramidyn.control` has the controller.
``inverse_kinematics`` and ``track`` take targets of a Task or of any other goal.
"""

from ramidyn.algorithms.operational.tasks import Task, Tasks
from ramidyn.explain.counts import OperationalCounts, explain_operational
from ramidyn.kinematics.goals import (
    CenterOfMass,
    Direction,
    Posture,
    RelativePose,
    Residual,
)
from ramidyn.kinematics.solver import KinematicSolution
from ramidyn.kinematics.tracking import kinematic_step

__all__ = [
    "CenterOfMass",
    "Direction",
    "KinematicSolution",
    "OperationalCounts",
    "Posture",
    "RelativePose",
    "Residual",
    "Task",
    "Tasks",
    "explain_operational",
    "kinematic_step",
]
