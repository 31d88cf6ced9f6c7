"""The public names: `__all__` is right, and everything in it is documented."""

from __future__ import annotations

import importlib.metadata
import inspect
import re
import subprocess
import sys
import types

import pytest

import ramidyn
from ramidyn.quantities import registry


def test_all_has_no_repeats_and_completion_is_sorted() -> None:
    assert sorted(set(ramidyn.__all__)) == sorted(ramidyn.__all__)
    assert dir(ramidyn) == sorted(dir(ramidyn))


@pytest.mark.parametrize("name", ramidyn.__all__)
def test_every_name_is_there(name: str) -> None:
    assert hasattr(ramidyn, name)


def test_nothing_public_is_missing_from_all() -> None:
    """Sub-modules are reachable by import; anything else without _ is a promise."""
    public = {
        name
        for name, value in vars(ramidyn).items()
        if not name.startswith("_") and not isinstance(value, types.ModuleType)
    }
    assert public <= set(ramidyn.__all__)


@pytest.mark.parametrize(
    "name", [n for n in ramidyn.__all__ if callable(getattr(ramidyn, n))]
)
def test_every_function_class_and_quantity_has_its_own_docstring(name: str) -> None:
    value = getattr(ramidyn, name)
    found = value.__doc__
    assert isinstance(found, str)
    assert len(found.split()) > 1
    assert found != type(value).__doc__  # what an instance shows that has none
    assert not found.startswith(f"{name}(")  # what a dataclass shows that has none


ERRORS = [n for n in ramidyn.__all__ if n in ramidyn.errors.__all__]
NAMESPACES = [
    n for n in ramidyn.__all__ if isinstance(getattr(ramidyn, n), types.ModuleType)
]
QUANTITIES = [
    n for n in ramidyn.__all__ if isinstance(getattr(ramidyn, n), ramidyn.Quantity)
]


@pytest.mark.parametrize(
    "name",
    ["math.sqrt", "linalg.ltdl", "loops.Mobility", "builder.Joint", "tasks.Task"],
)
def test_a_name_that_moved_says_where_it_is(name: str) -> None:
    short = name.partition(".")[2]
    with pytest.raises(AttributeError, match=f"'{short}'; use ramidyn.{name}$"):
        getattr(ramidyn, short)


def test_there_are_few_names_besides_quantities_and_errors() -> None:
    assert len(set(ramidyn.__all__) - {*QUANTITIES, *ERRORS}) <= 36


def test_every_error_and_quantity_has_a_name_here() -> None:
    assert sorted(ramidyn.errors.__all__) == ERRORS
    assert set(registry.QUANTITIES) == set(QUANTITIES)


def test_completion_shows_public_names_only() -> None:
    shown = {n for n in dir(ramidyn) if not n.startswith("__")}
    assert shown == {n for n in ramidyn.__all__ if not n.startswith("__")}


@pytest.mark.parametrize("name", NAMESPACES)
def test_a_namespace_lists_what_it_holds(name: str) -> None:
    module = getattr(ramidyn, name)
    assert sorted(set(module.__all__)) == sorted(module.__all__)
    assert {n for n in dir(module) if not n.startswith("__")} == set(module.__all__)
    for public in module.__all__:
        assert hasattr(module, public)
        assert re.search(rf"\b{public}\b", module.__doc__ or ""), public


def test_a_name_that_is_close_is_suggested() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import ramidyn; ramidyn.forward_dynamic"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Did you mean: 'forward_dynamics'?" in done.stderr


@pytest.mark.parametrize("name", QUANTITIES)
def test_the_docstring_of_a_quantity_says_what_it_returns(name: str) -> None:
    found = inspect.getdoc(getattr(ramidyn, name)) or ""
    assert found.startswith("Return ")
    assert re.search(r"\nReturns:\n    \S", found)
    others = [inspect.getdoc(getattr(ramidyn, n)) for n in QUANTITIES if n != name]
    assert found not in others


def test_errors_have_one_root() -> None:
    errors = [getattr(ramidyn, n) for n in ramidyn.__all__ if n.endswith("Error")]
    assert all(issubclass(e, ramidyn.Error) for e in errors)


def test_version_is_the_package_version() -> None:
    assert ramidyn.__version__ == importlib.metadata.version("ramidyn")


def test_importing_does_not_import_what_is_not_needed() -> None:
    """A second of imports is a second before the first answer."""
    code = "import ramidyn, sys; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    heavy = {"matplotlib", "scipy", "pinocchio", "mujoco", "click", "rich", "casadi"}
    modules = set(done.stdout.split())
    assert not heavy & modules
    looking = ("viser", "trimesh", "ramidyn.view", "ramidyn.description.mesh_")
    assert not [m for m in modules if m.startswith(looking)]
