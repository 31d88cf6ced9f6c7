"""Packs: equal operations of one state, found and kept together."""

from __future__ import annotations

from itertools import pairwise
from operator import is_
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ramidyn
from ramidyn.backend.llvm import schedule as scheduling
from ramidyn.backend.llvm.cut_values import CutValues
from ramidyn.backend.llvm.emit import Emitter
from ramidyn.backend.llvm.frames import Cut
from ramidyn.backend.llvm.packs import (
    FAMILY,
    PACKED,
    Pack,
    _in_some_order,
    find_packs,
    side_by_side,
)
from ramidyn.backend.llvm.schedule import schedule_of_one
from ramidyn.backend.runtime.memory_layout import TABLE
from ramidyn.compiler import program_of
from ramidyn.simplify.passes import lower, simplify
from ramidyn.symbolic.expr import Expr
from ramidyn.symbolic.interpreter import MEANING
from ramidyn.symbolic.program import Program
from ramidyn.symbolic.trace import trace
from support.programs import Recipe, recipes


def limb(x: Any, length: float, side: float = 1.0) -> Any:
    """Return what takes some twenty operations; constants differ by length."""
    s, c = np.sin(x[0]), np.cos(x[0])
    for k in range(1, len(x)):
        s, c = s * x[k] + side * length * c, c * x[k] - 3.0 * side * length * s
    return (s - side * x[1]) / (2.5 + c * c + side * s)


def limbs(count: int, mirrored: float = 1.0) -> Program:
    """Return a program of equal limbs, and of what only the first one has."""

    def body(q: Any) -> Any:
        ends = [
            limb(q[4 * k : 4 * k + 4], 0.55 + 0.1 * k, mirrored**k)
            for k in range(count)
        ]
        return np.array([*ends, ends[0] + q[1]])

    return lower(simplify(trace(body, {"q": (4 * count,)}, "limbs")))


def packed_fraction(program: Program) -> float:
    """Return the part of the operations that are in packs."""
    operations = [e for e in program.order if e.op in PACKED]
    packs = find_packs(program.order)
    return sum(len(p.operations) for p in packs) / len(operations)


@pytest.mark.parametrize("mirrored", [1.0, -1.0])
@pytest.mark.parametrize(("count", "width"), [(2, 2), (3, 3), (4, 4), (6, 3), (8, 4)])
def test_equal_limbs_are_packed_whole(count: int, width: int, mirrored: float) -> None:
    program = limbs(count, mirrored)
    packs = find_packs(program.order)
    assert {len(p.operations) for p in packs} == {width}
    assert packed_fraction(program) > 0.85


def test_a_single_limb_has_nothing_to_pack() -> None:
    assert find_packs(limbs(1).order) == []


def test_signs_of_mirrored_limbs_go_to_constants_or_are_changed() -> None:
    """Each lane of a pack computes its own operation, signs included."""
    program = limbs(4, -1.0)
    packs = find_packs(program.order)
    assert any(any(p.flips) for p in packs)
    rng = np.random.default_rng(0)
    value = {e: rng.normal() for e in program.order}
    value |= {e: float(e.value) for e in program.order if e.op == "const"}
    for p in packs:
        for k, e in enumerate(p.operations):
            given = [
                -value[c[k]] if flips and flips[k] else value[c[k]]
                for c, flips in zip(p.columns, p.flips, strict=True)
            ]
            meant = MEANING[e.op](*(value[a] for a in e.args))
            assert MEANING[p.op](*given) == meant


def test_lanes_agree_from_the_results_to_the_inputs() -> None:
    """The arguments of packs are packs, or single values: none change lanes."""
    packs = find_packs(limbs(4).order)
    lane = {e: k for p in packs for k, e in enumerate(p.operations)}
    for p in packs:
        for column in p.columns:
            if all(e in lane for e in column):
                assert [lane[e] for e in column] == list(range(len(column)))


def test_limbs_that_differ_at_the_tip_are_packed_elsewhere() -> None:
    def body(q: Any) -> Any:
        tips = [q[0] * q[1] + 2.0, q[8] + 0.5]  # of two arms
        for k in range(2):
            x, w = tips[k], 0.5
            for i in range(2, 8):
                w = w * np.cos(q[8 * k + i]) + 0.1 * i
                x = x * w + q[8 * k + i] / (2.0 + x * x)
            tips[k] = x
        return np.array(tips)

    program = lower(simplify(trace(body, {"q": (16,)}, "arms")))
    assert packed_fraction(program) > 0.8


