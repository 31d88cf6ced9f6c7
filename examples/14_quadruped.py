"""Drop 256 quadrupeds on compliant ground, where they stand under PD control.

Each starts at another height, tilt and speed. Prints how many stand after two seconds,
the force of the ground over the weight, and how many steps a second are computed.
"""

import time

import numpy as np

import ramidyn
from ramidyn.builder import Body, Inertia, Joint, RobotBuilder

DT, STEPS, BATCH, LINK, KP, KD = 1e-3, 2000, 256, 0.2, 150.0, 4.0
BEND = np.tile([0.0, 0.7, -1.4], 4)  # hip, thigh and knee of each leg [rad]
LEGS = {"front_left": (0.2, 0.12), "front_right": (0.2, -0.12)}
LEGS |= {"rear_left": (-0.2, 0.12), "rear_right": (-0.2, -0.12)}
CONTACT = {"radius": 0.02, "center": (0, 0, -LINK), "stiffness": 1e6, "friction": 0.8}


def quadruped() -> ramidyn.Robot:
    """Return a trunk on four legs of three joints, with contacts at the feet."""
    builder = RobotBuilder("quadruped")
    trunk = Body("trunk", Inertia.from_box(8.0, (0.4, 0.2, 0.1)))
    builder.add(trunk, joint=Joint.floating())
    rod = Inertia.from_box(0.4, (0.03, 0.03, LINK), at=(0, 0, -LINK / 2))
    for leg, at in LEGS.items():
        hip, thigh, shank = (f"{leg}_{part}" for part in ("hip", "thigh", "shank"))
        builder.add(Body(hip, rod), "trunk", Joint.revolute((1, 0, 0)), (*at, 0))
        builder.add(Body(thigh, rod), hip, Joint.revolute((0, 1, 0)))
        builder.add(Body(shank, rod), thigh, Joint.revolute((0, 1, 0)), (0, 0, -LINK))
    robot = builder.robot()
    for leg in LEGS:
        foot = ramidyn.forces.SphereContact(f"{leg}_shank", dissipation=1.0, **CONTACT)
        robot = robot.add_force(foot)
    return robot


def stand(q, qd):
    """Return torques that hold the legs; nothing drives the trunk."""
    return np.concatenate([np.zeros(6), KP * (BEND - q[7:]) - KD * qd[6:]])


robot, rng = quadruped(), np.random.default_rng(0)
tilt, speed = 0.1 * rng.normal(size=(BATCH, 3)), 0.3 * rng.normal(size=(BATCH, 3))
q = np.tile([0, 0, 0, 0, 0, 0, 1, *BEND], (BATCH, 1))
q[:, 2] = rng.uniform(0.35, 0.45, BATCH)
q = robot.integrate(q, np.pad(tilt, ((0, 0), (3, 12))))
qd = np.pad(speed, ((0, 0), (0, 15)))
for _ in range(2):  # the first time compiles
    start, how = time.perf_counter(), {"integrator": "implicit", "every": 20}
    run = robot.rollout(q, qd, dt=DT, steps=STEPS, policy=stand, **how)
    spent = time.perf_counter() - start
stands = run.q[:, -1, 2] > 0.25
q, qd = run.q[stands, -1], run.qd[stands, -1]
up = robot.pose(q, "trunk")[:, 2, :3]  # the world's z in the trunk's axes
load = (up * robot.applied_forces(q, qd)[:, :3]).sum(axis=1) / (9.81 * robot.mass)
print(f"{stands.sum()} of {BATCH} stand, {q[:, 2].mean():.3f} m high")
print(f"ground force over weight: {load.mean():.4f}")
print(f"{BATCH * STEPS / spent / 1e6:.1f} million steps a second")
