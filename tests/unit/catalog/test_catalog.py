"""The papers' robots: their trees measure what the papers print."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

from ramidyn.catalog import paper_robots as robots
from ramidyn.catalog.general_geometry import GEOMETRIES
from ramidyn.description.builder import neutral_poses
from ramidyn.description.description import Description
from ramidyn.description.pose import Array, Pose
from ramidyn.errors import ArgumentError, ModelError, UnknownName
from ramidyn.tree.frames import place_frames, screws
from ramidyn.tree.model import Model, build_model
from ramidyn.tree.tree import (
    D0,
    D1,
    D2,
    ROOT,
    depths,
    sparsity_pattern,
)
from support.kinematics import body_poses, random_coordinates

CLOSE = 1e-12  # a few hundred roundings of numbers near 1

NAMED: dict[str, Callable[..., Description]] = {
    "featherstone_tree1": robots.featherstone_tree1,
    "humanoid30": robots.humanoid30,
    "chain30": robots.chain30,
    "asimo": robots.asimo,
    "asimo_on_one_foot": lambda *args: robots.asimo(*args, base="left_foot"),
    "chang_khatib24": robots.chang_khatib24,
    "hmmwv": robots.hmmwv,
    "chain": lambda *args: robots.chain(9, *args),
    "side_branches": lambda *args: robots.chain_with_side_branches(8, *args),
    "binary_tree": lambda *args: robots.binary_tree(15, *args),
    "square_grid": lambda *args: robots.square_grid(9, *args),
}

every_robot = pytest.mark.parametrize("name", NAMED)
every_geometry = pytest.mark.parametrize("geometry", GEOMETRIES)


def described_parents(description: Description) -> tuple[int, ...]:
    """Return the parent array in the order of the description: the paper's own."""
    index = {b.name: i for i, b in enumerate(description.bodies)}
    return tuple(
        ROOT if b.parent is None else index[b.parent] for b in description.bodies
    )


def described_dof_parents(model: Model) -> tuple[int, ...]:
    """Return the expanded parent array in the order of the description."""
    assert model.description is not None
    moves = {j.name: j.bodies for j in model.joints}
    order = [
        k
        for body in model.description.bodies
        for joint in body.joints
        for i in moves[joint.name]
        for k in model.tree.dofs[i]
    ]
    place = {k: new for new, k in enumerate(order)} | {ROOT: ROOT}
    return tuple(place[model.tree.dof_parents[k]] for k in order)


def zeros_of(pattern: Array) -> float:
    return 100.0 * (1.0 - np.count_nonzero(pattern) / pattern.size)


# ------------------------------------------------------------ Featherstone 2005


def test_tree1_has_the_papers_parents() -> None:
    description = robots.featherstone_tree1()
    from_one = [p + 1 for p in described_parents(description)]
    assert from_one == [0, 1, 1, 2, 2, 3, 3]
    assert [b.name for b in description.bodies] == [f"body{i}" for i in range(1, 8)]
    tree = build_model(description).tree
    assert tree.parents == (-1, 0, 1, 1, 0, 4, 4)
    assert tree.dof_parents == tree.parents


@every_geometry
def test_tree1_expands_to_the_papers_parents(geometry: str) -> None:
    model = build_model(robots.featherstone_tree1(geometry, expanded=True))
    from_one = [p + 1 for p in described_dof_parents(model)]
    assert from_one == [0, 1, 2, 3, 2, 4, 4, 5, 8, 9, 5]


def test_the_last_body_of_an_expanded_joint_has_the_name_and_the_mass() -> None:
    tree = build_model(robots.featherstone_tree1("plain", expanded=True)).tree
    (between, last) = tree.bodies[:2]
    assert (between.name, between.inertia.m) == ("body1:joint1", 0.0)
    assert (last.name, last.inertia.m) == ("body1", 1.0)


@every_geometry
def test_humanoid30_measures_what_the_paper_prints(geometry: str) -> None:
    model = build_model(robots.humanoid30(geometry))
    parents, expanded = model.tree.parents, model.tree.dof_parents
    assert (len(parents), model.nv) == (25, 30)
    assert (D0(parents), D1(parents)) == (24, 84)
    assert (D1(expanded), D2(expanded)) == (219, 1039)
    assert np.count_nonzero(sparsity_pattern(expanded)) == 468
    assert [j.nv for j in model.joints] == [6] + [1] * 24


