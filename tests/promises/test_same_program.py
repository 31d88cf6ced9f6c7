"""The same robot gives the same program on every processor."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from numpy._core import _multiarray_umath as umath  # type: ignore[import-not-found]

from support.paths import SHARED_ROBOTS
from support.references import MJCFS, URDFS

TESTS = Path(__file__).resolve().parents[1]
FEW = ("iiwa14", "pendula", "robotiq_2f85_v4")
"""a chain, a file whose noise once decided, and one with loops"""
ALL = (*URDFS, *MJCFS, "toddlerbot_2xc", "catalog")
KERNELS = ("Haswell", "Prescott", "SkylakeX", "Zen", "Nehalem", "Sandybridge")
"""of OpenBLAS; each rounds products of matrices in its own way"""
PROBE = "import numpy as np; np.linalg.svd(np.ones((40, 40)) @ np.ones((40, 40)))"


def environments() -> dict[str, dict[str, str]]:
    """Return the variables of other processors, as far as this one can play them."""
    found = {name: {"OPENBLAS_CORETYPE": name} for name in KERNELS}
    features: dict[str, bool] = umath.__cpu_features__
    here = [name for name in umath.__cpu_dispatch__ if features.get(name)]
    if here:
        found["no vector unit"] = {"NPY_DISABLE_CPU_FEATURES": " ".join(here)}
    # libm has other code without fused multiply-add.
    found["no fma"] = {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-FMA,-AVX2,-FMA4"}
    return found


def programs(names: tuple[str, ...], **variables: str) -> dict[str, dict[str, Any]]:
    """Return what robots give in a process of its own."""
    paths = [str(TESTS), str(TESTS.parent / "src")]
    done = subprocess.run(
        [sys.executable, str(TESTS / "support" / "program_digests.py"), *names],
        capture_output=True,
        text=True,
        env={**os.environ, **variables, "PYTHONPATH": os.pathsep.join(paths)},
        timeout=1800,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@cache
def programs_here(names: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    return programs(names)


def assert_same(names: tuple[str, ...], variables: dict[str, str]) -> None:
    if not SHARED_ROBOTS.is_dir():
        pytest.skip(f"no shared robots in {SHARED_ROBOTS}")
    probe = [sys.executable, "-c", PROBE]
    if subprocess.run(probe, env={**os.environ, **variables}, check=False).returncode:
        pytest.skip(f"this processor cannot run NumPy with {variables}")
    here, there = programs_here(names), programs(names, **variables)
    assert len(here) >= len(names)
    for robot, found in here.items():
        assert there[robot] == found, robot


@pytest.mark.parametrize("name", ["Prescott", "no vector unit"])
def test_a_robot_gives_the_same_program_on_other_processors(name: str) -> None:
    if name not in environments():
        pytest.skip("NumPy uses no vector unit that can be disabled here")
    assert_same(FEW, environments()[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", environments())
def test_all_robots_give_the_same_programs_on_all_processors(name: str) -> None:
    assert_same(ALL, environments()[name])
