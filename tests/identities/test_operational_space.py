"""Λ⁻¹ = J M⁻¹ Jᵀ by every algorithm, and the laws of what is built on it."""

from __future__ import annotations

import numpy as np
import pytest

from ramidyn.algorithms.crba import crba
from ramidyn.algorithms.ltdl import ltdl
from ramidyn.algorithms.operational.mixed import COLUMN, TRANSFORM
from ramidyn.algorithms.operational.tasks import Task, tasks_of
from ramidyn.builder import Body, Inertia, Joint, RobotBuilder
from ramidyn.catalog.paper_robots import chain, chang_khatib24, random_tree
from ramidyn.compiler import compile, program_of
from ramidyn.description.pose import Array
from ramidyn.errors import ArgumentError, ModelError
from ramidyn.explain.counts import explain_operational
from ramidyn.quantities import frames
from ramidyn.quantities.dynamics import bias_forces, forward_dynamics
from ramidyn.quantities.mass_matrix import mass_matrix
from ramidyn.quantities.operational import (
    dynamically_consistent_inverse,
    null_space_projector,
    operational_inertia,
    operational_inertia_inverse,
    task_acceleration,
    task_bias,
    task_jacobian,
)
from ramidyn.quantities.operational_inertia import ALGORITHMS
from ramidyn.robot import Robot
from ramidyn.symbolic.count import Ops, count
from ramidyn.symbolic.interpreter import evaluate
from ramidyn.symbolic.trace import trace
from ramidyn.tracing.chooser import algorithm_of
from ramidyn.tracing.context import EXPRESSED_IN, Context, Symbols
from support.asimo import as_robot
from support.close import assert_close
from support.parameters import some
from support.published import published_operations
from support.states import CASES, case, state, value, with_joints

ROWS = ("pose", "position", "orientation", "x", ("rz", "y"), ("z", "orientation"))


def random_tasks(robot: Robot, rng: np.random.Generator, n: int) -> tuple[Task, ...]:
    """Return tasks on n frames, of any rows; a body may have several."""
    frames = rng.choice(robot.frame_names, n)
    return tuple(
        Task(
            str(f),
            ROWS[rng.integers(len(ROWS))],
            EXPRESSED_IN[rng.integers(len(EXPRESSED_IN))],
        )
        for f in frames
    )


def by_definition(robot: Robot, tasks: tuple[Task, ...], q: Array) -> Array:
    """Return J M⁻¹ Jᵀ of pieces that have tests of their own."""
    rows = []
    for t in tasks:
        J = value(robot, frames.jacobian(t.frame, t.expressed_in), q=q)
        six = ["x", "y", "z", "rx", "ry", "rz"]
        if robot.conventions.order == "angular_first":
            six = six[3:] + six[:3]
        rows += [J[six.index(r)] for r in t.names(robot.conventions.order)]
    J = np.array(rows)
    return J @ np.linalg.solve(value(robot, mass_matrix, q=q), J.T)


def check(
    robot: Robot, tasks: tuple[Task, ...], q: Array, *algorithms: str
) -> dict[str, Array]:
    expected = by_definition(robot, tasks, q)
    found = {}
    for algorithm in algorithms or ALGORITHMS:
        quantity = operational_inertia_inverse(tasks, algorithm)
        found[algorithm] = value(robot, quantity, q=q)
        assert_close(found[algorithm], expected)
        assert np.array_equal(found[algorithm], found[algorithm].T)
    return found


@pytest.mark.parametrize("name", [n for n in CASES if n != "coupled"])
def test_all_algorithms_are_j_minv_jt(name: str, rng: np.random.Generator) -> None:
    robot = case(name)
    check(robot, random_tasks(robot, rng, 4), state(robot, rng)["q"])


@pytest.mark.parametrize("seed", range(6))
def test_all_algorithms_agree_on_random_trees(
    seed: int, rng: np.random.Generator
) -> None:
    robot = as_robot(random_tree(10, seed, roots=1 + seed % 3))
    check(robot, random_tasks(robot, rng, 5), state(robot, rng)["q"])


def test_rotors_resist_in_all_algorithms(rng: np.random.Generator) -> None:
    description = random_tree(9, 4)
    description = getattr(description, "description", description)
    heavy = with_joints(description, lambda _: {"armature": 0.4})
    robot = Robot.from_description(heavy)
    check(robot, random_tasks(robot, rng, 3), state(robot, rng)["q"])


