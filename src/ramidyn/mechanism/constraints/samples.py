"""The constraints of all loops of a robot, and configurations that fulfill them.

The interpreter evaluates Φ, J and M; Newton steps lead from several starts to where the
loops are closed, or as closed as the digits of the file allow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, final

import numpy as np

from ramidyn.algorithms.crba import crba
from ramidyn.algorithms.loops import newton
from ramidyn.algorithms.loops.constraints import ConstraintRow, constraint_rows
from ramidyn.algorithms.loops.cuts import CutJoint, cuts_of
from ramidyn.coordinates import configurations
from ramidyn.coordinates import configurations as ranges
from ramidyn.description.conventions import Conventions
from ramidyn.description.pose import Array
from ramidyn.errors import ModelError
from ramidyn.symbolic.expr import ZERO, Expr
from ramidyn.symbolic.interpreter import evaluate
from ramidyn.symbolic.program import Program
from ramidyn.symbolic.trace import trace
from ramidyn.tracing.chooser import trace_with_context
from ramidyn.tracing.context import Context, array, zeros
from ramidyn.tree.model import Model


@final
@dataclass(frozen=True, slots=True, eq=False)
class ConstraintRows:
    """The constraints of a robot in the caller's coordinates."""

    residual: list[Expr]
    J: list[list[Expr]]
    """(rows, nv)"""
    bias: list[Expr]


def rows_of(context: Context, with_velocities: bool = True) -> ConstraintRows:
    """Return the constraints of all loops, in the caller's coordinates."""
    cuts = needed_cuts(context)
    qd = context.qd if with_velocities else None
    found = constraint_rows(context.tree, cuts, context.q, qd)
    coordinates = context.coordinates
    dofs = range(len(coordinates.P))
    J = [coordinates.row([r.J.get(k, ZERO) for k in dofs]) for r in found]
    if not with_velocities:
        return ConstraintRows([r.residual for r in found], J, [])
    still = coordinates.acceleration(zeros(context.model.nv), context.qd)
    return ConstraintRows(
        [r.residual for r in found], J, _biases(context, found, still)
    )


def _biases(context: Context, rows: Sequence[ConstraintRow], still: Any) -> list[Expr]:
    """Return γ, with what Ṗ q̇ adds in the caller's coordinates."""
    moved: dict[int, Expr] = {}
    for i, dofs in enumerate(context.tree.dofs):
        moved.update(zip(dofs, still[i], strict=True))
    out: list[Expr] = []
    for row in rows:
        total = row.bias
        for k, x in row.J.items():
            total = total + x * moved[k]
        out.append(total)
    return out


def needed_cuts(context: Context) -> tuple[CutJoint, ...]:
    """Return the cuts of a robot that must have some."""
    cuts = cuts_of(context.model)
    if not cuts:
        raise ModelError(
            f"robot {context.model.name!r} has no loops; add one with robot.add_loop"
        )
    return cuts


PRECISION = 2e-3
"""for the coarsest file, four digits: singular values, and |Φ| over a loop's size"""
STARTS = 4


@final
@dataclass(frozen=True, slots=True, eq=False)
class ClosedSample:
    """A configuration, as closed as it can be."""

    q: Array
    residual: float
    """|Φ| [m, rad]"""
    gap: float
    """|Φ| over the sizes of the rows"""
    J: Array
    """its rows over their sizes"""
    G: Array
    """J M⁻¹ Jᵀ, of J as it is"""


