"""The rows that contacts, limits and dry friction have in a robot's velocities.

    G = C M⁻¹ Cᵀ        Δq̇ = M⁻¹ Cᵀ F        C: rows of all blocks

M is the mass matrix, with loops closed; or a matrix that is given, of an implicit step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

from ramidyn.algorithms.contact.blocks import Blocks, JointBlock
from ramidyn.algorithms.contact.touching import Touch, touches
from ramidyn.algorithms.crba import crba
from ramidyn.algorithms.forces.applied import Applied, leg
from ramidyn.algorithms.kinematics import transforms
from ramidyn.algorithms.operational.pv import pv
from ramidyn.algorithms.operational.sfa import sfa
from ramidyn.algorithms.operational.tasks import End
from ramidyn.description.contacts import DryFriction, HardLimit
from ramidyn.description.conventions import Conventions
from ramidyn.quantities.applied import scene_of
from ramidyn.quantities.closed_loops import ClosedMotion
from ramidyn.quantities.dynamics import forward_dynamics
from ramidyn.quantities.equation_of_motion import response
from ramidyn.quantities.mass_matrix import (
    MassSolver,
    check_factor,
    factored_trees,
    sparse_mass_matrix,
)
from ramidyn.quantities.operational_inertia import PROPAGATIONS
from ramidyn.symbolic.dense import Matrix, general_solve
from ramidyn.symbolic.expr import Expr
from ramidyn.tracing.context import Context, array, zeros
from ramidyn.tracing.quantity import Shapes, quantity
from ramidyn.tree.model import Model
from ramidyn.tree.tree import ROOT

ALGORITHMS = ("sfa", "pv", "rjk", "mixed")
Response = Callable[[Sequence[Expr]], list[Expr]]
"""block impulses → change of q̇"""


@final
@dataclass(frozen=True, slots=True, eq=False)
class ContactRows:
    """Contacts and joints of a robot in one configuration, and their blocks."""

    context: Context
    touches: list[Touch]
    blocks: Blocks

    @staticmethod
    def of(context: Context) -> ContactRows:
        """Return those of a robot's contacts."""
        found = touches(scene_of(context, is_moving=False))
        return ContactRows(context, found, Blocks(found, joint_dofs(context.model)))

    def velocities(self, qd: Sequence[Expr]) -> list[Expr]:
        """Return C q̇."""
        context = self.context
        moving = context.coordinates.velocity(qd)
        found: list[Expr] = []
        for block in self.blocks.all:
            if isinstance(block, JointBlock):
                found.append(qd[block.dof])
            else:
                of = leg(context.tree, context.q, moving, ROOT, block.body)
                found += block.velocities(of.v)
        return found

    def applied(self, F: Sequence[Expr]) -> Applied:
        """Return Cᵀ F as forces on bodies and along joints."""
        found, tau = Applied(), zeros(self.context.model.nv)
        for block, span in zip(self.blocks.all, self.blocks.ranges, strict=True):
            own = [F[i] for i in span]
            if isinstance(block, JointBlock):
                tau[block.dof] = tau[block.dof] + own[0]
            else:
                found.push(block.body, block.force(own))
        for i, entries in self.context.coordinates.velocity(tau).items():
            if self.context.tree.bodies[i].joint.leader is None:
                found.turn(i, entries)
        return found

    def public_rows(self) -> Matrix:
        """Return C over q̇ in the caller's order."""
        rows = self.tree_rows()
        dofs = range(len(self.context.tree.dof_parents))
        found = [
            self.context.coordinates.row([row.get(k, zeros(1)[0]) for k in dofs])
            for row in rows
        ]
        for block in self.blocks.all:
            if isinstance(block, JointBlock):
                unit = zeros(self.context.model.nv)
                unit[block.dof] = unit[block.dof] + 1.0
                found[block.first] = unit
        return found

    def tree_rows(self) -> list[dict[int, Expr]]:
        """Return C over the tree's degrees of freedom; without mimic joints."""
        tree, X = self.context.tree, transforms(self.context.tree, self.context.q)
        found: list[dict[int, Expr]] = []
        for block in self.blocks.all:
            if isinstance(block, JointBlock):
                found.append({self._tree_dof(block.dof): zeros(1)[0] + 1.0})
                continue
            for force in block.end().rows:
                row: dict[int, Expr] = {}
                f = force
                for i in reversed(tree.support(block.body)):
                    columns = tree.bodies[i].columns()
                    for k, s in zip(tree.dofs[i], columns, strict=True):
                        row[k] = s.dot(f)
                    f = X[i].back(f)
                found.append({k: e for k, e in row.items() if not e.is_zero})
        return found

    def _tree_dof(self, v: int) -> int:
        """Return the degree of freedom of the tree that an entry of q̇ is."""
        for i, dofs in enumerate(self.context.tree.dofs):
            joint = self.context.tree.bodies[i].joint
            own = self.context.coordinates.P
            if joint.leader is None:
                for k in dofs:
                    if v in own[k]:
                        return k
        raise AssertionError

    def ends(self) -> list[End]:
        """Return the rows on bodies."""
        return [b.end() for b in self.blocks.all if not isinstance(b, JointBlock)]

    def joints(self) -> Mapping[tuple[int, int], int]:
        """Return the rows of joints, by body and column."""
        tree, found = self.context.tree, dict[tuple[int, int], int]()
        for block in self.blocks.all:
            if isinstance(block, JointBlock):
                dof = self._tree_dof(block.dof)
                for i, dofs in enumerate(tree.dofs):
                    if dof in dofs:
                        found[i, list(dofs).index(dof)] = block.first
        return found

    # How they move under impulses.

    def tree_motion(self, algorithm: str) -> tuple[Matrix, Response]:
        """Return G and the response of a robot without loops."""
        context, n = self.context, self.blocks.size
        tree = context.dynamics_tree
        if algorithm == "sfa":
            check_factor(context.model, "add fewer contacts")
            if context.model.mimics:
                M, parents, order = sparse_mass_matrix(context)
                rows = list(map(order.gather_nonzero, self.public_rows()))
                G = sfa(M, parents, rows)
            else:
                M = crba(tree, context.q)
                G = sfa(M, tree.dof_parents, self.tree_rows())
        elif algorithm == "pv":
            G = pv(tree, context.q, self.ends(), self.joints())
        else:
            G = PROPAGATIONS[algorithm](tree, context.q, self.ends())
        zero = zeros(1)[0]
        full = [
            [G.get((max(r, c), min(r, c)), zero) for c in range(n)] for r in range(n)
        ]
        return full, self._tree_response()

    def _tree_response(self) -> Response:
        context = self.context
        if context.algorithm_of(forward_dynamics) == "aba":
            still = zeros(context.model.nv)
            return lambda F: response(context, still, self.applied(F))
        solver = MassSolver(*sparse_mass_matrix(context))

        def solved(F: Sequence[Expr]) -> list[Expr]:
            tau = self.applied(F).along_joints(context.tree, context.q)
            entries = [e for i, _ in context.tree for e in tau[i]]
            return solver.solved(context.coordinates.row(entries))

        return solved

    def closed_motion(self) -> tuple[Matrix, Response]:
        """Return G and the response of a robot with loops, which stay closed."""
        closed = ClosedMotion.of(self.context, with_velocities=False)
        rows = self.public_rows()
        return closed.inverse_inertia(rows), lambda F: closed.response(
            _combined(rows, F)
        )

    def given_motion(self, inertia: Any) -> tuple[Matrix, Response]:
        """Return G and the response of a matrix in the place of M."""
        C = array(self.public_rows())
        W = general_solve(array(inertia), C.T)
        return [list(row) for row in C @ W], lambda F: list(W @ array(F))


