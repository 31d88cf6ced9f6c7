"""An optimal control problem of an arm in CasADi: the cheapest motion, rest to rest."""

from __future__ import annotations

import time
from typing import Any

import casadi
import numpy as np

DT, REACH = 0.05, 0.6


def solve(dynamics: Any, joints: int, steps: int) -> tuple[Any, float, int]:
    """Return the torques, Ipopt's seconds and its iterations.

    Args:
        dynamics: forward dynamics, a CasADi function of q, qd and tau.
        joints: of the arm; each turns by 0.6 rad.
        steps: of semi-implicit Euler, 50 ms each.
    """
    opti = casadi.Opti()
    q, qd = (opti.variable(joints, steps + 1) for _ in range(2))
    tau = opti.variable(joints, steps)
    for k in range(steps):
        qdd = dynamics(q[:, k], qd[:, k], tau[:, k])
        opti.subject_to(qd[:, k + 1] == qd[:, k] + DT * qdd)
        opti.subject_to(q[:, k + 1] == q[:, k] + DT * qd[:, k + 1])
    opti.subject_to(casadi.vertcat(q[:, 0], qd[:, 0], qd[:, steps]) == 0.0)
    opti.subject_to(q[:, steps] == REACH)
    opti.minimize(casadi.sumsqr(tau) * 1e-2 + casadi.sumsqr(qd))
    opti.set_initial(q, np.linspace(0.0, REACH, steps + 1)[None].repeat(joints, 0))
    options = {"hessian_approximation": "limited-memory", "print_level": 0, "sb": "yes"}
    limits = {"tol": 1e-8, "max_iter": 500}
    opti.solver("ipopt", {"print_time": False}, {**options, **limits})
    start = time.perf_counter()
    found = opti.solve()
    seconds = time.perf_counter() - start
    return found.value(tau), seconds, found.stats()["iter_count"]