@final
class Mechanism:
    """Φ, J and M of a model, evaluated; sizes of its rows."""

    def __init__(self, model: Model, conventions: Conventions) -> None:
        self.program: Program = _program(model, conventions)
        self.step: Program = trace(
            partial(configurations.integrated_q, model, conventions),
            {"q": model.nq, "qd": model.nv, "dt": ()},
        )
        self.start: Array = ranges.neutral(model, conventions)
        self.sizes: Array = np.ones(0)

    def moved(self, q: Array, v: Array) -> Array:
        """Return q ⊕ v."""
        return evaluate(self.step, {"q": q, "qd": v, "dt": 1.0})["result"]

    def constraints(self, q: Array) -> newton.Iterate:
        """Return Φ and J at q."""
        values = evaluate(self.program, {"q": q})
        return newton.Iterate(q, values["phi"], values["J"])

    def at(self, q: Array) -> ClosedSample:
        """Return the loop errors and J M⁻¹ Jᵀ at q."""
        values = evaluate(self.program, {"q": q})
        J: Array = values["J"]
        inverse = np.linalg.pinv(values["M"], hermitian=True)
        phi = np.abs(values["phi"])
        return ClosedSample(
            q,
            float(phi.max(initial=0.0)),
            float((phi / self.sizes).max(initial=0.0)),
            J / self.sizes[:, None],
            J @ inverse @ np.transpose(J),
        )

    def closed(self, q: Array, cutoff: float = 0.0) -> ClosedSample:
        """Return q after some Gauss-Newton steps toward closed loops.

        Singular values below ``cutoff`` (relative to the largest) are treated as zero.
        """
        over = self.sizes if cutoff else np.ones(len(self.sizes))

        def moved(here: newton.Iterate) -> Array | None:
            J, phi = here.J / over[:, None], here.phi / over
            damping = 1e-3 * min(here.size, 1.0) * float(np.abs(J).max(initial=1e-3))
            v = newton.correction(J, phi, damping, cutoff=cutoff, longest=0.5)
            if cutoff and float(np.abs(v).max(initial=0.0)) < 1e-12:
                return None
            return self.moved(here.q, v)

        def judge(here: newton.Iterate, there: newton.Iterate) -> newton.Verdict:
            is_worth_it = here.size >= 1e-10 or there.size < here.size
            return newton.Verdict(is_kept=is_worth_it, goes_on=is_worth_it)

        found = newton.closed(
            q, self.constraints, moved, judge, tolerance=1e-13, steps=30
        )
        return self.at(found.q)


def closed_places(
    mechanism: Mechanism, nv: int, rng: np.random.Generator
) -> tuple[list[ClosedSample], ClosedSample]:
    """Return closed configurations along a motion, and the best one met."""
    places: list[ClosedSample] = []
    best: ClosedSample | None = None
    for k in range(STARTS):
        push = rng.normal(scale=0.1 * min(k, 2), size=nv)
        if not places:
            begin = mechanism.moved(mechanism.start, push)
            place = mechanism.closed(begin, PRECISION)
            if place.gap >= PRECISION:  # perhaps near a singular configuration
                place = mechanism.closed(begin)
        else:  # further along the same motion if only rounding interferes
            J = places[-1].J
            push = push - np.linalg.pinv(J, rcond=PRECISION) @ (J @ push)
            begin = mechanism.moved(places[-1].q, push)
            place = mechanism.closed(begin, PRECISION)
        if best is None or place.residual < best.residual:
            best = place
        if place.gap < PRECISION:
            places.append(place)
    assert best is not None
    return places, best


def row_sizes(model: Model, jacobians: Sequence[Array]) -> Array:
    """Return the unit of each row: the most that moves its loop's point, or 1.

    Rows of one loop share it, so that one that only rounding fills stays small.
    """
    lengths = np.max([np.linalg.norm(J, axis=1) for J in jacobians], axis=0)
    sizes, r = np.ones(len(lengths)), 0
    positions: list[slice] = []
    for cut in cuts_of(model):
        for name in cut.rows:
            if name == "c":
                sizes[r] = lengths[r]
            r += 1
        own = [k for k, name in enumerate(cut.rows) if name[0] in "pd"]
        if own:  # positions come first
            positions.append(slice(r - len(cut.rows), r - len(cut.rows) + len(own)))
    largest = max((float(lengths[own].max()) for own in positions), default=1.0)
    for own in positions:
        length = float(lengths[own].max())
        sizes[own] = length if length > PRECISION * largest else largest
    return np.where(sizes > 0.0, sizes, 1.0)


def _program(model: Model, conventions: Conventions) -> Program:
    """Return the program of Φ, J and M."""

    def traced(context: Context) -> dict[str, Any]:
        rows = rows_of(context, with_velocities=False)
        M = context.coordinates.matrix(crba(context.tree, context.q))
        return {"phi": array(rows.residual), "J": array(rows.J), "M": array(M)}

    return trace_with_context(traced, model, conventions, {"q": model.nq})
