"""Methods compute in the precision of their inputs, or in that of ``dtype=``."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import ramidyn
from ramidyn.errors import ArgumentError, ShapeError
from ramidyn.robot import Robot

FLOAT32_CLOSE = 1e-4


@pytest.fixture(scope="module")
def robot() -> Robot:
    return ramidyn.robots.chain(3)


def state(robot: Robot, batch: tuple[int, ...] = ()) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    return tuple(rng.normal(size=(*batch, robot.nv)) for _ in range(3))  # type: ignore[return-value]


def in_float32(*values: Any) -> list[Any]:
    return [np.asarray(x, dtype=np.float32) for x in values]


CALLS: dict[str, tuple[int, tuple[Any, ...], dict[str, Any]]] = {
    "forward_dynamics": (3, (), {}),
    "mass_matrix": (1, (), {"algorithm": "crba"}),
    "jacobian": (1, ("body2",), {}),
    "velocity": (2, ("body2",), {"expressed_in": "world"}),
    "integrate": (2, (0.1,), {}),
    "difference": (2, (), {}),
    "convert_qd": (2, (), {"to": "mujoco"}),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("batch", [(), (5,)])
def test_float32_in_gives_float32_out(
    name: str, batch: tuple[int, ...], robot: Robot
) -> None:
    count, further, options = CALLS[name]
    method = getattr(robot, name)
    given = state(robot, batch)[:count]
    for _ in range(3):  # compiled, found by Python, found by emitted code
        double = method(*given, *further, **options)
        single = method(*in_float32(*given), *further, **options)
        assert (double.dtype, single.dtype) == (np.float64, np.float32)
        np.testing.assert_allclose(single, double, atol=FLOAT32_CLOSE, rtol=1e-3)
        asked = method(*given, *further, dtype="float32", **options)
        np.testing.assert_array_equal(asked, single)
        wide = method(*in_float32(*given), *further, dtype="float64", **options)
        assert wide.dtype == np.float64


def test_mixed_inputs_are_computed_in_float64(robot: Robot) -> None:
    q, qd, tau = state(robot)
    q32, qd32, tau32 = in_float32(q, qd, tau)
    for given in ((q32, qd, tau32), (q32, qd32, tau.tolist()), (q32, qd32, [0, 0, 0])):
        for _ in range(3):
            assert robot.forward_dynamics(*given).dtype == np.float64
    for dt in (0.1, np.float32(0.1), np.float64(0.1)):  # numbers do not decide
        assert robot.integrate(q32, qd32, dt).dtype == np.float32
        assert robot.integrate(q, qd, dt).dtype == np.float64
    assert robot.mass_matrix(np.arange(3)).dtype == np.float64


def test_arrays_of_a_subclass_count_too(robot: Robot, tmp_path: Any) -> None:
    mapped = np.memmap(tmp_path / "q", dtype=np.float32, mode="w+", shape=(3,))
    for _ in range(3):
        assert robot.mass_matrix(mapped).dtype == np.float32
        assert robot.mass_matrix(np.zeros(3)).dtype == np.float64


def test_out_decides_with_the_inputs(robot: Robot) -> None:
    (q32,) = in_float32(state(robot)[0])
    for _ in range(3):
        for dtype in (np.float32, np.float64):
            out = np.empty((3, 3), dtype)
            assert robot.mass_matrix(q32, out=out) is out
            np.testing.assert_allclose(out, robot.mass_matrix(q32), rtol=1e-4)
    with pytest.raises(ShapeError, match="float32"):
        robot.mass_matrix(q32.astype(float), out=np.empty((3, 3), np.float32))


def test_several_outputs_decide_together(robot: Robot) -> None:
    (q32,) = in_float32(state(robot)[0])
    found = robot.mass_matrix_factor(q32)
    assert {x.dtype for x in found} == {np.dtype("float32")}
    wide = tuple(np.empty(x.shape) for x in found)
    assert robot.mass_matrix_factor(q32, out=wide)[0] is wide[0]


def test_threads_share_a_batch(robot: Robot) -> None:
    given = state(robot, (50_000,))
    expected = robot.forward_dynamics(*given)
    for _ in range(2):
        found = robot.forward_dynamics(*given, threads=2)
        np.testing.assert_array_equal(found, expected)
    function = robot.forward_dynamics.function(threads=2, dtype="float32")  # type: ignore[attr-defined]
    assert function(*given).dtype == np.float32


def test_options_of_a_call_compile_once(robot: Robot) -> None:
    method: Any = robot.mass_matrix
    assert method.function(dtype="float64", threads=1) is method.function()
    assert method.function(dtype=np.float32) is method.function(dtype="float32")


def test_every_compiled_method_takes_them(robot: Robot) -> None:
    found = 0
    for name in dir(Robot):
        parameters = (
            inspect.signature(getattr(Robot, name)).parameters
            if (callable(getattr(Robot, name)) and not name.startswith("_"))
            else {}
        )
        if "call" in parameters:
            found += 1
            own = inspect.signature(getattr(robot, name)).parameters
            assert {"dtype", "threads"} <= own.keys(), name
    assert found > 50


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dtype": "float16"}, "dtype is float16; possible: float64, float32"),
        ({"dtype": "x"}, "dtype is 'x'; possible: float64, float32"),
        ({"threads": 0}, "threads is 0; expected 1 or more"),
        ({"thread": 2}, "robot.mass_matrix has no argument 'thread'.*'threads'"),
    ],
)
def test_wrong_options_are_named(
    options: dict[str, Any], message: str, robot: Robot
) -> None:
    with pytest.raises(ArgumentError, match=message):
        robot.mass_matrix(np.zeros(3), **options)
