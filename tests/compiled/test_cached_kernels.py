"""Entries of the cache that do not fit: compiled anew, never run, never an error."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ramidyn
from ramidyn.backend.llvm import build, cache, jit
from ramidyn.backend.llvm.target import runnable
from ramidyn.backend.llvm.word_builder import Module
from ramidyn.compilation import Request
from ramidyn.function import Function

X = np.linspace(-1.0, 1.0, 5)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RAMIDYN_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def long_sum(x: Any) -> Any:
    """2,000 fused operations: two cuts, with values between them."""
    values = list(x)
    for k in range(2000):
        values.append(values[-1] * values[-5] + (0.05 * (k % 7) - 0.1))
        if k % 50 == 0:
            values[-1] = ramidyn.math.sin(values[-1])
    return values[-3:]


def new(fn: Callable[..., Any] = long_sum) -> Function:
    return ramidyn.kernel(fn, {"x": 5}, name="long_sum")


def key_of(function: Function) -> str:
    compilation = function._compilation
    return build.key_of(compilation.interface, compilation.target("single"))


def taken_apart(data: bytes) -> tuple[dict[str, Any], list[bytes]]:
    start = 8 + int.from_bytes(data[:8], "little")
    head, objects = json.loads(data[8:start]), list[bytes]()
    for size in head["sizes"]:
        objects.append(data[start : start + size])
        start += size
    return head, objects


def put_together(head: object, objects: list[bytes]) -> bytes:
    text = json.dumps(head).encode()
    return b"".join([len(text).to_bytes(8, "little"), text, *objects])


def with_head(**changes: Any) -> Callable[[bytes], bytes]:
    """Return what changes an entry's head, by values or functions of the old ones."""

    def change(data: bytes) -> bytes:
        head, objects = taken_apart(data)
        for name, value in changes.items():
            head[name] = value(head[name]) if callable(value) else value
        return put_together(head, objects)

    return change


def with_objects(
    make: Callable[[list[bytes]], list[bytes]],
) -> Callable[[bytes], bytes]:
    """Return what changes the object code, its sizes adapted."""

    def change(data: bytes) -> bytes:
        head, objects = taken_apart(data)
        objects = make(objects)
        return put_together({**head, "sizes": [len(o) for o in objects]}, objects)

    return change


