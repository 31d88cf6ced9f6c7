"""Build robots in Python: bodies, joints and inertias, added one by one.

    RobotBuilder   collects bodies, joints and loops, and makes a robot
    Body           a name and an inertia
    Joint          revolute, prismatic, spherical, floating and the others
    Inertia        from a mass and a shape, or from numbers

>>> from ramidyn.builder import Body, Inertia, Joint, RobotBuilder
>>> builder = RobotBuilder("pendulum")
>>> rod = Inertia.from_box(1.0, (0.05, 0.05, 0.5), at=(0, 0, -0.25))
>>> body = builder.add(Body("rod", rod), joint=Joint.revolute((0, 1, 0)))
>>> builder.robot().nv
1
"""

from ramidyn.description.builder import Body, Inertia, Joint
from ramidyn.robot_builder import RobotBuilder

__all__ = ["Body", "Inertia", "Joint", "RobotBuilder"]
