"""A robot: a model, its conventions, and everything that can be computed of it."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NoReturn, final

import numpy as np
import numpy.typing as npt

from ramify.attributes import Asked, Compiled, Method, direct
from ramify.backend.chooser import Chooser
from ramify.errors import ModelError, ShapeError, UnknownName, unknown_name
from ramify.function import Function, Options, kernel
from ramify.model import configurations, drawing, editing, ranges
from ramify.model.assembly import Model, assemble
from ramify.model.conventions import Conventions
from ramify.model.conventions import conventions as conventions_named
from ramify.model.description import Description
from ramify.model.editing import Placement
from ramify.model.fingerprint import fingerprint
from ramify.model.pose import Array
from ramify.model.ranges import JointLimits
from ramify.model.tree import Tree
from ramify.once import made_once, once
from ramify.quantities import dynamics, factor, kinematics, operational
from ramify.quantities import loops as quantities_of_loops
from ramify.quantities.frames import with_cheapest_frames
from ramify.symbolic.trace import trace

ORIGIN = (0.0, 0.0, 0.0)


@final
class Robot:
    """A robot, immutable: what changes it returns a new one.

    Quantities are compiled on first use: ``robot.inverse_dynamics(q, qd, qdd)``, with
    arrays of one state or with a leading batch axis.
    """

    model: Model
    conventions: Conventions
    joint_order: str | tuple[str, ...]
    """how the joints were ordered: "file", "alphabetical" or their names"""
    mimic: str
    """what became of mimic joints: "reduce" or "independent" """

    def __init__(
        self,
        model: Model,
        conventions: Conventions,
        joint_order: str | Sequence[str] = "file",
        mimic: str = "reduce",
    ) -> None:
        order = joint_order if isinstance(joint_order, str) else tuple(joint_order)
        self.__dict__.update(
            model=model, conventions=conventions, joint_order=order, mimic=mimic
        )

    @staticmethod
    def from_description(
        description: Description,
        *,
        root: str | None = None,
        conventions: str | Conventions = "pinocchio",
        joint_order: str | Sequence[str] = "file",
        mimic: str = "reduce",
    ) -> Robot:
        """Return the robot of a description; see `ramify.load` for the options."""
        chosen = conventions_named(conventions)
        model = assemble(editing.with_root(description, root), joint_order, mimic)
        return Robot(model, chosen, joint_order, mimic)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(
            f"a Robot does not change: {name!r} cannot be set; lock, attach, with_root "
            "and add_frame return a new one"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return Robot, (self.model, self.conventions, self.joint_order, self.mimic)

    def __repr__(self) -> str:
        return drawing.summary(self.model, self.conventions)

    def __str__(self) -> str:
        return drawing.drawing(self.model, self.description, self.conventions)

    # ------------------------------------------------------------ what it is

    @property
    def name(self) -> str:
        """The robot's name."""
        return self.model.name

    @property
    def nq(self) -> int:
        """The number of coordinates: entries of q."""
        return self.model.nq

    @property
    def nv(self) -> int:
        """The number of degrees of freedom: entries of q̇, q̈ and τ."""
        return self.model.nv

    @property
    def tree(self) -> Tree:
        """The moving bodies and their topology."""
        return self.model.tree

    @property
    def description(self) -> Description:
        """The robot as its file describes it, with the changes made since."""
        assert self.model.description is not None
        return self.model.description

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The joints, in the order of q and q̇."""
        return tuple(j.name for j in self.model.joints)

    @property
    def body_names(self) -> tuple[str, ...]:
        """The bodies of the description, fixed ones included."""
        return self.model.body_names

    @property
    def frame_names(self) -> tuple[str, ...]:
        """The frames: every body's, sites, and "world"."""
        return tuple(self.model.frames)

    @property
    def masses(self) -> dict[str, float]:
        """The mass of each body [kg]."""
        return dict(self.model.masses)

    @property
    def mass(self) -> float:
        """The mass of all bodies that move [kg]."""
        return float(sum(b.inertia.m for b in self.tree.bodies))

    @property
    def gravity(self) -> tuple[float, float, float]:
        """The acceleration of free fall [m/s²]."""
        return self.tree.gravity

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is odd about the description."""
        return self.model.warnings

    @once
    def limits(self) -> JointLimits:
        """The limits of every coordinate; infinite where there is none."""
        return ranges.joint_limits(self.model)

    @property
    def keyframes(self) -> dict[str, Array]:
        """The configurations that the file names; "qpos0" is how an MJCF stands."""
        return ranges.keyframes(self.model, self.description, self.conventions)

    @once
    def placed_model(self) -> Model:
        """The model with body frames where transforms are cheapest."""
        return with_cheapest_frames(self.model, self.conventions)

    @once
    def fingerprint(self) -> str | None:
        """A digest of everything that decides what compiled code does."""
        return fingerprint(self.model, self.conventions)

    # ------------------------------------------------------------ configurations

    def neutral(self) -> Array:
        """Return the configuration in which every body stands at its placement."""
        return ranges.neutral(self.model, self.conventions)

    def random_configuration(
        self, rng: np.random.Generator | int | None = None, batch: int | None = None
    ) -> Array:
        """Return a random configuration within limits, or a batch of them.

        Where there is no limit an angle is within π, a distance within 1 m of neutral;
        orientations are uniform.

        Args:
            rng: a generator, or the seed of one.
            batch: how many; None returns one, of shape (nq,).
        """
        try:
            generator = np.random.default_rng(rng)
        except (TypeError, ValueError):
            raise ShapeError(
                f"rng is {rng!r}; expected a numpy.random.Generator or a seed"
            ) from None
        try:
            n = 1 if batch is None else operator.index(batch)
        except TypeError:
            n = -1
        if n < 0 or isinstance(batch, bool):
            raise ShapeError(f"batch is {batch!r}; expected a number of states or None")
        q = ranges.random_configurations(self.model, self.limits, generator, n)
        return q[0] if batch is None else q

    @direct("_integrate")
    def integrate(
        self,
        q: npt.ArrayLike,
        qd: npt.ArrayLike,
        dt: npt.ArrayLike = 1.0,
        *,
        out: Array | None = None,
    ) -> Array:
        """Return the configuration reached from q with q̇, constant for a time dt [s].

        Orientations and poses follow the exponential map, as in Pinocchio; with
        ``floating_velocity="world_linear"`` positions go straight, as in MuJoCo.
        """
        return self._integrate(q, qd, dt, out=out)

    @direct("_difference")
    def difference(
        self, q0: npt.ArrayLike, q1: npt.ArrayLike, *, out: Array | None = None
    ) -> Array:
        """Return the q̇ that leads from q0 to q1 in one second, the shortest way.

        ``robot.integrate(q0, robot.difference(q0, q1))`` is q1.
        """
        return self._difference(q0, q1, out=out)

    @direct("_normalize")
    def normalize(self, q: npt.ArrayLike, *, out: Array | None = None) -> Array:
        """Return q with its quaternions scaled to length one."""
        return self._normalize(q, out=out)

    @once
    def _integrate(self) -> Function:
        model, c = self.model, self.conventions
        program = trace(
            partial(configurations.integrated, model, c),
            {"q": model.nq, "qd": model.nv, "dt": ()},
            f"integrate of {self.name}",
        )
        return Function(program, Options(defaults=(("dt", 1.0),)))

    @once
    def _difference(self) -> Function:
        model, c = self.model, self.conventions
        return kernel(
            partial(configurations.differences, model, c),
            {"q0": model.nq, "q1": model.nq},
            name=f"difference of {self.name}",
        )

    @once
    def _normalize(self) -> Function:
        model, c = self.model, self.conventions
        return kernel(
            partial(configurations.normalized, model, c),
            {"q": model.nq},
            name=f"normalize of {self.name}",
        )

    # ------------------------------------------------------------ other conventions

    @direct("_convert_q")
    def convert_q(
        self,
        q: npt.ArrayLike,
        *,
        to: str | Conventions | None = None,
        from_: str | Conventions | None = None,
    ) -> Array:
        """Return q in the conventions ``to``, or q given in ``from_`` in this robot's.

        >>> from ramify.model.catalog import humanoid30
        >>> robot = Robot.from_description(humanoid30())
        >>> robot.convert_q(robot.neutral(), to="mujoco")[3:7]
        array([1., 0., 0., 0.])
        """
        return self._convert_q(q, to=to, from_=from_)

    @direct("_convert_qd")
    def convert_qd(
        self,
        q: npt.ArrayLike,
        qd: npt.ArrayLike,
        *,
        to: str | Conventions | None = None,
        from_: str | Conventions | None = None,
    ) -> Array:
        """Return q̇ in other conventions; q and q̇ are in those converted from."""
        return self._convert_qd(q, qd, to=to, from_=from_)

    @direct("_convert_qdd")
    def convert_qdd(
        self,
        q: npt.ArrayLike,
        qd: npt.ArrayLike,
        qdd: npt.ArrayLike,
        *,
        to: str | Conventions | None = None,
        from_: str | Conventions | None = None,
    ) -> Array:
        """Return q̈ in other conventions; all three are in those converted from."""
        return self._convert_qdd(q, qd, qdd, to=to, from_=from_)

    @direct("_convert_tau")
    def convert_tau(
        self,
        q: npt.ArrayLike,
        tau: npt.ArrayLike,
        *,
        to: str | Conventions | None = None,
        from_: str | Conventions | None = None,
    ) -> Array:
        """Return τ in other conventions; q and τ are in those converted from."""
        return self._convert_tau(q, tau, to=to, from_=from_)

    def with_conventions(self, conventions: str | Conventions) -> Robot:
        """Return this robot with other conventions."""
        chosen = conventions_named(conventions)
        return Robot(self.model, chosen, self.joint_order, self.mimic)

    @once
    def _convert_q(self) -> Chooser:
        return self._converter("q", "q")

    @once
    def _convert_qd(self) -> Chooser:
        return self._converter("qd", "q", "qd")

    @once
    def _convert_qdd(self) -> Chooser:
        return self._converter("qdd", "q", "qd", "qdd")

    @once
    def _convert_tau(self) -> Chooser:
        return self._converter("tau", "q", "tau")

    def _converter(self, what: str, *state: str) -> Chooser:
        known: dict[Any, Function] = {}

        def function(
            *,
            to: str | Conventions | None = None,
            from_: str | Conventions | None = None,
        ) -> Function:
            if (to is None) == (from_ is None):
                given = "neither" if to is None else "both"
                raise UnknownName(
                    f"convert_{what}: {given} of to= and from_= given; expected one, "
                    'such as to="mujoco"'
                )
            source, target = self.conventions, self.conventions
            if to is not None:
                target = conventions_named(to)
            elif from_ is not None:
                source = conventions_named(from_)
            return made_once(
                known,
                (source, target),
                lambda: self._new_converter(what, source, target),
            )

        return Chooser(f"convert_{what}", state, function)

    def _new_converter(
        self, what: str, source: Conventions, target: Conventions
    ) -> Function:
        model, nq, nv = self.model, self.nq, self.nv
        name = f"convert_{what} of {self.name}"
        if what == "q":
            convert = partial(configurations.converted_q, model, source, target)
            return kernel(convert, {"q": nq}, name=name)
        convert = partial(configurations.converted_vector, model, source, target)
        if what != "qdd":
            return kernel(convert, {"q": nq, what: nv}, name=name)
        return kernel(
            lambda q, qd, qdd: convert(q, qdd, qd),  # type: ignore[reportUnknownLambdaType]
            {"q": nq, "qd": nv, "qdd": nv},
            name=name,
        )

    # ------------------------------------------------------------ other robots

    def with_root(self, root: str) -> Robot:
        """Return this robot with its root body "floating", "fixed" or "planar"."""
        if root is None:  # pyright: ignore[reportUnnecessaryComparison]
            raise UnknownName(
                f"root is None; possible: {', '.join(map(repr, editing.ROOTS))}"
            )
        return self._edited(editing.with_root(self.description, root))

    def lock(self, joints: Mapping[str, npt.ArrayLike]) -> Robot:
        """Return this robot with joints fixed, each at a value of its coordinates.

        ``robot.lock({"wrist": 0.5})``; joints that follow a locked one are locked too.
        """
        if not isinstance(joints, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ShapeError(
                f"lock: {joints!r} given; expected a dict such as {{'joint': 0.5}}"
            )
        values = {n: self._locked_value(n, v) for n, v in joints.items()}
        if self.mimic == "reduce":
            for body in self.tree.bodies:
                own = body.joint
                if own.leader is None:
                    continue
                leader = self.tree.bodies[own.leader].joint.name
                if leader in values:
                    x = own.multiplier * values[leader] + own.offset
                    values[own.name] = x
        changed = editing.locked(self.description, values)
        return self._edited(editing.without_followers(changed, set(values)))

    def _locked_value(self, name: str, value: npt.ArrayLike) -> Array:
        if name in self.model.mimics:
            of = next(
                j.mimic.of
                for b in self.description.bodies
                for j in b.joints
                if j.name == name and j.mimic
            )
            raise ModelError(f"lock: joint {name!r} follows {of!r}; lock that one")
        if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise unknown_name("joint", repr(name), f"{self.name!r}", self.joint_names)
        joint = self.model.joint(name)
        try:
            q = np.atleast_1d(np.array(value, dtype=float))
        except (TypeError, ValueError):
            q = np.zeros(0)
        if q.shape != (joint.nq,) or not np.isfinite(q).all():
            size = "a number" if joint.nq == 1 else f"{joint.nq} numbers"
            raise ShapeError(
                f"lock: joint {name!r} ({joint.type}) given {value!r}; expected {size}"
            )
        if joint.nq in (4, 7):
            if np.linalg.norm(q[-4:]) < 1e-9:
                raise ShapeError(f"lock: joint {name!r} given a zero quaternion")
            if self.conventions.quaternion == "xyzw":
                q[-4:] = np.roll(q[-4:], 1)
        return q

    def attach(
        self,
        other: Robot | Description,
        frame: str,
        *,
        placement: Placement = ORIGIN,
        prefix: str = "",
    ) -> Robot:
        """Return this robot with another on one of its frames, as one.

        Args:
            other: what hangs on this robot. Its root keeps its joint, if it has one:
                ``other.with_root("fixed")`` welds it.
            frame: a body or frame of this robot, or "world".
            placement: where the other's world stands in that frame: a position, a
                `Pose` or its (4, 4) matrix.
            prefix: put before every name of the other.
        """
        if isinstance(other, Robot):
            part = other.description
        elif isinstance(other, Description):  # pyright: ignore[reportUnnecessaryIsInstance]
            part = other
        else:
            raise ModelError(
                f"attach: {type(other).__name__} given; expected a Robot or a "
                "Description"
            )
        if not isinstance(prefix, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ModelError(f"attach: prefix is {prefix!r}; expected a text")
        body, pose = editing.frame_of(self.description, frame)
        pose = pose @ editing.pose_of("attach: placement", placement)
        return self._edited(
            editing.attached(self.description, part, body, pose, prefix)
        )

    def add_frame(self, name: str, body: str, placement: Placement = ORIGIN) -> Robot:
        """Return this robot with a further frame, fixed to a body (or frame).

        ``placement`` is a position, a `Pose` or its (4, 4) matrix.
        """
        pose = editing.pose_of(f"frame {name!r}: placement", placement)
        return self._edited(editing.with_frame(self.description, name, body, pose))

    def _edited(self, description: Description) -> Robot:
        """Return the robot of a changed description, with the same options."""
        order: str | Sequence[str] = self.joint_order
        if not isinstance(order, str):
            order = _followed(order, description, self.mimic == "reduce")
        model = assemble(description, order, self.mimic)
        return Robot(model, self.conventions, order, self.mimic)

    # ------------------------------------------------------------ what it computes

    inverse_dynamics = Compiled(dynamics.inverse_dynamics)
    forward_dynamics = Compiled(dynamics.forward_dynamics)
    mass_matrix = Compiled(dynamics.mass_matrix)
    bias_forces = Compiled(dynamics.bias_forces)
    gravity_forces = Compiled(dynamics.gravity_forces)
    coriolis_matrix = Compiled(kinematics.coriolis_matrix)
    mass_matrix_inverse = Compiled(kinematics.mass_matrix_inverse)
    center_of_mass = Compiled(kinematics.center_of_mass)
    center_of_mass_jacobian = Compiled(kinematics.center_of_mass_jacobian)
    centroidal_momentum = Compiled(kinematics.centroidal_momentum)
    centroidal_momentum_matrix = Compiled(kinematics.centroidal_momentum_matrix)
    kinetic_energy = Compiled(kinematics.kinetic_energy)
    potential_energy = Compiled(kinematics.potential_energy)

    pose = Asked(kinematics.pose, "q")
    velocity = Asked(kinematics.velocity, "q", "qd")
    acceleration = Asked(kinematics.acceleration, "q", "qd", "qdd")
    jacobian = Asked(kinematics.jacobian, "q")
    jacobian_dot_times_qd = Asked(kinematics.jacobian_dot_times_qd, "q", "qd")

    operational_inertia_inverse = Asked(operational.operational_inertia_inverse, "q")
    operational_inertia = Asked(operational.operational_inertia, "q")
    dynamically_consistent_inverse = Asked(
        operational.dynamically_consistent_inverse, "q"
    )
    null_space_projector = Asked(operational.null_space_projector, "q")
    task_jacobian = Asked(operational.task_jacobian, "q")
    task_bias = Asked(operational.task_bias, "q", "qd")
    task_acceleration = Asked(operational.task_acceleration, "q", "qd", "tau")

    constraint_residual = Compiled(quantities_of_loops.constraint_residual)
    constraint_jacobian = Compiled(quantities_of_loops.constraint_jacobian)
    constraint_bias = Compiled(quantities_of_loops.constraint_bias)
    loop_forces = Compiled(quantities_of_loops.loop_forces)
    constrained_operational_inertia_inverse = Asked(
        quantities_of_loops.constrained_operational_inertia_inverse, "q"
    )
    add_loop = Method("ramify.mechanism", "add_loop")
    assemble = Method("ramify.mechanism", "assemble")
    project = Method("ramify.mechanism", "project")
    mobility = Method("ramify.mechanism", "mobility")
    check_state = Method("ramify.mechanism", "check_state")
    constrained_inverse_dynamics = Method(
        "ramify.mechanism", "constrained_inverse_dynamics"
    )
    simulate = Method("ramify.mechanism", "simulate")

    @property
    def loops(self) -> tuple[Any, ...]:
        """The loops: each with its name, type, bodies and rows."""
        return Method("ramify.mechanism", "loops").__get__(self, Robot)()

    mass_matrix_csr = Compiled(factor.mass_matrix_csr)
    mass_matrix_factor = Compiled(factor.mass_matrix_factor)
    mass_matrix_solve = Compiled(factor.mass_matrix_solve)

    @property
    def mass_matrix_layout(self) -> factor.Layout:
        """The constant index arrays of `mass_matrix_csr`: rownnz, rowadr, colind."""
        return factor.mass_matrix_layout(self.model)


def _followed(
    order: Sequence[str], description: Description, is_reduced: bool
) -> list[str]:
    """Return an order of joints, less those that are gone, and with the new ones."""
    joints = [
        j.name
        for b in description.bodies
        for j in b.joints
        if j.mimic is None or not is_reduced
    ]
    kept = [n for n in order if n in joints]
    new = [n for n in joints if n not in kept]
    is_root = [n for n in new if n.startswith("root_joint")]
    return [*is_root, *kept, *(n for n in new if n not in is_root)]
