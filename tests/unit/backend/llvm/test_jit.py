"""Modules are compiled on several threads."""

from __future__ import annotations

import pytest

from ramidyn.backend.llvm import jit
from ramidyn.backend.llvm.target import host
from ramidyn.errors import CompileError


def source(k: int) -> str:
    return f"define i64 @f{k}() {{ ret i64 {k} }}"


def test_objects_are_in_the_order_of_their_modules() -> None:
    told: list[int] = []
    sources = [lambda k=k: source(k) for k in range(7)]
    objects = jit.compile_objects(sources, host(), told.append)
    assert [f"f{k}".encode() in code for k, code in enumerate(objects)] == [True] * 7
    assert told == [1] * 7


def test_an_error_of_any_thread_ends_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jit, "_cores", lambda: 3)
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
