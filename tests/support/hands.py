"""Hands: robots whose counts tell the orders of the algorithms of Λ⁻¹ apart."""

from __future__ import annotations

import numpy as np

from ramidyn.builder import Body, Inertia, Joint, RobotBuilder
from ramidyn.description.description import Description


def hand(trunk: int, fingers: int, idle: int = 0, joints: int = 2) -> Description:
    """Return a trunk with fingers at its tip, and idle bodies in chains of four."""
    builder = RobotBuilder(f"hand{fingers}")
    rng = np.random.default_rng(0)
    link = Inertia.from_box(1.0, (0.1, 0.2, 0.3), at=(0.1, 0.05, 0.2))

    def add(name: str, parent: str) -> str:
        joint = Joint.revolute(rng.normal(size=3), name=f"{name}_joint")
        builder.add(Body(name, link), parent, joint, rng.normal(size=3) / 5)
        return name

    tip = "world"
    for k in range(trunk):
        tip = add(f"trunk{k}", tip)
    for k in range(idle):
        add(f"idle{k}", f"idle{k - 1}" if k % 4 else "trunk0")
    for f in range(fingers):
        above = tip
        for k in range(joints):
            above = add(f"finger{f}_{k}", above)
        builder.add_frame(f"tip{f}", above, (0.02, 0.03, 0.05))
    return builder.description()
