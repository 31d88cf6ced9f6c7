"""Kinematics of the shared robots against their reference files.

The references leave rotor inertia out, take mimic joints as free, give the angles of
continuous joints as ``theta``, and have the Earth's gravity whatever the file says.
"""

from __future__ import annotations

import numpy as np
import pytest

from ramidyn.compiler import program_of
from ramidyn.description.pose import Array
from ramidyn.quantities import frames, momentum_energy
from ramidyn.robot import Robot
from ramidyn.symbolic.interpreter import evaluate
from ramidyn.tracing.quantity import Quantity
from support.close import assert_close
from support.paths import SHARED_ROBOTS
from support.references import MJCFS, MOCAP, TOLERANCE, URDFS, Reference, loaded
from support.states import value

pytestmark = pytest.mark.oracle


@pytest.fixture(params=[*URDFS, *MJCFS])
def name(request: pytest.FixtureRequest) -> str:
    if not (SHARED_ROBOTS / request.param / "reference.npz").exists():
        pytest.skip(f"no shared robots in {SHARED_ROBOTS}")
    return request.param


def check(name: str, quantity: Quantity, theirs: Array) -> None:
    robot, reference = loaded(name)
    inputs = {"q": reference["q"], "qd": reference["qd"]}
    assert_close(value(robot, quantity, **inputs), theirs, tolerance=TOLERANCE)


def named(robot: Robot, reference: Reference, names: Array) -> list[str]:
    """The robot's names of some bodies of the reference, which names them all."""
    if len(reference["body_names"]) != len(robot.body_names):
        return list(map(str, names))
    ours = dict(zip(map(str, reference["body_names"]), robot.body_names, strict=True))
    is_same = [a == b or a.startswith("unnamed_") for a, b in ours.items()]
    return [ours[str(n)] if all(is_same) else str(n) for n in names]


def test_poses_of_all_bodies_agree(name: str) -> None:
    robot, reference = loaded(name)
    bodies = named(robot, reference, reference["body_names"])
    assert len(bodies) == reference["body_pos"].shape[1]
    program = program_of([frames.pose(b) for b in bodies], robot)
    found = evaluate(program, {"q": reference["q"]}).values()
    T = np.stack(list(found), axis=1)
    assert_close(T[:, :, :3, 3], reference["body_pos"], tolerance=TOLERANCE)
    rotations = reference["body_rot"].reshape(T[:, :, :3, :3].shape)
    assert_close(T[:, :, :3, :3], rotations, tolerance=TOLERANCE)


def test_center_of_mass_and_potential_energy_agree(name: str) -> None:
    robot, reference = loaded(name)
    moment = reference["total_mass"] * reference["com"]
    potential = reference["potential"]
    for body in MOCAP.get(name, ()):
        k = named(robot, reference, reference["body_names"]).index(body)
        m, arm = reference["body_mass"][k], reference["body_ipos"][k]
        standing = m * (reference["body_pos"][:, k] + reference["body_rot"][:, k] @ arm)
        moment = moment - standing
        potential = potential - 9.81 * standing[:, 2]
    check(name, momentum_energy.center_of_mass, moment / robot.mass)
    check(name, momentum_energy.potential_energy, potential)


def test_kinetic_energies_agree(name: str) -> None:
    _, reference = loaded(name)
    check(name, momentum_energy.kinetic_energy, reference["kinetic"])


def test_jacobians_of_the_leaves_agree(name: str) -> None:
    robot, reference = loaded(name)
    leaves = named(robot, reference, reference["leaf_names"])
    for k, leaf in enumerate(leaves):
        J = frames.jacobian(leaf, "local_world_aligned")
        check(name, J, reference["J_leaf"][:, k])
