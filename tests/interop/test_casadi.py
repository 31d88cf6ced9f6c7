"""Compiled functions inside CasADi: values, sparse Jacobians, an optimal control."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import ramify
from ramify.errors import CompileError
from ramify.interop import casadi as interop
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


def states(robot: ramify.Robot, rng: np.random.Generator) -> list[Any]:
    if robot.loops:
        q, qd = swung(robot, 0.5, 0.3)
    else:
        q, qd = robot.random_configuration(rng=rng), rng.normal(size=robot.nv)
    return [q, qd, rng.normal(size=robot.nv)]


@pytest.mark.parametrize(
    "robot", [ramify.robots.chain(3), four_bar()], ids=["arm", "closed"]
)
def test_values_and_jacobians_are_our_own(
    robot: ramify.Robot, way: str, rng: np.random.Generator
) -> None:
    own = ramify.compile(ramify.forward_dynamics, robot)
    f = ramify.to_casadi(own)
    assert isinstance(f, casadi.Callback) == (way == "callback")
    x = states(robot, rng)
    np.testing.assert_allclose(f(*x).full()[:, 0], own(*x), rtol=CLOSE, atol=CLOSE)
    of = ramify.derivative(
        ramify.forward_dynamics, ("q", "qd", "tau"), space="coordinates"
    )
    slopes = ramify.compile(of, robot)(*x)
    blocks = f.jacobian().call([*x, f(*x)])
    for block, expected in zip(blocks, slopes, strict=True):
        scale = CLOSE * max(1.0, np.abs(expected).max())
        np.testing.assert_allclose(block.full(), expected, rtol=0.0, atol=scale)


def test_matrices_and_several_outputs_keep_their_layout(way: str) -> None:
    own = ramify.kernel(
        lambda A, x: {"Ax": A @ x, "twice": 2.0 * A, "first": x[:1]},
        {"A": (2, 3), "x": 3},
        name=f"product_{way}",
    )
    f = ramify.to_casadi(own)
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


def swing(dynamics: Any, steps: int = 12) -> Any:
    """Return the torques of the cheapest swing from rest to rest."""
    dt, opti = 0.1, casadi.Opti()
    q, qd, tau = (opti.variable(steps + 1) for _ in range(3))
    for k in range(steps):
        opti.subject_to(qd[k + 1] == qd[k] + dt * dynamics(q[k], qd[k], tau[k]))
        opti.subject_to(q[k + 1] == q[k] + dt * qd[k + 1])
    opti.subject_to(opti.bounded(-50.0, tau, 50.0))
    opti.subject_to(casadi.vertcat(q[0], qd[0], qd[steps]) == 0.0)
    opti.subject_to(q[steps] == 0.8)
    opti.minimize(casadi.sumsqr(tau))
    options = {"hessian_approximation": "limited-memory", "print_level": 0}
    opti.solver("ipopt", {"print_time": False}, {**options, "tol": 1e-9})
    return opti.solve().value(tau)


def test_ipopt_finds_the_optimum_of_symbolic_dynamics(way: str) -> None:  # noqa: ARG001
    robot = ramify.robots.chain(1)
    inertia = float(robot.mass_matrix(np.zeros(1))[0, 0])
    at_zero = float(robot.gravity_forces(np.zeros(1))[0])
    at_right = float(robot.gravity_forces(np.array([np.pi / 2]))[0])

    def symbolic(q: Any, _: Any, tau: Any) -> Any:
        gravity = at_zero * casadi.cos(q) + at_right * casadi.sin(q)
        return (tau - gravity) / inertia

    own = ramify.to_casadi(ramify.compile(ramify.forward_dynamics, robot))
    np.testing.assert_allclose(swing(own), swing(symbolic), rtol=1e-5, atol=1e-5)


def test_what_casadi_cannot_hold_is_refused() -> None:
    robot = ramify.robots.chain(2)
    with pytest.raises(ramify.ArgumentError, match="expected a compiled function"):
        ramify.to_casadi(ramify.mass_matrix)  # pyright: ignore[reportArgumentType]
    single = ramify.compile(ramify.mass_matrix, robot, dtype="float32")
    with pytest.raises(ramify.ArgumentError, match="float32; CasADi's numbers are"):
        ramify.to_casadi(single)
    deep = ramify.derivative(ramify.mass_matrix, "q")
    with pytest.raises(ramify.ArgumentError, match="arrays have at most two axes"):
        ramify.to_casadi(ramify.compile(deep, robot))


def test_a_missing_package_names_the_command() -> None:
    code = (
        "import sys; sys.modules['casadi'] = None; import ramify\n"
        "try: ramify.to_casadi(ramify.robots.chain(1).mass_matrix)\n"
        "except ramify.Error as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout == "to_casadi needs CasADi: pip install 'ramify[casadi]'\n"
