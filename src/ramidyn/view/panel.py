"""The controls beside the robot: layers, the tree of bodies, a slider for every joint.

The tree is a column of buttons: viser has no tree of its own that answers clicks.
"""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Sequence
from typing import Any, Final, final

import numpy as np

from ramidyn.description.description import BodyDescription
from ramidyn.description.forces.fields import element_text, referred_names
from ramidyn.description.joint_types import joint_type
from ramidyn.description.pose import Array
from ramidyn.tree.frames import named_frame
from ramidyn.tree.model import Model, PublicJoint
from ramidyn.view.nodes import ARROWS, EXTRAS, RobotNodes
from ramidyn.view.robot_text import joint_text
from ramidyn.view.scene import LAYERS

_DEEPEST: Final = 12
"""levels of the tree that are indented"""
_SELECTED: Final = (255, 170, 40)
_PLAIN: Final = (238, 240, 243)
_STYLE: Final = """<style>
div:has(> * > .ramidyn-tree) > div { padding-bottom: 2px !important; }
div:has(> * > .ramidyn-tree) .mantine-Button-root { height: 1.6em !important;
  padding: 0 0.4em; }
div:has(> * > .ramidyn-tree) .mantine-Button-inner { justify-content: flex-start; }
div:has(> * > .ramidyn-tree) .mantine-Button-label { color: #333; }
.ramidyn-tree { padding: 0 0.8em 0.5em; font-size: 0.85em; }
</style>"""


@final
class Panel:
    """The controls of one viewer.

    Args:
        gui: viser's.
        model: the robot.
        copies: its nodes.
        shown: the layers that are visible first.
        moved: called with a joint and its new coordinate.
        redraw: called when the arrows of forces are switched; None: there are none.
    """

    def __init__(
        self,
        gui: Any,
        model: Model,
        copies: Sequence[RobotNodes],
        shown: Sequence[str],
        moved: Callable[[PublicJoint, float], None],
        redraw: Callable[[], None] | None,
    ) -> None:
        assert model.description is not None
        self._model, self._copies, self._redraw = model, copies, redraw
        self._described = {b.name: b for b in model.description.bodies}
        self.selected: str | None = None
        """the body that is highlighted"""
        self._add_switches(gui, shown)
        self._add_tree(gui)
        self._sliders: list[tuple[PublicJoint, Any]] = []
        with gui.add_folder("Joints"):
            for joint in model.joints:
                if joint.nq == 1:
                    self._sliders.append((joint, self._slider(gui, joint, moved)))

    # ------------------------------------------------------------ layers

    def _add_switches(self, gui: Any, shown: Sequence[str]) -> None:
        layers = self._copies[0].layers
        self._switches: dict[str, Any] = {}
        with gui.add_folder("Show"):
            for name in (*LAYERS, *EXTRAS):
                if layers[name]:
                    box = gui.add_checkbox(name, initial_value=name in shown)
                    box.on_update(self._switched(name))
                    self._switches[name] = box
            if self._redraw is not None:
                box = gui.add_checkbox(ARROWS, initial_value=False)
                box.on_update(self._arrows_switched)
                self._switches[ARROWS] = box

    def _switched(self, layer: str) -> Callable[[Any], None]:
        def switched(event: Any) -> None:
            for nodes in self._copies:
                for handle in nodes.layers[layer]:
                    handle.visible = bool(event.target.value)
            self.select(self.selected)

        return switched

    def _arrows_switched(self, event: Any) -> None:
        self._set_arrows(bool(event.target.value))

    def show_arrows(self) -> None:
        """Switch on the arrows of forces, where there are any."""
        if ARROWS in self._switches:
            self._switches[ARROWS].value = True
            self._set_arrows(True)

    def _set_arrows(self, is_on: bool) -> None:
        for nodes in self._copies:
            nodes.has_arrows = is_on
        if self._redraw is not None:
            self._redraw()

    # ------------------------------------------------------------ the tree

    def _add_tree(self, gui: Any) -> None:
        self._buttons: dict[str, Any] = {}
        panel = gui.add_panel()
        with panel.add_tab("Tree"):
            self._details = gui.add_html(self._text())
            for name, depth in _depths(list(self._described.values())).items():
                label = "\u2002" * min(depth, _DEEPEST) + name
                button = gui.add_button(label, color=_PLAIN)
                button.on_click(self._pressed(name))
                self._buttons[name] = button
        panel.dock_left()
        panel.set_width(250)
        gui.main_panel.dock_right()

    def _pressed(self, name: str) -> Callable[[Any], None]:
        def pressed(_: Any) -> None:
            self.select(None if name == self.selected else name)

        return pressed

    def select(self, body: str | None) -> None:
        """Highlight a body in the tree and in the scene."""
        if self.selected != body:
            for name in (self.selected, body):
                if name is not None:
                    self._buttons[name].color = _SELECTED if name == body else _PLAIN
            self.selected = body
            self._details.content = self._text()
        on = {n: bool(self._switches[n].value) for n in ("frames", "names")}
        for nodes in self._copies:
            nodes.select(body, on)

    def _text(self) -> str:
        """Return what is known about the selected body, as HTML."""
        if self.selected is None:
            lines = ["Click on a body, here or in the scene."]
        else:
            body = self._described[self.selected]
            joints = joint_text(body, {j.name: j for j in self._model.joints})
            lines = [
                body.name,
                f"{joints}, {self._model.masses[body.name]:.4g} kg",
                *self._forces_on(body),
            ]
        shown = "<br>".join(html.escape(line) for line in lines)
        return f"{_STYLE}<div class=ramidyn-tree>{shown}</div>"

    def _forces_on(self, body: BodyDescription) -> list[str]:
        joints = {j.name for j in body.joints}
        return [
            f"{f.name}: {type(f).__name__}, {element_text(f, self._model.joints)}"
            for f in (*self._model.forces, *self._model.contacts)
            if joints & set(referred_names(f, "joint"))
            or body.name
            in [named_frame(self._model, n).body for n in referred_names(f, "frame")]
        ]

    # ------------------------------------------------------------ joints

    def _slider(
        self, gui: Any, joint: PublicJoint, moved: Callable[[PublicJoint, float], None]
    ) -> Any:
        low, high = _range(joint)
        step = 10.0 ** math.floor(math.log10((high - low) / 500))
        start = min(max(0.0, low), high)
        unit = _unit(joint)
        hint = f"{joint.type} joint [{unit}]: moves {joint.child!r} on {joint.parent!r}"
        slider = gui.add_slider(joint.name, low, high, step, start, hint=hint)

        def changed(event: Any) -> None:
            if event.client is not None:  # not by `follow`
                moved(joint, float(slider.value))

        slider.on_update(changed)
        return slider

    def follow(self, q: Array) -> None:
        """Move the sliders to a configuration."""
        for joint, slider in self._sliders:
            value = min(max(float(q[joint.q_index]), slider.min), slider.max)
            if abs(slider.value - value) > 1e-6:
                slider.value = value


