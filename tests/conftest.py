"""Fixtures that every test may use."""

from __future__ import annotations

import gc
import os
import signal
import sys
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="run the slow tests too")
    parser.addoption(
        "--update-golden", action="store_true", help="write the golden files anew"
    )


def pytest_configure() -> None:
    """Collect garbage rarely: a process with all tests has many objects to look at.

    With Python's own thresholds, that takes a fourth of the time of all tests.
    """
    gc.set_threshold(100_000)


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    if config.getoption("--slow"):
        return
    skip = pytest.mark.skip(reason="slow: run with --slow")
    for item in items:
        if "slow" in item.keywords:
            item.add_marker(skip)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Let neighbors run in one worker, which then has what they share.

    A worker that is done takes half of what another has left.
    """
    from xdist.scheduler import WorkStealingScheduling  # noqa: PLC0415  may be absent

    if config.getoption("dist") == "load":
        return WorkStealingScheduling(config, log)
    return None


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep the user's cache out of the tests and the tests out of the user's cache.

    The workers of one run share a folder: each kernel is compiled once. The bytecode
    of processes that tests start is there too, also where Python is told to keep none.
    """
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    os.environ["RAMIDYN_CACHE_DIR"] = str(folder / "compiled")
    os.environ["PYTHONPYCACHEPREFIX"] = str(folder / "bytecode")
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


@pytest.fixture(autouse=True, scope="session")
def interruptible() -> None:
    """Let tests interrupt themselves, also in a background job of a shell."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def closed_figures() -> Iterator[None]:
    """Close the figures of a test: from 21 on, matplotlib warns of the open ones."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """A generator seeded by the test's own name: random, and the same every run."""
    return np.random.default_rng(zlib.crc32(request.node.nodeid.encode()))


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--update-golden"))
