"""Free mechanisms keep their energy and their loops."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from ramidyn.loading import load
from ramidyn.mechanism.assembly import assemble
from ramidyn.mechanism.mobility import mobility
from ramidyn.mechanism.projection import project
from support.paths import SHARED_ROBOTS
from support.planar import double_four_bar

ALTERNATE = np.array([1.0, -1.0, 1.0, -1.0, 1.0])
"""how the joints of the double four-bar turn"""


@pytest.mark.parametrize(
    ("duration", "step"),
    [
        (1.0, 2e-3),
        pytest.param(10.0, 1e-3, marks=pytest.mark.slow),
        pytest.param(10.0, 5e-4, marks=pytest.mark.slow),
        pytest.param(10.0, 2.5e-4, marks=pytest.mark.slow),
    ],
)
def test_a_double_four_bar_keeps_its_energy(duration: float, step: float) -> None:
    # Falls from upright, through the flat position in which it is singular.
    robot = double_four_bar()
    assert mobility(robot).mobility == 1
    q, qd = project(robot, robot.neutral(), ALTERNATE)
    run = robot.simulate(q, qd, dt=step, duration=duration)
    assert np.sum(np.diff(np.sign(np.cos(run.q[:, 0]))) != 0) >= 1  # it was flat
    # Of 36 J. The error is that of a method of order four: 5e-9 at 2 ms, then rounding.
    limit = max(1e-8 * (step / 2e-3) ** 4, 1e-10)
    assert np.abs(run.energy - run.energy[0]).max() < limit
    assert run.residual.max() < 1e-13
    np.testing.assert_allclose(run.q, run.q[:, :1] * ALTERNATE, atol=1e-10)


def test_a_projected_double_four_bar_is_one_motion_where_it_is_almost_flat() -> None:
    # At an angle a from flat, coordinates that are off by e leave e a open: nothing.
    robot = double_four_bar()
    q = (np.pi / 2 + 1e-4) * ALTERNATE
    off = q + 2e-8 * np.array([0, 0, 0, 1.0, -1.0])
    closed, velocity = project(robot, off, ALTERNATE)
    np.testing.assert_allclose(closed, closed[0] * ALTERNATE, atol=1e-11)
    np.testing.assert_allclose(velocity, velocity[0] * ALTERNATE, atol=1e-7)


@pytest.mark.filterwarnings("ignore:.* beyond its .* limit")
@pytest.mark.parametrize("duration", [0.2, pytest.param(10.0, marks=pytest.mark.slow)])
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
    run = robot.simulate(q, qd, duration=duration, integrator="adaptive")
    scale = np.abs(run.energy).max()
    assert np.abs(run.energy - run.energy[0]).max() < 1e-8 * scale
    assert run.residual.max() < 1e-10
