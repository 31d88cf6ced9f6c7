"""Vector sin and cos against mpmath, and the C library lane by lane against NumPy."""

from __future__ import annotations

import ctypes
import functools
import math
from collections.abc import Callable

import llvmlite.binding as llvm
import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray

from ramidyn.backend.llvm import vector_math as vectormath
from ramidyn.backend.llvm.vector_exp import exponential
from ramidyn.backend.runtime.memory_layout import libm_table

ULP = 2.0  # the promise; 1.55 is the worst that searches of 10^8 points have found
WIDTHS = [("float64", n) for n in (2, 4, 8)]
WIDTHS += [("float32", n) for n in (2, 4, 8, 16)]

Real = NDArray[np.floating]
Kernel = Callable[..., list[Real]]


@pytest.fixture(autouse=True)
def precision() -> object:
    with mpmath.workprec(300):
        yield


def machine(host: bool) -> llvm.TargetMachine:
    """Return a new one each time: an engine owns and frees its machine."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    if not host:
        return target.create_target_machine(opt=2, jit=True)
    features = llvm.get_host_cpu_features().flatten()
    cpu = llvm.get_host_cpu_name()
    return target.create_target_machine(cpu=cpu, features=features, opt=2, jit=True)


def native(
    name: str, text: str, dtype: str, lanes: int, *, host: bool = True
) -> Kernel:
    """Compile a loop over arrays around one function of vectormath."""
    inputs = 2 if name in vectormath.BINARY else 1
    outputs = 2 if name == "sincos" else 1
    scalar = {"float64": "double", "float32": "float"}[dtype]
    v = vectormath.vector(scalar, lanes)
    first = 1 if name == "sincos" else 0  # it returns its angle, too
    result = v if outputs == 1 else vectormath.structure(v, first + outputs)
    size = np.dtype(dtype).itemsize
    body: list[str] = []
    for i in range(inputs + outputs):
        body.append(f"  %p{i}.at = getelementptr ptr, ptr %arrays, i64 {i}")
        body.append(f"  %p{i}.base = load ptr, ptr %p{i}.at")
        body.append(f"  %p{i} = getelementptr {v}, ptr %p{i}.base, i64 %i")
    for i in range(inputs):
        body.append(f"  %x{i} = load {v}, ptr %p{i}, align {size}")
    arguments = "".join(f"{v} %x{i}, " for i in range(inputs))
    body.append(f"  %r = call {result} @ramidyn_{name}({arguments}ptr %libm)")
    for i in range(outputs):
        value = "%r"
        if outputs > 1:
            value = f"%r{i}"
            body.append(f"  {value} = extractvalue {result} %r, {first + i}")
        body.append(f"  store {v} {value}, ptr %p{inputs + i}, align {size}")
    loop = "\n".join(body)
    module = llvm.parse_assembly(f"""{text}
