"""Drive a car over a bump and through a lane change, faster than real time.

The HMMWV of Negrut, Serban & Potra (1997): a chassis on double wishbones, closed by 8
loops, with springs, dampers, tires and a rack that steers. Prints how it rides and how
many times faster than real time it is computed; pictures/vehicle.py draws the run.
"""

import time

import numpy as np

import ramidyn

DT, STEPS, SPEED, RADIUS = 1e-3, 10_000, 15.0, 0.455
BUMP, HEIGHT = (30.0, 32.0), 0.08  # where it is along the road, and how high [m]
TURN, AMPLITUDE = (4.5, 7.0), 0.0097  # when the rack moves [s], and how far [m]
CORNERS = [f"{side}_{end}" for end in ("front", "rear") for side in ("left", "right")]


def road(x, _y):
    """Return the height of the ground: a bump across a flat road."""
    phase = 2 * np.pi * (x - BUMP[0]) / (BUMP[1] - BUMP[0])
    bump = 0.5 * HEIGHT * (1.0 - ramidyn.math.cos(phase))
    on_bump = ramidyn.math.where(x < BUMP[1], bump, 0.0)
    return ramidyn.math.where(x > BUMP[0], on_bump, 0.0)


robot = ramidyn.robots.hmmwv(suspension=True, tires=True, steering=True, ground=road)
axles = [robot.joint(f"{corner}_axle").v_index for corner in CORNERS]
wheels = np.isin(np.arange(robot.nv), axles)


def cruise(qd):
    """Return axle torques that keep the speed."""
    return np.where(wheels, 2000.0 * (SPEED - qd[0]), 0.0)


t = DT * np.arange(STEPS)
sine = np.sin(2 * np.pi * (t - TURN[0]) / (TURN[1] - TURN[0]))
rack = np.where((t > TURN[0]) & (t < TURN[1]), -AMPLITUDE * sine, 0.0)[:, None]
qd = np.where(wheels, SPEED / RADIUS, 0.0)
qd[0] = SPEED
options = {"integrator": "rk4", "stabilize": "partition", "record": ("residual",)}
options |= {"policy": cruise, "inputs": {"control": rack}, "dt": DT, "every": 10}
run = robot.rollout(robot.neutral(), qd, **options)  # the first call compiles
start = time.perf_counter()
run = robot.rollout(robot.neutral(), qd, **options)
spent = time.perf_counter() - start

x, y, z = run.q[:, :3].T
g = np.gradient(np.gradient(z, run.times), run.times) / 9.81
print(f"bump: the chassis rises {1000 * z.max():.0f} mm, {np.abs(g).max():.2f} g")
print(f"lane change: {y[-1]:.2f} m to the left at {run.qd[:, 0].mean():.1f} m/s")
print(f"loops are closed within {run.residual.max():.0e} m")
print(
    f"{run.times[-1]:.0f} s in {spent:.3f} s: {run.times[-1] / spent:.0f} x real time"
)
