"""Mechanisms: robots with closed loops, put together, moved and held together.

    Φ(q) = 0,   J q̇ = 0        rows of Φ by loop, J = ∂Φ/∂q of rank r; mobility nv − r

Functions take a robot; those that change it return a new one. Numbers come from
kernels of `ramify.quantities.loops`, compiled once for a robot and kept.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, final
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from ramify.algorithms.loops.cuts import ROWS, cuts_of, row_names
from ramify.compiling import compile
from ramify.errors import (
    ModelError,
    ModelWarning,
    ShapeError,
    UnsupportedJoint,
    unknown_name,
)
from ramify.function import Function
from ramify.model.description import LoopDescription
from ramify.model.editing import Placement, pose_of
from ramify.model.pose import Array, Pose
from ramify.quantities import dynamics, loops as quantities
from ramify.quantities.redundancy import numerical_rank, rank_of
from ramify.robot import Robot

TOLERANCE = 1e-9
"""|Φ| [m, rad] and |J q̇| up to which a state is admissible, and asked of a new one"""
TRIES = 20


# ------------------------------------------------------------ loops of a robot


@final
@dataclass(frozen=True, slots=True, eq=False)
class Loop:
    """One loop of a robot: what it joins, and its rows of the constraints."""

    name: str
    type: str
    body_a: str
    """a body, or "world"; "" for a coupling"""
    body_b: str
    joints: tuple[str, ...]
    """what a coupling couples"""
    rows: range
    """its rows of Φ and J"""
    holds: tuple[str, ...]
    """what each row holds: positions "px", "py", "pz" and turns "rx", "ry", "rz" along
    the axes of the cut's frame on body a, an angle "u", a distance "d", a coupling "c" """


def loops(robot: Robot) -> tuple[Loop, ...]:
    """Return the loops of a robot, in the order of the rows of its constraints."""
    found: list[Loop] = []
    start = 0
    for given, cut in zip(robot.model.loops, cuts_of(robot.model), strict=True):
        is_coupling = given.type == "coupling"
        a, b = ("" if is_coupling else n or "world" for n in (given.body_a, given.body_b))
        rows = range(start, start + len(cut.rows))
        found.append(Loop(given.name, given.type, a, b, given.joints, rows, cut.rows))
        start = rows.stop
    return tuple(found)


def add_loop(  # noqa: PLR0913  two ends, each with its place
    robot: Robot,
    body_a: str | None = None,
    body_b: str | None = None,
    *,
    joint: str = "spherical",
    placement_a: Placement = (0.0, 0.0, 0.0),
    placement_b: Placement | None = None,
    name: str | None = None,
    length: float | None = None,
    joints: Sequence[str] = (),
    coefficients: Sequence[float] = (0.0, 1.0),
    check: bool = True,
) -> Robot:
    """Return the robot with one more loop: body b held to body a by a cut joint.

    Args:
        robot: the robot.
        body_a: a body; "world" or None is what does not move.
        body_b: the other.
        joint: what holds them, along z of the frame on a: "weld", "revolute",
            "prismatic", "universal", "cylindrical", "spherical", "planar",
            "point_on_line", "point_on_plane", "distance" (a rod), or "coupling".
        placement_a: the cut's frame in body a.
        placement_b: the cut's frame in body b; by default where it meets the one in a
            with all joints at neutral.
        name: of the loop.
        length: distance: of the rod; by default what it is at neutral.
        joints: coupling: the dependent joint and the one that it follows.
        coefficients: coupling: y = Σ c_k x^k; (0, 2) is a gear.
        check: whether to see that all loops can be closed together.

    Raises:
        ModelError: the loop cannot be, or cannot be closed together with the others.
    """
    if joint not in ROWS:
        raise UnsupportedJoint(
            f"joint is {joint!r}; a loop can be closed by: {', '.join(ROWS)}"
        )
    names = [x.name for x in robot.model.loops]
    label = name or _free_name(joint, names)
    if label in names:
        raise ModelError(f"loop {label!r} is in robot {robot.name!r} already")
    if joint == "coupling":
        new = _coupling(robot, label, joints, coefficients)
    else:
        ends = _body(robot, body_a), _body(robot, body_b)
        if ends[0] == ends[1]:
            raise ModelError(f"loop {label!r} joins {ends[0] or 'world'!r} to itself")
        T_a = pose_of(f"loop {label!r}: placement_a", placement_a)
        T_b = _other_end(robot, label, joint, ends, T_a, placement_b)
        rod = _length(robot, label, joint, ends, (T_a, T_b), length)
        new = LoopDescription(label, joint, *ends, T_a, T_b, length=rod)
    description = replace(robot.description, loops=(*robot.model.loops, new))
    closed = Robot.from_description(
        description,
        conventions=robot.conventions,
        joint_order=robot.joint_order,
        mimic=robot.mimic,
    )
    cuts_of(closed.model)
    if check:
        check_loops(closed, robot)
    return closed


