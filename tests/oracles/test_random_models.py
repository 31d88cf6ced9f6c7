"""Thousands of random models: M, bias, inverse and forward dynamics, and poses.

Every model agrees with the library that defines its format, or both refuse it.
``pytest tests/oracles/test_random_models.py --slow -n 2`` runs all of them.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from support.random_agreement import mjcf_verdict, urdf_verdict
from support.random_mjcf import random_mjcf, settings
from support.random_urdf import random_urdf

pytestmark = pytest.mark.oracle

MJCF, URDF = 10_000, 3_000
"""models in all"""
PIECE = 100
SAMPLE = 10
"""models of each of the pieces in a default run"""


def mjcf(seed: int) -> str:
    rng = np.random.default_rng([13, seed])
    return mjcf_verdict(random_mjcf(rng, 6, settings(rng)), rng)


def urdf(seed: int) -> str:
    rng = np.random.default_rng([13, seed])
    return urdf_verdict(random_urdf(rng), rng)


def assert_most_agree(verdicts: Counter[str]) -> None:
    """Check that what a piece compares is not just refusals."""
    assert set(verdicts) <= {"agree", "refused"}
    assert verdicts["agree"] > 0.6 * verdicts.total()


@pytest.mark.parametrize("piece", range(4))
def test_sample_of_mjcf_is_mujocos(piece: int) -> None:
    pytest.importorskip("mujoco", reason="MuJoCo, the oracle, is absent")
    seeds = range(piece * SAMPLE, (piece + 1) * SAMPLE)
    assert_most_agree(Counter(mjcf(seed).partition(":")[0] for seed in seeds))


@pytest.mark.parametrize("piece", range(3))
def test_sample_of_urdf_is_pinocchios(piece: int) -> None:
    pytest.importorskip("pinocchio", reason="Pinocchio, the oracle, is absent")
    seeds = range(piece * SAMPLE, (piece + 1) * SAMPLE)
    assert_most_agree(Counter(urdf(seed).partition(":")[0] for seed in seeds))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, MJCF, PIECE))
def test_random_mjcf_is_mujocos(first: int) -> None:
    pytest.importorskip("mujoco", reason="MuJoCo, the oracle, is absent")
    seeds = range(first, first + PIECE)
    assert_most_agree(Counter(mjcf(seed).partition(":")[0] for seed in seeds))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, URDF, PIECE))
def test_random_urdf_is_pinocchios(first: int) -> None:
    pytest.importorskip("pinocchio", reason="Pinocchio, the oracle, is absent")
    seeds = range(first, first + PIECE)
    assert_most_agree(Counter(urdf(seed).partition(":")[0] for seed in seeds))
