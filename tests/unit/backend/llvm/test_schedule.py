"""Cuts: their size, and that every value is where it is looked for."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ramidyn.backend.llvm import orders
from ramidyn.backend.llvm import schedule as scheduling
from ramidyn.backend.llvm.cut_order import filled_waits, order_in_cut, sines_first
from ramidyn.backend.llvm.frames import Schedule
from ramidyn.backend.llvm.orders import Operations
from ramidyn.backend.llvm.schedule import (
    LARGEST,
    SMALLEST,
    schedule,
    schedule_of_one,
)
from ramidyn.simplify.passes import lower, simplify
from ramidyn.symbolic import functions
from ramidyn.symbolic.count import LATENCY, PRODUCT_LATENCY
from ramidyn.symbolic.expr import Condition, Expr, region
from ramidyn.symbolic.interpreter import MEANING, evaluate
from ramidyn.symbolic.program import Program
from ramidyn.symbolic.trace import trace
from support.programs import (
    Recipe,
    assert_same,
    random_program,
    random_recipe,
    recipes,
    values_for,
)


def run(
    plan: Schedule, program: Program, values: dict[str, Any]
) -> dict[str, np.ndarray[Any, Any]]:
    """Do a schedule as native code would: cut by cut, through a workspace.

    Asserts that a cut reads only slots that were written and writes none that it
    reads, and that inputs stay as they are.
    """
    flat = [np.ravel(values[v.name]) for v in program.inputs]
    inputs = np.concatenate([np.zeros(0), *flat])
    slots: dict[int, float] = dict(enumerate(inputs))
    for cut in plan.cuts:
        loaded = set(cut.loads.values())
        stored = [slot for _, slot in cut.stores]
        assert not loaded & set(stored)
        assert len(set(stored)) == len(stored)
        assert all(slot >= len(inputs) for slot in stored)
        value: dict[Expr, Any] = {e: slots[slot] for e, slot in cut.loads.items()}

        def get(e: Expr, value: dict[Expr, Any] = value) -> Any:
            return np.float64(e.value) if e.op == "const" else value[e]

        for e in cut.order:
            assert e not in value
            value[e] = MEANING[e.op](*map(get, e.args))
        slots.update((slot, get(e)) for e, slot in cut.stores)
    assert max(slots, default=-1) < plan.slots
    outputs: dict[str, np.ndarray[Any, Any]] = {}
    start = 0
    for v in program.outputs:
        entries = [slots[k] for k in plan.outputs[start : start + v.size]]
        outputs[v.name] = np.array(entries, dtype=float).reshape(v.shape)
        start += v.size
    return outputs


@pytest.fixture
def small_cuts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut every 5 to 15 operations, so that small programs have many cuts."""
    monkeypatch.setattr(scheduling, "SMALLEST", 5)
    monkeypatch.setattr(scheduling, "LARGEST", 15)


@settings(max_examples=150, deadline=None)
@given(recipe=recipes(), seed=st.integers(0, 1000), tiny=st.booleans())
def test_a_schedule_computes_the_program(recipe: Recipe, seed: int, tiny: bool) -> None:
    program = lower(simplify(recipe.program()))
    values = values_for(recipe.inputs, np.random.default_rng(seed))
    with pytest.MonkeyPatch.context() as patch:
        if tiny:
            patch.setattr(scheduling, "SMALLEST", 3)
            patch.setattr(scheduling, "LARGEST", 9)
        plan = schedule(program)
    assert_same(run(plan, program, values), evaluate(program, values))


@settings(max_examples=100, deadline=None)
@given(recipe=recipes(), seed=st.integers(0, 1000), count=st.integers(1, 4))
def test_a_schedule_for_one_state_computes_the_program(
    recipe: Recipe, seed: int, count: int
) -> None:
    program = lower(simplify(recipe.repeated(count)))
    shapes = {v.name: v.shape for v in program.inputs}
    values = values_for(shapes, np.random.default_rng(seed))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scheduling, "SMALLEST", 3)
        patch.setattr(scheduling, "LARGEST", 9)
        plan = schedule_of_one(program)
    assert_same(run(plan, program, values), evaluate(program, values))


def operations_of(program: Program) -> Operations:
    operations = [e for e in program.order if e.args]
    return Operations(operations, set(program.results))


@settings(max_examples=100, deadline=None)
@given(recipe=recipes())
def test_traffic_is_what_cuts_read_and_write(recipe: Recipe) -> None:
    program = lower(simplify(recipe.program()))
    found = operations_of(program)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scheduling, "SMALLEST", 3)
        patch.setattr(scheduling, "LARGEST", 9)
        patch.setattr(Operations, "by_need", Operations.as_traced)
        patch.setattr(Operations, "depth_first", Operations.as_traced)
        plan = schedule(program)
        cuts = scheduling._cut(found, found.as_traced())
    constants = {e for e in program.results if e.op == "const"}
    assert found.traffic(cuts) + len(constants) == plan.traffic


