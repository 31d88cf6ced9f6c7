"""Philox4x32-10 as LLVM IR text: random numbers of all lanes at a time.

What it computes is said in `ramidyn.symbolic.random_numbers`.
"""

from __future__ import annotations

from ramidyn.backend.llvm.vector_math import FORMATS, Lines
from ramidyn.symbolic.random_numbers import MULTIPLIERS, ROUNDS, WEYL

LOW = 0xFFFFFFFF


def random(lanes: int, dtype: str) -> str:
    """Return ``V @ramidyn_random(V %s0, ..., V %index, ptr %libm)``."""
    form = FORMATS[dtype]
    b = Lines(lanes, "ramidyn_random")
    t, i, m = b.vector(form.name), b.vector("i64"), b.vector("i1")

    def do(op: str, x: str, y: str | int) -> str:
        other = b.splat("i64", y) if isinstance(y, int) else y
        return b.let(f"{op} {i} {x}, {other}")

    names = ("s0", "s1", "s2", "state", "step", "index")
    s0, s1, s2, state, step, index = (
        b.let(f"fptoui {t} %{name} to {i}") for name in names
    )
    seed = do("or", do("or", s0, do("shl", s1, 22)), do("shl", s2, 44))
    k0, k1 = do("and", seed, LOW), do("lshr", seed, 32)
    c0, c1 = do("and", step, LOW), do("lshr", step, 32)
    c2, c3 = do("and", state, LOW), do("lshr", index, 1)
    for _ in range(ROUNDS):
        p0, p1 = do("mul", c0, MULTIPLIERS[0]), do("mul", c2, MULTIPLIERS[1])
        c0, c1, c2, c3 = (
            do("xor", do("xor", do("lshr", p1, 32), c1), k0),
            do("and", p1, LOW),
            do("xor", do("xor", do("lshr", p0, 32), c3), k1),
            do("and", p0, LOW),
        )
        k0, k1 = (
            do("and", do("add", k, w), LOW) for k, w in zip((k0, k1), WEYL, strict=True)
        )
    is_second = b.let(f"icmp ne {i} {do('and', index, 1)}, {b.splat('i64', 0)}")
    first, second = (
        b.let(f"select {m} {is_second}, {i} {y}, {i} {x}")
        for x, y in ((c0, c2), (c1, c3))
    )
    whole, scale = do("lshr", first, 8), 2.0**-24
    if dtype == "float64":
        high = do("shl", do("lshr", first, 5), 26)
        whole, scale = do("or", high, do("lshr", second, 6)), 2.0**-53
    number = b.let(f"uitofp {i} {whole} to {t}")
    result = b.let(f"fmul {t} {number}, {b.splat(form.name, scale)}")
    b.leave(form, [result])
    return b.whole(form, [f"%{name}" for name in names])
