"""Free mechanisms keep their energy and their loops."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from ramify.loading import load
from ramify.mechanism.assembly import assemble
from ramify.mechanism.mobility import mobility
from ramify.mechanism.projection import project
from ramify.simulation.simulate import simulate
from support.paths import SHARED_ROBOTS
from support.planar import double_four_bar


@pytest.mark.parametrize("duration", [1.0, pytest.param(10.0, marks=pytest.mark.slow)])
def test_a_double_four_bar_keeps_its_energy(duration: float) -> None:
    # Falls from upright, through the flat position in which it is singular.
    robot = double_four_bar()
    assert mobility(robot).mobility == 1
    q, qd = project(robot, robot.neutral(), [1.0, -1.0, 1.0, -1.0, 1.0])
    run = simulate(robot, q, qd, duration=duration)
    assert np.abs(run.energy - run.energy[0]).max() < 1e-6  # of 42 J
    assert run.residual.max() < 1e-10
    np.testing.assert_allclose(run.q[:, 2], run.q[:, 0], atol=1e-8)  # still one motion


@pytest.mark.parametrize("duration", [0.5, pytest.param(10.0, marks=pytest.mark.slow)])
def test_cassie_keeps_its_energy(duration: float) -> None:
    pytest.importorskip("scipy")
    path = SHARED_ROBOTS / "cassie" / "cassie.xml"
    if not path.exists():
        pytest.skip(f"{path} is not here")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        robot = load(path)
    velocity = np.random.default_rng(0).normal(size=robot.nv)
    q, qd = project(robot, assemble(robot), velocity)
    run = simulate(robot, q, qd, duration=duration, method="adaptive")
    scale = np.abs(run.energy).max()
    assert np.abs(run.energy - run.energy[0]).max() < 1e-8 * scale
    assert run.residual.max() < 1e-10
