"""Output of all subcommands: tables, progress, JSON, warnings."""

from __future__ import annotations

import json
import os
import platform
import sys
import textwrap
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from ramidyn.backend.llvm.target import chosen_processor
from ramidyn.errors import printable
from ramidyn.progress import compile_progress_hidden

Item = TypeVar("Item")
SHOWN_WARNINGS = 5

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON only.")


class Screen(Console):
    """A console whose reader may go away: ``ramidyn ... | head``.

    Control characters in what it prints are escaped: names come from files.
    """

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Yield the segments of what is printed."""
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else printable(text), style, control)

    def on_broken_pipe(self) -> None:
        """Stop silently."""
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(0)


def console() -> Console:
    """Return the output stream; COLUMNS sets its width if it is not a terminal."""
    return Screen(file=sys.stdout, highlight=False)


Cell = str | Text
WRAPPED = 28
"""[characters] text in a column wraps beyond it"""
GAP = 2
"""[characters] between columns"""


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Cell]]) -> Group:
    """Return a table whose first column is text and whose others are figures.

    It fits the screen: heads wrap first, then columns move below the others, under
    the first column again. No figure is cropped.
    """
    shown = [[x if isinstance(x, Text) else Text(x) for x in row] for row in rows]
    widths = _widths(columns, shown, console().width)
    parts: list[Table] = []
    for block in _blocks(widths, console().width):
        part = Table(box=None, padding=(0, GAP, 0, 0), pad_edge=False)
        for k in block:
            is_text = k == 0 or max(r[k].cell_len for r in shown) > WRAPPED
            part.add_column(
                Text(columns[k]),
                justify="left" if is_text else "right",
                width=widths[k],
                overflow="fold",
                vertical="bottom" if k else "top",
            )
        for row in shown:
            part.add_row(*(row[k] for k in block))
        parts.append(part)
    head = [Text(title, style="bold")] if title else []
    return Group(*head, *parts)


def _widths(
    columns: Sequence[str], rows: Sequence[Sequence[Text]], room: int
) -> list[int]:
    """Return the widths of columns: heads on one line where there is room."""
    cells = [max((r[k].cell_len for r in rows), default=0) for k in range(len(columns))]
    narrow = [
        max(min(cell, room // 2 if k == 0 else WRAPPED), *map(len, f"{head} -".split()))
        for k, (cell, head) in enumerate(zip(cells, columns, strict=True))
    ]
    wide = [max(cell, len(head)) for cell, head in zip(cells, columns, strict=True)]
    return wide if sum(wide) + GAP * len(wide) <= room else narrow


def _blocks(widths: Sequence[int], room: int) -> list[list[int]]:
    """Return which columns stand side by side; the first is in every block."""
    blocks = [[0]]
    for k in range(1, len(widths)):
        used = sum(widths[j] + GAP for j in blocks[-1])
        if used + widths[k] > room and len(blocks[-1]) > 1:
            blocks.append([0])
        blocks[-1].append(k)
    return blocks


def paragraph(text: str, style: str = "") -> None:
    """Print text that wraps between words; a path stays whole, on one line."""
    lines = [wrap_text(line, "") for line in text.split("\n")]
    console().print(Text("\n".join(lines), style=style), soft_wrap=True)


def print_json(data: Any) -> None:
    """Print data for scripts."""
    print(json.dumps(data, indent=2, default=float))


def show_warnings(texts: Sequence[str]) -> None:
    """Print the warnings found while loading, on standard error."""
    shown = [f"warning: {text}" for text in texts[:SHOWN_WARNINGS]]
    if len(texts) > SHOWN_WARNINGS:
        more = len(texts) - SHOWN_WARNINGS
        shown.append(f"warning: and {more} more (ramidyn info shows all)")
    for text in shown:
        print(printable(wrap_text(text)), file=sys.stderr)


def wrap_text(text: str, indent: str = "  ") -> str:
    """Return text in lines that fit the screen; names stay whole."""
    return textwrap.fill(
        text,
        console().width,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


@contextmanager
def progress(total: int) -> Generator[Callable[[str], None]]:
    """Show a progress bar on standard error; yield what to call before each step."""
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    err = Screen(stderr=True)
    bar = Progress(*columns, console=err, transient=True, disable=not err.is_terminal)
    with bar, compile_progress_hidden():
        task = bar.add_task("", total=total, completed=-1)

        def step(text: str) -> None:
            bar.update(task, description=text, advance=1)

        yield step


def steps(items: Sequence[Item], name: Callable[[Item], str]) -> Generator[Item]:
    """Yield items with a progress bar that names them."""
    with progress(len(items)) as step:
        for item in items:
            step(name(item))
            yield item


def best_of(run: Callable[[], object], duration: float) -> float:
    """Return the shortest time of one run, repeated for so many seconds."""
    run()
    shortest, end = float("inf"), time.perf_counter() + duration
    while time.perf_counter() < end:
        start = time.perf_counter()
        run()
        shortest = min(shortest, time.perf_counter() - start)
    return shortest


def call_time(run: Callable[[], object], duration: float) -> float:
    """Return the shortest mean time of a call, over loops of about a millisecond."""
    once = best_of(run, duration / 10)
    n = max(1, int(1e-3 / once))

    def loop() -> None:
        for _ in range(n):
            run()

    return best_of(loop, duration) / n


# ------------------------------------------------------------ the machine


def processor() -> str:
    """Return the processor's own name, where the system tells it."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def installed_version(package: str) -> str:
    """Return a package's version, or "absent"."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "absent"


def machine_line(*packages: str) -> str:
    """Return processor, vector width and versions."""
    target = chosen_processor()
    names = ("ramidyn", "numpy", "llvmlite", *packages)
    versions = ", ".join(f"{p} {installed_version(p)}" for p in names)
    width = f"{target.lanes('float64')} doubles per vector"
    python = platform.python_version()
    return f"{processor()} ({target.cpu}, {width}), Python {python}, {versions}"
