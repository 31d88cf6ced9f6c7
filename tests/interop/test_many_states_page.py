"""The page about many states: its code runs, each library where it is installed."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.pages import REPOSITORY, write_robots

PAGE = (REPOSITORY / "docs" / "many_states.md").read_text(encoding="utf-8")
SECTIONS = {
    title: "\n".join(re.findall(r"```python\n(.*?)```", text, re.S))
    for title, text in re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", PAGE, re.S | re.M)
}


@pytest.mark.parametrize(
    ("section", "package"), [("Dask", "dask"), ("joblib", "joblib"), ("Ray", "ray")]
)
def test_code_in_the_page_runs(section: str, package: str, tmp_path: Path) -> None:
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"no {package}")
    write_robots(tmp_path)
    dask = SECTIONS["Dask"]
    robot = dask.split("q = da.")[0].replace("import dask.array as da\n", "")
    script = dask if section == "Dask" else robot + SECTIONS[section]
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
