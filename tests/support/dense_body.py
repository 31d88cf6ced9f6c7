"""One free body with constraints against the ground, solved densely.

A reference that shares nothing with Ramidyn's algorithms: position, quaternion and
velocities of the body, M and all constraints in one matrix (KKT), scipy's integrator.

    | M  Jᵀ | |  a |   | f − ω × I ω |
    | J  0  | | −λ | = |    − bias   |        Jᵀ λ acts on the body
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ramidyn.description.pose import Array, Pose

X, Y, Z = range(3)


@dataclass(frozen=True)
class Row:
    """A scalar constraint: a·(p + R s − c) = 0, a·R b = 0, or |p + R s − c| = const."""

    kind: str
    a: Array
    """along the ground's axes; of a distance, the point c"""
    s: Array
    """in the body: a point, or the direction b"""

    def at(self, p: Array, R: Array, v: Array, w: Array) -> tuple[Array, float]:
        """Return the row of J, for (v, ω in the body), and its bias."""
        centripetal = R @ np.cross(w, np.cross(w, self.s))
        if self.kind != "distance":
            turn = np.cross(self.s, R.T @ self.a)
            push = self.a if self.kind == "point" else np.zeros(3)
            return np.append(push, turn), float(self.a @ centripetal)
        d, dd = p + R @ self.s - self.a, v + R @ np.cross(w, self.s)
        row = np.append(d, np.cross(self.s, R.T @ d))
        return row, float(dd @ dd + d @ centripetal)


def point(i: Pose, j: Pose, *axes: int) -> list[Row]:
    """Return rows that keep the origin of J at that of I, along axes of I."""
    return [Row("point", i.R[:, k], j.p) for k in axes]


def square(i: Pose, j: Pose, *pairs: tuple[int, int]) -> list[Row]:
    """Return rows that keep axes of I and of J at right angles."""
    return [Row("direction", i.R[:, a], j.R[:, b]) for a, b in pairs]


def distance(i: Pose, j: Pose) -> list[Row]:
    """Return the row that keeps the distance of both origins."""
    return [Row("distance", i.p, j.p)]


Applied = Callable[[Array, Array, Array, Array], Array]
"""(p, R, v, ω) -> force along the world's axes, moment about the center in the body"""


@dataclass(frozen=True)
class DenseBody:
    """A body of 1 kg, its principal inertia, its constraints and what acts on it."""

    inertia: Array
    rows: Sequence[Row]
    gravity: Array
    applied: Applied | None = None

    def motion(self, y: Array) -> tuple[Array, Array, Array, Array]:
        """Return R, (v, ω), their rates, and what the constraints exert."""
        p, u, v, w = y[:3], y[3:7], y[7:10], y[10:13]
        R = rotation(u)
        force = np.append(self.gravity, -np.cross(w, self.inertia * w))
        if self.applied is not None:
            force = force + self.applied(p, R, v, w)
        n = len(self.rows)
        K, b = np.zeros((6 + n, 6 + n)), np.append(force, np.zeros(n))
        K[:6, :6] = np.diag(np.append(np.ones(3), self.inertia))
        for k, row in enumerate(self.rows, start=6):
            K[k, :6], bias = row.at(p, R, v, w)
            K[:6, k], b[k] = K[k, :6], -bias
        x = np.linalg.solve(K, b)
        return R, y[7:13], x[:6], -K[:6, 6:] @ x[6:]

    def rate(self, _t: float, y: Array) -> Array:
        _, velocity, a, _ = self.motion(y)
        u = y[3:7] / np.linalg.norm(y[3:7])
        return np.concatenate([velocity[:3], turning(u, velocity[3:]), a])

    def solved(self, pose: Pose, velocity: Array, times: Array) -> dict[str, Array]:
        """Return ADAMS' series: positions and so on, and the wrench on the ground."""
        from scipy.integrate import solve_ivp  # noqa: PLC0415  a test skips without it

        u = pose.quaternion(order="wxyz")
        R = pose.R
        start = np.concatenate([pose.p, u, velocity[:3], R.T @ velocity[3:]])
        options: dict[str, Any] = {"rtol": 1e-12, "atol": 1e-12, "method": "DOP853"}
        ends = times[0], times[-1]
        found = solve_ivp(self.rate, ends, start, t_eval=times, **options)
        assert found.success
        rows: list[dict[str, Array]] = []
        for y in found.y.T:
            R, speed, a, f = self.motion(y)
            reaction = -f
            rows.append(
                {
                    "Pos": y[:3],
                    "Quat": y[3:7] / np.linalg.norm(y[3:7]),
                    "Vel": y[7:10],
                    "Avel": R @ speed[3:],
                    "Acc": a[:3],
                    "Aacc": R @ a[3:],
                    "force": reaction[:3],
                    "torque": R @ reaction[3:] + np.cross(y[:3], reaction[:3]),
                }
            )
        return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def rotation(u: Array) -> Array:
    """Return the matrix of a quaternion, w first."""
    w, x, y, z = u / np.linalg.norm(u)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def turning(u: Array, w: Array) -> Array:
    """Return du/dt of a quaternion, w first, that turns with ω in the body."""
    s, v = u[0], u[1:]
    return 0.5 * np.append(-v @ w, s * w + np.cross(v, w))
