"""The notebooks on the founding documents run, and each has a picture that steps."""

from __future__ import annotations

import contextlib
import io
import json
from typing import Any

import pytest

from ramidyn import robots
from ramidyn.explain.closed_loops import explain_loops
from ramidyn.explain.stepped import (
    Frames,
    factor_frames,
    loop_frames,
    motion_frames,
    recursion_frames,
)
from support.pages import REPOSITORY

FOLDER = REPOSITORY / "docs" / "notebooks"
NAMES = (
    "branch_sparsity",
    "efficient_implementation",
    "extended_force_propagators",
    "operational_space_recursion",
    "vehicle_with_loops",
)
QUICK = ("branch_sparsity", "efficient_implementation")


def run(name: str) -> tuple[str, list[Frames]]:
    """Run the cells of a notebook; return what it prints and its pictures."""
    cells = json.loads((FOLDER / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]
    assert not any(c.get("outputs") for c in cells), "stored without outputs"
    space: dict[str, Any] = {}
    shown: list[Frames] = []
    printed = io.StringIO()
    for cell in cells:
        if cell["cell_type"] != "code":
            continue
        source = "".join(cell["source"])
        with contextlib.redirect_stdout(printed):
            exec(compile(source, name, "exec"), space)
        last = source.splitlines()[-1]
        if "rames(" in last and " = " not in last:
            shown.append(eval(last, space))
    return printed.getvalue(), shown


@pytest.mark.parametrize(
    "name",
    [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in NAMES],
)
def test_a_notebook_runs_and_steps(name: str) -> None:
    printed, pictures = run(name)
    assert printed
    assert pictures
    for picture in pictures:
        assert len(picture) > 2
        assert len(set(picture.parts)) == len(picture)


def test_every_notebook_is_linked_from_the_docs() -> None:
    page = (REPOSITORY / "docs" / "papers.md").read_text(encoding="utf-8")
    for name in NAMES:
        assert f"(notebooks/{name}.ipynb)" in page


def test_frames_are_shown_in_turn() -> None:
    frames = factor_frames((-1, 0, 0))
    assert len(frames) == 3
    text = frames._repr_html_()
    assert text.count('<g class="ramidyn') == 3
    assert "animation-delay:2s" in text
    assert "33.3333%{visibility:hidden}" in text
    assert "row 3: 1 divided, 1 updated (full: 2, 3)" in frames.svg(0)
    assert "<style>" not in frames.svg(0)


def test_a_recursion_walks_every_edge_there_and_back() -> None:
    frames = recursion_frames(robots.chain(3, "plain"), ["body2"])
    assert len(frames) == 6
    assert "inward: articulated inertia: body2 to body1" in frames.parts[0]
    assert "outward: diagonal block: body1 to body2" in frames.parts[-1]


def test_a_motion_is_seen_from_the_side() -> None:
    robot = robots.chain(3, "plain")
    frames = motion_frames(robot, [robot.neutral(), [0.1, 0.2, 0.3]])
    assert len(frames) == 2
    assert frames.parts[0].count("<circle") == 2  # bodies on another body
    assert frames.parts[0] != frames.parts[1]


def test_a_mechanism_is_cut_and_solved() -> None:
    robot = robots.hmmwv()
    frames = loop_frames(robot, explain_loops(robot))
    assert len(frames) == 3 + 8
    assert frames.parts[0].count("stroke-dasharray") == 8
    assert "stroke-dasharray" not in frames.parts[1]
    assert "step 3.4: G λ = r" in frames.parts[8]