@every_geometry
def test_chain30_measures_what_the_paper_prints(geometry: str) -> None:
    model = build_model(robots.chain30(geometry))
    assert (len(model.tree), model.nv) == (25, 30)
    assert (D0(model.tree.parents), D1(model.tree.parents)) == (24, 300)
    assert D2(model.tree.dof_parents) == (30**3 - 30) // 6 == 4495
    assert model.tree.dof_parents == tuple(range(-1, 29))


@pytest.mark.parametrize("make", [robots.humanoid30, robots.chain30])
def test_the_first_child_of_a_general_base_is_a_pure_rotation(
    make: Callable[..., Description],
) -> None:
    tree = place_frames(build_model(make("general")).tree)[0]
    assert tree.bodies[0].joint.type.name == "floating"
    assert tree.bodies[0].placement.is_identity()
    np.testing.assert_allclose(tree.bodies[1].placement.R, np.eye(3), atol=1e-15)
    np.testing.assert_allclose(tree.bodies[1].placement.p, 0.0, atol=1e-15)
    others = [screws(b.placement) for b in tree.bodies[2:]]
    assert all(abs(s.alpha[1]) > 0.01 and abs(s.a) > 1e-4 for s in others)


def test_a_plain_humanoid_looks_like_one() -> None:
    description = robots.humanoid30("plain")
    assert sum(build_model(description).masses.values()) == pytest.approx(60.0)
    poses = neutral_poses(description.bodies)
    left, right = poses["left_foot"].p, poses["right_foot"].p
    np.testing.assert_allclose(left, (0, 0.1, -0.8), atol=CLOSE)
    np.testing.assert_allclose(right, left * (1, -1, 1), atol=CLOSE)
    assert poses["left_hand"].p[2] == pytest.approx(-0.02)
    com = sum(
        b.inertial.mass * poses[b.name].apply(b.inertial.com)
        for b in description.bodies
        if b.inertial is not None
    )
    assert com[1] == pytest.approx(0.0, abs=CLOSE)


def table_2(topology: str, m: int) -> tuple[int, int]:
    """Return D1 and D2 by the formulas of Table 2."""
    match topology:
        case "chain":
            return (m**2 - m) // 2, (m**3 - m) // 6
        case "chain_with_side_branches":
            return m**2, (2 * m**3 + 3 * m**2 + m) // 6
        case "binary_tree":
            d1 = sum(i * 2**i for i in range(1, m))
            return d1, sum(i * (i + 1) * 2 ** (i - 1) for i in range(1, m))
        case _:
            return m**3 - m**2, (7 * m**4 - 6 * m**3 - m**2) // 12


@pytest.mark.parametrize(
    ("topology", "n"),
    [
        ("chain", lambda m: m),
        ("chain_with_side_branches", lambda m: 2 * m),
        ("binary_tree", lambda m: 2**m - 1),
        ("square_grid", lambda m: m * m),
    ],
)
@pytest.mark.parametrize("m", [1, 2, 3, 5, 8])
def test_the_four_topologies_follow_table_2(
    topology: str, n: Callable[[int], int], m: int
) -> None:
    description = getattr(robots, topology)(n(m))
    parents = described_parents(description)
    assert len(parents) == n(m)
    assert (D1(parents), D2(parents)) == table_2(topology, m)
    assembled = build_model(description).tree
    assert sorted(depths(assembled.dof_parents)) == sorted(depths(parents))


@pytest.mark.parametrize(
    ("topology", "n", "ratio"),
    [
        ("binary_tree", 15, 7.8),
        ("binary_tree", 255, 430),
        ("square_grid", 16, 5.3),
        ("square_grid", 256, 74),
    ],
)
def test_sparse_factors_save_what_the_paper_prints(
    topology: str, n: int, ratio: float
) -> None:
    parents = described_parents(getattr(robots, topology)(n, "plain"))
    dense = D1(range(-1, n - 1)) + 2 * D2(range(-1, n - 1))
    saved = dense / (D1(parents) + 2 * D2(parents))
    assert float(f"{saved:.2g}") == ratio


