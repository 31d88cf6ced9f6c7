"""Constants are operands in memory: no instruction brings them to all lanes."""

from __future__ import annotations

import re
from typing import Any

import pytest

import ramidyn
from ramidyn.backend.llvm.build import assembly_text
from ramidyn.backend.llvm.target import Target, library_target
from ramidyn.backend.llvm.vector_constants import VectorConstants

COUNT = 60


def weighted_sum(x: Any) -> Any:
    return sum(x[k] * (0.1 + 0.37 * k) for k in range(COUNT))


def instructions(name: str, lanes: int, dtype: str) -> list[str]:
    target = Target(library_target(name), lanes, dtype)
    f = ramidyn.kernel(weighted_sum, {"x": COUNT}, dtype=dtype)
    text = assembly_text(f._compilation.schedule(lanes), target)
    return re.findall(r"^\t([a-z]\w*)", text, flags=re.MULTILINE)


@pytest.mark.parametrize(("lanes", "dtype"), [(4, "float64"), (8, "float32")])
def test_avx2_reads_constants_as_operands(lanes: int, dtype: str) -> None:
    found = instructions("x86-64-v3", lanes, dtype)
    assert not [op for op in found if op.startswith("vbroadcast")]
    assert sum(op.startswith(("vfma", "vmul")) for op in found) == COUNT
    # An input of each product is read into a register, and so is one constant at most.
    assert len(found) <= 2 * COUNT + 10


@pytest.mark.parametrize(("lanes", "dtype"), [(2, "float64"), (4, "float32")])
def test_neon_reads_constants_whole(lanes: int, dtype: str) -> None:
    found = instructions("aarch64", lanes, dtype)
    assert not {"dup", "movk", "movz"} & {*found}
    # Both factors of each product are read, two at a time at best.
    assert len(found) <= 3 * COUNT + 10


def test_wide_vectors_have_constants_of_their_own() -> None:
    target = Target(library_target("x86-64-v4"), 8, "float64")
    f = ramidyn.kernel(weighted_sum, {"x": COUNT})
    text = assembly_text(f._compilation.schedule(8), target)
    assert text.count("{1to8}") >= COUNT - 1


def test_vectors_are_kept_once_and_aligned() -> None:
    vectors = VectorConstants("some")
    assert not vectors.definition()
    two, four = "<2 x float>", "<4 x float>"
    first = vectors.read(two, "<float 1.0, float 1.0>", 8)
    second = vectors.read(four, "zeroinitializer", 16)
    assert "i64 0" in first
    assert "i64 16" in second
    assert vectors.read(two, "<float 1.0, float 1.0>", 8) == first
    assert vectors.definition() == (
        "@some = private constant {<2 x float>, <4 x float>} "
        "{<2 x float> <float 1.0, float 1.0>, <4 x float> zeroinitializer}, align 64"
    )
    third = vectors.read("<3 x float>", "zeroinitializer", 12)
    assert "i64 32" in third
    assert "align 16" in third
