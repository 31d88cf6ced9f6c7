"""A robot with regrouped masses moves as before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ramidyn
from ramidyn.catalog.paper_robots import chain, hmmwv, random_tree
from ramidyn.compiler import program_of
from ramidyn.description.description import Inertial
from ramidyn.description.joint_types import Revolute
from ramidyn.errors import ArgumentError, ModelError
from ramidyn.quantities.dynamics import forward_dynamics, inverse_dynamics
from ramidyn.robot import Robot
from ramidyn.symbolic.interpreter import evaluate
from ramidyn.tracing.chooser import trace_quantities
from ramidyn.tree.parameters import movable, regroup_masses
from ramidyn.tree.tree import BodyInertia
from support.every_joint import every_joint


def robots() -> dict[str, Robot]:
    """Robots with every type of joint."""
    made = {"chain": chain(5), "tree": random_tree(9, 1), "vehicle": hmmwv()}
    found = {n: Robot.from_description(d) for n, d in made.items()}
    return {**found, "every joint": every_joint()}


@pytest.mark.parametrize("name", robots())
def test_the_equation_of_motion_is_the_same(name: str) -> None:
    robot = robots()[name]
    other = robot.regrouped().robot
    rng = np.random.default_rng(0)
    q = robot.random_configuration(rng)
    given = {"q": q, "qd": rng.normal(size=robot.nv), "qdd": rng.normal(size=robot.nv)}
    # Neither is regrouped once more: what is compared are the two models themselves.
    plain, simpler = (
        evaluate(
            trace_quantities([inverse_dynamics], r.model, r.conventions, regroup=False),
            given,
        )["inverse_dynamics"]
        for r in (robot, other)
    )
    np.testing.assert_allclose(simpler, plain, atol=1e-11 * np.abs(plain).max())


def test_what_moved_is_told() -> None:
    robot = Robot.from_description(chain(4))
    found = robot.regrouped()
    masses = list(robot.masses.values())
    assert [m.body for m in found.moves] == ["body3", "body2", "body1", "body0"]
    assert [m.parent for m in found.moves] == ["body2", "body1", "body0", None]
    np.testing.assert_allclose(
        [m.mass for m in found.moves], np.cumsum(masses[::-1]), rtol=1e-12
    )
    assert found.massless == ("body0", "body1", "body2", "body3")
    assert found.parameters[1] < found.parameters[0]
    assert str(found).splitlines()[0] == (
        f"{found.parameters[0]} nonzero inertial parameters become "
        f"{found.parameters[1]}; 4 of 4 bodies have no mass"
    )
    assert str(found).splitlines()[-1].startswith("  body0 -> the world: ")


def test_parameters_are_the_entries_that_are_not_zero() -> None:
    robot = ramidyn.robots.humanoid30()
    tree = robot.placed_model.tree
    moved, _ = regroup_masses(tree, is_moving=True)
    counts = tuple(
        sum(np.count_nonzero((b.m, *b.h, *b.upper)) for b in inertias)
        for inertias in ([b.inertia for b in t.bodies] for t in (tree, moved))
    )
    assert robot.regrouped().parameters == counts == (246, 198)


def test_a_regrouped_robot_computes() -> None:
    robot = Robot.from_description(chain(3))
    other = robot.regrouped().robot
    rng = np.random.default_rng(1)
    q, qd, tau = rng.normal(size=(3, 3))
    given = {"q": q, "qd": qd, "tau": tau}
    plain, simpler = (
        evaluate(program_of(forward_dynamics(algorithm="aba"), r), given)
        for r in (robot, other)
    )
    np.testing.assert_allclose(
        simpler["forward_dynamics"], plain["forward_dynamics"], rtol=1e-9
    )


@pytest.mark.parametrize(
    ("diagonal", "moving", "still"),
    [
        ((2.0, 2.0, 1.0), (0.0, 0.0, 1.0), (0.0, 0.0, 1.0)),  # a wheel: one is left
        ((3.0, 2.5, 1.5), (1.0, 0.5, 1.5), (0.5, 0.0, 1.5)),
        ((3.0, 2.0, 1.0), (1.0, 0.0, 1.0), (1.0, 0.0, 1.0)),
    ],
)
def test_the_rod_leaves_few_parameters(
    diagonal: tuple[float, float, float],
    moving: tuple[float, float, float],
    still: tuple[float, float, float],
) -> None:
    xx, yy, zz = diagonal
    body = BodyInertia(1.0, (0.1, 0.2, 0.3), (xx, 0.0, 0.0, yy, 0.0, zz))
    for is_moving, wanted in ((True, moving), (False, still)):
        part = movable(Revolute(), body, is_moving)
        assert part is not None
        left = body - part
        assert tuple(np.diag(left.I)) == wanted
        assert (left.m, left.h) == (0.0, (0.1, 0.2, 0.0))


# ------------------------------------------------------------ an equivalent design


def pseudo_inertia(inertial: Inertial) -> Any:
    m, c = inertial.mass, inertial.com
    about = inertial.inertia + m * (float(c @ c) * np.eye(3) - np.outer(c, c))
    second = np.trace(about) / 2 * np.eye(3) - about
    h = m * c[:, None]
    return np.block([[second, h], [h.T, np.array([[m]])]])


@pytest.mark.parametrize("name", robots())
def test_the_design_has_its_own_parameters_and_can_be_built(name: str) -> None:
    robot = robots()[name]
    other = robot.regrouped().robot
    before, after = robot.masses, other.masses
    assert before.keys() == after.keys()
    assert np.abs(robot.inertial_parameters() - other.inertial_parameters()).max() > 0
    for old, new in zip(
        robot.description.bodies, other.description.bodies, strict=True
    ):
        if old.inertial is None or new.inertial is None:
            continue
        was, now = (
            np.linalg.eigvalsh(pseudo_inertia(b)) for b in (old.inertial, new.inertial)
        )
        if was[0] > -1e-12:
            assert now[0] > -1e-9 * now[-1]


def test_a_design_is_printed_with_its_masses() -> None:
    robot = Robot.from_description(hmmwv())
    other = robot.regrouped().robot
    heavy = max(other.masses, key=lambda body: other.masses[body])
    assert f"{other.masses[heavy]:.4g} kg" in str(other)
    assert other.masses[heavy] > robot.masses[heavy]
    assert f"{other.masses[heavy]:.4g} kg" not in str(robot)


URDF = """<robot name="arm">
  <link name="base"/>
  <link name="upper"><inertial><origin xyz="0.1 0.2 0.3" rpy="0.1 0 0"/>
    <mass value="2"/>
    <inertia ixx="0.3" ixy="0.01" ixz="0.02" iyy="0.35" iyz="0" izz="0.2"/></inertial>
  </link>
  <link name="lower"><inertial><origin xyz="0.2 0 0.1"/><mass value="1"/>
    <inertia ixx="0.03" ixy="0" ixz="0" iyy="0.04" iyz="0" izz="0.05"/></inertial>
  </link>
  <link name="tool"><inertial><mass value="0.5"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial>
  </link>
  <joint name="a" type="revolute"><parent link="base"/><child link="upper"/>
    <axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
  <joint name="b" type="revolute"><parent link="upper"/><child link="lower"/>
    <origin xyz="0.4 0 0" rpy="0.3 0 0"/><axis xyz="1 0 0"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
  <joint name="c" type="fixed"><parent link="lower"/><child link="tool"/>
    <origin xyz="0 0.1 0.3"/></joint>
