"""Actuators of MJCF as MuJoCo has them: joints, gears and ranges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ramidyn.description.formats.parse import parse
from support.mujoco_agreement import without_meshes
from support.references import MJCFS, needs_shared_robots, path_of

mujoco: Any = pytest.importorskip("mujoco", reason="MuJoCo, the oracle, is absent")
pytestmark = [pytest.mark.oracle, needs_shared_robots]


JOINTS = [
    int(mujoco.mjtTrn.mjTRN_JOINT),
    int(mujoco.mjtTrn.mjTRN_JOINTINPARENT),
]


@pytest.mark.parametrize("name", MJCFS)
def test_actuators_are_mujocos(name: str) -> None:
    path = path_of(name)
    model = without_meshes(path)
    ours = parse(path).actuators
    assert ours
    assert len(ours) == model.nu
    for i, actuator in enumerate(ours):
        theirs = model.actuator(i)
        assert actuator.name == theirs.name or not theirs.name
        if int(theirs.trntype[0]) in JOINTS:
            assert actuator.joint == model.joint(theirs.trnid[0]).name
        else:
            assert actuator.joint is None
        gear = theirs.gear[: len(actuator.gear)]
        np.testing.assert_allclose(actuator.gear, gear)
        for ours_, limited, range_ in (
            (actuator.control_range, theirs.ctrllimited, theirs.ctrlrange),
            (actuator.force_range, theirs.forcelimited, theirs.forcerange),
        ):
            assert np.isfinite(ours_).all() == bool(limited[0]), actuator.name
            if limited[0]:
                np.testing.assert_allclose(ours_, range_, rtol=1e-12)
