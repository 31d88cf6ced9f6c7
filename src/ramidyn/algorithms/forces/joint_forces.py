"""Springs, dampers and friction along joints and fixed tendons, and their energy."""

from __future__ import annotations

import math

from ramidyn.algorithms.forces.applied import Applied, ForceScene
from ramidyn.coordinates.coordinates import Entries
from ramidyn.description.forces.joints import (
    JointDamper,
    JointFriction,
    JointLimit,
    JointSpring,
    Tendon,
)
from ramidyn.spatial.vector3 import ONE, ZERO
from ramidyn.symbolic.dense import total
from ramidyn.symbolic.expr import Expr, const, extremum, where


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
    """Return how far q is beyond each limit, with the sign of that direction."""
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
