"""Networks inside rollouts, and Gymnasium vector environments beside Gymnasium's own.

    python benchmarks/policies.py [--quick] [--json] [--batch N]

A policy network with two hidden layers of 64 drives Go2 of example-robot-data, in the
air and on its feet (rigid contacts, PD besides): the time of a rollout with it over
that without it, one core, the shortest processor times of both in turns. Its output is
checked against NumPy to 1e-12 first.

Environments: a cart-pole and Go2 as `RobotVectorEnv`, whole steps with random actions
from Python, beside InvertedPendulum-v5 and Ant-v5 of gymnasium.make_vec (MuJoCo,
"sync", eight copies). The pendulums have no contacts. The quadrupeds are not the same
robot, and contacts are not the same either: Go2 has four rigid feet, Ant MuJoCo's soft
contacts.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from contact import DROPS, loaded, policy_of, pose, starts, with_feet
from machine import options, report

import ramidyn
from ramidyn import math, policies
from ramidyn.builder import Body, Inertia, Joint, RobotBuilder
from ramidyn.robot import Robot

DT, STEPS, HIDDEN = 1e-3, 50, 64
MINE, THEIRS = 4096, 8
DROP = DROPS["go2"]


def observe(q: Any, qd: Any) -> Any:
    return np.concatenate([q, qd])


def layers_of(robot: Robot) -> list[tuple[Any, Any]]:
    """Return random weights of a network from the state to the joints."""
    rng = np.random.default_rng(0)
    sizes = (robot.nq + robot.nv, HIDDEN, HIDDEN, robot.nv - 6)
    return [
        (rng.normal(size=(m, n)) / np.sqrt(n), 0.1 * rng.normal(size=m))
        for n, m in pairwise(sizes)
    ]


def network_ratio(
    robot: Robot, activation: str, dtype: str, batch: int, turns: int
) -> dict[str, Any]:
    """Return the times of a rollout without and with the network."""
    held = policy_of(robot, DROP)
    layers = layers_of(robot)

    def act(y: Any, q: Any, qd: Any) -> Any:
        return held(q, qd) + np.concatenate([np.zeros(6), y])

    policy = policies.network(layers, observe, act, activation=activation)
    plain: dict[str, Any] = {"dt": DT, "steps": STEPS, "every": STEPS, "dtype": dtype}
    driven = {**plain, "policy": policy, "inputs": policy.inputs}
    plain["policy"] = held
    q, qd = starts(robot, DROP, batch)
    check(robot, layers, activation, driven, q[0], qd[0], dtype)
    runs = [robot.rollout(q, qd, **how) for how in (plain, driven)]
    best = [np.inf, np.inf]
    for _ in range(turns):
        for k, how in enumerate((plain, driven)):
            begin = time.process_time()
            robot.rollout(q, qd, out=runs[k], **how)
            best[k] = min(best[k], time.process_time() - begin)
    without, with_network = (1e6 * t / batch / STEPS for t in best)
    return {
        "activation": activation,
        "dtype": dtype,
        "without": without,
        "with": with_network,
        "ratio": with_network / without,
    }


def check(
    robot: Robot,
    layers: list[tuple[Any, Any]],
    activation: str,
    how: dict[str, Any],
    q: Any,
    qd: Any,
    dtype: str,
) -> None:
    """Check the network's output."""
    run = robot.rollout(q, qd, **{**how, "every": 1, "record": ["tau"]})
    x = np.concatenate([run.q, run.qd], axis=-1).astype(float)
    for k, (W, b) in enumerate(layers):
        x = x @ W.T + b
        if k < len(layers) - 1:
            x = np.tanh(x) if activation == "tanh" else np.maximum(x, 0.0)
    held = policy_of(robot, DROP)
    pd = np.array([held(*s) for s in zip(run.q, run.qd, strict=True)], dtype=float)
    error = np.abs(run.tau[:, 6:] - pd[:, 6:] - x).max()
    assert error < (1e-12 if dtype == "float64" else 1e-3) * max(1.0, np.abs(pd).max())


# ------------------------------------------------------------ environments


