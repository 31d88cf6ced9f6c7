"""A robot with regrouped masses moves as before."""

from __future__ import annotations

import numpy as np
import pytest

from ramidyn.catalog.paper_robots import chain, hmmwv, random_tree
from ramidyn.compiler import program_of
from ramidyn.quantities.dynamics import forward_dynamics, inverse_dynamics
from ramidyn.robot import Robot
from ramidyn.symbolic.interpreter import evaluate
from ramidyn.tracing.chooser import trace_quantities
from support.every_joint import every_joint


def robots() -> dict[str, Robot]:
    """Robots with every type of joint."""
    made = {"chain": chain(5), "tree": random_tree(9, 1), "vehicle": hmmwv()}
    found = {n: Robot.from_description(d) for n, d in made.items()}
    return {**found, "every joint": every_joint()}


@pytest.mark.parametrize("name", robots())
def test_the_equation_of_motion_is_the_same(name: str) -> None:
    robot = robots()[name]
    other = robot.regrouped().robot
    rng = np.random.default_rng(0)
    q = robot.random_configuration(rng)
    given = {"q": q, "qd": rng.normal(size=robot.nv), "qdd": rng.normal(size=robot.nv)}
    # Neither is regrouped once more: what is compared are the two models themselves.
    plain, simpler = (
        evaluate(
            trace_quantities([inverse_dynamics], r.model, r.conventions, regroup=False),
            given,
        )["inverse_dynamics"]
        for r in (robot, other)
    )
    np.testing.assert_allclose(simpler, plain, atol=1e-11 * np.abs(plain).max())


def test_what_moved_is_told() -> None:
    robot = Robot.from_description(chain(4))
    found = robot.regrouped()
    masses = list(robot.masses.values())
    assert [m.body for m in found.moves] == ["body3", "body2", "body1", "body0"]
    assert [m.parent for m in found.moves] == ["body2", "body1", "body0", None]
    np.testing.assert_allclose(
        [m.mass for m in found.moves], np.cumsum(masses[::-1]), rtol=1e-12
    )
    assert found.massless == ("body0", "body1", "body2", "body3")
    assert found.parameters[1] < found.parameters[0]
    assert str(found).splitlines()[0] == (
        f"{found.parameters[0]} nonzero inertial parameters become "
        f"{found.parameters[1]}; 4 of 4 bodies have no mass"
    )
    assert str(found).splitlines()[-1].startswith("  body0 -> the world: ")


def test_a_regrouped_robot_computes() -> None:
    robot = Robot.from_description(chain(3))
    other = robot.regrouped().robot
    rng = np.random.default_rng(1)
    q, qd, tau = rng.normal(size=(3, 3))
    given = {"q": q, "qd": qd, "tau": tau}
    plain, simpler = (
        evaluate(program_of(forward_dynamics(algorithm="aba"), r), given)
        for r in (robot, other)
    )
    np.testing.assert_allclose(
        simpler["forward_dynamics"], plain["forward_dynamics"], rtol=1e-9
    )
