"""Chang & Khatib (2000): six steps, linear growth, and the method they replace."""

from __future__ import annotations

import numpy as np
import pytest

from ramidyn.papers.chang_khatib import (
    HANDS,
    branching,
    explicit_count,
    explicit_inverse,
    step_counts,
)
from ramidyn.papers.operation_counts import compiled_program
from ramidyn.quantities.operational import (
    operational_inertia,
    operational_inertia_inverse,
)
from ramidyn.symbolic.count import count
from ramidyn.symbolic.dense import inverse, ldl


def test_the_explicit_inverse_gives_the_same_inertia() -> None:
    robot = branching(8)
    q = np.random.default_rng(0).normal(size=8)
    tasks = list(HANDS)
    found = explicit_inverse(robot.mass_matrix(q), robot.task_jacobian(q, tasks))
    expected = robot.operational_inertia_inverse(q, tasks)
    for r, row in enumerate(found):
        np.testing.assert_allclose(row, expected[r, : r + 1], rtol=1e-9, atol=1e-9)
    M = robot.mass_matrix(q)
    np.testing.assert_allclose(inverse(*ldl(M)), np.linalg.inv(M), rtol=1e-9)


def test_the_six_steps_are_the_whole_program() -> None:
    robot = branching(12)
    program = compiled_program(operational_inertia(HANDS, "chang_khatib"), robot)
    steps = step_counts(program)
    assert len(steps) == 6
    assert all(steps.values())
    assert sum(steps.values()) == count(program).total


def test_growth_is_linear_and_that_of_the_explicit_inverse_is_cubic() -> None:
    robots = [branching(n) for n in (12, 24, 36)]
    quantity = operational_inertia_inverse(HANDS, "chang_khatib")
    ours = [count(compiled_program(quantity, r)).total for r in robots]
    first, second = np.diff(ours)
    assert abs(second / first - 1) < 0.02
    theirs = [explicit_count(r) for r in robots]
    assert theirs[2] - theirs[1] > 1.9 * (theirs[1] - theirs[0])
    assert all(a < b for a, b in zip(ours, theirs, strict=True))


@pytest.mark.slow
def test_the_step_of_one_link_is_the_same_at_every_size() -> None:
    quantity = operational_inertia_inverse(HANDS, "chang_khatib")
    found = [
        count(compiled_program(quantity, branching(n))).total for n in (48, 72, 96)
    ]
    assert found[2] - found[1] == found[1] - found[0]
