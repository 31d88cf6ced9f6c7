"""The algorithms of Featherstone's book over CasADi's SX, with 6x6 spatial matrices.

For comparison: what a CasADi user writes, and what its code generator makes of it.
CasADi drops the structural zeros. Joints are revolute or prismatic along z.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np


def skew(v: Any) -> Any:
    zero = ca.SX(1, 1)
    x, y, z = v[0], v[1], v[2]
    rows = ([zero, -z, y], [z, zero, -x], [-y, x, zero])
    return ca.vertcat(*(ca.horzcat(*r) for r in rows))


def transform(body: Any, q: Any) -> Any:
    """Return the 6x6 motion transform from the parent to the body."""
    fixed = np.zeros((6, 6))
    E, r = body.placement.R.T, body.placement.p
    fixed[:3, :3] = fixed[3:, 3:] = E
    S = np.array([[0, -r[2], r[1]], [r[2], 0, -r[0]], [-r[1], r[0], 0]])
    fixed[3:, :3] = -E @ S
    fixed[np.abs(fixed) < 1e-15] = 0.0
    moved = ca.SX.eye(6)
    if body.joint.type.name == "revolute":
        c, s = ca.cos(q - body.joint.reference), ca.sin(q - body.joint.reference)
        R = ca.SX.eye(3)
        R[0, 0], R[0, 1], R[1, 0], R[1, 1] = c, s, -s, c
        moved[:3, :3] = moved[3:, 3:] = R
    else:
        moved[3:, :3] = -skew(ca.vertcat(0, 0, q - body.joint.reference))
    return moved @ ca.sparsify(ca.SX(fixed))


def inertia(body: Any) -> Any:
    i = body.inertia
    H = np.array([[0, -i.h[2], i.h[1]], [i.h[2], 0, -i.h[0]], [-i.h[1], i.h[0], 0]])
    full = np.block([[i.I, H], [H.T, i.m * np.eye(3)]])
    return ca.sparsify(ca.SX(full))


def basis(body: Any) -> Any:
    S = ca.SX(6, 1)
    S[2 if body.joint.type.name == "revolute" else 5] = 1
    return S


def cross_motion(v: Any) -> Any:
    W, V = skew(v[:3]), skew(v[3:])
    return ca.vertcat(ca.horzcat(W, ca.SX(3, 3)), ca.horzcat(V, W))


def rnea(tree: Any, q: Any, qd: Any, qdd: Any) -> Any:
    bodies, n = tree.bodies, len(tree.bodies)
    X = [transform(b, q[b.joint.q_index]) for b in bodies]
    gravity = ca.SX(np.array([0, 0, 0, *(-g for g in tree.gravity)]))
    v, a, f = [None] * n, [None] * n, [None] * n
    for i, b in enumerate(bodies):
        S, k = basis(b), b.joint.v_index
        vJ = S * qd[k]
        above_v = X[i] @ v[b.parent] if b.parent >= 0 else ca.SX(6, 1)
        above_a = X[i] @ (a[b.parent] if b.parent >= 0 else ca.sparsify(gravity))
        v[i] = above_v + vJ
        a[i] = above_a + S * qdd[k] + cross_motion(v[i]) @ vJ
        I = inertia(b)  # noqa: E741
        f[i] = I @ a[i] - cross_motion(v[i]).T @ (I @ v[i])
    tau = [ca.SX(0)] * n
    for i in reversed(range(n)):
        b = bodies[i]
        k = b.joint.v_index
        tau[k] = basis(b).T @ f[i] + b.joint.armature * qdd[k]
        if b.parent >= 0:
            f[b.parent] = f[b.parent] + X[i].T @ f[i]
    return ca.vertcat(*tau)


def crba(tree: Any, q: Any) -> Any:
    bodies, n = tree.bodies, len(tree.bodies)
    X = [transform(b, q[b.joint.q_index]) for b in bodies]
    Ic = [inertia(b) for b in bodies]
    M = ca.SX(n, n)
    for i in reversed(range(n)):
        b = bodies[i]
        k = b.joint.v_index
        if b.parent >= 0:
            Ic[b.parent] = Ic[b.parent] + X[i].T @ Ic[i] @ X[i]
        F = Ic[i] @ basis(b)
        M[k, k] = basis(b).T @ F + b.joint.armature
        j = i
        while bodies[j].parent >= 0:
            F = X[j].T @ F
            j = bodies[j].parent
            h = bodies[j].joint.v_index
            M[k, h] = M[h, k] = F.T @ basis(bodies[j])
    return ca.densify(M)


def aba(tree: Any, q: Any, qd: Any, tau: Any) -> Any:
    bodies, n = tree.bodies, len(tree.bodies)
    X = [transform(b, q[b.joint.q_index]) for b in bodies]
    gravity = ca.sparsify(ca.SX(np.array([0, 0, 0, *(-g for g in tree.gravity)])))
    v, c, a = [None] * n, [None] * n, [None] * n
    IA = [inertia(b) for b in bodies]
    pA = [None] * n
    U, d, u = [None] * n, [None] * n, [None] * n
    for i, b in enumerate(bodies):
        vJ = basis(b) * qd[b.joint.v_index]
        v[i] = (X[i] @ v[b.parent] if b.parent >= 0 else ca.SX(6, 1)) + vJ
        c[i] = cross_motion(v[i]) @ vJ
        pA[i] = -cross_motion(v[i]).T @ (IA[i] @ v[i])
    for i in reversed(range(n)):
        b = bodies[i]
        U[i] = IA[i] @ basis(b)
        d[i] = basis(b).T @ U[i] + b.joint.armature
        u[i] = tau[b.joint.v_index] - basis(b).T @ pA[i]
        if b.parent >= 0:
            Ia = IA[i] - U[i] @ U[i].T / d[i]
            pa = pA[i] + Ia @ c[i] + U[i] * (u[i] / d[i])
            IA[b.parent] = IA[b.parent] + X[i].T @ Ia @ X[i]
            pA[b.parent] = pA[b.parent] + X[i].T @ pa
    qdd = [ca.SX(0)] * n
    for i, b in enumerate(bodies):
        free = X[i] @ (a[b.parent] if b.parent >= 0 else gravity) + c[i]
        x = (u[i] - U[i].T @ free) / d[i]
        a[i] = free + basis(b) * x
        qdd[b.joint.v_index] = x
    return ca.vertcat(*qdd)


def function(quantity: str, robot: Any) -> Any:
    """Return a CasADi function of a quantity; inputs and outputs as Ramidyn's."""
    n, tree = robot.nv, robot.model.tree
    q, qd, x = (ca.SX.sym(name, n) for name in ("q", "qd", "x"))
    if quantity == "mass_matrix":
        return ca.Function("f", [q], [crba(tree, q)], {"cse": True})
    algorithm = rnea if quantity == "inverse_dynamics" else aba
    return ca.Function("f", [q, qd, x], [algorithm(tree, q, qd, x)], {"cse": True})


def derivatives(kind: str, robot: Any) -> Any:
    """Return CasADi's own derivatives of forward or inverse dynamics, dense."""
    n, tree = robot.nv, robot.model.tree
    q, qd, x = (ca.SX.sym(name, n) for name in ("q", "qd", "x"))
    y = (aba if kind == "forward" else rnea)(tree, q, qd, x)
    found = [ca.densify(ca.jacobian(y, by)) for by in (q, qd, x)]
    return ca.Function("f", [q, qd, x], found, {"cse": True})


def compiled(f: Any, folder: Path, compiler: str = "cc") -> Any:
    """Return a function from its generated C, compiled with -O3."""
    code = ca.CodeGenerator(f"{f.name()}.c")
    code.add(f)
    source = Path(code.generate(f"{folder}/"))
    library = source.with_suffix(".so")
    flags = ["-O3", "-march=native", "-shared", "-fPIC"]
    subprocess.run([compiler, *flags, str(source), "-o", str(library)], check=True)
    return ca.external(f.name(), str(library))
