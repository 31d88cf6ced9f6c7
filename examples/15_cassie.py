"""Let Cassie stand on compliant feet through its own motors, with their limits.

python 15_cassie.py [cassie.xml]: the file of MuJoCo Menagerie, which robot_descriptions
downloads if none is given. A policy sets controls of the file's motors, whose gears and
limits apply: PD, and ankles that push against the lean of the center of mass. Prints
how it stands, how much of their limits the motors use, and the speed.
"""

import sys
import time

import numpy as np

import ramidyn

DT, STEPS, SIDES = 1e-3, 10_000, {"left": 0.1, "right": -0.1}  # hips roll outward [rad]
GAINS = {"hip-roll": (500.0, 20.0), "hip-yaw": (500.0, 10.0), "foot": (300.0, 8.0)}
GAINS |= {"hip-pitch": (3000.0, 60.0), "knee": (3000.0, 60.0)}  # [N m/rad, N m s/rad]
SOLE = ((-0.0528, 0.0926, 0.0), (0.0697, -0.0102, 0.0))  # ends of a foot's capsule [m]
CONTACT = {"radius": 0.02, "stiffness": 1e6, "friction": 0.9}

load, name = ramidyn.robots.load_description, "cassie_mj_description"
if sys.argv[1:]:
    load, name = ramidyn.load, sys.argv[1]
acting = {"passive": True, "actuators": True, "contacts": False}
robot = load(name, conventions="pinocchio", **acting)
for foot in (f"{side}-foot" for side in SIDES):
    for end in SOLE:
        sphere = {"center": end, "transition_velocity": 0.2, **CONTACT}
        robot = robot.add_force(ramidyn.forces.SphereContact(foot, **sphere))
stance = robot.keyframes["home"]
for side, outward in SIDES.items():
    stance[robot.joint(f"{side}-hip-roll").q_index] += outward
stance = robot.project(stance)
stance[2] -= (robot.pose(stance, "left-foot") @ [*SOLE[0], 1.0])[2] - CONTACT["radius"]
motors = [f for f in robot.forces if isinstance(f, ramidyn.forces.Motor)]
joints = [robot.joint(motor.joint) for motor in motors]
kp, kd = np.array([GAINS[motor.joint.split("-", 1)[1]] for motor in motors]).T
q_of, v_of = [j.q_index for j in joints], [j.v_index for j in joints]
ankles = np.array([motor.joint.endswith("foot") for motor in motors])
gears = np.array([motor.gear for motor in motors])


def stand(q, qd):
    """Return the controls of the motors, before their limits."""
    feet = sum(robot.pose(q, f"{side}-foot")[0, 3] for side in SIDES) / 2
    lean = 800.0 * (robot.center_of_mass(q)[0] - feet - 0.02) + 150.0 * qd[0]
    torque = kp * (stance[q_of] - q[q_of]) - kd * qd[v_of] - ankles * lean
    return {"control": torque / gears}


options = {"dt": DT, "steps": STEPS, "integrator": "rk4", "record": ["control"]}
for _ in range(2):  # the first time compiles
    start = time.perf_counter()
    run = robot.rollout(stance, policy=stand, **options)
    factor = STEPS * DT / (time.perf_counter() - start)
used = np.abs(run.control) / [motor.control_range[1] for motor in motors]
print(f"after 10 s: pelvis {run.q[-1, 2]:.3f} m, |qd| {np.abs(run.qd[-1]).max():.1e}")
print(f"motors use {used[-1].max():.0%} of their limits, {used.max():.0%} at most")
print(f"{factor:.0f} times faster than real time")
