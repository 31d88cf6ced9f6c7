"""Play a motion in the viewer: a time slider, speed, and whether it repeats."""

from __future__ import annotations

import html
import math
from typing import Any, final

import numpy as np

from ramidyn.description.pose import Array


@final
class Player:
    """A motion with its controls on the page.

    Args:
        gui: viser's.
        t: (rows,) [s].
        q: (copies, rows, nq).
        qd: (copies, rows, nv).
        note: a line below the controls.
    """

    def __init__(self, gui: Any, t: Array, q: Array, qd: Array, note: str) -> None:
        self.t, self.q, self.qd = t, q, qd
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

    def advance(self, seconds: float) -> tuple[Array, Array] | None:
        """Return the state to show after some time, None if it is the last one."""
        if self._playing.value:
            self._move(seconds * self._speed.value)
        if self._clock.value == self._shown:
            return None
        self._shown = float(self._clock.value)
        return self.at(self._shown)

    def at(self, time: float) -> tuple[Array, Array]:
        """Return the states at the row that is closest to a time."""
        after = min(max(int(np.searchsorted(self.t, time)), 1), len(self.t) - 1)
        k = after - (time - self.t[after - 1] < self.t[after] - time)
        return self.q[:, k], self.qd[:, k]

    def _move(self, seconds: float) -> None:
        at, end = self._clock.value + seconds, float(self.t[-1])
        if at > end:
            self._playing.value = bool(self._repeat.value)
            at = float(self.t[0]) if self._repeat.value else end
        self._clock.value = at
