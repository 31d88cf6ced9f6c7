"""The hard constraints of one time step, as one problem in velocities.

    V = c + G F        F = Σ Eₖᵀ λₖ        vₖ = Eₖ V + aₖ

    V, F   velocities of the blocks at the end of the step, and their impulses: a block
           is a point of a body (one to three rows), a body (six rows) or a joint
    c      those velocities without impulses
    G      the inverse inertia of all blocks together (Delassus' matrix)
    λ, v   impulse and velocity of one constraint; a is what its rule adds to v

The rules:

    Cone       |λ_t| ≤ μ λ_n,  0 ≤ v_n ⊥ λ_n ≥ 0,  λ_t against v_t where it slides
    Interval   lower ≤ λ ≤ upper;  v = 0 between them, v ≥ 0 at lower, v ≤ 0 at upper

A unilateral row is an interval from 0 on, dry friction one about 0, and an equality one
without bounds. Redundant constraints (four corners of a foot) share the six rows of
their body: G stays small, and has the rank that the robot has.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import final

from ramidyn.spatial.vector3 import ONE, ZERO
from ramidyn.symbolic.dense import Entries, Matrix, inner, inverse, ldl, total
from ramidyn.symbolic.expr import Expr, const, extremum, where

IMMOVABLE = 1e-10
"""[1/kg, 1/(kg m²)] inverse inertia of a row that no impulse moves"""
TINY = 1e-30
"""square that counts as zero and is never divided by"""

MOST_GROWTH = 2.0
"""of a change, up to which the next iterate is extrapolated"""
UNCONVERGED = const(1e30)
"""a change before the first: nothing is extrapolated from it"""

Impulse = list[Expr]
"""of one constraint: three entries of a cone (two tangential, normal), or one"""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Cone:
    """A contact with Coulomb friction."""

    rows: tuple[Entries, Entries, Entries]
    """E by block entry: two tangential rows, and the normal one"""
    bias: Expr
    """a of the normal row [m/s]"""
    friction: Expr

    @property
    def biases(self) -> list[Expr]:
        """a of all rows."""
        return [ZERO, ZERO, self.bias]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Interval:
    """A row whose impulse is bounded, or not."""

    row: Entries
    bias: Expr
    lower: Expr | None = ZERO
    upper: Expr | None = None

    @property
    def rows(self) -> tuple[Entries]:
        """Its only row."""
        return (self.row,)

    @property
    def biases(self) -> list[Expr]:
        """a of its row."""
        return [self.bias]

    def clamp(self, x: Expr) -> Expr:
        """Return the nearest impulse that is allowed."""
        if self.lower is not None:
            x = extremum("max", x, self.lower)
        return x if self.upper is None else extremum("min", x, self.upper)


Constraint = Cone | Interval


@final
@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """The constraints of one step."""

    blocks: tuple[range, ...]
    """the places of each block among the rows of G"""
    G: Matrix
    c: list[Expr]
    constraints: tuple[Constraint, ...]

    def velocity(self, constraint: Constraint, V: Sequence[Expr]) -> list[Expr]:
        """Return v."""
        return [
            total(e * V[i] for i, e in row.items()) + a
            for row, a in zip(constraint.rows, constraint.biases, strict=True)
        ]

    def block_impulse(self, constraint: Constraint, x: Sequence[Expr]) -> Entries:
        """Return Eᵀ λ."""
        found: Entries = {}
        for row, value in zip(constraint.rows, x, strict=True):
            for i, e in row.items():
                found[i] = found[i] + e * value if i in found else e * value
        return found

    def block_impulses(self, impulses: Sequence[Impulse]) -> list[Expr]:
        """Return F."""
        F = [ZERO] * len(self.c)
        for constraint, x in zip(self.constraints, impulses, strict=True):
            for i, value in self.block_impulse(constraint, x).items():
                F[i] = F[i] + value
        return F

    def velocities(self, F: Sequence[Expr]) -> list[Expr]:
        """Return V."""
        return [c + inner(row, F) for c, row in zip(self.c, self.G, strict=True)]

    def local_inertias(self, constraint: Constraint) -> Matrix:
        """Return E G Eᵀ of one constraint."""
        moved = [
            {
                i: total(self.G[i][j] * e for j, e in row.items())
                for other in constraint.rows
                for i in other
            }
            for row in constraint.rows
        ]
        return [
            [total(e * column[i] for i, e in row.items()) for column in moved]
            for row in constraint.rows
        ]

    def split(self, flat: Sequence[Expr]) -> list[Impulse]:
        """Return impulses by constraint."""
        rest = iter(flat)
        return [[next(rest) for _ in c.rows] for c in self.constraints]

    @property
    def size(self) -> int:
        """How many impulses there are."""
        return sum(len(c.rows) for c in self.constraints)

    # What changes from state to state, so that a loop can carry it.

    def numbers(self) -> list[Expr]:
        """Return the entries that are no constants, without their signs."""
        entries = dict.fromkeys(map(_unsigned, self._entries()))
        return [x for x in entries if x.op != "const"]

    def with_numbers(self, values: Sequence[Expr]) -> Problem:
        """Return the same problem with other values of `numbers`."""
        new = dict(zip(self.numbers(), values, strict=True))

        def of(x: Expr) -> Expr:
            found = new.get(_unsigned(x), x)
            return -found if x.op == "neg" else found

        def row_of(row: Entries) -> Entries:
            return {i: of(e) for i, e in row.items()}

        def rule_of(one: Constraint) -> Constraint:
            if isinstance(one, Cone):
                t1, t2, n = map(row_of, one.rows)
                return Cone((t1, t2, n), of(one.bias), of(one.friction))
            lower = None if one.lower is None else of(one.lower)
            upper = None if one.upper is None else of(one.upper)
            return Interval(row_of(one.row), of(one.bias), lower, upper)

        return replace(
            self,
            G=[[of(x) for x in row] for row in self.G],
            c=[of(x) for x in self.c],
            constraints=tuple(map(rule_of, self.constraints)),
        )

    def _entries(self) -> Iterator[Expr]:
        for row in self.G:
            yield from row
        yield from self.c
        for one in self.constraints:
            for row in one.rows:
                yield from row.values()
            yield one.bias
            if isinstance(one, Cone):
                yield one.friction
            else:
                yield from (x for x in (one.lower, one.upper) if x is not None)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Scales:
    """How a constraint moves by its own impulses."""

    D: Matrix
    """E G Eᵀ"""
    normal: Expr
    """of a cone's normal row, or the only one"""
    per_normal: Expr
    tangential: Expr
    """the largest eigenvalue of the tangential rows"""
    per_tangential: Expr
    inverse: Matrix
    """of D, of a cone"""

    @staticmethod
    def of(problem: Problem, constraint: Constraint) -> Scales:
        """Return the scales of one constraint."""
        D = problem.local_inertias(constraint)
        normal = D[-1][-1]
        if isinstance(constraint, Interval):
            return Scales(D, normal, inverse_of(normal), ZERO, ZERO, [])
        half, lean = (D[0][0] + D[1][1]) * 0.5, (D[0][0] - D[1][1]) * 0.5
        largest = half + (lean * lean + D[0][1] * D[0][1]).sqrt()
        lifted = [
            [x + (IMMOVABLE if r == c else 0.0) for c, x in enumerate(row)]
            for r, row in enumerate(D)
        ]
        return Scales(
            D,
            normal,
            inverse_of(normal),
            largest,
            inverse_of(largest),
            inverse(*ldl(lifted)),
        )

    @property
    def mean(self) -> Expr:
        """The mean over the rows."""
        n = len(self.D)
        return total(self.D[k][k] for k in range(n)) * (1.0 / n)


