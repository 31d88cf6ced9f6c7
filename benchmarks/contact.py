"""Robots that fall on their feet: rollouts with rigid contact beside mujoco.rollout.

    python benchmarks/contact.py [--quick] [--json] [--batch N] [ROBOT ...]

Go2 (a sphere a foot) and G1 (four corners a foot) of example-robot-data are dropped
with random poses and velocities, 300 semi-implicit steps of 1 ms, one core; springs and
dampers hold the joints, and G1's have rotors of 0.01 kg m² (without, explicit dampers
are unstable). MuJoCo's models are the same URDF files through MjSpec, with the same
points against a floor and nothing else to touch, the same springs and dampers, its
default Newton solver and a dense constraint Jacobian (4.0.0 is wrong with a sparse
one). All in turns in one run, the shortest processor times kept. Beside it: the steps
before the first touch, one state, the robot without contacts, the share of steps whose
residual is above 1e-6 m/s, how far the bases end apart from MuJoCo's soft contacts, and
the time against the number of candidates.

The promises: 15 times mujoco.rollout for Go2, 12 times for G1, 10 times before the
first touch.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, final

import numpy as np
from machine import options, report
from robots import ROBOTS, files

import ramidyn
from ramidyn import contacts
from ramidyn.robot import Robot

STEPS, DT, FRICTION = 300, 1e-3, 0.8
FEW = 32
"""states of MuJoCo's rollouts: its time is linear in them"""
PROMISED = {"go2": 15.0, "g1": 12.0}


@final
@dataclass(frozen=True)
class Drop:
    """A robot that is dropped on its feet."""

    feet: tuple[str, ...]
    points: tuple[tuple[float, float, float], ...]
    """of each foot"""
    radius: float
    height: float
    """of the base, where the feet just touch"""
    pose: dict[str, float]
    """joints whose names end so"""
    stiffness: float
    """of the springs that hold joints [N m/rad]"""
    damping: float
    armature: float = 0.0
    """inertia of the rotors [kg m²]"""


DROPS = {
    "go2": Drop(
        ("FL_foot", "FR_foot", "RL_foot", "RR_foot"),
        ((0.0, 0.0, 0.0),),
        0.022,
        0.32,
        {"thigh_joint": 0.8, "calf_joint": -1.6},
        60.0,
        3.0,
    ),
    "g1": Drop(
        ("left_ankle_roll_link", "right_ankle_roll_link"),
        tuple((x, y, -0.035) for x in (0.12, -0.05) for y in (0.03, -0.03)),
        0.0,
        0.765,
        {"hip_pitch_joint": -0.2, "knee_joint": 0.4, "ankle_pitch_joint": -0.2},
        100.0,
        2.0,
        0.01,
    ),
}


def path_of(name: str) -> Path:
    """Return the URDF file of a robot."""
    return files()[ROBOTS[name][0]]


