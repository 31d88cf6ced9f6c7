"""What a new process does for its first answer, if the code is in the cache."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

RUN = """
import json, sys
import numpy as np
import ramidyn

robot = ramidyn.load(sys.argv[1], root="floating")
q, qd, tau = robot.neutral(), np.full(robot.nv, 0.1), np.full(robot.nv, 0.2)
derivatives = ramidyn.compile(ramidyn.forward_dynamics_derivatives, robot)
functions = [robot.forward_dynamics, robot.forward_dynamics_derivatives, derivatives]
results = [np.concatenate(f(q, qd, tau)) for f in functions[1:]]
results.append(functions[0](q, qd, tau))
print(json.dumps({
    "modules": sorted(sys.modules),
    "cached": [f.cached for f in functions],
    "results": [x.tobytes().hex() for x in results],
}))
"""
ROBOT = """<robot name="arm">
  <link name="base"><inertial><mass value="2"/>
    <inertia ixx="0.2" iyy="0.3" izz="0.4" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="hand"><inertial><origin xyz="0.1 0 0.3"/><mass value="1"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="elbow" type="continuous"><parent link="base"/><child link="hand"/>
    <origin xyz="0 0.2 0.1" rpy="0.1 0.2 0.3"/><axis xyz="0 1 0"/></joint>
</robot>"""
ONLY_TO_COMPILE = (
    "ramidyn.algorithms.",
    "ramidyn.simplify",
    "ramidyn.symbolic.trace",
    "ramidyn.symbolic.program",
    "ramidyn.tracing.chooser",
    "ramidyn.backend.llvm.schedule",
    "ramidyn.backend.llvm.emit_loop",
    "ramidyn.backend.llvm.vector_math",
    "ramidyn.backend.llvm.word_builder",
)
ONLY_WITH_SUCH_PARTS = (
    "ramidyn.quantities.closed_loops",
    "ramidyn.description.forces.actuators",
    "ramidyn.description.forces.contacts",
    "ramidyn.description.forces.element",
)
NAMES = {"ramidyn.algorithms.loops"}
"""modules of nothing but names"""


@pytest.fixture(scope="module")
def processes(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What a process prints without a cache, and the next one, which has it."""
    folder: Path = tmp_path_factory.mktemp("first_answer")
    (folder / "arm.urdf").write_text(ROBOT)
    environment = {**os.environ, "RAMIDYN_CACHE_DIR": str(folder / "cache")}
    command = [sys.executable, "-c", RUN, str(folder / "arm.urdf")]
    return [
        json.loads(
            subprocess.run(
                command, env=environment, capture_output=True, text=True, check=True
            ).stdout
        )
        for _ in range(2)
    ]


def found(modules: list[str], unwanted: tuple[str, ...]) -> list[str]:
    return [m for m in modules if m.startswith(unwanted) and m not in NAMES]


def test_nothing_that_traces_or_compiles_is_imported_for_cached_code(
    processes: list[dict[str, Any]],
) -> None:
    cold, warm = processes
    assert all(warm["cached"])
    for name in ONLY_TO_COMPILE:
        assert found(cold["modules"], (name,)), name
    assert not found(warm["modules"], (*ONLY_TO_COMPILE, "concurrent.futures"))


def test_a_plain_robot_imports_neither_loops_nor_force_elements(
    processes: list[dict[str, Any]],
) -> None:
    for process in processes:
        assert not found(process["modules"], ONLY_WITH_SUCH_PARTS)


def test_cached_code_gives_the_same_bits(processes: list[dict[str, Any]]) -> None:
    cold, warm = processes
    assert cold["results"] == warm["results"]