def _unsigned(x: Expr) -> Expr:
    return x.args[0] if x.op == "neg" else x


def inverse_of(x: Expr) -> Expr:
    """Return 1 / x, or 0 for a row that no impulse moves."""
    is_movable = x > IMMOVABLE
    return where(is_movable, ONE / where(is_movable, x, ONE), ZERO)


def project(constraint: Constraint, x: Sequence[Expr]) -> Impulse:
    """Return the nearest impulse that obeys the bounds of a constraint."""
    if isinstance(constraint, Interval):
        return [constraint.clamp(x[0])]
    shares = cone_shares(constraint.friction, x)
    return [shares.tangential * x[0], shares.tangential * x[1], shares.normal]


@final
@dataclass(frozen=True, slots=True, eq=False)
class ConeShares:
    """The projection of an impulse onto a cone."""

    is_inside: Expr
    """1 or 0"""
    is_on: Expr
    """1 where the projection is on the cone's surface"""
    length: Expr
    """of the tangential part"""
    tangential: Expr
    """what is kept of the tangential part"""
    normal: Expr
    """the normal entry of the projection"""


def cone_shares(mu: Expr, x: Sequence[Expr]) -> ConeShares:
    """Return how an impulse is projected onto |x_t| ≤ μ x_n."""
    length = (x[0] * x[0] + x[1] * x[1] + TINY).sqrt()
    is_inside = length <= mu * x[2]
    is_behind = mu * length <= -x[2]
    normal = (mu * length + x[2]) / (ONE + mu * mu)
    on = where(is_inside, ZERO, where(is_behind, ZERO, ONE))
    return ConeShares(
        where(is_inside, ONE, ZERO),
        on,
        length,
        where(is_inside, ONE, where(is_behind, ZERO, mu * normal / length)),
        where(is_inside, x[2], where(is_behind, ZERO, normal)),
    )


