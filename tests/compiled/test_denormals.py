"""Denormal numbers are zero in a kernel, and are what they were outside of it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import ramidyn
from ramidyn.backend.llvm import jit
from ramidyn.backend.llvm.target import Processor
from ramidyn.backend.llvm.word_builder import Module
from ramidyn.backend.runtime.driver_code import flush_denormals

TYPES = ["float64", "float32"]


def halves_survive() -> bool:
    """Say whether this thread computes with denormal numbers."""
    return all(bool((np.full(9, np.finfo(t).tiny, t) / 2).all()) for t in TYPES)


@pytest.mark.usefixtures("call_path")
@pytest.mark.parametrize("dtype", TYPES)
def test_denormal_numbers_are_zero_inside_and_only_there(dtype: str) -> None:
    half = ramidyn.kernel(lambda x: x * 0.5, {"x": 3}, dtype=dtype)
    twice = ramidyn.kernel(lambda x: x * 2.0, {"x": 3}, dtype=dtype)
    tiny = np.finfo(dtype).tiny
    for shape in ((3,), (19, 3)):
        normal, denormal = np.full(shape, tiny, dtype), np.full(shape, tiny / 2, dtype)
        assert denormal.all()
        np.testing.assert_array_equal(half(normal), 0)  # a result
        np.testing.assert_array_equal(twice(denormal), 0)  # an argument
        np.testing.assert_array_equal(half(4 * normal), 2 * normal)
        assert halves_survive()


def test_threads_of_a_call_are_left_as_they_were() -> None:
    half = ramidyn.kernel(lambda x: x * 0.5, {"x": 3}, threads=2)
    states = np.full((200_000, 3), np.finfo(float).tiny)
    np.testing.assert_array_equal(half(states), 0)
    assert halves_survive()
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(half, states[:9]).result().any() == np.False_
        assert pool.submit(halves_survive).result()


def test_aarch64_sets_and_restores_its_own_bit() -> None:
    jit.llvm.initialize_all_targets()
    jit.llvm.initialize_all_asmprinters()
    module = Module("bits")
    code = module.function("run", 1)
    target = Processor("aarch64-unknown-linux-gnu", "generic", "", 16)
    with flush_denormals(code, target):
        code.call_address(code.arguments[0])
    code.leave(0)
    text = jit.assembly(str(module.llvm), target).lower()
    assert text.count("mrs") == 1
    first, inside = text.index("msr\tfpcr"), text.index("blr")
    assert first < inside < text.rindex("msr\tfpcr")
