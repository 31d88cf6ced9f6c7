"""Build robots in Python: bodies, joints and inertias, added one by one.

    RobotBuilder   collects bodies and joints
    Body           a name and an inertia
    Joint          revolute, prismatic, spherical, floating and the others
    Inertia        from a mass and a shape, or from numbers

>>> import ramidyn
>>> from ramidyn.builder import Body, Inertia, Joint, RobotBuilder
>>> builder = RobotBuilder("pendulum")
>>> rod = Inertia.from_box(1.0, (0.05, 0.05, 0.5), at=(0, 0, -0.25))
>>> body = builder.add(Body("rod", rod), joint=Joint.revolute((0, 1, 0)))
>>> ramidyn.Robot.from_description(builder.description()).nv
1
"""

from ramidyn.description.builder import Body, Inertia, Joint, RobotBuilder

__all__ = ["Body", "Inertia", "Joint", "RobotBuilder"]
