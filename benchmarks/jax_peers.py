"""Forward dynamics and its gradient inside JAX, beside libraries written in JAX.

    python benchmarks/jax_peers.py [--robots xarm7 g1] [--quick] [--json]

The robots have a fixed base. Libraries are measured where they are installed:

    pip install adam-robotics frax mujoco-mjx

All are called through jax.jit, in float64, on the CPU; the gradient is that of a
weighted sum of the accelerations with respect to q, qd and tau, with its value. Values
agree to 1e-9 and gradients to 1e-8 of the largest entry. Seconds to compile are those
of the first call: tracing and XLA, ours with LLVM, nothing from a cache. XLA uses one
thread. adam computes the mass matrix and the bias forces of a floating base, whose
joints' part is solved; of MJX only the stages that qacc_smooth needs are called.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from machine import best, best_call, options, report
from robots import files

BATCH = 4096
ROBOTS = {
    "xarm7": "xarm_description/xarm7.urdf",
    "g1": "g1_description/g1_29dof_rev_1_0.urdf",
}


def main() -> None:
    parser = options(__doc__ or "")
    parser.add_argument("--robots", nargs="+", default=list(ROBOTS), choices=ROBOTS)
    parser.add_argument("--libraries", nargs="+", default=list(LIBRARIES))
    given = parser.parse_args()
    if importlib.util.find_spec("jax") is None:
        print("JAX is not installed: nothing to measure (pip install 'ramidyn[jax]')")
        return
    paths = files()
    os.environ["RAMIDYN_CACHE_DIR"] = tempfile.mkdtemp()  # compile times are cold
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")
    import jax  # noqa: PLC0415  an extra

    jax.config.update("jax_enable_x64", True)
    warnings.simplefilter("ignore")  # advice of the libraries
    robots = given.robots[:1] if given.quick else given.robots
    names = ["ramidyn", "frax"] if given.quick else given.libraries
    found: dict[str, Any] = {}
    for robot in robots:
        if ROBOTS[robot] not in paths:
            print(f"{robot} is missing: pip install example-robot-data")
            continue
        found[robot] = compared(jax, str(paths[ROBOTS[robot]]), names, given.quick)
        if not given.json:
            show(robot, found[robot])
    report(
        {"jax_peers": found}, given.json, "jax", "adam-robotics", "frax", "mujoco-mjx"
    )


def compared(
    jax: Any, path: str, names: list[str], quick: bool
) -> dict[str, dict[str, float]]:
    """Return the figures of every library that is there."""
    import ramidyn  # noqa: PLC0415  after its cache is chosen

    robot = ramidyn.load(path, joint_order="file")
    rng = np.random.default_rng(0)
    states = [jax.numpy.asarray(x) for x in rng.normal(size=(3, BATCH, robot.nv))]
    weights = jax.numpy.asarray(rng.normal(size=robot.nv))
    rows: dict[str, dict[str, float]] = {}
    expected: list[Any] = []
    for name in names:
        module, make = LIBRARIES[name]
        if importlib.util.find_spec(module) is None:
            continue
        try:
            dynamics = make(jax, robot, path)
            row, outcome = measured(jax, dynamics, states, weights, quick)
        except Exception as error:
            if name == "ramidyn":
                raise
            print(f"{name} failed: {error}", file=sys.stderr)
            continue
        rows[name] = row
        expected = expected or outcome
        for mine, its, close in zip(expected, outcome, (1e-9, 1e-8), strict=True):
            scale = np.abs(mine).max()
            np.testing.assert_allclose(its, mine, rtol=0.0, atol=close * scale)
    return rows


def measured(
    jax: Any, dynamics: Callable[..., Any], states: list[Any], weights: Any, quick: bool
) -> tuple[dict[str, float], list[Any]]:
    """Return the times of one library, and its values and gradients."""
    seconds = 0.05 if quick else 1.0

    def weighted(*x: Any) -> Any:
        return (dynamics(*x) * weights).sum()

    value = jax.jit(dynamics)
    gradient = jax.jit(jax.value_and_grad(weighted, argnums=(0, 1, 2)))
    one, row, outcome = [x[0] for x in states], {}, []
    for name, f in (("value", value), ("gradient", gradient)):
        start = time.perf_counter()
        found = jax.block_until_ready(f(*one))
        row[f"{name}: compile [s]"] = time.perf_counter() - start
        outcome.append(np.asarray(found) if name == "value" else np.stack(found[1]))
        batched = jax.jit(jax.vmap(f))

        def call(f: Any = f) -> None:
            jax.block_until_ready(f(*one))

        def batch(f: Any = batched) -> None:
            jax.block_until_ready(f(*states))

        row[f"{name}: one call [us]"] = best_call(call, seconds) * 1e6
        try:
            row[f"{name}: batch [us a state]"] = best(batch, seconds) * 1e6 / BATCH
        except Exception as error:
            print(f"no batch: {error}", file=sys.stderr)
            row[f"{name}: batch [us a state]"] = float("nan")
    return row, outcome


# ------------------------------------------------------------ forward dynamics of each


def of_ramidyn(_: Any, robot: Any, __: str) -> Callable[..., Any]:
    import ramidyn  # noqa: PLC0415  after its cache is chosen

    return ramidyn.to_jax(ramidyn.compile(ramidyn.forward_dynamics, robot))


def of_frax(_: Any, robot: Any, path: str) -> Callable[..., Any]:
    from frax.core.robot import Robot  # noqa: PLC0415  may be absent

    model = Robot(path, joint_ordering=list(robot.joint_names))
    return lambda q, qd, tau: model.forward_dynamics(q, qd, tau, None)


def of_adam(jax: Any, robot: Any, path: str) -> Callable[..., Any]:
    from adam.jax import KinDynComputations  # noqa: PLC0415  may be absent

    jnp = jax.numpy
    down = jnp.array([0.0, 0.0, -9.81, 0.0, 0.0, 0.0])
    model = KinDynComputations(path, list(robot.joint_names), gravity=down)

    def dynamics(q: Any, qd: Any, tau: Any) -> Any:
        base, rest = jnp.eye(4), jnp.zeros(6)
        M = model.mass_matrix(base, q)[6:, 6:]
        bias = model.bias_force(base, q, rest, qd)[6:]
        return jnp.linalg.solve(M, tau - bias)

    return dynamics


def of_mjx(_: Any, robot: Any, __: str) -> Callable[..., Any]:
    import mujoco  # noqa: PLC0415  may be absent
    from mujoco import mjx  # noqa: PLC0415  may be absent

    from ramidyn.cli.peers.urdf import urdf  # noqa: PLC0415  after its cache is chosen

    model = mujoco.MjModel.from_xml_string(urdf(robot.description))  # without meshes
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    there = mjx.put_model(model)
    empty = mjx.make_data(there)

    def dynamics(q: Any, qd: Any, tau: Any) -> Any:
        data = empty.replace(qpos=q, qvel=qd, qfrc_applied=tau)
        stages = (mjx.kinematics, mjx.com_pos, mjx.crb, mjx.factor_m)
        for stage in (*stages, mjx.com_vel, mjx.rne, mjx.fwd_acceleration):
            data = stage(there, data)
        return data.qacc_smooth

    return dynamics


LIBRARIES = {
    "ramidyn": ("jax", of_ramidyn),
    "frax": ("frax", of_frax),
    "adam": ("adam", of_adam),
    "mjx": ("mujoco.mjx", of_mjx),
}
"""the module that must be there, and its forward dynamics"""


def show(robot: str, rows: dict[str, dict[str, float]]) -> None:
    """Print a table, a line per library."""
    columns = list(next(iter(rows.values())))
    print(f"\n{robot}")
    print(f"| library | {' | '.join(columns)} |")
    print(f"|---{'|---:' * len(columns)}|")
    for name, row in rows.items():
        print(f"| {name} | {' | '.join(f'{row[c]:.3g}' for c in columns)} |")


if __name__ == "__main__":
    main()
