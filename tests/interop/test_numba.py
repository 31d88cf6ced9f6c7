"""Numba-compiled code calls the C function of a compiled one."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

import ramidyn

numba = pytest.importorskip("numba", reason="numba is absent")


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_numba_calls_the_address(dtype: Any, rng: np.random.Generator) -> None:
    f = ramidyn.compile(ramidyn.inverse_dynamics, ramidyn.robots.chain(4), dtype=dtype)
    kind = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, *[ctypes.c_void_p] * 4)
    call = kind(f.address)

    @numba.njit
    def torques(q: Any, qd: Any, qdd: Any) -> Any:
        tau = np.empty_like(q)
        arrays = q.ctypes.data, qd.ctypes.data, qdd.ctypes.data, tau.ctypes.data
        if call(len(q), *arrays) != 0:
            raise MemoryError
        return tau

    @numba.njit
    def one_by_one(q: Any, qd: Any, qdd: Any) -> Any:
        tau = np.empty_like(q)
        for k in range(len(q)):
            tau[k] = torques(q[k : k + 1], qd[k : k + 1], qdd[k : k + 1])[0]
        return tau

    x = rng.normal(size=(3, 11, 4)).astype(dtype)
    np.testing.assert_array_equal(torques(*x), f(*x))
    singles = [f(*(a[k] for a in x)) for k in range(11)]
    np.testing.assert_array_equal(one_by_one(*x), singles)
