"""Find a robot's file and read its XML text; xacro files are expanded."""

from __future__ import annotations

import codecs
import difflib
import importlib
import os
import pkgutil
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from ramidyn.errors import ModelError, unknown_name

LARGEST_FILE: Final = 64 * 2**20
"""[bytes]; the largest of the real robots in the tests has 0.2 MB"""

_BOMS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16: its mark begins the same
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_DECLARED: Final = re.compile(
    rb"<\?xml[^>]{0,200}?\sencoding\s*=\s*[\"']([A-Za-z0-9._-]{1,40})[\"']"
)
_PLAIN_CODECS: Final = ("ascii", "iso8859", "cp125", "koi8", "gb", "big5", "euc_")
_SUFFIXES: Final = (".urdf", ".xml", ".mjcf", ".sdf", ".xacro")


def read_source(source: str | os.PathLike[str]) -> tuple[str, Path | None]:
    """Return the XML text and the path it was read from, if any.

    A string that begins with ``<`` (after blanks and a byte order mark) is XML text;
    any other string, and any path object, is the path of a file.

    Raises:
        ModelError: the file is missing, not a regular file, empty, too large, or in an
            encoding that cannot be read.
    """
    if isinstance(source, str):
        text = source.lstrip("\ufeff \t\r\n")
        if text.startswith("<"):
            return source.lstrip("\ufeff"), None
        if not text:
            raise ModelError("an empty text: expected a path, or XML text")
    elif not isinstance(source, os.PathLike):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ModelError(
            f"a robot of type {type(source).__name__}: expected a path, or XML text"
        )
    path = _checked_path(source)
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_FILE + 1)
    except OSError as e:
        raise ModelError(f"{path}: cannot be read ({e.strerror or e})") from None
    if len(data) > LARGEST_FILE:
        raise ModelError(too_large(str(path)))
    text = _decoded_text(data, path)
    if not text.strip():
        raise ModelError(f"{path}: the file is empty; expected URDF, MJCF or SDF")
    return text, path


def _checked_path(source: str | os.PathLike[str]) -> Path:
    shown = short(str(source))
    try:
        path = Path(source).expanduser()
        if path.is_file():
            return path
        exists, is_folder = path.exists(), path.is_dir()
    except (OSError, ValueError, RuntimeError):  # too long, a NUL, no home
        raise ModelError(
            f"{shown}: neither a path nor XML text (which starts with '<')"
        ) from None
    if is_folder:
        files = [name for name in _names_in(path) if name.endswith(_SUFFIXES)]
        hint = f"; in it: {', '.join(files[:8])}" if files else ""
        raise ModelError(
            f"{shown}: a directory; expected a URDF, MJCF or SDF file{hint}"
        )
    if exists:
        raise ModelError(
            f"{shown}: not a regular file; expected a URDF, MJCF or SDF file"
        )
    raise ModelError(f"{shown}: no such file{_neighbors(path)}")


def _neighbors(path: Path) -> str:
    """Return files next to a missing one with similar names."""
    folder = path.parent
    if not folder.is_dir():
        return f", and no directory {short(str(folder))}"
    close = difflib.get_close_matches(path.name, _names_in(folder), n=3)
    return f"; close to it: {', '.join(map(repr, close))}" if close else ""


def _names_in(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _decoded_text(data: bytes, path: Path) -> str:
    encoding = _encoding(data, path)
    for mark, _ in _BOMS:
        if data.startswith(mark):
            data = data[len(mark) :]
            break
    try:
        return data.decode(encoding)
    except UnicodeError as e:
        at = f" at byte {e.start}" if isinstance(e, UnicodeDecodeError) else ""
        raise ModelError(
            f"{path}: not {encoding} text{at}; save the file as UTF-8, or declare its "
            'encoding in the first line: <?xml version="1.0" encoding="..."?>'
        ) from None


def _encoding(data: bytes, path: Path) -> str:
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return encoding
    if data.startswith(b"<\0"):
        return "utf-16-le"
    if data.startswith(b"\0<"):
        return "utf-16-be"
    declared = _DECLARED.search(data[:4096])
    if declared is None:
        return "utf-8"
    name = declared[1].decode("ascii")
    try:
        codec = codecs.lookup(name).name
    except LookupError:
        codec = ""
    if codec.startswith(("utf-8", "utf-16", "utf-32")):
        return "utf-8"  # a declaration that reads as ASCII is not in UTF-16
    if not codec.startswith(_PLAIN_CODECS):
        raise ModelError(f"{path}: unknown encoding {name!r}; save the file as UTF-8")
    return codec


def short(text: str) -> str:
    """Return a text, or its beginning where it is long."""
    return text if len(text) <= 120 else text[:100] + f"... ({len(text)} characters)"


def too_large(label: str) -> str:
    """Return the message about a file or text over the limit."""
    return (
        f"{label}: larger than {LARGEST_FILE // 2**20} MB; expected a URDF, MJCF "
        "or SDF file (meshes are not needed)"
    )


def is_xacro(path: Path) -> bool:
    """Return whether a file's name says that it is written in xacro."""
    return path.suffix == ".xacro"


def expand_xacro(path: Path, arguments: Mapping[str, object]) -> str:
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


_PACKAGE: Final = "robot_descriptions"


def find_description(name: str) -> tuple[Path, Mapping[str, object] | None]:
    """Return the file of a description, and the arguments of a xacro file.

    Raises:
        ModelError: the package is not installed, or cannot download the description.
        UnknownName: the package has no description of that name.
    """
    try:
        known: Any = importlib.import_module("robot_descriptions._descriptions")
    except ImportError:
        raise ModelError(
            f"load_description({name!r}) needs the package robot_descriptions; run: "
            "pip install robot_descriptions"
        ) from None
    if name not in known.DESCRIPTIONS:
        names: list[str] = sorted(known.DESCRIPTIONS)
        raise unknown_name("description", name, _PACKAGE, names)
    try:
        module: Any = pkgutil.resolve_name(f"{_PACKAGE}.{name}")
    except Exception as error:
        said = " ".join(str(error).split()) or type(error).__name__
        raise ModelError(
            f"the description {name!r} cannot be downloaded: {said[:400]}. The package "
            "robot_descriptions needs git and the network, once for each robot"
        ) from None
    for attribute in ("URDF_PATH", "MJCF_PATH"):
        if hasattr(module, attribute):
            return Path(getattr(module, attribute)), None
    if hasattr(module, "XACRO_PATH"):
        return Path(module.XACRO_PATH), dict(getattr(module, "XACRO_ARGS", {}))
    raise ModelError(f"the description {name!r} has neither a URDF nor an MJCF file")
