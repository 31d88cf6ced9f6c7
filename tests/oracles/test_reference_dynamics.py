"""Dynamics of the shared robots against their reference files.

A batch of five states runs natively in the file's own conventions, all quantities in
one kernel. Other algorithms, rotors and, converted, the other engine's conventions run
by the interpreter. The mimic references are for the joints that lead alone.
"""

from __future__ import annotations

import functools
import json
import warnings
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from ramidyn.compiler import compile
from ramidyn.description.formats.parse import parse
from ramidyn.description.pose import Array
from ramidyn.errors import ModelWarning
from ramidyn.loading import load
from ramidyn.quantities.dynamics import (
    bias_forces,
    forward_dynamics,
    gravity_forces,
    inverse_dynamics,
)
from ramidyn.quantities.mass_matrix import mass_matrix
from ramidyn.robot import Robot
from support.close import assert_close
from support.parameters import some
from support.paths import SHARED_ROBOTS
from support.references import MJCFS, TOLERANCE, URDFS, loaded, path_of
from support.states import value, with_joints

pytestmark = pytest.mark.oracle

OTHER = {"pinocchio": "mujoco", "mujoco": "pinocchio"}
LONG = (
    *("cassie", "g1_with_hands", "humanoid", "minitaur", "pr2", "robot_soccer_kit"),
    *("shadow_hand", "tiago"),
)
"""robots that take long to compile"""
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


QUANTITIES = {
    mass_matrix(algorithm="crba"): "M",
    bias_forces: "bias",
    gravity_forces: "gravity_torque",
    inverse_dynamics: "rnea",
    forward_dynamics(algorithm="ltdl"): "qdd",
}
"""and where the references have them"""


def assert_native(robot: Robot, reference: Mapping[str, Array]) -> None:
    """Compare all quantities, of one kernel."""
    state = (reference[k] for k in ("q", "qd", "a", "tau"))
    found = compile(list(QUANTITIES), robot)(*state)
    for ours, (quantity, name) in zip(found, QUANTITIES.items(), strict=True):
        close(ours, reference[name], str(quantity))


@pytest.mark.parametrize("name", some([*URDFS, *MJCFS], slow=LONG), indirect=True)
def test_dynamics_is_the_reference_natively(name: str) -> None:
    robot, reference = loaded(name)
    assert_native(free(robot), reference)


@pytest.mark.parametrize("algorithm", ["aba", "ltdl"])
def test_forward_dynamics_is_the_reference(name: str, algorithm: str) -> None:
    robot, reference = loaded(name)
    state = {k: reference[k] for k in ("q", "qd", "tau")}
    qdd = value(free(robot), forward_dynamics(algorithm=algorithm), **state)
    close(qdd, reference["qdd"])


def test_dynamics_is_the_same_in_the_other_conventions(name: str) -> None:
    robot, reference = loaded(name)
    to = OTHER[str(robot.conventions)]
    other = free(robot.with_conventions(to))
    q, qd, tau = reference["q"], reference["qd"], reference["tau"]
    qdd = value(
        other,
        forward_dynamics(algorithm="aba"),
        q=robot.convert_q(q, to=to),
        qd=robot.convert_qd(q, qd, to=to),
        tau=robot.convert_tau(q, tau, to=to),
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
    state = {"q": reference["q"], "qd": reference["v"], "tau": reference["tau"]}
    qdd = value(free(robot), forward_dynamics(algorithm="aba"), **state)
    close(qdd, reference["qdd_armature"])


@pytest.mark.parametrize("name", MIMICS)
def test_dynamics_with_mimic_joints_is_the_reference(name: str) -> None:
    path = path_of(name)
    if not path.exists():
        pytest.skip(f"no shared robots in {SHARED_ROBOTS}")
    reference = dict(np.load(SHARED_ROBOTS / name / "reference_mimic.npz"))
    description = with_joints(parse(path), lambda _: {})
    robot = Robot.from_description(description)
    names = list(map(str, reference["joint_names"]))
    leads = list(map(str, reference["independent_joints"]))
    assert sorted(robot.joint_names) == sorted(leads)
    assert set(json.loads(str(reference["mimic"]))) == set(names) - set(leads)
    order = [leads.index(n) for n in robot.joint_names]
    q = reference["theta"][:, [names.index(n) for n in robot.joint_names]]
    ours = {k: reference[k][:, order] for k in ("a", "tau", "rnea", "qdd")}
    ours |= {"q": q, "qd": reference["v"][:, order]}
    ours["gravity_torque"] = reference["gravity_torque"][:, order]
    ours["bias"] = reference["bias"][:, order]
    ours["M"] = reference["M"][:, order][:, :, order]
    assert_native(robot, ours)
