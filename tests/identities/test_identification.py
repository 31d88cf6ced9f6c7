"""Regressors and base parameters: linear in the inertias, and nothing is left out."""

from __future__ import annotations

import functools
from dataclasses import replace

import numpy as np
import pytest

import ramidyn
from ramidyn.builder import Body, Inertia, Joint, RobotBuilder
from ramidyn.catalog.paper_robots import random_tree
from ramidyn.compiler import program_of
from ramidyn.description.description import BodyDescription, Mimic
from ramidyn.description.pose import Array, Pose
from ramidyn.errors import ArgumentError, UnknownName
from ramidyn.quantities.identification import energy_regressor, regressor
from ramidyn.robot import Robot
from ramidyn.symbolic.interpreter import evaluate
from ramidyn.tree.inertial_parameters import (
    identifiable,
    inertia_frames,
    inertia_of,
    span,
    ten,
)
from ramidyn.tree.parameters import movable
from support import complex_step
from support.close import assert_close
from support.every_joint import every_joint
from support.references import loaded, needs_shared_robots
from support.states import CASES, case, program, q_rate, state, value, with_joints

ROTORS = {"joint_terms": ("armature",)}


@functools.cache
def tree(seed: int, conventions: str = "pinocchio", **options: object) -> Robot:
    """Return a small tree of many joint types."""
    description = random_tree(4, seed, **options)  # type: ignore[arg-type]
    return Robot.from_description(description, conventions=conventions)


@pytest.mark.parametrize("name", CASES)
def test_joint_forces_and_energies_are_linear_in_the_parameters(
    name: str, rng: np.random.Generator
) -> None:
    robot, now = case(name), state(case(name), rng)
    p = robot.inertial_parameters(**ROTORS)
    Y = value(robot, regressor(**ROTORS), **now)
    assert_close(Y @ p, value(robot, ramidyn.inverse_dynamics, **now))
    energies = program(robot, energy_regressor(**ROTORS))
    found = evaluate(energies, {"q": now["q"], "qd": now["qd"]})
    assert_close(found["kinetic"] @ p, value(robot, ramidyn.kinetic_energy, **now))
    assert_close(found["potential"] @ p, value(robot, ramidyn.potential_energy, **now))


@pytest.mark.parametrize("conventions", ["pinocchio", "mujoco"])
def test_columns_are_complex_steps_of_parameters(
    conventions: str, rng: np.random.Generator
) -> None:
    robot = every_joint(conventions)
    names = [f"inertia:{f.name}" for f in inertia_frames(robot.model)]
    assert len(names) == len(robot.description.bodies)
    traced = program_of(ramidyn.inverse_dynamics, robot, names)
    now = state(robot, rng)
    inputs = {**now, **{n: rng.normal(size=10) for n in names}}
    columns: list[Array] = []
    for name in names:
        found = complex_step.directional(traced, inputs, {name: np.eye(10)})
        columns.extend(found["inverse_dynamics"])
    assert_close(value(robot, regressor, **now), np.transpose(columns))


@pytest.mark.parametrize("name", CASES)
def test_each_column_has_the_power_that_its_energies_gain(
    name: str, rng: np.random.Generator
) -> None:
    robot, now = case(name), state(case(name), rng)
    q, qd, qdd = now.values()
    energies = program(robot, energy_regressor(**ROTORS))
    along = {"q": q_rate(robot, q, qd), "qd": qdd}
    rates = complex_step.directional(energies, {"q": q, "qd": qd}, along)
    Y = value(robot, regressor(**ROTORS), **now)
    assert_close(qd @ Y, rates["kinetic"] + rates["potential"])


