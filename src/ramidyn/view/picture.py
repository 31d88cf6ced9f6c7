"""Pictures of robots without a browser: matplotlib's 3-D axes.

Triangles are sorted by depth, so large ones are split. A shadow on the ground shows
where the robot is above it. Of several configurations later ones are drawn over earlier
ones, which are paler.
"""

from __future__ import annotations

import base64
import html
import importlib
import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from ramidyn.description.description import Description, Shape
from ramidyn.description.pose import Array, Pose
from ramidyn.errors import ArgumentError, Error
from ramidyn.view.figure import COLORS, new_figure
from ramidyn.view.scene import Scene, coarser_parts, scene_of
from ramidyn.view.triangles import Part, split_long

_MOST_FACES: Final = 40_000
"""Meshes of larger scenes are made coarser: matplotlib sorts all triangles."""
_LIGHT: Final = np.array([0.35, -0.45, 0.82])
_LONGEST_EDGE: Final = 0.1
"""of a triangle, as a share of the robot's size"""
_PALEST: Final = 0.25
_THINNEST: Final = 0.4
"""of the box to its longest edge"""
_ZOOM: Final = 0.97
_ARROW: Final = 0.4
"""length of the arrow of a robot's weight, as a share of the picture"""
_FORCE: Final = "#d72828"
_SHADOW: Final = "#d9d9d6"
_GROUND: Final = "#efefec"


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
    try:
        eye = _direction(*(float(angle) for angle in view))
    except (TypeError, ValueError):
        raise ArgumentError(
            f"view is {view!r}; expected elevation and azimuth [degree]"
        ) from None
    axes = _axes(axes)
    shown = scene.layer(*layers)
    # A ground would hide the robot: matplotlib sorts whole triangles by their depth.
    parts = [part for part in shown if not part.is_ground]
    parts = _prepared(parts, scene.size, _MOST_FACES // max(len(poses), 1))
    robots = [[(part, _placed(part, T)) for part in parts] for T in poses]
    robots = [[x for x in robot if np.isfinite(x[1]).all()] for robot in robots]
    levels = [_level(part) for part in shown if part.is_ground]
    levels += scene.levels
    low, high = _limits(axes, robots, levels)
    axes.computed_zorder = False
    if view[0] > 0:
        _draw_floor(axes, robots, low, high, is_ground=low[2] in levels)
    shades = np.linspace(_PALEST, 1.0, len(poses)).tolist() if poses[1:] else [1.0]
    for k, (robot, shade) in enumerate(zip(robots, shades, strict=True)):
        if robot:
            colors = [_shaded(x, part, shade, eye) for part, x in robot]
            corners = np.concatenate([x for _, x in robot])
            _polygons(axes, corners, np.concatenate(colors), 3 + k / len(robots))
    axes.view_init(*view)
    _arrange(axes, low, high)
    return axes


def draw_trails(axes: Any, trails: Mapping[str, Sequence[Array]]) -> None:
    """Add curves in the world to a picture: by name, (n, 3) each [m]."""
    box = [axes.get_xlim(), axes.get_ylim(), axes.get_zlim()]
    points = [np.transpose(box)]
    for k, (name, curves) in enumerate(trails.items()):
        color = COLORS[k % len(COLORS)]
        for j, curve in enumerate(curves):
            x, y, z = np.transpose(curve)
            label = name if j == 0 else None
            axes.plot(x, y, z, color=color, lw=1.4, zorder=5, label=label)
            points.append(curve[np.isfinite(curve).all(axis=1)])
    if trails:
        axes.legend(loc="upper left", frameon=False)
    everything = np.concatenate(points)
    _arrange(axes, everything.min(axis=0), everything.max(axis=0))


def draw_arrows(axes: Any, points: Array, forces: Array, weight: float) -> None:
    """Add forces to a picture, (..., 3) each; ``weight``, or more, is `_ARROW` long.

    Args:
        axes: of the picture.
        points: where they act [m].
        forces: [N].
        weight: [N].
    """
    box = np.array([axes.get_xlim(), axes.get_ylim(), axes.get_zlim()])
    long = _ARROW * float(np.ptp(box, axis=1).max())
    x, f = np.reshape(points, (-1, 3)), np.reshape(forces, (-1, 3)) / weight
    size = np.linalg.norm(f, axis=1)
    seen = size > 0.01
    f *= long / np.maximum(size, 1.0)[:, None]  # impacts are many times the weight
    if seen.any():
        parts = (*np.transpose(x[seen]), *np.transpose(f[seen]))
        style = {"color": _FORCE, "lw": 1.6, "arrow_length_ratio": 0.15, "zorder": 6}
        axes.quiver(*parts, **style)
    _arrange(axes, box[:, 0], box[:, 1])


# ------------------------------------------------------------ triangles


def _prepared(parts: list[Part], size: float, most: int) -> list[Part]:
    """Return the parts with meshes coarse enough, and without long triangles."""
    parts = coarser_parts(parts, size / 400, most)
    room = most - sum(len(part.mesh.faces) for part in parts)
    if room > most // 4:
        longest = _LONGEST_EDGE * size
        parts = [replace(p, mesh=split_long(p.mesh, longest)) for p in parts]
    return parts


def _placed(part: Part, poses: Mapping[str, Array]) -> Array:
    """Return the corners of its triangles in the world, (n, 3, 3)."""
    T = poses.get(part.body, np.eye(4))
    return (part.mesh.vertices @ np.transpose(T[:3, :3]) + T[:3, 3])[part.mesh.faces]


def _shaded(triangles: Array, part: Part, strength: float, eye: Array) -> Array:
    """Return a color for every face: darker the more it turns away from the light."""
    a, b, c = (triangles[:, k] for k in range(3))
    normals = np.cross(b - a, c - a)
    lengths = np.linalg.norm(normals, axis=1, keepdims=True)
    normals = normals / np.where(lengths > 0, lengths, 1.0)
    # Faces that turn away are hidden, or wound the wrong way round in their file.
    normals = np.where((normals @ eye)[:, None] < 0, -normals, normals)
    shade = 0.62 + 0.38 * (normals @ _LIGHT)
    rgb = np.minimum(np.array(part.color[:3]) * shade[:, None], 1.0)
    rgb = 1 - strength * (1 - rgb)
    return np.concatenate([rgb, np.full((len(rgb), 1), part.color[3])], axis=1)


def _direction(elevation: float, azimuth: float) -> Array:
    """Return the direction to the eye."""
    e, a = np.radians([elevation, azimuth])
    return np.array([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)])


