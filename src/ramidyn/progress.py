"""How far long work is: one line on the terminal, or in a notebook.

Nothing is shown before a second, or where nobody looks: if stderr is a file or a pipe.
``RAMIDYN_PROGRESS=off`` turns it off.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

from ramidyn.errors import printable

Progress = Callable[[int, int], None]
"""Called with (parts done, total parts)."""


LATE = 1.0
"""[s] after which work is announced"""


def is_shown() -> bool:
    """Return whether somebody sees what is written: a terminal or a notebook."""
    if ProgressLine.is_hidden or os.environ.get("RAMIDYN_PROGRESS") == "off":
        return False
    return sys.stderr.isatty() or "ipykernel" in sys.modules


@contextmanager
def announced(what: str) -> Generator[None]:
    """Say what is being done, if it takes longer than a second."""
    if not is_shown():
        yield
        return
    text = f"ramidyn: {printable(what)} ..."
    shown = threading.Event()

    def show() -> None:
        shown.set()
        print(f"\r{text}", end="", file=sys.stderr, flush=True)

    timer = threading.Timer(LATE, show)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        if shown.is_set():  # the next line takes its place
            print(f"\r{' ' * len(text)}\r", end="", file=sys.stderr, flush=True)


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
        if time.perf_counter() - self.start > LATE and is_shown():
            end = "\n" if done == total else ""
            text = f"\rramidyn: {self.what}, {done} of {total} {self.units}"
            print(text, end=end, file=sys.stderr, flush=True)

    def percent(self, done: int, total: int, /) -> None:
        """Show the part that is done in percent, each figure once."""
        now = 100 * done // total, 100
        if now != self.shown and time.perf_counter() - self.start > LATE:
            self.shown = now
            if is_shown():
                filled = now[0] // 4
                bar = "━" * filled + "╌" * (25 - filled)
                text = f"\rramidyn: {self.what} {bar} {now[0]:3d}%"
                end = "\n" if now[0] == 100 else ""
                print(text, end=end, file=sys.stderr, flush=True)
