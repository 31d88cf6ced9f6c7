"""Dynamics with loops against exact references, and against Pinocchio's."""

from __future__ import annotations

import functools
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ramidyn.catalog import paper_robots as robots
from ramidyn.loading import load
from ramidyn.mechanism.constraints.rank import rank_of
from ramidyn.quantities import closed_loops, dynamics
from ramidyn.robot import Robot
from support.close import assert_close
from support.loops import as_robot, value
from support.parameters import some
from support.paths import SHARED_ROBOTS
from support.pinocchio_loops import CONTACTS, with_cuts
from support.real_robots import example_urdfs

pytestmark = pytest.mark.oracle

FILES = {"cassie": "cassie.xml", "robotiq_2f85_v4": "2f85.xml"}
ROUGH = {"toddlerbot_2xc": "toddlerbot_2xc.xml"}
"""whose loops close only to the digits of the file"""
close = functools.partial(assert_close, tolerance=1e-9, least=0.0)


@functools.cache
def reference(name: str, armature: bool) -> tuple[Robot, Any]:
    folder = SHARED_ROBOTS / name
    if not folder.exists():
        pytest.skip(f"{folder} is not here")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        robot = load(folder / {**FILES, **ROUGH}[name], conventions="mujoco")
    if not armature:
        d = robot.description
        bodies = (
            replace(b, joints=tuple(replace(j, armature=0.0) for j in b.joints))
            for b in d.bodies
        )
        robot = Robot.from_description(
            replace(d, bodies=tuple(bodies)), conventions="mujoco"
        )
    return robot, np.load(folder / "reference_loops.npz")


def assert_exact(name: str, algorithm: str, armature: bool, tolerance: float) -> None:
    robot, known = reference(name, armature)
    inputs = {"q": known["q"], "qd": known["v"], "tau": known["tau"]}
    wanted = [
        dynamics.forward_dynamics(algorithm=algorithm),
        closed_loops.loop_forces(algorithm=algorithm),
        closed_loops.constraint_jacobian,
    ]
    qdd, multipliers, J = value(wanted, robot, **inputs).values()
    end = "_armature" if armature else ""
    close(qdd, known[f"qdd{end}"], tolerance=tolerance)
    force = np.einsum("brv,br->bv", J, multipliers)
    close(force, known[f"constraint_force{end}"], tolerance=tolerance)


@pytest.mark.parametrize("armature", some([False, True], slow=[False]))
@pytest.mark.parametrize(
    "algorithm",
    ["auto", "joint_formulation", "loopwise", "constrained_aba", "proximal"],
)
@pytest.mark.parametrize("name", FILES)
def test_accelerations_and_forces_are_those_of_the_exact_solution(
    name: str, algorithm: str, armature: bool
) -> None:
    assert_exact(name, algorithm, armature, tolerance=1e-9)


@pytest.mark.parametrize("name", FILES)
def test_rows_and_rank_are_those_of_the_reference(name: str) -> None:
    robot, known = reference(name, armature=True)
    rank = rank_of(robot.placed_model, robot.conventions)
    assert (rank.rows, rank.rank) == (known["J"].shape[1], known["rank"][0])
    residual = value(closed_loops.constraint_residual, robot, q=known["q"])
    np.testing.assert_allclose(residual, 0.0, atol=1e-14)


@pytest.mark.parametrize(
    ("algorithm", "armature"), [("auto", True), ("proximal", False)]
)
def test_loops_that_close_to_their_digits_have_the_exact_solution(
    algorithm: str, armature: bool
) -> None:
    # 1e-5 is asked for.
    assert_exact("toddlerbot_2xc", algorithm, armature, tolerance=1e-6)


def test_mobility_at_the_digits_of_a_file_is_that_of_the_reference() -> None:
    robot, known = reference("toddlerbot_2xc", armature=True)
    rank = rank_of(robot.placed_model, robot.conventions)
    assert (rank.rows, rank.rank) == (21, known["rank"][0]) == (21, 12)
    assert 1e-9 < rank.closed < 1e-6
    for found in (robot.mobility(), robot.mobility(known["q"][0])):
        assert (found.rank, found.mobility) == (12, robot.nv - 12)
    robot.check_state(known["q"][1], known["v"][1])
    assert np.abs(robot.assemble(known["q"][0]) - known["q"][0]).max() < 1e-6


@pytest.mark.parametrize("type_", CONTACTS)
@pytest.mark.parametrize("between", [("FL_foot", "world"), ("RR_foot", "FL_foot")])
def test_pinocchio_agrees_where_it_has_the_constraint(
    type_: str, between: tuple[str, str], rng: np.random.Generator
) -> None:
    pin = pytest.importorskip("pinocchio")
    paths = [p for n, p in example_urdfs().items() if n.endswith("/a1.urdf")]
    if not paths:
        pytest.skip("example-robot-data is not here")
    path = str(paths[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        robot = load(path, root="floating")
    model = pin.buildModelFromUrdf(path, pin.JointModelFreeFlyer())
    pin.seed(0)
    q = pin.randomConfiguration(
        model, -np.ones(model.nq) * 0.5, np.ones(model.nq) * 0.5
    )
    qd, tau = rng.normal(size=(2, model.nv))
    there = with_cuts(pin, model, robot, [(type_, *between)], q, qd)
    qdd = value(dynamics.forward_dynamics, there.robot, q=q, qd=there.qd, tau=tau)
    close(qdd, there.accelerations(pin, q, tau))


def test_hmmwv_is_the_vehicle_of_the_paper() -> None:
    robot = as_robot(robots.hmmwv("general"))
    rank = rank_of(robot.placed_model, robot.conventions)
    assert len(robot.tree) == 14
    assert robot.nv == 27
    assert (rank.rows, rank.rank) == (16, 16)
