"""Convert between the caller's vectors and those of a Tree; name their entries.

    q̇_tree = P q̇        q̈_tree = P q̈ + Ṗ q̇        τ = Pᵀ τ_tree + A q̈

P reorders, applies mimic couplings and the conventions; most of its entries are 0 and
1 and leave no trace in the program. A is the armature, which acts on q̈ as the caller
has it, so that Ṗ q̇ moves no rotor. Vectors of a tree are dicts: body -> entries.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import final

from ramidyn.description.conventions import Conventions
from ramidyn.description.joint_types import Entries, Entry, JointType, joint_type
from ramidyn.spatial.vector3 import ONE, ZERO, Vec, transposed_rotation
from ramidyn.symbolic.expr import Expr, const, lift
from ramidyn.tree.model import Model, PublicJoint
from ramidyn.tree.tree import Tree, TreeJoint

JointVector = dict[int, Entries]


@final
class Coordinates:
    """One configuration in the tree's coordinates, and the map P of velocities."""

    def __init__(
        self, model: Model, conventions: Conventions, q: Sequence[Expr]
    ) -> None:
        self.model = model
        self.tree = model.tree
        self.conventions = conventions
        self.q: JointVector = {i: self._q(i, q) for i, _ in self.tree}
        self.P: list[dict[int, Expr]] = []
        for i, _ in self.tree:
            self.P.extend(self._rows(i))

    def _q(self, i: int, q: Sequence[Expr]) -> Entries:
        joint = self.tree.bodies[i].joint
        own = joint_coordinates(joint, self.conventions, q)
        if joint.leader is not None:
            return (own[0] * joint.multiplier + joint.offset,)
        return own

    def _rows(self, i: int) -> list[dict[int, Expr]]:
        """Return the rows of P for the joint of body i."""
        joint = self.tree.bodies[i].joint
        v = joint.v_index
        if joint.leader is not None:
            return [{v: const(joint.multiplier)}]
        if not joint.type.is_free:
            return [{v + k: ONE} for k in range(joint.nv)]
        linear, angular = self._halves(v)
        rows = [{angular + k: ONE} for k in range(3)]
        if self.conventions.floating_velocity == "body":
            return rows + [{linear + k: ONE} for k in range(3)]
        E = transposed_rotation(*self.q[i][3:])
        return rows + [{linear + c: E[r][c] for c in range(3)} for r in range(3)]

    def _halves(self, v: int) -> tuple[int, int]:
        """Return the starts of the linear and the angular part of a floating joint."""
        return (v, v + 3) if self.conventions.order == "linear_first" else (v + 3, v)

    def velocity(self, qd: Sequence[Expr]) -> JointVector:
        """Return P q̇."""
        return self._apply(qd)

    def acceleration(self, qdd: Sequence[Expr], qd: JointVector) -> JointVector:
        """Return P q̈ + Ṗ q̇, for q̇ in the tree's coordinates."""
        a = self._apply(qdd)
        for i in self._world_linear():
            w, v = Vec(qd[i][:3]), Vec(qd[i][3:])
            a[i] = (*a[i][:3], *(Vec(a[i][3:]) - w.cross(v)))
        return a

    def _apply(self, x: Sequence[Expr]) -> JointVector:
        out: JointVector = {}
        for i, dofs in enumerate(self.tree.dofs):
            out[i] = tuple(_dot(self.P[k], x) for k in dofs)
        return out

    def _world_linear(self) -> list[int]:
        if self.conventions.floating_velocity == "body":
            return []
        return [i for i, b in enumerate(self.tree.bodies) if b.joint.type.is_free]

    def force(self, tau: JointVector, qdd: Sequence[Expr]) -> list[Expr]:
        """Return Pᵀ τ + A q̈, for τ in the tree's coordinates and q̈ in the caller's."""
        total = self.row([e for i, _ in self.tree for e in tau[i]])
        for k, a in self._armature().items():
            total[k] = total[k] + lift(qdd[k]) * a
        return total

    def _armature(self) -> dict[int, float]:
        """Return the diagonal of A where it is not zero."""
        A: dict[int, float] = {}
        for body in self.tree.bodies:
            joint = body.joint
            if joint.armature == 0.0:
                continue
            for k in range(joint.v_index, joint.v_index + joint.nv):
                A[k] = A.get(k, 0.0) + joint.armature * joint.multiplier**2
        return A

    def row(self, x: Sequence[Expr]) -> list[Expr]:
        """Return xᵀ P for one entry per degree of freedom of the tree."""
        out = [ZERO] * self.model.nv
        for row, value in zip(self.P, x, strict=True):
            for k, p in row.items():
                out[k] = out[k] + p * value
        return out

    def matrix(self, M: Mapping[tuple[int, int], Expr]) -> list[list[Expr]]:
        """Return Pᵀ M P, symmetric, of a matrix over the tree's degrees of freedom."""
        P, n = self.P, self.model.nv
        half: list[dict[int, Expr]] = [{} for _ in P]
        for (i, j), value in M.items():
            for row, column in {(i, j), (j, i)}:
                for b, p in P[column].items():
                    half[row][b] = half[row].get(b, ZERO) + value * p
        out = [[ZERO] * n for _ in range(n)]
        for k, row in enumerate(half):
            for a, p in P[k].items():
                for b, value in row.items():
                    if b <= a:
                        out[a][b] = out[a][b] + p * value
        for a in range(n):
            for b in range(a):
                out[b][a] = out[a][b]
        return out

    def public_acceleration(self, qdd: JointVector, qd: JointVector) -> list[Expr]:
        """Return q̈ of q̈_tree = P q̈ + Ṗ q̇; mimic joints follow from the others."""
        own = dict(qdd)
        for i in self._world_linear():
            c = Vec(qd[i][:3]).cross(Vec(qd[i][3:]))
            E = transposed_rotation(*self.q[i][3:])
            own[i] = (*qdd[i][:3], *(E.T @ (Vec(qdd[i][3:]) + c)))
        return assembled_velocity(self.model, self.conventions, lambda i, _: own[i])

    def tree_force(self, tau: Sequence[Expr], qd: JointVector) -> JointVector:
        """Return τ_tree with τ = Pᵀ τ_tree, plus P A Pᵀ Ṗ q̇ for q̇ of the tree.

        It is what accelerates a tree whose armature acts on q̈_tree: P is orthogonal,
        except for mimic joints, on which nothing acts; their leaders have it all.
        """
        force = self._apply(tau)
        for i, body in enumerate(self.tree.bodies):
            if body.joint.leader is not None:
                force[i] = (ZERO,)
        for i in self._world_linear():
            a = self.tree.bodies[i].joint.armature
            if a == 0.0:
                continue
            c = Vec(qd[i][:3]).cross(Vec(qd[i][3:]))
            linear = (x - y * a for x, y in zip(force[i][3:], c, strict=True))
            force[i] = (*force[i][:3], *linear)
        return force


