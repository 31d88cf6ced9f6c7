"""Simulate a mechanism: keep its loops closed, and record its energy.

q is integrated as a vector, with q̇'s image dq/dt = Q(q) q̇ (quaternions are scaled to
length one after every step). How the drift of Φ and Φ̇ is handled:

    "none"        nothing: q̈ alone keeps them zero, up to the errors of the integrator
    "baumgarte"   Φ̈ = −2 α Φ̇ − α² Φ in place of Φ̈ = 0
    "project"     after every step, the nearest consistent state (in the norm of M)
    "partition"   only independent velocities are integrated; the others follow
"""

# ruff: noqa: N806  the book's letters: J, N, T_a

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np
import numpy.typing as npt

from ramify.compiler import compile
from ramify.errors import ArgumentError, ModelError, ModelWarning
from ramify.function import Function
from ramify.mechanism.mobility import Partition, partition_of
from ramify.mechanism.projection import follow, project
from ramify.mechanism.states import (
    ADMISSIBLE,
    check_closed,
    effective_constraints,
    kernels,
    normalized,
    rank,
    refuse_inputs,
    vector,
)
from ramify.model.pose import Array
from ramify.quantities.closed_loops import stabilized_forward_dynamics
from ramify.quantities.momentum_energy import kinetic_energy, potential_energy

if TYPE_CHECKING:
    from ramify.robot import Robot

STABILIZE = ("none", "baumgarte", "project", "partition")
METHODS = ("rk4", "adaptive")
Torque = Callable[[float, Array, Array], npt.ArrayLike]


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Simulation:
    """The states of a simulation."""

    times: Array
    """(steps + 1,) [s]"""
    q: Array
    """(steps + 1, nq)"""
    qd: Array
    """(steps + 1, nv)"""
    energy: Array
    """(steps + 1,) kinetic and potential [J]"""
    residual: Array
    """(steps + 1,) the largest |Φ| [m, rad]"""

    def __repr__(self) -> str:
        drift = float(np.abs(self.energy - self.energy[0]).max())
        return (
            f"Simulation(t = 0 to {self.times[-1]:.4g} s in {len(self.times) - 1:,} "
            f"steps, nq {self.q.shape[1]}, nv {self.qd.shape[1]}; energy "
            f"{self.energy[0]:.4g} J, changes by {drift:.2g} J; loops closed within "
            f"{self.residual.max():.1g})"
        )

    def _repr_html_(self) -> str:
        from ramify.view.notebook import run_html  # noqa: PLC0415  only notebooks

        return run_html(repr(self), self.times, self.q, self.energy)


def simulate(
    robot: Robot,
    q: npt.ArrayLike,
    qd: npt.ArrayLike | None = None,
    *,
    torque: npt.ArrayLike | Torque | None = None,
    duration: float = 1.0,
    step: float = 1e-3,
    stabilize: str = "project",
    method: str = "rk4",
    tolerance: float | None = None,
    rate: float = 20.0,
    damping: float | None = None,
) -> Simulation:
    """Simulate a robot with loops; see `Robot.simulate`."""
    refuse_inputs(robot, "simulate", "use rollout(..., inputs={...})")
    if stabilize not in STABILIZE:
        raise ArgumentError(
            f"stabilize is {stabilize!r}; possible: {', '.join(map(repr, STABILIZE))}"
        )
    if method not in METHODS:
        raise ArgumentError(f"method is {method!r}; possible: 'rk4', 'adaptive'")
    if not (step > 0 and duration >= 0):
        raise ArgumentError(
            f"step is {step!r}, duration {duration!r}; expected more than 0"
        )
    start = normalized(robot, "q", q)
    rest = np.zeros(robot.nv)
    velocity = rest if qd is None else vector("qd", qd, robot.nv)
    check_closed(robot, start, velocity)
    alpha = rate if stabilize == "baumgarte" else 0.0
    wanted = stabilized_forward_dynamics(rate=alpha, damping=damping)
    motion = _Motion(robot, torque, stabilize, compile(wanted, robot))
    run = _fixed_steps if method == "rk4" else _adaptive_steps
    first = np.concatenate([start, velocity])
    states = list(run(motion, first, duration, step))
    times = np.array([t for t, _ in states])
    y = np.array([x for _, x in states])
    q_all, qd_all = np.split(y, [robot.nq], axis=1)
    q_all, qd_all = np.ascontiguousarray(q_all), np.ascontiguousarray(qd_all)
    residual = np.abs(kernels(robot).position(q_all)[0]).max(axis=1, initial=0.0)
    worst = float(residual.max())
    limit = ADMISSIBLE if tolerance is None else tolerance
    if tolerance is None and not worst <= limit:
        limit = max(limit, rank(robot).closed)
    if not worst <= limit:
        warnings.warn(
            f"robot {robot.name!r}: |Φ| reaches {worst:.3g} (tolerance "
            f"{limit:.3g}) with stabilize={stabilize!r}; 'project' or a smaller "
            "step keeps it closed",
            ModelWarning,
            stacklevel=3,
        )
    energy = compile([kinetic_energy, potential_energy], robot)(q_all, qd_all)
    return Simulation(times, q_all, qd_all, energy[0] + energy[1], residual)


