"""Featherstone's notes on efficient implementation: compact classes, simpler models."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ramidyn.catalog import paper_robots as catalog
from ramidyn.errors import Error
from ramidyn.explain.counts import traced
from ramidyn.loading import load
from ramidyn.papers.document import Section, Table, cost, robot_of, word
from ramidyn.quantities.dynamics import forward_dynamics, inverse_dynamics
from ramidyn.robot import Robot
from ramidyn.simplify.passes import simplify
from ramidyn.spatial import ArticulatedInertia, Force, Motion, RigidInertia, Transform
from ramidyn.spatial.transform import Shift, Turn
from ramidyn.spatial.vector3 import matrix3, vector3
from ramidyn.symbolic.count import Ops, count
from ramidyn.symbolic.expr import const
from ramidyn.symbolic.trace import trace

NAME = "Featherstone's notes"


def sections() -> list[Section]:
    """Return the sections of the notes."""
    rows: list[tuple[str, ...]] = []
    for name, (matrix, general, screws) in OPERATIONS.items():
        book = BOOK.get(name)
        ours = _count(general)
        cells = [cost(*matrix), "-" if book is None else cost(*book)]
        cells += [cost(ours.mul, ours.add)]
        cells += ["" if book is None else word(sum(book), ours.mul + ours.add)]
        ops = None if screws is None else _count(screws)
        cells += ["-" if ops is None else cost(ops.mul, ops.add)]
        rows.append((name, *cells))
    head = (
        "operation",
        "6x6 matrices",
        "compact, printed in the book",
        "compact, ours",
        "",
        "ours, DH screws",
    )
    printed = {"Transform": "12", "RigidInertia": "10"}
    objects = tuple(
        (name, "36" if n > 6 else "6", printed.get(name, "-"), str(n))
        for name, n in sizes().items()
    )
    return [
        Section(
            f"{NAME}: 6x6 matrices or compact classes",
            "A product of l x m and m x n matrices costs lmn m + l(m−1)n a, the notes' "
            "formula. Ours are the operations of `ramidyn.spatial`, traced over "
            "symbols: with a transform of a general rotation and a general offset, and "
            "with the two axial screws that Denavit-Hartenberg frames leave. The "
            "notes' own column of compact costs is a picture; what is printed here is "
            "from Featherstone's book (2008).",
            (
                Table(("class", "6x6, numbers", "printed", "ours"), objects),
                Table(head, tuple(rows)),
            ),
            after="A rotation by a right angle, the notes' example, costs "
            f"{cost(*product(3, 3, 1))} as a matrix and {cost(*_right_angle())} here.",
        ),
        saved_by_regrouping({n: robot_of(make()) for n, make in ROBOTS.items()}),
    ]


ROBOTS: dict[str, Callable[[], Any]] = {
    "chain, 30 joints": lambda: catalog.chain(30),
    "humanoid, general": lambda: catalog.humanoid30("general"),
    "humanoid, plain": lambda: catalog.humanoid30("plain"),
    "ASIMO": catalog.asimo,
    "HMMWV, loops cut": catalog.hmmwv,
}
QUANTITIES = {
    "inverse dynamics": inverse_dynamics,
    "forward dynamics, ABA": forward_dynamics(algorithm="aba"),
}
PRINTED_SAVING = (0.10, 0.20)


def saved_by_regrouping(robots: Mapping[str, Robot], of: str = "") -> Section:
    """Return what regrouping takes off the operations of some robots."""
    rows: list[tuple[str, ...]] = []
    savings: dict[str, list[float]] = {name: [] for name in QUANTITIES}
    a_body: dict[str, list[float]] = {name: [] for name in QUANTITIES}
    for name, robot in robots.items():
        tree = Robot(replace(robot.model, loops=()), robot.conventions)
        found = tree.regrouped()
        row = [name, f"{len(found.massless)} of {found.bodies}"]
        for label, quantity in QUANTITIES.items():
            if robot.model.mimics and quantity is not inverse_dynamics:
                row += ["-"] * 3
                continue
            before, after = (
                count(
                    simplify(
                        traced(quantity, tree.placed_model, tree.conventions, regroup)
                    )
                )
                for regroup in (False, True)
            )
            saved = 1 - after.total / before.total
            savings[label].append(saved)
            a_body[label].append((before.total - after.total) / found.bodies)
            row += [f"{before.total:,}", f"{after.total:,}", f"{saved:.0%}"]
        rows.append(tuple(row))
    head = ["robot", "bodies without mass"]
    for name in QUANTITIES:
        head += [f"{name}: before", "after", "saved"]
    low, high = (f"{x:.0%}" for x in PRINTED_SAVING)
    every = [x for values in savings.values() for x in values]
    inside = sum(PRINTED_SAVING[0] <= round(x, 2) <= PRINTED_SAVING[1] for x in every)
    typical = " and ".join(
        f"{np.median(values):.0%} of {name}" for name, values in savings.items()
    )
    fewer = " and ".join(f"{np.median(values):.0f}" for values in a_body.values())
    return Section(
        f"{NAME}: masses regrouped{of}",
        "Masses moved across joints from the tips to the root "
        "(`robot.regrouped()`), all other things equal: operations of simplified "
        f"programs. The notes say that this saves around {low} to {high}.",
        (Table(tuple(head), tuple(rows)),),
        after=f"The median saving is {typical}. {inside} of {len(every)} savings are "
        f"between {low} and {high}. A body saves {fewer} operations in the median, "
        "whatever the algorithm takes besides: its mass, a first moment and a moment "
        "of inertia become zero. That is a smaller share of ABA than of RNEA.",
    )


def robots_in(folder: Path) -> dict[str, Robot]:
    """Return the robots that load from the folders in a folder, by folder and file."""
    found: dict[str, Robot] = {}
    for path in sorted([*folder.glob("*/*.urdf"), *folder.glob("*/*.xml")]):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                robot = load(path)
        except Error:  # a part of another file, or not a robot
            continue
        if robot.nv and not any(n.startswith(path.parent.name + "/") for n in found):
            found[f"{path.parent.name}/{path.name}"] = robot
    return found


def product(rows: int, inner: int, columns: int) -> tuple[int, int]:
    """Return m and a of a product of two matrices."""
    return rows * inner * columns, rows * (inner - 1) * columns


def _count(run: Callable[[Any], Any]) -> Ops:
    return count(trace(run, {"x": 80}))


def _symmetric(x: Any) -> list[Any]:
    return [x[:3], (x[1], x[3], x[4]), (x[2], x[4], x[5])]


def _rigid(x: Any, start: int = 12) -> RigidInertia:
    x = x[start:]
    return RigidInertia(x[0], vector3(x[1:4]), matrix3(_symmetric(x[4:10])))


def _articulated(x: Any) -> ArticulatedInertia:
    x = x[12:]
    general = matrix3(np.reshape(x[12:21], (3, 3)))
    turning, moving = (matrix3(_symmetric(x[k : k + 6])) for k in (0, 6))
    return ArticulatedInertia(turning, general, moving)


def _general(x: Any) -> Transform:
    return Transform.of(np.reshape(x[40:49], (3, 3)), x[50:53])


def _other(x: Any) -> Transform:
    return Transform.of(np.reshape(x[60:69], (3, 3)), x[70:73])


def _screws(x: Any) -> Transform:
    along_x = (Turn(0, x[40], x[41]), Shift(0, x[42]))
    return Transform((*along_x, Turn(2, x[43], x[44]), Shift(2, x[45])))


def _right_angle() -> tuple[int, int]:
    turn = Turn(2, const(0.0), const(1.0))
    ops = _count(lambda x: list(turn.vector(vector3(x[:3]))))
    return ops.mul, ops.add


def sizes() -> dict[str, int]:
    """Return how many numbers an object of each class holds."""
    found: dict[str, int] = {}

    def run(x: Any) -> list[Any]:
        made = (
            Motion.of(x[:6]),
            Force.of(x[:6]),
            _rigid(x),
            _articulated(x),
            _general(x),
        )
        found.update({type(o).__name__: len(set(o.parts())) for o in made})
        return list(made[0].parts())

    trace(run, {"x": 80})
    return found


Run = Callable[[Any], Any]
BOOK = {"Xᵀ I X, rigid": (52, 56)}
"""costs in Featherstone's book (2008), for a general transform"""
OPERATIONS: dict[str, tuple[tuple[int, int], Run, Run | None]] = {
    "X v": (
        product(6, 6, 1),
        lambda x: (_general(x) @ Motion.of(x[:6])).parts(),
        lambda x: (_screws(x) @ Motion.of(x[:6])).parts(),
    ),
    "X⁻¹ v": (
        product(6, 6, 1),
        lambda x: _general(x).invapply(Motion.of(x[:6])).parts(),
        lambda x: _screws(x).invapply(Motion.of(x[:6])).parts(),
    ),
    "X⁻ᵀ f": (
        product(6, 6, 1),
        lambda x: (_general(x) @ Force.of(x[:6])).parts(),
        lambda x: (_screws(x) @ Force.of(x[:6])).parts(),
    ),
    "Xᵀ f": (
        product(6, 6, 1),
        lambda x: _general(x).invapply(Force.of(x[:6])).parts(),
        lambda x: _screws(x).invapply(Force.of(x[:6])).parts(),
    ),
    "X X": (product(6, 6, 6), lambda x: (_general(x) @ _other(x)).parts(), None),
    "v × v": (
        product(6, 6, 1),
        lambda x: Motion.of(x[:6]).cross(Motion.of(x[6:12])).parts(),
        None,
    ),
    "v ×* f": (
        product(6, 6, 1),
        lambda x: Motion.of(x[6:12]).cross_force(Force.of(x[:6])).parts(),
        None,
    ),
    "I v, rigid": (
        product(6, 6, 1),
        lambda x: (_rigid(x) @ Motion.of(x[:6])).parts(),
        None,
    ),
    "I v, articulated": (
        product(6, 6, 1),
        lambda x: (_articulated(x) @ Motion.of(x[:6])).parts(),
        None,
    ),
    "I + I, rigid": ((0, 36), lambda x: (_rigid(x) + _rigid(x, 24)).parts(), None),
    "Xᵀ I X, rigid": (
        (2 * 216, 2 * 180),
        lambda x: _general(x).invapply(_rigid(x)).parts(),
        lambda x: _screws(x).invapply(_rigid(x)).parts(),
    ),
    "Xᵀ I X, articulated": (
        (2 * 216, 2 * 180),
        lambda x: _general(x).invapply(_articulated(x)).parts(),
        lambda x: _screws(x).invapply(_articulated(x)).parts(),
    ),
}
"""6x6 cost; the operation with a general transform, and with two screws"""
