"""Contact problems solved by Pinocchio's ADMM: the same velocities and impulses."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

from ramidyn.description.pose import Array
from support.contact_problems import (
    FRICTION,
    Problems,
    random_feet,
    random_points,
    solutions,
    velocities,
    violations,
)
from support.pages import REPOSITORY
from support.real_robots import example_urdfs

pin: Any = pytest.importorskip("pinocchio", reason="Pinocchio is not installed")
if not hasattr(pin, "ADMMConstraintSolver"):
    pytest.skip("this Pinocchio has no ADMM", allow_module_level=True)

SOLVED = 1e-8
"""residual of both"""


def admm(D: Array, b: Array, friction: float = FRICTION) -> tuple[Array, float]:
    """Return Pinocchio's impulses and their residual."""
    model = pin.Model()
    models, data = pin.StdVec_ConstraintModel(), pin.StdVec_ConstraintData()
    for _ in range(len(b) // 3):
        point = pin.PointContactConstraintModel(model, 0)
        point.setFriction(friction)
        one = pin.ConstraintModel(point)
        models.append(one)
        data.append(one.createData())
    settings, result = pin.ADMMSolverSettings(), pin.ADMMSolverResult()
    settings.max_iterations = 5000
    for kind in ("absolute", "relative"):
        for what in ("feasibility", "complementarity"):
            setattr(settings, f"{kind}_{what}_tol", 1e-12)
    solver = pin.ADMMConstraintSolver(len(b))
    solver.solve(pin.DelassusOperatorDense(D), b, models, data, settings, result)
    left = (result.primal_feasibility, result.dual_feasibility, result.complementarity)
    return np.array(result.retrieveConstraintImpulses()), max(left)


def both(problems: Problems) -> tuple[Array, Array, Array]:
    """Return our impulses, theirs, and where both are solved."""
    found = solutions(problems)
    theirs = [admm(D, b) for D, b in zip(problems.delassus, problems.free, strict=True)]
    residual = np.array([r for _, r in theirs])
    is_solved = (found.residual < SOLVED) & (residual < SOLVED)
    return found.impulses, np.array([x for x, _ in theirs]), is_solved


def test_points_have_the_impulses_of_admm(rng: np.random.Generator) -> None:
    problems = random_points(rng, 64, 4)
    ours, theirs, is_solved = both(problems)
    assert is_solved.all()
    np.testing.assert_allclose(ours, theirs, atol=1e-6)


@pytest.mark.slow
def test_feet_that_stick_have_the_velocities_of_admm(rng: np.random.Generator) -> None:
    """Corners that slide may share the load in many ways, with other velocities each.

    So these are left out.
    """
    problems = random_feet(rng, 64)
    ours, theirs, is_solved = both(problems)
    v, w = velocities(problems, ours), velocities(problems, theirs)
    closed = ours.reshape(64, -1, 3)[..., 2] > 1e-6
    slides = (closed & (np.linalg.norm(v[..., :2], axis=-1) > 1e-6)).any(axis=1)
    compared = is_solved & ~slides
    assert compared.sum() > 5
    np.testing.assert_allclose(v[compared], w[compared], atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "compared", "both"), [("go2", 1.0, 0.3), ("g1", 0.88, 0.1)]
)
def test_landings_have_the_velocities_of_admm(
    name: str, compared: float, both: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Steps of robots that land, against matrices computed by NumPy.

    ADMM does not solve 6% of G1's, with eight corners. Of the others, 3% have corners
    that slide and share the load in two ways, with two velocities: both obey Coulomb's
    law. A step stops at 1e-7 m/s: a third of Go2's and 14% of G1's are solved to SOLVED
    by both.
    """
    if not example_urdfs():
        pytest.skip("example-robot-data is not installed")
    monkeypatch.syspath_prepend(REPOSITORY / "benchmarks")
    drops: Any = importlib.import_module("contact")
    D, b, step = drops.landings(name, 200)
    theirs = [admm(*problem, drops.FRICTION) for problem in zip(D, b, strict=True)]
    impulses = np.array([x for x, _ in theirs])
    v, w = (np.einsum("bij,bj->bi", D, x) + b for x in (step.impulses, impulses))
    solved = np.array([residual < SOLVED for _, residual in theirs])
    law = Problems(D, b, None)
    for x in (step.impulses, impulses):
        assert violations(law, x, drops.FRICTION)[solved].max() < 1e-5
    if name == "go2":  # of full rank
        np.testing.assert_allclose(step.impulses, impulses, atol=1e-6)
    same = solved & (np.abs(v - w).max(axis=1) < 1e-5)
    assert same.mean() >= compared
    closed = step.impulses.reshape(200, -1, 3)[..., 2] > 1e-6
    speed = np.linalg.norm(v.reshape(200, -1, 3)[..., :2], axis=2)
    slides = (closed & (speed > 1e-6)).any(axis=1)
    assert slides[solved & ~same].all()
    chosen = same & (step.residual < SOLVED)
    assert chosen.mean() >= both
    np.testing.assert_allclose(v[chosen], w[chosen], rtol=0, atol=1e-6)
