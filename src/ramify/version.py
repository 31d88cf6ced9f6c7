"""Ramify's version, and the digest of its sources that keys the disk cache."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path


@functools.cache
def version() -> str:
    """Return the version of the installed package; "0" for a bare source tree."""
    from importlib import metadata  # noqa: PLC0415  it takes long to import

    try:
        return metadata.version("ramify")
    except metadata.PackageNotFoundError:
        return "0"


@functools.cache
def source_digest() -> str:
    """Return a hash of all of Ramify's source: code from other sources is never run."""
    h = hashlib.sha256(version().encode())
    root = Path(__file__).parent
    for path in sorted(root.rglob("*.py")):
        h.update(path.relative_to(root).as_posix().encode())
        h.update(path.read_bytes())
    return h.hexdigest()
