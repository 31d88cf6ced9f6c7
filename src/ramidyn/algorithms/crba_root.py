"""The mass matrix, with all forces expressed at the root.

    M_ij = S_jᵀ F_i,    F_i = Ic_i S_i,    both in coordinates of the tree's root body

CRBA carries the force F_i through every body below; here S_j and F_i go to the root
body's frame directly, and each entry of M is one product there. Long chains gain: an
entry costs a few operations instead of a transform. See `crba` for Ic and S.

    R, p  axes and origin of body i in the root body's frame
"""

from __future__ import annotations

from ramidyn.algorithms.body_motion import transforms
from ramidyn.algorithms.crba import TreeEntries
from ramidyn.algorithms.kinematics import root_name, root_poses, seen_force, seen_motion
from ramidyn.algorithms.momentum import composite_inertias, rigid_inertias
from ramidyn.algorithms.sweeps import outward
from ramidyn.coordinates.coordinates import JointVector
from ramidyn.spatial.vectors import Motion
from ramidyn.tree.tree import Tree


def crba_root(tree: Tree, q: JointVector) -> TreeEntries:
    """Return the lower triangle of M along the tree."""
    X = transforms(tree, q)
    Ic = composite_inertias(tree, X, rigid_inertias(tree))
    poses = root_poses(tree, X)
    S: dict[int, Motion] = {}
    M: TreeEntries = {}
    for i, _ in outward(tree, "mass matrix"):
        R, p = poses[i]
        joint, columns = tree.bodies[i].joint, tree.bodies[i].columns()
        root = root_name(tree, i)
        for row, (k, s) in enumerate(zip(tree.dofs[i], columns, strict=True)):
            S[k] = seen_motion(R, p, s, root)
            F = Ic[i] @ s
            for column in range(row + 1):
                M[k, tree.dofs[i][column]] = F.dot(columns[column])
            M[k, k] = M[k, k] + joint.armature
            F = seen_force(R, p, F, root)
            for b in tree.ancestors(i):
                for j in tree.dofs[b]:
                    M[k, j] = S[j].dot(F)
    return M
