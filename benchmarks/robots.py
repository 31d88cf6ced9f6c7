"""The robots that benchmarks share: 7 to 54 degrees of freedom, real and our own."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

from ramidyn.cli.arguments import RobotFile

ROBOTS = {
    "xarm7": ("xarm_description/xarm7.urdf", None),
    "panda": ("panda_description/panda.urdf", None),
    "go2": ("go2_description/go2.urdf", "floating"),
    "humanoid30": ("humanoid30", None),
    "g1": ("g1_description/g1_29dof_rev_1_0.urdf", "floating"),
    "talos": ("talos_data/talos_full_v2.urdf", "floating"),
    "tiago": ("tiago_description/tiago.urdf", "floating"),
}
"""a file of example-robot-data or a built-in robot, and its root"""


def files() -> dict[str, Path]:
    """Return the URDF files of example-robot-data, by folder and name."""
    try:
        found = importlib.metadata.files("example-robot-data") or []
    except importlib.metadata.PackageNotFoundError:
        found = []
    urdfs = [Path(str(f.locate())).resolve() for f in found if f.suffix == ".urdf"]
    return {f"{p.parents[1].name}/{p.name}": p for p in urdfs}


def sources(names: list[str] | None = None) -> dict[str, RobotFile]:
    """Return the robots that are there, by name."""
    paths = files()
    found: dict[str, RobotFile] = {}
    for name, (file, root) in ROBOTS.items():
        if names and name not in names:
            continue
        if file in paths:
            found[name] = RobotFile(str(paths[file]), root, mimic="independent")
        elif "/" not in file:
            found[name] = RobotFile(file)
    return found
