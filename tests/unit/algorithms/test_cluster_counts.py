"""Robots with mimic joints cost no more than with independent joints: pinned counts."""

from __future__ import annotations

import functools
import re
from dataclasses import replace

import numpy as np
import pytest

import ramidyn
from ramidyn.compiler import program_of
from ramidyn.description.description import LoopDescription
from ramidyn.description.pose import Array
from ramidyn.robot import Robot
from ramidyn.symbolic.interpreter import evaluate
from ramidyn.tracing.quantity import Quantity
from support.real_robots import example_urdfs
from support.states import with_joints

pytestmark = pytest.mark.filterwarnings("ignore::ramidyn.ModelWarning")

FILES = {
    "talos": ("talos_data/talos_full_v2.urdf", "floating"),
    "tiago_pro": ("tiago_pro_description/tiago_pro.urdf", None),
    "panda": ("panda_description/panda.urdf", None),
    "pr2": ("pr2_description/pr2.urdf", None),
    "baxter": ("baxter_description/baxter.urdf", None),
    "romeo": ("romeo_description/romeo.urdf", "floating"),
    "romeo_with_rotors": ("romeo_description/romeo.urdf", "floating"),
    "alex": ("alex_description/alex_psyonic_hands.urdf", "floating"),
}

COUNTS = {
    "talos": {
        "forward_dynamics": (9564, 10188),
        "inverse_dynamics": (4699, 4823),
        "mass_matrix": (3841, 5560),
        "inverse_dynamics_derivatives": (36206, 43722),
        "forward_dynamics_derivatives": (112575, 192486),
    },
    "tiago_pro": {
        "forward_dynamics": (6113, 6999),
        "inverse_dynamics": (3096, 3102),
        "mass_matrix": (2363, 3815),
        "inverse_dynamics_derivatives": (20974, 25207),
        "forward_dynamics_derivatives": (31605, 52371),
    },
    "panda": {
        "forward_dynamics": (1186, 1457),
        "inverse_dynamics": (640, 644),
        "mass_matrix": (377, 503),
        "inverse_dynamics_derivatives": (4504, 4940),
        "forward_dynamics_derivatives": (7382, 8689),
    },
    "pr2": {
        "forward_dynamics": (4638, 4983),
        "inverse_dynamics": (2523, 2532),
        "mass_matrix": (1498, 2166),
        "inverse_dynamics_derivatives": (18888, 22677),
        "forward_dynamics_derivatives": (29649, 50989),
    },
    "baxter": {
        "forward_dynamics": (2547, 2897),
        "inverse_dynamics": (1397, 1405),
        "mass_matrix": (836, 962),
        "inverse_dynamics_derivatives": (9640, 10352),
        "forward_dynamics_derivatives": (18287, 23093),
    },
    "romeo": {
        "inverse_dynamics": (3456, 3456),
        "mass_matrix": (2904, 2904),
        "inverse_dynamics_derivatives": (25573, 25573),
    },
    "romeo_with_rotors": {
        "forward_dynamics": (7469, 7703),
        "inverse_dynamics": (3458, 3480),
        "mass_matrix": (2904, 2904),
        "inverse_dynamics_derivatives": (25573, 25573),
        "forward_dynamics_derivatives": (89764, 97771),
    },
    "alex": {
        "forward_dynamics": (11845, 11764),
        "inverse_dynamics": (5285, 5245),
        "mass_matrix": (6735, 7797),
        "inverse_dynamics_derivatives": (42228, 46996),
        "forward_dynamics_derivatives": (152532, 211493),
    },
}
"""total operations with joints that follow their leaders, and with independent ones"""

ALLOWED = {("alex", "inverse_dynamics"): 40, ("alex", "forward_dynamics"): 81}

FAST = ("forward_dynamics", "inverse_dynamics", "mass_matrix")


def _marked(name: str, quantity: str) -> object:
    is_fast = name in ("talos", "panda") and quantity in FAST
    return pytest.param(name, quantity, marks=[] if is_fast else pytest.mark.slow)


CASES = [_marked(name, quantity) for name in COUNTS for quantity in COUNTS[name]]


@functools.cache
def robot_of(name: str, mimic: str) -> Robot:
    paths, (file, root) = example_urdfs(), FILES[name]
    if file not in paths:
        pytest.skip("needs example-robot-data")
    if name == "alex":  # the leaders have no side in the file
        text = re.sub(
            r'<joint name="(Left|Right)_.*?</joint>',
            lambda m: m[0].replace('mimic joint = "', f'mimic joint = "{m[1]}_'),
            paths[file].read_text(encoding="utf-8"),
            flags=re.DOTALL,
        )
        return ramidyn.load(text, root=root, mimic=mimic)
    robot = ramidyn.load(paths[file], root=root, mimic=mimic)
    if name == "romeo_with_rotors":  # the fingers have no mass in the file
        rotor = re.compile("Finger|Thumb|Hand")
        description = with_joints(
            robot.description,
            lambda joint: {"armature": 1e-4} if rotor.search(joint) else {},
        )
        return Robot.from_description(description, mimic=mimic)
    return robot


