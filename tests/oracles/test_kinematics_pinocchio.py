"""Kinematics, momentum and energy against Pinocchio, and against MuJoCo for MJCF."""

from __future__ import annotations

import functools
import importlib.util
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ramidyn.description.pose import Array
from ramidyn.errors import ModelWarning
from ramidyn.loading import load
from ramidyn.quantities import frames, mass_matrix, momentum_energy
from ramidyn.robot import Robot
from ramidyn.tracing.quantity import Quantity
from support.close import assert_close
from support.real_robots import example_urdfs
from support.states import state, value

pin = pytest.importorskip("pinocchio")
pytestmark = pytest.mark.oracle

ROBOTS = {
    "panda.urdf": None,
    "ur5_robot.urdf": None,
    "baxter.urdf": None,
    "pr2.urdf": None,
    "solo12.urdf": "floating",
    "talos_reduced.urdf": "floating",
    "romeo_small.urdf": "floating",
}
REFERENCE = {
    "local": pin.LOCAL,
    "world": pin.WORLD,
    "local_world_aligned": pin.LOCAL_WORLD_ALIGNED,
}


URDFS = {path.name: path for path in example_urdfs().values()}


def loaded(path: Path, **options: str | None) -> Robot:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        return load(path, **options)  # type: ignore[arg-type]


