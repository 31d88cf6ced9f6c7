"""Modules are compiled on several threads."""

from __future__ import annotations

import _thread
import threading
import time

import pytest

from ramidyn.backend.llvm import jit
from ramidyn.backend.llvm.target import host
from ramidyn.errors import CompileError


@pytest.fixture(autouse=True)
def three_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jit, "_cores", lambda: 3)


def source(k: int) -> str:
    return f"define i64 @f{k}() {{ ret i64 {k} }}"


def test_objects_are_in_the_order_of_their_modules() -> None:
    told: list[int] = []
    sources = [lambda k=k: source(k) for k in range(7)]
    objects = jit.compile_objects(sources, host(), told.append)
    assert [f"f{k}".encode() in code for k, code in enumerate(objects)] == [True] * 7
    assert told == [1] * 7


def test_an_error_of_any_thread_ends_all() -> None:
    begun: list[int] = []

    def begin(k: int) -> str:
        begun.append(k)
        if k == 2:
            raise CompileError("no code for this")
        return source(k)

    sources = [lambda k=k: begin(k) for k in range(500)]
    with pytest.raises(CompileError, match="no code for this"):
        jit.compile_objects(sources, host())
    assert len(begun) < 500


def test_where_no_thread_starts_one_compiles_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    start = threading.Thread.start

    def refuse(thread: threading.Thread) -> None:
        if threading.active_count() > alone:
            raise RuntimeError("can't start new thread")
        start(thread)

    alone = threading.active_count()
    monkeypatch.setattr(threading.Thread, "start", refuse)
    objects = jit.compile_objects([lambda k=k: source(k) for k in range(9)], host())
    assert all(objects)


def test_ctrl_c_ends_all_threads() -> None:
    """Also while this thread waits for others, and if one of them has failed."""
    me, before, begun = threading.get_ident(), threading.active_count(), list[int]()

    def begin(k: int) -> str:
        begun.append(k)
        while len(begun) < 3:  # each thread begins one
            time.sleep(0.01)
        if threading.get_ident() == me:
            raise CompileError("this thread fails, and waits for others")
        time.sleep(0.1)
        _thread.interrupt_main()
        time.sleep(0.2)
        return source(k)

    with pytest.raises(KeyboardInterrupt):
        jit.compile_objects([lambda k=k: begin(k) for k in range(99)], host())
    assert threading.active_count() == before
    assert len(begun) == 3
