"""Forward dynamics by the articulated-body algorithm (RBDA ch. 7).

    q̈ = M(q)⁻¹ (τ − C(q, q̇) − g(q))       in O(n), without forming M

Accelerations are (ẇ, classical a): see `motion` for X, S, BB and c.

    IA[i]  articulated-body inertia       pA[i]  articulated-body bias force
    U[k]   IA S of degree of freedom k    D[k]   Sᵀ U
    u[k]   τ − Sᵀ pA                      a[i]   acceleration, gravity included

A joint with several degrees of freedom is eliminated one by one.
"""

from __future__ import annotations

from collections.abc import Mapping

from ramify.algorithms.motion import upper, velocities, wrench
from ramify.model.coordinates import JointVector
from ramify.model.tree import ROOT, Tree
from ramify.spatial.inertia import ArticulatedInertia
from ramify.spatial.vector3 import ZERO3, Vec
from ramify.spatial.vectors import Force, Motion
from ramify.symbolic.expr import Expr, const, label, region


def aba(
    tree: Tree,
    q: JointVector,
    qd: JointVector,
    tau: JointVector,
    gravity: Vec,
    external: Mapping[int, Force] | None = None,
) -> JointVector:
    """Return the joint accelerations caused by ``tau``."""
    m = velocities(tree, q, qd)
    X, S, c = m.X, m.S, m.c
    IA = {ROOT: ArticulatedInertia.zero()}
    pA = {ROOT: Force.zero()}
    a = {ROOT: Motion(ZERO3, (-gravity[0], -gravity[1], -gravity[2]))}
    columns: dict[int, list[tuple[Force, Expr]]] = {}
    qdd: JointVector = {}
    for i, _ in tree:
        name = tree.bodies[i].name
        region(f"bias {name}")
        inertia = tree.bodies[i].rigid_inertia()
        IA[i] = inertia.articulated()
        pA[i] = wrench(inertia, m.BB[i], ZERO3)
        if external and i in external:
            pA[i] = pA[i] - external[i]
        _label_force("bias", name, pA[i])

    # Tips to root: articulated-body inertias and bias forces.
    for i, p in reversed(tree):
        name = tree.bodies[i].name
        region(f"articulated inertia {name}")
        Ia, pa = IA[i], pA[i]
        label(f"IA_I_{name}", *upper(Ia.I))
        label(f"IA_H_{name}", *Ia.H[0], *Ia.H[1], *Ia.H[2])
        label(f"IA_M_{name}", *upper(Ia.M))
        _label_force("pA", name, pa)
        columns[i] = []
        for k in reversed(range(len(S[i]))):
            s = S[i][k]
            U = Ia @ s
            D = s.dot(U) + tree.bodies[i].joint.armature
            Ud = over(U, D)
            u = (tau[i][k] - s.dot(pa)) / D
            _label_joint(name if len(S[i]) == 1 else f"{name}_{k}", U, Ud, D, u)
            Ia = Ia.minus_outer(U, Ud)
            if (
                tree.bodies[i].joint.armature == 0.0
                and (e := unit_index(s)) is not None
            ):
                Ia = Ia.without(e)
            pa = pa + U * u
            columns[i].append((Ud, u))
        pa = pa + Ia @ c[i]
        IA[p] = IA[p] + X[i].back(Ia)
        pA[p] = pA[p] + X[i].back(pa)

    # Root to tips: accelerations.
    for i, p in tree:
        name = tree.bodies[i].name
        region(f"acceleration {name}")
        a[i] = X[i] @ a[p] + c[i]
        found: list[Expr] = []
        for s, (Ud, u) in zip(S[i], reversed(columns[i]), strict=True):
            x = u - Ud.dot(a[i])
            a[i] = a[i] + s * x
            found.append(x)
        label(f"wd_{name}", *a[i].w)
        label(f"a_{name}", *a[i].v)
        qdd[i] = tuple(found)

    return qdd


def _label_force(letter: str, name: str, force: Force) -> None:
    label(f"{letter}_n_{name}", *force.n)
    label(f"{letter}_f_{name}", *force.f)


def _label_joint(name: str, U: Force, Ud: Force, D: Expr, u: Expr) -> None:
    _label_force("U", name, U)
    _label_force("Ud", name, Ud)
    label(f"D_{name}", D)
    label(f"u_{name}", u)


def over(U: Force, D: Expr) -> Force:
    """Return U / D; the entry that is D itself becomes 1."""
    return Force(*(tuple(x / D for x in half) for half in (U.n, U.f)))  # type: ignore[arg-type]


def unit_index(s: Motion) -> int | None:
    """Return k if s is the k-th unit vector."""
    parts = s.parts()
    ones = [k for k, e in enumerate(parts) if e.op != "const" or e.value != 0.0]
    return ones[0] if len(ones) == 1 and parts[ones[0]] is const(1.0) else None
