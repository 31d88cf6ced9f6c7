"""How far long work is: one line on the terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

from ramidyn.errors import printable

Progress = Callable[[int, int], None]
"""Called with (parts done, total parts)."""


@contextmanager
def compile_progress_hidden() -> Generator[None]:
    """Suppress progress output of code generation while a progress bar is on screen."""
    before, ProgressLine.is_hidden = ProgressLine.is_hidden, True
    try:
        yield
    finally:
        ProgressLine.is_hidden = before


class ProgressLine:
    """One line on a terminal when something takes longer than a second."""

    is_hidden = False

    def __init__(self, what: str, units: str) -> None:
        self.what: str = printable(what)
        self.units = units
        self.start: float = time.perf_counter()
        self.shown: tuple[int, int] | None = None

    def __call__(self, done: int, total: int, /) -> None:
        """Show how much is done."""
        late = time.perf_counter() - self.start > 1.0
        if late and not self.is_hidden and sys.stderr.isatty():
            end = "\n" if done == total else ""
            text = f"\rramidyn: {self.what}, {done} of {total} {self.units}"
            print(text, end=end, file=sys.stderr, flush=True)

    def percent(self, done: int, total: int, /) -> None:
        """Show the part that is done in percent, each figure once."""
        now = 100 * done // total, 100
        if now != self.shown and time.perf_counter() - self.start > 1.0:
            self.shown = now
            if not self.is_hidden and sys.stderr.isatty():
                filled = now[0] // 4
                bar = "━" * filled + "╌" * (25 - filled)
                text = f"\rramidyn: {self.what} {bar} {now[0]:3d}%"
                end = "\n" if now[0] == 100 else ""
                print(text, end=end, file=sys.stderr, flush=True)
