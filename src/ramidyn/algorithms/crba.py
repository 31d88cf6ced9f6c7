"""The mass matrix by the composite-rigid-body algorithm (RBDA §6.2).

M_ij = S_iᵀ Ic_i S_j  along the tree, 0 between branches

X[i]   transform, p to i         Ic[i]  inertia of i and all beyond it, as one body
S[i]   joint motion basis        F      force that moves that body along S_i

`crba` carries F through every body below. `crba_root` takes S_j and F to the frame of
the root body directly, and each entry of M is one product there. Long chains gain: an
entry costs a few operations instead of a transform. Negrut, Serban & Potra (1997) work
in one global frame throughout: their composite K_i is Ic seen from there.

Rows of joints that share a coordinate are added up as soon as they meet (`clusters`):
their row is that of the degree of freedom of the first, the leader.

R, p   axes and origin of body i in the root body's frame
"""

from __future__ import annotations

from ramidyn.algorithms.clusters import (
    Clusters,
    add_entry,
    blocks_of,
    mimic_clusters,
)
from ramidyn.algorithms.kinematics import (
    joint_columns,
    root_name,
    root_poses,
    seen_force,
    seen_motion,
    transforms,
)
from ramidyn.algorithms.ltdl import TreeEntries
from ramidyn.algorithms.sweeps import inward, label_value, outward
from ramidyn.coordinates.coordinates import JointVector
from ramidyn.spatial.inertia import RigidInertia
from ramidyn.spatial.transform import Transform
from ramidyn.spatial.vectors import Force, Motion
from ramidyn.tree.tree import ROOT, Tree


def crba(tree: Tree, q: JointVector, clusters: Clusters | None = None) -> TreeEntries:
    """Return the lower triangle of M along the tree.

    Without ``clusters``, joints that share coordinates are the tree's mimic joints.
    """
    X, S = transforms(tree, q), joint_columns(tree)
    Ic = {ROOT: RigidInertia.zero(), **rigid_inertias(tree)}
    clusters = clusters or mimic_clusters(tree)
    shared: dict[int, dict[int, Force]] = {i: {} for i in range(ROOT, len(tree))}
    M: TreeEntries = {}

    # Tips to root: composite inertia of each subtree, then its rows of M.
    for i, p in inward(tree, "composite inertia", Ic=Ic):
        Ic[p] = Ic[p] + X[i].back(Ic[i])
        for row, (k, s) in enumerate(zip(tree.dofs[i], S[i], strict=True)):
            F = Ic[i] @ s
            label_value("F", tree.name(i), F)
            # Forces of coordinates that joints beyond share, and maybe this one.
            for y, f in shared[i].items():
                for z, g in clusters.coordinates(k).items():
                    x = f.dot(s) * g
                    add_entry(M, max(y, z), min(y, z), x + x if y == z else x)
            if k in clusters.G:
                own = F.dot(s) + tree.bodies[i].joint.armature
                for y, g in clusters.G[k].items():
                    for z, h in clusters.G[k].items():
                        if z <= y:
                            add_entry(M, y, z, own * g * h)
                    shared[i][y] = shared[i].get(y, Force.zero()) + F * g
                continue
            for column in range(row + 1):
                M[k, tree.dofs[i][column]] = F.dot(S[i][column])
            M[k, k] = M[k, k] + tree.bodies[i].joint.armature
            child = i
            for j in tree.ancestors(i):
                F = X[child].back(F)
                for column, t in zip(tree.dofs[j], S[j], strict=True):
                    for z, g in clusters.coordinates(column).items():
                        add_entry(M, max(k, z), min(k, z), F.dot(t) * g)
                child = j
        for y, f in shared[i].items():
            shared[p][y] = shared[p].get(y, Force.zero()) + X[i].back(f)
    return M


def crba_root(tree: Tree, q: JointVector) -> TreeEntries:
    """Return the lower triangle of M along the tree, by products in the root frame."""
    X = transforms(tree, q)
    Ic = composite_inertias(tree, X, rigid_inertias(tree))
    poses = root_poses(tree, X)
    clusters = mimic_clusters(tree)
    blocks = blocks_of(tree, clusters)
    S: dict[int, Motion] = {}
    F: dict[int, Force] = {}
    M: TreeEntries = {}
    for i, _ in outward(tree, "mass matrix"):
        R, p = poses[i]
        joint, columns = tree.bodies[i].joint, tree.bodies[i].columns()
        root = root_name(tree, i)
        for row, (k, s) in enumerate(zip(tree.dofs[i], columns, strict=True)):
            S[k] = seen_motion(R, p, s, root)
            F[k] = Ic[i] @ s
            for column in range(row):
                M[k, tree.dofs[i][column]] = F[k].dot(columns[column])
            for y, g in clusters.coordinates(k).items():
                add_entry(M, y, y, (F[k].dot(s) + joint.armature) * g * g)
            F[k] = seen_force(R, p, F[k], root)
            for b in blocks.get(k, ()):
                s_z = clusters.weighted(b.z, b.above, S)
                x = s_z.dot(clusters.weighted(b.y, b.below, F))
                pair = max(b.y, b.z), min(b.y, b.z)
                add_entry(M, *pair, x + x if b.y == b.z else x)
    return M


def rigid_inertias(tree: Tree) -> dict[int, RigidInertia]:
    """Return the inertia of each body alone."""
    return {i: b.rigid_inertia() for i, b in enumerate(tree.bodies)}


def composite_inertias(
    tree: Tree, X: dict[int, Transform], alone: dict[int, RigidInertia]
) -> dict[int, RigidInertia]:
    """Return Ic for all bodies and for the world."""
    Ic = {ROOT: RigidInertia.zero(), **alone}
    for i, p in inward(tree, "composite inertia"):
        Ic[p] = Ic[p] + X[i].back(Ic[i])
    return Ic
