"""A four-bar and a slider-crank against their motion in closed form."""

from __future__ import annotations

import numpy as np
import pytest

from ramidyn.compiler import compile
from ramidyn.errors import ModelWarning
from ramidyn.mechanism.mobility import constrained_inverse_dynamics, mobility
from ramidyn.mechanism.states import check_closed
from ramidyn.quantities.closed_loops import constraint_residual, loop_forces
from ramidyn.quantities.dynamics import forward_dynamics
from support import planar
from support.planar import GRAVITY, MASSES, ROCKER, WIDTH, Planar

STATES = [(0.3, 2.0, 0.1), (1.9, -3.0, 0.0), (4.0, 5.0, -0.4)]


@pytest.mark.parametrize(("t", "td", "tau"), STATES)
@pytest.mark.parametrize("kind", ["four_bar", "slider_crank"])
def test_accelerations_are_those_of_the_closed_form(
    kind: str, t: float, td: float, tau: float
) -> None:
    robot, known = getattr(planar, kind)(), Planar(kind)
    q, qd = known.state(t, td)
    check_closed(robot, q, qd, tolerance=1e-12)
    qdd = robot.forward_dynamics(q, qd, np.array([tau, 0.0, 0.0]))
    np.testing.assert_allclose(qdd, known.acceleration(t, td, tau), rtol=1e-10)


@pytest.mark.parametrize("joint", ["revolute", "spherical", "cylindrical"])
def test_a_planar_loop_may_be_closed_by_any_joint_that_leaves_it_its_motion(
    joint: str,
) -> None:
    robot, known = planar.four_bar(joint), Planar("four_bar")
    assert mobility(robot).mobility == 1
    q, qd = known.state(0.3, 2.0)
    qdd = robot.forward_dynamics(q, qd, np.zeros(3))
    np.testing.assert_allclose(qdd, known.acceleration(0.3, 2.0, 0.0), rtol=1e-10)


def test_the_multipliers_are_the_force_on_body_b_along_the_axes_of_a() -> None:
    # The rocker turns about its ground pivot by gravity and by the pin's force F:
    #     I α = r × F − m g x/2
    robot, known = planar.four_bar(), Planar("four_bar")
    t, td = 0.3, 2.0
    q, qd = known.state(t, td)
    tau = np.array([0.1, 0.0, 0.0])
    qdd = robot.forward_dynamics(q, qd, tau)
    multipliers = compile(loop_forces, robot)(q, qd, tau)
    direction = q[0] + q[1]  # of the coupler: x of the frame on body a; z points away
    ax = np.array([np.cos(direction), np.sin(direction)])
    ay = np.array([-ax[1], ax[0]])
    F = multipliers[0] * ax + multipliers[1] * ay  # x and z in the world
    r = ROCKER * np.array([np.cos(q[2]), np.sin(q[2])])
    inertia = MASSES[2] * (ROCKER**2 / 3 + WIDTH**2 / 12)
    moment = r[0] * F[1] - r[1] * F[0] - MASSES[2] * GRAVITY * r[0] / 2
    assert moment == pytest.approx(inertia * qdd[2], rel=1e-9)
    np.testing.assert_allclose(multipliers[2:], 0.0)  # out of the plane: held anyway


def test_inverse_dynamics_gives_the_torque_back() -> None:
    robot, known = planar.four_bar(), Planar("four_bar")
    q, qd = known.state(0.3, 2.0)
    tau = np.array([0.37, 0.0, 0.0])
    qdd = robot.forward_dynamics(q, qd, tau)
    found = constrained_inverse_dynamics(robot, q, qd, qdd, ["crank_joint"])
    np.testing.assert_allclose(found.tau, tau, atol=1e-10)
    assert found.is_unique
    multipliers = compile(loop_forces, robot)(q, qd, tau)
    np.testing.assert_allclose(found.loop_forces, multipliers, atol=1e-8)


@pytest.mark.parametrize("algorithm", ["auto", "joint_formulation", "loopwise"])
def test_a_crank_too_many_changes_nothing_but_the_inertia(algorithm: str) -> None:
    # All cranks turn as one, the coupler only shifts: a pendulum in closed form.
    with pytest.warns(ModelWarning, match="loop 'pin2' is redundant"):
        robot = planar.parallelogram()
    assert mobility(robot).mobility == 1
    t, td, l = 0.7, 3.0, 0.2
    q, qd = np.array([t, -t, t, t]), np.array([td, -td, td, td])
    inertia = 3 * 0.5 * (l**2 / 3 + WIDTH**2 / 12) + l**2
    gravity = -GRAVITY * np.sin(t) * l * (3 * 0.5 / 2 + 1.0)
    dynamics = compile(forward_dynamics(algorithm=algorithm), robot)
    qdd = dynamics(q, qd, np.array([0.2, 0, 0, 0]))
    tdd = (0.2 - gravity) / inertia
    np.testing.assert_allclose(qdd, [tdd, -tdd, tdd, tdd], rtol=1e-9)


def test_the_slider_follows_the_crank() -> None:
    robot, known = planar.slider_crank(), Planar("slider_crank")
    for t in np.linspace(0.0, 6.0, 7):
        q, _ = known.state(t, 0.0)
        residual = compile(constraint_residual, robot)(q)
        np.testing.assert_allclose(residual, 0.0, atol=1e-14)
