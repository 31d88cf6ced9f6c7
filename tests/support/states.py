"""Robots, states and exact derivatives for tests of laws that hold on any robot.

Programs are evaluated by the reference interpreter; in complex numbers it gives
derivatives to the last digits (f(x + ih) = f(x) + ih f'(x), with no difference taken).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from ramidyn.catalog.paper_robots import random_tree
from ramidyn.compiler import program_of
from ramidyn.description.conventions import Conventions
from ramidyn.description.description import Description, Mimic
from ramidyn.description.pose import Array, Pose
from ramidyn.robot import Robot
from ramidyn.symbolic.interpreter import evaluate
from ramidyn.symbolic.program import Program
from ramidyn.tracing.quantity import Quantity

STEP = 1e-30
"""of complex steps: below any rounding of the values, far above the smallest double"""

ONE_COORDINATE = ("revolute", "prismatic", "helical")


def every_joint_type() -> Robot:
    """A tree in which every joint type occurs twice."""
    return Robot.from_description(random_tree(18, 1))


def forest() -> Robot:
    """Three trees in one world, a floating root among them, in MuJoCo's terms."""
    description = random_tree(15, 5, roots=3)
    return Robot.from_description(description, conventions="mujoco")


def floating_base() -> Robot:
    """A floating base with branches, its linear velocity along the world's axes."""
    description = random_tree(12, 3, joints=("revolute", "prismatic", "spherical"))
    first = description.bodies[0]
    (joint,) = first.joints
    free = replace(joint, type="floating", position=np.zeros(3))
    base = replace(first, joints=(free,), placement=Pose.identity())
    bodies = (base, *description.bodies[1:])
    return Robot.from_description(
        replace(description, bodies=bodies),
        conventions=Conventions("xyzw", "world_linear", "angular_first"),
    )


def coupled() -> Robot:
    """Mimic joints within a branch and across branches, and rotors on all joints."""
    description = random_tree(14, 8, joints=ONE_COORDINATE, massless=0.0)
    names = [j.name for b in description.bodies for j in b.joints]
    follows = {
        names[9]: Mimic(names[2], -0.7, 0.2),
        names[4]: Mimic(names[3], 1.5, 0.0),
        names[12]: Mimic(names[2], 0.4, -0.1),
    }
    description = with_joints(
        description, lambda name: {"armature": 0.3, "mimic": follows.get(name)}
    )
    return Robot.from_description(
        description, conventions="featherstone", joint_order="alphabetical"
    )


def with_joints(
    description: Description, change: Callable[[str], Mapping[str, object]]
) -> Description:
    """Return the description with some fields of its joints changed."""
    bodies = tuple(
        replace(b, joints=tuple(replace(j, **change(j.name)) for j in b.joints))  # type: ignore[arg-type]
        for b in description.bodies
    )
    return replace(description, bodies=bodies)


CASES = {f.__name__: f for f in (every_joint_type, forest, floating_base, coupled)}


@functools.cache
def case(name: str) -> Robot:
    """Return the robot of that name; the same object every time."""
    return CASES[name]()


@functools.cache
def program(robot: Robot, quantity: Quantity) -> Program:
    return program_of(quantity, robot)


def value(robot: Robot, quantity: Quantity, **inputs: Array) -> Array:
    """Return a quantity, by the reference interpreter."""
    found = program(robot, quantity)
    named = {v.name: inputs[v.name] for v in found.inputs}
    is_complex = any(np.iscomplexobj(x) for x in inputs.values())
    (out,) = evaluate(found, named, complex if is_complex else float).values()
    return out


def state(robot: Robot, rng: np.random.Generator) -> dict[str, Array]:
    """Return a random q (its quaternions of unit length), qd and qdd."""
    q = rng.uniform(-2.0, 2.0, robot.nq)
    for start, _, _ in quaternions(robot):
        q[start : start + 4] /= np.linalg.norm(q[start : start + 4])
    return {"q": q, "qd": rng.normal(size=robot.nv), "qdd": rng.normal(size=robot.nv)}


def quaternions(robot: Robot) -> list[tuple[int, int, str]]:
    """Return (entry of q, entry of qd, joint type) of each joint with a quaternion."""
    return [
        (j.q_index + j.nq - 4, j.v_index, j.type)
        for j in robot.model.joints
        if j.type in ("spherical", "floating")
    ]


def q_rate(robot: Robot, q: Array, qd: Array) -> Array:
    """Return d(q)/dt: what each entry of q does when the robot moves with qd."""
    c = robot.conventions
    rate = np.zeros(robot.nq)
    for j in robot.model.joints:
        own, v = q[j.q_index : j.q_index + j.nq], qd[j.v_index : j.v_index + j.nv]
        out = rate[j.q_index : j.q_index + j.nq]
        if j.type == "planar":
            cos, sin = np.cos(own[2]), np.sin(own[2])
            out[:] = cos * v[0] - sin * v[1], sin * v[0] + cos * v[1], v[2]
        elif j.type in ("spherical", "floating"):
            w, linear = v[-3:], v[:3]
            if j.type == "floating" and c.order == "angular_first":
                w, linear = v[:3], v[3:]
            xyzw = own[-4:] if c.quaternion == "xyzw" else np.roll(own[-4:], -1)
            turned = quaternion_rate(xyzw, w)
            out[-4:] = turned if c.quaternion == "xyzw" else np.roll(turned, 1)
            if j.type == "floating":
                is_body = c.floating_velocity == "body"
                out[:3] = rotation(xyzw) @ linear if is_body else linear
        else:
            out[:] = v
    return rate


def quaternion_rate(xyzw: Array, w: Array) -> Array:
    """Return ½ q ⊗ (w, 0), for an angular velocity in body axes."""
    v, s = xyzw[:3], xyzw[3]
    return 0.5 * np.array([*(s * w + np.cross(v, w)), -(v @ w)])


def rotation(xyzw: Array) -> Array:
    """Return the rotation matrix of a unit quaternion."""
    v, s = xyzw[:3], xyzw[3]
    return (2 * s * s - 1) * np.eye(3) + 2 * np.outer(v, v) + 2 * s * skew(v)


def skew(v: Array) -> Array:
    """Return v×."""
    return np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])


def rate(
    robot: Robot, quantity: Quantity, *, q: Array, qd: Array, qdd: Array | None = None
) -> Array:
    """Return d/dt of a quantity of q (and qd) as the robot moves, by a complex step."""
    moving = {"q": q + 1j * STEP * q_rate(robot, q, qd)}
    moving["qd"] = qd + (1j * STEP * qdd if qdd is not None else 0j)
    return value(robot, quantity, **moving).imag / STEP


def gradient(robot: Robot, quantity: Quantity, q: Array) -> Array:
    """Return the derivative of a quantity of q along each entry of qd, last axis."""
    directions = np.eye(robot.nv)
    return np.stack([rate(robot, quantity, q=q, qd=e) for e in directions], axis=-1)


def angular(robot: Robot, x: Array) -> Array:
    """Return the angular half of a 6-vector, or of the rows of a matrix."""
    return x[3:] if robot.conventions.order == "linear_first" else x[:3]


def linear(robot: Robot, x: Array) -> Array:
    """Return the linear half of a 6-vector, or of the rows of a matrix."""
    return x[:3] if robot.conventions.order == "linear_first" else x[3:]


def six(robot: Robot, w: Array, v: Array) -> Array:
    """Return a 6-vector, or rows of a matrix, with its halves in the robot's order."""
    is_linear_first = robot.conventions.order == "linear_first"
    return np.concatenate([v, w] if is_linear_first else [w, v])
