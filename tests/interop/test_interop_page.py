"""The page about other libraries: its code runs where all of them are installed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.pages import REPOSITORY, program, write_robots


@pytest.fixture
def libraries() -> Iterator[None]:
    """Restore what the page changes in the libraries."""
    for name in ("casadi", "numba", "torch"):
        pytest.importorskip(name, reason=f"{name} is absent")
    jax = pytest.importorskip("jax", reason="jax is absent")
    yield
    jax.config.update("jax_enable_x64", False)


@pytest.mark.usefixtures("libraries")
@pytest.mark.filterwarnings("ignore::DeprecationWarning:torch")
def test_code_in_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = REPOSITORY / "docs" / "interop.md"
    write_robots(tmp_path)
    monkeypatch.chdir(tmp_path)
    exec(compile(program(page), str(page), "exec"), {"__name__": "__main__"})
