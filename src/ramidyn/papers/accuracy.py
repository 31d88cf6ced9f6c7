"""Featherstone (2005), section 2: how accurate LTL and LTDL are, beside Cholesky.

    On matrices with much sparsity, LTL and LTDL tend to be slightly more accurate than
    Cholesky; on matrices with little, slightly less.

Rounding differs between processors, so these figures stand with the benchmarks.
"""

# ruff: noqa: N803, N806  the paper's letters

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ramidyn.catalog import paper_robots as robots
from ramidyn.description.pose import Array
from ramidyn.linalg.factor import ltdl, ltl
from ramidyn.papers.document import Section, Table, robot_of, verdict
from ramidyn.robot import Robot
from ramidyn.tree.tree import ancestors

STATES = 1000
Long = npt.NDArray[np.longdouble]


SPARSE, DENSE = 1 / 3, 0.1
"""a matrix with more zeros than the first has a substantial amount of them, with fewer
than the second little or none; our bars"""
SUMMED = "LTDL, updates summed"


def sections(further: Mapping[str, Robot] | None = None) -> list[Section]:
    """Return the section of this comparison; ``further`` robots are of files."""
    named = {
        **catalog_robots(),
        **{
            name: robot
            for name, robot in (further or {}).items()
            if not robot.model.mimics and robot.nv > 1
        },
    }
    rows: list[tuple[str, ...]] = []
    kinds: dict[str, list[str]] = {
        "cured": [],
        "LTL alone": [],
        "open": [],
        "dense": [],
    }
    measured = {name: Accuracy.of(robot) for name, robot in named.items()}
    for name, x in measured.items():
        shown = (f"{r:.2f}" for r in (x.ltl, x.ltdl, x.summed))
        size, met = f"{x.cholesky:.2g}", verdict(x.holds)
        rows.append((name, f"{x.zeros:.0%}", size, *shown, met))
        if not x.holds and x.zeros <= SPARSE:
            kinds["dense"].append(name)
        elif not x.holds and x.ltdl < 1:
            kinds["LTL alone"].append(name)
        elif not x.holds:
            kinds["cured" if x.summed < 1 else "open"].append(name)
    agree = sum(x.holds for x in measured.values())
    middle = medians(measured.values())
    listed_medians = "; ".join(
        f"with {name} {a:.2f} and {b:.2f}" for name, (a, b) in middle.items()
    )
    head = ("robot", "zeros of M", "Cholesky", "LTL over it", "LTDL over it")
    head = (*head, f"{SUMMED}, over it", "the claim")
    listed = {kind: ", ".join(names) or "none" for kind, names in kinds.items()}
    return [
        Section(
            "Featherstone 2005, section 2: accuracy beside Cholesky",
            f"The median over {STATES} random configurations of the error of x = M⁻¹ "
            "b, |x − x̂| by the largest |x|, where x̂ is solved in long double. The "
            "paper says that LTL and LTDL tend to be slightly more accurate than "
            "Cholesky (here LAPACK's) where a matrix has many zeros "
            f"(here more than {SPARSE:.0%}), and slightly less where it has few. The "
            "claim holds for a robot if both factors are on that side.",
            (Table(head, tuple(rows)),),
            after="As a tendency the claim "
            f"{verdict(tends(middle))}: medians of LTL and LTDL over "
            f"Cholesky are {listed_medians}. It holds for {agree} of {len(named)} "
            "robots. Exceptions "
            f"with few zeros: {listed['dense']}. With many, LTL alone is behind: "
            f"{listed['LTL alone']}. Both are behind, and ahead if the updates of an "
            "entry are summed before they are subtracted (in NumPy, with the same "
            "products: LTL and LTDL subtract them one after the other and round every "
            f"time, where LAPACK adds products up first): {listed['cured']}. Not "
            f"explained by that: {listed['open']}.",
        )
    ]


