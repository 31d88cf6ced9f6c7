"""Ramify compiles robot dynamics: robot in, native SIMD code out."""

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
from ramify.function import Function, kernel
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
    "CompileError",
    "Error",
    "FrameError",
    "Function",
    "ModelError",
    "ModelWarning",
    "ShapeError",
    "TraceError",
    "UnknownName",
    "UnsupportedJoint",
    "__version__",
    "acos",
    "asin",
    "atan2",
    "cos",
    "exp",
    "kernel",
    "log",
    "maximum",
    "minimum",
    "sin",
    "sqrt",
    "tan",
    "where",
]
