"""A quaternion of any length stands for its direction, as in MuJoCo."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

from ramidyn.algorithms.operational.tasks import Task
from ramidyn.builder import Body, Inertia, Joint, RobotBuilder
from ramidyn.catalog.paper_robots import random_tree
from ramidyn.compiler import compile, count
from ramidyn.coordinates.configurations import rates
from ramidyn.description.conventions import Conventions
from ramidyn.description.pose import Array
from ramidyn.errors import ModelError
from ramidyn.function import DType
from ramidyn.kernels import kernel
from ramidyn.quantities import (
    dynamics,
    frames,
    mass_matrix,
    momentum_energy,
    operational,
)
from ramidyn.robot import Robot
from ramidyn.symbolic.interpreter import evaluate
from ramidyn.symbolic.trace import trace
from ramidyn.tracing.quantity import Quantity
from support.close import assert_close
from support.parameters import some
from support.states import quaternions, state, value

SAME = 1e-12
"""relative to the largest entry: rounding alone; more where M is badly conditioned"""
same = functools.partial(assert_close, tolerance=SAME)
CONVENTIONS: dict[str, str | Conventions] = {
    "pinocchio": "pinocchio",
    "mujoco": "mujoco",
    "mixed": Conventions("wxyz", "body", "angular_first"),
}


@functools.cache
def case(conventions: str, seed: int) -> Robot:
    """Return a random tree with ball and floating joints among the others."""
    joints = ("spherical", "revolute", "floating", "prismatic")
    description = random_tree(5, seed, joints=joints, massless=0.0)
    return Robot.from_description(description, conventions=CONVENTIONS[conventions])


def scaled(robot: Robot, q: Array, rng: np.random.Generator) -> Array:
    """Return q with each quaternion times a factor of its own, far from one."""
    out = np.array(q)
    for start, _, _ in quaternions(robot):
        out[start : start + 4] *= rng.uniform(0.1, 9.0)
    return out


def quantities(robot: Robot) -> list[Quantity]:
    tip = robot.body_names[-1]
    return [
        dynamics.inverse_dynamics,
        dynamics.bias_forces,
        dynamics.gravity_forces,
        mass_matrix.mass_matrix,
        dynamics.forward_dynamics(algorithm="aba"),
        dynamics.forward_dynamics(algorithm="ltdl"),
        mass_matrix.mass_matrix_csr,
        mass_matrix.mass_matrix_inverse,
        mass_matrix.coriolis_matrix,
        frames.pose(tip),
        frames.jacobian(tip, "world"),
        frames.velocity(tip, "local_world_aligned"),
        frames.acceleration(tip, expressed_in="world"),
        momentum_energy.center_of_mass,
        momentum_energy.center_of_mass_jacobian,
        momentum_energy.centroidal_momentum,
        momentum_energy.kinetic_energy,
        momentum_energy.potential_energy,
        operational.operational_inertia_inverse([Task(tip)]),
    ]


@pytest.mark.parametrize("seed", some([0, 2], slow=[2]))
@pytest.mark.parametrize("conventions", CONVENTIONS)
def test_no_quantity_depends_on_the_length_of_quaternions(
    conventions: str, seed: int, rng: np.random.Generator
) -> None:
    robot = case(conventions, seed)
    assert {t for _, _, t in quaternions(robot)} == {"spherical", "floating"}
    now = {**state(robot, rng), "tau": rng.normal(size=robot.nv)}
    other = {**now, "q": scaled(robot, now["q"], rng)}
    condition = np.linalg.cond(value(robot, mass_matrix.mass_matrix, **now))
    for quantity in quantities(robot):
        expected = value(robot, quantity, **now)
        limit = max(SAME, 1e-15 * float(condition))
        assert_close(value(robot, quantity, **other), expected, tolerance=limit)


@pytest.mark.parametrize("conventions", CONVENTIONS)
def test_configurations_are_normalized_on_the_way(
    conventions: str, rng: np.random.Generator
) -> None:
    robot = case(conventions, 0)
    now, end = state(robot, rng), state(robot, rng)["q"]
    q, v, a = now["q"], now["qd"], now["qdd"]
    long, far = scaled(robot, q, rng), scaled(robot, end, rng)
    same(robot.integrate(long, v), robot.integrate(q, v))
    same(robot.difference(long, far), robot.difference(q, end))
    for to in ("featherstone", "mujoco"):
        same(robot.convert_q(long, to=to), robot.convert_q(q, to=to))
        back = robot.convert_qd(long, v, to=to)
        same(back, robot.convert_qd(q, v, to=to))
        back = robot.convert_tau(long, v, to=to)
        same(back, robot.convert_tau(q, v, to=to))
        back = robot.convert_qdd(long, v, a, to=to)
        same(back, robot.convert_qdd(q, v, a, to=to))


LENGTHS = {
    "float64": [1.7e308, 1e200, 1e155, 1e-155, 1e-200, 1e-300],
    "float32": [3e38, 1e20, 1e-20, 1e-30],
}
"""whose squares overflow or underflow"""


@pytest.mark.parametrize(
    ("dtype", "length"), [(d, x) for d, xs in LENGTHS.items() for x in xs]
)
@pytest.mark.parametrize("conventions", CONVENTIONS)
def test_normalize_takes_extreme_lengths(
    conventions: str, dtype: DType, length: float, rng: np.random.Generator
) -> None:
    robot = case(conventions, 0)
    q = state(robot, rng)["q"].astype(dtype)
    long = np.array(q)
    for start, _, _ in quaternions(robot):
        long[start : start + 4] *= length
    normalize = kernel(robot.normalize, {"q": robot.nq}, dtype=dtype)
    close = functools.partial(assert_close, tolerance=8 * float(np.finfo(dtype).eps))
    close(normalize(long), q)
    close(normalize(np.tile(long, (3, 1))), np.tile(q, (3, 1)))
    if dtype == "float64":
        close(robot.convert_q(long, to="mujoco"), robot.convert_q(q, to="mujoco"))


@pytest.mark.parametrize(
    ("dtype", "length"),
    [("float64", 1e140), ("float64", 1e-140), ("float32", 1e15), ("float32", 1e-15)],
)
def test_kernels_take_lengths_far_from_one(
    dtype: DType, length: float, rng: np.random.Generator
) -> None:
    robot = case("pinocchio", 0)
    now = {k: x.astype(dtype) for k, x in state(robot, rng).items()}
    long = np.array(now["q"])
    for start, _, _ in quaternions(robot):
        long[start : start + 4] *= length
    wanted = [dynamics.inverse_dynamics, frames.pose(robot.body_names[-1])]
    function = compile(wanted, robot, dtype=dtype)
    found = function(long, now["qd"], now["qdd"])
    expected = function(now["q"], now["qd"], now["qdd"])
    for x, y in zip(found, expected, strict=True):
        assert_close(x, y, tolerance=100 * float(np.finfo(dtype).eps))


@pytest.mark.parametrize("conventions", CONVENTIONS)
def test_rates_of_q_turn_a_long_quaternion_as_fast(
    conventions: str, rng: np.random.Generator
) -> None:
    robot = case(conventions, 1)
    model, c = robot.model, robot.conventions
    shapes = {"q": model.nq, "qd": model.nv}

    def traced(q: Any, qd: Any) -> Any:
        return rates(model, c, q, qd)

    program = trace(traced, shapes)
    now = state(robot, rng)
    long = scaled(robot, now["q"], rng)
    rate = evaluate(program, {"q": long, "qd": now["qd"]})["result"]
    h = 1e-6
    turned = robot.difference(long - h * rate, long + h * rate) / (2 * h)
    assert_close(turned, now["qd"], tolerance=1e-8)  # a central difference


def test_a_mechanism_moves_the_same_from_a_long_quaternion() -> None:
    builder = RobotBuilder("table")
    inertia = Inertia.from_box(1.0, (0.1, 0.2, 0.3))
    builder.add(Body("ball", inertia), "world", Joint.spherical())
    builder.add(Body("arm", inertia), "ball", Joint.revolute((0, 1, 0)), (0.1, 0, 0))
    robot = Robot.from_description(builder.description()).add_loop(
        "world", "arm", joint="point_on_plane", placement_b=(0.1, 0, 0)
    )
    q, qd = robot.neutral(), np.array([0.1, 0.2, 0.3, -0.4])
    long = np.array([0.0, 0.0, 0.0, 3.0, 0.0])
    q, qd = robot.project(q, qd)
    same(robot.project(long, qd)[0], q)
    with pytest.raises(ModelError, match="'ball_joint' has length 3; expected a unit"):
        robot.check_state(long, qd)  # which says what a kernel takes without a word
    expected = robot.simulate(q, qd, duration=0.01)
    found = robot.simulate(long, qd, duration=0.01)
    same(found.q, expected.q)


@pytest.mark.parametrize("conventions", CONVENTIONS)
def test_a_length_of_one_costs_seven_products_and_a_division_per_joint(
    conventions: str,
) -> None:
    builder = RobotBuilder("ball")
    inertia = Inertia.from_box(1.0, (0.1, 0.2, 0.3), at=(0.1, 0.2, 0.3))
    builder.add(Body("a", inertia), "world", Joint.spherical())
    robot = Robot.from_description(
        builder.description(), conventions=CONVENTIONS[conventions]
    )
    ops = count(frames.pose("a"), robot)
    # of a unit quaternion: 9 products, 15 sums
    assert (ops.mul, ops.add, ops.div) == (9 + 7, 15 - 1, 1)
