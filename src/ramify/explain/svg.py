"""Pictures as SVG text: trees, sparsity patterns, bars and curves.

Colours are classes that the page defines for light and dark: limb 0 to 6, a and b for
the parts of a bar, ink and faint for lines and text.
"""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence

from ramify.explain.shape import Pattern
from ramify.robot import Robot

LIMBS = 6
"""colours of limbs, used again from the first after the last"""


def svg(width: float, height: float, parts: Sequence[str], title: str) -> str:
    """Return a picture that scales with its column, and says what it shows."""
    return (
        f'<svg viewBox="0 0 {width:g} {height:g}" role="img" '
        f'style="max-width:{1.4 * width:g}px"><title>{html.escape(title)}</title>'
        + "".join(parts)
        + "</svg>"
    )


def text(x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> str:
    """Return a line of text."""
    shown = html.escape(words)
    style = f'class="{kind}" text-anchor="{anchor}"'
    return f'<text x="{x:g}" y="{y:g}" {style}>{shown}</text>'


def limb_class(limb: int) -> str:
    """Return the colour of a limb."""
    return "limb0" if limb == 0 else f"limb{(limb - 1) % LIMBS + 1}"


def tree(robot: Robot, limbs: Sequence[int]) -> str:
    """Return the moving bodies, one line each, indented by depth."""
    step, indent = 20, 13
    of_tree, parts = robot.tree, list[str]()
    shown = range(min(len(of_tree), 120))
    deepest = max((min(of_tree.depths[i], 24) for i in shown), default=1)
    for i in shown:
        body, p = of_tree.bodies[i], of_tree.parents[i]
        x, y = indent * min(of_tree.depths[i], 24), step * i + 14
        kind = limb_class(limbs[of_tree.dofs[i][0]] if of_tree.dofs[i] else 0)
        if p >= 0:
            px, py = indent * min(of_tree.depths[p], 24), step * p + 14
            parts.append(f'<path class="line" d="M{px} {py + 5}V{y}H{x - 5}"/>')
        parts.append(f'<circle class="{kind}" cx="{x}" cy="{y}" r="4.5"/>')
        parts.append(text(x + 9, y + 4, body.name))
        joint = f"{body.joint.kind}, {body.inertia.m:.3g} kg"
        parts.append(text(indent * deepest + 260, y + 4, joint, "faint", "end"))
    if len(of_tree) > len(shown):
        rest = f"and {len(of_tree) - len(shown)} bodies more"
        parts.append(text(indent, step * len(shown) + 14, rest, "faint"))
    height = step * (len(shown) + (len(of_tree) > len(shown))) + 8
    return svg(indent * deepest + 264, height, parts, f"The tree of {robot.name}")


def pattern(entries: Pattern, limbs: Sequence[int], title: str) -> str:
    """Return a matrix as a picture: a cell for each entry that can be nonzero."""
    n = len(entries)
    cells: dict[str, list[str]] = {}
    for i in range(n):
        j = 0
        while j < n:
            if not entries[i, j]:
                j += 1
                continue
            kind = limb_class(max(limbs[i], limbs[j]))
            start = j
            while (
                j < n and entries[i, j] and limb_class(max(limbs[i], limbs[j])) == kind
            ):
                j += 1
            cells.setdefault(kind, []).append(
                f"M{start} {i}h{j - start}v1h-{j - start}z"
            )
    parts = [f'<rect class="paper" width="{n}" height="{n}"/>']
    parts += [f'<path class="{k}" d="{"".join(d)}"/>' for k, d in cells.items()]
    return (
        f'<svg viewBox="-0.2 -0.2 {n + 0.4:g} {n + 0.4:g}" role="img" '
        f'style="max-width:320px" shape-rendering="crispEdges">'
        f"<title>{html.escape(title)}</title>{''.join(parts)}</svg>"
    )


def bars(rows: Sequence[tuple[str, Sequence[tuple[str, int]]]], title: str) -> str:
    """Return horizontal bars; each row is a label and (class, length) parts."""
    longest = max((sum(x for _, x in parts) for _, parts in rows), default=1) or 1
    width, step = 420.0, 40
    drawn: list[str] = []
    for k, (label, parts) in enumerate(rows):
        y, x = step * k, 0.0
        total = sum(v for _, v in parts)
        drawn.append(text(0, y + 13, label))
        drawn.append(text(width, y + 13, f"{total:,}", "number", "end"))
        for kind, value in parts:
            w = width * value / longest
            drawn.append(
                f'<rect class="{kind}" x="{x:.1f}" y="{y + 19}" width="{w:.1f}" '
                'height="12" rx="2"/>'
            )
            x += w
    return svg(width, step * len(rows), drawn, title)


def curves(
    lines: Mapping[str, Sequence[tuple[float, float]]],
    marks: Mapping[str, tuple[float, float]],
    title: str,
    axes: tuple[str, str],
) -> str:
    """Return curves over logarithmic axes, each named at its end, and marked points."""
    points = [p for line in lines.values() for p in line] + list(marks.values())
    top = math.ceil(math.log10(max(y for _, y in points)))
    right = math.ceil(2 * math.log10(max(x for x, _ in points))) / 2
    left, width, height = 34.0, 300.0, 230.0

    def at(x: float, y: float) -> tuple[float, float]:
        u = left + width * math.log10(x) / right
        return u, 10 + height * (1 - math.log10(max(y, 1)) / top)

    parts: list[str] = []
    for k in range(0, top + 1, 1 if top < 6 else 2):
        _, y = at(1, 10**k)
        parts.append(f'<path class="grid" d="M{left} {y:.1f}h{width}"/>')
        parts.append(text(left - 5, y + 4, _power(k), "faint", "end"))
    for k in range(int(right) + 1):
        x, _ = at(10**k, 1)
        parts.append(f'<path class="grid" d="M{x:.1f} 10v{height}"/>')
        parts.append(text(x, height + 25, f"{10**k:,}", "faint", "middle"))
    labels: list[tuple[float, str, str]] = []
    for k, (name, line) in enumerate(lines.items(), 1):
        path = "L".join(f"{u:.1f} {v:.1f}" for u, v in (at(x, y) for x, y in line))
        parts.append(f'<path class="curve limb{k}line" d="M{path}"/>')
        labels.append((at(*line[-1])[1], name, f"limb{k}text"))
    lowest = -math.inf
    for y, name, kind in sorted(labels):  # side by side where curves end together
        lowest = max(y + 4, lowest + 15)
        parts.append(text(left + width + 6, lowest, name, kind))
    for name, (x, y) in marks.items():
        u, v = at(x, y)
        parts.append(f'<circle class="mark" cx="{u:.1f}" cy="{v:.1f}" r="5"/>')
        parts.append(text(u + 9, v + 14, name, "strong"))
    parts.append(text(left + width / 2, height + 43, axes[0], "faint", "middle"))
    parts.append(text(left, 6, axes[1], "faint"))
    return svg(left + width + 130, height + 50, parts, title)


def _power(k: int) -> str:
    return "1" if k == 0 else "10" + "".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(c)] for c in str(k))
