"""The thread pool that large batches are split over; one per process."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

T = TypeVar("T")

_pool: ThreadPoolExecutor | None = None
_lock = threading.Lock()


def _forget() -> None:
    """Start over in a forked child, which has none of its parent's threads."""
    global _pool, _lock
    _pool, _lock = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def run_all(tasks: Sequence[Callable[[], T]], stop: list[None]) -> list[T]:
    """Run the tasks at once, the first in this thread, and return their results.

    An exception, such as Ctrl-C, adds to ``stop`` and leaves when all tasks have ended.
    """
    if len(tasks) == 1:
        return [tasks[0]()]
    from concurrent.futures import wait  # noqa: PLC0415  it takes long to import

    futures = [_submit(task) for task in tasks[1:]]
    try:
        return [tasks[0](), *(future.result() for future in futures)]
    except BaseException:
        stop.append(None)
        wait(futures)
        raise


def _submit(task: Callable[[], T]) -> Future[T]:
    """Run a task in the pool, or here if the interpreter is about to end."""
    try:
        return _shared().submit(task)
    except RuntimeError:
        from concurrent.futures import Future  # noqa: PLC0415  it takes long to import

        future: Future[T] = Future()
        future.set_result(task())
        return future


def _shared() -> ThreadPoolExecutor:
    """Return the pool, made on first use."""
    global _pool  # noqa: PLW0603 (the pool is the process's)
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415  it takes long to import

    with _lock:
        if _pool is None:
            _pool = ThreadPoolExecutor(
                os.cpu_count() or 1, thread_name_prefix="ramidyn"
            )
        return _pool
