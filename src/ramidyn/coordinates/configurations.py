"""Configurations on a manifold, over symbols; joint limits, neutral and random ones.

`joint_types` has what each joint does. The angle of a planar joint, and of a continuous
one that no other joint follows, is a point of the circle: its difference is in [−π, π].
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from math import factorial
from typing import final

import numpy as np

from ramidyn.coordinates.coordinates import (
    Coordinates,
    assembled_q,
    assembled_velocity,
    joint_coordinates,
    joint_velocity,
)
from ramidyn.description.conventions import Conventions
from ramidyn.description.description import Description
from ramidyn.description.editing import split_configuration
from ramidyn.description.joint_types import Entries, joint_type
from ramidyn.description.pose import Array
from ramidyn.errors import ArgumentError
from ramidyn.spatial.vector3 import transposed_rotation, vec, wrapped_angle
from ramidyn.symbolic.expr import Expr, lift
from ramidyn.tree.model import Model
from ramidyn.tree.tree import TreeJoint

WIDEST = 1e3
"""Files use a wider range to mean that there is no limit."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class JointLimits:
    """The limits of every coordinate; infinite if there is none."""

    lower: Array
    """(nq,) [rad, m]; −inf for the entries of quaternions"""
    upper: Array
    """(nq,) [rad, m]; inf for the entries of quaternions"""
    velocity: Array
    """(nv,) [rad/s, m/s]"""
    effort: Array
    """(nv,) [N m, N]"""


def joint_limits(model: Model) -> JointLimits:
    """Return the limits in the order of q and q̇."""
    lower, upper = np.full(model.nq, -np.inf), np.full(model.nq, np.inf)
    velocity, effort = np.full(model.nv, np.inf), np.full(model.nv, np.inf)
    for joint in model.joints:
        limits = joint.limits
        if limits is None:
            continue
        lower[joint.q_slice], upper[joint.q_slice] = limits.lower, limits.upper
        velocity[joint.v_slice] = limits.velocity
        effort[joint.v_slice] = limits.effort
    for array in (lower, upper, velocity, effort):
        array.setflags(write=False)
    return JointLimits(lower, upper, velocity, effort)


def clamp_to_limits(limits: JointLimits, q: Array) -> Array:
    """Return the configuration nearest to q within limits."""
    return np.minimum(np.maximum(q, limits.lower), limits.upper)


def neutral(model: Model, conventions: Conventions) -> Array:
    """Return the configuration in which every body is at its placement."""
    q = np.zeros(model.nq)
    for body in model.tree.bodies:
        joint = body.joint
        if joint.leader is None:
            values = joint.neutral()
            if conventions.quaternion == "wxyz":
                values = joint.type.scalar_first(values)
            q[joint.q_index : joint.q_index + joint.nq] = values
    return q


def generator_of(rng: np.random.Generator | int | None) -> np.random.Generator:
    """Return a user's random generator, or that of a seed."""
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError):
        raise ArgumentError(
            f"rng is {rng!r}; expected a numpy.random.Generator or a seed"
        ) from None


def random_configurations(
    model: Model, limits: JointLimits, rng: np.random.Generator, n: int
) -> Array:
    """Return n configurations, (n, nq): within limits, quaternions uniform.

    Where there is no limit an angle is within π, a distance within 1 m of neutral.
    """
    q = np.zeros((n, model.nq))
    for body in model.tree.bodies:
        joint = body.joint
        if joint.leader is not None:
            continue
        for k, (_, unit) in enumerate(joint.type.coordinates):
            at = joint.q_index + k
            low, high = _range(
                float(limits.lower[at]),
                float(limits.upper[at]),
                joint.reference,
                math.pi if unit == "rad" else 1.0,
            )
            q[:, at] = rng.uniform(low, high, n)
        if joint.type.has_quaternion:
            end = joint.q_index + joint.nq
            x = rng.normal(size=(n, 4))
            q[:, end - 4 : end] = x / np.linalg.norm(x, axis=1, keepdims=True)
    return q


def _range(low: float, high: float, center: float, reach: float) -> tuple[float, float]:
    if high - low <= WIDEST:
        return low, high
    return max(low, min(center, high) - reach), min(high, max(center, low) + reach)


def keyframes(
    model: Model, description: Description, conventions: Conventions
) -> dict[str, Array]:
    """Return the configurations that the file names, as q."""
    out: dict[str, Array] = {}
    for name, given in description.keyframes.items():
        parts = split_configuration(description, given)
        q = np.zeros(model.nq)
        for joint in model.joints:
            values = parts[joint.name]
            if conventions.quaternion == "xyzw":
                type_ = joint_type(joint.name, joint.type)
                values = np.array(type_.scalar_last(values.tolist()))
            q[joint.q_index : joint.q_index + joint.nq] = values
        out[name] = q
    return out


# ------------------------------------------------------------ configurations of a robot


def integrated_q(
    model: Model,
    conventions: Conventions,
    q: Sequence[Expr],
    qd: Sequence[Expr],
    dt: Expr,
) -> list[Expr]:
    """Return the configuration that is reached from q with q̇ in the time dt."""
    here = Coordinates(model, conventions, q)
    steps = [lift(x) * dt for x in qd]

    def moved(i: int, joint: TreeJoint) -> Entries:
        v = joint_velocity(joint, conventions, steps)
        return joint.type.under(conventions).integrate(here.q[i], v)

    return assembled_q(model, conventions, moved)