def test_many_rows_through_nested_junctions(rng: np.random.Generator) -> None:
    robot = as_robot(random_tree(14, 11, ("revolute", "prismatic")))
    leaves = [i for i, c in enumerate(robot.tree.children) if not c]
    names = {f.body: f.name for f in robot.model.frames.values()}
    tasks = tasks_of([names[i] for i in (*leaves, 0, 3)])
    assert len(leaves) > 3
    check(robot, tasks, state(robot, rng)["q"])


def test_a_body_may_have_several_tasks_and_the_same_one_twice(
    rng: np.random.Generator,
) -> None:
    robot = as_robot(random_tree(6, 2))
    robot = robot.add_frame("tool", "body5", (0.1, 0.2, 0.3))
    tasks = (Task("tool"), Task("body5"), Task("tool"), Task("tool", "x", "world"))
    found = check(robot, tasks, state(robot, rng)["q"])
    for G in found.values():
        assert_close(G[:6], G[12:18])


def test_a_task_on_the_world_is_rows_of_zeros(rng: np.random.Generator) -> None:
    robot = as_robot(random_tree(5, 3))
    tasks = (Task("world", "position"), Task("body4"), Task("world", "z", "local"))
    for G in check(robot, tasks, state(robot, rng)["q"]).values():
        assert not G[[0, 1, 2, -1]].any()


def test_tasks_of_two_trees_do_not_meet(rng: np.random.Generator) -> None:
    robot = as_robot(random_tree(8, 6, roots=2))
    in_first = [n for i, n in enumerate(robot.body_names) if 0 in _roots(robot, i)]
    other = next(n for n in robot.body_names if n not in in_first)
    check(robot, tasks_of([in_first[-1], other]), state(robot, rng)["q"])
    program = program_of(operational_inertia_inverse([in_first[-1], other]), robot)
    block = np.array(program.results, dtype=object).reshape(12, 12)[:6, 6:]
    assert all(e.op == "const" for e in block.ravel())


def _roots(robot: Robot, body: int) -> tuple[int, ...]:
    frame = robot.model.frame(robot.body_names[body])
    return robot.tree.support(frame.body)[:1]


PAIR = 11
"""a product of two rows of six"""
LEAST_SAVED = {
    # Five rows and twenty pairs through the factor of seven joints.
    "sfa": 5 * 42 + 20 * 13,
    # The mobility of the tip is there anyway.
    **dict.fromkeys(("rjk", "chang_khatib"), 20 * PAIR),
    # Five rows are not taken through six joints.
    **dict.fromkeys(("efpa", "pv", "pvr", "mixed"), 5 * 6 * (TRANSFORM + COLUMN)),
}


@pytest.mark.parametrize("expressed_in", some(EXPRESSED_IN, slow=EXPRESSED_IN[1:]))
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_rows_that_are_not_asked_for_cost_nothing(
    algorithm: str, expressed_in: str
) -> None:
    robot = as_robot(chain(7)).add_frame("tip", "body6", (0.1, 0.2, 0.3))

    def of(rows: str | tuple[str, ...]) -> Ops:
        tasks = (Task("tip", rows, expressed_in),)
        wanted = operational_inertia_inverse(tasks, algorithm)
        return published_operations(program_of(wanted, robot))

    assert of(("x", "y", "z")) == of("position")
    assert of(("position", "orientation")) == of("pose")
    for row in ("x", "y", "z", "rx", "ry", "rz"):
        assert of("pose").total - of(row).total >= LEAST_SAVED[algorithm]


@pytest.mark.parametrize("row", ["x", "rz"])
def test_one_row_costs_what_it_costs_by_hand(row: str) -> None:
    robot = as_robot(chain(7))
    model, task = robot.placed_model, Task("body6", row, "local")

    def by_hand(q: Symbols) -> Symbols:
        context = Context(model, robot.conventions, {"q": q}, algorithm_of)
        L, D = ltdl(crba(context.dynamics_tree, context.q), range(-1, 6))
        tree, frame = context.dynamics_tree, model.frame("body6")
        J = frames.JACOBIANS["local"](tree, context.q, frame).J
        (r,) = task.indices(robot.conventions.order)
        y = {k: m.parts()[r] for k, m in J.items()}
        for i in reversed(range(7)):
            for j in range(i):
                y[j] = y[j] - L[i, j] * y[i]
        return sum(y[k] * (1.0 / D[k]) * y[k] for k in range(7))

    wanted = operational_inertia_inverse(task, "sfa")
    found = published_operations(program_of(wanted, robot))
    assert count(trace(by_hand, {"q": 7})).total == found.total


