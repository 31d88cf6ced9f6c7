"""The force on a moving body: Newton and Euler, in as few operations as zeros allow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ramidyn.algorithms.kinematics import BodyMotion, wrench
from ramidyn.spatial.inertia import RigidInertia
from ramidyn.spatial.vector3 import Vec, matrix3, vector3
from ramidyn.symbolic.count import count
from ramidyn.symbolic.expr import lift
from ramidyn.symbolic.interpreter import evaluate
from ramidyn.symbolic.program import Program
from ramidyn.symbolic.trace import trace

GENERAL = [[0.5, 0.1, -0.2], [0.1, 0.7, 0.3], [-0.2, 0.3, 0.9]]


def force_program(m: float, h: list[float], I: Any) -> Program:
    inertia = RigidInertia(lift(m), vector3(h), matrix3(I))

    def traced(w: Any, wd: Any, a: Any) -> dict[str, Any]:
        f = wrench(inertia, BodyMotion.of(Vec(w), Vec(wd), Vec(a)))
        return {"n": list(f.n), "f": list(f.f)}

    return trace(traced, {"w": 3, "wd": 3, "a": 3})


@pytest.mark.parametrize(
    "I",
    [
        GENERAL,
        np.diag([0.0, 0.0, 0.4]),
        np.diag([0.2, 0.2, 0.4]),  # flat and round
        np.diag([0.3, 0.2, 0.5]),  # flat
        np.diag([0.2, 0.2, 0.0]),  # a rod
        np.zeros((3, 3)),
    ],
)
@pytest.mark.parametrize("m", [0.0, 1.3])
def test_it_is_that_of_newton_and_euler(
    I: Any, m: float, rng: np.random.Generator
) -> None:
    h = rng.normal(size=3)
    w, wd, a = rng.normal(size=(3, 3))
    found = evaluate(force_program(m, h.tolist(), I), {"w": w, "wd": wd, "a": a})
    n = np.array(I) @ wd + np.cross(w, np.array(I) @ w) + np.cross(h, a)
    f = m * a + np.cross(wd, h) + np.cross(w, np.cross(w, h))
    np.testing.assert_allclose(found["n"], n, atol=1e-14)
    np.testing.assert_allclose(found["f"], f, atol=1e-14)


@pytest.mark.parametrize(
    ("I", "wanted"),
    [
        (np.diag([0.0, 0.0, 0.4]), 5),  # I ẇz, and I wz times wx and wy
        (np.diag([0.2, 0.2, 0.0]), 7),
        (np.diag([0.2, 0.2, 0.2]), 3),
    ],
)
def test_zeros_leave_few_operations(I: Any, wanted: int) -> None:
    assert count(force_program(0.0, [0.0, 0.0, 0.0], I)).total == wanted
