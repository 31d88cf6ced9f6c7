"""Parameters of tests, some of which run only with --slow."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def some(values: Iterable[Any], slow: Collection[Any]) -> list[Any]:
    """Return values as parameters; the slow ones, more of the same, are marked so."""
    mark = pytest.mark.slow
    return [pytest.param(v, marks=mark) if v in slow else v for v in values]
