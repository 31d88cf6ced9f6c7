"""Force elements: what `Robot.add_force` takes.

    JointSpring, JointDamper, JointFriction     on joints
    JointLimit, Tendon
    PointSpring, TorsionSpring, Bushing         between two bodies, or a body and the
                                                world
    GravityCompensation                         against the weight of a body
    Motor, PositionServo, VelocityServo         actuators: an input ``control``
    GeneralActuator, ActuatorForceRange
    PointContact, SphereContact, Tire           with the ground
    Custom                                      a function of the state

>>> import ramidyn
>>> robot = ramidyn.robots.chain(2)
>>> robot = robot.add_force(ramidyn.forces.JointSpring("joint1", 100.0), name="spring")
>>> print(robot.elastic_energy([0.0, 0.1]).round(12))
0.5
"""

from ramidyn.description.forces.actuators import (
    ActuatorForceRange,
    GeneralActuator,
    Motor,
    PositionServo,
    VelocityServo,
)
from ramidyn.description.forces.bodies import (
    Bushing,
    GravityCompensation,
    PointSpring,
    TorsionSpring,
)
from ramidyn.description.forces.contacts import PointContact, SphereContact, Tire
from ramidyn.description.forces.inputs import Custom
from ramidyn.description.forces.joints import (
    JointDamper,
    JointFriction,
    JointLimit,
    JointSpring,
    Tendon,
)

__all__ = [
    "ActuatorForceRange",
    "Bushing",
    "Custom",
    "GeneralActuator",
    "GravityCompensation",
    "JointDamper",
    "JointFriction",
    "JointLimit",
    "JointSpring",
    "Motor",
    "PointContact",
    "PointSpring",
    "PositionServo",
    "SphereContact",
    "Tendon",
    "Tire",
    "TorsionSpring",
    "VelocityServo",
]
