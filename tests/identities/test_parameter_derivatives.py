"""Derivatives by parameters that are inputs: inertias, placements and gravity."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import ramidyn
from ramidyn.builder import Body, Inertia, RobotBuilder
from ramidyn.catalog.paper_robots import random_tree
from ramidyn.compiler import program_of
from ramidyn.description.pose import Array
from ramidyn.errors import ArgumentError, CompileError, UnknownName
from ramidyn.robot import Robot
from ramidyn.symbolic.interpreter import evaluate
from ramidyn.tracing.quantity import Quantity
from support import complex_step
from support.close import assert_close
from support.states import state

JOINTS = ("revolute", "prismatic", "spherical")


@functools.cache
def robot_of(conventions: str) -> Robot:
    description = random_tree(4, 2, joints=JOINTS, massless=0.0)
    return Robot.from_description(description, conventions=conventions)


PARAMETERS = ("inertia:body3", "placement:body2", "gravity")
QUANTITIES = (
    ramidyn.inverse_dynamics,
    ramidyn.forward_dynamics(algorithm="aba"),
    ramidyn.pose("body3"),
    ramidyn.kinetic_energy,
)


def inputs_of(robot: Robot, quantity: Quantity, rng: np.random.Generator):
    given = {**state(robot, rng), "tau": rng.normal(size=robot.nv)}
    given |= {"inertia:body3": robot.inertial_parameters(["body3"])}
    given |= {"gravity": rng.normal(size=3)}
    turn = rng.normal(size=4)
    placement = [*rng.normal(size=3), *(turn / np.linalg.norm(turn))]
    given |= {"placement:body2": np.array(placement)}
    program = program_of(quantity, robot, PARAMETERS)
    return program, {v.name: given[v.name] for v in program.inputs}


def word(parameter: str) -> str:
    return parameter.replace(":", "_")


@pytest.mark.parametrize("conventions", ["pinocchio", "mujoco"])
@pytest.mark.parametrize("quantity", QUANTITIES, ids=str)
def test_derivatives_by_parameters_are_complex_steps(
    quantity: Quantity, conventions: str, rng: np.random.Generator
) -> None:
    robot = robot_of(conventions)
    program, inputs = inputs_of(robot, quantity, rng)
    derived = ramidyn.derivative(quantity, wrt=PARAMETERS)
    found = evaluate(program_of(derived, robot, PARAMETERS), inputs)
    for name in PARAMETERS:
        directions = {name: np.eye(len(inputs[name]))}
        steps = complex_step.directional(program, inputs, directions)
        expected = np.moveaxis(steps[quantity.name], 0, -1)
        assert_close(found[f"d{quantity.name}_d{word(name)}"], expected)


def test_products_with_jacobians_of_parameters_are_those_of_the_jacobian(
    rng: np.random.Generator,
) -> None:
    robot, name = robot_of("pinocchio"), "inertia:body3"
    f = ramidyn.forward_dynamics(algorithm="ltdl")
    q, qd, tau = state(robot, rng)["q"], *rng.normal(size=(2, robot.nv))
    p = robot.inertial_parameters(["body3"])
    along, weights = rng.normal(size=10), rng.normal(size=robot.nv)

    def run(quantity: Quantity, *further: Array) -> dict[str, Array]:
        traced = program_of(quantity, robot)  # parameters of wrt are inputs as they are
        names = [v.name for v in traced.inputs]
        assert names[:4] == ["q", "qd", "tau", name]
        return evaluate(
            traced, dict(zip(names, (q, qd, tau, p, *further), strict=True))
        )

    (J,) = run(ramidyn.derivative(f, wrt=name)).values()
    moved = run(ramidyn.jvp(f, wrt=name), along)
    assert_close(moved["forward_dynamics_tangent"], J @ along)
    pulled = run(ramidyn.vjp(f, wrt=name), weights)
    assert_close(pulled["inertia_body3_cotangent"], weights @ J)


def test_energies_have_no_curvature_in_the_inertias(rng: np.random.Generator) -> None:
    robot, name = robot_of("pinocchio"), "inertia:body3"
    twice = ramidyn.hessian(ramidyn.kinetic_energy, wrt=(name, "qd"))
    now = state(robot, rng)
    inputs = {"q": now["q"], "qd": now["qd"], name: rng.normal(size=10)}
    found = evaluate(program_of(twice, robot), inputs)
    output = "d2kinetic_energy_dinertia_body3_d"
    assert not found[f"{output}inertia_body3"].any()
    regressor = program_of(ramidyn.energy_regressor(bodies=["body3"]), robot)
    traced = {"q": now["q"], "qd": now["qd"]}
    along = {"qd": np.eye(robot.nv)}
    steps = complex_step.directional(regressor, traced, along)["kinetic"]
    assert_close(found[f"{output}qd"], np.transpose(steps))


def test_compiled_functions_with_parameters_differentiate_in_kernels(
    rng: np.random.Generator,
) -> None:
    robot = ramidyn.robots.chain(2)
    hold = ramidyn.compile(ramidyn.gravity_forces, robot, parameters=["inertia:body1"])

    def effort(q, p):
        tau = hold(q, p)
        return tau @ tau

    gradient = ramidyn.kernel(ramidyn.derivative(effort, wrt="p"), {"q": 2, "p": 10})
    q, p = rng.normal(size=2), robot.inertial_parameters(["body1"])
    rest = np.zeros(2)
    Y = robot.regressor(q, rest, rest, bodies=["body1"])
    assert_close(gradient(q, p), 2.0 * robot.gravity_forces(q) @ Y)


@pytest.mark.parametrize(
    ("wrt", "error", "message"),
    [
        ("inertia:bodi3", UnknownName, "no body 'bodi3'.*Close: 'body3'"),
        ("mass:body3", ArgumentError, "wrt names 'mass:body3', which is not an input"),
        ("gravity:x", ArgumentError, "wrt names 'gravity:x', which is not an input"),
        (
            "placement:fixed",
            CompileError,
            "'placement:fixed': the body is fixed to its",
        ),
    ],
)
def test_wrong_parameters_are_refused(wrt: str, error: type, message: str) -> None:
    robot = robot_of("pinocchio").attach(stone(), "body3")
    with pytest.raises(error, match=message):
        program_of(ramidyn.derivative(ramidyn.inverse_dynamics, wrt=wrt), robot)


def stone() -> Robot:
    builder = RobotBuilder("stone")
    builder.add(Body("fixed", Inertia.from_sphere(1, 1)))
    return Robot.from_description(builder.description())
