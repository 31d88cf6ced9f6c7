"""What every sub-command shows: tables, progress, JSON, warnings."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

Item = TypeVar("Item")
SHOWN_WARNINGS = 5

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON only.")


class Screen(Console):
    """A console whose reader may go away: ``ramify ... | head``."""

    def on_broken_pipe(self) -> None:
        """Stop without a word."""
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(0)


def console() -> Console:
    """Return where results go."""
    plain_width = None if sys.stdout.isatty() else 140
    return Screen(file=sys.stdout, highlight=False, width=plain_width)


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """Return a table whose first column is text and whose others are numbers."""
    out = Table(title=title, title_justify="left", title_style="bold", box=None)
    shown = [tuple(row) for row in rows]
    first = max((len(row[0]) for row in shown), default=0)
    for k, name in enumerate(columns):
        side = "left" if k == 0 else "right"
        out.add_column(name, justify=side, min_width=0 if k else min(first, 40))
    for row in shown:
        out.add_row(*row)
    return out


def print_json(data: Any) -> None:
    """Print data for scripts."""
    print(json.dumps(data, indent=2, default=float))


def show_warnings(texts: Sequence[str]) -> None:
    """Print the warnings found while loading, on standard error."""
    for text in texts[:SHOWN_WARNINGS]:
        print(f"warning: {text}", file=sys.stderr)
    if len(texts) > SHOWN_WARNINGS:
        more = len(texts) - SHOWN_WARNINGS
        print(f"warning: and {more} more (ramify info shows all)", file=sys.stderr)


@contextmanager
def progress(total: int) -> Generator[Callable[[str], None]]:
    """Show a bar on standard error, and give what to call before each step."""
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    err = Console(stderr=True)
    bar = Progress(*columns, console=err, transient=True, disable=not err.is_terminal)
    with bar:
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


def seconds(x: float) -> str:
    """Return a time with a unit that suits it."""
    for unit, scale in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if x * scale >= 0.9995:
            return f"{x * scale:.3g} {unit}"
    return f"{x * 1e9:.0f} ns"


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