def _polygons(axes: Any, corners: Array, colors: Any, zorder: float) -> None:
    art3d: Any = importlib.import_module("mpl_toolkits.mplot3d.art3d")
    # Edges in the color of the faces hide the seams of antialiasing.
    axes.add_collection3d(
        art3d.Poly3DCollection(
            corners, facecolors=colors, edgecolors=colors, linewidths=0.3, zorder=zorder
        )
    )


# ------------------------------------------------------------ ground and axes


def _level(ground: Part) -> float:
    return float(ground.mesh.vertices[:, 2].mean())


def _limits(
    axes: Any,
    robots: Sequence[Sequence[tuple[Part, Array]]],
    levels: Sequence[float],
) -> tuple[Array, Array]:
    """Return the corners of the box to show; its lower side is the floor.

    What was drawn into the axes before stays in the box.
    """
    moving = [x for robot in robots for part, x in robot if part.body != "world"]
    drawn = moving or [x for robot in robots for _, x in robot]
    points = np.concatenate(
        [np.zeros((0, 3)), *(np.reshape(x, (-1, 3)) for x in drawn)]
    )
    points = points[np.isfinite(points).all(axis=1)]
    if axes.has_data():
        before = [axes.get_xlim(), axes.get_ylim(), axes.get_zlim()]
        points = np.concatenate([points, np.transpose(before)])
    if not len(points):
        points = np.array([[-1.0, -1.0, 0.0], [1.0, 1.0, 1.0]])
    low, high = points.min(axis=0), points.max(axis=0)
    extent = float((high - low).max()) or 1.0
    # A ground at another level is far away, or the robot is not placed on it yet.
    floor = max((z for z in levels if abs(z - low[2]) < 0.3 * extent), default=low[2])
    grow = np.maximum(0.04 * extent, (_THINNEST * extent - (high - low)) / 2)
    low, high = low - grow, high + grow
    low[2], high[2] = floor, max(high[2], floor + _THINNEST * extent)
    return low, high