def test_packs_that_need_each_other_are_taken_apart() -> None:
    """First of a pack needs first of another, whose second needs the second of it."""

    def body(q: Any) -> Any:
        a, d = q[0] * q[1], q[2] + q[3]
        return np.array([a, a + q[4], d, d * q[5]])

    program = lower(simplify(trace(body, {"q": (6,)}, "ring")))
    a, b, d, c = program.results
    products, sums = (
        Pack(x, x[0].op, tuple(zip(*(e.args for e in x), strict=True)), ((), ()))
        for x in ((a, c), (b, d))
    )
    assert (products.op, sums.op) == ("mul", "add")
    assert _in_some_order([products], program.order) == [products]
    assert _in_some_order([sums], program.order) == [sums]
    assert len(_in_some_order([products, sums], program.order)) < 2


@settings(max_examples=100, deadline=None)
@given(recipe=recipes(), count=st.integers(2, 5))
def test_packs_are_of_equal_operations_that_do_not_need_each_other(
    recipe: Recipe, count: int
) -> None:
    program = lower(simplify(recipe.repeated(count)))
    operations = [e for e in program.order if e.args]
    packs = find_packs(program.order)
    members = [e for p in packs for e in p.operations]
    assert len(set(members)) == len(members)
    order = side_by_side(operations, packs)
    place = {e: k for k, e in enumerate(order)}
    assert place.keys() == set(operations)
    assert len(order) == len(operations)
    assert all(place[a] < place[e] for e in order for a in e.args if a.args)
    for p in packs:
        assert len({FAMILY.get(e.op, e.op) for e in p.operations}) == 1
        assert all(place[b] == place[a] + 1 for a, b in pairwise(p.operations))
        for e, *args in zip(p.operations, *p.columns, strict=True):
            assert sorted(map(id, args)) == sorted(map(id, e.args))
            assert e.op != "div" or all(map(is_, args, e.args))


@settings(max_examples=100, deadline=None)
@given(recipe=recipes(), count=st.integers(2, 4), tiny=st.booleans())
def test_a_cut_has_only_packs_that_are_whole(
    recipe: Recipe, count: int, tiny: bool
) -> None:
    program = lower(simplify(recipe.repeated(count)))
    with pytest.MonkeyPatch.context() as patch:
        if tiny:
            patch.setattr(scheduling, "SMALLEST", 3)
            patch.setattr(scheduling, "LARGEST", 9)
        plan = schedule_of_one(program)
    for cut in plan.cuts:
        place = {e: k for k, e in enumerate(cut.order)}
        for p in cut.packs:
            assert all(place[b] == place[a] + 1 for a, b in pairwise(p.operations))


def test_values_of_packs_that_go_to_other_cuts_are_neighbors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(scheduling, "SMALLEST", 10)
    monkeypatch.setattr(scheduling, "LARGEST", 20)
    program = limbs(4)
    plan = schedule_of_one(program)
    results, found = set(program.results), 0
    for cut in plan.cuts[:-1]:
        slots = dict(cut.stores)
        for p in cut.packs:
            own = [slots[e] for e in p.operations if e in slots]
            if own and p.operations[0] not in results:
                assert own == list(range(own[0], own[0] + len(p.operations)))
                found += 1
    assert found > 2


@pytest.mark.parametrize("quantity", ["forward_dynamics", "mass_matrix"])
def test_most_operations_of_a_humanoid_are_in_packs(quantity: str) -> None:
    robot = ramidyn.robots.humanoid30("plain")
    program = lower(simplify(program_of(getattr(ramidyn, quantity), robot)))
    assert packed_fraction(program) > 0.6


def test_sines_of_simple_angles_begin_the_order_of_one_state() -> None:
    """So one call takes several, and none interrupts the rest."""

    def body(q: Any) -> Any:
        x = q[0]
        for k in range(1, 6):
            x = x * np.sin(q[k] + 0.1 * k) + np.cos(q[k] - q[k - 1]) + np.sin(q[0])
        return x + np.sin(x)

    program = lower(simplify(trace(body, {"q": (6,)}, "angles")))
    (cut,) = schedule_of_one(program).cuts
    sines = [k for k, e in enumerate(cut.order) if e.op in ("sin", "cos")]
    simple = sines[:-1]  # the last one is of what is computed
    others = [e.op for k, e in enumerate(cut.order) if k < simple[-1]]
    assert set(others) <= {"sin", "cos", "add", "sub"}
    assert len(simple) == 11


def test_values_are_read_side_by_side_where_they_are_neighbors() -> None:
    """The slot of a table has its address: it is nobody's neighbor."""
    a, b, c, d = (Expr("input", (), ("x", k), 0) for k in range(4))
    table = Expr("input", (), (f"{TABLE}weights", 0), 0)
    cut = Cut("start", [], loads={a: 3, table: 4, b: 4, c: 5, d: 8})
    values = CutValues(Emitter(1, "float64"), cut, [], [])
    assert values.place_of_neighbors((a, b, c)) == ("%in", 3)
    assert values.place_of_neighbors((b, a)) is None
    assert values.place_of_neighbors((c, d)) is None
    assert values.place_of_neighbors((a, table)) is None
