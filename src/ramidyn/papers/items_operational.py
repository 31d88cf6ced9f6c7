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
from ramidyn.explain.recursion import recursion_text
from ramidyn.papers.chang_khatib import branching
from ramidyn.papers.items import (
    Check,
    Finding,
    Found,
    Item,
    agree,
    claim,
    equal,
    part,
    robot_of,
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
    return robot, q, qd, tau, [Task(f, "pose", "local") for f in HANDS]


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
    robot = two_arms()[0]
    ends = [robot.model.frame(f).body for f in HANDS]
    tree = robot.tree
    common = max(set(tree.support(ends[0])) & set(tree.support(ends[1])))
    return equal(common, tree.common_ancestor(*ends))


def _dofs(_: Found) -> Finding:
    robot = robot_of(catalog.random_tree(6, 2))
    M = robot.mass_matrix(robot.random_configuration(0))
    return agree("M symmetric, joints of all kinds", M, M.T)


def _acceleration(_: Found) -> Finding:
    robot, q, qd, tau, tasks = two_arms()
    ours = robot.task_acceleration(q, qd, tau, tasks)
    M, J, _ = matrices()
    bias = robot.task_bias(q, qd, tasks)
    return agree("ẍ = J M⁻¹ τ + β", ours, J @ np.linalg.solve(M, tau) + bias)


def _order(_: Found) -> Finding:
    def cost(n: int) -> int:
        robot = robot_of(catalog.chain(n, "plain"))
        tasks = [Task(f"body{n - 1}", "pose", "local")]
        return count(
            program_of(operational_inertia_inverse(tasks, "efpa"), robot)
        ).total

    a, b, c = (cost(n) for n in (12, 18, 24))
    return claim(
        "linear in n",
        f"{b - a} and {c - b} more for 6 joints",
        abs(c - 2 * b + a) < 0.02 * (b - a),
    )


def _asimo(_: Found) -> Finding:
    robot = robot_of(catalog.asimo())
    return equal((35, 40), (len(robot.tree), robot.nv))


def _consistent(_: Found) -> Finding:
    robot, q, _, _, tasks = two_arms()
    M, J, inverse = matrices()
    ours = robot.dynamically_consistent_inverse(q, tasks, response="propagators")
    return agree(
        "J̄ = M⁻¹ Jᵀ Λ", ours, np.linalg.solve(M, J.T) @ np.linalg.inv(inverse), 1e-7
    )


def _closed(_: Found) -> Finding:
    robot = robot_of(catalog.hmmwv())
    q = robot.assemble(robot.neutral())
    task = [Task("left_front_spindle", "position", "local")]
    ours = robot.constrained_operational_inertia_inverse(q, task)
    M, A, J = (
        robot.mass_matrix(q),
        robot.constraint_jacobian(q),
        robot.task_jacobian(q, task),
    )
    n, m = len(M), len(A)
    whole = np.block([[M, A.T], [A, np.zeros((m, m))]])
    right = np.vstack([J.T, np.zeros((m, len(J)))])
    return agree("J (q̈ with loops)", ours, J @ np.linalg.solve(whole, right)[:n], 1e-6)


def _underactuated(_: Found) -> Finding:
    robot = robot_of(catalog.humanoid30("plain"))
    joints = [j for j in robot.joint_names if robot.model.joint(j).nv == 1]
    control = OperationalSpace(robot, [Task("left_hand", "position")], actuated=joints)
    q, still = robot.random_configuration(0), np.zeros(robot.nv)
    tau = control(q, still, np.ones(3))
    return equal(0.0, float(np.abs(tau[:6]).max()))


def _share(found: Found) -> Finding:
    rows = [
        r
        for r in part(found, "2012, Figs 5 and 6").tables[0].rows
        if "SFA of EFPA" in r[0] and "rows in" in r[0]
    ]
    best = min(rows, key=lambda r: abs(float(r[2][:-1]) - 78))
    shown = ", ".join(r[2] for r in rows)
    return claim("78%", f"{shown} by the axes of the rows", best[-1] == "the same")


def _efpa_below(found: Found) -> Finding:
    one = part(found, "2012, Figs 5 and 6")
    rows = [r for r in one.tables[1].rows if "EFPA below RJK" in r[-1]]
    met = sum("EFPA below RJK: holds" in r[-1] for r in rows)
    return claim("in every case", f"{met} of {len(rows)}", met == len(rows))


def _more_joints(found: Found) -> Finding:
    one = part(found, "2012, Figs 5 and 6")
    said = [r[-1] for r in one.tables[1].rows if "EFPA below SFA" in r[-1]]
    met = sum("EFPA below SFA: holds" in x for x in said)
    less = sum("SFA less efficient than at first: holds" in x for x in said)
    return claim(
        "advantages for EFPA over SFA",
        f"EFPA below in {met} of {len(said)}, gains in {less}",
        met == len(said),
    )


def _common(found: Found) -> Finding:
    one = part(found, "2012, Figs 5 and 6")
    row = next(r for r in one.tables[1].rows if r[0].startswith("forefingers"))
    return claim(
        "a potential improvement", f"PVr at {row[5]} of EFPA", float(row[5]) < 1
    )


def _fixed_foot(found: Found) -> Finding:
    one = part(found, "2012, Figs 5 and 6")
    row = next(r for r in one.tables[1].rows if r[0] == "one foot fixed")
    return claim("RJK below EFPA", f"{row[3]} of EFPA", float(row[3]) < 1)


WENSING_ROWS: tuple[tuple[str, str, Check], ...] = (
    ("κ, c(i), ancestors, common ancestors, Eqs. 1, 2, 15", "algorithms/operational/efpa.py", _ancestors),
    ("spatial notation, joints with several freedoms", "spatial/vectors.py", _dofs),
    ("Eqs. 3 to 5, Λ⁻¹ and β", "ramidyn.task_acceleration", _acceleration),
    ("inward recursion, Eqs. 6 to 11", "algorithms/operational/efpa.py", lambda _: _inverse("efpa")),
    ("outward recursion, Eqs. 12 to 14", "algorithms/operational/efpa.py", lambda _: _inverse("efpa")),
    ("Table I, EFPA", "ramidyn.operational_inertia_inverse", lambda _: _inverse("efpa")),
    ("complexity O(N + md + m²)", "algorithms/operational/efpa.py", _order),
    ("RJK, optimized", "algorithms/operational/rjk.py", lambda _: _inverse("rjk")),
    ("SFA, Y = J L⁻¹", "algorithms/operational/sfa.py", lambda _: _inverse("sfa")),
    ("Fig. 4, ASIMO, N = 35, n = 40", "catalog/paper_robots.py", _asimo),
    ("Fig. 5, breakdown by stage", "papers/wensing_stages.py", section("Fig. 5: stage by stage", 1)),
    ("SFA is 78% of EFPA", "papers/wensing.py", _share),
    ("56% of H, 67% of J, 73% zeros", "papers/wensing.py", section("2012, Figs 5 and 6", 0, ("ASIMO", "hands and feet: zeros", "n = 70"))),
    ("Fig. 6, more joints: EFPA over SFA", "papers/wensing.py", _more_joints),
    ("EFPA below RJK in Fig. 6", "papers/wensing.py", _efpa_below),
    ("2 more arms and legs: nearly the same; RJK over +50%", "papers/wensing.py", section("2012, Figs 5 and 6", 0, "2 more arms and legs")),
    ("common support chains as an improvement", "algorithms/operational/pvr.py", _common),
    ("one foot fixed: RJK wins", "papers/wensing.py", _fixed_foot),
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
    swap = [3, 4, 5, 0, 1, 2]
    other = robot.with_conventions(Conventions(order="angular_first"))
    J, K = (r.jacobian(q, "left_hand") for r in (robot, other))
    return agree("either half first", K[swap], J)


def _propagates(_: Found) -> Finding:
    robot, q, *_rest = two_arms()
    A = robot.propagator(q, "left_hand", "trunk0")
    B = robot.propagator(q, "left_hand", "trunk3") @ robot.propagator(
        q, "trunk3", "trunk0"
    )
    return agree("propagators multiply", A, B)


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
    text = recursion_text(two_arms()[0], HANDS)
    return claim(
        "inward, then outward",
        f"{len(text.splitlines())} lines",
        "inward" in text and text.index("inward") < text.index("outward: diagonal"),
    )


def _steps_linear(found: Found) -> Finding:
    one = part(found, "section 3.3: linear growth")
    counts = [int(r[1].replace(",", "")) for r in one.tables[0].rows]
    slopes = [
        (b - a) / n for a, b, n in zip(counts, counts[1:], (12, 24, 48), strict=False)
    ]
    return claim(
        "linear",
        ", ".join(f"{s:.0f}" for s in slopes) + " a link",
        max(slopes) < 1.02 * min(slopes),
    )


def _trunk(found: Found) -> Finding:
    slopes: list[float] = []
    for title in ("section 3.3: linear growth", "section 3.3: links in the trunk"):
        counts = [int(r[1].replace(",", "")) for r in part(found, title).tables[0].rows]
        slopes.append((counts[-1] - counts[-2]) / 48)
    return claim(
        "less a link than in arms",
        f"{slopes[1]:.0f} instead of {slopes[0]:.0f}",
        slopes[1] < slopes[0],
    )


def _cubic(found: Found) -> Finding:
    one = part(found, "section 3.3: linear growth")
    last = [float(r[-1]) for r in one.tables[0].rows]
    return claim(
        "O(n³) loses", f"{last[0]} to {last[-1]} times", last[-1] > last[0] > 1
    )


def _rate(limit: float) -> Finding:
    import time  # noqa: PLC0415

    robot, q, _, _, tasks = two_arms()
    robot.operational_inertia(q, tasks)
    start = time.perf_counter()
    for _again in range(100):
        robot.operational_inertia(q, tasks)
    took = (time.perf_counter() - start) / 100
    return claim(
        f"under {limit * 1e3:.1f} ms",
        f"under {limit * 1e3:.1f} ms" if took < limit else "slower",
        took < limit,
    )


def _size(_: Found) -> Finding:
    return equal(24, len(robot_of(catalog.chang_khatib24()).tree))


def _null_space(_: Found) -> Finding:
    robot, q, _, _, tasks = two_arms()
    N = robot.null_space_projector(q, tasks)
    M, J, _inv = matrices()
    torque = N.T @ np.ones(robot.nv)
    other = N @ np.ones(robot.nv)
    coupled = [np.abs(J @ np.linalg.solve(M, t)).max() for t in (torque, other)]
    return claim(
        "no acceleration of the tasks",
        "below 1e-9" if min(coupled) < 1e-9 else "coupled",
        min(coupled) < 1e-9,
    )


def _singular(_: Found) -> Finding:
    robot, _, _, _, tasks = two_arms()
    Lam = robot.operational_inertia(robot.neutral(), tasks, damping=1e-3)
    return claim("bounded", f"{np.isfinite(Lam).all()}", bool(np.isfinite(Lam).all()))


CHANG_ROWS: tuple[tuple[str, str, Check], ...] = (
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
    ("under 1 ms", "ramidyn.operational_inertia", lambda _: _rate(1e-3)),
    ("Fig. 2, 24 links and 2 points", "catalog/paper_robots.py", _size),
    ("a servo rate of 300 Hz", "control.py", lambda _: _rate(1 / 300)),
    ("Fig. 5, a box on the floor: both hands coupled", "control.py", _coupled),
    ("posture in the null space", "ramidyn.null_space_projector", _null_space),
    ("singular configurations", "ramidyn.operational_inertia", _singular),
)  # fmt: skip

ITEMS = (
    *(Item(WENSING, *row) for row in WENSING_ROWS),
    *(Item(CHANG, *row) for row in CHANG_ROWS),
)
