"""The pages about other libraries: their code runs where all are installed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.pages import REPOSITORY, program


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
@pytest.mark.parametrize("name", ["casadi", "jax", "other_libraries", "pytorch"])
def test_code_in_the_page_runs(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = REPOSITORY / "docs" / f"{name}.md"
    monkeypatch.chdir(tmp_path)
    exec(compile(program(page), str(page), "exec"), {"__name__": "__main__"})
