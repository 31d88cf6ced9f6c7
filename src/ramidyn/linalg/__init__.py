"""Sparse factors of symmetric matrices along a tree, without fill-in.

    ltdl, ltl          factor a matrix: M = Lᵀ D L, or M = Lᵀ L
    Factor             their result: solve, products with L, log-determinant
    TreeMatrix         a matrix by its nonzero entries along a tree
    D1, D2             costs of a tree: nonzeros of M, products of a factorization
    sparsity_pattern   where a matrix along a tree can be nonzero

A tree is an array of parents, −1 at the root, such as ``robot.tree.dof_parents``.
"""

from ramidyn.linalg.factor import Factor, TreeMatrix, ltdl, ltl
from ramidyn.tree.tree import D1, D2, sparsity_pattern

__all__ = ["D1", "D2", "Factor", "TreeMatrix", "ltdl", "ltl", "sparsity_pattern"]


def __dir__() -> list[str]:
    return __all__
