"""Λ⁻¹ of the shared robots' leaves against their reference files."""

from __future__ import annotations

import pytest

from ramidyn.algorithms.operational.tasks import Task
from ramidyn.compiler import compile, program_of
from ramidyn.description.pose import Array
from ramidyn.quantities.operational import operational_inertia_inverse
from ramidyn.quantities.operational_inertia import ALGORITHMS
from ramidyn.robot import Robot
from ramidyn.symbolic.interpreter import evaluate
from support.close import assert_close
from support.paths import SHARED_ROBOTS
from support.references import MJCFS, URDFS, Reference, loaded

pytestmark = pytest.mark.oracle

TOLERANCE = 1e-8
QUICK = ("efpa", "sfa")
"""one that propagates and one that factors; the others run with --slow"""
SMALL = ("panda", "iiwa14", "minitaur", "anymal_c", "robotiq_2f85_v4")
"""robots of which all run"""


@pytest.fixture(params=[*URDFS, *MJCFS])
def name(request: pytest.FixtureRequest) -> str:
    if not (SHARED_ROBOTS / request.param / "reference.npz").exists():
        pytest.skip(f"no shared robots in {SHARED_ROBOTS}")
    return request.param


def leaves(robot: Robot, reference: Reference) -> tuple[list[Task], Array]:
    """Return tasks on the leaves (at most six), and the reference."""
    names = [str(n) for n in reference["leaf_names"]]
    if len(reference["body_names"]) == len(robot.body_names):
        ours = dict(
            zip(map(str, reference["body_names"]), robot.body_names, strict=True)
        )
        names = [n if n in robot.frame_names else ours[n] for n in names]
    tasks = [Task(name, "pose", "local_world_aligned") for name in names]
    return tasks, reference["osim_inv"]


@pytest.mark.parametrize(
    "algorithms",
    [QUICK, pytest.param(tuple(set(ALGORITHMS) - set(QUICK)), marks=pytest.mark.slow)],
    ids=["two", "others"],
)
def test_algorithms_agree_with_the_reference(
    name: str, algorithms: tuple[str, ...]
) -> None:
    robot, reference = loaded(name)
    tasks, expected = leaves(robot, reference)
    for algorithm in ALGORITHMS if name in SMALL else algorithms:
        quantity = operational_inertia_inverse(tasks, algorithm)
        program = program_of(quantity, robot)
        (found,) = evaluate(program, {"q": reference["q"]}).values()
        for ours, theirs in zip(found, expected, strict=True):
            assert_close(ours, theirs, tolerance=TOLERANCE)


@pytest.mark.parametrize("robot_name", ["panda", "humanoid"])
def test_native_code_agrees_with_the_reference(robot_name: str) -> None:
    if not (SHARED_ROBOTS / robot_name / "reference.npz").exists():
        pytest.skip(f"no shared robots in {SHARED_ROBOTS}")
    robot, reference = loaded(robot_name)
    tasks, expected = leaves(robot, reference)
    found = compile(operational_inertia_inverse(tasks), robot)(reference["q"])
    assert_close(found, expected, tolerance=TOLERANCE)
