"""``algorithm="auto"`` is the algorithm whose compiled program costs least."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import ramidyn
from ramidyn import robots
from ramidyn.algorithms.operational.tasks import EXPRESSED_IN, Task, tasks_of
from ramidyn.catalog.paper_robots import (
    chain,
    chain_with_side_branches,
    random_tree,
)
from ramidyn.compilation import Request
from ramidyn.compiler import compile, count, program_of
from ramidyn.description.description import Description
from ramidyn.explain.counts import explain_operational
from ramidyn.quantities.mass_matrix import mass_matrix_inverse
from ramidyn.quantities.operational import (
    dynamically_consistent_inverse,
    null_space_projector,
    operational_inertia,
    operational_inertia_inverse,
)
from ramidyn.quantities.operational_inertia import (
    BY_NAME_ONLY,
    PROPAGATIONS,
    SMALL,
    possible,
    supported_algorithms,
)
from ramidyn.robot import Robot
from ramidyn.symbolic.count import Ops
from ramidyn.symbolic.count import count as ops
from ramidyn.tracing.context import Context
from ramidyn.tracing.quantity import Quantity, quantity
from support.asimo import as_robot
from support.choices import prices
from support.parameters import some
from support.paths import SHARED_ROBOTS
from support.references import path_of

ROWS = ("pose", "position", "orientation", "x", ("rz", "y"), ("z", "orientation"))
SHARED = {
    "iiwa14": ("link3", "link6"),
    "panda": ("panda_link4", "panda_link8"),
    "anymal_c": ("LF_FOOT", "RH_FOOT"),
    "humanoid": ("lower_arm_left", "lower_arm_right", "foot_left"),
}
CATALOG = {
    "chain": (lambda: robots.chain(7), ("body3", "body6")),
    "tree1": (robots.featherstone_tree1, ("body4", "body6")),
    "two hands": (robots.chang_khatib24, ("left_hand", "right_hand")),
    "plain hands": (
        lambda: robots.chang_khatib24("plain"),
        ("left_hand", "right_hand"),
    ),
}
POINTS = [Task("left_hand", "position"), Task("right_hand", "position")]
Make = Callable[..., Quantity]


def assert_cheapest(make: Make, robot: Robot, tasks: object) -> None:
    names = ("auto", *supported_algorithms(robot.model))
    found = prices(make(tasks), robot, names)
    least = min(found.values())
    assert found["auto"] <= least * (1.0 if robot.nv <= SMALL else 1.01), found


def random_case(seed: int) -> tuple[Robot, tuple[Task, ...]]:
    """A tree of any joints with frames off its bodies, and tasks of any rows."""
    rng = np.random.default_rng(seed)
    robot = Robot.from_description(
        random_tree(int(rng.integers(2, 14)), seed, roots=1 + seed % 2),
        conventions=("pinocchio", "mujoco", "featherstone")[seed % 3],
    )
    for k in range(3):
        body = robot.body_names[rng.integers(len(robot.body_names))]
        robot = robot.add_frame(f"f{k}", body, rng.normal(size=3) * (k > 0))
    frames = rng.choice(robot.frame_names, int(rng.integers(1, 7)))
    return robot, tuple(
        Task(str(f), ROWS[rng.integers(6)], EXPRESSED_IN[rng.integers(3)])
        for f in frames
    )


def shared(name: str) -> Robot:
    if not SHARED_ROBOTS.exists():
        pytest.skip(f"no shared robots in {SHARED_ROBOTS}")
    return ramidyn.load(path_of(name))


@pytest.mark.filterwarnings("ignore::ramidyn.ModelWarning")
@pytest.mark.parametrize(
    ("name", "expressed_in"),
    [
        ("iiwa14", "local"),
        ("iiwa14", "local_world_aligned"),
        ("panda", "local"),
        ("anymal_c", "local_world_aligned"),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in (
                ("panda", "local_world_aligned"),
                ("anymal_c", "local"),
                ("humanoid", "local"),
                ("humanoid", "local_world_aligned"),
            )
        ),
    ],
)
def test_auto_is_the_cheapest_of_shared_robots(name: str, expressed_in: str) -> None:
    tasks = [Task(f, "pose", expressed_in) for f in SHARED[name]]
    assert_cheapest(operational_inertia_inverse, shared(name), tasks)


@pytest.mark.parametrize("name", some(CATALOG, slow=["two hands", "plain hands"]))
def test_auto_is_the_cheapest_of_the_papers_robots(name: str) -> None:
    make, frames = CATALOG[name]
    assert_cheapest(operational_inertia_inverse, make(), frames)


@pytest.mark.parametrize(
    "seed",
    [
        *range(100, 106),
        *(pytest.param(k, marks=pytest.mark.slow) for k in range(106, 116)),
    ],
)
def test_auto_is_the_cheapest_of_random_trees(seed: int) -> None:
    assert_cheapest(operational_inertia_inverse, *random_case(seed))


def spread(robot: Robot, ends: int) -> list[str]:
    """Frames evenly along the bodies, the last body among them."""
    places = np.linspace(len(robot.body_names) // ends, len(robot.body_names), ends)
    return [robot.body_names[int(k) - 1] for k in places]


@pytest.mark.slow
@pytest.mark.parametrize("ends", [2, 12])
@pytest.mark.parametrize("shape", [chain, chain_with_side_branches, random_tree])
def test_auto_is_the_cheapest_of_large_robots(
    shape: Callable[..., Description], ends: int
) -> None:
    robot = as_robot(shape(100, geometry="plain"))
    tasks = [Task(f, "position") for f in spread(robot, ends)]
    assert_cheapest(operational_inertia_inverse, robot, tasks)


@pytest.mark.slow
@pytest.mark.parametrize("ends", [2, 12])
@pytest.mark.parametrize("bodies", [300, 1000])
@pytest.mark.parametrize("shape", [chain, chain_with_side_branches, random_tree])
def test_no_propagation_is_cheaper_than_mixed_for_very_large_robots(
    shape: Callable[..., Description], bodies: int, ends: int
) -> None:
    robot = as_robot(shape(bodies, geometry="plain"))
    tasks = [Task(f, "position") for f in spread(robot, ends)]
    assert "mixed" in possible(robot.model, robot.conventions)
    # As traced: simplification saves a few percent at most, and takes most of the time.
    costs = {
        name: ops(program_of(operational_inertia_inverse(tasks, name), robot)).cost
        for name in PROPAGATIONS
        if name not in BY_NAME_ONLY
    }
    assert costs["mixed"] == min(costs.values()), costs


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("chain", dynamically_consistent_inverse),
        ("chain", null_space_projector),
        pytest.param(
            "plain hands", dynamically_consistent_inverse, marks=pytest.mark.slow
        ),
    ],
)
def test_auto_counts_the_factor_of_M_where_it_is_needed(name: str, make: Make) -> None:
    robot, frames = CATALOG[name][0](), CATALOG[name][1]
    tasks = tasks_of([Task(f, "position") for f in frames])
    assert_cheapest(make, robot, tasks)


@pytest.mark.slow
@pytest.mark.parametrize("geometry", ["plain", "general"])
def test_propagators_spare_the_consistent_inverse_the_factor(geometry: str) -> None:
    robot = robots.chang_khatib24(geometry)
    hands = ["left_hand", "right_hand"]
    by_factor = dynamically_consistent_inverse(hands, response="factor")
    (old,) = Request([by_factor], robot).choose().choices
    (new,) = Request([dynamically_consistent_inverse(hands)], robot).choose().choices
    assert old.algorithm == "sfa"  # it has the factor of M already
    if geometry == "plain":
        assert new.algorithm != "sfa"
    for other in ("pv", "mixed"):
        assert new.traced[other] < old.traced[other]
    assert min(new.traced.values()) <= min(old.traced.values())


def test_all_candidates_of_a_shared_choice_are_counted() -> None:
    tasks = ["left_hand", "right_hand"]
    together = [operational_inertia(tasks), dynamically_consistent_inverse(tasks)]
    robot = robots.humanoid30("plain")
    (choice,) = Request(together, robot).choose().choices
    assert set(choice.traced) == {"sfa", "rjk", "pv", "mixed"}


@pytest.mark.parametrize("is_last", some([False, True], slow=[True]))
def test_quantities_of_one_kernel_have_one_algorithm(is_last: bool) -> None:
    robot, hands = robots.chang_khatib24("plain"), POINTS
    together = [operational_inertia(hands), dynamically_consistent_inverse(hands)]
    if is_last:
        together.reverse()
    (choice,) = Request(together, robot).choose().choices
    named = [one(algorithm=choice.algorithm) for one in together]
    assert count(together, robot) == count(named, robot)
    alone = dynamically_consistent_inverse(hands)
    assert count(together, robot).mul == count(alone, robot).mul  # Λ is a part of J̄


def test_tasks_that_no_other_quantity_solves_for_are_chosen_alone() -> None:
    robot = robots.chang_khatib24("plain")
    left = operational_inertia(POINTS[:1])
    right = dynamically_consistent_inverse(POINTS[1:])
    (choice,) = Request([left], robot).choose().choices
    named = operational_inertia(POINTS[:1], choice.algorithm)
    assert count([left, right], robot) == count([named, right], robot)


def test_a_users_quantity_may_be_built_on_the_consistent_inverse() -> None:
    robot, hands = robots.chang_khatib24("plain"), POINTS

    def doubled(context: Context) -> object:
        return 2.0 * dynamically_consistent_inverse(hands).of(context)

    (choice,) = Request([dynamically_consistent_inverse(hands)], robot).choose().choices

    def named(context: Context) -> object:
        inverse = dynamically_consistent_inverse(hands, choice.algorithm)
        return 2.0 * inverse.of(context)

    found: list[Ops] = [count(quantity("q")(f), robot) for f in (doubled, named)]
    assert found[0] == found[1]


def test_the_table_says_what_auto_takes_and_what_it_costs() -> None:
    robot, tasks = random_case(111)
    table = explain_operational(robot, tasks)
    (choice,) = Request([operational_inertia_inverse(tasks)], robot).choose().choices
    assert table.chosen == choice.algorithm
    least = count(operational_inertia_inverse(tasks), robot).cost
    assert table[table.chosen].cost == least == min(r.cost for r in table.rows)


def test_a_choice_is_remembered_on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    robot = robots.chain(5)
    first = compile(operational_inertia_inverse(["body2", "body4"]), robot)

    def refuse(*_: object) -> None:
        raise AssertionError("the algorithms are counted anew")

    monkeypatch.setattr("ramidyn.tracing.chooser.cheapest", refuse)
    q = robot.random_configuration(0)
    again = compile(operational_inertia_inverse(["body2", "body4"]), robot)
    assert np.array_equal(first(q), again(q))
    assert again.choices == first.choices
    assert len(first.choices[0].traced) == 6
    with pytest.raises(AssertionError, match="counted anew"):
        program_of(operational_inertia_inverse("body4"), robot)


@pytest.mark.parametrize("seed", some(range(8), slow=(1, 2, 3, 7)))
def test_small_programs_are_chosen_after_simplification(seed: int) -> None:
    # Of tree 4, ABA costs 14% more than the factor as traced, and less in the end.
    robot = Robot.from_description(random_tree(12, seed, geometry="plain"))
    costs = {
        name: count(mass_matrix_inverse(name), robot).cost
        for name in ("auto", "aba", "ltdl")
    }
    assert costs["auto"] == min(costs.values())
