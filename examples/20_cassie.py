"""Let Cassie stand on compliant feet, with its leaf springs and closed loops, under PD.

python 20_cassie.py [cassie.xml]: the file of MuJoCo Menagerie, which robot_descriptions
downloads if none is given. Motors hold a posture, and ankles push against the lean of
the center of mass. Prints how it stands and how much faster than real time that is.
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
robot = load(name, passive=True, actuators=False, contacts=False)
for foot in (f"{side}-foot" for side in SIDES):
    for end in SOLE:
        sphere = {"center": end, "transition_velocity": 0.2, **CONTACT}
        robot = robot.add_force(ramidyn.forces.SphereContact(foot, **sphere))
stance, (target, kp, kd, ankles) = robot.keyframes["home"], np.zeros((4, robot.nv))
for side, outward in SIDES.items():
    stance[robot.joint(f"{side}-hip-roll").q_index] += outward
stance = robot.project(stance)
stance[2] -= (robot.pose(stance, "left-foot") @ [*SOLE[0], 1.0])[2] - CONTACT["radius"]
place = np.zeros(robot.nv, dtype=int)
for side in SIDES:
    for name, (stiffness, damping) in GAINS.items():
        joint = robot.joint(f"{side}-{name}")
        k, place[joint.v_index] = joint.v_index, joint.q_index
        target[k], kp[k], kd[k] = stance[joint.q_index], stiffness, damping
        ankles[k] = name == "foot"


def stand(q, qd):
    """Return torques of the motors; joints without one have no gains."""
    feet = sum(robot.pose(q, f"{side}-foot")[0, 3] for side in SIDES) / 2
    lean = 800.0 * (robot.center_of_mass(q)[0] - feet - 0.02) + 150.0 * qd[0]
    return kp * (target - q[place]) - kd * qd - ankles * lean


for _ in range(2):  # the first time compiles
    start = time.perf_counter()
    run = robot.rollout(stance, policy=stand, dt=DT, steps=STEPS, integrator="rk4")
    factor = STEPS * DT / (time.perf_counter() - start)
print(
    f"after 10 s: pelvis {run.q[-1, 2]:.3f} m high, |qd| {np.abs(run.qd[-1]).max():.1e}"
)
print(f"{factor:.0f} times faster than real time")