</robot>"""
MJCF = """<mujoco model="arm"><worldbody>
  <body name="upper"><joint name="a" axis="0 1 0"/>
    <geom type="capsule" fromto="0 0 0 0.4 0 0.1" size="0.05"/>
    <body name="lower" pos="0.4 0 0"><joint name="b" axis="1 0 0"/>
      <geom type="capsule" fromto="0 0 0 0.2 0.3 0" size="0.04"/></body></body>
</worldbody></mujoco>"""


@pytest.mark.parametrize(("text", "suffix"), [(URDF, "urdf"), (MJCF, "xml")])
def test_a_design_is_saved_and_loaded(text: str, suffix: str, tmp_path: Path) -> None:
    source, target = tmp_path / f"arm.{suffix}", tmp_path / f"design.{suffix}"
    source.write_text(text)
    robot = ramidyn.load(source)
    design = robot.regrouped().robot
    design.write_inertials(source, target)
    with pytest.raises(ArgumentError, match="target is the source, "):
        design.write_inertials(source, source)
    again = ramidyn.load(target)
    np.testing.assert_allclose(
        again.inertial_parameters(), design.inertial_parameters(), atol=1e-12
    )
    assert again.masses["lower"] < robot.masses["lower"]
    q, qd, qdd = np.random.default_rng(0).normal(size=(3, robot.nv))
    np.testing.assert_allclose(
        again.inverse_dynamics(q, qd, qdd),
        robot.inverse_dynamics(q, qd, qdd),
        rtol=1e-9,
    )


def test_what_cannot_be_written_is_said(tmp_path: Path) -> None:
    robot = ramidyn.load(URDF)
    other = URDF.replace('"tool"', '"hand"')
    with pytest.raises(ModelError, match="the source has no link 'tool'; expected the"):
        robot.write_inertials(other, tmp_path / "x.urdf")
    path = tmp_path / "a.sdf"
    path.write_text("<sdf version='1.9'></sdf>")
    with pytest.raises(ModelError, match=r"a.sdf: inertias can be written to URDF"):
        robot.write_inertials(path, tmp_path / "x.sdf")
