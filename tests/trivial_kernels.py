"""Affine maps as native cuts, for tests of the call path: y = A x + c, slot by slot."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np

from ramify.backend.jit import Loaded, compile_objects
from ramify.backend.native import NativeKernel
from ramify.backend.target import host

_kept: list[Loaded] = []  # freeing code is not what these tests are about
NO_LIBM = (ctypes.c_void_p * 1)()


def affine_ir(
    name: str, A: np.ndarray, c: np.ndarray, *, dtype: str, lanes: int, base: int
) -> str:
    """Return a cut that writes A x + c to the slots from ``base`` on."""
    scalar = "double" if dtype == "float64" else "float"
    kind = scalar if lanes == 1 else f"<{lanes} x {scalar}>"
    align = min(lanes * (8 if dtype == "float64" else 4), 64)

    def splat(value: float) -> str:
        text = llvm_float(value, dtype)
        return (
            text if lanes == 1 else "<" + ", ".join([f"{scalar} {text}"] * lanes) + ">"
        )

    lines = [f"define void @{name}(ptr %w, ptr %o, ptr %m) {{"]
    for j in range(A.shape[1]):
        lines.append(f"  %p{j} = getelementptr {kind}, ptr %w, i64 {j}")
        lines.append(f"  %x{j} = load {kind}, ptr %p{j}, align {align}")
    for i, row in enumerate(A):
        lines.append(f"  %y{i}_0 = fadd {kind} {splat(float(c[i]))}, {splat(0.0)}")
        k = 0
        for j in np.flatnonzero(row):
            lines.append(f"  %t{i}_{k} = fmul {kind} %x{j}, {splat(float(row[j]))}")
            lines.append(f"  %y{i}_{k + 1} = fadd {kind} %y{i}_{k}, %t{i}_{k}")
            k += 1
        lines.append(f"  %q{i} = getelementptr {kind}, ptr %o, i64 {base + i}")
        lines.append(f"  store {kind} %y{i}_{k}, ptr %q{i}, align {align}")
    return "\n".join([*lines, "  ret void", "}"])


def llvm_float(value: float, dtype: str) -> str:
    """Return a number as LLVM reads it: the bits of a double."""
    wide = np.float64(np.dtype(dtype).type(value))
    return f"0x{wide.view(np.uint64):016x}"


def affine_kernel(
    A: Sequence[Sequence[float]] | np.ndarray,
    c: Sequence[float] | np.ndarray,
    dtype: str = "float64",
    lanes: int = 1,
    extra_slots: int = 0,
) -> NativeKernel:
    """Return y = A x + c in two cuts, each with half of the outputs."""
    matrix, offset = np.asarray(A, float), np.asarray(c, float)
    n_out, n_in = matrix.shape
    half = n_out // 2
    sources = [
        affine_ir(
            "cut0", matrix[:half], offset[:half], dtype=dtype, lanes=lanes, base=n_in
        ),
        affine_ir(
            "cut1",
            matrix[half:],
            offset[half:],
            dtype=dtype,
            lanes=lanes,
            base=n_in + half,
        ),
    ]
    objects = compile_objects([lambda s=s: s for s in sources], host())
    loaded = Loaded(objects, ["cut0", "cut1"], host())
    _kept.append(loaded)
    return NativeKernel(
        lanes, tuple(loaded.addresses), n_in + n_out + extra_slots, loaded
    )
