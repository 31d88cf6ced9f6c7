"""A robot in the browser: sliders, layers, names, motions; by viser, on loopback.

`Viewer.update` only says what to show; a thread draws the newest state, at most 60
times a second. So a control loop pays microseconds for it, at any rate.
"""

from __future__ import annotations

import importlib
import io
import logging
import math
import socket
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, final

import numpy as np
import numpy.typing as npt

from ramidyn.description.pose import Array, Pose
from ramidyn.errors import ArgumentError, Error, ShapeError, install_command
from ramidyn.output_files import replaceable_file
from ramidyn.tree.contact_checks import touch_count
from ramidyn.tree.frames import named_frame
from ramidyn.tree.model import Model, PublicJoint
from ramidyn.view.nodes import RobotNodes
from ramidyn.view.own_page import start_for_own_page
from ramidyn.view.panel import Panel, Player
from ramidyn.view.scene import Scene, check_layers, coarser_parts

Poses = Callable[[Array], Array]
"""q, (n, nq) -> poses of all bodies in the world, (n, bodies, 4, 4)"""
Arrows = Callable[[Array, Array, Array | None], Array]
"""q, (n, nq), q̇, and forces of contacts, (n, contacts, 3), or None -> points and forces
in the world, (n, arrows, 2, 3)"""
State = tuple[Array, Array, Array | None]
"""q and q̇ of all copies, and forces of their contacts"""
HOST: Final = "127.0.0.1"
MOST_COPIES: Final = 64
_RATE: Final = 60.0
"""pictures per second"""
_SLIDER_RATE: Final = 10.0
_RECORDED_RATE: Final = 30.0
_MOST_FACES: Final = 400_000
_TRAIL_POINTS: Final = 400


