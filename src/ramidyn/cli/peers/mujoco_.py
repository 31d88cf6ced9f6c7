"""MuJoCo with the same robot: no contacts, constraints or passive forces."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ramidyn.cli.arguments import RobotFile
from ramidyn.cli.peers import Answer, PeerError, State
from ramidyn.cli.peers.urdf import text_of, without_shapes
from ramidyn.description.pose import Array
from ramidyn.quantities import dynamics, frames, mass_matrix
from ramidyn.robot import Robot

mujoco: Any = importlib.import_module("mujoco")

NEEDS_FILES = ("mjGEOM_MESH", "mjGEOM_HFIELD", "mjGEOM_SDF")


def load(source: RobotFile) -> MuJoCo:
    """Return MuJoCo with the robot of a file in it."""
    text, root = text_of(source)
    ours = source.tree(conventions="mujoco", mimic="independent")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            spec = _spec(text, root, source, ours)
            spec.compiler.fusestatic = False
            spec.compiler.balanceinertia = False
            model = spec.compile()
    except Exception as error:
        reason = " ".join(str(error).split())
        raise PeerError(f"it cannot read the robot: {reason}") from None
    model.opt.gravity[:] = ours.gravity
    flags = mujoco.mjtDisableBit
    for flag in ("CONSTRAINT", "CONTACT", "ACTUATION", "SENSOR", "SPRING", "DAMPER"):
        model.opt.disableflags |= int(getattr(flags, f"mjDSBL_{flag}", 0))
    return MuJoCo(ours, model)


def _spec(text: str, root: str | None, source: RobotFile, ours: Robot) -> Any:
    if "<mujoco" in text and "<robot" not in text:
        spec = mujoco.MjSpec.from_file(str(source.path))
        _strip(spec)
        if root is not None:
            raise PeerError("--root is for URDF files")
        return spec
    spec = mujoco.MjSpec.from_string(without_shapes(text[text.find("<robot") :]))
    if root == "floating":
        joint = spec.worldbody.first_body().add_freejoint()
        joint.name = ours.joint_names[0]
    elif root == "planar":
        raise PeerError("it has no planar joints")
    return spec


def _strip(spec: Any) -> None:
    """Remove what needs files that may not be there."""
    kinds = [getattr(mujoco.mjtGeom, name) for name in NEEDS_FILES]
    for geom in list(spec.geoms):
        if geom.type in kinds or geom.meshname:
            spec.delete(geom)
    for kind in ("skins", "hfields", "textures", "meshes", "sensors", "pairs"):
        for item in list(getattr(spec, kind)):
            spec.delete(item)
    for kind in ("geoms", "sites", "tendons"):
        for item in getattr(spec, kind):
            item.material = ""
    for material in list(spec.materials):
        spec.delete(material)


class MuJoCo:
    """MuJoCo, with states and results in Ramidyn's order of joints."""

    name = "mujoco"

    def __init__(self, robot: Robot, model: Any) -> None:
        self.version: str = mujoco.__version__
        self.robot = robot
        self.model = model
        self.data: Any = mujoco.MjData(model)
        q, v = np.zeros(robot.nq, dtype=int), np.zeros(robot.nv, dtype=int)
        if (model.nq, model.nv) != (robot.nq, robot.nv):
            raise PeerError(f"it has {model.nv} degrees of freedom, Ramidyn {robot.nv}")
        for place, joint in enumerate(robot.model.joints):
            k = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, joint.name)
            if k < 0 and not model.joint(place).name:
                k = place  # without a name, in the order of the file
            if k < 0:
                raise PeerError(f"it has no joint {joint.name!r}")
            first, entry = model.jnt_qposadr[k], model.jnt_dofadr[k]
            q[joint.q_index : joint.q_index + joint.nq] = first + np.arange(joint.nq)
            v[joint.v_index : joint.v_index + joint.nv] = entry + np.arange(joint.nv)
        self._q, self._v = q, v

    def _set(self, s: State, qd: bool = True) -> None:
        d = self.data
        d.qpos[self._q] = s.q
        d.qvel[self._v] = s.qd if qd else 0.0
        d.qacc[self._v] = s.qdd
        for stage in ("kinematics", "comPos", "crb", "makeM", "comVel"):
            getattr(mujoco, f"mj_{stage}")(self.model, d)

    def _matrix(self, s: State) -> Array:
        self._set(s)
        full = np.zeros((self.model.nv, self.model.nv))
        try:
            mujoco.mj_fullM(self.model, self.data, full)
        except TypeError:  # the order of arguments before MuJoCo 4
            mujoco.mj_fullM(self.model, full, self.data.qM)
        return full[np.ix_(self._v, self._v)]

    def _bias(self, s: State, qd: bool = True) -> Array:
        self._set(s, qd)
        out = np.zeros(self.model.nv)
        mujoco.mj_rne(self.model, self.data, 0, out)
        return out[self._v]

    def _inverse(self, s: State) -> Array:
        bias = self._bias(s)
        out = np.zeros(self.model.nv)
        mujoco.mj_mulM(self.model, self.data, out, self.data.qacc)
        return out[self._v] + bias

    def _forward(self, s: State) -> Array:
        force = s.tau - self._bias(s)
        mujoco.mj_factorM(self.model, self.data)
        given = np.zeros(self.model.nv)
        given[self._v] = force
        out = np.zeros((1, self.model.nv))
        mujoco.mj_solveM(self.model, self.data, out, given[None])
        return out[0][self._v]

    def answers(self, frames: Sequence[str]) -> list[Answer]:
        """Return what can be compared."""

        def gravity(s: State) -> Array:
            return self._bias(s, qd=False)

        found = [
            Answer(dynamics.inverse_dynamics, self._inverse),
            Answer(dynamics.forward_dynamics, self._forward),
            Answer(mass_matrix.mass_matrix, self._matrix),
            Answer(dynamics.bias_forces, self._bias),
            Answer(dynamics.gravity_forces, gravity),
        ]
        for name in frames:
            k = mujoco.mj_name2id(self.model, mujoco.mjtObj.mjOBJ_BODY, name)
            if k >= 0:
                found += self._frame_answers(name, k)
        return found

    def _frame_answers(self, name: str, k: int) -> list[Answer]:
        m, d = self.model, self.data

        def pose(s: State) -> Array:
            self._set(s)
            out = np.eye(4)
            out[:3, :3], out[:3, 3] = d.xmat[k].reshape(3, 3), d.xpos[k]
            return out

        def jacobian(s: State) -> Array:
            self._set(s)
            out = np.zeros((6, m.nv))
            mujoco.mj_jacBody(m, d, out[:3], out[3:], k)
            return out[:, self._v]

        aligned = frames.jacobian(name, "local_world_aligned")
        return [Answer(frames.pose(name), pose), Answer(aligned, jacobian)]

    def caller(self, name: str, state: State) -> Callable[[], Any] | None:
        """Return the fastest call for one state; the state is copied at each."""
        m, d = self.model, self.data
        x = [np.zeros(m.nq), np.zeros(m.nv), np.zeros(m.nv), np.zeros(m.nv)]
        x[0][self._q] = state.q
        for k, part in enumerate((state.qd, state.qdd, state.tau), 1):
            x[k][self._v] = part
        q, qd, qdd, tau = x
        out = np.zeros(m.nv)
        position, velocity, applied = d.qpos, d.qvel, d.qfrc_applied

        def forward() -> None:
            position[:] = q
            velocity[:] = qd
            applied[:] = tau
            mujoco.mj_forward(m, d)

        def matrix() -> None:
            position[:] = q
            mujoco.mj_kinematics(m, d)
            mujoco.mj_comPos(m, d)
            mujoco.mj_makeM(m, d)

        def inverse() -> None:
            position[:] = q
            velocity[:] = qd
            d.qacc[:] = qdd
            mujoco.mj_kinematics(m, d)
            mujoco.mj_comPos(m, d)
            mujoco.mj_comVel(m, d)
            mujoco.mj_rne(m, d, 1, out)

        calls = {"forward_dynamics": forward, "mass_matrix": matrix}
        return {**calls, "inverse_dynamics": inverse}.get(name)

    def roller(
        self, state: State, steps: int, dt: float
    ) -> Callable[[Array], Array] | None:
        """Return mujoco.rollout of a batch, in one thread, by semi-implicit steps."""
        native: Any = importlib.import_module("mujoco.rollout")
        m, batch, kinds = self.model, len(state), mujoco.mjtState
        m.opt.timestep, m.opt.integrator = dt, mujoco.mjtIntegrator.mjINT_EULER
        m.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_EULERDAMP)
        size = mujoco.mj_stateSize(m, kinds.mjSTATE_FULLPHYSICS)
        first, kept = np.zeros((batch, size)), np.zeros((batch, steps, size))
        first[:, 1 + self._q] = state.q
        first[:, 1 + m.nq + self._v] = state.qd
        applied = np.zeros((batch, steps, m.nv))
        spec = int(kinds.mjSTATE_QFRC_APPLIED)
        is_ordered = self._v.tolist() == list(range(m.nv))

        def roll(tau: Array) -> Array:
            forces = tau
            if not is_ordered:
                applied[:, :, self._v] = tau
                forces = applied
            native.rollout(m, self.data, first, forces, control_spec=spec, state=kept)
            return kept[:, :, 1 + self._q]

        return roll
