"""A robot that cannot move: every array has its shape, with zeros among the sizes."""

from __future__ import annotations

import numpy as np
import pytest

import ramidyn
from ramidyn.robot import Robot

MODEL = """<mujoco><worldbody><body name="a" pos="1 2 3"><geom size=".1"/></body>
  </worldbody></mujoco>"""
SQUARE = ("mass_matrix", "mass_matrix_inverse", "coriolis_matrix")


@pytest.fixture(scope="module")
def fixed() -> Robot:
    return ramidyn.load(MODEL, contacts=False)


@pytest.mark.parametrize("name", SQUARE)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_matrices_are_empty_squares(fixed: Robot, name: str, dtype: type) -> None:
    method, n = getattr(fixed, name), 2 if name == "coriolis_matrix" else 1
    assert method(*[np.zeros(0, dtype)] * n).shape == (0, 0)
    assert method(*[np.zeros((3, 0), dtype)] * n).shape == (3, 0, 0)


def test_vectors_are_empty(fixed: Robot) -> None:
    assert fixed.forward_dynamics([], [], []).shape == (0,)
    assert fixed.bias_forces(np.zeros((5, 0)), np.zeros((5, 0))).shape == (5, 0)
    assert fixed.joint_wrenches([], [], []).shape == (0, 6)
    assert fixed.jacobian([], "a").shape == (6, 0)
    np.testing.assert_allclose(fixed.pose([], "a")[:3, 3], [1, 2, 3])


def test_time_passes_without_motion(fixed: Robot) -> None:
    assert fixed.rollout([], [], dt=0.01, steps=2).q.shape == (3, 0)
    run = fixed.simulate([], [], dt=0.01, duration=0.02)
    assert run.q.shape == (3, 0)
    assert run.times[-1] == pytest.approx(0.02)


def test_a_center_without_mass_is_named(fixed: Robot) -> None:
    with pytest.raises(ramidyn.ModelError, match="no moving body has mass, so the cen"):
        fixed.centroidal_momentum_matrix([])


def test_a_kernel_of_nothing_returns_nothing() -> None:
    f = ramidyn.kernel(lambda x: {"y": x.reshape(0, 0)}, {"x": (0,)})
    assert f(np.zeros(0)).shape == (0, 0)
    assert f(np.zeros((9, 0))).shape == (9, 0, 0)
