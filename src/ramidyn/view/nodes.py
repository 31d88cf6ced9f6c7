"""One robot as nodes of viser's scene: a node per body, its parts below it.

Moving the robot sends one pose per body that moved. Nodes have the names of the
bodies, which viser shows when the mouse is over its own scene tree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, final

import numpy as np

from ramidyn.description.pose import Array
from ramidyn.tree.frames import named_frame
from ramidyn.tree.model import Model
from ramidyn.view.force_shapes import Connection
from ramidyn.view.scene import LAYERS, Scene
from ramidyn.view.triangles import Part, along, ball, scaled

EXTRAS: Final = ("frames", "names", "center of mass")
ARROWS: Final = "force arrows"
_SELECTED: Final = (255, 170, 40)
_FORCE: Final = (215, 40, 40)
_TRAIL: Final = (230, 120, 40)
_LONGEST: Final = 3.0
"""arrow, in sizes of the robot: an impact is many times its weight"""
_EXACT: Final = 1e-9
"""[m, 1] pose errors that do not matter"""
_UNIT: Final = ((0.0, 0.0, 0.0), (0.0, 0.0, 1.0))
_TURNS, _POINTS = 8, 12
"""of a helix: turns, and points in each"""


@final
class RobotNodes:
    """The nodes of one robot.

    Args:
        add: viser's scene.
        root: name of the node that holds all others.
        offset: where it stands [m].
        model: the robot.
        scene: what there is to see, its meshes fine or coarse.
        shown: the layers that are visible first.
        clicked: called with the name of a body on which somebody clicks.
    """

    def __init__(
        self,
        add: Any,
        root: str,
        offset: Array,
        model: Model,
        scene: Scene,
        shown: Sequence[str],
        clicked: Callable[[str], None],
    ) -> None:
        self._add, self.root, self._size = add, root, scene.size
        add.add_frame(root, show_axes=False, position=offset)
        self.layers: dict[str, list[Any]] = {n: [] for n in (*LAYERS, *EXTRAS)}
        self._colored: dict[str, list[tuple[Any, tuple[int, ...]]]] = {}
        self._marks: dict[str, list[Any]] = {}
        self._bodies: dict[str, Any] = {}
        taken: set[str] = set()
        for body in dict.fromkeys((*model.body_names, "world")):
            name = _plain(body)
            while name in taken:
                name += "_"
            taken.add(name)
            self._bodies[body] = add.add_frame(f"{root}/{name}", show_axes=False)
        self._place_of = {body: i for i, body in enumerate(model.body_names)}
        self._last = np.full((len(model.body_names), 4, 4), np.nan)
        self._add_frames(model)
        for n, part in enumerate(scene.parts):
            self._add_part(n, part, part.layer in shown, clicked)
        self._add_center(model)
        self._lines = [
            self._add_lines(layer, is_spring, scene.connections, layer in shown)
            for layer in ("loops", "forces")
            for is_spring in (False, True)
        ]
        self._arrows: Any = None
        self.has_arrows = False
        """whether forces are drawn as arrows"""

    # ------------------------------------------------------------ what there is

    def _add_frames(self, model: Model) -> None:
        for name in model.frames:
            if name == "world":
                continue
            frame = named_frame(model, name)
            where = f"{self._bodies[frame.body].name}/frame {_plain(name)}"
            axes = self._add.add_frame(
                where,
                axes_length=0.08 * self._size,
                axes_radius=0.004 * self._size,
                position=frame.placement.p,
                wxyz=frame.placement.quaternion(order="wxyz"),
                visible=False,
            )
            label = self._add.add_label(
                f"{where} name", name, position=frame.placement.p, visible=False
            )
            self.layers["frames"].append(axes)
            self.layers["names"].append(label)
            if name == frame.body:
                self._marks[name] = [axes, label]

    def _add_part(
        self, n: int, part: Part, is_shown: bool, clicked: Callable[[str], None]
    ) -> None:
        r, g, b = (round(255 * c) for c in part.color[:3])
        opacity = part.color[3]
        handle = self._add.add_mesh_simple(
            f"{self._bodies[part.body].name}/{part.layer} {n} {_plain(part.name)}",
            part.mesh.vertices,
            part.mesh.faces,
            color=(r, g, b),
            opacity=None if opacity >= 1 else opacity,
            flat_shading=len(part.mesh.faces) < 100,
            side="double",
            visible=is_shown,
        )
        self.layers[part.layer].append(handle)
        if part.body != "world":
            handle.on_click(lambda _: clicked(part.body))  # pyright: ignore[reportUnknownLambdaType]
        if part.layer in ("visual", "bars", "collision"):
            self._colored.setdefault(part.body, []).append((handle, (r, g, b)))

    def _add_center(self, model: Model) -> None:
        assert model.description is not None
        bodies = [
            (self._place_of[body.name], body.inertial)
            for body in model.description.bodies
            if body.inertial is not None and body.inertial.mass > 0
        ]
        self._massive = np.array([i for i, _ in bodies], dtype=int)
        self._weights = np.array([own.mass for _, own in bodies])
        self._coms = np.array([own.com for _, own in bodies])
        self._center: Any = None
        if bodies:
            mesh = scaled(ball(), [0.02 * self._size] * 3)
            self._center = self._add.add_mesh_simple(
                f"{self.root}/center of mass",
                mesh.vertices,
                mesh.faces,
                color=(20, 20, 20),
                visible=False,
            )
            self.layers["center of mass"].append(self._center)

    def _add_lines(
        self,
        layer: str,
        is_spring: bool,
        connections: Sequence[Connection],
        is_shown: bool,
    ) -> tuple[Sequence[Connection], Array, Any]:
        """Return connections of one kind, their path from z = 0 to 1, and their node.

        They share a node: the page lays out every node that changes its shape anew.
        """
        own = [c for c in connections if (c.layer, c.is_spring) == (layer, is_spring)]
        path = _helix(0.02 * self._size) if is_spring else np.array(_UNIT)
        handle: Any = None
        if own:
            handle = self._add.add_line_segments(
                f"{self.root}/{layer}{' with springs' if is_spring else ''}",
                np.zeros((len(own) * (len(path) - 1), 2, 3)),
                colors=tuple(round(255 * c) for c in own[0].color[:3]),
                thickness=2.0 if is_spring else 4.0,
                thickness_units="screen",
                visible=is_shown,
            )
            self.layers[layer].append(handle)
        return own, path, handle

    # ------------------------------------------------------------ where it is

    def place(self, T: Array) -> None:
        """Move the robot to (bodies, 4, 4) poses."""
        moved = np.abs(T - self._last).max(axis=(1, 2)) > 0
        moved |= np.isnan(self._last[:, 0, 0])
        turns = quaternions(T[:, :3, :3])
        handles = list(self._bodies.values())
        for i in np.flatnonzero(moved):
            _set_pose(handles[i], T[i, :3, 3], turns[i])
        self._last = T
        if self._center is not None:
            R, p = T[self._massive, :3, :3], T[self._massive, :3, 3]
            points = (R @ self._coms[:, :, None])[:, :, 0] + p
            self._center.position = np.average(points, axis=0, weights=self._weights)
        for connections, path, handle in self._lines:
            if handle is not None:
                lines = [self._line(T, c, path) for c in connections]
                handle.points = np.concatenate(lines).astype(np.float32)

    def _line(self, T: Array, c: Connection, path: Array) -> Array:
        """Return a path from one end of a connection to the other, as segments."""
        a, b = self._point(T, c.body_a, c.point_a), self._point(T, c.body_b, c.point_b)
        stretched = path * np.array([1.0, 1.0, float(np.linalg.norm(b - a))])
        return _segments(stretched @ np.transpose(along(b - a, a).R) + a)

    def _point(self, T: Array, body: str, x: Array) -> Array:
        if body == "world":
            return x
        pose = T[self._place_of[body]]
        return pose[:3, :3] @ x + pose[:3, 3]

    def draw_forces(self, arrows: Array, meters_per_newton: float) -> None:
        """Draw forces as arrows: (n, 2, 3) points and forces in the world."""
        starts, forces = arrows[:, 0], arrows[:, 1] * meters_per_newton
        length = np.linalg.norm(forces, axis=1)
        most = _LONGEST * self._size
        forces = forces * np.minimum(1.0, most / np.maximum(length, most))[:, None]
        seen = length > 0.01 * self._size
        points = np.stack([starts, starts + forces], axis=1)[seen]
        is_shown = self.has_arrows and len(points) > 0
        if is_shown and self._arrows is None:
            self._arrows = self._add.add_arrows(
                f"{self.root}/{ARROWS}",
                points,
                colors=_FORCE,
                shaft_radius=0.006 * self._size,
                head_radius=0.016 * self._size,
                head_length=0.04 * self._size,
            )
        if self._arrows is not None:
            if is_shown:
                self._arrows.points = points.astype(np.float32)
            self._arrows.visible = is_shown

    def draw_trail(self, frame: str, path: Array) -> Any:
        """Draw the path of a frame, (rows, 3); return its node."""
        return self._add.add_line_segments(
            f"{self.root}/trail of {_plain(frame)}",
            _segments(path),
            colors=_TRAIL,
            thickness=2.0,
            thickness_units="screen",
        )

    # ------------------------------------------------------------ what is seen

    def select(self, body: str | None, switched_on: Mapping[str, bool]) -> None:
        """Highlight a body, and show its frame and name."""
        for name, parts in self._colored.items():
            for handle, own in parts:
                handle.color = _SELECTED if name == body else own
        for name, (axes, label) in self._marks.items():
            axes.visible = name == body or switched_on["frames"]
            label.visible = name == body or switched_on["names"]


# ------------------------------------------------------------ geometry and names


def quaternions(R: Array) -> Array:
    """Return unit quaternions w, x, y, z of rotations, (n, 4) of (n, 3, 3).

    Of the four equal ways to compute one, that with the largest divisor.
    """
    xx, yy, zz = R[:, 0, 0], R[:, 1, 1], R[:, 2, 2]
    S, D = R + np.swapaxes(R, 1, 2), np.swapaxes(R, 1, 2) - R
    x, y, z = D[:, 1, 2], D[:, 2, 0], D[:, 0, 1]
    xy, xz, yz = S[:, 0, 1], S[:, 0, 2], S[:, 1, 2]
    w2, x2 = 1 + xx + yy + zz, 1 + xx - yy - zz
    y2, z2 = 1 - xx + yy - zz, 1 - xx - yy + zz
    rows = [[w2, x, y, z], [x, x2, xy, xz], [y, xy, y2, yz], [z, xz, yz, z2]]
    candidates = np.moveaxis(np.array(rows), 2, 0)
    largest = np.argmax(np.stack([w2, x2, y2, z2], axis=1), axis=1)
    chosen = candidates[np.arange(len(R)), largest]
    return chosen / np.linalg.norm(chosen, axis=1, keepdims=True)


def _set_pose(handle: Any, position: Array, wxyz: Array) -> None:
    """Set the pose of a node, small changes too: viser skips those below 1e-5."""
    for name, value in (("position", position), ("wxyz", wxyz)):
        setattr(handle, name, value)
        if np.abs(getattr(handle, name) - value).max() > _EXACT:
            setattr(handle, name, value + 1.0)
            setattr(handle, name, value)


def _helix(radius: float) -> Array:
    """Return a helix around z, of length one, straight at its ends."""
    s = np.linspace(0, 1, _TURNS * _POINTS + 1)
    angle = 2 * np.pi * _TURNS * s
    x, y = radius * np.cos(angle), radius * np.sin(angle)
    coil = np.stack([x, y, 0.15 + 0.7 * s], axis=1)
    z = [[0.0, 0.0, height] for height in (0.0, 0.15, 0.85, 1.0)]
    return np.concatenate([z[:2], coil, z[2:]])


def _segments(path: Array) -> Array:
    return np.stack([path[:-1], path[1:]], axis=1)


def _plain(name: str) -> str:
    """Return a name that is one level of viser's scene tree."""
    return name.replace("/", "\u2215")