def test_a_frame_may_coincide_with_an_ancestor(rng: np.random.Generator) -> None:
    robot = as_robot(random_tree(8, 7, ("revolute", "prismatic")))
    q = state(robot, rng)["q"]
    tip = max(range(8), key=lambda i: len(robot.tree.support(i)))
    above, below = (robot.body_names[i] for i in robot.tree.support(tip)[-3::2])
    A, B = (value(robot, frames.pose(name), q=q) for name in (above, below))
    robot = robot.add_frame("there", below, B[:3, :3].T @ (A[:3, 3] - B[:3, 3]))
    there = value(robot, frames.pose("there"), q=q)
    assert_close(there[:3, 3], A[:3, 3])
    check(robot, (Task("there"), Task(above), Task(below, "position")), q)


def test_a_body_may_turn_about_the_origin_of_its_parent(
    rng: np.random.Generator,
) -> None:
    builder = RobotBuilder("elbow")
    link = Inertia.from_box(1.0, (0.1, 0.2, 0.3), at=(0.1, 0.05, 0.2))
    parent = "world"
    for k, at in enumerate(((0.0, 0.0, 0.4), (0.3, 0.1, 0.0), (0.0, 0.0, 0.0))):
        joint = Joint.revolute(rng.normal(size=3), name=f"joint{k}")
        parent = builder.add(Body(f"body{k}", link), parent, joint, at).name
    robot = Robot.from_description(builder.description())
    aligned = "local_world_aligned"
    tasks = (
        Task("body1", "position", aligned),
        Task("body2", "position", aligned),
        Task("body2", "rx", aligned),
    )
    for G in check(robot, tasks, state(robot, rng)["q"]).values():
        for block in (G[:3, 3:6], G[3:6, 3:6]):
            assert_close(block, G[:3, :3])  # one point, on two bodies


def test_a_robot_with_mimic_joints_has_two_algorithms(rng: np.random.Generator) -> None:
    robot = case("coupled")
    tasks = random_tasks(robot, rng, 4)
    check(robot, tasks, state(robot, rng)["q"], "sfa", "pv", "auto")
    found = [r.algorithm for r in explain_operational(robot, tasks).rows]
    assert found == ["sfa", "pv"]
    with pytest.raises(
        ArgumentError,
        match=r"algorithm 'rjk' cannot be used, because robot 'random_tree' has mimic "
        r"joints, such as 'joint\d+'; possible: 'auto', 'sfa', 'pv'",
    ):
        program_of(operational_inertia_inverse(tasks, "rjk"), robot)


def test_the_table_of_counts_reads_well() -> None:
    table = explain_operational(as_robot(chain(4)), Task("body3", "position"))
    head, columns, first, *_ = str(table).splitlines()
    assert head == "Λ⁻¹ of chain: 'body3' (position)"
    assert columns.split() == ["algorithm", "mul", "add", "div", "total", "cost"]
    assert first.split()[0] == table.chosen
    assert first.endswith("  chosen")
    assert {r.algorithm for r in table.rows} == set(ALGORITHMS)


# ------------------------------------------------------------ what is built on it

HANDS = ("left_hand", Task("right_hand", "position"))


@pytest.fixture(scope="module")
def two_hands() -> tuple[Robot, dict[str, Array]]:
    """Everything about two hands, of one fused program."""
    robot = as_robot(chang_khatib24())
    quantities = [
        operational_inertia_inverse(HANDS),
        operational_inertia(HANDS),
        dynamically_consistent_inverse(HANDS),
        null_space_projector(HANDS),
        task_jacobian(HANDS),
        task_bias(HANDS),
        task_acceleration(HANDS),
        mass_matrix,
        bias_forces,
        forward_dynamics,
    ]
    rng = np.random.default_rng(0)
    given = {
        "q": robot.random_configuration(rng, batch=2),
        "qd": rng.normal(size=(2, robot.nv)),
        "tau": 50 * rng.normal(size=(2, robot.nv)),
    }
    found = evaluate(program_of(quantities, robot), given)
    return robot, {**given, **found}


