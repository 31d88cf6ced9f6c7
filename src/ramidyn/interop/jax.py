"""Compiled functions as JAX functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ramidyn.interop.wrapping import require, wrapped


def to_jax(f: Any) -> Callable[..., Any]:
    """Return a compiled function as a JAX function.

    It takes and returns JAX arrays, and works under jit, vmap, grad, vjp, jvp, jacfwd,
    jacrev, hessian and lax.scan. Derivatives are compiled too, when they are first
    needed. Inputs are float32 or float64, and so is the computation: without JAX's
    option jax_enable_x64 everything is float32. Numbers and integers take the dtype of
    the other inputs. Several outputs are a named tuple. Derivatives with respect to q
    are those by its entries, such as those of a quaternion.

    Args:
        f: a method of a robot such as ``robot.forward_dynamics``, or a function from
            `compile` or `kernel`. Methods of frames take the frame as before:
            ``ramidyn.to_jax(robot.pose)(q, "hand")``.
    """
    require("jax", "JAX")
    from ramidyn.interop.jax_primitive import Jax  # noqa: PLC0415  imports JAX

    return wrapped(f, Jax())
