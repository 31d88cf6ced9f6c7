"""The chooser simplifies candidates that can still win, each once, and no others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import combinations, islice, product
from typing import Any

import numpy as np
import pytest

from ramidyn import load, robots
from ramidyn.backend.llvm import cache
from ramidyn.compilation import Request
from ramidyn.compiler import compile
from ramidyn.quantities.dynamics import forward_dynamics
from ramidyn.quantities.operational import operational_inertia_inverse
from ramidyn.symbolic.program import Program
from ramidyn.tracing import chooser
from ramidyn.tracing.chooser import algorithm_of, choose, with_cheapest_frames
from ramidyn.tracing.context import Context
from ramidyn.tracing.quantity import Quantity, quantity

ROBOT = robots.chain(120, "plain")


def sums(context: Context) -> Iterator[Any]:
    """Yield a·x + a·y: three operations as traced; simplified, 60 have x + y."""
    q, qd = context.inputs["q"], context.inputs["qd"]
    for a, k in product(qd, range(0, len(q), 2)):
        yield a * q[k] + a * q[k + 1]


def products(context: Context) -> Iterator[Any]:
    """Yield single operations."""
    return (x * y for x, y in combinations(context.inputs["q"], 2))


def rivals(plain: int, of_sums: int, of_products: int) -> Quantity:
    """A quantity by products alone, or by sums and products."""

    @quantity("q", "qd", algorithms=("plain", "reducible"))
    def rival(context: Context, algorithm: str = "auto") -> Any:
        if algorithm == "plain":
            return np.array(list(islice(products(context), plain)), dtype=object)
        parts = (
            *islice(sums(context), of_sums),
            *islice(products(context), of_products),
        )
        return np.array(parts, dtype=object)

    return rival


@pytest.mark.parametrize(
    ("sizes", "costs"),
    [
        ((5400, 600, 4100), {"plain": 5400, "reducible": 4760}),  # 1.093 as traced
        ((5100, 1500, 1200), {"plain": 5100}),  # 1.118
        # 1.49, if small; then products wait 4 cycles, and sums 3
        ((4500, 1500, 2200), {"plain": 4504, "reducible": 3767}),
        ((4000, 2000, 60), {"plain": 4004}),  # 1.515
    ],
)
def test_candidates_near_the_cheapest_are_simplified(
    sizes: tuple[int, int, int], costs: dict[str, int]
) -> None:
    found = choose([rivals(*sizes)], ROBOT.model, ROBOT.conventions)
    (choice,) = found.choices
    plain, of_sums, of_products = sizes
    assert choice.traced == {"plain": plain, "reducible": 3 * of_sums + of_products}
    assert choice.costs == costs  # of simplified programs only
    assert choice.algorithm == min(costs, key=costs.__getitem__)


@pytest.mark.parametrize(
    ("sizes", "winner"),
    [
        ((5400, 600, 3860), "reducible"),  # 1.048 as traced
        ((5400, 600, 3920), "plain"),  # 1.059: less near if part of another
    ],
)
def test_parts_of_others_must_be_nearer(
    sizes: tuple[int, int, int], winner: str
) -> None:
    found = algorithm_of(rivals(*sizes), ROBOT.model, ROBOT.conventions)
    assert found == winner


@pytest.mark.parametrize(
    ("of_products", "is_placed"),
    [
        (3690, True),  # 1.017 as traced, and cheaper once simplified
        (3720, False),  # 1.022
    ],
)
def test_body_frames_must_be_nearer_still(of_products: int, is_placed: bool) -> None:
    @quantity("q", "qd", algorithms=("aba",))
    def dynamics(context: Context, algorithm: str = "auto") -> Any:
        assert algorithm == "aba"
        rival = rivals(5400, 600, of_products)
        is_file = context.model is ROBOT.model
        return rival("plain" if is_file else "reducible").of(context)

    known = {"forward_dynamics": dynamics}
    found = with_cheapest_frames(ROBOT.model, ROBOT.conventions, known)
    assert (found is not ROBOT.model) == is_placed


def counted(
    monkeypatch: pytest.MonkeyPatch, name: str, key: Callable[[Any], Any]
) -> Counter[Any]:
    """Count the calls of a function of the chooser by a key of their argument."""
    calls: Counter[Any] = Counter()
    original = getattr(chooser, name)

    def call(argument: Any, *rest: Any) -> Any:
        calls[key(argument)] += 1
        return original(argument, *rest)

    monkeypatch.setattr(chooser, name, call)
    return calls


def test_what_is_compiled_is_simplified_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = counted(monkeypatch, "simplify", Program.digest)
    monkeypatch.setattr(cache, "load", lambda _key: None)
    assert compile(forward_dynamics, robots.featherstone_tree1()).ops.total > 0
    assert max(calls.values()) == 1


@pytest.mark.parametrize(
    ("wanted", "most"),
    [
        (forward_dynamics, 5),  # two sets of frames; ltdl, and two ways to make M
        # two sets of frames, three algorithms, and two ways to make M for "sfa"
        (operational_inertia_inverse(["left_hand", "right_hand"]), 7),
    ],
    ids=["forward_dynamics", "operational_inertia_inverse"],
)
def test_few_programs_are_traced_for_a_cold_call(
    monkeypatch: pytest.MonkeyPatch, wanted: Quantity, most: int
) -> None:
    calls = counted(monkeypatch, "trace", lambda _: "trace")
    Request(wanted, robots.humanoid30()).choose()
    assert calls["trace"] == most


@pytest.mark.parametrize("make", [robots.chain, robots.binary_tree])
@pytest.mark.parametrize("geometry", ["plain", "general"])
def test_the_first_bodies_of_a_large_tree_decide_about_its_frames(
    monkeypatch: pytest.MonkeyPatch, make: Any, geometry: str
) -> None:
    robot = make(63, geometry)
    known = {"forward_dynamics": forward_dynamics}
    whole = with_cheapest_frames(robot.model, robot.conventions, known)
    monkeypatch.setattr(chooser, "MANY_BODIES", 62)
    monkeypatch.setattr(chooser, "FEW_BODIES", 15)
    part = with_cheapest_frames(robot.model, robot.conventions, known)
    assert (part is robot.model) == (whole is robot.model)
    assert len(part.tree) == len(whole.tree)


def test_a_joint_that_follows_one_beyond_the_first_bodies_is_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    links = "".join(
        f"""<link name="{name}"><inertial><mass value="1"/>
            <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
            <joint name="{name}" type="continuous"><parent link="world"/>
            <child link="{name}"/><origin xyz="0 0.1 0.2"/><axis xyz="0 1 0"/>{more}
            </joint>"""
        for name, more in (("a", '<mimic joint="b"/>'), ("b", ""))
    )
    text = f"""<robot name="r"><link name="world"/>{links}</robot>"""
    robot = load(text, mimic="reduce")
    monkeypatch.setattr(chooser, "MANY_BODIES", 1)
    monkeypatch.setattr(chooser, "FEW_BODIES", 1)
    known = {"forward_dynamics": forward_dynamics}
    assert len(with_cheapest_frames(robot.model, robot.conventions, known).tree) == 2
