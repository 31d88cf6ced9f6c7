"""What factorizations along a tree refuse, and what they say."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from ramidyn.errors import ModelError, ShapeError
from ramidyn.linalg.factor import TreeMatrix, ltdl, ltl

KINDS = (ltdl, ltl)
GOOD = np.array([[4.0, 1.0, 1.0], [1.0, 2.0, 0.0], [1.0, 0.0, 2.0]])
FORK = (-1, 0, 0)


def with_entry(value: float, *where: tuple[int, ...]) -> Any:
    H = GOOD.copy()
    for i, j in where:
        H[i, j] = value
    return H


@pytest.mark.parametrize("factorize", KINDS)
@pytest.mark.parametrize(
    ("H", "parents", "kind", "text"),
    [
        (
            with_entry(0.5, (2, 1), (1, 2)),
            FORK,
            ModelError,
            "H[2, 1] is 0.5, but 2 and 1 are on different branches of the tree; "
            "expected 0, or parents that put one above the other",
        ),
        (
            with_entry(0.5, (1, 2)),
            FORK,
            ModelError,
            "H[1, 2] is 0.5, but 1 and 2 are on",
        ),
        (
            with_entry(0.0, (0, 1)),
            FORK,
            ModelError,
            "H[1, 0] is 1 and H[0, 1] is 0; expected a symmetric matrix, both "
            "triangles filled (check=False reads only the lower one)",
        ),
        (
            with_entry(np.nan, (0, 2), (2, 0)),
            FORK,
            ModelError,
            "H[2, 0] is nan; expected finite numbers",
        ),
        (
            with_entry(np.inf, (1, 1)),
            FORK,
            ModelError,
            "H[1, 1] is inf; expected finite",
        ),
        (with_entry(-np.inf, (1, 2)), FORK, ModelError, "H[1, 2] is -inf; expected"),
        (
            with_entry(-1.0, (1, 1)),
            FORK,
            ModelError,
            "H is not positive definite: pivot 1 is -1; expected a symmetric positive "
            "definite matrix",
        ),
        (with_entry(0.0, (2, 2)), FORK, ModelError, "pivot 2 is 0;"),
        (with_entry(1.0, (0, 0)), FORK, ModelError, "pivot 0 is 0;"),
        (
            np.stack([GOOD] * 6 + [with_entry(-1.0, (1, 1))]),
            FORK,
            ModelError,
            "H[6] is not positive definite: pivot 1 is -1;",
        ),
        (
            np.stack([GOOD, with_entry(-1.0, (1, 1))]),
            FORK,
            ModelError,
            "H[1] is not positive definite: pivot 1 is -1;",
        ),
        (
            np.stack([GOOD] * 4 + [with_entry(9.0, (0, 1))]),
            FORK,
            ModelError,
            "H[4, 1, 0] is 1 and H[4, 0, 1] is 9;",
        ),
        (
            np.eye(4),
            FORK,
            ShapeError,
            "H has shape (4, 4); parents has 3 entries, which needs (3, 3) or "
            "(batch, 3, 3)",
        ),
        (np.ones(3), FORK, ShapeError, "H has shape (3,); parents has 3 entries"),
        (np.ones((1, 1, 3, 3)), FORK, ShapeError, "H has shape (1, 1, 3, 3);"),
        (
            GOOD.astype(complex),
            FORK,
            ShapeError,
            "H has dtype complex128; expected real numbers",
        ),
        ([["a"]], (-1,), ShapeError, "H has dtype <U1; expected real numbers"),
        ([[1.0], [1.0, 2.0]], (-1, 0), ShapeError, "H is not an array: "),
        (
            GOOD,
            (-1, 0, 2),
            ModelError,
            "parents[2] is 2; a regular numbering needs -1 (the world) or a body ",
        ),
        (GOOD, (-1, -2, 0), ModelError, "parents[1] is -2; a regular numbering"),
        (GOOD, (0, 0, 0), ModelError, "parents[0] is 0; a regular numbering"),
        (
            GOOD,
            (-1, 0.0, 0.5),
            ShapeError,
            "parents has shape (3,) and dtype float64; expected one integer for each "
            "row, -1 where there is no parent",
        ),
        (GOOD, [[-1, 0, 0]], ShapeError, "parents has shape (1, 3) and dtype int64;"),
        (GOOD, "abc", ShapeError, "parents has shape () and dtype <U3;"),
        (
            GOOD,
            None,
            ShapeError,
            "parents is missing; only a TreeMatrix has its own",
        ),
        (
            TreeMatrix(FORK, np.ones(5)),
            (-1, 0, 1),
            ShapeError,
            "parents differ from those of the TreeMatrix; omit parents",
        ),
        (
            TreeMatrix(FORK, np.array([4.0, 1.0, 0.0, 1.0, 2.0])),
            None,
            ModelError,
            "H is not positive definite: pivot 1 is 0;",
        ),
        (
            TreeMatrix(FORK, np.full((5, 5), np.nan)),
            None,
            ModelError,
            "H[0] is not positive definite: pivot 2 is nan;",
        ),
    ],
)
def test_what_is_wrong_with_the_arguments_is_said(
    H: Any, parents: Any, kind: type[Exception], text: str, factorize: Any
) -> None:
    with pytest.raises(kind, match=re.escape(text)):
        factorize(H, parents)


@pytest.mark.parametrize(
    ("H", "given_"),
    [
        (GOOD.tolist(), "list"),
        (GOOD.astype(np.float32), "float32"),
        (np.broadcast_to(GOOD, (2, 3, 3)), "read-only float64"),
    ],
)
def test_only_a_float64_array_is_overwritten(H: Any, given_: str) -> None:
    text = f"overwrite=True needs a writable float64 array; H is {given_}"
    with pytest.raises(ShapeError, match=re.escape(text)):
        ltdl(H, FORK, overwrite=True)


@pytest.mark.parametrize("method", ["solve", "mul_L", "mul_LT", "solve_L", "solve_LT"])
def test_vectors_of_a_wrong_shape_are_refused(method: str) -> None:
    one, many = ltdl(GOOD, FORK), ltdl(np.stack([GOOD] * 5), FORK)
    name = "b" if method == "solve" else "x"
    for factor, shape, needs in (
        (one, (4,), "(3,) or (3, k)"),
        (one, (), "(3,) or (3, k)"),
        (one, (3, 1, 1), "(3,) or (3, k)"),
        (many, (3,), "(5, 3) or (5, 3, k)"),
        (many, (4, 3), "(5, 3) or (5, 3, k)"),
        (many, (5, 3, 1, 1), "(5, 3) or (5, 3, k)"),
    ):
        text = f"{name} has shape {shape}; the factor needs {needs}"
        with pytest.raises(ShapeError, match=re.escape(text)):
            getattr(factor, method)(np.ones(shape))
    with pytest.raises(ShapeError, match=f"{name} has dtype complex128; expected real"):
        getattr(one, method)(np.ones(3, complex))


def test_packed_rows_of_a_wrong_shape_are_refused() -> None:
    text = "values has shape (4,); the tree of 3 rows needs (5,) or (batch, 5)"
    with pytest.raises(ShapeError, match=re.escape(text)):
        TreeMatrix(FORK, np.ones(4))


@pytest.mark.parametrize(
    ("data", "indices", "indptr", "kind", "text"),
    [
        (
            [1.0, 1.0, 1.0, 9.0],
            [0, 1, 2, 1],
            [0, 1, 2, 4],
            ModelError,
            "entry (2, 1) is 9, but 2 and 1 are on different branches of the tree;",
        ),
        (
            [1.0, 5.0, 1.0, 1.0],
            [0, 1, 1, 2],
            [0, 2, 3, 4],
            ModelError,
            "entry (1, 0) is 0 and entry (0, 1) is 5; expected a symmetric matrix",
        ),
        (
            [1.0],
            [0],
            [0, 1],
            ShapeError,
            "data, indices and indptr have shapes (1,), (1,) and (2,); they do not "
            "describe the compressed rows of a (3, 3) matrix",
        ),
        (
            [1.0],
            [7],
            [0, 1, 1, 1],
            ShapeError,
            "they do not describe the compressed rows",
        ),
        (
            [1.0],
            [0],
            [0, 1, 0, 1],
            ShapeError,
            "they do not describe the compressed rows",
        ),
        (
            [1.0],
            [0.0],
            [0, 1, 1, 1],
            ShapeError,
            "they do not describe the compressed rows",
        ),
    ],
)
def test_compressed_rows_that_are_none_are_refused(
    data: Any, indices: Any, indptr: Any, kind: type[Exception], text: str
) -> None:
    with pytest.raises(kind, match=re.escape(text)):
        TreeMatrix.from_csr(data, indices, indptr, FORK)


@pytest.mark.parametrize(
    ("out", "text"),
    [
        (
            np.zeros(2),
            "out is a float64 array of shape (2,); expected a writable float64",
        ),
        (np.zeros(3, dtype=np.float32), "out is a float32 array of shape (3,)"),
        (
            [0.0, 0.0, 0.0],
            "out is list; expected a writable float64 array of shape (3,)",
        ),
        (np.broadcast_to(np.zeros(1), (3,)), "out is a read-only float64 array"),
    ],
)
def test_results_go_to_no_other_array(out: Any, text: str) -> None:
    factor = ltdl(GOOD, FORK)
    with pytest.raises(ShapeError, match=re.escape(text)):
        factor.solve(np.ones(3), out=out)
