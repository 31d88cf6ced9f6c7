"""Sparse factors of symmetric matrices along a tree, without fill-in.

    ltdl, ltl          factor a matrix: M = Lᵀ D L, or M = Lᵀ L
    Factor             their result: solve, products with L, log-determinant
    augmented          factor [M Jᵀ; J 0]: equations of motion with constraints
    AugmentedFactor    its result
    TreeMatrix         a matrix by its nonzero entries along a tree
    parents_of         the tree of a matrix, from its nonzeros
    numbering_of       a numbering in which a matrix factors at little cost
    regular_numbering  a numbering of any tree with parents before children
    Numbering          their result: renumber matrices and vectors, and undo it
    renumbering        an order with descendants before ancestors, for Cholesky
    expanded_parents   the tree of degrees of freedom of a tree of joints
    D1, D2             costs of a tree: nonzeros of M, products of a factorization
    sparsity_pattern   where a matrix along a tree can be nonzero

A tree is an array of parents, −1 at the root, such as ``robot.tree.dof_parents``.
Sparse matrices of SciPy's go in (`ltdl`, `augmented`, `parents_of`, `numbering_of`,
`TreeMatrix.from_scipy`) and come out (`TreeMatrix.scipy`, `Factor.scipy`).
"""

from ramidyn.linalg.augmented import AugmentedFactor, augmented
from ramidyn.linalg.factor import Factor, TreeMatrix, ltdl, ltl
from ramidyn.linalg.numbering import (
    Numbering,
    expanded_parents,
    numbering_of,
    parents_of,
    regular_numbering,
)
from ramidyn.tree.tree import D1, D2, renumbering, sparsity_pattern

__all__ = [
    "D1",
    "D2",
    "AugmentedFactor",
    "Factor",
    "Numbering",
    "TreeMatrix",
    "augmented",
    "expanded_parents",
    "ltdl",
    "ltl",
    "numbering_of",
    "parents_of",
    "regular_numbering",
    "renumbering",
    "sparsity_pattern",
]


def __dir__() -> list[str]:
    return sorted(__all__)
