"""The front explains itself: help, signatures and completion say what can be done."""

from __future__ import annotations

import inspect
import pydoc
import re

import pytest

from ramify.errors import ModelError
from ramify.model.catalog import chain
from ramify.quantities.registry import QUANTITIES
from ramify.robot import Robot

ROBOT = Robot.from_description(chain(2))


def methods() -> list[str]:
    """Return the public methods of a robot."""
    return [
        name
        for name, value in inspect.getmembers(Robot)
        if not name.startswith("_") and callable(value)
    ]


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
