"""Fixtures of the tests that run native code."""

from __future__ import annotations

import pytest

from ramidyn.backend.calls import callable as native
from ramidyn.backend.runtime import memory_layout
from ramidyn.backend.runtime import memory_layout as words


@pytest.fixture
def streamed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every batch go past the caches, a few elements at a time."""
    monkeypatch.setattr(memory_layout, "FAR", 1)
    monkeypatch.setattr(memory_layout, "PIECE", 100)


@pytest.fixture(params=["emitted", "streamed", "plain"])
def call_path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run a test on the emitted call path, also streaming, and on the plain one."""
    if request.param == "emitted" and not words.HAS_KNOWN_OBJECTS:
        pytest.skip("all calls are plain in this process")
    if request.param == "streamed":
        request.getfixturevalue("streamed")
    if request.param == "plain":
        monkeypatch.setattr(native, "HAS_KNOWN_OBJECTS", False)
        monkeypatch.setenv("RAMIDYN_PLAIN_CALLS", "1")  # for processes of the test
    return request.param
