"""URDF as MuJoCo imports it: the same order of joints, the same numbers."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from ramidyn.compiler import program_of
from ramidyn.loading import load
from ramidyn.quantities.dynamics import bias_forces
from ramidyn.quantities.mass_matrix import mass_matrix
from ramidyn.robot import Robot
from ramidyn.symbolic.interpreter import evaluate
from support.close import assert_close
from support.random_urdf import random_urdf
from support.references import URDFS, needs_shared_robots, path_of

mujoco: Any = pytest.importorskip("mujoco", reason="MuJoCo, the oracle, is absent")
pytestmark = [
    pytest.mark.oracle,
    pytest.mark.filterwarnings("ignore::ramidyn.errors.ModelWarning"),
]

SHAPES = re.compile(r"<(visual|collision|transmission|gazebo)\b.*?</\1>", re.DOTALL)
IMPOSSIBLE = ("hatch",)
"""links, fixed to others, with inertias that MuJoCo refuses: anymal_c"""
UNLIKE = re.compile(r"<mimic[^>]*/>")


def imported(text: str) -> Any:
    """Return MuJoCo's model of a URDF, without its meshes and mimic joints."""
    settings = '<mujoco><compiler balanceinertia="true"/></mujoco>'
    text = UNLIKE.sub("", SHAPES.sub("", text))
    for odd in IMPOSSIBLE:
        text = re.sub(rf'(<link name="{odd}">).*?(</link>)', r"\1\2", text, flags=re.S)
    return mujoco.MjModel.from_xml_string(
        re.sub(r"(<robot\b[^>]*>)", rf"\1{settings}", text, count=1)
    )


def assert_same_order(robot: Robot, model: Any) -> None:
    assert list(robot.joint_names) == [model.joint(i).name for i in range(model.njnt)]


@needs_shared_robots
@pytest.mark.parametrize("name", URDFS)
def test_shared_robots_have_the_order_of_mujocos_import(name: str) -> None:
    path = path_of(name)
    robot = load(path, conventions="mujoco", mimic="independent")
    assert_same_order(robot, imported(path.read_text("utf-8")))


@pytest.mark.parametrize("seed", range(12))
def test_random_trees_have_the_order_and_numbers_of_mujocos_import(seed: int) -> None:
    rng = np.random.default_rng([17, seed])
    text = UNLIKE.sub("", random_urdf(rng))
    # MuJoCo refuses a floating joint below the root; planar ones move otherwise.
    text = re.sub('type="(planar|floating)"', 'type="continuous"', text)
    model = imported(text)
    robot = load(text, conventions="mujoco")
    assert_same_order(robot, model)
    data = mujoco.MjData(model)
    q, qd = rng.normal(size=(2, robot.nv))
    data.qpos[:], data.qvel[:] = q, qd
    mujoco.mj_forward(model, data)
    M = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, M)
    ours = evaluate(program_of([mass_matrix, bias_forces], robot), {"q": q, "qd": qd})
    assert_close(ours["mass_matrix"], M, "mass matrix", tolerance=1e-9)
    assert_close(ours["bias_forces"], data.qfrc_bias, "bias", tolerance=1e-9)
