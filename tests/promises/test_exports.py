"""The public names: `__all__` is right, and everything in it is documented."""

from __future__ import annotations

import importlib.metadata
import inspect
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
def test_every_function_and_class_has_a_docstring(name: str) -> None:
    assert inspect.getdoc(getattr(ramify, name)), name


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
