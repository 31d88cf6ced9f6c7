"""Forces of actuators, as MuJoCo computes them.

force = clip(gain · clip(u) + bias)        τ = clip(Σ gear force)
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ramidyn.algorithms.forces.applied import Applied, Scene
from ramidyn.algorithms.forces.joint_forces import pull, tendon_state
from ramidyn.coordinates.coordinates import Entries
from ramidyn.description.forces.actuators import (
    Actuator,
    ActuatorForceRange,
    GeneralActuator,
    Motor,
    PositionServo,
)
from ramidyn.description.forces.element import ForceElement
from ramidyn.description.forces.inputs import CONTROL, actuators
from ramidyn.description.forces.joints import Tendon
from ramidyn.spatial.rotations import transposed_rotation
from ramidyn.spatial.vector3 import ZERO, vec
from ramidyn.symbolic.expr import Expr, const, extremum, lift, region


def actuator_forces(
    scene: Scene, elements: Sequence[ForceElement], applied: Applied
) -> None:
    """Add the forces of all actuators among some elements."""
    found = actuators(elements)
    if not found:
        return
    places = {a.name: k for k, a in enumerate(actuators(scene.model.forces))}
    own = Applied()
    for element in found:
        region(f"force {element.name}")
        u = lift(scene.inputs[CONTROL][places[element.name]])
        _add(scene, element, u, own)
    ranges = [f for f in scene.model.forces if isinstance(f, ActuatorForceRange)]
    for limit in ranges:
        (i,) = scene.joint_bodies(limit.joint)
        if i in own.joints:
            low, high = scene.number(limit, "lower"), scene.number(limit, "upper")
            own.joints[i] = (_clip(own.joints[i][0], low, high),)
    for i, tau in own.joints.items():
        applied.turn(i, tau)


def _add(scene: Scene, element: Actuator, u: Expr, applied: Applied) -> None:
    gear = scene.numbers(element, "gear")
    if element.tendon:
        (cable,) = (f for f in scene.model.forces if f.name == element.tendon)
        assert isinstance(cable, Tendon)
        length, speed = (gear[0] * x for x in tendon_state(scene, cable))
        force = _force(scene, element, u, length, speed)
        pull(scene, cable, gear[0] * force, applied)
        return
    (i,) = scene.joint_bodies(element.joint)
    if len(gear) > 1:
        is_turned = isinstance(element, Motor) and element.in_parent
        gear = _tree_gear(scene, i, gear, is_turned)
    length, speed = _length(scene, i, gear), _dot(gear, scene.qd[i])
    force = _force(scene, element, u, length, speed)
    applied.turn(i, tuple(g * force for g in gear))


def _tree_gear(scene: Scene, i: int, gear: Entries, in_parent: bool) -> Entries:
    """Return the gear of a joint with a quaternion along its degrees of freedom.

    A floating one has a force along the axes of the joint's parent, then the moment.
    """
    E = transposed_rotation(*scene.q[i][-4:])
    moment = vec(*gear[-3:])
    if in_parent:
        moment = E @ moment
    return (*moment, *(E @ vec(*gear[:3]))) if len(gear) == 6 else moment


def _length(scene: Scene, i: int, gear: Entries) -> Expr:
    """Return the length of an actuator: of a free joint zero, as in MuJoCo."""
    type_ = scene.tree.bodies[i].joint.type
    if type_.is_free:
        return ZERO
    neutral = tuple(const(x) for x in type_.neutral)
    return _dot(gear, type_.deflection(neutral, scene.q[i]))


def _dot(a: Sequence[Expr], b: Sequence[Expr]) -> Expr:
    total = ZERO
    for x, y in zip(a, b, strict=True):
        total = total + x * y
    return total


def _force(scene: Scene, element: Actuator, u: Expr, length: Expr, speed: Expr) -> Expr:
    """Return the force before the gear."""
    u = _clip(u, *map(_limit, element.control_range))
    match element:
        case Motor():
            force = u
        case PositionServo():
            k, d = (scene.number(element, n) for n in ("stiffness", "damping"))
            force = k * (u - length) - d * speed
        case GeneralActuator():
            g, b = (scene.vector(element, n) for n in ("gain", "bias"))
            force = (g[0] + g[1] * length + g[2] * speed) * u
            force = force + (b[0] + b[1] * length + b[2] * speed)
        case _:
            force = scene.number(element, "damping") * (u - speed)
    return _clip(force, *map(_limit, element.force_range))


def _limit(x: float) -> Expr | None:
    return const(x) if math.isfinite(x) else None


def _clip(x: Expr, low: Expr | None, high: Expr | None) -> Expr:
    if low is not None:
        x = extremum("max", x, low)
    if high is not None:
        x = extremum("min", x, high)
    return x
