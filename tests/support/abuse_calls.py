"""Call kernels with everything there is, well and badly: an error or an answer."""

from __future__ import annotations

import array
import ctypes
import itertools
import random

import numpy as np

from ramidyn.errors import Error
from support.affine import affine


class Liar:
    """Says that it is an array, and is not."""

    __array_interface__ = {"shape": (3,), "typestr": "<f8", "data": None, "version": 3}  # noqa: RUF012


class Raiser:
    def __array__(self, *_: object, **__: object) -> None:
        raise RuntimeError("no")


class Subclass(np.ndarray):
    """An array that is not exactly NumPy's own type."""


class Resizer:
    """Changes an array that may be another argument while it is converted."""

    memory = np.ones(3)

    def __array__(self, *_: object, **__: object) -> np.ndarray:
        self.memory.resize(1 << 16 if self.memory.size == 3 else 3, refcheck=False)
        return np.ones(3)


class Float(float):
    def __float__(self) -> float:
        raise RuntimeError("no")


def values() -> list[object]:
    """Return objects to pass as an input or as out."""
    read_only = np.ones(3)
    read_only.flags.writeable = False
    memory = np.ones(64)
    strided = np.lib.stride_tricks.as_strided
    return [
        None,
        True,
        0,
        -1,
        1.5,
        1j,
        10**400,
        2**64,
        float("nan"),
        Float(2),
        np.float32(2),
        np.int64(2),
        np.bool_(True),
        np.complex64(2),
        np.datetime64(1, "s"),
        np.array(2),
        np.array(2, object),
        np.array("a"),
        Resizer(),
        Resizer.memory,
        [1, 2, 10**400],
        [1, None, 2],
        [1.5, Float(2), True],
        (np.float32(1), np.array(2), 2**64),
        [np.ones(1)] * 3,
        [[]] * 3,
        "",
        "abc",
        b"abc",
        (),
        [],
        {},
        set(),
        [1, 2, 3],
        [1, [2]],
        [[1, 2, 3]] * 4,
        ["a", "b", "c"],
        (1, 2, 3),
        range(3),
        object(),
        int,
        Liar(),
        Raiser(),
        iter([1, 2, 3]),
        memoryview(b"123"),
        array.array("d", [1, 2, 3]),
        (ctypes.c_double * 3)(1, 2, 3),
        np.float64(2),
        np.ones(()),
        np.ones(0),
        np.ones(1),
        np.ones(2),
        np.ones(3),
        np.ones(4),
        np.ones((1, 3)),
        np.ones((5, 3)),
        np.ones((0, 3)),
        np.ones((3, 5)),
        np.ones((5, 3), order="F"),
        np.ones((2, 2, 3)),
        np.ones((1,) * 30),
        np.ones((3, 0)),
        np.ones(3, "f4"),
        np.ones(3, ">f8"),
        np.ones(3, int),
        np.ones(3, bool),
        np.ones(3, complex),
        np.ones(3, object),
        np.array(["a"] * 3),
        np.zeros(3, "M8[s]"),
        np.zeros(3, [("a", "f8")]),
        np.zeros((5, 3), [("a", "f8"), ("b", "i1")])["a"],
        read_only,
        np.ones(3).view(Subclass),
        np.matrix([[1.0, 2, 3]]),
        np.ma.masked_array(np.ones(3), True),
        np.broadcast_to(1.0, (5, 3)),
        np.broadcast_to(1.0, 3),
        np.ones((10, 6))[::-2, ::2],
        strided(memory, (5, 3), (0, 8)),
        strided(memory, (5, 3), (8, 8)),
        strided(memory, (5, 3), (0, 0)),
        strided(memory, (3,), (0,)),
        memory[:3],
        memory[1:4],
        strided(memory[32:], (5, 3), (-16, -8)),
        memory[:15].reshape(5, 3),
        memory[1:16].reshape(5, 3),
        np.frombuffer(bytes(25), np.uint8)[1:].view(np.float64),
        np.zeros((5, 1 << 20))[:, :3],
        np.broadcast_to(1.0, (1 << 40, 3))[:0],
        np.ones((5, 1 << 16))[:, :: 1 << 15][:, :2],
    ]


def main() -> None:
    random.seed(3)
    kernels = [
        affine({"x": (3,), "s": ()}, {"y": (3,)}),
        affine({"x": (3,), "s": (3,)}, {"y": (3,)}, layout="batch_last"),
        affine({"x": (3,), "s": ()}, {"y": (3,), "z": ()}, threads=2),
        affine({"x": (3,), "s": (1, 3)}, {"y": (3,)}, dtype="float32", lanes=8),
    ]
    answers = errors = 0
    for f in kernels:
        f.check(np.ones(3), np.ones(f.signature.inputs[1][1]))
        pool = values()
        for x, s in random.sample(list(itertools.product(pool, repeat=2)), 3_000):
            out = random.choice(pool)
            for named in (
                {},
                {"out": out},
                {"out": (out, random.choice(pool))},
                {"x": x},
                {"q": s},
            ):
                try:
                    f.call(x, s, **named)
                    answers += 1
                except (Error, TypeError, ValueError, RuntimeError, MemoryError):
                    errors += 1
        for count in range(6):
            try:
                f.call(*[np.ones(3)] * count)
            except (Error, TypeError):
                errors += 1
    print(f"survived: {answers} answers, {errors} errors")


if __name__ == "__main__":
    main()
