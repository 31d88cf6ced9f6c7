"""The inverse inertia of contacts: the same by every algorithm, and counted."""

from __future__ import annotations

import numpy as np
import pytest

import ramidyn
from ramidyn import contacts
from ramidyn.compiler import program_of
from ramidyn.quantities.contact_rows import contact_motion
from ramidyn.robot import Robot
from ramidyn.symbolic.interpreter import evaluate
from support.close import assert_close


def walker(corners: int, *elements: object) -> Robot:
    """Return a humanoid with corners under its feet, and more contacts."""
    robot = ramidyn.robots.humanoid30()
    for side in ("left", "right"):
        for k in range(corners):
            point = (0.1 * (k % 2), 0.05 * (k // 2), 0.0)
            shape = contacts.ContactPoint(f"{side}_foot_tip", point, friction=0.6)
            robot = robot.add_contact(shape, name=f"{side}{k}")
    for element in elements:
        robot = robot.add_contact(element)  # type: ignore[arg-type]
    return robot


STOPPED = (
    contacts.HardLimit("left_shank_joint", -0.1, 2.0),
    contacts.DryFriction("right_forearm_joint", 2.0),
)


@pytest.mark.parametrize(
    ("robot", "algorithms"),
    [
        (walker(1), ("pv", "rjk", "mixed")),
        (walker(4), ("pv", "rjk", "mixed")),
        (walker(3, *STOPPED), ("pv",)),
    ],
    ids=["points", "feet", "feet and joints"],
)
def test_algorithms_agree(
    robot: Robot, algorithms: tuple[str, ...], rng: np.random.Generator
) -> None:
    n = robot.nv
    given = {
        "q": robot.random_configuration(rng, batch=3),
        "qd": rng.normal(size=(3, n)),
        "tau": rng.normal(size=(3, n)),
        "dt": np.full(3, 1e-3),
        "F": rng.normal(size=(3, n)),
    }
    by_factor = evaluate(program_of(contact_motion(algorithm="sfa"), robot), given)
    eigenvalues = np.linalg.eigvalsh(by_factor["G"])
    assert eigenvalues.min() > -1e-9 * eigenvalues.max()
    for algorithm in algorithms:
        program = program_of(contact_motion(algorithm=algorithm), robot)
        found = evaluate(program, given)
        for name in ("G", "c", "change"):
            assert_close(found[name], by_factor[name])


def test_joint_rows_are_those_of_the_inverse_mass_matrix(
    rng: np.random.Generator,
) -> None:
    robot = ramidyn.robots.humanoid30()
    for element in STOPPED:
        robot = robot.add_contact(element)
    q = robot.random_configuration(rng)
    zero = np.zeros(robot.nv)
    given = {"q": q, "qd": zero, "tau": zero, "dt": 1e-3, "F": zero}
    program = program_of(contact_motion(algorithm="pv"), robot)
    G = evaluate(program, {k: np.asarray(x) for k, x in given.items()})["G"]
    dofs = [
        next(j for j in robot.model.joints if j.name == e.joint).v_slice.start
        for e in STOPPED
    ]
    assert_close(G, robot.mass_matrix_inverse(q)[np.ix_(dofs, dofs)])


@pytest.mark.parametrize(("corners", "wanted"), [(1, 13_431), (4, 15_681)])
def test_operations_of_a_step_are_counted(corners: int, wanted: int) -> None:
    """Sweeps come on top, as many as needed."""
    robot = walker(corners)
    counts = ramidyn.count(contact_motion(algorithm="mixed"), robot)
    assert counts.mul + counts.add == wanted
    alone = ramidyn.count(ramidyn.forward_dynamics, robot)
    assert alone.mul + alone.add == 8_820
