"""What can be compiled, and what is said about the rest."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ramidyn
from ramidyn.errors import ArgumentError


@pytest.mark.parametrize(
    "wanted",
    ["forward_dynamics", ["mass_matrix"], [ramidyn.mass_matrix, 4], [], 3, None],
)
@pytest.mark.parametrize("use", [ramidyn.compile, ramidyn.count])
def test_what_is_no_quantity_is_refused(use: Any, wanted: Any) -> None:
    with pytest.raises(ArgumentError, match="expected a quantity such as"):
        use(wanted, ramidyn.robots.chain30())


@pytest.mark.parametrize("use", [ramidyn.compile, ramidyn.count])
def test_what_is_no_robot_is_refused(use: Any) -> None:
    message = r"^robot is 'arm.urdf'; expected a Robot, such as ramidyn.load returns$"
    with pytest.raises(ArgumentError, match=message):
        use(ramidyn.mass_matrix, "arm.urdf")


def test_quantities_may_come_from_any_iterable() -> None:
    robot = ramidyn.robots.chain30()
    several = (q for q in (ramidyn.mass_matrix, ramidyn.bias_forces))
    assert ramidyn.compile(several, robot).ops.total > 0


def test_c_is_exported_from_any_iterable(tmp_path: Path) -> None:
    robot = ramidyn.robots.chain30()
    several = (q for q in (ramidyn.mass_matrix, ramidyn.bias_forces))
    ramidyn.export_c(several, robot, tmp_path / "c", name="several")
    assert "mass_matrix" in (tmp_path / "c" / "several.h").read_text()
    with pytest.raises(ArgumentError, match="expected a quantity such as"):
        ramidyn.export_c("mass_matrix", robot, tmp_path / "d")


def step(q: Any, qd: Any, dt: Any = 0.5) -> Any:
    return q + dt * qd


def test_inputs_are_given_by_the_names_of_parameters() -> None:
    f = ramidyn.kernel(step, {"qd": 2, "q": 2})
    assert f([1.0, 2.0], [0.0, 10.0]).tolist() == [0.5, 11.0]
    g = ramidyn.kernel(step, {"a": 2, "b": 2})
    assert g([0.0, 10.0], [1.0, 2.0]).tolist() == [0.5, 11.0]


def test_defaults_of_parameters_are_those_of_inputs() -> None:
    f = ramidyn.kernel(step, {"q": 1, "qd": 1, "dt": ()})
    assert f([1.0], [1.0]).tolist() == [1.5]
    assert f([1.0], [1.0], 2.0).tolist() == [3.0]
    g = ramidyn.kernel(step, {"q": 1, "qd": 1, "dt": ()}, defaults={"dt": 3})
    assert g([1.0], [1.0]).tolist() == [4.0]


def test_a_tuple_is_several_outputs() -> None:
    f = ramidyn.kernel(lambda x: (x @ x, 2.0 * x), {"x": 2})
    square, double = f([3.0, 4.0])
    assert square == 25.0
    assert double.tolist() == [6.0, 8.0]


@pytest.mark.parametrize(
    ("inputs", "options", "message"),
    [
        ({"q": 1}, {}, r"inputs has no shape for 'qd' of step\(q, qd, dt\); given: q"),
        (
            {"q": 1, "qd": 1, "dt": (), "tau": 1},
            {},
            r"inputs has 'tau', which is not a parameter of step\(q, qd, dt\); given",
        ),
        ({"qd": 1, "x": 1}, {}, r"inputs has 'x', which is not a parameter of step"),
        (
            {"q": 1, "qd": 1, "dt": ()},
            {"defaults": {"q": 1.0}},
            r"defaults has 'q', which is not a scalar input; scalar inputs .*: dt",
        ),
        (
            {"q": 1, "qd": 1},
            {"defaults": {"dt": 1.0}},
            r"defaults has 'dt', which is not a scalar input; .*: none",
        ),
        (
            {"q": 1, "qd": 1, "dt": ()},
            {"defaults": {"dt": "1"}},
            r"defaults has 'dt': '1'; expected a real number",
        ),
    ],
)
def test_inputs_that_do_not_fit_the_function_are_named(
    inputs: dict[str, Any], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ArgumentError, match=message):
        ramidyn.kernel(step, inputs, **options)


def test_functions_without_a_signature_take_inputs_in_order() -> None:
    f = ramidyn.kernel(lambda *x: x[0] - x[1], {"a": (), "b": ()}, name="minus")
    assert f(3.0, 1.0) == 2.0


def minus(a: Any, b: Any, /) -> Any:
    return a - b


def test_inputs_by_place_have_the_order_of_the_parameters() -> None:
    assert ramidyn.kernel(minus, {"a": (), "b": ()})(3.0, 1.0) == 2.0
    assert ramidyn.kernel(minus, {"x": (), "y": ()})(3.0, 1.0) == 2.0
    message = r"^inputs are matched by position, but 'b' is elsewhere in minus\(a, b"
    with pytest.raises(ArgumentError, match=message):
        ramidyn.kernel(minus, {"b": (), "a": ()})
    with pytest.raises(ArgumentError, match=message):
        ramidyn.kernel(ramidyn.derivative(minus, "a"), {"b": (), "a": ()})


def test_a_function_pickles_as_its_robot_and_options() -> None:
    robot = ramidyn.robots.humanoid30()
    f = ramidyn.compile(ramidyn.forward_dynamics, robot, dtype="float32")
    sent = pickle.dumps(f)
    assert len(sent) < len(pickle.dumps(robot)) + 1000
    again, once_more = pickle.loads(sent), pickle.loads(sent)
    assert again._compilation is once_more._compilation  # it compiles once
    assert again._compilation.options == f._compilation.options
    assert again._compilation.digest == f._compilation.digest


@pytest.mark.parametrize(
    "quantity",
    [
        ramidyn.mass_matrix,
        ramidyn.jacobian("hand"),
        ramidyn.operational_inertia(["hand"]),
    ],
    ids=str,
)
def test_a_quantity_survives_pickling(quantity: ramidyn.Quantity) -> None:
    again = pickle.loads(pickle.dumps(quantity))
    assert again == quantity
    assert again.declaration is quantity.declaration


def test_a_known_program_does_not_wait_for_frames_to_be_placed() -> None:
    first, again = ramidyn.robots.chain(3), ramidyn.robots.chain(3)
    q, zero = first.neutral(), np.zeros(first.nv)
    expected = first.forward_dynamics(q, zero, zero)
    np.testing.assert_array_equal(again.forward_dynamics(q, zero, zero), expected)
    assert "placed_model" not in vars(again)
