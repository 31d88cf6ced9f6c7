"""The tables and figures of the founding papers, from Ramidyn's own programs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ramidyn.papers import (
    accuracy,
    chang_khatib,
    featherstone,
    featherstone_humanoid,
    featherstone_sparsity,
    items_featherstone,
    items_negrut,
    items_operational,
    negrut,
    notes,
    wensing,
    wensing_stages,
)
from ramidyn.papers.document import Section
from ramidyn.papers.items import items_section

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
MEASURED: dict[str, Callable[[], list[Section]]] = {
    "accuracy": accuracy.sections,
    "profile": lambda: [negrut.measured_profile()],
}
"""What rounding decides, or a clock: shown where it is asked for by name."""
PARTS: Mapping[str, Mapping[str, Callable[[], Section]]] = {
    "featherstone": {
        "table 1": featherstone.table1,
        "table 2": featherstone.table2,
        "figure 1": featherstone.trees,
        "figure 4": featherstone.trees,
        "figure 2": featherstone_sparsity.steps,
        "figure 3": featherstone_sparsity.steps,
        "figure 5": featherstone.table2,
        "figure 6": featherstone_humanoid.humanoid,
        "figure 7": featherstone_humanoid.figure7,
    },
    "chang_khatib": {
        "table 1": chang_khatib.table1,
        "figure 2": chang_khatib.box,
        "figure 4": chang_khatib.recursion,
        "figure 5": chang_khatib.box,
    },
    "wensing": {
        "table 1": wensing_stages.table1,
        "figure 4": wensing_stages.table1,
        "figure 5": wensing_stages.by_stages,
        "figure 6": wensing.figures,
    },
    "negrut": {
        **{
            f"table {k}": lambda k=k: negrut.sections()[k - 1]  # type: ignore[misc]
            for k in range(1, 6)
        },
        "figure 3": negrut.graph,
        "figure 4": negrut.graph,
    },
}
"""The tables and figures of each paper, by their numbers; drawings of notation (one or
two bodies and their vectors) are left out."""
ITEMS = (*items_featherstone.ITEMS, *items_operational.ITEMS, *items_negrut.ITEMS)
"""all items of the documents, in their order"""


def sections(
    names: Sequence[str] = (), progress: Callable[[str], None] = lambda _: None
) -> list[Section]:
    """Return the sections of some papers; of all that are counted, with all items."""
    found: list[Section] = []
    for name in names or list(PAPERS):
        progress(name)
        found += (PAPERS | MEASURED)[name]()
    if not names:
        progress("items")
        found.append(items_section(ITEMS, {s.title: s for s in found}))
    return found
