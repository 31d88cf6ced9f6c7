"""Force elements as native code and as C: equal to the interpreter, in the header."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import ramidyn
from ramidyn import forces
from ramidyn.compiler import program_of
from ramidyn.errors import ArgumentError
from ramidyn.robot import Robot
from ramidyn.symbolic.interpreter import evaluate
from support.close import assert_close
from support.force_elements import with_all
from support.planar import four_bar


def small() -> Robot:
    """Return a chain with an element of every kind."""
    return with_all(ramidyn.robots.chain(3))


def test_native_forces_equal_the_interpreter(rng: np.random.Generator) -> None:
    robot = small()
    q, qd = rng.uniform(-2.0, 2.0, (2, 9, 3))
    inputs = {"control": rng.normal(size=(9, 3)), "wind": rng.normal(size=(9, 3))}
    program = program_of(ramidyn.applied_forces, robot)
    expected = evaluate(program, {"q": q, "qd": qd, **inputs})["applied_forces"]
    assert_close(robot.applied_forces(q, qd, **inputs), expected)
    one = {name: x[0] for name, x in inputs.items()}
    assert_close(robot.applied_forces(q[0], qd[0], **one), expected[0])


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no C compiler")
def test_exported_forces_equal_the_kernel_and_are_in_the_header(tmp_path: Path) -> None:
    robot = ramidyn.robots.chain(2)
    spring = forces.JointSpring("joint0", 40.0, 0.1)
    robot = robot.add_force(spring, name="spring")
    robot = robot.add_force(forces.Motor("joint1", gear=3.0), name="motor")
    sphere = forces.SphereContact("body1", 0.1, 1e3, 0.5, friction=0.8, offset=0.2)
    robot = robot.add_force(sphere, name="foot")
    exported = ramidyn.export_c(
        ramidyn.forward_dynamics, robot, tmp_path, parameters=["friction:foot"]
    )
    lines = exported.header.read_text(encoding="utf-8").replace("\n *", " ")
    header = " ".join(lines.split())
    assert "spring: JointSpring, stiffness 40 N m/rad, reference 0.1 rad" in header
    assert "motor: Motor, gear 3" in header
    assert "foot: SphereContact, radius 0.1 m, stiffness 1000 N/m^n" in header
    assert "dissipation 0.5 s/m, friction 0.8, transition_velocity 0.01 m/s" in header
    assert "controls of the actuators" in header
    assert exported.check().single < 1e-10


def test_packed_derivatives_refuse_forces_across_branches() -> None:
    robot = ramidyn.robots.humanoid30("plain")
    spring = forces.JointSpring("left_shank_joint", 5.0)
    robot = robot.add_force(spring)
    quantity = ramidyn.inverse_dynamics_derivatives(packed=True, algorithm="idsva")
    assert program_of(quantity, robot).outputs
    robot = robot.add_force(forces.PointSpring("left_hand", "right_hand", 4.0))
    message = "packed is True, but forces of robot 'humanoid30' couple joints"
    with pytest.raises(ArgumentError, match=message):
        program_of(quantity, robot)


def test_functions_that_take_no_inputs_refuse_forces_that_have_some() -> None:
    robot = four_bar().add_force(forces.Motor(four_bar().joint_names[0]), name="m")
    still = np.zeros(robot.nv)
    message = r"constrained_inverse_dynamics: forces of robot .* inputs \('control'\)"
    with pytest.raises(ArgumentError, match=message):
        robot.constrained_inverse_dynamics(robot.neutral(), still, still)
    message = r"forces that need 'control'; pass inputs=\{'control': ...\}"
    with pytest.raises(ArgumentError, match=message):
        robot.simulate(robot.neutral())