# ------------------------------------------------------------ operational space


def test_asimo_measures_what_the_papers_print() -> None:
    model = build_model(robots.asimo())
    expanded = model.tree.dof_parents
    assert (len(model.tree), model.nv) == (35, 40)
    assert (D1(expanded), D2(expanded)) == (334, 1779)
    assert zeros_of(sparsity_pattern(expanded)) == pytest.approx(55.75)


def test_asimos_jacobian_of_hands_and_feet_is_as_empty_as_printed() -> None:
    model = build_model(robots.asimo("plain"))
    pattern = sparsity_pattern(model.tree.dof_parents)
    rows = []
    for point in ("left_hand", "right_hand", "left_foot", "right_foot"):
        last = model.tree.dofs[model.frame(point).body][-1]
        rows.append(np.where(np.arange(model.nv) <= last, pattern[last], False))
    assert zeros_of(np.array(rows)) == pytest.approx(67.5)


@pytest.mark.parametrize(
    ("variation", "n"),
    [
        ({}, 40),
        ({"arms": 4, "legs": 4}, 70),
        ({"arm_joints": 10}, 46),
        ({"arm_joints": 3, "leg_joints": 2}, 24),
        ({"leg_joints": 9}, 46),
        ({"fingers": 4, "finger_joints": 3}, 60),
        ({"fingers": 0}, 36),
        ({"base": "left_foot"}, 34),
        ({"base": "right2_foot", "legs": 4}, 46),
    ],
)
@every_geometry
def test_asimos_variations_have_their_joints(
    variation: dict[str, int], n: int, geometry: str
) -> None:
    assert build_model(robots.asimo(geometry, **variation)).nv == n


def test_asimo_with_four_arms_and_legs_is_as_empty_as_printed() -> None:
    model = build_model(robots.asimo(arms=4, legs=4))
    zeros = zeros_of(sparsity_pattern(model.tree.dof_parents))
    assert zeros == pytest.approx(73.02, abs=0.005)


def test_asimo_on_one_foot_moves_as_the_floating_one(rng: np.random.Generator) -> None:
    floating = robots.asimo("plain")
    standing = robots.asimo("plain", base="left_foot")
    q = random_coordinates(floating, rng)
    free, fixed = body_poses(floating, q), body_poses(standing, q)
    assert free.keys() == fixed.keys()
    T = fixed["left_foot"] @ free["left_foot"].inverse()
    for body in free:
        np.testing.assert_allclose((T @ free[body]).R, fixed[body].R, atol=CLOSE)
        np.testing.assert_allclose((T @ free[body]).p, fixed[body].p, atol=CLOSE)


@every_geometry
def test_chang_khatib24_has_two_hands_on_24_joints(geometry: str) -> None:
    model = build_model(robots.chang_khatib24(geometry))
    assert (len(model.tree), model.nv) == (24, 24)
    assert {j.type.name for j in (b.joint for b in model.tree.bodies)} == {
        "revolute",
        "prismatic",
    }
    left, right = (model.frame(f"{side}_hand").body for side in ("left", "right"))
    assert not model.tree.children[left]
    assert not model.tree.children[right]
    shared = model.tree.common_ancestor(left, right)
    assert model.tree.bodies[shared].name == "chest"


# ------------------------------------------------------------ a vehicle with loops


@every_geometry
def test_hmmwv_measures_what_the_paper_prints(geometry: str) -> None:
    description = robots.hmmwv(geometry)
    model = build_model(description)
    expanded = model.tree.dof_parents
    assert (len(model.tree), model.nv) == (14, 27)
    assert (D1(expanded), D2(expanded)) == (165, 660)
    rows = {"spherical": 3, "distance": 1}
    assert len(model.loops) == 8
    assert sum(rows[loop.type] for loop in model.loops) == 16
    from_one = [p + 1 for p in model.tree.parents]
    assert from_one == [0, 1, 2, 1, 4, 1, 6, 1, 8, 1, 1, 1, 1, 1]


