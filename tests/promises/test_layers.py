"""Imports go one way: the map of the layers."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import ramify

SRC = Path(ramify.__file__).parent

FOR_ALL = {"errors", "forks", "version"}
MAY_IMPORT = {
    "symbolic": set[str](),
    "spatial": {"symbolic"},
    "model": {"symbolic", "spatial"},
    "algorithms": {"symbolic", "spatial", "model"},
    "quantities": {"symbolic", "spatial", "model", "algorithms", "simplify"},
    "simplify": {"symbolic"},
    "backend": {"symbolic"},
}
FRONT = {"cli", "explain", "papers"}
"""the front door: imports what it likes, and nobody below imports it"""


def imports(path: Path) -> set[str]:
    """Return the modules that a file imports, wherever in it, by their full names."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            package = path.relative_to(SRC.parent).parts[: -node.level or None]
            module = ".".join([*(package if node.level else ()), node.module or ""])
            module = module.strip(".")
            names.add(module)
            names.update(f"{module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(
            "import_module"
        ):
            names.update(a.value for a in node.args if isinstance(a, ast.Constant))
    return names


def imported_layers(path: Path) -> set[str]:
    parts = (name.split(".") for name in imports(path))
    return {p[1] for p in parts if p[0] == "ramify" and len(p) > 1}


@pytest.mark.parametrize("layer", MAY_IMPORT)
def test_layer_imports_only_what_the_map_allows(layer: str) -> None:
    files = list((SRC / layer).rglob("*.py"))
    assert files
    for path in files:
        extra = imported_layers(path) - MAY_IMPORT[layer] - FOR_ALL - {layer}
        assert not extra, f"{path.relative_to(SRC)} reaches into {sorted(extra)}"


def test_every_folder_is_on_the_map() -> None:
    folders = {p.name for p in SRC.iterdir() if (p / "__init__.py").exists()}
    assert folders == set(MAY_IMPORT) | FRONT


def test_nobody_below_imports_the_front_door() -> None:
    for path in SRC.rglob("*.py"):
        inside = path.relative_to(SRC).parts[0] in FRONT
        assert inside or not imported_layers(path) & FRONT, path.relative_to(SRC)


def test_what_all_import_imports_nothing_of_ours() -> None:
    for name in FOR_ALL:
        assert not imported_layers(SRC / f"{name}.py")


def test_only_the_backend_imports_llvmlite() -> None:
    for path in SRC.rglob("*.py"):
        uses = any(name.split(".")[0] == "llvmlite" for name in imports(path))
        assert not uses or path.parent.name == "backend", path.relative_to(SRC)
