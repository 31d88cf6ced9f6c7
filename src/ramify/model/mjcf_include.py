"""MJCF's <include>: an element replaced by what stands in another file.

Files are looked up beside the main model, then beside the including file, as MuJoCo
does; each at most once, and none outside the main model's directory.
"""

from __future__ import annotations

from pathlib import Path

from ramify.errors import ModelError
from ramify.model.source import read_source
from ramify.model.xml import Element, fault, parse_xml, word


def expand_includes(root: Element, folder: Path | None, label: str) -> None:
    """Replace every <include> below an element, in place."""
    if folder is not None:
        folder = folder.resolve()
    seen = set[Path]()
    if folder is not None:
        seen.add(folder / Path(label).name)
    roots = set[Element]()
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
            path, included = _included(child, folder, here, seen)
            # What it holds may be includes again: it stays whole until all are read.
            waiting.append((included, path.parent))
            children.append(included)
            roots.add(included)
        element[:] = children
    _dissolve(root, roots)


def _included(
    element: Element, folder: Path | None, here: Path | None, seen: set[Path]
) -> tuple[Path, Element]:
    """Return the path and the root of the file that an <include> names."""
    name = word(element, "file")
    if len(element):
        raise fault(element, "children inside; expected an empty <include file=.../>")
    if folder is None or here is None:
        raise fault(
            element,
            f"file={name!r} cannot be found from a text; expected a path to the model",
        )
    path = _found(element, name, folder, here)
    if path in seen:
        raise fault(element, f"file={name!r} is included already; expected it once")
    seen.add(path)
    try:
        text, _ = read_source(path)
        included = parse_xml(text, str(path.relative_to(folder)))
    except ModelError as e:
        raise fault(element, f"file={name!r}: {e}") from None
    return path, included


def _found(element: Element, name: str, folder: Path, here: Path) -> Path:
    for start in (folder, here):
        try:
            path = (start / name).resolve()
            exists = path.is_file()
        except (OSError, ValueError, RuntimeError):
            raise fault(element, f"file={name!r} is no path") from None
        if not path.is_relative_to(folder):
            raise fault(
                element,
                f"file={name!r} leads outside the model's directory; expected a file "
                "beside the model or below",
            )
        if exists:
            return path
    raise fault(element, f"file={name!r}: no such file in the model's directory")


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
                child.parent = element
                flat.append(child)
        element[:] = flat
        waiting.extend(flat)