@settings(max_examples=50, deadline=None)
@given(recipe=recipes(), reach=st.integers(0, 8))
def test_far_counts_values_that_left_the_registers(recipe: Recipe, reach: int) -> None:
    found = operations_of(recipe.program())
    assume(found.all)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(orders, "REACH", reach)
        for order in (found.as_traced(), found.by_need(), found.depth_first()):
            touched: dict[Expr, int] = {}
            loads, kept = 0, set[Expr]()
            for k, e in enumerate(found.all[i] for i in order):
                for a in e.args:
                    if a not in touched or k - touched[a] > reach:
                        loads += 1
                        kept |= {a} if a in touched and a.args else set()
                    touched[a] = k
                touched[e] = k
            assert found.far(order).tolist() == [loads + len(kept)]


@pytest.mark.parametrize(
    "operations", [4000, pytest.param(12_000, marks=pytest.mark.slow)]
)
def test_cuts_hold_between_400_and_1000_operations(
    operations: int, rng: np.random.Generator
) -> None:
    recipe = random_recipe(rng, operations)
    program = lower(simplify(recipe.program()))
    plan = schedule(program)
    sizes = [sum(not isinstance(e, Condition) for e in c.order) for c in plan.cuts]
    assert len(sizes) > 1
    assert all(SMALLEST <= n <= LARGEST for n in sizes)
    numbers = [e for e in program.order if e.args and not isinstance(e, Condition)]
    assert sum(sizes) == len(numbers)
    values = values_for(recipe.inputs, rng)
    assert_same(run(plan, program, values), evaluate(program, values))


@pytest.mark.parametrize("n", [LARGEST, LARGEST + 1, LARGEST + SMALLEST, 2 * LARGEST])
def test_no_cut_is_tiny_whatever_the_length(n: int) -> None:
    def f(x: Any) -> Any:
        y = x[0]
        for k in range(n):
            y = y + x[1] if k % 2 else y * x[1]
        return y

    plan = schedule(trace(f, {"x": 2}))
    sizes = [len(c.order) for c in plan.cuts]
    assert sum(sizes) == n
    assert all(min(n, SMALLEST) <= size <= LARGEST for size in sizes)


def test_a_cut_falls_where_a_region_begins() -> None:
    def f(x: Any) -> Any:
        y = x[0]
        for k in range(8):
            region(f"step {k}")
            for _ in range(300):
                y = y * x[1] + x[2]
        return y

    plan = schedule(trace(f, {"x": 3}))
    assert len(plan.cuts) > 2
    for before, after in pairwise(plan.cuts):
        assert before.order[-1].region != after.order[0].region
    assert plan.cuts[1].name.startswith("step ")


def test_a_limb_goes_out_and_back_before_the_next() -> None:
    limbs, steps = 12, 60

    def f(x: Any) -> Any:
        out: list[list[Any]] = []
        for k in range(limbs):
            region(f"out {k}")
            values = [x[k]]
            for _ in range(steps):
                values.append(values[-1] * x[0] + 1.0)
            out.append(values)
        total = []
        for k in range(limbs):
            region(f"back {k}")
            y = x[k]
            for value in reversed(out[k]):
                y = y * value + value
            total.append(y)
        return total

    program = trace(f, {"x": limbs})
    plan = schedule(program)
    found = operations_of(program)
    in_turn = scheduling._cut(found, found.as_traced())
    assert plan.traffic < 0.2 * found.traffic(in_turn)
    values = {"x": np.linspace(0.1, 0.2, limbs)}
    assert_same(run(plan, program, values), evaluate(program, values))


def test_slots_are_used_again() -> None:
    def f(x: Any) -> Any:
        y = list(x)
        for k in range(4000):
            y[k % 10] = y[k % 10] * y[(k + 1) % 10] + 0.5
        return y[0]

    program = trace(f, {"x": 10})
    plan = schedule(program)
    stored = sum(len(c.stores) for c in plan.cuts)
    between = plan.slots - 11
    assert len(plan.cuts) >= 3
    assert between <= 20  # ten values live, and none is freed within a cut
    assert stored > between


def test_a_slot_is_reused_only_after_its_last_use(rng: np.random.Generator) -> None:
    program = lower(random_program(rng, 6_000))
    plan = schedule(program)
    holds: dict[int, Expr] = {}
    reused = 0
    for cut in plan.cuts:
        for e, slot in cut.loads.items():
            assert e.op == "input" or holds[slot] is e
        for e, slot in cut.stores:
            reused += slot in holds
            holds[slot] = e
    assert reused > 0


@pytest.mark.usefixtures("small_cuts")
def test_conditions_are_made_again_where_they_are_used() -> None:
    def f(x: Any) -> Any:
        c = (x[0] < x[1]) & ~(x[2] == 0.0)
        y = x[0]
        for _ in range(30):
            y = functions.where(c, y + x[1], y * x[2])
        return y

    program = trace(f, {"x": 3})
    plan = schedule(program)
    assert len(plan.cuts) > 3
    for cut in plan.cuts:
        assert sum(e.op == "lt" for e in cut.order) == 1
        assert not any(isinstance(e, Condition) for e, _ in cut.stores)
        assert not any(isinstance(e, Condition) for e in cut.loads)
    values = {"x": np.array([0.3, 0.7, 0.9])}
    assert_same(run(plan, program, values), evaluate(program, values))


