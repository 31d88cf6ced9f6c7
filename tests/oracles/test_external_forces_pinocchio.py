"""External forces against Pinocchio's fext: an arm, a hand, a quadruped, a humanoid."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

from ramidyn.description.formats.parse import parse
from ramidyn.quantities import dynamics
from ramidyn.robot import Robot
from support.close import assert_close
from support.real_robots import example_urdfs
from support.states import value

pin = pytest.importorskip("pinocchio", reason="needs Pinocchio (pip install pin)")
pytestmark = pytest.mark.oracle

ROBOTS = {
    "panda_description/panda.urdf": ("panda_link4", "panda_hand"),
    "allegro_hand_description/allegro_left_hand.urdf": ("link_3.0_tip", "link_5.0"),
    "anymal_b_simple_description/anymal.urdf": ("LF_FOOT", "RH_SHANK"),
    "simple_humanoid_description/simple_humanoid.urdf": ("LLEG_LINK4", "r_wrist"),
}
close = functools.partial(assert_close, tolerance=1e-9, least=0.0)


@pytest.mark.parametrize("axes", ["local", "world", "local_world_aligned"])
@pytest.mark.parametrize("name", ROBOTS)
def test_external_forces_are_pinocchios(
    name: str, axes: str, rng: np.random.Generator
) -> None:
    urdfs = example_urdfs()
    if name not in urdfs:
        pytest.skip("needs example-robot-data")
    model = pin.buildModelFromUrdf(str(urdfs[name]), pin.JointModelFreeFlyer())
    robot = Robot.from_description(
        parse(urdfs[name]),
        root="floating",
        joint_order="alphabetical",
        mimic="independent",
    )
    assert robot.nq == model.nq
    data = model.createData()
    pin.seed(0)
    q = pin.randomConfiguration(model, np.full(model.nq, -1.0), np.full(model.nq, 1.0))
    qd, qdd, tau = rng.normal(size=(3, robot.nv))
    frames, wrenches = ROBOTS[name], rng.normal(size=(2, 6)) * 10.0
    forces = on_joints(model, data, q, axes, dict(zip(frames, wrenches, strict=True)))

    now = {"q": q, "qd": qd, "external": wrenches}
    asked = {"external": frames, "expressed_in": axes}
    theirs = pin.rnea(model, data, q, qd, qdd, forces)
    close(value(robot, dynamics.inverse_dynamics(**asked), **now, qdd=qdd), theirs)
    theirs = pin.aba(model, data, q, qd, tau, forces)
    forward = dynamics.forward_dynamics(algorithm="aba", **asked)
    close(value(robot, forward, **now, tau=tau), theirs)


def on_joints(
    model: Any, data: Any, q: Any, axes: str, wrenches: dict[str, Any]
) -> Any:
    """Return Pinocchio's fext: the force on each joint, in the joint's own frame."""
    pin.framesForwardKinematics(model, data, q)
    forces = [pin.Force.Zero() for _ in model.joints]
    for name, wrench in wrenches.items():
        index = model.getFrameId(name)
        frame, T = model.frames[index], data.oMf[index]
        force = pin.Force(wrench)
        if axes == "world":
            force = T.actInv(force)
        elif axes == "local_world_aligned":
            force = pin.SE3(T.rotation, np.zeros(3)).actInv(force)
        forces[frame.parentJoint] = forces[frame.parentJoint] + frame.placement.act(
            force
        )
    found = pin.StdVec_Force()
    found.extend(forces)
    return found
