"""The plain vehicle: plausible sizes and masses, the same on both sides."""

from __future__ import annotations

import numpy as np
import pytest

from ramify.model.builder import neutral_poses
from ramify.model.catalog import hmmwv
from ramify.model.pose import Array
from ramify.model.vehicle import RADIUS

PLAIN = hmmwv()
POSES = neutral_poses(PLAIN.bodies)
MASSES = {b.name: b.inertial.mass for b in PLAIN.bodies if b.inertial}


def wheel(name: str) -> Array:
    return POSES[f"{name}_wheel"].p


def test_the_plain_vehicle_has_the_size_and_mass_of_the_car() -> None:
    assert sum(MASSES.values()) == pytest.approx(2340.0)
    assert wheel("left_front")[0] - wheel("left_rear")[0] == pytest.approx(3.30)
    assert wheel("left_front")[1] - wheel("right_front")[1] == pytest.approx(1.82)
    assert 0.4 < RADIUS < 0.5
    for part, mass in {"spindle": 30, "wheel": 50, "upper_arm": 6}.items():
        assert MASSES[f"right_rear_{part}"] == mass


@pytest.mark.parametrize("name", [b.name for b in PLAIN.bodies])
def test_the_plain_vehicle_is_symmetric(name: str) -> None:
    swap = {"left": "right", "right": "left"}
    side, _, rest = name.partition("_")
    other = f"{swap[side]}_{rest}" if side in swap else name
    bodies = {b.name: b for b in PLAIN.bodies}
    mirror = np.diag([1.0, -1.0, 1.0])
    np.testing.assert_allclose(POSES[other].p, mirror @ POSES[name].p, atol=1e-15)
    here, there = bodies[name].inertial, bodies[other].inertial
    assert here is not None
    assert there is not None
    assert here.mass == there.mass
    np.testing.assert_allclose(there.com, mirror @ here.com, atol=1e-15)
    turned = mirror @ here.inertia @ mirror
    np.testing.assert_allclose(there.inertia, turned, atol=1e-12)


@pytest.mark.parametrize("loop", PLAIN.loops, ids=lambda x: x.name)
def test_loops_of_the_plain_vehicle_close_exactly_and_alike(loop) -> None:
    a, b = (
        (POSES[body] @ placement).p
        for body, placement in (
            (loop.body_a, loop.placement_a),
            (loop.body_b, loop.placement_b),
        )
    )
    length = np.linalg.norm(b - a)
    if loop.type == "distance":
        assert loop.length == pytest.approx(0.405, abs=1e-12)
        assert length == pytest.approx(loop.length, abs=1e-15)
    else:
        assert length < 1e-15
