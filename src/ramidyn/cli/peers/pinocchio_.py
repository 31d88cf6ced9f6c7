"""Pinocchio with the same robot."""

from __future__ import annotations

import importlib
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np

from ramidyn.cli.arguments import RobotFile
from ramidyn.cli.peers import Answer, PeerError, State
from ramidyn.cli.peers.urdf import text_of
from ramidyn.description.pose import Array
from ramidyn.quantities import dynamics, frames, mass_matrix, momentum_energy
from ramidyn.robot import Robot

pin: Any = importlib.import_module("pinocchio")


def load(source: RobotFile) -> Pinocchio:
    """Return Pinocchio with the robot of a file in it."""
    text, root = text_of(source)
    ours = source.tree(conventions="pinocchio", mimic="independent")
    model = _model(text, root, source.path)
    model.gravity.linear = np.array(ours.gravity)
    return Pinocchio(ours, model)


def _model(text: str, root: str | None, path: Path | None) -> Any:
    roots = {"floating": pin.JointModelFreeFlyer, "planar": pin.JointModelPlanar}
    arguments = [roots[root]()] if root in roots else []
    try:
        if "<mujoco" in text:
            return pin.buildModelFromMJCF(str(path), *arguments)
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "robot.urdf"
            start = text.find("<robot")  # a misplaced XML declaration stops its parser
            copy.write_text(text[max(start, 0) :], encoding="utf-8")
            return pin.buildModelFromUrdf(str(copy), *arguments)
    except Exception as error:
        raise PeerError(f"it cannot read the robot: {error}") from None