def check_loops(robot: Robot, before: Robot | None = None) -> None:
    """Raise ModelError if no closed configuration is found; warn of redundant rows.

    Args:
        robot: the robot.
        before: the robot without its last loop, where only that one is new.
    """
    rank = rank_of(robot.placed_model, robot.conventions)
    last = loops(robot)[-1]
    if rank.q is None:
        try:
            assemble(robot)
        except ModelError as error:
            raise ModelError(
                f"loop {last.name!r} cannot be closed: {error}; check=False adds it all "
                "the same"
            ) from None
    known = 0
    if before is not None and before.model.loops:
        known = rank_of(before.placed_model, before.conventions).rank
    if rank.rank - known < len(last.rows) and rank.rank < rank.rows:
        n = max(rank.rank - known, 0) if before is not None else rank.rank
        warnings.warn(
            f"loop {last.name!r} is redundant: of its {len(last.rows)} rows {n} are "
            f"independent of the others (rank {rank.rank} of {rank.rows} rows of robot "
            f"{robot.name!r}); dynamics are damped, and its multipliers not unique",
            ModelWarning,
            stacklevel=3,
        )


def _free_name(joint: str, names: Sequence[str]) -> str:
    k = 0
    while f"{joint}{k}" in names:
        k += 1
    return f"{joint}{k}"


def _body(robot: Robot, name: str | None) -> str | None:
    if name is None or name == "world":
        return None
    if name not in robot.body_names:
        known = (*robot.body_names, "world")
        raise unknown_name("body", str(name), f"robot {robot.name!r}", known)
    return name


def _neutral_pose(robot: Robot, body: str | None) -> Pose:
    from ramify.quantities.kinematics import pose  # noqa: PLC0415
    from ramify.compiling import program_of  # noqa: PLC0415
    from ramify.symbolic.interpreter import evaluate  # noqa: PLC0415

    program = program_of(pose(body or "world"), robot)
    (T,) = evaluate(program, {"q": robot.neutral()}).values()
    return Pose(T[:3, :3], T[:3, 3])


def _other_end(  # noqa: PLR0913
    robot: Robot,
    label: str,
    joint: str,
    ends: tuple[str | None, str | None],
    T_a: Pose,
    placement_b: Placement | None,
) -> Pose:
    if placement_b is not None:
        return pose_of(f"loop {label!r}: placement_b", placement_b)
    if joint == "distance":
        raise ModelError(f"loop {label!r}: a distance needs placement_b, its other end")
    T_world_a, T_world_b = (_neutral_pose(robot, n) for n in ends)
    return T_world_b.inverse() @ T_world_a @ T_a


def _length(  # noqa: PLR0913
    robot: Robot,
    label: str,
    joint: str,
    ends: tuple[str | None, str | None],
    cuts: tuple[Pose, Pose],
    length: float | None,
) -> float:
    if joint != "distance":
        if length is not None:
            raise ModelError(f"loop {label!r}: only a distance has a length")
        return math.nan
    if length is None:
        points = [
            _neutral_pose(robot, n).apply(T.p) for n, T in zip(ends, cuts, strict=True)
        ]
        length = float(np.linalg.norm(points[0] - points[1]))
    if not (math.isfinite(length) and length > 0):
        raise ModelError(f"loop {label!r}: length is {length:g}; expected more than 0")
    return float(length)


