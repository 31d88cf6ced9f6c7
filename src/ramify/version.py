"""Ramify's version, and the digest of its sources that keys the disk cache."""

from __future__ import annotations

import functools
import hashlib
import os


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
    h = hashlib.sha256()
    root = os.path.dirname(__file__)
    found = [
        os.path.join(folder, n) for folder, _, names in os.walk(root) for n in names
    ]
    for path in sorted(found):
        if path.endswith(".py"):
            h.update(os.path.relpath(path, root).replace(os.sep, "/").encode())
            with open(path, "rb") as file:
                h.update(file.read())
    return h.hexdigest()