class Pair:
    """A robot here and in Pinocchio, in the same random state."""

    def __init__(self, name: str) -> None:
        path, root = URDFS[name], ROBOTS[name]
        self.robot = loaded(path, root=root, mimic="independent")
        free = [pin.JointModelFreeFlyer()] if root else []
        self.model = pin.buildModelFromUrdf(str(path), *free)
        self.data = self.model.createData()
        self.now = state(self.robot, np.random.default_rng(0))
        self.q = pinocchio_q(self.model, self.now["q"])
        self.qd, self.qdd = self.now["qd"], self.now["qdd"]
        pin.forwardKinematics(self.model, self.data, self.q, self.qd, self.qdd)
        pin.computeJointJacobians(self.model, self.data, self.q)
        pin.computeJointJacobiansTimeVariation(self.model, self.data, self.q, self.qd)
        pin.updateFramePlacements(self.model, self.data)

    def frames(self) -> list[tuple[str, int]]:
        """The first, the last and two other links, and their frames in Pinocchio."""
        names = self.robot.body_names
        n = len(names)
        chosen = dict.fromkeys((names[0], names[n // 3], names[n // 2], names[-1]))
        return [(x, self.model.getFrameId(x, pin.FrameType.BODY)) for x in chosen]

    def check(self, quantity: Quantity, theirs: Array) -> None:
        assert_close(value(self.robot, quantity, **self.now), theirs)


def pinocchio_q(model: pin.Model, q: Array) -> Array:
    """The same configuration with continuous joints as (cos, sin)."""
    out: list[float] = []
    start = 0
    for joint in list(model.joints)[1:]:
        if (joint.nq, joint.nv) == (2, 1):
            out += [np.cos(q[start]), np.sin(q[start])]
            start += 1
        else:
            out += list(q[start : start + joint.nq])
            start += joint.nq
    assert start == len(q)
    return np.array(out)


@functools.cache
def pair_of(name: str) -> Pair:
    return Pair(name)


@pytest.fixture(params=ROBOTS)
def pair(request: pytest.FixtureRequest) -> Pair:
    if request.param not in URDFS:
        pytest.skip("example-robot-data is not installed, or lacks this robot")
    return pair_of(request.param)


def test_joints_have_the_same_order(pair: Pair) -> None:
    assert list(pair.robot.joint_names) == list(pair.model.names)[1:]


def test_poses_agree(pair: Pair) -> None:
    for name, k in pair.frames():
        pair.check(frames.pose(name), pair.data.oMf[k].homogeneous)


@pytest.mark.parametrize("expressed_in", REFERENCE)
def test_velocities_and_accelerations_agree(pair: Pair, expressed_in: str) -> None:
    model, data, reference = pair.model, pair.data, REFERENCE[expressed_in]
    for name, k in pair.frames():
        pair.check(
            frames.velocity(name, expressed_in),
            pin.getFrameVelocity(model, data, k, reference).vector,
        )
        pair.check(
            frames.acceleration(name, "spatial", expressed_in),
            pin.getFrameAcceleration(model, data, k, reference).vector,
        )
        pair.check(
            frames.acceleration(name, "classical", expressed_in),
            pin.getFrameClassicalAcceleration(model, data, k, reference).vector,
        )


@pytest.mark.parametrize("expressed_in", REFERENCE)
def test_jacobians_and_their_rates_agree(pair: Pair, expressed_in: str) -> None:
    model, data, reference = pair.model, pair.data, REFERENCE[expressed_in]
    for name, k in pair.frames():
        J = pin.getFrameJacobian(model, data, k, reference)
        Jd = pin.getFrameJacobianTimeVariation(model, data, k, reference)
        pair.check(frames.jacobian(name, expressed_in), J)
        quantity = frames.jacobian_dot_times_qd(name, None, expressed_in)
        pair.check(quantity, Jd @ pair.qd)


def test_center_of_mass_and_momentum_agree(pair: Pair) -> None:
    data = pair.model.createData()
    c = pin.centerOfMass(pair.model, data, pair.q)
    pair.check(momentum_energy.center_of_mass, c)
    J = pin.jacobianCenterOfMass(pair.model, data, pair.q)
    pair.check(momentum_energy.center_of_mass_jacobian, J)
    pin.ccrba(pair.model, data, pair.q, pair.qd)
    pair.check(momentum_energy.centroidal_momentum, data.hg.vector)
    pair.check(momentum_energy.centroidal_momentum_matrix, data.Ag)


def test_energies_agree(pair: Pair) -> None:
    data = pair.model.createData()
    T = pin.computeKineticEnergy(pair.model, data, pair.q, pair.qd)
    pair.check(momentum_energy.kinetic_energy, T)
    V = pin.computePotentialEnergy(pair.model, data, pair.q)
    pair.check(momentum_energy.potential_energy, V)


@pytest.mark.parametrize("algorithm", mass_matrix.CORIOLIS)
def test_coriolis_matrices_agree(pair: Pair, algorithm: str) -> None:
    data = pair.model.createData()
    C = pin.computeCoriolisMatrix(pair.model, data, pair.q, pair.qd)
    pair.check(mass_matrix.coriolis_matrix(algorithm=algorithm), C)


@pytest.mark.parametrize("algorithm", ["aba", "ltdl"])
def test_inverses_of_the_mass_matrix_agree(pair: Pair, algorithm: str) -> None:
    data = pair.model.createData()
    half = np.triu(pin.computeMinverse(pair.model, data, pair.q))
    inverse = half + np.triu(half, 1).T
    M = np.triu(pin.crba(pair.model, data, pair.q))
    condition = np.linalg.cond(M + np.triu(M, 1).T)
    ours = value(
        pair.robot, mass_matrix.mass_matrix_inverse(algorithm=algorithm), **pair.now
    )
    # Files write π/2 with twelve digits, and here it is a quarter turn.
    assert_close(ours, inverse, tolerance=max(1e-9, 1e-15 * condition))


# ------------------------------------------------------------ MuJoCo


def humanoid() -> Path:
    spec = importlib.util.find_spec("dm_control")
    if spec is None or spec.origin is None:
        pytest.skip("dm-control is not installed")
    return Path(spec.origin).parent / "suite" / "humanoid.xml"


@functools.cache
def mujoco_pair() -> tuple[Any, Any, Any, Robot, dict[str, Array]]:
    """A humanoid here and in MuJoCo, in the same random state."""
    mujoco = pytest.importorskip("mujoco")
    path = humanoid()
    model = mujoco.MjModel.from_xml_path(str(path))
    model.jnt_stiffness[:] = 0.0  # springs are no part of the potential here
    model.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_ENERGY
    data = mujoco.MjData(model)
    robot = loaded(path, conventions="mujoco")
    now = state(robot, np.random.default_rng(1))
    data.qpos[:], data.qvel[:] = now["q"], now["qd"]
    mujoco.mj_forward(model, data)
    return mujoco, model, data, robot, now


def test_body_jacobians_are_those_of_mujoco() -> None:
    mujoco, model, data, robot, now = mujoco_pair()
    for k in range(1, model.nbody):
        linear, angular = np.zeros((3, model.nv)), np.zeros((3, model.nv))
        mujoco.mj_jacBody(model, data, linear, angular, k)
        J = frames.jacobian(model.body(k).name, "local_world_aligned")
        assert_close(value(robot, J, **now), np.vstack([linear, angular]))


def test_body_poses_and_velocities_are_those_of_mujoco() -> None:
    mujoco, model, data, robot, now = mujoco_pair()
    for k in range(1, model.nbody):
        name = model.body(k).name
        T = value(robot, frames.pose(name), **now)
        assert_close(T[:3, :3], data.xmat[k].reshape(3, 3))
        assert_close(T[:3, 3], data.xpos[k])
        theirs = np.zeros(6)  # angular first
        mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_XBODY, k, theirs, 0)
        v = value(robot, frames.velocity(name, "local_world_aligned"), **now)
        assert_close(v, np.roll(theirs, 3))


def test_center_of_mass_and_momentum_are_those_of_mujoco() -> None:
    mujoco, model, data, robot, now = mujoco_pair()
    mujoco.mj_subtreeVel(model, data)
    m = model.body_subtreemass[0]
    assert robot.mass == pytest.approx(m, rel=1e-12)
    assert_close(
        value(robot, momentum_energy.center_of_mass, **now), data.subtree_com[0]
    )
    h = value(robot, momentum_energy.centroidal_momentum, **now)
    assert_close(h[:3], m * data.subtree_linvel[0])
    assert_close(h[3:], data.subtree_angmom[0])
    J = np.zeros((3, model.nv))
    mujoco.mj_jacSubtreeCom(model, data, J, 0)
    assert_close(value(robot, momentum_energy.center_of_mass_jacobian, **now), J)


def test_energies_are_those_of_mujoco() -> None:
    _, _, data, robot, now = mujoco_pair()
    potential, kinetic = data.energy
    assert_close(value(robot, momentum_energy.potential_energy, **now), potential)
    assert_close(value(robot, momentum_energy.kinetic_energy, **now), kinetic)
