"""Derivatives of quantities, of lists of them, and of users' own functions.

    derivative(f, wrt)    dy/dx, one array for each output y and input x of ``wrt``
    jvp(f, wrt)           y and ẏ = (dy/dx) ẋ, for ẋ as further inputs
    vjp(f, wrt)           y and x̄ = (dy/dx)ᵀ ȳ, for ȳ as further inputs
    hessian(f, wrt)       d²y/dx², of a scalar y

Applied to quantities they return a quantity, for `compile`; applied to a function, a
function for `kernel`. Along q a step is taken in the tangent space (`directions`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache, partial
from typing import Any, cast

from ramidyn.description.conventions import NAMED, Conventions
from ramidyn.errors import ArgumentError, one_of
from ramidyn.quantities.applied import acting_forces
from ramidyn.quantities.directions import SPACES, directions_shape, seeds
from ramidyn.quantities.dynamics import forward_dynamics, inverse_dynamics
from ramidyn.quantities.equation_of_motion import (
    articulated_acceleration,
    factored_acceleration,
    response,
)
from ramidyn.quantities.mass_matrix import check_tree_algorithm, factored_trees
from ramidyn.symbolic import function_derivatives
from ramidyn.symbolic.derivatives import checked_wrt, names_of
from ramidyn.symbolic.function_derivatives import differentiated
from ramidyn.symbolic.jacobians import (
    flat,
    hessians,
    identifier,
    jacobians,
    shape_of,
    with_cotangents,
    with_tangents,
)
from ramidyn.symbolic.program import free_name
from ramidyn.symbolic.seeds import held_seeds
from ramidyn.tracing.chooser import trace_quantities, values_of
from ramidyn.tracing.context import Checks, Context, array
from ramidyn.tracing.quantity import Quantity, Shapes, input_shapes, quantity
from ramidyn.tree.model import Model
from ramidyn.tree.parameters import is_parameter, parameter_shapes
from ramidyn.tree.singular import check_dynamics

# ------------------------------------------------------------ of quantities


def _shapes(model: Model, of: Sequence[Quantity], wrt: object, **_: Any) -> Shapes:
    """Return the inputs of some quantities and the parameters in ``wrt``, checked."""
    shapes = input_shapes(of, model)
    names = cast("Iterable[object]", wrt)
    further = [n for n in names if isinstance(n, str) and n not in shapes]
    parameters = [n for n in further if is_parameter(n)]
    shapes.update(parameter_shapes(parameters, model))
    checked_wrt(wrt, shapes)
    return shapes


def _tangent_inputs(
    model: Model, of: Sequence[Quantity], wrt: tuple[str, ...], space: str, **_: Any
) -> Shapes:
    shapes = _shapes(model, of, wrt)
    further = {
        free_name(f"{identifier(n)}_tangent", shapes): directions_shape(
            n, shapes[n], model.nv, space
        )
        for n in wrt
    }
    return {**shapes, **further}


def _cotangent_inputs(
    model: Model, of: tuple[Quantity, ...], wrt: tuple[str, ...], **_: Any
) -> Shapes:
    shapes = _shapes(model, of, wrt)
    outputs = _output_shapes(of, model)
    further = {free_name(f"{n}_cotangent", shapes): s for n, s in outputs.items()}
    return {**shapes, **further}


@lru_cache(maxsize=64)
def _output_shapes(of: tuple[Quantity, ...], model: Model) -> Shapes:
    """Return the shapes of outputs, which are the same in all conventions."""
    program = trace_quantities(of, model, NAMED["pinocchio"])
    return {v.name: v.shape for v in program.outputs}


CHECKS: Checks = {"space": partial(one_of, "space", possible=SPACES)}


@quantity(
    algorithms=("forward", "reverse"),
    further_inputs=_shapes,
    name="derivative",
    checks=CHECKS,
)
def _derivative(
    context: Context,
    of: tuple[Quantity, ...],
    wrt: tuple[str, ...],
    space: str = "tangent",
    algorithm: str = "auto",
) -> Any:
    """dy/dx."""
    values = values_of(of, context.with_inputs())
    widths = _widths(context, wrt, space)
    return jacobians(values, widths, seeds(context, wrt, space), algorithm)


@quantity(further_inputs=_tangent_inputs, name="jvp", checks=CHECKS)
def _jvp(
    context: Context,
    of: tuple[Quantity, ...],
    wrt: tuple[str, ...],
    space: str = "tangent",
) -> Any:
    """y and (dy/dx) ẋ."""
    values = values_of(of, context.with_inputs())
    names = list(_tangent_inputs(context.model, of, wrt, space))[-len(wrt) :]
    moves = [e for n in names for e in flat(context.inputs[n])]
    return with_tangents(values, seeds(context, wrt, space), moves)


def _vjp_algorithms(
    model: Model, _conventions: Conventions, of: Sequence[Quantity], **_: Any
) -> tuple[str, ...]:
    """Return the algorithms: forward dynamics of a tree has more."""
    is_forward = of[0].declaration is forward_dynamics.declaration
    if len(of) == 1 and is_forward and not model.loops:
        return ("reverse", *(f"adjoint_{x}" for x in factored_trees(model)))
    return ("reverse",)


@quantity(
    algorithms=("reverse", "adjoint_aba", "adjoint_ltdl"),
    possible=_vjp_algorithms,
    further_inputs=_cotangent_inputs,
    name="vjp",
    checks=CHECKS,
)
def _vjp(
    context: Context,
    of: tuple[Quantity, ...],
    wrt: tuple[str, ...],
    space: str = "tangent",
    algorithm: str = "auto",
) -> Any:
    """y and (dy/dx)ᵀ ȳ."""
    if algorithm.startswith("adjoint_"):
        by = algorithm.removeprefix("adjoint_")
        check_dynamics(context.model)
        check_tree_algorithm("vjp", by, context.model)
        return _adjoint(context, of[0], wrt, space, by)
    values = values_of(of, context.with_inputs())
    names = list(_cotangent_inputs(context.model, of, wrt))[-len(values) :]
    weights = [e for n in names for e in flat(context.inputs[n])]
    widths = _widths(context, wrt, space)
    return with_cotangents(values, widths, seeds(context, wrt, space), weights)


def _adjoint(
    context: Context, of: Quantity, wrt: tuple[str, ...], space: str, by: str
) -> Any:
    """Return q̈ and its gradients by one more solve, and the vjp of inverse dynamics.

    With μ = M⁻¹ λ they are μ for τ and −(∂ID/∂x)ᵀ μ for others, at q̈ held.
    """
    given = of.options["external"], of.options["expressed_in"]
    applied = acting_forces(context, *given)
    name = next(iter(_output_shapes((of,), context.model)))
    weights = context.inputs[f"{name}_cotangent"]
    if by == "ltdl":
        qdd, solver = factored_acceleration(context, applied)
        mu = solver.solved(weights)
    else:
        qdd, mu = articulated_acceleration(context, applied), response(context, weights)
    there = context.with_inputs(qdd=qdd)
    tau = inverse_dynamics(*given).of(there)
    along = {**seeds(context, wrt, space), **held_seeds(qdd)}
    widths = _widths(context, wrt, space)
    out = with_cotangents({name: array(tau)}, widths, along, [-x for x in mu])
    out[name] = array(qdd)
    if "tau" in wrt:
        out["tau_cotangent"] = array(mu)
    return out


@quantity(further_inputs=_shapes, name="hessian", checks=CHECKS)
def _hessian(
    context: Context,
    of: tuple[Quantity, ...],
    wrt: tuple[str, ...],
    space: str = "tangent",
) -> Any:
    """d²y/dx²."""
    values = values_of(of, context.with_inputs())
    return hessians(values, _widths(context, wrt, space), seeds(context, wrt, space))


def _widths(context: Context, wrt: Sequence[str], space: str) -> Shapes:
    """Return the shapes of the directions of some inputs."""
    nv = context.model.nv
    return {n: directions_shape(n, shape_of(context.inputs[n]), nv, space) for n in wrt}


# ------------------------------------------------------------ what users call


def derivative(f: Any, wrt: str | Sequence[str], *, space: str = "tangent") -> Any:
    """Differentiate a quantity, a list of quantities, or a function of your own.

    dy/dx has the shape of y, then that of x: ``derivative(ramidyn.pose("hand"), "q")``
    has shape (4, 4, nv).

    Args:
        f: a quantity such as ``ramidyn.inverse_dynamics``, a list of them, or a
            function of symbols such as `kernel` takes.
        wrt: the inputs to differentiate with respect to, such as "q" or ("q", "qd").
            For quantities also parameters, as `compile` takes them: "gravity",
            "inertia:<body>" or "placement:<body>" become inputs, after all others.
        space: how q of a quantity varies: "tangent", one column per entry of qd, or
            "coordinates", one per entry of q.

    Returns:
        A quantity for `compile`; for a function, a function of the same inputs for
        `kernel`, or to call inside a kernel. Outputs are called d<output>_d<input>,
        such as dinverse_dynamics_dinertia_hand.

    >>> import numpy as np, ramidyn
    >>> robot = ramidyn.robots.chain(3)
    >>> slope = ramidyn.compile(ramidyn.derivative(ramidyn.gravity_forces, "q"), robot)
    >>> slope(robot.neutral()).shape
    (3, 3)
    >>> square = ramidyn.derivative(lambda x: x @ x, wrt="x")
    >>> ramidyn.kernel(square, {"x": 3})(np.array([1.0, 2.0, 3.0]))
    array([2., 4., 6.])
    """
    return _differentiate(_derivative, function_derivatives.derivative, f, wrt, space)


def jvp(f: Any, wrt: str | Sequence[str], *, space: str = "tangent") -> Any:
    """Return f with the change of its outputs caused by a change of its inputs.

    Each input of ``wrt`` gets an additional input ``<input>_tangent``, each output an
    additional output ``<output>_tangent``. See `derivative` for the arguments.

    >>> import numpy as np, ramidyn
    >>> robot = ramidyn.robots.chain(3)
    >>> f = ramidyn.compile(ramidyn.jvp(ramidyn.center_of_mass, "q"), robot)
    >>> center, velocity = f(robot.neutral(), np.array([1.0, 0.0, 0.0]))
    >>> velocity.shape
    (3,)
    """
    return _differentiate(_jvp, function_derivatives.jvp, f, wrt, space)


def vjp(f: Any, wrt: str | Sequence[str], *, space: str = "tangent") -> Any:
    """Return f with the gradient of a weighted sum of its outputs.

    Each output gets an additional input ``<output>_cotangent``, its weights, and each
    input of ``wrt`` an additional output ``<input>_cotangent``, the gradient. A kernel
    takes the shapes of additional inputs after those of f, by any name. See
    `derivative` for the arguments.

    >>> import numpy as np, ramidyn
    >>> robot = ramidyn.robots.chain(3)
    >>> f = ramidyn.compile(ramidyn.vjp(ramidyn.center_of_mass, "q"), robot)
    >>> center, of_height = f(robot.neutral(), np.array([0.0, 0.0, 1.0]))
    >>> of_height.shape
    (3,)
    >>> square = ramidyn.vjp(lambda x: x * x, "x")
    >>> f = ramidyn.kernel(square, {"x": 2, "weights": 2})
    >>> f(np.array([1.0, 2.0]), np.array([1.0, 10.0])).x_cotangent
    array([ 2., 40.])
    """
    return _differentiate(_vjp, function_derivatives.vjp, f, wrt, space)


def hessian(f: Any, wrt: str | Sequence[str], *, space: str = "tangent") -> Any:
    """Return the second derivatives of scalar outputs.

    Outputs are called d2<output>_d<input>_d<input>: row i, column j is how derivative
    i changes along direction j. In the tangent space of a rotation, steps in two
    directions do not commute, and the matrix is not symmetric. See `derivative` for
    the arguments.

    >>> import numpy as np, ramidyn
    >>> second = ramidyn.kernel(ramidyn.hessian(lambda x: x[0] * x[1], "x"), {"x": 2})
    >>> second(np.zeros(2))
    array([[0., 1.],
           [1., 0.]])
    """
    return _differentiate(_hessian, function_derivatives.hessian, f, wrt, space)


def _differentiate(
    kind: Quantity, of_function: Any, f: Any, wrt: Any, space: str
) -> Any:
    """Return a quantity, or a function, whose inputs vary by entries in any space."""
    one_of("space", space, SPACES)
    if callable(f) and not isinstance(f, Quantity):
        return differentiated(f, wrt, of_function)
    of: tuple[Any, ...] = (f,) if isinstance(f, Quantity) else ()
    if isinstance(f, Iterable) and not isinstance(f, str):
        of = tuple(cast(Iterable[Any], f))
    if not of or not all(isinstance(x, Quantity) for x in of):
        raise ArgumentError(
            f"{f!r} cannot be differentiated; expected a quantity such as "
            "ramidyn.inverse_dynamics, a list of them, or a function"
        )
    return kind(of=of, wrt=names_of(wrt), space=space)