@final
class DofOrder(tuple[int, ...]):
    """Degrees of freedom, parents first, each given by its place in q̇.

    Joints that follow others have no place of their own.
    """

    __slots__ = ()

    @staticmethod
    def of(tree: Tree) -> DofOrder:
        """Return the entries of q̇ in the order of the tree's bodies."""
        leading = (b.joint for b in tree.bodies if b.joint.leader is None)
        return DofOrder(j.v_index + k for j in leading for k in range(j.nv))

    def gather(self, x: Sequence[Expr]) -> dict[int, Expr]:
        """Return a vector over q̇, parents first."""
        return {k: x[v] for k, v in enumerate(self)}

    def gather_nonzero(self, x: Sequence[Expr]) -> dict[int, Expr]:
        """Return the entries of a vector over q̇ that are not zero, parents first."""
        return {k: x[v] for k, v in enumerate(self) if not x[v].is_zero}

    def scatter(self, x: Mapping[int, Expr]) -> list[Expr]:
        """Return a vector in the order of q̇; missing entries are zero."""
        out = [ZERO] * len(self)
        for k, e in x.items():
            out[self[k]] = e
        return out

    def scatter_matrix(self, A: Mapping[tuple[int, int], Expr]) -> list[list[Expr]]:
        """Return a matrix in the order of q̇; missing entries are zero."""
        out = [[ZERO] * len(self) for _ in self]
        for (i, j), e in A.items():
            out[self[i]][self[j]] = e
        return out


