"""Featherstone (2005), section 2: how accurate LTL and LTDL are, beside Cholesky.

    On matrices with much sparsity, LTL and LTDL tend to be slightly more accurate than
    Cholesky; on matrices with little, slightly less.

Rounding differs between processors, so these figures stand with the benchmarks.
"""

# ruff: noqa: N803, N806  the paper's letters

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import numpy.typing as npt

from ramidyn.catalog import paper_robots as robots
from ramidyn.description.pose import Array
from ramidyn.linalg.factor import ltdl, ltl
from ramidyn.papers.document import Section, Table, robot_of
from ramidyn.robot import Robot

STATES = 1000
Long = npt.NDArray[np.longdouble]


def sections() -> list[Section]:
    """Return the section of this comparison."""
    named = {
        "humanoid30, plain": robot_of(robots.humanoid30("plain")),
        "ASIMO": robot_of(robots.asimo()),
        "chain30, general": robot_of(robots.chain30("general")),
    }
    rows: list[tuple[str, ...]] = []
    for name, robot in named.items():
        found = errors(robot)
        zeros = 1 - found["nonzeros"] / robot.nv**2
        shown = [f"{found[k]:.2g}" for k in ("LTL", "LTDL", "Cholesky")]
        ratios = [f"{found[k] / found['Cholesky']:.2f}" for k in ("LTL", "LTDL")]
        rows.append((name, f"{zeros:.0%}", *shown, *ratios))
    head = ("robot", "zeros of M", "LTL", "LTDL", "Cholesky")
    head = (*head, "LTL over Cholesky", "LTDL over Cholesky")
    return [
        Section(
            "Featherstone 2005, section 2: accuracy beside Cholesky",
            f"The median over {STATES} random configurations of the error of x = M⁻¹ "
            "b, |x − x̂| by the largest |x|, where x̂ is solved in long double. The "
            "paper says that the factors are slightly more accurate than those of "
            "Cholesky where a matrix has many zeros, and slightly less where it has "
            "few. Cholesky is LAPACK's.",
            (Table(head, tuple(rows)),),
        )
    ]


def errors(robot: Robot) -> dict[str, float]:
    """Return the median error of a solve by each factorization."""
    rng = np.random.default_rng(0)
    mass: Array = robot.mass_matrix(robot.random_configuration(rng, STATES))
    parents = robot.tree.dof_parents
    b = rng.normal(size=(STATES, robot.nv))
    exact = _substitute(_cholesky(mass.astype(np.longdouble)), b)
    found: dict[str, Array] = {
        "LTL": ltl(mass, parents).solve(b),
        "LTDL": ltdl(mass, parents).solve(b),
        "Cholesky": lapack_solve(mass, b),
    }
    size = np.abs(exact).max(axis=1)
    medians = {
        name: float(np.median(np.abs(x - exact).max(axis=1) / size))
        for name, x in found.items()
    }
    return {**medians, "nonzeros": float((mass[0] != 0).sum())}


def lapack_solve(H: Array, b: Array) -> Array:
    """Return H⁻¹ b by LAPACK's potrf and potrs."""
    try:
        linalg: Any = importlib.import_module("scipy.linalg")
    except ImportError as error:
        raise ImportError(
            "comparing accuracy with Cholesky needs SciPy: pip install scipy"
        ) from error
    pairs = zip(H, b, strict=True)
    return np.array(
        [linalg.cho_solve(linalg.cho_factor(h, lower=True), one) for h, one in pairs]
    )


def _cholesky(H: Long) -> Long:
    """Return G of H = G Gᵀ, in the precision of H."""
    n = H.shape[1]
    G = np.zeros_like(H)
    for j in range(n):
        rest = H[:, j:, j] - np.einsum("bik,bk->bi", G[:, j:, :j], G[:, j, :j])
        G[:, j:, j] = rest / np.sqrt(rest[:, :1])
    return G


def _substitute(G: Any, b: Any) -> Any:
    """Return x of G Gᵀ x = b by two substitutions, in the precision of G."""
    x = b.astype(G.dtype)
    n = G.shape[1]
    for k in range(n):
        x[:, k] = (x[:, k] - np.einsum("bi,bi->b", G[:, k, :k], x[:, :k])) / G[:, k, k]
    for k in reversed(range(n)):
        below = np.einsum("bi,bi->b", G[:, k + 1 :, k], x[:, k + 1 :])
        x[:, k] = (x[:, k] - below) / G[:, k, k]
    return x
