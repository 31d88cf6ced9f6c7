"""Dynamics of every URDF of example-robot-data against Pinocchio."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from ramidyn.description.formats.parse import parse
from ramidyn.errors import Error
from ramidyn.quantities import dynamics, mass_matrix
from ramidyn.robot import Robot
from support.close import assert_close
from support.real_robots import example_urdfs
from support.states import value

pin = pytest.importorskip("pinocchio", reason="needs Pinocchio (pip install pin)")
pytestmark = pytest.mark.oracle

URDFS = example_urdfs()
FIRST = {name.split("/")[0]: name for name in reversed(URDFS)}
"""a robot of each folder; its variants run with --slow"""
close = functools.partial(assert_close, tolerance=1e-9, least=0.0)
"""relative to the largest entry: mass matrices here have conditions up to 1e8"""


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(n, marks=() if n in FIRST.values() else pytest.mark.slow)
        for n in URDFS
    ]
    or ["none"],
)
def test_dynamics_is_pinocchios(name: str, rng: np.random.Generator) -> None:
    if name == "none":
        pytest.skip("needs example-robot-data")
    path = URDFS[name]
    try:
        model = pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer())
    except (ValueError, RuntimeError) as error:
        pytest.skip(f"Pinocchio refuses it: {error}")
    try:
        robot = Robot.from_description(
            parse(path),
            root="floating",
            mimic="independent",
        )
    except Error as error:
        pytest.skip(f"refused: {error}")
    assert robot.nv == model.nv
    data = model.createData()
    low, high = np.full(model.nq, -1.0), np.full(model.nq, 1.0)
    pin.seed(0)
    q_pin = pin.randomConfiguration(model, low, high)
    q = as_angles(model, q_pin)
    qd, qdd, tau = rng.normal(size=(3, robot.nv))

    pin.crba(model, data, q_pin)
    M = np.triu(data.M) + np.triu(data.M, 1).T
    close(value(robot, mass_matrix.mass_matrix(algorithm="crba"), q=q), M)
    now = {"q": q, "qd": qd}
    theirs = pin.rnea(model, data, q_pin, qd, qdd)
    close(value(robot, dynamics.inverse_dynamics, **now, qdd=qdd), theirs)
    if np.linalg.cond(M) < 1e9:
        theirs = pin.aba(model, data, q_pin, qd, tau)
        forward = dynamics.forward_dynamics(algorithm="aba")
        close(value(robot, forward, **now, tau=tau), theirs)


def as_angles(model, q):
    """Continuous joints are (cos, sin) there and an angle here."""
    out: list[float] = []
    for joint in model.joints[1:]:
        own = q[joint.idx_q : joint.idx_q + joint.nq]
        is_turn = joint.nq == 2 and joint.nv == 1
        out.extend([np.arctan2(own[1], own[0])] if is_turn else own)
    return np.array(out)
