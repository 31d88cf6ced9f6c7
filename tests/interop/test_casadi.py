"""Compiled functions inside CasADi: values, sparse Jacobians, an optimal control."""

from __future__ import annotations

import importlib
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import ramidyn
from ramidyn.errors import ArgumentError, CompileError
from ramidyn.interop import casadi as interop
from support.pages import REPOSITORY
from support.planar import four_bar, swung

casadi = pytest.importorskip("casadi", reason="casadi is absent")

CLOSE = 1e-10


@pytest.fixture(params=["external", "callback"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "callback":

        def none() -> str:
            raise CompileError("no C compiler")

        monkeypatch.setattr(interop, "found_compiler", none)
    return request.param


def states(robot: ramidyn.Robot, rng: np.random.Generator) -> list[Any]:
    if robot.loops:
        q, qd = swung(robot, 0.5, 0.3)
    else:
        q, qd = robot.random_configuration(rng=rng), rng.normal(size=robot.nv)
    return [q, qd, rng.normal(size=robot.nv)]


@pytest.mark.parametrize(
    "robot", [ramidyn.robots.chain(3), four_bar()], ids=["arm", "closed"]
)
def test_values_and_jacobians_are_our_own(
    robot: ramidyn.Robot, way: str, rng: np.random.Generator
) -> None:
    own = ramidyn.compile(ramidyn.forward_dynamics, robot)
    f = ramidyn.to_casadi(own)
    assert isinstance(f, casadi.Callback) == (way == "callback")
    x = states(robot, rng)
    np.testing.assert_allclose(f(*x).full()[:, 0], own(*x), rtol=CLOSE, atol=CLOSE)
    of = ramidyn.derivative(
        ramidyn.forward_dynamics, ("q", "qd", "tau"), space="coordinates"
    )
    slopes = ramidyn.compile(of, robot)(*x)
    blocks = f.jacobian().call([*x, f(*x)])
    for block, expected in zip(blocks, slopes, strict=True):
        scale = CLOSE * max(1.0, np.abs(expected).max())
        np.testing.assert_allclose(block.full(), expected, rtol=0.0, atol=scale)


def test_matrices_and_several_outputs_keep_their_layout(way: str) -> None:
    own = ramidyn.kernel(
        lambda A, x: {"Ax": A @ x, "twice": 2.0 * A, "first": x[:1]},
        {"A": (2, 3), "x": 3},
        name=f"product_{way}",
    )
    f = ramidyn.to_casadi(own)
    A, x = np.arange(6.0).reshape(2, 3), np.array([1.0, -2.0, 0.5])
    for found, expected in zip(f(A, x), own(A, x), strict=True):
        np.testing.assert_array_equal(found.full().reshape(expected.shape), expected)
    assert f.name_in() == ["A", "x"]
    assert f.name_out() == ["Ax", "twice", "first"]
    jacobian = f.jacobian()
    assert jacobian.sparsity_out("jac_twice_A").nnz() == 6
    assert jacobian.sparsity_out("jac_first_x").nnz() == 1
    assert jacobian.sparsity_out("jac_first_A").nnz() == 0
    slope = jacobian(A=A, x=x)["jac_Ax_A"].full()
    np.testing.assert_array_equal(slope, np.kron(x, np.eye(2)))


def test_ipopt_finds_the_optimum_of_symbolic_dynamics(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(REPOSITORY / "benchmarks")
    problem = importlib.import_module("arm_ocp")
    textbook = importlib.import_module("textbook_casadi")
    robot = ramidyn.robots.chain(6)
    own = ramidyn.to_casadi(ramidyn.compile(ramidyn.forward_dynamics, robot))
    assert isinstance(own, casadi.Callback) == (way == "callback")
    symbolic = textbook.function("forward_dynamics", robot)
    torques, _, _ = problem.solve(own, joints=6, steps=8)
    expected, _, _ = problem.solve(symbolic, joints=6, steps=8)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(torques, expected, rtol=0.0, atol=1e-6 * scale)


def test_the_jacobian_of_a_branched_robot_is_sparse(
    way: str,  # noqa: ARG001
    rng: np.random.Generator,
) -> None:
    robot = ramidyn.robots.random_tree(6, 3, ("revolute",), massless=0.0)
    own = ramidyn.compile(ramidyn.inverse_dynamics, robot)
    f = ramidyn.to_casadi(own)
    x = states(robot, rng)
    of = ramidyn.derivative(ramidyn.inverse_dynamics, ("q", "qd", "qdd"))
    exact = ramidyn.compile(of, robot)(*x)
    blocks = f.jacobian().call([*x, f(*x)])
    for block, expected in zip(blocks, exact, strict=True):
        scale = CLOSE * np.abs(expected).max()
        np.testing.assert_allclose(block.full(), expected, rtol=0.0, atol=scale)
        assert block.nnz() == np.count_nonzero(expected)
    assert blocks[2].nnz() < robot.nv**2  # limbs do not couple


def test_what_casadi_cannot_hold_is_refused() -> None:
    robot = ramidyn.robots.chain(2)
    with pytest.raises(ramidyn.ArgumentError, match="expected a compiled function"):
        ramidyn.to_casadi(ramidyn.mass_matrix)  # pyright: ignore[reportArgumentType]
    single = ramidyn.compile(ramidyn.mass_matrix, robot, dtype="float32")
    with pytest.raises(ramidyn.ArgumentError, match="float32; CasADi's numbers are"):
        ramidyn.to_casadi(single)
    deep = ramidyn.derivative(ramidyn.mass_matrix, "q")
    with pytest.raises(ramidyn.ArgumentError, match="arrays have at most two axes"):
        ramidyn.to_casadi(ramidyn.compile(deep, robot))


def test_a_missing_package_names_the_command() -> None:
    code = (
        "import sys; sys.modules['casadi'] = None; import ramidyn\n"
        "try: ramidyn.to_casadi(ramidyn.robots.chain(1).mass_matrix)\n"
        "except ramidyn.Error as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout == 'to_casadi needs CasADi: pip install "ramidyn[casadi]"\n'


def test_loops_are_written_out_for_casadi(way: str, rng: np.random.Generator) -> None:
    def fn(x: Any) -> Any:
        return ramidyn.repeat(lambda y: 0.5 * y * y + x, x, times=3)

    own = ramidyn.kernel(fn, {"x": 2})
    f = ramidyn.to_casadi(own)
    assert isinstance(f, casadi.Callback) == (way == "callback")
    x = rng.normal(size=2)
    np.testing.assert_allclose(f(x).full()[:, 0], own(x), rtol=CLOSE)
    shifted = np.imag(fn(x + 1e-30j)) / 1e-30
    slope = f.jacobian()(x, f(x)).full()
    np.testing.assert_allclose(slope, np.diag(shifted), rtol=CLOSE)


def test_a_loop_with_an_open_end_is_refused() -> None:
    def fn(x: Any) -> Any:
        def inner(y: Any) -> Any:
            return ramidyn.repeat_until(lambda z: 0.5 * z, y, lambda z: z < 1, 9).carry

        return ramidyn.repeat(inner, x, times=2)

    with pytest.raises(
        ArgumentError,
        match=r"has a loop with an open end, up to 9 x loop: .* use ramidyn\.repeat "
        r"with a fixed number of steps instead of ramidyn\.repeat_until",
    ):
        ramidyn.to_casadi(ramidyn.kernel(fn, {"x": ()}))
