"""MJCF's <include>: an element replaced by the contents of another file.

Files are looked up next to the main model, then next to the including file, as MuJoCo
does; each at most once, and none outside the directory that the caller allows.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from weakref import ref

from ramidyn.description.formats.read import read_source
from ramidyn.description.formats.xml import Element, fault, parse_xml, word
from ramidyn.errors import ModelError


@dataclass(frozen=True, slots=True)
class Allowed:
    """Where includes are looked up, and the directory they must be in; all resolved."""

    folder: Path
    """of the main model"""
    limit: Path
    """the directory that holds every file that may be included"""
    label: str
    """the name of the main model"""
    seen: set[Path] = field(default_factory=set[Path])
    """all files that were read: the model, includes and meshes"""

    @staticmethod
    def around(
        folder: Path, label: str, limit: str | os.PathLike[str] | None
    ) -> Allowed:
        """Return the files that a model in a folder may include."""
        here = folder.resolve()
        if limit is None:
            return Allowed(here, here.parent, label, {here / Path(label).name})
        try:
            directory = Path(limit).expanduser().resolve()
            exists = directory.is_dir()
        except (OSError, ValueError, RuntimeError, TypeError):
            directory, exists = here, False
        if not exists:
            raise ModelError(
                f"include_directory is {limit!r}; expected an existing directory"
            )
        return Allowed(here, directory, label, {here / Path(label).name})


def expand_includes(root: Element, allowed: Allowed | None) -> None:
    """Replace every <include> below an element, in place; None allows none."""
    if next(root.iter("include"), None) is None:
        return
    roots = set[Element]()
    folder = allowed.folder if allowed else None
    waiting: list[tuple[Element, Path | None]] = [(root, folder)]
    while waiting:
        element, here = waiting.pop()
        children: list[Element] = []
        for child in element:
            assert isinstance(child, Element)
            if child.tag != "include":
                children.append(child)
                waiting.append((child, here))
                continue
            path, included = _included_file(child, allowed, here)
            # What it holds may be includes again: it stays whole until all are read.
            waiting.append((included, path.parent))
            children.append(included)
            roots.add(included)
        element[:] = children
    _dissolve(root, roots)


def _included_file(
    element: Element, allowed: Allowed | None, here: Path | None
) -> tuple[Path, Element]:
    """Return the path and the root of the file that an <include> names."""
    name = word(element, "file")
    if len(element):
        raise fault(element, "children inside; expected an empty <include file=.../>")
    if allowed is None or here is None:
        raise fault(
            element,
            f"file={name!r} cannot be found, because the model was given as text; "
            "pass a path instead",
        )
    path = find_file(element, name, allowed, here)
    if path in allowed.seen:
        raise fault(element, f"file={name!r} is already included; expected it once")
    allowed.seen.add(path)
    try:
        text, _ = read_source(path)
        included = parse_xml(text, os.path.relpath(path, allowed.folder))
    except ModelError as e:
        raise fault(element, f"file={name!r}: {e}") from None
    return path, included


def find_file(
    element: Element, name: str, allowed: Allowed, here: Path | None = None
) -> Path:
    """Return the path of a file that an element names, next to the model or ``here``.

    Raises:
        ModelError: there is no such file, or it is outside of what is allowed.
    """
    leads_outside = False
    for start in (allowed.folder, here or allowed.folder):
        try:
            path = (start / name).resolve()
            exists = path.is_file()
        except (OSError, ValueError, RuntimeError):
            raise fault(element, f"file={name!r} is not a valid path") from None
        if not path.is_relative_to(allowed.limit):
            leads_outside = True
        elif exists:
            return path
    if leads_outside:
        raise fault(
            element,
            f"file={name!r} leads outside {str(allowed.limit)!r}; to allow it, load "
            "the model with include_directory= a directory that holds all its files",
        )
    raise fault(element, f"file={name!r}: no such file next to the model")


def _dissolve(root: Element, roots: set[Element]) -> None:
    """Put the children of every included root in its place."""
    waiting = [root]
    while waiting:
        element = waiting.pop()
        flat: list[Element] = []
        pending = list(reversed(element))
        while pending:
            child = pending.pop()
            assert isinstance(child, Element)
            if child in roots:
                pending.extend(reversed(child))
            else:
                child.outer = ref(element)
                flat.append(child)
        element[:] = flat
        waiting.extend(flat)
