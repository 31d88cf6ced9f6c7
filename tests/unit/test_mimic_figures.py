"""Figures about a robot with mimic joints are those of the reduced robot."""

from __future__ import annotations

import numpy as np
import pytest

from ramidyn.cli.info_ import description_of, nonzeros
from ramidyn.compiler import program_of
from ramidyn.explain.data import explain
from ramidyn.explain.page import page
from ramidyn.loading import load
from ramidyn.quantities.mass_matrix import mass_matrix
from ramidyn.robot import Robot
from ramidyn.symbolic.interpreter import evaluate
from support.references import needs_shared_robots, path_of
from support.urdf import INERTIA, joint, robot

pytestmark = pytest.mark.filterwarnings("ignore::ramidyn.errors.ModelWarning")

FOLLOW = '<mimic joint="left" multiplier="-1"/>'
AT = '<origin xyz="0.1 0.2 0.3"/><axis xyz="{}"/>'
LINK = (
    '<inertial><origin xyz="0.1 0.2 0.3"/><mass value="1"/>' + INERTIA + "</inertial>"
)
GRIPPER = robot(
    *(f'<link name="{name}">{LINK}</link>' for name in "abcde"),
    joint("arm", "a", "b", AT.format("1 0 0"), "continuous"),
    joint("left", "b", "c", AT.format("0 1 0"), "continuous"),
    joint("right", "b", "d", AT.format("0 1 0") + FOLLOW, "continuous"),
    joint("lamp", "a", "e", AT.format("0 0 1"), "continuous"),
)


def entries(of: Robot) -> int:
    """How many entries of M are not zero at a random configuration."""
    q = of.random_configuration(0)
    M = evaluate(program_of(mass_matrix, of), {"q": q})["mass_matrix"]
    return int(np.count_nonzero(np.abs(M) > 1e-12))


def test_a_gripper_has_the_entries_of_its_reduced_mass_matrix() -> None:
    gripper = load(GRIPPER)
    assert gripper.nv == 3
    assert nonzeros(gripper) == entries(gripper) == 5
    assert len(description_of(gripper)["dof_parents"]) == gripper.nv


@needs_shared_robots
@pytest.mark.parametrize("name", ["panda", "baxter", "pr2"])
def test_no_more_entries_than_the_matrix_has(name: str) -> None:
    shared = load(path_of(name))
    found = description_of(shared)
    assert shared.model.mimics
    assert len(found["dof_parents"]) == shared.nv
    assert entries(shared) <= nonzeros(shared) <= shared.nv**2


def test_explanation_is_of_the_reduced_robot() -> None:
    e = explain(load(GRIPPER))
    assert e.shape.n == e.json()["nv"] == 3
    assert len(e.body_limbs) == len(e.robot.tree) == 4
    by_name = dict(
        zip([b.name for b in e.robot.tree.bodies], e.body_limbs, strict=True)
    )
    assert by_name["d"] == by_name["c"] != by_name["e"]
    text = page(e)
    assert "M: 5 of 9" in text
    assert "<b>3</b> degrees of freedom" in text
