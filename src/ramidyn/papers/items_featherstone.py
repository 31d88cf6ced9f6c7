"""Items 1 to 56: Featherstone (2005), branch-induced sparsity."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false
# ruff: noqa: N806, E501  the paper's letters; a row a line

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ramidyn import linalg
from ramidyn.algorithms.ltdl import operations
from ramidyn.catalog import paper_robots as catalog
from ramidyn.errors import ModelError
from ramidyn.explain.crba_cost import CrbaCost
from ramidyn.explain.factor_steps import factor_steps
from ramidyn.explain.shape import TreeShape, envelope, family
from ramidyn.explain.zeros import zeros_of
from ramidyn.papers.featherstone import TREE1, TREE1_EXPANDED
from ramidyn.papers.featherstone_sparsity import FIG2
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
    section,
)
from ramidyn.papers.references import REFERENCES
from ramidyn.tree.tree import depths

DOCUMENT = "Featherstone 2005, branch-induced sparsity"


class Small(NamedTuple):
    """Tree 1 as a robot, a state, and its mass matrix."""

    robot: Any
    q: Any
    qd: Any
    tau: Any
    M: Any

    @property
    def parents(self) -> tuple[int, ...]:
        """Of its degrees of freedom."""
        return self.robot.tree.dof_parents

    @property
    def pattern(self) -> Any:
        """Where M can be nonzero."""
        return linalg.sparsity_pattern(self.parents)


@cache
def small() -> Small:
    """Return Tree 1 and a state of it."""
    robot = robot_of(catalog.featherstone_tree1())
    rng = np.random.default_rng(0)
    q = robot.random_configuration(rng)
    qd, tau = rng.normal(size=(2, robot.nv))
    return Small(robot, q, qd, tau, robot.mass_matrix(q))


def _by(algorithm: str) -> Finding:
    robot, q, qd, tau, M = small()
    qdd = robot.forward_dynamics(q, qd, tau, algorithm=algorithm)
    return agree("M q̈ + c = τ", M @ qdd + robot.bias_forces(q, qd), tau)


def _nothing_between_branches(matrix: Any) -> Finding:
    off = matrix[~small().pattern]
    return claim("zeros between branches", f"{len(off)} of them", not off.any())


def _zeros_written(_: Found) -> Finding:
    robot, q, *_rest = small()
    out = np.full((robot.nv, robot.nv), np.nan)
    return _nothing_between_branches(robot.mass_matrix(q, out=out))


def _regular(_: Found) -> Finding:
    n = len(TREE1)
    order = np.random.default_rng(0).permutation(n).tolist()
    shuffled = [
        -1 if TREE1[order[k]] < 0 else order.index(TREE1[order[k]]) for k in range(n)
    ]
    found = linalg.regular_numbering(shuffled).parents
    is_regular = all(p < i for i, p in enumerate(found))
    return claim(
        "λ(i) < i", "found for a shuffled tree",
        is_regular and linalg.D2(found) == linalg.D2(TREE1),
    )  # fmt: skip


def _factor_pattern(_: Found) -> Finding:
    L = linalg.ltl(small().M, small().parents).L
    nonzeros = int(np.tril(small().pattern).sum())
    return equal(f"{nonzeros} nonzeros", f"{(L != 0).sum()} nonzeros")


def _ltl(_: Found) -> Finding:
    L = linalg.ltl(small().M, small().parents).L
    return agree("H = Lᵀ L", L.T @ L, small().M)


def _ltdl(_: Found) -> Finding:
    f = linalg.ltdl(small().M, small().parents)
    return agree("H = Lᵀ D L", f.L.T @ np.diag(f.D) @ f.L, small().M)


def _any_matrix(_: Found) -> Finding:
    parents = (-1, 0, 0, 2, 2, -1)
    H = np.random.default_rng(1).uniform(size=(6, 6)) * linalg.sparsity_pattern(parents)
    H = H + H.T + 12 * np.eye(6)
    return agree("H x = b", H @ linalg.ltdl(H, parents).solve(np.ones(6)), np.ones(6))


def _found_tree(_: Found) -> Finding:
    shuffle = np.random.default_rng(0).permutation(small().robot.nv)
    numbering = linalg.numbering_of(small().M[np.ix_(shuffle, shuffle)])
    costs = (operations(p) for p in (small().parents, numbering.parents))
    return equal(*(f"{n} operations" for n in costs))


def _refused(_: Found) -> Finding:
    H = np.array(small().M)
    H[6, 5] = H[5, 6] = 1.0
    try:
        linalg.ltdl(H, small().parents)
        said = "accepted"
    except ModelError as error:
        said = "refused" if "different branches" in str(error) else str(error)
    return equal("refused", said)


def _in_place(_: Found) -> Finding:
    H = np.array(small().M)
    upper = np.triu(H, 1)
    L = linalg.ltl(H, small().parents, overwrite=True).L
    same = np.array_equal(np.triu(H, 1), upper) and np.array_equal(np.tril(H), L)
    return claim("lower triangle only, in place", "bit by bit", same)


def _products(_: Found) -> Finding:
    f, x = linalg.ltl(small().M, small().parents), np.ones((small().robot.nv, 2))
    ours = [f.mul_L(x), f.mul_LT(x), f.solve_L(x), f.solve_LT(x)]
    inverse = np.linalg.inv(f.L)
    theirs = [f.L @ x, f.L.T @ x, inverse @ x, inverse.T @ x]
    return agree("L x, Lᵀ x, L⁻¹ x, L⁻ᵀ x", ours, theirs)


def _fills(_: Found) -> Finding:
    n, G = small().robot.nv, np.linalg.cholesky(small().M)
    filled = int((np.abs(G) > 1e-14).sum())
    return equal(f"{n * (n + 1) // 2} nonzeros", f"{filled} nonzeros")


def _compact(_: Found) -> Finding:
    packed = linalg.TreeMatrix.from_dense(small().M, small().parents)
    return agree("only nonzeros stored", packed.dense(), small().M)


def _bordered(_: Found) -> Finding:
    s = TreeShape(TREE1)
    last = int(np.flatnonzero(s.permuted.all(axis=1))[0])
    return claim("full rows last", f"row {last + 1} of {s.n}", last == s.n - 1)


def _envelope(_: Found) -> Finding:
    s = TreeShape(TREE1_EXPANDED)
    return equal(s.d1, envelope(s.permuted))


def _depths(_: Found) -> Finding:
    s = TreeShape(TREE1)
    entries = int(np.tril(s.pattern, -1).sum())
    updates = sum(len(x.updated) for x in factor_steps(TREE1))
    return equal((entries, updates), (s.d1, s.d2))


def _limits(_: Found) -> Finding:
    roots, chain = TreeShape((-1,) * 9), TreeShape(tuple(range(-1, 8)))
    ends = (roots.d1, roots.d2, chain.d1, chain.d2)
    return equal((0, 0, *chain.bounds["n"]), ends)


def _overhead(_: Found) -> Finding:
    dense = 29 * 30 // 2 + 2 * sum(k * (k + 1) // 2 for k in range(30))
    return equal(dense, operations(tuple(range(-1, 29))))


def _swarm(_: Found) -> Finding:
    def cost(arms: int) -> int:
        return operations(tuple(-1 if i % 6 == 0 else i - 1 for i in range(6 * arms)))

    return equal(10 * cost(10), cost(100))


def _families(_: Found) -> Finding:
    made = {
        ("short side branches", 8): catalog.chain_with_side_branches(8),
        ("binary tree", 7): catalog.binary_tree(7),
        ("square grid", 9): catalog.square_grid(9),
    }
    theirs = [linalg.D2(tuple(family(*of))) for of in made]
    return equal(
        theirs, [linalg.D2(robot_of(d).tree.dof_parents) for d in made.values()]
    )


def _crba(_: Found) -> Finding:
    robot, q, qd, _tau, M = small()
    forces = (robot.inverse_dynamics(q, 0 * qd, e) for e in np.eye(robot.nv))
    columns = [tau - robot.gravity_forces(q) for tau in forces]
    return agree("M eₖ = τ(q̈ = eₖ) − g", np.transpose(columns), M)


def _sums(_: Found) -> Finding:
    c = CrbaCost.of(robot_of(catalog.humanoid30()).tree)
    return equal((c.D0, c.D1), (c.D0a + c.D0b, c.D1a + c.D1b))


def _most(_: Found) -> Finding:
    # Any other choice of one child per body moves no more forces by DH transforms.
    c = CrbaCost((-1, 0, 0, 1, 2, 4, 5))
    best: dict[int, int] = {}
    for p, size in zip(c.parents, c.subtree_sizes, strict=True):
        best[p] = max(best.get(p, 0), size)
    return equal(sum(n for p, n in best.items() if p >= 0), c.D1a)


def _competitive(found: Found) -> Finding:
    rows = {r[0]: r for r in rows_of(found, "2005, Fig. 7")}
    row = rows["humanoid: by CRBA over ABA"]
    return claim(f"{row[1]} of ABA", row[4], number(row[4]) < 1.25)


def _zeros(_: Found) -> Finding:
    robot = robot_of(catalog.humanoid30("plain"))
    z = zeros_of(robot)
    M = robot.mass_matrix(robot.random_configuration(7))
    now = int((np.abs(M) < 1e-12 * np.abs(M).max()).sum())
    kinds = f"{z.branch} + {z.kinematic} + {z.inertia}, and {z.coincidental}"
    return claim(f"{now} zeros of M", kinds, z.permanent == now)


def _spanning(_: Found) -> Finding:
    robot = robot_of(catalog.hmmwv())
    q = robot.assemble(robot.neutral())
    M, J = robot.mass_matrix(q), robot.constraint_jacobian(q)
    A = linalg.augmented(M, J, robot.tree.dof_parents)
    x, _forces = A.solve(np.ones(robot.nv), np.zeros(len(J)))
    return below("J q̈ = 0", np.abs(J @ x).max() / np.abs(x).max(), 1e-7)


def _named(*names: str) -> Finding:
    cited = " ".join(text for _, text in REFERENCES.values())
    return all_of(", ".join(names), [n in cited for n in names], " cited")


def _accuracy(_: Found) -> Finding:
    from ramidyn.papers import accuracy  # noqa: PLC0415  needs SciPy

    robots = accuracy.catalog_robots().values()
    found = accuracy.medians(accuracy.Accuracy.of(r, 200) for r in robots)
    sides = [max(found["many zeros"]) < 1, min(found["few zeros"]) > 1]
    return all_of("sparse better, dense worse, as a tendency", sides, " medians")


def _thumb(_: Found) -> Finding:
    s = TreeShape(robot_of(catalog.humanoid30()).tree.dof_parents)
    ours = s.factor_cost / s.chain.factor_cost, s.solve_cost / s.chain.solve_cost
    rule = s.density**2, s.density
    printed, shown = (f"{a:.2f}, {b:.2f}" for a, b in (rule, ours))
    return claim(printed, shown, bool(np.abs(np.subtract(rule, ours)).max() < 0.05))


def _figure5(found: Found) -> Finding:
    rows = rows_of(found, "Table 2 and Fig. 5")
    return all_of("formulas of Table 2", [r[2] == r[3] for r in rows], " families")


def _growth(found: Found) -> Finding:
    shares = [number(r[-1]) for r in rows_of(found, "CRBA along the families")]
    low, high = min(shares), max(shares)
    return claim("Eq. 20", f"{low:.2f} to {high:.2f} of it", high <= 1)


ROWS: tuple[Row, ...] = (
    ("Eq. 1, forward dynamics by the inertia matrix", "quantities/equation_of_motion.py", lambda _: _by("crba")),
    ("propagation algorithm (ABA), O(n)", "algorithms/aba.py", lambda _: _by("aba")),
    ("branch-induced sparsity, Eqs. 5 and 6", "linalg.sparsity_pattern", lambda _: _nothing_between_branches(small().M)),
    ("four kinds of zeros", "explain/zeros.py", _zeros),
    ("Fig. 1, Tree 1; regular numbering, Eq. 2", "linalg.regular_numbering", _regular),
    ("parent array λ, Eq. 3", "tree/tree.py", lambda _: equal(sorted(depths(TREE1)), sorted(depths(small().robot.tree.parents)))),
    ("Fig. 2, expanded connectivity graph", "linalg.expanded_parents", lambda _: equal(FIG2, tuple(p + 1 for p in TREE1_EXPANDED))),
    ("Eq. 4, pattern of H and of L", "linalg.ltl", _factor_pattern),
    ("LTL algorithm, section 2", "linalg.ltl", _ltl),
    ("LTDL algorithm, appendix A", "linalg.ltdl", _ltdl),
    ("H need not be a mass matrix, λ no robot's", "linalg.ltdl", _any_matrix),
    ("λ of one's own matrix, in any numbering", "linalg.numbering_of", _found_tree),
    ("quick check of Eq. 6", "linalg.ltdl", _refused),
    ("in situ, lower triangle only", "linalg.ltl", _in_place),
    ("products with L and its inverse", "linalg.Factor", _products),
    ("Fig. 3, the process by regions", "explain/factor_steps.py", section("Figs. 2 and 3: the factorization row by row")),
    ("worked example, k = 7 on Tree 1", "explain/factor_steps.py", section("Figs. 2 and 3: the factorization row by row", 0)),
    ("no fill-in, by induction", "linalg.ltl", _factor_pattern),
    ("standard Cholesky fills", "linalg.sparsity_pattern", _fills),
    ("accuracy beside Cholesky", "papers/accuracy.py", _accuracy),
    ("compact storage", "linalg.TreeMatrix", _compact),
    ("section 3, reordered Cholesky, Lᵀ = R G R", "linalg.ltl", section("section 3: reordered Cholesky")),
    ("Eq. 7, nested bordered block-diagonal form", "linalg.renumbering", _bordered),
    ("envelope without zeros", "explain/shape.py", _envelope),
    ("Table 1, costs", "algorithms/ltdl.py", section("2005, Table 1")),
    ("D1 and D2, Eqs. 8 and 9", "linalg.D1", _depths),
    ("bounds, Eqs. 10 to 13", "explain/shape.py", section("bounds and rules of thumb", 0)),
    ("limits: diagonal and dense", "linalg.D2", _limits),
    ("almost no overhead on a full matrix", "linalg.ltdl", _overhead),
    ("bounded depth: a swarm is O(n)", "linalg.D2", _swarm),
    ("rule of thumb, α² and α", "explain/shape.py", _thumb),
    ("Table 2, formulas", "papers/featherstone.py", section("Table 2 and Fig. 5", 1)),
    ("Fig. 4, families of trees", "catalog/paper_robots.py", _families),
    ("Fig. 5, operations along the families", "papers/featherstone.py", _figure5),
    ("β and β², longer side branches", "explain/shape.py", section("bounds and rules of thumb", 2)),
    ("7.8, 430, 5.3 and 74 times cheaper", "papers/featherstone.py", section("Table 2 and Fig. 5", 1)),
    ("CRBA, the listing of section 5", "algorithms/crba.py", _crba),
    ("remark on initializing zeros", "quantities/mass_matrix.py", _zeros_written),
    ("Eqs. 14 to 16, D0", "explain/crba_cost.py", section("section 5: what CRBA costs", row="D0")),
    ("CRBA along the families", "papers/featherstone_sparsity.py", _growth),
    ("ra, rx, vx: 10a, 32m + 33a, 20m + 12a, ...", "spatial/inertia.py", section("rx, an inertia taken to the parent")),
    ("non-DH nodes, Eq. 17", "explain/crba_cost.py", section("section 5: what CRBA costs", row="non-DH")),
    ("Eqs. 18 to 20", "explain/crba_cost.py", section("section 5: what CRBA costs", row="D")),
    ("the DH choice that maximizes D1a", "explain/crba_cost.py", _most),
    ("D0a + D0b = D0, D1a + D1b = D1", "explain/crba_cost.py", _sums),
    ("Eq. 21, with a floating base", "explain/crba_cost.py", section("section 5: what CRBA costs", row="cost by")),
    ("Fig. 6, the humanoid: D, 48% zeros", "catalog/paper_robots.py", section("section 6: the humanoid", 0)),
    ("1258m + 1039a, 468m + 438a, 4930m + 4495a, ...", "algorithms/ltdl.py", section("section 6: the humanoid", 1, ("LTDL", "back-"))),
    ("CRBA, chain over humanoid: 2.37, 2.61", "algorithms/crba.py", section("2005, Fig. 7", row="chain over humanoid: CRBA")),
    ("RNEA, (93n − 69)m + (81n − 66)a", "algorithms/rnea.py", section("the formulas of RNEA and ABA", row="RNEA")),
    ("ABA, (224n − 30)m + (205n − 37)a", "algorithms/aba.py", section("the formulas of RNEA and ABA", row="ABA")),
    ("Fig. 7: 2.18, 2.25, 1.14, 1.17, 2.57, 2.72", "papers/featherstone_humanoid.py", section("2005, Fig. 7")),
    ("O(n³) is competitive at n = 30", "tracing/chooser.py", _competitive),
    ("closed loops by the spanning tree", "linalg.augmented", _spanning),
    ("related work: Saha, Baraff, George & Liu", "papers/references.py", lambda _: _named("Saha", "Baraff", "George")),
    ("Balafoutis' RNEA; McMillan & Orin's ABA", "papers/references.py", lambda _: _named("Balafoutis", "McMillan")),
)  # fmt: skip


ITEMS = tuple(Item(DOCUMENT, *row) for row in ROWS)
