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

import importlib
import sys
import typing

from ramidyn import concurrency as _first  # noqa: F401  it may refuse  # pyright: ignore[reportUnusedImport]
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


_MODULES = {
    "compiler": ("compile", "count"),
    "export.c_export": ("export_c",),
    "export.library_export": ("export_library",),
    "function": ("Function",),
    "interop.casadi": ("to_casadi",),
    "interop.wrapping": ("to_jax", "to_torch"),
    "kernels": ("kernel",),
    "quantities.differentiation": ("derivative", "hessian", "jvp", "vjp"),
    "simulation.run": ("Run",),
    "simulation.scan": ("scan",),
    "symbolic.equations": ("solve",),
    "symbolic.repeat": ("repeat", "repeat_until"),
    "tracing.quantity": ("Quantity",),
}
"""what only some users need, and where it is; all other functions are quantities"""
_GATHERED = (
    "builder",
    "math",
    "linalg",
    "loops",
    "forces",
    "contacts",
    "policies",
    "tasks",
)
_NAMESPACES = (*_GATHERED, "control", "robots", "spatial")


def __getattr__(name: str) -> typing.Any:
    """Import what only some users need when it is asked for."""
    if name not in __all__:
        raise AttributeError(
            f"module 'ramidyn' has no attribute {name!r}{_moved(name)}",
            name=name,
            obj=sys.modules[__name__],
        )
    if name == "__version__":
        return importlib.import_module("ramidyn.version").version()
    if name in _NAMESPACES:
        return importlib.import_module(f"ramidyn.{name}")
    homes = [module for module, names in _MODULES.items() if name in names]
    found = getattr(
        importlib.import_module(f"ramidyn.{homes[0]}") if homes else public, name
    )
    globals()[name] = found
    return found


def _moved(name: str) -> str:
    """Return where a name is that is in a namespace, for a message."""
    if name.startswith("_"):
        return ""
    spaces = (importlib.import_module(f"ramidyn.{space}") for space in _GATHERED)
    homes = [space for space in spaces if name in space.__all__]
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
