"""The recursion of Chang & Khatib (2000), Fig. 4, as a picture in text.

What flows where and in which order, for any robot and its operational points: up the
tree articulated inertias, down the tree the diagonal blocks Ωᵢᵢ, and from the common
ancestors of two points the blocks between them.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from ramidyn.errors import printable
from ramidyn.robot import Robot
from ramidyn.tree.tree import ROOT


def recursion_steps(robot: Robot, frames: Sequence[str]) -> list[tuple[str, str, str]]:
    """Return (sweep, from, to) of everything that flows, in order."""
    tree = robot.tree
    ends = [robot.model.frame(name).body for name in frames]
    names = ["world" if i == ROOT else tree.name(i) for i in range(-1, len(tree))]

    def name(i: int) -> str:
        return names[i + 1]

    steps = [
        ("inward: articulated inertia", name(i), name(p)) for i, p in reversed(tree)
    ]
    needed = {i for end in ends for i in tree.support(end)}
    steps += [
        ("outward: diagonal block", name(p), name(i)) for i, p in tree if i in needed
    ]
    for a in range(len(ends)):
        for b in range(a):
            first, last = ends[b], ends[a]
            common = tree.common_ancestor(first, last)
            pair = f"{frames[b]}, {frames[a]}"
            for end in (first, last):
                support = tree.support(end)
                beyond = [i for i in support if common == ROOT or i > common]
                path = [common, *beyond]
                for p, i in itertools.pairwise(path):
                    sweep = f"outward: block of {pair}"
                    steps.append((sweep, name(p), name(i)))
    return steps


def recursion_text(robot: Robot, frames: Sequence[str]) -> str:
    """Return the recursion as lines, a sweep after the other.

    >>> import ramidyn
    >>> print(recursion_text(ramidyn.robots.chain(2), ["body1"]))
    inward: articulated inertia
      body1 -> body0
      body0 -> world
    outward: diagonal block
      world -> body0
      body0 -> body1
    """
    lines: list[str] = []
    last = ""
    for sweep, start, end in recursion_steps(robot, frames):
        if sweep != last:
            lines.append(sweep)
            last = sweep
        lines.append(f"  {start} -> {end}")
    return printable("\n".join(lines))
