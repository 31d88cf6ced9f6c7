"""The same cuts between bodies here and in Pinocchio."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ramidyn.description.description import LoopDescription
from ramidyn.description.pose import Array, Pose
from ramidyn.quantities import closed_loops
from ramidyn.quantities.frames import pose
from ramidyn.robot import Robot
from support.loops import as_robot, value

CONTACTS = {"spherical": "CONTACT_3D", "weld": "CONTACT_6D"}

Cut = tuple[str, str, str]
"""its type, a body, and another one that meets it there"""


@dataclass(frozen=True)
class Both:
    """A robot with loops, here and in Pinocchio, and a state that keeps them closed."""

    robot: Robot
    model: Any
    data: Any
    cuts: Any
    cut_data: Any
    q: Array
    qd: Array

    def accelerations(self, pin: Any, q: Array, tau: Array) -> Array:
        """Return Pinocchio's q̈; q has its angles as there."""
        return pin.constraintDynamics(
            self.model,
            self.data,
            q,
            self.qd,
            tau,
            self.cuts,
            self.cut_data,
            self.settings(pin),
        )

    @staticmethod
    def settings(pin: Any) -> Any:
        """Return Pinocchio's settings: hardly any damping."""
        return pin.ProximalSettings(1e-14, 1e-13, 20)


def with_cuts(
    pin: Any, model: Any, robot: Robot, wanted: Sequence[Cut], q: Array, qd: Array
) -> Both:
    """Return a robot with cuts that are closed at q; q̇ is made to keep them closed."""
    loops: list[LoopDescription] = []
    cuts, cut_data = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for k, (type_, a, b) in enumerate(wanted):
        (i, T_i, T_a), (j, T_j, T_b) = (
            _end(pin, model, robot, name, q) for name in (a, b)
        )
        # Both frames where they meet now: in the first body, the second one's.
        meet = T_a.inverse() @ T_b
        names = [None if n == "world" else n for n in (a, b)]
        loops.append(LoopDescription(f"cut {k}", type_, *names, meet, Pose.identity()))
        kind = getattr(pin.ContactType, CONTACTS[type_])
        at = T_i * pin.SE3(meet.R, meet.p)
        cut = pin.RigidConstraintModel(kind, model, i, at, j, T_j, pin.LOCAL)
        cuts.append(cut)
        cut_data.append(cut.createData())
    data = model.createData()
    pin.initConstraintDynamics(model, data, cuts, cut_data)
    closed = as_robot(
        replace(robot.description, loops=tuple(loops)),
        conventions=robot.conventions,
        joint_order=robot.joint_order,
        mimic=robot.mimic,
    )
    J = value(closed_loops.constraint_jacobian, closed, q=q)
    qd = qd - np.linalg.pinv(J) @ (J @ qd)
    return Both(closed, model, data, cuts, cut_data, q, qd)


def _end(pin: Any, model: Any, robot: Robot, name: str, q: Array) -> Any:
    """Return a frame's joint and place in Pinocchio, and its pose in the world."""
    if name == "world":
        return 0, pin.SE3.Identity(), Pose.identity()
    T = value(pose(name), robot, q=q)
    frame = model.frames[model.getFrameId(name, pin.FrameType.BODY)]
    return frame.parentJoint, frame.placement, Pose(T[:3, :3], T[:3, 3])
