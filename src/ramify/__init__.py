"""Ramify compiles robot dynamics: robot in, native SIMD code out.

>>> import numpy as np, ramify
>>> robot = ramify.robots.humanoid30("plain")
>>> q, qd, tau = robot.neutral(), np.zeros(robot.nv), np.zeros(robot.nv)
>>> robot.forward_dynamics(q, qd, tau)[:3].round(6) + 0.0  # in free fall
array([ 0.  ,  0.  , -9.81])
"""

from ramify import control, robots
from ramify.algorithms.operational.tasks import Task
from ramify.compiling import compile, count
from ramify.errors import (
    CompileError,
    Error,
    FrameError,
    ModelError,
    ModelWarning,
    ShapeError,
    TraceError,
    UnknownName,
    UnsupportedJoint,
)
from ramify.export import check_c, export_c
from ramify.function import Function, kernel
from ramify.loading import load
from ramify.model.builder import Body, Inertia, Joint, RobotBuilder
from ramify.model.conventions import Conventions
from ramify.model.pose import Pose
from ramify.quantities.base import Quantity
from ramify.quantities.dynamics import (
    bias_forces,
    forward_dynamics,
    gravity_forces,
    inverse_dynamics,
    mass_matrix,
)
from ramify.quantities.factor import (
    mass_matrix_csr,
    mass_matrix_factor,
    mass_matrix_solve,
)
from ramify.quantities.kinematics import (
    acceleration,
    center_of_mass,
    center_of_mass_jacobian,
    centroidal_momentum,
    centroidal_momentum_matrix,
    coriolis_matrix,
    jacobian,
    jacobian_dot_times_qd,
    kinetic_energy,
    mass_matrix_inverse,
    pose,
    potential_energy,
    velocity,
)
from ramify.quantities.loops import (
    constrained_operational_inertia_inverse,
    constraint_bias,
    constraint_jacobian,
    constraint_residual,
    loop_forces,
)
from ramify.quantities.operational import (
    dynamically_consistent_inverse,
    null_space_projector,
    operational_inertia,
    operational_inertia_inverse,
    task_acceleration,
    task_bias,
    task_jacobian,
)
from ramify.quantities.osim_choice import explain_operational
from ramify.robot import Robot
from ramify.sparse import Factor, TreeMatrix, ltdl, ltl
from ramify.symbolic.functions import (
    acos,
    asin,
    atan2,
    cos,
    exp,
    log,
    maximum,
    minimum,
    sin,
    sqrt,
    tan,
    where,
)
from ramify.version import __version__

__all__ = [
    "Body",
    "CompileError",
    "Conventions",
    "Error",
    "Factor",
    "FrameError",
    "Function",
    "Inertia",
    "Joint",
    "ModelError",
    "ModelWarning",
    "Pose",
    "Quantity",
    "Robot",
    "RobotBuilder",
    "ShapeError",
    "Task",
    "TraceError",
    "TreeMatrix",
    "UnknownName",
    "UnsupportedJoint",
    "__version__",
    "acceleration",
    "acos",
    "asin",
    "atan2",
    "bias_forces",
    "center_of_mass",
    "center_of_mass_jacobian",
    "centroidal_momentum",
    "centroidal_momentum_matrix",
    "check_c",
    "compile",
    "constrained_operational_inertia_inverse",
    "constraint_bias",
    "constraint_jacobian",
    "constraint_residual",
    "control",
    "coriolis_matrix",
    "cos",
    "count",
    "dynamically_consistent_inverse",
    "exp",
    "explain_operational",
    "export_c",
    "forward_dynamics",
    "gravity_forces",
    "inverse_dynamics",
    "jacobian",
    "jacobian_dot_times_qd",
    "kernel",
    "kinetic_energy",
    "load",
    "log",
    "loop_forces",
    "ltdl",
    "ltl",
    "mass_matrix",
    "mass_matrix_csr",
    "mass_matrix_factor",
    "mass_matrix_inverse",
    "mass_matrix_solve",
    "maximum",
    "minimum",
    "null_space_projector",
    "operational_inertia",
    "operational_inertia_inverse",
    "pose",
    "potential_energy",
    "robots",
    "sin",
    "sqrt",
    "tan",
    "task_acceleration",
    "task_bias",
    "task_jacobian",
    "velocity",
    "where",
]