define void @loop(ptr %arrays, i64 %n, ptr %libm) {{
entry:
  br label %next
next:
  %i = phi i64 [0, %entry], [%j, %next]
{loop}
  %j = add i64 %i, 1
  %done = icmp eq i64 %j, %n
  br i1 %done, label %end, label %next
end:
  ret void
}}
""")
    module.verify()
    engine = llvm.create_mcjit_compiler(module, machine(host))
    engine.finalize_object()
    address = engine.get_function_address("loop")
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p)
    loop_over = function(address)

    def run(*arrays: Real) -> list[Real]:
        assert engine is not None  # it owns the code
        n = -(-len(arrays[0]) // lanes)
        padded = [np.resize(np.asarray(a, dtype), n * lanes) for a in arrays]
        padded += [np.empty(n * lanes, dtype) for _ in range(outputs)]
        pointers = (ctypes.c_void_p * len(padded))(*(a.ctypes.data for a in padded))
        loop_over(pointers, n, libm_table())
        return [a[: len(arrays[0])] for a in padded[inputs:]]

    return run


@functools.cache
def sincos(dtype: str, lanes: int, *, fused: bool = False, host: bool = True) -> Kernel:
    text = vectormath.sincos(lanes, dtype, fused=fused)
    return native("sincos", text, dtype, lanes, host=host)


def host_has_fma() -> bool:
    features = llvm.get_host_cpu_features()
    return bool(features.get("fma") or features.get("neon") or features.get("fp-armv8"))


def true_sin_cos(x: Real) -> tuple[list[mpmath.mpf], list[mpmath.mpf]]:
    exact = [mpmath.mpf(float(v)) for v in x]
    return [mpmath.sin(v) for v in exact], [mpmath.cos(v) for v in exact]


def worst_ulp(found: Real, true: list[mpmath.mpf]) -> float:
    kind = found.dtype.type
    spacing = np.spacing(np.abs(np.array([float(t) for t in true], kind)))
    errors = [
        abs(mpmath.mpf(float(f)) - t) / mpmath.mpf(float(s))
        for f, t, s in zip(found, true, spacing, strict=True)
    ]
    return float(max(errors))


def assert_within_two_ulp(run: Kernel, x: Real) -> None:
    s, c = run(x)
    true_s, true_c = true_sin_cos(x)
    assert worst_ulp(s, true_s) <= ULP
    assert worst_ulp(c, true_c) <= ULP


def ordinary_points(rng: np.random.Generator, dtype: str) -> Real:
    """Angles of every size up to 1e5, most of them where robots have theirs."""
    blocks = [rng.uniform(-top, top, 60) for top in (0.8, 4.0, 100.0, 1e4, 1e5)]
    blocks += [10.0 ** rng.uniform(-30, 5, 60), [1e5, -1e5]]
    x = np.concatenate(blocks).astype(dtype)
    return x[np.abs(x) <= 1e5]


def points_near_multiples(ks: NDArray[np.int64], dtype: str) -> Real:
    """The numbers on both sides of k·π/2: there one of sin and cos all but vanishes."""
    exact = [int(k) * mpmath.pi / 2 for k in ks]
    x = np.array([float(e) for e in exact], dtype)
    up, down = np.nextafter(x, np.array(np.inf, dtype)), np.nextafter(x, -x)
    x = np.concatenate([x, up, down])
    return x[np.abs(x) <= 1e5]


@pytest.mark.parametrize(("dtype", "lanes"), WIDTHS)
def test_sin_and_cos_are_within_two_ulp(
    dtype: str, lanes: int, rng: np.random.Generator
) -> None:
    assert_within_two_ulp(sincos(dtype, lanes), ordinary_points(rng, dtype))


@pytest.mark.parametrize(("dtype", "lanes"), WIDTHS)
@pytest.mark.skipif(not host_has_fma(), reason="this CPU has no fused multiply-add")
def test_sin_and_cos_with_fused_products_are_within_two_ulp(
    dtype: str, lanes: int, rng: np.random.Generator
) -> None:
    x = ordinary_points(rng, dtype)
    near = points_near_multiples(rng.integers(1, 63661, 40), dtype)
    assert_within_two_ulp(sincos(dtype, lanes, fused=True), np.concatenate([x, near]))


@pytest.mark.parametrize(("dtype", "lanes"), WIDTHS)
def test_sin_and_cos_on_a_baseline_cpu_are_within_two_ulp(
    dtype: str, lanes: int, rng: np.random.Generator
) -> None:
    x = ordinary_points(rng, dtype)
    near = points_near_multiples(rng.integers(1, 63661, 40), dtype)
    assert_within_two_ulp(sincos(dtype, lanes, host=False), np.concatenate([x, near]))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("host", [True, False])
def test_neighbors_of_multiples_of_half_pi_are_within_two_ulp(
    dtype: str, host: bool, rng: np.random.Generator
) -> None:
    ks = np.concatenate(
        [np.arange(1, 200), rng.integers(1, 63661, 600), [63660, 63661]]
    )
    assert_within_two_ulp(sincos(dtype, 4, host=host), points_near_multiples(ks, dtype))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_multiples_of_half_pi_that_come_nearest_a_number_are_within_two_ulp(
    dtype: str,
) -> None:
    # All 63,661 multiples, ranked by how much of x cancels.
    ks = np.arange(1, 63662)
    high, low = map(np.longdouble, vectormath.half_pi(52, 105))
    x = (ks * (high + low)).astype(dtype)
    r = (x - ks * high) - ks * low
    nearest = ks[np.argsort(np.abs(r / x))[:300]]
    assert_within_two_ulp(sincos(dtype, 8), points_near_multiples(nearest, dtype))


@pytest.mark.parametrize(("dtype", "lanes"), WIDTHS)
def test_tiny_and_subnormal_angles_are_their_own_sine(dtype: str, lanes: int) -> None:
    info = np.finfo(dtype)
    tiny = info.smallest_subnormal
    x = np.array([tiny, 3 * tiny, info.tiny / 2, info.tiny, info.tiny * 5], dtype)
    x = np.concatenate([x, -x])
    s, c = sincos(dtype, lanes)(x)
    np.testing.assert_array_equal(s, x)
    np.testing.assert_array_equal(c, 1)


@pytest.mark.parametrize(("dtype", "lanes"), WIDTHS)
def test_zero_keeps_its_sign(dtype: str, lanes: int) -> None:
    x = np.array([0.0, -0.0] * 8, dtype)
    s, c = sincos(dtype, lanes)(x)
    np.testing.assert_array_equal(np.signbit(s), np.signbit(x))
    np.testing.assert_array_equal(s, 0)
    np.testing.assert_array_equal(c, 1)


@pytest.mark.parametrize(("dtype", "lanes"), WIDTHS)
def test_sine_is_odd_and_cosine_even_to_the_bit(
    dtype: str, lanes: int, rng: np.random.Generator
) -> None:
    x = ordinary_points(rng, dtype)
    s, c = sincos(dtype, lanes)(x)
    s_of_minus, c_of_minus = sincos(dtype, lanes)(-x)
    np.testing.assert_array_equal(s_of_minus, -s)
    np.testing.assert_array_equal(c_of_minus, c)


@pytest.mark.parametrize(("dtype", "lanes"), WIDTHS)
def test_huge_angles_are_within_two_ulp(
    dtype: str, lanes: int, rng: np.random.Generator
) -> None:
    top = 300 if dtype == "float64" else 38
    x = (10.0 ** rng.uniform(5, top, 100)).astype(dtype)
    above = np.nextafter(np.array(1e5, dtype), np.array(2e5, dtype))
    x = np.concatenate([x, -x, [above, -above, np.finfo(dtype).max]]).astype(dtype)
    with mpmath.workprec(1400):
        assert_within_two_ulp(sincos(dtype, lanes), x)


@pytest.mark.parametrize(("dtype", "lanes"), WIDTHS)
def test_a_lane_does_not_depend_on_its_neighbors(
    dtype: str, lanes: int, rng: np.random.Generator
) -> None:
    run = sincos(dtype, lanes)
    x = rng.uniform(-10, 10, 48).astype(dtype)
    s, c = run(x)
    odd_ones = rng.random(48) < 0.3
    special = rng.choice([np.nan, np.inf, -np.inf, 1e7, -3e30, 1e5], 48).astype(dtype)
    mixed = np.where(odd_ones, special, x)
    mixed_s, mixed_c = run(mixed)
    np.testing.assert_array_equal(mixed_s[~odd_ones], s[~odd_ones])
    np.testing.assert_array_equal(mixed_c[~odd_ones], c[~odd_ones])
    undefined = ~np.isfinite(mixed)
    np.testing.assert_array_equal(np.isnan(mixed_s), undefined)
    np.testing.assert_array_equal(np.isnan(mixed_c), undefined)
    assert_within_two_ulp(run, mixed[~undefined])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(("dtype", "lanes"), WIDTHS)
def test_what_has_no_sine_gives_nan(dtype: str, lanes: int, bad: float) -> None:
    s, c = sincos(dtype, lanes)(np.full(lanes, bad, dtype))
    assert np.isnan(s).all()
    assert np.isnan(c).all()


@pytest.mark.parametrize("form", [vectormath.DOUBLE, vectormath.FLOAT])
def test_polynomials_are_as_near_as_their_comment_says(form: vectormath.Format) -> None:
    bound_s, bound_c = {"double": (-57.8, -63.7), "float": (-27.8, -32.8)}[form.name]
    for i in range(1, 201):
        r = mpmath.pi / 4 * i / 200
        z = r * r
        s = r + r * z * sum(v * z**n for n, v in enumerate(form.sin))
        c = 1 - z / 2 + z * z * sum(v * z**n for n, v in enumerate(form.cos))
        assert abs(s / mpmath.sin(r) - 1) < mpmath.mpf(2) ** bound_s
        assert abs(c / mpmath.cos(r) - 1) < mpmath.mpf(2) ** bound_c


@pytest.mark.parametrize(("kind", "fused"), list(vectormath.PARTS))
def test_products_of_a_quadrant_and_a_part_are_exact(kind: str, fused: bool) -> None:
    parts = vectormath.PARTS[kind, fused]
    whole = sum(map(mpmath.mpf, parts))
    # The least |r| for |x| ≤ 1e5 is 2^-60.5 (2^-27.9 in float); k adds 16 bits.
    needed = -16 - (28 + 26 if kind == "float" else 61 + 55)
    assert abs(whole - mpmath.pi / 2) < mpmath.mpf(2) ** needed
    if not fused:
        for part in parts[:-1]:
            for k in (63661, 63662, 65535):
                assert mpmath.mpf(k * part) == k * mpmath.mpf(part)


SAMPLES = {
    "sin": (-4, 4),
    "cos": (-4, 4),
    "tan": (-1.5, 1.5),
    "asin": (-1, 1),
    "acos": (-1, 1),
    "atan2": (-3, 3),
    "log": (1e-3, 50),
    "pow": (0.1, 5),
}


@pytest.mark.parametrize(("dtype", "lanes"), WIDTHS)
@pytest.mark.parametrize("name", vectormath.LIBM)
def test_functions_of_the_c_library_act_on_each_lane(
    name: str, dtype: str, lanes: int, rng: np.random.Generator
) -> None:
    inputs = 2 if name in vectormath.BINARY else 1
    text = vectormath.lanewise(name, lanes, dtype)
    run = native(name, text, dtype, lanes)
    arrays = [rng.uniform(*SAMPLES[name], 64).astype(dtype) for _ in range(inputs)]
    (found,) = run(*arrays)
    function = getattr(math, name)
    doubles = [a.astype(float).tolist() for a in arrays]
    expected = [function(*a) for a in zip(*doubles, strict=True)]
    np.testing.assert_array_equal(found, np.array(expected).astype(dtype))


@pytest.mark.parametrize("host", [True, False])
@pytest.mark.parametrize(("dtype", "lanes"), [("float64", 1), *WIDTHS[2::3]])
def test_exp_is_right_to_the_last_digit(
    dtype: str, lanes: int, host: bool, rng: np.random.Generator
) -> None:
    low, high = (-708.0, 709.0) if dtype == "float64" else (-87.0, 88.0)
    x = np.concatenate([rng.uniform(low, high, 1000), rng.normal(size=1000)])
    x = np.concatenate([x, 10.0 ** -rng.uniform(0, 30, 48)]).astype(dtype)
    run = native("exp", exponential(lanes, dtype), dtype, lanes, host=host)
    (found,) = run(x)
    expected = [mpmath.exp(mpmath.mpf(float(a))) for a in x]
    spacing = np.spacing(np.array(expected, float).astype(dtype))
    errors = [
        abs(mpmath.mpf(float(y)) - z) / mpmath.mpf(float(ulp))
        for y, z, ulp in zip(found, expected, spacing, strict=True)
    ]
    assert max(errors) < 1.0


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_exp_ends_at_zero_and_infinity(dtype: str) -> None:
    x = np.array([np.nan, np.inf, -np.inf, 1e4, -1e4, 0.0, -0.0, 1e30], dtype)
    (found,) = native("exp", exponential(4, dtype), dtype, 4)(x)
    expected = np.array([np.nan, np.inf, 0.0, np.inf, 0.0, 1.0, 1.0, np.inf], dtype)
    np.testing.assert_array_equal(found, expected)


def test_functions_of_the_c_library_take_nan_and_inf() -> None:
    x = np.array([np.nan, np.inf, -np.inf, -1.0])
    text = vectormath.lanewise("log", 4, "float64")
    (found,) = native("log", text, "float64", 4)(x)
    np.testing.assert_array_equal(found, [np.nan, np.inf, np.nan, np.nan])


def test_the_table_of_the_c_library_is_made_once_and_whole() -> None:
    assert libm_table() is libm_table()
    assert len(libm_table()) == len(vectormath.LIBM)
    assert all(libm_table())
