"""Inverse kinematics: solves a second, success, and other libraries, in one run.

    python benchmarks/inverse_kinematics.py [--quick] [--json] [--only arms]

Arms: random reachable poses (of configurations within limits), all within 1e-4 m and
1e-3 rad from at most 100 starts; success is checked by Pinocchio's forward kinematics,
limits included. One setting for all robots. A solve in a batch (time of the processor),
one call from Python (median), and the first answer of a new process, cold and from the
cache. Promises: 99.99% solved, 2.5 us in a batch and 60 x faster than others, 40 us in
a call, 1 s cold and 0.1 s from the cache.

Humanoids: both feet held, the pose of a hand, and the center of mass above the feet;
from one stance, one start. Retargeting: 14 frames of a G1, clips side by side, 100,000
frames a second. Loops: the largest error of any loop (1e-12 promised) and the largest
violation of a limit.

Others where they are installed (pip install '.[ik-peers]'): on some of the same
targets, with restarts where the library has none of its own (random configurations, up
to 10). Robotics Toolbox: ik_LM of its C++ ("chan", tol 5e-9, which
meets our tolerance; 100 starts of its own). Pink and Mink: steps of their quadratic
program until the target is met, at most 100.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from machine import options, report
from robots import files

import ramidyn
from ramidyn.cli.arguments import RobotFile
from ramidyn.robot import Robot
from ramidyn.tasks import CenterOfMass, Task

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from support.parallel import delta, hexapod
from support.paths import SHARED_ROBOTS

METERS, RADIANS, STARTS = 1e-4, 1e-3, 100
MOST, RESTARTS = 100, 10
"""steps and starts of libraries that solve one quadratic program a step"""


class Arm(NamedTuple):
    """A robot, its file, the frame that moves, and joints that do not matter."""

    path: Path
    frame: str
    fixed: tuple[str, ...] = ()


def arms() -> dict[str, Arm]:
    """Return the arms that are there."""
    found = files()
    fingers = ("panda_finger_joint1", "panda_finger_joint2")
    known = {
        "panda": ("panda_description/panda.urdf", "panda_hand", fingers),
        "xarm7": ("xarm_description/xarm7.urdf", "link_eef", ()),
        "ur10": ("ur_description/ur10_robot.urdf", "tool0", ()),
    }
    out = {
        n: Arm(found[f], frame, x) for n, (f, frame, x) in known.items() if f in found
    }
    iiwa = SHARED_ROBOTS / "iiwa14" / "iiwa14.xml"
    return {**out, "iiwa14": Arm(iiwa, "link7")} if iiwa.exists() else out


def quietly(path: Path, **options: Any) -> Robot:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ramidyn.load(path, **options)


# ------------------------------------------------------------ judged by Pinocchio


def pinocchio_model(path: Path, root: str | None = None) -> Any:
    pin: Any = importlib.import_module("pinocchio")
    if path.suffix == ".xml":
        return pin.buildModelFromMJCF(str(path))
    if root == "floating":
        return pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer())
    return pin.buildModelFromUrdf(str(path))


def reached(path: Path, frame: str, q: Any, targets: Any) -> Any:
    """Return which configurations reach their targets within limits, by Pinocchio."""
    pin: Any = importlib.import_module("pinocchio")
    model = pinocchio_model(path)
    data, k = model.createData(), model.getFrameId(frame)
    low, high = model.lowerPositionLimit - 1e-9, model.upperPositionLimit + 1e-9
    out = np.zeros(len(q), bool)
    for i, (x, T) in enumerate(zip(q, targets, strict=True)):
        pin.forwardKinematics(model, data, x)
        M = pin.updateFramePlacement(model, data, k)
        gap = np.linalg.norm(M.translation - T[:3, 3])
        turn = np.linalg.norm(pin.log3(M.rotation.T @ T[:3, :3]))
        is_within = ((x >= low) & (x <= high)).all()
        out[i] = gap <= METERS and turn <= RADIANS and is_within
    return out


# ------------------------------------------------------------ others, one arm


Solve = Callable[[Any], Any]
"""a target -> q, or None"""


def robotics_toolbox(arm: Arm, robot: Robot) -> Solve:
    """Return the C++ solver of Robotics Toolbox, over the chain that Pinocchio has."""
    rtb: Any = importlib.import_module("roboticstoolbox")
    model = pinocchio_model(arm.path)
    k = model.getFrameId(arm.frame)
    chain: list[Any] = []
    places: list[int] = []
    for i in model.supports[model.frames[k].parentJoint].tolist()[1:]:
        at = model.jointPlacements[i].homogeneous
        name = model.joints[i].shortname()
        axis = {"RX": "Rx", "RY": "Ry", "RZ": "Rz"}.get(name[-2:])
        if axis is None:  # continuous: cos and sin
            raise ImportError(f"it has no joint such as {name}")
        chain += [rtb.ET.SE3(at), getattr(rtb.ET, axis)()]
        places.append(model.joints[i].idx_q)
    chain.append(rtb.ET.SE3(model.frames[k].placement.homogeneous))
    ets = rtb.ETS(chain)
    ets.qlim = np.array([robot.limits.lower[places], robot.limits.upper[places]])

    def solve(T: Any) -> Any:
        found = ets.ik_LM(T, ilimit=30, slimit=STARTS, tol=5e-9, method="chan")
        q = robot.neutral()
        q[places] = found.q
        return q if found.success else None

    return solve


def starts_of(robot: Robot, first: Any) -> Iterator[Any]:
    """Return the guess, and random configurations."""
    yield first
    rng = np.random.default_rng(0)
    for _ in range(RESTARTS - 1):
        yield robot.random_configuration(rng)


def pink_arm(arm: Arm, robot: Robot) -> Solve:
    pink: Any = importlib.import_module("pink")
    pin: Any = importlib.import_module("pinocchio")
    model = pinocchio_model(arm.path)
    data = model.createData()
    limits = robot.limits
    middle = robot.clamp(0.5 * (limits.lower + limits.upper))

    def solve(T: Any) -> Any:
        task = pink.tasks.FrameTask(
            arm.frame, position_cost=1.0, orientation_cost=1.0, lm_damping=1e-3
        )
        task.set_target(pin.SE3(T[:3, :3], T[:3, 3]))
        for q in starts_of(robot, middle):
            here = pink.Configuration(model, data, q)
            for _ in range(MOST):
                e = task.compute_error(here)
                if np.linalg.norm(e[:3]) < METERS and np.linalg.norm(e[3:]) < RADIANS:
                    return here.q
                v = pink.solve_ik(here, [task], 1.0, solver="daqp", safety_break=False)
                here.integrate_inplace(v, 1.0)
        return None

    return solve


def mink_arm(arm: Arm, robot: Robot) -> Solve:
    mink: Any = importlib.import_module("mink")
    peer = importlib.import_module("ramidyn.cli.peers.mujoco_")
    model = peer.load(RobotFile(str(arm.path), None)).model
    limits = robot.limits
    middle = robot.clamp(0.5 * (limits.lower + limits.upper))
    bounds = [mink.ConfigurationLimit(model)]

    def solve(T: Any) -> Any:
        task = mink.FrameTask(arm.frame, "body", 1.0, 1.0, lm_damping=1e-3)
        turn = mink.SO3.from_matrix(T[:3, :3])
        task.set_target(mink.SE3.from_rotation_and_translation(turn, T[:3, 3]))
        for q in starts_of(robot, middle):
            here = mink.Configuration(model, q)
            for _ in range(MOST):
                e = task.compute_error(here)
                if np.linalg.norm(e[:3]) < METERS and np.linalg.norm(e[3:]) < RADIANS:
                    return here.q.copy()
                v = mink.solve_ik(here, [task], 1.0, "daqp", limits=bounds)
                here.integrate_inplace(v, 1.0)
        return None

    return solve


OTHERS = {
    "Robotics Toolbox": robotics_toolbox,
    "Pink": pink_arm,
    "Mink": mink_arm,
}


def compare(arm: Arm, robot: Robot, targets: Any) -> dict[str, dict[str, float]]:
    """Return time and success of the others; print a line for one that is absent."""
    found: dict[str, dict[str, float]] = {}
    for name, make in OTHERS.items():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                solve = make(arm, robot)
                solve(targets[0])
        except (ImportError, RuntimeError, ValueError) as error:
            print(
                f"    {name}: skipped ({str(error).splitlines()[0]})", file=sys.stderr
            )
            continue
        start = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            q = [solve(T) for T in targets]
        seconds = (time.process_time() - start) / len(targets)
        some = [k for k, x in enumerate(q) if x is not None]
        ok = reached(arm.path, arm.frame, [q[k] for k in some], targets[some])
        found[name] = {"us": 1e6 * seconds, "success": float(ok.sum()) / len(targets)}
    return found


# ------------------------------------------------------------ arms

FIRST = """
import sys, time, warnings
import numpy as np
warnings.simplefilter("ignore")
import ramidyn
robot = ramidyn.load(sys.argv[1], mimic="independent")
T = np.array(eval(sys.argv[3]))
start = time.process_time()
found = robot.inverse_kinematics({sys.argv[2]: T}, fixed=sys.argv[4:])
assert found.success
print(time.process_time() - start)
"""


def first_answers(arm: Arm, target: Any) -> dict[str, float]:
    """Return the seconds to the first answer of a new process, cold and cached."""
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "RAMIDYN_CACHE_DIR": folder}
        words = [str(arm.path), arm.frame, str(target.tolist()), *arm.fixed]
        command = [sys.executable, "-c", FIRST, *words]
        times = [
            float(subprocess.run(
                command, env=env, capture_output=True, check=True, text=True
            ).stdout)
            for _ in range(3)
        ]  # fmt: skip
    return {"cold": times[0], "cached": min(times[1:])}


def measure_arm(arm: Arm, n: int, some: int) -> dict[str, Any]:
    robot = quietly(arm.path, mimic="independent")
    rng = np.random.default_rng(0)
    q = robot.random_configuration(rng, batch=n)
    for name in arm.fixed:
        q[:, robot.joint(name).q_index] = 0.0
    T = robot.pose(q, arm.frame)

    def solve(targets: Any) -> Any:
        return robot.inverse_kinematics(
            {arm.frame: targets}, fixed=arm.fixed, starts=STARTS
        )

    solve(T[:1000])
    solve(T[0])
    times = []
    for _ in range(3):
        start = time.process_time()
        found = solve(T)
        times.append((time.process_time() - start) / n)
    calls = []
    for k in range(min(300, n)):
        start = time.perf_counter()
        solve(T[k])
        calls.append(time.perf_counter() - start)
    ok = reached(arm.path, arm.frame, found.q, T)
    return {
        "batch us": 1e6 * min(times),
        "call us": 1e6 * float(np.median(calls)),
        "success": float(ok.mean()),
        "claimed": float(found.success.mean()),
        "most starts": int(found.starts.max()),
        "iterations": float(found.iterations.mean()),
        **first_answers(arm, T[0]),
        "others": compare(arm, robot, T[:some]) if some else {},
    }


def show_arms(results: dict[str, Any]) -> None:
    for name, r in results.items():
        print(
            f"  {name:8} {r['batch us']:6.2f} us in a batch, {r['call us']:5.1f} in a "
            f"call; {100 * r['success']:.3f}% solved, {r['most starts']} starts at "
            f"most, {r['iterations']:.1f} iterations; first answer {r['cold']:.2f} s, "
            f"cached {r['cached']:.2f}"
        )
        for other, x in r["others"].items():
            ratio = x["us"] / r["batch us"]
            print(
                f"    {other}: {x['us']:,.0f} us, {100 * x['success']:.1f}%: "
                f"{ratio:,.0f} x"
            )


# ------------------------------------------------------------ humanoids


class Humanoid(NamedTuple):
    """A standing humanoid: its stance by joint, its feet and a hand."""

    file: str
    stance: dict[str, float]
    feet: tuple[str, str]
    hand: str
    lock: str = "\0"


HUMANOIDS = {
    "g1": Humanoid(
        "g1_description/g1_29dof_rev_1_0.urdf",
        {"_hip_pitch_joint": -0.3, "_knee_joint": 0.6, "_ankle_pitch_joint": -0.3,
         "_elbow_joint": 0.3},
        ("left_ankle_roll_link", "right_ankle_roll_link"),
        "right_rubber_hand",
    ),
    "talos": Humanoid(
        "talos_data/talos_full_v2.urdf",
        {"leg_left_3_joint": -0.4, "leg_right_3_joint": -0.4, "leg_left_4_joint": 0.8,
         "leg_right_4_joint": 0.8, "leg_left_5_joint": -0.4, "leg_right_5_joint": -0.4,
         "arm_left_4_joint": -1.0, "arm_right_4_joint": -1.0},
        ("leg_left_6_link", "leg_right_6_link"),
        "arm_right_7_link",
        "gripper",
    ),
}  # fmt: skip


def standing(one: Humanoid, path: Path) -> tuple[Robot, Any]:
    robot = quietly(path, root="floating")
    names = [n for n in robot.joint_names if one.lock in n]
    robot = robot.lock(dict.fromkeys(names, 0.0)) if names else robot
    q = robot.clamp()
    for name in robot.joint_names:
        for end, x in one.stance.items():
            if name.endswith(end):
                q[robot.joint(name).q_index] = x
    return robot, q


def pink_humanoid(
    robot: Robot, one: Humanoid, path: Path, q0: Any, hands: Any, centers: Any
) -> dict[str, float]:
    """Return time and success of Pink with the same goals, from the same start."""
    pink: Any = importlib.import_module("pink")
    pin: Any = importlib.import_module("pinocchio")
    model = pinocchio_model(path, "floating")
    if one.lock != "\0":
        ids = [k for k, n in enumerate(model.names) if one.lock in n]
        model = pin.buildReducedModel(model, ids, pin.neutral(model))
    data = model.createData()
    del robot
    solved, start = 0, time.process_time()
    for T, c in zip(hands, centers, strict=True):
        here = pink.Configuration(model, data, q0)
        feet = [pink.tasks.FrameTask(f, 100.0, 100.0) for f in one.feet]
        for task in feet:
            task.set_target_from_configuration(here)
        hand = pink.tasks.FrameTask(one.hand, 1.0, 1.0, lm_damping=1e-3)
        hand.set_target(pin.SE3(T[:3, :3], T[:3, 3]))
        center = pink.tasks.ComTask([1.0, 1.0, 0.0])
        center.set_target(c)
        for _ in range(MOST):
            e, f = hand.compute_error(here), center.compute_error(here)
            off = [np.abs(t.compute_error(here)).max() for t in feet]
            is_there = np.linalg.norm(e[:3]) < METERS and np.linalg.norm(f[:2]) < METERS
            if is_there and np.linalg.norm(e[3:]) < RADIANS and max(off) < METERS:
                solved += 1
                break
            tasks = [*feet, hand, center]
            v = pink.solve_ik(here, tasks, 1.0, solver="daqp", safety_break=False)
            here.integrate_inplace(v, 1.0)
    n = len(hands)
    return {"us": 1e6 * (time.process_time() - start) / n, "success": solved / n}


def measure_humanoid(one: Humanoid, path: Path, n: int, some: int) -> dict[str, Any]:
    robot, q0 = standing(one, path)
    rng = np.random.default_rng(0)
    steps = np.zeros((n, robot.nv))
    moving = [
        robot.joint(x).v_index for x in robot.joint_names if not x.startswith("root")
    ]
    steps[:, moving] = rng.normal(scale=0.2, size=(n, len(moving)))
    # Targets that can be reached: both feet held while the rest moves.
    posture = robot.clamp(robot.integrate(np.tile(q0, (n, 1)), steps))
    free = robot.inverse_kinematics(
        {Task(one.hand, "position"): robot.pose(posture, one.hand)},
        q0,
        constraints=one.feet,
        starts=1,
    )
    hands, centers = robot.pose(free.q, one.hand), robot.center_of_mass(free.q)
    goals = {one.hand: hands, CenterOfMass(("x", "y")): centers}

    def solve(k: Any = slice(None)) -> Any:
        chosen = {g: x[k] for g, x in goals.items()}
        return robot.inverse_kinematics(chosen, q0, constraints=one.feet, starts=1)

    solve(slice(64))
    start = time.process_time()
    found = solve()
    seconds = (time.process_time() - start) / n
    result: dict[str, Any] = {
        "us": 1e6 * seconds,
        "success": float(found.success.mean()),
        "largest error of a foot": float(found.gap.max()),
        "others": {},
    }
    try:
        other = pink_humanoid(robot, one, path, q0, hands[:some], centers[:some])
        result["others"]["Pink"] = other
    except ImportError as error:
        print(f"    Pink: skipped ({error})", file=sys.stderr)
    return result


FRAMES = (
    "pelvis", "torso_link", "left_hip_roll_link", "right_hip_roll_link",
    "left_knee_link", "right_knee_link", "left_ankle_roll_link",
    "right_ankle_roll_link", "left_shoulder_roll_link", "right_shoulder_roll_link",
    "left_elbow_link", "right_elbow_link", "left_wrist_yaw_link",
    "right_wrist_yaw_link",
)  # fmt: skip


def measure_retargeting(path: Path, clips: int, frames: int) -> dict[str, float]:
    robot, q0 = standing(HUMANOIDS["g1"], path)
    rng = np.random.default_rng(0)
    width, speed = (
        rng.uniform(-0.4, 0.4, (clips, robot.nv)),
        rng.uniform(1, 4, (clips, 1)),
    )
    start = np.tile(q0, (clips, 1))
    times = np.arange(frames) / 30
    q = [robot.clamp(robot.integrate(start, width * np.sin(speed * t))) for t in times]
    motion = np.stack(q, axis=1)
    flat = motion.reshape(-1, robot.nq)
    targets = {f: robot.pose(flat, f).reshape(clips, frames, 4, 4) for f in FRAMES}
    robot.track(targets, motion[:, 0], dt=1 / 30)
    begin = time.process_time()
    found = robot.track(targets, motion[:, 0], dt=1 / 30)
    seconds = time.process_time() - begin
    return {
        "frames a second": clips * frames / seconds,
        "success": float(found.success.mean()),
        "largest error": float(found.parts.max()),
    }


# ------------------------------------------------------------ loops


def measure_loops(n: int) -> dict[str, dict[str, float]]:
    robots: dict[str, tuple[Robot, str, tuple[str, ...]]] = {
        "delta": (delta(), "platform", ()),
        "hexapod": (hexapod(), "platform", ()),
    }
    for name, frame, held in (
        ("cassie", "left-foot", ("right-foot",)),
        ("toddlerbot_2xc", "left_hand", ("left_foot_center", "right_foot_center")),
    ):
        path = SHARED_ROBOTS / name / f"{name}.xml"
        if path.exists():
            robots[name] = (quietly(path), frame, held)
    found: dict[str, dict[str, float]] = {}
    for name, (robot, frame, held) in robots.items():
        q0 = robot.assemble(robot.keyframes.get("home", robot.clamp()))
        rng = np.random.default_rng(0)
        p = robot.pose(q0, frame)[:3, 3] + rng.uniform(-0.08, 0.08, (n, 3))
        goal = {Task(frame, "position"): p}
        solve = lambda: robot.inverse_kinematics(goal, q0, constraints=held, starts=3)  # noqa: B023, E731
        solve()
        start = time.process_time()
        x = solve()
        beyond = np.maximum(robot.limits.lower - x.q, x.q - robot.limits.upper)
        found[name] = {
            "us": 1e6 * (time.process_time() - start) / n,
            "success": float(x.success.mean()),
            "loops": float(np.abs(robot.constraint_residual(x.q)).max()),
            "limits": float(max(beyond.max(), 0.0)),
        }
    return found


def main() -> None:
    parser = options(__doc__ or "")
    parser.add_argument("--only", choices=("arms", "humanoids", "retargeting", "loops"))
    given = parser.parse_args()
    quick, only, show = given.quick, given.only, not given.json
    found, result = files(), dict[str, Any]()
    if only in (None, "arms"):
        sizes = (2000, 5) if quick else (100_000, 100)
        result["arms"] = {n: measure_arm(arm, *sizes) for n, arm in arms().items()}
        if show:
            print("arms")
            show_arms(result["arms"])
    if only in (None, "humanoids"):
        sizes = (200, 3) if quick else (10_000, 50)
        result["humanoids"] = {
            name: measure_humanoid(one, found[one.file], *sizes)
            for name, one in HUMANOIDS.items()
            if one.file in found
        }
        if show:
            print("humanoids", json.dumps(result["humanoids"], indent=2))
    g1 = found.get(HUMANOIDS["g1"].file)
    if only in (None, "retargeting") and g1 is not None:
        result["retargeting"] = measure_retargeting(
            g1, *((64, 10) if quick else (256, 100))
        )
        if show:
            print("retargeting", json.dumps(result["retargeting"], indent=2))
    if only in (None, "loops"):
        result["loops"] = measure_loops(50 if quick else 1000)
        if show:
            print("loops", json.dumps(result["loops"], indent=2))
    report(
        result,
        given.json,
        "pin",
        "roboticstoolbox-python",
        "pin-pink",
        "mink",
        "mujoco",
    )


if __name__ == "__main__":
    main()
