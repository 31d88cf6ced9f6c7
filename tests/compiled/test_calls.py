"""Programs that call programs: native code, interpreter and written out agree."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import ramidyn
from ramidyn import math
from ramidyn.backend.llvm import frames
from ramidyn.backend.llvm.schedule import schedule
from ramidyn.backend.runtime.instructions import Instruction, Move, Op, check, encode
from ramidyn.errors import TraceError
from ramidyn.function import compilation_of
from ramidyn.simplify.passes import lower, simplify
from ramidyn.simulation.traced_step import StepOptions, TracedStep
from ramidyn.symbolic.calls import call_program, unrolled
from ramidyn.symbolic.checker import check as check_program
from ramidyn.symbolic.count import count
from ramidyn.symbolic.derivatives import jvp, vjp
from ramidyn.symbolic.interpreter import evaluate
from ramidyn.symbolic.printer import text
from ramidyn.symbolic.program import Program
from ramidyn.symbolic.repeat import computed_unless, unless
from ramidyn.symbolic.trace import trace
from support.called_programs import (
    FUNCTIONS,
    INNER,
    carries_in_their_places,
    in_steps,
    loops_in_loops,
    once,
    thrice,
    until_small,
)

REMAINDERS = [1, 2, 7, 8, 9, 63, 64, 65, 130]


def program_of(fn: Any) -> Program:
    return check_program(trace(fn, {"a": 3}))


@pytest.mark.parametrize("fn", FUNCTIONS)
def test_calls_are_what_they_are_written_out(fn: Any, rng: np.random.Generator) -> None:
    program = program_of(fn)
    assert program.calls
    written = check_program(unrolled(program))
    assert not written.calls
    a = rng.normal(size=(20, 3))
    found = evaluate(program, {"a": a})["result"]
    np.testing.assert_allclose(
        found, evaluate(written, {"a": a})["result"], rtol=1e-13, atol=1e-13
    )
    for change in (simplify, lambda p: lower(simplify(p))):
        shorter = check_program(change(program))
        np.testing.assert_allclose(
            evaluate(shorter, {"a": a})["result"], found, rtol=1e-12, atol=1e-12
        )


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("fn", FUNCTIONS)
def test_native_calls_are_those_of_the_interpreter(
    fn: Any, dtype: str, rng: np.random.Generator
) -> None:
    f = ramidyn.kernel(fn, {"a": 3}, dtype=dtype)
    a = rng.normal(size=(max(REMAINDERS), 3)).astype(dtype)
    want = evaluate(program_of(fn), {"a": a})["result"]
    tolerance = 1e-12 if dtype == "float64" else 1e-4
    together = f(a)
    np.testing.assert_allclose(together, want, rtol=tolerance, atol=tolerance)
    alone = np.array([f(x) for x in a])
    np.testing.assert_allclose(alone, want, rtol=tolerance, atol=tolerance)
    for n in REMAINDERS:
        np.testing.assert_array_equal(f(a[:n]), together[:n])


@pytest.mark.parametrize("lanes", [2, 4, 16])
@pytest.mark.parametrize("fn", FUNCTIONS)
def test_calls_run_with_any_number_of_lanes(
    fn: Any, lanes: int, rng: np.random.Generator
) -> None:
    f = ramidyn.kernel(fn, {"a": 3}, lanes=lanes, threads=2)
    a = rng.normal(size=(300, 3))
    want = evaluate(program_of(fn), {"a": a})["result"]
    np.testing.assert_allclose(f(a), want, rtol=1e-12, atol=1e-12)


def test_each_state_takes_the_steps_that_it_needs() -> None:
    f = ramidyn.kernel(until_small, {"x": ()})
    x = np.array([0.5, 3.0, 2.0**60, np.nan, 5.0, -1.0, 1e300, 1.0, 7.0, 0.0, 2.0])
    found = f(x)
    np.testing.assert_array_equal(found.steps, [0, 2, 50, 50, 3, 0, 50, 1, 3, 0, 2])
    np.testing.assert_array_equal(found.is_done, [1, 1, 0, 0, 1, 1, 0, 1, 1, 1, 1])
    np.testing.assert_array_equal(found.x[[0, 1, 5, 7]], [0.5, 0.75, -1.0, 0.5])
    assert np.isnan(found.x[3])
    for k, one in enumerate(x):  # no state sees its neighbors
        alone = f(one)
        for name in ("x", "steps", "is_done"):
            np.testing.assert_array_equal(getattr(alone, name), getattr(found, name)[k])
        if np.isfinite(one):
            python = until_small(float(one))
            assert python["steps"] == alone.steps
            assert python["x"] == alone.x


@pytest.mark.parametrize(
    ("until", "steps"), [(lambda y: y < 1e300, 0.0), (lambda y: y > 1e300, 6.0)]
)
def test_conditions_may_hold_always_or_never(until: Any, steps: float) -> None:
    def fn(x: Any) -> Any:
        return ramidyn.repeat_until(lambda y: y + 1.0, x, until, most=6)[::2]

    f = ramidyn.kernel(fn, {"x": ()})
    for x in (0.25, np.full(11, 0.25)):
        value, taken = f(x)
        np.testing.assert_array_equal(value, x + steps)
        np.testing.assert_array_equal(taken, np.full(np.shape(x), steps))


def test_no_step_changes_nothing() -> None:
    f = ramidyn.kernel(lambda x: ramidyn.repeat(lambda y: 2.0 * y, x, 0), {"x": 2})
    np.testing.assert_array_equal(f(np.array([1.0, 3.0])), [1.0, 3.0])
    g = ramidyn.kernel(
        lambda x: ramidyn.repeat_until(lambda y: -y, x, lambda y: y > 5.0, 0).carry,
        {"x": ()},
    )
    np.testing.assert_array_equal(g(np.array([1.0, 9.0])), [1.0, 9.0])


@pytest.mark.parametrize("fn", FUNCTIONS)
def test_derivatives_of_calls_are_those_of_what_is_written_out(
    fn: Any, rng: np.random.Generator
) -> None:
    program = program_of(fn)
    written = unrolled(program)
    a, move = rng.normal(size=(2, 3))
    size = program.outputs[0].shape
    weights = rng.normal(size=size)

    def same(change: Any, **given: Any) -> None:
        rolled, plain = check_program(change(program)), change(written)
        values = {"a": a, **given}
        found, want = evaluate(rolled, values), evaluate(plain, values)
        for name, x in want.items():
            np.testing.assert_allclose(found[name], x, rtol=1e-10, atol=1e-10)

    same(lambda p: jvp(p, ["a"]), a_tangent=move)
    same(lambda p: vjp(p, ["a"]), result_cotangent=weights)
    same(lambda p: jvp(vjp(p, ["a"]), ["a"]), a_tangent=move, result_cotangent=weights)
    if fn is not loops_in_loops:  # it is not analytic
        step = 1e-30
        shifted = evaluate(program, {"a": a + 1j * step * move}, np.complex128)
        tangent = evaluate(jvp(program, ["a"]), {"a": a, "a_tangent": move})
        np.testing.assert_allclose(
            tangent["result_tangent"], shifted["result"].imag / step, rtol=1e-10
        )


def test_derivatives_of_calls_are_calls() -> None:
    program = program_of(in_steps)
    for change in (jvp, vjp):
        derived = change(program, ["a"])
        assert any(c.value.times == 3 for c in derived.calls)
        assert count(derived).total < 4 * count(change(unrolled(program), ["a"])).total


def test_equal_calls_are_one() -> None:
    def twice(a: Any) -> Any:
        u, _ = call_program(INNER, list(a))
        v, _ = call_program(pickle.loads(pickle.dumps(INNER)), list(a))
        return u + v

    assert len(program_of(twice).calls) == 1


def test_code_that_is_called_twice_exists_once() -> None:
    plan = schedule(lower(simplify(program_of(once))))
    runs = [step for step in plan.steps if step.op == Op.RUN and step.base]
    assert len(runs) == 2
    assert len({step.number for step in runs}) == 1


def test_arguments_that_are_still_there_are_not_moved_again() -> None:
    plan = schedule(lower(simplify(program_of(thrice))))
    sources = [m.source for step in plan.steps for m in step.moves]
    assert [k for k in sources if k < 3] == [1, 2]  # inputs come first


def test_arguments_that_are_not_read_are_not_computed() -> None:
    first = trace(lambda x, _: x[0] * x[1] + x[2], {"x": 3, "_": 3})

    def fn(a: Any) -> Any:
        (v,) = call_program(first, [*a[::-1], *(math.exp(x) for x in a)])
        return v + a[0]

    program = program_of(fn)
    assert not any(e.op == "exp" for e in program.order)
    plan = schedule(lower(simplify(program)))
    assert [len(s.moves) for s in plan.steps if s.op == Op.MOVE] == [3]
    assert ramidyn.kernel(fn, {"a": 3})([2.0, 3.0, 4.0]) == 4.0 * 3.0 + 2.0 + 2.0


LONG = trace(
    lambda a: [sum(a[k] * a[k - j] for j in range(3)) for k in (2, 1, 0)], {"a": 3}
)
"""as many results as arguments, in a frame where they are too many to be kept"""


@pytest.mark.parametrize("seed", range(12))
def test_results_are_found_wherever_they_are_needed(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the next operations, by later ones, as arguments and as results."""
    monkeypatch.setattr(frames, "SPARSE", 0)  # nothing is kept in a frame

    def fn(a: Any) -> Any:
        draw = np.random.default_rng(seed)
        known = list(a)
        for _ in range(6):
            called = (LONG, INNER)[int(draw.integers(5)) // 4]
            given = [known[int(k)] for k in draw.integers(len(known), size=3)]
            known += call_program(called, given)
            for _ in range(int(draw.integers(4))):
                x, y = (known[int(k)] for k in draw.integers(len(known), size=2))
                known.append(0.5 * x - y)
        return [known[int(k)] for k in draw.integers(3, len(known), size=12)]

    a = np.random.default_rng(seed).uniform(-0.3, 0.3, size=(20, 3))
    want = evaluate(program_of(fn), {"a": a})["result"]
    found = ramidyn.kernel(fn, {"a": 3})(a)
    np.testing.assert_allclose(found, want, rtol=1e-12, atol=1e-12)


def test_results_are_not_moved_between_calls_of_one_program() -> None:
    robot = ramidyn.robots.humanoid30("plain")
    step = TracedStep(robot, StepOptions("rk4", "none", 0.0)).compiled()
    steps = compilation_of(step).schedule(8).steps
    assert [s.op for s in steps] == [Op.RUN] * 2 + [Op.MOVE] + [Op.RUN] * 6
    (move,) = (s.moves for s in steps if s.op == Op.MOVE)
    assert len(move) == robot.nv  # tau: q and qd are read where they are


KEEPING = trace(lambda x, y, z: [x * y + z, y], {"x": (), "y": (), "z": ()}, "keeping")


def in_order(a: Any) -> Any:
    """Arguments that lie as a callee reads them, and others that do not."""
    inner = ramidyn.repeat(lambda b: np.array([*call_program(INNER, b), b[0]]), a, 2)
    kept = call_program(KEEPING, list(a))
    u, v = call_program(INNER, [a[0], a[1], a[2]])
    p, q = call_program(INNER, [a[2], a[1], a[0]])
    return np.array([*inner, *kept, u, v, p, q])


def test_arguments_are_read_where_they_are_if_they_lie_in_order(
    rng: np.random.Generator,
) -> None:
    program = trace(in_order, {"a": 3})
    runs = [s for s in schedule(lower(simplify(program))).steps if s.op == Op.RUN]
    assert sum(s.arguments != s.base for s in runs) == 2  # in the loop, and behind it
    a = rng.normal(size=(70, 3))
    meant = evaluate(program, {"a": a})["result"]
    for lanes in (1, 4):
        found = ramidyn.kernel(in_order, {"a": 3}, lanes=lanes)(a)
        np.testing.assert_allclose(found, meant, rtol=1e-12, atol=1e-12)


def test_carries_are_written_where_the_next_step_reads_them() -> None:
    steps = schedule(lower(program_of(carries_in_their_places))).steps
    (loop,) = [k for k, step in enumerate(steps) if step.op == Op.REPEAT]
    end = [step.op for step in steps].index(Op.NEXT)
    moves = [move for step in steps[loop:end] for move in step.moves]
    # v is there twice; of two that change places, one goes through a spare slot.
    assert len(moves) == 1 + 3


def test_carries_of_long_bodies_are_right(rng: np.random.Generator) -> None:
    def long(x: Any) -> Any:
        def body(carry: Any) -> Any:
            u, v, w = carry
            y = u
            for k in range(2500):  # several cuts
                y = y * (0.7 + 1e-5 * k) + 0.1 * v + (0.05 * w if k < 900 else 0.0)
            return v + 0.1 * y, 0.3 * u + y, 0.5 * y + w

        return ramidyn.repeat(body, (x[0] * 1.0, x[1], x[2]), times=3)

    f = ramidyn.kernel(long, {"x": 3})
    x = rng.normal(size=(20, 3))
    want = evaluate(f.program, {"x": x})
    for found, meant in zip(f(x), want.values(), strict=True):
        np.testing.assert_allclose(found, meant, rtol=1e-12)


@pytest.mark.parametrize("lanes", [1, 2, 8, 16])
def test_last_states_of_a_loop_share_tiles(
    lanes: int, rng: np.random.Generator
) -> None:
    """Collatz's steps, in each a loop of another length: most states end early."""

    def halved(n: Any) -> Any:
        return ramidyn.repeat_until(
            lambda y: 0.5 * y, n, lambda y: abs(math.sin(0.5 * np.pi * y)) > 0.5, 60
        )

    def steps(n: Any, scale: Any) -> dict[str, Any]:
        found = ramidyn.repeat_until(
            lambda c: (halved(3 * c[0] + 1).carry, c[1] + scale * c[0]),
            (n, 0.0 * n),
            lambda c: c[0] <= 1.0,
            most=200,
        )
        return {"steps": found.steps, "sum": found.carry[1]}

    expected = []
    n = 2.0 * rng.integers(1, 40, 257) + 1.0
    for k in n:
        count, total, x = 0, 0.0, int(k)
        while x > 1:
            count, total, x = count + 1, total + 0.5 * x, 3 * x + 1
            while x % 2 == 0:
                x //= 2
        expected.append((count, total))
    call = ramidyn.kernel(steps, {"n": (), "scale": ()}, lanes=lanes)
    found = call(n, np.full(257, 0.5))
    assert np.max(found.steps) > 30.0
    assert np.median(found.steps) < 15.0
    np.testing.assert_array_equal(np.array(expected).T, [found.steps, found.sum])


def roots(x: Any) -> Any:
    """Newton's method, with a value that is carried and not asked for."""
    found = ramidyn.repeat_until(
        lambda c: {"y": c["last"], "last": 0.5 * (c["last"] + x / c["last"])},
        {"y": x, "last": 0.5 * (x + 1.0)},
        lambda c: math.absolute(c["y"] * c["y"] - x) <= 1e-9 * x,
        most=60,
    )
    return {"root": found.carry["y"], "steps": found.steps}


def test_states_that_are_done_keep_what_is_asked_for(rng: np.random.Generator) -> None:
    """The other values go on: their where is gone, and lanes do not put them back."""
    program = trace(roots, {"x": ()})
    (call,) = program.calls
    (thawed,) = simplify(program).calls
    kept = [sum(e.op == "where" for e in c.value.program.order) for c in (call, thawed)]
    assert kept[1] == kept[0] - 1
    steps = schedule(lower(simplify(program))).steps
    *_, until = (s for s in steps if s.op == Op.UNTIL)
    assert (until.base, until.functions) == (3, 6)  # done, steps, y
    x = np.exp(rng.uniform(-30.0, 30.0, 500))
    found = ramidyn.kernel(roots, {"x": ()})(x)
    np.testing.assert_allclose(found.root, np.sqrt(x), rtol=1e-8)
    assert found.steps.min() < 10
    assert found.steps.max() > 20


def maybe(x: Any, y: Any) -> Any:
    """Work that few states need, with shared numbers."""
    shared = [y, *(x * k + y for k in range(1, 8))]

    def body(entries: list[Any], given: list[Any]) -> list[Any]:
        return [entries[0] + sum(g * g for g in given)]

    return unless(x < 3.0, body, [x], shared)[0]


def test_shared_numbers_are_moved_for_states_that_need_them() -> None:
    program = trace(maybe, {"x": (), "y": ()})
    twice = trace(lambda x, y: maybe(maybe(x, y), y), {"x": (), "y": ()})
    for one in (program, twice):
        steps = schedule(lower(simplify(one))).steps
        untils = [s.functions > 0 for s in steps if s.op == Op.UNTIL]
        assert untils == [False, True] * (len(untils) // 2)
    x = np.where(np.arange(300) % 37 == 0, 5.0, 1.0)
    y = np.linspace(0.0, 1.0, 300)
    meant = np.where(x < 3.0, x, x + sum((x * k + y) ** 2 for k in range(8)))
    np.testing.assert_allclose(ramidyn.kernel(maybe, {"x": (), "y": ()})(x, y), meant)


def exchanged(x: Any) -> Any:
    """Carried values that change places, are used late, or are not used at all."""

    def body(c: Any) -> Any:
        a, b, k, _, late = c
        following, grown = k + 1.0, math.sin(a * late + b)
        for n in range(1, 900):  # several cuts, the last of which reads k and late
            grown = grown * 0.9 + math.absolute(a - n) * 1e-3
        return np.array([b, a + k, following, grown, grown + late * 0.1 + k * 0.01])

    start = np.array([x[0], x[1], 0.0, x[2], x[3]])
    return ramidyn.repeat(body, start, times=5)


def test_carried_values_are_written_in_place_where_nothing_reads_them_later(
    rng: np.random.Generator,
) -> None:
    x = rng.normal(size=(37, 4))
    meant = evaluate(trace(exchanged, {"x": 4}), {"x": x})["result"]
    found = ramidyn.kernel(exchanged, {"x": 4})(x)
    np.testing.assert_allclose(found, meant, rtol=1e-12)
    steps = [s.op for s in schedule(lower(simplify(trace(roots, {"x": ()})))).steps]
    last = len(steps) - steps[::-1].index(Op.UNTIL)
    assert steps[last:] == [Op.RUN, Op.NEXT, Op.NEXT]


def lazily(x: Any, y: Any) -> Any:
    """Values that few states need, and a loop among them."""
    grown = ramidyn.repeat(lambda z: z * 1.5 + y, math.sin(y) * x, times=3)
    start = {"a": x, "b": np.array([y, 0.0])}
    end = {"a": grown + x * y, "b": np.array([x * y, math.exp(-y)])}
    found = computed_unless(x * y < 3.0, start, end)
    return {"a": found["a"], "b": found["b"]}


def test_values_are_computed_only_where_they_are_needed(
    rng: np.random.Generator,
) -> None:
    x, y = rng.uniform(0.0, 4.0, (2, 203))
    found = ramidyn.kernel(lazily, {"x": (), "y": ()})(x, y)
    z = np.sin(y) * x
    for _ in range(3):
        z = z * 1.5 + y
    is_done = x * y < 3.0
    np.testing.assert_allclose(found.a, np.where(is_done, x, z + x * y))
    meant = np.transpose(
        [np.where(is_done, y, x * y), np.where(is_done, 0, np.exp(-y))]
    )
    np.testing.assert_allclose(found.b, meant)
    assert (found.a[is_done] == x[is_done]).all()
    program = simplify(trace(lazily, {"x": (), "y": ()}))
    assert not {"sin", "exp"}.intersection(e.op for e in program.order)


def test_neighbors_are_moved_as_one() -> None:
    moves = Move(2, 7), Move(3, 8), Move(4, 10), Move(6, 11, 1), Move(7, 12, 1)
    found = encode([Instruction(Op.MOVE, moves=moves)], slot=8)
    assert found.words == [Op.MOVE, 0, 3, 0, 0]
    runs = np.reshape(found.moves, (-1, 5)) // 8
    assert runs.tolist() == [[2, 7, 0, 0, 2], [4, 10, 0, 0, 1], [6, 11, 1, 0, 2]]


@pytest.mark.parametrize("fn", FUNCTIONS)
def test_programs_with_calls_are_pickled_and_have_digests(
    fn: Any, rng: np.random.Generator
) -> None:
    program = program_of(fn)
    again = check_program(pickle.loads(pickle.dumps(program)))
    assert again.digest() == program.digest() == program_of(fn).digest()
    a = rng.normal(size=3)
    np.testing.assert_array_equal(
        evaluate(again, {"a": a})["result"], evaluate(program, {"a": a})["result"]
    )


def test_the_digest_depends_on_what_is_called() -> None:
    def steps(times: int, factor: float) -> str:
        def fn(x: Any) -> Any:
            return ramidyn.repeat(lambda y: factor * y, x, times)

        return trace(fn, {"x": ()}).digest()

    assert len({steps(2, 0.5), steps(3, 0.5), steps(2, 0.25)}) == 3


def test_operations_count_as_often_as_they_run() -> None:
    program = program_of(in_steps)
    body = count(INNER)
    total = count(program)
    assert total.mul == 3 * body.mul + 2
    assert total.add == 3 * body.add
    assert total.sincos == 3


def test_printed_programs_show_their_calls() -> None:
    shown = text(program_of(in_steps))
    assert "= 3 x inner(" in shown
    assert "[0]" in shown
    open_end = text(trace(until_small, {"x": ()}))
    assert "up to 50 x loop(" in open_end
    assert "# operations by call: 2 + up to 50 x 8\n" in open_end


def test_a_scan_runs_kernels_with_calls(rng: np.random.Generator) -> None:
    def step(x: Any) -> Any:
        return {"x": ramidyn.repeat(lambda y: 0.9 * y + 0.1 * math.sin(y), x, 3)}

    f = ramidyn.kernel(step, {"x": 2})
    start = rng.normal(size=(70, 2))
    run = ramidyn.scan(f, carry=("x",), length=20, record=())
    x = start
    for _ in range(20):
        x = f(x)
    np.testing.assert_array_equal(run(start), x)


# ------------------------------------------------------------ bad input


@pytest.mark.parametrize(
    ("fn", "message"),
    [
        (
            lambda x: ramidyn.repeat(lambda y: y[:1], x, 3),
            r"test_calls\.py:\d+: the body of a loop returned shape \(1,\); "
            r"expected what it is given: shape \(2,\)",
        ),
        (
            lambda x: ramidyn.repeat(lambda y: (y, y), x, 3),
            r"returned a tuple of shapes \(2,\), \(2,\); expected",
        ),
        (
            lambda x: ramidyn.repeat(lambda y: {"b": y["a"]}, {"a": x}, 3),
            r"returned a dict of b\(2,\); expected what it is given: a dict of a\(2,\)",
        ),
        (
            lambda x: ramidyn.repeat(lambda y: y, x, 2.5),
            r"times is 2\.5; expected an integer, 0 or more",
        ),
        (
            lambda x: ramidyn.repeat(lambda y: y, x, x[0]),
            r"times is a symbol; expected an integer that is known while tracing",
        ),
        (
            lambda x: ramidyn.repeat_until(lambda y: y, x, lambda y: y[0] > 0, -1),
            r"most is -1; expected an integer, 0 or more",
        ),
        (
            lambda x: ramidyn.repeat_until(lambda y: y, x, lambda y: y[0] > 0, 2**63),
            r"most is 9\d+; expected an integer, 0 or more and less than 2\*\*63",
        ),
        (
            lambda x: ramidyn.repeat(x, x, 3),
            r"body is of type ndarray; expected a function of what is carried",
        ),
        (
            lambda x: ramidyn.repeat_until(lambda y: y, x, True, 3),
            r"until is of type bool; expected a function of what is carried",
        ),
        (
            lambda x: ramidyn.repeat_until(lambda y: y, x, lambda y: y[0], 3),
            r"until returned .*; expected one condition, such as x < 1e-9",
        ),
        (
            lambda x: ramidyn.repeat(lambda y: y if y[0] > 0 else -y, x, 3),
            r"a symbol has no truth value",
        ),
    ],
)
def test_what_is_wrong_with_a_loop_is_said(fn: Any, message: str) -> None:
    with pytest.raises(TraceError, match=message):
        ramidyn.kernel(fn, {"x": 2})


def test_a_loop_needs_a_bound() -> None:
    with pytest.raises(TypeError, match="most"):
        ramidyn.repeat_until(lambda y: y, 1.0, lambda y: y > 0)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    "steps",
    [
        [Instruction(Op.RUN, 3)],
        [Instruction(Op.RUN, 1, functions=2)],
        [Instruction(Op.RUN, 0, base=10)],
        [Instruction(Op.MOVE, moves=(Move(0, 10),))],
        [Instruction(Op.MOVE, moves=(Move(-1, 0),))],
        [Instruction(Op.REPEAT, 2)],
        [Instruction(Op.NEXT)],
        [Instruction(Op.UNTIL, 0)],
        [
            Instruction(Op.REPEAT, 1),
            Instruction(Op.UNTIL, 8, functions=3),
            Instruction(Op.NEXT),
        ],
        [
            Instruction(Op.REPEAT, 6),
            Instruction(Op.MOVE, moves=(Move(0, 0, 2, 0),)),
            Instruction(Op.NEXT),
        ],
        [Instruction(Op.REPEAT, 1)] * 17 + [Instruction(Op.NEXT)] * 17,
    ],
)
def test_instructions_that_do_not_fit_are_refused(steps: Any) -> None:
    """They come from files."""
    with pytest.raises(ValueError, match=r"does not fit|no end"):
        check(steps, functions=2, slots=10)
