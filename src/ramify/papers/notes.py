"""Featherstone's notes on efficient implementation: 6x6 matrices or compact classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ramify.papers.document import Section, Table
from ramify.spatial.inertia import ArticulatedInertia, RigidInertia
from ramify.spatial.transform import Rotate, Shift, Transform, Turn
from ramify.spatial.vector3 import Mat, Vec, mat
from ramify.spatial.vectors import Force, Motion
from ramify.symbolic.count import Ops, count
from ramify.symbolic.trace import trace


def sections() -> list[Section]:
    """Return the section of this table."""
    rows: list[tuple[str, ...]] = []
    for name, (matrix, general, screws) in OPERATIONS.items():
        cells = [cost(*matrix)]
        for run in (general, screws):
            ops = None if run is None else _count(run)
            cells.append("-" if ops is None else cost(ops.mul, ops.add))
        rows.append((name, *cells))
    head = (
        "operation",
        "6x6 matrices",
        "compact, general transform",
        "compact, DH screws",
    )
    return [
        Section(
            "Featherstone's notes: 6x6 matrices or compact classes",
            "A product of l x m and m x n matrices costs lmn m + l(m−1)n a, the notes' "
            "formula. Ours are the operations of `spatial/`, traced over symbols: with "
            "a transform of a general rotation and a general offset, and with the two "
            "axial screws that Denavit-Hartenberg frames leave. The notes' own column "
            "of compact costs is a picture, and is not reprinted here.",
            (Table(head, tuple(rows)),),
            after="A rotation by a right angle, the notes' example, costs 9m + 6a as a "
            f"matrix and {cost(*_right_angle())} here.",
        )
    ]


def cost(m: int, a: int) -> str:
    """Return a count in the notes' letters."""
    return f"{m}m + {a}a"


def _count(run: Callable[[Any], Any]) -> Ops:
    return count(trace(run, {"x": 80}))


def _motion(x: Any) -> Motion:
    return Motion(Vec(x[0:3]), Vec(x[3:6]))


def _motion2(x: Any) -> Motion:
    return Motion(Vec(x[6:9]), Vec(x[9:12]))


def _force(x: Any) -> Force:
    return Force(Vec(x[0:3]), Vec(x[3:6]))


def _symmetric(x: Any) -> Mat:
    return mat(x[:3], (x[1], x[3], x[4]), (x[2], x[4], x[5]))


def _rigid(x: Any, start: int = 12) -> RigidInertia:
    x = x[start:]
    return RigidInertia(x[0], Vec(x[1:4]), _symmetric(x[4:10]))


def _articulated(x: Any) -> ArticulatedInertia:
    x = x[12:]
    general = mat(x[12:15], x[15:18], x[18:21])
    return ArticulatedInertia(_symmetric(x[0:6]), general, _symmetric(x[6:12]))


def _general(x: Any) -> Transform:
    shifts = (Shift(0, x[50]), Shift(1, x[51]), Shift(2, x[52]))
    return Transform((*shifts, Rotate(mat(x[40:43], x[43:46], x[46:49]))))


def _screws(x: Any) -> Transform:
    along_x = (Turn(0, x[40], x[41]), Shift(0, x[42]))
    return Transform((*along_x, Turn(2, x[43], x[44]), Shift(2, x[45])))


def _parts(inertia: RigidInertia) -> list[Any]:
    upper = [inertia.I[i][j] for i in range(3) for j in range(i, 3)]
    return [inertia.m, *inertia.h, *upper]


def _all(inertia: ArticulatedInertia) -> list[Any]:
    upper = [(i, j) for i in range(3) for j in range(i, 3)]
    blocks = [inertia.I[i][j] for i, j in upper] + [inertia.M[i][j] for i, j in upper]
    return [*blocks, *(e for row in inertia.H for e in row)]


def _right_angle() -> tuple[int, int]:
    from ramify.symbolic.expr import const  # noqa: PLC0415  a turn by constants

    turn = Turn(2, const(0.0), const(1.0))
    ops = _count(lambda x: list(turn.vector(Vec(x[:3]))))
    return ops.mul, ops.add


Run = Callable[[Any], Any]
OPERATIONS: dict[str, tuple[tuple[int, int], Run, Run | None]] = {
    "X v": (
        (36, 30),
        lambda x: list((_general(x) @ _motion(x)).parts()),
        lambda x: list((_screws(x) @ _motion(x)).parts()),
    ),
    "Xᵀ f": (
        (36, 30),
        lambda x: list(_general(x).back(_force(x)).parts()),
        lambda x: list(_screws(x).back(_force(x)).parts()),
    ),
    "v × v": ((36, 30), lambda x: list(_motion(x).cross(_motion2(x)).parts()), None),
    "v ×* f": (
        (36, 30),
        lambda x: list(_motion2(x).cross_force(_force(x)).parts()),
        None,
    ),
    "I v, rigid": ((36, 30), lambda x: list((_rigid(x) @ _motion(x)).parts()), None),
    "I v, articulated": (
        (36, 30),
        lambda x: list((_articulated(x) @ _motion(x)).parts()),
        None,
    ),
    "I + I, rigid": ((0, 36), lambda x: _parts(_rigid(x) + _rigid(x, 24)), None),
    "Xᵀ I X, rigid": (
        (432, 360),
        lambda x: _parts(_general(x).back(_rigid(x))),
        lambda x: _parts(_screws(x).back(_rigid(x))),
    ),
    "Xᵀ I X, articulated": (
        (432, 360),
        lambda x: _all(_general(x).back(_articulated(x))),
        lambda x: _all(_screws(x).back(_articulated(x))),
    ),
}
"""6x6 cost; the operation with a general transform, and with two screws"""