def catalog_robots() -> dict[str, Robot]:
    """Return the robots of the catalog that are compared: with many zeros, with few."""
    chains = {
        f"chain of {n}, {geometry}": robots.chain(n, geometry)
        for n in (7, 15, 30)
        for geometry in ("plain", "general")
    }
    made = {
        "humanoid30, plain": robots.humanoid30("plain"),
        "humanoid30, general": robots.humanoid30("general"),
        "ASIMO": robots.asimo(),
        "binary tree of 31": robots.binary_tree(31),
        "square grid of 36": robots.square_grid(36),
        "chain of 16 with side branches": robots.chain_with_side_branches(32),
        **chains,
    }
    return {name: robot_of(description) for name, description in made.items()}


@dataclass(frozen=True)
class Accuracy:
    """How a robot's factors compare: errors over that of LAPACK's Cholesky."""

    zeros: float
    cholesky: float
    ltl: float
    ltdl: float
    summed: float

    @staticmethod
    def of(robot: Robot, states: int = STATES) -> Accuracy:
        """Return that of a robot."""
        found = errors(robot, states)
        own = found["Cholesky"]
        ratios = (found[k] / own for k in ("LTL", "LTDL", SUMMED))
        return Accuracy(1 - found["nonzeros"] / robot.nv**2, own, *ratios)

    @property
    def holds(self) -> bool:
        """Whether both factors are more accurate where sparse, less elsewhere."""
        return claim_holds(self.zeros, self.ltl, self.ltdl)


def medians(found: Iterable[Accuracy]) -> dict[str, tuple[float, float]]:
    """Return the median ratios of LTL and LTDL over robots with many zeros, and few."""
    kept = list(found)
    groups = {
        "many zeros": [x for x in kept if x.zeros > SPARSE],
        "few zeros": [x for x in kept if x.zeros < DENSE],
    }
    return {
        name: (
            float(np.median([x.ltl for x in group])),
            float(np.median([x.ltdl for x in group])),
        )
        for name, group in groups.items()
    }


def tends(found: Mapping[str, tuple[float, float]]) -> bool:
    """Return whether medians are on the side that the paper says."""
    return max(found["many zeros"]) < 1 < min(found["few zeros"])


def claim_holds(zeros: float, *ratios: float) -> bool:
    """Return whether factors are more accurate where sparse, less where dense."""
    return all(r < 1 if zeros > SPARSE else r > 1 for r in ratios)


def errors(robot: Robot, states: int = STATES) -> dict[str, float]:
    """Return the median error of a solve by each factorization."""
    rng = np.random.default_rng(0)
    mass: Array = robot.mass_matrix(robot.random_configuration(rng, states))
    parents = robot.tree.dof_parents
    b = rng.normal(size=(states, robot.nv))
    exact = _substitute(_cholesky(mass.astype(np.longdouble)), b)
    found: dict[str, Array] = {
        "LTL": ltl(mass, parents).solve(b),
        "LTDL": ltdl(mass, parents).solve(b),
        SUMMED: summed_solve(mass, b, parents),
        "Cholesky": lapack_solve(mass, b),
    }
    size = np.abs(exact).max(axis=1)
    medians = {
        name: float(np.median(np.abs(x - exact).max(axis=1) / size))
        for name, x in found.items()
    }
    return {**medians, "nonzeros": float((mass[0] != 0).sum())}


def summed_solve(H: Array, b: Array, parents: Sequence[int]) -> Array:
    """Return H⁻¹ b by LTDL, with the updates of an entry added up first."""
    n = len(parents)
    L, U = np.zeros_like(H), np.zeros_like(H)
    below: list[list[int]] = [[] for _ in range(n)]
    for k in range(n):
        for i in ancestors(parents, k):
            below[i].append(k)
    for i in reversed(range(n)):
        for j in (i, *ancestors(parents, i)):
            products = np.ascontiguousarray(L[:, below[i], i] * U[:, below[i], j])
            U[:, i, j] = H[:, i, j] - products.sum(axis=1)
        L[:, i] = U[:, i] / U[:, i, i, None]
    x = np.copy(b)
    for i in reversed(range(n)):
        taken = np.ascontiguousarray(L[:, below[i], i] * x[:, below[i]])
        x[:, i] -= taken.sum(axis=1)
    for k in range(n):
        above = [*ancestors(parents, k)]
        x[:, k] /= U[:, k, k]
        x[:, k] -= (L[:, k, above] * x[:, above]).sum(axis=1)
    return x


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
