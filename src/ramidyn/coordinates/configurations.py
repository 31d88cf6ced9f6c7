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

from ramidyn.coordinates.coordinates import Coordinates, Entries
from ramidyn.description.conventions import Conventions
from ramidyn.spatial.vector3 import ONE, ZERO, Vec, vec
from ramidyn.symbolic.expr import Expr, atan2, const, lift, where
from ramidyn.symbolic.functions import maximum
from ramidyn.tree.joints import TreeJoint, transposed_rotation
from ramidyn.tree.model import Model

Quaternion = tuple[Expr, Expr, Expr, Expr]
"""x, y, z, w"""

SMALL = 1e-2
"""θ² below which a series of five terms is exact to the last bit"""


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
    v = here.velocity([lift(x) * dt for x in qd])
    linear = [lift(x) * dt for x in qd]

    def moved(i: int, joint: TreeJoint) -> Entries:
        if joint.kind == "floating" and conventions.floating_velocity != "body":
            p, orientation = here.q[i][:3], here.q[i][3:]
            start = linear_start(joint, conventions)
            shifted = vec(*p) + vec(*linear[start : start + 3])
            return (*shifted, *turned(quaternion(orientation), vec(*v[i][:3])))
        return _integrated(joint, here.q[i], v[i])

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
    out = [ZERO] * model.nv
    for body in model.tree.bodies:
        joint = body.joint
        k = joint.v_index
        if joint.kind == "spherical":
            out[k : k + 3] = vec(*u[k : k + 3]).cross(vec(*v[k : k + 3]))
        elif joint.kind == "planar":
            (ux, uy, uw), (vx, vy, vw) = u[k : k + 3], v[k : k + 3]
            out[k : k + 2] = (uy * vw - uw * vy, uw * vx - ux * vw)
        elif joint.kind == "floating":
            linear = linear_start(joint, conventions)
            angular = 2 * k + 3 - linear
            wu, wv = vec(*u[angular : angular + 3]), vec(*v[angular : angular + 3])
            out[angular : angular + 3] = wu.cross(wv)
            if conventions.floating_velocity == "body":
                lu, lv = vec(*u[linear : linear + 3]), vec(*v[linear : linear + 3])
                out[linear : linear + 3] = wu.cross(lv) + lu.cross(wv)
    return out


def differences(
    model: Model, conventions: Conventions, q0: Sequence[Expr], q1: Sequence[Expr]
) -> list[Expr]:
    """Return v with integrated(q0, v) = q1: the shortest such."""
    start = Coordinates(model, conventions, q0).q
    end = Coordinates(model, conventions, q1).q
    led = {b.joint.leader for b in model.tree.bodies}
    out = [ZERO] * model.nv
    for i, body in enumerate(model.tree.bodies):
        joint = body.joint
        if joint.leader is not None:
            continue
        is_circle = joint.is_continuous and i not in led
        v = _difference(joint, conventions, start[i], end[i], is_circle)
        out[joint.v_index : joint.v_index + joint.nv] = v
    return out


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
            if conventions.quaternion == "wxyz" and joint.nq in (4, 7):
                *lead, x, y, z, w = values
                values = (*lead, w, x, y, z)
            out[joint.q_index : joint.q_index + joint.nq] = values
    return out


def linear_start(joint: TreeJoint, conventions: Conventions) -> int:
    """Return where the linear part of a floating joint begins in q̇."""
    return joint.v_index + (0 if conventions.order == "linear_first" else 3)


# ------------------------------------------------------------ between conventions


def converted_q(
    model: Model, source: Conventions, target: Conventions, q: Sequence[Expr]
) -> list[Expr]:
    """Return a configuration in other conventions, its quaternions of length one."""
    here = Coordinates(model, source, q)

    def scaled(i: int, joint: TreeJoint) -> Entries:
        if joint.kind not in ("spherical", "floating"):
            return here.q[i]
        *lead, x, y, z, w = here.q[i]
        return (*lead, *unit_quaternion(near_one((x, y, z, w))))

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
        if joint.kind != "floating":
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
    """Return the angular and the linear part of a floating joint's entries."""
    linear = linear_start(joint, conventions)
    angular = 2 * joint.v_index + 3 - linear
    return vec(*x[angular : angular + 3]), vec(*x[linear : linear + 3])


# ------------------------------------------------------------ one joint


def _integrated(joint: TreeJoint, q: Entries, v: Entries) -> Entries:
    match joint.kind:
        case "spherical":
            return turned(quaternion(q), vec(*v))
        case "planar":
            half = v[2] * 0.5
            s, c = (q[2] + half).sin(), (q[2] + half).cos()
            k = sinc(half * half)
            x, y = k * v[0], k * v[1]  # V(v) = sinc(v/2) R(v/2)
            return q[0] + (c * x - s * y), q[1] + (s * x + c * y), q[2] + v[2]
        case "floating":
            w, linear = vec(*v[:3]), vec(*v[3:])
            E = transposed_rotation(*q[3:])
            shift = E.T @ _along_screw(w, linear)
            return (*(vec(*q[:3]) + shift), *turned(quaternion(q[3:]), w))
        case _:
            return (q[0] + v[0],)


