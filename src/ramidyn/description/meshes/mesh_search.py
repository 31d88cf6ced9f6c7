"""Find the file of a mesh: by path, or by package as in ROS.

``package://name/rest`` is looked up in the directories that the user gives, in those of
ROS_PACKAGE_PATH, then in the directories around the model. Nothing outside of these and
of the model's own tree is opened.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from ramidyn.description.shapes import MeshShape
from ramidyn.errors import ModelError

_PACKAGES: Final = ("package://", "model://")
_LEVELS: Final = 6
"""how many directories around the model may hold the package"""


def find_mesh(mesh: MeshShape, directories: Sequence[Path] = ()) -> Path:
    """Return the path of a mesh.

    Raises:
        ModelError: no such file, or one outside of the directories above.
    """
    given = mesh.file
    is_outside = False
    for base, name in _candidates(mesh, [*directories, *_ros_directories()]):
        try:
            path = (base / name).resolve()
            exists = path.is_file()
        except (OSError, ValueError, RuntimeError):
            raise ModelError(f"mesh {given!r} is not a valid path") from None
        if not path.is_relative_to(base.resolve()):
            is_outside = True
        elif exists:
            return path
    if is_outside:
        raise ModelError(
            f"mesh {given!r} leads outside the model's directories; add its directory "
            "to mesh_directories"
        )
    raise ModelError(f"mesh {given!r} not found; add its directory to mesh_directories")


def _candidates(
    mesh: MeshShape, directories: Sequence[Path]
) -> Iterator[tuple[Path, str]]:
    """Yield directories that the file may not leave, and its path in each."""
    given = mesh.file
    for scheme in _PACKAGES:
        if given.startswith(scheme):
            package, _, rest = given[len(scheme) :].partition("/")
            around: list[Path] = []
            if mesh.folder is not None:
                here = mesh.folder.resolve()
                around = [here, *here.parents][:_LEVELS]
            for base in (*directories, *around):
                if base.name == package:
                    yield base, rest
                yield base / package, rest
            return
    if given.startswith("file://"):
        given = unquote(given.removeprefix("file://"))
    if Path(given).is_absolute():
        for base in (*directories, *([mesh.limit] if mesh.limit else ())):
            yield base, given
        return
    if mesh.folder is not None:
        here = mesh.folder.resolve()
        base = mesh.limit or here
        yield base, os.path.relpath(here / given, base)
    for base in directories:
        yield base, given


def _ros_directories() -> list[Path]:
    paths = os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep)
    return [Path(p) for p in paths if p]
