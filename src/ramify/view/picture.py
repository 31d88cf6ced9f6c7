"""Pictures of robots without a browser: matplotlib's 3-D axes."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from ramify.errors import Error
from ramify.model.pose import Array
from ramify.view.scene import Part, Scene
from ramify.view.triangles import thinned

_MOST_FACES: Final = 40_000
"""Meshes of larger scenes are made coarser: matplotlib sorts all triangles."""
_LIGHT: Final = np.array([0.35, -0.45, 0.82])


def draw_scene(
    scene: Scene,
    poses: Sequence[Mapping[str, Array]],
    layers: Sequence[str],
    axes: Any = None,
    view: tuple[float, float] = (20.0, -55.0),
) -> Any:
    """Draw a scene at one or several configurations; return matplotlib's axes.

    Args:
        scene: what to draw.
        poses: for each configuration, (4, 4) poses in the world by body; earlier ones
            are drawn paler.
        layers: what of the scene.
        axes: 3-D axes to draw into; None makes a new figure.
        view: elevation and azimuth of the eye [degree].
    """
    pyplot, art3d = _matplotlib()
    if axes is None:
        figure = pyplot.figure(figsize=(6.4, 6.4), layout="tight")
        axes = figure.add_subplot(projection="3d")
    elif not hasattr(axes, "get_zlim"):
        raise Error("axes must be 3-D: figure.add_subplot(projection='3d')")
    # A ground would hide the robot: matplotlib sorts whole triangles by their depth.
    parts = [part for part in scene.layer(*layers) if not part.is_ground]
    parts = _thinned(parts, scene.size, _MOST_FACES // len(poses))
    corners: list[Array] = []
    robot: list[Array] = []
    colors: list[Array] = []
    for k, placed in enumerate(poses):
        fade = 1.0 if len(poses) == 1 else 0.25 + 0.75 * k / (len(poses) - 1)
        for part in parts:
            triangles = _placed(part, placed)
            corners.append(triangles)
            if part.body != "world":
                robot.append(triangles)
            colors.append(_shaded(triangles, part, fade))
    if corners:
        collection = art3d.Poly3DCollection(
            np.concatenate(corners), facecolors=np.concatenate(colors), linewidths=0
        )
        axes.add_collection3d(collection)
        _frame(axes, np.concatenate(robot or corners))
    axes.view_init(*view)
    axes.set_xlabel("x [m]")
    axes.set_ylabel("y [m]")
    axes.set_zlabel("z [m]")
    return axes


def _matplotlib() -> tuple[Any, Any]:
    """Return pyplot and the 3-D artists."""
    try:
        return (
            importlib.import_module("matplotlib.pyplot"),
            importlib.import_module("mpl_toolkits.mplot3d.art3d"),
        )
    except ImportError:
        raise Error("pictures need matplotlib: pip install 'ramify[plot]'") from None


def _thinned(parts: list[Part], size: float, most: int) -> list[Part]:
    """Return the parts, meshes coarser where there are too many triangles."""
    cell = size / 400
    while sum(len(part.mesh.faces) for part in parts) > most:
        parts = [replace(part, mesh=thinned(part.mesh, cell)) for part in parts]
        cell *= 1.5
    return parts


def _placed(part: Part, poses: Mapping[str, Array]) -> Array:
    T = poses.get(part.body, np.eye(4))
    return (part.mesh.vertices @ np.transpose(T[:3, :3]) + T[:3, 3])[part.mesh.faces]


def _shaded(triangles: Array, part: Part, fade: float) -> Array:
    """Return a color for every face: darker the more it turns away from the light."""
    a, b, c = (triangles[:, k] for k in range(3))
    normals = np.cross(b - a, c - a)
    lengths = np.linalg.norm(normals, axis=1, keepdims=True)
    normals = normals / np.where(lengths > 0, lengths, 1.0)
    shade = 0.62 + 0.38 * (normals @ _LIGHT)
    rgb = np.minimum(np.array(part.color[:3]) * shade[:, None], 1.0)
    alpha = np.full((len(rgb), 1), part.color[3] * fade)
    return np.concatenate([rgb, alpha], axis=1)


def _frame(axes: Any, drawn: Array) -> None:
    """Set equal scales around what is drawn."""
    low, high = drawn.min(axis=(0, 1)), drawn.max(axis=(0, 1))
    middle, reach = (low + high) / 2, float((high - low).max()) / 2 or 1.0
    axes.set_xlim(middle[0] - reach, middle[0] + reach)
    axes.set_ylim(middle[1] - reach, middle[1] + reach)
    axes.set_zlim(middle[2] - reach, middle[2] + reach)
    axes.set_box_aspect((1, 1, 1))