def cart_pole() -> Robot:
    """Return a cart-pole with a motor."""
    builder = RobotBuilder("cart_pole")
    cart = Inertia.from_box(1.0, (0.3, 0.2, 0.1))
    pole = Inertia.from_box(0.1, (0.02, 0.02, 1.0), at=(0, 0, 0.5))
    builder.add(Body("cart", cart), "world", Joint.prismatic((1, 0, 0)))
    builder.add(Body("pole", pole), "cart", Joint.revolute((0, 1, 0)))
    robot = builder.robot()
    rail = robot.model.joints[0].name
    motor = ramidyn.forces.Motor(rail, gear=10.0, control_range=(-1.0, 1.0))
    return robot.add_force(motor, name="motor")


def environments(batch: int) -> dict[str, Callable[[], Any]]:
    """Return what makes each environment, by name."""
    import gymnasium  # noqa: PLC0415  the peer

    from ramidyn.interop.gymnasium import RobotVectorEnv  # noqa: PLC0415  needs it

    go2 = with_feet(loaded("go2"), DROP)
    held, rest, n = policy_of(go2, DROP), pose(go2, DROP), go2.nv - 6

    def mine_cart_pole() -> Any:
        return RobotVectorEnv(
            cart_pole(),
            batch,
            observe=observe,
            reward=lambda q, action: 1.0 - q[1] * q[1] - 0.1 * action[0] * action[0],
            reset=lambda random: {"q": random.uniform(2, -0.01, 0.01)},
            terminated=lambda q: math.absolute(q[1]) > 0.2,
            dt=0.02,
            steps=2,
        )

    def act(action: Any, q: Any, qd: Any) -> Any:
        return held(q, qd) + np.concatenate([np.zeros(6), action])

    def mine_go2() -> Any:
        return RobotVectorEnv(
            go2,
            batch,
            observe=observe,
            reward=lambda qd, action: qd[0] - 0.01 * (action @ action),
            reset=lambda random: {"q": rest, "qd": random.normal(go2.nv, 0.0, 0.1)},
            terminated=lambda q: q[2] < 0.15,
            act=act,
            action_range=(-np.ones(n), np.ones(n)),
            dt=0.002,
            steps=5,
        )

    def theirs(name: str) -> Callable[[], Any]:
        return lambda: gymnasium.make_vec(name, THEIRS, vectorization_mode="sync")

    return {
        "cart-pole (2 steps of 20 ms)": mine_cart_pole,
        "InvertedPendulum-v5": theirs("InvertedPendulum-v5"),
        "Go2 on rigid feet (5 steps of 2 ms)": mine_go2,
        "Ant-v5": theirs("Ant-v5"),
    }


def steps_a_second(env: Any, seconds: float) -> dict[str, float]:
    """Return whole steps of single robots a second, end to end."""
    env.reset(seed=0)
    actions = env.action_space.sample()
    env.step(actions)
    begin, count = time.perf_counter(), 0
    while time.perf_counter() - begin < seconds:
        env.step(actions)
        count += 1
    spent = time.perf_counter() - begin
    return {
        "copies": env.num_envs,
        "steps_a_second": count * env.num_envs / spent,
        "milliseconds_a_call": 1e3 * spent / count,
    }


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--batch", type=int, default=MINE)
    chosen = parser.parse_args()
    batch, turns, seconds = (32, 1, 0.2) if chosen.quick else (chosen.batch, 9, 5.0)
    results: dict[str, Any] = {"networks": [], "environments": {}}
    go2 = loaded("go2")
    for where, robot in (("in the air", go2), ("on its feet", with_feet(go2, DROP))):
        for activation in ("relu",) if chosen.quick else ("relu", "tanh"):
            for dtype in ("float64",) if chosen.quick else ("float64", "float32"):
                found = network_ratio(robot, activation, dtype, batch, turns)
                results["networks"].append({"where": where, **found})
                if not chosen.json:
                    print(
                        f"{where}, {activation}, {dtype}: {found['without']:.3f} us a "
                        f"state and step, with the network {found['with']:.3f} us: "
                        f"{found['ratio']:.2f} x",
                        flush=True,
                    )
    for name, make in environments(batch).items():
        found = steps_a_second(make(), seconds)
        results["environments"][name] = found
        if not chosen.json:
            print(
                f"{name}: {found['copies']} copies, {found['steps_a_second']:,.0f} "
                f"steps a second, {found['milliseconds_a_call']:.2f} ms a call",
                flush=True,
            )
    report(results, chosen.json, "gymnasium", "mujoco")


if __name__ == "__main__":
    main()
