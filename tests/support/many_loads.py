"""Load and use a robot again and again, as a long-running program does.

Prints the bytes of memory that each load of the second half added, and the largest
number of robots alive. Nothing here asks for a garbage collection.
"""

from __future__ import annotations

import sys
import weakref

import ramidyn
from ramidyn.robot import Robot
from support.processes import resident
from support.urdf import INERTIA, joint, links, robot

BODY = f'<link name="b"><inertial><mass value="1"/>{INERTIA}</inertial></link>'
TEXT = robot(links("a"), BODY, joint("j", "a", "b"))


def use(arm: Robot) -> None:
    q = arm.neutral()
    arm.mass_matrix(q)
    arm.forward_dynamics(q, q, q)
    arm.jacobian(q, "b")
    arm.integrate(q, q)


def main(loads: int) -> None:
    alive = weakref.WeakSet[Robot]()
    most, half = 0, 0
    for k in range(loads):
        if k == loads // 2:
            half = resident()
        arm = ramidyn.load(TEXT)
        use(arm)
        alive.add(arm)
        most = max(most, len(alive))
    print((resident() - half) // (loads // 2), most)


if __name__ == "__main__":
    main(int(sys.argv[1]))