def test_terms_of_mimic_joints_are_part_of_their_leaders(
    rng: np.random.Generator,
) -> None:
    changed = with_joints(
        case("coupled").description,
        lambda name: {"damping": 0.1 + len(name), "friction": 0.7},
    )
    robot = Robot.from_description(changed, conventions="featherstone")
    now = state(robot, rng)
    options = {"bodies": ("body0",), "joint_terms": ("friction", "damping")}
    tau = value(robot, regressor(**options), **now)[:, 10:]
    power = now["qd"] @ tau @ robot.inertial_parameters(**options)[10:]
    expected = 0.0
    for body in robot.tree.bodies:
        j = body.joint
        speed = j.multiplier * now["qd"][j.v_index]
        expected += j.friction * abs(speed) + j.damping * speed**2
    assert power == pytest.approx(expected, rel=1e-12)


def with_payload() -> Robot:
    robot = tree(2, joints=("revolute", "prismatic"), massless=0.0)
    hand = robot.description.bodies[-1]
    pose = Pose.from_quaternion((0.5, 0.1, 0.2, 0.4), (0.1, 0.2, 0.3), order="wxyz")
    load = BodyDescription("load", hand.name, pose, (), hand.inertial)
    table = replace(load, name="table", parent=None)
    bodies = (*robot.description.bodies, load, table)
    return Robot.from_description(replace(robot.description, bodies=bodies))


def test_a_payload_has_columns_of_its_own_and_else_is_part_of_its_parent(
    rng: np.random.Generator,
) -> None:
    robot = with_payload()
    now = state(robot, rng)
    tau = value(robot, ramidyn.inverse_dynamics, **now)
    assert_close(value(robot, regressor, **now) @ robot.inertial_parameters(), tau)
    bodies = tuple(n for n in robot.body_names if n != "table")
    p = robot.inertial_parameters(bodies)
    assert_close(value(robot, regressor(bodies=bodies), **now) @ p, tau)
    k = 10 * bodies.index("load")
    assert_close(p[k : k + 10], robot.inertial_parameters(["load"]))
    # The load can be told from its parent by nothing.
    assert robot.base_parameters(bodies).rank == robot.base_parameters().rank


def test_methods_take_lists_and_batches(rng: np.random.Generator) -> None:
    robot = ramidyn.robots.chain(2)
    q, qd, qdd = rng.normal(size=(3, 5, 2))
    options = {"bodies": ["body1"], "joint_terms": ["damping", "friction"]}
    Y = robot.regressor(q, qd, qdd, **options)
    assert Y.shape == (5, 2, 14)
    assert_close(Y[3], value(robot, regressor(**options), q=q[3], qd=qd[3], qdd=qdd[3]))
    assert_close(Y[:, 1, 13], np.sign(qd[:, 1]))
    T, V = robot.energy_regressor(q, qd, bodies=["body1"])
    assert T.shape == V.shape == (5, 10)


# ------------------------------------------------------------ base parameters

SEEDS = [0, 1, *(pytest.param(k, marks=pytest.mark.slow) for k in range(2, 12))]


@pytest.mark.parametrize("seed", SEEDS)
def test_rules_and_samples_find_the_same_base_parameters(
    seed: int, rng: np.random.Generator
) -> None:
    robot = tree(seed, "mujoco" if seed % 2 else "pinocchio")
    assert_same_base(robot, rng)


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in CASES if n != "coupled"])
def test_rules_and_samples_agree_on_larger_trees(
    name: str, rng: np.random.Generator
) -> None:
    assert_same_base(case(name), rng)


def assert_same_base(robot: Robot, rng: np.random.Generator) -> None:
    rules, samples = (robot.base_parameters(method=m) for m in ("rules", "samples"))
    assert rules.columns == samples.columns
    assert_close(rules.matrix, samples.matrix)
    assert_is_base(robot, rules, rng)


def assert_is_base(robot: Robot, base, rng: np.random.Generator, **options) -> None:
    """Y π = Y[:, columns] matrix π at a state that nobody has sampled."""
    Y = value(robot, regressor(**options), **state(robot, rng))
    assert_close(Y[:, base.columns] @ base.matrix, Y)