def loaded(name: str) -> Robot:
    """Return the robot without contacts."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        robot = ramidyn.load(path_of(name), root="floating", joint_order="file")
    return Robot.from_description(
        with_armature(robot.model.description, DROPS[name].armature),
        conventions="mujoco",
    )


def with_armature(description: Any, armature: float) -> Any:
    """Return a robot whose joints have rotors."""
    bodies = [
        replace(
            body,
            joints=tuple(
                j if j.type == "floating" else replace(j, armature=armature)
                for j in body.joints
            ),
        )
        for body in description.bodies
    ]
    return replace(description, bodies=tuple(bodies))


def with_feet(robot: Robot, drop: Drop) -> Robot:
    """Return the robot with its feet as rigid contacts."""
    for foot in drop.feet:
        for k, point in enumerate(drop.points):
            shape: Any = contacts.ContactPoint(foot, point, FRICTION)
            if drop.radius:
                shape = contacts.ContactSphere(foot, drop.radius, point, FRICTION)
            robot = robot.add_contact(shape, name=f"{foot}{k}")
    return robot


def pose(robot: Robot, drop: Drop) -> Any:
    """Return the configuration in which it is dropped."""
    q = robot.neutral()
    q[2] = drop.height
    for joint in robot.model.joints:
        for end, value in drop.pose.items():
            if joint.name.endswith(end):
                q[joint.q_slice] = value
    return q


def policy_of(robot: Robot, drop: Drop) -> Callable[..., Any]:
    """Return the springs and dampers as a policy."""
    rest = pose(robot, drop)

    def policy(q: Any, qd: Any) -> Any:
        held = drop.stiffness * (rest[7:] - q[7:]) - drop.damping * qd[6:]
        return np.concatenate([np.zeros(6), held])

    return policy


def starts(robot: Robot, drop: Drop, batch: int) -> tuple[Any, Any]:
    """Return random poses, the lowest point up to 5 cm above the floor; velocities."""
    rng = np.random.default_rng(0)
    q = np.tile(pose(robot, drop), (batch, 1))
    turn = np.zeros((batch, robot.nv))
    turn[:, 3:6] = 0.05 * rng.normal(size=(batch, 3))
    turn[:, 6:] = 0.1 * rng.normal(size=(batch, robot.nv - 6))
    q = robot.integrate(q, turn, 1.0)
    heights = [
        robot.pose(q, foot)[:, 2] @ np.array([*point, 1.0]) - drop.radius
        for foot in drop.feet
        for point in drop.points
    ]
    q[:, 2] += rng.uniform(1e-3, 0.05, batch) - np.min(heights, axis=0)
    return q, 0.2 * rng.normal(size=(batch, robot.nv))


def mujoco_model(name: str, robot: Robot, drop: Drop) -> Any:
    """Return MuJoCo's model of the same robot."""
    import mujoco  # noqa: PLC0415  the peer

    spec: Any = mujoco.MjSpec.from_file(str(path_of(name)))
    spec.option.timestep = DT
    spec.option.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_EULERDAMP
    for geom in list(spec.geoms):
        spec.delete(geom)
    base = spec.worldbody.first_body()
    base.add_freejoint()
    touching = {"contype": 1, "conaffinity": 2, "friction": [FRICTION, 0.005, 0.0001]}
    for foot in drop.feet:
        for point in drop.points:
            size = [drop.radius or 1e-4, 0.0, 0.0]
            place = list(point)
            spec.body(foot).add_geom(
                type=mujoco.mjtGeom.mjGEOM_SPHERE, pos=place, size=size, mass=0.0,
                **touching,
            )  # fmt: skip
    spec.worldbody.add_geom(
        type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0.0, 0.0, 1.0],
        **{**touching, "contype": 2, "conaffinity": 1},
    )  # fmt: skip
    rest = pose(robot, drop)
    for k, joint in enumerate(robot.model.joints[1:]):
        held = spec.joint(joint.name)
        held.stiffness, held.damping = [drop.stiffness, 0, 0], [drop.damping, 0, 0]
        held.armature = drop.armature
        held.springref = rest[7 + k]
        held.limited = mujoco.mjtLimited.mjLIMITED_FALSE
        held.frictionloss = 0.0
    return spec.compile()


def mujoco_roller(model: Any, q: Any, qd: Any) -> Callable[[], Any]:
    """Return a function that rolls states out, and returns their last states."""
    import mujoco  # noqa: PLC0415  the peer
    from mujoco import rollout  # noqa: PLC0415

    data = mujoco.MjData(model)
    size = mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    first = np.zeros((len(q), size))
    first[:, 1 : 1 + model.nq] = q
    first[:, 1 + model.nq : 1 + model.nq + model.nv] = qd
    state = np.empty((len(q), STEPS, size))

    def roll() -> Any:
        rollout.rollout(model, data, first, nstep=STEPS, state=state)
        return state[:, -1, 1 : 1 + model.nq]

    return roll


def best_of(
    ways: dict[str, tuple[Callable[[], Any], int]], seconds: float
) -> dict[str, float]:
    """Return microseconds of processor time, all in turns."""
    found = dict.fromkeys(ways, np.inf)
    for call, _ in ways.values():
        call()
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for way, (call, count) in ways.items():
            used = time.process_time()
            call()
            used = (time.process_time() - used) / count * 1e6
            found[way] = min(found[way], used)
    return found


