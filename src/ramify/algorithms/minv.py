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
from ramify.algorithms.motion import numbers, transforms
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
        IA[i] = numbers(tree.bodies[i].inertia).articulated()
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
    for k, path in enumerate(above):
        region(f"inverse {k}")
        for j in path:
            Minv[k, j] = -_sum(L[k, i] * Minv[max(i, j), min(i, j)] for i in path)
        Minv[k, k] = ONE / D[k] - _sum(L[k, i] * Minv[k, i] for i in path)

    for c, branches in _branches(parents).items():
        trunk = (c, *above[c])
        *others, largest = sorted(branches, key=len)
        done = list(largest)
        for branch in others:
            region(f"inverse across {c}")
            W = _following(L, branch, trunk, above)
            for k in branch:
                for j in done:
                    entry = _sum(W[k, i] * Minv[j, i] for i in trunk)
                    Minv[max(k, j), min(k, j)] = entry
            done += branch
    return Minv


def _following(
    L: TreeMatrix,
    branch: Sequence[int],
    trunk: Sequence[int],
    above: Sequence[Sequence[int]],
) -> TreeMatrix:
    """Return W: how a branch follows its trunk when nothing pushes the branch itself."""
    W: TreeMatrix = {}
    for k in branch:
        between = [m for m in above[k] if m not in trunk]
        for i in trunk:
            W[k, i] = -(L[k, i] + _sum(L[k, m] * W[m, i] for m in between))
    return W


def _branches(parents: Sequence[int]) -> dict[int, list[list[int]]]:
    """Return, for every node with several children, the subtrees of its children."""
    subtrees: list[list[int]] = [[k] for k in range(len(parents))]
    found: dict[int, list[list[int]]] = {}
    for k in reversed(range(len(parents))):
        subtrees[k].sort()
        if (p := parents[k]) != ROOT:
            found.setdefault(p, []).append(list(subtrees[k]))
            subtrees[p] += subtrees[k]
    return {c: b for c, b in found.items() if len(b) > 1}


def _sum(terms: Iterable[Expr]) -> Expr:
    total = ZERO
    for t in terms:
        total = total + t
    return total
