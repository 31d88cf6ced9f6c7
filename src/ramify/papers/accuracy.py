"""How accurate LTL and LTDL are, beside LAPACK's Cholesky factorization."""

from __future__ import annotations

from typing import Any

import numpy as np

from ramify.linalg.factor import ltdl, ltl
from ramify.model import catalog as robots
from ramify.model.pose import Array
from ramify.papers.document import Section, Table
from ramify.papers.featherstone import robot_of
from ramify.robot import Robot

STATES = 200


def sections() -> list[Section]:
    """Return the section of this comparison."""
    named = {
        "humanoid30, general": robot_of(robots.humanoid30("general")),
        "chain30, general": robot_of(robots.chain30("general")),
        "chain of 60, plain": robot_of(robots.chain(60, "plain")),
    }
    rows: list[tuple[str, ...]] = []
    for name, robot in named.items():
        errors = worst(robot)
        shown = [f"{errors[k]:.1e}" for k in ("condition", "ltl", "ltdl", "lapack")]
        solves = [f"{errors[k + ' solve']:.1e}" for k in ("ltl", "ltdl", "lapack")]
        rows.append((name, *shown, *solves))
    head = ("robot", "condition of M", "LTL", "LTDL", "LAPACK")
    head = (*head, "solve: LTL", "LTDL", "LAPACK")
    return [
        Section(
            "Accuracy of LTL and LTDL beside LAPACK's Cholesky",
            f"The largest error over {STATES} random configurations: of the product of "
            "the factors, by the largest entry of M; and of a solve, |M x − b| by the "
            "largest of |M| |x|. The paper says that LTL has the numerical properties "
            "of Cholesky: it is one, with rows and columns reversed.",
            (Table(head, tuple(rows)),),
        )
    ]


def cholesky(mass: Any, b: Any) -> tuple[Any, Any]:
    """Return the product of LAPACK's factors, and a solve with them."""
    linalg: Any = np.linalg  # some of its types are unknown to checkers
    c = linalg.cholesky(mass)
    y = linalg.solve(c, b[..., None])
    x = linalg.solve(c.transpose(0, 2, 1), y)
    return np.einsum("bik,bjk->bij", c, c), x[..., 0]


def worst(robot: Robot) -> dict[str, float]:
    """Return the largest errors, and the median condition of M."""
    rng = np.random.default_rng(0)
    mass: Array = robot.mass_matrix(robot.random_configuration(rng, STATES))
    parents = robot.tree.dof_parents
    b = rng.normal(size=(STATES, robot.nv))
    size = np.abs(mass).max(axis=(1, 2), keepdims=True)
    found = {"condition": float(np.median(np.linalg.cond(mass)))}

    def keep(name: str, product: Array, x: Array) -> None:
        found[name] = float((np.abs(product - mass) / size).max())
        residual = np.abs(np.einsum("bij,bj->bi", mass, x) - b).max(axis=1)
        scale = np.abs(mass).sum(axis=2).max(axis=1) * np.abs(x).max(axis=1)
        found[f"{name} solve"] = float((residual / scale).max())

    d = ltdl(mass, parents)
    keep("ltdl", np.einsum("bki,bk,bkj->bij", d.L, d.D, d.L), d.solve(b))
    f = ltl(mass, parents)
    keep("ltl", np.einsum("bki,bkj->bij", f.L, f.L), f.solve(b))
    keep("lapack", *cholesky(mass, b))
    return found