def tangent_rate(
    model: Model, conventions: Conventions, u: Sequence[Expr], qd: Sequence[Expr]
) -> list[Expr]:
    """Return u̇ where q = q₀ ⊕ u moves with q̇, up to terms of fifth order in u.

        u̇ = q̇ + ½ [u, q̇] + 1/12 [u, [u, q̇]]

    It is q̇ where coordinates are added. With it, a method of Runge and Kutta keeps its
    order on the manifold (Munthe-Kaas).
    """
    return _bracket_series(model, conventions, u, qd, (1.0, 1 / 2, 1 / 12))


def long_tangent_rate(
    model: Model, conventions: Conventions, u: Sequence[Expr], qd: Sequence[Expr]
) -> list[Expr]:
    """Return `tangent_rate` up to terms of eleventh order in u: Bernoulli's numbers."""
    terms = (1.0, 1 / 2, 1 / 12, 0.0, -1 / 720, 0.0, 1 / 30240, 0.0, -1 / 1209600)
    return _bracket_series(model, conventions, u, qd, terms)


def velocity_of_tangent(
    model: Model, conventions: Conventions, u: Sequence[Expr], rate: Sequence[Expr]
) -> list[Expr]:
    """Return q̇ of q = q₀ ⊕ u where u changes at a rate: `tangent_rate` inverted.

    q̇ = u̇ − 1/2! [u, u̇] + 1/3! [u, [u, u̇]] − ...
    """
    terms = [(-1) ** k / factorial(k + 1) for k in range(15)]
    return _bracket_series(model, conventions, u, rate, terms)


def _bracket_series(
    model: Model,
    conventions: Conventions,
    u: Sequence[Expr],
    v: Sequence[Expr],
    coefficients: Sequence[float],
) -> list[Expr]:
    """Return c₀ v + c₁ [u, v] + c₂ [u, [u, v]] + ..."""
    first, *rest = coefficients
    term, total = list(v), [lift(x) * first for x in v]
    for c in rest:
        term = _bracket(model, conventions, u, term)
        total = [a + b * c for a, b in zip(total, term, strict=True)]
    return total


def _bracket(
    model: Model, conventions: Conventions, u: Sequence[Expr], v: Sequence[Expr]
) -> list[Expr]:
    """Return [u, v] of the Lie algebra of each joint's motions."""

    def of(_: int, joint: TreeJoint) -> Entries:
        here, along = (joint_velocity(joint, conventions, x) for x in (u, v))
        return joint.type.under(conventions).bracket(here, along)

    return assembled_velocity(model, conventions, of)


def differences(
    model: Model, conventions: Conventions, q0: Sequence[Expr], q1: Sequence[Expr]
) -> list[Expr]:
    """Return v with integrated(q0, v) = q1: the shortest such."""
    start = Coordinates(model, conventions, q0).q
    end = Coordinates(model, conventions, q1).q
    led = {b.joint.leader for b in model.tree.bodies}

    def between(i: int, joint: TreeJoint) -> Entries:
        v = joint.type.under(conventions).difference(start[i], end[i])
        is_circle = joint.is_continuous and i not in led
        return tuple(map(wrapped_angle, v)) if is_circle else v

    return assembled_velocity(model, conventions, between)


def rates(
    model: Model, conventions: Conventions, q: Sequence[Expr], qd: Sequence[Expr]
) -> list[Expr]:
    """Return dq/dt at velocity q̇."""
    here = Coordinates(model, conventions, q)
    v = here.velocity(qd)
    return assembled_q(
        model, conventions, lambda i, joint: joint.type.rate(here.q[i], v[i])
    )


def velocity_of(
    model: Model, conventions: Conventions, q: Sequence[Expr], rate: Sequence[Expr]
) -> list[Expr]:
    """Return the q̇ at which q changes by a rate that keeps quaternions' lengths."""

    def of(_: int, joint: TreeJoint) -> Entries:
        here, change = (joint_coordinates(joint, conventions, x) for x in (q, rate))
        return joint.type.under(conventions).velocity(here, change)

    return assembled_velocity(model, conventions, of)


def normalized_q(
    model: Model, conventions: Conventions, q: Sequence[Expr]
) -> list[Expr]:
    """Return q with its quaternions scaled to length one."""
    return converted_q(model, conventions, conventions, q)


# ------------------------------------------------------------ between conventions


def converted_q(
    model: Model, source: Conventions, target: Conventions, q: Sequence[Expr]
) -> list[Expr]:
    """Return a configuration in other conventions, its quaternions of length one."""
    here = Coordinates(model, source, q)

    def scaled(i: int, joint: TreeJoint) -> Entries:
        return joint.type.normalized(here.q[i])

    return assembled_q(model, target, scaled)


def converted_vector(
    model: Model,
    source: Conventions,
    target: Conventions,
    q: Sequence[Expr],
    x: Sequence[Expr],
    qd: Sequence[Expr] | None = None,
) -> list[Expr]:
    """Return q̇ or τ, or with ``qd`` q̈, in other conventions; q is in the source's."""
    here = Coordinates(model, source, q)

    def of(i: int, joint: TreeJoint) -> Entries:
        own = joint_velocity(joint, source, x)
        if not joint.type.is_free:
            return own
        E = transposed_rotation(*here.q[i][3:])
        angular, linear = vec(*own[:3]), vec(*own[3:])
        if source.floating_velocity != target.floating_velocity:
            to_body = target.floating_velocity == "body"
            linear = (E if to_body else E.T) @ linear
            if qd is not None:
                # d/dt (E u) = E u̇ − w × E u;  d/dt (Eᵀ v) = Eᵀ (v̇ + w × v)
                own = joint_velocity(joint, source, qd)
                w, u = vec(*own[:3]), vec(*own[3:])
                if to_body:
                    linear = linear - w.cross(E @ u)
                else:
                    linear = linear + E.T @ w.cross(u)
        return (*angular, *linear)

    return assembled_velocity(model, target, of)
