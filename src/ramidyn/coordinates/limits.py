"""Joint limits, and neutral and random configurations."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from ramidyn.description.conventions import Conventions
from ramidyn.description.description import Description
from ramidyn.description.editing import split
from ramidyn.description.joint_types import joint_type
from ramidyn.description.pose import Array
from ramidyn.errors import ArgumentError
from ramidyn.tree.model import Model

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


def clamped(limits: JointLimits, q: Array) -> Array:
    """Return the configuration nearest to q within limits."""
    return np.minimum(np.maximum(q, limits.lower), limits.upper)


def size_hints(model: Model) -> tuple[tuple[str, str], ...]:
    """Return why q, q̇, q̈ and τ may be shorter than a caller thinks, by input."""
    texts = dict.fromkeys(("q", "qd", "qdd", "tau"), "")
    if model.mimics:
        for name in texts:
            texts[name] = (
                f"Joints of robot {model.name!r} that mimic others have no entry "
                f'({len(model.mimics)}); load(..., mimic="independent") adds them.'
            )
    if any(b.joint.is_continuous for b in model.tree.bodies):
        continuous = (
            "A continuous joint is one angle, not (cos, sin) as in Pinocchio; 'Coming "
            "from Pinocchio' in the docs has the conversion."
        )
        texts["q"] = f"{texts['q']} {continuous}".strip()
    return tuple((name, text) for name, text in texts.items() if text)


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
        parts = split(description, given)
        q = np.zeros(model.nq)
        for joint in model.joints:
            values = parts[joint.name]
            if conventions.quaternion == "xyzw":
                type_ = joint_type(joint.name, joint.type)
                values = np.array(type_.scalar_last(values.tolist()))
            q[joint.q_index : joint.q_index + joint.nq] = values
        out[name] = q
    return out
