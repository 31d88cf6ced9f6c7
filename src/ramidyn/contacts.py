"""Rigid contacts, hard limits and dry friction: what `Robot.add_contact` takes.

    ContactPoint, ContactPoints     shapes of the robot against the ground: a plane, or
    ContactSphere, ContactCapsule   a height function
    ContactBox
    SpherePair                      two spheres on two bodies
    HardLimit                       limits that a joint cannot pass
    DryFriction                     friction that holds a joint at rest
    time_step                       one step with contacts, to be compiled or exported

They act in `Robot.rollout` and `Robot.simulate`, and constrain velocities: nothing
sinks in, and what sticks does not creep. Compliant contact, by contrast, is a force:
see `ramidyn.forces.SphereContact`.

>>> import ramidyn
>>> robot = ramidyn.robots.chain(2)
>>> foot = ramidyn.contacts.ContactSphere("body1", radius=0.02, friction=0.8)
>>> robot = robot.add_contact(foot, name="foot")
>>> robot.contacts[0].name
'foot'
"""

from ramidyn.description.contacts import (
    ContactBox,
    ContactCapsule,
    ContactPoint,
    ContactPoints,
    ContactSphere,
    DryFriction,
    HardLimit,
    SpherePair,
)
from ramidyn.quantities.contact_step import time_step

__all__ = [
    "ContactBox",
    "ContactCapsule",
    "ContactPoint",
    "ContactPoints",
    "ContactSphere",
    "DryFriction",
    "HardLimit",
    "SpherePair",
    "time_step",
]
