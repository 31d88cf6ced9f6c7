"""How a mechanism can move, and what drives it.

Generalized coordinate partitioning (Wehage & Haug 1982): J is eliminated with full
pivoting. Its pivot columns are the dependent velocities, the rest are independent, and
rows without a pivot are redundant:

    J_d q̇_d + J_i q̇_i = 0        q̇ = N q̇_i,  N = [−J_d⁻¹ J_i; 1]

Inverse dynamics: of all τ and λ with Sᵀ τ + Jᵀ λ = M q̈ + h, S the actuated joints,
τ must satisfy Nᵀ Sᵀ τ = Nᵀ (M q̈ + h).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np
import numpy.typing as npt

from ramidyn.algorithms.loops.cuts import row_names
from ramidyn.description.joint_types import joint_type
from ramidyn.description.pose import Array
from ramidyn.errors import ArgumentError, ModelError, printable
from ramidyn.mechanism.assembly import assemble
from ramidyn.mechanism.constraints.rank import ROUNDING
from ramidyn.mechanism.state_arrays import vector
from ramidyn.mechanism.states import (
    ADMISSIBLE,
    check_closed,
    kernels,
    rank,
    refuse,
    refuse_inputs,
    rounding_filter,
)

if TYPE_CHECKING:
    from ramidyn.robot import Robot

SMALL = 1e-9
"""smallest pivot relative to the largest entry; anything below is rounding"""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Partition:
    """The velocities of a mechanism at one configuration, dependent and independent."""

    independent: tuple[int, ...]
    """independent entries of q̇"""
    dependent: tuple[int, ...]
    """dependent entries of q̇"""
    redundant: tuple[int, ...]
    """rows of J that depend on the others"""
    N: Array
    """(nv, mobility): q̇ of each independent velocity"""


def partition_of(J: Array) -> Partition:
    """Return the partition of a Jacobian, by elimination with full pivoting."""
    m, n = J.shape
    lengths = np.abs(J).max(axis=1, initial=0.0, keepdims=True)
    largest = float(lengths.max(initial=0.0))
    A: Array = J / np.where(lengths > ROUNDING * largest, lengths, max(largest, 1e-300))
    rows, columns = list(range(m)), list(range(n))
    r = 0
    while r < min(m, n):
        left = np.abs(A[r:, r:])
        i, j = (int(k) for k in np.unravel_index(int(np.argmax(left)), left.shape))
        if left[i, j] <= SMALL:
            break
        i, j = i + r, j + r
        A[[r, i]] = A[[i, r]]
        A[:, [r, j]] = A[:, [j, r]]
        rows[r], rows[i] = rows[i], rows[r]
        columns[r], columns[j] = columns[j], columns[r]
        A[r] /= A[r, r]
        others = [k for k in range(m) if k != r]
        A[others] -= np.outer(A[others, r], A[r])
        r += 1
    order = sorted(range(r, n), key=lambda k: columns[k])
    N = np.zeros((n, n - r))
    for c, k in enumerate(order):
        N[columns[:r], c] = -A[:r, k]
        N[columns[k], c] = 1.0
    return Partition(
        tuple(columns[k] for k in order),
        tuple(sorted(columns[:r])),
        tuple(sorted(rows[r:])),
        N,
    )


@final
@dataclass(frozen=True, slots=True, eq=False)
class Mobility:
    """The degrees of freedom left by the loops, at one closed configuration."""

    mobility: int
    """remaining degrees of freedom: nv − rank"""
    rows: int
    rank: int
    redundant_rows: tuple[str, ...]
    """rows that depend on others, as "loop.row" """
    independent: tuple[str, ...]
    """independent velocities, as "joint" or "joint[k]" """
    partition: Partition

    def __str__(self) -> str:
        text = f"mobility {self.mobility}: {self.rank} of {self.rows} rows independent"
        if self.redundant_rows:
            text += f" (redundant: {', '.join(self.redundant_rows)})"
        return printable(f"{text}; independent: {', '.join(self.independent)}")


def mobility(robot: Robot, q: npt.ArrayLike | None = None) -> Mobility:
    """Return the mobility of a robot with loops at q, or at a closed configuration.

    Raises:
        ModelError: loops are open at q or, without q, cannot be closed.
    """
    k = kernels(robot)
    if q is None:
        q = rank(robot).q
        q = assemble(robot) if q is None else q
    else:
        q = vector("q", q, robot.nq)
        check_closed(robot, q)
    J = k.position(q)[1]
    found = partition_of(rounding_filter(robot, J) @ J)
    names, velocities = row_names(robot.model), _velocity_names(robot)
    return Mobility(
        len(found.independent),
        len(J),
        len(found.dependent),
        tuple(names[r] for r in found.redundant),
        tuple(velocities[v] for v in found.independent),
        found,
    )


def _velocity_names(robot: Robot) -> list[str]:
    names: list[str] = []
    for joint in robot.model.joints:
        one = joint.nv == 1
        names += [joint.name if one else f"{joint.name}[{k}]" for k in range(joint.nv)]
    return names


# ------------------------------------------------------------ inverse dynamics


@final
@dataclass(frozen=True, slots=True, eq=False)
class InverseDynamics:
    """The forces that produce a motion of a mechanism."""

    tau: Array
    """(nv,) the smallest joint forces that produce the motion; zero if not actuated"""
    loop_forces: Array
    """(rows,) the multipliers, with M q̈ + h = τ + Jᵀ λ"""
    mobility: int
    underactuation: int
    """degrees of freedom that no actuated joint drives"""
    overactuation: int
    """surplus actuated joints: τ is not unique unless this is zero"""
    residual: float
    """the largest missing force along a free motion; zero if τ produces the motion"""

    @property
    def is_unique(self) -> bool:
        """Return whether no other τ produces the same motion."""
        return self.overactuation == 0


def constrained_inverse_dynamics(
    robot: Robot,
    q: npt.ArrayLike,
    qd: npt.ArrayLike,
    qdd: npt.ArrayLike,
    actuated: Iterable[str] | None = None,
) -> InverseDynamics:
    """Return the forces of a motion; see `Robot.constrained_inverse_dynamics`."""
    refuse_inputs(robot, "constrained_inverse_dynamics", "remove them (remove_force)")
    q, qd = vector("q", q, robot.nq), vector("qd", qd, robot.nv)
    qdd = vector("qdd", qdd, robot.nv)
    check_closed(robot, q, qd)
    k = kernels(robot)
    J = k.position(q)[1]
    F = rounding_filter(robot, J)
    J = F @ J
    error = J @ qdd + F @ k.bias(q, qd)
    scale = 1.0 + float(np.abs(qdd).max(initial=0.0))
    what = "does not stay closed under qdd: |J qdd + γ| is"
    refuse(
        robot,
        error,
        ADMISSIBLE * scale,
        what,
        "forward_dynamics returns a consistent qdd",
    )
    needed = k.inverse_dynamics(q, qd, qdd)
    driven = _driven(robot, actuated)
    N = partition_of(J).N
    A: Array = np.transpose(N[driven])
    tau = np.zeros(robot.nv)
    wanted: Array = np.transpose(N) @ needed
    tau[driven], rank = _least(A, wanted)
    left = float(np.abs(wanted - A @ tau[driven]).max(initial=0.0))
    freedom = N.shape[1]
    if left > ADMISSIBLE * (1.0 + float(np.abs(needed).max(initial=0.0))):
        raise ModelError(
            f"robot {robot.name!r}: the actuated joints drive {rank} of {freedom} "
            f"degrees of freedom, and a force of {left:.3g} is missing along the "
            f"others; underactuated by {freedom - rank}"
        )
    multipliers, _ = _least(np.transpose(J), needed - tau)
    return InverseDynamics(
        tau, multipliers, freedom, freedom - rank, len(driven) - rank, left
    )


def _driven(robot: Robot, actuated: Iterable[str] | None) -> list[int]:
    if isinstance(actuated, str):
        raise ArgumentError(f"actuated is {actuated!r}; expected a list of joint names")
    if actuated is None:
        joints = [
            j for j in robot.model.joints if not joint_type(j.name, j.type).is_free
        ]
    else:
        joints = [robot.model.joint(n) for n in actuated]
    return [v for j in joints for v in range(j.v_index, j.v_index + j.nv)]


def _least(A: Array, b: Array) -> tuple[Array, int]:
    """Return the minimum-norm least-squares solution of A x = b, and the rank of A."""
    x, _, rank, _ = np.linalg.lstsq(A, b, rcond=1e-9)
    return x.astype(float), int(rank)