@every_geometry
def test_hmmwvs_loops_are_closed_where_it_stands(geometry: str) -> None:
    description = robots.hmmwv(geometry)
    poses = neutral_poses(description.bodies)
    for loop in description.loops:
        a = (poses[loop.body_a] @ loop.placement_a).p
        b = (poses[loop.body_b] @ loop.placement_b).p
        length = loop.length if loop.type == "distance" else 0.0
        assert np.linalg.norm(a - b) == pytest.approx(length, abs=CLOSE)


def test_hmmwvs_rods_hold_the_front_to_the_rack_and_the_rear_to_the_chassis() -> None:
    ends = {loop.name: loop.body_a for loop in robots.hmmwv("general").loops}
    assert ends["left_front_rod"] == ends["right_front_rod"] == "rack"
    assert ends["left_rear_rod"] == ends["right_rear_rod"] == "chassis"
    assert ends["left_rear_cut"] == "left_rear_lower_arm"


# ------------------------------------------------------------ every robot


def neutral_mass_matrix(model: Model) -> Array:
    """Return Σ Jᵀ I J over all bodies, at neutral, about the world's origin."""
    e, o = np.eye(3), np.zeros((3, 3))
    tree = model.tree
    T: list[Pose] = []
    J: list[Array] = []
    M = np.zeros((len(tree.dof_parents),) * 2)
    for i, (body, p) in enumerate(zip(tree.bodies, tree.parents, strict=True)):
        T.append((T[p] if p != ROOT else Pose.identity()) @ body.placement)
        angular, linear = {
            "revolute": (e[2:], o[2:]),
            "prismatic": (o[2:], e[2:]),
            "helical": (e[2:], getattr(body.joint.type, "advance", 0.0) * e[2:]),
            "spherical": (e, o),
            "planar": (e * (0, 0, 1), e * (1, 1, 0)),
            "floating": (np.vstack([e, o]), np.vstack([o, e])),
        }[body.joint.type.name]
        J.append(J[p].copy() if p != ROOT else np.zeros((6, len(M))))
        w, v = angular @ T[i].R.T, linear @ T[i].R.T
        J[i][:, tree.dofs[i]] = np.vstack([w.T, (v + np.cross(T[i].p, w)).T])
        at = body.inertia.seen_from(T[i])
        h = np.cross(e, at.h).T  # h ×
        M += J[i].T @ np.block([[at.I, h], [h.T, at.m * e]]) @ J[i]
    return M


@every_geometry
@every_robot
def test_every_robot_has_a_sound_mass_matrix(name: str, geometry: str) -> None:
    model = build_model(NAMED[name](geometry))
    M = neutral_mass_matrix(model)
    off = ~sparsity_pattern(model.tree.dof_parents)
    assert np.abs(M[off]).max(initial=0.0) < 1e-9
    np.linalg.cholesky(M)


def assert_physical(description: Description) -> None:
    for body in description.bodies:
        if body.inertial is not None:
            low, middle, high = np.linalg.eigvalsh(body.inertial.inertia)
            assert low > 0, body.name
            assert low + middle > high, body.name


@every_geometry
@every_robot
def test_every_inertia_is_physical(name: str, geometry: str) -> None:
    assert_physical(NAMED[name](geometry))


@every_robot
def test_general_and_plain_have_one_tree(name: str) -> None:
    plain, general = NAMED[name]("plain"), NAMED[name]("general")
    for a, b in zip(plain.bodies, general.bodies, strict=True):
        assert (a.name, a.parent) == (b.name, b.parent)
        assert [(j.name, j.type) for j in a.joints] == [
            (j.name, j.type) for j in b.joints
        ]


@every_robot
def test_a_plain_robot_is_aligned_with_its_axes(name: str) -> None:
    for body in NAMED[name]("plain").bodies:
        rounded = np.round(body.placement.R)
        np.testing.assert_array_equal(body.placement.R, rounded)
        for joint in body.joints:
            assert np.count_nonzero(joint.axis) == 1


def first_numbers(description: Description) -> Array:
    return np.concatenate([b.placement.p for b in description.bodies])


