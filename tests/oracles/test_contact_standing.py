"""Real robots that are dropped and stand for ten seconds, held by their joints."""

from __future__ import annotations

import importlib
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ramidyn
from ramidyn import contacts
from ramidyn.description.pose import Array
from ramidyn.robot import Robot
from support.pages import REPOSITORY
from support.real_robots import example_urdfs
from support.references import needs_shared_robots, path_of

pytestmark = pytest.mark.slow
URDFS = example_urdfs()
SLIP = 1e-6
"""[m] by which contact points move once the robot has settled"""
Points = list[tuple[str, tuple[float, float, float]]]


def load(path: Path, **options: Any) -> Robot:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ramidyn.load(path, conventions="mujoco", **options)


def urdf(name: str) -> Robot:
    if name not in URDFS:
        pytest.skip(f"example-robot-data has no {name}")
    return load(URDFS[name], root="floating", joint_order="file")


def posed(robot: Robot, height: float, angles: dict[str, float]) -> Array:
    q = robot.neutral()
    q[2] = height
    for joint in robot.model.joints:
        for end, value in angles.items():
            if joint.name.endswith(end):
                q[joint.q_slice] = value
    return q


def on_feet(robot: Robot, points: Points, radius: float) -> Robot:
    for k, (foot, x) in enumerate(points):
        shape: Any = contacts.ContactPoint(foot, x, friction=0.8)
        if radius:
            shape = contacts.ContactSphere(foot, radius, x, friction=0.8)
        robot = robot.add_contact(shape, name=f"point{k}")
    return robot


def places(robot: Robot, q: Array, points: Points) -> Array:
    """Return where the points are, (rows, points, 3)."""
    found = [robot.pose(q, foot) @ np.array([*x, 1.0]) for foot, x in points]
    return np.stack(found, axis=1)[..., :3]


def assert_stands(
    robot: Robot, run: Any, points: Points, settled: int, height: float
) -> None:
    assert run.q[-1, 2] == pytest.approx(height, abs=0.02)
    moved = places(robot, run.q[settled:], points)
    assert np.abs(moved - moved[-1])[..., :2].max() < SLIP
    assert (run.contact_states[settled:] == 1.0).all()
    weight = 9.81 * robot.mass
    total = run.contact_forces[-1].sum(axis=0)
    np.testing.assert_allclose(total, [0.0, 0.0, weight], atol=1e-2 * weight)
    assert np.percentile(run.contact_residual, 99) < 1e-6


def held(q0: Array, stiffness: float, damping: float) -> Callable[..., Any]:
    def policy(q: Any, qd: Any) -> Any:
        tau = stiffness * (q0[7:] - q[7:]) - damping * qd[6:]
        return np.concatenate([np.zeros(6), tau])

    return policy


RECORD = ["contact_states", "contact_forces", "contact_residual"]


def test_go2_stands() -> None:
    """Dropped by 3 cm on four spheres; joints by 60 N m/rad and 3 N m s/rad."""
    plain = urdf("go2_description/go2.urdf")
    points: Points = [
        (f"{leg}_foot", (0.0, 0.0, 0.0)) for leg in ("FL", "FR", "RL", "RR")
    ]
    robot = on_feet(plain, points, 0.022)
    q0 = posed(robot, 0.32, {"thigh_joint": 0.8, "calf_joint": -1.6})
    q = q0 + np.eye(len(q0))[2] * 0.03
    run = robot.rollout(
        q, steps=10_000, every=500, policy=held(q0, 60.0, 3.0), record=RECORD
    )
    assert_stands(robot, run, points, 10, 0.30)


