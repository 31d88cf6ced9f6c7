"""The tutorials run in an empty directory, with the wheel that users install."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from promises.test_docs import LEARN
from support.pages import REPOSITORY, program, write_files

PATHS = [REPOSITORY / "README.md", *(REPOSITORY / "docs" / f"{n}.md" for n in LEARN)]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with what the wheel installs, and nothing of the repository."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check"]
    build = [*pip, "wheel", "--no-deps", "-w", str(folder), str(REPOSITORY)]
    done = subprocess.run(build, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"the wheel cannot be built here: {done.stderr[-300:]}")
    (wheel,) = folder.glob("*.whl")
    target = folder / "installed"
    command = [*pip, "install", "--no-deps", "--target", str(target), str(wheel)]
    subprocess.run(command, check=True)
    return target


@pytest.mark.slow
@pytest.mark.parametrize("page", PATHS, ids=lambda p: p.stem)
def test_a_tutorial_runs_from_the_wheel_in_an_empty_directory(
    page: Path, installed: Path, tmp_path: Path
) -> None:
    code = program(page)
    if not code.strip():
        pytest.skip("a page without Python")
    write_files(page, tmp_path)
    check = f"import ramidyn; assert ramidyn.__file__.startswith({str(installed)!r})\n"
    done = subprocess.run(
        [sys.executable, "-c", check + code],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(installed), "MPLBACKEND": "agg"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