@final
class Viewer:
    """A robot in the browser, at ``url``, until `close`.

    ``with robot.show(q) as viewer`` closes it at the end of the block.
    """

    url: str
    """the address of the page, on this machine only"""
    q: Array
    """the configuration to show, or those of all copies"""

    def __init__(
        self,
        model: Model,
        scene: Scene,
        poses: Poses,
        q: Array,
        *,
        arrows: Arrows | None = None,
        layers: Sequence[str] | None = None,
        port: int = 8080,
    ) -> None:
        shown = scene.default_layers if layers is None else tuple(layers)
        check_layers(shown)
        self._model, self._poses, self._arrows = model, poses, arrows
        copies = np.atleast_2d(q)
        if len(copies) > MOST_COPIES:
            raise ArgumentError(
                f"{len(copies):,} robots are too many to show; at most {MOST_COPIES}"
            )
        mass = sum(body.inertia.m for body in model.tree.bodies)
        self._weight = mass * float(np.linalg.norm(model.tree.gravity)) or 1.0
        self._meters_per_newton = scene.size / self._weight
        self._size = scene.size
        self._server = _server(model.name, port)
        self._lock, self._end = threading.RLock(), threading.Event()
        self._player: Player | None = None
        self._trails: list[Any] = []
        self._must_follow, self._followed_at = False, 0.0
        self.url = f"http://{HOST}:{self._server.get_port()}"
        s = scene.size
        self._server.scene.set_up_direction("+z")
        self._server.scene.add_grid("/grid", width=4 * s, height=4 * s, cell_size=s / 5)
        self._copies = self._robots(scene, shown, len(copies))
        self._panel = Panel(
            self._server.gui,
            model,
            self._copies,
            shown,
            self._slid,
            None if arrows is None else self._redraw,
        )
        self.update(q)
        self._draw(self._wanted)
        self._aim(s * math.sqrt(len(copies)))
        self._thread = threading.Thread(
            target=self._run, name="ramidyn viewer", daemon=True
        )
        self._thread.start()

    # ------------------------------------------------------------ use

    def update(self, q: npt.ArrayLike, qd: npt.ArrayLike | None = None) -> None:
        """Show another state; may be called at any rate.

        Args:
            q: (nq,), or (copies, nq).
            qd: (nv,), or (copies, nv): forces that depend on velocities are drawn with
                it; None: at rest.
        """
        self._check_open()
        n = len(self._copies)
        given = _states("q", q, self._model.nq, n)
        rates = np.zeros((n, self._model.nv))
        if qd is not None:
            rates = _states("qd", qd, self._model.nv, n)
        self._want((given, rates, None))

    def play(
        self,
        times: npt.ArrayLike,
        q: npt.ArrayLike,
        qd: npt.ArrayLike | None = None,
        *,
        trails: Sequence[str] = (),
        contact_forces: npt.ArrayLike | None = None,
    ) -> None:
        """Play a motion: adds a time slider, speed and a play button to the page.

        Args:
            times: (rows,) [s], increasing.
            q: (rows, nq), or (copies, rows, nq).
            qd: (rows, nv), or (copies, rows, nv), for forces that depend on it; None:
                at rest.
            trails: frames whose path is drawn.
            contact_forces: (rows, contacts, 3), or (copies, rows, contacts, 3), as runs
                record them [N]; drawn as arrows.
        """
        self._check_open()
        t = np.array(times, dtype=float)
        if t.ndim != 1 or len(t) < 2 or not np.all(np.diff(t) > 0):
            raise ArgumentError("times must be increasing, at least two of them")
        motion = self._motion("q", q, len(t), self._model.nq)
        rates = np.zeros((*motion.shape[:2], self._model.nv))
        if qd is not None:
            rates = self._motion("qd", qd, len(t), self._model.nv)
        forces = None
        if contact_forces is not None:
            sizes = touch_count(self._model), 3
            forces = self._motion("contact_forces", contact_forces, len(t), *sizes)
        paths = {name: self._path(name, motion) for name in trails}
        note = ""
        if self._arrows is not None:
            length = self._weight * self._meters_per_newton
            note = f"Arrows: {_newtons(self._weight)} are {length:.3g} m long."
        with self._lock:
            if self._player is not None:
                self._player.remove()
            for trail in self._trails:
                trail.remove()
            self._trails = [
                nodes.draw_trail(name, path[k])
                for name, path in paths.items()
                for k, nodes in enumerate(self._copies)
            ]
            self._panel.show_arrows()
            self._player = Player(self._server.gui, t, motion, rates, forces, note)

    def drag(self, frame: str, solve: Callable[[Array, Array], Array]) -> None:
        """Add a handle to a frame: where it is dragged, the robot follows.

        Args:
            frame: a frame or body that moves.
            solve: (T, q) -> q that brings the frame to T, (4, 4), from q; such as
                ``lambda T, q: robot.inverse_kinematics({"hand": T}, q, starts=1).q``.
        """
        self._check_open()
        if len(self._copies) > 1:
            raise ArgumentError(
                f"{len(self._copies)} robots are shown; only one can be dragged"
            )
        found = named_frame(self._model, frame)
        if found.body == "world":
            raise ArgumentError(f"drag got {frame!r}, which does not move")
        i = self._model.body_names.index(found.body)
        body = self._poses(np.atleast_2d(self.q))[0, i]
        R: Array = body[:3, :3] @ found.placement.R
        here = Pose(R, body[:3, :3] @ found.placement.p + body[:3, 3])
        handle = self._server.scene.add_transform_controls(
            f"/handles/{frame.replace('/', chr(0x2215))}",
            scale=0.2 * self._size,
            position=here.p,
            wxyz=here.quaternion(order="wxyz"),
        )

        def dragged(event: Any) -> None:
            T = np.eye(4)
            turn = Pose.from_quaternion(event.target.wxyz, order="wxyz")
            T[:3, :3], T[:3, 3] = turn.R, event.target.position
            self.update(solve(T, np.array(self.q)))

        handle.on_update(dragged)

    def save(self, path: str | Path) -> Path:
        """Write what is shown, or the motion that is played, as one HTML file.

        The file needs no server and no network. Of files that exist, only HTML pages
        are replaced.
        """
        self._check_open()
        path = replaceable_file(path, "an HTML page")
        with self._lock:
            recorder: Any = self._server.get_scene_serializer()
            player = self._player
            if player is not None:
                t = player.t
                count = max(2, 1 + math.ceil(_RECORDED_RATE * (t[-1] - t[0])))
                count = min(count, len(t))
                first, last = float(t[0]), float(t[-1])
                at = [first + (last - first) * k / (count - 1) for k in range(count)]
                for k in range(count):
                    recorder.insert_sleep(at[k] - at[max(k - 1, 0)])
                    self._draw((player.at(at[k]), False))
            page: str = recorder.as_html()
            self._draw(self._wanted)
        path.write_text(page, encoding="utf-8")
        return path

    def close(self) -> None:
        """Stop serving the page."""
        if not self._end.is_set():
            self._end.set()
            self._thread.join()
            with redirect_stdout(io.StringIO()):
                self._server.stop()

    def __enter__(self) -> Viewer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self._end.is_set() else f"at {self.url}"
        return f"Viewer of {self._model.name!r} {state}"

    def _want(self, state: State, is_followed: bool = True) -> None:
        """Set what is drawn next, and whether the sliders follow."""
        q = state[0]
        self.q = q if len(q) > 1 else q[0]
        self._wanted = (state, is_followed)

    def _check_open(self) -> None:
        if self._end.is_set():
            raise Error("the viewer is closed; robot.show() opens another one")

    # ------------------------------------------------------------ drawing

    def _run(self) -> None:
        """Draw the newest state, and advance what is played, until the end."""
        last, drawn = time.perf_counter(), None
        while not self._end.wait(1 / _RATE):
            now = time.perf_counter()
            with self._lock:
                if self._player is not None:
                    state = self._player.advance(now - last)
                    if state is not None:
                        self._want(state)
                wanted = self._wanted
                if wanted is not drawn:
                    self._draw(wanted)
                    drawn = wanted
                self._follow(now)
            last = now

    def _draw(self, wanted: tuple[State, bool]) -> None:
        """Move all nodes; robots whose state is not finite stay where they were."""
        (q, qd, forces), self._must_follow = wanted
        poses = self._poses(q)
        arrows = None if self._arrows is None else self._arrows(q, qd, forces)
        is_finite = np.isfinite(q).all(axis=1) & np.isfinite(qd).all(axis=1)
        with self._lock, self._server.atomic():
            for k in np.flatnonzero(is_finite):
                self._copies[k].place(poses[k])
                if arrows is not None:
                    self._copies[k].draw_forces(arrows[k], self._meters_per_newton)

    def _follow(self, now: float) -> None:
        """Let the sliders follow, less often: the page lays them out anew."""
        if self._must_follow and now - self._followed_at > 1 / _SLIDER_RATE:
            self._must_follow, self._followed_at = False, now
            (q, _, _), _ = self._wanted
            if np.isfinite(q[0]).all():
                self._panel.follow(q[0])

    def _slid(self, joint: PublicJoint, value: float) -> None:
        """Show what a slider says."""
        q = np.array(self.q)
        q[..., joint.q_index] = value
        (_, qd, _), _ = self._wanted
        self._want((np.atleast_2d(q), qd, None), is_followed=False)

    def _redraw(self) -> None:
        self._wanted = (self._wanted[0], False)

    # ------------------------------------------------------------ what is there

    def _robots(
        self, scene: Scene, shown: Sequence[str], copies: int
    ) -> list[RobotNodes]:
        most = _MOST_FACES // copies
        if sum(len(part.mesh.faces) for part in scene.parts) > most:
            coarse = coarser_parts(scene.parts, scene.size / 300, most)
            scene = replace(scene, parts=tuple(coarse))
        name = self._model.name.replace("/", "\u2215") or "robot"
        roots = [f"/{name}" if k == 0 else f"/{name} {k + 1}" for k in range(copies)]
        return [
            RobotNodes(
                self._server.scene, root, offset, self._model, scene, shown, self._click
            )
            for root, offset in zip(roots, _offsets(copies, scene.size), strict=True)
        ]

    def _click(self, body: str) -> None:
        self._panel.select(body)

    def _aim(self, reach: float) -> None:
        """Point the eye at the robots."""
        (q, _, _), _ = self._wanted
        places = self._poses(q)[0, :, :3, 3]
        center = (places.min(axis=0) + places.max(axis=0)) / 2
        camera = self._server.initial_camera
        camera.look_at = center
        camera.position = center + reach * np.array([0.9, -1.1, 0.6])

    def _path(self, frame: str, motion: Array) -> list[Array]:
        """Return the path of a frame for every copy, (rows, 3)."""
        found = named_frame(self._model, frame)
        if found.body == "world":
            raise ArgumentError(f"trails has {frame!r}, which does not move")
        i = self._model.body_names.index(found.body)
        step = max(1, motion.shape[1] // _TRAIL_POINTS)
        paths: list[Array] = []
        for q in motion[:, ::step]:
            T = self._poses(q[np.isfinite(q).all(axis=1)])[:, i]
            paths.append(T[:, :3, :3] @ found.placement.p + T[:, :3, 3])
        return paths

    def _motion(self, name: str, given: npt.ArrayLike, rows: int, *sizes: int) -> Array:
        """Return a motion of all copies, (copies, rows, *sizes)."""
        values = np.array(given, dtype=float)
        motion = values[None] if values.ndim == 1 + len(sizes) else values
        expected = (len(self._copies), rows, *sizes)
        if motion.shape != expected:
            shown = expected[1:] if expected[0] == 1 else expected
            raise ShapeError(f"{name} has shape {values.shape}; expected {shown}")
        return motion


def _states(name: str, given: npt.ArrayLike, width: int, copies: int) -> Array:
    """Return a state of every copy, (copies, width); one is for all."""
    values = np.array(given, dtype=float)
    if values.shape not in ((width,), (copies, width)):
        several = f" or ({copies}, {width})" if copies > 1 else ""
        raise ShapeError(
            f"{name} has shape {values.shape}; expected ({width},){several}"
        )
    return np.tile(values, (copies, 1)) if values.ndim == 1 else values


def _server(label: str, port: int) -> Any:
    try:
        viser: Any = importlib.import_module("viser")
    except ImportError:
        raise Error(f"the viewer needs viser: {install_command('view')}") from None
    free = _free_port(port)
    logging.getLogger("websockets.server").addFilter(_is_news)

    def start() -> Any:
        return viser.ViserServer(host=HOST, port=free, label=label, verbose=False)

    with redirect_stdout(io.StringIO()):  # its banner
        return start_for_own_page(start)


def _is_news(record: logging.LogRecord) -> bool:
    """Say whether a message is worth showing: browsers open sockets and drop them."""
    return record.getMessage() != "opening handshake failed"


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


def _newtons(force: float) -> str:
    return f"{force:.4g} N" if force < 1000 else f"{force / 1000:,.4g} kN"


def _offsets(copies: int, size: float) -> Array:
    """Return places side by side, in rows."""
    across = math.ceil(math.sqrt(copies))
    k = np.arange(copies)
    places = np.stack([k // across, k % across, np.zeros(copies)], axis=1) * 1.5 * size
    return places - places.mean(axis=0)
