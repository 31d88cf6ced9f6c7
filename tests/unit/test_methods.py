"""Methods of a robot: one object that calls the compiled function of its options."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pytest

import ramidyn
from ramidyn import compiler, forces
from ramidyn.backend.calls import vectorcall
from ramidyn.errors import ArgumentError
from ramidyn.function import Method


@pytest.fixture
def robot() -> Any:
    return ramidyn.robots.chain(2)


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The quantities that are compiled, as text."""
    asked: list[str] = []
    original = compiler.compilation_of

    def noted(request: Any, *further: Any) -> Any:
        asked.extend(map(str, request.quantities))
        return original(request, *further)

    monkeypatch.setattr(compiler, "compilation_of", noted)
    return asked


def test_a_call_compiles_only_the_function_of_its_options(
    robot: Any, compiled: list[str]
) -> None:
    q = robot.neutral()
    for _ in range(2):
        robot.forward_dynamics(q, q, tau=q, algorithm="aba")
        robot.forward_dynamics(q, q, q, algorithm="aba", external=None)
    assert compiled == ["forward_dynamics(algorithm='aba')"]
    for _ in range(2):
        robot.forward_dynamics(q, q, q)
        robot.forward_dynamics(q, q, tau=q)
    assert compiled[1:] == ["forward_dynamics"]


def test_a_wrong_call_compiles_nothing(robot: Any, compiled: list[str]) -> None:
    for _ in range(2):
        with pytest.raises(ArgumentError, match="missing argument 'tau'"):
            robot.forward_dynamics(robot.neutral(), robot.neutral())
    assert compiled == []


def test_equal_options_are_compiled_once(robot: Any, compiled: list[str]) -> None:
    q = robot.neutral()
    robot.jacobian(q, "body1")
    robot.jacobian(q, frame="body1")
    robot.jacobian(q=q, frame="body1", out=np.empty((6, 2)))
    robot.task_jacobian(q, ["body1"])
    robot.task_jacobian(q, ("body1",))
    assert len(compiled) == 2


def test_a_method_has_the_attributes_of_its_function(robot: Any) -> None:
    assert robot.mass_matrix.name == "mass_matrix(algorithm='crba') of chain"
    assert robot.mass_matrix.prepare(batch=False).ops == robot.mass_matrix.ops
    assert not hasattr(robot.mass_matrix, "state")
    assert not hasattr(robot.jacobian, "ops")
    assert robot.jacobian.function(frame="body1").ops.mul > 0


class Frozen(Mapping[str, Any]):
    """A mapping that can be a key of a dict."""

    def __init__(self, **given: Any) -> None:
        self.given = given

    def __getitem__(self, name: str) -> Any:
        return self.given[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.given)

    def __len__(self) -> int:
        return len(self.given)

    def __hash__(self) -> int:
        return 1


def test_wrenches_in_a_hashable_mapping_are_read_at_every_call(robot: Any) -> None:
    q = robot.neutral()
    for wrench in (np.ones(6), 2.0 * np.ones(6)):
        wrenches = Frozen(body1=wrench)
        expected = robot.forward_dynamics(q, q, q, external={"body1": wrench})
        for _ in range(2):
            found = robot.forward_dynamics(q, q, q, external=wrenches)
            np.testing.assert_array_equal(found, expected)


def driven_chain() -> Any:
    return ramidyn.robots.chain(2).add_force(forces.Motor("joint0", gear=2.0), "motor")


def test_inputs_of_forces_may_come_last() -> None:
    robot = driven_chain()
    q, results = robot.neutral(), []
    for _ in range(2):  # before and after it is compiled
        results.append(robot.forward_dynamics(q, q, q, [0.5]))
        results.append(robot.forward_dynamics(q, q, q, control=[0.5]))
    for result in results[1:]:
        np.testing.assert_array_equal(result, results[0])
    with pytest.raises(ArgumentError, match="'control'; it takes q, qd, tau, control,"):
        robot.forward_dynamics(q, q, q)


def test_inputs_of_forces_go_along_with_options_that_are_needed() -> None:
    robot = driven_chain()
    names = list(robot.task_acceleration.__signature__.parameters)
    q, control = robot.neutral(), [0.5]
    assert "control" in names
    free = robot.task_acceleration(q, q, q, ["body1"], control=[0.0])
    for _ in range(2):
        driven = robot.task_acceleration(q, q, q, ["body1"], control=control)
        assert not np.allclose(driven, free)
    one = ramidyn.compile(ramidyn.task_acceleration(["body1"]), robot)
    np.testing.assert_allclose(driven, one(q, q, q, control), atol=1e-12)


@pytest.mark.skipif(
    vectorcall.Vectorcall is vectorcall.Plain, reason="only the plain path is here"
)
def test_python_does_not_see_options_that_were_used_before(
    robot: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    q = robot.neutral()
    calls: list[Callable[[], Any]] = [
        lambda: robot.forward_dynamics(q, q, q, algorithm="aba"),
        lambda: robot.forward_dynamics(q, q, q, out=np.empty(2), algorithm="ltdl"),
        lambda: robot.forward_dynamics(q, q, tau=q),
        lambda: robot.forward_dynamics(q, q, q),
        lambda: robot.jacobian(q, "body1", expressed_in="world"),
    ]
    before = [call() for call in calls]
    monkeypatch.setattr(Method, "select", lambda *_: 1 / 0)
    for call, result in zip(calls, before, strict=True):
        np.testing.assert_array_equal(call(), result)
