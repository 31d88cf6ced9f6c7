"""The robots on which identities are checked, each in one random state."""

from __future__ import annotations

import numpy as np
import pytest

from ramidyn.description.pose import Array
from ramidyn.robot import Robot
from support.states import CASES, case, state


@pytest.fixture(params=CASES)
def robot(request: pytest.FixtureRequest) -> Robot:
    return case(request.param)


@pytest.fixture
def now(robot: Robot, rng: np.random.Generator) -> dict[str, Array]:
    return state(robot, rng)
