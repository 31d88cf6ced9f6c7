"""Robots with loops in float32: as near to float64 as their condition allows."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ramidyn.catalog import paper_robots as robots
from ramidyn.compiler import compile, program_of
from ramidyn.loading import load
from ramidyn.mechanism.assembly import assemble
from ramidyn.mechanism.projection import project
from ramidyn.quantities.closed_loops import loop_forces
from ramidyn.quantities.dynamics import forward_dynamics
from ramidyn.robot import Robot
from support.loops import TERMS, as_robot, solved, value
from support.parameters import some
from support.paths import SHARED_ROBOTS
from support.planar import Planar, four_bar, parallelogram, swung

pytestmark = pytest.mark.filterwarnings("ignore:loop .* is redundant:UserWarning")

EPS = float(np.finfo(np.float32).eps)
STATES = 300
FACTOR = 2.0
"""roundings that add up, over the one that the condition magnifies"""

States = tuple[Any, Any, Any]


def shared(name: str) -> Robot:
    path = SHARED_ROBOTS / name
    if not path.exists():
        pytest.skip(f"{path} is not here")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return load(path)


def near(robot: Robot, rng: np.random.Generator) -> States:
    """Return closed states about one."""
    q0, found = assemble(robot), []
    while len(found) < 20:
        push = 0.03 * rng.normal(size=robot.nv)
        found.append(
            project(robot, robot.integrate(q0, push), rng.normal(size=robot.nv))
        )
    q, qd = (np.array(x) for x in zip(*found, strict=True))
    return q, qd, rng.normal(size=(len(q), robot.nv))


def swinging(robot: Robot, rng: np.random.Generator) -> States:
    """Return states of a parallelogram, not quite flat: there it is singular."""
    pairs = [
        swung(robot, a, r)
        for a, r in zip(
            rng.uniform(-1.45, 1.45, STATES), rng.normal(size=STATES), strict=True
        )
    ]
    q, qd = (np.array(x) for x in zip(*pairs, strict=True))
    return q, qd, rng.normal(size=(STATES, robot.nv))


def turning(_: Robot, rng: np.random.Generator) -> States:
    known = Planar("four_bar")
    pairs = [known.state(t, 2.0) for t in rng.uniform(0, 6, 10)]
    q, qd = (np.array(x) for x in zip(*pairs, strict=True))
    return q, qd, rng.normal(size=(len(q), 3))


CASES: dict[
    str, tuple[Callable[[], Robot], Callable[[Robot, np.random.Generator], States]]
] = {
    "four-bar, 2 of 5 rows": (four_bar, turning),
    "parallelogram, 3 of 10 rows": (parallelogram, swinging),
    "six cranks, 6 of 25 rows": (lambda: parallelogram(6), swinging),
    "car, 16 of 16 rows": (lambda: as_robot(robots.hmmwv("general")), near),
    "cassie, 10 of 12 rows": (lambda: shared("cassie/cassie.xml"), near),
    "gripper, 5 of 7 rows": (lambda: shared("robotiq_2f85_v4/2f85.xml"), near),
}


def condition(A: Any) -> float:
    """Return the condition of a matrix with a diagonal of ones, where it is regular."""
    d = np.sqrt(np.diagonal(A))
    d = np.where(d > 1e-9 * d.max(), d, 1.0)
    values = np.linalg.eigvalsh(A / np.outer(d, d))
    values = values[values > 1e-9 * values.max()]
    return float(values.max() / values.min())


@pytest.mark.parametrize(
    "name", some(CASES, slow=["car, 16 of 16 rows", "cassie, 10 of 12 rows"])
)
def test_float32_is_as_near_as_the_condition_allows(
    name: str, rng: np.random.Generator
) -> None:
    make, states = CASES[name]
    robot = make()
    q, qd, tau = states(robot, rng)
    wanted = [forward_dynamics, loop_forces]
    qdd, forces = compile(wanted, robot, dtype="float32")(
        *(x.astype(np.float32) for x in (q, qd, tau))
    )
    assert qdd.dtype == forces.dtype == np.float32
    # The inputs as they were rounded: only what is done with them counts.
    q, qd, tau = (x.astype(np.float32).astype(float) for x in (q, qd, tau))
    terms = value(TERMS, robot, q=q, qd=qd).values()
    for k, (M, h, J, gamma) in enumerate(zip(*terms, strict=True)):
        expected, some = solved(M, h, J, gamma, tau[k])
        K = condition(M) * condition(J @ np.linalg.inv(M) @ J.T)
        bound = FACTOR * EPS * K
        assert bound < 0.1  # else the test says nothing
        # q̈ is a sum of what τ causes and of what the loops do, which nearly cancel.
        held = np.linalg.solve(M, J.T @ some)
        scale = max(np.abs(held).max(), np.abs(expected - held).max())
        error = np.abs(qdd[k] - expected).max() / scale
        assert error < bound, f"state {k}: q̈ is off by {error:.2g}, bound {bound:.2g}"
        least = np.linalg.pinv(J.T, rcond=1e-5) @ (J.T @ some)
        error = np.abs(forces[k] - least).max() / np.abs(least).max()
        assert error < bound, f"state {k}: λ is off by {error:.2g}, bound {bound:.2g}"


def test_damping_is_above_the_rounding_of_the_type() -> None:
    robot = parallelogram()
    texts = [
        str(program_of(forward_dynamics, robot, dtype=d))
        for d in ("float64", "float32")
    ]
    assert texts[0] != texts[1]
    regular = four_bar()  # nothing to damp: the same program
    assert str(program_of(forward_dynamics, regular, dtype="float32")) == str(
        program_of(forward_dynamics, regular)
    )
