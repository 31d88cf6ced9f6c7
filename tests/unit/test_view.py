"""HTML of reports and notebooks: whole, escaped, and with everything in it."""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

import ramidyn
from ramidyn.simulation.run import Run
from ramidyn.view.blocks import TreeItem, bars, breakable, table, tree

VOID = {"wbr", "br", "meta", "link", "img"}


class Reader(HTMLParser):
    """Reads HTML; every tag must be closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.words = ""
        self.deepest: dict[str, int] = {}
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002
        if tag not in VOID:
            self.open.append(tag)
            depth = self.open.count(tag)
            self.deepest[tag] = max(depth, self.deepest.get(tag, 0))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data


def test_a_tree_is_nested_lists_with_every_name() -> None:
    depths = (0, 1, 2, 1, 0)
    items = [TreeItem(d, f"body_{k}", f"{k} kg") for k, d in enumerate(depths)]
    read = Reader(tree(items))
    assert read.deepest["ul"] == 3
    assert all(f"body_{k}" in read.words for k in range(5))


def test_a_deep_tree_is_not_indented_without_end() -> None:
    read = Reader(tree([TreeItem(k, f"b{k}", "") for k in range(100)]))
    assert read.deepest["ul"] == 25
    assert "b99" in read.words


def test_names_are_escaped_everywhere() -> None:
    bad = "<script>&'\"_x"
    for text in (
        tree([TreeItem(0, bad, bad)]),
        bars([(bad, [("a", 3)])]),
        table([bad], [[breakable(bad)]]),
    ):
        assert "<script>" not in text
        assert bad in Reader(text).words


def test_the_longest_bar_fills_its_row() -> None:
    text = bars([("x", [("a", 30), ("b", 10)]), ("y", [("a", 10)])])
    assert "width:75.00%" in text
    assert text.count("width:25.00%") == 2


ARM = """<robot name="a&lt;b"><link name="base"/>
<link name="up&amp;per"><inertial><origin xyz="0 0 -1"/><mass value="2"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="hinge" type="continuous"><parent link="base"/><child link="up&amp;per"/>
<axis xyz="0 1 0"/></joint></robot>"""


def test_a_notebook_shows_the_tree_sizes_and_conventions_of_a_robot() -> None:
    robot = ramidyn.load(ARM)
    words = Reader(robot._repr_html_()).words
    assert "a<b: 2 bodies, 1 joint, nq 1, nv 1, 2 kg moving" in words
    assert "conventions pinocchio: quaternions xyzw" in words
    assert "up&per" in words
    assert "hinge continuous q[0] v[0], 2 kg" in words


def test_a_notebook_shows_a_picture_and_which_meshes_are_missing() -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is absent")
    mesh = '<visual><geometry><mesh filename="a&lt;b.stl"/></geometry></visual></link>'
    text = ramidyn.load(ARM.replace("</link>", mesh))._repr_html_()
    assert 'alt="a&lt;b"' in text
    assert text.count("data:image/png;base64,") == 1
    assert "not drawn: mesh 'a<b.stl'" in Reader(text).words


def test_a_notebook_shows_robots_and_runs_without_matplotlib(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    robot = ramidyn.load(ARM)
    run = robot.rollout([0.1], dt=1e-3, steps=2)
    for shown in (robot, run):
        assert "<img" not in shown._repr_html_()
        Reader(shown._repr_html_())


def test_a_run_in_a_notebook_ends_where_it_diverges() -> None:
    t = np.linspace(0.0, 1.0, 11)
    q = np.sin(t)[:, None]
    q[5:] = 1e30
    text = Run(None, t, q, q)._repr_html_()
    assert "e+30" not in text.split("<svg", 1)[1]
    assert "0.4 s" in Reader(text).words
    empty = Run(None, t[:0], q[:0], q[:0])._repr_html_()
    assert "no rows" in Reader(empty).words


def test_a_notebook_shows_the_shapes_and_counts_of_a_function() -> None:
    f = ramidyn.compile(ramidyn.forward_dynamics, ramidyn.load(ARM))
    read = Reader(f._repr_html_())
    assert "q (1,), qd (1,), tau (1,) → forward_dynamics (1,)" in read.words
    assert "a<b" in read.words
    heads = re.findall(r"<th>(\w+)</th>", f._repr_html_())
    cells = re.findall(r"<td>([\d,]+)</td>", f._repr_html_())
    assert dict(zip(heads, map(int, cells), strict=True))["mul"] == f.ops.mul


def test_a_notebook_plots_a_run() -> None:
    t = np.linspace(0.0, 2.0, 1001)
    q = np.stack([np.sin((k + 1) * t) for k in range(11)], axis=1)
    run = Run(None, t, q, q, {"energy": 3.0 + 0.0 * t})
    text = run._repr_html_()
    read = Reader(text)
    lines = re.findall(r'points="([^"]+)"', text)
    assert len(lines) == 8 + 1
    assert all(len(line.split()) == 240 for line in lines)
    heights = [float(p.split(",")[1]) for p in lines[0].split()]
    assert min(heights) >= 10.0
    assert max(heights) <= 120.0
    assert heights[0] > min(heights)
    assert "and 3 more coordinates" in read.words
    assert "2 s" in read.words


def test_a_run_that_blows_up_is_still_shown() -> None:
    t = np.array([0.0, 1.0])
    bad = np.array([[0.0], [np.nan]])
    run = Run(None, t, bad, bad, {"energy": bad[:, 0]})
    assert "nan" not in run._repr_html_().split("<svg", 1)[1]
