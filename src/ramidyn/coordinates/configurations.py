"""Configurations on a manifold, over symbols: integrate, difference.

    joint                 integrate                      difference
    one coordinate        q + v                          q₁ − q₀
    spherical             q ⊗ exp(v/2)                   2 log(q₀* ⊗ q₁)
    planar                T exp(v), v in body axes       log(T₀⁻¹ T₁)
    floating, "body"      T exp(v), v in body axes       log(T₀⁻¹ T₁)
    floating, "world_linear"   p + v and q ⊗ exp(w/2)    p₁ − p₀ and 2 log(q₀* ⊗ q₁)

The angle of a planar joint, and of a continuous one that no other joint follows, is a
point of the circle: its difference is in [−π, π]. Functions of an angle near zero are
series there, and the other branch is kept finite.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import factorial

from ramidyn.coordinates.coordinates import (
    Coordinates,
    joint_velocity,
)
from ramidyn.description.conventions import Conventions
from ramidyn.description.joint_interface import Entries
from ramidyn.spatial.rotations import transposed_rotation, wrapped_angle
from ramidyn.spatial.vector3 import ZERO, Vec
from ramidyn.symbolic.expr import Expr, lift
from ramidyn.tree.joints import TreeJoint
from ramidyn.tree.model import Model

# ------------------------------------------------------------ configurations of a robot


def integrated(
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

    return assembled(model, conventions, moved)


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


def normalized(model: Model, conventions: Conventions, q: Sequence[Expr]) -> list[Expr]:
    """Return q with its quaternions scaled to length one."""
    return converted_q(model, conventions, conventions, q)


def assembled(
    model: Model, conventions: Conventions, part: Callable[[int, TreeJoint], Entries]
) -> list[Expr]:
    """Return q, given the tree's coordinates of each joint."""
    out = [ZERO] * model.nq
    for i, body in enumerate(model.tree.bodies):
        joint = body.joint
        if joint.leader is None:
            values = part(i, joint)
            if conventions.quaternion == "wxyz":
                values = joint.type.scalar_first(values)
            out[joint.q_index : joint.q_index + joint.nq] = values
    return out


def assembled_velocity(
    model: Model, conventions: Conventions, part: Callable[[int, TreeJoint], Entries]
) -> list[Expr]:
    """Return q̇, given that of each joint, the angular part of a free one first."""
    out = [ZERO] * model.nv
    for i, body in enumerate(model.tree.bodies):
        joint = body.joint
        if joint.leader is None:
            values = part(i, joint)
            if joint.type.is_free and conventions.order == "linear_first":
                values = (*values[3:], *values[:3])
            out[joint.v_index : joint.v_index + joint.nv] = values
    return out


# ------------------------------------------------------------ between conventions


def converted_q(
    model: Model, source: Conventions, target: Conventions, q: Sequence[Expr]
) -> list[Expr]:
    """Return a configuration in other conventions, its quaternions of length one."""
    here = Coordinates(model, source, q)

    def scaled(i: int, joint: TreeJoint) -> Entries:
        return joint.type.normalized(here.q[i])

    return assembled(model, target, scaled)


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
    out = [lift(e) for e in x]
    for i, body in enumerate(model.tree.bodies):
        joint = body.joint
        if not joint.type.is_free:
            continue
        v = joint.v_index
        E = transposed_rotation(*here.q[i][3:])
        angular, linear = _halves(x, joint, source)
        if source.floating_velocity != target.floating_velocity:
            to_body = target.floating_velocity == "body"
            linear = (E if to_body else E.T) @ linear
            if qd is not None:
                # d/dt (E u) = E u̇ − w × E u;  d/dt (Eᵀ v) = Eᵀ (v̇ + w × v)
                w, u = _halves(qd, joint, source)
                if to_body:
                    linear = linear - w.cross(E @ u)
                else:
                    linear = linear + E.T @ w.cross(u)
        halves = (linear, angular)
        if target.order == "angular_first":
            halves = (angular, linear)
        out[v : v + 6] = (*halves[0], *halves[1])
    return out


def _halves(
    x: Sequence[Expr], joint: TreeJoint, conventions: Conventions
) -> tuple[Vec, Vec]:
    """Return the angular and the linear part of a free joint's entries."""
    own = [lift(e) for e in joint_velocity(joint, conventions, x)]
    return Vec(own[:3]), Vec(own[3:])
