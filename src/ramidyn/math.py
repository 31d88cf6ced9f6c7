"""Functions of symbols, numbers and arrays of either, element by element.

    sqrt, exp, log, tanh, absolute, sign
    sin, cos, tan, asin, acos, atan2
    minimum, maximum, clip, where
    dot, cross, norm (of vectors), matmul
    relu, elu, softplus, layer_norm (of networks)
    solve, inverse, determinant, cholesky, least_squares (of small matrices)
    exp_so3, log_so3, exp_se3, log_se3, rotation_error, pose_error

Use them in the body of a `ramidyn.kernel`; on numbers they are NumPy's.
"""

from ramidyn.symbolic.functions import (
    absolute,
    acos,
    asin,
    atan2,
    clip,
    cos,
    cross,
    dot,
    exp,
    log,
    maximum,
    minimum,
    norm,
    sign,
    sin,
    sqrt,
    tan,
    tanh,
    where,
)
from ramidyn.symbolic.lie_groups import (
    exp_se3,
    exp_so3,
    log_se3,
    log_so3,
    pose_error,
    rotation_error,
)
from ramidyn.symbolic.linear_algebra import (
    cholesky,
    determinant,
    inverse,
    least_squares,
    solve,
)
from ramidyn.symbolic.networks import elu, layer_norm, matmul, relu, softplus

__all__ = [
    "absolute",
    "acos",
    "asin",
    "atan2",
    "cholesky",
    "clip",
    "cos",
    "cross",
    "determinant",
    "dot",
    "elu",
    "exp",
    "exp_se3",
    "exp_so3",
    "inverse",
    "layer_norm",
    "least_squares",
    "log",
    "log_se3",
    "log_so3",
    "matmul",
    "maximum",
    "minimum",
    "norm",
    "pose_error",
    "relu",
    "rotation_error",
    "sign",
    "sin",
    "softplus",
    "solve",
    "sqrt",
    "tan",
    "tanh",
    "where",
]
