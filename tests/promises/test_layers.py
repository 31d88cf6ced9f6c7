"""Imports go one way: the map of the layers, every module included."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Collection, Sequence
from functools import cache
from pathlib import Path

import pytest

import ramidyn

SRC = Path(ramidyn.__file__).parent

FOR_ALL = {"errors", "version", "concurrency"}
ROBOTS = {"description", "tree", "coordinates"}
MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "version": set(),
    "concurrency": set(),
    "progress": set(),
    "output_files": set(),
    "symbolic": set(),
    "spatial": {"symbolic"},
    "description": {"symbolic", "spatial"},
    "tree": {"symbolic", "spatial", "description"},
    "coordinates": {"symbolic", "spatial", "description", "tree"},
    "view": {*ROBOTS, "output_files"},
    "simplify": {"symbolic"},
    "algorithms": {"symbolic", "spatial", *ROBOTS},
    "tracing": {"symbolic", "spatial", *ROBOTS, "simplify", "algorithms"},
    "mechanism.constraints": {"symbolic", *ROBOTS, "algorithms", "tracing"},
    "quantities": {
        "symbolic", "spatial", *ROBOTS, "simplify", "algorithms", "tracing",
        "mechanism.constraints",
    },
    "backend": {"symbolic"},
    "linalg": {"symbolic", *ROBOTS, "algorithms", "backend"},
    "function": {"symbolic", "backend", "tracing", "view", "progress"},
    "compilation": {
        "symbolic", *ROBOTS, "tracing", "backend", "function", "progress",
    },
    "compiler": {
        "symbolic", "simplify", "tracing", "backend", "function", "compilation",
        "progress",
    },
    "kernels": {"symbolic", "tracing", "function", "compilation", "compiler"},
    "methods": {
        "symbolic", "tracing", "quantities", "backend", "function", "compilation",
        "compiler",
    },
    "configuration_functions": {
        "symbolic", *ROBOTS, "backend", "function", "compiler", "kernels",
    },
    "view.runs": {*ROBOTS, "quantities", "compiler", "view"},
    "mechanism": {
        "symbolic", *ROBOTS, "algorithms", "tracing", "mechanism.constraints",
        "quantities", "function", "compiler", "kernels",
    },
    "simulation": {
        "symbolic", *ROBOTS, "algorithms", "tracing", "quantities", "backend",
        "function", "compiler", "kernels", "mechanism", "view.runs", "output_files",
    },
    "kinematics": {
        "symbolic", *ROBOTS, "algorithms", "tracing", "quantities", "function",
        "compiler", "mechanism", "simulation",
    },
    "robot": {
        "symbolic", *ROBOTS, "algorithms", "tracing", "quantities", "backend",
        "function", "compiler", "methods", "configuration_functions",
        "mechanism.constraints", "mechanism", "simulation", "kinematics", "view",
        "view.runs", "output_files",
    },
    "loading": {"description", "algorithms", "robot"},
    "robot_builder": {"description", "robot"},
    "catalog": {"description", "tree", "robot_builder"},
    "robots": {"loading", "catalog", *ROBOTS, "robot"},
    "optimal_control": {
        "symbolic", "description", "algorithms", "tracing", "backend", "function",
        "kernels", "mechanism", "simulation", "robot",
    },
    "control": {
        *ROBOTS, "algorithms", "tracing", "quantities", "function", "compiler", "robot",
        "optimal_control",
    },
    "out_of_core": {"function", "robot"},
    "export": {
        "symbolic", *ROBOTS, "simplify", "tracing", "quantities", "backend", "function",
        "compilation", "compiler", "robot",
    },
    "interop": {
        "symbolic", "description", "backend", "function", "compilation", "compiler",
        "kernels", "export", "simulation",
    },
}  # fmt: skip
"""room -> the rooms that it may import; a room inside another has its own row"""
FRONT = {"cli", "explain", "papers"}
"""the front door: imports what it likes, and nobody below imports it"""
DOORS = {
    "__init__", "builder", "contacts", "forces", "loops", "math", "policies", "tasks",
}  # fmt: skip
"""`import ramidyn` and its namespaces: they gather public names"""


def modules() -> list[Path]:
    return sorted(SRC.rglob("*.py"))


def layer(path: Path) -> str:
    return room(path.relative_to(SRC).with_suffix("").parts)


def room(parts: Sequence[str]) -> str:
    """Return the room of a module by the names of its folders and its own."""
    inner = ".".join(parts[:2])
    return inner if inner in MAY_IMPORT else parts[0]


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


@cache
def imports(path: Path) -> frozenset[str]:
    """Return the modules that a file imports when it runs, wherever in it."""
    names: set[str] = set()
    pending: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    while pending:
        node = pending.pop()
        if is_type_checking(node):
            continue
        pending.extend(ast.iter_child_nodes(node))
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            package = path.relative_to(SRC.parent).parts[: -node.level or None]
            module = ".".join([*(package if node.level else ()), node.module or ""])
            module = module.strip(".")
            names.add(module)
            names.update(f"{module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call):
            names.update(imported_by_call(path, node))
    return frozenset(names)


def imported_by_call(path: Path, node: ast.Call) -> set[str]:
    """Return what import_module imports; where it is must be there to read.

    Any string of the file may complete a name that ends in braces, f"ramidyn.{name}".
    """
    called = getattr(node.func, "id", None) or getattr(node.func, "attr", None)
    if called not in ("import_module", "__import__"):
        return set()
    (argument, *_) = node.args
    if isinstance(argument, ast.Constant):
        return {str(argument.value)}
    start = argument.values[0] if isinstance(argument, ast.JoinedStr) else None
    assert isinstance(start, ast.Constant), (
        f"{path.relative_to(SRC)}:{node.lineno} imports by a string that no reader sees"
    )
    known = {module_name(other) for other in modules()}
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    texts = {str(n.value) for n in nodes if isinstance(n, ast.Constant)}
    return known & {f"{start.value}{text.partition('.')[0]}" for text in texts} | (
        known & {f"{start.value}{text}" for text in texts}
    )


def imported_layers(path: Path) -> set[str]:
    parts = (name.split(".") for name in imports(path))
    return {room(p[1:]) for p in parts if p[0] == "ramidyn" and len(p) > 1}


@pytest.mark.parametrize("name", MAY_IMPORT)
def test_layer_imports_only_what_the_map_allows(name: str) -> None:
    files = [path for path in modules() if layer(path) == name]
    assert files
    for path in files:
        extra = imported_layers(path) - MAY_IMPORT[name] - FOR_ALL - {name}
        assert not extra, f"{path.relative_to(SRC)} reaches into {sorted(extra)}"


def test_the_map_itself_goes_one_way() -> None:
    below: set[str] = set(FOR_ALL)
    for name, allowed in MAY_IMPORT.items():
        assert allowed <= below, f"{name} imports {sorted(allowed - below)}"
        below.add(name)


def test_every_module_is_on_the_map() -> None:
    assert {layer(path) for path in modules()} == set(MAY_IMPORT) | FRONT | DOORS


ON_DEMAND = {
    "ramidyn.cli.peers": "opens the modules of other libraries, which it defines "
    "the interface for",
}
"""packages that import their own modules when these are needed, and why"""


def module_name(path: Path) -> str:
    parts = path.relative_to(SRC.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def cycles(below: dict[str, set[str]]) -> set[str]:
    """Return the modules that are on a cycle of imports, or between two."""
    left = dict(below)
    while True:
        imported = {name for names in left.values() for name in names}
        kept = {m: n & left.keys() for m, n in left.items() if m in imported and n}
        if kept == left:
            return set(kept)
        left = kept


def modules_below(path: Path, known: Collection[str]) -> set[str]:
    """Return the modules that a file imports; of packages only what it takes."""
    found = set(known) & imports(path) - {module_name(path), "ramidyn"}
    return {m for m in found if not any(n.startswith(m + ".") for n in found)}


def test_no_module_imports_itself_through_others() -> None:
    # Imports inside functions count: they hide a cycle, and do not break it.
    paths = {module_name(path): path for path in modules()}
    below = {m: modules_below(path, paths) for m, path in paths.items()}
    for package in ON_DEMAND:
        assert package in cycles(below), f"{package} needs no exception"
        below[package] = {m for m in below[package] if not m.startswith(package + ".")}
    assert not cycles(below)


def test_a_cycle_is_found() -> None:
    below = {"top": {"a"}, "a": {"b"}, "b": {"c", "low"}, "c": {"a"}, "low": set()}
    assert cycles(below) == {"a", "b", "c"}


def test_nobody_below_imports_the_front_door() -> None:
    for path in modules():
        if layer(path) not in FRONT | DOORS:
            assert not imported_layers(path) & FRONT, path.relative_to(SRC)


def test_errors_and_version_import_nothing_of_ours() -> None:
    for name in FOR_ALL:
        assert not imported_layers(SRC / f"{name}.py")


def test_a_class_name_is_used_once() -> None:
    texts = (path.read_text(encoding="utf-8") for path in modules())
    names = Counter(
        n for t in texts for n in re.findall(r"^ *class (\w+)[(:]", t, re.M)
    )
    assert names["Robot"] == 1
    assert not [name for name, uses in names.items() if uses > 1]


def test_only_the_backend_imports_llvmlite() -> None:
    for path in modules():
        uses = any(name.split(".")[0] == "llvmlite" for name in imports(path))
        assert not uses or layer(path) == "backend", path.relative_to(SRC)
