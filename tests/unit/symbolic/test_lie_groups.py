"""Exponentials and logarithms of rotations and poses, and their derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

import ramidyn
from ramidyn import math
from ramidyn.symbolic.derivatives import jvp, vjp
from ramidyn.symbolic.interpreter import evaluate
from ramidyn.symbolic.lie_groups import inverse_left_jacobian
from ramidyn.symbolic.trace import trace

ANGLES = [0.0, 1e-12, 1e-6, 1e-3, 0.19, 0.21, 1.0, 3.0, np.pi - 1e-3, np.pi - 1e-7]


def vectors(rng: np.random.Generator, angle: float, count: int = 20) -> np.ndarray:
    axes = rng.normal(size=(count, 3))
    axes[:3] = np.eye(3)
    return angle * axes / np.linalg.norm(axes, axis=1, keepdims=True)


@pytest.mark.parametrize("angle", ANGLES)
def test_exponentials_are_those_of_matrices(
    angle: float, rng: np.random.Generator
) -> None:
    w = vectors(rng, angle)
    np.testing.assert_allclose(
        math.exp_so3(w), Rotation.from_rotvec(w).as_matrix(), rtol=0, atol=1e-15
    )
    twists = np.concatenate([rng.normal(size=w.shape), w], axis=1)
    for x, T in zip(twists, math.exp_se3(twists), strict=True):
        a, b, c = x[3:]
        hat = np.zeros((4, 4))
        hat[:3, :3] = [[0, -c, b], [c, 0, -a], [-b, a, 0]]
        hat[:3, 3] = x[:3]
        np.testing.assert_allclose(T, expm(hat), rtol=0, atol=1e-14)


@pytest.mark.parametrize("angle", ANGLES)
def test_logarithms_undo_exponentials(angle: float, rng: np.random.Generator) -> None:
    w = vectors(rng, angle)
    np.testing.assert_allclose(math.log_so3(math.exp_so3(w)), w, rtol=0, atol=1e-14)
    twists = np.concatenate([rng.normal(size=w.shape), w], axis=1)
    found = math.log_se3(math.exp_se3(twists))
    np.testing.assert_allclose(found, twists, rtol=0, atol=1e-13)


def test_half_turns_have_their_angle_and_one_of_two_axes() -> None:
    for axis in [*np.eye(3), np.ones(3) / np.sqrt(3), np.array([0.6, -0.8, 0.0])]:
        found = math.log_so3(2.0 * np.outer(axis, axis) - np.eye(3))
        assert abs(found @ axis) == pytest.approx(np.pi, abs=4e-15)


def test_errors_lead_to_the_target(rng: np.random.Generator) -> None:
    a, b = math.exp_se3(rng.normal(size=(2, 50, 6)))
    np.testing.assert_allclose(
        a @ math.exp_se3(math.pose_error(a, b)), b, rtol=0, atol=1e-14
    )
    R, S = a[:, :3, :3], b[:, :3, :3]
    np.testing.assert_allclose(
        R @ math.exp_so3(math.rotation_error(R, S)), S, rtol=0, atol=1e-14
    )


def test_kernels_and_numbers_agree(rng: np.random.Generator) -> None:
    x = np.concatenate([vectors(rng, a, 3) for a in ANGLES])
    twists = np.concatenate([rng.normal(size=x.shape), x], axis=1)
    T = math.exp_se3(twists)
    exp = ramidyn.kernel(math.exp_se3, {"twist": 6})
    log = ramidyn.kernel(math.log_se3, {"pose": (4, 4)})
    np.testing.assert_allclose(exp(twists), T, rtol=0, atol=1e-15)
    np.testing.assert_allclose(log(T), math.log_se3(T), rtol=0, atol=2e-14)


@pytest.mark.parametrize("angle", [0.0, 1e-6, 0.19, 0.21, 1.0, np.pi - 1e-7, np.pi])
def test_derivatives_are_finite_and_right(
    angle: float, rng: np.random.Generator
) -> None:
    """exp(log(T exp(h ξ))) changes as T exp(h ξ) does, also where θ is 0 and π."""
    (w,) = vectors(rng, angle, 4)[3:]
    start = math.exp_se3(np.array([0.3, -0.2, 0.5, *w]))

    def there_and_back(xi: Any) -> Any:
        return math.exp_se3(math.log_se3(start @ math.exp_se3(xi)))

    program = trace(there_and_back, {"xi": 6})
    move = rng.normal(size=6)
    given = {"xi": np.zeros(6), "xi_tangent": move}
    found = evaluate(jvp(program, ["xi"]), given)["result_tangent"]
    a, b, c = move[3:]
    hat = np.zeros((4, 4))
    hat[:3, :3] = [[0, -c, b], [c, 0, -a], [-b, a, 0]]
    hat[:3, 3] = move[:3]
    np.testing.assert_allclose(found, start @ hat, rtol=0, atol=1e-8)
    weights = {"xi": np.zeros(6), "result_cotangent": rng.normal(size=(4, 4))}
    back = evaluate(vjp(program, ["xi"]), weights)["xi_cotangent"]
    assert back @ move == pytest.approx(
        np.sum(weights["result_cotangent"] * found), abs=1e-8
    )


def test_wrong_shapes_are_named() -> None:
    with pytest.raises(
        ramidyn.ShapeError,
        match=r"pose has shape \(3, 3\); expected \(\.\.\., 4, 4\)",
    ):
        math.log_se3(np.eye(3))


def test_inverse_left_jacobian_is_the_slope_of_the_logarithm(
    rng: np.random.Generator,
) -> None:
    h = 1e-6
    for size in (1e-3, 0.5, 3.0):
        w = rng.normal(size=3)
        w *= size / np.linalg.norm(w)
        R = math.exp_so3(w)
        ahead, behind = (
            np.array([math.log_so3(math.exp_so3(s * v) @ R) for v in h * np.eye(3)])
            for s in (1, -1)
        )
        slopes = (ahead - behind).T / (2 * h)
        found = inverse_left_jacobian(w)
        np.testing.assert_allclose(found, slopes, atol=1e-7)