def joint_coordinates(
    joint: TreeJoint, conventions: Conventions, q: Sequence[Expr]
) -> Entries:
    """Return a joint's entries of q, quaternions x y z w."""
    own = q[joint.q_index : joint.q_index + joint.nq]
    return joint.type.scalar_last(own) if conventions.quaternion == "wxyz" else (*own,)


def joint_velocity(
    joint: TreeJoint, conventions: Conventions, qd: Sequence[Expr]
) -> Entries:
    """Return a joint's entries of q̇, the angular ones of a free joint first."""
    own = qd[joint.v_index : joint.v_index + joint.nv]
    return public_halves(joint.type, conventions, own)


def public_halves(
    type_: JointType, conventions: Conventions, x: Sequence[Entry]
) -> tuple[Entry, ...]:
    """Return entries of q̇ as the caller orders them, or back."""
    if type_.is_free and conventions.order == "linear_first":
        return (*x[3:], *x[:3])
    return (*x,)


def assembled_q(
    model: Model, conventions: Conventions, part: Callable[[int, TreeJoint], Entries]
) -> list[Expr]:
    """Return q, given the tree's coordinates of each joint."""
    out = [ZERO] * model.nq
    for i, joint in enumerate(b.joint for b in model.tree.bodies):
        if joint.leader is None:
            values = part(i, joint)
            if conventions.quaternion == "wxyz":
                values = joint.type.scalar_first(values)
            out[joint.q_index : joint.q_index + joint.nq] = values
    return out


def assembled_velocity(
    model: Model, conventions: Conventions, part: Callable[[int, TreeJoint], Entries]
) -> list[Expr]:
    """Return q̇, given that of each joint, the angular part of a free one first."""
    out = [ZERO] * model.nv
    for i, joint in enumerate(b.joint for b in model.tree.bodies):
        if joint.leader is None:
            own = public_halves(joint.type, conventions, part(i, joint))
            out[joint.v_index : joint.v_index + joint.nv] = own
    return out


def _dot(row: dict[int, Expr], x: Sequence[Expr]) -> Expr:
    total = ZERO
    for k, p in row.items():
        total = total + p * lift(x[k])
    return total


@final
@dataclass(frozen=True, slots=True)
class Label:
    """The name of one coordinate, such as "elbow" or "base vx", and its unit."""

    name: str
    unit: str
    """coordinates: "rad", "m", or "" (quaternions); velocities: "rad/s" or "m/s" """


def configuration_labels(model: Model, conventions: Conventions) -> list[Label]:
    """Return a label for every entry of q."""
    labels = [Label("", "")] * model.nq
    for joint in model.joints:
        type_ = joint_type(joint.name, joint.type)
        entries = type_.coordinates
        if conventions.quaternion == "wxyz":
            entries = type_.scalar_first(entries)
        labels[joint.q_slice] = _labels(joint, entries)
    return labels


def velocity_labels(model: Model, conventions: Conventions) -> list[Label]:
    """Return a label for every entry of q̇."""
    labels = [Label("", "")] * model.nv
    for joint in model.joints:
        type_ = joint_type(joint.name, joint.type)
        entries = public_halves(type_, conventions, type_.velocities)
        labels[joint.v_slice] = _labels(joint, entries, "/s")
    return labels


def force_unit(velocity_unit: str) -> str:
    """Return the unit of the joint force that does work at a velocity."""
    return {"rad/s": "N m", "m/s": "N"}.get(velocity_unit, "")


def _labels(
    joint: PublicJoint, entries: Sequence[tuple[str, str]], per: str = ""
) -> list[Label]:
    return [Label(f"{joint.name} {e}".strip(), unit + per) for e, unit in entries]
