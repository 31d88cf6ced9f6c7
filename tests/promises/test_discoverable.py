"""The front explains itself: help, signatures and completion say what can be done."""

from __future__ import annotations

import doctest
import inspect
import json
import os
import pydoc
import re
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest

import ramidyn
from ramidyn.catalog.paper_robots import chain
from ramidyn.errors import ModelError
from ramidyn.quantities.registry import QUANTITIES
from ramidyn.robot import Robot
from support.language_server import LanguageServer

ROBOT = Robot.from_description(chain(2))


def methods() -> list[str]:
    """Return the public methods of a robot."""
    return [
        name
        for name, value in inspect.getmembers(Robot)
        if not name.startswith("_") and callable(value)
    ]


@pytest.mark.parametrize("name", [n for n in dir(ramidyn.robots) if "load" not in n])
def test_robots_say_that_they_are_robots(name: str) -> None:
    make = getattr(ramidyn.robots, name)
    signature = inspect.signature(make)
    assert signature.return_annotation == "Robot"
    assert make.__module__ == "ramidyn.robots"
    if "geometry" in signature.parameters:
        assert '``geometry="plain"`` has joint axes along x, y' in pydoc.getdoc(make)


def test_every_quantity_is_a_method() -> None:
    assert set(QUANTITIES) <= set(methods())


@pytest.mark.parametrize("name", methods())
def test_a_method_has_its_own_signature_and_docstring(name: str) -> None:
    method = getattr(ROBOT, name)
    signature = inspect.signature(method)
    kinds = {p.kind for p in signature.parameters.values()}
    assert not kinds & {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
    document = inspect.getdoc(method) or ""
    assert len(document.split()) > 3
    assert document == inspect.getdoc(getattr(Robot, name))
    shown = pydoc.plaintext.document(method, name)
    assert shown.startswith(f"{name}(")  # help() shows the signature first


@pytest.mark.parametrize("name", QUANTITIES)
def test_a_quantity_says_what_goes_in_and_what_comes_out(name: str) -> None:
    method = getattr(ROBOT, name)
    document = inspect.getdoc(method) or ""
    for argument in inspect.signature(method).parameters:
        assert re.search(rf"^    {argument}: ", document, flags=re.M), argument
    for array in QUANTITIES[name].declaration.inputs:
        line = re.search(rf"^    {array}: (.*)$", document, flags=re.M)
        assert line
        assert re.match(r"\(n[qv],\) or \(batch, n[qv]\)", line[1])
    _, _, result = document.partition("Returns:\n")
    assert re.search(r"\([a-z0-9]*", result), "the shape of the result"


LEFT_OUT = {
    "packed",  # returns other arrays
}


@pytest.mark.parametrize("name", QUANTITIES)
def test_a_method_takes_every_option_of_its_quantity(name: str) -> None:
    shown = set(inspect.signature(getattr(ROBOT, name)).parameters)
    options = set(QUANTITIES[name].declaration.defaults)
    if name.endswith("_derivatives"):
        options -= {"algorithm", "external"}
    assert options - LEFT_OUT <= shown


@pytest.mark.parametrize("name", QUANTITIES)
def test_a_quantity_has_the_signature_of_its_options(name: str) -> None:
    quantity = getattr(ramidyn, name)
    shown = pydoc.plaintext.document(quantity, name)
    assert shown.startswith(f"{name}(")
    options = list(inspect.signature(quantity).parameters)
    assert options == list(QUANTITIES[name].declaration.defaults)


def documented() -> dict[str, str]:
    """Return the docstrings that users read, by name."""
    public = {n: getattr(ramidyn, n) for n in ramidyn.__all__}
    for name in [n for n, x in public.items() if isinstance(x, types.ModuleType)]:
        module = public[name]
        public |= {f"{name}.{n}": getattr(module, n) for n in module.__all__}
    public |= {f"Robot.{n}": getattr(Robot, n) for n in dir(Robot) if n[0] != "_"}
    return {n: inspect.getdoc(x) or "" for n, x in public.items()}


EXAMPLES = {n: text for n, text in documented().items() if ">>>" in text}


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_in_a_docstring_runs(name: str) -> None:
    test = doctest.DocTestParser().get_doctest(EXAMPLES[name], {}, name, None, None)
    assert doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test).failed == 0


