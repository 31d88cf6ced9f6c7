"""The reference page of the docs, made from the registry of quantities."""

from __future__ import annotations

import inspect

from ramify.quantities.quantity import REQUIRED, Quantity
from ramify.quantities.registry import QUANTITIES
from ramify.robot import Robot

HEAD = """# Quantities

Made from the registry by `python -m ramify.explain.reference > docs/reference.md`.
Each is a method of a robot, compiled at first use, and a name in `ramify` that
`ramify.compile`, `ramify.count`, `ramify.export_c` and `ramify compile -f` take.
"""


def page() -> str:
    """Return the page as Markdown."""
    return "\n".join([HEAD, *map(section, QUANTITIES.values())])


def section(quantity: Quantity) -> str:
    """Return what the page says of one quantity."""
    of = quantity.declaration
    signature = inspect.signature(getattr(Robot, of.name))
    arguments = ", ".join(list(signature.parameters)[1:])
    lines = [f"## {of.name}", "", f"`robot.{of.name}({arguments})`", ""]
    lines += ["```text", quantity.__doc__ or "", "```", ""]
    options = [
        name if value is REQUIRED else f"{name}={value!r}"
        for name, value in of.defaults.items()
    ]
    if options:
        lines.append(f"As a quantity: `ramify.{of.name}({', '.join(options)})`.")
    if of.algorithms:
        names = ", ".join(f"`{a}`" for a in (*of.algorithms, *of.by_name_only))
        lines.append(f"Algorithms: {names}.")
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    print(page(), end="")
