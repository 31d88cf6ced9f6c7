"""Two hands put a box on the floor (Chang & Khatib 2000). Prints the servo rate."""

import sys
import time

import numpy as np

import ramify
from ramify.control import OperationalSpace

STEP, TIME, DROP = 0.001, 3.0, np.array([0.2, 0.0, -0.8, 0.0, 0.0, 0.0])
HANDS, BODY = ("left_hand", "right_hand"), ("base", "shank", "thigh", "pelvis", "chest")
BODY += ("left_shoulder_pitch", "left_forearm", "left_palm", "left_hand")
BENT = {"shank": 0.4, "thigh": -0.8, "pelvis": 0.4, "forearm": -1.4}

robot = ramify.robots.chang_khatib24("plain")
control = OperationalSpace(robot, HANDS)
velocities = [ramify.velocity(hand, "local_world_aligned") for hand in HANDS]
sense = ramify.compile([*map(ramify.pose, HANDS), *velocities], robot)

q, qd, stiff = robot.neutral(), np.zeros(robot.nv), np.zeros(robot.nv)
for k, name in enumerate(robot.joint_names):
    part, _, of_arm = name.removesuffix("_joint").partition("_")
    q[k], stiff[k] = BENT.get(of_arm or part, 0.0), 225.0 if of_arm else 16.0
home, start, log, busy = q, sense(q, qd)[:2], [], 0.0
for k in range(int((TIME + 0.5) / STEP)):
    begin = time.perf_counter()
    s = min(k * STEP / TIME, 1.0)  # a path of least jerk
    x, v = s**3 * (10 - 15 * s + 6 * s * s), 30 * (s - s * s) ** 2 / TIME
    a = 60 * s * (1 - s) * (1 - 2 * s) / TIME**2
    state, error, wanted = sense(q, qd), [], []
    for T0, T, velocity in zip(start, state[:2], state[2:], strict=True):
        turn = 0.5 * np.cross(T[:3, :3].T, T0[:3, :3].T).sum(axis=0)
        error.append(np.r_[T0[:3, 3] - T[:3, 3] + x * DROP[:3], turn])
        wanted.append(a * DROP + 60 * (v * DROP - velocity) + 900 * error[-1])
    pull = stiff * (home - q) - 2 * np.sqrt(stiff) * qd
    tau = control(q, qd, np.concatenate(wanted), pull)
    busy += (time.perf_counter() - begin) * (k > 0)
    log.append((q, q - home, tau, np.array(error), state[0][:3, 3]))
    qd = qd + STEP * robot.forward_dynamics(q, qd, tau)
    q = robot.integrate(q, qd, STEP)
states, posture, torques, error, path = map(np.array, zip(*log, strict=True))
print(f"{len(log) / busy:,.0f} servo cycles a second on one core; 300 in the paper")
print(f"hands off their paths by at most {1e3 * np.abs(error[..., :3]).max():.3f} mm")

if len(sys.argv) > 1:  # where to save the picture
    import matplotlib.pyplot as plt

    _, axes = plt.subplots(2, 2, figsize=(11, 8.5), layout="constrained")
    poses = np.array(ramify.compile([*map(ramify.pose, BODY)], robot)(states[::1100]))
    axes[0, 0].plot(poses[:, 0, 0, 3], poses[:, 0, 2, 3], "o-", color="0.8", lw=5)
    axes[0, 0].plot(poses[:, 1:, 0, 3], poses[:, 1:, 2, 3], "o-", color="0.5")
    axes[0, 0].plot(path[:, 0], path[:, 2], lw=3)
    shown = {"hands off their paths [mm]": 1e3 * np.linalg.norm(error[..., :3], axis=2)}
    shown |= {"joints off the posture [rad, m]": posture, "torques [N m, N]": torques}
    for axis, (title, lines) in zip(axes.flat[1:], shown.items(), strict=True):
        axis.plot(STEP * np.arange(len(log)), lines, lw=1.5)
        axis.set(title=title, xlabel="t [s]")
    axes[0, 0].set(title="left hand and body from the side [m]", aspect="equal")
    plt.savefig(sys.argv[1], dpi=90)
