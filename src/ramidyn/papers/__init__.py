"""The tables and figures of the founding papers, from Ramidyn's own programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ramidyn.papers import (
    accuracy,
    chang_khatib,
    featherstone,
    featherstone_humanoid,
    featherstone_sparsity,
    negrut,
    notes,
    wensing,
)
from ramidyn.papers.document import Section

PAPERS: dict[str, Callable[[], list[Section]]] = {
    "featherstone": lambda: [
        *featherstone.sections(),
        *featherstone_humanoid.sections(),
        *featherstone_sparsity.sections(),
    ],
    "notes": notes.sections,
    "chang_khatib": chang_khatib.sections,
    "wensing": wensing.sections,
    "negrut": negrut.sections,
}
"""Each gives its sections; the name is what the command line calls it."""
MEASURED: dict[str, Callable[[], list[Section]]] = {"accuracy": accuracy.sections}
"""What rounding decides, and so the processor: shown where it is asked for by name."""


def sections(
    names: Sequence[str] = (), progress: Callable[[str], None] = lambda _: None
) -> list[Section]:
    """Return the sections of some papers, or of all that are counted."""
    found: list[Section] = []
    for name in names or list(PAPERS):
        progress(name)
        found += (PAPERS | MEASURED)[name]()
    return found
