"""Loops as clusters: the same motion and the same forces as by rows of constraints."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import ramidyn
from ramidyn.algorithms.loops import ALGORITHMS
from ramidyn.algorithms.loops.cuts import cuts_of, row_names
from ramidyn.algorithms.loops.loop_clusters import ClusterMotion, loop_clusters
from ramidyn.algorithms.operational.tasks import Task
from ramidyn.builder import Body, Inertia, Joint, RobotBuilder
from ramidyn.catalog.paper_robots import random_tree
from ramidyn.cli.arguments import open_loops
from ramidyn.contacts import ContactPoint
from ramidyn.description.description import Description, LoopDescription, Mimic
from ramidyn.errors import ArgumentError, ModelError, UnknownName
from ramidyn.explain.data import explain
from ramidyn.explain.page import page
from ramidyn.quantities import closed_loops
from ramidyn.quantities.contact_rows import contact_motion
from ramidyn.quantities.dynamics import forward_dynamics, inverse_dynamics
from ramidyn.quantities.dynamics_derivatives import (
    forward_dynamics_derivatives,
    loop_forces_derivatives,
)
from ramidyn.quantities.loop_derivatives import solved_derivatives
from ramidyn.quantities.mass_matrix import mass_matrix
from ramidyn.quantities.operational_torques import operational_torques
from ramidyn.quantities.reactions import loop_wrenches
from ramidyn.quantities.steps import linearize
from ramidyn.robot import Robot
from ramidyn.symbolic.interpreter import evaluate
from ramidyn.tracing.quantity import Quantity
from support.linkages import five_bar_legs, parallel_ankle
from support.loops import as_robot, closed_loop, dense, value, with_loops
from support.planar import four_bar, four_bar_knee, parallelogram, slider_crank, swung
from support.references import needs_shared_robots, path_of
from support.states import ONE_COORDINATE, program, with_joints

pytestmark = pytest.mark.filterwarnings("ignore::ramidyn.ModelWarning")

EXACT = 1e-11
"""of accelerations and multipliers, over the largest"""


def coupling(y: str, *x: str, c: Sequence[float]) -> LoopDescription:
    name = f"{y}_follows_{'_'.join(x)}"
    return LoopDescription(name, "coupling", joints=(y, *x), coefficients=tuple(c))


def tree_of(n: int, seed: int, **options: Any) -> tuple[Description, list[str]]:
    tree = random_tree(n, seed, joints=ONE_COORDINATE, massless=0.0, **options)
    tree = with_joints(tree, lambda _: {"armature": 0.2})
    return tree, [j.name for b in tree.bodies for j in b.joints]


def geared() -> Robot:
    """Gears, a cam and a lock, some of joints that follow others."""
    tree, n = tree_of(12, 8)
    loops = (
        coupling(n[9], n[2], c=(0.2, -0.7)),
        coupling(n[4], n[3], c=(0.1, 0.5, -0.3, 0.2)),
        coupling(n[11], n[9], c=(0.0, 0.4)),
        coupling(n[6], c=(0.3,)),
    )
    return as_robot(replace(tree, loops=loops))


def geared_mimics() -> Robot:
    """Couplings between joints that mimic others and their leaders."""
    tree, n = tree_of(12, 8)
    follows = {n[9]: Mimic(n[2], -0.7, 0.2), n[7]: Mimic(n[5], 1.5, 0.0)}
    tree = with_joints(tree, lambda name: {"mimic": follows.get(name)})
    loops = (coupling(n[7], n[4], c=(0.2, 0.8)), coupling(n[10], n[9], c=(0, 1, 0.2)))
    return as_robot(replace(tree, loops=loops))


def spatial_loop() -> Robot:
    """A ball that closes four joints of a chain, with a gear in the loop."""
    tree, n = tree_of(8, 11)
    bodies = [
        replace(b, parent=None if k == 0 else tree.bodies[k - 1].name)
        for k, b in enumerate(tree.bodies)
    ]
    robot = as_robot(replace(tree, bodies=tuple(bodies)))
    rng = np.random.default_rng(3)
    names = robot.body_names
    q = robot.random_configuration(rng)
    loop = closed_loop(robot, "spherical", names[2], names[7], q, rng)
    y = [robot.model.joint(x) for x in (n[6], n[4])]
    c = (float(q[y[0].q_index] - 0.5 * q[y[1].q_index]), 0.5)
    return with_loops(robot, loop, coupling(n[6], n[4], c=c))


def differential() -> Robot:
    """A wrist whose pitch and roll are driven by two motors in the forearm."""
    b = RobotBuilder("wrist")
    box = Inertia.from_box(1.0, (0.05, 0.06, 0.3), at=(0.01, 0, 0.15))
    b.add(Body("forearm", box), "world", Joint.revolute((0, 1, 0), name="elbow"))
    for k, y in enumerate((0.03, -0.03)):
        rotor = Inertia.from_cylinder(0.2, 0.02, 0.03)
        motor = Joint.revolute((0, 1, 0), name=f"motor{k}", armature=1e-5)
        b.add(Body(f"rotor{k}", rotor), "forearm", motor, (0, y, 0.1))
    carrier = Inertia.from_box(0.3, (0.04, 0.06, 0.04))
    pitch = Joint.revolute((0, 1, 0), name="pitch")
    b.add(Body("carrier", carrier), "forearm", pitch, (0, 0, 0.3))
    hand = Inertia.from_box(0.5, (0.03, 0.08, 0.1), at=(0, 0.01, 0.06))
    b.add(Body("hand", hand), "carrier", Joint.revolute((0, 0, 1), name="roll"))
    robot = b.robot()
    for k, sign in enumerate((1, -1)):
        robot = robot.add_loop(
            joint="coupling",
            joints=(f"motor{k}", "pitch", "roll"),
            coefficients=(0.1 * k, 50, sign * 50),
            name=f"gear{k}",
            check=False,
        )
    return robot


def two_ways() -> Robot:
    """A hinge that closes seven joints of a chain, two of which are geared."""
    robot = as_robot(ramidyn.robots.chain(8, "general").description)
    rng = np.random.default_rng(5)
    q, names = robot.random_configuration(rng), robot.body_names
    loop = closed_loop(robot, "revolute", "world", names[-1], q, rng)
    y, x = (robot.model.joint(robot.joint_names[k]) for k in (5, 3))
    c = (float(q[y.q_index] - 0.7 * q[x.q_index]), 0.7)
    return with_loops(robot, loop, coupling(y.name, x.name, c=c))


ROBOTS = {
    "differential": (differential, None),
    "four_bar": (four_bar, ("pin",)),
    "slider_crank": (slider_crank, ("pin",)),
    "geared": (geared, None),
    "geared_mimics": (geared_mimics, None),
    "spatial_loop": (spatial_loop, None),
    "knee": (four_bar_knee, ("four_bar",)),
    "ankle": (parallel_ankle, ("rod_end0", "rod_end1")),
    "ankle_of_distances": (lambda: parallel_ankle("distance"), None),
    "five_bars": (five_bar_legs, None),
    "two_ways": (two_ways, None),
}


@functools.cache
def made(name: str) -> Robot:
    return ROBOTS[name][0]()


def state(robot: Robot, rng: np.random.Generator) -> dict[str, Any]:
    q = robot.random_configuration(rng)
    return {"q": q, "qd": rng.normal(size=robot.nv), "tau": rng.normal(size=robot.nv)}


def clusters(robot: Robot) -> set[str]:
    return set(closed_loops.clustered_loops(robot.placed_model, robot.conventions))


def check_motion(
    robot: Robot, rng: np.random.Generator, algorithms: Sequence[str]
) -> None:
    """Assert that algorithms find q̈ and λ of the augmented equations."""
    now = state(robot, rng)  # where loops are open, too: J q̈ + γ = 0 holds anywhere
    expected, _, J = dense(robot, **now)
    for algorithm in algorithms:
        wanted = [
            forward_dynamics(algorithm=algorithm),
            closed_loops.loop_forces(algorithm=algorithm),
        ]
        qdd, forces = value(wanted, robot, **now).values()
        scale = np.abs(expected).max()
        np.testing.assert_allclose(qdd, expected, atol=EXACT * scale)
        needed = value(inverse_dynamics, robot, q=now["q"], qd=now["qd"], qdd=qdd)
        scale = np.abs(needed).max()
        np.testing.assert_allclose(
            J.T @ forces, needed - now["tau"], atol=10 * EXACT * scale
        )


@pytest.mark.parametrize("name", ROBOTS)
def test_loops_are_clusters(name: str) -> None:
    robot = made(name)
    expected = ROBOTS[name][1] or {loop.name for loop in robot.model.loops}
    assert clusters(robot) == set(expected)


@pytest.mark.parametrize("name", ROBOTS)
def test_clusters_move_as_rows_do(name: str, rng: np.random.Generator) -> None:
    check_motion(made(name), rng, ALGORITHMS[2:])


@pytest.mark.parametrize("name", ROBOTS)
def test_closed_robots_respond_alike_by_clusters_and_rows(
    name: str, rng: np.random.Generator
) -> None:
    robot = made(name)
    rows = len(row_names(robot.model))
    wanted = [
        (closed_loops.closed_response, {"b": rng.normal(size=robot.nv)}),
        (closed_loops.constraint_correction, {"x": rng.normal(size=rows)}),
    ]
    q = robot.random_configuration(rng)
    for quantity, given in wanted:
        found, expected = (
            value(quantity(algorithm=a), robot, q=q, **given)
            for a in ("cluster_ltdl", "loopwise")
        )
        scale = np.abs(expected).max()
        np.testing.assert_allclose(found, expected, atol=10 * EXACT * scale)


@pytest.mark.parametrize(
    "name", ["differential", "geared_mimics", "knee", "ankle", "two_ways"]
)
def test_derivatives_are_alike_by_clusters_and_rows(
    name: str, rng: np.random.Generator
) -> None:
    robot = made(name)
    now = state(robot, rng)
    found, expected = (
        value(solved_derivatives(algorithm=a), robot, **now)
        for a in ("cluster_ltdl", "loopwise")
    )
    scale = np.abs(expected).max()
    np.testing.assert_allclose(found, expected, atol=10 * EXACT * scale)


@needs_shared_robots
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("cassie", {"connect0", "connect2"}),
        ("robotiq_2f85_v4", {"joint2", "connect0", "connect1"}),
    ],
)
def test_local_loops_of_real_robots_are_clusters(
    name: str, expected: set[str], rng: np.random.Generator
) -> None:
    robot = ramidyn.load(path_of(name))
    assert clusters(robot) == expected
    check_motion(robot, rng, ALGORITHMS[3:])


@pytest.mark.parametrize("rate", [0.0, 20.0])
def test_stabilized_clusters_move_as_rows_do(
    rate: float, rng: np.random.Generator
) -> None:
    robot = made("knee")
    now = state(robot, rng)
    found = [
        value(
            closed_loops.stabilized_forward_dynamics(algorithm=name, rate=rate),
            robot,
            **now,
        )
        for name in ("joint_formulation", "cluster_aba", "cluster_ltdl")
    ]
    scale = np.abs(found[0]).max()
    np.testing.assert_allclose(found[1], found[0], atol=EXACT * scale)
    np.testing.assert_allclose(found[2], found[0], atol=EXACT * scale)


def test_print_and_explain_name_the_clusters() -> None:
    robot = made("knee")
    assert "loop four_bar revolute: coupler ⟷ shank (cluster)" in str(robot)
    explained = explain(open_loops(robot))
    assert "forward_dynamics by cluster_aba" in explained.closed_loops
    assert explained.closed_loops.endswith("; clusters: four_bar")
    assert explained.json()["closed"]["clusters"] == ["four_bar"]
    assert "clusters: four_bar" in page(explained)
    assert explain(ramidyn.robots.chain(3)).closed_loops == ""


OF_LOOPS = (
    forward_dynamics,
    closed_loops.stabilized_forward_dynamics(rate=10.0),
    closed_loops.loop_forces,
    loop_wrenches,
    forward_dynamics_derivatives,
    loop_forces_derivatives,
    linearize,
    linearize(stabilize="baumgarte"),
    closed_loops.constrained_operational_inertia_inverse((Task("foot"),)),
    contact_motion,
    operational_torques(
        levels=((Task("foot"),),),
        free=(True,),
        damping=0.0,
        period=0.0,
        passive=(),
        effort=(),
        posture=False,
    ),
)


@pytest.mark.parametrize("quantity", OF_LOOPS, ids=str)
def test_declined_clusters_are_rows_in_every_quantity(
    quantity: Quantity, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    robot = made("knee")
    if quantity is contact_motion:
        robot = robot.add_contact(ContactPoint("foot", (0.1, 0.0, 0.0)))
    taken: list[object] = []
    add = ClusterMotion.add

    def counted(self: ClusterMotion, *given: Any) -> None:
        taken.append(given)
        add(self, *given)

    monkeypatch.setattr(ClusterMotion, "add", counted)
    as_chosen = program(robot, quantity)
    assert taken
    taken.clear()
    by_rows = program(robot.without_clusters(["four_bar"]), quantity)
    assert not taken
    given = {v.name: rng.normal(size=v.shape) for v in by_rows.inputs}
    given |= {"q": robot.assemble(robot.random_configuration(rng))}
    expected = evaluate(by_rows, given)
    for name, found in evaluate(as_chosen, given).items():
        scale = np.abs(expected[name]).max()
        np.testing.assert_allclose(found, expected[name], atol=1e-9 * scale)


def test_declined_clusters_are_named() -> None:
    robot = made("knee").without_clusters()
    assert clusters(robot) == set()
    assert "loop four_bar revolute: coupler ⟷ shank (rows)" in str(robot)
    explained = explain(open_loops(robot))
    assert explained.closed_loops.endswith("; not to be clusters: four_bar")
    assert explained.json()["closed"]["declined"] == ["four_bar"]
    message = "has loops that are not to be clusters [(]without_clusters[)]; possible"
    with pytest.raises(ModelError, match=message):
        value(forward_dynamics(algorithm="cluster_aba"), robot)
    with pytest.raises(UnknownName, match=r"no loop 'knee'.*four_bar"):
        robot.without_clusters(["knee"])
    with pytest.raises(ArgumentError, match="loops is 3; expected a list of names"):
        robot.without_clusters(3)  # type: ignore[arg-type]


def test_declined_clusters_roll_out_alike() -> None:
    robot = four_bar()
    q = robot.assemble(robot.neutral())
    qd = robot.project(q, np.ones(robot.nv))[1]
    runs = [
        r.rollout(q, qd, tau=np.zeros(r.nv), dt=1e-3, steps=50)
        for r in (robot, robot.without_clusters())
    ]
    np.testing.assert_allclose(runs[0].q, runs[1].q, atol=1e-9)


def test_a_joint_is_coupled_to_itself_by_its_leader_only_as_a_row() -> None:
    tree, n = tree_of(5, 3)
    tree = with_joints(
        tree, lambda name: {"mimic": Mimic(n[0], 2.0, 0.0) if name == n[3] else None}
    )
    robot = as_robot(replace(tree, loops=(coupling(n[3], n[0], c=(0, 0, 1)),)))
    assert loop_clusters(robot.tree, cuts_of(robot.model)) == []


def test_robots_without_clusters_are_named() -> None:
    robot = as_robot(ramidyn.robots.chain(6, "general").description)
    rng = np.random.default_rng(0)
    q = robot.random_configuration(rng)
    loop = closed_loop(robot, "distance", "world", robot.body_names[-1], q, rng)
    robot = with_loops(robot, loop)
    message = (
        "'cluster_aba' cannot be used, because robot .* has no coupling, and no loop "
        "that leaves its joints one or two coordinates, as clusters have; possible: "
        "'auto', 'joint_formulation', 'loopwise', 'constrained_aba'"
    )
    with pytest.raises(ModelError, match=message):
        value(forward_dynamics(algorithm="cluster_aba"), robot, **state(robot, rng))


def test_rows_stay_beside_clusters(rng: np.random.Generator) -> None:
    robot = as_robot(ramidyn.robots.chain(6, "general").description)
    q = robot.random_configuration(rng)
    y, x = (robot.model.joint(robot.joint_names[k]) for k in (4, 2))
    c = (float(q[y.q_index] - 0.7 * q[x.q_index]), 0.7)
    loop = closed_loop(robot, "distance", "world", robot.body_names[-1], q, rng)
    robot = with_loops(robot, loop, coupling(y.name, x.name, c=c))
    check_motion(robot, rng, ALGORITHMS)


def test_gears_beside_redundant_loops_are_clusters(rng: np.random.Generator) -> None:
    """Of the cranks of a parallelogram one is too many, so rows are damped."""
    robot = parallelogram(rotors=1)
    assert clusters(robot) == set()
    gear = coupling("rotor0_joint", "crank0_joint", c=(0, 7))
    robot = with_loops(robot, gear)
    assert clusters(robot) == {gear.name}
    message = (
        "'cluster_aba' cannot be used, because robot .* has rows that depend on others"
        "; possible: 'auto', 'joint_formulation', 'loopwise', 'cluster_ltdl'"
    )
    with pytest.raises(ModelError, match=message):
        value(forward_dynamics(algorithm="cluster_aba"), robot, **state(robot, rng))
    q, qd = swung(robot, 0.4, 0.7)
    rotor = robot.joint_names.index("rotor0_joint")
    q[rotor], qd[rotor] = 7 * q[rotor], 7 * qd[rotor]
    given = {"q": q, "qd": qd, "tau": rng.normal(size=robot.nv)}
    wanted = forward_dynamics, closed_loops.loop_forces
    by_rows, by_clusters = (
        value([w(algorithm=a) for w in wanted], robot, **given)
        for a in ("loopwise", "cluster_ltdl")
    )
    for name, expected in by_rows.items():
        np.testing.assert_allclose(by_clusters[name], expected, atol=1e-8)
    assert np.abs(by_rows["loop_forces"]).max() > 0.1


def test_a_differential_adds_up_what_it_follows(rng: np.random.Generator) -> None:
    robot = made("differential")
    q = rng.normal(size=robot.nq)
    at = {j.name: j.q_index for j in robot.model.joints}
    pitch, roll = q[at["pitch"]], q[at["roll"]]
    q[at["motor0"]] = 50 * (pitch + roll)
    q[at["motor1"]] = 0.1 + 50 * (pitch - roll)
    np.testing.assert_allclose(robot.constraint_residual(q), 0.0, atol=1e-12)
    held = robot.lock({"roll": roll})
    (loop, other) = held.model.loops
    assert loop.joints == ("motor0", "pitch")
    assert loop.coefficients == pytest.approx((50 * roll, 50))
    assert other.coefficients == pytest.approx((0.1 - 50 * roll, 50))
    assert "gear0 coupling: motor0 = f(pitch, roll)" in str(robot)


def test_a_urdf_has_differentials() -> None:
    link = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'
    links = "".join(f'<link name="{n}">{link}</link>' for n in "wabc")
    joints = "".join(
        f'<joint name="{n}{n}" type="continuous"><parent link="w"/>'
        f'<child link="{n}"/><axis xyz="0 0 1"/></joint>'
        for n in "abc"
    )
    loop = '<loop name="d" type="coupling" joint="aa" follows="bb cc" {}/>'
    text = f'<robot name="r">{links}{joints}{loop}</robot>'
    given = ramidyn.load(text.format('coefficients="0 2 3"'))
    assert given.model.loops[0].joints == ("aa", "bb", "cc")
    assert given.model.loops[0].coefficients == (0.0, 2.0, 3.0)
    assert ramidyn.load(text.format("")).model.loops[0].coefficients == (0, 1, 1)


# ------------------------------------------------------------ rotors


def arm_with_rotors(is_geared: bool) -> Robot:
    """Three links, driven by motors on the link before, by gears of 50 and more."""
    b = RobotBuilder("arm")
    parent = "world"
    axes = ((0, 0, 1), (0, 1, 0), (0, 1, 0))
    for k, (axis, ratio) in enumerate(zip(axes, (50.0, -80.0, 100.0), strict=True)):
        at = (0.0, 0.0, 0.3) if k else (0.0, 0.0, 0.1)
        box = Inertia.from_box(4.0 - k, (0.08, 0.08, 0.3), at=(0, 0.01, 0.15))
        b.add(Body(f"link{k}", box), parent, Joint.revolute(axis, name=f"joint{k}"), at)
        rotor = Inertia.from_cylinder(0.3, 0.02, 0.04, at=(0, 0, 0.01))
        mimic = {"mimic": (f"joint{k}", ratio)} if is_geared else {}
        joint = Joint.revolute((0, 0, 1), name=f"motor{k}", **mimic)
        b.add(Body(f"rotor{k}", rotor), parent, joint, (0.05, 0.02, 0.1))
        parent = f"link{k}"
    return b.robot()


def test_rotors_that_are_bodies_act_as_geared_joints_do(
    rng: np.random.Generator,
) -> None:
    geared_arm, free = arm_with_rotors(True), arm_with_rotors(False)
    ratios = {"motor0": 50.0, "motor1": -80.0, "motor2": 100.0}
    for name, ratio in ratios.items():
        joints = (name, name.replace("motor", "joint"))
        free = free.add_loop(joint="coupling", joints=joints, coefficients=(0, ratio))
    q, qd, tau = rng.normal(size=(3, 3))
    expected = value(forward_dynamics, geared_arm, q=q, qd=qd, tau=tau)
    P = np.zeros((6, 3))
    for joint in free.model.joints:
        k = int(joint.name[-1])
        P[joint.v_index, k] = ratios.get(joint.name, 1.0)
    given = {"q": P @ q, "qd": P @ qd, "tau": np.linalg.pinv(P).T @ tau}
    for algorithm in ALGORITHMS:
        qdd = value(forward_dynamics(algorithm=algorithm), free, **given)
        scale = np.abs(P @ expected).max()
        np.testing.assert_allclose(qdd, P @ expected, atol=1e-10 * scale)
    M = value(mass_matrix, geared_arm, q=q)
    assert (np.diag(M) > np.square([50, 80, 100]) * 0.5 * 0.3 * 0.02**2).all()
