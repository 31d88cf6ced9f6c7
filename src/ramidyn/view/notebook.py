"""Robots, functions and runs as HTML for notebooks, without scripts.

Colors come from the notebook, light or dark; only curves have their own.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence

import numpy as np

from ramidyn.description.conventions import Conventions
from ramidyn.description.description import BodyDescription, Description
from ramidyn.description.pose import Array
from ramidyn.tree.model import Model
from ramidyn.view.blocks import TreeItem, table, tree
from ramidyn.view.robot_text import head, joint_text

OPEN = 40
"""Trees with more bodies than this are folded."""
CURVES = 8
"""Coordinates in a plot; the number of the others is shown."""
POINTS = 240
COLORS = (
    "#4b8fc4", "#e0963a", "#4ba06f", "#c86a97", "#8f78cc", "#a8953f", "#3aa9b8",
    "#d6705c",
)  # fmt: skip
STYLE = """
.ramidyn { font-size: 13px; line-height: 1.5; max-width: 72em; }
.ramidyn p { margin: 0.2em 0; }
.ramidyn ul { list-style: none !important; margin: 0; padding: 0; }
.ramidyn ul ul { margin-left: 5px; padding-left: 11px; }
.ramidyn ul ul { border-left: 1px solid #8885; }
.ramidyn li > div { display: flex; gap: 1.5em; align-items: baseline; }
.ramidyn li span { flex: 1; }
.ramidyn small { opacity: 0.75; font-size: 12px; }
.ramidyn .tree i { display: none; }
.ramidyn table { border-collapse: collapse; margin: 0.3em 0; font-size: inherit; }
.ramidyn th, .ramidyn td { text-align: right; padding: 0.1em 0 0.1em 1.4em; }
.ramidyn th:first-child, .ramidyn td:first-child { text-align: left; padding-left: 0; }
.ramidyn .beside { display: flex; flex-wrap: wrap; gap: 1.5em; }
.ramidyn .beside > :last-child { flex: 1; min-width: 26em; }
.ramidyn img { max-width: 100%; height: auto; margin: 0; }
.ramidyn svg text { fill: currentColor; font-size: 11px; }
"""


def _block(*parts: str) -> str:
    return f"<div class=ramidyn><style>{STYLE}</style>{''.join(parts)}</div>"


def robot_html(
    model: Model,
    description: Description,
    conventions: Conventions,
    joint_order: str | Sequence[str],
    picture: str = "",
) -> str:
    """Return a robot: its sizes, its conventions, its tree and a picture of it."""
    lines = head(model, conventions, joint_order)
    first, *rest = (html.escape(text) for text in lines)
    joints = {j.name: j for j in model.joints}
    children: dict[str | None, list[BodyDescription]] = {}
    for body in description.bodies:
        children.setdefault(body.parent, []).append(body)
    items: list[TreeItem] = []
    stack = [(body, 0) for body in reversed(children.get(None, []))]
    while stack:
        body, depth = stack.pop()
        mass = model.masses.get(body.name, 0.0)
        texts = (joint_text(body, joints), f"{mass:.4g} kg" if mass else "")
        items.append(TreeItem(depth, body.name, ", ".join(t for t in texts if t)))
        stack.extend((b, depth + 1) for b in reversed(children.get(body.name, [])))
    shown = "open" if len(items) <= OPEN else ""
    return _block(
        f"<p><b>{first}</b></p>",
        *(f"<p><small>{text}</small></p>" for text in rest),
        "<div class=beside>",
        f"<div>{picture}</div>" if picture else "",
        f"<details {shown}><summary>{len(items):,} bodies</summary>{tree(items)}"
        "</details></div>",
    )


def function_html(
    name: str,
    inputs: Sequence[tuple[str, tuple[int, ...]]],
    outputs: Sequence[tuple[str, tuple[int, ...]]],
    counts: Mapping[str, int],
    native: str,
) -> str:
    """Return a compiled function: its arguments, its results and its operations."""
    given = ", ".join(f"{n} {_shape(shape)}" for n, shape in inputs)
    result = ", ".join(f"{n} {_shape(shape)}" for n, shape in outputs)
    some = {kind: n for kind, n in counts.items() if n}
    return _block(
        f"<p><b>{html.escape(name)}</b></p>",
        f"<p><small>{html.escape(given)} → {html.escape(result)}; "
        f"{html.escape(native)}</small></p>",
        table(("", *some), [("operations", *(f"{n:,}" for n in some.values()))]),
    )


def _shape(shape: tuple[int, ...]) -> str:
    return str(shape) if shape else "scalar"


def run_html(
    summary: str,
    times: Array,
    q: Array,
    energy: Array | None,
    names: Sequence[str],
    picture: str = "",
) -> str:
    """Return a run: its summary, a picture, and plots of q and its energy over time.

    Args:
        summary: one line.
        times: (rows,) [s].
        q: (rows, nq).
        energy: (rows,), if it was recorded [J].
        names: of the entries of q.
        picture: an image element.
    """
    kept = np.unique(
        np.linspace(0, len(times) - 1, min(POINTS, len(times))).astype(int)
    )
    t = times[kept]
    curves = {name: q[kept, k] for k, name in enumerate(names[:CURVES])}
    left_out = q.shape[1] - len(curves)
    note = f"<p><small>and {left_out} more coordinates</small></p>" if left_out else ""
    parts = [_plot(t, curves, "q"), note]
    if energy is not None:
        change = {"change of energy [J]": energy[kept] - energy[0]}
        parts.append(_plot(t, change, "energy"))
    return _block(
        f"<p>{html.escape(summary)}</p>",
        "<div class=beside>",
        f"<div>{picture}</div>" if picture else "",
        f"<div>{''.join(parts)}</div></div>",
    )


def _plot(t: Array, curves: Mapping[str, Array], title: str) -> str:
    """Return curves over time as a small picture, with the ends of both axes."""
    left, top, width, height = 64.0, 10.0, 360.0, 110.0
    finite = [y[np.isfinite(y)] for y in curves.values()]
    values: Array = np.concatenate([*finite, np.zeros(0)])
    low, high = (
        (float(values.min()), float(values.max())) if values.size else (0.0, 0.0)
    )
    margin = max(high - low, 1e-9 * max(abs(low), abs(high), 1e-300)) * 0.05
    low, high = low - margin, high + margin
    duration = float(t[-1] - t[0]) or 1.0
    parts = [
        f'<rect x="{left}" y="{top}" width="{width}" height="{height}" fill="none" '
        'stroke="currentColor" stroke-opacity="0.3"/>',
        _text(left - 5, top + 9, f"{high - margin:.3g}", "end"),
        _text(left - 5, top + height, f"{low + margin:.3g}", "end"),
        _text(left, top + height + 14, f"{float(t[0]):.3g} s", "start"),
        _text(left + width, top + height + 14, f"{float(t[-1]):.3g} s", "end"),
    ]
    for k, (name, y) in enumerate(curves.items()):
        u = left + width * (t - t[0]) / duration
        v = top + height * (1 - (y - low) / (high - low))
        points = " ".join(
            f"{a:.1f},{b:.1f}" for a, b in zip(u, v, strict=True) if np.isfinite(b)
        )
        color = COLORS[k % len(COLORS)]
        parts.append(
            f'<polyline fill="none" stroke="{color}" stroke-width="1.5" '
            f'points="{points}"/>'
        )
        parts.append(
            f'<rect x="{left + width + 10}" y="{top + 14 * k}" width="9" height="9" '
            f'fill="{color}"/>'
        )
        parts.append(_text(left + width + 24, top + 9 + 14 * k, name, "start"))
    return (
        f'<svg viewBox="0 0 640 145" width="640" role="img" style="max-width:100%">'
        f"<title>{html.escape(title)}</title>{''.join(parts)}</svg>"
    )


def _text(x: float, y: float, words: str, anchor: str) -> str:
    return (
        f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}">{html.escape(words)}</text>'
    )
