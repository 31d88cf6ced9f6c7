"""Simulation of robots with loops: energy, torques, drift."""

from __future__ import annotations

import numpy as np
import pytest

from ramify.errors import ArgumentError, ModelWarning
from ramify.simulation.simulate import simulate
from support.planar import Planar, four_bar


@pytest.mark.parametrize("method", ["rk4", "adaptive"])
@pytest.mark.parametrize("stabilize", ["none", "baumgarte", "project", "partition"])
def test_a_free_four_bar_keeps_its_energy_and_its_loop(
    stabilize: str, method: str
) -> None:
    pytest.importorskip("scipy")
    robot, known = four_bar(), Planar("four_bar")
    q, qd = known.state(0.3, 1.0)
    run = simulate(robot, q, qd, duration=0.5, stabilize=stabilize, method=method)
    assert run.times[-1] == pytest.approx(0.5)
    assert np.ptp(run.energy) < 1e-7 * np.abs(run.energy).max()
    assert run.residual.max() < (1e-7 if stabilize == "none" else 1e-9)


def test_torques_may_depend_on_the_state() -> None:
    robot, known = four_bar(), Planar("four_bar")
    q, qd = known.state(0.3, 1.0)
    damped = simulate(robot, q, qd, torque=lambda _t, _q, qd: -0.05 * qd, duration=0.3)
    assert (np.diff(damped.energy[::50]) < 0).all()


def test_a_run_that_drifts_says_so() -> None:
    robot, known = four_bar(), Planar("four_bar")
    q, qd = known.state(0.3, 20.0)
    message = (
        r"robot 'four_bar': \|Φ\| reaches .* with stabilize='none'; 'project' or a"
    )
    with pytest.warns(ModelWarning, match=message):
        simulate(robot, q, qd, duration=0.5, step=0.01, stabilize="none")


def test_unknown_ways_to_simulate_are_refused() -> None:
    robot = four_bar()
    with pytest.raises(
        ArgumentError, match="stabilize is 'x'; possible: 'none', 'baum"
    ):
        simulate(robot, np.zeros(3), stabilize="x")
    with pytest.raises(
        ArgumentError, match="method is 'x'; possible: 'rk4', 'adaptive'"
    ):
        simulate(robot, np.zeros(3), method="x")


def test_a_run_prints_as_a_short_summary() -> None:
    robot, known = four_bar(), Planar("four_bar")
    q, qd = known.state(0.3, 1.0)
    text = repr(simulate(robot, q, qd, duration=0.02))
    assert text.startswith("Simulation(t = 0 to 0.02 s in 20 steps, nq 3, nv 3; energy")
    assert "loops closed within" in text
    assert len(text) < 200