def largest(values: Sequence[Expr]) -> Expr:
    """Return the largest absolute value."""
    found = const(0.0)
    for x in values:
        found = extremum("max", found, abs(x))
    return found


def secant(
    step: Sequence[Expr], before: Sequence[Expr], size: Expr, size_before: Expr
) -> Expr:
    """Return γ such that of the next iterate y − γ (y − y') less is left to change.

    Anderson's acceleration with one step more: y − y' is the change of what iterations
    return, ``step`` and ``before`` are what the last two changed. Zero where the size
    of that grew.
    """
    more = [a - b for a, b in zip(step, before, strict=True)]
    gamma = inner(more, step) / (inner(more, more) + TINY)
    return where(size > MOST_GROWTH * size_before, ZERO, gamma)


def natural_residual(
    problem: Problem,
    scales: Sequence[Scales],
    impulses: Sequence[Impulse],
    V: Sequence[Expr],
) -> Expr:
    """Return how far impulses and velocities are from obeying all rules [m/s].

    λ = P(λ − v / D) holds for a solution, with the velocity μ |v_t| added to v_n of a
    cone (de Saxcé): there friction is the projection onto one convex set.
    """
    misses: list[Expr] = []
    for one, scale, x in zip(problem.constraints, scales, impulses, strict=True):
        v, unit = corrected(one, problem.velocity(one, V)), scale.mean
        per_unit = inverse_of(unit)
        there = project(one, [a - per_unit * b for a, b in zip(x, v, strict=True)])
        misses += [(a - b) * unit for a, b in zip(x, there, strict=True)]
    return largest(misses)


def corrected(constraint: Constraint, v: Sequence[Expr]) -> list[Expr]:
    """Return v with de Saxcé's velocity μ |v_t| added to the normal entry."""
    if isinstance(constraint, Interval):
        return list(v)
    return [v[0], v[1], v[2] + slip(constraint, v)]


def slip(constraint: Cone, v: Sequence[Expr]) -> Expr:
    """Return μ |v_t|."""
    return constraint.friction * (v[0] * v[0] + v[1] * v[1] + TINY).sqrt()
