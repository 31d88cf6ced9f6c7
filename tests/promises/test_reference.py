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
from tools.reference import page
from tools.stub import stub


def test_the_reference_page_is_up_to_date(update_golden: bool) -> None:
    path = REPOSITORY / "docs" / "reference.md"
    if update_golden:
        path.write_text(page(), encoding="utf-8")
    assert path.read_text(encoding="utf-8") == page()


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


def test_every_public_name_is_on_the_page() -> None:
    titles = set(re.findall(r"^##+ (?:ramidyn\.|errors\.)?(\w+)$", page(), re.M))
    assert set(ramidyn.__all__) - titles == {"__version__"}


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
