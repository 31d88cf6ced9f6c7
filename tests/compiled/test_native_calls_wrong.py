"""Wrong calls: a clear error, and never a crash."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ramify.backend.native import NativeKernel, Signature, make_callable
from ramify.errors import CompileError, ShapeError
from support.affine import NO_LIBM, affine
from support.processes import run_script

CALLS: list[tuple[type[Exception], str, Callable[[Callable[..., Any]], Any]]] = [
    (
        ShapeError,
        r"x has shape \(2,\); kernel 'f' needs \(3,\) or \(batch, 3\)",
        lambda f: f(np.ones(2), 1.0),
    ),
    (ShapeError, r"x has shape \(2, 2, 3\)", lambda f: f(np.ones((2, 2, 3)), 1.0)),
    (
        ShapeError,
        r"s has shape \(2, 2\).*needs \(\) or \(batch,\)",
        lambda f: f(np.ones(3), np.ones((2, 2))),
    ),
    (ShapeError, "batches differ: x 2, s 3", lambda f: f(np.ones((2, 3)), np.ones(3))),
    (ShapeError, "batches differ: x 0, s 3", lambda f: f(np.ones((0, 3)), np.ones(3))),
    (ShapeError, "x is str", lambda f: f("abc", 1.0)),
    (ShapeError, "x is NoneType", lambda f: f(None, 1.0)),
    (ShapeError, "x is ndarray of complex128", lambda f: f(np.ones(3, complex), 1.0)),
    (ShapeError, "x is ndarray of object", lambda f: f(np.array([1, None, 2]), 1.0)),
    (ShapeError, "x is ndarray of datetime64", lambda f: f(np.zeros(3, "M8[s]"), 1.0)),
    (ShapeError, "x is no array", lambda f: f([[1, 2], [3]], 1.0)),
    (TypeError, r"f\(\) misses 's'", lambda f: f(np.ones(3))),
    (TypeError, r"f\(\) misses 'x', 's'", lambda f: f()),
    (
        TypeError,
        "takes 2 inputs .x, s. and out=; 3 values",
        lambda f: f(np.ones(3), 1.0, 2),
    ),
    (TypeError, r"f\(\) has no input 'y'", lambda f: f(np.ones(3), 1.0, y=2)),
    (TypeError, "got 'x' twice", lambda f: f(np.ones(3), x=1.0)),
    (
        ShapeError,
        r"out has shape \(3,\).*float64 array of shape \(2,\)",
        lambda f: f(np.ones(3), 1.0, out=np.ones(3)),
    ),
    (
        ShapeError,
        r"out has shape \(2,\).*shape \(4, 2\)",
        lambda f: f(np.ones((4, 3)), 1.0, out=np.ones(2)),
    ),
    (
        ShapeError,
        "out is an array of float32",
        lambda f: f(np.ones(3), 1.0, out=np.ones(2, "f4")),
    ),
    (
        ShapeError,
        "out is an array of >f8",
        lambda f: f(np.ones(3), 1.0, out=np.ones(2, ">f8")),
    ),
    (
        ShapeError,
        "out has 2 arrays; kernel 'f' has 1 outputs",
        lambda f: f(np.ones(3), 1.0, out=[1, 2]),
    ),
    (ShapeError, "out is str", lambda f: f(np.ones(3), 1.0, out="y")),
    (
        ShapeError,
        "out is read-only",
        lambda f: f(np.ones(3), 1.0, out=np.broadcast_to(0.0, 2)),
    ),
    (
        ShapeError,
        "out has 'u'; outputs are y",
        lambda f: f(np.ones(3), 1.0, out={"u": np.ones(2)}),
    ),
]


@pytest.mark.usefixtures("call_path")
@pytest.mark.parametrize(("error", "message", "call"), CALLS)
def test_wrong_calls_say_what_is_wrong(
    error: type[Exception], message: str, call: Callable[[Callable[..., Any]], Any]
) -> None:
    f = affine({"x": (3,), "s": ()}, {"y": (2,)})
    for _ in range(2):
        with pytest.raises(error, match=message):
            call(f.call)
        f.check(np.ones(3), np.ones(()))
        f.check(np.ones((5, 3)), np.ones(5))


@pytest.mark.usefixtures("call_path")
def test_outputs_may_not_share_memory() -> None:
    f = affine({"x": (3,)}, {"y": (2,), "z": (2,)})
    y = np.ones(3)
    with pytest.raises(ShapeError, match="out 'y' and out 'z' share memory"):
        f.call(np.ones(3), out=(y[:2], y[1:]))
    both = np.zeros((5, 4))
    f.check(np.ones((5, 3)), out=(both[:, :2], both[:, 2:]))
    with pytest.raises(ShapeError, match="needs a tuple or dict of 2 arrays"):
        f.call(np.ones(3), out=y)


def test_an_input_named_out_is_refused() -> None:
    with pytest.raises(ValueError, match="an input 'out'"):
        make_callable(Signature("f", (("out", ()),), ()), lambda _: 1 / 0, NO_LIBM)


@pytest.mark.usefixtures("call_path")
def test_a_compiler_error_reaches_the_caller_and_the_next_call_tries_again() -> None:
    good = affine({"x": (3,)}, {"y": (2,)})
    tries: list[str] = []

    def kernel_for(kind: Any) -> NativeKernel:
        tries.append(kind)
        if len(tries) < 3:
            raise CompileError("no luck")
        return good.kernel_for(kind)

    f = make_callable(good.signature, kernel_for, NO_LIBM)
    for x in (np.ones(3), np.ones((4, 3))):
        with pytest.raises(CompileError, match="no luck"):
            f(x)
    np.testing.assert_array_equal(f(np.ones(3)), good.call(np.ones(3)))
    assert tries == ["single", "batch", "single"]


@pytest.mark.usefixtures("call_path")
def test_no_arguments_can_crash_the_interpreter() -> None:
    assert "survived" in run_script("abuse_calls.py")
