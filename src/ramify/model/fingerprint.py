"""A digest of plain data: the key of a robot's compiled code in the cache."""

from __future__ import annotations

import hashlib
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, cast

import numpy as np


def fingerprint(*values: object) -> str | None:
    """Return a digest of some values, or None if one is not plain data.

    Plain are None, numbers, strings, arrays; dataclasses, tuples, lists and dicts of
    plain values. Equal values have equal digests, in every process; a field that does
    not take part in comparisons is left out.
    """
    h = hashlib.sha256()
    stack: list[Any] = [values]
    while stack:
        x = stack.pop()
        if isinstance(x, np.floating):
            x = float(cast(Any, x))  # NumPy's own print differently by version
        h.update(type(x).__name__.encode())
        if x is None or isinstance(x, (str, int, float)):
            h.update(repr(x).encode())
        elif isinstance(x, np.ndarray):
            array = cast("np.ndarray[Any, Any]", x)
            h.update(repr((array.shape, array.dtype.str)).encode())
            h.update(np.ascontiguousarray(array).tobytes())
        elif isinstance(x, (tuple, list)):
            entries = cast("list[Any]", x)
            h.update(b"%d" % len(entries))
            stack.extend(entries)
        elif isinstance(x, dict):
            pairs = cast("dict[Any, Any]", x)
            h.update(b"%d" % len(pairs))
            for key, value in pairs.items():
                stack += [value, key]
        elif is_dataclass(x):
            stack.extend([getattr(x, name) for name in _fields(type(x))])
        else:
            return None
        h.update(b"\0")
    return h.hexdigest()


@cache
def _fields(kind: Any) -> tuple[str, ...]:
    return tuple(f.name for f in fields(kind) if f.compare)
