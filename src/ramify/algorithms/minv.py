"""The inverse of the mass matrix, in two ways.

By articulated bodies (Carpentier & Mansard 2018): the response of every joint to a unit
force at each other one, all columns in one inward and one outward sweep.

    F[j]  bias force of column j at the body      a[j]  acceleration of column j

By the factor M = Lᵀ D L (Featherstone 2005): L M⁻¹ = D⁻¹ L⁻ᵀ, whose right side is zero
at (k, j) unless k is j or an ancestor of j. So along the tree, and for the diagonal,

    M⁻¹_kj = [k = j] / D_k − Σ L_ki M⁻¹_ij         over the ancestors i of k

and where k and j are on different branches beyond c, it is enough to know how k
follows the trunk up to c when nothing pushes its own branch: x_k = Σ W_ki x_i.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ramify.algorithms.aba import over, unit_index
from ramify.algorithms.crba import TreeMatrix
from ramify.algorithms.ltdl import Diagonal
from ramify.algorithms.motion import transforms
from ramify.model.coordinates import JointVector
from ramify.model.tree import ROOT, Tree, ancestors
from ramify.spatial.inertia import ArticulatedInertia
from ramify.spatial.vector3 import ONE, ZERO
from ramify.spatial.vectors import Force, Motion
from ramify.symbolic.expr import Expr, region


def minv_aba(tree: Tree, q: JointVector) -> TreeMatrix:
    """Return M⁻¹ over the tree's degrees of freedom: entries (i, j) with j ≤ i."""
    X = transforms(tree, q)
    S = {i: b.joint.columns() for i, b in enumerate(tree.bodies)}
    IA = {ROOT: ArticulatedInertia.zero()}
    F: dict[int, dict[int, Force]] = {ROOT: {}}
    a: dict[int, dict[int, Motion]] = {ROOT: {}}
    Ud: dict[int, Force] = {}
    u: dict[int, dict[int, Expr]] = {}
    for i, _ in tree:
        IA[i] = tree.bodies[i].rigid_inertia().articulated()
        F[i] = {}

    # Tips to root: articulated inertias, and the columns of all beyond.
    for i, p in reversed(tree):
        region(f"articulated inertia {tree.bodies[i].name}")
        armature = tree.bodies[i].joint.armature
        Ia = IA[i]
        for k, s in reversed(tuple(zip(tree.dofs[i], S[i], strict=True))):
            U = Ia @ s
            D = s.dot(U) + armature
            Ud[k] = over(U, D)
            Ia = Ia.minus_outer(U, Ud[k])
            if armature == 0.0 and (e := unit_index(s)) is not None:
                Ia = Ia.without(e)
            u[k] = {j: -(s.dot(f)) / D for j, f in F[i].items()}
            F[i] = {j: f + U * u[k][j] for j, f in F[i].items()}
            u[k][k], F[i][k] = ONE / D, Ud[k]
        IA[p] = IA[p] + X[i].back(Ia)
        for j, f in F[i].items():
            F[p][j] = F[p].get(j, Force.zero()) + X[i].back(f)

    # Root to tips: accelerations of the columns from here on; the rest is symmetric.
    Minv: TreeMatrix = {}
    for i, p in tree:
        region(f"inverse {tree.bodies[i].name}")
        first = tree.dofs[i][0]
        a[i] = {j: X[i] @ m for j, m in a[p].items() if j >= first}
        for k, s in zip(tree.dofs[i], S[i], strict=True):
            for j in {**a[i], **u[k]}:
                if j >= k:
                    m = a[i].get(j, Motion.zero())
                    Minv[j, k] = u[k].get(j, ZERO) - Ud[k].dot(m)
                    a[i][j] = m + s * Minv[j, k]
    return Minv


def minv_ltdl(L: TreeMatrix, D: Diagonal, parents: Sequence[int]) -> TreeMatrix:
    """Return M⁻¹ of M = Lᵀ D L: entries (i, j) with j ≤ i."""
    Minv: TreeMatrix = {}
    above = [tuple(ancestors(parents, k)) for k in range(len(parents))]
    branches = _branches(parents)
    W: dict[int, dict[int, dict[int, Expr]]] = {}

    # Along the tree: row k from those of its ancestors, by the shortest rule at hand.
    for k, path in enumerate(above):
        region(f"inverse {k}")
        W[k] = _following(k, L, W, above, branches)
        whole = {i: -L[k, i] for i in path}
        for j in path:
            rule = next((w for w in W[k].values() if j in w), whole)
            Minv[k, j] = _sum(x * Minv[max(i, j), min(i, j)] for i, x in rule.items())
        Minv[k, k] = ONE / D[k] - _sum(L[k, i] * Minv[k, i] for i in path)

    # Between branches: every one but the largest follows the trunk.
    for c, (largest, *others) in branches.items():
        done = largest
        for branch in others:
            region(f"inverse across {c}")
            for k in branch:
                for j in done:
                    entry = _sum(x * Minv[j, i] for i, x in W[k][c].items())
                    Minv[max(k, j), min(k, j)] = entry
            done = done + branch
    return Minv


def _following(
    k: int,
    L: TreeMatrix,
    W: dict[int, dict[int, dict[int, Expr]]],
    above: Sequence[Sequence[int]],
    branches: dict[int, list[list[int]]],
) -> dict[int, dict[int, Expr]]:
    """Return W_k for every trunk that k follows, the shortest trunk first."""
    found: dict[int, dict[int, Expr]] = {}
    rule = {i: -L[k, i] for i in above[k]}
    for c in above[k]:
        if c in branches and k not in branches[c][0]:
            trunk = (c, *above[c])
            between = [m for m in rule if m not in trunk]
            rule = {
                i: rule[i] + _sum(rule[m] * W[m][c][i] for m in between) for i in trunk
            }
            found[c] = rule
    return dict(reversed(found.items()))


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


def _sum(terms: Iterable[Expr]) -> Expr:
    total = ZERO
    for t in terms:
        total = total + t
    return total