def test_samples_find_what_mimic_joints_and_rotors_hide(
    rng: np.random.Generator,
) -> None:
    description = random_tree(4, 8, joints=("revolute", "prismatic"), massless=0.0)
    first, *_, last = [j.name for b in description.bodies for j in b.joints]
    mimic = Mimic(first, -0.7, 0.2)
    coupled = Robot.from_description(
        with_joints(description, lambda n: {"mimic": mimic if n == last else None})
    )
    free = Robot.from_description(description)
    base = coupled.base_parameters()
    assert_is_base(coupled, base, rng)
    assert base.rank <= free.base_parameters().rank
    terms = ("armature", "damping", "friction")
    base = free.base_parameters(joint_terms=terms)
    assert_is_base(free, base, rng, joint_terms=terms)
    # A rotor at the root is part of the first body's inertia.
    hidden = [n for n in base.names[-12:] if base.names.index(n) not in base.columns]
    assert hidden == [f"armature:{first}"]


UP, ASIDE = (0.0, 0.0, 1.0), (1.0, 0.0, 0.0)
ALONE = {
    "Izz alone: vertical axis": ("revolute", UP, 9.81, 1),
    "Izz, hx, hy": ("revolute", ASIDE, 9.81, 3),
    "Izz alone: no gravity": ("revolute", ASIDE, 0.0, 1),
    "m": ("prismatic", ASIDE, 9.81, 1),
    "m by weight, and Izz": ("helical", UP, 9.81, 2),
    "Izz + pitch^2 m": ("helical", UP, 0.0, 1),
    "m, hx, hy, Izz": ("planar", UP, 9.81, 4),
    "all but m": ("spherical", UP, 9.81, 9),
    "I": ("spherical", UP, 0.0, 6),
    "all": ("floating", UP, 0.0, 10),
}


@pytest.mark.parametrize("what", ALONE)
def test_of_one_body_that_is_identifiable_which_theory_says(what: str) -> None:
    kind, axis, gravity, rank = ALONE[what]
    options = {"floating": (), "spherical": (), "helical": (0.3, axis)}
    joint = getattr(Joint, kind)(*options.get(kind, (axis,)))
    builder = RobotBuilder("one", gravity=(0.0, 0.0, -gravity))
    builder.add(Body("body", Inertia.from_sphere(1, 1)), joint=joint)
    robot = Robot.from_description(builder.description())
    assert robot.base_parameters().rank == rank


MOVABLE = {"revolute": 3, "prismatic": 6, "helical": 1, "planar": 1, "spherical": 1}


@pytest.mark.parametrize("kind", MOVABLE)
def test_what_regrouping_moves_is_what_cannot_be_identified(kind: str) -> None:
    """On a floating base nothing but the joint restricts what a body can do."""
    base = random_tree(2, 1, joints=("floating",)).bodies
    only = random_tree(2, 3, joints=(kind,))
    bodies = (base[0], replace(only.bodies[1], parent=base[0].name))
    robot = Robot.from_description(replace(only, bodies=bodies))
    model = robot.model
    (i,) = [k for k, b in enumerate(model.tree.bodies) if b.joint.type.name == kind]
    frames = [replace(f, placement=Pose.identity()) for f in inertia_frames(model)]
    seen = identifiable(model.tree, frames)
    assert len(seen) == 20 - MOVABLE[kind]
    moves: list[Array] = []
    for e in np.eye(10):
        joint = model.tree.bodies[i].joint.type
        moved = movable(joint, inertia_of(e), is_moving=True)
        assert moved is not None
        carried = moved.seen_from(model.tree.bodies[i].placement)
        moves.append(np.array([*ten(carried), *(-x for x in ten(moved))]))
    assert len(span(np.array(moves))) == MOVABLE[kind]
    assert_close(seen @ np.transpose(moves), np.zeros((len(seen), 10)))


