"""Robots that fall on their feet: rollouts with rigid contact beside mujoco.rollout.

    python benchmarks/contact.py [--quick] [--json] [--batch N] [--cassie FILE]
                                 [--memory] [--plot FOLDER] [ROBOT ...]

Go2 (a sphere a foot) and G1 (four corners a foot) of example-robot-data are dropped
with random poses and velocities, 300 semi-implicit steps of 1 ms, one core; springs and
dampers hold the joints, and G1's have rotors of 0.01 kg m² (without, explicit dampers
are unstable). MuJoCo's models are the same URDF files through MjSpec, with the same
points against a floor and nothing else to touch, the same springs and dampers, its
default Newton solver and a dense constraint Jacobian (4.0.0 is wrong with a sparse
one). All in turns in one run, the shortest processor times kept. Beside it: the steps
before the first touch, one state, the robot without contacts, the share of steps whose
residual is above 1e-6 m/s, how far the bases end apart from MuJoCo's soft contacts, the
time against the numbers of candidates and of closed contacts (--plot draws them), and
the ADMM of Pinocchio called in a loop on problems of the same drops, without the time
to set them up. --cassie takes the MJCF file of Cassie, --memory makes 10⁸ steps.

The promises: 15 times mujoco.rollout for Go2, 12 times for G1, 10 times before the
first touch.
"""

from __future__ import annotations

