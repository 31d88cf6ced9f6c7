"""Coordinate transforms as sequences of axial steps (McMillan & Orin 1995).

A general spatial transform is a 6x6 matrix. Along a coordinate axis it is far
cheaper: a `Turn` about axis k touches a plane, a `Shift` along k two components. An
axial screw is both. Denavit-Hartenberg parameters make two screws of a whole
transform; see Featherstone 2005, §5:

    inertia through a screw    16m + 15a, and 1a once per angle
    vector through a screw     10m + 6a

In a `Transform` from frame p to frame i, ``X @ m`` takes motions from p to i,
``X.back(f)`` takes forces and inertias from i to p; an operand in another frame is an
error (`vectors`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar, final

from ramidyn.spatial.inertia import ArticulatedInertia, RigidInertia, symmetric
from ramidyn.spatial.vector3 import (
    IDENTITY,
    ZERO,
    ZERO3,
    Mat,
    Vec,
    mat,
    matrix3,
    skew,
    values,
    vector3,
)
from ramidyn.spatial.vectors import Force, Motion, Tag, check_source
from ramidyn.symbolic.expr import Expr

Borne = TypeVar("Borne", Force, RigidInertia, ArticulatedInertia)
Carried = TypeVar(
    "Carried", Motion, Force, RigidInertia, ArticulatedInertia, "Transform"
)


@final
class Turn:
    """A rotation about coordinate axis k by an angle with cosine c and sine s."""

    def __init__(self, axis: int, c: Expr, s: Expr) -> None:
        self.k = axis
        self.i: int = (axis + 1) % 3
        self.j: int = (axis + 2) % 3
        self.c: Expr = c
        self.s: Expr = s

    def undone(self) -> Turn:
        """Return the turn that undoes this one."""
        return Turn(self.k, self.c, -self.s)

    def vector(self, a: Vec) -> Vec:
        """Return a in the turned frame."""
        i, j, c, s = self.i, self.j, self.c, self.s
        out = list(a)
        out[i] = c * a[i] + s * a[j]
        out[j] = c * a[j] - s * a[i]
        return Vec(out)

    def vector_back(self, a: Vec) -> Vec:
        """Return a, given in the turned frame, in the frame before."""
        i, j, c, s = self.i, self.j, self.c, self.s
        out = list(a)
        out[i] = c * a[i] - s * a[j]
        out[j] = c * a[j] + s * a[i]
        return Vec(out)

    def symmetric_back(self, A: Mat) -> Mat:
        """Return Eᵀ A E of a symmetric A: see `general_back`."""
        i, j, k, c, s = self.i, self.j, self.k, self.c, self.s
        w = s * (A[i][i] - A[j][j]) + (c + c) * A[i][j]
        u = s * w
        new = {
            (i, i): A[i][i] - u,
            (j, j): A[j][j] + u,
            (i, j): c * w - A[i][j],
            (i, k): c * A[i][k] - s * A[j][k],
            (j, k): c * A[j][k] + s * A[i][k],
            (k, k): A[k][k],
        }
        return symmetric(lambda r, c: new[(r, c) if (r, c) in new else (c, r)])

    def general_back(self, A: Mat) -> Mat:
        """Return Eᵀ A E: the plane turns by 2θ, the rest as vectors.

        With w = s (Aᵢᵢ − Aⱼⱼ) + c (Aᵢⱼ + Aⱼᵢ) that needs neither sin 2θ nor cos 2θ: s w
        goes from Aᵢᵢ to Aⱼⱼ, and c w − Aⱼᵢ replaces Aᵢⱼ.
        """
        i, j, k, c, s = self.i, self.j, self.k, self.c, self.s
        w = s * (A[i][i] - A[j][j]) + c * (A[i][j] + A[j][i])
        u, v = s * w, c * w
        new = {
            (i, i): A[i][i] - u,
            (j, j): A[j][j] + u,
            (i, j): v - A[j][i],
            (j, i): v - A[i][j],
            (i, k): c * A[i][k] - s * A[j][k],
            (j, k): c * A[j][k] + s * A[i][k],
            (k, i): c * A[k][i] - s * A[k][j],
            (k, j): c * A[k][j] + s * A[k][i],
            (k, k): A[k][k],
        }
        R = range(3)
        return Mat(Vec(new[r, q] for q in R) for r in R)


@final
class Rotate:
    """A general rotation E, which maps coordinates before it to those after it."""

    def __init__(self, E: Mat) -> None:
        self.E = E
        self.Et: Mat = E.T

    def undone(self) -> Rotate:
        """Return the rotation that undoes this one."""
        return Rotate(self.Et)

    def vector(self, a: Vec) -> Vec:
        """Return a in the turned frame."""
        return self.E @ a

    def vector_back(self, a: Vec) -> Vec:
        """Return a, given in the turned frame, in the frame before."""
        return self.Et @ a

    def general_back(self, A: Mat) -> Mat:
        """Return Eᵀ A E."""
        return self.Et @ A @ self.E

    def symmetric_back(self, A: Mat) -> Mat:
        """Return P A Pᵀ of a symmetric matrix, P = Eᵀ, in 28m + 29a (RBDA §A.4).

        With a = A₃₃, A = S + a 1, and S₃₃ = 0. T = S + [w]×, w = (S₂₃, −S₁₃, 0), has
        no third column, so P T Pᵀ has short rows; and P S Pᵀ = P T Pᵀ − [P w]×. The
        trace stays as it is, which gives the last entry. Where E or A has zeros, plain
        products are cheaper.
        """
        P, a = self.Et, A[2][2]
        if any(e.is_zero for row in (*P, *A) for e in row):
            B = P @ A
            return symmetric(lambda r, c: B[r].dot(P[c]))
        xx, xy, yy = A[0][0] - a, A[0][1], A[1][1] - a
        xz, yz = A[0][2] + A[0][2], A[1][2] + A[1][2]
        Y = [
            (p[0] * xx + p[1] * xy + p[2] * xz, p[0] * xy + p[1] * yy + p[2] * yz)
            for p in P[:2]
        ]
        w = [A[1][2] * p[0] - A[0][2] * p[1] for p in P]

        def short(i: int, j: int) -> Expr:
            return Y[i][0] * P[j][0] + Y[i][1] * P[j][1]

        first, second = short(0, 0) + a, short(1, 1) + a
        last = (A[0][0] + A[1][1] + a) - first - second
        side, up, far = short(0, 1) + w[2], short(0, 2) - w[1], short(1, 2) + w[0]
        return mat((first, side, up), (side, second, far), (up, far, last))


@final
class Shift:
    """A translation of the origin by d along coordinate axis k."""

    def __init__(self, axis: int, d: Expr) -> None:
        self.k = axis
        self.i: int = (axis + 1) % 3
        self.j: int = (axis + 2) % 3
        self.d = d

    def undone(self) -> Shift:
        """Return the shift that undoes this one."""
        return Shift(self.k, -self.d)

    def velocity(self, w: Vec, v: Vec) -> Vec:
        """Return v + w × r."""
        out = list(v)
        out[self.i] = v[self.i] + self.d * w[self.j]
        out[self.j] = v[self.j] - self.d * w[self.i]
        return Vec(out)

    def couple_back(self, n: Vec, f: Vec) -> Vec:
        """Return n + r × f."""
        out = list(n)
        out[self.i] = n[self.i] - self.d * f[self.j]
        out[self.j] = n[self.j] + self.d * f[self.i]
        return Vec(out)

    def rigid_back(self, m: Expr, h: Vec, A: Mat) -> tuple[Vec, Mat]:
        """Return h and I of a rigid body about the origin before the shift."""
        i, j, k, d = self.i, self.j, self.k, self.d
        hk = h[k] + m * d
        u = d * (h[k] + hk)
        new = {
            (i, i): A[i][i] + u,
            (j, j): A[j][j] + u,
            (i, j): A[i][j],
            (i, k): A[i][k] - d * h[i],
            (j, k): A[j][k] - d * h[j],
            (k, k): A[k][k],
        }
        moved = list(h)
        moved[k] = hk
        I = symmetric(lambda r, c: new[(r, c) if (r, c) in new else (c, r)])
        return Vec(moved), I

    def articulated_back(self, A: Mat, H: Mat, M: Mat) -> tuple[Mat, Mat]:
        """Return Iₚ = I − (H r×)ᵀ − Hₚ r× and Hₚ = H + r× M, where A is I."""
        i, j, k, d = self.i, self.j, self.k, self.d
        Hp = [list(row) for row in H]
        for c in range(3):
            Hp[i][c] = H[i][c] - d * M[j][c]
            Hp[j][c] = H[j][c] + d * M[i][c]
        new = {
            (i, i): A[i][i] - d * (H[i][j] + Hp[i][j]),
            (j, j): A[j][j] + d * (H[j][i] + Hp[j][i]),
            (i, j): A[i][j] + d * (Hp[i][i] - H[j][j]),
            (i, k): A[i][k] - d * H[k][j],
            (j, k): A[j][k] + d * H[k][i],
            (k, k): A[k][k],
        }
        I = symmetric(lambda r, c: new[(r, c) if (r, c) in new else (c, r)])
        return I, Mat(Vec(row) for row in Hp)


Step = Turn | Rotate | Shift


@final
@dataclass(frozen=True, slots=True, eq=False)
class Transform:
    """The steps that lead from one frame to another."""

    steps: tuple[Step, ...] = ()
    source: Tag = None
    target: Tag = None

    @staticmethod
    def of(E: Any, r: Any, source: Tag = None, target: Tag = None) -> Transform:
        """Return the transform to a frame at r whose axes are the rows of E.

        Args:
            E: (3, 3) rotation: coordinates in the source to those in the target.
            r: (3,) origin of the target, in the source [m].
            source: name of the frame that is left, checked if it is given.
            target: name of the frame that is reached.
        """
        return _general(matrix3(E), vector3(r), source, target)

    @property
    def E(self) -> Mat:
        """The rotation: coordinates in the first frame to those in the last."""
        return Mat(self.rotate(e) for e in IDENTITY).T

    @property
    def r(self) -> Vec:
        """The origin of the last frame, in the first."""
        return self.point_back(ZERO3)

    def parts(self) -> tuple[Expr, ...]:
        """Return the twelve numbers: E by rows, and r."""
        return (*(e for row in self.E for e in row), *self.r)

    def array(self) -> Any:
        """Return the 6 x 6 matrix for motions, of numbers if all are known."""
        E = self.E
        low = E @ skew(-self.r)
        zeros = [[ZERO] * 3] * 3
        top = [[*a, *b] for a, b in zip(E, zeros, strict=True)]
        return values([*top, *([*a, *b] for a, b in zip(low, E, strict=True))])

    def apply(self, x: Carried) -> Carried:
        """Return a quantity, given in the first frame, in the last; as ``X @ x``.

        By type: motions X m, forces X⁻ᵀ f, inertias X⁻ᵀ I X⁻¹; and of a transform to
        the first frame, the one to the last.
        """
        return self @ x

    def invapply(self, x: Carried) -> Carried:
        """Return a quantity, given in the last frame, in the first.

        By type: motions X⁻¹ m, forces Xᵀ f, inertias Xᵀ I X; and of a transform to the
        last frame, the one to the first.
        """
        if isinstance(x, Motion):
            return self.inverse(x)
        if isinstance(x, Transform):
            return self.inverted() @ x
        return self.back(x)

    def then(self, *steps: Step) -> Transform:
        """Return this transform and further steps after it."""
        return Transform((*self.steps, *steps), self.source)

    def __matmul__(self, m: Carried) -> Carried:
        """Return a quantity, given in the first frame, in the last; see `apply`."""
        if isinstance(m, Motion):
            return self._motion(m)
        if isinstance(m, Transform):
            return self._after(m)
        return self.inverted().back(m)

    def _motion(self, m: Motion) -> Motion:
        check_source(self.source, m.frame)
        w, v = m.w, m.v
        for step in self.steps:
            if isinstance(step, Shift):
                v = step.velocity(w, v)
            else:
                w, v = step.vector(w), step.vector(v)
        return Motion(w, v, self.target)

    def inverse(self, m: Motion) -> Motion:
        """Return a motion, given in the last frame, in the first."""
        check_source(self.target, m.frame)
        w, v = m.w, m.v
        for step in reversed(self.steps):
            if isinstance(step, Shift):
                v = step.undone().velocity(w, v)
            else:
                w, v = step.vector_back(w), step.vector_back(v)
        return Motion(w, v, self.source)

    def _after(self, first: Transform) -> Transform:
        """Return the transform that takes ``first`` and then this one."""
        check_source(self.source, first.target)
        E, r = self.E @ first.E, first.r + first.rotate_back(self.r)
        return _general(E, r, first.source, self.target)

    def back(self, x: Borne) -> Borne:
        """Return a force or inertia, given in the last frame, in the first."""
        check_source(self.target, x.frame)
        if isinstance(x, Force):
            return self._force_back(x)
        if isinstance(x, RigidInertia):
            return self._rigid_back(x)
        return self._articulated_back(x)

    def _force_back(self, x: Force) -> Force:
        n, f = x.n, x.f
        for step in reversed(self.steps):
            if isinstance(step, Shift):
                n = step.couple_back(n, f)
            else:
                n, f = step.vector_back(n), step.vector_back(f)
        return Force(n, f, self.source)

    def _rigid_back(self, x: RigidInertia) -> RigidInertia:
        h, I = x.h, x.I
        for step in reversed(self.steps):
            if isinstance(step, Shift):
                h, I = step.rigid_back(x.m, h, I)
            else:
                h, I = step.vector_back(h), step.symmetric_back(I)
        return RigidInertia(x.m, h, I, self.source)

    def _articulated_back(self, x: ArticulatedInertia) -> ArticulatedInertia:
        I, H, M = x.I, x.H, x.M
        for step in reversed(self.steps):
            if isinstance(step, Shift):
                I, H = step.articulated_back(I, H, M)
            else:
                I, H, M = (
                    step.symmetric_back(I),
                    step.general_back(H),
                    step.symmetric_back(M),
                )
        return ArticulatedInertia(I, H, M, self.source)

    def rotate(self, a: Vec) -> Vec:
        """Return a free vector, given in the first frame, in the last."""
        for step in self.steps:
            if not isinstance(step, Shift):
                a = step.vector(a)
        return a

    def rotate_back(self, a: Vec) -> Vec:
        """Return a free vector, given in the last frame, in the first."""
        for step in reversed(self.steps):
            if not isinstance(step, Shift):
                a = step.vector_back(a)
        return a

    def point_back(self, a: Vec) -> Vec:
        """Return a point, given in the last frame, in the first."""
        for step in reversed(self.steps):
            if isinstance(step, Shift):
                out = list(a)
                out[step.k] = a[step.k] + step.d
                a = Vec(out)
            else:
                a = step.vector_back(a)
        return a

    def inverted(self) -> Transform:
        """Return the transform from the last frame to the first."""
        steps = tuple(step.undone() for step in reversed(self.steps))
        return Transform(steps, self.target, self.source)


def _general(E: Mat, r: Vec, source: Tag, target: Tag) -> Transform:
    shifts = tuple(Shift(k, d) for k, d in enumerate(r))
    return Transform((*shifts, Rotate(E)), source, target)
