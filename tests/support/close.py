"""Agreement of two results, relative to the largest entry."""

from __future__ import annotations

from typing import Any

import numpy as np

TOLERANCE = 1e-10
"""relative to the largest entry: rounding of a long chain"""


def assert_close(
    ours: Any,
    theirs: Any,
    what: str = "",
    *,
    tolerance: float = TOLERANCE,
    least: float = 1.0,
) -> None:
    """Assert the same shape and entries; ``least`` is the scale of small ones."""
    ours, theirs = np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float)
    assert ours.shape == theirs.shape, what
    scale = max(least, float(np.abs(theirs).max(initial=0.0)))
    np.testing.assert_allclose(
        ours, theirs, rtol=0.0, atol=tolerance * scale, err_msg=what
    )
