"""Contacts that overlap at the start of a run are named: which, how deep, where."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from ramidyn.builder import Body, Inertia, Joint, RobotBuilder
from ramidyn.contacts import ContactSphere, HardLimit, SpherePair
from ramidyn.errors import ModelWarning
from ramidyn.robot import Robot


def slider() -> Robot:
    """Return a ball on a vertical slide, another ball above it."""
    builder = RobotBuilder("slider", gravity=(0.0, 0.0, 0.0))
    inertia = Inertia.from_sphere(1.0, 0.1)
    builder.add(Body("low", inertia), joint=Joint.prismatic((0, 0, 1), name="a"))
    builder.add(Body("high", inertia), joint=Joint.prismatic((0, 0, 1), name="b"))
    return (
        builder.robot()
        .add_contact(ContactSphere("low", 0.1), "floor")
        .add_contact(SpherePair("low", "high", 0.1, 0.1), "pair")
        .add_contact(HardLimit("b", -1.0, 2.0), "stop")
    )


ROBOT = slider()


def test_the_deepest_overlap_is_named() -> None:
    with pytest.warns(
        ModelWarning,
        match=r"robot 'slider': contact 'floor' overlaps by 0.02 m at the start; steps",
    ) as seen:
        ROBOT.simulate([0.08, 1.0], duration=0.002)
    assert seen[0].filename == __file__
    with pytest.warns(ModelWarning, match=r"'pair' overlaps by 0.05 m at the start; "):
        ROBOT.simulate([0.5, 0.65], duration=0.002)
    with pytest.warns(ModelWarning, match=r"'stop' overlaps by 0.5 m .*, as does 1 m"):
        ROBOT.simulate([0.08, 2.5], duration=0.002)


def test_the_state_of_a_batch_is_named() -> None:
    q = np.array([[0.2, 0.9], [0.05, 0.9], [0.09, 0.9]])
    with pytest.warns(ModelWarning, match=r"by 0.05 m at the start in state 1"):
        slider().rollout(q, steps=2)


def test_what_touches_does_not_overlap() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ROBOT.simulate([0.1, 0.3], duration=0.002)


def test_a_shape_that_is_a_parameter_is_not_looked_at() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ROBOT.simulate([0.08, 1.0], duration=0.002, parameters={"radius:floor": 0.05})


def test_a_simulation_records_the_forces_of_contacts() -> None:
    run = ROBOT.simulate([0.1, 0.3], [-1.0, 0.0], duration=0.002)
    assert run.recorded["contact_forces"].shape == (3, 2, 3)
    assert run.recorded["contact_forces"].any()
    limited = ROBOT.remove_contact("floor").remove_contact("pair")
    assert "contact_forces" not in limited.simulate([0.1, 0.3]).recorded
