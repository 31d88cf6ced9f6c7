"""Dynamics of the shared robots against their reference files, natively.

A batch of five states runs in the file's own conventions and, converted, in the other
engine's; the mimic references are for the joints that lead alone.
"""

from __future__ import annotations

import functools
import json
import warnings
from dataclasses import replace

import numpy as np
import pytest

from ramify.compiler import compile
from ramify.errors import ModelWarning
from ramify.loading import load
from ramify.model.formats.parse import parse
from ramify.quantities.dynamics import forward_dynamics
from ramify.robot import Robot
from support.close import assert_close
from support.paths import SHARED_ROBOTS
from support.references import MJCFS, TOLERANCE, URDFS, loaded, path_of
from support.states import with_joints

pytestmark = pytest.mark.oracle

OTHER = {"pinocchio": "mujoco", "mujoco": "pinocchio"}
MIMICS = ("baxter", "panda", "pr2")
close = functools.partial(assert_close, tolerance=TOLERANCE, least=0.0)


@pytest.fixture(params=[*URDFS, *MJCFS])
def name(request: pytest.FixtureRequest) -> str:
    if not (SHARED_ROBOTS / request.param / "reference.npz").exists():
        pytest.skip(f"no shared robots in {SHARED_ROBOTS}")
    return request.param


def free(robot: Robot) -> Robot:
    """The robot without its loops, which these references leave out."""
    return Robot(replace(robot.model, loops=()), robot.conventions)


def test_mass_matrix_is_the_reference(name: str) -> None:
    robot, reference = loaded(name)
    close(robot.mass_matrix(reference["q"]), reference["M"])


def test_bias_and_gravity_forces_are_the_reference(name: str) -> None:
    robot, reference = loaded(name)
    q, qd = reference["q"], reference["qd"]
    close(robot.bias_forces(q, qd), reference["bias"])
    close(robot.gravity_forces(q), reference["gravity_torque"])


def test_inverse_dynamics_is_the_reference(name: str) -> None:
    robot, reference = loaded(name)
    tau = robot.inverse_dynamics(reference["q"], reference["qd"], reference["a"])
    close(tau, reference["rnea"])


@pytest.mark.parametrize("algorithm", ["aba", "ltdl"])
def test_forward_dynamics_is_the_reference(name: str, algorithm: str) -> None:
    robot, reference = loaded(name)
    f = compile(forward_dynamics(algorithm=algorithm), free(robot))
    qdd = f(reference["q"], reference["qd"], reference["tau"])
    close(qdd, reference["qdd"])


def test_dynamics_is_the_same_in_the_other_conventions(name: str) -> None:
    robot, reference = loaded(name)
    to = OTHER[str(robot.conventions)]
    other = free(robot.with_conventions(to))
    q, qd, tau = reference["q"], reference["qd"], reference["tau"]
    qdd = other.forward_dynamics(
        robot.convert_q(q, to=to),
        robot.convert_qd(q, qd, to=to),
        robot.convert_tau(q, tau, to=to),
    )
    expected = robot.convert_qdd(q, qd, reference["qdd"], to=to)
    close(qdd, expected)


@pytest.mark.parametrize("name", MJCFS)
def test_forward_dynamics_with_rotors_is_the_reference(name: str) -> None:
    path = path_of(name)
    if not path.exists():
        pytest.skip(f"no shared robots in {SHARED_ROBOTS}")
    reference = dict(np.load(SHARED_ROBOTS / name / "reference.npz"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        robot = load(path, conventions="mujoco", gravity=(0.0, 0.0, -9.81))
    qdd = free(robot).forward_dynamics(reference["q"], reference["v"], reference["tau"])
    close(qdd, reference["qdd_armature"])


@pytest.mark.parametrize("name", MIMICS)
def test_dynamics_with_mimic_joints_is_the_reference(name: str) -> None:
    path = path_of(name)
    if not path.exists():
        pytest.skip(f"no shared robots in {SHARED_ROBOTS}")
    reference = dict(np.load(SHARED_ROBOTS / name / "reference_mimic.npz"))
    description = with_joints(parse(path), lambda _: {})
    robot = Robot.from_description(description, joint_order="alphabetical")
    names = list(map(str, reference["joint_names"]))
    leads = list(map(str, reference["independent_joints"]))
    assert sorted(robot.joint_names) == sorted(leads)
    assert set(json.loads(str(reference["mimic"]))) == set(names) - set(leads)
    order = [leads.index(n) for n in robot.joint_names]
    q = reference["theta"][:, [names.index(n) for n in robot.joint_names]]
    v, a, tau = (reference[k][:, order] for k in ("v", "a", "tau"))
    M = reference["M"][:, order][:, :, order]
    close(robot.mass_matrix(q), M)
    close(robot.inverse_dynamics(q, v, a), reference["rnea"][:, order])
    close(robot.forward_dynamics(q, v, tau), reference["qdd"][:, order])
    close(robot.gravity_forces(q), reference["gravity_torque"][:, order])
