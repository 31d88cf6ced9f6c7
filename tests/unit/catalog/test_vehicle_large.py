"""The tractor with its semi-trailer: counts of its mechanism, and it stands."""

from __future__ import annotations

import numpy as np
import pytest

from ramidyn import robots
from ramidyn.algorithms.loops.cuts import row_names


def test_the_tractor_has_twenty_loops_that_close() -> None:
    robot = robots.tractor_semitrailer()
    assert (len(robot.tree), robot.nv, len(robot.loops)) == (33, 60, 20)
    assert len(row_names(robot.model)) == 40
    residual = robot.constraint_residual(robot.neutral())
    assert np.abs(residual).max() < 1e-12


def test_ten_wheels_carry_both_bodies() -> None:
    robot = robots.tractor_semitrailer(suspension=True, tires=True, steering=True)
    assert robot.nv == 70
    assert sum("spring" in f.name for f in robot.forces) == 10
    assert sum("tire" in f.name for f in robot.forces) == 10
    assert robot.masses["trailer"] == 12_000


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:robot 'tractor_semitrailer'. dt")
def test_the_tractor_stands_on_its_tires() -> None:
    robot = robots.tractor_semitrailer(suspension=True, tires=True)
    q, still = robot.neutral(), np.zeros(robot.nv)
    run = robot.simulate(q, still, still, 1e-3, duration=0.5)
    assert abs(run.q[-1][2]) < 0.02  # [m]: near where it was built
    assert np.abs(run.qd[-1]).max() < 0.5
    assert np.abs(robot.constraint_residual(run.q[-1])).max() < 1e-9