def _range(joint: PublicJoint) -> tuple[float, float]:
    """Return the range of a slider: the limits, or a turn or a meter each way."""
    reach = 1.0 if _unit(joint) == "m" else math.pi
    if joint.limits is None:
        return -reach, reach
    low, high = joint.limits.lower, joint.limits.upper
    assert isinstance(low, float)
    assert isinstance(high, float)
    if not math.isfinite(low) or not math.isfinite(high) or high <= low:
        return -reach, reach
    return low, high


def _unit(joint: PublicJoint) -> str:
    """Return the unit of a joint with one coordinate."""
    ((_, unit),) = joint_type(joint.name, joint.type).coordinates
    return unit


def _depths(bodies: Sequence[BodyDescription]) -> dict[str, int]:
    """Return the depth of every body in the tree, children below their parents."""
    children: dict[str | None, list[str]] = {}
    for body in bodies:
        children.setdefault(body.parent, []).append(body.name)
    depths: dict[str, int] = {}
    pending = [(name, 0) for name in reversed(children.get(None, []))]
    while pending:
        name, depth = pending.pop()
        depths[name] = depth
        pending += [(child, depth + 1) for child in reversed(children.get(name, []))]
    return depths


# ------------------------------------------------------------ playing a motion


@final
class Player:
    """A motion with its controls on the page.

    Args:
        gui: viser's.
        t: (rows,) [s].
        q: (copies, rows, nq).
        qd: (copies, rows, nv).
        forces: of contacts, (copies, rows, contacts, 3), if there are any.
        note: a line below the controls.
    """

    def __init__(
        self, gui: Any, t: Array, q: Array, qd: Array, forces: Array | None, note: str
    ) -> None:
        self.t, self.q, self.qd, self.forces = t, q, qd, forces
        first, last = float(t[0]), float(t[-1])
        self._folder = gui.add_folder("Motion", order=-1.0)
        with self._folder:
            self._clock = gui.add_slider("time [s]", first, last, 1e-3, first)
            self._playing = gui.add_checkbox("play", initial_value=True)
            self._repeat = gui.add_checkbox("loop", initial_value=True)
            self._speed = gui.add_slider("speed", 0.05, 4.0, 0.05, 1.0)
            if note:
                style = "padding: 0 0.8em 0.5em; font-size: 0.85em"
                gui.add_html(f'<div style="{style}">{html.escape(note)}</div>')
        self._shown = math.nan

    def remove(self) -> None:
        """Take the controls off the page."""
        self._folder.remove()

    def advance(self, seconds: float) -> tuple[Array, Array, Array | None] | None:
        """Return the state to show after some time, None if it is the last one."""
        if self._playing.value:
            self._move(seconds * self._speed.value)
        if self._clock.value == self._shown:
            return None
        self._shown = float(self._clock.value)
        return self.at(self._shown)

    def at(self, time: float) -> tuple[Array, Array, Array | None]:
        """Return the states at the row that is closest to a time."""
        after = min(max(int(np.searchsorted(self.t, time)), 1), len(self.t) - 1)
        k = after - (time - self.t[after - 1] < self.t[after] - time)
        forces = None if self.forces is None else self.forces[:, k]
        return self.q[:, k], self.qd[:, k], forces

    def _move(self, seconds: float) -> None:
        at, end = self._clock.value + seconds, float(self.t[-1])
        if at > end:
            self._playing.value = bool(self._repeat.value)
            at = float(self.t[0]) if self._repeat.value else end
        self._clock.value = at
