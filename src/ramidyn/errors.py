"""The errors that Ramidyn raises.

    ramidyn.Error
    ├── ModelError        an invalid robot description
    │   └── UnsupportedJoint
    ├── UnknownName       no joint, body or frame with that name in a model
    ├── ArgumentError     a value that an argument cannot have (also a ValueError)
    ├── ShapeError        an array of the wrong shape or type
    ├── FrameError        spatial quantities in different frames, combined
    ├── TraceError        a Python function that cannot be traced
    └── CompileError      a program that cannot become native code

Messages state what was given, what was expected and what is possible. ``ModelWarning``
is not an error: the robot loads, and the message says what to check.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, cast

__all__ = [
    "ArgumentError",
    "CompileError",
    "Error",
    "FrameError",
    "ModelError",
    "ModelWarning",
    "ShapeError",
    "TraceError",
    "UnknownName",
    "UnsupportedJoint",
]


def __dir__() -> list[str]:
    return __all__


LONGEST_WORD: Final = 256
"""[characters] of a name or a path in a message; longer ones are shortened"""
_LONG_WORD: Final = re.compile(rf"[^\s'\"]{{{LONGEST_WORD + 1},}}")


DISTRIBUTION: Final = "ramidyn"
"""the name to install: that of the package index"""


def install_command(extra: str) -> str:
    """Return how to install what an optional part needs, in any shell."""
    return f'pip install "{DISTRIBUTION}[{extra}]"'


class Error(Exception):
    """The base class of all errors that Ramidyn raises."""

    def __init__(self, message: str = "") -> None:
        super().__init__(readable(message))


class ModelError(Error):
    """An invalid robot description."""


class UnsupportedJoint(ModelError):  # noqa: N818  what is wrong, in a word
    """A joint type that Ramidyn does not support."""


class UnknownName(Error):  # noqa: N818  what is wrong, in a word
    """No joint, body or frame with that name in a model."""


class ArgumentError(Error, ValueError):
    """An invalid argument value; the message lists the valid ones."""


class ShapeError(Error):
    """An array of the wrong shape, type or layout."""


class FrameError(Error):
    """Spatial quantities in different frames were combined."""


class TraceError(Error):
    """A Python function that cannot be traced, with the line at fault."""


class CompileError(Error):
    """A program that cannot be compiled to native code."""


class ModelWarning(UserWarning):
    """A problem in a robot description that does not prevent loading."""

    def __init__(self, message: str = "") -> None:
        super().__init__(readable(message))


def printable(text: str) -> str:
    """Return text that is safe to print: line breaks stay, other controls are escaped.

    Names come from files: they could move a terminal's cursor, or reverse its text.
    """
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode()
        for c in text
    )


def readable(message: str) -> str:
    """Return a message that is safe to print and has no endless names."""
    message = printable(message)
    if len(message) <= LONGEST_WORD:
        return message
    return _LONG_WORD.sub(
        lambda m: f"{m[0][:100]}... ({len(m[0])} characters)", message
    )


def is_among(name: object, known: Container[str]) -> bool:
    """Return whether something is a known name; arrays are not compared."""
    return isinstance(name, str) and name in known


def one_of(name: str, value: object, possible: Iterable[str], *others: str) -> str:
    """Return a word of a list, or raise ArgumentError, which also lists ``others``."""
    words = tuple(possible)
    if isinstance(value, str) and value in words:
        return value
    listed = ", ".join([*map(repr, words), *others])
    raise ArgumentError(f"{name} is {value!r}; possible: {listed}")


def flag_of(name: str, given: object) -> bool:
    """Return a flag that a user gave."""
    if isinstance(given, bool):
        return given
    raise ArgumentError(f"{name} is {given!r}; possible: True, False")


def names_of(what: str, given: object) -> list[str]:
    """Return names that a user gave: one, or any number of them."""
    if isinstance(given, str):
        return [given]
    if isinstance(given, Iterable):
        names = list(cast("Iterable[object]", given))
        if all(isinstance(name, str) for name in names):
            return cast("list[str]", names)
    raise ArgumentError(f"{what} is {given!r}; expected a list of names")


def close_matches(name: object, known: Iterable[str]) -> list[str]:
    """Return up to three known names that may have been meant."""
    import difflib  # noqa: PLC0415  only for messages

    if not isinstance(name, str) or len(name) > LONGEST_WORD:
        return []
    names = [n for n in known if len(n) <= LONGEST_WORD]  # the cost is quadratic
    return difflib.get_close_matches(name, names, n=3)


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Return a hint at the known names that may have been meant, or nothing."""
    close = close_matches(name, known)
    return f" (did you mean {' or '.join(map(repr, close))}?)" if close else ""


def unknown_name(kind: str, name: str, owner: str, known: Iterable[str]) -> UnknownName:
    """Return the error for an unknown name, with close matches."""
    names = list(known)
    close = close_matches(name, names)
    hint = " Close: " + ", ".join(map(repr, close)) + "." if close else ""
    shown = ", ".join(map(repr, names[:12])) + (", ..." if len(names) > 12 else "")
    return UnknownName(
        f"no {kind} {name!r} in {owner}.{hint} All {len(names)}: {shown or 'none'}."
    )


# ------------------------------------------------------------ warnings
# Those of one kind become one that names everything it is about.

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
