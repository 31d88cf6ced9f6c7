"""One step with contacts as exported C and as a library: what the Python call does."""

from __future__ import annotations

import ctypes
import shutil
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ramidyn
from ramidyn import contacts
from ramidyn.builder import Body, Inertia, Joint, RobotBuilder
from ramidyn.description.pose import Array
from ramidyn.export.c_export import found_compiler, shared_library
from ramidyn.robot import Robot
from support.real_robots import example_urdfs

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("cc") is None, reason="cc on Linux"
)


def tripod() -> Robot:
    builder = RobotBuilder("tripod")
    body = Body("body", Inertia.from_box(1.0, (0.3, 0.3, 0.1)))
    builder.add(body, "world", Joint.floating())
    feet = ((0.2, 0.0, -0.2), (-0.1, 0.15, -0.2), (-0.1, -0.15, -0.2))
    shape = contacts.ContactPoints("body", feet, friction=0.5)
    return builder.robot(conventions="mujoco").add_contact(shape, name="feet")


def go2() -> Robot:
    name = "go2_description/go2.urdf"
    if name not in example_urdfs():
        pytest.skip(f"example-robot-data has no {name}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        robot = ramidyn.load(
            example_urdfs()[name], root="floating", conventions="mujoco"
        )
    for leg in ("FL", "FR", "RL", "RR"):
        foot = contacts.ContactSphere(f"{leg}_foot", 0.022, friction=0.8)
        robot = robot.add_contact(foot, name=leg)
    return robot


def assert_steps_are_those_of_python(
    robot: Robot, q: Array, points: int, folder: Path
) -> None:
    """Fall and land for 150 steps of 1 ms; every step in C from where Python is."""
    exported = ramidyn.export_c(contacts.time_step, robot, folder / "c")
    library = shared_library(exported, folder, found_compiler(), ["-O0"])
    many = getattr(library, f"{exported.function}_batch")
    step = ramidyn.compile(contacts.time_step, robot)
    n, dt = len(q), np.full(len(q), 1e-3)
    qd, tau = 0.2 * np.random.default_rng(1).normal(size=(2, n, robot.nv))
    impulses = np.zeros((n, 3 * points))
    touched = 0.0
    for _ in range(150):
        given = [np.ascontiguousarray(a) for a in (q, qd, tau, dt, impulses)]
        after: Any = step(*given)
        made = [np.full_like(np.asarray(a), np.nan) for a in after]
        pointers = [ctypes.c_void_p(a.ctypes.data) for a in [*given, *made]]
        many(ctypes.c_int(n), *pointers)
        assert made[-1].max() < 1e-6  # the residual, in m/s
        np.testing.assert_allclose(made[0], after.q, atol=1e-9)
        np.testing.assert_allclose(made[1], after.qd, atol=1e-6)
        touched = max(touched, float(np.mean(made[4] > 0.0)))
        q, qd, impulses = after.q, after.qd, after.impulses
    assert touched > 0.5


def assert_library_is_the_python_call(robot: Robot, folder: Path) -> None:
    made = ramidyn.export_library(contacts.time_step, robot, folder / "library")
    checked = made.check(states=16)
    assert checked.single == checked.batch == 0


def test_tripod_lands_in_c_as_in_python(tmp_path: Path) -> None:
    robot = tripod()
    q = np.tile(robot.neutral(), (9, 1))
    q[:, 2] = 0.202
    assert_steps_are_those_of_python(robot, q, 3, tmp_path)


def test_library_with_scalar_inputs_is_the_python_call(tmp_path: Path) -> None:
    foot = contacts.ContactSphere("body1", radius=0.02, friction=0.8)
    robot = ramidyn.robots.chain(2).add_contact(foot, name="foot")
    assert_library_is_the_python_call(robot, tmp_path)


def test_check_of_c_reads_scalar_results(tmp_path: Path) -> None:
    robot = ramidyn.robots.chain(2)
    exported = ramidyn.export_c(ramidyn.kinetic_energy, robot, tmp_path)
    assert exported.check().single < 1e-12


@pytest.mark.slow
def test_go2_lands_in_c_as_in_python(tmp_path: Path) -> None:
    robot = go2()
    q = np.tile(robot.neutral(), (9, 1))
    for joint in robot.model.joints:
        for end, value in (("thigh_joint", 0.8), ("calf_joint", -1.6)):
            if joint.name.endswith(end):
                q[:, joint.q_slice] = value
    q[:, 2] = 0.325
    assert_steps_are_those_of_python(robot, q, 4, tmp_path)
    assert_library_is_the_python_call(robot, tmp_path)
