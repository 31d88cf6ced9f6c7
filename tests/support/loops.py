"""Robots with random loops, and the same dynamics by dense algebra."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from ramidyn.algorithms.loops.cuts import cuts_of
from ramidyn.compiler import program_of
from ramidyn.description.description import Description, LoopDescription
from ramidyn.description.loop_types import ROWS
from ramidyn.description.pose import Pose
from ramidyn.quantities import closed_loops, dynamics, mass_matrix
from ramidyn.quantities.frames import pose
from ramidyn.robot import Robot
from ramidyn.symbolic.interpreter import evaluate
from ramidyn.symbolic.program import Program
from ramidyn.tracing.quantity import Quantity

JOINT_TYPES = tuple(t for t in ROWS if t != "coupling")
TERMS = (
    mass_matrix.mass_matrix(algorithm="crba"),
    dynamics.bias_forces,
    closed_loops.constraint_jacobian,
    closed_loops.constraint_bias,
)


def as_robot(robot: Any, **options: Any) -> Robot:
    if isinstance(robot, Description):
        return Robot.from_description(robot, **options)
    return Robot.from_description(robot.description, **options)


def with_loops(robot: Robot, *new: LoopDescription) -> Robot:
    d = robot.description
    return Robot.from_description(
        replace(d, loops=(*d.loops, *new)),
        conventions=robot.conventions,
        joint_order=robot.joint_order,
    )


def closed_state(robot: Robot) -> tuple[Any, Any]:
    """Return a state that moves with its loops closed."""
    rng = np.random.default_rng(1)
    start = robot.assemble(robot.neutral())
    q = robot.integrate(start, rng.normal(scale=0.02, size=robot.nv))
    return robot.project(q, rng.normal(size=robot.nv))


@lru_cache(maxsize=64)
def program(robot: Robot, *quantities: Quantity) -> Program:
    return program_of(quantities, robot)


def value(
    quantity: Quantity | Sequence[Quantity],
    robot: Robot,
    dtype: Any = float,
    **inputs: Any,
) -> Any:
    wanted = [quantity] if isinstance(quantity, Quantity) else quantity
    out = evaluate(program(robot, *wanted), inputs, dtype)
    return next(iter(out.values())) if len(out) == 1 else out


def random_pose(rng: np.random.Generator) -> Pose:
    return Pose.from_quaternion(
        rng.normal(size=4), rng.uniform(-0.5, 0.5, 3), order="wxyz"
    )


def moved(type_: str, rng: np.random.Generator) -> Pose:
    """Return a pose of B in A that a cut of that type allows."""
    x, y, z, angle, tilt = rng.uniform(-0.5, 0.5, 5)
    turn = Pose.from_axis_angle((0, 0, 1), angle)
    match type_:
        case "weld":
            return Pose.identity()
        case "revolute":
            return turn
        case "prismatic":
            return Pose.at((0, 0, z))
        case "cylindrical":
            return Pose.at((0, 0, z)) @ turn
        case "universal":
            return turn @ Pose.from_axis_angle((1, 0, 0), tilt)
        case "planar":
            return Pose.at((x, y, 0)) @ turn
        case "spherical":
            return Pose.from_quaternion(rng.normal(size=4), order="wxyz")
        case "point_on_line":
            return Pose.from_quaternion(rng.normal(size=4), (0, 0, z), order="wxyz")
        case "point_on_plane":
            return Pose.from_quaternion(rng.normal(size=4), (x, y, 0), order="wxyz")
        case _:
            return random_pose(rng)


def closed_loop(
    robot: Robot, type_: str, a: str, b: str, q: Any, rng: np.random.Generator
) -> LoopDescription:
    """Return a loop of that type between two bodies, closed at q."""
    T_a, T_b = (
        Pose(T[:3, :3], T[:3, 3]) for T in (value(pose(n), robot, q=q) for n in (a, b))
    )
    cut_a, between = random_pose(rng), moved(type_, rng)
    cut_b = T_b.inverse() @ T_a @ cut_a @ between
    ends = [None if n == "world" else n for n in (a, b)]
    return LoopDescription(
        f"{type_}_{a}_{b}",
        type_,
        *ends,
        cut_a,
        cut_b,
        length=float(np.linalg.norm(between.p)),
    )


def dense(robot: Robot, q: Any, qd: Any, tau: Any) -> tuple[Any, Any, Any]:
    """Return q̈, λ (the least) and J by a dense solve of the augmented system."""
    M, h, J, gamma = value(TERMS, robot, q=q, qd=qd).values()
    return *solved(M, h, J, gamma, tau), J


def solved(M: Any, h: Any, J: Any, gamma: Any, tau: Any) -> tuple[Any, Any]:
    """Return q̈ and λ (the least) of one state, from the terms of its equation."""
    inverse = np.linalg.inv(M)
    G = J @ inverse @ J.T
    multipliers = np.linalg.pinv(G, rcond=1e-11, hermitian=True) @ (
        -gamma - J @ inverse @ (tau - h)
    )
    return inverse @ (tau - h + J.T @ multipliers), multipliers


def tangent(robot: Robot, q: Any, v: Any) -> Any:
    """Return dq/dt at velocity v, in Pinocchio's conventions."""
    out = np.zeros(robot.nq)
    for body in robot.tree.bodies:
        j = body.joint
        x, w = q[j.q_index : j.q_index + j.nq], v[j.v_index : j.v_index + j.nv]
        match j.type.name:
            case "spherical":
                rate = _quaternion_rate(x, w)
            case "planar":
                c, s = np.cos(x[2]), np.sin(x[2])
                rate = [c * w[0] - s * w[1], s * w[0] + c * w[1], w[2]]
            case "floating":
                a, b, c, d = x[3:]
                R = Pose.from_quaternion((d, a, b, c), order="wxyz").R
                rate = [*(R @ w[:3]), *_quaternion_rate(x[3:], w[3:])]
            case _:
                rate = w
        out[j.q_index : j.q_index + j.nq] = rate
    return out


def _quaternion_rate(xyzw: Any, w: Any) -> Any:
    u, s = xyzw[:3], xyzw[3]
    return np.append(0.5 * (s * w + np.cross(u, w)), -0.5 * u @ w)


def jacobian_columns(robot: Robot) -> list[list[int]]:
    """Return the degrees of freedom of each row of J, by the topology alone."""
    tree = robot.tree
    columns: list[list[int]] = []
    for cut in cuts_of(robot.model):
        on_path = set(tree.support(cut.a)) ^ set(tree.support(cut.b))
        row = sorted(k for i in on_path for k in tree.dofs[i])
        columns += [row] * len(cut.rows)
    return columns
