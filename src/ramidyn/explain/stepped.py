"""Pictures that step: SVG frames shown one after the other, in a notebook or a page.

factor_frames      LTDL row by row along a tree (Featherstone 2005, Fig. 3)
recursion_frames   forces and blocks walking through a robot (Chang & Khatib 2000)
loop_frames        a graph becomes a tree, and its equations are factored (Negrut)
motion_frames      a robot that moves, from the side
"""

from __future__ import annotations

import html
import itertools
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

from ramidyn.explain.closed_loops import ClosedLoops
from ramidyn.explain.factor_steps import factor_steps
from ramidyn.explain.recursion import recursion_steps
from ramidyn.robot import Robot
from ramidyn.tree.tree import ROOT, depth_first, depths

CELL = 16
COLORS = {
    "pivot": "#b0487a",
    "divided": "#d9822b",
    "updated": "#2f6f9f",
    "done": "#9fc3a8",
    "waiting": "#d9d9d4",
    "zero": "#f7f7f4",
}
LEGEND = {
    "divided": "divided by the pivot",
    "updated": "a product is subtracted",
    "done": "L, finished",
    "zero": "zero, and stays zero",
}


@final
@dataclass(frozen=True, slots=True)
class Frames:
    """Frames of one picture; a notebook shows them in turn."""

    width: float
    height: float
    parts: tuple[str, ...]
    """SVG of each frame"""
    seconds: float = 1.0
    """how long each is shown"""

    def svg(self, k: int | None = None) -> str:
        """Return one frame, or all of them with a style that shows one at a time."""
        size = f'viewBox="0 0 {self.width:g} {self.height:g}" width="{self.width:g}"'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} '
        head += 'font-family="sans-serif" font-size="11">'
        if k is not None:
            return f"{head}{self.parts[k]}</svg>"
        n = len(self.parts)
        name = f"ramidyn{zlib.crc32(''.join(self.parts).encode())}"
        style = (
            f"<style>.{name}{{visibility:hidden;animation:{name} "
            f"{n * self.seconds:g}s steps(1) infinite}}"
            f"@keyframes {name}{{0%{{visibility:visible}}"
            f"{100 / n:.4f}%{{visibility:hidden}}}}</style>"
        )
        shown = "".join(
            f'<g class="{name}" style="animation-delay:{i * self.seconds:g}s">{p}</g>'
            for i, p in enumerate(self.parts)
        )
        return f"{head}{style}{shown}</svg>"

    def _repr_html_(self) -> str:
        return self.svg()

    def __len__(self) -> int:
        return len(self.parts)


def factor_frames(parents: Sequence[int], seconds: float = 1.0) -> Frames:
    """Return LTDL row by row: what is divided, what is updated, what stays zero."""
    n = len(parents)
    frames: list[str] = []
    for step in factor_steps(parents):
        four, five = step.dense
        parts = [
            _text(
                0,
                12,
                f"row {step.k + 1}: {len(step.divided)} divided, "
                f"{len(step.updated)} updated (full: {four}, {five})",
            )
        ]
        for i, row in enumerate(step.kinds()):
            for j, kind in enumerate(row):
                parts.append(_cell(j, i, COLORS[kind]))
        for k, (kind, words) in enumerate(LEGEND.items()):
            y = 20 + CELL * k
            x = CELL * n + 12
            parts.append(
                f'<rect x="{x}" y="{y}" width="11" height="11" '
                f'fill="{COLORS[kind]}" stroke="#bbb"/>'
            )
            parts.append(_text(x + 16, y + 10, words))
        frames.append("".join(parts))
    height = 24 + CELL * max(n, len(LEGEND))
    return Frames(CELL * n + 190.0, float(height), tuple(frames), seconds)


def recursion_frames(
    robot: Robot, frames: Sequence[str], seconds: float = 0.6
) -> Frames:
    """Return the recursion for some operational points, an edge of the tree a frame."""
    places = _layout(robot)
    names = {robot.tree.name(i): i for i in range(len(robot.tree))}
    base = _tree_parts(robot, places)
    ends = {robot.model.frame(f).body for f in frames}
    marks = "".join(_dot(*places[i], "#b0487a", 5) for i in ends)
    shown: list[str] = []
    for sweep, start, end in recursion_steps(robot, frames):
        a, b = (ROOT if s == "world" else names[s] for s in (start, end))
        line = _line(places[a], places[b], "#d9822b", 4)
        words = _text(0, 12, f"{sweep}: {start} to {end}")
        shown.append(base + marks + line + words)
    return Frames(*_size(places), tuple(shown), seconds)


