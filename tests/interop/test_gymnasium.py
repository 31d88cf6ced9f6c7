"""The vector environment does what a rollout does, and what Gymnasium asks for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ramidyn import ArgumentError, ShapeError, math
from ramidyn.builder import Body, Inertia, Joint, RobotBuilder
from ramidyn.forces import Motor
from ramidyn.robot import Robot

gymnasium: Any = pytest.importorskip("gymnasium", reason="gymnasium is absent")

DT, COPIES = 0.02, 7


@pytest.fixture(scope="module")
def cart_pole() -> Robot:
    builder = RobotBuilder("cart_pole")
    cart, pole = (
        Inertia.from_box(1.0, (0.3, 0.2, 0.1)),
        Inertia.from_box(0.1, (0.02, 0.02, 1.0), at=(0, 0, 0.5)),
    )
    builder.add(Body("cart", cart), "world", Joint.prismatic((1, 0, 0)))
    builder.add(Body("pole", pole), "cart", Joint.revolute((0, 1, 0)))
    robot = Robot.from_description(builder.description())
    slide = robot.model.joints[0].name
    return robot.add_force(Motor(slide, gear=10.0, control_range=(-1, 1), name="motor"))


def observe(q: Any, qd: Any) -> Any:
    return np.concatenate([q, qd])


def begin(random: Any) -> Any:
    return {"q": random.uniform(2, -0.05, 0.05), "qd": random.normal(2, 0.0, 0.05)}


def has_fallen(q: Any) -> Any:
    return math.absolute(q[1]) > 0.2


def cost(q: Any, action: Any) -> Any:
    return 1.0 - q[1] * q[1] - 0.1 * action[0] * action[0]


def environment(robot: Robot, num_envs: int = COPIES, **options: Any) -> Any:
    from ramidyn.interop.gymnasium import RobotVectorEnv  # noqa: PLC0415  if it is there

    options = {
        "observe": observe,
        "reward": cost,
        "reset": begin,
        "terminated": has_fallen,
        "dt": DT,
        "steps": 2,
        "max_episode_steps": 30,
        **options,
    }
    return RobotVectorEnv(robot, num_envs, **options)


def test_steps_are_those_of_a_rollout(cart_pole: Robot) -> None:
    env = environment(cart_pole, terminated=None)
    seen, _ = env.reset(seed=3)
    actions = np.random.default_rng(0).uniform(-2, 2, size=(6, COPIES, 1))
    control = np.repeat(np.moveaxis(actions, 0, 1), 2, axis=1)
    inputs = {"control": control}
    run = cart_pole.rollout(seen[:, :2], seen[:, 2:], dt=DT, inputs=inputs)
    for k, action in enumerate(actions):
        seen, rewards, terminated, truncated, infos = env.step(action)
        there = np.concatenate([run.q, run.qd], axis=-1)[:, 2 * k + 2]
        np.testing.assert_allclose(seen, there, atol=1e-12)
        angles = run.q[:, 2 * k : 2 * k + 2, 1]
        expected = (1.0 - angles**2).mean(axis=1) - 0.1 * action[:, 0] ** 2
        np.testing.assert_allclose(rewards, expected, atol=1e-12)
        assert not terminated.any()
        assert not truncated.any()
        assert infos == {}


def test_an_episode_that_ended_begins_with_the_next_step(cart_pole: Robot) -> None:
    env = environment(cart_pole, max_episode_steps=25)
    seen, _ = env.reset(seed=1)
    first, ended, ages = seen.copy(), np.zeros(COPIES, dtype=bool), np.zeros(COPIES)
    reasons = np.zeros(2, dtype=int)
    for k in range(80):
        action = np.where(
            np.arange(COPIES)[:, None] < 4, 1.0, 8.0 * seen[:, 1:2] + 2.0 * seen[:, 3:]
        )
        seen, rewards, terminated, truncated, _ = env.step(action)
        ages = np.where(ended, 0, ages + 1)
        assert (rewards[ended] == 0.0).all(), k
        assert (np.abs(seen[ended, :2]) <= 0.05).all()
        assert not (terminated | truncated)[ended].any()
        fallen = np.abs(seen[:, 1]) > 0.2
        np.testing.assert_array_equal(terminated & ~ended, fallen & ~ended)
        np.testing.assert_array_equal(truncated, (ages >= 25) & ~terminated)
        ended = terminated | truncated
        reasons += [terminated.sum(), truncated.sum()]
    assert (reasons > 3).all()
    again, _ = env.reset(seed=1)
    np.testing.assert_array_equal(again, first)
    other, _ = env.reset(seed=2)
    assert not np.isin(other, first).any()


def test_functions_remember_and_draw(cart_pole: Robot) -> None:
    env = environment(
        cart_pole,
        memory={"count": 0.0},
        updates={"count": lambda count: count + 1.0},
        observe=lambda q, count: np.array([q[1], count]),
        act=lambda action, random: {"control": action + random.normal(1, 0.0, 0.1)},
        action_range=([-1.0], [1.0]),
        max_episode_steps=3,
    )
    runs = []
    for _ in range(2):
        env.reset(seed=7)
        steps = [env.step(np.zeros((COPIES, 1)))[0] for _ in range(6)]
        runs.append(np.array(steps))
    np.testing.assert_array_equal(runs[0], runs[1])
    counts = runs[0][:, :, 1]
    np.testing.assert_array_equal(counts[:, 0], [2, 4, 6, 0, 2, 4])
    assert len(np.unique(runs[0][:, :, 0])) == runs[0][:, :, 0].size


class One(gymnasium.Env):  # type: ignore[misc, name-defined]
    """One copy, as Gymnasium's checker wants it."""

    def __init__(self, env: Any) -> None:
        self.env = env
        self.observation_space = env.single_observation_space
        self.action_space = env.single_action_space

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        seen, infos = self.env.reset(seed=seed, options=options)
        return seen[0], infos

    def step(self, action: Any) -> Any:
        seen, reward, terminated, truncated, infos = self.env.step(action[None])
        return seen[0], float(reward[0]), bool(terminated[0]), bool(truncated[0]), infos