def _coupling(
    robot: Robot, label: str, joints: Sequence[str], coefficients: Sequence[float]
) -> LoopDescription:
    if isinstance(joints, str) or len(joints) not in (1, 2):
        raise ModelError(
            f"loop {label!r}: joints is {joints!r}; a coupling needs one joint or two"
        )
    for n in joints:
        robot.model.joint(n)
    c = tuple(float(x) for x in coefficients)
    if not c or not all(map(math.isfinite, c)):
        raise ModelError(f"loop {label!r}: coefficients are {coefficients!r}")
    return LoopDescription(
        label, "coupling", joints=tuple(joints), coefficients=c if len(joints) > 1 else c[:1]
    )


# ------------------------------------------------------------ kernels and states


@final
class Kernels:
    """The compiled functions of one mechanism."""

    def __init__(self, robot: Robot) -> None:
        self.compile = lambda x: compile(x, robot)  # noqa: E731

    @cached_property
    def position(self) -> Function:
        """(q) -> Φ, J, senses."""
        names = ("constraint_residual", "constraint_jacobian", "constraint_senses")
        return self.compile([getattr(quantities, n) for n in names])

    @cached_property
    def bias(self) -> Function:
        """(q, qd) -> γ."""
        return self.compile(quantities.constraint_bias)

    @cached_property
    def correction(self) -> Function:
        """(q, x) -> the least v with J v = −x."""
        return self.compile(quantities.constraint_correction)

    @cached_property
    def inverse_dynamics(self) -> Function:
        """(q, qd, qdd) -> τ of the tree."""
        return self.compile(dynamics.inverse_dynamics)


_KERNELS: WeakKeyDictionary[Robot, Kernels] = WeakKeyDictionary()


def kernels(robot: Robot) -> Kernels:
    """Return the compiled functions of a robot with loops."""
    if not robot.model.loops:
        raise ModelError(f"robot {robot.name!r} has no loops; robot.add_loop makes one")
    return _KERNELS.setdefault(robot, Kernels(robot))


def check_state(
    robot: Robot, q: npt.ArrayLike, qd: npt.ArrayLike | None = None, tolerance: float = 1e-6
) -> None:
    """Raise ModelError unless all loops are closed at q, and stay so with q̇."""
    phi, J, senses = kernels(robot).position(q)
    _refuse(robot, phi, tolerance, "is open at q: |Φ| is", "assemble(q) closes it")
    if (senses < 0).any():
        raise ModelError(f"robot {robot.name!r}: a cut of its loops is the wrong way round")
    if qd is not None:
        rate = J @ np.asarray(qd, dtype=float)
        scale = 1.0 + float(np.abs(qd).max(initial=0.0))
        what = "is opened by qd: |J qd| is"
        _refuse(robot, rate, tolerance * scale, what, "project(q, qd) mends it")


def _refuse(robot: Robot, x: Array, tolerance: float, what: str, cure: str) -> None:
    r = int(np.argmax(np.abs(x)))
    if not abs(x[r]) <= tolerance:
        name, row = row_names(robot.model)[r].rsplit(".", 1)
        raise ModelError(
            f"loop {name!r} {what} {abs(x[r]):.3g} (row {row!r}); expected at most "
            f"{tolerance:.3g}; {cure}"
        )


# ------------------------------------------------------------ assembly


