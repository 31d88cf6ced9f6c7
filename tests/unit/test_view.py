"""HTML of reports and notebooks: whole, escaped, and with everything in it."""

from __future__ import annotations

from html.parser import HTMLParser

from ramify.view.blocks import Item, bars, breakable, table, tree

VOID = {"wbr", "br", "meta", "link"}


class Reader(HTMLParser):
    """Reads HTML; every tag must be closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.words = ""
        self.deepest: dict[str, int] = {}
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002
        if tag not in VOID:
            self.open.append(tag)
            depth = self.open.count(tag)
            self.deepest[tag] = max(depth, self.deepest.get(tag, 0))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data


def test_a_tree_is_nested_lists_with_every_name() -> None:
    depths = (0, 1, 2, 1, 0)
    items = [Item(d, f"body_{k}", f"{k} kg") for k, d in enumerate(depths)]
    read = Reader(tree(items))
    assert read.deepest["ul"] == 3
    assert all(f"body_{k}" in read.words for k in range(5))


def test_a_deep_tree_is_not_indented_without_end() -> None:
    read = Reader(tree([Item(k, f"b{k}", "") for k in range(100)]))
    assert read.deepest["ul"] == 25
    assert "b99" in read.words


def test_names_are_escaped_everywhere() -> None:
    bad = "<script>&'\"_x"
    for text in (
        tree([Item(0, bad, bad)]),
        bars([(bad, [("a", 3)])]),
        table([bad], [[breakable(bad)]]),
    ):
        assert "<script>" not in text
        assert bad in Reader(text).words


def test_the_longest_bar_fills_its_row() -> None:
    text = bars([("x", [("a", 30), ("b", 10)]), ("y", [("a", 10)])])
    assert "width:75.00%" in text
    assert text.count("width:25.00%") == 2
