"""The reference page of the docs is made from the public names."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys

import pytest

import ramidyn
from ramidyn.quantities.registry import QUANTITIES
from support.pages import REPOSITORY
from tools.docstring_markdown import markdown
from tools.reference import pages, write
from tools.stub import stub


def test_the_reference_is_up_to_date(update_golden: bool) -> None:
    docs = REPOSITORY / "docs"
    if update_golden:
        write(docs)
    wanted = pages()
    found = [docs / "reference.md", *sorted((docs / "reference").glob("*.md"))]
    written = {
        p.relative_to(docs).as_posix(): p.read_text(encoding="utf-8") for p in found
    }
    renew = "python tools/reference.py > docs/reference.md"
    assert written.keys() == wanted.keys(), renew
    assert [p for p in wanted if written[p] != wanted[p]] == [], renew


def test_the_stub_of_the_quantities_is_up_to_date(update_golden: bool) -> None:
    path = REPOSITORY / "src" / "ramidyn" / "quantities" / "public.pyi"
    if update_golden:
        path.write_text(stub(), encoding="utf-8")
    assert path.read_text(encoding="utf-8") == stub()


@pytest.mark.parametrize("name", QUANTITIES)
def test_a_method_and_its_quantity_say_the_same(name: str) -> None:
    quantity, method = getattr(ramidyn, name), getattr(ramidyn.Robot, name)
    assert quantity is QUANTITIES[name]
    assert quantity.__doc__.startswith(inspect.getdoc(method))
    one_line = " ".join(quantity.__doc__.split())
    assert "This quantity takes options only: call robot." in one_line
    given = list(inspect.signature(method).parameters)[1:]
    assert given[: len(quantity.declaration.inputs)] == [*quantity.declaration.inputs]
    assert quantity.declaration.returns.isascii()
    assert quantity.declaration.returns


def test_every_public_name_has_a_heading() -> None:
    text = "\n".join(pages().values())
    titles = set(re.findall(r"^##? (?:ramidyn\.)?(\w+)$", text, re.M))
    assert set(ramidyn.__all__) - titles == {"__version__"}


def test_every_page_is_linked_from_the_index_by_names_that_exist() -> None:
    found = pages()
    index = found["reference.md"]
    for path in found.keys() - {"reference.md"}:
        assert f"]({path})" in index
    for path, anchor in re.findall(r"\((reference/\w+\.md)#([\w-]+)\)", index):
        headings = re.findall(r"^## (.+)$", found[path], re.M)
        assert anchor in [
            h.lower().replace(".", "").replace(" ", "-") for h in headings
        ]


DOCSTRING = """Return *this*, of <body>.

It takes ``q``:

    y = 2 x

>>> 1 + 1
2

Args:
    q: (nq,) a first line
        and a second | one.
    qd: (nv,).

Returns:
    A number.
"""
MARKDOWN = """Return \\*this\\*, of &lt;body>.

It takes `q`:

```text
y = 2 x
```

```python
>>> 1 + 1
2
```

| argument | |
|---|---|
| `q`{.name} | (nq,) a first line and a second \\| one. |
| `qd`{.name} | (nv,). |

**Returns**

A number."""


def test_a_docstring_becomes_prose_code_and_tables() -> None:
    assert markdown(DOCSTRING) == MARKDOWN


def test_every_section_of_a_docstring_is_recognized() -> None:
    text = "".join(pages().values())
    assert re.findall(r"^(?:Args|Returns|Raises):$", text, re.M) == []


def test_a_quantity_has_the_name_that_the_registry_gives_it() -> None:
    assert [q.name for q in QUANTITIES.values()] == list(QUANTITIES)


def test_a_quantity_is_imported_without_the_others() -> None:
    code = (
        "import sys; from ramidyn.quantities.registry import QUANTITIES;"
        "QUANTITIES['forward_dynamics']; 'regressor' in QUANTITIES;"
        "print('ramidyn.quantities.identification' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"