def _combined(rows: Matrix, F: Sequence[Expr]) -> list[Expr]:
    """Return Cᵀ F."""
    return [
        sum((row[k] * x for row, x in zip(rows, F, strict=True)), zeros(1)[0])
        for k in range(len(rows[0]))
    ]


def joint_dofs(model: Model) -> list[int]:
    """Return the places in q̇ that limits and dry friction act on."""
    joints = {j.name: j for j in model.joints}
    found: list[int] = []
    for c in model.contacts:
        if isinstance(c, HardLimit | DryFriction):
            v = joints[c.joint].v_slice
            found += range(v.start, v.stop)
    return found


def _possible(model: Model, _conventions: Conventions, **_: Any) -> tuple[str, ...]:
    """Return the algorithms of G that a robot allows."""
    names = ALGORITHMS[:2] if model.mimics or joint_dofs(model) else ALGORITHMS
    return names if "ltdl" in factored_trees(model) else names[1:]


def _impulses(model: Model, **_: Any) -> Shapes:
    return {"dt": (), "F": (model.nv,)}


@quantity(
    "q",
    "qd",
    "tau",
    further_inputs=_impulses,
    has_forces=True,
    algorithms=ALGORITHMS,
    possible=_possible,
)
def contact_motion(context: Context, algorithm: str = "auto") -> dict[str, Any]:
    """Forward dynamics, G and the response: what a step with contacts computes.

    Its algorithm is chosen by this; F stands for impulses.
    """
    rows = ContactRows.of(context)
    qdd = forward_dynamics.of(context)
    G, respond = rows.tree_motion(algorithm)
    F = context.inputs["F"]
    free = list(context.inputs["qd"] + context.inputs["dt"] * qdd)
    impulses = [F[k % len(F)] for k in range(rows.blocks.size)]
    return {
        "qdd": qdd,
        "c": array(rows.velocities(free)),
        "G": array(G),
        "change": array(respond(impulses)),
    }
