from __future__ import annotations

import itertools

import numpy as np
import pytest

from ramidyn.description.conventions import NAMED, Conventions, conventions
from ramidyn.errors import ArgumentError
from ramidyn.quantities.dynamics import forward_dynamics
from support.every_joint import every_joint
from support.robot_poses import poses
from support.states import value

ALL = [
    Conventions(*c)  # type: ignore[arg-type]
    for c in itertools.product(
        ("xyzw", "wxyz"),
        ("body", "world_linear"),
        ("linear_first", "angular_first"),
    )
]


@pytest.mark.parametrize("other", ALL, ids=str)
def test_conversions_come_back(other: Conventions, rng: np.random.Generator) -> None:
    r = every_joint()
    q = r.random_configuration(rng, 7)
    qd, qdd, tau = rng.normal(size=(3, 7, r.nv))
    p = r.convert_q(q, to=other)
    pd = r.convert_qd(q, qd, to=other)
    pdd = r.convert_qdd(q, qd, qdd, to=other)
    sigma = r.convert_tau(q, tau, to=other)
    np.testing.assert_allclose(r.convert_q(p, from_=other), q, rtol=1e-15)
    np.testing.assert_allclose(r.convert_qd(p, pd, from_=other), qd, atol=1e-14)
    back = r.convert_qdd(p, pd, pdd, from_=other)
    np.testing.assert_allclose(back, qdd, atol=1e-13)
    np.testing.assert_allclose(r.convert_tau(p, sigma, from_=other), tau, atol=1e-14)
    # Power does not depend on conventions.
    np.testing.assert_allclose(
        np.sum(sigma * pd, axis=1), np.sum(tau * qd, axis=1), rtol=1e-12
    )


@pytest.mark.parametrize("other", ALL, ids=str)
def test_physics_is_the_same_in_all_conventions(
    other: Conventions, rng: np.random.Generator
) -> None:
    r = every_joint()
    same = r.with_conventions(other)
    q = r.random_configuration(rng)
    qd, tau = rng.normal(size=(2, r.nv))
    forward = forward_dynamics(algorithm="ltdl")
    qdd = value(r, forward, q=q, qd=qd, tau=tau)
    theirs = value(
        same,
        forward,
        q=r.convert_q(q, to=other),
        qd=r.convert_qd(q, qd, to=other),
        tau=r.convert_tau(q, tau, to=other),
    )
    ours = r.convert_qdd(q, qd, qdd, to=other)
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("other", ALL, ids=str)
def test_velocity_is_where_integrate_leads(
    other: Conventions, rng: np.random.Generator
) -> None:
    r = every_joint(other)
    q, qd = r.random_configuration(rng), rng.normal(size=r.nv)
    plain = every_joint()
    p = r.convert_q(q, to="pinocchio")
    pd = r.convert_qd(q, qd, to="pinocchio")
    step = 1e-6
    ahead = r.convert_q(r.integrate(q, qd, step), to="pinocchio")
    behind = r.convert_q(r.integrate(q, qd, -step), to="pinocchio")
    rate = plain.difference(behind, ahead) / (2 * step)
    np.testing.assert_allclose(rate, pd, atol=1e-8)
    body_ahead, body_behind = (poses(plain, x)["spherical"][0] for x in (ahead, behind))
    there = poses(plain, plain.integrate(p, pd, step))["spherical"][0]
    back = poses(plain, plain.integrate(p, pd, -step))["spherical"][0]
    np.testing.assert_allclose(
        (body_ahead - body_behind) / (2 * step), (there - back) / (2 * step), atol=1e-8
    )


def test_conversion_to_itself_changes_nothing(rng: np.random.Generator) -> None:
    r = every_joint()
    q = r.random_configuration(rng)
    np.testing.assert_allclose(r.convert_q(q, to="pinocchio"), q, rtol=1e-15)


def test_conversion_needs_one_direction() -> None:
    r = every_joint()
    with pytest.raises(
        ArgumentError, match=r"convert_q: neither of to= and from_= given"
    ):
        r.convert_q(r.neutral())
    with pytest.raises(ArgumentError, match=r"convert_q: both of to= and from_= given"):
        r.convert_q(r.neutral(), to="mujoco", from_="mujoco")
    with pytest.raises(
        ArgumentError, match=r"unknown conventions 'mujco'; possible: 'pin"
    ):
        r.convert_q(r.neutral(), to="mujco")


def test_names_of_conventions() -> None:
    assert conventions("mujoco") == Conventions("wxyz", "world_linear")
    assert [str(c) for c in NAMED.values()] == list(NAMED)
    assert str(Conventions("wxyz")) == "quaternion wxyz, body, linear_first"
    with pytest.raises(
        ArgumentError, match=r"quaternion is 'wzyx'; possible: xyzw, wxyz"
    ):
        Conventions("wzyx")  # type: ignore[arg-type]
    with pytest.raises(
        ArgumentError, match=r"unknown conventions \['mujoco'\]; possible:"
    ):
        conventions(["mujoco"])  # type: ignore[arg-type]