@final
class _Motion:
    """dy/dt of y = (q, q̇), and the correction that keeps y consistent."""

    def __init__(
        self, robot: Robot, torque: Any, stabilize: str, dynamics: Function
    ) -> None:
        self.robot, self.nq, self.stabilize = robot, robot.nq, stabilize
        self.dynamics = dynamics
        self.rates = robot.configuration_rate
        self.torque = _torque(robot, torque)
        self.partition: Partition | None = None

    def __call__(self, t: float, y: Array) -> Array:
        if self.stabilize == "partition":
            y = self.followed(y)
        q, qd = y[: self.nq], y[self.nq :]
        tau = self.torque(t, q, qd)
        return np.concatenate([self.rates(q, qd), self.dynamics(q, qd, tau)])

    def begin(self, y: Array) -> None:
        """Choose new independent velocities."""
        if self.stabilize == "partition":
            J = effective_constraints(self.robot, y[: self.nq]).J
            self.partition = partition_of(J)

    def end(self, y: Array) -> Array:
        """Return a consistent state close to the integrator's result."""
        q, qd = self.robot.normalize(y[: self.nq]), y[self.nq :]
        if self.stabilize == "project":
            q, qd = project(self.robot, q, qd)
        y = np.concatenate([q, qd])
        return self.followed(y) if self.stabilize == "partition" else y

    def followed(self, y: Array) -> Array:
        """Return the state determined by its independent part."""
        assert self.partition is not None
        q, qd = y[: self.nq], y[self.nq :]
        return np.concatenate(follow(self.robot, q, qd, self.partition))


def _torque(robot: Robot, given: Any) -> Callable[[float, Array, Array], Array]:
    if callable(given):
        wanted: Any = given
        return lambda t, q, qd: vector("torque", wanted(t, q, qd), robot.nv)
    constant = vector(
        "torque", np.zeros(robot.nv) if given is None else given, robot.nv
    )
    return lambda t, q, qd: constant  # noqa: ARG005


def _fixed_steps(
    f: _Motion, y: Array, duration: float, step: float
) -> Iterator[tuple[float, Array]]:
    """Yield (t, y) by the classical Runge-Kutta method of order four."""
    yield 0.0, y
    n = round(duration / step)
    h = step if n == 0 else duration / n
    for k in range(n):
        t = k * h
        f.begin(y)
        k1 = f(t, y)
        k2 = f(t + h / 2, y + h / 2 * k1)
        k3 = f(t + h / 2, y + h / 2 * k2)
        k4 = f(t + h, y + h * k3)
        y = f.end(y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4))
        yield t + h, y


def _adaptive_steps(
    f: _Motion, y: Array, duration: float, step: float
) -> Iterator[tuple[float, Array]]:
    """Yield (t, y) by scipy's DOP853, with the state corrected after every step."""
    try:
        from scipy.integrate import DOP853  # type: ignore[import-untyped]  # noqa: PLC0415
    except ImportError:
        raise ModelError('method="adaptive" needs scipy: pip install scipy') from None
    yield 0.0, y
    f.begin(y)
    make: Any = DOP853
    longest = max(10 * step, 1e-2)
    solver = make(f, 0.0, y, duration, rtol=1e-9, atol=1e-10, max_step=longest)
    while solver.status == "running":
        message: object = solver.step()
        if message is not None:
            raise ModelError(f"the integrator failed at t = {solver.t:g}: {message}")
        solver.y = f.end(solver.y)
        f.begin(solver.y)
        solver.f = f(solver.t, solver.y)
        yield float(solver.t), np.array(solver.y)