@pytest.mark.parametrize(("name", "quantity"), CASES)
def test_joints_that_follow_cost_no_more_than_independent_ones(
    name: str, quantity: str
) -> None:
    found = tuple(
        ramidyn.count(getattr(ramidyn, quantity), robot_of(name, mimic)).total
        for mimic in ("reduce", "independent")
    )
    assert found == COUNTS[name][quantity]
    # A follower with a factor and an offset of its own takes five operations to say how
    # it moves: 8 fingers of Alex, of which inverse dynamics saves nothing elsewhere.
    # Nor does it choose how it accelerates in the motion that forward dynamics begins
    # with: three operations at the joint, and four for its body and each one beyond.
    allowed = ALLOWED.get((name, quantity), 0)
    assert found[0] <= found[1] + allowed


def geared(name: str) -> Robot:
    """Return a robot whose mimic joints are coupled by gears instead."""
    description = robot_of(name, "reduce").description
    mimics = {j.name: j.mimic for b in description.bodies for j in b.joints if j.mimic}
    loops = [
        LoopDescription(
            f"gear of {y}",
            "coupling",
            joints=(y, x.of),
            coefficients=(x.offset, x.multiplier),
        )
        for y, x in mimics.items()
    ]
    free = with_joints(description, lambda _: {"mimic": None})
    return Robot.from_description(replace(free, loops=tuple(loops)))


GEARED = {
    "forward_dynamics": 1226,
    "inverse_dynamics": 644,
    "mass_matrix": 503,
    "inverse_dynamics_derivatives": 4940,
    "forward_dynamics_derivatives": 7915,
}


def test_gears_cost_no_more_than_independent_joints() -> None:
    robot = geared("panda")
    for name, expected in GEARED.items():
        assert ramidyn.count(getattr(ramidyn, name), robot).total == expected
        assert expected <= COUNTS["panda"][name][1]


EXACT = 1e-11
"""of results with joints that follow, over the largest entry"""


def coordinates(robot: Robot, free: Robot) -> tuple[Array, Array]:
    """Return P and b of q_free = P q + b, without what a floating base has more."""
    P, b = np.zeros((free.nv, robot.nv)), np.zeros(free.nv)
    for body in robot.tree.bodies:
        joint = body.joint
        row = free.model.joint(joint.name).v_slice
        columns = slice(joint.v_index, joint.v_index + joint.nv)
        if joint.leader is None:
            P[row, columns] = np.eye(joint.nv)
        else:
            P[row, columns], b[row] = joint.multiplier, joint.offset
    return P, b


@pytest.mark.parametrize(
    "name",
    [
        "panda",
        *(pytest.param(n, marks=pytest.mark.slow) for n in COUNTS if n != "panda"),
    ],
)
def test_joints_that_follow_move_as_independent_ones_would(
    name: str, rng: np.random.Generator
) -> None:
    robot, free = (robot_of(name, mimic) for mimic in ("reduce", "independent"))
    P, b = coordinates(robot, free)
    q = robot.random_configuration(rng)
    qd, qdd = rng.normal(size=(2, robot.nv))
    base = robot.nq - robot.nv  # 1 if there is a quaternion
    joints = P[6 * base :, 6 * base :] @ q[7 * base :] + b[6 * base :]
    there = np.concatenate([q[: 7 * base], joints])

    def close(found: Array, expected: Array) -> None:
        scale = np.abs(expected).max()
        np.testing.assert_allclose(found, expected, atol=EXACT * scale)

    def value(robot: Robot, quantity: Quantity, **given: Array) -> dict[str, Array]:
        return evaluate(program_of(quantity, robot), given)

    now, then = (
        {"q": q, "qd": qd, "qdd": qdd},
        {"q": there, "qd": P @ qd, "qdd": P @ qdd},
    )
    quantity = ramidyn.inverse_dynamics_derivatives(algorithm="idsva")
    found, expected = value(robot, quantity, **now), value(free, quantity, **then)
    for key, matrix in found.items():
        close(matrix, P.T @ expected[key] @ P)
    tau = value(free, ramidyn.inverse_dynamics, **then)["inverse_dynamics"]
    (own,) = value(robot, ramidyn.inverse_dynamics, **now).values()
    close(own, P.T @ tau)
    if "forward_dynamics" not in COUNTS[name]:
        return  # fingers without mass
    for algorithm in ("aba", "ltdl"):
        quantity = ramidyn.forward_dynamics(algorithm=algorithm)
        (solved,) = value(robot, quantity, q=q, qd=qd, tau=own).values()
        close(solved, qdd)
