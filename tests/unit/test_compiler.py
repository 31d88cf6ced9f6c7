"""What can be compiled, and what is said about the rest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import ramify
from ramify.errors import ArgumentError


@pytest.mark.parametrize(
    "wanted",
    ["forward_dynamics", ["mass_matrix"], [ramify.mass_matrix, 4], [], 3, None],
)
@pytest.mark.parametrize("use", [ramify.compile, ramify.count])
def test_what_is_no_quantity_is_refused(use: Any, wanted: Any) -> None:
    with pytest.raises(ArgumentError, match="expected a quantity such as"):
        use(wanted, ramify.robots.chain30())


def test_quantities_may_come_from_any_iterable() -> None:
    robot = ramify.robots.chain30()
    several = (q for q in (ramify.mass_matrix, ramify.bias_forces))
    assert ramify.compile(several, robot).ops.total > 0


def test_c_is_exported_from_any_iterable(tmp_path: Path) -> None:
    robot = ramify.robots.chain30()
    several = (q for q in (ramify.mass_matrix, ramify.bias_forces))
    ramify.export_c(several, robot, tmp_path / "c", name="several")
    assert "mass_matrix" in (tmp_path / "c" / "several.h").read_text()
    with pytest.raises(ArgumentError, match="expected a quantity such as"):
        ramify.export_c("mass_matrix", robot, tmp_path / "d")
