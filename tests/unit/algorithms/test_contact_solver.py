"""The solver of contact problems: Coulomb's law, bounds, warm starts, other rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ramidyn
from ramidyn.algorithms.contact.problem import Cone, Interval, Problem
from ramidyn.algorithms.contact.solver import solve
from ramidyn.algorithms.contact.sweeps import pairs
from ramidyn.algorithms.contact.warm_start import extrapolated
from ramidyn.description.pose import Array
from ramidyn.symbolic.expr import lift, symbol
from support.contact_problems import (
    FRICTION,
    Problems,
    random_feet,
    random_points,
    solutions,
    velocities,
    violations,
)


def assert_in_cones(impulses: Array) -> None:
    x = impulses.reshape(-1, 3)
    assert x[:, 2].min() >= 0.0
    lengths = np.linalg.norm(x[:, :2], axis=1)
    assert (lengths - FRICTION * x[:, 2]).max() <= 1e-14 * max(1.0, lengths.max())


def test_points_obey_coulombs_law(rng: np.random.Generator) -> None:
    problems = random_points(rng, 256, 4)
    found = solutions(problems)
    assert found.residual.max() <= 1e-9
    assert violations(problems, found.impulses).max() < 1e-8
    assert_in_cones(found.impulses)
    kinds = velocities(problems, found.impulses)[..., 2] > 1e-6
    assert 0.2 < kinds.mean() < 0.8  # some are open, some closed


@pytest.mark.slow
def test_feet_obey_coulombs_law_or_say_that_they_do_not(
    rng: np.random.Generator,
) -> None:
    problems = random_feet(rng, 256)
    found = solutions(problems)
    assert_in_cones(found.impulses)
    is_solved = found.residual <= 1e-9
    assert is_solved.mean() > 0.8
    assert (found.residual > 1e-6).mean() < 0.1
    assert violations(problems, found.impulses)[is_solved].max() < 2e-8
    assert found.newton_steps.max() > 0.0


def test_warm_start_finds_the_same_velocities(rng: np.random.Generator) -> None:
    problems = random_points(rng, 64, 4)
    cold = solutions(problems)
    warm = solutions(problems, start=cold.impulses)
    np.testing.assert_allclose(warm.impulses, cold.impulses, atol=1e-8)
    assert warm.newton_steps.max() == 0.0


def test_no_problem_depends_on_its_neighbors(rng: np.random.Generator) -> None:
    problems = random_points(rng, 21, 4)
    whole = solutions(problems).impulses
    problems.G[3] = np.nan
    mixed = solutions(problems).impulses
    kept = np.arange(21) != 3
    np.testing.assert_array_equal(mixed[kept], whole[kept])
    part = Problems(problems.G[5:7], problems.c[5:7], None)
    np.testing.assert_allclose(solutions(part).impulses, whole[5:7], atol=1e-13)


def test_sweeps_take_corners_of_two_feet_at_once() -> None:
    """Opposite corners first; never two of one foot, whose impulses add up."""
    one = lift(1.0)
    feet = [k // 4 for k in range(8)]
    cones = tuple(
        Cone(({6 * f: one}, {6 * f + 1: one}, {6 * f + 2: one}), lift(0.0), one)
        for f in feet
    )
    G = [[one] * 12 for _ in range(12)]
    problem = Problem((range(6), range(6, 12)), G, [one] * 12, cones)
    assert pairs(problem) == [(0, 4), (3, 7), (1, 5), (2, 6)]
    both = Cone(({0: one}, {1: one}, {6: one}), lift(0.0), one)
    coupled = Problem(problem.blocks, G, problem.c, (*cones, both))
    found = pairs(coupled)
    assert sorted(k for pair in found for k in pair) == list(range(9))
    assert (8,) in found


def test_a_number_and_its_negative_are_one_number() -> None:
    x, y, other = (symbol(name) for name in ("x", "y", "other"))
    row = {0: x, 1: -x}
    problem = Problem((range(2),), [[y, -y], [-y, y]], [y, x], (Interval(row, -y),))
    assert problem.numbers() == [y, x]
    changed = problem.with_numbers([other, x])
    assert [[other, -other], [-other, other]] == changed.G
    (rule,) = changed.constraints
    assert (rule.rows[0], rule.biases) == (row, [-other])


@pytest.mark.parametrize("coupling", [0.5, 0.9, 0.99])
def test_pairs_that_push_each_other_converge(coupling: float) -> None:
    """Two points of one body, nearly at one place: far from independent."""
    one = np.array([[1.0, coupling], [coupling, 1.0]])
    G = np.kron(one, np.eye(3))[None]
    problems = Problems(G, np.array([[0.1, 0.0, -1.0, 0.0, 0.2, -0.5]]), None)
    found = solutions(problems)
    assert found.residual[0] <= 1e-9
    assert violations(problems, found.impulses)[0] < 1e-8


def test_impulses_go_on_along_a_parabola() -> None:
    times = np.arange(4.0)
    smooth = np.array([2.0 * times**2 - times, times, 3.0 + 0.0 * times]).T
    start = ramidyn.kernel(extrapolated, {"history": (3, 3)})
    np.testing.assert_allclose(start(smooth[2::-1]), smooth[3], atol=1e-12)
    landed = np.array([[1.0, 0.0, 5.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    np.testing.assert_allclose(start(landed), [1.0, 0.0, 10.0])  # a line


@pytest.mark.parametrize(
    ("bounds", "c", "wanted"),
    [
        ((0.0, None), -2.0, 1.0),  # unilateral: v = c + 2 λ ≥ 0
        ((0.0, None), 2.0, 0.0),
        ((-0.3, 0.3), -2.0, 0.3),  # a box
        ((-0.3, 0.3), 0.4, -0.2),
        ((None, None), 3.0, -1.5),  # an equality
    ],
)
def test_intervals_obey_their_rules(bounds: Any, c: float, wanted: float) -> None:
    lower, upper = (None if x is None else lift(x) for x in bounds)

    def impulse(c: Any) -> Any:
        row = Interval({0: lift(1.0)}, lift(0.0), lower, upper)
        problem = Problem((range(1),), [[lift(2.0)]], [c], (row,))
        return solve(problem, [lift(0.0)], 1e-12).impulses[0][0]

    assert ramidyn.kernel(impulse, {"c": ()})(c) == pytest.approx(wanted, abs=1e-12)
