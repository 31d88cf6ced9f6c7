"""Play a motion in the viewer: a time slider, speed, and a thread that advances it."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import Any, Final, final

import numpy as np

from ramify.model.pose import Array

_RATE: Final = 60.0
"""pictures per second"""


@final
class Player:
    """A motion with its controls on the page; plays until `stop`."""

    def __init__(
        self, gui: Any, t: Array, motion: Array, show: Callable[[Array], None]
    ) -> None:
        self._t, self._motion, self._show = t, motion, show
        first, last = float(t[0]), float(t[-1])
        self._folder = gui.add_folder("Motion", order=-1.0)
        with self._folder:
            self._clock = gui.add_slider("time [s]", first, last, 1e-3, first)
            self._playing = gui.add_checkbox("play", initial_value=True)
            self._repeat = gui.add_checkbox("repeat", initial_value=True)
            self._speed = gui.add_slider("speed", 0.05, 4.0, 0.05, 1.0)
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop playing; the last picture stays."""
        self._end.set()
        self._thread.join(timeout=2.0)

    def remove(self) -> None:
        """Stop playing, and take the controls off the page."""
        self.stop()
        self._folder.remove()

    def _run(self) -> None:
        last, shown = time.perf_counter(), math.nan
        while not self._end.wait(1 / _RATE):
            now = time.perf_counter()
            if self._playing.value:
                self._advance((now - last) * self._speed.value)
            last = now
            if self._clock.value != shown:
                shown = float(self._clock.value)
                k = min(_first_after(self._t, shown), len(self._t) - 1)
                one = self._motion[:, k]
                self._show(one if len(one) > 1 else one[0])

    def _advance(self, seconds: float) -> None:
        at, end = self._clock.value + seconds, float(self._t[-1])
        if at > end:
            self._playing.value = bool(self._repeat.value)
            at = float(self._t[0]) if self._repeat.value else end
        self._clock.value = at


def _first_after(t: Array, time: float) -> int:
    return int(np.count_nonzero(t < time))
