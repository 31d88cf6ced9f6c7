"""Loops over the columns of a matrix: native code, interpreter, and written out."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import ramidyn
from ramidyn.backend.llvm.emit_loop import pairs
from ramidyn.symbolic.calls import unrolled
from ramidyn.symbolic.checker import check
from ramidyn.symbolic.column_loop import map_columns
from ramidyn.symbolic.count import Ops, count
from ramidyn.symbolic.derivatives import vjp
from ramidyn.symbolic.interpreter import evaluate
from ramidyn.symbolic.printer import text
from ramidyn.symbolic.program import FRESH, KEPT, Program, Sweep, SweepStep
from ramidyn.symbolic.trace import trace

ROWS = 4
FORWARD = (
    SweepStep(0, KEPT, ((0, 3), (1, 2))),
    SweepStep(1, KEPT, ((2, 3), (0, 2), (1, 0))),
)
"""two rows that need the same others, and the second needs the first"""
BACK = (
    SweepStep(3, 2, ()),
    SweepStep(2, 0, ((1, 3),)),
    SweepStep(0, 1, ((0, 3), (2, 2), (1, 1))),
)
"""rows with factors, one by one"""
ZERO = (SweepStep(1, FRESH, ()),)
"""a row that is not given"""
LAST = (SweepStep(2, FRESH, ((0, 3), (1, 0))), SweepStep(1, FRESH, ((2, 3), (0, 0))))
"""two rows that begin with zero and need the same others"""


def mapped(s: Any, X: Any) -> dict[str, Any]:
    """Every third column goes through FORWARD; of the others, row 1 is not given."""
    groups = [tuple(range(k, X.shape[1], 3)) for k in range(3)]
    given = [
        {r: X[r, c] for r in range(ROWS) if r != 1 or c % 3 == 0}
        for c in range(X.shape[1])
    ]
    sweeps = [
        Sweep(groups[0], FORWARD),
        Sweep(groups[1], (*ZERO, *FORWARD[:1])),
        Sweep(groups[2], ZERO),
        Sweep(sum(groups, ()), BACK),
        Sweep(groups[1], LAST),
    ]
    rows = map_columns([*s, s[0] * s[1]], given, groups, sweeps, ROWS)
    return {"sum": s[0] + X[0, 0], "Y": np.array(rows), "first": rows[0][0]}


def inputs(rng: np.random.Generator, columns: int, *batch: int) -> dict[str, Any]:
    return {
        "s": rng.uniform(1.0, 2.0, (*batch, 2)),
        "X": rng.normal(size=(*batch, ROWS, columns)),
    }


def expected(s: Any, X: Any) -> Any:
    """Do what the sweeps say with NumPy."""
    f = [*s, s[0] * s[1]]
    x0, x1, x2, x3 = (X[r].copy() for r in range(ROWS))
    k = np.arange(X.shape[1]) % 3
    x0 = np.where(k < 2, x0 - f[0] * x3 - f[1] * x2, x0)
    x1 = np.where(k == 0, x1 - f[2] * x3 - f[0] * x2 - f[1] * x0, 0.0)
    x3 = x3 * f[2]
    x2 = x2 * f[0] - f[1] * x3
    x0 = x0 * f[1] - f[0] * x3 - f[2] * x2 - f[1] * x1
    x2 = np.where(k == 1, -f[0] * x3 - f[1] * x0, x2)
    x1 = np.where(k == 1, -f[2] * x3 - f[0] * x0, x1)
    return np.stack([x0, x1, x2, x3])


def program(columns: int) -> Program:
    return check(trace(mapped, {"s": 2, "X": (ROWS, columns)}))


@pytest.mark.parametrize("columns", [1, 5, 8, 19])
def test_a_loop_computes_what_its_columns_do(
    columns: int, rng: np.random.Generator
) -> None:
    values = inputs(rng, columns)
    want = expected(**values)
    rolled = program(columns)
    assert len(rolled.calls) == 1
    found = evaluate(rolled, values)
    assert list(found) == ["sum", "Y", "first"]
    np.testing.assert_allclose(found["Y"], want, rtol=1e-14)
    written_out = check(unrolled(rolled))
    assert not written_out.calls
    np.testing.assert_array_equal(evaluate(written_out, values)["Y"], found["Y"])
    again = pickle.loads(pickle.dumps(rolled))
    np.testing.assert_array_equal(evaluate(again, values)["Y"], found["Y"])
    assert again.digest() == rolled.digest() != program(columns + 1).digest()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("columns", [5, 8, 19])
def test_native_loops_compute_what_the_interpreter_does(
    columns: int, dtype: str, rng: np.random.Generator
) -> None:
    f = ramidyn.kernel(mapped, {"s": 2, "X": (ROWS, columns)}, dtype=dtype)
    batch = inputs(rng, columns, 7)
    want = evaluate(program(columns), batch)
    together = f(**{n: x.astype(dtype) for n, x in batch.items()})
    tolerance = 1e-14 if dtype == "float64" else 1e-5
    for name, x in together._asdict().items():
        np.testing.assert_allclose(x, want[name], rtol=tolerance, atol=tolerance)
    for _ in range(2):  # the second call finds what the first one left
        one = f(**{n: x[3].astype(dtype) for n, x in batch.items()})
        for name, x in one._asdict().items():
            np.testing.assert_allclose(x, want[name][3], rtol=tolerance, atol=tolerance)


def test_operations_of_all_columns_count() -> None:
    rolled = program(4)
    # Two columns have 5 products, one has 2; then 4, and 3 factors, for all; then 4.
    products = 2 * 5 + 2 + 4 * 4 + 4
    assert count(rolled) == Ops(
        mul=1 + products + 4 * 3, add=1 + products, fma=products
    )


def test_steps_in_pairs_need_the_same_rows() -> None:
    assert list(pairs(FORWARD)) == [FORWARD]
    assert [(a.row, b.row) for a, b in pairs(BACK)] == [(3, 2), (0, 0)]
    assert list(pairs(LAST)) == [LAST]
    turned = (LAST[0], LAST[1]._replace(terms=((0, 0), (1, 2), (2, 3))))
    assert list(pairs(turned)) == [turned]  # in any order
    twice = (LAST[0], LAST[1]._replace(terms=((0, 0), (1, 0), (2, 3))))
    assert [a for a, b in pairs(twice) if a is b] == list(twice)


def test_steps_in_pairs_begin_alike() -> None:
    kept, fresh, scaled = (SweepStep(r, s, ()) for r, s in enumerate((KEPT, FRESH, 0)))
    assert [a for a, b in pairs((kept, fresh, scaled)) if a is b] == [
        kept,
        fresh,
        scaled,
    ]


def test_a_loop_is_differentiated_written_out(rng: np.random.Generator) -> None:
    values = inputs(rng, 2)
    weights = {"sum": 0.0, "Y": np.eye(ROWS, 2, -3), "first": 0.0}
    further = {f"{n}_cotangent": x for n, x in weights.items()}
    found = evaluate(check(vjp(program(2), ["s"])), {**values, **further})
    # Y[3, 0] = s0 s1 X[3, 0]
    want = values["X"][3, 0] * values["s"][::-1]
    np.testing.assert_allclose(found["s_cotangent"], want, rtol=1e-15)


def test_a_program_with_a_loop_prints_its_columns() -> None:
    assert "= columns(" in text(program(2))


def test_threads_share_no_workspace(rng: np.random.Generator) -> None:
    """It takes more than 64 kB, and is kept between calls."""

    def large(x: Any) -> Any:
        given = [{0: x[0] * k, 1: x[1] - k} for k in range(4500)]
        sweep = Sweep(tuple(range(4500)), (SweepStep(1, KEPT, ((0, 0),)),))
        return map_columns([x[2]], given, [range(4500)], [sweep], 2)[1]

    f = ramidyn.kernel(large, {"x": 3})
    states = rng.normal(size=(64, 3))
    k = np.arange(4500)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(f, states))
    for x, y in zip(states, found, strict=True):
        np.testing.assert_allclose(y, x[1] - k - x[2] * (x[0] * k), atol=1e-9)


def test_one_state_has_wider_groups_than_a_batch(rng: np.random.Generator) -> None:
    robot = ramidyn.robots.humanoid30("plain")
    f = ramidyn.compile(ramidyn.forward_dynamics_derivatives, robot)
    (call,) = f.program.calls
    loop = call.value.columns
    assert len(loop.wide) < len(loop.sweeps)
    q = np.stack([robot.random_configuration(rng) for _ in range(9)])
    qd, tau = rng.normal(size=(2, 9, robot.nv))
    many = f(q, qd, tau)
    for k in (0, 8):
        for one, batch in zip(f(q[k], qd[k], tau[k]), many, strict=True):
            scale = np.abs(one).max()
            np.testing.assert_allclose(batch[k], one, rtol=0, atol=1e-11 * scale)
