"""Constants of a model: the digits that exact arithmetic rounds to, and no noise."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal, getcontext
from functools import partial
from itertools import chain

import numpy as np
import pytest

from ramidyn.catalog import paper_robots as catalog
from ramidyn.catalog.general_geometry import GEOMETRIES
from ramidyn.compiler import program_of
from ramidyn.description.constants import (
    angle_of,
    direction,
    direction_of,
    eigen,
    is_surely_physical,
    quaternion,
    total,
    upper,
)
from ramidyn.description.description import Description
from ramidyn.description.pose import Pose
from ramidyn.quantities import dynamics, mass_matrix
from ramidyn.robot import Robot
from ramidyn.simplify.passes import simplify
from ramidyn.symbolic.count import count
from ramidyn.symbolic.expr import const
from ramidyn.tree.frames import place_frames
from ramidyn.tree.model import frame_with_z
from ramidyn.tree.tree import BodyInertia
from support.references import MJCFS, URDFS, loaded, needs_shared_robots


def exact_sine(x: float) -> float:
    """Return sin x by its series, in 60 digits."""
    getcontext().prec = 80
    term = out = Decimal(x)
    for k in range(1, 80):
        term *= -Decimal(x) * Decimal(x) / ((2 * k) * (2 * k + 1))
        out += term
    return float(out)


def test_sines_are_rounded_correctly(rng: np.random.Generator) -> None:
    for x in map(float, rng.uniform(-7, 7, 300)):
        assert direction(x)[1] == exact_sine(x)


def test_cosines_and_sines_are_those_of_libm_but_for_the_last_digit(
    rng: np.random.Generator,
) -> None:
    for x in map(float, rng.uniform(-1e6, 1e6, 300)):
        np.testing.assert_allclose(direction(x), (math.cos(x), math.sin(x)), atol=3e-16)


def test_an_angle_is_that_of_its_direction(rng: np.random.Generator) -> None:
    for x in map(float, rng.uniform(-math.pi, math.pi, 300)):
        assert abs(angle_of(direction(x)) - x) <= 2.5e-16 * max(1.0, abs(x))


@pytest.mark.parametrize("quarter", range(-3, 4))
def test_quarter_turns_are_exact(quarter: int) -> None:
    found = direction(quarter * math.pi / 2)
    assert set(map(abs, found)) == {0.0, 1.0}
    assert found == direction_of(*found)
    turned = math.remainder(quarter, 4) * math.pi / 2
    assert abs(angle_of(found)) == abs(turned)


def test_what_rounding_leaves_of_a_sum_is_zero() -> None:
    assert 0.1 + 0.2 - 0.3 != 0.0
    assert total(0.1, 0.2, -0.3) == 0.0
    assert (const(0.1) + const(0.2) - const(0.3)).value == 0.0
    assert total(1.0, 1e-12, -1.0) != 0.0


def test_eigenvalues_and_vectors_make_up_their_matrix(rng: np.random.Generator) -> None:
    for _ in range(50):
        A = rng.normal(size=(3, 3))
        A = A + A.T
        values, V = eigen(A)
        np.testing.assert_allclose(values, np.linalg.eigvalsh(A), atol=1e-13)
        np.testing.assert_allclose(V @ np.diag(values) @ V.T, A, atol=1e-13)
        np.testing.assert_allclose(V.T @ V, np.eye(3), atol=1e-13)


def test_what_is_surely_physical_has_the_eigenvalues_of_a_body(
    rng: np.random.Generator,
) -> None:
    found = 0
    for _ in range(300):
        A = rng.normal(size=(3, 3))
        I = A @ A.T + rng.uniform(0, 6) * np.eye(3)
        low, middle, high = np.linalg.eigvalsh(I)
        is_physical = low + middle > high + 1e-9
        assert is_surely_physical(upper(I)) == is_physical
        found += is_physical
    assert 30 < found < 270
    assert not is_surely_physical((-1.0, 0.0, 0.0, -1.0, 0.0, -1.0))
    assert not is_surely_physical((1.0, 0.0, 0.0, 1.0, 0.0, 0.0))  # a rod: at the edge
    assert not is_surely_physical((0.0,) * 6)


def test_a_quaternion_gives_its_rotation_back(rng: np.random.Generator) -> None:
    for q in (*rng.normal(size=(50, 4)), *np.eye(4), (0, 1, 1, 0), (0, 0, 1, -1)):
        R = Pose.from_quaternion(q, order="wxyz").R
        found = quaternion(R.tolist())
        assert found[0] >= 0.0
        np.testing.assert_allclose(
            Pose.from_quaternion(found, order="wxyz").R, R, atol=1e-14
        )


def test_a_rotation_there_and_back_leaves_no_noise(rng: np.random.Generator) -> None:
    T = Pose.from_quaternion(rng.normal(size=4), rng.normal(size=3), order="wxyz")
    assert (T @ T.inverse()).is_identity()


def test_an_inertia_there_and_back_leaves_no_noise(rng: np.random.Generator) -> None:
    T = Pose.from_quaternion(rng.normal(size=4), rng.normal(size=3), order="wxyz")
    ball = BodyInertia.of(2.0, np.zeros(3), 0.3 * np.eye(3))
    found = ball.seen_from(T).seen_from(T.inverse())
    assert not any(found.h)
    assert np.count_nonzero(found.I) == 3
    left = found - ball
    assert left.m == 0.0
    assert not np.any(left.I[~np.eye(3, dtype=bool)])


def test_ties_do_not_depend_on_the_last_bit() -> None:
    up = frame_with_z(np.array([1.0, 1.0, 1.0]))
    for k in range(3):
        nearly = np.ones(3)
        nearly[k] = np.nextafter(1.0, 2.0)
        np.testing.assert_allclose(frame_with_z(nearly), up, atol=1e-15)


@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_no_constant_of_a_program_is_noise(geometry: str) -> None:
    robot = Robot.from_description(catalog.humanoid30(geometry))
    for quantity in (dynamics.inverse_dynamics, mass_matrix.mass_matrix):
        program = simplify(program_of(quantity, robot))
        constants = [abs(e.value) for e in program.order if e.op == "const" and e.value]
        assert min(constants) > 1e-9


# ------------------------------------------------------------ frames


def paper_robots() -> dict[str, Callable[[], Description]]:
    shapes = {
        "humanoid30": (),
        "chang_khatib24": (),
        "hmmwv": (),
        "featherstone_tree1": (),
        "chain": (8,),
        "chain_with_side_branches": (8,),
        "square_grid": (9,),
    }
    made = {
        f"{name} {geometry}": partial(getattr(catalog, name), *sizes, geometry=geometry)
        for name, sizes in shapes.items()
        for geometry in GEOMETRIES
    }
    for seed, geometry in chain.from_iterable(
        ((seed, geometry) for geometry in GEOMETRIES) for seed in range(6)
    ):
        made[f"random{seed} {geometry}"] = partial(
            catalog.random_tree, 12, seed, geometry=geometry
        )
    # Placed frames cost more here, though they fill no inertia that had zeros.
    for bodies, seed in ((4, 49), (6, 16), (6, 46)):
        d = partial(catalog.random_tree, bodies, seed, geometry="plain")
        made[f"random{seed} of {bodies}"] = d
    return made


PAPERS = paper_robots()
LONG = ("chang_khatib24", "hmmwv", *(f"random{seed} " for seed in range(1, 6)))
"""more of the same; they run with --slow"""


@pytest.mark.slow
@pytest.mark.parametrize("name", [*URDFS, *MJCFS])
@needs_shared_robots
def test_placed_frames_of_shared_robots_never_cost_more(name: str) -> None:
    assert_not_costlier(loaded(name)[0])


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(n, marks=pytest.mark.slow if n.startswith(LONG) else ())
        for n in PAPERS
    ],
)
def test_placed_frames_never_cost_more_than_those_of_the_file(name: str) -> None:
    assert_not_costlier(Robot.from_description(PAPERS[name]()))


def assert_not_costlier(robot: Robot) -> None:
    model = replace(robot.model, loops=())
    tree, file = (Robot(model, robot.conventions) for _ in range(2))
    file.__dict__["placed_model"] = model
    for quantity in (
        dynamics.inverse_dynamics,
        mass_matrix.mass_matrix,
        dynamics.forward_dynamics(algorithm="aba"),
    ):
        new, old = (count(simplify(program_of(quantity, r))).cost for r in (tree, file))
        assert new <= old, quantity


def test_frames_that_need_not_move_stay() -> None:
    tree = Robot.from_description(catalog.humanoid30("plain")).tree
    assert all(move.is_identity() for move in place_frames(tree)[1])
