"""Self-checks: algorithms against each other, native code against the interpreter."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ramidyn.cli.peers import State
from ramidyn.compilation import Request
from ramidyn.compiler import compile
from ramidyn.description.pose import Array
from ramidyn.errors import ModelError
from ramidyn.quantities.closed_loops import constraint_bias, constraint_jacobian
from ramidyn.quantities.dynamics import forward_dynamics, inverse_dynamics
from ramidyn.robot import Robot
from ramidyn.symbolic.interpreter import evaluate

TOLERANCE = 1e-9
SMALLEST = 1e-6
"""entries below it are what rounding leaves of zeros [SI units]"""


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference of two ways to compute the same, relative to the largest entry."""

    what: str
    error: float
    tolerance: float = TOLERANCE


def state_of(robot: Robot, batch: int, rng: np.random.Generator) -> State:
    """Return random states; forces suit the inertia of each joint."""
    q = robot.random_configuration(rng, batch)
    qd, qdd, force = rng.normal(size=(3, batch, robot.nv))
    tau: Array = 5.0 * np.einsum("bii->bi", robot.mass_matrix(q)) * force
    return State(q, qd, qdd, tau)


def relative(a: Array, b: Array) -> float:
    """Return the largest difference, divided by the largest entry."""
    largest = max(float(np.abs(b).max(initial=0.0)), SMALLEST)
    return float(np.abs(a - b).max(initial=0.0)) / largest


def _algorithms(robot: Robot) -> list[str]:
    """Return the algorithms of forward dynamics; none if M is singular."""
    try:
        Request(forward_dynamics, robot).choose()
    except ModelError:
        return []
    return list(forward_dynamics.algorithms(robot.model, robot.conventions))


def loop_error(robot: Robot, batch: int, rng: np.random.Generator) -> Difference:
    """Return how far accelerations break the constraints of a robot with loops."""
    s = state_of(robot, batch, rng)
    jacobian = compile(constraint_jacobian, robot)(s.q)
    bias = compile(constraint_bias, robot)(s.q, s.qd)
    qdd = robot.forward_dynamics(s.q, s.qd, s.tau)
    moved = np.einsum("bij,bj->bi", jacobian, qdd)
    return Difference("loops stay closed, J q̈ + J̇ q̇ = 0", relative(moved, -bias), 1e-6)


def errors_of(robot: Robot, batch: int, rng: np.random.Generator) -> list[Difference]:
    """Return the differences between Ramidyn's own ways to compute the same."""
    s = state_of(robot, batch, rng)
    tau = robot.inverse_dynamics(s.q, s.qd, s.qdd)
    mass, bias = robot.mass_matrix(s.q), robot.bias_forces(s.q, s.qd)
    known = np.einsum("bij,bj->bi", mass, s.qdd) + bias
    errors = [Difference("inverse dynamics = M q̈ + bias", relative(tau, known))]
    limit = max(TOLERANCE, 1e-15 * float(np.linalg.cond(mass).max()))
    for algorithm in _algorithms(robot):
        f = compile(forward_dynamics(algorithm=algorithm), robot)
        back = relative(f(s.q, s.qd, tau), s.qdd)
        errors.append(
            Difference(f"forward dynamics ({algorithm}) inverts inverse", back, limit)
        )
    f = compile(inverse_dynamics, robot)
    inputs = {"q": s.q, "qd": s.qd, "qdd": s.qdd}
    meant = evaluate(f.program, inputs)[f.program.outputs[0].name]
    errors.append(Difference("native code = interpreter", relative(tau, meant)))
    one = np.array([f(s.q[k], s.qd[k], s.qdd[k]) for k in range(batch)])
    errors.append(Difference("one by one = batch", relative(one, tau)))
    return errors
