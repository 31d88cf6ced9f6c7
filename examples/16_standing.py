"""Drop 256 quadrupeds on rigid ground, where they stand under PD control.

Their knees have hard limits. Prints how many stand after 2 s, how far a foot moves in
the last 0.5 s, the force of the ground over the weight, and the steps a second.
"""

import time

import numpy as np

import ramidyn
from ramidyn.builder import Body, Inertia, Joint, RobotBuilder

DT, STEPS, BATCH, LINK, KP, KD = 1e-3, 2000, 256, 0.2, 150.0, 6.0
BEND = np.tile([0.0, 0.7, -1.4], 4)  # hip, thigh and knee of each leg [rad]
LEGS = {"front_left": (0.2, 0.12), "front_right": (0.2, -0.12)}
LEGS |= {"rear_left": (-0.2, 0.12), "rear_right": (-0.2, -0.12)}


def quadruped() -> ramidyn.Robot:
    """Return a trunk on four legs of three joints, with rigid feet."""
    builder = RobotBuilder("quadruped")
    trunk = Body("trunk", Inertia.from_box(8.0, (0.4, 0.2, 0.1)))
    builder.add(trunk, joint=Joint.floating())
    rod = Inertia.from_box(0.4, (0.03, 0.03, LINK), at=(0, 0, -LINK / 2))
    abduct, swing = (Joint.revolute(x, armature=0.02) for x in ((1, 0, 0), (0, 1, 0)))
    bend = Joint.revolute((0, 1, 0), armature=0.02, limits=(-2.5, -0.3))
    for leg, at in LEGS.items():
        hip, thigh, shank = (f"{leg}_{part}" for part in ("hip", "thigh", "shank"))
        builder.add(Body(hip, rod), "trunk", abduct, (*at, 0))
        builder.add(Body(thigh, rod), hip, swing)
        builder.add(Body(shank, rod), thigh, bend, (0, 0, -LINK))
    robot = builder.robot().add_hard_limits()
    sole = {"radius": 0.02, "center": (0, 0, -LINK), "friction": 0.8}
    for leg in LEGS:
        foot = ramidyn.contacts.ContactSphere(f"{leg}_shank", **sole)
        robot = robot.add_contact(foot, name=f"{leg}_foot")
    return robot.add_frame("foot", "front_left_shank", (0, 0, -LINK))


def stand(q, qd):
    """Return torques that hold the legs; nothing drives the trunk."""
    return np.concatenate([np.zeros(6), KP * (BEND - q[7:]) - KD * qd[6:]])


robot, rng = quadruped(), np.random.default_rng(0)
q = np.tile([0, 0, 0, 0, 0, 0, 1, *BEND], (BATCH, 1))
q[:, 2] = rng.uniform(0.35, 0.45, BATCH)
qd = np.pad(0.2 * rng.normal(size=(BATCH, 3)), ((0, 0), (0, 15)))
how = {"policy": stand, "every": 100, "record": ["contact_forces"]}
for _ in range(2):  # the first time compiles
    start = time.perf_counter()
    run = robot.rollout(q, qd, dt=DT, steps=STEPS, **how)
    spent = time.perf_counter() - start
before, after = (robot.pose(run.q[:, row].copy(), "foot")[:, :3, 3] for row in (15, -1))
load = run.recorded["contact_forces"][:, -1, :, 2].sum(axis=1) / (9.81 * robot.mass)
print(f"{(run.q[:, -1, 2] > 0.25).sum()} of {BATCH} stand")
print(f"a foot moves by {1e3 * np.abs(after - before).max():.2g} mm at most")
print(f"force over weight: {load.mean():.5f}")
print(f"{BATCH * STEPS / spent:.2g} steps a second")
