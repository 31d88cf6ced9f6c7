"""Learn to balance a cart-pole: 256 networks are tried in each native call.

Every state of a rollout has weights of its own, starts at random, and is pushed at
random. The best networks of a generation are the mean of the next one. Prints the mean
reward of a step over the generations (1 is perfect), and how long it took.
"""

import time

import numpy as np

import ramidyn
from ramidyn import math, policies
from ramidyn.builder import Body, Inertia, Joint, RobotBuilder

DT, STEPS, NETWORKS, BEST, GENERATIONS = 0.02, 250, 256, 32, 60


def cart_pole() -> ramidyn.Robot:
    """Return a cart on a rail, driven by a motor of 10 N, with a pole on it."""
    builder = RobotBuilder("cart_pole")
    cart = Inertia.from_box(1.0, (0.3, 0.2, 0.1))
    pole = Inertia.from_box(0.1, (0.02, 0.02, 1.0), at=(0, 0, 0.5))
    rail, hinge = Joint.prismatic((1, 0, 0)), Joint.revolute((0, 1, 0))
    builder.add(Body("cart", cart), "world", rail)
    builder.add(Body("pole", pole), "cart", hinge)
    robot = builder.robot()
    rail_name = robot.model.joints[0].name
    motor = ramidyn.forces.Motor(rail_name, gear=10.0, control_range=(-1.0, 1.0))
    return robot.add_force(motor, name="motor")


def act(y, random):
    """Drive the motor, and push the pole."""
    push = np.concatenate([random.normal(3, 0.0, 0.1), np.zeros(3)])
    return {"control": y, "external": {"pole": push}}


robot, rng = cart_pole(), np.random.default_rng(0)
shapes = [((16, 4), (16,)), ((1, 16), (1,))]
zero = [tuple(np.zeros(shape) for shape in layer) for layer in shapes]
policy = policies.network(zero, lambda q, qd: np.concatenate([q, qd]), act)
mean = {n: np.zeros(x.value.shape) for n, x in policy.inputs.items()}
spread = {n: np.full(x.shape, 1.0) for n, x in mean.items()}
reward = {"reward": lambda q: math.exp(-20.0 * q[1] * q[1] - 0.5 * q[0] * q[0])}
begin = time.perf_counter()
for generation in range(GENERATIONS):
    tried = {n: rng.normal(x, spread[n], (NETWORKS, *x.shape)) for n, x in mean.items()}
    inputs = {n: policies.per_state(x) for n, x in tried.items()}
    q, qd = rng.uniform(-0.1, 0.1, size=(2, NETWORKS, 2))
    options = {"dt": DT, "steps": STEPS, "every": STEPS, "total": reward}
    run = robot.rollout(q, qd, policy=policy, inputs=inputs, seed=generation, **options)
    best = np.argsort(run.reward)[-BEST:]
    mean = {n: x[best].mean(axis=0) for n, x in tried.items()}
    spread = {n: x[best].std(axis=0) + 0.03 for n, x in tried.items()}
    if generation % 20 == 0 or generation == GENERATIONS - 1:
        print(f"generation {generation:2}: mean {run.reward.mean() / STEPS:.3f}")
print(f"{GENERATIONS * NETWORKS} episodes in {time.perf_counter() - begin:.1f} s")
