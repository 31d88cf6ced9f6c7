"""Files that users ask for: paths are checked, files of another kind are kept."""

from __future__ import annotations

from os import PathLike, fspath
from pathlib import Path
from typing import Final, cast

from ramidyn.errors import ArgumentError

BEGINNINGS: Final = {
    "an HTML page": (b"<!doctype html", b"<html"),
    "a recording of Rerun": (b"rrf",),
    "an XML file": (b"<?xml", b"<mujoco", b"<robot", b"<!--"),
    "a Markdown page": (b"#",),
}
"""how a file of each kind begins, in lower case"""


def checked_path(path: object) -> Path:
    """Return a path that a user gave."""
    if isinstance(path, str | PathLike):
        return Path(cast("str | PathLike[str]", path))
    raise ArgumentError(f"path is {path!r}; expected the path of a file")


def replaceable_file(path: object, kind: str) -> Path:
    """Return a path to write to; of files that exist, only this kind is replaced.

    Raises:
        ArgumentError: the path is not one, a directory, or a file of another kind.
    """
    target = checked_path(path)
    if target.is_dir():
        raise ArgumentError(f"{fspath(target)!r} is a directory; expected a file")
    if target.is_file():
        with target.open("rb") as file:
            start = file.read(100).lstrip().lower()
        if start and not start.startswith(BEGINNINGS[kind]):
            raise ArgumentError(
                f"{fspath(target)!r} exists and is not {kind}; choose another path"
            )
    return target
