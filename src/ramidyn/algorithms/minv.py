"""Two algorithms for the inverse of the mass matrix.

By articulated bodies (Carpentier & Mansard 2018): the response of every joint to a unit
force at each other one, all columns in one inward and one outward sweep.

    F[j]  bias force of column j at the body      a[j]  acceleration of column j

By the factor M = Lᵀ D L (Featherstone 2005): L M⁻¹ = D⁻¹ L⁻ᵀ, whose right side is zero
at (k, j) unless k is j or an ancestor of j. So along the tree, and for the diagonal,

    M⁻¹_kj = [k = j] / D_k − Σ L_ki M⁻¹_ij         over the ancestors i of k

and where k and j are on different branches beyond c, it is enough to know how k
follows the trunk, c and its ancestors, when nothing pushes its own branch: the rows of
L x = 0 beyond c say

    x_k = −Σ L_ki x_i      over all ancestors i of k
        =  Σ W_ki x_i      over the trunk

W has as many entries as the trunk is long, however far out k is.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from ramidyn.algorithms.articulated import Column, last_first, rigid_bodies
from ramidyn.algorithms.kinematics import joint_columns, transforms
from ramidyn.algorithms.ltdl import Diagonal, TreeEntries
from ramidyn.algorithms.sweeps import inward, outward
from ramidyn.coordinates.coordinates import JointVector
from ramidyn.spatial.vector3 import ONE, ZERO
from ramidyn.spatial.vectors import Force, Motion
from ramidyn.symbolic.dense import total
from ramidyn.symbolic.expr import Expr, region
from ramidyn.tree.tree import ROOT, Tree, ancestors

Rules = dict[int, dict[int, Expr]]
"""W_k, by where its trunk ends"""


def minv_aba(tree: Tree, q: JointVector) -> TreeEntries:
    """Return M⁻¹ over the tree's degrees of freedom: entries (i, j) with j ≤ i."""
    X, S, IA = transforms(tree, q), joint_columns(tree), rigid_bodies(tree)
    F: dict[int, dict[int, Force]] = {i: {} for i in range(ROOT, len(tree))}
    a: dict[int, dict[int, Motion]] = {ROOT: {}}
    Ud: dict[int, Force] = {}
    u: dict[int, dict[int, Expr]] = {}

    # Tips to root: articulated inertias, and the columns of all beyond.
    for i, p in inward(tree, "articulated inertia", IA=IA):
        Ia = IA[i]
        for n, s in last_first(S[i]):
            dof, k = Column.of(tree.bodies[i], n, s, Ia), tree.dofs[i][n]
            Ia = dof.eliminated(Ia)
            u[k] = {j: -(s.dot(f)) / dof.D for j, f in F[i].items()}
            F[i] = {j: f + dof.U * u[k][j] for j, f in F[i].items()}
            u[k][k], F[i][k], Ud[k] = ONE / dof.D, dof.Ud, dof.Ud
        IA[p] = IA[p] + X[i].back(Ia)
        for j, f in F[i].items():
            F[p][j] = F[p].get(j, Force.zero()) + X[i].back(f)

    # Root to tips: accelerations of the columns from here on; the rest is symmetric.
    Minv: TreeEntries = {}
    for i, p in outward(tree, "inverse"):
        first = tree.dofs[i][0]
        a[i] = {j: X[i] @ m for j, m in a[p].items() if j >= first}
        for k, s in zip(tree.dofs[i], S[i], strict=True):
            for j in {**a[i], **u[k]}:
                if j >= k:
                    m = a[i].get(j, Motion.zero())
                    Minv[j, k] = u[k].get(j, ZERO) - Ud[k].dot(m)
                    a[i][j] = m + s * Minv[j, k]
    return Minv


def minv_ltdl(L: TreeEntries, D: Diagonal, parents: Sequence[int]) -> TreeEntries:
    """Return M⁻¹ of M = Lᵀ D L: entries (i, j) with j ≤ i."""
    Minv: TreeEntries = {}
    above = [tuple(ancestors(parents, k)) for k in range(len(parents))]
    branches = _branches(parents)
    W: dict[int, Rules] = {}

    # Along the tree: row k from those of its ancestors, by the shortest rule at hand.
    for k, path in enumerate(above):
        region(f"inverse {k}")
        # Of a node with several branches, all but the largest follow.
        trunks = [c for c in path if c in branches and k not in branches[c][0]]
        W[k] = dict(reversed(following_rules(k, L, above, trunks, W).items()))
        whole = {i: -L[k, i] for i in path}
        for j in path:
            rule = next((w for w in W[k].values() if j in w), whole)
            Minv[k, j] = total(x * Minv[max(i, j), min(i, j)] for i, x in rule.items())
        Minv[k, k] = ONE / D[k] - total(L[k, i] * Minv[k, i] for i in path)

    # Between branches: every one but the largest follows the trunk.
    for c, (largest, *others) in branches.items():
        done = largest
        for branch in others:
            region(f"inverse across {c}")
            for k in branch:
                for j in done:
                    entry = total(x * Minv[j, i] for i, x in W[k][c].items())
                    Minv[max(k, j), min(k, j)] = entry
            done = done + branch
    return Minv


def following_rules(
    k: int,
    L: TreeEntries,
    above: Sequence[Sequence[int]],
    trunks: Container[int],
    W: Mapping[int, Rules],
) -> Rules:
    """Return W_k of those ancestors of k that are in ``trunks``, nearest first.

    Args:
        k: a joint.
        L: the factor.
        above: the ancestors of each joint, its parent first.
        trunks: where trunks end.
        W: the rules of the joints between k and those places.
    """
    found: Rules = {}
    rule = {i: -L[k, i] for i in above[k]}
    for c in above[k]:
        if c in trunks:
            trunk = (c, *above[c])
            between = [m for m in rule if m not in trunk]
            rule = {
                i: rule[i] + total(rule[m] * W[m][c][i] for m in between) for i in trunk
            }
            found[c] = rule
    return found


def _branches(parents: Sequence[int]) -> dict[int, list[list[int]]]:
    """Return the subtrees of the children of nodes with several, the largest first."""
    subtrees: list[list[int]] = [[k] for k in range(len(parents))]
    found: dict[int, list[list[int]]] = {}
    for k in reversed(range(len(parents))):
        subtrees[k].sort()
        if (p := parents[k]) != ROOT:
            found.setdefault(p, []).append(list(subtrees[k]))
            subtrees[p] += subtrees[k]
    return {c: sorted(b, key=len, reverse=True) for c, b in found.items() if len(b) > 1}
