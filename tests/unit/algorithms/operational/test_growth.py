"""How the counts of Λ⁻¹ grow: the orders that the papers state, by exact counts.

A hand is a trunk that ends in m fingers, every fingertip an end with six rows. What one
more joint costs, in the trunk or in every finger, tells the orders apart.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest

from ramidyn.algorithms.operational.tasks import Task
from ramidyn.compiler import program_of
from ramidyn.quantities.operational import operational_inertia_inverse
from support.asimo import as_robot
from support.hands import hand
from support.parameters import some
from support.published import published_operations

DEPTHS, ENDS = (3, 6, 7), (2, 3, 4)


@functools.cache
def total(algorithm: str, trunk: int, fingers: int, joints: int = 2) -> int:
    robot = as_robot(hand(trunk, fingers, joints=joints))
    tasks = tuple(Task(f"tip{f}", "pose", "local") for f in range(fingers))
    wanted = operational_inertia_inverse(tasks, algorithm)
    return published_operations(program_of(wanted, robot)).total


def trunk_joint(algorithm: str, fingers: int, depth: int = DEPTHS[0]) -> int:
    """What one more joint in the trunk costs."""
    return total(algorithm, depth + 1, fingers) - total(algorithm, depth, fingers)


def finger_joint(algorithm: str, fingers: int) -> int:
    """What one more joint in every finger costs."""
    return total(algorithm, 3, fingers, 3) - total(algorithm, 3, fingers, 2)


@pytest.mark.parametrize("ends", some(ENDS, slow=ENDS[1:]))
@pytest.mark.parametrize("algorithm", ["rjk", "chang_khatib", "efpa", "pv", "pvr"])
def test_a_trunk_joint_costs_the_same_at_any_depth(algorithm: str, ends: int) -> None:
    assert len({trunk_joint(algorithm, ends, d) for d in DEPTHS}) == 1


@pytest.mark.slow
def test_a_trunk_joint_costs_sfa_more_the_deeper_it_is() -> None:
    first, second, third = (trunk_joint("sfa", 2, d) for d in DEPTHS)
    assert first < second < third


@pytest.mark.parametrize("algorithm", ["rjk", "pvr"])
def test_a_trunk_joint_costs_the_same_for_any_number_of_ends(algorithm: str) -> None:
    assert len({trunk_joint(algorithm, m) for m in ENDS}) == 1


def test_a_trunk_joint_costs_efpa_in_proportion_to_the_ends() -> None:
    two, three, four = (trunk_joint("efpa", m) for m in ENDS)
    articulated = 3 * two - 2 * three  # what is there without ends
    assert four - three == three - two
    assert 0 < articulated < three - two


@pytest.mark.parametrize("algorithm", ["sfa", "pv"])
def test_a_trunk_joint_costs_pv_and_sfa_the_square_of_the_ends(algorithm: str) -> None:
    steps = np.diff([trunk_joint(algorithm, m) for m in (2, 3, 4, 5)])
    half_a_block = 36 // 2  # of pairs, m² / 2, as multiplications and additions
    assert np.diff(steps).tolist() == [4 * half_a_block] * 2


@pytest.mark.parametrize("algorithm", ["rjk", "chang_khatib"])
def test_a_joint_in_every_finger_costs_rjk_the_square_of_the_ends(
    algorithm: str,
) -> None:
    steps = np.diff([finger_joint(algorithm, m) for m in (2, 3, 4, 5)])
    bends = np.diff(steps)
    assert bends[0] == bends[1] > 0.15 * steps[0]


@pytest.mark.parametrize("algorithm", ["efpa", "pv", "pvr", "mixed"])
def test_a_joint_in_every_finger_costs_others_in_proportion_to_the_ends(
    algorithm: str,
) -> None:
    assert len({finger_joint(algorithm, m) / m for m in (2, 3, 4)}) == 1


@pytest.mark.parametrize("ends", some(ENDS, slow=ENDS[1:]))
@pytest.mark.parametrize("depth", DEPTHS[1:])
def test_deep_trunks_cost_mixed_what_they_cost_rjk(depth: int, ends: int) -> None:
    assert trunk_joint("mixed", ends, depth) == trunk_joint("rjk", ends, depth)
