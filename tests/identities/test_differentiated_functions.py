"""Derivatives of users' functions, lists of quantities, and what is refused."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import ramidyn
from ramidyn.compiler import program_of
from ramidyn.errors import ArgumentError, ShapeError
from support.close import assert_close


def test_functions_are_differentiated_for_kernels() -> None:
    def f(x: Any, y: Any) -> Any:
        return {"product": x * y, "length": ramidyn.math.sqrt(x @ x)}

    x, y = np.array([3.0, 4.0]), np.array([2.0, 5.0])
    found = ramidyn.kernel(ramidyn.derivative(f, ("x", "y")), {"x": 2, "y": 2})(x, y)
    assert_close(found.dproduct_dx, np.diag(y))
    assert_close(found.dproduct_dy, np.diag(x))
    assert_close(found.dlength_dx, x / 5.0)
    assert_close(found.dlength_dy, np.zeros(2))
    shapes = {"x": 2, "y": 2, "w": 2, "v": ()}
    weighted = ramidyn.kernel(ramidyn.vjp(f, "x"), shapes)(x, y, np.ones(2), 5.0)
    assert_close(weighted.x_cotangent, y + x)
    moved = ramidyn.kernel(ramidyn.jvp(f, "y"), {"x": 2, "y": 2, "w": 2})(x, y, x)
    assert_close(moved.product_tangent, x * x)
    second = ramidyn.kernel(ramidyn.hessian(lambda x: (x @ x) ** 2, "x"), {"x": 2})
    assert_close(second(x), 4 * (x @ x) * np.eye(2) + 8 * np.outer(x, x))


def test_a_function_that_returns_a_tuple_has_several_derivatives() -> None:
    def step(x: Any, v: Any, dt: Any = 0.5) -> Any:
        return x + dt * v, v @ v

    shapes = {"x": 2, "v": 2}
    x, v = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    move, energy = ramidyn.kernel(ramidyn.derivative(step, "v"), shapes)(x, v)
    assert_close(move, 0.5 * np.eye(2))
    assert_close(energy, 2.0 * v)


def test_a_derivative_is_part_of_a_kernel(rng: np.random.Generator) -> None:
    """Where it is taken, an input may be an expression, a number or occur twice."""

    def product(x: Any, z: Any) -> Any:
        return (x * z * z).sum()

    slope = ramidyn.derivative(product, "x")
    y = rng.normal(size=3)

    def closed_over(y: Any) -> Any:
        return ramidyn.derivative(lambda x: x @ y, "x")(y)

    def newton(y: Any) -> Any:
        gradient = ramidyn.derivative(lambda x: (x**4).sum(), "x")(y)
        curvature = ramidyn.hessian(lambda x: (x**4).sum(), "x")(y)
        return y - gradient / np.diag(curvature)

    cases: dict[str, tuple[Any, Any]] = {
        "the same symbol twice": (lambda y: slope(y, y), y * y),
        "its negative": (lambda y: slope(y, -y), y * y),
        "an expression": (lambda y: slope(2.0 * y, 3.0 + y), (3.0 + y) ** 2),
        "numbers": (lambda y: y + slope(np.ones(3), np.ones(3)), y + 1.0),
        "a function that sees it": (closed_over, y),
        "a step of Newton's method": (newton, y * 2 / 3),
    }
    for what, (function, expected) in cases.items():
        found = ramidyn.kernel(function, {"y": 3})(y)
        assert_close(found, expected, what)


def test_derivatives_of_derivatives_vary_each_their_own_input() -> None:
    """d/dx (x d/dy (x + y)) at y = x is 1: a change of x is no change of y."""

    def inner(x: Any) -> Any:
        return x * ramidyn.derivative(lambda y: x + y, "y")(x)

    assert ramidyn.kernel(ramidyn.derivative(inner, "x"), {"x": ()})(3.0) == 1.0


def test_several_gradients_in_one_function_have_names_of_their_own(
    rng: np.random.Generator,
) -> None:
    robot = ramidyn.robots.chain(3)
    q, qd = rng.normal(size=(2, 3))
    both = [
        ramidyn.vjp(f, "q") for f in (ramidyn.kinetic_energy, ramidyn.center_of_mass)
    ]
    found = ramidyn.compile(both, robot)(q, qd, 2.0, np.ones(3))
    for name, quantity, weights in (
        ("q_cotangent", both[0], (qd, 2.0)),
        ("q_cotangent_2", both[1], (np.ones(3),)),
    ):
        alone = ramidyn.compile(quantity, robot)(q, *weights)
        assert_close(getattr(found, name), alone.q_cotangent)


def test_gradients_of_derivatives_of_larger_robots() -> None:
    """Their solves are loops: hidden outputs are not differentiated."""
    robot = ramidyn.robots.binary_tree(15)
    gradient = ramidyn.vjp(ramidyn.forward_dynamics_derivatives, "tau")
    names = [v.name for v in program_of(gradient, robot).outputs]
    assert names == ["dqdd_dq", "dqdd_dqd", "dqdd_dtau", "tau_cotangent"]


# ------------------------------------------------------------ what is refused


def test_wrt_must_be_an_input() -> None:
    robot = ramidyn.robots.chain(2)
    with pytest.raises(
        ArgumentError,
        match="wrt names 'tau', which is not an input; inputs: q, qd, qdd",
    ):
        ramidyn.compile(ramidyn.derivative(ramidyn.inverse_dynamics, "tau"), robot)
    with pytest.raises(
        ArgumentError, match="wrt names 'z', which is not an input; inputs: x, y"
    ):
        ramidyn.vjp(lambda x, y: x * y, "z")
    with pytest.raises(
        ArgumentError, match=r"wrt is \(\); expected the names of inputs: q"
    ):
        ramidyn.compile(ramidyn.jvp(ramidyn.center_of_mass, ()), robot)


def test_what_is_differentiated_must_be_a_quantity_or_a_function() -> None:
    with pytest.raises(
        ArgumentError,
        match=r"'mass' cannot be differentiated; expected a quantity such as "
        r"ramidyn\.inverse_dynamics, a list of them, or a function",
    ):
        ramidyn.derivative("mass", "q")


def test_wrt_is_a_name_or_names() -> None:
    robot = ramidyn.robots.chain(2)
    wrong: Any = 5
    with pytest.raises(ArgumentError, match="wrt names 5, which is not an input"):
        ramidyn.compile(ramidyn.derivative(ramidyn.center_of_mass, wrong), robot)


def test_a_space_is_one_of_two() -> None:
    with pytest.raises(
        ArgumentError, match="space is 'raw'; possible: 'tangent', 'coordinates'"
    ):
        ramidyn.derivative(ramidyn.center_of_mass, "q", space="raw")


def test_a_hessian_needs_numbers() -> None:
    with pytest.raises(
        ArgumentError,
        match=r"hessian needs scalar outputs; 'center_of_mass' has shape "
        r"\(3,\); apply ramidyn\.derivative twice instead",
    ):
        ramidyn.compile(
            ramidyn.hessian(ramidyn.center_of_mass, "q"), ramidyn.robots.chain(2)
        )


def test_cotangents_have_the_shapes_of_outputs() -> None:
    with pytest.raises(
        ArgumentError,
        match=r"the additional inputs have shapes \[\(2,\)\]; after its own inputs the "
        r"function takes result_cotangent: \(3,\)",
    ):
        ramidyn.kernel(ramidyn.vjp(lambda x: 2.0 * x, "x"), {"x": 3, "w": 2})
    robot = ramidyn.robots.chain(3)
    gradient = ramidyn.compile(ramidyn.vjp(ramidyn.center_of_mass, "q"), robot)
    with pytest.raises(
        ShapeError, match=r"center_of_mass_cotangent has shape \(2,\); .* needs \(3,\)"
    ):
        gradient(np.zeros(3), np.zeros(2))
    with pytest.raises(
        ShapeError, match="batch sizes differ: q 4, center_of_mass_cotangent 5"
    ):
        gradient(np.zeros((4, 3)), np.zeros((5, 3)))
    along = ramidyn.compile(ramidyn.jvp(ramidyn.center_of_mass, "q"), robot)
    with pytest.raises(
        ShapeError, match=r"q_tangent has shape \(2,\); .* needs \(3,\)"
    ):
        along(np.zeros(3), np.zeros(2))


def test_compiled_functions_are_differentiated_by_the_names_of_their_inputs() -> None:
    robot = ramidyn.robots.chain(3)
    compiled = ramidyn.compile(ramidyn.forward_dynamics, robot)
    assert list(inspect.signature(compiled).parameters) == ["q", "qd", "tau", "out"]
    by_tau = ramidyn.kernel(
        ramidyn.derivative(compiled, "tau"), {"q": 3, "qd": 3, "tau": 3}
    )
    q, qd, tau = np.random.default_rng(0).normal(size=(3, 3))
    expected = robot.forward_dynamics_derivatives(q, qd, tau)[2]
    assert_close(by_tau(q, qd, tau), expected)
    own = ramidyn.kernel(lambda x: x @ x, {"x": 3})
    assert_close(ramidyn.kernel(ramidyn.derivative(own, "x"), {"x": 3})(q), 2.0 * q)
    with pytest.raises(
        ArgumentError, match="wrt names 'z', which is not an input; inputs: q, qd, tau"
    ):
        ramidyn.derivative(compiled, "z")


def test_what_has_no_known_parameters_cannot_be_differentiated() -> None:
    with pytest.raises(ArgumentError, match="its parameters are not known; wrap it in"):
        ramidyn.derivative(max, "q")


def test_a_set_of_names_is_refused() -> None:
    match = r"wrt is \{'q'\}; a set has no order, .* pass a tuple or a list of names"
    with pytest.raises(ArgumentError, match=match):
        ramidyn.derivative(ramidyn.center_of_mass, {"q"})  # type: ignore[arg-type]


def test_derivatives_are_compiled_before_they_are_called() -> None:
    with pytest.raises(
        ArgumentError,
        match="derivative of 'effort' was called with numbers; compile it with ramidyn",
    ):
        ramidyn.derivative(effort, "x")(np.ones(3))
    with pytest.raises(
        ArgumentError,
        match=r"takes only options .*; call the function that "
        r'ramidyn\.compile\(ramidyn\.jvp\(f, "q"\), robot\) returns',
    ):
        ramidyn.jvp(ramidyn.center_of_mass, "q")(np.ones(3))


def test_quantities_are_compiled_for_robots_and_functions_are_not() -> None:
    with pytest.raises(
        ArgumentError,
        match=r"derivative\(.*\) is a quantity of a robot; compile it with ramidyn",
    ):
        ramidyn.kernel(ramidyn.derivative(ramidyn.center_of_mass, "q"), {"q": 3})
    with pytest.raises(
        ArgumentError,
        match=r"cannot be compiled; .*; functions are compiled by ramidyn",
    ):
        ramidyn.compile(ramidyn.derivative(effort, "x"), ramidyn.robots.chain(3))


def effort(x: Any, scale: Any = 2.0) -> Any:
    return scale * (x @ x)


def test_what_is_varied_must_be_an_input_of_the_kernel() -> None:
    by_scale = ramidyn.derivative(effort, "scale")
    with pytest.raises(
        ArgumentError, match="wrt names 'scale', but 'effort' was called without it; a"
    ):
        ramidyn.kernel(by_scale, {"x": 3})
    found = ramidyn.kernel(by_scale, {"x": 3, "scale": ()})(np.ones(3), 5.0)
    assert found == 3.0


ONE_BODY, TWO = ["body0"], ["body1", "body2"]
DIFFERENT = {
    r"'external', of shapes \(1, 6\) and \(2, 6\)": [
        ramidyn.inverse_dynamics(ONE_BODY),
        ramidyn.forward_dynamics(external=TWO),
    ],
    r"'regressor_cotangent', of shapes \(3, 10\) and \(3, 20\)": [
        ramidyn.vjp(ramidyn.regressor(bodies=b), "q") for b in (ONE_BODY, TWO)
    ],
}


@pytest.mark.parametrize("message", DIFFERENT)
def test_inputs_of_one_name_have_one_shape(message: str) -> None:
    match = f"quantities need different inputs {message}; compile them separately"
    with pytest.raises(ArgumentError, match=match):
        ramidyn.compile(DIFFERENT[message], ramidyn.robots.chain(3))


# ------------------------------------------------------------ at zero


ONE_SIDED: dict[str, tuple[Any, float, float]] = {
    "abs": (ramidyn.math.absolute, 1.0, 0.0),
    "max(x, 0)": (lambda x: ramidyn.math.maximum(x, 0.0), 1.0, 0.0),
    "max(0, x)": (lambda x: ramidyn.math.maximum(0.0, x), 0.0, 0.0),
    "min(x, 0)": (lambda x: ramidyn.math.minimum(x, 0.0), 1.0, 0.0),
    "where": (lambda x: ramidyn.math.where(x > 0.0, 2.0 * x, 3.0 * x), 3.0, 0.0),
    "sign": (ramidyn.math.sign, 0.0, 0.0),
    "x^0": (lambda x: x**0, 0.0, 0.0),
    "x^1": (lambda x: x**1, 1.0, 0.0),
    "x^2": (lambda x: x**2, 0.0, 2.0),
    "x^3": (lambda x: x**3, 0.0, 0.0),
    "x^1.5": (lambda x: x**1.5, 0.0, np.inf),
    "sqrt": (ramidyn.math.sqrt, np.inf, -np.inf),
    "1 / x": (lambda x: x**-1, -np.inf, np.inf),
    "1 / x^2": (lambda x: x**-2, np.nan, np.nan),
    "log": (ramidyn.math.log, np.inf, -np.inf),
    "asin at 1": (lambda x: ramidyn.math.asin(x + 1.0), np.inf, np.inf),
    "norm": (lambda x: ramidyn.math.norm(np.array([x, 0.0])), np.nan, np.nan),
    "a safe branch": (
        lambda x: ramidyn.math.where(
            x > 0.0, ramidyn.math.sqrt(ramidyn.math.where(x > 0.0, x, 1.0)), 0.0
        ),
        0.0,
        0.0,
    ),
}
"""at 0: the first and the second derivative; where there is none, it is not finite"""


def test_the_first_argument_counts_whatever_else_a_function_computes() -> None:
    def f(x: Any) -> Any:
        limit = ramidyn.math.minimum
        return {"of_x": limit(x, 0.0), "of_0": limit(0.0, x)}

    found = ramidyn.kernel(ramidyn.derivative(f, "x"), {"x": ()})(0.0)
    assert (found.dof_x_dx, found.dof_0_dx) == (1.0, 0.0)


@pytest.mark.parametrize("name", ONE_SIDED)
def test_derivatives_at_zero_are_those_of_the_documented_side(name: str) -> None:
    function, first, second = ONE_SIDED[name]

    def f(x: Any) -> Any:
        return function(x)

    for mode in (ramidyn.derivative, ramidyn.hessian):
        found = ramidyn.kernel(mode(f, "x"), {"x": ()})(0.0)
        np.testing.assert_equal(found, first if mode is ramidyn.derivative else second)
    gradient = ramidyn.kernel(ramidyn.vjp(f, "x"), {"x": (), "w": ()})
    np.testing.assert_equal(gradient(0.0, 1.0)[-1], first)
