"""Items 57 to 99: Wensing, Featherstone & Orin (2012); Chang & Khatib (2000)."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false
# ruff: noqa: N806, E501  the papers' letters; a row a line

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ramidyn.algorithms.operational.tasks import Task
from ramidyn.catalog import paper_robots as catalog
from ramidyn.compiler import program_of
from ramidyn.control import OperationalSpace
from ramidyn.description.conventions import Conventions
from ramidyn.explain.recursion import recursion_steps
from ramidyn.papers.chang_khatib import branching
from ramidyn.papers.items import (
    Finding,
    Found,
    Item,
    Row,
    agree,
    all_of,
    below,
    claim,
    equal,
    number,
    robot_of,
    rows_of,
    seconds,
    section,
)
from ramidyn.quantities.operational import operational_inertia_inverse
from ramidyn.symbolic.count import count

WENSING = "Wensing, Featherstone & Orin 2012, EFPA"
CHANG = "Chang & Khatib 2000, operational space"
HANDS = ("left_hand", "right_hand")


@cache
def two_arms() -> tuple[Any, Any, Any, Any, list[Task]]:
    """Return a robot with two arms, a state, and tasks of both hands."""
    robot = branching(16, 4)
    rng = np.random.default_rng(0)
    q = robot.random_configuration(rng)
    qd, tau = rng.normal(size=(2, robot.nv))
    return robot, q, qd, tau, hands()


def hands() -> list[Task]:
    """Return the pose of both hands."""
    return [Task(f, "pose", "local") for f in HANDS]


@cache
def matrices() -> tuple[Any, Any, Any]:
    """Return M, J and Λ⁻¹ by NumPy."""
    robot, q, _, _, tasks = two_arms()
    M, J = robot.mass_matrix(q), robot.task_jacobian(q, tasks)
    return M, J, J @ np.linalg.solve(M, J.T)


def _inverse(algorithm: str) -> Finding:
    robot, q, _, _, tasks = two_arms()
    ours = robot.operational_inertia_inverse(q, tasks, algorithm)
    return agree("Λ⁻¹ = J M⁻¹ Jᵀ", ours, matrices()[2])


def _ancestors(_: Found) -> Finding:
    tree = two_arms()[0].tree
    ends = [two_arms()[0].model.frame(f).body for f in HANDS]
    common = set.intersection(*(set(tree.support(e)) for e in ends))
    return equal(max(common), tree.common_ancestor(*ends))


def _dofs(_: Found) -> Finding:
    robot = robot_of(catalog.random_tree(6, 2))
    q, rng = robot.random_configuration(0), np.random.default_rng(0)
    qd, qdd = rng.normal(size=(2, robot.nv))
    forces = robot.mass_matrix(q) @ qdd + robot.bias_forces(q, qd)
    return agree(
        "joints of all kinds: τ = M q̈ + c", robot.inverse_dynamics(q, qd, qdd), forces
    )


def _acceleration(_: Found) -> Finding:
    robot, q, qd, tau, tasks = two_arms()
    M, J, _known = matrices()
    expected = J @ np.linalg.solve(M, tau) + robot.task_bias(q, qd, tasks)
    ours = robot.task_acceleration(q, qd, tau, tasks)
    return agree("ẍ = J M⁻¹ τ + β", ours, expected)


def _order(_: Found) -> Finding:
    def cost(n: int) -> int:
        robot = robot_of(catalog.chain(n, "plain"))
        tasks = [Task(f"body{n - 1}", "pose", "local")]
        inverse = operational_inertia_inverse(tasks, "efpa")
        return count(program_of(inverse, robot)).total

    a, b, c = (cost(n) for n in (12, 18, 24))
    shown = f"{b - a} and {c - b} more for 6 joints"
    return claim("linear in n", shown, abs(c - 2 * b + a) < 0.02 * (b - a))


def _consistent(_: Found) -> Finding:
    robot, q, _, _, tasks = two_arms()
    M, J, inverse = matrices()
    expected = np.linalg.solve(M, J.T) @ np.linalg.inv(inverse)
    ours = robot.dynamically_consistent_inverse(q, tasks, response="propagators")
    return agree("J̄ = M⁻¹ Jᵀ Λ", ours, expected, 1e-7)


def _closed(_: Found) -> Finding:
    robot = robot_of(catalog.hmmwv())
    q = robot.assemble(robot.neutral())
    task = [Task("left_front_spindle", "position", "local")]
    ours = robot.constrained_operational_inertia_inverse(q, task)
    M, A = robot.mass_matrix(q), robot.constraint_jacobian(q)
    J, m = robot.task_jacobian(q, task), len(A)
    whole = np.block([[M, A.T], [A, np.zeros((m, m))]])
    right = np.vstack([J.T, np.zeros((m, len(J)))])
    expected = J @ np.linalg.solve(whole, right)[: len(M)]
    return agree("J (q̈ with loops)", ours, expected, 1e-6)


def _underactuated(_: Found) -> Finding:
    robot = robot_of(catalog.humanoid30("plain"))
    joints = [j for j in robot.joint_names if robot.model.joint(j).nv == 1]
    control = OperationalSpace(robot, [Task("left_hand", "position")], actuated=joints)
    q, still = robot.random_configuration(0), np.zeros(robot.nv)
    free = np.abs(control(q, still, np.ones(3))[:6]).max()
    return equal("0 N at the base", f"{free:g} N at the base")


FIGURES = "2012, Figs 5 and 6"


def _share(found: Found) -> Finding:
    rows = [r for r in rows_of(found, FIGURES) if "rows in" in r[0]]
    shown = ", ".join(r[2] for r in rows) + " by the axes of the rows"
    return claim("78%", shown, any(r[-1] == "the same" for r in rows))


def _efpa_below(found: Found) -> Finding:
    said = [r[-1] for r in rows_of(found, FIGURES, 1) if "EFPA below RJK" in r[-1]]
    return all_of("in every case", ["EFPA below RJK: holds" in x for x in said])


def _below_efpa(found: Found, case: str, column: int, printed: str) -> Finding:
    (row,) = (r for r in rows_of(found, FIGURES, 1) if r[0].startswith(case))
    return claim(printed, f"{row[column]} of EFPA", number(row[column]) < 1)


WENSING_ROWS: tuple[Row, ...] = (
    ("κ, c(i), ancestors, common ancestors, Eqs. 1, 2, 15", "algorithms/operational/efpa.py", _ancestors),
    ("spatial notation, joints with several freedoms", "spatial/vectors.py", _dofs),
    ("Eqs. 3 to 5, Λ⁻¹ and β", "ramidyn.task_acceleration", _acceleration),
    ("inward recursion, Eqs. 6 to 11", "algorithms/operational/efpa.py", lambda _: _inverse("efpa")),
    ("outward recursion, Eqs. 12 to 14", "algorithms/operational/efpa.py", lambda _: _inverse("efpa")),
    ("Table I, EFPA", "ramidyn.operational_inertia_inverse", section("Table I and Fig. 4", 0, "EFPA")),
    ("complexity O(N + md + m²)", "algorithms/operational/efpa.py", _order),
    ("RJK, optimized", "algorithms/operational/rjk.py", lambda _: _inverse("rjk")),
    ("SFA, Y = J L⁻¹", "algorithms/operational/sfa.py", lambda _: _inverse("sfa")),
    ("Fig. 4, ASIMO, N = 35, n = 40", "catalog/paper_robots.py", section("Table I and Fig. 4", 0, ("bodies", "degrees"))),
    ("Fig. 5, breakdown by stage", "papers/wensing_stages.py", section("Fig. 5: stage by stage", 1)),
    ("SFA is 78% of EFPA", "papers/wensing.py", _share),
    ("56% of H, 67% of J, 73% zeros", "papers/wensing.py", section("2012, Figs 5 and 6", 0, ("ASIMO", "hands and feet: zeros", "n = 70"))),
    ("Fig. 6, more joints: EFPA over SFA", "papers/wensing.py", section("Fig. 6: how many more joints")),
    ("EFPA below RJK in Fig. 6", "papers/wensing.py", _efpa_below),
    ("2 more arms and legs: nearly the same; RJK over +50%", "papers/wensing.py", section("2012, Figs 5 and 6", 0, "2 more arms and legs")),
    ("common support chains as an improvement", "algorithms/operational/pvr.py", lambda found: _below_efpa(found, "forefingers", 5, "a potential improvement: PVr")),
    ("one foot fixed: RJK wins", "papers/wensing.py", lambda found: _below_efpa(found, "one foot fixed", 3, "RJK below EFPA")),
    ("future work: J̄ by propagators", "algorithms/operational/consistent_inverse.py", _consistent),
    ("sparse factors far ahead if J̄ is needed", "papers/wensing_stages.py", section("section VI: future work")),
    ("future work: closed chains", "ramidyn.constrained_operational_inertia_inverse", _closed),
    ("appendix, costs of operations", "papers/wensing_stages.py", section("2012, appendix")),
    ("a zero row of χ₁ᵀ saves 36m + 36a", "papers/wensing_stages.py", section("2012, appendix", row="χ Λ⁻¹_1k")),
    ("floating base, contacts, underactuation", "control.py", _underactuated),
)  # fmt: skip


# ------------------------------------------------------------ Chang & Khatib


def _conventions(_: Found) -> Finding:
    robot, q, *_rest = two_arms()
    other = robot.with_conventions(Conventions(order="angular_first"))
    J, K = (r.jacobian(q, "left_hand") for r in (robot, other))
    return agree("either half first", K[[3, 4, 5, 0, 1, 2]], J)


def _propagates(_: Found) -> Finding:
    robot, q, *_rest = two_arms()
    A, B, C = (
        robot.propagator(q, *pair)
        for pair in (("left_hand", "trunk0"), ("left_hand", "trunk3"), ("trunk3", "trunk0"))
    )  # fmt: skip
    return agree("propagators multiply", A, B @ C)


def _articulated(_: Found) -> Finding:
    robot = robot_of(catalog.humanoid30("plain"))
    q, root = robot.random_configuration(0), robot.tree.bodies[0].name
    Lam = robot.operational_inertia(q, [Task(root, "pose", "local")])
    return agree("Iᴬ of a floating base is Λ", robot.articulated_inertia(q, root), Lam)


def _inertia(_: Found) -> Finding:
    robot, q, _, _, tasks = two_arms()
    ours = robot.operational_inertia(q, tasks, "chang_khatib")
    return agree("Λ = (J M⁻¹ Jᵀ)⁻¹", ours, np.linalg.inv(matrices()[2]), 1e-6)


def _one_chain(_: Found) -> Finding:
    robot, q, _, _, tasks = two_arms()
    ours = robot.operational_inertia_inverse(q, tasks[:1], "chang_khatib")
    return agree("diagonal block", ours, matrices()[2][:6, :6])


def _coupled(_: Found) -> Finding:
    robot, q, _, _, tasks = two_arms()
    ours = robot.operational_inertia_inverse(q, tasks, "chang_khatib")
    return agree("off-diagonal block", ours[:6, 6:], matrices()[2][:6, 6:])


def _recursion(_: Found) -> Finding:
    robot, *_rest = two_arms()
    sweeps = [
        sweep.partition(":")[0] for sweep, _a, _b in recursion_steps(robot, HANDS)
    ]
    n = len(robot.tree)
    is_inward_first = sweeps[:n] == ["inward"] * n and set(sweeps[n:]) == {"outward"}
    return claim(
        "inward, then outward", f"{n} and {len(sweeps) - n} steps", is_inward_first
    )


def _slopes(found: Found, title: str) -> list[float]:
    """Return the operations that one more link takes, between sizes."""
    rows = rows_of(found, title)
    sizes, counts = ([number(r[k]) for r in rows] for k in (0, 1))
    return (np.diff(counts) / np.diff(sizes)).tolist()


LINEAR, TRUNK = "section 3.3: linear growth", "section 3.3: links in the trunk"


def _steps_linear(found: Found) -> Finding:
    slopes = _slopes(found, LINEAR)
    shown = ", ".join(f"{s:.0f}" for s in slopes) + " a link"
    return claim("linear", shown, max(slopes) < 1.02 * min(slopes))


def _trunk(found: Found) -> Finding:
    arms, trunk = (_slopes(found, title)[-1] for title in (LINEAR, TRUNK))
    shown = f"{trunk:.0f} instead of {arms:.0f}"
    return claim("less a link than in arms", shown, trunk < arms)


def _cubic(found: Found) -> Finding:
    over = [number(r[-1]) for r in rows_of(found, LINEAR)]
    shown = f"{over[0]} to {over[-1]} times"
    return claim("O(n³) loses", shown, over[-1] > over[0] > 1)


@cache
def servo() -> tuple[Any, Any, Any, Any]:
    """Return the robot of the paper, a state, and the controller of both hands."""
    robot = robot_of(catalog.chang_khatib24())
    q = robot.random_configuration(0)
    qd = np.random.default_rng(0).normal(size=robot.nv)
    return robot, q, qd, OperationalSpace(robot, hands())


def _inertia_time(_: Found) -> Finding:
    robot, q, *_rest = servo()
    took = seconds(lambda: robot.operational_inertia(q, hands()))
    return below("under 1 ms", 1e3 * took, 1, " ms")


def _servo_rate(_: Found) -> Finding:
    _robot, q, qd, control = servo()
    took = seconds(lambda: control(q, qd, np.zeros(12)))
    return below("300 Hz: 3.3 ms", 1e3 * took, 3.3, " ms")


def _null_space(_: Found) -> Finding:
    robot, q, _, _, tasks = two_arms()
    M, J, _known = matrices()
    torque = robot.null_space_projector(q, tasks).T @ np.ones(robot.nv)
    moved = np.abs(J @ np.linalg.solve(M, torque)).max()
    return below("no acceleration of the tasks", moved, 1e-9)


def _singular(_: Found) -> Finding:
    # Three joints cannot move a hand in six directions: Λ⁻¹ has rank 3.
    robot = robot_of(catalog.chain(3, "plain"))
    q, task = robot.random_configuration(0), [Task("body2", "pose", "local")]
    J, damping = robot.task_jacobian(q, task), 1e-3
    inverse = J @ np.linalg.solve(robot.mass_matrix(q), J.T) + damping * np.eye(6)
    ours = robot.operational_inertia(q, task, damping=damping)
    return agree("bounded: (Λ⁻¹ + μ)⁻¹", ours, np.linalg.inv(inverse), 1e-6)


CHANG_ROWS: tuple[Row, ...] = (
    ("unified spatial notation, Eqs. 1 to 4", "description/conventions.py", _conventions),
    ("force and acceleration propagators, Eqs. 5 to 8", "ramidyn.propagator", _propagates),
    ("articulated inertia, Eq. 9", "ramidyn.articulated_inertia", _articulated),
    ("Ω and Λ of one chain, Eqs. 10 to 12", "ramidyn.operational_inertia", _one_chain),
    ("extended Λ, Eqs. 13 to 16", "ramidyn.operational_inertia", _inertia),
    ("coupling of ends, Eqs. 17 to 21", "ramidyn.operational_inertia_inverse", _coupled),
    ("force propagation, Eqs. 22 and 23", "algorithms/operational/rjk.py", lambda _: _inverse("rjk")),
    ("off-diagonal blocks, Eqs. 24 to 28", "algorithms/operational/chang_khatib.py", _coupled),
    ("Table 1, six steps", "algorithms/operational/chang_khatib.py", lambda _: _inverse("chang_khatib")),
    ("Fig. 4, the recursion as a picture", "explain/recursion.py", _recursion),
    ("O(n), O(m²n), O(m³) of the steps", "papers/chang_khatib.py", _steps_linear),
    ("against the O(n³) method", "papers/chang_khatib.py", _cubic),
    ("links in the trunk: steps 1 to 3 only", "papers/chang_khatib.py", _trunk),
    ("under 1 ms", "ramidyn.operational_inertia", _inertia_time),
    ("Fig. 2, 24 links and 2 points", "catalog/paper_robots.py", section("Figs. 2 and 5: a box on the floor", 0, ("links", "operational"))),
    ("a servo rate of 300 Hz", "control.py", _servo_rate),
    ("Fig. 5, a box on the floor: both hands coupled", "control.py", section("Figs. 2 and 5: a box on the floor", 0, ("hands", "the box"))),
    ("posture in the null space", "ramidyn.null_space_projector", _null_space),
    ("singular configurations", "ramidyn.operational_inertia", _singular),
)  # fmt: skip

ITEMS = (
    *(Item(WENSING, *row) for row in WENSING_ROWS),
    *(Item(CHANG, *row) for row in CHANG_ROWS),
)
