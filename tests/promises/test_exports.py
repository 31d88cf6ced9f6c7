"""The public names: `__all__` is right, and everything in it is documented."""

from __future__ import annotations

import importlib.metadata
import inspect
import re
import subprocess
import sys
import types

import pytest

import ramify


def test_all_is_sorted_and_without_repeats() -> None:
    assert ramify.__all__ == sorted(set(ramify.__all__))


@pytest.mark.parametrize("name", ramify.__all__)
def test_every_name_is_there(name: str) -> None:
    assert hasattr(ramify, name)


def test_nothing_public_is_missing_from_all() -> None:
    """Sub-modules are reachable by import; anything else without _ is a promise."""
    public = {
        name
        for name, value in vars(ramify).items()
        if not name.startswith("_") and not isinstance(value, types.ModuleType)
    }
    assert public <= set(ramify.__all__)


@pytest.mark.parametrize(
    "name", [n for n in ramify.__all__ if callable(getattr(ramify, n))]
)
def test_every_function_class_and_quantity_has_its_own_docstring(name: str) -> None:
    value = getattr(ramify, name)
    found = value.__doc__
    assert isinstance(found, str)
    assert len(found.split()) > 1
    assert found != type(value).__doc__  # what an instance shows that has none
    assert not found.startswith(f"{name}(")  # what a dataclass shows that has none


QUANTITIES = [
    n for n in ramify.__all__ if isinstance(getattr(ramify, n), ramify.Quantity)
]


@pytest.mark.parametrize("name", QUANTITIES)
def test_the_docstring_of_a_quantity_says_what_it_returns(name: str) -> None:
    found = inspect.getdoc(getattr(ramify, name)) or ""
    assert found.startswith("Return ")
    assert re.search(r"\nReturns:\n    \S", found)
    others = [inspect.getdoc(getattr(ramify, n)) for n in QUANTITIES if n != name]
    assert found not in others


def test_errors_have_one_root() -> None:
    errors = [getattr(ramify, n) for n in ramify.__all__ if n.endswith("Error")]
    assert all(issubclass(e, ramify.Error) for e in errors)


def test_version_is_the_package_version() -> None:
    assert ramify.__version__ == importlib.metadata.version("ramify")


def test_importing_does_not_import_what_is_not_needed() -> None:
    """A second of imports is a second before the first answer."""
    code = "import ramify, sys; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    heavy = {"matplotlib", "scipy", "pinocchio", "mujoco", "click", "rich", "casadi"}
    assert not heavy & set(done.stdout.split())
