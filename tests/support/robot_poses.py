"""Forward kinematics of a Robot by its own symbols, evaluated one by one."""

from __future__ import annotations

from typing import Any

import numpy as np

from ramidyn.coordinates.coordinates import Coordinates
from ramidyn.robot import Robot
from ramidyn.spatial.transform import Transform
from ramidyn.spatial.vector3 import Vec
from ramidyn.symbolic.expr import const
from ramidyn.symbolic.interpreter import evaluate
from ramidyn.symbolic.program import Program
from ramidyn.symbolic.trace import trace
from ramidyn.tree.frames import fixed_steps, position, rotation, transform
from ramidyn.tree.tree import ROOT


def poses_program(robot: Robot) -> Program:
    """Trace the positions and rotations of all frames, and the center of mass."""
    model = robot.placed_model

    def poses(q: Any) -> dict[str, Any]:
        joints = Coordinates(model, robot.conventions, q).q
        X: dict[int, Transform] = {ROOT: Transform()}
        moment: Any = np.zeros(3)
        for i, p in model.tree:
            X[i] = X[p].then(*transform(model.tree, i, joints[i]).steps)
            inertia = model.tree.bodies[i].inertia
            h = X[i].rotate_back(Vec(const(float(x)) for x in inertia.h))
            moment = moment + np.array(h) + inertia.m * np.array(position(X[i]))
        frames = [
            X[f.body].then(*fixed_steps(f.placement)) for f in model.frames.values()
        ]
        return {
            "p": np.array([position(T) for T in frames]),
            "R": np.array([rotation(T) for T in frames]),
            "com": moment / robot.mass if robot.mass else moment,
        }

    return trace(poses, {"q": robot.nq})


def poses(robot: Robot, q: Any) -> dict[str, Any]:
    """Return (p, R) of every frame by name, batched as q is, and "com"."""
    out = evaluate(poses_program(robot), {"q": q})
    by_name: dict[str, Any] = {
        name: (out["p"][..., k, :], out["R"][..., k, :, :])
        for k, name in enumerate(robot.model.frames)
    }
    return by_name | {"com of all": out["com"]}
