"""Where real robots are: the files in installed wheels."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re
from pathlib import Path


def example_urdfs() -> dict[str, Path]:
    """Return the URDF files of example-robot-data, by folder and name."""
    try:
        files = importlib.metadata.files("example-robot-data") or []
    except importlib.metadata.PackageNotFoundError:
        return {}
    paths = [Path(str(f.locate())).resolve() for f in files if f.suffix == ".urdf"]
    return {f"{p.parents[1].name}/{p.name}": p for p in sorted(paths)}


def wheel_mjcfs() -> dict[str, Path]:
    """Return the main MJCF files of mujoco (with mjx), dm-control and gymnasium."""
    found: dict[str, Path] = {}
    for package in ("mujoco", "dm_control", "gymnasium"):
        spec = importlib.util.find_spec(package)
        if spec is None or spec.origin is None:
            continue
        folder = Path(spec.origin).parent
        for path in sorted(folder.rglob("*.xml")):
            text = path.read_text(encoding="utf-8", errors="replace")
            if re.search(r"<mujoco[\s>]", text):
                found[path.relative_to(folder.parent).as_posix()] = path
    return found
