"""The mass matrix in compressed rows and as a factor, as MuJoCo has them."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ramidyn.algorithms.matrix_layout import mass_matrix_layout
from ramidyn.compiler import compile, program_of
from ramidyn.linalg.factor import TreeMatrix, ltdl
from ramidyn.loading import load
from ramidyn.quantities.mass_matrix import (
    mass_matrix_csr,
    mass_matrix_factor,
    mass_matrix_solve,
)
from ramidyn.robot import Robot
from ramidyn.symbolic.interpreter import evaluate
from support.close import assert_close
from support.mujoco_agreement import mujoco
from support.paths import SHARED_ROBOTS
from support.random_mjcf import random_mjcf
from support.references import needs_shared_robots

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.skipif(
        not hasattr(mujoco.MjModel, "M_rownnz") or not hasattr(mujoco.MjData, "M"),
        reason="this MuJoCo has no compressed rows of M",
    ),
]

ROBOTS = {
    "humanoid": "humanoid.xml",
    "pendula": "pendula.xml",
    "shadow_hand": "right_hand.xml",
    "iiwa14": "iiwa14.xml",
}


def without_meshes(path: Path) -> Any:
    """Return MuJoCo's model; the shared robots come without their mesh files."""
    spec = mujoco.MjSpec.from_file(str(path))
    for geom in spec.geoms:
        if geom.type == mujoco.mjtGeom.mjGEOM_MESH:
            spec.delete(geom)
    for mesh in spec.meshes:
        spec.delete(mesh)
    return spec.compile()


def robot_of(source: str | Path) -> Robot:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ours, about geoms and actuators
        return load(source, conventions="mujoco")


def state(model: Any, rng: np.random.Generator) -> Any:
    """Return MuJoCo's data at a random configuration."""
    data = mujoco.MjData(model)
    mujoco.mj_integratePos(model, data.qpos, rng.normal(size=model.nv), 1.0)
    mujoco.mj_fwdPosition(model, data)
    return data


def assert_agrees(robot: Robot, model: Any, rng: np.random.Generator) -> None:
    data = state(model, rng)
    layout = mass_matrix_layout(robot.model)
    dense = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, dense)

    # MuJoCo drops what is zero of a body that moves on its own: compare by place.
    theirs = np.zeros((model.nv, model.nv), dtype=bool)
    for i in range(model.nv):
        start = model.M_rowadr[i]
        theirs[i, model.M_colind[start : start + model.M_rownnz[i]]] = True
    ours = np.zeros_like(theirs)
    ours[layout.rowind, layout.colind] = True
    assert (ours >= theirs).all()
    assert (ours == np.tril(ours)).all()

    b = rng.normal(size=model.nv)
    program = program_of(
        [
            mass_matrix_csr,
            mass_matrix_factor,
            mass_matrix_factor(packed=True),
            mass_matrix_solve,
        ],
        robot,
    )
    names = [x.name for x in program.inputs]
    given = dict(zip(names, (data.qpos, b), strict=True))
    M, L, D, LD, ours_x = evaluate(program, given).values()
    assert_close(M, dense[layout.rowind, layout.colind], "M")
    assert_close((L.T * D) @ L, dense, "L'DL")
    if (ours == theirs).all():
        rows = (model.M_rownnz, model.M_rowadr, model.M_colind)
        for own, other in zip(layout, rows, strict=True):
            assert own.tolist() == other.tolist()
        assert_close(M, data.M, "M")
        mujoco.mj_factorM(model, data)
        diagonal = layout.rowadr + layout.rownnz - 1
        assert_close(LD, data.qLD, "qLD")
        assert_close(1 / LD[diagonal], data.qLDiagInv, "qLDiagInv")
    x = np.zeros((1, model.nv))
    mujoco.mj_factorM(model, data)
    mujoco.mj_solveM(model, data, x, b[None])
    scale = np.linalg.cond(dense) * 1e-14 * np.abs(x).max() + 1e-12
    np.testing.assert_allclose(ours_x, x[0], rtol=0, atol=scale)

    # And stand-alone, from MuJoCo's own arrays.
    indptr = np.append(model.M_rowadr, len(model.M_colind))
    parents = model.dof_parentid
    alone = ltdl(TreeMatrix.from_csr(data.M, model.M_colind, indptr, parents))
    np.testing.assert_allclose(alone.solve(b), x[0], rtol=0, atol=scale)
    assert alone.logdet() == pytest.approx(-np.log(data.qLDiagInv).sum(), rel=1e-9)