def _draw_floor(
    axes: Any,
    robots: Sequence[Sequence[tuple[Part, Array]]],
    low: Array,
    high: Array,
    *,
    is_ground: bool,
) -> None:
    """Draw the ground, if there is one, and the shadows of the robots on the floor."""
    floor = low[2]
    if is_ground:
        x, y = (low[0], high[0]), (low[1], high[1])
        corners = [(x[i], y[j], floor) for i, j in ((0, 0), (1, 0), (1, 1), (0, 1))]
        _polygons(axes, np.array([corners]), _GROUND, 1)
    for robot in robots[-1:]:
        if robot:
            shadow = np.concatenate([x for _, x in robot])
            height = shadow[..., 2:] - floor
            shadow = shadow - height * _LIGHT / _LIGHT[2]
            shadow[..., 2] = floor
            _polygons(axes, shadow, _SHADOW, 2)


def _arrange(axes: Any, low: Array, high: Array) -> None:
    """Set equal scales around what is drawn."""
    axes.set_xlim(low[0], high[0])
    axes.set_ylim(low[1], high[1])
    axes.set_zlim(low[2], high[2])
    axes.set_box_aspect(high - low, zoom=_ZOOM)
    extents = (high - low) / float((high - low).max())
    for axis, name, extent in zip(
        (axes.xaxis, axes.yaxis, axes.zaxis), "xyz", extents, strict=True
    ):
        axis.set_pane_color("#fafafa")
        axis.set_major_locator(_locator(max(2, round(6 * extent))))
        axis.set_label_text(f"{name} [m]")
        axis.labelpad = 6
    axes.grid(visible=True)


def _axes(given: Any) -> Any:
    if given is None:
        figure = new_figure(figsize=(6.4, 6.4), layout="tight")
        return figure.add_subplot(projection="3d")
    if not hasattr(given, "get_zlim"):
        raise Error("axes must be 3-D: figure.add_subplot(projection='3d')")
    return given


def _locator(most: int) -> Any:
    ticker: Any = importlib.import_module("matplotlib.ticker")
    return ticker.MaxNLocator(most, steps=[1, 2, 5, 10])


MOST_BODIES: Final = 200
"""Larger robots are shown without a picture: it would take seconds."""
LAYERS: Final = ("visual", "bars")


def picture_at_placement(description: Description, shapes: Sequence[Shape]) -> str:
    """Return a robot with every body at its placement, as an image element."""
    if len(description.bodies) > MOST_BODIES:
        return ""
    poses: dict[str | None, Pose] = {None: Pose.identity()}
    for body in description.bodies:
        poses[body.name] = poses[body.parent] @ body.placement
    placed = {name: _matrix(T) for name, T in poses.items() if name is not None}
    return inline_picture(scene_of(description, shapes), [placed], description.name)


def _matrix(T: Pose) -> Array:
    found = np.eye(4)
    found[:3, :3], found[:3, 3] = T.R, T.p
    return found


def inline_picture(
    scene: Scene, poses: Sequence[Mapping[str, Array]], title: str
) -> str:
    """Return a picture as an image element, and what is missing in it."""
    try:
        figures: Any = importlib.import_module("matplotlib.figure")
    except ImportError:
        return ""
    figure = figures.Figure(figsize=(4.2, 4.2), layout="constrained")
    axes = figure.add_subplot(projection="3d")
    draw_scene(scene, poses, LAYERS, axes)
    data = io.BytesIO()
    figure.savefig(data, format="png", dpi=80, bbox_inches="tight", pad_inches=0.05)
    image = base64.b64encode(data.getvalue()).decode("ascii")
    missing = ""
    if scene.problems:
        more = f", and {len(scene.problems) - 1} more" if scene.problems[1:] else ""
        text = html.escape(f"not drawn: {scene.problems[0]}{more}")
        missing = f"<p><small>{text}</small></p>"
    return (
        f'<img alt="{html.escape(title)}" style="background:#fff" '
        f'src="data:image/png;base64,{image}">{missing}'
    )