def assemble(
    robot: Robot,
    q_guess: npt.ArrayLike | None = None,
    *,
    fixed: Mapping[str, npt.ArrayLike] | Iterable[str] = (),
    tolerance: float = TOLERANCE,
    rng: np.random.Generator | int = 0,
) -> Array:
    """Return a configuration near a guess in which all loops are closed.

    Damped Gauss-Newton steps within the joint limits; where they lead nowhere, again
    from other starts.

    Args:
        robot: the robot.
        q_guess: (nq,) where to start; neutral by default.
        fixed: joints that stay: their values by name, or names (as in the guess).
        tolerance: of |Φ| [m, rad].
        rng: where other starts come from, or a seed.
    """
    start = _vector("q_guess", robot.neutral() if q_guess is None else q_guess, robot.nq)
    start = robot.normalize(start)
    free = np.ones(robot.nv, dtype=bool)
    for n in fixed:
        joint = robot.model.joint(n)
        if isinstance(fixed, Mapping):
            value = _vector(f"fixed[{n!r}]", fixed[n], joint.nq)
            start[joint.q_index : joint.q_index + joint.nq] = value
        free[joint.v_index : joint.v_index + joint.nv] = False
    generator = np.random.default_rng(rng)
    best, where = math.inf, start
    for k in range(TRIES):
        q = start
        if k:
            push = generator.normal(scale=min(0.1 * k, 1.0), size=robot.nv) * free
            q = _limited(robot, robot.integrate(start, push), start)
        q, size = _closed(robot, q, free, tolerance)
        if size < tolerance:
            return q
        if size < best:
            best, where = size, q
    phi, J, senses = kernels(robot).position(where)
    if best < math.inf:
        r = int(np.argmax(np.abs(phi)))
        name, row = row_names(robot.model)[r].rsplit(".", 1)
        raise ModelError(
            f"no closed configuration found from {TRIES} starts: at best |Φ| is "
            f"{best:.3g}, by loop {name!r} (row {row!r}), where J has rank "
            f"{numerical_rank(J)} of {len(J)} rows"
        )
    raise ModelError(f"robot {robot.name!r}: loops close only the wrong way round")


def _closed(
    robot: Robot, q: Array, free: npt.NDArray[np.bool_], tolerance: float
) -> tuple[Array, float]:
    """Return q after Levenberg-Marquardt steps, and |Φ|; inf if a cut is reversed."""
    position = kernels(robot).position
    phi, J, senses = position(q)
    size, mu = float(np.linalg.norm(phi)), 1e-4
    for _ in range(100):
        if float(np.abs(phi).max(initial=0.0)) < 1e-3 * tolerance:
            break
        A = J * free
        damped = np.vstack([A, math.sqrt(mu * min(size, 1.0)) * np.eye(robot.nv)])
        rhs = np.concatenate([-phi, np.zeros(robot.nv)])
        v: Array = np.linalg.lstsq(damped, rhs)[0].astype(float)
        v *= min(1.0, 1.0 / max(float(np.abs(v).max(initial=0.0)), 1e-12))
        moved = _limited(robot, robot.integrate(q, v), q)
        phi_new, J_new, senses_new = position(moved)
        new = float(np.linalg.norm(phi_new))
        if new < size:
            stalled = new > 0.999 * size and size > tolerance
            q, phi, J, senses, size = moved, phi_new, J_new, senses_new, new
            mu = max(mu * 0.2, 1e-12)
            if stalled and mu > 1e-8:
                mu *= 5.0
        elif mu > 1e6 or size < tolerance:
            break
        else:
            mu *= 10.0
    worst = float(np.abs(phi).max(initial=0.0))
    return q, math.inf if worst < tolerance and (senses < 0).any() else worst


def _limited(robot: Robot, q: Array, before: Array) -> Array:
    """Return q with coordinates at their limits where it would leave them."""
    low = np.minimum(robot.limits.lower, before)
    high = np.maximum(robot.limits.upper, before)
    return np.clip(q, low, high)


def _vector(what: str, value: npt.ArrayLike, n: int) -> Array:
    try:
        x = np.array(value, dtype=float).reshape(-1)
    except (TypeError, ValueError):
        x = np.zeros(0)
    if x.shape != (n,) or not np.isfinite(x).all():
        raise ShapeError(f"{what} is {value!r}; expected {n} finite numbers")
    return x


def project(
    robot: Robot,
    q: npt.ArrayLike,
    qd: npt.ArrayLike | None = None,
    *,
    tolerance: float = TOLERANCE,
) -> Any:
    """Return q with its loops closed, or (q, q̇) with q̇ keeping them so.

    The least change, measured by the mass matrix: no momentum is added along motions
    that the loops allow.
    """
    k = kernels(robot)
    q = _vector("q", q, robot.nq)
    for _ in range(20):
        phi = k.position(q)[0]
        if float(np.abs(phi).max(initial=0.0)) < 0.01 * tolerance:
            break
        q = robot.integrate(q, k.correction(q, phi))
    else:
        _refuse(robot, k.position(q)[0], tolerance, "does not close: |Φ| is", "assemble")
    if qd is None:
        return q
    v = _vector("qd", qd, robot.nv)
    J = k.position(q)[1]
    return q, v + k.correction(q, J @ v)
