"""Contact problems: random ones, a kernel that solves them, and the laws they obey."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

import ramidyn
from ramidyn.algorithms.contact.problem import Cone, Problem
from ramidyn.algorithms.contact.solver import solve
from ramidyn.description.pose import Array
from ramidyn.symbolic.dense import Entries
from ramidyn.symbolic.expr import lift

FRICTION = 0.7


class Problems(NamedTuple):
    """A batch of problems V = c + G F, v = E V."""

    G: Array
    c: Array
    corners: Array | None
    """(batch, bodies, 4, 3) of bodies of six rows, or None: blocks are points"""

    @property
    def E(self) -> Array:
        """(batch, 3 contacts, rows of G)."""
        batch, n = self.c.shape
        if self.corners is None:
            return np.tile(np.eye(n), (batch, 1, 1))
        bodies = self.corners.shape[1]
        E = np.zeros((batch, 12 * bodies, n))
        for b in range(bodies):
            for k in range(4):
                rows = slice(12 * b + 3 * k, 12 * b + 3 * k + 3)
                E[:, rows, 6 * b : 6 * b + 3] = np.eye(3)
                for axis in range(3):
                    turned = np.cross(np.eye(3)[axis], self.corners[:, b, k])
                    E[:, rows, 6 * b + 3 + axis] = turned
        return E

    @property
    def delassus(self) -> Array:
        """(batch, 3 contacts, 3 contacts)."""
        return self.E @ self.G @ self.E.transpose(0, 2, 1)

    @property
    def free(self) -> Array:
        """(batch, 3 contacts): velocities without impulses."""
        return np.einsum("bij,bj->bi", self.E, self.c)


def random_points(rng: np.random.Generator, batch: int, contacts: int) -> Problems:
    """Return contacts whose impulses are unique."""
    n = 3 * contacts
    J = rng.normal(size=(batch, n, n + 4))
    c = rng.normal(size=(batch, n))
    c[:, 2::3] -= 0.5
    return Problems(J @ J.transpose(0, 2, 1) / n + 0.1 * np.eye(n), c, None)


def random_feet(rng: np.random.Generator, batch: int, bodies: int = 2) -> Problems:
    """Return feet with four corners, lighter than what they carry."""
    n = 6 * bodies
    J = rng.normal(size=(batch, n, n + 6))
    size = np.tile([1.0, 1.0, 1.0, 10.0, 10.0, 10.0], bodies)
    G = (J @ J.transpose(0, 2, 1) / n + 0.1 * np.eye(n)) * np.outer(size, size)
    corners = np.array(
        [[x, y, -0.05] for x in (0.12, -0.05) for y in (0.03, -0.03)]
    ) * np.ones((batch, bodies, 1, 1))
    c = rng.normal(size=(batch, n)) * np.where(size > 1.0, 0.5, 0.05)
    c[:, 2::6] -= 0.5
    return Problems(G, c, corners)


def _rows(contacts: int, corners: Any | None) -> list[tuple[Entries, Entries, Entries]]:
    """Return E of each contact as symbols."""
    one = lift(1.0)
    found: list[tuple[Entries, Entries, Entries]] = []
    for k in range(contacts):
        if corners is None:
            found.append(tuple({3 * k + a: one} for a in range(3)))  # type: ignore[arg-type]
            continue
        first, r = 6 * (k // 4), corners[k // 4, k % 4]
        rows: list[Entries] = []
        for a in range(3):
            b, c = (a + 1) % 3, (a + 2) % 3
            rows.append({first + a: one, first + 3 + b: r[c], first + 3 + c: -r[b]})
        found.append((rows[0], rows[1], rows[2]))
    return found


@functools.cache
def solver(contacts: int, bodies: int, tolerance: float) -> Any:
    """Return a kernel of (G, c, corners, start)."""
    n = 6 * bodies or 3 * contacts

    def solved(G: Any, c: Any, corners: Any, start: Any) -> dict[str, Any]:
        size = 6 if bodies else 3
        blocks = tuple(range(k, k + size) for k in range(0, n, size))
        rows = _rows(contacts, corners if bodies else None)
        cones = tuple(Cone(E, lift(0.0), lift(FRICTION)) for E in rows)
        matrix = [[G[max(r, k), min(r, k)] for k in range(n)] for r in range(n)]
        problem = Problem(blocks, matrix, list(c), cones)
        found = solve(problem, list(start), tolerance)
        return {
            "impulses": np.array([x for each in found.impulses for x in each]),
            "residual": found.residual,
            "newton_steps": found.newton_steps,
        }

    shapes = {"G": (n, n), "c": (n,), "corners": (bodies or 1, 4, 3)}
    return ramidyn.kernel(solved, {**shapes, "start": (3 * contacts,)})


def solutions(
    problems: Problems, tolerance: float = 1e-9, start: Array | None = None
) -> Any:
    """Return impulses, residuals and Newton steps of a batch."""
    batch, rows = problems.free.shape
    bodies = 0 if problems.corners is None else problems.corners.shape[1]
    corners = np.zeros((batch, 1, 4, 3)) if bodies == 0 else problems.corners
    given = np.zeros((batch, rows)) if start is None else start
    call = solver(rows // 3, bodies, tolerance)
    return call(problems.G, problems.c, corners, given)


def velocities(problems: Problems, impulses: Array) -> Array:
    """Return (batch, contacts, 3) at the end of the step."""
    v = problems.free + np.einsum("bij,bj->bi", problems.delassus, impulses)
    return v.reshape(len(v), -1, 3)


def violations(
    problems: Problems, impulses: Array, friction: float = FRICTION
) -> Array:
    """Return by how much each problem breaks Coulomb's law [m/s], (batch,)."""
    v, x = velocities(problems, impulses), impulses.reshape(len(impulses), -1, 3)
    normal, slip = x[..., 2], np.linalg.norm(v[..., :2], axis=-1)
    unit = np.einsum("bii->bi", problems.delassus).mean(axis=1)[:, None]
    opens = np.maximum(-v[..., 2], 0.0)
    closed = np.where(normal * unit > 1e-6, np.abs(v[..., 2]), 0.0)
    most = friction * normal
    along = np.einsum("bka,bka->bk", v[..., :2], x[..., :2])
    against = (along + most * slip) / np.maximum(most, 1e-9)
    sliding = np.where(normal * unit > 1e-6, np.abs(against), 0.0)
    return np.maximum.reduce([opens, closed, sliding]).max(axis=1)
