"""`ramidyn.spatial` in public: compact classes equal the 6 x 6 matrices they encode."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ramidyn.errors import FrameError, ShapeError
from ramidyn.papers import notes
from ramidyn.spatial import (
    ArticulatedInertia,
    Force,
    Motion,
    RigidInertia,
    Transform,
)
from ramidyn.spatial.transform import Rotate
from ramidyn.spatial.vector3 import matrix3, values
from ramidyn.symbolic.count import count
from ramidyn.symbolic.interpreter import evaluate
from ramidyn.symbolic.trace import trace
from support.pages import REPOSITORY

EXACT = {"rtol": 1e-12, "atol": 1e-12}


def rotation(rng: np.random.Generator) -> np.ndarray:
    Q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return Q * np.sign(np.linalg.det(Q))


def matrices(rng: np.random.Generator) -> dict[str, Any]:
    """A transform and what it transforms, with their matrices' rules."""
    A = rng.normal(size=(6, 6))
    inertia = rng.normal(size=(3, 3))
    return {
        "X": Transform.of(rotation(rng), rng.normal(size=3)),
        "Y": Transform.of(rotation(rng), rng.normal(size=3)),
        "motion": Motion.of(rng.normal(size=6)),
        "force": Force.of(rng.normal(size=6)),
        "rigid": RigidInertia.of(2.0, rng.normal(size=3), inertia @ inertia.T),
        "articulated": ArticulatedInertia.of(A @ A.T),
    }


def test_transforms_apply_by_type(rng: np.random.Generator) -> None:
    m = matrices(rng)
    X, to = m["X"], m["X"].array()
    back, dual = np.linalg.inv(to), np.linalg.inv(to).T
    assert to.dtype == float
    expected = {
        "motion": (to @ m["motion"].array(), back @ m["motion"].array()),
        "force": (dual @ m["force"].array(), to.T @ m["force"].array()),
        "Y": (to @ m["Y"].array(), back @ m["Y"].array()),
    }
    for name in ("rigid", "articulated"):
        I = m[name].array()
        expected[name] = (dual @ I @ back, to.T @ I @ to)
    for name, (applied, undone) in expected.items():
        np.testing.assert_allclose((X @ m[name]).array(), applied, **EXACT)
        np.testing.assert_allclose(X.apply(m[name]).array(), applied, **EXACT)
        np.testing.assert_allclose(X.invapply(m[name]).array(), undone, **EXACT)
        assert type(X @ m[name]) is type(m[name])


def test_a_transform_keeps_its_rotation_and_its_origin(
    rng: np.random.Generator,
) -> None:
    E, r = rotation(rng), rng.normal(size=3)
    X = Transform.of(E, r)
    np.testing.assert_allclose(values(X.E), E, **EXACT)
    np.testing.assert_allclose(values(X.r), r, **EXACT)
    there = X @ Motion.of([1.0, 0, 0, 0, 0, 0])  # a turn about the source's x axis
    np.testing.assert_allclose(there.array()[:3], E[:, 0], **EXACT)
    np.testing.assert_allclose(there.array()[3:], E @ np.cross([1.0, 0, 0], r), **EXACT)


def test_inertias_are_those_of_their_matrices(rng: np.random.Generator) -> None:
    c, A = rng.normal(size=3), rng.normal(size=(3, 3))
    I = RigidInertia.of(2.0, c, A @ A.T)
    x = np.array([[0, -c[2], c[1]], [c[2], 0, -c[0]], [-c[1], c[0], 0]])
    expected = np.block(
        [[A @ A.T + 2.0 * x @ x.T, 2.0 * x], [2.0 * x.T, 2.0 * np.eye(3)]]
    )
    np.testing.assert_allclose(I.array(), expected, **EXACT)
    np.testing.assert_allclose(I.articulated().array(), expected, **EXACT)
    v = Motion.of(rng.normal(size=6))
    np.testing.assert_allclose((I @ v).array(), expected @ v.array(), **EXACT)
    np.testing.assert_allclose(v.dot(I @ v).value, v.array() @ expected @ v.array())


