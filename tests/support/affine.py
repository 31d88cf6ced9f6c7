"""Affine maps as native cuts, for tests of the call path: y = A x + c, slot by slot."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ramidyn.backend.calls.callable import Signature, make_callable
from ramidyn.backend.llvm.build import NativeKernel
from ramidyn.backend.llvm.jit import LoadedCode, compile_objects
from ramidyn.backend.llvm.target import chosen_processor

_kept: list[LoadedCode] = []  # freeing code is not what these tests are about
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
    objects = compile_objects([lambda s=s: s for s in sources], chosen_processor())
    loaded = LoadedCode(
        [(objects[0], ["cut0"]), (objects[1], ["cut1"])], chosen_processor()
    )
    _kept.append(loaded)
    outputs = tuple(range(n_in, n_in + n_out))
    slots = n_in + n_out + extra_slots
    return NativeKernel(lanes, tuple(loaded.addresses), slots, outputs, loaded)


@dataclass(frozen=True)
class Affine:
    """A kernel y = A x + c over flattened inputs and outputs, and NumPy's answer."""

    signature: Signature
    A: np.ndarray
    c: np.ndarray
    call: Callable[..., Any]
    kernel_for: Callable[[Any], NativeKernel]
    compiled: list[str]  # the kinds of kernel made so far

    def random(self, rng: np.random.Generator, batch: int | None) -> list[np.ndarray]:
        """Return random inputs."""
        shapes = [
            self.signature.shape(core, batch) for _, core in self.signature.inputs
        ]
        return [rng.normal(size=shape).astype(self.signature.dtype) for shape in shapes]

    def reference(self, *inputs: npt.ArrayLike) -> tuple[np.ndarray, ...]:
        """Return the outputs by NumPy, in float64."""
        last = self.signature.layout == "batch_last"
        flat: list[np.ndarray] = []
        for (_, core), value in zip(self.signature.inputs, inputs, strict=True):
            array = np.asarray(value, float)
            if last and array.ndim > len(core):
                array = np.moveaxis(array, -1, 0)
            lead = array.shape[: array.ndim - len(core)]
            flat.append(array.reshape((*lead, math.prod(core))))
        batch = np.broadcast_shapes(*(x.shape[:-1] for x in flat))
        flat.append(np.zeros((*batch, 0)))
        x = np.concatenate(
            [np.broadcast_to(v, (*batch, v.shape[-1])) for v in flat], -1
        )
        y = x @ self.A.T + self.c
        results: list[np.ndarray] = []
        for _, core in self.signature.outputs:
            size = math.prod(core)
            part, y = y[..., :size], y[..., size:]
            part = part.reshape((*batch, *core))
            results.append(np.moveaxis(part, 0, -1) if last and batch else part)
        return tuple(results)

    def check(self, *inputs: npt.ArrayLike, out: Any = None) -> Any:
        """Call, compare with NumPy, and return the result."""
        expected = self.reference(*inputs)
        result = self.call(*inputs, out=out)
        arrays = [result] if len(expected) == 1 else list(result)
        for array, values in zip(arrays, expected, strict=True):
            assert isinstance(array, np.ndarray)
            assert array.shape == values.shape
            assert array.dtype == self.signature.dtype
            tolerance = 1e-12 if self.signature.dtype == "float64" else 1e-4
            np.testing.assert_allclose(array, values, rtol=0, atol=tolerance)
        return result


def affine(
    inputs: Mapping[str, tuple[int, ...]],
    outputs: Mapping[str, tuple[int, ...]],
    *,
    lanes: int = 4,
    single_lanes: int = 1,
    extra_slots: int = 0,
    **options: Any,
) -> Affine:
    """Return an affine kernel with random coefficients, the same ones each time."""
    signature = Signature("f", tuple(inputs.items()), tuple(outputs.items()), **options)
    n_in, n_out = (sum(map(math.prod, p.values())) for p in (inputs, outputs))
    rng = np.random.default_rng(7)
    A, c = rng.normal(size=(n_out, n_in)), rng.normal(size=n_out)
    compiled: list[str] = []

    def kernel_for(kind: str) -> NativeKernel:
        compiled.append(kind)
        width = single_lanes if kind == "single" else lanes
        return affine_kernel(A, c, signature.dtype, width, extra_slots)

    call = make_callable(signature, kernel_for, NO_LIBM)
    return Affine(signature, A, c, call, kernel_for, compiled)
