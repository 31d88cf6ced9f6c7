"""Threads and forks: values made once, locks that a forked child finds free.

Compiling also pauses the garbage collector, for all threads. In a subinterpreter this
module refuses to be imported, and Ramidyn with it.

A child process can compile while its parent does. A forked child has one thread. A lock
that another thread of the parent held stays taken in the child forever. `Lock` is free
in the child, unless the forking thread itself holds it. Locks inside of LLVM cannot be
renewed: a fork waits for `Native` work.
"""

from __future__ import annotations

import functools
import gc
import importlib
import os
import sys
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Final, Generic, TypeVar, final, overload
from weakref import WeakSet

K = TypeVar("K")
T = TypeVar("T")
KEPT = 16
"""values that `kept` keeps"""


def _refuse_subinterpreters() -> None:
    try:
        interpreters: Any = importlib.import_module("_interpreters")
    except ImportError:
        try:  # its name before Python 3.13
            interpreters = importlib.import_module("_xxsubinterpreters")
        except ImportError:
            return
    if interpreters.get_current() != interpreters.get_main():
        raise ImportError(
            "Ramidyn cannot be imported in a subinterpreter: NumPy does not support "
            "them. Use threads (a batch runs without the GIL) or processes"
        )


_refuse_subinterpreters()


@final
class Lock:
    """A reentrant lock that a forked child never finds held by a parent's thread.

    ``repair`` is called in a child whose parent had another thread in the locked
    region: it mends what that thread left unfinished.
    """

    __slots__ = ("__weakref__", "_lock", "repair")

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self.repair: Callable[[], None] | None = None
        _locks.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._lock.release()

    def renew(self) -> None:
        """Free the lock in a forked child."""
        if not _is_ours(self._lock):
            self._lock = threading.RLock()
            if self.repair is not None:
                self.repair()


_locks: WeakSet[Lock] = WeakSet()

tracing_lock = Lock()
"""The lock that a thread holds while it traces; one may take it again.

Values made once are made under it too, because most makers trace. With a lock of its
own, one thread could make something and wait to trace while another traces and waits.
"""


def made_once(store: dict[Any, T], key: Any, make: Callable[[], T]) -> T:
    """Return ``store[key]``, made by the first thread that asks."""
    if key not in store:
        with tracing_lock:
            if key not in store:  # another thread may have made it while we waited
                store[key] = make()
    return store[key]


def kept(known: OrderedDict[K, T], key: K, make: Callable[[], T]) -> T:
    """Return what is known for a key, or make it; the least used is forgotten."""
    try:
        last = next(reversed(known.items()), None)
    except RuntimeError:  # another thread has changed it meanwhile
        last = None
    if last is not None and last[0] is key:  # to compute its hash takes longer
        return last[1]
    found = known.pop(key, None)
    known[key] = value = make() if found is None else found
    while len(known) > KEPT:
        known.popitem(last=False)
    return value


@final
class once(Generic[T]):  # noqa: N801 (a decorator)
    """A cached property that several threads may ask for at the same time."""

    def __init__(self, make: Callable[[Any], T]) -> None:
        self.make = make
        self.__doc__ = make.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, owner: None, kind: type) -> once[T]: ...

    @overload
    def __get__(self, owner: object, kind: type) -> T: ...

    def __get__(self, owner: Any, kind: type) -> once[T] | T:
        if owner is None:
            return self
        return made_once(owner.__dict__, self.name, lambda: self.make(owner))


@final
class Native:
    """Native work of any number of threads, ``with`` it, that a fork waits for."""

    MOST_SECONDS = 10.0
    """A fork in a signal handler could wait for its own thread: the wait is bounded."""

    def __init__(self, also: Any = None) -> None:
        """Make a place for work.

        Args:
            also: a context manager that keeps all other native work out.
        """
        self._changed = threading.Condition()
        self._inside = 0
        self._also = also
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(
                before=self._close,
                after_in_parent=self._open,
                after_in_child=self._open,
            )

    def __enter__(self) -> None:
        with self._changed:
            self._inside += 1

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._changed:
            self._inside -= 1
            self._changed.notify_all()

    def _close(self) -> None:
        """Wait until nobody is inside, and let nobody in."""
        self._changed.acquire()
        self._changed.wait_for(lambda: not self._inside, self.MOST_SECONDS)
        if self._also is not None:
            self._also.__enter__()

    def _open(self) -> None:
        if self._also is not None:
            self._also.__exit__(None, None, None)
        self._changed.release()


importing: Final = Native()
"""Imports of what makes code: a child would wait for ever for a module that a thread of
its parent was importing."""

MANY = 100_000
"""objects that are new after a pause; to look at them all takes 0.05 s and more"""


@final
class _Collector:
    """The garbage collector, off while some thread wants it to be."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._pauses: Counter[int] = Counter()
        """by thread, one inside another"""
        self._was_on = False

    def pause(self) -> None:
        """Turn it off."""
        with self._lock:
            if not self._pauses:
                self._was_on = gc.isenabled()
                gc.disable()
            self._pauses[threading.get_ident()] += 1

    def resume(self) -> None:
        """Turn it on again, unless it is paused still."""
        with self._lock:
            self._pauses[threading.get_ident()] -= 1
            self._pauses += Counter()  # drops those that ended
            self._turn_on()

    def forget_others(self) -> None:
        """Turn it on again, unless this thread has paused it."""
        me, was_off = threading.get_ident(), bool(self._pauses)
        self._pauses = Counter({me: self._pauses[me]}) + Counter()
        if was_off:
            self._turn_on()

    def _turn_on(self) -> None:
        if self._pauses or not self._was_on:
            return
        if gc.get_count()[0] > MANY and not gc.get_freeze_count():
            gc.freeze()  # with this, they count as looked at
            gc.unfreeze()
        gc.enable()


_collector = _Collector()


@contextmanager
def without_collection() -> Generator[None]:
    """Pause the garbage collector: a program is a million objects and no cycle.

    To look at all of them again and again takes a third of the time to compile.
    """
    _collector.pause()
    try:
        yield
    finally:
        _collector.resume()


def _is_ours(lock: Any) -> bool:
    """Tell whether a reentrant lock is free, or held by this thread."""
    if lock.acquire(blocking=False):
        lock.release()
        return True
    return False


def _renew() -> None:
    for lock in list(_locks):
        lock.renew()
    _collector.forget_others()
    if sys.version_info < (3, 12):  # from then on, cached properties have no lock
        for name, module in list(sys.modules.items()):
            if name.startswith("ramidyn"):
                _renew_cached_properties(module)


def _renew_cached_properties(module: object) -> None:
    for kind in list(vars(module).values()):
        if isinstance(kind, type):
            for value in vars(kind).values():
                lock = isinstance(value, functools.cached_property) and value.lock  # type: ignore[attr-defined]
                if lock and not _is_ours(lock):
                    value.lock = threading.RLock()  # type: ignore[attr-defined]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