def test_symbols_become_a_program(rng: np.random.Generator) -> None:
    def power(E: Any, r: Any, v: Any, f: Any) -> Any:
        return (Transform.of(E, r) @ Motion.of(v)).dot(Force.of(f))

    program = trace(power, {"E": (3, 3), "r": 3, "v": 6, "f": 6})
    given = {"E": rotation(rng), "r": rng.normal(size=3)}
    given |= {"v": rng.normal(size=6), "f": rng.normal(size=6)}
    X = Transform.of(given["E"], given["r"]).array()
    found = evaluate(program, given)["result"]
    np.testing.assert_allclose(found, given["f"] @ X @ given["v"], **EXACT)
    symbols: list[Any] = []
    trace(lambda v: symbols.append(Motion.of(v).array()) or v[0], {"v": 6})
    assert symbols[0].dtype == object


def test_a_symmetric_matrix_rotates_in_28m_and_29a(rng: np.random.Generator) -> None:
    def turned(E: Any, a: Any) -> Any:
        A = [a[:3], (a[1], a[3], a[4]), (a[2], a[4], a[5])]
        return np.array(Rotate(matrix3(E)).symmetric_back(matrix3(A)), dtype=object)

    program = trace(turned, {"E": (3, 3), "a": 6})
    ops = count(program)
    assert (ops.mul, ops.add) == (28, 29)
    E, a = rotation(rng), rng.normal(size=6)
    A = np.array([a[:3], (a[1], a[3], a[4]), (a[2], a[4], a[5])])
    found = evaluate(program, {"E": E, "a": a})["result"]
    np.testing.assert_allclose(found, E.T @ A @ E, **EXACT)


def test_a_rigid_inertia_costs_no_more_than_in_the_book() -> None:
    for name, (m, a) in notes.BOOK.items():
        ops = count(trace(notes.OPERATIONS[name][1], {"x": 80}))
        assert ops.mul <= m
        assert ops.add <= a


def test_the_pages_have_the_counted_tables() -> None:
    page = (REPOSITORY / "docs" / "spatial.md").read_text(encoding="utf-8")
    for name, n in notes.sizes().items():
        assert f"| `{name}` | {n} |" in page
    page = (REPOSITORY / "docs" / "algorithms.md").read_text(encoding="utf-8")
    for name, (_, general, _) in notes.OPERATIONS.items():
        ops = count(trace(general, {"x": 80}))
        assert f"| {name} | {notes.cost(ops.mul, ops.add)} |" in page


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Motion.of([1, 2, 3]), r"vector has shape \(3,\); expected \(6,\)"),
        (lambda: Force.of(np.eye(6)), r"vector has shape \(6, 6\); expected \(6,\)"),
        (
            lambda: Transform.of(np.eye(4), np.zeros(3)),
            r"matrix has shape \(4, 4\); expected \(3, 3\)",
        ),
        (
            lambda: Transform.of(np.eye(3), 0.0),
            r"vector has shape \(\); expected \(3,\)",
        ),
        (
            lambda: ArticulatedInertia.of(np.eye(3)),
            r"matrix has shape \(3, 3\); expected \(6, 6\)",
        ),
    ],
)
def test_wrong_shapes_are_named(make: Any, message: str) -> None:
    with pytest.raises(ShapeError, match=message):
        make()


def test_transforms_join_only_where_they_meet() -> None:
    X = Transform.of(np.eye(3), [1, 0, 0], "hand", "tool")
    Y = Transform.of(np.eye(3), [0, 1, 0], "arm", "hand")
    assert ((X @ Y).source, (X @ Y).target) == ("arm", "tool")
    with pytest.raises(FrameError, match="the operand is in body 'tool'"):
        X @ X
