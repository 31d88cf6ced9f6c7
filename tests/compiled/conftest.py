"""Fixtures of the tests that run native code."""

from __future__ import annotations

import pytest

from ramify.backend import native


@pytest.fixture
def streamed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every batch go past the caches, a few elements at a time."""
    monkeypatch.setattr(native, "FAR", 1)
    monkeypatch.setattr(native, "PIECE", 100)


@pytest.fixture(params=["emitted", "streamed", "plain"])
def call_path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run a test on the emitted call path, also streaming, and on the plain one."""
    if request.param == "streamed":
        request.getfixturevalue("streamed")
    monkeypatch.setenv("RAMIFY_PLAIN_CALLS", str(int(request.param == "plain")))
    return request.param
