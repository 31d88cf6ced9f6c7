"""What can be compiled, and what is said about the rest."""

from __future__ import annotations

from typing import Any

import pytest

import ramify
from ramify.errors import CompileError


@pytest.mark.parametrize(
    "wanted",
    ["forward_dynamics", ["mass_matrix"], [ramify.mass_matrix, 4], [], 3, None],
)
@pytest.mark.parametrize("use", [ramify.compile, ramify.count])
def test_what_is_no_quantity_is_refused(use: Any, wanted: Any) -> None:
    with pytest.raises(CompileError, match="expected a quantity such as"):
        use(wanted, ramify.robots.chain30())


def test_quantities_may_come_from_any_iterable() -> None:
    robot = ramify.robots.chain30()
    several = (q for q in (ramify.mass_matrix, ramify.bias_forces))
    assert ramify.compile(several, robot).ops.total > 0