@pytest.mark.filterwarnings("ignore:.*WARN")
def test_the_checker_of_gymnasium_passes(cart_pole: Robot) -> None:
    from gymnasium.utils.env_checker import check_env  # noqa: PLC0415  if it is there

    check_env(One(environment(cart_pole, 1)), skip_render_check=True)


def test_wrappers_of_gymnasium_work(cart_pole: Robot) -> None:
    wrapped = gymnasium.wrappers.vector.RecordEpisodeStatistics(environment(cart_pole))
    wrapped.reset(seed=0)
    infos: dict[str, Any] = {}
    for _ in range(40):
        actions = np.ones((COPIES, 1))
        infos |= wrapped.step(actions)[-1]
    assert infos["episode"]["l"].max() > 1
    assert wrapped.action_space.shape == (COPIES, 1)
    assert wrapped.observation_space.shape == (COPIES, 4)


def test_bad_environments_are_refused(cart_pole: Robot) -> None:
    env = environment(cart_pole)
    with pytest.raises(
        ArgumentError, match="step is called before reset; call reset f"
    ):
        env.step(np.zeros((COPIES, 1)))
    with pytest.raises(
        ArgumentError, match=r"seed is \[1\]; expected an integer or No"
    ):
        env.reset(seed=[1])
    env.reset(seed=0)
    with pytest.raises(
        ShapeError, match=r"actions have shape \(3,\); expected \(7, 1\)"
    ):
        env.step(np.zeros(3))
    bad: list[tuple[dict[str, Any], str]] = [
        ({"steps": 0}, "steps is 0; expected 1 or more"),
        ({"num_envs": 2.5}, "num_envs is 2.5; expected 1 or more"),
        ({"max_episode_steps": 0}, "max_episode_steps is 0; expected 1 or more"),
        (
            {"act": lambda action: action},
            "action_range is missing: robot 'cart_pole' h",
        ),
        (
            {"action_range": ([1.0], [-1.0])},
            r"action_range is .*; expected two vectors",
        ),
        ({"reset": lambda: 3}, "reset returns int; expected a dict with any of q, qd"),
        (
            {"reset": lambda: {"q": np.zeros(3)}},
            r"reset returns 'q' of shape \(3,\); po",
        ),
        ({"reset": lambda q: {"q": q}}, "reset asks for 'q', which is not given"),
    ]
    for options, message in bad:
        with pytest.raises(ArgumentError, match=message):
            environment(cart_pole, **options)
    with pytest.raises(
        ShapeError, match=r"observe returns shape \(\); expected a vect"
    ):
        environment(cart_pole, observe=lambda q: q[0])
