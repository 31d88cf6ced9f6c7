"""Random numbers by counters: Philox4x32-10, one operation of a program.

    random(s0, s1, s2, state, step, index)        in [0, 1)

is a function of its arguments, which are whole numbers: the same wherever and whenever
it is computed. The seed is s0 + 2²² s1 + 2⁴⁴ s2, so that float32 can hold its parts. An
index names two numbers, of which its last bit chooses one.

    Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ramidyn.errors import TraceError
from ramidyn.symbolic import functions
from ramidyn.symbolic.expr import Expr, const, lift, random, users_line

Words = npt.NDArray[np.uint64]

MULTIPLIERS: Final = (0xD2511F53, 0xCD9E8D57)
WEYL: Final = (0x9E3779B9, 0xBB67AE85)
ROUNDS: Final = 10
SEED_BITS: Final = (22, 22, 20)
MOST_DRAWS: Final = 2**12
"""of one function in one step, so that float32 can hold their indices"""
_LOW: Final = np.uint64(0xFFFFFFFF)
_HALF: Final = np.uint64(32)


def philox(counter: tuple[Any, ...], key: tuple[Any, ...]) -> list[Words]:
    """Return the four words of a counter of four and a key of two words of 32 bits."""
    c0, c1, c2, c3 = (_words(x) for x in counter)
    k0, k1 = (_words(x) for x in key)
    m0, m1 = (np.uint64(m) for m in MULTIPLIERS)
    for _ in range(ROUNDS):
        p0, p1 = m0 * c0, m1 * c2
        c0, c1, c2, c3 = (
            (p1 >> _HALF) ^ c1 ^ k0,
            p1 & _LOW,
            (p0 >> _HALF) ^ c3 ^ k1,
            p0 & _LOW,
        )
        k0, k1 = (
            (k + np.uint64(w)) & _LOW for k, w in zip((k0, k1), WEYL, strict=True)
        )
    return [c0, c1, c2, c3]


def _words(x: Any) -> Any:
    return np.asarray(x, dtype=np.uint64)


def uniform(*arguments: Any) -> Any:
    """Return what the operation means, for arrays of numbers."""
    dtype = np.result_type(*arguments)
    s0, s1, s2, state, step, index = (np.real(x).astype(np.uint64) for x in arguments)
    seed = s0 | s1 << np.uint64(22) | s2 << np.uint64(44)
    counter = step & _LOW, step >> _HALF, state & _LOW, index >> np.uint64(1)
    words = philox(counter, (seed & _LOW, seed >> _HALF))
    is_second = (index & np.uint64(1)) == 1
    a = np.where(is_second, words[2], words[0])
    b = np.where(is_second, words[3], words[1])
    if dtype == np.float32:
        return ((a >> np.uint64(8)) * 2.0**-24).astype(np.float32)
    whole = (a >> np.uint64(5)) << np.uint64(26) | b >> np.uint64(6)
    return whole * 2.0**-53


def seed_parts(seed: int) -> tuple[float, float, float]:
    """Return a seed of 64 bits as three numbers."""
    parts: list[float] = []
    for bits in SEED_BITS:
        parts.append(float(seed & (2**bits - 1)))
        seed >>= bits
    return parts[0], parts[1], parts[2]


class Random:
    """Random numbers of one step of one state; functions of rollouts take them.

    Each function has numbers of its own, and each call gives others. They depend on
    the seed, the number of the state in its batch and the step alone: not on lanes,
    threads and the other states.
    """

    def __init__(
        self, seed: Any, state: Any, step: Any, streams: list[str] | None = None
    ) -> None:
        self._known = [lift(x) for x in (*seed, state, step)]
        self._streams: list[str] = ["policy"] if streams is None else streams
        self._index = 0
        self._first = 0

    def of(self, function: str) -> Random:
        """Return the numbers of one function, by its name."""
        if function not in self._streams:
            self._streams.append(function)
        *seed, state, step = self._known
        found = Random(seed, state, step, self._streams)
        found._first = self._streams.index(function) * MOST_DRAWS
        return found

    def _next(self) -> Expr:
        if self._index == MOST_DRAWS:
            raise TraceError(
                f"{users_line()}: a function draws more than {MOST_DRAWS:,} random "
                "numbers in a step"
            )
        self._index += 1
        return random(*self._known, const(float(self._first + self._index - 1)))

    def uniform(
        self, shape: int | tuple[int, ...] = (), low: Any = 0.0, high: Any = 1.0
    ) -> Any:
        """Return numbers that are evenly distributed from ``low`` to below ``high``."""
        numbers = _filled(shape, self._next)
        return (
            low + (np.asarray(high) - low) * numbers
            if shape != ()
            else (low + (high - low) * numbers)
        )

    def normal(
        self, shape: int | tuple[int, ...] = (), mean: Any = 0.0, deviation: Any = 1.0
    ) -> Any:
        """Return normally distributed numbers, by Box and Muller's method."""
        spare: list[Expr] = []

        def draw() -> Expr:
            if not spare:
                self._index += self._index % 2
                # 1 − u is never 0, whose logarithm is infinite.
                u, v = 1.0 - self._next(), self._next()
                radius = functions.sqrt(-2.0 * functions.log(u))
                angle = (2.0 * math.pi) * v
                spare.extend(
                    [radius * functions.sin(angle), radius * functions.cos(angle)]
                )
            return spare.pop()

        return mean + deviation * _filled(shape, draw)


def _filled(shape: int | tuple[int, ...], draw: Any) -> Any:
    """Return an array of drawn numbers, or one."""
    if shape == ():
        return draw()
    array: Any = np.empty(shape, dtype=object)
    for k in range(array.size):
        array.flat[k] = draw()
    return array
