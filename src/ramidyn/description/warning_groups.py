"""Merge warnings of one kind into one that names everything it is about."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_PLACED = re.compile(r"([^\s:]*):(\d+): ([^':]+?)(?: '([^']*)')?: (.+)", re.S)
"""file:line: kind 'name': text, as the readers of files write it"""
_PLURALS = {"body": "bodies"}


@dataclass(frozen=True, slots=True)
class _Placed:
    """A warning about one element of a file."""

    file: str
    line: str
    kind: str
    name: str | None
    text: str

    @property
    def subject(self) -> tuple[str, str, bool, str]:
        """What warnings of one kind share; figures after the last colon may differ."""
        text, _, detail = self.text.rpartition(": ")
        shared = text if text and any(map(str.isdigit, detail)) else self.text
        return self.file, self.kind, self.name is None, shared


def group_warnings(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the warnings, those of one kind as one that names every element."""
    groups: dict[object, list[_Placed]] = {}
    shown: dict[object, str] = {}
    for text in texts:
        match = _PLACED.fullmatch(text)
        one = _Placed(*match.groups()) if match is not None else None
        key = text if one is None else one.subject
        shown.setdefault(key, text)
        if one is not None:
            groups.setdefault(key, []).append(one)
    return tuple(
        _merged_warning(groups[key]) if len(groups.get(key, ())) > 1 else text
        for key, text in shown.items()
    )


def _merged_warning(group: Sequence[_Placed]) -> str:
    first = group[0]
    is_same = all(one.text == first.text for one in group)
    text = first.text if is_same else first.subject[-1]
    if first.name is None:
        lines = ", ".join(one.line for one in group)
        return f"{first.file}:{lines}: {first.kind}: {text}"
    kinds = _PLURALS.get(first.kind, first.kind + "s")
    names = list(dict.fromkeys(one.name for one in group if one.name is not None))
    return (
        f"{first.file}:{first.line}: {len(names)} {kinds} {quoted_names(names)}: {text}"
    )


def counted_noun(n: int, one: str, many: str = "") -> str:
    """Return a number of things."""
    return f"{n} {one}" if n == 1 else f"{n} {many or one + 's'}"


def quoted_names(names: Sequence[str], most: int = 8) -> str:
    """Return names in quotes, the first few of many."""
    shown = ", ".join(map(repr, names[:most]))
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")
