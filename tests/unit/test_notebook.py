"""The notebook of the docs runs, and shows what its cells end with, each once."""

from __future__ import annotations

import base64
import re
from typing import Any

import pytest

from support.pages import REPOSITORY

nbclient: Any = pytest.importorskip("nbclient", reason="nbclient is absent")
pytest.importorskip("ipykernel", reason="ipykernel is absent")
pytest.importorskip("matplotlib", reason="matplotlib is absent")
NOTEBOOK = REPOSITORY / "docs" / "notebooks" / "first_look.ipynb"


@pytest.fixture(scope="module")
def executed() -> dict[str, list[dict[str, Any]]]:
    """Return the data of the outputs of every code cell, by its last line."""
    nbformat: Any = pytest.importorskip("nbformat")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    assert not any(c.get("outputs") for c in notebook.cells), "stored without outputs"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAMIDYN_PROGRESS", "off")  # shown where compiling takes a second
        nbclient.NotebookClient(notebook, timeout=300).execute()
    found: dict[str, list[dict[str, Any]]] = {}
    for cell in notebook.cells:
        if cell.cell_type == "code":
            kinds = {output.output_type for output in cell.outputs}
            assert kinds <= {"execute_result", "display_data"}, cell.outputs
            last = cell.source.splitlines()[-1]
            found[last] = [output.data for output in cell.outputs]
    return found


def image_sizes(html: str) -> list[int]:
    images = re.findall(r'src="data:image/png;base64,([^"]+)"', html)
    return [len(base64.b64decode(image)) for image in images]


def test_a_robot_shows_its_picture_tree_and_sizes(executed: Any) -> None:
    (shown,) = executed["robot"]
    html = shown["text/html"]
    assert "humanoid30: 25 bodies, 25 joints, nq 31, nv 30" in html
    assert "left_<wbr>shank" in html
    (size,) = image_sizes(html)
    assert size > 5_000


def test_a_function_shows_its_operations(executed: Any) -> None:
    (shown,) = executed["robot.forward_dynamics"]
    assert "<th>mul</th>" in shown["text/html"]


def test_a_run_shows_a_strobe_and_curves_with_names(executed: Any) -> None:
    (shown,) = executed["run"]
    html = shown["text/html"]
    assert "Run of humanoid30: t = 0 to 0.6 s" in html
    assert "base x [m]" in html
    assert "change of energy [J]" in html
    (size,) = image_sizes(html)
    assert size > 5_000


@pytest.mark.parametrize("start", ["run.draw(", "run.plot(", "batch.plot("])
def test_a_figure_is_shown_once(executed: Any, start: str) -> None:
    (last,) = [line for line in executed if line.startswith(start)]
    images = [data for data in executed[last] if "image/png" in data]
    assert len(images) == 1
    assert len(images[0]["image/png"]) > 10_000


@pytest.mark.slow
def test_the_notebook_of_inverse_kinematics_runs() -> None:
    nbformat: Any = pytest.importorskip("nbformat")
    path = NOTEBOOK.with_name("inverse_kinematics.ipynb")
    notebook = nbformat.read(path, as_version=4)
    assert not any(c.get("outputs") for c in notebook.cells), "stored without outputs"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAMIDYN_PROGRESS", "off")
        nbclient.NotebookClient(notebook, timeout=300).execute()  # it has assertions
