"""Two hands put a box on the floor (Chang & Khatib 2000). Prints the servo rate.

Half of the box's mass is on each hand, and the controller's model includes it. The arms
are light and reach down first; legs and hip follow when the elbows are almost straight,
after 0.9 s, as the torques show. ``pictures/operational_space.py`` plots it.
"""

import time

import numpy as np

import ramidyn
from ramidyn.builder import Body, Inertia, RobotBuilder
from ramidyn.control import OperationalSpace

STEP, TIME, AHEAD, MASS, BOX = 0.001, 3.0, 0.15, 4.0, (0.3, 0.4, 0.3)
HANDS = ("left_hand", "right_hand")
BENT = {"shank": 0.7, "thigh": -1.6, "pelvis": 1.2, "shoulder_pitch": -0.3}
BENT |= {"forearm": -1.4}  # already crouching, so legs and hip follow smoothly

half, robot = RobotBuilder("half"), ramidyn.robots.chang_khatib24("plain")
half.add(Body("half", Inertia.from_point(MASS / 2)))
for hand in HANDS:
    robot = robot.attach(half.description(), hand, prefix=f"{hand}_")
ALIGNED = "local_world_aligned"
control = OperationalSpace(
    robot, [ramidyn.tasks.Task(h, "pose", ALIGNED) for h in HANDS]
)
velocities = [ramidyn.velocity(hand, ALIGNED) for hand in HANDS]
sense = ramidyn.compile([*map(ramidyn.pose, HANDS), *velocities], robot)

q, qd, log, busy = robot.neutral(), np.zeros(robot.nv), [], 0.0
stiff = np.where(np.arange(robot.nv) < 8, 16.0, 400.0)  # base, legs and trunk are soft
for k, name in enumerate(robot.joint_names):
    part, _, of_arm = name.removesuffix("_joint").partition("_")
    q[k] = BENT.get(of_arm or part, 0.0)
home, start = q, sense(q, qd)[:2]
way = np.array([AHEAD, 0.0, BOX[2] / 2 - start[0][2, 3], 0.0, 0.0, 0.0])
for k in range(int((TIME + 0.5) / STEP)):
    begin = time.perf_counter()
    s = min(k * STEP / TIME, 1.0)  # a minimum-jerk path
    x, v = s**3 * (10 - 15 * s + 6 * s * s), 30 * (s - s * s) ** 2 / TIME
    a = 60 * s * (1 - s) * (1 - 2 * s) / TIME**2
    state, error, wanted = sense(q, qd), [], []
    for T0, T, velocity in zip(start, state[:2], state[2:], strict=True):
        turn = 0.5 * np.cross(T[:3, :3].T, T0[:3, :3].T).sum(axis=0)
        error.append(np.r_[T0[:3, 3] - T[:3, 3] + x * way[:3], turn])
        wanted.append(a * way + 60 * (v * way - velocity) + 900 * error[-1])
    pull = stiff * (home - q) - 2 * np.sqrt(stiff) * qd
    tau = control(q, qd, np.concatenate(wanted), pull)
    busy += (time.perf_counter() - begin) * (k > 0)
    log.append((q, q - home, tau, [1e3 * np.linalg.norm(e[:3]) for e in error]))
    qd = qd + STEP * robot.forward_dynamics(q, qd, tau)
    q = robot.integrate(q, qd, STEP)
states, posture, torques, errors = map(np.array, zip(*log, strict=True))
above = 1e3 * (sense(q, qd)[0][2, 3] - BOX[2] / 2)

print(f"{len(log) / busy:,.0f} servo cycles per second on one core; 300 in the paper")
print(f"hands deviate from their paths by at most {errors.max():.3f} mm")
print(f"the {MASS:g} kg box ends {above:+.3f} mm above the floor")
