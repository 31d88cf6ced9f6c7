"""Every public method with arguments of every kind: an answer, or an error of ours.

Each argument of each method is replaced by each odd value in turn, with plausible
values for the others; then random mixtures. What comes back is a result, a
`ramidyn.Error`, or, for files that are not there, an OSError.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ramidyn
from ramidyn import Pose, builder, contacts, forces, loops, tasks
from ramidyn.builder import Body, Inertia, Joint, RobotBuilder
from ramidyn.forces import JointDamper
from ramidyn.robot import Robot
from ramidyn.simulation.run import Run
from support.planar import Planar, four_bar

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

SEED, MIXTURES = 20261117, 20
PLAUSIBLE: dict[str, Any] = {
    "dt": 0.01,
    "frame": "link1",
    "frames": ["link1"],
    "joint": "revolute",
    "body": "link1",
    "body_a": "link0",
    "body_b": "link1",
    "name": "extra",
    "path": "out.npz",
    "steps": 2,
    "time": 0.001,
    "fn": lambda x: 2.0 * x,
    "inputs": {"x": 2},
    "lanes": 4,
    "source": '<mujoco><worldbody><body><joint/><geom size="1"/></body></worldbody>'
    "</mujoco>",
    "axis": (0, 0, 1),
    "mass": 1.0,
    "order": "xyzw",
    "parent": "world",
    "quaternion": (0, 0, 0, 1),
}
STATES = ("q", "qd", "qdd", "tau", "q0", "q1", "v")
OPENS_A_WINDOW = ("show", "play", "log_rerun")
UNCHECKED = ("of",)
"""`Pose.of` is for numbers that were checked"""
USERS_OWN = {("controller", int), ("fn", int)}
"""calls that fail inside of what the user passed"""


def odd_values() -> list[Any]:
    """Return new objects each time: some are written to."""
    return [
        None,
        True,
        -1,
        10**40,
        float("nan"),
        1j,
        "x",
        "",
        b"x",
        [],
        {},
        [1, 2],
        {"a": 1},
        {1: 2},
        {"x"},
        np.ones(3),
        np.ones((2, 2, 2)),
        np.array(["a"]),
        np.full(2, np.nan),
        np.array([1, None]),
        [[1], [1, 2]],
        object(),
        lambda: 0,
        int,
    ]


INERTIA = Inertia.from_box(1.0, (0.1, 0.2, 0.3), at=(0.1, 0.0, 0.2))


def arm() -> Robot:
    b, parent = RobotBuilder("arm"), "world"
    for k, axis in enumerate([(0, 1, 0), (1, 0, 0)]):
        joint = Joint.revolute(axis, name=f"joint{k}")
        b.add(Body(f"link{k}", INERTIA), parent, joint, (0.1, 0.2, 0.3))
        parent = f"link{k}"
    robot = Robot.from_description(b.description())
    return robot.add_force(JointDamper("joint0", 0.1))


def a_builder() -> RobotBuilder:
    b = RobotBuilder("arm")
    b.add(Body("link1", INERTIA), "world", Joint.revolute((0, 0, 1)), (0, 0, 0))
    return b


def owners() -> dict[str, tuple[Any, dict[str, Any]]]:
    """Return what has public methods, and plausible arguments of them."""
    tree, loop = arm(), four_bar()
    q, qd = Planar("four_bar").state(0.3, 1.0)
    run = tree.rollout(np.zeros((2, 2)), np.ones((2, 2)), steps=2, record="tau")
    state = {**PLAUSIBLE, **{name: [0.1, 0.2] for name in STATES}}
    closed = {**PLAUSIBLE, **dict.fromkeys(STATES, qd), "q": q, "q0": q, "q1": q}
    closed["loop_forces"] = np.zeros(len(loop.constraint_residual(q)))
    pose, function = Pose.identity(), ramidyn.compile(ramidyn.mass_matrix, tree)
    spaces = (builder, contacts, forces, loops, tasks)
    return {
        "Robot": (tree, state),
        "Robot with loops": (loop, {**closed, "frame": loop.body_names[0]}),
        "Run": (run, state),
        "Run of one state": (run[0], state),
        "ramidyn": (ramidyn, {**state, "robot": tree}),
        "RobotBuilder": (a_builder(), state),
        "Pose": (pose, PLAUSIBLE),
        "Function": (function, state),
    } | {s.__name__: (s, {**PLAUSIBLE, "joint": "joint0"}) for s in spaces}


OWNERS = (
    *("Robot", "Robot with loops", "Run", "Run of one state", "ramidyn"),
    *("RobotBuilder", "Pose", "Function", "ramidyn.builder", "ramidyn.contacts"),
    *("ramidyn.forces", "ramidyn.loops", "ramidyn.tasks"),
)


def methods(owner: Any) -> Iterator[tuple[str, Callable[..., Any]]]:
    names = owner.__all__ if inspect.ismodule(owner) else dir(owner)
    for name in names:
        if name.startswith("_") or name in (*OPENS_A_WINDOW, *UNCHECKED):
            continue
        found = getattr(owner, name)
        if callable(found) and not (owner is ramidyn and inspect.isclass(found)):
            yield name, found
        if inspect.isclass(found):
            constructors = (n for n in dir(found) if not n.startswith("_"))
            for n in constructors:
                if inspect.ismethod(getattr(found, n)):
                    yield f"{name}.{n}", getattr(found, n)


def calls(
    method: Callable[..., Any], plausible: dict[str, Any], rng: np.random.Generator
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Return what is odd in each call, and its arguments."""
    try:
        parameters = inspect.signature(method).parameters
    except (TypeError, ValueError):
        return
    variable = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    names = [n for n, p in parameters.items() if p.kind not in variable]
    needed = [n for n in names if parameters[n].default is inspect.Parameter.empty]
    if "loop_forces" in names and "loop_forces" in plausible:
        needed.append("loop_forces")  # robots with loops need it
    for name in names:
        for k, odd in enumerate(odd_values()):
            if (name, odd) not in USERS_OWN if callable(odd) else True:
                given = {n: plausible.get(n, odd_values()[k]) for n in needed}
                yield name, {**given, name: odd}
    for _ in range(MIXTURES if names else 0):
        odd = [odd_values()[k] for k in rng.integers(22, size=len(names))]
        some = dict(zip(names, odd, strict=True))
        keep = rng.random(len(names)) < 0.5
        given = {n: plausible[n] for n in needed if n in plausible}
        mixed = {n: x for (n, x), k in zip(some.items(), keep, strict=True) if k}
        rest = {n: x for n, x in some.items() if n in needed}
        yield "a mixture", {**rest, **given, **mixed}


@pytest.mark.parametrize("owner", OWNERS)
def test_odd_arguments_get_an_answer_or_an_error_of_ours(
    owner: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    rng, faults = np.random.default_rng(SEED), list[str]()
    has_methods, plausible = owners()[owner]
    count = 0
    for name, method in methods(has_methods):
        for what, given in calls(method, plausible, rng):
            count += 1
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    method(**given)
            except (ramidyn.Error, OSError):
                continue
            except Exception as error:
                faults.append(f"{name}({what}={given.get(what)!r:.60}): {error!r:.120}")
    assert count > 50
    assert not faults, f"{len(faults)} of {count}:\n" + "\n".join(faults[:60])


@pytest.mark.parametrize("index", [None, "x", 1.5, [[1], [1.5]], {"a": 1}])
def test_a_run_is_indexed_by_integers(index: Any) -> None:
    run: Run = arm().rollout(np.zeros((2, 2)), steps=2)
    with pytest.raises(ramidyn.ArgumentError, match="expected an integer, a slice, or"):
        run[index]
