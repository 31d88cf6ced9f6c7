"""Exported C that CasADi loads: values, sparse Jacobians, and a problem solved."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ramidyn
from ramidyn.builder import Body, Inertia, Joint, RobotBuilder
from ramidyn.compiler import program_of
from ramidyn.errors import ArgumentError, CompileError
from ramidyn.export.c_export import export_c, found_compiler
from ramidyn.robot import Robot
from ramidyn.symbolic.interpreter import evaluate
from ramidyn.tracing.quantity import Quantity
from support.every_joint import every_joint
from support.loops import as_robot
from support.planar import Planar, four_bar

CLOSE = 1e-12
STRICT = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"]


def loaded(
    quantities: list[Quantity], robot: Robot, folder: Path, **options: Any
) -> Any:
    """Return the CasADi function of an export, compiled without warnings."""
    casadi = pytest.importorskip("casadi")
    exported = export_c(quantities, robot, folder, "arm", casadi=True, **options)
    try:
        cc = found_compiler()
    except CompileError:
        pytest.skip("no C compiler")
    assert exported.casadi == folder / "arm_casadi.c"
    library = folder.with_suffix(".so")
    sources = [str(folder / f"arm{end}.c") for end in ("", "_jacobian", "_casadi")]
    command = [cc, *STRICT, "-O1", "-shared", "-fPIC", "-o", str(library), *sources]
    subprocess.run([*command, "-lm"], check=True)
    return casadi.external("arm_casadi", str(library))


def assert_same(f: Any, quantities: list[Quantity], robot: Robot, state: Any) -> None:
    """Check values and all blocks of the Jacobian against our own."""
    values = evaluate(program_of(quantities, robot), state)
    given = [np.asarray(x) for x in state.values()]
    outputs = f.call(given)
    for name, x in zip(values, outputs, strict=True):
        expected = values[name].reshape(x.shape)
        np.testing.assert_allclose(np.array(x), expected, rtol=0, atol=CLOSE * 1e2)
    jacobian = f.jacobian()
    blocks = iter(jacobian.call([*given, *outputs]))
    wrt = tuple(state)
    of = ramidyn.derivative(quantities, wrt, space="coordinates")
    dense = evaluate(program_of(of, robot), state)
    for y, value in values.items():
        for x in wrt:
            block = next(blocks)
            expected = dense[f"d{y}_d{x}"].reshape(
                *np.shape(value), *np.shape(state[x])
            )
            flat = np.stack(
                [c.ravel(order="F") for c in np.moveaxis(expected, -1, 0)], axis=-1
            )
            scale = max(1.0, float(np.abs(flat).max(initial=0.0)))
            np.testing.assert_allclose(
                np.array(block), flat, rtol=0, atol=1e-10 * scale
            )


def state_of(robot: Robot, rng: np.random.Generator) -> dict[str, Any]:
    return {
        "q": robot.random_configuration(rng),
        "qd": rng.normal(size=robot.nv),
        "tau": rng.normal(size=robot.nv),
    }


def test_casadi_has_our_values_and_jacobians(
    tmp_path: Path, rng: np.random.Generator
) -> None:
    robot = ramidyn.robots.chain(2)
    quantities = [ramidyn.forward_dynamics, ramidyn.mass_matrix]
    f = loaded(quantities, robot, tmp_path / "c")
    assert [f.name_in(k) for k in range(f.n_in())] == ["q", "qd", "tau"]
    assert [f.name_out(k) for k in range(2)] == ["forward_dynamics", "mass_matrix"]
    assert_same(f, quantities, robot, state_of(robot, rng))


@pytest.mark.slow
def test_every_joint_is_differentiated_by_its_coordinates(
    tmp_path: Path, rng: np.random.Generator
) -> None:
    robot = every_joint("mujoco")
    quantities = [ramidyn.kinetic_energy, ramidyn.center_of_mass_jacobian]
    state = state_of(robot, rng)
    del state["tau"]
    assert_same(loaded(quantities, robot, tmp_path / "c"), quantities, robot, state)


def test_loops_are_as_good(tmp_path: Path) -> None:
    robot = four_bar()
    q, qd = Planar("four_bar").state(0.3, 2.0)
    state = {"q": q, "qd": qd, "tau": np.array([0.1, 0.2, 0.3])}
    quantities = [ramidyn.forward_dynamics, ramidyn.loop_forces]
    assert_same(loaded(quantities, robot, tmp_path / "c"), quantities, robot, state)


def two_arms() -> Robot:
    b = RobotBuilder("two_arms")
    rod = Inertia.from_box(1.0, (0.3, 0.05, 0.05), at=(0.15, 0, 0))
    for side in ("left", "right"):
        upper, lower = f"{side}_upper", f"{side}_lower"
        b.add(Body(upper, rod), "world", Joint.revolute((0, 1, 0)))
        joint = Joint.revolute((0, 1, 0))
        b.add(Body(lower, rod), upper, joint, (0.3, 0, 0))
    return as_robot(b.description())


def test_jacobians_have_the_sparsity_of_the_tree(tmp_path: Path) -> None:
    robot = two_arms()
    f = loaded([ramidyn.mass_matrix], robot, tmp_path / "c")
    pattern = f.jacobian().sparsity_out(0)
    assert pattern.shape == (16, 4)
    M = ramidyn.compile(ramidyn.derivative(ramidyn.mass_matrix, "q"), robot)
    q = np.random.default_rng(0).normal(size=(8, 4))
    moving = np.abs(M(q)).max(axis=0).transpose(1, 0, 2).reshape(16, 4) > 0.0
    rows, columns = pattern.get_triplet()
    found = np.zeros((16, 4), dtype=bool)
    found[rows, columns] = True
    np.testing.assert_array_equal(found, moving)
    assert found.sum() <= 6, "the second joint of an arm moves three entries of M"


def test_null_arguments_are_zero_and_null_results_left_out(tmp_path: Path) -> None:
    casadi = pytest.importorskip("casadi")
    robot = ramidyn.robots.chain(2)
    f = loaded([ramidyn.inverse_dynamics, ramidyn.mass_matrix], robot, tmp_path / "c")
    q = np.array([0.3, -0.4])
    x = casadi.MX.sym("x", 2)
    only = casadi.Function("only", [x], [f(x, 0, 0)[0]])
    expected = robot.inverse_dynamics(q, np.zeros(2), np.zeros(2))
    np.testing.assert_allclose(np.array(only(q)).ravel(), expected, atol=CLOSE)


@pytest.mark.parametrize("solver", ["sqpmethod", "ipopt"])
def test_a_problem_with_it_converges(solver: str, tmp_path: Path) -> None:
    """Find forces that swing a double pendulum by some angle, and least."""
    casadi = pytest.importorskip("casadi")
    robot = ramidyn.robots.chain(2)
    f = loaded([ramidyn.forward_dynamics], robot, tmp_path / "c")
    steps, dt = 5, 0.05
    tau = casadi.MX.sym("tau", 2, steps)
    q, qd = casadi.MX.zeros(2), casadi.MX.zeros(2)
    for k in range(steps):
        qd = qd + dt * f(q, qd, tau[:, k])
        q = q + dt * qd
    goal = np.array([0.1, -0.1])
    problem = {"x": casadi.vec(tau), "f": casadi.sumsqr(tau), "g": q - goal}
    quiet: dict[str, Any] = {
        "sqpmethod": {
            "hessian_approximation": "limited-memory",
            "qpsol": "qrqp",
            "qpsol_options": {"print_iter": False, "print_header": False},
            "print_header": False,
            "print_iteration": False,
            "print_status": False,
        },
        "ipopt": {
            "ipopt.hessian_approximation": "limited-memory",
            "ipopt.print_level": 0,
            "ipopt.sb": "yes",
        },
    }
    options = {**quiet[solver], "print_time": False}
    solve = casadi.nlpsol("solve", solver, problem, options)
    found = solve(x0=0.0, lbg=0.0, ubg=0.0)
    assert solve.stats()["success"]
    forces = np.array(found["x"]).reshape(steps, 2)
    at, speed = np.zeros(2), np.zeros(2)
    for one in forces:
        speed = speed + dt * robot.forward_dynamics(at, speed, one)
        at = at + dt * speed
    np.testing.assert_allclose(at, goal, atol=1e-6)


def test_what_casadi_cannot_have_is_refused(tmp_path: Path) -> None:
    robot = ramidyn.robots.chain(2)
    with pytest.raises(ArgumentError, match="CasADi's numbers are float64"):
        export_c(ramidyn.mass_matrix, robot, tmp_path, dtype="float32", casadi=True)
    of = ramidyn.derivative(ramidyn.mass_matrix, "q")
    with pytest.raises(ArgumentError, match=r"'dmass_matrix_dq' has shape \(2, 2, 2\)"):
        export_c(of, robot, tmp_path, casadi=True)
    assert not list(tmp_path.iterdir())


def test_an_export_without_it_takes_its_files_away(tmp_path: Path) -> None:
    robot = ramidyn.robots.chain(1)
    export_c(ramidyn.mass_matrix, robot, tmp_path, "m", casadi=True)
    assert (tmp_path / "m_casadi.c").exists()
    assert export_c(ramidyn.mass_matrix, robot, tmp_path, "m").casadi is None
    left = {p.name for p in tmp_path.iterdir()}
    assert left == {"m.c", "m.h", "example.c", "CMakeLists.txt"}


@pytest.mark.parametrize(
    "quantity",
    [
        ramidyn.forward_dynamics_derivatives,
        ramidyn.inverse_dynamics_derivatives(packed=True),
        ramidyn.linearize,
        ramidyn.vjp(ramidyn.forward_dynamics, ("q", "tau")),
        ramidyn.derivative(ramidyn.inverse_dynamics, "inertia:body1"),
    ],
    ids=str,
)
def test_derivatives_export_like_other_quantities(
    quantity: Quantity, tmp_path: Path
) -> None:
    try:
        found_compiler()
    except CompileError:
        pytest.skip("no C compiler")
    exported = export_c(quantity, ramidyn.robots.chain(2), tmp_path)
    checked = exported.check(states=9)
    assert max(checked.single, checked.batch or 0.0) < CLOSE