def test_lambda_inverts_its_inverse(two_hands: tuple[Robot, dict[str, Array]]) -> None:
    _, x = two_hands
    product = x["operational_inertia"] @ x["operational_inertia_inverse"]
    assert_close(product, np.broadcast_to(np.eye(9), (2, 9, 9)))


def test_the_consistent_inverse_is_one(
    two_hands: tuple[Robot, dict[str, Array]],
) -> None:
    _, x = two_hands
    J, Jbar = x["task_jacobian"], x["dynamically_consistent_inverse"]
    Jt = np.swapaxes(J, 1, 2)
    assert_close(J @ Jbar, np.broadcast_to(np.eye(9), (2, 9, 9)))
    assert_close(x["mass_matrix"] @ Jbar, Jt @ x["operational_inertia"])


def test_null_space_torques_do_not_accelerate_tasks(
    two_hands: tuple[Robot, dict[str, Array]],
) -> None:
    _, x = two_hands
    N, J = x["null_space_projector"], x["task_jacobian"]
    assert_close(N @ N, N)
    torque = np.swapaxes(N, 1, 2) @ x["tau"][..., None]
    moved = J @ np.linalg.solve(x["mass_matrix"], torque)
    free = J @ np.linalg.solve(x["mass_matrix"], x["tau"][..., None])
    assert np.abs(moved).max() < 1e-10 * np.abs(free).max()


def test_tasks_accelerate_by_torques_and_bias(
    two_hands: tuple[Robot, dict[str, Array]],
) -> None:
    _, x = two_hands
    driven = x["task_jacobian"] @ np.linalg.solve(x["mass_matrix"], x["tau"][..., None])
    assert_close(x["task_acceleration"], driven[..., 0] + x["task_bias"])


def test_task_bias_has_the_rate_of_j_and_gravity(rng: np.random.Generator) -> None:
    robot = case("floating_base")
    now = state(robot, rng)
    q, qd = now["q"], now["qd"]
    frame = robot.body_names[-1]
    for expressed_in in EXPRESSED_IN:
        task = Task(frame, "pose", expressed_in)
        J = value(robot, task_jacobian(task), q=q)
        Jdqd = frames.jacobian_dot_times_qd(frame, None, expressed_in)
        free = np.linalg.solve(
            value(robot, mass_matrix, q=q), value(robot, bias_forces, q=q, qd=qd)
        )
        expected = value(robot, Jdqd, q=q, qd=qd) - J @ free
        assert_close(value(robot, task_bias(task), q=q, qd=qd), expected)


def test_damping_is_added_to_the_inverse(rng: np.random.Generator) -> None:
    robot = as_robot(chain(4))
    tasks = (Task("body3"), Task("body2", "position"))
    q = state(robot, rng)["q"]
    G = value(robot, operational_inertia_inverse(tasks), q=q)
    damped = value(robot, operational_inertia(tasks, damping=0.1), q=q)
    assert_close(damped @ (G + 0.1 * np.eye(9)), np.eye(9))


def test_native_code_agrees(rng: np.random.Generator) -> None:
    robot = as_robot(random_tree(7, 9, ("revolute", "prismatic")))
    tasks = (Task("body6"), Task("body4", "position"))
    f = compile([operational_inertia_inverse(tasks), task_jacobian(tasks)], robot)
    q = robot.random_configuration(rng, batch=5)
    one, batch = f(q[2]), f(q)
    assert_close(one[0], by_definition(robot, tasks, q[2]))
    assert_close(batch[0][2], one[0])


# ------------------------------------------------------------ what is refused


def test_redundant_tasks_are_refused_with_rank_and_names() -> None:
    robot = as_robot(chain(4))
    with pytest.raises(
        ModelError,
        match=r"robot 'chain': tasks 'body3' \(pose\), 'body2' \(x y\) have 8 rows, "
        r"but only 4 can move independently \(the rank of J M⁻¹ Jᵀ\); request fewer "
        "rows, or pass damping=",
    ):
        program_of(operational_inertia(["body3", Task("body2", ("x", "y"))]), robot)