def measure(name: str, batch: int, seconds: float) -> dict[str, Any]:
    """Return microseconds a step, each way."""
    drop, plain = DROPS[name], loaded(name)
    robot, policy = with_feet(plain, drop), policy_of(plain, drop)
    q, qd = starts(robot, drop, batch)
    given: dict[str, Any] = {"dt": DT, "policy": policy}
    warnings.filterwarnings("ignore", ".* limit, ", RuntimeWarning)
    residual = robot.rollout(
        q, qd, steps=STEPS, record=["contact_residual", "contact_states"], **given
    )
    worst = residual.contact_residual[:, :-1]
    high = q.copy()
    high[:, 2] += 10.0
    end: dict[str, Any] = {"steps": STEPS, "every": STEPS, **given}
    ways: dict[str, tuple[Callable[[], Any], int]] = {
        "ours": (lambda: robot.rollout(q, qd, **end), batch * STEPS),
        "in_the_air": (lambda: robot.rollout(high, qd, **end), batch * STEPS),
        "without_contacts": (lambda: plain.rollout(q, qd, **end), batch * STEPS),
        "one_state": (lambda: robot.rollout(q[0], qd[0], **end), STEPS),
    }
    try:
        model = mujoco_model(name, robot, drop)
        ways["mujoco"] = mujoco_roller(model, q[:FEW], qd[:FEW]), FEW * STEPS
        ways["mujoco_in_the_air"] = (
            mujoco_roller(model, high[:FEW], qd[:FEW]),
            FEW * STEPS,
        )
    except ImportError as error:
        print(f"no MuJoCo: {error}")
    found: dict[str, Any] = {
        "robot": name,
        "nv": robot.nv,
        "batch": batch,
        "above_1e-6": float((worst > 1e-6).mean()),
        "residual_99": float(np.percentile(worst, 99)),
        "closed": float((residual.contact_states > 0).mean()),
        "base": float(np.median(residual.q[:, -1, 2])),
    }
    if "mujoco" in ways:
        theirs = ways["mujoco"][0]()
        ours = residual.q[:FEW, -1]
        found["apart"] = float(np.median(np.abs(theirs[:, :3] - ours[:, :3])))
    found |= best_of(ways, seconds)
    if "mujoco" in ways:
        found["times_mujoco"] = found["mujoco"] / found["ours"]
        found["times_in_the_air"] = found["mujoco_in_the_air"] / found["in_the_air"]
        found["promised"] = PROMISED[name]
    return found


def by_candidates(name: str, batch: int, seconds: float) -> list[dict[str, Any]]:
    """Return microseconds a step with fewer points a foot, or fewer feet."""
    drop, plain = DROPS[name], loaded(name)
    found: list[dict[str, Any]] = []
    several = len(drop.points) > 1
    for n in range(1, len(drop.points if several else drop.feet) + 1):
        some = replace(drop, points=drop.points[:n])
        if not several:
            some = replace(drop, feet=drop.feet[:n])
        robot, policy = with_feet(plain, some), policy_of(plain, some)
        q, qd = starts(robot, some, batch)
        given: dict[str, Any] = {"steps": STEPS, "every": STEPS, "dt": DT}
        call = partial(robot.rollout, q, qd, policy=policy, **given)
        count = len(some.feet) * len(some.points)
        times = best_of({"ours": (call, batch * STEPS)}, seconds)
        found.append({"robot": name, "candidates": count, **times})
    return found


HEAD = """\
| robot | batch | a step | mujoco.rollout | in the air | one state | no contacts | \
residual above 1e-6 m/s |
|---|---|---|---|---|---|---|---|"""


def row(r: dict[str, Any]) -> str:
    """Return a result as a row of the table."""
    theirs = air = "-"
    if "mujoco" in r:
        theirs = f"{r['mujoco']:.2f} ({r['times_mujoco']:.0f} x)"
        air = f" ({r['times_in_the_air']:.0f} x)"
    return (
        f"| {r['robot']} | {r['batch']:,} | {r['ours']:.3f} | {theirs} | "
        f"{r['in_the_air']:.3f}{air} | {r['one_state']:.2f} | "
        f"{r['without_contacts']:.3f} | "
        f"{100 * r['above_1e-6']:.2g}% |"
    )


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("robots", nargs="*", default=list(DROPS))
    parser.add_argument("--batch", type=int, default=4096)
    chosen = parser.parse_args()
    batch, seconds = (16, 0.2) if chosen.quick else (chosen.batch, 20.0)
    results: list[dict[str, Any]] = []
    if not chosen.json:
        print(HEAD)
    for name in chosen.robots:
        results.append(measure(name, batch, seconds))
        if not chosen.json:
            print(row(results[-1]), flush=True)
    fewer = (
        []
        if chosen.quick
        else [r for name in chosen.robots for r in by_candidates(name, batch, 2.0)]
    )
    for r in fewer if not chosen.json else ():
        print(f"{r['robot']}, {r['candidates']} candidates: {r['ours']:.3f} us a step")
    report({"results": results, "by_candidates": fewer}, chosen.json, "mujoco")


if __name__ == "__main__":
    main()
