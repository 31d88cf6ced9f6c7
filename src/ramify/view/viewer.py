"""A robot in the browser: sliders, layers, names, motions; by viser, on loopback.

Every body is a node of viser's scene, its parts below it; moving the robot sends one
pose per body.
"""

from __future__ import annotations

import html
import importlib
import io
import math
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, final

import numpy as np

from ramify.errors import ArgumentError, Error, ShapeError
from ramify.model.constants import quaternion
from ramify.model.description import BodyDescription
from ramify.model.drawing import joint_text
from ramify.model.model import Model, PublicJoint
from ramify.model.pose import Array
from ramify.view.player import Player
from ramify.view.scene import LAYERS, Part, Scene, check_layers
from ramify.view.triangles import ball, scaled, thinned

Poses = Callable[[Array], Mapping[str, Array]]
HOST: Final = "127.0.0.1"
SHOWN: Final = ("visual", "bars")
_MOST_FACES: Final = 400_000
_SELECTED: Final = (255, 170, 40)
_TRAIL: Final = (230, 120, 40)
_LOOP: Final = (200, 40, 60)


@final
class Viewer:
    """A robot in the browser, at ``url``, until `close`.

    ``with robot.show(q) as viewer`` closes it at the end of the block.
    """

    url: str
    """the address of the page, on this machine only"""
    q: Array
    """the configuration that is shown, or those of all copies"""

    def __init__(
        self,
        model: Model,
        scene: Scene,
        poses: Poses,
        q: Array,
        *,
        layers: Sequence[str] = SHOWN,
        port: int = 8080,
        copies: int = 1,
    ) -> None:
        check_layers(layers)
        self._model, self._poses = model, poses
        self._server = _server(model.name, port)
        self._lock = threading.Lock()
        self._player: Player | None = None
        self._bodies: list[dict[str, Any]] = []
        self._parts: list[tuple[Part, Any]] = []
        self._extras: dict[str, list[Any]] = {"frames": [], "names": []}
        self._sliders: list[tuple[PublicJoint, Any]] = []
        self._centers = [
            (body.name, body.inertial.mass, body.inertial.com)
            for body in self._described()
            if body.inertial is not None and body.inertial.mass > 0
        ]
        self.url = f"http://{HOST}:{self._server.get_port()}"
        self._add_world(scene)
        offsets = _offsets(copies, scene.size)
        for k, offset in enumerate(offsets):
            self._add_robot(k, offset, scene, layers)
        self._add_panel(layers)
        self.update(q)
        self._aim(self.q, scene.size * math.sqrt(copies))

    # ------------------------------------------------------------ use

    def update(self, q: Array) -> None:
        """Show another configuration: (nq,), or (copies, nq)."""
        wanted = np.asarray(q, dtype=float)
        given = np.atleast_2d(wanted)
        if given.shape[1:] != (self._model.nq,) or len(given) not in (
            1,
            len(self._bodies),
        ):
            raise ShapeError(
                f"q has shape {wanted.shape}; expected ({self._model.nq},) or "
                f"({len(self._bodies)}, {self._model.nq})"
            )
        with self._lock, self._server.atomic():
            for nodes, one in zip(self._bodies, given, strict=False):
                self._place(nodes, one)
        self.q = np.array(q, dtype=float)
        for joint, slider in self._sliders:
            value = float(given[0, joint.q_index])
            if abs(slider.value - value) > 1e-6 and not self._is_dragging:
                slider.value = min(max(value, slider.min), slider.max)

    def play(
        self,
        times: Array,
        q: Array,
        *,
        trails: Sequence[str] = (),
    ) -> None:
        """Play a motion: adds a time slider, speed and a play button to the page.

        Args:
            times: (steps,) [s], increasing.
            q: (steps, nq), or (copies, steps, nq).
            trails: bodies whose path is drawn.
        """
        t = np.asarray(times, dtype=float)
        given = np.asarray(q, dtype=float)
        motion = given[None] if given.ndim == 2 else given
        expected = (len(self._bodies), len(t), self._model.nq)
        if motion.shape != expected:
            raise ShapeError(f"q has shape {given.shape}; expected {expected}")
        if len(t) < 2 or not np.all(np.diff(t) > 0):
            raise ArgumentError("times must be increasing, at least two of them")
        for name in trails:
            self._trail(name, motion)
        if self._player is not None:
            self._player.remove()
        self._player = Player(self._server.gui, t, motion, self.update)

    def save(
        self, path: str | Path, times: Array | None = None, q: Array | None = None
    ) -> Path:
        """Write what is shown, or a motion, as one HTML file that needs no server."""
        recorder: Any = self._server.get_scene_serializer()
        if times is not None and q is not None:
            t, motion = np.asarray(times, dtype=float), np.asarray(q, dtype=float)
            count = min(len(t), 1 + int(30 * (t[-1] - t[0])))
            at = np.linspace(0, len(t) - 1, max(count, 2)).astype(int)
            for k, following in pairwise(at):
                self.update(motion[..., k, :])
                recorder.insert_sleep(float(t[following] - t[k]))
            self.update(motion[..., at[-1], :])
        path = Path(path)
        path.write_text(recorder.as_html(), encoding="utf-8")
        return path

    def close(self) -> None:
        """Stop serving the page."""
        if self._player is not None:
            self._player.stop()
        with redirect_stdout(io.StringIO()):
            self._server.stop()

    def __enter__(self) -> Viewer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Viewer of {self._model.name!r} at {self.url}"

    # ------------------------------------------------------------ the scene

    def _add_world(self, scene: Scene) -> None:
        s = scene.size
        self._server.scene.set_up_direction("+z")
        self._server.scene.add_grid("/grid", width=4 * s, height=4 * s, cell_size=s / 5)

    def _aim(self, q: Array, reach: float) -> None:
        """Point the eye at the robot."""
        places = [T[:3, 3] for T in self._poses(np.atleast_2d(q)[0]).values()]
        center = (np.min(places, axis=0) + np.max(places, axis=0)) / 2
        camera = self._server.initial_camera
        camera.look_at = center
        camera.position = center + reach * np.array([0.9, -1.1, 0.6])

    def _add_robot(
        self, k: int, offset: Array, scene: Scene, layers: Sequence[str]
    ) -> None:
        add = self._server.scene
        root = f"/robot{k}"
        add.add_frame(root, show_axes=False, position=offset)
        nodes: dict[str, Any] = {}
        for i, body in enumerate((*self._model.body_names, "world")):
            nodes.setdefault(body, add.add_frame(f"{root}/{i}", show_axes=False))
            if body == "world":
                continue
            axes = add.add_frame(
                f"{root}/{i}/axes",
                axes_length=0.08 * scene.size,
                axes_radius=0.004 * scene.size,
                visible=False,
            )
            self._extras["frames"].append(axes)
            label = add.add_label(f"{root}/{i}/name", body, visible=False)
            self._extras["names"].append(label)
        faces = sum(len(part.mesh.faces) for part in scene.parts)
        for n, part in enumerate(scene.parts):
            mesh = part.mesh
            if faces > _MOST_FACES:
                mesh = thinned(mesh, scene.size / 300)
            r, g, b, opacity = part.color
            handle = add.add_mesh_simple(
                f"{nodes[part.body].name}/{part.layer}{n}",
                mesh.vertices,
                mesh.faces,
                color=(r, g, b),
                opacity=None if opacity >= 1 else opacity,
                flat_shading=len(mesh.faces) < 100,
                side="double",
                visible=part.layer in layers,
            )
            self._parts.append((part, handle))
            if k == 0 and part.body != "world":
                handle.on_click(self._clicked(part.body))
        self._add_loops(nodes, scene.size)
        if k == 0:
            self._center = add.add_mesh_simple(
                f"{root}/center_of_mass",
                *_sphere(0.02 * scene.size),
                color=(20, 20, 20),
                visible=False,
            )
        self._bodies.append(nodes)

    def _add_loops(self, nodes: Mapping[str, Any], size: float) -> None:
        """Mark both ends of every cut joint."""
        for n, loop in enumerate(self._model.loops):
            if loop.joints:
                continue
            ends = ((loop.body_a, loop.placement_a), (loop.body_b, loop.placement_b))
            for side, (body, placement) in zip("ab", ends, strict=True):
                node = nodes[body or "world"]
                self._server.scene.add_mesh_simple(
                    f"{node.name}/loop{n}{side}",
                    *_sphere(0.015 * size),
                    color=_LOOP,
                    position=placement.p,
                )

    def _place(self, nodes: Mapping[str, Any], q: Array) -> None:
        poses = self._poses(q)
        for body, T in poses.items():
            nodes[body].position = T[:3, 3]
            nodes[body].wxyz = np.array(quaternion(T[:3, :3].tolist()))
        if self._centers and nodes is self._bodies[0]:
            total = sum(mass for _, mass, _ in self._centers)
            moments = [
                mass * (poses[body][:3, :3] @ com + poses[body][:3, 3])
                for body, mass, com in self._centers
            ]
            self._center.position = np.sum(moments, axis=0) / total

    def _described(self) -> Sequence[BodyDescription]:
        assert self._model.description is not None
        return self._model.description.bodies

    def _trail(self, body: str, motion: Array) -> None:
        if body not in self._model.body_names:
            names = ", ".join(map(repr, self._model.body_names[:8]))
            raise ArgumentError(f"trails has {body!r}; expected bodies such as {names}")
        for k, one in enumerate(motion):
            step = max(1, len(one) // 400)
            path = np.array([self._poses(x)[body][:3, 3] for x in one[::step]])
            lines = np.stack([path[:-1], path[1:]], axis=1)
            self._server.scene.add_line_segments(
                f"/robot{k}/trail_{self._model.body_names.index(body)}",
                lines,
                colors=_TRAIL,
                thickness=2.0,
                thickness_units="screen",
            )

    # ------------------------------------------------------------ the panel

    def _add_panel(self, layers: Sequence[str]) -> None:
        gui = self._server.gui
        self._is_dragging = False
        present = {part.layer for part, _ in self._parts}
        with gui.add_folder("Show"):
            for name in LAYERS:
                if name in present:
                    box = gui.add_checkbox(name, initial_value=name in layers)
                    box.on_update(self._switch(name))
            for name in self._extras:
                box = gui.add_checkbox(name, initial_value=False)
                box.on_update(self._switch(name))
            box = gui.add_checkbox("center of mass", initial_value=False)
            box.on_update(self._switch("center of mass"))
        with gui.add_folder("Tree"):
            self._names = _indented(self._described())
            self._choice = gui.add_dropdown("body", ["none", *self._names])
            self._choice.on_update(self._select)
            self._details = gui.add_html("")
        with gui.add_folder("Joints"):
            for joint in self._model.joints:
                if joint.nq == 1:
                    self._add_slider(joint)

    def _add_slider(self, joint: PublicJoint) -> None:
        low, high = _range(joint)
        slider = self._server.gui.add_slider(
            joint.name, low, high, (high - low) / 1000, min(max(0.0, low), high)
        )

        def moved(event: Any) -> None:
            if event.client is None:
                return  # set by `update`
            q = np.array(self.q)
            q[..., joint.q_index] = slider.value
            self._is_dragging = True
            try:
                self.update(q)
            finally:
                self._is_dragging = False

        slider.on_update(moved)
        self._sliders.append((joint, slider))

    def _switch(self, layer: str) -> Callable[[Any], None]:
        def switched(event: Any) -> None:
            is_on = bool(event.target.value)
            if layer == "center of mass":
                self._center.visible = is_on
            for handle in self._extras.get(layer, ()):
                handle.visible = is_on
            for part, handle in self._parts:
                if part.layer == layer:
                    handle.visible = is_on

        return switched

    def _clicked(self, body: str) -> Callable[[Any], None]:
        def clicked(_: Any) -> None:
            self._choice.value = next(
                (shown for shown, name in self._names.items() if name == body), "none"
            )

        return clicked

    def _select(self, _: Any) -> None:
        chosen = self._names.get(self._choice.value)
        for part, handle in self._parts:
            if part.layer in ("visual", "bars", "collision"):
                own = tuple(round(255 * c) for c in part.color[:3])
                handle.color = _SELECTED if part.body == chosen else own
        self._details.content = "" if chosen is None else self._text_of(chosen)

    def _text_of(self, name: str) -> str:
        body = next(b for b in self._described() if b.name == name)
        joints = joint_text(body, {j.name: j for j in self._model.joints})
        lines = [f"mass {self._model.masses[name]:.4g} kg", joints]
        rows = "<br>".join(html.escape(line) for line in lines)
        return f"<b>{html.escape(name)}</b><br>{rows}"


def _server(label: str, port: int) -> Any:
    try:
        viser: Any = importlib.import_module("viser")
    except ImportError:
        raise Error("the viewer needs viser: pip install 'ramify[view]'") from None
    free = _free_port(port)
    with redirect_stdout(io.StringIO()):  # its banner
        return viser.ViserServer(host=HOST, port=free, label=label, verbose=False)


def _free_port(first: int) -> int:
    """Return the first free port; viser would wait forever where none can be bound."""
    problem: object = "expected 1 to 65535"
    last = min(first + 100, 65536) if first > 0 else first
    for port in range(first, last):
        try:
            with socket.socket() as probe:
                probe.bind((HOST, port))
        except (OSError, OverflowError) as e:
            problem = e
        else:
            return port
    raise Error(f"the viewer cannot listen on port {first}: {problem}")


def _sphere(radius: float) -> tuple[Array, Any]:
    mesh = scaled(ball(), (radius, radius, radius))
    return mesh.vertices, mesh.faces


def _offsets(copies: int, size: float) -> Array:
    """Return places side by side, in rows."""
    across = math.ceil(math.sqrt(copies))
    k = np.arange(copies)
    places = np.stack([k // across, k % across, np.zeros(copies)], axis=1) * 1.5 * size
    return places - places.mean(axis=0)


def _range(joint: PublicJoint) -> tuple[float, float]:
    """Return the range of a slider: the limits, or a turn or a meter each way."""
    reach = 1.0 if joint.type == "prismatic" else math.pi
    if joint.limits is None:
        return -reach, reach
    low, high = joint.limits.lower[0], joint.limits.upper[0]
    if not math.isfinite(low) or not math.isfinite(high) or high <= low:
        return -reach, reach
    return low, high


def _indented(bodies: Sequence[BodyDescription]) -> dict[str, str]:
    """Return what the tree shows for each body, and the body's name."""
    depth: dict[str | None, int] = {None: -1}
    shown: dict[str, str] = {}
    for body in bodies:
        depth[body.name] = depth[body.parent] + 1
        shown["\u2003" * depth[body.name] + body.name] = body.name
    return shown
