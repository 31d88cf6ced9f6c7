"""Equations with constraints along a tree (Negrut, Serban & Potra 1997, section 4).

    [ M  Jᵀ ] [ x ]   [ Q ]
    [ J  0  ] [ λ ] = [ γ ]

The paper's Eqs. 23 and 24 with M = Lᵀ D L instead of Cholesky's factors, so that no
zero fills in with the rows numbered from the root (Lᵀ takes the part of their L):

    [ M  Jᵀ ]   [ Lᵀ  0 ] [ D   0       ] [ L  W ]
    [ J  0  ] = [ Wᵀ  1 ] [ 0  −Tᵀ D⁻¹ T ] [ 0  1 ],   Lᵀ T = Jᵀ,   W = D⁻¹ T

A column of T is nonzero only on the ancestors of the nonzeros of its row of J (their
Lemma 3). G = Tᵀ D⁻¹ T = J M⁻¹ Jᵀ is positive definite if the rows of J are independent.
"""

# ruff: noqa: N803, N806  the paper's letters
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt

from ramidyn.errors import ModelError, ShapeError
from ramidyn.linalg.factor import Factor, TreeMatrix, ltdl
from ramidyn.linalg.pattern import Array, Parents, numbers
from ramidyn.linalg.sparse_arrays import is_sparse

DEPENDENT = 1e-12
"""a pivot of G below this, of its diagonal entry, means dependent rows"""


def augmented(
    M: npt.ArrayLike | TreeMatrix,
    J: Any,
    parents: Parents | None = None,
    *,
    check: bool = True,
    threads: int = 1,
) -> AugmentedFactor:
    """Factor [M Jᵀ; J 0] along a tree, for your own M, J and tree.

    Args:
        M: (n, n) or (batch, n, n), symmetric positive definite, zero between branches;
            a `TreeMatrix`; or a sparse matrix of SciPy's.
        J: (m, n) or (batch, m, n), rows of constraints, independent; or sparse.
        parents: of the rows of M, as for `ltdl`.
        check: check all of M first, as for `ltdl`.
        threads: how many may share the branches of one large M.

    Raises:
        ShapeError: M, J or parents have a wrong shape or type.
        ModelError: M is not positive definite along the tree, or the rows of J are
            dependent.

    >>> from ramidyn.linalg import augmented
    >>> A = augmented([[2.0, 0.0], [0.0, 4.0]], [[1.0, 1.0]], [-1, -1])
    >>> x, multipliers = A.solve([2.0, 4.0], [5.0])
    >>> x, multipliers
    (array([3., 2.]), array([-4.]))
    """
    factor = ltdl(M, parents, check=check, threads=threads)
    rows = numbers("J", J.toarray() if is_sparse(J) else J)
    lead, n = () if factor.batch is None else (factor.batch,), factor.pattern.n
    if (
        rows.ndim != len(lead) + 2
        or rows.shape[: len(lead)] != lead
        or rows.shape[-1] != n
    ):
        batch = f"{lead[0]}, " if lead else ""
        raise ShapeError(
            f"J has shape {rows.shape}; M needs ({batch}m, {n}), a row for each "
            "constraint"
        )
    if not np.isfinite(rows).all():
        raise ModelError("J has entries that are not finite; expected finite numbers")
    T = factor.solve_LT(np.ascontiguousarray(np.swapaxes(rows, -1, -2)))
    W = T / factor.D[..., :, None]
    G = np.swapaxes(T, -1, -2) @ W
    C = _cholesky(G)
    return AugmentedFactor(factor, T, W, C)


@final
@dataclass(frozen=True, eq=False, repr=False)
class AugmentedFactor:
    """The factors of [M Jᵀ; J 0], from `augmented`."""

    mass: Factor
    """M = Lᵀ D L"""
    T: Array
    """L⁻ᵀ Jᵀ, (n, m) or (batch, n, m)"""
    W: Array
    """D⁻¹ T"""
    C: Array
    """J M⁻¹ Jᵀ = C Cᵀ, lower triangular, (m, m) or (batch, m, m)"""

    def solve(self, Q: npt.ArrayLike, gamma: npt.ArrayLike) -> tuple[Array, Array]:
        """Return x and λ of M x + Jᵀ λ = Q, J x = γ, by the steps of section 4.3.

        Args:
            Q: (n,) or (batch, n).
            gamma: (m,) or (batch, m).
        """
        force, wanted = numbers("Q", Q), numbers("gamma", gamma)
        lead = self.T.shape[:-2]
        for name, given, size in (
            ("Q", force, self.T.shape[-2]),
            ("gamma", wanted, self.T.shape[-1]),
        ):
            if given.shape != (*lead, size):
                raise ShapeError(
                    f"{name} has shape {given.shape}; the factor needs {(*lead, size)}"
                )
        z = self.mass.solve_LT(force)  # step 2
        r = np.einsum("...nm,...n->...m", self.W, z) - wanted  # 3.2
        solve: Any = np.linalg.solve
        half = solve(self.C, r[..., None])  # 3.4
        multipliers: Array = solve(np.swapaxes(self.C, -1, -2), half)[..., 0]
        y = z - np.einsum("...nm,...m->...n", self.T, multipliers)  # 3.5
        return self.mass.solve_L(y / self.mass.D), multipliers  # 4

    def __repr__(self) -> str:
        n, m = self.T.shape[-2:]
        many = "" if self.mass.batch is None else f", batch of {self.mass.batch}"
        return f"AugmentedFactor: {n} rows, {m} constraints{many}"


def _cholesky(G: Array) -> Array:
    """Return C of G = C Cᵀ; a ModelError if rows of J are dependent."""
    try:
        C: Array = np.asarray(np.linalg.cholesky(G), dtype=np.float64)
        pivots = np.diagonal(C, axis1=-2, axis2=-1) ** 2
        is_regular = (pivots > DEPENDENT * np.diagonal(G, axis1=-2, axis2=-1)).all()
    except np.linalg.LinAlgError:
        C, is_regular = G, False
    if not is_regular:
        raise ModelError(
            "the rows of J are dependent: J M⁻¹ Jᵀ is not positive definite; leave out "
            "redundant constraints"
        )
    return C
