"""Pictures as SVG text: sparsity patterns and curves.

Colors are classes that the page defines for light and dark: limb 0 to 8, ink and faint
for lines and text.
"""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence

from ramidyn.explain.shape import Pattern

LIMBS = 8
"""colors of limbs, used again from the first after the last"""


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
    """Return the color of a limb."""
    return "limb0" if limb == 0 else f"limb{(limb - 1) % LIMBS + 1}"


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


def curves(
    lines: Mapping[str, Sequence[tuple[float, float]]],
    marks: Mapping[str, tuple[float, float]],
    title: str,
    axes: tuple[str, str],
) -> str:
    """Return curves over logarithmic axes, colored like limbs, and marked points."""
    points = [p for line in lines.values() for p in line] + list(marks.values())
    top = math.ceil(math.log10(max(y for _, y in points)))
    right = math.ceil(2 * math.log10(max(x for x, _ in points))) / 2
    left, above, width, height = 34.0, 26.0, 300.0, 220.0

    def at(x: float, y: float) -> tuple[float, float]:
        u = left + width * math.log10(x) / right
        return u, above + height * (1 - math.log10(max(y, 1)) / top)

    parts: list[str] = []
    for k in range(0, top + 1, 1 if top < 6 else 2):
        _, y = at(1, 10**k)
        parts.append(f'<path class="grid" d="M{left} {y:.1f}h{width}"/>')
        parts.append(text(left - 5, y + 4, _power(k), "faint", "end"))
    for k in range(int(right) + 1):
        x, _ = at(10**k, 1)
        parts.append(f'<path class="grid" d="M{x:.1f} {above}v{height}"/>')
        parts.append(text(x, above + height + 16, f"{10**k:,}", "faint", "middle"))
    for k, line in enumerate(lines.values(), 1):
        path = "L".join(f"{u:.1f} {v:.1f}" for u, v in (at(x, y) for x, y in line))
        parts.append(f'<path class="curve limb{k}line" d="M{path}"/>')
    for name, (x, y) in marks.items():
        u, v = at(x, y)
        parts.append(f'<circle class="mark" cx="{u:.1f}" cy="{v:.1f}" r="5"/>')
        is_right = u > left + width / 2
        anchor, beside = ("end", -9.0) if is_right else ("start", 9.0)
        parts.append(text(u + beside, v + 16, name, "strong", anchor))
    parts.append(
        text(left + width / 2, above + height + 33, axes[0], "faint", "middle")
    )
    parts.append(text(0, 13, axes[1], "faint"))
    return svg(left + width + 12, above + height + 40, parts, title)


def _power(k: int) -> str:
    return "1" if k == 0 else "10" + "".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(c)] for c in str(k))
