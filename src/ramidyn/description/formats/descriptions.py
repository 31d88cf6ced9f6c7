"""Find a robot of the package robot_descriptions, where it is installed."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from ramidyn.errors import ModelError, unknown_name

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
