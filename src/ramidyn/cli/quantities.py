"""Names of quantities on the command line: ``jacobian:hand``."""

from __future__ import annotations

import difflib

import click

from ramidyn.errors import UnknownName
from ramidyn.function import LAYOUTS
from ramidyn.quantities.registry import QUANTITIES
from ramidyn.tracing.quantity import REQUIRED, Quantity

functions_option = click.option(
    "-f", "--function", "names", multiple=True, default=["forward_dynamics"],
    show_default=True, help="A quantity, or quantity:frame; repeatable.",
)  # fmt: skip
"""the quantities of a command, as ``names``"""

layout_option = click.option(
    "--layout", type=click.Choice(LAYOUTS), default="batch_first", show_default=True,
    help="Arrays of a batch: one state after the other, or side by side.",
)  # fmt: skip
"""where the batch axis of exported functions is"""


def needs(quantity: Quantity) -> str:
    """Return what must follow the name: "", "frame" or "tasks"."""
    defaults = quantity.declaration.defaults
    return next((n for n, value in defaults.items() if value is REQUIRED), "")


def spelled(name: str) -> str:
    """Return how a quantity is written, for messages."""
    needed = needs(QUANTITIES[name])
    return name + {"": "", "frame": ":<frame>", "tasks": ":<frame>,<frame>,..."}[needed]


def named(text: str) -> Quantity:
    """Return a quantity by name: ``word``, ``word:frame`` or ``word:frame,frame``."""
    word, _, rest = text.partition(":")
    if word not in QUANTITIES:
        close = difflib.get_close_matches(word, QUANTITIES, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        known = ", ".join(map(spelled, QUANTITIES))
        raise UnknownName(f"no quantity {word!r}.{hint} All: {known}.")
    quantity = QUANTITIES[word]
    needed = needs(quantity)
    if bool(needed) != bool(rest):
        given = "needs a frame" if needed else "takes no frame"
        raise UnknownName(f"{word} {given}; expected {spelled(word)}")
    if not needed:
        return quantity
    return quantity(rest if needed == "frame" else rest.split(","))
