"""Robots, and their states, that other libraries' functions are tested with."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import ramidyn
from ramidyn.compiler import program_of
from ramidyn.robot import Robot
from support import complex_step
from support.planar import four_bar, swung

DYNAMICS = ("forward_dynamics", "inverse_dynamics")
EXACT = 1e-10
"""of derivatives, over the largest entry"""


@cache
def arm() -> Robot:
    return ramidyn.robots.chain(3)


@cache
def floating() -> Robot:
    return ramidyn.robots.random_tree(
        3, 1, ("floating", "revolute", "spherical"), massless=0.0
    )


@cache
def closed() -> Robot:
    return four_bar()


ROBOTS = {"arm": arm, "floating": floating, "closed": closed}


def states(robot: Robot, rng: np.random.Generator, batch: int) -> list[Any]:
    """Return q, q̇ and torques or accelerations."""
    if robot.loops:
        pairs = [swung(robot, a, 0.3) for a in rng.uniform(0.3, 0.9, batch)]
        q, qd = (np.array(x) for x in zip(*pairs, strict=True))
    else:
        q = robot.random_configuration(rng=rng, batch=batch)
        qd = rng.normal(size=(batch, robot.nv))
    return [q, qd, rng.normal(size=(batch, robot.nv))]


def check_jacobians(robot: Robot, quantity: str, x: list[Any], *found: Any) -> None:
    """Compare derivatives by each input with complex steps; several ways at once."""
    traced = program_of(getattr(ramidyn, quantity), robot)
    names = [v.name for v in traced.inputs]
    given = dict(zip(names, x, strict=True))
    for name, *ways in zip(names, *found, strict=True):
        unit = {name: np.eye(given[name].size)}
        (exact,) = complex_step.directional(traced, given, unit).values()
        scale = EXACT * max(1.0, np.abs(exact).max())
        for way in ways:
            np.testing.assert_allclose(way, exact.T, rtol=0.0, atol=scale)
