"""Pictures inside the HTML of notebooks; without matplotlib there are none."""

from __future__ import annotations

import base64
import html
import importlib
import io
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from ramidyn.description.description import Description, Shape
from ramidyn.description.pose import Array, Pose
from ramidyn.view.picture import draw_scene
from ramidyn.view.scene import Scene, scene_of

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
