"""Wrenches given to methods by the names of frames; motions of robots with loops."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import ramidyn
from ramidyn.errors import ArgumentError, ShapeError, UnknownName
from ramidyn.quantities.external import wrenches as wrenches_of
from ramidyn.robot import Robot
from ramidyn.symbolic.interpreter import evaluate
from ramidyn.symbolic.trace import trace
from support.close import assert_close
from support.planar import four_bar


@functools.cache
def arm() -> Robot:
    return ramidyn.robots.chain(3)


@functools.cache
def linkage() -> Robot:
    return four_bar()


def now(robot: Robot, batch: int) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(4)
    q = robot.random_configuration(rng, batch)
    return q, rng.normal(size=(batch, robot.nv)), rng.normal(size=(batch, robot.nv))


def test_wrenches_are_given_by_frame_for_one_state_or_a_batch() -> None:
    robot = arm()
    first, last = robot.body_names[0], robot.body_names[-1]
    q, qd, qdd = now(robot, 4)
    rng = np.random.default_rng(5)
    one, many = rng.normal(size=6), rng.normal(size=(4, 6))
    tau = robot.inverse_dynamics(q, qd, qdd, external={last: one, first: many})
    J, K = robot.jacobian(q, last), robot.jacobian(q, first)
    pushed = np.einsum("bij,i->bj", J, one) + np.einsum("bij,bi->bj", K, many)
    assert_close(tau, robot.inverse_dynamics(q, qd, qdd) - pushed)
    external = {first: many[0], last: one.tolist()}
    alone = robot.inverse_dynamics(q[0], qd[0], qdd=qdd[0], external=external)
    assert_close(alone, tau[0])
    out = np.empty(robot.nv)
    external = {last: one, first: many[0]}
    qdd_0 = robot.forward_dynamics(q[0], qd[0], alone, external=external, out=out)
    assert qdd_0 is out
    assert_close(out, qdd[0])
    still = np.zeros(robot.nv)
    bias = robot.bias_forces(q[0], qd[0], external=external)
    assert_close(bias, robot.inverse_dynamics(q[0], qd[0], still, external=external))


def test_the_order_of_frames_does_not_compile_again() -> None:
    first, last = arm().body_names[0], arm().body_names[-1]
    one, other = np.arange(6.0), np.ones(6)
    frames, wrenches = wrenches_of({last: one, first: other})
    again, same = wrenches_of({first: other, last: one})
    assert frames == again == tuple(sorted((first, last)))
    np.testing.assert_array_equal(wrenches, same)


def test_no_wrenches_are_none() -> None:
    robot = arm()
    q, qd, qdd = (x[0] for x in now(robot, 1))
    tau = robot.inverse_dynamics(q, qd, qdd)
    for nothing in ({}, None):
        assert (robot.inverse_dynamics(q, qd, qdd, external=nothing) == tau).all()


def test_options_choose_the_algorithm_of_a_method() -> None:
    robot = arm()
    q, qd, tau = (x[0] for x in now(robot, 1))
    found = [robot.forward_dynamics(q, qd, tau, algorithm=a) for a in ("aba", "ltdl")]
    assert_close(found[0], found[1])
    with pytest.raises(ArgumentError, match=r"algorithm is 'abba'; possible: 'auto', "):
        robot.forward_dynamics(q, qd, tau, algorithm="abba")
    with pytest.raises(ArgumentError, match=r"algorithm is \[\]; possible: 'auto', "):
        robot.forward_dynamics(q, qd, tau, algorithm=[])  # type: ignore[arg-type]


def test_wrenches_may_be_symbols() -> None:
    robot = arm()
    frame, n = robot.body_names[-1], robot.nv

    def pushed(q: Any, qd: Any, tau: Any, wrench: Any) -> Any:
        external = {frame: wrench, robot.body_names[0]: np.arange(6.0)}
        return robot.forward_dynamics(
            q, qd, tau, external=external, expressed_in="world"
        )

    program = trace(pushed, {"q": n, "qd": n, "tau": n, "wrench": 6})
    q, qd, tau = (x[0] for x in now(robot, 1))
    wrench = np.arange(6.0) - 2.0
    inputs = {"q": q, "qd": qd, "tau": tau, "wrench": wrench}
    (found,) = evaluate(program, inputs).values()
    assert_close(found, pushed(q, qd, tau, wrench))


@pytest.mark.parametrize("algorithm", ["joint_formulation", "constrained_aba"])
def test_loops_carry_external_forces(algorithm: str) -> None:
    robot = linkage()
    q = robot.assemble(fixed={"crank_joint": 0.7})
    q, qd = robot.project(q, np.array([0.5, 0.0, 0.0]))
    tau, wrench = np.array([0.3, 0.0, 0.0]), np.array([1.0, 2.0, 3.0, 0.1, 0.2, 0.3])
    external = {"coupler": wrench}
    qdd = robot.forward_dynamics(q, qd, tau, external=external, algorithm=algorithm)
    forces = robot.loop_forces(q, qd, tau, external=external, algorithm=algorithm)
    J = robot.constraint_jacobian(q)
    assert_close(J @ qdd + robot.constraint_bias(q, qd), np.zeros(len(J)))
    needed = (
        robot.inverse_dynamics(q, qd, qdd) - robot.jacobian(q, "coupler").T @ wrench
    )
    assert_close(needed, tau + J.T @ forces)
    assert np.abs(forces - robot.loop_forces(q, qd, tau)).max() > 0.1


def test_inverse_dynamics_moves_a_mechanism_without_force_in_its_loops() -> None:
    robot = linkage()
    q = robot.assemble(fixed={"crank_joint": 0.7})
    q, qd = robot.project(q, np.array([0.5, 0.0, 0.0]))
    qdd = robot.forward_dynamics(q, qd, np.array([1.0, 0.0, 0.0]))
    tau = robot.inverse_dynamics(q, qd, qdd)
    assert np.abs(tau[1:]).max() > 1e-3  # also where there is no motor
    assert_close(robot.forward_dynamics(q, qd, tau), qdd)
    assert_close(robot.loop_forces(q, qd, tau), np.zeros(len(robot.loops[0].rows)))
    with_motors = robot.constrained_inverse_dynamics(q, qd, qdd, ["crank_joint"])
    assert_close(with_motors.tau, np.array([1.0, 0.0, 0.0]))
    assert "Loops are ignored" in (Robot.inverse_dynamics.__doc__ or "")


@pytest.mark.parametrize(
    ("external", "error", "message"),
    [
        ({"hnd": np.ones(6)}, UnknownName, r"no frame 'hnd' in .*chain"),
        (
            {"body2": np.ones(3)},
            ShapeError,
            r"external\['body2'\] has shape \(3,\); exp",
        ),
        (
            {"body2": 1.0},
            ShapeError,
            r"external\['body2'\] has shape \(\); expected a w",
        ),
        (
            {2: np.ones(6)},
            ArgumentError,
            r"external has 2; expected the name of a frame",
        ),
        (
            ["body2"],
            ArgumentError,
            r"external is \['body2'\]; expected a dict of wrench",
        ),
        (
            np.ones(6),
            ArgumentError,
            r"external is array.*; expected a dict of wrenches",
        ),
        (
            {"body2": np.ones((2, 6)), "body1": np.ones((3, 6))},
            ShapeError,
            r"batch sizes in external differ: body1 3, body2 2; expected equal sizes "
            r"or 1",
        ),
        (
            {"body2": np.ones((2, 6))},
            ShapeError,
            r"batch sizes differ: q 4, qd 4, qdd 4, external 2",
        ),
        (
            {"body2": [[1.0, 2.0], [3.0]]},
            ShapeError,
            r"external\['body2'\] is not an array: setting an array element",
        ),
        (
            {"body2": ["a"] * 6},
            ShapeError,
            r"external is ndarray of <U1; .* real numbers",
        ),
    ],
)
def test_wrenches_that_do_not_fit_are_named(
    external: Any, error: type[Exception], message: str
) -> None:
    robot = arm()
    with pytest.raises(error, match=message):
        robot.inverse_dynamics(*now(robot, 4), external=external)


def test_an_empty_dict_of_wrenches_is_a_call_without(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    robot = arm()
    state = now(robot, 4)
    expected = robot.inverse_dynamics(*state)
    out = np.empty_like(expected)

    def select(*_: object) -> None:
        raise AssertionError("emitted code finds the function")

    monkeypatch.setattr(type(robot.inverse_dynamics), "select", select)
    assert (robot.inverse_dynamics(*state, external={}) == expected).all()
    assert robot.inverse_dynamics(*state, external={}, out=out) is out
    assert (out == expected).all()


def test_axes_that_do_not_exist_are_refused() -> None:
    robot = arm()
    with pytest.raises(
        ArgumentError, match="expressed_in is 'body'; possible: 'local'"
    ):
        robot.inverse_dynamics(*now(robot, 4), external={}, expressed_in="body")