def _difference(
    joint: TreeJoint,
    conventions: Conventions,
    q0: Entries,
    q1: Entries,
    is_circle: bool,
) -> Entries:
    match joint.kind:
        case "spherical":
            return rotation_between(quaternion(q0), quaternion(q1))
        case "planar":
            turn = wrapped(q1[2] - q0[2])
            half = turn * 0.5
            s, c = (q0[2] + half).sin(), (q0[2] + half).cos()
            k = sinc(half * half)
            x, y = q1[0] - q0[0], q1[1] - q0[1]
            return (c * x + s * y) / k, (c * y - s * x) / k, turn
        case "floating":
            w = rotation_between(quaternion(q0[3:]), quaternion(q1[3:]))
            shift = vec(*q1[:3]) - vec(*q0[:3])
            if conventions.floating_velocity == "body":
                shift = against_screw(w, transposed_rotation(*q0[3:]) @ shift)
            if conventions.order == "linear_first":
                return (*shift, *w)
            return (*w, *shift)
        case _:
            x = q1[0] - q0[0]
            return (wrapped(x) if is_circle else x,)


def _along_screw(w: Vec, v: Vec) -> Vec:
    """Return V(w) v, the path of a point that moves with a constant twist for 1 s.

    V = 1 + (1 − cos θ)/θ² w× + (θ − sin θ)/θ³ w× w×
    """
    xx = w.dot(w)
    s, c = sinc(xx * 0.25), cosine(xx * 0.25)
    series = _series(xx, (1 / 6, -1 / 120, 1 / 5040, -1 / 362880, 1 / 39916800))
    is_small = xx < SMALL
    b = s * s * 0.5
    a = where(is_small, series, (ONE - s * c) / where(is_small, ONE, xx))
    wv = w.cross(v)
    return v + (wv * b + w.cross(wv) * a)


def against_screw(w: Vec, p: Vec) -> Vec:
    """Return V(w)⁻¹ p = p − ½ w × p + (1 − θ/2 cot θ/2)/θ² w × (w × p), θ ≤ π."""
    xx = w.dot(w)
    is_small = xx < SMALL
    safe = where(is_small, ONE, xx)
    half = safe.sqrt() * 0.5
    closed = (ONE - half * half.cos() / half.sin()) / safe
    series = _series(xx, (1 / 12, 1 / 720, 1 / 30240, 1 / 1209600, 1 / 47900160))
    d = where(is_small, series, closed)
    wp = w.cross(p)
    return p + (wp * -0.5 + w.cross(wp) * d)


# ------------------------------------------------------------ angles and quaternions


def sinc(xx: Expr) -> Expr:
    """Return sin(x)/x of x²."""
    is_small = xx < SMALL
    x = where(is_small, ONE, xx).sqrt()
    series = _series(xx, (1.0, -1 / 6, 1 / 120, -1 / 5040, 1 / 362880))
    return where(is_small, series, x.sin() / x)


def cosine(xx: Expr) -> Expr:
    """Return cos(x) of x²."""
    is_small = xx < SMALL
    x = where(is_small, ONE, xx).sqrt()
    series = _series(xx, (1.0, -1 / 2, 1 / 24, -1 / 720, 1 / 40320, -1 / 3628800))
    return where(is_small, series, x.cos())


def wrapped(angle: Expr) -> Expr:
    """Return the angle in [−π, π] that is the same on the circle."""
    return atan2(angle.sin(), angle.cos())


def turned(q: Quaternion, w: Vec) -> Quaternion:
    """Return q turned by the rotation vector w, given in its own axes: length one."""
    xx = w.dot(w) * 0.25
    x, y, z = w * (sinc(xx) * 0.5)
    return unit_quaternion(multiplied(q, (x, y, z, cosine(xx))))


def rotation_between(q0: Quaternion, q1: Quaternion) -> Vec:
    """Return the rotation vector, no longer than π, that turns q0 into q1.

    With q₀* ⊗ q₁ = (u, c) it is 2 atan(|u| / |c|) u / |u|, and −u where c < 0. The
    quaternions need not have length one, only be multiples of such.
    """
    x, y, z, c = multiplied((-q0[0], -q0[1], -q0[2], q0[3]), q1)
    u = Vec((x, y, z))
    uu, cc = u.dot(u), c * c
    sign = where(c < 0.0, const(-1.0), ONE)
    is_small = uu < 1e-5 * cc
    n = where(is_small, ONE, uu).sqrt()
    t = uu / where(is_small, cc, ONE)
    near = _series(t, (2.0, -2 / 3, 2 / 5, -2 / 7)) / where(is_small, c, ONE)
    far = atan2(n, sign * c) * (sign * 2.0) / n
    return u * where(is_small, near, far)


def multiplied(a: Quaternion, b: Quaternion) -> Quaternion:
    """Return a ⊗ b."""
    ax, ay, az, aw = a
    bx, by, bz, bw = b
    return (
        aw * bx + ax * bw + (ay * bz - az * by),
        aw * by + ay * bw + (az * bx - ax * bz),
        aw * bz + az * bw + (ax * by - ay * bx),
        aw * bw - (ax * bx + ay * by + az * bz),
    )


def near_one(q: Quaternion) -> Quaternion:
    """Return q of any length times r², r = 1/√max |qᵢ|: its largest entry is one.

    Neither r nor q r overflows or underflows, in float64 and in float32.
    """
    x, y, z, w = (abs(e) for e in q)
    r = ONE / maximum(maximum(x, y), maximum(z, w)).sqrt()
    return quaternion([e * r * r for e in q])


def unit_quaternion(q: Quaternion) -> Quaternion:
    """Return q scaled to length one."""
    x, y, z, w = q
    k = ONE / (x * x + y * y + (z * z + w * w)).sqrt()
    return k * x, k * y, k * z, k * w


def _series(x: Expr, coefficients: Sequence[float]) -> Expr:
    total = ZERO
    for c in reversed(coefficients):
        total = total * x + c
    return total


def quaternion(x: Sequence[Expr]) -> Quaternion:
    """Return four entries as a quaternion."""
    a, b, c, d = x
    return lift(a), lift(b), lift(c), lift(d)
