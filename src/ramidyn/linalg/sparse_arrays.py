"""SciPy's sparse matrices, which go in and come out; SciPy is imported when used."""

# ruff: noqa: N803  (H is the paper's letter)
from __future__ import annotations

import importlib
from typing import Any

from ramidyn.errors import ShapeError


def scipy_sparse() -> Any:
    """Return the module scipy.sparse."""
    try:
        return importlib.import_module("scipy.sparse")
    except ImportError as error:
        raise ImportError("sparse matrices need SciPy: pip install scipy") from error


def is_sparse(H: object) -> bool:
    """Return whether H is a sparse matrix of SciPy's, without importing SciPy."""
    return hasattr(H, "tocsr") and hasattr(H, "nnz")


def csr_of(H: Any) -> Any:
    """Return a sparse matrix as compressed rows, entries at one place added."""
    if not is_sparse(H) or len(H.shape) != 2 or H.shape[0] != H.shape[1]:
        raise ShapeError(
            f"H is {type(H).__name__} of shape {getattr(H, 'shape', None)}; expected a "
            "square sparse matrix of SciPy's"
        )
    rows = H.tocsr(copy=True)
    rows.sum_duplicates()
    if rows.dtype.kind not in "fiub":
        raise ShapeError(f"H has dtype {rows.dtype}; expected real numbers")
    return rows
