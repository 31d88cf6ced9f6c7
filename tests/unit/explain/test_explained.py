"""Steps of the factorization, kinds of zeros, closed loops: explained for any robot."""

from __future__ import annotations

import numpy as np
import pytest

from ramidyn import linalg, robots
from ramidyn.catalog.paper_robots import random_tree
from ramidyn.explain.closed_loops import STEPS, explain_loops, step_times
from ramidyn.explain.data import explain, sentence
from ramidyn.explain.factor_steps import factor_steps
from ramidyn.explain.shape import TreeShape
from ramidyn.explain.zeros import zeros_of
from ramidyn.papers.accuracy import (
    Accuracy,
    claim_holds,
    errors,
    medians,
    summed_solve,
    tends,
)
from ramidyn.papers.featherstone import TREE1
from ramidyn.papers.negrut_solvers import gauss_counts
from ramidyn.robot import Robot
from support.close import assert_close

TREES = [TREE1, (-1, 0, 1, 2, 1, 3, 3, 4, 7, 8, 4), (-1, -1, 0, 1, 1)]


@pytest.mark.parametrize("parents", TREES)
def test_steps_add_up_to_d1_and_d2(parents: tuple[int, ...]) -> None:
    steps = factor_steps(parents)
    assert sum(len(s.divided) for s in steps) == linalg.D1(parents)
    assert sum(len(s.updated) for s in steps) == linalg.D2(parents)
    pattern = linalg.sparsity_pattern(parents)
    assert all(pattern[at] for s in steps for at in (*s.divided, *s.updated))
    for s in steps:
        zeros = [kind == "zero" for row in s.kinds() for kind in row]
        assert zeros == list(~pattern[np.tril_indices(len(parents))])


@pytest.mark.parametrize("parents", TREES)
def test_bounds_hold_and_chains_meet_them(parents: tuple[int, ...]) -> None:
    shape = TreeShape(parents)
    for bound in shape.bounds.values():
        assert shape.d1 <= bound[0]
        assert shape.d2 <= bound[1]
    assert shape.chain.bounds["n"] == (shape.chain.d1, shape.chain.d2)
    assert shape.density == linalg.sparsity_pattern(parents).mean()


def test_zeros_are_told_apart() -> None:
    robot = robots.humanoid30("plain")
    z = zeros_of(robot)
    M = robot.mass_matrix(robot.random_configuration(5))
    small = np.abs(M) < 1e-12 * np.abs(M).max()
    assert z.branch == 432
    assert z.permanent == small.sum()
    assert z.inertia > 0
    here = robot.mass_matrix(robot.neutral())
    now = (np.abs(here) < 1e-12 * np.abs(here).max()).sum()
    assert z.permanent + z.coincidental == now


def test_zeros_of_a_general_robot_are_those_of_branches_and_joints() -> None:
    z = zeros_of(robots.featherstone_tree1())
    assert (z.branch, z.kinematic, z.inertia, z.coincidental) == (22, 0, 0, 0)


def test_loops_of_the_vehicle_are_those_of_the_paper() -> None:
    robot = robots.hmmwv()
    found = explain_loops(robot)
    assert (found.n, found.m, len(found.cuts)) == (27, 16, 8)
    assert found.gauss == gauss_counts(43)["Total"].total
    assert sum(map(len, found.reached)) == 174
    q = robot.assemble(robot.neutral())
    J = robot.constraint_jacobian(q)
    for row, columns in zip(J, found.columns, strict=True):
        assert set(np.flatnonzero(np.abs(row) > 1e-12)) <= set(columns)
    pattern = found.pattern()
    assert pattern[:27, :27].sum() == (linalg.D1(found.parents) * 2 + 27)
    assert (pattern == pattern.T).all()
    text = str(found)
    assert "hmmwv: 14 bodies, 27 coordinates, 8 cuts with 16 rows" in text
    assert "right_front_rod (distance, 1 row): rack - right_front_spindle" in text
    assert text.index("left_rear_spindle, left_rear_upper_arm") < text.index(
        ", chassis"
    )


@pytest.mark.slow
def test_steps_of_loops_are_timed() -> None:
    times = step_times(explain_loops(robots.hmmwv()))
    assert set(times) == {*STEPS, "Total"}
    assert 0 < times["Total"] < 1e-3
    assert sum(times[s] for s in STEPS) >= times["Total"] - 1e-12


@pytest.mark.parametrize(
    ("geometry", "bodies", "seed"),
    [
        ("general", 2, 4),
        ("general", 2, 10),
        ("plain", 2, 0),
        ("plain", 3, 11),
        ("plain", 4, 5),
    ],
)
def test_what_is_chosen_has_the_least_of_the_costs_shown(
    geometry: str, bodies: int, seed: int
) -> None:
    """All of them with the longest waits, also of candidates that were far behind."""
    robot = Robot.from_description(random_tree(bodies, seed, geometry=geometry))
    choices = explain(robot, [robot.body_names[-1]]).choices
    assert len(choices) == 2
    for choice in choices:
        assert choice.costs.keys() == choice.traced.keys()
        assert choice.costs[choice.algorithm] == min(choice.costs.values())
        assert "(costs in units of a multiplication: " in sentence(choice)


# ------------------------------------------------------------ accuracy


def test_updates_may_be_summed_first(rng: np.random.Generator) -> None:
    robot = robots.humanoid30("plain")
    M = robot.mass_matrix(robot.random_configuration(rng, 4))
    b = rng.normal(size=(4, 30))
    expected = np.linalg.solve(M, b[..., None])[..., 0]
    assert_close(summed_solve(M, b, robot.tree.dof_parents), expected)


def test_the_claim_is_about_the_side() -> None:
    assert claim_holds(0.5, 0.9, 0.8)
    assert not claim_holds(0.5, 0.9, 1.1)
    assert claim_holds(0.02, 1.4, 1.2)
    assert not claim_holds(0.02, 1.4, 0.9)


def test_a_tendency_is_that_of_medians() -> None:
    def one(zeros: float, ltl: float, ltdl: float) -> Accuracy:
        return Accuracy(zeros, 1e-16, ltl, ltdl, 1.0)

    found = [one(0.5, 0.8, 0.7), one(0.6, 1.3, 0.9), one(0.7, 0.9, 0.6)]
    found += [one(0.0, 1.2, 1.1), one(0.2, 0.1, 0.1)]  # the last has neither
    assert medians(found) == {"many zeros": (0.9, 0.7), "few zeros": (1.2, 1.1)}
    assert tends(medians(found))
    assert not tends(medians([*found, one(0.0, 0.5, 0.5)]))


def test_errors_are_those_of_rounding() -> None:
    found = errors(robots.chain(4), states=20)
    nonzeros = found.pop("nonzeros")
    assert nonzeros == 16
    assert all(0 <= e < 1e-13 for e in found.values())
