"""Andrews' squeezing mechanism, from the test set for initial value problem solvers.

Seven planar bodies with three loops, driven by a motor against a spring, for 30 ms
(../shared/exams/README.md has the parameters and the reference). The crank turns twice
and a half at up to 1,140 rad/s.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest

from ramidyn.builder import Body, Inertia, Joint, RobotBuilder
from ramidyn.description.pose import Array, Pose
from ramidyn.forces import PointSpring
from ramidyn.robot import Robot

pytest.importorskip("scipy")

XA, YA, XB, YB, XC, YC = -0.06934, -0.00227, -0.03635, 0.03273, 0.014, 0.072
D, DA, E, EA, RR, RA, SS = 0.028, 0.0115, 0.02, 0.01421, 0.007, 0.00092, 0.035
SA, SB, SC, SD, TA, TB = 0.01874, 0.01043, 0.018, 0.02, 0.02308, 0.00916
U, UA, UB, ZF, ZT, FA = 0.04, 0.01228, 0.00449, 0.02, 0.04, 0.01421
STIFFNESS, LENGTH, MOTOR = 4530.0, 0.07785, 0.033
# Joint, parent, where on it, center of mass, mass, inertia about it.
BODIES = {
    "beta": ("world", (0.0, 0.0), (RA, 0.0), 0.04325, 2.194e-6),
    "theta": ("beta", (RR, 0.0), (-DA, 0.0), 0.00365, 4.410e-7),
    "gamma": ("world", (XB, YB), (SB, -SA), 0.02373, 5.255e-6),
    "delta": ("world", (XA, YA), (TA, TB), 0.07050, 1.169e-5),
    "phi": ("delta", (ZT, 0.0), (0.0, EA - E), 0.00706, 5.667e-7),
    "epsilon": ("world", (XA, YA), (UA, -UB), 0.05498, 1.912e-5),
    "omega": ("epsilon", (0.0, -U), (ZF - FA, 0.0), 0.00706, 5.667e-7),
}
CUTS = {"gamma": (0.0, -SS), "phi": (0.0, -E), "omega": (ZF, 0.0)}
"""where each body meets the point (-d, 0) of theta's"""
NAMES = ("beta", "theta", "gamma", "phi", "delta", "omega", "epsilon")
START = (
    -0.0617138900142764496, 0.0, 0.455279819163070380, 0.222668390165885885,
    0.487364979543842550, -0.222668390165885885, 1.23054744454982119,
)  # fmt: skip
ANGLES = (
    15.81077119629904, -15.75637105984298, 0.04082224013073101, -0.5347301163226948,
    0.5244099658805304, 0.5347301163226948, 1.048080741042263,
)  # fmt: skip
VELOCITIES = (
    1139.920302151208, -1424.379294994111, 11.03291221937134, 19.29337464421385,
    0.5735699284790808, -19.29337464421385, 0.3231791658026955,
)  # fmt: skip


@functools.cache
def squeezer() -> Robot:
    b = RobotBuilder("squeezer", gravity=(0.0, 0.0, 0.0))
    for name, (parent, at, (x, y), mass, inertia) in BODIES.items():
        about = np.diag([inertia, inertia, inertia])
        body = Body(name, Inertia(mass, (x, y, 0.0), about))
        b.add(body, parent, Joint.revolute(name=f"{name}_joint"), (*at, 0.0))
    for name, at in CUTS.items():
        to = Pose.at((*at, 0.0))
        b.add_loop(
            "theta",
            name,
            joint="revolute",
            placement_a=Pose.at((-D, 0, 0)),
            placement_b=to,
            name=name,
        )
    robot = Robot.from_description(b.description())
    robot = robot.add_frame("anchor", "world", Pose.at((XC, YC, 0.0)))
    robot = robot.add_frame("hook", "gamma", Pose.at((SD, -SC, 0.0)))
    spring = PointSpring("anchor", "hook", STIFFNESS, rest_length=LENGTH)
    return robot.add_force(spring)


def ordered(values: tuple[float, ...]) -> Array:
    """Return values in the order of the robot's joints."""
    order = [
        NAMES.index(name.removesuffix("_joint")) for name in squeezer().joint_names
    ]
    return np.array(values)[order]


@pytest.mark.parametrize("stabilize", ["project", "partition", "baumgarte"])
def test_the_squeezer_is_where_the_reference_has_it(stabilize: str) -> None:
    robot = squeezer()
    tau = MOTOR * ordered((1.0, 0, 0, 0, 0, 0, 0))
    run = robot.simulate(
        robot.project(ordered(START)),
        tau=tau,
        dt=1e-3,
        duration=0.03,
        integrator="adaptive",
        stabilize=stabilize,
        rate=200.0,
        rtol=1e-11,
        atol=1e-11,
    )
    np.testing.assert_allclose(run.q[-1], ordered(ANGLES), rtol=0, atol=1e-8)
    scale = np.abs(VELOCITIES).max()
    np.testing.assert_allclose(
        run.qd[-1], ordered(VELOCITIES), rtol=0, atol=1e-8 * scale
    )
    balance = run.energy - run.work - run.element_work
    assert np.ptp(balance) < 1e-8 * np.abs(run.energy).max()


def test_the_squeezer_starts_as_in_the_reference() -> None:
    robot = squeezer()
    q = ordered(START)
    tau = MOTOR * ordered((1.0, 0, 0, 0, 0, 0, 0))
    qdd = robot.forward_dynamics(q, np.zeros(7), tau)
    expected = ordered((14222.4439199541, -10666.8329399656, 0, 0, 0, 0, 0))
    np.testing.assert_allclose(qdd, expected, atol=1e-4)
