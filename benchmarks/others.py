"""Libraries that may be installed: Drake, CasADi's C code and JAX, by way of adam."""

from __future__ import annotations

import importlib
import logging
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ramidyn.cli.arguments import RobotFile
from ramidyn.cli.peers import State
from ramidyn.cli.peers.urdf import text_of, without_shapes
from ramidyn.robot import Robot

Call = Callable[[State], Any]


class NotCompared(Exception):  # noqa: N818  what is so, in words
    """A library that has no such call, or none that is comparable with ours."""


@dataclass(frozen=True)
class Candidate:
    """A library, how to call it, and the required agreement of its results."""

    name: str
    make: Callable[[RobotFile, Robot, str], Call]
    agreement: float = 1e-9


def urdf_of(source: RobotFile) -> tuple[str, bool]:
    """Return URDF without shapes, and whether its root floats."""
    text, root = text_of(source)
    return without_shapes(text[text.find("<robot") :]), root == "floating"


# ------------------------------------------------------------ Drake


def drake(source: RobotFile, robot: Robot, name: str) -> Call:
    """Return a call of Drake's MultibodyPlant, for robots on a fixed root."""
    plants: Any = importlib.import_module("pydrake.multibody.plant")
    parsing: Any = importlib.import_module("pydrake.multibody.parsing")
    text, is_floating = urdf_of(source)
    if is_floating:
        raise NotCompared("compared on fixed roots only: its quaternions differ")
    logging.getLogger("drake").setLevel(logging.ERROR)
    plant = plants.MultibodyPlant(0.0)
    parsing.Parser(plant).AddModelsFromString(text, "urdf")
    base = plant.GetBodyByName(robot.description.bodies[0].name)
    if base.index() != plant.world_body().index():
        plant.WeldFrames(plant.world_frame(), base.body_frame())
    plant.mutable_gravity_field().set_gravity_vector(robot.gravity)
    plant.Finalize()
    context = plant.CreateDefaultContext()
    trees: Any = importlib.import_module("pydrake.multibody.tree")
    forces = trees.MultibodyForces(plant)
    order = [plant.GetJointByName(j).velocity_start() for j in robot.joint_names]
    inverse = np.argsort(order)

    def run(s: State) -> Any:
        plant.SetPositions(context, s.q[inverse])
        plant.SetVelocities(context, s.qd[inverse])
        if name == "mass_matrix":
            return plant.CalcMassMatrix(context)[np.ix_(order, order)]
        if name == "inverse_dynamics":
            found = plant.CalcInverseDynamics(context, s.qdd[inverse], forces)
            return (found - plant.CalcGravityGeneralizedForces(context))[order]
        raise NotCompared("has no single call for forward dynamics")

    return run


# ------------------------------------------------------------ adam: CasADi, JAX


def adam_model(kind: str, source: RobotFile, robot: Robot) -> Any:
    """Return adam's computations of a robot."""
    module: Any = importlib.import_module(f"adam.{kind}")
    text, _ = urdf_of(source)
    with tempfile.NamedTemporaryFile("w", suffix=".urdf", delete=False) as file:
        file.write(text)
    model = module.KinDynComputations(file.name, list(_moving(robot)))
    adam: Any = importlib.import_module("adam")
    model.set_frame_velocity_representation(
        adam.Representations.BODY_FIXED_REPRESENTATION
    )
    return model


def _moving(robot: Robot) -> tuple[str, ...]:
    is_floating = robot.model.joints[0].type == "floating"
    return robot.joint_names[1:] if is_floating else robot.joint_names


def casadi_c(source: RobotFile, robot: Robot, name: str) -> Call:
    """Return CasADi's function of the mass matrix, compiled from its generated C."""
    casadi: Any = importlib.import_module("casadi")
    if name != "mass_matrix":
        raise NotCompared("compared on the mass matrix, which all have alike")
    model = adam_model("casadi", source, robot)
    f = model.mass_matrix_fun()
    n = len(_moving(robot))
    if shutil.which("cc") is not None:
        folder = Path(tempfile.mkdtemp())
        f.generate("mass_matrix.c")
        Path("mass_matrix.c").replace(folder / "mass_matrix.c")
        library = folder / "mass_matrix.so"
        flags = ["-O3", "-march=native", "-shared", "-fPIC"]
        subprocess.run(
            ["cc", *flags, str(folder / "mass_matrix.c"), "-o", str(library)],
            check=True,
        )
        f = casadi.external(f.name(), str(library))
    return _adam_call(lambda T, q: np.array(f(T, q)), n, robot)


def jax(source: RobotFile, robot: Robot, name: str) -> Call:
    """Return JAX's jitted mass matrix, in double precision."""
    if name != "mass_matrix":
        raise NotCompared("compared on the mass matrix, which all have alike")
    library: Any = importlib.import_module("jax")
    library.config.update("jax_enable_x64", True)
    model = adam_model("jax", source, robot)
    f = library.jit(model.mass_matrix)
    n = len(_moving(robot))
    return _adam_call(lambda T, q: np.asarray(f(T, q)), n, robot)


def _adam_call(f: Callable[[Any, Any], Any], n: int, robot: Robot) -> Call:
    """Return a call that takes our state; adam's base is always free."""
    is_floating = robot.nv == n + 6

    def run(s: State) -> Any:
        T = np.eye(4)
        if is_floating:
            x, y, z, w = s.q[3:7]
            T[:3, :3] = [
                [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
                [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
                [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
            ]
            T[:3, 3] = s.q[:3]
        found = f(T, s.q[robot.nq - n :])
        return found if is_floating else found[6:, 6:]

    return run


OTHERS = (
    Candidate("drake", drake),
    Candidate("casadi, C -O3 (adam)", casadi_c, 1e-6),
    Candidate("jax, jitted (adam)", jax, 1e-6),
)
