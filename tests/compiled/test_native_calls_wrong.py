"""Wrong calls: a clear error, and never a crash."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ramidyn.backend.calls.callable import Signature, make_callable
from ramidyn.backend.llvm.build import NativeKernel
from ramidyn.errors import ArgumentError, CompileError, ShapeError
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
    (
        ShapeError,
        "batch sizes differ: x 2, s 3",
        lambda f: f(np.ones((2, 3)), np.ones(3)),
    ),
    (
        ShapeError,
        "batch sizes differ: x 0, s 3",
        lambda f: f(np.ones((0, 3)), np.ones(3)),
    ),
    (ShapeError, "x is str", lambda f: f("abc", 1.0)),
    (ShapeError, "x is NoneType", lambda f: f(None, 1.0)),
    (ShapeError, "x is ndarray of complex128", lambda f: f(np.ones(3, complex), 1.0)),
    (ShapeError, "x is ndarray of object", lambda f: f(np.array([1, None, 2]), 1.0)),
    (ShapeError, "x is ndarray of datetime64", lambda f: f(np.zeros(3, "M8[s]"), 1.0)),
    (ShapeError, "x is not an array", lambda f: f([[1, 2], [3]], 1.0)),
    (ShapeError, "x is list; .* needs real numbers", lambda f: f(["1", "2", "3"], 1.0)),
    (ShapeError, "x is list; .* needs real numbers", lambda f: f([1, None, 2], 1.0)),
    (ShapeError, "x is tuple; .* needs real numbers", lambda f: f((1, 2, 3j), 1.0)),
    (ShapeError, r"x has shape \(2,\)", lambda f: f([1.0, 2.0], 1.0)),
    (ShapeError, r"x has shape \(4,\)", lambda f: f((1, 2, 3, 4), 1.0)),
    (ShapeError, r"x has shape \(\)", lambda f: f(1.0, 1.0)),
    (ShapeError, "x is an int that is too large", lambda f: f([1, 2, 10**400], 1.0)),
    (ShapeError, "s is an int that is too large", lambda f: f(np.ones(3), 10**400)),
    (ShapeError, "s is complex; .* real numbers", lambda f: f(np.ones(3), 1j)),
    (ShapeError, "s is complex128", lambda f: f(np.ones(3), np.complex128(1))),
    (ShapeError, "s is str", lambda f: f(np.ones(3), "1")),
    (ShapeError, "s is Fraction", lambda f: f(np.ones(3), Fraction(1, 2))),
    (ShapeError, "s is Decimal", lambda f: f(np.ones(3), Decimal(1))),
    (ShapeError, "s is ndarray of object", lambda f: f(np.ones(3), np.array(1, "O"))),
    (ShapeError, "s is timedelta64", lambda f: f(np.ones(3), np.timedelta64(1, "s"))),
    (
        ArgumentError,
        r"f is missing argument 's'",
        lambda f: f(np.ones(3)),
    ),
    (ArgumentError, r"f is missing arguments 'x', 's'", lambda f: f()),
    (
        ArgumentError,
        "takes at most 2 arguments by position .x, s.; 3 were",
        lambda f: f(np.ones(3), 1.0, 2),
    ),
    (
        ArgumentError,
        r"f has no argument 'y'",
        lambda f: f(np.ones(3), 1.0, y=2),
    ),
    (ArgumentError, "got 'x' twice", lambda f: f(np.ones(3), x=1.0)),
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


OVERLAPPING: list[tuple[int | None, tuple[int, ...]]] = [
    (None, (0,)),  # strides in bytes
    (None, (4,)),
    (8, (0, 0)),
    (8, (0, 8)),
    (8, (16, 0)),
    (8, (8, 8)),
    (8, (-8, 8)),
    (8, (8, 24)),
    (8, (12, 8)),
]


@pytest.mark.usefixtures("call_path")
@pytest.mark.parametrize(("batch", "strides"), OVERLAPPING)
def test_an_out_whose_elements_share_memory_is_refused(
    batch: int | None, strides: tuple[int, ...]
) -> None:
    f = affine({"x": (3,)}, {"y": (2,)})
    memory = np.full(100, 7.0)
    shape = f.signature.shape((2,), batch)
    out = np.lib.stride_tricks.as_strided(memory[50:], shape, strides)
    x = np.ones(f.signature.shape((3,), batch))
    f.check(x)
    with pytest.raises(ShapeError, match=r"^out has elements that share memory \(str"):
        f.call(x, out=out)
    assert (memory == 7.0).all()


@pytest.mark.usefixtures("call_path")
def test_an_out_whose_elements_alternate_is_written() -> None:
    f = affine({"x": (3,)}, {"y": (2,)})
    memory = np.full(100, 7.0)
    for batch, strides in ((8, (8, 64)), (8, (16, 8)), (3, (16, 24)), (3, (-16, -24))):
        out = np.lib.stride_tricks.as_strided(memory[50:], (batch, 2), strides)
        f.check(np.arange(3.0 * batch).reshape(batch, 3), out=out)


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
