"""Joints that share a coordinate: trees with clusters against independent joints.

A robot whose joints follow others has the equations of motion of the robot in which
they are independent, along q_tree = P q + offset: M = Pᵀ M_tree P, and so on.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace

import numpy as np
import pytest

from ramidyn.catalog.paper_robots import random_tree
from ramidyn.contacts import ContactPoint, HardLimit
from ramidyn.description.conventions import Conventions
from ramidyn.description.description import Description, Mimic
from ramidyn.description.pose import Array, Pose
from ramidyn.quantities.contact_rows import contact_motion
from ramidyn.quantities.dynamics import (
    bias_forces,
    forward_dynamics,
    inverse_dynamics,
)
from ramidyn.quantities.dynamics_derivatives import (
    forward_dynamics_derivatives,
    inverse_dynamics_derivatives,
)
from ramidyn.quantities.frames import jacobian
from ramidyn.quantities.identification import regressor
from ramidyn.quantities.mass_matrix import (
    coriolis_matrix,
    mass_matrix,
    mass_matrix_inverse,
    mass_matrix_solve,
)
from ramidyn.quantities.momentum_energy import (
    centroidal_momentum_matrix,
    kinetic_energy,
)
from ramidyn.quantities.operational import operational_inertia_inverse
from ramidyn.quantities.reactions import joint_wrenches
from ramidyn.robot import Robot
from ramidyn.symbolic.interpreter import evaluate
from ramidyn.tracing.quantity import Quantity
from support.close import assert_close
from support.states import ONE_COORDINATE, program, value, with_joints

WORLD_LINEAR = Conventions("xyzw", "world_linear", "angular_first")


@dataclass(frozen=True)
class Pair:
    """A robot with clusters, and the same with independent joints."""

    robot: Robot
    free: Robot
    P: Array
    offset: Array

    def state(self, rng: np.random.Generator) -> tuple[dict[str, Array], ...]:
        """Return a state of the robot, and of the one with independent joints."""
        q = self.robot.random_configuration(rng=rng)
        qd, qdd = rng.normal(size=(2, self.robot.nv))
        extra = self.robot.nq - self.robot.nv
        free = np.concatenate([q[: 7 * extra], self._joints(q[7 * extra :])])
        return (
            {"q": q, "qd": qd, "qdd": qdd},
            {"q": free, "qd": self.P @ qd, "qdd": self.P @ qdd},
        )

    def _joints(self, q: Array) -> Array:
        n = len(q)
        return self.P[-len(self.offset) :, -n:] @ q + self.offset


def pair(
    description: Description, follows: dict[int, tuple[int, float, float]]
) -> Pair:
    """Return a robot with joints that follow others, given by place and leader."""
    names = [j.name for b in description.bodies for j in b.joints]
    free_joint = description.bodies[0].joints[0].type == "floating"
    mimics = {names[k]: Mimic(names[of], a, b) for k, (of, a, b) in follows.items()}
    description = with_joints(
        description,
        lambda name: {
            "armature": 0.0 if free_joint and name == names[0] else 0.3,
            "mimic": mimics.get(name),
        },
    )
    robot, free = (
        Robot.from_description(
            description, conventions=WORLD_LINEAR, joint_order="file", mimic=mimic
        )
        for mimic in ("reduce", "independent")
    )
    P = np.zeros((free.nv, robot.nv))
    offset = np.zeros(free.nv - (6 if free_joint else 0))
    for joint in free.model.joints:
        leader, a, b = joint.name, 1.0, 0.0
        while leader in mimics:
            m = mimics[leader]
            leader, a, b = m.of, a * m.multiplier, a * m.offset + b
        led = robot.model.joint(leader)
        P[joint.v_slice, led.v_slice] = a * np.eye(joint.nv)
        if joint.nq == 1:
            offset[joint.v_index - (6 if free_joint else 0)] = b
    return Pair(robot, free, P, offset)


def line(n: int, seed: int) -> Description:
    """Return a chain with random geometry."""
    tree = random_tree(n, seed, joints=ONE_COORDINATE, massless=0.0)
    names = [b.name for b in tree.bodies]
    bodies = [
        replace(b, parent=None if k == 0 else names[k - 1])
        for k, b in enumerate(tree.bodies)
    ]
    return replace(tree, bodies=tuple(bodies))


def on_one_path() -> Pair:
    """A finger: the last joints follow the first, with a plain one between."""
    return pair(line(6, 2), {3: (1, 0.8, 0.1), 5: (1, -1.0, 0.0)})


def leader_beyond() -> Pair:
    """Joints near the base follow one at the tip."""
    return pair(line(5, 4), {0: (4, -0.5, 0.3), 2: (4, 1.0, 0.0)})


def across_branches() -> Pair:
    """A tree with followers on several branches, some of them of followers."""
    tree = random_tree(14, 8, joints=ONE_COORDINATE, massless=0.0)
    return pair(
        tree, {9: (2, -0.7, 0.2), 4: (3, 1.5, 0.0), 12: (9, 0.4, -0.1), 13: (3, 1.0, 0)}
    )


def floating_base() -> Pair:
    """Followers on branches of a floating base."""
    tree = random_tree(12, 3, joints=ONE_COORDINATE, massless=0.0)
    first = tree.bodies[0]
    free = replace(first.joints[0], type="floating", position=np.zeros(3))
    base = replace(first, joints=(free,), placement=Pose.identity())
    tree = replace(tree, bodies=(base, *tree.bodies[1:]))
    return pair(tree, {8: (3, 1.0, 0.0), 11: (3, -0.6, 0.1), 10: (2, 0.9, 0.0)})


def nested() -> Pair:
    """On one chain, coordinates that begin and end within others."""
    return pair(
        line(9, 6),
        {8: (1, 0.7, 0.0), 5: (2, 1.0, 0.1), 6: (3, -1.0, 0.0), 7: (2, 0.3, 0.0)},
    )


def trees_apart() -> Pair:
    """Followers in other trees: coordinates that meet in the world."""
    tree = random_tree(12, 5, roots=3, joints=ONE_COORDINATE, massless=0.0)
    return pair(tree, {4: (0, 1.0, 0.0), 7: (1, -0.8, 0.2), 11: (1, 0.0, 0.4)})


CLUSTERS = {
    f.__name__: f
    for f in (
        on_one_path,
        leader_beyond,
        across_branches,
        floating_base,
        nested,
        trees_apart,
    )
}


@functools.cache
def made(name: str) -> Pair:
    return CLUSTERS[name]()


@pytest.fixture(params=CLUSTERS)
def clusters(request: pytest.FixtureRequest) -> Pair:
    return made(request.param)


def test_inverse_dynamics_is_that_of_independent_joints(
    clusters: Pair, rng: np.random.Generator
) -> None:
    now, free = clusters.state(rng)
    tau = value(clusters.robot, inverse_dynamics, **now)
    assert_close(tau, clusters.P.T @ value(clusters.free, inverse_dynamics, **free))


@pytest.mark.parametrize("algorithm", ["crba", "crba_root"])
def test_mass_matrix_is_that_of_independent_joints(
    clusters: Pair, algorithm: str, rng: np.random.Generator
) -> None:
    now, free = clusters.state(rng)
    M = value(clusters.robot, mass_matrix(algorithm=algorithm), q=now["q"])
    P = clusters.P
    assert_close(M, P.T @ value(clusters.free, mass_matrix, q=free["q"]) @ P)


@pytest.mark.parametrize("algorithm", ["aba", "ltdl"])
def test_forward_dynamics_solves_the_equations_of_independent_joints(
    clusters: Pair, algorithm: str, rng: np.random.Generator
) -> None:
    now, free = clusters.state(rng)
    P, tau = clusters.P, rng.normal(size=clusters.robot.nv)
    M = P.T @ value(clusters.free, mass_matrix, q=free["q"]) @ P
    bias = P.T @ value(clusters.free, bias_forces, q=free["q"], qd=free["qd"])
    qdd = value(
        clusters.robot,
        forward_dynamics(algorithm=algorithm),
        q=now["q"],
        qd=now["qd"],
        tau=tau,
    )
    assert_close(qdd, np.linalg.solve(M, tau - bias))


def test_derivatives_are_those_of_independent_joints(
    clusters: Pair, rng: np.random.Generator
) -> None:
    now, free = clusters.state(rng)
    P = clusters.P
    quantity = inverse_dynamics_derivatives(algorithm="idsva")
    found = evaluate(program(clusters.robot, quantity), now)
    expected = evaluate(program(clusters.free, quantity), free)
    for name, value_of in found.items():
        assert_close(value_of, P.T @ expected[name] @ P)


def test_derivatives_of_forward_dynamics_solve_those_of_inverse_dynamics(
    clusters: Pair, rng: np.random.Generator
) -> None:
    now, _ = clusters.state(rng)
    tau = value(clusters.robot, inverse_dynamics, **now)
    quantity = inverse_dynamics_derivatives(algorithm="idsva")
    inverse = evaluate(program(clusters.robot, quantity), now)
    quantity = forward_dynamics_derivatives(algorithm="idsva")
    given = {"q": now["q"], "qd": now["qd"], "tau": tau}
    found = evaluate(program(clusters.robot, quantity), given)
    M = inverse["M"]
    assert_close(M @ found["dqdd_dq"], -inverse["dtau_dq"])
    assert_close(M @ found["dqdd_dqd"], -inverse["dtau_dqd"])
    assert_close(M @ found["dqdd_dtau"], np.eye(clusters.robot.nv))


@pytest.mark.parametrize("algorithm", ["root_frame", "body_frames"])
def test_coriolis_matrix_is_that_of_independent_joints(
    clusters: Pair, algorithm: str, rng: np.random.Generator
) -> None:
    now, free = clusters.state(rng)
    P, quantity = clusters.P, coriolis_matrix(algorithm=algorithm)
    C = value(clusters.robot, quantity, q=now["q"], qd=now["qd"])
    assert_close(
        C, P.T @ value(clusters.free, quantity, q=free["q"], qd=free["qd"]) @ P
    )


@pytest.mark.parametrize(
    "quantity", [regressor, joint_wrenches, kinetic_energy, centroidal_momentum_matrix]
)
def test_other_quantities_are_those_of_independent_joints(
    clusters: Pair, quantity: Quantity, rng: np.random.Generator
) -> None:
    now, free = clusters.state(rng)
    names = [v.name for v in program(clusters.robot, quantity).inputs]
    found, expected = (
        value(robot, quantity, **{n: state[n] for n in names})
        for robot, state in ((clusters.robot, now), (clusters.free, free))
    )
    if quantity is regressor:
        expected = clusters.P.T @ expected
    elif quantity is centroidal_momentum_matrix:
        expected = expected @ clusters.P
    assert_close(found, expected)


def test_solves_with_the_mass_matrix_invert_it(
    clusters: Pair, rng: np.random.Generator
) -> None:
    (now, _), robot = clusters.state(rng), clusters.robot
    M = value(robot, mass_matrix, q=now["q"])
    assert_close(M @ value(robot, mass_matrix_inverse, q=now["q"]), np.eye(robot.nv))
    x = value(robot, mass_matrix_solve, q=now["q"], b=now["qd"])
    assert_close(M @ x, now["qd"])


def test_operational_inertia_is_made_of_the_mass_matrix(
    clusters: Pair, rng: np.random.Generator
) -> None:
    (now, _), robot = clusters.state(rng), clusters.robot
    frames = robot.body_names[-1], robot.body_names[len(robot.body_names) // 2]
    M = value(robot, mass_matrix, q=now["q"])
    J = np.vstack([value(robot, jacobian(f), q=now["q"]) for f in frames])
    for algorithm in ("sfa", "pv"):
        quantity = operational_inertia_inverse(frames, algorithm=algorithm)
        inverse = value(robot, quantity, q=now["q"])
        assert_close(inverse, J @ np.linalg.solve(M, J.T))


def test_contacts_and_limits_push_joints_that_follow(rng: np.random.Generator) -> None:
    robot = made("floating_base").robot
    names = robot.body_names
    for k in (-1, -2, 4):
        robot = robot.add_contact(ContactPoint(names[k], (0.1, 0.0, 0.2), friction=0.5))
    robot = robot.add_contact(HardLimit(robot.joint_names[3], -1.0, 1.0))
    state = {
        "q": robot.random_configuration(rng),
        "qd": rng.normal(size=robot.nv),
        "tau": rng.normal(size=robot.nv),
        "F": rng.normal(size=robot.nv),
        "dt": 1e-3,
    }
    sfa, pv = (
        evaluate(program(robot, contact_motion(algorithm=name)), state)
        for name in ("sfa", "pv")
    )
    assert np.abs(sfa["G"]).max() > 1e-3
    for name, expected in sfa.items():
        assert_close(pv[name], expected)