import os
import re
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
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
        model, few = mujoco_model(name, robot, drop), min(FEW, batch)
        ways["mujoco"] = mujoco_roller(model, q[:FEW], qd[:FEW]), few * STEPS
        ways["mujoco_in_the_air"] = (
            mujoco_roller(model, high[:FEW], qd[:FEW]),
            few * STEPS,
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


def by_closed_contacts(name: str, batch: int, times: int) -> list[dict[str, Any]]:
    """Return microseconds a step, ten steps each, and how many contacts are closed."""
    drop, plain = DROPS[name], loaded(name)
    robot, policy = with_feet(plain, drop), policy_of(plain, drop)
    q, qd = starts(robot, drop, batch)
    part = 10
    given: dict[str, Any] = {"dt": DT, "policy": policy, "steps": part, "every": part}
    seen = robot.rollout(
        q, qd, dt=DT, policy=policy, steps=STEPS, record=["contact_states"]
    ).contact_states
    closed = (seen[:, :-1] > 0).sum(axis=2).mean(axis=0).reshape(-1, part).mean(axis=1)
    best = np.full(STEPS // part, np.inf)
    for _ in range(times):
        state: tuple[Any, ...] = (q, qd)
        for k in range(len(best)):
            used = time.process_time()
            state = (robot.rollout(*state, **given).end,)
            used = (time.process_time() - used) / (batch * part) * 1e6
            best[k] = min(best[k], used)
    return [
        {"robot": name, "closed": float(n), "ours": float(t)}
        for n, t in zip(closed, best, strict=True)
    ]


def landings(name: str, count: int) -> tuple[Any, Any, Any]:
    """Return problems of a drop: Delassus matrices, velocities, and our step.

    Velocities have gap / dt added along normals, as in a step.
    """
    drop, plain = DROPS[name], loaded(name)
    robot, policy = with_feet(plain, drop), policy_of(plain, drop)
    run = robot.rollout(
        *starts(robot, drop, count), dt=DT, policy=policy, steps=STEPS, every=10,
        record=["contact_states"],
    )  # fmt: skip
    touching = np.argwhere((run.contact_states[:, 2:-1] > 0).any(axis=2))
    chosen = np.random.default_rng(0).permutation(touching)[:count]
    q, qd = (x[chosen[:, 0], 2 + chosen[:, 1]] for x in (run.q, run.qd))
    tau = np.stack([policy(*state) for state in zip(q, qd, strict=True)])
    rows, gaps = [], []
    for foot in drop.feet:
        frame = robot.pose(q, foot)
        J = robot.jacobian(q, foot, expressed_in="local_world_aligned")
        for point in drop.points:
            r = frame[:, :3, :3] @ np.array(point) - [0.0, 0.0, drop.radius]
            turned = np.cross(J[:, 3:], r[:, :, None], axis=1)
            rows.append(J[:, :3] + turned)
            gaps.append(frame[:, 2, 3] + r[:, 2])
    C = np.concatenate(rows, axis=1)
    D = C @ np.linalg.solve(robot.mass_matrix(q), C.transpose(0, 2, 1))
    free = qd + DT * robot.forward_dynamics(q, qd, tau)
    b = np.einsum("bij,bj->bi", C, free)
    fast = np.transpose(gaps) / DT  # half of small gaps is closed in a step
    b[:, 2::3] += np.maximum(fast, -1e-4) - 0.5 * np.clip(fast, -1e-4, 1e-4)
    step: Any = ramidyn.compile(contacts.time_step, robot)
    return D, b, step(q, qd, tau, np.full(len(q), DT), np.zeros(b.shape))


def by_pinocchio(name: str, count: int) -> dict[str, Any]:
    """Return microseconds of Pinocchio's ADMM a problem, and how many it solves."""
    import pinocchio  # noqa: PLC0415  a peer

    pin: Any = pinocchio
    D, b, ours = landings(name, count)
    world, n = pin.Model(), b.shape[1]
    models, data = pin.StdVec_ConstraintModel(), pin.StdVec_ConstraintData()
    for _ in range(n // 3):
        point = pin.PointContactConstraintModel(world, 0)
        point.setFriction(FRICTION)
        one = pin.ConstraintModel(point)
        models.append(one)
        data.append(one.createData())
    settings, result = pin.ADMMSolverSettings(), pin.ADMMSolverResult()
    settings.max_iterations = 5000
    for what in ("feasibility", "complementarity"):
        setattr(settings, f"absolute_{what}_tol", 1e-7)
        setattr(settings, f"relative_{what}_tol", 1e-12)
    used, solved, apart = [], [], []
    for k in range(len(b)):
        operator, solver = pin.DelassusOperatorDense(D[k]), pin.ADMMConstraintSolver(n)
        before = time.process_time()
        solver.solve(operator, b[k], models, data, settings, result)
        used.append(time.process_time() - before)
        left = (
            result.primal_feasibility,
            result.dual_feasibility,
            result.complementarity,
        )
        solved.append(max(left) < 1e-6)
        theirs = np.array(result.retrieveConstraintImpulses())
        apart.append(np.abs(D[k] @ (theirs - ours.impulses[k])).max())
    return {
        "robot": name,
        "problems": len(b),
        "admm": 1e6 * float(np.mean(used)),
        "admm_median": 1e6 * float(np.median(used)),
        "admm_unsolved": 1.0 - float(np.mean(solved)),
        "velocities_apart": float(np.median(np.array(apart)[solved])),
    }


def cassie(path: str, batch: int, seconds: float) -> dict[str, Any]:
    """Return microseconds a step of Cassie: loops, a sphere at each toe and heel.

    It falls by 1 to 5 mm and lands, its motors held by springs; steps of 0.2 ms.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = ramidyn.load(
            path, passive=True, actuators=False, contacts=False, conventions="mujoco"
        )
    home = re.search(r'qpos="([^"]*)"', Path(path).read_text(encoding="utf-8"))
    assert home is not None, "no configuration in the file"
    rest = plain.project(np.array([float(x) for x in home[1].split()]))
    along, middle = np.array([0.7663, -0.6425, 0.0]), np.array([0.01762, 0.05219, 0.0])
    points = [
        (f"{side}-foot", middle + a * along)
        for side in ("left", "right")
        for a in (0.09, -0.09)
    ]
    robot = plain
    for k, (foot, x) in enumerate(points):
        shape = contacts.ContactSphere(foot, 0.02, tuple(x), friction=FRICTION)
        robot = robot.add_contact(shape, name=f"point{k}")
    low = [(robot.pose(rest, foot) @ np.array([*x, 1.0]))[2] for foot, x in points]
    many = np.tile(rest, (batch, 1))
    fall = np.random.default_rng(0).uniform(1e-3, 5e-3, batch)
    many[:, 2] += fall + 0.02 - min(low)
    motors = [
        (joint.q_slice.start, joint.v_slice.start)
        for joint in robot.model.joints
        if joint.name.split("-", 1)[-1]
        in ("hip-roll", "hip-yaw", "hip-pitch", "knee", "foot")
    ]

    def policy(q: Any, qd: Any) -> Any:
        tau: Any = np.zeros(robot.nv, dtype=object)
        for a, v in motors:
            tau[v] = 500.0 * (rest[a] - q[a]) - 15.0 * qd[v]
        return tau

    given: dict[str, Any] = {"dt": 2e-4, "policy": policy, "steps": STEPS}
    seen = robot.rollout(
        many, record=["contact_states", "contact_residual"], every=10, **given
    )
    ways: dict[str, tuple[Callable[[], Any], int]] = {
        way: (partial(one.rollout, many, every=STEPS, **given), batch * STEPS)
        for way, one in (("ours", robot), ("without_contacts", plain))
    }
    return {
        "robot": "cassie",
        "closed": float((seen.contact_states > 0).mean()),
        "above_1e-6": float((seen.contact_residual > 1e-6).mean()),
        **best_of(ways, seconds),
    }


def resident() -> float:
    """Return the memory of this process [MB]."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def memory(name: str, batch: int, total: float) -> dict[str, Any]:
    """Return memory before and after so many steps of states, in runs that go on."""
    drop, plain = DROPS[name], loaded(name)
    robot, policy = with_feet(plain, drop), policy_of(plain, drop)
    given: dict[str, Any] = {"dt": DT, "policy": policy, "steps": STEPS, "every": STEPS}
    run = robot.rollout(*starts(robot, drop, batch), **given)
    run = robot.rollout(run.end, **given)
    before, count = resident(), 0
    while count < total:
        run = robot.rollout(run.end, **given)
        count += batch * STEPS
    return {
        "robot": name,
        "steps": count,
        "before_MB": before,
        "after_MB": resident(),
        "finite": float(np.isfinite(run.q).all(axis=(1, 2)).mean()),
    }


def plot(path: Path, candidates: Any, closed: Any) -> None:
    """Draw time against candidates and closed contacts."""
    import matplotlib as mpl  # noqa: PLC0415  for pictures alone

    mpl.use("Agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415

    figure, (left, right) = plt.subplots(
        1, 2, figsize=(9.0, 3.6), layout="constrained", sharey=True
    )
    names = list(dict.fromkeys(r["robot"] for r in candidates))
    labels = {"go2": "Go2, spheres", "g1": "G1, corners of feet"}
    for name, marker in zip(names, "os", strict=False):
        label = labels[name]
        for axes, rows, x, width in (
            (left, candidates, "candidates", 1.5),
            (right, closed, "closed", 0.4),
        ):
            some = [(r[x], r["ours"]) for r in rows if r["robot"] == name]
            axes.plot(*np.transpose(some), lw=width, marker=marker, ms=5, label=label)
    left.set(xlabel="candidates: points that may touch", ylabel="µs a step and state")
    right.set(xlabel="closed contacts a state, mean of ten steps")
    for axes in (left, right):
        axes.set_xlim(left=0)
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
    right.legend(loc="lower right")
    figure.savefig(path, dpi=110)


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
    parser.add_argument("--cassie", help="MJCF file of Cassie, to be dropped too")
    parser.add_argument("--memory", action="store_true", help="10⁸ steps, nothing else")
    parser.add_argument("--plot", help="folder of contact_cost.png")
    chosen = parser.parse_args()
    batch, seconds = (16, 0.2) if chosen.quick else (chosen.batch, 20.0)
    warnings.filterwarnings("ignore", ".* limit, ", RuntimeWarning)
    if chosen.memory:
        for name in chosen.robots:
            print(memory(name, batch, 1e5 if chosen.quick else 1e8), flush=True)
        return
    results: list[dict[str, Any]] = []
    if not chosen.json:
        print(HEAD)
    for name in chosen.robots:
        results.append(measure(name, batch, seconds))
        if not chosen.json:
            print(row(results[-1]), flush=True)
    more: dict[str, list[dict[str, Any]]] = {"pinocchio": [], "cassie": []}
    try:
        more["pinocchio"] = [
            by_pinocchio(name, min(batch, 1000)) for name in chosen.robots
        ]
    except ImportError as error:
        print(f"no Pinocchio: {error}")
    if chosen.cassie:
        more["cassie"] = [cassie(chosen.cassie, batch, seconds / 2)]
    if not chosen.quick or chosen.plot:
        more["by_candidates"] = [
            r for name in chosen.robots for r in by_candidates(name, batch, seconds / 8)
        ]
        more["by_closed_contacts"] = [
            r for name in chosen.robots for r in by_closed_contacts(name, batch, 4)
        ]
    if chosen.plot:
        path = Path(chosen.plot) / "contact_cost.png"
        plot(path, more["by_candidates"], more["by_closed_contacts"])
    for r in [] if chosen.json else chain.from_iterable(more.values()):
        print(", ".join(f"{k} {v:.3g}" if k != "robot" else v for k, v in r.items()))
    report({"results": results, **more}, chosen.json, "mujoco", "pin")


if __name__ == "__main__":
    main()