def loop_frames(robot: Robot, found: ClosedLoops, seconds: float = 2.0) -> Frames:
    """Return a mechanism's graph, its tree, and [M Jᵀ; J 0] as it is solved."""
    places = _layout(robot)
    names = {robot.tree.name(i): i for i in range(len(robot.tree))}
    tree = _tree_parts(robot, places)
    cuts = "".join(
        _line(
            places[names[c.bodies[0]]], places[names[c.bodies[1]]], "#b0487a", 2, "5 3"
        )
        for c in found.cuts
    )
    graph = _text(
        0, 12, f"the graph: {len(found.edges)} joints and {len(found.cuts)} cuts"
    )
    spanning = _text(0, 12, "joints are cut, and a spanning tree is left")
    frames = [tree + cuts + graph, tree + spanning]
    width, height = _size(places)
    pattern, n = found.pattern(), found.n
    cell = min(CELL, 320 / len(pattern))

    def matrix(words: str, is_lit: Sequence[Sequence[bool]]) -> str:
        parts = [_text(0, 12, words)]
        for i, row in enumerate(pattern):
            for j, nonzero in enumerate(row):
                if nonzero:
                    color = "#d9822b" if is_lit[i][j] else "#9fc3a8"
                    if max(i, j) >= n and not is_lit[i][j]:
                        color = "#b9b0cf"
                    parts.append(_cell(j, i, color, cell))
        return "".join(parts)

    size = range(len(pattern))
    none = [[False] * len(pattern) for _ in size]
    frames.append(matrix(f"[M Jᵀ; J 0]: {n} and {found.m} rows", none))
    for name, meaning, *counts in found.rows():
        is_row = name in ("step 3.1", "step 3.2", "step 3.3", "step 3.4", "step 3.5")
        lit = [[(max(i, j) >= n) == is_row for j in size] for i in size]
        m, a, d = counts
        frames.append(matrix(f"{name}: {meaning}, {m}m + {a}a + {d}d", lit))
    side = max(width, cell * len(pattern) + 10, 420)
    return Frames(side, max(height, cell * len(pattern) + 30), tuple(frames), seconds)


def motion_frames(
    robot: Robot, states: npt.ArrayLike, seconds: float = 0.2, width: float = 420.0
) -> Frames:
    """Return a robot from its right side, a configuration of ``states`` a frame.

    Bodies are lines from the origin of the parent to their own: x goes to the right and
    z up, the ground is at z = 0.
    """
    tree, poses = robot.tree, robot.pose
    q = np.atleast_2d(np.asarray(states, dtype=float))
    at = np.array([poses(q, tree.name(i))[:, [0, 2], 3] for i in range(len(tree))])
    low, high = at.min(axis=(0, 1)), at.max(axis=(0, 1))
    scale = (width - 40.0) / max(high[0] - low[0], high[1], 1e-9)
    height = scale * high[1] + 40.0

    def place(i: int, k: int) -> tuple[float, float]:
        x, z = at[i, k]
        return 20.0 + scale * (x - low[0]), height - 20.0 - scale * z

    def body(i: int, p: int, k: int) -> str:
        end = place(i, k)
        return _line(place(p, k), end, "#2f6f9f", 3) + _dot(*end, "#5a6b73", 3)

    ground = _line((0.0, height - 20.0), (width, height - 20.0), "#c9c9c2", 2)
    frames = [
        ground + "".join(body(i, p, k) for i, p in tree if p != ROOT)
        for k in range(len(q))
    ]
    return Frames(width, height, tuple(frames), seconds)


# ------------------------------------------------------------ parts of pictures


def _layout(robot: Robot) -> dict[int, tuple[float, float]]:
    """Return where bodies are drawn: depth downwards, leaves side by side."""
    tree = robot.tree
    levels = depths(tree.parents)
    x: dict[int, float] = {}
    order = depth_first(tree.parents)
    leaves = itertools.count()
    for i in reversed(order):
        children = tree.children[i]
        x[i] = (
            sum(x[c] for c in children) / len(children) if children else -next(leaves)
        )
    left = min(x.values(), default=0.0)
    found = {i: (20.0 + 34.0 * (x[i] - left), 40.0 + 22.0 * levels[i]) for i in x}
    roots = [found[i][0] for i in tree.roots]
    found[ROOT] = (sum(roots) / max(len(roots), 1), 40.0)
    return found


def _size(places: dict[int, tuple[float, float]]) -> tuple[float, float]:
    x, y = zip(*places.values(), strict=True)
    return max(*x, 380.0) + 40.0, max(y) + 30.0


def _tree_parts(robot: Robot, places: dict[int, tuple[float, float]]) -> str:
    parts = [_line(places[p], places[i], "#c9c9c2", 2) for i, p in robot.tree]
    parts += [_dot(*places[i], "#5a6b73", 3) for i in range(len(robot.tree))]
    parts.append(_dot(*places[ROOT], "#111", 4))
    return "".join(parts)


def _line(
    a: tuple[float, float],
    b: tuple[float, float],
    color: str,
    width: float,
    dash: str = "",
) -> str:
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return (
        f'<line x1="{a[0]:.1f}" y1="{a[1]:.1f}" x2="{b[0]:.1f}" y2="{b[1]:.1f}" '
        f'stroke="{color}" stroke-width="{width:g}"{dashed}/>'
    )


def _dot(x: float, y: float, color: str, radius: float) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" fill="{color}"/>'


def _cell(j: int, i: int, color: str, size: float = CELL) -> str:
    return (
        f'<rect x="{j * size:.2f}" y="{20 + i * size:.2f}" width="{size:.2f}" '
        f'height="{size:.2f}" fill="{color}" stroke="#fff" stroke-width="0.5"/>'
    )


def _text(x: float, y: float, words: str) -> str:
    return f'<text x="{x:g}" y="{y:g}" fill="#444">{html.escape(words)}</text>'