def pyright(folder: Path, *arguments: str) -> Any:
    """Return pyright's report, made outside of the repository and its settings."""
    pytest.importorskip("pyright", reason="pyright is absent")
    search = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        [sys.executable, "-m", "pyright", *arguments, "--outputjson"],
        cwd=folder,
        env={**os.environ, "PATH": search},
        capture_output=True,
        text=True,
        check=False,
    )
    return json.loads(done.stdout)


@pytest.mark.slow
def test_type_checkers_know_almost_every_type(tmp_path: Path) -> None:
    found = pyright(tmp_path, "--ignoreexternal", "--verifytypes", "ramidyn")
    assert found["typeCompleteness"]["completenessScore"] >= 0.98


@pytest.mark.slow
def test_type_checkers_know_the_options_of_quantities(tmp_path: Path) -> None:
    lines = {
        'ramidyn.compile([ramidyn.pose("hand"), ramidyn.mass_matrix], robot)': "",
        'ramidyn.count(ramidyn.operational_inertia(["hand"], damping=0.1), robot)': "",
        'ramidyn.inverse_dynamics(external=["hand"])(expressed_in="world")': "",
        "ramidyn.jacobian()": 'Argument missing for parameter "frame"',
        'ramidyn.forward_dynamics(frame="hand")': 'No parameter named "frame"',
        "ramidyn.forward_dynamics(algorithm=3)": "is not assignable",
    }
    script = ["import ramidyn", "robot = ramidyn.robots.humanoid30()", *lines]
    (tmp_path / "script.py").write_text("\n".join(script), encoding="utf-8")
    found = pyright(tmp_path, "script.py")["generalDiagnostics"]
    said = {d["range"]["start"]["line"]: d["message"] for d in found}
    for place, wanted in enumerate(lines.values(), start=2):
        assert wanted in said.pop(place, "")
    assert not said


@pytest.mark.slow
def test_an_editor_shows_the_options_and_docstrings_of_quantities(
    tmp_path: Path,
) -> None:
    pytest.importorskip("pyright", reason="pyright is absent")
    text = "import ramidyn\n" + "".join(f"ramidyn.{n}\n" for n in QUANTITIES)
    with LanguageServer(tmp_path, text) as server:
        shown = {
            name: server.hover(line, character=len("ramidyn."))
            for line, name in enumerate(QUANTITIES, start=1)
        }
    for name, hover in shown.items():
        signature, document = hover.split("\n\n", 1)
        for option in QUANTITIES[name].declaration.defaults:
            assert f"{option}: " in signature
        whole = inspect.getdoc(getattr(Robot, name)) or ""
        assert document.startswith(whole.partition("\n")[0])
        for array in QUANTITIES[name].declaration.inputs:
            assert f" {array}: (n" in document


def test_looking_at_a_robot_never_fails_and_compiles_nothing() -> None:
    robot = Robot.from_description(chain(2))
    assert hasattr(robot, "loop_forces")
    found = dict(inspect.getmembers(robot))
    assert set(QUANTITIES) <= set(found)
    assert repr(robot.loop_forces) == "loop_forces: not compiled yet"
    assert repr(robot.mass_matrix) == "mass_matrix: not compiled yet"
    with pytest.raises(ModelError, match="robot 'chain' has no loops"):
        robot.loop_forces(robot.neutral(), [0.0, 0.0], [0.0, 0.0])


def test_a_function_looked_at_before_its_first_call_is_the_one_called_after() -> None:
    robot = Robot.from_description(chain(2))
    early = robot.mass_matrix
    q = robot.neutral()
    assert early(q).shape == (2, 2)
    assert robot.mass_matrix is early
    assert "mul" in repr(early)
