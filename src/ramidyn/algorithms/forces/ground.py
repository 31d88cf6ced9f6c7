"""The ground as a function: its height and normal at a point."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ramidyn.description.forces.contacts import (
    Height,
    PointContact,
    SphereContact,
    Tire,
)
from ramidyn.errors import ShapeError, TraceError
from ramidyn.spatial.vector3 import ONE, ZERO, Vec
from ramidyn.symbolic.derivatives import forward
from ramidyn.symbolic.expr import Expr, lift
from ramidyn.symbolic.inline import inline
from ramidyn.symbolic.program import Program
from ramidyn.symbolic.trace import trace


def slope(
    element: PointContact | SphereContact | Tire, x: Expr, y: Expr
) -> tuple[Expr, Vec]:
    """Return the height of the ground below a point, and its unit normal there."""
    assert element.height is not None
    found = inline(_program(element.height, element.name), {"x": x, "y": y})
    z, zx, zy = found["z"], found["zx"], found["zy"]
    k = ONE / (zx * zx + zy * zy + 1.0).sqrt()
    return z, Vec((-(zx * k), -(zy * k), k))


@lru_cache(maxsize=64)
def _program(height: Height, name: str) -> Program:
    """Return the program of the height and its slopes along x and y."""

    def sloped(x: Expr, y: Expr) -> dict[str, Any]:
        try:
            z = height(x, y)
        except TraceError:
            raise
        except Exception as error:
            raise TraceError(
                f"force {name!r}: height(x, y) cannot be traced: "
                f"{type(error).__name__}: {error}"
            ) from error
        shape = np.asarray(z, dtype=object).shape
        if shape != ():
            raise ShapeError(
                f"force {name!r}: height(x, y) has shape {shape}; expected one number"
            )
        if z is None:
            raise TraceError(
                f"force {name!r}: height(x, y) is None; did the function return it?"
            )
        (row,) = forward([lift(z)], {x: {0: ONE}, y: {1: ONE}})
        return {"z": z, "zx": row.get(0, ZERO), "zy": row.get(1, ZERO)}

    return trace(sloped, {"x": (), "y": ()}, "height")
