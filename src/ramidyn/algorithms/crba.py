"""The mass matrix by the composite-rigid-body algorithm (RBDA §6.2).

M_ij = S_iᵀ Ic_i S_j  along the tree, 0 between branches

X[i]   transform, p to i         Ic[i]  inertia of i and all beyond it, as one body
S[i]   joint motion basis        F      force that moves that body along S_i
"""

from __future__ import annotations

from ramidyn.algorithms.body_motion import joint_columns, transforms
from ramidyn.algorithms.sweeps import inward, label_value
from ramidyn.coordinates.coordinates import JointVector
from ramidyn.spatial.inertia import RigidInertia
from ramidyn.symbolic.expr import Expr
from ramidyn.tree.tree import ROOT, Tree

TreeEntries = dict[tuple[int, int], Expr]
"""Entries (i, j) by degrees of freedom of the tree, j = i or an ancestor of i."""


def crba(tree: Tree, q: JointVector) -> TreeEntries:
    """Return the lower triangle of M along the tree."""
    X, S = transforms(tree, q), joint_columns(tree)
    Ic = {ROOT: RigidInertia.zero()}
    for i, _ in tree:
        Ic[i] = tree.bodies[i].rigid_inertia()
    M: TreeEntries = {}

    # Tips to root: composite inertia of each subtree, then its rows of M.
    for i, p in inward(tree, "composite inertia", Ic=Ic):
        Ic[p] = Ic[p] + X[i].back(Ic[i])
        for row, (k, s) in enumerate(zip(tree.dofs[i], S[i], strict=True)):
            F = Ic[i] @ s
            label_value("F", tree.name(i), F)
            for column in range(row + 1):
                M[k, tree.dofs[i][column]] = F.dot(S[i][column])
            M[k, k] = M[k, k] + tree.bodies[i].joint.armature
            child = i
            for j in tree.ancestors(i):
                F = X[child].back(F)
                for column, t in zip(tree.dofs[j], S[j], strict=True):
                    M[k, column] = F.dot(t)
                child = j
    return M
