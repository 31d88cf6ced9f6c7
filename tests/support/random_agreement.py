"""One random model in Ramidyn and in the library that defines its format."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ramidyn.compiler import program_of
from ramidyn.description.formats.parse import parse
from ramidyn.errors import Error
from ramidyn.quantities import dynamics, mass_matrix
from ramidyn.robot import Robot
from ramidyn.symbolic.interpreter import evaluate
from support.close import assert_close
from support.robot_poses import poses

TOLERANCE = 1e-9
"""relative to the largest entry"""
close = functools.partial(assert_close, tolerance=TOLERANCE)
WELL_POSED = 1e6
"""condition of M up to which accelerations themselves are compared, not what they do"""
SINGULAR = 1e14
"""condition of M beyond which no q̈ belongs to τ, as where two joints do the same"""


def dynamics_of(robot: Robot, rng: np.random.Generator, **state: Any) -> dict[str, Any]:
    """Return M, bias, τ and, unless M is singular, q̈, by algorithms taken at random."""
    quantities = [
        mass_matrix.mass_matrix(algorithm=str(rng.choice(["crba", "crba_root"]))),
        dynamics.bias_forces,
        dynamics.inverse_dynamics,
    ]
    found = evaluate(program_of(quantities, robot), state)
    if np.linalg.cond(found["mass_matrix"]) > SINGULAR:
        return found
    possible = dynamics.forward_dynamics.algorithms(robot.model, robot.conventions)
    forward = dynamics.forward_dynamics(algorithm=str(rng.choice(possible)))
    return found | evaluate(program_of(forward, robot), state)


def assert_dynamics_agree(
    ours: dict[str, Any], M: Any, bias: Any, inverse: Any, forward: Any, tau: Any
) -> None:
    """Compare all four; where M is nearly singular, the forces that q̈ belongs to."""
    close(ours["mass_matrix"], M, "mass matrix", least=0.0)
    force = float(np.abs(M).max())  # that gives an acceleration of about 1
    close(ours["bias_forces"], bias, "bias", least=force)
    close(ours["inverse_dynamics"], inverse, "inverse dynamics", least=force)
    qdd = ours.get("forward_dynamics")
    if qdd is None:
        assert np.linalg.cond(M) > 0.01 * SINGULAR
    elif np.linalg.cond(M) < WELL_POSED:
        close(qdd, forward, "forward dynamics", least=0.0)
    else:
        scale = np.abs(M).max() * np.abs(qdd).max()
        residual = np.abs(M @ qdd + bias - tau).max()
        assert residual <= TOLERANCE * max(scale, np.abs(bias).max(), 1.0)


# ------------------------------------------------------------ MJCF in MuJoCo


def mjcf_verdict(text: str, rng: np.random.Generator) -> str:
    """Return "agree", or who refuses the model and why; raise where they differ."""
    import mujoco  # noqa: PLC0415  an oracle, absent where only URDF is compared

    mujoco.set_mju_user_warning(lambda _: None)  # of deprecated settings, to a file
    try:
        model: Any = mujoco.MjModel.from_xml_string(text)
    except ValueError as e:
        return f"refused: {_refusal(text, str(e))}"
    finally:
        mujoco.set_mju_user_warning(None)
    robot = Robot.from_description(parse(text), conventions="mujoco")
    assert (robot.nq, robot.nv) == (model.nq, model.nv)
    data: Any = mujoco.MjData(model)
    q, (qd, qdd, tau) = robot.random_configuration(rng), rng.normal(size=(3, robot.nv))
    # Only what the equation of motion has: no forces of joints, limits and contacts.
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    for passive in (model.dof_damping, model.jnt_stiffness, model.body_gravcomp):
        passive[:] = 0
    data.qpos[:], data.qvel[:], data.qfrc_applied[:] = q, qd, tau
    mujoco.mj_forward(model, data)
    found = poses(robot, q)
    for i in range(1, model.nbody):
        if name := model.body(i).name:
            close(found[name][0], data.xpos[i], name)
            close(found[name][1].ravel(), data.xmat[i], name)
    if not robot.nv:
        return "agree: nothing moves"
    M = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, M)
    bias, forward = data.qfrc_bias.copy(), data.qacc_smooth.copy()
    data.qacc[:] = qdd
    mujoco.mj_inverse(model, data)
    inverse = data.qfrc_inverse.copy()
    ours = dynamics_of(robot, rng, q=q, qd=qd, qdd=qdd, tau=tau)
    assert_dynamics_agree(ours, M, bias, inverse, forward, tau)
    return "agree"


def _refusal(text: str, theirs: str) -> str:
    """Return why Ramidyn, too, does not take a model, or does not move it."""
    try:
        robot = Robot.from_description(parse(text))
    except Error as e:
        return str(e)
    try:
        program_of(dynamics.forward_dynamics(algorithm="aba"), robot)
    except Error as e:
        return str(e)
    raise AssertionError(f"only MuJoCo refuses: {theirs}")


# ------------------------------------------------------------ URDF in Pinocchio


def urdf_verdict(text: str, rng: np.random.Generator) -> str:
    """Return "agree", or who refuses the model and why; raise where they differ."""
    import pinocchio as pin  # noqa: PLC0415  an oracle, absent where only MJCF is

    is_floating, is_reduced = rng.random(2) < (0.4, 0.5)
    root = [pin.JointModelFreeFlyer()] if is_floating else []
    try:
        model: Any = pin.buildModelFromXML(text, *root)
    except (ValueError, RuntimeError) as e:
        try:
            parse(text)
        except Error as ours:
            return f"refused: {ours}"
        raise AssertionError(f"only Pinocchio refuses: {e}") from None
    robot = Robot.from_description(
        parse(text),
        root="floating" if is_floating else None,
        mimic="reduce" if is_reduced else "independent",
    )
    free = [n for n in list(model.names)[1:] if n not in robot.model.mimics]
    assert list(robot.joint_names) == free
    data = model.createData()
    q = robot.random_configuration(rng)
    qd, qdd, tau = rng.normal(size=(3, robot.nv))
    theirs, G = pinocchio_configuration(robot, model, q)
    assert G.shape == (model.nv, robot.nv)
    pin.framesForwardKinematics(model, data, theirs)
    found = poses(robot, q)
    for body in robot.body_names:
        T = data.oMf[model.getFrameId(body, pin.FrameType.BODY)]
        close(found[body][0], T.translation, body)
        close(found[body][1], T.rotation, body)
    if not robot.nv:
        return "agree: nothing moves"
    M = pin.crba(model, data, theirs)
    M = G.T @ (np.triu(M) + np.triu(M, 1).T) @ G
    bias = G.T @ pin.rnea(model, data, theirs, G @ qd, np.zeros(model.nv))
    inverse = G.T @ pin.rnea(model, data, theirs, G @ qd, G @ qdd)
    if robot.model.mimics:
        forward = np.linalg.solve(M, tau - bias)
    else:
        forward = pin.aba(model, data, theirs, qd, tau)
    ours = dynamics_of(robot, rng, q=q, qd=qd, qdd=qdd, tau=tau)
    assert_dynamics_agree(ours, M, bias, inverse, forward, tau)
    return "agree"


def pinocchio_configuration(robot: Robot, model: Any, q: Any) -> tuple[Any, Any]:
    """Return Pinocchio's q, all joints independent, and G of its q̇ = G q̇.

    Unlimited angles are (cos, sin) there. Mimic joints are followed here: its own
    need their leaders before them, and its mass matrix the two on one branch.
    """
    import pinocchio as pin  # noqa: PLC0415

    x, G = pin.neutral(model), np.zeros((model.nv, robot.nv))
    described = {j.name: j for b in robot.description.bodies for j in b.joints}
    places = {j.name: j for j in robot.model.joints}
    for name in model.names[1:]:
        theirs, leader = model.joints[model.getJointId(name)], name
        factor, offset = 1.0, 0.0
        while leader not in places:
            mimic = described[leader].mimic
            assert mimic is not None
            leader = mimic.of
            offset, factor = offset + factor * mimic.offset, factor * mimic.multiplier
        joint = places[leader]
        own = factor * q[joint.q_index : joint.q_index + joint.nq] + offset
        if theirs.nq == joint.nq + 1:
            own = [*own[:-1], np.cos(own[-1]), np.sin(own[-1])]
        x[theirs.idx_q : theirs.idx_q + theirs.nq] = own
        for k in range(theirs.nv):
            G[theirs.idx_v + k, joint.v_index + k] = factor
    return x, G
