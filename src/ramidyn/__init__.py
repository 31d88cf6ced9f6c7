"""Ramidyn compiles robot dynamics: robot in, native SIMD code out.

>>> import numpy as np, ramidyn
>>> robot = ramidyn.robots.humanoid30("plain")
>>> q, qd, tau = robot.neutral(), np.zeros(robot.nv), np.zeros(robot.nv)
>>> robot.forward_dynamics(q, qd, tau)[:3].round(6) + 0.0  # in free fall
array([ 0.  ,  0.  , -9.81])

Where to look:

    load, robots, builder        get a Robot: from a file, from papers, from Python
    Robot                        its methods compute; help(ramidyn.Robot) lists them
    compile, kernel, count       several quantities, or your own function, as one kernel
    scan                         a kernel run step by step, in native code
    repeat, repeat_until         loops inside a kernel
    solve                        equations inside a kernel
    export_c                     the same as C99
    export_library               the same as a shared library for C and C++
    to_jax, to_torch, to_casadi  the same inside other libraries, with derivatives
    control, tasks               operational space
    loops                        closed loops
    Run                          what Robot.rollout and Robot.simulate return
    policies                     inputs of policies in rollouts
    forces                       springs, dampers, actuators, compliant contact, tires
    contacts                     rigid contact, hard limits, dry friction
    linalg                       sparse factors along a tree
    math, spatial                functions and 6-vectors for the body of a kernel
    errors                       everything that is raised

All other names are quantities, such as ``forward_dynamics``: what `compile`, `count`
and `export_c` take, and methods of Robot at the same time.
"""

import sys
import typing

from ramidyn.description.conventions import Conventions
from ramidyn.description.pose import Pose
from ramidyn.errors import (
    ArgumentError,
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
from ramidyn.loading import load
from ramidyn.quantities import public
from ramidyn.robot import Robot

if typing.TYPE_CHECKING:
    from ramidyn import (
        builder,
        contacts,
        control,
        errors,
        forces,
        linalg,
        loops,
        math,
        policies,
        robots,
        spatial,
        tasks,
    )
    from ramidyn.compiler import compile, count
    from ramidyn.export.c_export import export_c
    from ramidyn.export.library_export import export_library
    from ramidyn.function import Function
    from ramidyn.interop.casadi import to_casadi
    from ramidyn.interop.wrapping import to_jax, to_torch
    from ramidyn.kernels import kernel
    from ramidyn.quantities.differentiation import derivative, hessian, jvp, vjp
    from ramidyn.quantities.public import *  # noqa: F403  the stub lists them
    from ramidyn.simulation.run import Run
    from ramidyn.simulation.scan import scan
    from ramidyn.symbolic.equations import solve
    from ramidyn.symbolic.repeat import repeat, repeat_until
    from ramidyn.tracing.quantity import Quantity

    __version__: str


def __getattr__(name: str) -> typing.Any:
    """Import what only some users need when it is asked for."""
    # Not `from ramidyn import compiler`: that looks for the name here first.
    match name:
        case "__version__":
            from ramidyn.version import version

            return version()
        case "builder":
            import ramidyn.builder as found
        case "contacts":
            import ramidyn.contacts as found
        case "control":
            import ramidyn.control as found
        case "forces":
            import ramidyn.forces as found
        case "linalg":
            import ramidyn.linalg as found
        case "loops":
            import ramidyn.loops as found
        case "math":
            import ramidyn.math as found
        case "policies":
            import ramidyn.policies as found
        case "robots":
            import ramidyn.robots as found
        case "spatial":
            import ramidyn.spatial as found
        case "tasks":
            import ramidyn.tasks as found
        case "compile" | "count":
            import ramidyn.compiler as found
        case "kernel":
            import ramidyn.kernels as found
        case "scan":
            import ramidyn.simulation.scan as found
        case "repeat" | "repeat_until":
            from ramidyn.symbolic import repeat as found
        case "solve":
            from ramidyn.symbolic import equations as found
        case "Run":
            from ramidyn.simulation import run as found
        case "Function":
            import ramidyn.function as found
        case "Quantity":
            from ramidyn.tracing import quantity as found
        case "derivative" | "hessian" | "jvp" | "vjp":
            from ramidyn.quantities import differentiation as found
        case "to_casadi":
            from ramidyn.interop import casadi as found
        case "to_jax" | "to_torch":
            from ramidyn.interop import wrapping as found
        case "export_c":
            from ramidyn.export import c_export as found
        case "export_library":
            from ramidyn.export import library_export as found
        case _ if name not in __all__:
            raise AttributeError(
                f"module 'ramidyn' has no attribute {name!r}{_moved(name)}",
                name=name,
                obj=sys.modules[__name__],
            )
        case _:
            from ramidyn.quantities import public as found
    found = getattr(found, name, found)
    globals()[name] = found
    return found


def _moved(name: str) -> str:
    """Return where a name is that is in a namespace, for a message."""
    if name.startswith("_"):
        return ""
    from ramidyn import (
        builder,
        contacts,
        forces,
        linalg,
        loops,
        math,
        policies,
        tasks,
    )

    spaces = (builder, math, linalg, loops, forces, contacts, policies, tasks)
    homes = [m for m in spaces if name in m.__all__]
    return f"; use {homes[0].__name__}.{name}" if homes else ""


def __dir__() -> list[str]:
    """Return the public names: tab completion shows them and nothing else."""
    return sorted({*__all__, *(n for n in globals() if n.startswith("__"))})


__all__ = [
    "ArgumentError",
    "CompileError",
    "Conventions",
    "Error",
    "FrameError",
    "Function",
    "ModelError",
    "ModelWarning",
    "Pose",
    "Quantity",
    "Robot",
    "Run",
    "ShapeError",
    "TraceError",
    "UnknownName",
    "UnsupportedJoint",
    "__version__",
    "builder",
    "compile",
    "contacts",
    "control",
    "count",
    "derivative",
    "errors",
    "export_c",
    "export_library",
    "forces",
    "hessian",
    "jvp",
    "kernel",
    "linalg",
    "load",
    "loops",
    "math",
    "policies",
    "repeat",
    "repeat_until",
    "robots",
    "scan",
    "solve",
    "spatial",
    "tasks",
    "to_casadi",
    "to_jax",
    "to_torch",
    "vjp",
]
__all__ += public.__all__
