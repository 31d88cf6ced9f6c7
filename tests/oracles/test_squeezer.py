"""Andrews' squeezing mechanism, from the test set for initial value problem solvers.

Seven planar bodies and three pins that join four of them in one point; a motor and a
spring. The numbers, the state at the start and at t = 0.03 s are the set's.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

from ramidyn.builder import Body, Joint, RobotBuilder
from ramidyn.description.body_inertia import Inertia
from ramidyn.forces import PointSpring
from ramidyn.quantities.closed_loops import constraint_residual
from ramidyn.robot import Robot
from support.close import assert_close
from support.states import value

MASSES = (0.04325, 0.00365, 0.02373, 0.00706, 0.07050, 0.00706, 0.05498)
INERTIAS = (2.194e-6, 4.410e-7, 5.255e-6, 5.667e-7, 1.169e-5, 5.667e-7, 1.912e-5)
A, B, C = (-0.06934, -0.00227), (-0.03635, 0.03273), (0.014, 0.072)
D, DA, E, EA, RR, RA, SS = 0.028, 0.0115, 0.02, 0.01421, 0.007, 0.00092, 0.035
SA, SB, SC, SD, TA, TB = 0.01874, 0.01043, 0.018, 0.02, 0.02308, 0.00916
U, UA, UB, ZF, ZT, FA = 0.04, 0.01228, 0.00449, 0.02, 0.04, 0.01421
STIFFNESS, REST_LENGTH, MOTOR = 4530.0, 0.07785, 0.033

ANGLES = ("beta", "theta", "gamma", "phi", "delta", "omega", "epsilon")
START = np.array(
    [
        -0.0617138900142764496358948458001,
        0.0,
        0.455279819163070380255912382449,
        0.222668390165885884674473185609,
        0.487364979543842550225598953530,
        -0.222668390165885884674473185609,
        1.23054744454982119249735015568,
    ]
)
ACCELERATIONS = np.array(
    [14222.4439199541138705911625887, -10666.8329399655854029433719415, *[0.0] * 5]
)
END = np.array(
    [
        *(15.81077119629904, -15.75637105984298, 0.04082224013073101),
        *(-0.5347301163226948, 0.5244099658805304, 0.5347301163226948),
        1.048080741042263,
    ]
)
VELOCITIES = np.array(
    [
        *(1139.920302151208, -1424.379294994111, 11.03291221937134),
        *(19.29337464421385, 0.5735699284790808, -19.29337464421385),
        0.3231791658026955,
    ]
)


@functools.cache
def squeezer() -> Robot:
    """Return the mechanism, its joints in the set's order."""
    b = RobotBuilder("squeezer", gravity=(0, 0, 0))
    parts = (
        (1, "beta", "world", (0.0, 0.0), (RA, 0.0)),
        (2, "theta", "K1", (RR, 0.0), (-DA, 0.0)),
        (3, "gamma", "world", B, (SB, -SA)),
        (5, "delta", "world", A, (TA, TB)),
        (4, "phi", "K5", (ZT, 0.0), (0.0, EA - E)),
        (7, "epsilon", "world", A, (UA, -UB)),
        (6, "omega", "K7", (0.0, -U), (ZF - FA, 0.0)),
    )
    for k, name, parent, at, com in parts:
        I = INERTIAS[k - 1]
        flat = Inertia(MASSES[k - 1], (*com, 0.0), np.diag([I / 2, I / 2, I]))
        joint = Joint.revolute((0, 0, 1), name=name)
        b.add(Body(f"K{k}", flat), parent, joint, (*at, 0.0))
    for k, (x, y) in ((3, (0.0, -SS)), (4, (0.0, -E)), (6, (ZF, 0.0))):
        at, at_b = (-D, 0.0, 0.0), (x, y, 0.0)
        b.add_loop(
            "K2",
            f"K{k}",
            joint="point_on_line",
            placement_a=at,
            placement_b=at_b,
            name=f"pin{k}",
        )
    spring = PointSpring(
        "world",
        "K3",
        STIFFNESS,
        rest_length=REST_LENGTH,
        point_a=(*C, 0.0),
        point_b=(SD, -SC, 0.0),
    )
    robot = Robot.from_description(b.description(), joint_order=ANGLES)
    return robot.add_force(spring)


MOTORS = np.array([MOTOR, *[0.0] * 6])


def test_the_squeezer_is_closed_and_starts_as_the_set_says() -> None:
    robot = squeezer()
    assert_close(value(robot, constraint_residual, q=START), np.zeros(6), least=1e-5)
    assert_close(robot.forward_dynamics(START, np.zeros(7), MOTORS), ACCELERATIONS)


def test_the_squeezer_is_where_the_set_says_after_some_turns() -> None:
    integrate = pytest.importorskip("scipy.integrate", reason="needs SciPy")
    qdd = squeezer().forward_dynamics

    def rate(_: float, y: Any) -> Any:
        return np.concatenate([y[7:], qdd(y[:7], y[7:], MOTORS)])

    start = np.concatenate([START, np.zeros(7)])
    tolerances = {"method": "DOP853", "rtol": 1e-12, "atol": 1e-12}
    run = integrate.solve_ivp(rate, (0.0, 0.03), start, **tolerances)
    q, qd = run.y[:7, -1], run.y[7:, -1]
    np.testing.assert_allclose(q, END, rtol=0, atol=1e-8)
    np.testing.assert_allclose(qd, VELOCITIES, rtol=0, atol=1e-8 * 1424)
    closed = value(squeezer(), constraint_residual, q=q)
    assert np.abs(closed).max() < 1e-12