def test_go2_stands_on_the_forces_of_stiff_contacts_of_mujoco(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Stiffer contacts come closer, in all directions, at each of the feet."""
    mujoco: Any = pytest.importorskip("mujoco", reason="MuJoCo is not installed")
    urdf("go2_description/go2.urdf")  # or skip
    monkeypatch.syspath_prepend(REPOSITORY / "benchmarks")
    drops: Any = importlib.import_module("contact")
    drop, plain = drops.DROPS["go2"], drops.loaded("go2")
    robot, q = drops.with_feet(plain, drop), drops.pose(plain, drop)
    lowest = min(plain.pose(q, foot)[2, 3] for foot in drop.feet)
    q[2] += drop.radius + 1e-4 - lowest
    policy = drops.policy_of(plain, drop)
    run = robot.rollout(
        q, steps=3000, every=3000, policy=policy, record=["contact_forces"]
    )
    apart: list[float] = []
    for dt, impedance in ((1e-3, 0.9), (2e-4, 0.99)):
        model = drops.mujoco_model("go2", robot, drop)
        model.opt.timestep, model.opt.tolerance = dt, 1e-12
        model.opt.cone, model.opt.impratio = mujoco.mjtCone.mjCONE_ELLIPTIC, 100.0
        model.geom_solref[:] = 2.0 * dt, 1.0
        model.geom_solimp[:, :2] = impedance
        data = mujoco.MjData(model)
        data.qpos[:] = q
        for _ in range(round(3.0 / dt)):
            mujoco.mj_step(model, data)
        mujoco.mj_forward(model, data)
        found: dict[str, Array] = {}
        for k, touch in enumerate(data.contact):
            force = np.zeros(6)
            mujoco.mj_contactForce(model, data, k, force)
            floor = model.geom_type[touch.geom1] == mujoco.mjtGeom.mjGEOM_PLANE
            foot = touch.geom2 if floor else touch.geom1
            world = touch.frame.reshape(3, 3).T @ force[:3]
            found[model.body(model.geom_bodyid[foot]).name] = world if floor else -world
        theirs = [found[f"{foot[:2]}_calf"] for foot in drop.feet]
        apart.append(float(np.abs(run.contact_forces[-1] - theirs).max()))
    assert apart[0] < 0.1  # N, of 44
    assert apart[1] < 2e-3


def test_g1_stands() -> None:
    """Dropped by 3 cm on four corners a foot; 200 N m/rad, 5 N m s/rad, implicit."""
    plain = urdf("g1_description/g1_29dof_rev_1_0.urdf")
    points: Points = [
        (f"{side}_ankle_roll_link", (x, y, -0.035))
        for side in ("left", "right")
        for x in (0.12, -0.05)
        for y in (0.03, -0.03)
    ]
    robot = on_feet(plain, points, 0.0)
    bent = {"hip_pitch_joint": -0.2, "knee_joint": 0.4, "ankle_pitch_joint": -0.2}
    q0 = posed(robot, 0.765, bent)
    run = robot.rollout(
        q0 + np.eye(len(q0))[2] * 0.03,
        steps=10_000, every=500, policy=held(q0, 200.0, 5.0), record=RECORD,
        integrator="implicit",
    )  # fmt: skip
    assert_stands(robot, run, points, 4, 0.778)


@needs_shared_robots
def test_cassie_stands_with_its_loops_closed() -> None:
    """Dropped by 1 cm on toes and heels, steps of 0.2 ms.

    Motors hold their angles; ankles and hips also answer to how far the base is from
    where it began, as its leaf springs are too soft to stand on without.
    """
    path = path_of("cassie")
    plain = load(path, passive=True, actuators=False, contacts=False)
    home = re.search(r'qpos="([^"]*)"', path.read_text(encoding="utf-8"))
    assert home is not None
    q0 = plain.project(np.array([float(x) for x in home[1].split()]))
    along, middle = np.array([0.7663, -0.6425, 0.0]), np.array([0.01762, 0.05219, 0.0])
    points: Points = [
        (f"{side}-foot", tuple(middle + a * along))
        for side in ("left", "right")
        for a in (0.09, -0.09)
    ]
    robot = on_feet(plain, points, 0.02)
    lowest = places(robot, q0[None], points)[..., 2].min()
    q = q0 + np.eye(len(q0))[2] * (0.02 - lowest + 0.01)
    joints = {j.name: j for j in robot.model.joints}
    gains = {
        "hip-roll": (1000.0, 30.0), "hip-yaw": (500.0, 15.0),
        "hip-pitch": (1000.0, 30.0), "knee": (2000.0, 40.0), "foot": (300.0, 8.0),
    }  # fmt: skip

    def policy(q: Any, qd: Any) -> Any:
        tau: Any = np.zeros(robot.nv, dtype=object)
        lean = -500.0 * q[5] - 50.0 * qd[4] - 500.0 * q[0] - 80.0 * qd[0]
        sway = 1500.0 * q[1] + 200.0 * qd[1]
        for side in ("left", "right"):
            for name, (stiffness, damping) in gains.items():
                joint = joints[f"{side}-{name}"]
                a, v = joint.q_slice.start, joint.v_slice.start
                more = {"foot": lean, "hip-roll": sway}.get(name, 0.0)
                tau[v] = stiffness * (q0[a] - q[a]) - damping * qd[v] + more
        return tau

    run = robot.rollout(
        q, dt=2e-4, steps=50_000, every=2_500, policy=policy,
        record=[*RECORD, "residual"],
    )  # fmt: skip
    assert_stands(robot, run, points, 8, 0.9957)
    assert run.residual.max() < 1e-12
