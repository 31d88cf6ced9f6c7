"""The reference page of the docs, made from the public names and their docstrings."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from typing import Any

import ramify
from ramify.quantities.quantity import REQUIRED, Quantity
from ramify.quantities.registry import QUANTITIES
from ramify.robot import Robot

HEAD = """# Reference

Every public name: functions and classes, the methods of a robot, quantities, and the
namespaces. Made by `python -m ramify.explain.reference > docs/reference.md`; `help()`
says the same.
"""
ROBOT = """## Robot

A robot's quantities are methods too: see [Quantities](#quantities).
"""
OF_QUANTITIES = """## Quantities

Each is a method of a robot, compiled at first use, and a name in `ramify` that
`ramify.compile`, `ramify.count`, `ramify.export_c` and `ramify compile -f` take.
"""


def page() -> str:
    """Return the page as Markdown."""
    public = {name: getattr(ramify, name) for name in ramify.__all__}
    names = {n: x for n, x in public.items() if is_documented(x) and x is not Robot}
    errors = [n for n, x in names.items() if x.__module__ == "ramify.errors"]
    namespaces = {n: x for n, x in public.items() if isinstance(x, types.ModuleType)}
    robot = {n: x for n, x in members(Robot).items() if n not in QUANTITIES}
    parts = [HEAD, "## Functions and classes\n"]
    parts += [entry(n, x) for n, x in names.items() if n not in errors]
    parts += [ROBOT, *(entry(f"robot.{n}", x) for n, x in robot.items())]
    parts += [OF_QUANTITIES, *map(section, QUANTITIES.values()), "## Namespaces\n"]
    for name, module in namespaces.items():
        parts.append(entry(f"ramify.{name}", module))
        parts += [
            entry(f"{name}.{n}", getattr(module, n))
            for n in module.__all__
            if is_documented(getattr(module, n)) and (n not in names or n in errors)
        ]
    return "\n".join(parts)


DATA = (str, tuple, int, float, types.MemberDescriptorType)
"""fields of dataclasses: their class documents them"""
MADE_BY_OTHERS = ("Function", "Quantity")
"""classes that users do not construct"""


def is_documented(value: object) -> bool:
    """Say whether a value is a function or a class, not a module or a number."""
    return inspect.isclass(value) or inspect.isfunction(value)


def members(cls: type) -> dict[str, Any]:
    """Return the public methods and properties of a class, as they are written."""
    return {
        name: value
        for name, value in vars(cls).items()
        if not name.startswith("_") and not isinstance(value, DATA)
    }


def entry(name: str, value: Any) -> str:
    """Return what the page says of a module, function, class, method or property."""
    lines = [f"### {name}", ""]
    if not isinstance(value, types.ModuleType):
        lines += [f"`{called(name, value)}`", ""]
    lines += ["```text", inspect.getdoc(value) or "", "```", ""]
    if inspect.isclass(value):
        for method, own in members(value).items():
            first = (inspect.getdoc(own) or "").partition("\n")[0]
            lines.append(f"- `{called(method, own)}`: {first}")
    return "\n".join(lines).rstrip() + "\n"


def called(name: str, value: Any) -> str:
    """Return a name with its arguments, or alone where it is not called."""
    of: Callable[..., Any] | None = getattr(value, "method", None)  # `computed`
    function = of or getattr(value, "__func__", value)
    is_made = name in MADE_BY_OTHERS or name.startswith("errors.")
    if is_made or not callable(function):
        return name
    parameters = list(inspect.signature(function).parameters.values())
    shown: list[str] = []
    for p in parameters:
        if p.name == "self":
            continue
        if p.kind is p.KEYWORD_ONLY and "*" not in shown:
            shown.append("*")
        word = f"**{p.name}" if p.kind is p.VAR_KEYWORD else p.name
        shown.append(word if p.default is p.empty else f"{word}={default(p)}")
    return f"{name}({', '.join(shown)})"


def default(parameter: inspect.Parameter) -> str:
    """Return a default as one would write it."""
    shown = repr(parameter.default)
    return "..." if shown.startswith("<") else shown


def section(quantity: Quantity) -> str:
    """Return what the page says of one quantity."""
    of = quantity.declaration
    method = called(f"robot.{of.name}", vars(Robot)[of.name])
    lines = [
        f"### {of.name}",
        "",
        f"`{method}`",
        "",
        "```text",
        inspect.getdoc(getattr(Robot, of.name)) or "",
        "```",
        "",
    ]
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
