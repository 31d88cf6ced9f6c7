"""Frame methods and conversions: arguments choose the function, at hardly any cost."""

from __future__ import annotations

import gc
import inspect
import pickle
import sys
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ramidyn
from ramidyn.backend.calls import vectorcall
from ramidyn.backend.calls.vectorcall import Vectorcall, attach, use_vectorcall
from ramidyn.errors import ArgumentError, ShapeError, UnknownName
from ramidyn.function import Method
from ramidyn.robot import Robot
from support.affine import affine

EMITTED = pytest.mark.skipif(
    Vectorcall is vectorcall.Plain, reason="only the plain path is here"
)


@use_vectorcall
class Scaled(Vectorcall):
    """An affine map that is called."""

    def __init__(self) -> None:
        self.affine = affine({"x": (3,), "w": (2,)}, {"y": (4,)})
        attach(self, self.affine.call)


class Choices:
    """A chooser of affine maps that remembers what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.functions = {name: Scaled() for name in ("hand", "foot")}
        make: Any = self.functions.__getitem__
        signature = inspect.signature(self.motion)
        options = frozenset(("frame", "kind"))
        self.call = Method(
            self, "motion", signature, options, self.resolve, make, needs_options=True
        )

    def motion(self, x: Any, w: Any, frame: Any, *, kind: Any = "plain") -> Any:
        """The signature of the method."""

    def resolve(self, frame: Any, kind: Any = "plain") -> tuple[str]:
        self.asked.append((frame, kind))
        return (frame if isinstance(frame, str) else frame[0],)


WAYS: dict[str, Callable[..., Any]] = {
    "frame by position": lambda f, x, w: f(x, w, "hand"),
    "frame by name": lambda f, x, w: f(x, w, frame="hand"),
    "with an option": lambda f, x, w: f(x, w, "hand", kind="fast"),
    "options in another order": lambda f, x, w: f(x, w, kind="fast", frame="hand"),
    "out first": lambda f, x, w: f(x, w, out=None, frame="hand"),
    "state by name": lambda f, x, w: f(x, frame="hand", w=w),
    "all by name": lambda f, x, w: f(frame="hand", w=w, x=x),
    "a tuple": lambda f, x, w: f(x, w, ("hand", 2)),
    "a list, which is no key": lambda f, x, w: f(x, w, ["hand", 2]),
    "names made up": lambda f, x, w: f(x, w, **{"".join(["fra", "me"]): "hand"}),
    "lists as state": lambda f, x, w: f(x.tolist(), w.tolist(), "hand"),
}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_choose_gives_the_chosen_functions_result(
    rng: np.random.Generator, way: str
) -> None:
    made = Choices()
    for batch in (None, 4):
        x, w = made.functions["hand"].affine.random(rng, batch)
        expected = made.functions["hand"].affine.check(x, w)
        made.functions["foot"].affine.check(x, w)
        for _ in range(3):
            made.call(x, w, "foot", kind="fast")
            np.testing.assert_array_equal(WAYS[way](made.call, x, w), expected)


def test_out_goes_to_the_chosen_function(rng: np.random.Generator) -> None:
    made = Choices()
    x, w = made.functions["hand"].affine.random(rng, None)
    expected = made.functions["hand"].affine.check(x, w)
    for _ in range(3):
        for options in ({"frame": "hand"}, {"frame": "hand", "kind": "fast"}):
            out = np.empty(4)
            assert made.call(x, w, out=out, **options) is out
            np.testing.assert_array_equal(out, expected)
            assert made.call(x, w, **options, out=out) is out
        assert made.call(x, w, "hand", out=out) is out


@EMITTED
def test_what_was_chosen_is_not_chosen_again(rng: np.random.Generator) -> None:
    made = Choices()
    x, w = rng.normal(size=3), rng.normal(size=2)
    for _ in range(5):
        made.call(x, w, "hand")
        made.call(x, w, "hand", out=np.empty(4))
        made.call(x, w, frame="hand")
        made.call(x, w, "foot", kind="fast")
    assert made.asked == [("hand", "plain"), ("foot", "fast")]


def test_wrong_choices_say_what_is_wrong() -> None:
    made = Choices()
    x, w = np.ones(3), np.ones(2)
    for _ in range(2):
        for given, message in (
            ((x,), "robot.motion is missing arguments 'w', 'frame'; it takes x, w, "),
            ((x, w), "is missing argument 'frame'; it takes x, w, frame, kind=, out="),
            (("hand", x, w), "robot.motion: x is 'hand'; expected an array"),
            ((x, w, "hand", 3), r"takes at most 3 .* \(x, w, frame\); 4 were given"),
        ):
            with pytest.raises(ArgumentError, match=message):
                made.call(*given)
        with pytest.raises(ArgumentError, match=r"'king' .did you mean 'kind'"):
            made.call(x, w, "hand", king=3)
        with pytest.raises(ArgumentError, match=r"robot.motion got .w. twice"):
            made.call(x, w, "hand", w=w)
        with pytest.raises(KeyError, match="head"):
            made.call(x, w, "head")
        with pytest.raises(ShapeError, match=r"x has shape \(2,\)"):
            made.call(w, w, "hand")
        with pytest.raises(ShapeError, match="out is read-only"):
            made.call(x, w, "hand", out=np.broadcast_to(0.0, 4))
        made.call(x, w, "hand")


class Moody:
    """Hashes and compares, unless it does not want to."""

    angry = False

    def __hash__(self) -> int:
        if self.angry:
            raise RuntimeError("no hash today")
        return 1

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no comparison ever")

    def __getitem__(self, _: int) -> str:
        return "hand"


def test_keys_that_raise_are_left_to_python() -> None:
    made, moody = Choices(), Moody()
    x, w = np.ones(3), np.ones(2)
    expected = made.call(x, w, "hand")
    for _ in range(3):
        np.testing.assert_array_equal(made.call(x, w, moody), expected)
    with pytest.raises(RuntimeError, match="no comparison ever"):
        made.call(x, w, Moody())
    moody.angry = True
    with pytest.raises(RuntimeError, match="no hash today"):
        made.call(x, w, moody)


@EMITTED
def test_choosing_leaves_no_reference_and_no_memory(rng: np.random.Generator) -> None:
    made = Choices()
    x, w, out, kind = rng.normal(size=3), rng.normal(size=2), np.empty(4), "f" * 2
    calls: list[Callable[[], Any]] = [
        lambda: made.call(x, w, "hand"),
        lambda: made.call(x, w, "hand", kind=kind, out=out),
        lambda: made.call(x, w, frame="foot", out=None),
        lambda: made.call(x, w, ["hand"]),
        lambda: made.call(x.tolist(), w, "hand"),
    ]
    kept = [made.call, *made.functions.values(), x, w, out, kind, "hand", "out", None]
    for call in calls:
        for _ in range(50):
            call()
        made.asked.clear()
        gc.collect()
        before = [sys.getrefcount(o) for o in kept[:-1]]
        tracemalloc.start()
        call()
        low = tracemalloc.get_traced_memory()[0]
        for _ in range(2_000):
            call()
            made.asked.clear()
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0] - low
        tracemalloc.stop()
        assert [sys.getrefcount(o) for o in kept[:-1]] == before
        assert grown < 4_000


@pytest.fixture(scope="module")
def robot() -> Robot:
    return ramidyn.robots.humanoid30()


QUANTITIES: dict[str, tuple[str, ...]] = {
    "pose": ("q",),
    "velocity": ("q", "qd"),
    "acceleration": ("q", "qd", "qdd"),
    "jacobian": ("q",),
    "jacobian_dot_times_qd": ("q", "qd"),
}


@pytest.mark.parametrize("name", QUANTITIES)
def test_frame_methods_give_what_is_compiled_for_the_frame(
    robot: Robot, rng: np.random.Generator, name: str
) -> None:
    frame = robot.body_names[-1]
    q = robot.random_configuration(rng)
    values = {"q": q, "qd": rng.normal(size=robot.nv), "qdd": rng.normal(size=robot.nv)}
    state = [values[k] for k in QUANTITIES[name]]
    method = getattr(robot, name)
    compiled = ramidyn.compile(getattr(ramidyn, name)(frame), robot)
    expected = compiled(*state)
    for _ in range(2):
        for result in (
            method(*state, frame),
            method(*state, frame=frame),
            method(*state, frame, out=np.empty_like(expected)),
            method(*[x.tolist() for x in state], frame),
            method(*[np.stack([x, x]) for x in state], frame)[1],
            method.function(frame=frame)(*state),
        ):
            np.testing.assert_allclose(result, expected, atol=1e-13)
        if name != "pose":
            world = method(*state, frame, expressed_in="world")
            assert not np.allclose(world, expected)
    with pytest.raises(UnknownName, match="no frame 'nose'"):
        method(*state, "nose")
    assert repr(method) == f"{name}({', '.join(QUANTITIES[name])}, ...)"


def test_methods_that_hand_out_a_function_keep_signature_and_docstring(
    robot: Robot,
) -> None:
    assert str(inspect.signature(robot.normalize)).startswith("(q: ")
    listed = list(inspect.signature(robot.integrate).parameters)
    assert listed == ["q", "qd", "dt", "out", "dtype", "threads"]
    listed = list(inspect.signature(robot.convert_q).parameters)
    assert listed == ["q", "to", "from_", "dtype", "threads"]
    assert "after a time dt" in (robot.integrate.__doc__ or "")
    assert "shortest path" in (Robot.difference.__doc__ or "")


def test_a_method_of_the_class_does_what_the_robots_does(
    robot: Robot, rng: np.random.Generator
) -> None:
    q, v = robot.random_configuration(rng), rng.normal(size=robot.nv)
    moved = robot.integrate(q, v, 0.5)
    np.testing.assert_array_equal(Robot.integrate(robot, q, v, 0.5), moved)
    back = robot.difference(q, moved)
    np.testing.assert_array_equal(Robot.difference(robot, q, moved), back)
    np.testing.assert_array_equal(
        Robot.normalize(robot, 2 * q), robot.normalize(q=2 * q)
    )
    for to in ("mujoco", "pinocchio"):
        converted = robot.convert_qd(q, v, to=to)
        np.testing.assert_array_equal(Robot.convert_qd(robot, q, v, to=to), converted)
        np.testing.assert_array_equal(robot.convert_qd(q=q, qd=v, to=to), converted)


def test_integrate_takes_one_second_unless_told(
    robot: Robot, rng: np.random.Generator
) -> None:
    q, v = robot.random_configuration(rng), rng.normal(size=robot.nv)
    second = robot.integrate(q, v, 1.0)
    copy = pickle.loads(pickle.dumps(robot.integrate))
    for result in (robot.integrate(q, v), robot.integrate(q, qd=v), copy(q, v)):
        np.testing.assert_array_equal(result, second)
    half = robot.integrate(q, v, np.array([0.5, 1.0]))
    np.testing.assert_allclose(half[1], second, atol=1e-14)
    np.testing.assert_allclose(half[0], robot.integrate(q, v, dt=0.5), atol=1e-14)
    with pytest.raises(ArgumentError, match=r"\.integrate is missing argument .qd."):
        robot.integrate(q)


@pytest.mark.parametrize("given", [{}, {"to": "mujoco", "from_": "mujoco"}])
def test_a_conversion_needs_one_of_to_and_from(
    robot: Robot, given: dict[str, str]
) -> None:
    for _ in range(2):
        with pytest.raises(
            ArgumentError, match=r"convert_q: .* of to= and from_= given"
        ):
            robot.convert_q(robot.neutral(), **given)
