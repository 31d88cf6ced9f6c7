"""Fixtures of the tests that run native code."""

from __future__ import annotations

import pytest


@pytest.fixture(params=["emitted", "plain"])
def call_path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run a test on the emitted call path and on the plain one."""
    monkeypatch.setenv("RAMIFY_PLAIN_CALLS", str(int(request.param == "plain")))
    return request.param
