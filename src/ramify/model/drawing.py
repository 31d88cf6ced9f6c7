"""A robot as text: its tree of bodies, one line each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ramify.model.conventions import Conventions
from ramify.model.description import BodyDescription, Description, LoopDescription
from ramify.model.model import Model, PublicJoint

DEEPEST = 40
"""Beyond it lines are not indented further: a chain of a thousand links stays text."""


def drawing(model: Model, description: Description, conventions: Conventions) -> str:
    """Return the robot as text: sizes, conventions, the tree, its loops."""
    children: dict[str | None, list[BodyDescription]] = {}
    for body in description.bodies:
        children.setdefault(body.parent, []).append(body)
    public = {j.name: j for j in model.joints}
    rows = [("world", "", "")]
    stack = [(b, "", k == 0) for k, b in enumerate(reversed(children.get(None, [])))]
    while stack:
        body, indent, is_last = stack.pop()
        is_fixed = not body.joints
        branch = ("└" if is_last else "├") + ("╌ " if is_fixed else "─ ")
        mass = model.masses.get(body.name, 0.0)
        shown = f"{mass:.4g} kg" if mass else ""
        rows.append((indent + branch + body.name, shown, _joints(body, public)))
        below = indent
        if len(indent) < 3 * DEEPEST:
            below += "   " if is_last else "│  "
        inner = reversed(children.get(body.name, []))
        stack.extend((b, below, k == 0) for k, b in enumerate(inner))
    wide = max(len(tree) for tree, _, _ in rows)
    heavy = max(len(mass) for _, mass, _ in rows)
    lines = [
        f"{tree:<{wide}}  {mass:>{heavy}}  {joint}".rstrip()
        for tree, mass, joint in rows
    ]
    return "\n".join([*_head(model, conventions), *lines, *_loops(model.loops)])


def summary(model: Model, conventions: Conventions) -> str:
    """Return the robot in one line."""
    loops = f", {_counted(len(model.loops), 'loop')}" if model.loops else ""
    return (
        f"Robot({model.name!r}: {_counted(len(model.body_names), 'body', 'bodies')}, "
        f"{_counted(len(model.joints), 'joint')}, nq {model.nq}, nv {model.nv}{loops}; "
        f"{conventions})"
    )


def _head(model: Model, conventions: Conventions) -> Iterator[str]:
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


def _joints(body: BodyDescription, public: dict[str, PublicJoint]) -> str:
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


def _loops(loops: Sequence[LoopDescription]) -> Iterator[str]:
    for loop in loops:
        if loop.joints:
            ends = " = f(".join(loop.joints) + (")" if len(loop.joints) > 1 else "")
        else:
            ends = f"{loop.body_a or 'world'} ⟷ {loop.body_b or 'world'}"
        yield f"loop {loop.name} {loop.type}: {ends}"


def _counted(n: int, one: str, many: str = "") -> str:
    return f"{n} {one if n == 1 else many or one + 's'}"
