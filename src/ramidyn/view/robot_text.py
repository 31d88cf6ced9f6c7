"""A robot as text: its tree of bodies, one line each."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ramidyn.description.conventions import Conventions
from ramidyn.description.description import (
    BodyDescription,
    Description,
    LoopDescription,
)
from ramidyn.description.forces.fields import element_text, referred_names
from ramidyn.errors import printable, quoted_names
from ramidyn.tree.model import Model, PublicJoint

if TYPE_CHECKING:
    from ramidyn.description.contacts import Contact
    from ramidyn.description.forces.element import ForceElement

DEEPEST = 40
"""Beyond it lines are not indented further: a chain of a thousand links stays text."""


MOST_FORCES = 8
"""Forces of one kind up to which each has its own line."""


@dataclass(frozen=True, slots=True)
class _Row:
    """One body: what is drawn of the tree, its mass and its joints."""

    tree: str
    mass: str
    joints: str
    below: str
    """drawn before the lines below it"""

    def lines(self, wide: int, heavy: int, width: int | None) -> Iterator[str]:
        """Yield the line, or several if it is wider than the screen."""
        line = f"{self.tree:<{wide}}  {self.mass:>{heavy}}  {self.joints}".rstrip()
        if width is None or len(line) <= width:
            yield line
            return
        rest = self.joints
        if len(self.tree) <= wide:
            yield f"{self.tree:<{wide}}  {self.mass:>{heavy}}".rstrip()
        else:
            yield self.tree
            rest = f"{self.mass}  {rest}".strip()
        room = max(width - len(self.below) - 4, 20)
        for text in textwrap.wrap(rest, room, break_long_words=False):
            yield f"{self.below}    {text}"


def drawing(
    model: Model,
    description: Description,
    conventions: Conventions,
    joint_order: str | Sequence[str],
    width: int | None = None,
    clusters: Collection[str] = (),
) -> str:
    """Return the robot as text: sizes, conventions, the tree, loops and forces.

    Lines beyond ``width`` characters, if there is one, go on in the next line. Loops
    named in ``clusters`` are marked.
    """
    deepest = 3 * DEEPEST
    if width is not None:
        longest = max(len(body.name) for body in description.bodies)
        deepest = max(min(width // 2, width - longest - 6), 0)
    children: dict[str | None, list[BodyDescription]] = {}
    for body in description.bodies:
        children.setdefault(body.parent, []).append(body)
    public = {j.name: j for j in model.joints}
    ground = [b for b in children.get(None, []) if b.name == "world" and not b.joints]
    mass = f"{model.masses['world']:.4g} kg" if ground and model.masses["world"] else ""
    rows = [_Row("world", mass, "", "")]
    below_world = children.get("world", []) if ground else []
    tops = [b for b in children.get(None, []) if b not in ground] + below_world
    stack = [(b, "", k == 0) for k, b in enumerate(reversed(tops))]
    while stack:
        body, indent, is_last = stack.pop()
        is_fixed = not body.joints
        branch = ("└" if is_last else "├") + ("╌ " if is_fixed else "─ ")
        mass = model.masses.get(body.name, 0.0)
        shown = f"{mass:.4g} kg" if mass else ""
        below = indent
        if len(indent) < deepest:
            below += "   " if is_last else "│  "
        inner = children.get(body.name, [])[::-1]
        bar = below + ("│" if inner else " ")
        tree = indent + branch + _line(body.name)
        rows.append(_Row(tree, shown, _line(joint_text(body, public)), bar))
        stack.extend((b, below, k == 0) for k, b in enumerate(inner))
    wide = max(len(row.tree) for row in rows)
    heavy = max(len(row.mass) for row in rows)
    first = [*map(_line, head(model, conventions, joint_order))]
    loops = [*map(_line, (*_loops(model.loops, clusters), *element_lines(model)))]
    if width is not None:
        wide = min(wide, width - heavy - 2)
        first = [textwrap.fill(text, width, subsequent_indent="  ") for text in first]
        loops = [textwrap.fill(text, width, subsequent_indent="  ") for text in loops]
    lines = [line for row in rows for line in row.lines(wide, heavy, width)]
    return "\n".join([*first, *lines, *loops])


def _line(text: str) -> str:
    """Return text as one line, whatever is in the names."""
    return printable(text).replace("\n", "\\n")


ORDERS = {
    "file": "siblings in file order",
    "alphabetical": "siblings in alphabetical order, as in Pinocchio",
}


def summary(model: Model, conventions: Conventions) -> str:
    """Return the robot in one line."""
    loops = f", {_counted(len(model.loops), 'loop')}" if model.loops else ""
    if model.forces:
        loops += f", {_counted(len(model.forces), 'force')}"
    if model.contacts:
        loops += f", {_counted(len(model.contacts), 'contact')}"
    return (
        f"Robot({model.name!r}: {_counted(len(model.body_names), 'body', 'bodies')}, "
        f"{_counted(len(model.joints), 'joint')}, nq {model.nq}, nv {model.nv}{loops}; "
        f"{conventions})"
    )


def head(
    model: Model, conventions: Conventions, joint_order: str | Sequence[str]
) -> Iterator[str]:
    """Yield the lines above the tree: sizes, conventions, the order of joints."""
    moving = sum(b.inertia.m for b in model.tree.bodies)
    x, y, z = model.tree.gravity
    yield (
        f"{model.name}: {_counted(len(model.body_names), 'body', 'bodies')}, "
        f"{_counted(len(model.joints), 'joint')}, nq {model.nq}, nv {model.nv}, "
        f"{moving:.5g} kg moving, gravity ({x:g}, {y:g}, {z:g}) m/s²"
    )
    axes = "in body axes"
    if conventions.floating_velocity == "world_linear":
        axes = "linear in world axes, angular in body axes"
    yield (
        f"conventions {conventions}: quaternions {conventions.quaternion}, floating "
        f"velocity {axes}, {conventions.order.replace('_', ' ')}"
    )
    order = ORDERS[joint_order] if isinstance(joint_order, str) else "as listed"
    yield f"joint order: {order}"


def joint_text(body: BodyDescription, public: dict[str, PublicJoint]) -> str:
    """Return the joints of a body: names, types and places in q and v."""
    if not body.joints:
        return "fixed" if body.parent is not None or body.fixed_joint else ""
    texts: list[str] = []
    for joint in body.joints:
        kind = "continuous" if joint.is_continuous else joint.type
        text = f"{joint.name} {kind}"
        if joint.name in public:
            own = public[joint.name]
            text += f" q[{_span(own.q_index, own.nq)}] v[{_span(own.v_index, own.nv)}]"
        elif joint.mimic is not None:
            m = joint.mimic
            text += f" = {m.multiplier:g} {m.of}"
            text += f" {m.offset:+g}" if m.offset else ""
        texts.append(text)
    return ", ".join(texts)


def _span(start: int, n: int) -> str:
    return str(start) if n == 1 else f"{start}:{start + n}"


def _loops(
    loops: Sequence[LoopDescription], clusters: Collection[str]
) -> Iterator[str]:
    for loop in loops:
        if loop.joints:
            y, *x = loop.joints
            ends = f"{y} = f({', '.join(x)})" if x else y
        else:
            ends = f"{loop.body_a or 'world'} ⟷ {loop.body_b or 'world'}"
        mark = " (cluster)" if loop.name in clusters else ""
        mark = " (rows)" if loop.as_rows else mark
        yield f"loop {loop.name} {loop.type}: {ends}{mark}"


def element_lines(model: Model) -> Iterator[str]:
    """Yield the lines of the force elements, and of the contacts."""
    yield from _lines_of("force", model.forces, model)
    yield from _lines_of("contact", model.contacts, model)


def _lines_of(
    word: str, of: Sequence[ForceElement | Contact], model: Model
) -> Iterator[str]:
    """Yield a line for each element, or for each kind of which there are many."""
    kinds: dict[str, list[ForceElement | Contact]] = {}
    for element in of:
        kinds.setdefault(type(element).__name__, []).append(element)
    for kind, elements in kinds.items():
        if len(elements) > MOST_FORCES:
            known = quoted_names([f.name for f in elements])
            yield f"{len(elements)} {word}s {kind}: {known}"
            continue
        for element in elements:
            names = (
                *referred_names(element, "joint"),
                *referred_names(element, "force"),
            )
            ends = " ⟷ ".join((*names, *referred_names(element, "frame")))
            details = element_text(element, model.joints)
            text = f"{word} {element.name} {kind}"
            text += f": {ends}" if ends else ""
            yield text + (f", {details}" if details else "")


def _counted(n: int, one: str, many: str = "") -> str:
    return f"{n} {one if n == 1 else many or one + 's'}"
