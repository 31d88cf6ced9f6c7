"""Arrows of forces: their moments are the joint forces that the elements apply."""

from __future__ import annotations

import numpy as np
import pytest

import ramidyn
from ramidyn import forces
from ramidyn.compiler import compile
from ramidyn.quantities.applied import force_arrows
from ramidyn.robot import Robot

ROBOT = """<mujoco><option><flag contact="disable"/></option><worldbody>
<body name="a" pos="0 0 .4"><freejoint/>
<geom size=".1" pos=".1 0 0"/><site name="s" pos="0 .2 .1"/>
<body name="b" pos=".3 0 .1"><joint name="j" axis="0 1 1"/>
<geom type="box" size=".1 .2 .1"/></body></body></worldbody></mujoco>"""


def bump(x: object, y: object) -> object:
    return 0.3 + 0.1 * ramidyn.math.sin(x) + 0.05 * y  # type: ignore[operator]


ELEMENTS: dict[str, tuple[object, list[str]]] = {
    "spring": (
        forces.PointSpring(
            "s", "b", stiffness=80.0, damping=3.0, rest_length=0.1, point_b=(0, 0.1, 0)
        ),
        ["a", "b"],
    ),
    "to the world": (forces.PointSpring("world", "b", stiffness=80.0), ["b"]),
    "bushing": (
        forces.Bushing("s", "b", stiffness=(10.0, 20.0, 30.0), damping=(1.0, 2.0, 3.0)),
        ["a", "b"],
    ),
    "point": (
        forces.PointContact("b", 1e3, 0.5, 0.6, point=(0.1, 0, -0.1), offset=1.0),
        ["b"],
    ),
    "sphere": (
        forces.SphereContact("s", 0.2, 1e3, 0.5, 0.6, height=bump, center=(0, 0, -0.2)),
        ["a"],
    ),
    "tire": (
        forces.Tire(
            "b", 0.5, 2e3, 30.0, 500.0, 400.0, 0.8, center=(0, 0.1, 0), offset=0.4
        ),
        ["b"],
    ),
}


@pytest.fixture(scope="module")
def robot() -> Robot:
    return ramidyn.load(ROBOT, conventions="pinocchio")


@pytest.mark.parametrize("name", ELEMENTS)
def test_arrows_apply_what_the_elements_apply(
    name: str, robot: Robot, rng: np.random.Generator
) -> None:
    element, bodies = ELEMENTS[name]
    held = robot.add_force(element, name="e")  # pyright: ignore[reportArgumentType]
    q, qd = robot.neutral(), rng.normal(size=robot.nv)
    q[:3] += [0.1, -0.2, 0.0]
    q[7] = 0.4
    arrows = compile(force_arrows, held)(q, qd)
    assert arrows.shape == (len(bodies), 2, 3)
    tau = np.zeros(robot.nv)
    for (point, force), body in zip(arrows, bodies, strict=True):
        assert np.linalg.norm(force) > 1
        J = robot.jacobian(q, body, expressed_in="world")
        tau += J.T @ np.concatenate([force, np.cross(point, force)])
    np.testing.assert_allclose(tau, held.applied_forces(q, qd), atol=1e-9)


def test_only_what_acts_at_points_has_arrows(robot: Robot) -> None:
    held = robot.add_force(forces.JointSpring("j", 9.0), name="turns")
    assert held._force_arrows is None
    assert robot._force_arrows is None
