"""Compiled functions as PyTorch functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ramidyn.interop.wrapping import require, wrapped


def to_torch(f: Any) -> Callable[..., Any]:
    """Return a compiled function as a PyTorch function.

    It takes and returns tensors in CPU memory, without copies, and works with autograd,
    torch.func.vmap, grad, vjp and jacrev, and torch.compile. Gradients of any order are
    compiled too, when they are first needed. Inputs are float32 or float64, and so is
    the computation. Numbers, lists and integers take the dtype of the other inputs;
    lists and NumPy arrays are copied. Several outputs are a named tuple. Derivatives
    with respect to q are those by its entries, such as those of a quaternion.

    Args:
        f: a method of a robot such as ``robot.forward_dynamics``, or a function from
            `compile` or `kernel`. Methods of frames take the frame as before:
            ``ramidyn.to_torch(robot.pose)(q, "hand")``.
    """
    require("torch", "PyTorch")
    from ramidyn.interop.torch_operator import PyTorch  # noqa: PLC0415  imports PyTorch

    return wrapped(f, PyTorch())
