"""Tasks, dampings and algorithms that cannot be: what the errors say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ramidyn.algorithms.operational.tasks import Task, tasks_of
from ramidyn.catalog.paper_robots import chain
from ramidyn.compiler import program_of
from ramidyn.errors import ArgumentError, UnknownName
from ramidyn.explain.counts import explain_operational
from ramidyn.quantities.operational import (
    dynamically_consistent_inverse,
    null_space_projector,
    operational_inertia,
    operational_inertia_inverse,
    task_bias,
    task_jacobian,
)
from ramidyn.quantities.operational_inertia import ALGORITHMS
from support.asimo import as_robot

ROWS = (
    "expected a row name or a tuple of row names; possible: 'pose', "
    "'position', 'orientation', 'x', 'y', 'z', 'rx', 'ry', 'rz'"
)
TASKS = "expected the name of a frame, a ramidyn.tasks.Task, or a list of them"
NAMES = "'sfa', 'rjk', 'efpa', 'pv', 'pvr', 'mixed', 'chang_khatib'"
DAMPED = (operational_inertia, dynamically_consistent_inverse, null_space_projector)


@pytest.mark.parametrize(
    ("rows", "shown"),
    [
        (None, "None"),
        (3, "3"),
        ([["x"]], "[['x']]"),
        (("x", 1), "('x', 1)"),
        (np.array([1, 2]), "array([1, 2])"),
        ({"x"}, "{'x'}"),
        ({"x": 1}, "{'x': 1}"),
    ],
)
def test_rows_are_words_in_an_order(rows: Any, shown: str) -> None:
    with pytest.raises(ArgumentError) as raised:
        Task("hand", rows)
    assert str(raised.value) == f"task 'hand': rows is {shown}; {ROWS}"


@pytest.mark.parametrize("frame", [3, None, ("hand",)])
def test_the_frame_of_a_task_is_a_name(frame: Any) -> None:
    with pytest.raises(ArgumentError) as raised:
        Task(frame)
    message = f"task frame is {frame!r}; expected the name of a frame"
    assert str(raised.value) == message


@pytest.mark.parametrize("tasks", [None, 3, {"hand"}, {"hand": 1}, 1.5])
@pytest.mark.parametrize(
    "make", [tasks_of, operational_inertia_inverse, task_jacobian, task_bias, *DAMPED]
)
def test_tasks_are_names_or_tasks(make: Callable[..., Any], tasks: Any) -> None:
    with pytest.raises(ArgumentError) as raised:
        make(tasks)
    assert str(raised.value) == f"tasks is {tasks!r}; {TASKS}"


@pytest.mark.parametrize("damping", [True, False, None, "0.1", -0.1, np.inf, np.nan])
@pytest.mark.parametrize("make", DAMPED)
def test_a_damping_is_a_number_that_is_not_negative(
    make: Callable[..., Any], damping: Any
) -> None:
    message = f"damping is {damping!r}; expected a number, 0 or more"
    with pytest.raises(ArgumentError) as raised:
        make("hand", damping=damping)
    assert str(raised.value) == message
    with pytest.raises(ArgumentError, match="expected a number, 0 or more"):
        program_of(make("body1")(damping=damping), as_robot(chain(2)))


@pytest.mark.parametrize("damping", [np.float32(0.5), np.float64(0.5), np.int64(2), 1])
def test_any_real_number_may_be_a_damping(damping: Any) -> None:
    options = dict(operational_inertia("hand", damping=damping).options)
    assert type(options["damping"]) is float
    assert options["damping"] == float(damping)


@pytest.mark.parametrize("algorithm", ["foo", None, 3, ["sfa"]])
@pytest.mark.parametrize("make", [operational_inertia_inverse, *DAMPED])
def test_algorithms_are_known_by_name(make: Callable[..., Any], algorithm: Any) -> None:
    message = f"algorithm is {algorithm!r}; possible: 'auto', {NAMES}"
    with pytest.raises(ArgumentError) as raised:
        make("hand", algorithm=algorithm)
    assert str(raised.value) == message
    with pytest.raises(ArgumentError) as raised:
        program_of(make("body1", "pv")(algorithm=algorithm), as_robot(chain(2)))
    assert str(raised.value) == message


@pytest.mark.parametrize("algorithm", ["foo", None, "auto"])
def test_the_table_of_counts_names_its_rows(algorithm: Any) -> None:
    table = explain_operational(as_robot(chain(2)), Task("body1", "x"))
    with pytest.raises(ArgumentError) as raised:
        table[algorithm]
    rows = ", ".join(map(repr, ALGORITHMS))
    assert str(raised.value) == f"algorithm is {algorithm!r}; possible: {rows}"


def test_counts_are_of_a_robot() -> None:
    with pytest.raises(
        ArgumentError,
        match=r"robot is 'iiwa'; expected a ramidyn.Robot, as returned by ramidyn.load",
    ):
        explain_operational("iiwa", "hand")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Task("hand", "pos"),
            "task 'hand': no row 'pos'; possible: 'pose', 'position', 'orientation', "
            "'x', 'y', 'z', 'rx', 'ry', 'rz'",
        ),
        (
            lambda: Task("hand", ("x", "position")),
            "task 'hand': row 'x' appears twice",
        ),
        (lambda: Task("hand", ()), "task 'hand': no rows; omit the task"),
        (
            lambda: Task("hand", "x", "body"),
            "task 'hand': expressed_in is 'body'; possible: 'local', 'world', "
            "'local_world_aligned'",
        ),
        (
            lambda: operational_inertia_inverse([]),
            "no tasks given; expected a frame or a ramidyn.tasks.Task, or several",
        ),
        (
            lambda: operational_inertia_inverse([3]),  # type: ignore[list-item]
            "3 is not a task; expected the name of a frame or a ramidyn.tasks.Task",
        ),
        (
            lambda: operational_inertia_inverse(["hand", None]),  # type: ignore[list-item]
            "None is not a task; expected the name of a frame or a ramidyn.tasks.Task",
        ),
        (
            lambda: program_of(operational_inertia_inverse("link"), as_robot(chain(2))),
            "no frame 'link' in robot 'chain'",
        ),
    ],
)
def test_wrong_tasks_are_named(make: object, message: str) -> None:
    with pytest.raises((ArgumentError, UnknownName)) as raised:
        make()  # type: ignore[operator]
    assert message in str(raised.value)
