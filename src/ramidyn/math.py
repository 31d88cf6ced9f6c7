"""Functions of symbols, numbers and arrays of either, element by element.

    sqrt, exp, log, tanh, absolute, sign
    sin, cos, tan, asin, acos, atan2
    minimum, maximum, clip, where
    dot, cross, norm (of vectors)

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

__all__ = [
    "absolute",
    "acos",
    "asin",
    "atan2",
    "clip",
    "cos",
    "cross",
    "dot",
    "exp",
    "log",
    "maximum",
    "minimum",
    "norm",
    "sign",
    "sin",
    "sqrt",
    "tan",
    "tanh",
    "where",
]
