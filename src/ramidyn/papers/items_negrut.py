"""Items 100 to 145: Negrut, Serban & Potra (1997); Featherstone's notes."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false
# ruff: noqa: N806, E501  the papers' letters; a row a line

from __future__ import annotations

import re
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ramidyn import linalg
from ramidyn.catalog import paper_robots as catalog
from ramidyn.compiler import program_of
from ramidyn.explain.closed_loops import ClosedLoops, explain_loops
from ramidyn.explain.counts import traced
from ramidyn.explain.shape import TreeShape
from ramidyn.linalg.branches import plan_of, solve_plan_of
from ramidyn.linalg.pattern import pattern_from
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
    explained,
    number,
    part,
    robot_of,
    rows_of,
    seconds,
    section,
)
from ramidyn.papers.negrut import comb
from ramidyn.papers.operation_counts import count_of
from ramidyn.quantities.dynamics import inverse_dynamics
from ramidyn.simplify.passes import simplify
from ramidyn.spatial import Motion, RigidInertia, Transform
from ramidyn.symbolic.count import count
from ramidyn.symbolic.interpreter import evaluate

NEGRUT = "Negrut, Serban & Potra 1997, joint formulation"
NOTES = "Featherstone's notes, efficient implementation"


class Vehicle(NamedTuple):
    """The vehicle, a consistent state, M and J."""

    robot: Any
    q: Any
    qd: Any
    tau: Any
    M: Any
    J: Any

    @property
    def parents(self) -> tuple[int, ...]:
        """Of its degrees of freedom."""
        return self.robot.tree.dof_parents


@cache
def vehicle() -> Vehicle:
    """Return the vehicle in a state with closed loops."""
    robot = robot_of(catalog.hmmwv())
    q = robot.assemble(robot.neutral())
    qd, tau = np.random.default_rng(0).normal(size=(2, robot.nv))
    return Vehicle(
        robot, q, qd, tau, robot.mass_matrix(q), robot.constraint_jacobian(q)
    )


@cache
def loops() -> ClosedLoops:
    """Return its loops, explained."""
    return explain_loops(vehicle().robot)


SPINDLE, ARM = "right_front_spindle", "right_front_upper_arm"


def _kinematics(_: Found) -> Finding:
    robot, q, qd, *_rest = vehicle()
    v = robot.jacobian(q, SPINDLE) @ qd
    return agree("v = J q̇, body by body", robot.velocity(q, qd, SPINDLE), v)


def _energy(_: Found) -> Finding:
    robot, q, qd, _tau, M, _J = vehicle()
    return agree("T = ½ q̇ᵀ M q̇", robot.kinetic_energy(q, qd), qd @ M @ qd / 2)


def _state_vectors(_: Found) -> Finding:
    # Ŷ of a body is its spatial velocity in world axes at the origin; Ŷ_i − Ŷ_p = B q̇.
    robot, q, qd, *_rest = vehicle()
    v, u = (robot.velocity(q, qd, name, "world") for name in (SPINDLE, ARM))
    J, K = (robot.jacobian(q, name, "world") for name in (SPINDLE, ARM))
    own = list(robot.tree.dofs[[b.name for b in robot.tree.bodies].index(SPINDLE)])
    return agree("Ŷ_i = Ŷ_p + B_i q̇_i", v - u, (J - K)[:, own] @ qd[own])


def _newton_euler(_: Found) -> Finding:
    tree = robot_of(catalog.chain(4))
    q = tree.random_configuration(0)
    qd, qdd = np.random.default_rng(0).normal(size=(2, 4))
    expected = tree.mass_matrix(q) @ qdd + tree.bias_forces(q, qd)
    return agree("τ = M q̈ + c", tree.inverse_dynamics(q, qd, qdd), expected)


def _composite(_: Found) -> Finding:
    robot, q, *_rest = vehicle()
    both = (robot.mass_matrix(q, algorithm=a) for a in ("crba_root", "crba"))
    return agree("by body frames and root frame", *both)


def _augmented(_: Found) -> Finding:
    robot, q, qd, tau, _M, J = vehicle()
    still = 0 * qd
    qdd, bias = robot.forward_dynamics(q, still, tau), robot.constraint_bias(q, still)
    return below("J q̈ = −γ", np.abs(J @ qdd + bias).max() / np.abs(qdd).max(), 1e-6)


def _from_energy(_: Found) -> Finding:
    # Mᵢⱼ = T(eᵢ + eⱼ) − T(eᵢ) − T(eⱼ): energies come from velocities, not from M.
    robot, q, *_rest, M, _J = vehicle()
    unit, many = np.eye(robot.nv), np.tile(q, (robot.nv, 1))
    own = robot.kinetic_energy(many, unit)
    pairs = [robot.kinetic_energy(many, unit + e) for e in unit]
    return agree("T = ½ q̇ᵀ M q̇ for all pairs", pairs - own - own[:, None], M)


def _zero_blocks(_: Found) -> Finding:
    M, off = vehicle().M, ~linalg.sparsity_pattern(vehicle().parents)
    return below("zero blocks", np.abs(M[off]).max() / np.abs(M).max(), 1e-12)


def _definite(_: Found) -> Finding:
    least = float(np.linalg.eigvalsh(vehicle().M)[0])
    return claim("positive definite", "smallest eigenvalue > 0", least > 0)


def _factored(_: Found) -> Finding:
    _robot, _q, _qd, tau, M, J = vehicle()
    m = len(J)
    ours = np.concatenate(
        linalg.augmented(M, J, vehicle().parents).solve(tau, np.zeros(m))
    )
    whole = np.block([[M, J.T], [J, np.zeros((m, m))]])
    right = np.concatenate([tau, np.zeros(m)])
    return agree("[M Jᵀ; J 0] x = b", ours, np.linalg.solve(whole, right), 1e-6)


def _renumbered(_: Found) -> Finding:
    order = list(linalg.renumbering(vehicle().parents))
    filled = int((np.linalg.cholesky(vehicle().M[np.ix_(order, order)]) != 0).sum())
    s = TreeShape(vehicle().parents)
    shown = "no fill-in" if filled <= s.d1 + s.n else f"{filled}"
    return claim(f"at most {s.d1 + s.n} entries", shown, filled <= s.d1 + s.n)


def _no_fill(found: Found) -> Finding:
    row = rows_of(found, "Table 2: the sparse algorithm")[0]
    printed, ours = row[1].split(" / ")
    return equal(f"{printed} A", f"{ours} A")


def _lemma3(_: Found) -> Finding:
    T = linalg.augmented(vehicle().M, vehicle().J, vehicle().parents).T
    reached = np.zeros(T.shape, dtype=bool)
    for r, row in enumerate(loops().reached):
        reached[list(row), r] = True
    zeros = f"{(~reached).sum()} zeros of T"
    return claim("zeros beyond ancestors", zeros, not T[~reached].any())


def _algorithm(_: Found) -> Finding:
    robot, q, qd, tau, *_rest = vehicle()
    a, b = (
        robot.forward_dynamics(q, 0 * qd, tau, algorithm=x)
        for x in ("joint_formulation", "loopwise")
    )
    return agree("two algorithms", a, b, 1e-6)


def _branches(_: Found) -> Finding:
    parents = comb(6, 4, 500)
    H = linalg.TreeMatrix.from_dense(_tree_matrix(parents), parents)
    assert plan_of(pattern_from(parents), 2) is not None  # large enough to be divided
    shared, whole = (linalg.ltdl(H, threads=n).rows() for n in (2, 1))
    return agree("branches are independent", shared, whole)


def _tree_matrix(parents: tuple[int, ...]) -> Any:
    n = len(parents)
    return 0.1 * linalg.sparsity_pattern(parents) + n * np.eye(n)


def _substitution(_: Found) -> Finding:
    parents, columns = comb(6, 4, 500), 200
    H = _tree_matrix(parents)
    factor, b = linalg.ltdl(H, parents), np.ones((len(parents), columns))
    assert solve_plan_of(factor.pattern, 2, columns) is not None
    return agree("forward and backward in parallel", H @ factor.solve(b, threads=2), b)


def _graph(_: Found) -> Finding:
    f = loops()
    ours = len(f.edges), len(f.cuts), f.m
    shown = ("14 bodies, 8 cuts, 16 rows", "{} bodies, {} cuts, {} rows".format(*ours))
    return equal(*shown)


def _mobility(_: Found) -> Finding:
    found = vehicle().robot.mobility()
    return equal((43, 11), (vehicle().robot.nv + found.rows, found.mobility))


def _times(found: Found) -> Finding:
    rows = {r[0]: r for r in rows_of(found, "Table 4: times")}
    share = rows["Alg-S"][3]
    return claim("Alg-S below Gauss", f"{share} of its operations", number(share) < 1)


def _profile(found: Found) -> Finding:
    rows = rows_of(found, "Table 5: where the time goes")
    gap = max(abs(number(r[2]) - number(r[3])) for r in rows)
    return claim("shares of steps", f"within {gap:.0f} points", gap <= 10)


def _larger(found: Found) -> Finding:
    bodies = len(robot_of(catalog.tractor_semitrailer()).tree)
    rows = {r[0]: r for r in rows_of(found, "section 5: branches in parallel")}
    truck, car = (number(rows[n][-1]) for n in ("tractor with semi-trailer", "HMMWV"))
    shown = f"{bodies} bodies; {truck} times on threads at most, not {car}"
    return claim("larger models: more parallelism", shown, bodies > 14 and truck > car)


def _simulated(stabilize: str) -> Any:
    robot, q, qd, *_rest = vehicle()
    zero = 0 * qd
    return robot.simulate(q, zero, zero, 1e-3, duration=0.01, stabilize=stabilize).q[-1]


def _partition(_: Found) -> Finding:
    residual = vehicle().robot.constraint_residual(_simulated("partition"))
    return below("constraints kept", np.abs(residual).max(), 1e-8, " m")


def _stabilized(_: Found) -> Finding:
    a, b = (_simulated(s) for s in ("project", "baumgarte"))
    return agree("project and Baumgarte", a, b, 1e-4)


def _realtime(_: Found) -> Finding:
    robot, n = robot_of(catalog.hmmwv(suspension=True, tires=True)), 200
    rolling = np.array([22.0 * ("axle" in j) for j in robot.joint_names])
    qd = np.repeat(rolling, [robot.joint(j).nv for j in robot.joint_names])
    qd[0] = 10.0  # m/s
    how = {"integrator": "rk4", "stabilize": "partition", "dt": 1e-3, "steps": n}
    took = seconds(lambda: robot.rollout(robot.neutral(), qd, **how), 1) / n
    return below("a step of 1 ms in real time", 1e3 * took, 1, " ms")


def _joints(_: Found) -> Finding:
    kinds = {c.type for c in loops().cuts} | {e[2] for e in loops().edges}
    wanted = {"spherical", "distance", "revolute", "prismatic"}
    return claim("R, T, S, D", ", ".join(sorted(kinds)), wanted <= kinds)


def _overhead(found: Found) -> Finding:
    rows = {r[0]: r for r in rows_of(found, "Table 3: the dense algorithm", 1)}

    def share(sparse: str, dense: str) -> float:
        return number(rows[sparse][2]) / number(rows[dense][2])

    printed = share("Alg-S, sparse, printed", "Alg-D, dense, printed")
    ours = share("ours, LᵀDL", "Alg-D, ours")
    return claim(f"{printed:.2f} of Alg-D's M", f"{ours:.2f}", ours < 0.3)


def _loopwise(_: Found) -> Finding:
    share = loops().loopwise.total / loops().steps["Total"].total
    return claim("-", f"{share:.2f} of Alg-S", share < 1)


NEGRUT_ROWS: tuple[Row, ...] = (
    ("Eqs. 1 to 3, relative kinematics", "algorithms/kinematics.py", _kinematics),
    ("Eqs. 4 to 7, state vectors Ŷ, B, D, T, R", "algorithms/crba.py", _state_vectors),
    ("Eqs. 8 to 11, Newton-Euler", "algorithms/rnea.py", _newton_euler),
    ("Eqs. 12 to 16, composite K and L", "algorithms/crba.py", _composite),
    ("Eq. 17, augmented system", "ramidyn.forward_dynamics", _augmented),
    ("Eq. 18, composite inertia matrix", "ramidyn.mass_matrix", _from_energy),
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
    ("LDLᵀ without roots", "linalg.ltdl", lambda _: equal("0 roots", f"{loops().steps['Total'].sqrt} roots")),
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


COMPACT = "6x6 matrices or compact classes"


def _numbers(found: Found) -> Finding:
    rows = {r[0]: r for r in rows_of(found, COMPACT)}
    printed, ours = (
        tuple(int(rows[name][k]) for name in ("Transform", "RigidInertia"))
        for k in (2, 3)
    )
    return equal(printed, ours)


def _compact(found: Found) -> Finding:
    def total(cost: str) -> int:
        return sum(int(term.rstrip("ma")) for term in cost.split(" + "))

    rows = rows_of(found, COMPACT, 1)
    cheaper = [total(r[3]) <= total(r[1]) for r in rows]
    return all_of("compact is cheaper", cheaper, " operations")


def _typed(_: Found) -> Finding:
    try:
        Motion.of(np.ones(6)) + RigidInertia.zero()  # type: ignore[operator]
        said = "accepted"
    except TypeError:
        said = "refused"
    return equal("refused", said)


def _invapply(_: Found) -> Finding:
    turn = np.array([[0.0, 1.0, 0.0], [-0.6, 0.0, 0.8], [0.8, 0.0, 0.6]])
    X = Transform.of(turn, np.array([1.0, 2.0, 3.0]))
    there = X.invapply(X @ Motion.of(np.arange(6.0)))
    return agree("X⁻¹ X m = m", [float(e.value) for e in there.parts()], np.arange(6.0))


def _regrouped(_: Found) -> Finding:
    robot = robot_of(catalog.chain(3))
    state = np.random.default_rng(0).normal(size=(3, 3))
    both = (r.inverse_dynamics(*state) for r in (robot.regrouped().robot, robot))
    return agree("the same equation of motion", *both)


def _massless(_: Found) -> Finding:
    found = robot_of(catalog.asimo()).regrouped()
    shown = f"{len(found.massless)} of {found.bodies}"
    return claim("most bodies", shown, len(found.massless) > found.bodies / 2)


def _design(_: Found) -> Finding:
    robot = robot_of(catalog.chain(3))
    other = robot.regrouped().robot
    old, new = (sum(r.masses.values()) for r in (robot, other))
    shown = f"{new:.3g} kg of {old:.3g}"
    return claim("new parameters are shown", shown, other.masses != robot.masses)


def _savings(found: Found) -> Finding:
    after = part(found, "masses regrouped").after
    percent = [int(x) for x in re.findall(r"(\d+)% of", after)]
    is_met = all(10 <= x <= 20 for x in percent)
    return claim("around 10% to 20%", after.partition(". ")[0].lower(), is_met)


def _after_regrouping(_: Found) -> Finding:
    robot = robot_of(catalog.chain(4))
    after, before = (
        count(simplify(traced(inverse_dynamics, robot.placed_model, robot.conventions, x)))
        for x in (True, False)
    )  # fmt: skip
    shown = f"{after.total} instead of {before.total}"
    return claim("simplifies better", shown, after.total < before.total)


def _custom(_: Found) -> Finding:
    plain, general = (
        count(simplify(program_of(inverse_dynamics, robot_of(catalog.chain(4, of)))))
        for of in ("plain", "general")
    )
    shown = f"{plain.total} of {general.total} operations for right angles"
    return claim("code of one robot", shown, plain.total < general.total)


def _right_angle(found: Found) -> Finding:
    costs = re.findall(r"\d+m \+ \d+a", part(found, COMPACT).after)
    return equal("9m + 6a to 0m + 0a", " to ".join(costs))


def _parameters(_: Found) -> Finding:
    import ramidyn  # noqa: PLC0415  the public function

    robot, q = robot_of(catalog.chain(2)), np.ones(2)
    f = ramidyn.compile(ramidyn.inverse_dynamics, robot, parameters=["gravity"])
    ours = f(q, q, q, np.array([0.0, 0.0, -9.81]))
    return agree("gravity as an input", ours, robot.inverse_dynamics(q, q, q))


def _pipeline(_: Found) -> Finding:
    robot, one = robot_of(catalog.chain(2)), np.ones(2)
    program = simplify(program_of(inverse_dynamics, robot))
    inputs: dict[str, Any] = dict.fromkeys(("q", "qd", "qdd"), one)
    (forces,) = evaluate(program, inputs).values()
    return agree(
        f"{len(program.order)} assignments, interpreted",
        forces,
        robot.inverse_dynamics(one, one, one),
    )


def _product(_: Found) -> Finding:
    n, m, k = 3, 4, 5

    def run(x: Any) -> Any:
        return np.full((n, m), x, dtype=object) @ np.full((m, k), x, dtype=object)

    found = count_of(run)
    return equal((n * m * k, n * (m - 1) * k), (found.mul, found.add))


NOTES_ROWS: tuple[Row, ...] = (
    ("cost of a product, lmn m + l(m − 1)n a", "papers/notes.py", _product),
    ("classes: transforms of 12 numbers, inertias of 10", "spatial/transform.py", _numbers),
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
