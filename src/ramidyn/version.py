"""Ramidyn's version, and the digests that key the disk cache: of sources, of robots."""

from __future__ import annotations

import functools
import hashlib
import os
from dataclasses import fields, is_dataclass
from typing import Any, cast

import numpy as np


@functools.cache
def version() -> str:
    """Return the version of the installed package; "0" for a bare source tree."""
    from importlib import metadata  # noqa: PLC0415  it takes long to import

    try:
        return metadata.version("ramidyn")
    except metadata.PackageNotFoundError:
        return "0"


@functools.cache
def source_digest() -> str:
    """Return a hash of all of Ramidyn's source: code from other sources is never run.

    Where it is installed without source, that is a hash of the bytecode.
    """
    h = hashlib.sha256()
    root = os.path.dirname(__file__)
    found = [
        f"{folder[len(root) :]}{os.sep}{name}"
        for folder, _, names in os.walk(root)
        for name in names
        if name.endswith((".py", ".pyc")) and not folder.endswith("__pycache__")
    ]
    for path in sorted(found):
        h.update(path.replace(os.sep, "/").encode())
        with open(root + path, "rb", buffering=0) as file:
            h.update(file.read())
    return h.hexdigest()


PLAIN = frozenset([type(None), bool, int, float, str])


def fingerprint(*values: object) -> str | None:
    """Return a digest of values, or None if one is not plain data.

    Plain are None, numbers, strings, arrays; dataclasses, tuples, lists and dicts of
    plain values. Equal values have equal digests, in every process; a field that does
    not take part in comparisons is left out.
    """
    flat: list[Any] = []  # numbers and strings; a tuple says what the next ones are
    stack: list[Any] = [values]
    while stack:
        x = stack.pop()
        kind = cast("type[Any]", type(x))
        if kind in PLAIN:
            flat.append(x)
        elif isinstance(x, (tuple, list)):
            entries = cast("list[Any]", x)
            flat.append((kind.__name__, len(entries)))
            stack.extend(entries)
        elif isinstance(x, np.floating):
            flat.append(
                float(cast("Any", x))
            )  # NumPy's own print differently by version
        elif isinstance(x, (str, int, float)):
            flat.append((kind.__name__, repr(x)))
        elif isinstance(x, np.ndarray):
            array = cast("np.ndarray[Any, Any]", x)
            numbers = np.ascontiguousarray(array).tobytes()
            flat.append((kind.__name__, array.shape, array.dtype.str, numbers))
        elif isinstance(x, dict):
            pairs = cast("dict[Any, Any]", x)
            flat.append((kind.__name__, len(pairs)))
            for key, value in pairs.items():
                stack += [value, key]
        elif is_dataclass(x):
            flat.append((kind.__name__,))
            stack.extend([getattr(x, name) for name in _fields(kind)])
        else:
            return None
    return hashlib.sha256(repr(flat).encode()).hexdigest()


@functools.cache
def _fields(kind: Any) -> tuple[str, ...]:
    return tuple(f.name for f in fields(kind) if f.compare)