@needs_shared_robots
@pytest.mark.parametrize("name", ROBOTS)
def test_shared_robot_has_mujocos_rows(name: str, rng: np.random.Generator) -> None:
    path = SHARED_ROBOTS / name / ROBOTS[name]
    assert_agrees(robot_of(path), without_meshes(path), rng)


@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(k, marks=pytest.mark.slow) for k in range(2, 8))]
)
def test_random_model_has_mujocos_rows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    text = random_mjcf(rng)
    assert_agrees(robot_of(text), mujoco.MjModel.from_xml_string(text), rng)


ARM = """
<mujoco><option><flag contact="disable"/></option><worldbody>
  <body><joint name="a" axis="0 0 1" armature="{}"/><geom size=".1" mass="1"/>
    <body pos="2 0 0">
      <joint name="b" axis="0 1 0"/><geom size=".1" mass="2" pos="1 0 0"/>
    </body>
    <body pos="0 2 0">
      <joint name="c" axis="1 0 0"/><geom size=".1" mass="2" pos="0 1 0"/>
    </body>
  </body>
</worldbody></mujoco>
"""


def test_armature_is_on_the_diagonal_as_in_mujoco(rng: np.random.Generator) -> None:
    rows: dict[float, Any] = {}
    for armature in (0.0, 0.75):
        text = ARM.format(armature)
        robot, model = robot_of(text), mujoco.MjModel.from_xml_string(text)
        assert_agrees(robot, model, rng)
        rows[armature] = compile(mass_matrix_csr, robot)(np.array([0.1, 0.2, 0.3]))
    difference = rows[0.75] - rows[0.0]
    np.testing.assert_allclose(difference, [0.75, 0, 0, 0, 0], atol=1e-15)


def test_rows_follow_the_order_of_joints() -> None:
    text = ARM.format(0.0)
    plain, turned = robot_of(text), load(text, joint_order=["c", "b", "a"])
    q = np.array([0.1, 0.2, 0.3])
    L, D = compile(mass_matrix_factor, turned)(q[::-1])
    M = compile(mass_matrix_csr, plain)(q)
    layout = mass_matrix_layout(plain.model)
    dense = np.zeros((3, 3))
    dense[layout.rowind, layout.colind] = M
    dense[layout.colind, layout.rowind] = M
    np.testing.assert_allclose((L.T * D) @ L, dense[::-1, ::-1], atol=1e-14)
    layout = mass_matrix_layout(turned.model)
    assert layout.rownnz.tolist() == [2, 2, 1]
    assert layout.colind.tolist() == [2, 0, 2, 1, 2]
    rows = compile(mass_matrix_csr, turned)(q[::-1])
    np.testing.assert_allclose(
        rows, dense[::-1, ::-1][layout.rowind, layout.colind], atol=1e-14
    )


def test_a_batch_of_states(rng: np.random.Generator) -> None:
    robot = robot_of(ARM.format(0.1))
    q, b = rng.normal(size=(2, 50, 3))
    x = compile(mass_matrix_solve, robot)(q, b)
    M = robot.mass_matrix(q)
    np.testing.assert_allclose((M @ x[..., None])[..., 0], b, atol=1e-12)
    layout = mass_matrix_layout(robot.model)
    packed = TreeMatrix(robot.tree.dof_parents, compile(mass_matrix_csr, robot)(q))
    assert packed.layout.colind.tolist() == layout.colind.tolist()
    np.testing.assert_allclose(ltdl(packed).solve(b), x, atol=1e-12)
