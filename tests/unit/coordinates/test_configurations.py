from __future__ import annotations

import numpy as np
import pytest

from ramidyn.errors import ArgumentError, ShapeError
from ramidyn.loading import load
from support.every_joint import every_joint
from support.urdf import joint, links, robot

CONVENTIONS = ("pinocchio", "mujoco", "featherstone")


@pytest.mark.parametrize("conventions", CONVENTIONS)
@pytest.mark.parametrize("size", [1e-12, 1e-6, 1e-2, 1.0, 1.5])
def test_difference_undoes_integrate(
    conventions: str, size: float, rng: np.random.Generator
) -> None:
    r = every_joint(conventions)
    q = r.random_configuration(rng, batch=33)
    v = size * rng.uniform(-1, 1, size=(33, r.nv))
    back = r.difference(q, r.integrate(q, v))
    np.testing.assert_allclose(back, v, atol=5e-15, rtol=1e-13)


@pytest.mark.parametrize("conventions", CONVENTIONS)
def test_integrate_reaches_what_difference_saw(
    conventions: str, rng: np.random.Generator
) -> None:
    r = every_joint(conventions)
    q0, q1 = r.random_configuration(rng, 100), r.random_configuration(rng, 100)
    reached = r.integrate(q0, r.difference(q0, q1))
    np.testing.assert_allclose(r.difference(reached, q1), 0.0, atol=1e-13)


@pytest.mark.parametrize("conventions", CONVENTIONS)
def test_configuration_rate_is_the_derivative_of_integrate(
    conventions: str, rng: np.random.Generator
) -> None:
    r = every_joint(conventions)
    q, v = r.random_configuration(rng), rng.normal(size=r.nv)
    step = 1e-5
    slope = (r.integrate(q, v, step) - r.integrate(q, v, -step)) / (2 * step)
    np.testing.assert_allclose(r.configuration_rate(q, v), slope, atol=1e-8)
    one = r.model.joint("revolute_joint")
    assert r.configuration_rate(q, v)[one.q_index] == v[one.v_index]


def test_halves_of_a_motion_make_the_whole(rng: np.random.Generator) -> None:
    r = every_joint()
    q, v = r.random_configuration(rng), rng.normal(size=r.nv)
    halfway = r.integrate(q, v, 0.5)
    np.testing.assert_allclose(r.integrate(halfway, v, 0.5), r.integrate(q, v))


def test_integrate_takes_batches_of_anything(rng: np.random.Generator) -> None:
    r = every_joint()
    q, v = r.random_configuration(rng, 5), rng.normal(size=r.nv)
    dt = np.linspace(0.0, 1.0, 5)
    out = np.empty_like(q)
    assert r.integrate(q, v, dt, out=out) is out
    for k in range(5):
        np.testing.assert_allclose(out[k], r.integrate(q[k], v, dt[k]), atol=1e-14)
    assert r.integrate(q[:0], v).shape == (0, r.nq)


def test_small_integration_steps_keep_quaternions_at_length_one(
    rng: np.random.Generator,
) -> None:
    r = every_joint()
    q, v = r.random_configuration(rng), rng.normal(size=r.nv)
    for _ in range(2000):
        q = r.integrate(q, v, 1e-3)
    np.testing.assert_allclose(r.normalize(q), q, atol=1e-15)


def test_neutral_configuration_has_unit_quaternions() -> None:
    floating = slice(0, 7)
    expected = [0, 0, 0, 0, 0, 0, 1]
    np.testing.assert_array_equal(every_joint().neutral()[floating], expected)
    expected = [0, 0, 0, 1, 0, 0, 0]
    np.testing.assert_array_equal(every_joint("mujoco").neutral()[floating], expected)
    r = every_joint()
    np.testing.assert_array_equal(r.normalize(r.neutral()), r.neutral())


def test_random_configurations_stay_within_limits() -> None:
    r = every_joint()
    q = r.random_configuration(np.random.default_rng(0), batch=500)
    assert q.shape == (500, r.nq)
    assert (q >= r.limits.lower).all()
    assert (q <= r.limits.upper).all()
    np.testing.assert_allclose(np.linalg.norm(q[:, 3:7], axis=1), 1.0)
    assert np.abs(q[:, 3:7].mean(axis=0)).max() < 0.1  # no orientation is preferred
    assert r.random_configuration(1).shape == (r.nq,)
    np.testing.assert_array_equal(r.random_configuration(1), r.random_configuration(1))
    assert r.random_configuration(1, batch=0).shape == (0, r.nq)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("seed",), r"rng is 'seed'; expected a numpy.random.Generator or a seed"),
        ((1, -1), r"batch is -1; expected a number of states or None"),
        ((1, 2.5), r"batch is 2.5; expected"),
        ((1, True), r"batch is True; expected"),
    ],
)
def test_wrong_random_arguments_are_named(arguments: tuple, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        every_joint().random_configuration(*arguments)


def test_limits_are_arrays_in_the_order_of_coordinates() -> None:
    r = every_joint()
    limits = r.limits
    assert limits.lower.shape == limits.upper.shape == (r.nq,)
    assert limits.velocity.shape == limits.effort.shape == (r.nv,)
    k = r.model.joint("revolute_joint")
    assert (limits.lower[k.q_index], limits.upper[k.q_index]) == (-1, 2)
    assert (limits.velocity[k.v_index], limits.effort[k.v_index]) == (3, 4)
    k = r.model.joint("cylindrical_joint").q_index
    np.testing.assert_array_equal(limits.upper[k : k + 2], [1, 0.2])
    assert np.isinf(limits.lower[:7]).all()
    with pytest.raises(ValueError, match="read-only"):
        limits.lower[0] = 1


def test_wrong_shapes_are_named() -> None:
    r = every_joint()
    with pytest.raises(ShapeError, match=r"q has shape \(3,\)"):
        r.integrate(np.zeros(3), np.zeros(r.nv))
    with pytest.raises(ShapeError, match="q1 has shape"):
        r.difference(r.neutral(), np.zeros(1))


WHEEL = robot(
    links("a b c"),
    joint("wheel", "a", "b", "", "continuous"),
    joint("gear", "b", "c", '<mimic joint="wheel" multiplier="0.5"/>', "continuous"),
)


@pytest.mark.filterwarnings("ignore::ramidyn.errors.ModelWarning")
def test_leader_of_a_gear_is_no_circle() -> None:
    free = load(WHEEL, mimic="independent")
    np.testing.assert_allclose(free.difference([0, 0], [4, 0])[0], 4 - 2 * np.pi)
    # One turn of the leader is half a turn of the gear: another configuration.
    np.testing.assert_allclose(load(WHEEL).difference([0], [4]), [4])


def test_robot_that_cannot_move_has_configurations_of_no_size() -> None:
    still = load(robot(links("a")))
    assert still.neutral().shape == (0,)
    assert still.integrate(np.zeros(0), np.zeros(0)).shape == (0,)
    assert still.random_configuration(0, batch=3).shape == (3, 0)
    assert "nq 0" in str(still)