CHANGES: dict[str, Callable[[bytes], bytes]] = {
    "no slots": with_head(slots=0),
    "too few slots": with_head(slots=lambda n: n - 1),
    "more slots": with_head(slots=lambda n: n + 1),
    "negative slots": with_head(slots=-1),
    "slots in words": with_head(slots="many"),
    "slots in fractions": with_head(slots=lambda n: n + 0.5),
    "an output beyond the slots": with_head(outputs=lambda o: [10**9, *o[1:]]),
    "an output before the slots": with_head(outputs=lambda o: [-1, *o[1:]]),
    "other outputs": with_head(outputs=lambda o: o[::-1]),
    "too few outputs": with_head(outputs=lambda o: o[1:]),
    "too many outputs": with_head(outputs=lambda o: o + o),
    "no outputs": with_head(outputs=None),
    "sizes that do not add up": with_head(sizes=lambda s: [s[0] + 8, *s[1:]]),
    "sizes shifted": with_head(sizes=lambda s: [s[0] - 8, s[1] + 8, *s[2:]]),
    "fewer cuts": with_objects(lambda o: o[:-1]),
    "cuts in another order": with_objects(lambda o: o[::-1]),
    "one cut twice": with_objects(lambda o: [o[0], o[0]]),
    "half an object": with_objects(lambda o: [o[0][: len(o[0]) // 2], *o[1:]]),
    "an object without its end": with_objects(lambda o: [o[0][:-100], *o[1:]]),
    "an object without its start": with_objects(lambda o: [o[0][100:], *o[1:]]),
    "no object": with_objects(lambda o: [b"", *o[1:]]),
    "text": lambda _: b"\x08\0\0\0\0\0\0\0not json",
    "a list": lambda _: put_together([1, 2, 3], []),
    "nothing": lambda _: b"",
    "no head": lambda data: data[:8],
    "half": lambda data: data[: len(data) // 2],
    "more at the end": lambda data: data + b"\0",
}


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, bytes, Any]:
    """The key of an entry, the entry, and what its code computes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAMIDYN_CACHE_DIR", str(tmp_path_factory.mktemp("good")))
        function = new()
        expected = function(X)
        data = cache.load(key_of(function))
    assert data is not None
    assert len(taken_apart(data)[1]) == 2
    return key_of(function), data, expected


def test_an_entry_that_fits_is_loaded(good: tuple[str, bytes, Any]) -> None:
    key, data, expected = good
    cache.store(key, put_together(*taken_apart(data)))
    again = new()
    np.testing.assert_array_equal(again(X), expected)
    assert again.cached


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_an_entry_that_does_not_fit_is_compiled_anew(
    change: Callable[[bytes], bytes],
    good: tuple[str, bytes, Any],
    capfd: pytest.CaptureFixture[str],
) -> None:
    key, data, expected = good
    cache.store(key, change(data))
    healed = new()
    np.testing.assert_array_equal(healed(X), expected)
    assert not healed.cached
    assert cache.load(key) == data
    assert capfd.readouterr().err == ""


def test_code_of_another_program_does_not_run() -> None:
    def other(x: Any) -> Any:
        return [-value for value in long_sum(x)]

    first, second = new(), new(other)
    expected = first(X)
    second(X)
    stolen = cache.load(key_of(second))
    assert stolen is not None
    cache.store(key_of(first), stolen)
    healed = new()
    np.testing.assert_array_equal(healed(X), expected)
    assert not healed.cached


@pytest.mark.skipif(sys.platform == "win32", reason="code is loaded in another way")
def test_all_cuts_of_a_kernel_are_loaded_in_one_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    expected = new()(X)  # and the call path is loaded
    builder, linked = jit.llvm.JITLibraryBuilder, []
    link = builder.link
    monkeypatch.setattr(
        builder, "link", lambda self, *given: linked.append(given) or link(self, *given)
    )
    cached = new()
    assert np.array_equal(cached(X), expected)
    assert cached.cached
    assert len(cached._compilation.schedule(8).functions) == 2
    assert len(linked) == 1


@pytest.mark.parametrize(
    "code", [b"", b"\x7fELF", b"\x7fELF" * 100, bytes(5000)], ids=len
)
def test_a_damaged_piece_of_the_call_path_is_compiled_anew(code: bytes) -> None:
    def write() -> str:
        module = Module("seven")
        module.function("seven", 0).leave(7)
        return str(module.llvm)

    key = build.functions_key("seven", runnable())
    cache.store(key, code)
    (address,) = build.load_functions(write, ["seven"], "seven")
    assert address
    good = cache.load(key)
    assert good is not None
    assert len(good) > len(code) or good[:4] != code[:4]


@pytest.mark.parametrize(
    "plan",
    [
        b"",
        b"not json",
        b"7",
        b'["name", [["q", [-3]]], [["y", [3]]], "00", []]',
        b'["name", [["q", "3"]], [["y", [3]]], "00", []]',
        b'["name", [["q", [3]]], [["y", [3.5]]], "00", []]',
        b'["name", [["q", [3]]], 5, "00", []]',
    ],
)
def test_a_damaged_plan_is_traced_anew(plan: bytes) -> None:
    robot = ramidyn.robots.chain(3)
    key = Request(ramidyn.mass_matrix, robot).key("float64")
    assert key is not None
    q = np.array([0.1, 0.2, 0.3])
    expected = ramidyn.compile(ramidyn.mass_matrix, robot)(q)
    assert cache.load(key) is not None
    cache.store(key, plan)
    again = ramidyn.compile(ramidyn.mass_matrix, robot)
    np.testing.assert_array_equal(again(q), expected)
    assert again.cached


def test_a_plan_with_other_sizes_never_runs() -> None:
    robot = ramidyn.robots.chain(3)
    key = Request(ramidyn.mass_matrix, robot).key("float64")
    assert key is not None
    q = np.array([0.1, 0.2, 0.3])
    ramidyn.compile(ramidyn.mass_matrix, robot)(q)
    stored = cache.load(key)
    assert stored is not None
    name, inputs, _, digest, choices = json.loads(stored)
    forgery = [name, inputs, [["y", [900]]], digest, choices]
    cache.store(key, json.dumps(forgery).encode())
    forged = ramidyn.compile(ramidyn.mass_matrix, robot)
    with pytest.raises(ramidyn.CompileError, match="run `ramidyn cache clear`"):
        forged(q)