def test_base_parameters_say_what_they_are_the_sum_of() -> None:
    builder = RobotBuilder("two")
    inertia = Inertia.from_sphere(1, 1)
    for name, parent in (("upper", "world"), ("lower", "upper")):
        joint = Joint.revolute((0, 1, 0))
        builder.add(Body(name, inertia), parent, joint, (0.0, 0.0, 0.5))
    robot = Robot.from_description(builder.description())
    assert str(robot.base_parameters()).splitlines() == [
        "hx:upper",
        "hz:upper + 0.5 m:lower",
        "Iyy:upper + 0.25 m:lower",
        "hx:lower",
        "hz:lower",
        "Iyy:lower",
    ]


REAL = {"iiwa14": True, "baxter": False, "cassie": True}
"""whether rules find the base parameters: Baxter has mimic joints"""


@needs_shared_robots
@pytest.mark.filterwarnings("ignore::ramidyn.errors.ModelWarning")
@pytest.mark.parametrize(
    "name", ["iiwa14", "baxter", pytest.param("cassie", marks=pytest.mark.slow)]
)
def test_real_robots_are_linear_in_their_parameters(
    name: str, rng: np.random.Generator
) -> None:
    robot, _ = loaded(name)
    now = state(robot, rng)
    Y = value(robot, regressor(**ROTORS), **now)
    p = robot.inertial_parameters(**ROTORS)
    assert_close(Y @ p, value(robot, ramidyn.inverse_dynamics, **now))
    if REAL[name]:
        assert_same_base(robot, rng)
    terms = ("damping", "friction")
    base = robot.base_parameters(joint_terms=terms)
    assert_is_base(robot, base, rng, joint_terms=terms)


# ------------------------------------------------------------ counts and bad input


@needs_shared_robots
def test_operations_of_a_regressor_are_pinned() -> None:
    robot, _ = loaded("iiwa14")
    ops = ramidyn.count(ramidyn.regressor, robot)
    assert ops.total <= 1794  # by differentiating inverse dynamics
    assert (ops.mul, ops.add) == (840, 633)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"bodies": ["loat"]}, UnknownName, "no body 'loat' in .*Close: 'load'"),
        ({"bodies": ["table"]}, ArgumentError, "'table', which is fixed to the world"),
        ({"bodies": "load"}, ArgumentError, "expected a list of names, such as"),
        ({"bodies": ["load", "load"]}, ArgumentError, "bodies has 'load' twice"),
        ({"bodies": []}, ArgumentError, "bodies is empty; name one, or leave it out"),
        (
            {"joint_terms": ["stiction"]},
            ArgumentError,
            "joint_terms is 'stiction'; possible: 'armature', 'damping', 'friction'",
        ),
        ({"joint_terms": "damping"}, ArgumentError, "joint_terms is 'damping'; expe"),
        ({"joint_terms": 3}, ArgumentError, "joint_terms is 3; expected a list of na"),
    ],
)
def test_wrong_options_are_refused(options, error: type, message: str) -> None:
    robot = with_payload()
    with pytest.raises(error, match=message):
        program_of(ramidyn.regressor(**options), robot)
    with pytest.raises(error, match=message):
        robot.inertial_parameters(**options)


def test_what_has_no_rules_or_no_energy_is_refused() -> None:
    robot = tree(1)
    with pytest.raises(ArgumentError, match="method is 'svd'; possible: 'auto', 'ru"):
        robot.base_parameters(method="svd")
    with pytest.raises(ArgumentError, match="'rules' does not cover joint terms; use"):
        robot.base_parameters(joint_terms=["damping"], method="rules")
    with pytest.raises(ArgumentError, match="'rules' does not cover mimic joints; use"):
        case("coupled").base_parameters(method="rules")
    with pytest.raises(ArgumentError, match="'damping', which stores no energy; possi"):
        program_of(energy_regressor(joint_terms=["damping"]), robot)


def test_a_robot_that_cannot_move_has_no_base_parameters() -> None:
    builder = RobotBuilder("rock")
    builder.add(Body("rock", Inertia.from_sphere(1, 1)))
    robot = Robot.from_description(builder.description())
    assert robot.inertial_parameters().shape == (0,)
    assert robot.base_parameters().rank == 0
