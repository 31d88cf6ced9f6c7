"""Inverse dynamics and energies as linear functions of the bodies' inertias.

    τ = Y(q, q̇, q̈) π        T = y_T(q, q̇) · π        V = y_V(q) · π

The ten parameters π of a body are m, h = m c, then Ixx Ixy Iyy Ixz Iyz Izz about the
origin of its frame, in its axes. With B = ẇ× + w× w×, and a as the acceleration of the
origin, the force on a body has along a motion s = (ω, u) the power

    m u · a  +  h · (Bᵀ u + a × ω)  +  ω · (I ẇ + w × I w)

Row k of Y has, for each body, the power along column S_k of the joints before it
(Atkeson, An & Hollerbach 1986). Joints that share a coordinate have one row, that of
their leader (`clusters`).

    X[i]  transform, p to i           s[i]  columns S of i and the joints before it
    motion[i]  w, ẇ, B, and the classical acceleration a of the origin, gravity included
    v[i]  velocity                    g[i]  gravity, in body axes
    V[i]  potential of a unit mass at the origin
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

from ramidyn.algorithms.clusters import mimic_clusters
from ramidyn.algorithms.kinematics import (
    BodyMotion,
    centripetal,
    frame_transform,
    joint_motion,
    spatial_velocities,
    transforms,
)
from ramidyn.algorithms.sweeps import outward
from ramidyn.coordinates.coordinates import JointVector
from ramidyn.spatial.vector3 import ZERO, Vec
from ramidyn.spatial.vectors import Motion
from ramidyn.symbolic.expr import Expr
from ramidyn.tree.frames import position
from ramidyn.tree.model import Frame
from ramidyn.tree.tree import ROOT, Tree

Ten = tuple[Expr, ...]
"""the factors of a body's parameters"""


def regressor(
    tree: Tree,
    q: JointVector,
    qd: JointVector,
    qdd: JointVector,
    gravity: Vec,
    frames: Sequence[Frame],
) -> list[dict[int, Ten]]:
    """Return, for each frame, its blocks of Y that are not zero, by row."""
    X, clusters = transforms(tree, q), mimic_clusters(tree)
    motion = {ROOT: BodyMotion.of_world(gravity)}
    s: dict[int, dict[int, Motion]] = {ROOT: {}}
    for i, p in outward(tree, "regressor", motion=motion):
        S = tree.bodies[i].columns()
        vJ, aJ = joint_motion(S, qd[i]), joint_motion(S, qdd[i])
        motion[i] = motion[p].beyond(X[i], vJ, aJ)
        s[i] = {k: X[i] @ column for k, column in s[p].items()}
        for k, column in zip(tree.dofs[i], S, strict=True):
            for y, g in clusters.coordinates(k).items():
                s[i][y] = s[i].get(y, Motion.zero()) + column * g

    Y: list[dict[int, Ten]] = []
    for frame in frames:
        i, X_frame = frame.body, frame_transform(tree, frame)
        force = _Force(motion[i].beyond(X_frame))
        Y.append({k: force.power(X_frame @ column) for k, column in s[i].items()})
    return Y


@final
class _Force:
    """The force on a moving body, as a function of its inertia."""

    def __init__(self, motion: BodyMotion) -> None:
        w, wd, self.a, B = motion
        W, self.B = centripetal(w), B
        # I ẇ + w × I w, for each entry of I alone.
        self.couples = (
            Vec((wd[0], W[0][2], -W[0][1])),
            Vec((-B[2][0], B[2][1], W[0][0] - W[1][1])),
            Vec((-W[1][2], wd[1], W[0][1])),
            Vec((B[1][0], W[2][2] - W[0][0], -B[1][2])),
            Vec((W[1][1] - W[2][2], -B[0][1], B[0][2])),
            Vec((W[1][2], -W[0][2], wd[2])),
        )

    def power(self, s: Motion) -> Ten:
        """Return the power of the force along s, per parameter."""
        h = self.B.T @ s.v + self.a.cross(s.w)
        return (s.v.dot(self.a), *h, *(n.dot(s.w) for n in self.couples))


def kinetic_regressor(
    tree: Tree, q: JointVector, qd: JointVector, frames: Sequence[Frame]
) -> list[Ten]:
    """Return the factors of the kinetic energy, for each frame."""
    v = spatial_velocities(tree, q, qd, "kinetic energy")
    rows: list[Ten] = []
    for frame in frames:
        m = frame_transform(tree, frame) @ v[frame.body]
        x, y, z = m.w
        half = m.w * 0.5
        turning = (half[0] * x, x * y, half[1] * y, x * z, y * z, half[2] * z)
        rows.append((m.v.dot(m.v) * 0.5, *m.v.cross(m.w), *turning))
    return rows


def potential_regressor(
    tree: Tree, q: JointVector, gravity: Vec, frames: Sequence[Frame]
) -> list[Ten]:
    """Return the factors of the potential energy, for each frame."""
    X = transforms(tree, q)
    g, V = {ROOT: gravity}, {ROOT: ZERO}
    for i, p in outward(tree, "potential energy", g=g, V=V):
        V[i] = V[p] - g[p].dot(position(X[i]))
        g[i] = X[i].rotate(g[p])
    rows: list[Ten] = []
    for frame in frames:
        i, X_frame = frame.body, frame_transform(tree, frame)
        height = V[i] - g[i].dot(position(X_frame))
        rows.append((height, *-X_frame.rotate(g[i]), *((ZERO,) * 6)))
    return rows
