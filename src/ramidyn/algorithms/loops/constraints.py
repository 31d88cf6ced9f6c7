"""The constraints of closed loops: Φ(q) = 0, its Jacobian, bias and wrenches.

    Φ̇ = J(q) q̇          Φ̈ = J(q) q̈ + γ(q, q̇)

A loop is a path through the tree, from frame A to frame B by their nearest common
ancestor, and all is in coordinates of A, as if A stood still. Then joints above the
common ancestor, and those off the path, do not occur: their columns of J are zero.

    R, p  axes and origin of B in A          V, a  spatial velocity and bias of B in A
    s[k]  motion of B in A by joint k: S beyond the common ancestor, −S before it

Every row is a covector F on B, with J_k = F · s_k:

    position along e      Φ = e · p            F = (p × e, e)
    turn of axis r        Φ = e · r            F = (r × e, 0)
    distance              Φ = (p·p − l²) / 2l  F = (0, p / l)

So the multipliers λ of a cut exert W = Σ λ F on body b, and −W on body a.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import final

from ramidyn.algorithms.kinematics import joint_motion, onward, seen_motion
from ramidyn.algorithms.loops.cuts import CutJoint
from ramidyn.coordinates.coordinates import JointVector
from ramidyn.spatial.transform import Step, Transform
from ramidyn.spatial.vector3 import IDENTITY, ZERO, ZERO3, Mat, Vec, polynomial, unit
from ramidyn.spatial.vectors import Force, Motion
from ramidyn.symbolic.expr import Expr, const, region
from ramidyn.tree.frames import fixed_steps, transform
from ramidyn.tree.tree import ROOT, Tree


@final
@dataclass(frozen=True, slots=True, eq=False)
class ConstraintRow:
    """One row of the constraints."""

    residual: Expr
    J: dict[int, Expr]
    """by degrees of freedom of the tree; those that are not here are zero"""
    bias: Expr
    """γ, zero where no velocities were given"""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Path:
    """The way from A to B, in coordinates of A."""

    R: Mat
    p: Vec
    s: dict[int, Motion]
    V: Motion
    a: Motion


def constraint_rows(
    tree: Tree,
    cuts: tuple[CutJoint, ...],
    q: JointVector,
    qd: JointVector | None = None,
) -> list[ConstraintRow]:
    """Return the rows of all loops, in order."""
    rows: list[ConstraintRow] = []
    for cut in cuts:
        region(f"loop {cut.name}")
        if cut.type == "coupling":
            rows.append(coupling_row(tree, cut, q, qd))
            continue
        path = path_of(tree, cut, q, qd)
        rows.extend(_row(kind, path, cut.length) for kind in cut.rows)
    return rows


def senses(tree: Tree, cuts: tuple[CutJoint, ...], q: JointVector) -> list[Expr]:
    """Return values that are positive if loops are closed: axes agree in sense.

    Φ = 0 holds too for axes that are opposite.
    """
    found: list[Expr] = []
    for cut in cuts:
        if "rx" in cut.rows:
            path = path_of(tree, cut, q)
            found.append(path.R[2][2])
            if "rz" in cut.rows:
                found.append(path.R[0][0])
    return found


def path_of(
    tree: Tree, cut: CutJoint, q: JointVector, qd: JointVector | None = None
) -> Path:
    """Return the path of a loop from A to B."""
    at: tuple[Mat, Vec] = IDENTITY, ZERO3
    s: dict[int, Motion] = {}
    v, a = Motion.zero(), Motion.zero()
    for steps, i, sign in _legs(tree, cut, q):
        at = onward(*at, *steps)
        if i is None:
            continue
        R, p = at
        here = [seen_motion(R, p, x) for x in tree.bodies[i].columns()]
        columns = tuple(x if sign > 0 else -x for x in here)
        s.update(zip(tree.dofs[i], columns, strict=True))
        if qd is not None:
            vJ = joint_motion(columns, qd[i])
            a = a + v.cross(vJ)
            v = v + vJ
    return Path(*at, s, v, a)


Leg = tuple[tuple[Step, ...], int | None, int]
"""steps, and the joint (its body) that comes after them, along it or against it"""


def _legs(tree: Tree, cut: CutJoint, q: JointVector) -> Iterator[Leg]:
    """Yield the path from A up to the common ancestor, then down to B."""
    meet = tree.common_ancestor(cut.a, cut.b)
    steps, i = backwards(fixed_steps(cut.T_a)), cut.a
    while i != meet:
        yield steps, i, -1
        steps = backwards(transform(tree, i, q[i]).steps)
        i = tree.parents[i]
    for j in tree.support(cut.b):
        if j > meet:
            yield (*steps, *transform(tree, j, q[j]).steps), j, 1
            steps = ()
    yield (*steps, *fixed_steps(cut.T_b)), None, 1


def backwards(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Return the steps that undo some steps."""
    return tuple(step.undone() for step in reversed(steps))