def test_conditions_that_share_conditions_take_no_time() -> None:
    def f(x: Expr) -> Expr:
        c = x < 0.0
        for k in range(200):
            c = (c & (x < float(k))) | ~c
        return functions.where(c, x, 1.0)

    program = trace(f, {"x": ()})
    plan = schedule(program)
    values = {"x": np.array(0.5)}
    assert_same(run(plan, program, values), evaluate(program, values))


@pytest.mark.parametrize(
    "fn",
    [
        lambda x: x,
        lambda x: [x[1], x[0], x[1]],
        lambda _: [2.0, 0.0, 2.0],
        lambda x: [x[0] * x[1], x[0] * x[1], x[0], 1.0],
        lambda x: {"a": x[0] + x[1], "b": [x[0] + x[1], (x[0] + x[1]) * x[0]]},
        lambda x: [x[0] < x[1], x[0]],
        lambda _: [],
    ],
)
def test_results_may_be_inputs_constants_and_duplicates(fn: Any) -> None:
    program = trace(fn, {"x": 2})
    values = {"x": np.array([3.0, 5.0])}
    plan = schedule(program)
    assert_same(run(plan, program, values), evaluate(program, values))
    written = [slot for cut in plan.cuts for _, slot in cut.stores]
    assert len(written) == len({e for e in program.results if e.op != "input"})


@pytest.mark.usefixtures("small_cuts")
def test_a_result_that_later_cuts_need_is_read_from_its_place() -> None:
    def f(x: Expr) -> Any:
        first = x * x
        y = first
        for _ in range(40):
            y = y * x + 1.0
        return [first, y + first]

    program = trace(f, {"x": ()})
    plan = schedule(program)
    loads = [slot for cut in plan.cuts for e, slot in cut.loads.items() if e.args]
    assert 1 in loads
    values = {"x": np.array(0.5)}
    assert_same(run(plan, program, values), evaluate(program, values))


def test_a_sine_stands_beside_its_cosine() -> None:
    def f(x: Any) -> Any:
        y = [functions.sin(e) for e in x] + [functions.sin(x[0] + x[1])]
        z = x[0] * x[1] + 2.0
        return [*y, z, *(functions.cos(e) for e in x), functions.cos(x[0] + x[1])]

    (cut,) = schedule(trace(f, {"x": 3})).cuts
    angles = [e.args[0] for e in cut.order if e.op in ("sin", "cos")]
    assert [a is b for a, b in zip(angles[::2], angles[1::2], strict=True)] == [
        True
    ] * 4
    assert [e.op for e in cut.order[:6]] == ["sin", "cos"] * 3


def test_sines_of_simple_angles_come_first() -> None:
    def f(x: Any) -> Any:
        y = x[0] * x[1] - x[2]
        far = functions.sin(x[0] * x[1] * x[2] * x[0] + y * y * x[1])
        return y * functions.sin(x[0] + x[1]) * functions.cos(x[2]) * far

    order = trace(f, {"x": 3}).order
    made = [e for e in order if e.op not in ("input", "const")]
    found = sines_first(made)
    assert set(found) == set(made)
    assert [e.op for e in found[:3]] == ["add", "sin", "cos"]
    assert [e.op for e in found].index("sin", 3) > 5, "an angle of many operations"
    place = {e: k for k, e in enumerate(found)}
    assert all(place.get(a, -1) < k for e, k in place.items() for a in e.args)


def waits(order: list[Any]) -> int:
    """Return the cycles in which operations wait that begin one after another."""
    end: dict[Any, int] = {}
    now = waited = 0
    for e in order:
        begin = max([now, *(end.get(a, 0) for a in e.args)])
        waited += begin - now
        end[e] = begin + LATENCY.get(e.op, PRODUCT_LATENCY)
        now = begin + 1
    return waited


def test_operations_do_not_wait_while_others_could_begin() -> None:
    def two_chains(x: Any) -> Any:
        a, b = x[0], x[1]
        for k in range(40):  # each waits for the one before
            a = a * x[2] + k
        for k in range(40):
            b = b * x[2] - k
        return a * b

    order = [e for e in trace(two_chains, {"x": 3}).order if e.args]
    found = filled_waits(order)
    assert sorted(map(id, found)) == sorted(map(id, order))
    place = {e: k for k, e in enumerate(found)}
    assert all(place.get(a, -1) < k for e, k in place.items() for a in e.args)
    assert waits(found) < 0.7 * waits(order)


@pytest.mark.parametrize(("lanes", "register"), [(1, 8), (4, 32)])
def test_with_few_registers_operations_stay_where_they_are(
    lanes: int, register: int
) -> None:
    def f(x: Any) -> Any:
        return (x[0] * x[1]) * x[2] * x[0] + (x[1] + x[2]) * x[1]

    order = [e for e in trace(f, {"x": 3}).order if e.args]
    kept, moved = order_in_cut(order, lanes, register), order_in_cut(order, 8, 64)
    assert list(map(id, kept)) == list(map(id, order))
    assert list(map(id, moved)) != list(map(id, order))
