"""Options of quantities: each is checked, whichever modules were imported."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any

import pytest

from ramidyn.errors import ArgumentError
from ramidyn.quantities.registry import QUANTITIES
from ramidyn.tracing.context import SHARED
from ramidyn.tracing.quantity import quantity


@pytest.mark.parametrize("name", QUANTITIES)
def test_every_option_of_a_public_quantity_is_checked(name: str) -> None:
    of = QUANTITIES[name].declaration
    assert of.checks.keys() <= of.defaults.keys()
    assert of.defaults.keys() - {"algorithm"} <= {*SHARED, *of.checks}


@pytest.mark.parametrize(
    ("module", "name", "option"),
    [
        ("closed_loops", "stabilized_forward_dynamics", "rate=-1.0"),
        ("applied", "applied_forces", "forces=3"),
        ("identification", "regressor", "bodies=3"),
        ("steps", "linearize", "integrator='euler'"),
    ],
)
def test_an_option_is_checked_when_only_its_own_module_is_imported(
    module: str, name: str, option: str
) -> None:
    code = f"from ramidyn.quantities.{module} import {name} as f; f({option})"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    word, _, value = option.partition("=")
    assert f"ArgumentError: {word} is {value}; " in done.stderr


def test_a_quantity_declares_the_checks_of_its_own_options() -> None:
    def even(value: int) -> int:
        if value % 2:
            raise ArgumentError(f"count is {value}; expected an even number")
        return value

    @quantity("q", checks={"count": even})
    def counted(context: Any, count: int = 2) -> Any:
        """Not traced here."""

    assert dict(counted(count=4).given) == {"count": 4}
    with pytest.raises(ArgumentError, match=re.escape("count is 3; expected an even")):
        counted(count=3)
