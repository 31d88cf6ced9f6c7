"""Newton's iteration towards closed loops, on circles and lines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ramidyn.algorithms.loops.newton import ON, Iterate, Verdict, closed, correction


def circle(q: Any) -> Iterate:
    """Return Φ = |q|² − 1, and J."""
    return Iterate(q, np.array([q @ q - 1.0]), 2.0 * q[None, :])


def moved(here: Iterate) -> Any:
    return here.q + correction(here.J, here.phi)


START = np.array([3.0, 4.0])


def test_steps_lead_to_the_nearest_point_of_a_circle() -> None:
    found = closed(START, circle, moved, tolerance=1e-12, steps=20)
    assert found.size < 1e-12
    np.testing.assert_allclose(found.q, START / 5.0, atol=1e-12)


def test_no_more_steps_are_taken_than_asked_for() -> None:
    twice = moved(circle(moved(circle(START))))
    found = closed(START, circle, moved, tolerance=1e-12, steps=2)
    np.testing.assert_array_equal(found.q, twice)
    assert found.size > 1e-12


def test_a_start_within_the_tolerance_stays() -> None:
    found = closed(START / 5.0, circle, moved, tolerance=1e-9, steps=20)
    np.testing.assert_array_equal(found.q, START / 5.0)


@pytest.mark.parametrize("is_kept", [False, True])
def test_the_verdict_says_whether_the_last_step_is_kept(is_kept: bool) -> None:
    found = closed(
        START,
        circle,
        moved,
        lambda here, there: Verdict(is_kept=is_kept, goes_on=False),  # noqa: ARG005
        tolerance=1e-12,
        steps=20,
    )
    np.testing.assert_array_equal(found.q, moved(circle(START)) if is_kept else START)


def test_a_step_that_is_not_kept_is_tried_again_from_the_same_place() -> None:
    starts: list[Any] = []

    def noted(here: Iterate) -> Any:
        starts.append(here.q)
        return moved(here)

    def judge(here: Iterate, there: Iterate) -> Verdict:  # noqa: ARG001
        return ON if len(starts) > 1 else Verdict(is_kept=False, goes_on=True)

    found = closed(START, circle, noted, judge, tolerance=1e-12, steps=20)
    assert starts[0] is starts[1] is START
    assert found.size < 1e-12


def test_iteration_ends_where_no_correction_is_left() -> None:
    found = closed(START, circle, lambda here: None, tolerance=1e-12, steps=20)  # noqa: ARG005
    np.testing.assert_array_equal(found.q, START)


@pytest.mark.parametrize("damping", [0.0, 1e-3, 1.0])
def test_correction_solves_the_damped_normal_equations(
    damping: float, rng: np.random.Generator
) -> None:
    J, phi = rng.normal(size=(5, 3)), rng.normal(size=5)
    known = np.linalg.solve(J.T @ J + damping**2 * np.eye(3), -J.T @ phi)
    np.testing.assert_allclose(correction(J, phi, damping), known, atol=1e-12)


def test_correction_is_the_least_where_many_close_the_loop() -> None:
    v = correction(np.array([[3.0, 4.0]]), np.array([5.0]))
    np.testing.assert_allclose(v, [-0.6, -0.8], atol=1e-15)


def test_correction_keeps_its_direction_when_it_is_shortened() -> None:
    J, phi = np.eye(2), np.array([3.0, -4.0])
    np.testing.assert_allclose(correction(J, phi, longest=1.0), [-0.75, 1.0])
    np.testing.assert_allclose(correction(J, phi, longest=4.0), [-3.0, 4.0])


def test_correction_leaves_out_singular_values_below_the_cutoff() -> None:
    J, phi = np.diag([1.0, 1e-4]), np.ones(2)
    np.testing.assert_allclose(correction(J, phi), [-1.0, -1e4])
    np.testing.assert_allclose(correction(J, phi, cutoff=1e-3), [-1.0, 0.0])