@every_robot
def test_a_seed_gives_the_same_robot_again(name: str) -> None:
    make = NAMED[name]
    once, again, other = (first_numbers(make("general", seed)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(once, again)
    assert not np.array_equal(once, other)


# ------------------------------------------------------------ random trees


@every_geometry
@pytest.mark.parametrize("seed", range(12))
def test_a_random_tree_has_a_sound_mass_matrix(seed: int, geometry: str) -> None:
    description = robots.random_tree(
        30, seed, roots=1 + seed % 3, massless=0.5, geometry=geometry
    )
    assert_physical(description)
    model = build_model(description)
    M = neutral_mass_matrix(model)
    off = ~sparsity_pattern(model.tree.dof_parents)
    assert np.abs(M[off]).max(initial=0.0) < 1e-9
    assert np.linalg.eigvalsh(M).min() > 1e-6
    types = {j.type for b in description.bodies for j in b.joints}
    types |= {"fixed" for b in description.bodies if not b.joints}
    assert types == set(robots.JOINTS)
    assert sum(b.parent is None for b in description.bodies) == 1 + seed % 3


@every_geometry
def test_random_trees_have_bodies_without_mass_but_no_such_leaves(
    geometry: str,
) -> None:
    found = 0
    for seed in range(12):
        description = robots.random_tree(30, seed, massless=1.0, geometry=geometry)
        inner = {b.parent for b in description.bodies}
        light = {b.name for b in description.bodies if b.inertial is None}
        assert light <= inner
        found += len(light)
    assert found > 12


@pytest.mark.parametrize("joint", robots.JOINTS)
def test_a_random_tree_has_the_joints_asked_for(joint: str) -> None:
    description = robots.random_tree(6, joints=[joint])
    types = {j.type for b in description.bodies for j in b.joints}
    assert types == ({joint} if joint != "fixed" else set())
    assert len(description.bodies) == 6


def test_a_random_tree_comes_from_its_generator(rng: np.random.Generator) -> None:
    one, two = robots.random_tree(9, rng), robots.random_tree(9, rng)
    assert not np.array_equal(first_numbers(one), first_numbers(two))


# ------------------------------------------------------------ what is refused


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: robots.chain(0), "n is 0; expected a whole number, 1 or more"),
        (
            lambda: robots.chain(2.5),  # type: ignore[arg-type]
            "n is 2.5; expected a whole number, 1 or more",
        ),
        (
            lambda: robots.chain_with_side_branches(5),
            "n is 5; a chain with side branches needs an even number",
        ),
        (
            lambda: robots.binary_tree(10),
            "n is 10; a balanced binary tree needs 2^m - 1, such as 7 or 15",
        ),
        (
            lambda: robots.square_grid(10),
            "n is 10; a square grid needs a square, such as 9 or 16",
        ),
        (
            lambda: robots.asimo(arms=-1),
            "arms is -1; expected a whole number, 0 or more",
        ),
        (
            lambda: robots.asimo(leg_joints=0),
            "leg_joints is 0; expected a whole number, 1 or more",
        ),
        (
            lambda: robots.random_tree(3, roots=0),
            "roots is 0; expected a whole number, 1 or more",
        ),
        (
            lambda: robots.random_tree(3, joints=()),
            "random_tree: no joint types to choose from",
        ),
    ],
)
def test_a_tree_that_cannot_be_is_refused(
    make: Callable[[], object], message: str
) -> None:
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        make()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: robots.humanoid30("flat"),
            "geometry is 'flat'; possible: 'general', 'plain'",
        ),
        (
            lambda: robots.random_tree(3, geometry="flat"),
            "geometry is 'flat'; possible: 'general', 'plain'",
        ),
        (
            lambda: robots.asimo(base="lft_foot"),
            "no base 'lft_foot' in asimo. Close: 'left_foot', 'right_foot'. "
            "All 3: 'floating', 'left_foot', 'right_foot'.",
        ),
        (
            lambda: robots.random_tree(3, joints=["ball"]),
            "no joint type 'ball' in random_tree. All 9: 'revolute', 'prismatic', "
            "'helical', 'cylindrical', 'universal', 'planar', 'spherical', "
            "'floating', 'fixed'.",
        ),
    ],
)
def test_an_unknown_word_is_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises((ArgumentError, UnknownName), match=f"^{re.escape(message)}$"):
        make()
