"""Functions of symbols, numbers and arrays of either, element by element.

    sqrt, exp, log
    sin, cos, tan, asin, acos, atan2
    minimum, maximum, where

They are for the body of a `ramify.kernel`; on numbers they return numbers.
"""

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

__all__ = [
    "acos",
    "asin",
    "atan2",
    "cos",
    "exp",
    "log",
    "maximum",
    "minimum",
    "sin",
    "sqrt",
    "tan",
    "where",
]