class Pinocchio:
    """Pinocchio, with states and results in Ramidyn's order of joints."""

    name = "pinocchio"

    def __init__(self, robot: Robot, model: Any) -> None:
        self.version: str = pin.__version__
        self.robot = robot
        self.model = model
        self.data: Any = model.createData()
        self._joints = _matched_joints(robot, model)
        v = np.zeros(robot.nv, dtype=int)
        for ours, theirs in self._joints:
            v[ours.v_index : ours.v_index + ours.nv] = np.arange(
                theirs.idx_v, theirs.idx_v + theirs.nv
            )
        self._v = v
        """where in theirs each entry of our q̇ is"""

    def q(self, q: Array) -> Array:
        """Return one configuration in Pinocchio's coordinates."""
        out: Array = pin.neutral(self.model)
        for ours, theirs in self._joints:
            x = q[ours.q_index : ours.q_index + ours.nq]
            if theirs.nq == ours.nq + 1:  # an angle as cosine and sine
                x = np.array([*x[:-1], np.cos(x[-1]), np.sin(x[-1])])
            out[theirs.idx_q : theirs.idx_q + theirs.nq] = x
        return out

    def v(self, x: Array) -> Array:
        """Return one vector of velocities or forces in Pinocchio's order."""
        out = np.empty_like(x)
        out[self._v] = x
        return out

    def answers(self, frames: Sequence[str]) -> list[Answer]:
        """Return what can be compared."""
        m, d, order = self.model, self.data, self._v

        def vector(f: Callable[..., Any], *parts: str) -> Callable[[State], Any]:
            def run(s: State) -> Any:
                x = [self.v(getattr(s, part)) for part in parts]
                found = cast("Array", np.array(f(m, d, self.q(s.q), *x)))
                return np.reshape(found, _rows(found, len(order)))[..., order]

            return run

        def scalar(f: Callable[..., Any], *parts: str) -> Callable[[State], Any]:
            def run(s: State) -> Any:
                x = [self.v(getattr(s, part)) for part in parts]
                return np.array(f(m, d, self.q(s.q), *x))

            return run

        def square(f: Callable[..., Any]) -> Callable[[State], Any]:
            def run(s: State) -> Any:
                found = np.reshape(f(m, d, self.q(s.q)), (len(order), len(order)))
                upper = cast("Array", np.triu(found))
                full = upper + np.transpose(np.triu(upper, 1))
                return full[np.ix_(order, order)]

            return run

        def coriolis(s: State) -> Any:
            found = pin.computeCoriolisMatrix(m, d, self.q(s.q), self.v(s.qd))
            return np.reshape(found, (len(order), -1))[np.ix_(order, order)]

        def momentum(*arguments: Any) -> Any:
            return pin.computeCentroidalMomentum(*arguments).vector

        def matrix(*arguments: Any) -> Any:
            return pin.computeCentroidalMap(*arguments)

        found = [
            Answer(dynamics.inverse_dynamics, vector(pin.rnea, "qd", "qdd")),
            Answer(dynamics.forward_dynamics, vector(pin.aba, "qd", "tau")),
            Answer(mass_matrix.mass_matrix, square(pin.crba)),
            Answer(dynamics.bias_forces, vector(pin.nonLinearEffects, "qd")),
            Answer(dynamics.gravity_forces, vector(pin.computeGeneralizedGravity)),
            Answer(mass_matrix.mass_matrix_inverse, square(pin.computeMinverse)),
            Answer(mass_matrix.coriolis_matrix, coriolis),
            Answer(momentum_energy.center_of_mass, scalar(pin.centerOfMass)),
            Answer(
                momentum_energy.center_of_mass_jacobian,
                vector(pin.jacobianCenterOfMass),
            ),
            Answer(momentum_energy.centroidal_momentum, scalar(momentum, "qd")),
            Answer(momentum_energy.centroidal_momentum_matrix, vector(matrix)),
            Answer(
                momentum_energy.kinetic_energy, scalar(pin.computeKineticEnergy, "qd")
            ),
            Answer(
                momentum_energy.potential_energy, scalar(pin.computePotentialEnergy)
            ),
        ]
        known = [f for f in frames if m.existFrame(f, pin.FrameType.BODY)]
        return [*found, *(a for f in known for a in self._frame_answers(f))]

    def _frame_answers(self, name: str) -> list[Answer]:
        m, d = self.model, self.data
        k = m.getFrameId(name, pin.FrameType.BODY)

        def moved(s: State) -> None:
            pin.forwardKinematics(m, d, self.q(s.q), self.v(s.qd), self.v(s.qdd))
            pin.updateFramePlacements(m, d)

        def pose(s: State) -> Any:
            moved(s)
            return d.oMf[k].homogeneous

        def jacobian(s: State) -> Any:
            found = pin.computeFrameJacobian(m, d, self.q(s.q), k)
            return np.reshape(found, (6, -1))[:, self._v]

        def velocity(s: State) -> Any:
            moved(s)
            return pin.getFrameVelocity(m, d, k).vector

        def acceleration(s: State) -> Any:
            moved(s)
            return pin.getFrameClassicalAcceleration(m, d, k).vector

        of_frame = (
            (frames.pose, pose),
            (frames.jacobian, jacobian),
            (frames.velocity, velocity),
            (frames.acceleration, acceleration),
        )
        return [Answer(quantity(name), theirs) for quantity, theirs in of_frame]

    def caller(self, name: str, state: State) -> Callable[[], Any] | None:
        """Return the fastest call for one state, inputs converted beforehand."""
        q, qd = self.q(state.q), self.v(state.qd)
        x = {
            "inverse_dynamics": (pin.rnea, q, qd, self.v(state.qdd)),
            "forward_dynamics": (pin.aba, q, qd, self.v(state.tau)),
            "mass_matrix": (pin.crba, q),
            "bias_forces": (pin.nonLinearEffects, q, qd),
        }
        if name not in x:
            return None
        function, *arguments = x[name]
        return partial(function, self.model, self.data, *arguments)

    def roller(self, state: State, steps: int, dt: float) -> None:
        """Return None: it has no rollouts."""


def _rows(found: Array, columns: int) -> tuple[int, ...]:
    """Return the shape of rows; Pinocchio drops an axis of length one."""
    return (columns,) if found.size == columns else (found.size // columns, columns)


def _matched_joints(robot: Robot, model: Any) -> list[tuple[Any, Any]]:
    """Return our joints with theirs of the same name."""
    theirs = {model.names[i]: model.joints[i] for i in range(1, model.njoints)}
    ours = list(robot.model.joints)
    pairs: list[tuple[Any, Any]] = []
    for k, joint in enumerate(ours):
        name = joint.name
        if k == 0 and name not in theirs:
            name = model.names[1]  # the root joint, which each library names itself
        if name not in theirs or theirs[name].nv != joint.nv:
            raise PeerError(f"it has no joint {joint.name!r}")
        pairs.append((joint, theirs[name]))
    if len(theirs) != len(pairs):
        raise PeerError(f"it has {len(theirs)} joints, Ramidyn {len(pairs)}")
    return pairs
