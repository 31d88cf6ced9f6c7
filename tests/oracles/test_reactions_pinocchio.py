"""Joint wrenches of URDF robots against the forces of Pinocchio's rnea."""

from __future__ import annotations

import numpy as np
import pytest

from ramidyn.description.formats.parse import parse
from ramidyn.errors import Error
from ramidyn.quantities.reactions import joint_wrenches
from ramidyn.robot import Robot
from support.close import assert_close
from support.real_robots import example_urdfs
from support.states import value

pin = pytest.importorskip("pinocchio", reason="needs Pinocchio (pip install pin)")
pytestmark = pytest.mark.oracle

URDFS = example_urdfs()
QUICK = ("panda_description/panda.urdf", "anymal_b_simple_description/anymal.urdf")


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow) for n in URDFS]
    or ["none"],
)
def test_joint_wrenches_are_the_forces_of_rnea(
    name: str, rng: np.random.Generator
) -> None:
    if name == "none":
        pytest.skip("needs example-robot-data")
    try:
        model = pin.buildModelFromUrdf(str(URDFS[name]), pin.JointModelFreeFlyer())
        description = parse(URDFS[name])
        robot = Robot.from_description(
            description, root="floating", mimic="independent"
        )
    except (ValueError, RuntimeError, Error) as error:
        pytest.skip(f"refused: {error}")
    q = pin.randomConfiguration(model, *np.outer([-1.0, 1.0], np.ones(model.nq)))
    qd, qdd = rng.normal(size=(2, robot.nv))
    data = model.createData()
    pin.rnea(model, data, q, qd, qdd)
    angles = [joint_angles(q, joint) for joint in model.joints[1:]]
    ours = value(robot, joint_wrenches, q=np.concatenate(angles), qd=qd, qdd=qdd)
    theirs = dict(zip(model.names, (f.vector for f in data.f), strict=True))
    expected = [theirs[body.joint.name] for body in robot.tree.bodies]
    assert_close(ours, expected, tolerance=1e-9, least=0.0)


def joint_angles(q, joint):
    """Continuous joints are (cos, sin) there and an angle here."""
    own = q[joint.idx_q : joint.idx_q + joint.nq]
    is_turn = joint.nq == 2 and joint.nv == 1
    return [np.arctan2(own[1], own[0])] if is_turn else own
