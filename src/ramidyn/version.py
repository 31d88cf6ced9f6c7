"""Ramidyn's version, and the digest of its sources that keys the disk cache."""

from __future__ import annotations

import functools
import hashlib
import os


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
