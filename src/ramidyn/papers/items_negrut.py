"""Items 100 to 145: Negrut, Serban & Potra (1997); Featherstone's notes."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false
# ruff: noqa: N806, E501  the papers' letters; a row a line

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ramidyn import linalg
from ramidyn.algorithms.block_cholesky import block_cholesky, blocks_of
from ramidyn.catalog import paper_robots as catalog
from ramidyn.compiler import program_of
from ramidyn.explain.closed_loops import ClosedLoops, explain_loops
from ramidyn.explain.counts import traced
from ramidyn.explain.shape import TreeShape
from ramidyn.linalg import branches
from ramidyn.linalg.branches import plan_of
from ramidyn.linalg.pattern import pattern_from
from ramidyn.papers.featherstone import entries_of
from ramidyn.papers.items import (
    Check,
    Finding,
    Found,
    Item,
    agree,
    claim,
    equal,
    explained,
    part,
    robot_of,
    section,
)
from ramidyn.papers.operation_counts import count_of
from ramidyn.quantities.dynamics import inverse_dynamics
from ramidyn.simplify.passes import simplify
from ramidyn.spatial import Motion, RigidInertia, Transform
from ramidyn.symbolic.count import count

NEGRUT = "Negrut, Serban & Potra 1997, joint formulation"
NOTES = "Featherstone's notes, efficient implementation"


@cache
def vehicle() -> tuple[Any, Any, Any, Any, Any, Any]:
    """Return the vehicle, a consistent state, M and J."""
    robot = robot_of(catalog.hmmwv())
    q = robot.assemble(robot.neutral())
    rng = np.random.default_rng(0)
    tau = rng.normal(size=robot.nv)
    return (
        robot,
        q,
        np.zeros(robot.nv),
        tau,
        robot.mass_matrix(q),
        robot.constraint_jacobian(q),
    )


@cache
def loops() -> ClosedLoops:
    """Return its loops, explained."""
    return explain_loops(vehicle()[0])


def _kinematics(_: Found) -> Finding:
    robot, q, *_rest = vehicle()
    rng = np.random.default_rng(1)
    qd = rng.normal(size=robot.nv)
    v = robot.jacobian(q, "right_front_spindle") @ qd
    return agree(
        "v = J q̇, body by body", robot.velocity(q, qd, "right_front_spindle"), v
    )


def _energy(_: Found) -> Finding:
    robot, q, _, _, M, _J = vehicle()
    qd = np.random.default_rng(2).normal(size=robot.nv)
    return agree("T = ½ q̇ᵀ M q̇", robot.kinetic_energy(q, qd), qd @ M @ qd / 2)


def _state_vectors(_: Found) -> Finding:
    # Ŷ of a body is its spatial velocity in world axes at the origin; Ŷ_i − Ŷ_p = B q̇.
    robot, q, *_rest = vehicle()
    qd = np.random.default_rng(3).normal(size=robot.nv)
    body, parent = "right_front_spindle", "right_front_upper_arm"
    v = [robot.velocity(q, qd, name, "world") for name in (body, parent)]
    J = [robot.jacobian(q, name, "world") for name in (body, parent)]
    own = robot.tree.dofs[[b.name for b in robot.tree.bodies].index(body)]
    B = (J[0] - J[1])[:, list(own)]
    return agree("Ŷ_i = Ŷ_p + B_i q̇_i", v[0] - v[1], B @ qd[list(own)])


def _newton_euler(_: Found) -> Finding:
    tree = robot_of(catalog.chain(4))
    q = tree.random_configuration(0)
    qd, qdd = np.random.default_rng(0).normal(size=(2, 4))
    forces = tree.inverse_dynamics(q, qd, qdd)
    return agree(
        "τ = M q̈ + c", forces, tree.mass_matrix(q) @ qdd + tree.bias_forces(q, qd)
    )


def _composite(_: Found) -> Finding:
    robot, q, *_rest = vehicle()
    return agree(
        "by body frames and root frame",
        robot.mass_matrix(q, algorithm="crba_root"),
        robot.mass_matrix(q, algorithm="crba"),
    )


def _augmented(_: Found) -> Finding:
    robot, q, qd, tau, _M, J = vehicle()
    qdd = robot.forward_dynamics(q, qd, tau)
    bias = robot.constraint_bias(q, qd)
    return agree("J q̈ = −γ", 1.0 + J @ qdd + bias, np.ones(len(J)), 1e-6)


def _symmetric(_: Found) -> Finding:
    M = vehicle()[4]
    return agree("M = Mᵀ", M, M.T)


def _zero_blocks(_: Found) -> Finding:
    robot, *_rest, M, _J = vehicle()
    off = ~linalg.sparsity_pattern(robot.tree.dof_parents)
    return equal(0, int((np.abs(M[off]) > 1e-12 * np.abs(M).max()).sum()))


def _definite(_: Found) -> Finding:
    least = float(np.linalg.eigvalsh(vehicle()[4])[0])
    return claim("positive definite", "smallest eigenvalue > 0", least > 0)


def _factored(_: Found) -> Finding:
    robot, _, _, tau, M, J = vehicle()
    x, lam = linalg.augmented(M, J, robot.tree.dof_parents).solve(tau, np.zeros(len(J)))
    whole = np.block([[M, J.T], [J, np.zeros((len(J), len(J)))]])
    b = np.concatenate([tau, np.zeros(len(J))])
    return agree(
        "[M Jᵀ; J 0], Eqs. 23, 24",
        1.0 + whole @ np.concatenate([x, lam]) - b,
        np.ones(len(b)),
        1e-6,
    )


def _renumbered(_: Found) -> Finding:
    robot, *_rest, M, _J = vehicle()
    order = list(linalg.renumbering(robot.tree.dof_parents))
    G = np.linalg.cholesky(M[np.ix_(order, order)])
    s = TreeShape(robot.tree.dof_parents)
    filled = int((G != 0).sum())
    return claim(
        f"at most {s.d1 + s.n} entries",
        "no fill-in" if filled <= s.d1 + s.n else f"{filled}",
        filled <= s.d1 + s.n,
    )


def _no_fill(_: Found) -> Finding:
    robot, *_rest = vehicle()
    tree = robot.tree

    def run(x: Any) -> None:
        block_cholesky(
            blocks_of(entries_of(tree.dof_parents, x), tree.dofs, tree.parents),
            tree.parents,
        )

    return equal(975, count_of(run).add)


def _lemma3(_: Found) -> Finding:
    robot, *_rest, M, J = vehicle()
    T = linalg.augmented(M, J, robot.tree.dof_parents).T
    found = loops()
    outside = sum(
        bool(T[k, r] != 0)
        for r, row in enumerate(found.reached)
        for k in range(robot.nv)
        if k not in row
    )
    return equal(0, outside)


def _algorithm(_: Found) -> Finding:
    robot, q, qd, tau, *_rest = vehicle()
    a, b = (
        robot.forward_dynamics(q, qd, tau, algorithm=x)
        for x in ("joint_formulation", "loopwise")
    )
    return agree("two algorithms", a, b, 1e-6)


def _branches(_: Found) -> Finding:
    limbs = [p for k in range(4) for p in (5, *range(6 + 500 * k, 505 + 500 * k))]
    plan = plan_of(pattern_from((*range(-1, 5), *limbs)), 2)
    return claim(
        "branches are independent",
        "2 threads" if plan is not None else "1",
        plan is not None,
    )


def _substitution(_: Found) -> Finding:
    limbs = [p for k in range(4) for p in (3, *range(4 + 30 * k, 33 + 30 * k))]
    parents = (-1, 0, 1, 2, *limbs)
    n = len(parents)
    H = 0.1 * linalg.sparsity_pattern(parents) + n * np.eye(n)
    bar = branches.LEAST_SOLVE_WORK
    branches.LEAST_SOLVE_WORK = 0
    try:
        branches.solve_plan_of.cache_clear()
        x = linalg.ltdl(H, parents).solve(np.ones(n), threads=2)
    finally:
        branches.LEAST_SOLVE_WORK = bar
        branches.solve_plan_of.cache_clear()
    return agree("forward and backward in parallel", H @ x, np.ones(n))


def _graph(_: Found) -> Finding:
    f = loops()
    return equal((14, 8, 16), (len(f.edges), len(f.cuts), f.m))


def _mobility(_: Found) -> Finding:
    robot = vehicle()[0]
    found = robot.mobility()
    return equal(
        (43, 11),
        (
            robot.nv + loops().m,
            found.degrees_of_freedom
            if hasattr(found, "degrees_of_freedom")
            else robot.nv - loops().m,
        ),
    )


def _times(found: Found) -> Finding:
    one = part(found, "Table 4: times")
    shares = {r[0]: float(r[3]) for r in one.tables[0].rows if r[3] != "-"}
    return claim(
        "Alg-S below Gauss",
        f"{shares['Alg-S']:.2f} of its operations",
        shares["Alg-S"] < 1,
    )


def _profile(found: Found) -> Finding:
    one = next(
        s for t, s in found.items() if t.endswith("Table 5: where the time goes")
    )
    gaps = [abs(int(r[2][:-1]) - int(r[3][:-1])) for r in one.tables[0].rows]
    return claim("shares of steps", f"within {max(gaps)} points", max(gaps) <= 10)


def _larger(_: Found) -> Finding:
    bodies = len(robot_of(catalog.tractor_semitrailer()).tree)
    return claim("larger than 14 bodies", f"{bodies} bodies", bodies > 14)


def _partition(_: Found) -> Finding:
    robot, q, qd, *_rest = vehicle()
    run = robot.simulate(
        q, qd, np.zeros(robot.nv), 1e-3, duration=0.01, stabilize="partition"
    )
    residual = np.abs(robot.constraint_residual(run.q[-1])).max()
    return claim(
        "constraints kept",
        "below 1e-8 m" if residual < 1e-8 else f"{residual:.0e}",
        residual < 1e-8,
    )


def _stabilized(_: Found) -> Finding:
    robot, q, qd, *_rest = vehicle()
    ends = [
        robot.simulate(q, qd, np.zeros(robot.nv), 1e-3, duration=0.01, stabilize=s).q[
            -1
        ]
        for s in ("project", "baumgarte")
    ]
    return agree("project and Baumgarte", ends[0], ends[1], 1e-4)


def _realtime(_: Found) -> Finding:
    import time  # noqa: PLC0415

    robot = robot_of(catalog.hmmwv(suspension=True))
    q = robot.assemble(robot.neutral())
    zero = np.zeros(robot.nv)
    robot.forward_dynamics(q, zero, zero)
    start = time.perf_counter()
    for _again in range(100):
        robot.forward_dynamics(q, zero, zero)
    took = (time.perf_counter() - start) / 100
    return claim(
        "a 1 ms step in real time",
        "under 1 ms" if took < 1e-3 else "slower",
        took < 1e-3,
    )


def _joints(_: Found) -> Finding:
    kinds = {c.type for c in loops().cuts} | {e[2] for e in loops().edges}
    return claim(
        "R, T, S, D",
        ", ".join(sorted(kinds)),
        {"spherical", "distance", "revolute"} <= kinds,
    )


def _overhead(found: Found) -> Finding:
    one = next(
        s for t, s in found.items() if t.endswith("Table 3: the dense algorithm")
    )
    sums = {r[0]: int(r[2].replace(",", "")) for r in one.tables[1].rows}
    ours = sums["ours, the same algorithm"] / sums["Alg-D, ours"]
    return claim("0.26 of Alg-D's M", f"{ours:.2f}", ours < 0.3)


def _loopwise(_: Found) -> Finding:
    f = loops()
    return claim(
        "-",
        f"{f.loopwise.total / f.steps['Total'].total:.2f} of Alg-S",
        f.loopwise.total < f.steps["Total"].total,
    )


NEGRUT_ROWS: tuple[tuple[str, str, Check], ...] = (
    ("Eqs. 1 to 3, relative kinematics", "algorithms/kinematics.py", _kinematics),
    ("Eqs. 4 to 7, state vectors Ŷ, B, D, T, R", "algorithms/crba.py", _state_vectors),
    ("Eqs. 8 to 11, Newton-Euler", "algorithms/rnea.py", _newton_euler),
    ("Eqs. 12 to 16, composite K and L", "algorithms/crba.py", _composite),
    ("Eq. 17, augmented system", "ramidyn.forward_dynamics", _augmented),
    ("Eq. 18, composite inertia matrix", "ramidyn.mass_matrix", _symmetric),
    ("Lemma 1 and Corollary 1", "linalg.sparsity_pattern", _zero_blocks),
    ("Theorem, Eqs. 19 to 22: positive definite", "tree/singular.py", _definite),
    ("Corollary 2, kinetic energy", "ramidyn.kinetic_energy", _energy),
    ("Eqs. 23 and 24, factoring A", "linalg.augmented", _factored),
    ("Lemma 2, renumbering", "linalg.renumbering", _renumbered),
    ("no fill-in of block Cholesky", "algorithms/block_cholesky.py", _no_fill),
    ("Lemma 3, zeros of T", "linalg.augmented", _lemma3),
    ("algorithm of section 4.3, remarks 1 to 4", "algorithms/loops/joint_formulation.py", _algorithm),
    ("section 5, Lemma 4 and Corollary 3: branches in parallel", "linalg/branches.py", _branches),
    ("section 5, parallel substitution", "linalg.Factor", _substitution),
    ("Figs. 3 and 4, graph, spanning tree, cuts, renumbering", "explain/closed_loops.py", _graph),
    ("43 = 27 + 16, 11 degrees of freedom", "mechanism/mobility.py", _mobility),
    ("Table 1, Gauss", "papers/negrut_solvers.py", section("Table 1: Gaussian elimination")),
    ("Table 2, Alg-S", "papers/negrut.py", explained("Table 2: the sparse algorithm")),
    ("Table 3, Alg-D", "papers/negrut_solvers.py", explained("Table 3: the dense algorithm")),
    ("Table 4, times", "papers/negrut.py", _times),
    ("Table 5, profile", "explain/closed_loops.py", _profile),
    ("LDLᵀ without roots", "linalg.ltdl", lambda _: equal(0, loops().steps["Total"].sqrt)),
    ("a hard-coded version by a preprocessing tool", "compiler.py", _algorithm),
    ("larger models", "catalog/vehicle.py", _larger),
    ("coordinate partitioning, explicit integrator", "algorithms/loops/partition.py", _partition),
    ("stabilization of constraints", "simulation/simulate.py", _stabilized),
    ("real-time vehicle", "catalog/vehicle.py", _realtime),
    ("R, T, S, D joints; cut joints", "algorithms/loops/cuts.py", _joints),
    ("sparsity overhead, Alg-S against Alg-D", "papers/negrut.py", _overhead),
    ("loop by loop, beyond the paper", "algorithms/loops/loopwise.py", _loopwise),
)  # fmt: skip


# ------------------------------------------------------------ Featherstone's notes


def _numbers(found: Found, name: str) -> Finding:
    one = next(
        s for t, s in found.items() if t.endswith("6x6 matrices or compact classes")
    )
    row = next(r for r in one.tables[0].rows if r[0] == name)
    return equal(row[2], row[3])


def _compact(found: Found) -> Finding:
    one = next(
        s for t, s in found.items() if t.endswith("6x6 matrices or compact classes")
    )

    def total(cost: str) -> int:
        return sum(int(part.rstrip("ma")) for part in cost.split(" + "))

    less = sum(total(r[3]) <= total(r[1]) for r in one.tables[1].rows)
    return claim(
        "compact is cheaper",
        f"{less} of {len(one.tables[1].rows)} operations",
        less == len(one.tables[1].rows),
    )


def _typed(_: Found) -> Finding:
    try:
        Motion.of(np.ones(6)) + RigidInertia.zero()  # type: ignore[operator]
        said = "accepted"
    except TypeError:
        said = "refused"
    return equal("refused", said)


def _invapply(_: Found) -> Finding:
    X = Transform.of(np.eye(3), np.array([1.0, 2.0, 3.0]))
    m = Motion.of(np.arange(6.0))
    there = X.invapply(X @ m)
    return agree("X⁻¹ X m = m", [float(e.value) for e in there.parts()], np.arange(6.0))


def _regrouped(_: Found) -> Finding:
    robot = robot_of(catalog.chain(3))
    other = robot.regrouped().robot
    q, qd, qdd = np.random.default_rng(0).normal(size=(3, 3))
    return agree(
        "the same equation of motion",
        other.inverse_dynamics(q, qd, qdd),
        robot.inverse_dynamics(q, qd, qdd),
    )


def _massless(_: Found) -> Finding:
    found = robot_of(catalog.asimo()).regrouped()
    return claim(
        "most bodies",
        f"{len(found.massless)} of {found.bodies}",
        len(found.massless) > found.bodies / 2,
    )


def _design(_: Found) -> Finding:
    robot = robot_of(catalog.chain(3))
    other = robot.regrouped().robot
    return claim(
        "new parameters are shown",
        f"{sum(other.masses.values()):.3g} kg of {sum(robot.masses.values()):.3g}",
        other.masses != robot.masses,
    )


def _savings(found: Found) -> Finding:
    one = part(found, "masses regrouped")
    inside, _, rest = one.after.partition(" of ")
    return claim(
        "10% to 20%",
        one.after.split(" savings")[0],
        int(inside) * 2 > int(rest.split()[0]),
    )


def _after_regrouping(_: Found) -> Finding:
    robot = robot_of(catalog.chain(4))
    ops = count(simplify(program_of(inverse_dynamics, robot))).total
    plain = count(
        simplify(traced(inverse_dynamics, robot.placed_model, robot.conventions, False))
    ).total
    return claim("simplifies better", f"{ops} instead of {plain}", ops < plain)


def _custom(_: Found) -> Finding:
    robot = robot_of(catalog.chain(2))
    text = program_of(inverse_dynamics, robot)
    return claim(
        "code of one robot", f"{count(text).total} operations", count(text).total > 0
    )


def _right_angle(found: Found) -> Finding:
    one = next(
        s for t, s in found.items() if t.endswith("6x6 matrices or compact classes")
    )
    words = one.after
    return claim(
        "9m + 6a to 0m + 0a",
        "both" if "9m + 6a" in words else words,
        "9m + 6a as a matrix and 0m + 0a" in words,
    )


def _parameters(_: Found) -> Finding:
    import ramidyn  # noqa: PLC0415  the public function

    robot = robot_of(catalog.chain(2))
    f = ramidyn.compile(ramidyn.inverse_dynamics, robot, parameters=["gravity"])
    q = np.ones(2)
    ours = f(q, q, q, np.array([0.0, 0.0, -9.81]))
    return agree("gravity as an input", ours, robot.inverse_dynamics(q, q, q))


def _pipeline(_: Found) -> Finding:
    program = simplify(program_of(inverse_dynamics, robot_of(catalog.chain(2))))
    straight = all(e.op != "call" for e in program.order)
    return claim("a list of assignments", f"{len(program.order)} of them", straight)


def _product(_: Found) -> Finding:
    n, m, k = 3, 4, 5
    found = count_of(lambda x: [[sum_of(x, m) for _ in range(k)] for _ in range(n)])
    return equal((n * m * k, n * (m - 1) * k), (found.mul, found.add))


def sum_of(x: Any, m: int) -> Any:
    """Return an inner product of m unknown numbers."""
    total = x * x
    for _ in range(m - 1):
        total = total + x * x
    return total


NOTES_ROWS: tuple[tuple[str, str, Check], ...] = (
    ("cost of a product, lmn m + l(m − 1)n a", "papers/notes.py", _product),
    ("classes: transforms of 12 numbers, inertias of 10", "spatial/transform.py", lambda found: _numbers(found, "Transform")),
    ("6x6 matrices against compact classes", "spatial/inertia.py", _compact),
    ("type sensitivity", "spatial/vectors.py", _typed),
    ("invapply without an inverse", "spatial/transform.py", _invapply),
    ("a simpler model, the same equation of motion", "tree/parameters.py", _regrouped),
    ("point masses, tips to root: most bodies without mass", "tree/parameters.py", _massless),
    ("zero masses save 10% to 20%", "papers/notes.py", _savings),
    ("the designer sees an equivalent design", "tree/equivalent_design.py", _design),
    ("better simplification after it", "simplify/passes.py", _after_regrouping),
    ("symbolic simplification to custom code", "compiler.py", _custom),
    ("a rotation by π/2 folds away", "papers/notes.py", _right_angle),
    ("a subset of parameters as inputs", "tree/parameters.py", _parameters),
    ("model, executer, assignments, simplifier, generator", "symbolic/program.py", _pipeline),
)  # fmt: skip

ITEMS = (
    *(Item(NEGRUT, *row) for row in NEGRUT_ROWS),
    *(Item(NOTES, *row) for row in NOTES_ROWS),
)
