"""States of a mechanism: its compiled functions, and how well loops are closed.

Φ(q) = 0,   J q̇ = 0
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, final

import numpy as np
import numpy.typing as npt

from ramidyn.algorithms.loops.cuts import row_names
from ramidyn.algorithms.loops.newton import Iterate
from ramidyn.compiler import compile
from ramidyn.concurrency import made_once, once
from ramidyn.description.pose import Array
from ramidyn.errors import ArgumentError, ModelError
from ramidyn.function import Function
from ramidyn.kernels import kernel
from ramidyn.mechanism import newton_kernels
from ramidyn.mechanism.constraints.rank import ROUNDING, Rank, rank_of
from ramidyn.mechanism.constraints.samples import PRECISION
from ramidyn.mechanism.state_arrays import normalized, vector
from ramidyn.quantities import closed_loops
from ramidyn.quantities.dynamics import inverse_dynamics
from ramidyn.tracing.context import finite_number
from ramidyn.tracing.quantity import Quantity

if TYPE_CHECKING:
    from ramidyn.robot import Robot

ADMISSIBLE = 1e-6
"""|Φ| and |J q̇| up to which a given state is accepted as consistent"""
LISTED = 5
"""number of problems listed in a message"""


@final
class Kernels:
    """The compiled functions of one mechanism."""

    def __init__(self, robot: Robot) -> None:
        self._robot = robot

    def compile(self, quantity: Quantity | list[Quantity]) -> Function:
        """Return a compiled function of the robot."""
        return compile(quantity, self._robot)

    @once
    def position(self) -> Function:
        """(q) -> Φ, J, senses."""
        phi, jacobian = (
            closed_loops.constraint_residual,
            closed_loops.constraint_jacobian,
        )
        return self.compile([phi, jacobian, closed_loops.constraint_senses])

    @once
    def projection(self) -> Function:
        """(q, goal) -> q with its loops closed, Φ."""
        return self._kernel(newton_kernels.projected, goal=())

    @once
    def velocity_projection(self) -> Function:
        """(q, qd) -> q̇ that keeps the loops of a closed q closed."""
        return self._kernel(newton_kernels.projected_velocity, qd=self._robot.nv)

    @once
    def assembly(self) -> Function:
        """(q, free, limit) -> q after damped steps, Φ, senses."""
        return self._kernel(newton_kernels.assembled, free=self._robot.nv, limit=())

    def _kernel(self, close: Callable[..., Any], **inputs: Any) -> Function:
        def traced(*values: Any) -> Any:
            return close(self._robot, self, *values)

        name = f"{close.__name__} of {self._robot.name}"
        return kernel(traced, {"q": self._robot.nq, **inputs}, name=name)

    @once
    def bias(self) -> Function:
        """(q, qd) -> γ."""
        return self.compile(closed_loops.constraint_bias)

    @once
    def correction(self) -> Function:
        """(q, x) -> the minimum-norm v with J v = −x."""
        return self.compile(closed_loops.constraint_correction)

    @once
    def inverse_dynamics(self) -> Function:
        """(q, qd, qdd) -> τ of the tree."""
        return self.compile(inverse_dynamics)


def kernels(robot: Robot) -> Kernels:
    """Return the compiled functions of a robot with loops."""
    if not robot.model.loops:
        raise ModelError(
            f"robot {robot.name!r} has no loops; add one with robot.add_loop"
        )
    # Kept by the robot: its functions hold the robot, and are collected with it.
    return made_once(robot.__dict__, "_loop_kernels", lambda: Kernels(robot))


def refuse_inputs(robot: Robot, what: str, cure: str) -> None:
    """Raise ArgumentError if the robot's forces have inputs that cannot be given."""
    names = list(robot.model.force_inputs)
    if names:
        raise ArgumentError(
            f"{what}: forces of robot {robot.name!r} have inputs "
            f"({', '.join(map(repr, names))}), which cannot be given here; {cure}"
        )


def check_closed(
    robot: Robot,
    q: npt.ArrayLike,
    qd: npt.ArrayLike | None = None,
    tolerance: float = ADMISSIBLE,
) -> None:
    """Raise ModelError unless all loops are closed at q, and stay so with q̇."""
    position = kernels(robot).position
    phi, J, senses = position(normalized(robot, "q", q))
    limit = tolerance
    if not float(np.abs(phi).max(initial=0.0)) <= limit:
        limit = max(limit, rank(robot).closed)
    refuse(robot, phi, limit, "is open at q: |Φ| is", "assemble(q) closes it")
    if (senses < 0).any():
        raise ModelError(
            f"robot {robot.name!r}: the loops are closed at q, but their cut axes "
            "point in opposite directions"
        )
    if qd is not None:
        v = vector("qd", qd, robot.nv)
        rate = rounding_filter(robot, J) @ J @ v
        scale = 1.0 + float(np.abs(v).max(initial=0.0))
        what = "does not stay closed under qd: |J qd| is"
        refuse(robot, rate, tolerance * scale, what, "project(q, qd) corrects it")


def rank(robot: Robot) -> Rank:
    """Return which rows of a robot's loops are independent, and how well they close."""
    return rank_of(robot.placed_model, robot.conventions)


def rounding_filter(robot: Robot, J: Array) -> Array:
    """Return F of `Rank.filter`; the rank is computed only if it may matter."""
    values = np.linalg.svd(J, compute_uv=False)
    values = values / max(float(values.max(initial=0.0)), 1e-300)
    if ((values > ROUNDING) & (values < PRECISION)).any():
        return rank(robot).filter(J)
    return np.eye(len(J))


def constraints(robot: Robot, q: Array) -> Iterate:
    """Return Φ and J at q."""
    phi, J, _ = kernels(robot).position(q)
    return Iterate(q, phi, J)


def checked_tolerance(tolerance: float | None) -> float | None:
    """Return a user's tolerance on |Φ|."""
    if tolerance is None:
        return None
    return finite_number("tolerance", tolerance, "more than 0", lambda x: x > 0.0)


def refuse(robot: Robot, x: Array, tolerance: float, what: str, cure: str) -> None:
    """Raise ModelError, naming the loop, if a row exceeds a tolerance."""
    r = int(np.argmax(np.abs(x)))
    if not abs(x[r]) <= tolerance:
        name, row = row_names(robot.model)[r].rsplit(".", 1)
        raise ModelError(
            f"loop {name!r} {what} {abs(x[r]):.3g} (row {row!r}); expected at most "
            f"{tolerance:.3g}; {cure}"
        )


def listed(texts: Sequence[str]) -> str:
    """Return the first few problems, for a message."""
    more = f"; and {len(texts) - LISTED} more" if len(texts) > LISTED else ""
    return "; ".join(texts[:LISTED]) + more
