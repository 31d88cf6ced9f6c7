"""Robots that are no longer used leave nothing behind: objects, code or memory."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Generator

import numpy as np
import pytest

import ramidyn
from ramidyn.backend.llvm.jit import LIBRARIES_PER_LINKER, LoadedCode, compile_objects
from ramidyn.backend.llvm.target import target
from ramidyn.robot import Robot
from support.planar import Planar, four_bar
from support.processes import resident, run_script
from support.urdf import links, robot

linux = pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
ROBOT = robot(links("a"))


@pytest.fixture
def quiet_collector() -> Generator[None]:
    """Let the collector be on, and never run by itself."""
    before = gc.get_threshold()
    gc.collect()
    gc.set_threshold(10**9)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def used_robot() -> Robot:
    arm = ramidyn.robots.chain(2, geometry="plain")
    q = arm.neutral()
    arm.mass_matrix(q)
    arm.mass_matrix(np.tile(q, (3, 1)))
    arm.forward_dynamics(q, q, q, algorithm="aba")
    arm.jacobian(q, arm.frame_names[-1])
    arm.integrate(q, q)
    return arm


@pytest.mark.usefixtures("quiet_collector")
def test_one_collection_frees_a_robot_and_its_code() -> None:
    used_robot()  # everything is imported and kept once
    gc.collect()
    arm = used_robot()
    young = gc.get_objects(generation=0)
    code = weakref.ref(next(o for o in young if isinstance(o, LoadedCode)))
    found = weakref.ref(arm)
    del young
    del arm
    assert gc.collect() > 0
    assert found() is None
    assert code() is None
    assert gc.collect() == 0


@pytest.mark.usefixtures("quiet_collector")
@pytest.mark.parametrize("use", ["assemble", "project", "mobility", "check_state"])
def test_one_collection_frees_a_robot_with_loops(use: str) -> None:
    robot, (q, qd) = four_bar(), Planar("four_bar").state(0.3, 1.0)
    getattr(robot, use)(*((q,) if use != "check_state" else (q, qd)))
    found = weakref.ref(robot)
    del robot
    gc.collect()
    assert found() is None


@pytest.mark.usefixtures("quiet_collector")
def test_one_collection_frees_a_robot_and_its_kinematic_solvers() -> None:
    robot = ramidyn.robots.chain(3, geometry="plain")
    target = robot.pose(np.full(3, 0.3), "body2")
    robot.inverse_kinematics({"body2": target})
    found = weakref.ref(robot)
    del robot
    gc.collect()
    assert found() is None


@pytest.mark.usefixtures("quiet_collector")
def test_loading_leaves_young_objects_of_the_program_young() -> None:
    mine = [object()]
    ramidyn.load(ROBOT)
    assert any(o is mine for o in gc.get_objects(generation=0))


@pytest.mark.parametrize("is_on", [True, False])
@pytest.mark.parametrize("text", [ROBOT, "<robot/>"], ids=["good", "bad"])
def test_loading_restores_the_collector(is_on: bool, text: str) -> None:
    assert gc.isenabled()
    try:
        if not is_on:
            gc.disable()
        if text == "<robot/>":
            with pytest.raises(ramidyn.ModelError):
                ramidyn.load(text)
        else:
            ramidyn.load(text)
        assert gc.isenabled() == is_on
    finally:
        gc.enable()


@linux
def test_code_loaded_again_and_again_takes_no_memory() -> None:
    processor = target("float64", 1).processor
    (code,) = compile_objects([lambda: "define void @f() { ret void }"], processor)
    sizes = []
    for _ in range(16 * LIBRARIES_PER_LINKER):
        LoadedCode([(code, ["f"])], processor)
        sizes.append(resident())
    grown = sizes[-1] - sizes[len(sizes) // 2]
    assert grown < 2**20, f"{grown:,} bytes more"


@linux
def test_loading_robots_again_and_again_takes_no_memory() -> None:
    each, most = map(int, run_script("many_loads.py", "500").split())
    assert each < 20_000
    assert most < 100


@linux
@pytest.mark.slow
def test_thousands_of_robots_take_no_memory() -> None:
    each, most = map(int, run_script("many_loads.py", "2000").split())
    assert each < 3_000
    assert most < 100
