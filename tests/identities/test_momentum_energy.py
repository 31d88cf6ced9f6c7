"""Momentum, energy, Coriolis and inverse mass matrices obey their laws."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ramidyn.builder import Body, Joint, RobotBuilder
from ramidyn.compilation import Request
from ramidyn.compiler import program_of
from ramidyn.description.pose import Array
from ramidyn.errors import ArgumentError, ModelError
from ramidyn.quantities.dynamics import (
    bias_forces,
    forward_dynamics,
    gravity_forces,
    inverse_dynamics,
)
from ramidyn.quantities.mass_matrix import (
    CORIOLIS,
    coriolis_matrix,
    mass_matrix,
    mass_matrix_inverse,
)
from ramidyn.quantities.momentum_energy import (
    center_of_mass,
    center_of_mass_jacobian,
    centroidal_momentum,
    centroidal_momentum_matrix,
    kinetic_energy,
    potential_energy,
)
from ramidyn.robot import Robot
from ramidyn.simplify.passes import simplify
from ramidyn.symbolic.count import count as count_operations
from ramidyn.symbolic.interpreter import evaluate
from ramidyn.tracing.quantity import Quantity
from support.close import assert_close
from support.states import (
    angular,
    case,
    gradient,
    linear,
    rate,
    state,
    value,
)


def test_kinetic_energy_is_half_qd_M_qd(robot: Robot, now: dict[str, Array]) -> None:
    M = value(robot, mass_matrix, **now)
    expected = 0.5 * now["qd"] @ M @ now["qd"]
    assert_close(value(robot, kinetic_energy, **now), expected)


def test_gravity_forces_are_the_gradient_of_the_potential(
    robot: Robot, now: dict[str, Array]
) -> None:
    g = gradient(robot, potential_energy, now["q"])
    assert_close(value(robot, gravity_forces, **now), g)


def test_potential_is_the_weight_times_the_height_of_the_center(
    robot: Robot, now: dict[str, Array]
) -> None:
    c = value(robot, center_of_mass, **now)
    V = -robot.mass * np.array(robot.tree.gravity) @ c
    assert_close(value(robot, potential_energy, **now), V)


def test_power_is_the_rate_of_energy(robot: Robot, now: dict[str, Array]) -> None:
    tau = value(robot, inverse_dynamics, **now)
    change = rate(robot, kinetic_energy, **now) + rate(robot, potential_energy, **now)
    assert_close(change, now["qd"] @ tau)


def test_center_of_mass_jacobian_is_its_gradient(
    robot: Robot, now: dict[str, Array]
) -> None:
    expected = gradient(robot, center_of_mass, now["q"])
    assert_close(value(robot, center_of_mass_jacobian, **now), expected)


def test_momentum_is_its_matrix_times_qd(robot: Robot, now: dict[str, Array]) -> None:
    A = value(robot, centroidal_momentum_matrix, **now)
    assert_close(value(robot, centroidal_momentum, **now), A @ now["qd"])


def test_linear_momentum_moves_the_center(robot: Robot, now: dict[str, Array]) -> None:
    h = value(robot, centroidal_momentum, **now)
    velocity = rate(robot, center_of_mass, q=now["q"], qd=now["qd"])
    assert_close(linear(robot, h), robot.mass * velocity)


def test_momentum_of_a_free_robot_changes_by_its_weight_alone(
    rng: np.random.Generator,
) -> None:
    robot = case("floating_base")
    now = state(robot, rng)
    tau = rng.normal(size=robot.nv)
    tau[:6] = 0.0
    now["qdd"] = value(robot, forward_dynamics, tau=tau, **now)
    change = rate(robot, centroidal_momentum, **now)
    weight = robot.mass * np.array(robot.tree.gravity)
    scale = np.abs(now["qdd"]).max()
    np.testing.assert_allclose(linear(robot, change), weight, atol=1e-10 * scale)
    np.testing.assert_allclose(angular(robot, change), 0.0, atol=1e-10 * scale)


@pytest.mark.parametrize(
    "quantity", [centroidal_momentum, centroidal_momentum_matrix], ids=str
)
def test_momentum_does_not_ask_where_the_robot_is(quantity: Quantity) -> None:
    robot = case("floating_base")
    read = {e.value for e in program_of(quantity, robot).order if e.op == "input"}
    assert ("q", 3) in read
    assert not read & {("q", 0), ("q", 1), ("q", 2)}


@pytest.mark.parametrize("algorithm", CORIOLIS)
def test_coriolis_matrix_times_qd_is_the_bias_without_gravity(
    robot: Robot, now: dict[str, Array], algorithm: str
) -> None:
    C = value(robot, coriolis_matrix(algorithm=algorithm), **now)
    bias = value(robot, bias_forces, **now)
    assert_close(C @ now["qd"] + value(robot, gravity_forces, **now), bias)


@pytest.mark.parametrize("algorithm", CORIOLIS)
def test_rate_of_the_mass_matrix_less_2_coriolis_is_skew(
    robot: Robot, now: dict[str, Array], algorithm: str
) -> None:
    Md = rate(robot, mass_matrix, q=now["q"], qd=now["qd"])
    C = value(robot, coriolis_matrix(algorithm=algorithm), **now)
    assert np.abs(Md).max() > 1e-3
    assert_close(C + C.T, Md)


@pytest.mark.parametrize("algorithm", ["aba", "ltdl"])
def test_mass_matrix_times_its_inverse_is_one(
    robot: Robot, now: dict[str, Array], algorithm: str
) -> None:
    M = value(robot, mass_matrix, **now)
    quantity = mass_matrix_inverse(algorithm=algorithm)
    if algorithm == "aba" and robot.model.mimics:
        expected = r"mass_matrix_inverse: algorithm 'aba' .* has mimic joints, such as"
        with pytest.raises(ArgumentError, match=expected):
            program_of(quantity, robot)
        return
    inverse = value(robot, quantity, **now)
    np.testing.assert_array_equal(inverse, inverse.T)
    condition = np.linalg.cond(M)
    np.testing.assert_allclose(M @ inverse, np.eye(robot.nv), atol=1e-15 * condition)


@pytest.mark.parametrize(
    "quantity",
    [mass_matrix_inverse, pytest.param(coriolis_matrix, marks=pytest.mark.slow)],
    ids=str,
)
def test_the_cheaper_algorithm_is_taken(robot: Robot, quantity: Quantity) -> None:
    (choice,) = Request(quantity, robot).choose().choices
    costs = {
        a: count_operations(simplify(program_of(quantity(algorithm=a), robot))).cost
        for a in quantity.algorithms(robot.model, robot.conventions)
    }
    assert costs[choice.algorithm] == min(costs.values())


@pytest.mark.parametrize("quantity", [mass_matrix_inverse, coriolis_matrix], ids=str)
def test_an_unknown_algorithm_is_named_with_those_there_are(quantity: Quantity) -> None:
    possible = ", ".join(map(repr, quantity.declaration.all_algorithms))
    with pytest.raises(ArgumentError, match=f"algorithm is 'x'; possible: {possible}"):
        program_of(quantity(algorithm="x"), case("every_joint_type"))


@pytest.mark.parametrize(
    "quantity",
    [
        center_of_mass,
        center_of_mass_jacobian,
        centroidal_momentum,
        centroidal_momentum_matrix,
        kinetic_energy,
        potential_energy,
        pytest.param(coriolis_matrix, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_inertias_that_are_inputs_count_like_those_of_the_robot(
    robot: Robot, now: dict[str, Array], quantity: Quantity
) -> None:
    heavier = {"mass": 7.0, "com": np.array([0.1, -0.2, 0.3])}
    description = robot.model.description
    assert description is not None
    body = next(b for b in description.bodies[3:] if b.joints and b.inertial)
    inertial = replace(body.inertial, **heavier)
    bodies = [
        replace(b, inertial=inertial) if b is body else b for b in description.bodies
    ]
    other = Robot.from_description(
        replace(description, bodies=tuple(bodies)),
        conventions=robot.conventions,
        joint_order=robot.joint_names,
    )
    c = heavier["com"]
    I = inertial.inertia + heavier["mass"] * (c @ c * np.eye(3) - np.outer(c, c))
    lower = I[np.tril_indices(3)]
    name = f"inertia:{body.name}"
    given = {**now, name: np.array([heavier["mass"], *(heavier["mass"] * c), *lower])}
    program = program_of(quantity, robot, [name])
    inputs = {v.name: given[v.name] for v in program.inputs}
    (ours,) = evaluate(program, inputs).values()
    assert_close(ours, value(other, quantity, **now))
    assert np.abs(ours - value(robot, quantity, **now)).max() > 1e-6


def test_a_robot_without_mass_has_no_center() -> None:
    builder = RobotBuilder("ghost")
    builder.add(Body("a"), joint=Joint.revolute())
    robot = Robot.from_description(builder.description())
    with pytest.raises(ModelError, match="no moving body has mass"):
        program_of(center_of_mass, robot)
    assert value(robot, potential_energy, q=np.ones(1)) == 0.0