def _row(kind: str, path: Path, length: float) -> ConstraintRow:
    residual, F, bias = covector(kind, path, length)
    J = {k: F.dot(s) for k, s in path.s.items()}
    return ConstraintRow(residual, J, F.dot(path.a) + bias)


def covector(kind: str, path: Path, length: float) -> tuple[Expr, Force, Expr]:
    """Return Φ, F and Ḟ · V of one row of a cut."""
    x, _, z = path.R.T
    p, V = path.p, path.V
    match kind:
        case "px" | "py" | "pz":
            e = unit("xyz".index(kind[1]))
            pd = V.v + V.w.cross(p)
            return e.dot(p), Force(p.cross(e), e), e.dot(V.w.cross(pd))
        case "d":
            pd = V.v + V.w.cross(p)
            f = p * (1.0 / length)
            residual = (p.dot(p) - length * length) * (0.5 / length)
            return residual, Force(ZERO3, f), pd.dot(V.v) * (1.0 / length)
        case "rx":
            return _rotation_row(-1.0, unit(1), z, V)
        case "ry":
            return _rotation_row(1.0, unit(0), z, V)
        case "rz":
            return _rotation_row(1.0, unit(1), x, V)
        case _:
            return _rotation_row(-1.0, unit(2), x, V)


def _rotation_row(sign: float, e: Vec, r: Vec, V: Motion) -> tuple[Expr, Force, Expr]:
    """Return the row that keeps an axis r of B perpendicular to an axis e of A."""
    e = e * sign
    rd = V.w.cross(r)
    return e.dot(r), Force(r.cross(e), ZERO3), e.dot(V.w.cross(rd))


def coupling_row(
    tree: Tree, cut: CutJoint, q: JointVector, qd: JointVector | None = None
) -> ConstraintRow:
    """Return Φ = y − Σ cₙ xⁿ, for y and x measured from where their joints began.

    If y follows several joints, Φ = y − c₀ − Σ cₙ xₙ.
    """
    offsets = {i: q[i][0] - tree.bodies[i].joint.reference for i in cut.coupled}
    first, *followed = cut.coupled
    y, J = offsets[first], {tree.dofs[first][0]: const(1.0)}
    if len(followed) != 1:
        c0, *slopes = cut.coefficients
        residual = y - c0
        for i, c in zip(followed, slopes, strict=True):
            residual, J[tree.dofs[i][0]] = residual - offsets[i] * c, const(-c)
        return ConstraintRow(residual, J, ZERO)
    (i,) = followed
    x, slope = offsets[i], _derivative(cut.coefficients)
    J[tree.dofs[i][0]] = -polynomial(x, slope)
    bias = ZERO
    if qd is not None:
        xd = qd[i][0]
        bias = -(polynomial(x, _derivative(slope)) * xd * xd)
    return ConstraintRow(y - polynomial(x, cut.coefficients), J, bias)


def _derivative(coefficients: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(k * c for k, c in enumerate(coefficients))[1:]


@final
@dataclass(frozen=True, slots=True, eq=False)
class CutWrench:
    """The wrench of one cut on body b, and the path between its frames."""

    path: Path
    W: Force

    @property
    def at_b(self) -> Force:
        """W about B's origin, along the axes of A."""
        return Force(self.W.n - self.path.p.cross(self.W.f), self.W.f)

    @property
    def in_b(self) -> Force:
        """W in coordinates of B."""
        E, W = self.path.R.T, self.at_b
        return Force(E @ W.n, E @ W.f)

    @property
    def in_a(self) -> Force:
        """−W, what acts on a, in coordinates of A."""
        return Force(-self.W.n, -self.W.f)


def cut_wrenches(
    tree: Tree, cuts: Sequence[CutJoint], q: JointVector, multipliers: Sequence[Expr]
) -> list[CutWrench | None]:
    """Return the wrench of each cut; None for a coupling, which acts in its joints."""
    found: list[CutWrench | None] = []
    row = 0
    for cut in cuts:
        own, row = multipliers[row : row + len(cut.rows)], row + len(cut.rows)
        if cut.type == "coupling":
            found.append(None)
            continue
        region(f"wrench {cut.name}")
        path = path_of(tree, cut, q)
        W = Force.zero()
        for kind, x in zip(cut.rows, own, strict=True):
            W = W + covector(kind, path, cut.length)[1] * x
        found.append(CutWrench(path, W))
    return found


def forces_of_cuts(
    tree: Tree, cuts: Sequence[CutJoint], q: JointVector, multipliers: Sequence[Expr]
) -> Mapping[int, Force]:
    """Return the force of all cuts on each body, in its own coordinates."""
    forces: dict[int, Force] = {}
    wrenches = cut_wrenches(tree, cuts, q, multipliers)
    for cut, wrench in zip(cuts, wrenches, strict=True):
        if wrench is None:
            continue
        ends = (cut.a, cut.T_a, wrench.in_a), (cut.b, cut.T_b, wrench.in_b)
        for i, T, force in ends:
            if i != ROOT:
                there = Transform(fixed_steps(T)).back(force)
                forces[i] = forces.get(i, Force.zero()) + there
    return forces
