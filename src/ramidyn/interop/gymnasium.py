"""Gymnasium vector environments: thousands of robots, one native call a step.

Observation, reward, termination and reset are functions of symbols, as in
`Robot.rollout`: they are traced once and compiled with the dynamics.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, cast, final

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from ramidyn.description.forces.inputs import CONTROL, actuators
from ramidyn.errors import ArgumentError, ShapeError
from ramidyn.function import Function
from ramidyn.kernels import kernel
from ramidyn.simulation.arguments import check_arguments
from ramidyn.simulation.compiled_step import CompiledStep, compiled_step
from ramidyn.simulation.inputs import per_state
from ramidyn.simulation.state import COUNT, ENDED, SEED, STATE_NUMBER
from ramidyn.simulation.traced_step import RANDOM, wanted_names
from ramidyn.symbolic.random_numbers import Random, seed_parts

if TYPE_CHECKING:
    from ramidyn.robot import Robot

Array = npt.NDArray[Any]
Traced = Callable[..., Any]
ACTION: Final = "action"
LONG_AGO: Final = 1e300


@final
class RobotVectorEnv(VectorEnv):  # pyright: ignore[reportMissingTypeArgument]
    """Many copies of a robot as one Gymnasium vector environment.

    An episode that ended begins again with the next step (autoreset mode NEXT_STEP):
    that step ignores its action, and its reward is 0. A state that is not finite ends
    its episode. All functions are traced, see `Robot.rollout`; each takes what it names
    of q, qd, time, dt, action, the names in ``inputs``, ``memory`` and ``parameters``,
    and, after ``reset`` is called with a seed, ``random``.

    Args:
        robot: the robot.
        num_envs: how many copies.
        observe: what the agent sees, (n,): a function of q, qd and memory.
        reward: a function that returns a number at the start of each time step; the
            reward of an action is their mean.
        reset: a function of ``random`` that returns where an episode begins: a dict
            with any of q, qd and memory.
        terminated: condition on the state that ends an episode, such as falling.
        act: what an action does: a function of it that returns tau, or a dict as
            policies do. By default the action is ``control`` of the robot's actuators.
        action_range: least and largest actions, each (n,); by default the ranges of the
            robot's actuators.
        dt: time step [s].
        steps: time steps of an action.
        max_episode_steps: actions after which an episode is truncated.
        memory: start values of what functions remember, as in `Robot.rollout`.
        updates: functions that change it.
        inputs: further inputs, as in `Robot.rollout`.
        parameters: numbers of the robot, as in `Robot.rollout`.
        integrator: as in `Robot.rollout`.
        threads: number of threads that share the copies.
    """

    metadata = {  # noqa: RUF012  as Gymnasium declares it
        "render_modes": [],
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(
        self,
        robot: Robot,
        num_envs: int,
        *,
        observe: Traced,
        reward: Traced,
        reset: Traced,
        terminated: Traced | None = None,
        act: Traced | None = None,
        action_range: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
        dt: float = 1e-3,
        steps: int = 10,
        max_episode_steps: int = 1000,
        memory: Mapping[str, Any] | None = None,
        updates: Mapping[str, Traced] | None = None,
        inputs: Mapping[str, Any] | None = None,
        parameters: Mapping[str, Any] | None = None,
        integrator: str = "semi_implicit_euler",
        threads: int = 1,
    ) -> None:
        for name, value in (("num_envs", num_envs), ("steps", steps)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
                raise ArgumentError(f"{name} is {value!r}; expected 1 or more")
        if max_episode_steps < 1:
            raise ArgumentError(
                f"max_episode_steps is {max_episode_steps!r}; expected 1 or more"
            )
        low, high = _bounds(robot, act, action_range)
        self.robot = robot
        self.num_envs = num_envs
        self._steps, self._longest = steps, max_episode_steps
        q = np.broadcast_to(robot.neutral(), (num_envs, robot.nq))
        arguments = check_arguments(
            robot,
            "rollout",
            q,
            None,
            None,
            dt,
            integrator=integrator,
            policy=_drive if act is None else act,
            inputs={
                **(inputs or {}),
                ACTION: per_state(np.zeros((num_envs, len(low)))),
            },
            record=(),
            every=steps,
            until=terminated if terminated is not None else _never,
            parameters=parameters,
            stabilize="project",
            rate=20.0,
            start=0.0,
            steps=steps,
            total={"reward": reward},
            seed=0,
            memory=memory,
            updates=updates,
            threads=threads,
        )
        self._values: dict[str, Any] = dict(arguments.values)
        self._compiled: CompiledStep = compiled_step(robot, arguments.options)
        self._shapes: dict[str, tuple[int, ...]] = {
            "q": (robot.nq,),
            "qd": (robot.nv,),
            **dict(arguments.options.memory),
        }
        first = self._compiled.first_inputs(self._values)
        entries = self._compiled.step.state
        self._first: dict[str, Array] = {
            e.name: np.array(np.broadcast_to(first[e.name], (num_envs, *e.shape)))
            for e in entries
        }
        self._observe = self._kernel("observe", observe, self._shapes)
        self._reset_kernel = self._reset_function(reset)
        size = self._observed().shape[1:]
        self.single_observation_space = Box(-np.inf, np.inf, size, np.float64)
        self.single_action_space = Box(low, high, dtype=np.float64)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._is_done: npt.NDArray[np.bool_] = np.zeros(num_envs, dtype=bool)
        self._age: npt.NDArray[np.int64] = np.zeros(num_envs, dtype=np.int64)
        self._episodes: Array = np.zeros(num_envs)
        self._is_begun = False

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: Any = None
    ) -> tuple[Array, dict[str, Any]]:
        """Begin new episodes; return what is observed, and nothing else to know."""
        if not (seed is None or isinstance(seed, int)):
            raise ArgumentError(f"seed is {seed!r}; expected an integer or None")
        super().reset(seed=seed, options=options)
        number = int(self.np_random.integers(2**63))
        self._values[SEED] = np.array(seed_parts(number))
        self._episodes[:] = 0.0
        self._values |= {n: np.array(x) for n, x in self._first.items()}
        self._begin(np.arange(self.num_envs))
        self._is_begun = True
        return self._observed(), {}

    def step(
        self, actions: npt.ArrayLike
    ) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """Act for some time steps.

        Returns:
            Observations, rewards, what is terminated, what is truncated, and a dict
            without entries.
        """
        if not self._is_begun:
            raise ArgumentError("step is called before reset; call reset first")
        given = np.asarray(actions, dtype=float)
        expected = self._values[ACTION].shape[::2]
        if given.shape != expected:
            raise ShapeError(f"actions have shape {given.shape}; expected {expected}")
        again = np.flatnonzero(self._is_done)
        values = {**self._values, ACTION: given[:, None], "sum reward": 0.0}
        run = self._compiled.run(values, self._steps, self._steps)
        assert run.end is not None
        self._values |= run.end.values
        self._age += 1
        rewards = run.totals["reward"] / self._steps
        q, qd = run.end.q, run.end.qd
        sums = q @ np.ones(q.shape[1]) + qd @ np.ones(qd.shape[1])
        terminated = np.isfinite(run.totals["ended"]) | ~np.isfinite(sums)
        truncated = ~terminated & (self._age >= self._longest)
        if len(again):
            self._begin(again)
            rewards[again] = 0.0
            terminated[again] = truncated[again] = False
        self._is_done = terminated | truncated
        return self._observed(), rewards, terminated, truncated, {}

    def _begin(self, which: npt.NDArray[np.intp]) -> None:
        """Begin episodes of some copies."""
        seeds = self._values[SEED], which.astype(float), self._episodes[which]
        drawn = self._reset_kernel(*seeds)
        results = [drawn] if len(self._begun) == 1 else list(drawn)
        found = dict(zip(self._begun, results, strict=True))
        for entry in self._compiled.step.state:
            if entry.name not in (COUNT, STATE_NUMBER):
                first = found.get(entry.name, self._first[entry.name][which])
                self._values[entry.name][which] = first
        self._values[ENDED][which] = np.inf
        self._age[which] = 0
        self._episodes[which] += 1.0

    def _observed(self) -> Array:
        known = self._values if hasattr(self, "_is_begun") else self._first
        return np.array(self._observe(*[known[n] for n in self._seen]))

    def _kernel(
        self, what: str, function: Traced, shapes: Mapping[str, tuple[int, ...]]
    ) -> Function:
        """Return a function of the state, compiled."""
        self._seen: list[str] = wanted_names(what, function, shapes)
        taken = {n: shapes[n] for n in self._seen}

        def vector(*values: Any) -> Any:
            found = np.asarray(function(**dict(zip(taken, values, strict=True))))
            if found.ndim != 1:
                raise ShapeError(
                    f"{what} returns shape {found.shape}; expected a vector (n,)"
                )
            return found

        return kernel(vector, taken, name=f"{what} of {self.robot.name}")

    def _reset_function(self, reset: Traced) -> Function:
        """Return where episodes begin: (seed, state, episode) -> q, qd, memory."""
        names = wanted_names("reset", reset, {RANDOM: None})
        self._begun: list[str] = []

        def begin(seed: Any, state: Any, episode: Any) -> dict[str, Any]:
            random = Random(seed, state, episode).of("reset")
            found: Any = reset(**({RANDOM: random} if names else {}))
            if not isinstance(found, Mapping):
                raise ArgumentError(
                    f"reset returns {type(found).__name__}; expected a dict with any "
                    f"of {', '.join(self._shapes)}"
                )
            for name, x in cast("Mapping[str, Any]", found).items():
                shape = np.asarray(x, dtype=object).shape
                if name not in self._shapes or shape != self._shapes[name]:
                    raise ArgumentError(
                        f"reset returns {name!r} of shape {shape}; possible: "
                        + ", ".join(f"{n} {s}" for n, s in self._shapes.items())
                    )
            self._begun[:] = list(cast("Mapping[str, Any]", found))
            return dict(cast("Mapping[str, Any]", found))

        shapes = {"seed": (3,), "state": (), "episode": ()}
        return kernel(begin, shapes, name=f"reset of {self.robot.name}")


def _drive(action: Any) -> dict[str, Any]:
    return {CONTROL: action}


def _never(time: Any) -> Any:
    return time < -LONG_AGO


def _bounds(
    robot: Robot, act: Traced | None, given: tuple[Any, Any] | None
) -> tuple[Array, Array]:
    """Return the least and the largest actions."""
    if given is None:
        motors = actuators(robot.model.forces)
        if act is not None or not motors:
            raise ArgumentError(
                f"action_range is missing: robot {robot.name!r} has {len(motors)} "
                f"actuators, and act is {act!r}; pass action_range=(low, high)"
            )
        ranges = [m.control_range for m in motors]
        given = [r[0] for r in ranges], [r[1] for r in ranges]
    low, high = (np.atleast_1d(np.asarray(x, dtype=float)) for x in given)
    if low.ndim != 1 or low.shape != high.shape or not (low < high).all():
        raise ArgumentError(
            f"action_range is {given!r}; expected two vectors of the same size, the "
            "first less than the second"
        )
    return low, high
