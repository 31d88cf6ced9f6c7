"""Curves of a run over time: one row per joint, or per limb of a large robot.

Quantities of joints (q, q̇, τ) are columns. A limit is shaded where curves come near it.
Of a batch, bands show what most of its states do.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np

from ramidyn.coordinates.coordinates import Label
from ramidyn.description.joint_types import joint_type
from ramidyn.description.pose import Array
from ramidyn.tree.model import Model, PublicJoint
from ramidyn.view.figure import COLORS, new_figure

SINGLE: Final = 10
"""Joints up to which each has its own row."""
_LIMB: Final = 8
"""coordinates in a row, at most"""
_LISTED: Final = 12
"""curves of another quantity that the legend lists, at most"""
_SHADE: Final = "#c4574a"
_STYLES: Final = ("-", "--", ":", "-.")
_NEAR: Final = 0.05
"""of a limit, as a share of the range: in a row of several joints it is shaded"""
_PASSED: Final = 1e-3
_OUTLIER: Final = 50.0
_SMALL: Final[dict[str, Any]] = {"fontsize": 8, "loc": "left"}
_LEGEND: Final[dict[str, Any]] = {"frameon": False, "fontsize": 8}


@final
@dataclass(frozen=True, slots=True)
class Row:
    """Coordinates that share a row: entries of q, and of q̇ and τ."""

    q: tuple[int, ...]
    v: tuple[int, ...]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """A quantity over time."""

    name: str
    values: Array
    """(states, rows, n)"""
    labels: Sequence[Label]
    lower: Array
    """(n,), infinite where there is no limit"""
    upper: Array
    entries: str = ""
    """"q" or "v": it has the entries of q, or of q̇; else another quantity"""


def rows_of(model: Model, joints: Sequence[PublicJoint]) -> list[Row]:
    """Return the rows for some joints: those of a limb together if there are many."""
    few = sum(j.nv for j in joints if j.nq == j.nv) <= SINGLE
    rows: list[Row] = []
    limb: list[PublicJoint] = []
    limbs: list[list[PublicJoint]] = []
    for joint in sorted(joints, key=lambda j: j.q_index):
        q, v = (
            range(*joint.q_slice.indices(model.nq)),
            range(*joint.v_slice.indices(model.nv)),
        )
        if joint.nq != joint.nv:
            halves = [(q[:3], v[:3]), (q[3:], v[3:])] if joint.nv == 6 else [(q, v)]
            rows += [Row(tuple(a), tuple(b)) for a, b in halves]
        elif few:
            rows += [Row((a,), (b,)) for a, b in zip(q, v, strict=True)]
        elif limb and _continues(model, limb[-1], joint) and len(limb) < _LIMB:
            limb.append(joint)
        else:
            limb = [joint]
            limbs.append(limb)
    return rows + [_row(limb) for limb in _merged(limbs)]


def _continues(model: Model, before: PublicJoint, joint: PublicJoint) -> bool:
    """Return whether a joint is in the limb of another: no branch is between them."""
    parents = [body.parent for body in model.tree.bodies]
    parent = parents[joint.bodies[0]]
    is_next = parent == before.bodies[-1] and parents.count(parent) == 1
    return is_next and before.type == joint.type


def _merged(limbs: Sequence[list[PublicJoint]]) -> list[list[PublicJoint]]:
    """Return short limbs, such as fingers, together with their neighbors."""
    merged: list[list[PublicJoint]] = []
    for limb in limbs:
        last = merged[-1] if merged else None
        if (
            last is not None
            and len(last) + len(limb) <= _LIMB
            and {_is_slide(j) for j in last + limb} != {True, False}
        ):
            last.extend(limb)
        else:
            merged.append(list(limb))
    return merged


def _is_slide(joint: PublicJoint) -> bool:
    units = [unit for _, unit in joint_type(joint.name, joint.type).coordinates]
    return set(units) == {"m"}


def _row(joints: Sequence[PublicJoint]) -> Row:
    q = [k for j in joints for k in range(j.q_index, j.q_index + j.nq)]
    v = [k for j in joints for k in range(j.v_index, j.v_index + j.nv)]
    return Row(tuple(q), tuple(v))


# ------------------------------------------------------------ the figure


def plot_series(
    title: str,
    times: Array,
    series: Sequence[Series],
    rows: Sequence[Row],
    states: Sequence[str],
    events: Mapping[str, Array],
) -> Any:
    """Return a figure with curves over time.

    Args:
        title: above everything.
        times: (rows,) [s].
        series: what to plot; those of joints are columns, others are below them.
        rows: coordinates that share a row.
        states: the name of each state, drawn as a curve; none: bands of all states.
        events: times of events by name [s].
    """
    columns = [s for s in series if s.entries]
    others = [s for s in series if not s.entries]
    rows = rows if columns else ()
    wide = max(len(columns), min(len(others), 3), 1)
    below = -(-len(others) // wide)
    heights = [1.9 if len(row.q) > 1 else 1.2 for row in rows] + [1.7] * below
    size = (max(3.4 * wide, 5.0) + 1.6, sum(heights) + 0.9)
    figure = new_figure(figsize=size, layout="constrained")
    grid = figure.add_gridspec(len(heights), wide, height_ratios=heights)
    drawn = _Drawn(figure, times, states, events)
    for i, row in enumerate(rows):
        for k, one in enumerate(columns):
            entries = row.q if one.entries == "q" else row.v
            heading = one.name if i == 0 else ""
            panel = figure.add_subplot(grid[i, k])
            drawn.panel(panel, one, entries, heading, is_last=k == len(columns) - 1)
    for k, one in enumerate(others):
        panel = figure.add_subplot(grid[len(rows) + k // wide, k % wide])
        drawn.panel(panel, one, range(one.values.shape[2]), one.name, is_last=False)
    drawn.label_times(wide)
    figure.suptitle(title, fontsize=10, x=0.01, ha="left")
    return figure


@dataclass(frozen=True, slots=True, eq=False)
class _Drawn:
    """A figure and what all its panels share."""

    figure: Any
    times: Array
    states: Sequence[str]
    events: Mapping[str, Array]

    def panel(
        self,
        panel: Any,
        series: Series,
        entries: Sequence[int],
        heading: str,
        *,
        is_last: bool,
    ) -> None:
        """Draw some entries of a quantity."""
        labels = [series.labels[k] for k in entries]
        names = [x.name for x in labels]
        if series.entries and len({name.partition(" ")[0] for name in names}) == 1:
            names = [name.partition(" ")[2] for name in names]
        is_one = len(entries) == 1
        for j, k in enumerate(entries):
            self._curves(panel, series.values[:, :, k], j, names[j], is_one)
        _limit_view(panel, series.values[:, :, list(entries)])
        for j, k in enumerate(entries):
            color = _SHADE if is_one else COLORS[j % len(COLORS)]
            limits = float(series.lower[k]), float(series.upper[k])
            _shade_limits(panel, series.values[:, :, k], limits, color, is_one)
        self._shade_divergence(panel, series.values)
        for at in self.events.values():
            for t in np.ravel(at):
                panel.axvline(t, color="0.5", lw=0.8, ls=":", zorder=1)
        panel.set_title(heading, fontsize=10, fontweight="bold", loc="right")
        panel.set_ylabel(", ".join(dict.fromkeys(x.unit for x in labels if x.unit)))
        panel.tick_params(labelsize=8)
        panel.grid(color="#e8e8e4", lw=0.6)
        panel.spines[["top", "right"]].set_visible(False)
        panel.margins(x=0.0)
        panel.ticklabel_format(axis="y", useOffset=False)
        self._name(panel, [x.name for x in labels], series, is_last=is_last)

    def _curves(
        self, panel: Any, values: Array, j: int, name: str, is_one: bool
    ) -> None:
        """Draw one entry: a curve per state, or bands and the median of all states."""
        color = COLORS[j % len(COLORS)]
        if self.states:
            for s, y in enumerate(values):
                shade = COLORS[s % len(COLORS)] if is_one else color
                style = "-" if is_one else _STYLES[s % len(_STYLES)]
                label = name if s == 0 else "_"
                _line(panel, self.times, y, shade, style, label)
            return
        low, quarter, middle, three, high = _percentiles(values)
        t = self.times
        panel.fill_between(t, low, high, color=color, alpha=0.13, lw=0)
        if is_one:
            panel.fill_between(t, quarter, three, color=color, alpha=0.25, lw=0)
        _line(panel, t, middle, color, "-", name)

    def _shade_divergence(self, panel: Any, values: Array) -> None:
        """Shade the time from which no state is finite."""
        is_finite = np.isfinite(values).all(axis=2).any(axis=0)
        if not is_finite.all():
            first = int(np.argmin(is_finite))
            start = self.times[max(first - 1, 0)]
            panel.axvspan(start, self.times[-1], color="0.92", lw=0, zorder=0)
            panel.annotate(
                "not finite",
                ((start + self.times[-1]) / 2, 0.5),
                xycoords=("data", "axes fraction"),
                **{"ha": "center", "va": "center", "color": "0.5", "fontsize": 8},
            )

    def _name(
        self, panel: Any, names: Sequence[str], series: Series, *, is_last: bool
    ) -> None:
        """Name the curves: one by a heading, those of a limb beside the row."""
        joints = {name.partition(" ")[0] for name in names}
        if series.entries and len(joints) == 1:
            panel.set_title(joints.pop() if names[1:] else names[0], **_SMALL)
        if len(names) == 1 or len(names) > _LISTED:
            return
        if series.entries and len(joints) > 1:
            if is_last:
                panel.legend(loc="upper left", bbox_to_anchor=(1.0, 1.05), **_LEGEND)
        else:
            panel.legend(loc="best", ncols=2, **_LEGEND)

    def label_times(self, wide: int) -> None:
        """Label the time axes of the lowest panels; list the states."""
        for panel in self.figure.axes[-wide:]:
            panel.set_xlabel("t [s]")
        if len(self.states) > 1:
            lines: Any = importlib.import_module("matplotlib.lines")
            handles = [
                lines.Line2D([], [], color=COLORS[s % len(COLORS)], label=name)
                for s, name in enumerate(self.states)
            ]
            self.figure.legend(
                handles=handles, loc="outside lower center", ncols=8, **_LEGEND
            )


def _line(panel: Any, t: Array, y: Array, color: str, style: str, label: str) -> None:
    marker = "o" if len(t) == 1 else None
    panel.plot(t, y, style, color=color, lw=1.3, marker=marker, ms=4, label=label)


def _percentiles(values: Array) -> Array:
    """Return percentiles over the finite states at each time, (5, rows)."""
    finite = np.where(np.isfinite(values), values, np.nan)
    is_any = np.isfinite(finite).any(axis=0)
    found = np.full((5, values.shape[1]), np.nan)
    if is_any.any():
        found[:, is_any] = np.nanpercentile(
            finite[:, is_any], (5, 25, 50, 75, 95), axis=0
        )
    return found


def _limit_view(panel: Any, values: Array) -> None:
    """Keep what happened before a divergence readable: cut off its last values."""
    size = np.abs(values[np.isfinite(values)])
    if size.size == values.size or not size.size:
        return
    usual = float(np.percentile(size, 75))
    if float(size.max()) > _OUTLIER * usual > 0:
        panel.set_ylim(-3 * usual, 3 * usual)


def _shade_limits(
    panel: Any,
    values: Array,
    limits: tuple[float, float],
    color: str,
    is_one: bool,
) -> None:
    """Shade beyond limits that the curves come near to.

    Among several curves only limits that are passed are shaded; the others are lines.
    """
    finite = values[np.isfinite(values)]
    if not finite.size:
        return
    bottom, top = panel.get_ylim()
    height = top - bottom
    reach = height if is_one else _NEAR * (limits[1] - limits[0])
    for limit, sign in ((limits[0], -1.0), (limits[1], 1.0)):
        room = sign * limit - float((sign * finite).max())
        if not np.isfinite(limit) or room > reach:
            continue
        panel.axhline(limit, color=color, lw=0.8, ls="-" if is_one else "--")
        if is_one or room < -_PASSED * height:
            far = limit + sign * 1e3 * height
            panel.axhspan(limit, far, color=color, alpha=0.14 if is_one else 0.05, lw=0)
        bottom = min(bottom, limit - 0.08 * height)
        top = max(top, limit + 0.08 * height)
    panel.set_ylim(bottom, top)
