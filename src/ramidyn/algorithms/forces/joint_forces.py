"""Springs, dampers, friction and actuators along joints and fixed tendons.

Actuators apply, as in MuJoCo,

    force = clip(s (gain · clip(u) + bias))        τ = clip(Σ gear force + compensation)

s scales all actuators of a tendon where their sum is beyond its range; compensation is
the part of the gravity compensation that actuators apply.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ramidyn.algorithms.forces.applied import Applied, ForceScene
from ramidyn.algorithms.forces.body_forces import carry_weight
from ramidyn.coordinates.coordinates import Entries
from ramidyn.description.forces.actuators import (
    Actuator,
    ActuatorForceRange,
    GeneralActuator,
    Motor,
    PositionServo,
)
from ramidyn.description.forces.bodies import GravityCompensation
from ramidyn.description.forces.element import ForceElement
from ramidyn.description.forces.inputs import CONTROL, actuators
from ramidyn.description.forces.joints import (
    JointDamper,
    JointFriction,
    JointLimit,
    JointSpring,
    Tendon,
)
from ramidyn.spatial.vector3 import ONE, ZERO, transposed_rotation, vec
from ramidyn.symbolic.dense import inner, total
from ramidyn.symbolic.expr import Expr, const, extremum, lift, region, where


def joint_spring(scene: ForceScene, element: JointSpring, applied: Applied) -> None:
    """Add −k (q − reference)."""
    k = scene.number(element, "stiffness")
    for i, x in _deflections(scene, element):
        applied.turn(i, tuple(-(k * e) for e in x))


def joint_spring_energy(scene: ForceScene, element: JointSpring) -> Expr:
    """Return ½ k |q − reference|²."""
    squares = total(e * e for _, x in _deflections(scene, element) for e in x)
    return scene.number(element, "stiffness") * squares * 0.5


def _deflections(scene: ForceScene, element: JointSpring) -> list[tuple[int, Entries]]:
    """Return q − reference for each body of a joint, along its degrees of freedom."""
    bodies = scene.joint_bodies(element.joint)
    given = scene.numbers(element, "reference")
    if len(given) == 1 and given[0].is_zero:
        types = [scene.tree.bodies[i].joint.type for i in bodies]
        given = tuple(const(x) for t in types for x in t.neutral)
    found: list[tuple[int, Entries]] = []
    for i in bodies:
        type_ = scene.tree.bodies[i].joint.type
        found.append((i, type_.deflection(given[: type_.nq], scene.q[i])))
        given = given[type_.nq :]
    return found


def joint_damper(scene: ForceScene, element: JointDamper, applied: Applied) -> None:
    """Add −d q̇."""
    d = scene.number(element, "damping")
    for i in scene.joint_bodies(element.joint):
        applied.turn(i, tuple(-(d * v) for v in scene.qd[i]))


def joint_friction(scene: ForceScene, element: JointFriction, applied: Applied) -> None:
    """Add −f q̇ / √(q̇² + v₀²)."""
    f = scene.number(element, "friction")
    slow = scene.number(element, "transition_velocity")
    for i in scene.joint_bodies(element.joint):
        applied.turn(i, tuple(-(f * smooth_sign(v, slow)) for v in scene.qd[i]))


def smooth_sign(v: Expr, slow: Expr) -> Expr:
    """Return v / √(v² + v₀²)."""
    return v / (v * v + slow * slow).sqrt()


def joint_limit(scene: ForceScene, element: JointLimit, applied: Applied) -> None:
    """Add the forces of one-sided springs where q is beyond a limit."""
    (i,) = scene.joint_bodies(element.joint)
    (qd,) = scene.qd[i]
    k = scene.number(element, "stiffness")
    c = scene.number(element, "dissipation")
    force = ZERO
    for sign, d in _beyond(scene, element):
        factor = extremum("max", ZERO, ONE + c * qd * sign) if not c.is_zero else ONE
        force = force - k * d * factor * sign
    applied.turn(i, (force,))


def joint_limit_energy(scene: ForceScene, element: JointLimit) -> Expr:
    """Return ½ k d²."""
    squares = total(d * d for _, d in _beyond(scene, element))
    return scene.number(element, "stiffness") * squares * 0.5


def _beyond(scene: ForceScene, element: JointLimit) -> list[tuple[float, Expr]]:
    """Return the distance of q beyond each limit, with the sign of that direction."""
    (i,) = scene.joint_bodies(element.joint)
    (q,) = scene.q[i]
    found: list[tuple[float, Expr]] = []
    assert element.lower is not None
    assert element.upper is not None
    if math.isfinite(element.lower):
        low = scene.number(element, "lower")
        found.append((-1.0, extremum("max", ZERO, low - q)))
    if math.isfinite(element.upper):
        high = scene.number(element, "upper")
        found.append((1.0, extremum("max", ZERO, q - high)))
    return found


# ------------------------------------------------------------ fixed tendons


def tendon(scene: ForceScene, element: Tendon, applied: Applied) -> None:
    """Add the pull of a tendon."""
    length, speed = tendon_state(scene, element)
    f = -(scene.number(element, "damping") * speed)
    if not scene.is_zero(element, "stiffness"):
        x = _stretch(scene, element, length)
        f = f - scene.number(element, "stiffness") * x
    if not scene.is_zero(element, "friction"):
        slow = scene.number(element, "transition_velocity")
        f = f - scene.number(element, "friction") * smooth_sign(speed, slow)
    pull(scene, element, f, applied)


def pull(scene: ForceScene, element: Tendon, f: Expr, applied: Applied) -> None:
    """Add a force along a tendon."""
    coefficients = scene.numbers(element, "coefficients")
    for name, c in zip(element.joints, coefficients, strict=True):
        (i,) = scene.joint_bodies(name)
        applied.turn(i, (c * f,))


def tendon_energy(scene: ForceScene, element: Tendon) -> Expr:
    """Return ½ k x²."""
    length, _ = tendon_state(scene, element)
    x = _stretch(scene, element, length)
    return scene.number(element, "stiffness") * x * x * 0.5


def tendon_state(scene: ForceScene, element: Tendon) -> tuple[Expr, Expr]:
    """Return the length of a tendon and its rate."""
    length = speed = ZERO
    coefficients = scene.numbers(element, "coefficients")
    for name, c in zip(element.joints, coefficients, strict=True):
        (i,) = scene.joint_bodies(name)
        length = length + c * scene.q[i][0]
        if i in scene.qd:
            speed = speed + c * scene.qd[i][0]
    return length, speed


def _stretch(scene: ForceScene, element: Tendon, length: Expr) -> Expr:
    rest = scene.numbers(element, "rest_length")
    low, high = rest if len(rest) == 2 else (rest[0], rest[0])
    if low is high:
        return length - low
    return where(
        length > high, length - high, where(length < low, length - low, const(0.0))
    )


def actuator_forces(
    scene: ForceScene, elements: Sequence[ForceElement], applied: Applied
) -> None:
    """Add the forces of all actuators among some elements."""
    ranges = [f for f in scene.model.forces if isinstance(f, ActuatorForceRange)]
    found = actuators(elements)
    own = Applied()
    for element, force in zip(found, _forces(scene, found, ranges), strict=True):
        region(f"force {element.name}")
        _apply(scene, element, force, own)
    for element in elements:
        if isinstance(element, GravityCompensation) and element.by_actuators:
            region(f"force {element.name}")
            carry_weight(scene, element, own)
    tau = own.along_joints(scene.tree, scene.q) if own.bodies else own.joints
    if tau:
        for limit in ranges:
            if limit.joint:
                (i,) = scene.joint_bodies(limit.joint)
                (total,) = tau.get(i, (ZERO,))
                tau[i] = (_clip(total, *_bounds(scene, limit)),)
    for i, x in tau.items():
        applied.turn(i, x)


def _forces(
    scene: ForceScene, found: Sequence[Actuator], ranges: Sequence[ActuatorForceRange]
) -> list[Expr]:
    """Return the forces of actuators before their gears, within all ranges."""
    places = {a.name: k for k, a in enumerate(actuators(scene.model.forces))}
    forces: list[Expr] = []
    for element in found:
        region(f"force {element.name}")
        u = lift(scene.inputs[CONTROL][places[element.name]])
        forces.append(_force(scene, element, u))
    for limit in ranges:
        if not limit.tendon:
            continue
        pulling = [k for k, a in enumerate(found) if a.tendon == limit.tendon]
        total = ZERO
        for k in pulling:
            total = total + forces[k]
        scale = _scale(total, *_bounds(scene, limit))
        for k in pulling:
            forces[k] = forces[k] * scale
    pairs = zip(found, forces, strict=True)
    return [_clip(f, *map(_limit, a.force_range)) for a, f in pairs]


def _scale(total: Expr, low: Expr | None, high: Expr | None) -> Expr:
    """Return the factor that brings a sum into a range that contains zero."""
    scale = ONE
    if low is not None:
        scale = where(total < low, low / where(total < low, total, ONE), scale)
    if high is not None:
        scale = where(total > high, high / where(total > high, total, ONE), scale)
    return scale


def _bounds(
    scene: ForceScene, limit: ActuatorForceRange
) -> tuple[Expr | None, Expr | None]:
    return (
        scene.number(limit, "lower") if math.isfinite(limit.lower) else None,
        scene.number(limit, "upper") if math.isfinite(limit.upper) else None,
    )


def _apply(scene: ForceScene, element: Actuator, force: Expr, applied: Applied) -> None:
    """Add the joint forces of an actuator."""
    gear = _gear(scene, element)
    if element.tendon:
        pull(scene, _cable(scene, element), gear[0] * force, applied)
        return
    (i,) = scene.joint_bodies(element.joint)
    applied.turn(i, tuple(g * force for g in gear))


def _cable(scene: ForceScene, element: Actuator) -> Tendon:
    (cable,) = (f for f in scene.model.forces if f.name == element.tendon)
    assert isinstance(cable, Tendon)
    return cable


def _gear(scene: ForceScene, element: Actuator) -> Entries:
    """Return the gear along the degrees of freedom of a joint, or of a tendon."""
    gear = scene.numbers(element, "gear")
    if len(gear) == 1:
        return gear
    (i,) = scene.joint_bodies(element.joint)
    is_turned = isinstance(element, Motor) and element.in_parent
    return _tree_gear(scene, i, gear, is_turned)


def _state(scene: ForceScene, element: Actuator) -> tuple[Expr, Expr]:
    """Return the length of an actuator's transmission, and its rate."""
    gear = _gear(scene, element)
    if element.tendon:
        length, speed = tendon_state(scene, _cable(scene, element))
        return gear[0] * length, gear[0] * speed
    (i,) = scene.joint_bodies(element.joint)
    return _length(scene, i, gear), inner(gear, scene.qd[i])


