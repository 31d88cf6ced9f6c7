"""Ramify's version, and the digest of its sources that keys the disk cache."""

from __future__ import annotations

import functools
import hashlib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

try:
    __version__ = version("ramify")
except PackageNotFoundError:  # run from a source tree that is not installed
    __version__ = "0"


@functools.cache
def source_digest() -> str:
    """Return a hash of all of Ramify's source: code from other sources is never run."""
    h = hashlib.sha256(__version__.encode())
    root = Path(__file__).parent
    for path in sorted(root.rglob("*.py")):
        h.update(path.relative_to(root).as_posix().encode())
        h.update(path.read_bytes())
    return h.hexdigest()
