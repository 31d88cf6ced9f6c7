"""A digest of plain data: what a robot's compiled code is found by in the cache."""

from __future__ import annotations

import hashlib
from dataclasses import fields, is_dataclass
from typing import Any, cast

import numpy as np


def fingerprint(*values: object) -> str | None:
    """Return a digest of some values, or None if one is not plain data.

    Plain are None, numbers, strings, arrays; dataclasses, tuples, lists and dicts of
    plain values. Equal values have equal digests, in every process.
    """
    h = hashlib.sha256()
    stack: list[Any] = [values]
    while stack:
        x = stack.pop()
        kind = cast(object, type(x))
        h.update(type(x).__name__.encode())
        if x is None or kind in (str, int, float, bool):
            h.update(repr(x).encode())
        elif kind is np.ndarray:
            h.update(repr((x.shape, x.dtype.str)).encode())
            h.update(np.ascontiguousarray(x).tobytes())
        elif kind in (tuple, list):
            h.update(b"%d" % len(x))
            stack.extend(x)
        elif kind is dict:
            h.update(b"%d" % len(x))
            for key, value in x.items():
                stack += [value, key]
        elif is_dataclass(x):
            stack.extend(getattr(x, f.name) for f in fields(x))
        else:
            return None
        h.update(b"\0")
    return h.hexdigest()
