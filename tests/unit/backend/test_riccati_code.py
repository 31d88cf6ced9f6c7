"""The native Riccati recursion equals the one of NumPy, for all sizes of vectors."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from ramidyn.backend.llvm.build import load_functions
from ramidyn.backend.llvm.word_builder import Module
from ramidyn.backend.planning.blocks import KNOT, Recursion, RiccatiSizes, knot_word
from ramidyn.backend.planning.iteration_code import emit_invoke
from ramidyn.backend.planning.riccati_code import emit_riccati
from ramidyn.backend.runtime.memory_layout import words

DT, KNOTS, DAMPING = 0.02, 6, 0.3


def ir(sizes: RiccatiSizes) -> str:
    module = Module("recursion")
    emit_invoke(module)
    emit_riccati(module, sizes)
    code = module.function("run", 2)
    code.leave(code.call("riccati", *code.arguments))
    return str(module.llvm)


def padded(x: Any, columns: int) -> Any:
    more = np.zeros((*x.shape[:-1], columns - x.shape[-1]))
    return np.ascontiguousarray(np.concatenate([x, more], axis=-1))


@pytest.mark.parametrize(
    ("h", "m", "width", "is_short", "has_gaps", "block"),
    [
        (3, 2, 2, False, True, 0),
        (3, 2, 2, True, False, 0),
        (7, 7, 8, True, True, 0),
        (11, 9, 4, False, False, 0),
        (10, 4, 8, True, False, 8),
        (7, 3, 2, True, True, 6),
    ],
)
def test_native_recursion_equals_numpy(
    h: int,
    m: int,
    width: int,
    is_short: bool,
    has_gaps: bool,
    block: int,
    rng: np.random.Generator,
) -> None:
    n = 2 * h
    dt, varying = DT if is_short else None, h
    sizes = RiccatiSizes(n, m, dt, width, False, has_gaps, block, varying)
    C, D = rng.normal(size=(KNOTS, h, n)), rng.normal(size=(KNOTS, h, m))
    E = np.hstack([np.eye(h), np.zeros((h, h))])
    P, R = np.zeros((2, KNOTS, max(1, block), max(1, block)))
    left, right = np.zeros((2, KNOTS, h, h)) + np.eye(h)
    if block:
        P, R = 0.3 * rng.normal(size=(2, KNOTS, block, block)) + np.eye(block)
        left[:, :block, :block], right[:, :block, :block] = R, P
    A = np.concatenate([left @ (right @ E + DT * C), C], axis=1)
    B = np.concatenate([DT * left @ D, D], axis=1)
    root = rng.normal(size=(KNOTS, n + m, n + m))
    H = root @ root.transpose(0, 2, 1) + np.eye(n + m)
    more = H[:, :varying, :varying]
    H = np.repeat(H[:1], KNOTS, axis=0)
    H[:, :varying, :varying] += more
    g, f = rng.normal(size=(KNOTS, n + m)), rng.normal(size=(KNOTS, n))
    V, v = 1.0 + root[0, :n] @ root[0, :n].T + np.eye(n), rng.normal(size=n)
    given = {
        "A": padded(C if is_short else A, sizes.nx),
        "B": padded(D if is_short else B, sizes.nu),
        "lx": np.ascontiguousarray(g[:, :n]),
        "lu": np.ascontiguousarray(g[:, n:]),
        "lxx": padded(H[:, :n, :n], sizes.nx),
        "lxx_below": padded(H[:1, :n, :n], sizes.nx),
        "P": P,
        "R": R,
        "lux": padded(H[:, n:, :n], sizes.nx),
        "luu": padded(H[:, n:, n:], sizes.nu),
        "gap": f,
        "policy": np.zeros((KNOTS, m, sizes.nx)),
    }
    scratch, damping = np.zeros(sizes.scratch_size), np.array([DAMPING])
    first = scratch[sizes.scratch["V"][0] // 8 :][: n * sizes.nx].reshape(n, -1)
    first[:, :n], first[:, n] = V, v
    block_of = words([0] * (len(Recursion) + 2 * len(KNOT)))
    block_of[Recursion.STEPS], block_of[Recursion.SCRATCH] = KNOTS, scratch.ctypes.data
    for name, x in given.items():
        block_of[knot_word(name)] = x.ctypes.data
        block_of[knot_word(name) + 1] = x.strides[0] * (len(x) > 1)
    (address,) = load_functions(lambda: ir(sizes), ["run"], f"tested {sizes!r}")
    run = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 2)(address)
    assert run(ctypes.addressof(block_of), damping.ctypes.data) == 0
    slope = curvature = 0.0
    for k in reversed(range(KNOTS)):
        if has_gaps:
            slope, curvature = slope + v @ f[k], curvature + 0.5 * f[k] @ V @ f[k]
            v = v + V @ f[k]
        AB = np.hstack([A[k], B[k]])
        Q, q = H[k] + AB.T @ V @ AB, g[k] + AB.T @ v
        damped = Q[n:, n:] + DAMPING * np.eye(m)
        K = -np.linalg.solve(damped, Q[n:, :n])
        alone = -np.linalg.solve(damped, q[n:])
        np.testing.assert_allclose(given["policy"][k, :, :n], K, rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(
            given["policy"][k, :, n], alone, rtol=1e-9, atol=1e-9
        )
        slope, curvature = (
            slope + alone @ q[n:],
            curvature + (0.5 * alone @ Q[n:, n:] @ alone),
        )
        both = np.vstack([np.eye(n), K])
        v = both.T @ (q + Q[:, n:] @ alone)
        V = both.T @ Q @ both
    np.testing.assert_allclose(first[:, :n], V, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(first[:, n], v, rtol=1e-9, atol=1e-9)
    sums = scratch[sizes.scratch["sums"][0] // 8 :]
    defect = np.abs(f).sum() if has_gaps else 0.0
    np.testing.assert_allclose(sums[:3], [slope, curvature, defect], rtol=1e-9)


def test_a_matrix_that_is_not_positive_definite_ends_the_recursion() -> None:
    sizes = RiccatiSizes(2, 1, DT, 2, False, False)
    scratch, damping = np.zeros(sizes.scratch_size), np.array([0.0])
    given = {n: np.zeros(64) for n in KNOT}
    given["luu"][0] = -1.0
    block = words([0] * (len(Recursion) + 2 * len(KNOT)))
    block[Recursion.STEPS], block[Recursion.SCRATCH] = 1, scratch.ctypes.data
    for name, x in given.items():
        block[knot_word(name)] = x.ctypes.data
    (address,) = load_functions(lambda: ir(sizes), ["run"], f"tested {sizes!r}")
    run = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 2)(address)
    assert run(ctypes.addressof(block), damping.ctypes.data) == 1
    given["luu"][0] = 1.0
    assert run(ctypes.addressof(block), damping.ctypes.data) == 0
