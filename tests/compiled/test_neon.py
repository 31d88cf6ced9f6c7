"""Code for AArch64, made on any machine and read: vectors, fused multiply-adds."""

from __future__ import annotations

import platform
import re
from typing import Any

import llvmlite.binding as llvm
import pytest

from ramidyn import kernel
from ramidyn.backend.llvm.build import assembly_text
from ramidyn.backend.llvm.target import Processor, Target, host

TRIPLES = ["aarch64-unknown-linux-gnu", "arm64-apple-darwin23.1.0"]
LANES = {"float64": 2, "float32": 4}


@pytest.fixture(scope="module", params=TRIPLES)
def neon(request: pytest.FixtureRequest) -> Processor:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    try:
        llvm.Target.from_triple(request.param)
    except RuntimeError:
        pytest.skip("this llvmlite cannot make code for AArch64")
    return Processor(request.param, "generic", "", 16)


def polynomial(x: Any, y: Any) -> Any:
    for a in x:
        y = y * a + 0.1
    return y - x[0] * x[1]


@pytest.mark.parametrize("dtype", LANES)
def test_a_register_of_neon_is_full_of_states(neon: Processor, dtype: str) -> None:
    assert neon.lanes(dtype) == LANES[dtype]
    assert neon.is_fused


@pytest.mark.skipif(platform.machine() not in {"aarch64", "arm64"}, reason="not ARM")
@pytest.mark.parametrize("dtype", LANES)
def test_this_processor_is_known_to_have_neon(dtype: str) -> None:
    assert host().lanes(dtype) == LANES[dtype]
    assert host().is_fused


@pytest.mark.parametrize("dtype", LANES)
def test_arithmetic_is_in_vectors_and_fused(neon: Processor, dtype: str) -> None:
    f = kernel(polynomial, {"x": 9, "y": ()}, dtype=dtype)
    target = Target(neon, LANES[dtype], dtype)
    code = assembly_text(f._compilation.schedule(target.lanes), target)
    operations = re.findall(
        r"^\s+(f(?:ml[as]|n?m?add|n?m?sub|n?mul)\S*)\s+(.*)", code, re.M
    )
    names = [name.partition(".")[0] for name, _ in operations]
    assert names.count("fmla") == 9
    assert names.count("fmls") == 1
    assert set(names) == {"fmla", "fmls"}
    shape = {"float64": "2d", "float32": "4s"}[dtype]
    for name, registers in operations:
        assert shape in name + registers