def _tree_gear(scene: ForceScene, i: int, gear: Entries, in_parent: bool) -> Entries:
    """Return the gear of a joint with a quaternion along its degrees of freedom.

    A floating one has a force along the axes of the joint's parent, then the moment.
    """
    E = transposed_rotation(*scene.q[i][-4:])
    moment = vec(*gear[-3:])
    if in_parent:
        moment = E @ moment
    return (*moment, *(E @ vec(*gear[:3]))) if len(gear) == 6 else moment


def _length(scene: ForceScene, i: int, gear: Entries) -> Expr:
    """Return the length of an actuator: of a free joint zero, as in MuJoCo."""
    type_ = scene.tree.bodies[i].joint.type
    if type_.is_free:
        return ZERO
    neutral = tuple(const(x) for x in type_.neutral)
    return inner(gear, type_.deflection(neutral, scene.q[i]))


def _force(scene: ForceScene, element: Actuator, u: Expr) -> Expr:
    """Return the force before the gear and all limits of forces."""
    length, speed = _state(scene, element)
    u = _clip(u, *map(_limit, element.control_range))
    match element:
        case Motor():
            return u
        case PositionServo():
            k, d = (scene.number(element, n) for n in ("stiffness", "damping"))
            return k * (u - length) - d * speed
        case GeneralActuator():
            g, b = (scene.vector(element, n) for n in ("gain", "bias"))
            force = (g[0] + g[1] * length + g[2] * speed) * u
            return force + (b[0] + b[1] * length + b[2] * speed)
        case _:
            return scene.number(element, "damping") * (u - speed)


def _limit(x: float) -> Expr | None:
    return const(x) if math.isfinite(x) else None


def _clip(x: Expr, low: Expr | None, high: Expr | None) -> Expr:
    if low is not None:
        x = extremum("max", x, low)
    if high is not None:
        x = extremum("min", x, high)
    return x
