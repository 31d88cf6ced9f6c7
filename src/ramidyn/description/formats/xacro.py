"""Expand xacro files by the package ``xacro``, where it is installed."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ramidyn.errors import ModelError


def is_xacro(path: Path) -> bool:
    """Return whether a file's name says that it is written in xacro."""
    return path.suffix == ".xacro"


def expanded(path: Path, arguments: Mapping[str, object]) -> str:
    """Return the XML that a xacro file expands to.

    Args:
        path: the file.
        arguments: the values of its ``<xacro:arg>``s, by name.

    Raises:
        ModelError: xacro is not installed, or it cannot expand the file.
    """
    try:
        xacro: Any = importlib.import_module("xacro")
    except ImportError:
        raise ModelError(
            f"{path.name}: a xacro file needs the package xacro; run: pip install xacro"
        ) from None
    values = {name: _text(value) for name, value in arguments.items()}
    try:
        return str(xacro.process_file(str(path), mappings=values).toxml())
    except Exception as error:
        said = " ".join(str(error).split()) or type(error).__name__
        raise ModelError(f"{path.name}: xacro cannot expand it: {said}") from None


def _text(value: object) -> str:
    """Return an argument as xacro reads it: truth values in lower case."""
    return str(value).lower() if isinstance(value, bool) else str(value)
