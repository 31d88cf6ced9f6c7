"""Functions whose programs call others: once, in loops, with an open end."""

from __future__ import annotations

from typing import Any

import numpy as np

import ramidyn
from ramidyn.symbolic.calls import call_program, results_of
from ramidyn.symbolic.column_loop import map_columns
from ramidyn.symbolic.expr import unary
from ramidyn.symbolic.program import KEPT, Callee, Program, Sweep, SweepStep
from ramidyn.symbolic.trace import trace


def until_small(x: Any) -> Any:
    found = ramidyn.repeat_until(lambda y: 0.5 * y, x, lambda y: y < 1.0, most=50)
    return {"x": found.carry, "is_done": found.is_done, "steps": found.steps}


INNER = trace(
    lambda x, y, z: [x * y + 0.3 * z * z, unary("sin", x) - y * z],
    {"x": (), "y": (), "z": ()},
    "inner",
)


def once(a: Any) -> Any:
    u, v = call_program(INNER, [a[0], a[1], a[2]])
    w, _ = call_program(INNER, [v, u + a[0], 2.0 * v])
    return np.array([u, v, w, u + w * a[2]])


def thrice(a: Any) -> Any:
    x, y = a[0], a[0]
    for _ in range(3):
        x, y = call_program(INNER, [x + y, a[1], a[2]])
    return np.array([x, y])


def depth_four(a: Any) -> Any:
    program = INNER
    for _ in range(3):
        before = program

        def outer(x: Any, y: Any, z: Any, of: Program = before) -> Any:
            u, v = call_program(of, [y, 0.5 * x, z])
            p, q = call_program(of, [u - v, y, x * z])
            return [0.3 * (u + q), 0.2 * p - v]

        program = trace(outer, {"x": (), "y": (), "z": ()}, "outer")
    return np.array(call_program(program, list(a)))


def in_steps(a: Any) -> Any:
    """Carried, shared and sliced arguments; stacked results."""
    callee = Callee(INNER, times=3, carried=1, sliced=1)
    return np.array(results_of(callee, [0.1 * a[0], a[1], a[0], a[1], a[2] * a[0]]))


def loops_in_loops(a: Any) -> Any:
    def outer(carry: Any) -> Any:
        u, v = carry
        inner = ramidyn.repeat_until(
            lambda w: 0.5 * w + a[1], u, lambda w: w * w < 0.3, most=7
        )
        z = ramidyn.repeat(lambda s: s + inner.carry * a, v, times=2)
        return inner.carry + 1.3 * a[0], 0.5 * z

    u, v = ramidyn.repeat(outer, (a[0] * 1.0, a), times=3)
    return np.array([u, *v])


def carries_in_their_places(a: Any) -> Any:
    """Carries that are made before and after the last use of what they replace."""

    def body(carry: Any) -> Any:
        u, v, w, same, _, swapped, other = carry
        first = 0.5 * u + 0.1 * a[0]  # made long before u is used last
        angle = first
        for k in range(80):
            angle = angle * (0.9 + 1e-3 * k) + 0.01 * v
        v = unary("sin", u + 0.3 * angle) + a[1]
        return first, v, w + u * v, same, v, other, swapped + 0.1 * w

    start = (a[0] * 1.0, a[1], a[2], a[0], a[1], a[2], a[0] + a[1])
    return np.array(ramidyn.repeat(body, start, times=4))


def column_sweeps_in_loops(a: Any) -> Any:
    """A callee that is a loop over columns, inside another loop."""

    def body(x: Any) -> Any:
        columns = [{0: x[k], 1: x[k] * a[0]} for k in range(3)]
        sweep = Sweep((0, 1, 2), (SweepStep(0, KEPT, ((0, 1),)), SweepStep(1, 1, ())))
        rows = map_columns([a[1], a[2]], columns, [range(3)], [sweep], 2)
        return np.array([rows[0][k] + rows[1][k] for k in range(3)])

    return ramidyn.repeat(body, a, times=4)


FUNCTIONS = [
    once,
    thrice,
    depth_four,
    in_steps,
    loops_in_loops,
    carries_in_their_places,
    column_sweeps_in_loops,
]
