"""A robot: a model, its conventions, and everything that can be computed from them."""

from __future__ import annotations

import operator
import os
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, cast, final

import numpy as np
from numpy.typing import ArrayLike

from ramidyn import configuration_functions
from ramidyn.concurrency import once
from ramidyn.coordinates import configurations
from ramidyn.coordinates.configurations import JointLimits
from ramidyn.description import editing
from ramidyn.description.builder_checks import Placement, checked_pose
from ramidyn.description.conventions import Conventions
from ramidyn.description.conventions import conventions as conventions_named
from ramidyn.description.description import Actuator, Description
from ramidyn.description.joint_types import joint_type
from ramidyn.description.pose import Array
from ramidyn.errors import (
    ArgumentError,
    Error,
    ModelError,
    ShapeError,
    unknown_name,
)
from ramidyn.methods import CallKeywords, computed, direct
from ramidyn.quantities import public
from ramidyn.quantities.registry import QUANTITIES
from ramidyn.tree.frames import named_frame
from ramidyn.tree.model import Model, PublicJoint, build_model, resolved_order
from ramidyn.tree.tree import Tree, nonzeros
from ramidyn.version import fingerprint

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ramidyn.algorithms.matrix_layout import Layout
    from ramidyn.algorithms.operational.tasks import Tasks
    from ramidyn.description.contacts import Contact
    from ramidyn.description.description import Shape
    from ramidyn.description.forces.element import ForceElement
    from ramidyn.description.sensors import Sensor
    from ramidyn.function import Function
    from ramidyn.kinematics.inverse_kinematics import Targets
    from ramidyn.kinematics.solver import Key, KinematicSolution
    from ramidyn.mechanism.base_parameters import BaseParameters
    from ramidyn.mechanism.loops import Loop
    from ramidyn.mechanism.mobility import InverseDynamics, Mobility
    from ramidyn.simulation.arguments import Controller
    from ramidyn.simulation.run import Run
    from ramidyn.simulation.state import RunState
    from ramidyn.tracing.quantity import Quantity
    from ramidyn.tree.frames import NamedFrame
    from ramidyn.tree.parameters import Regrouping
    from ramidyn.view.scene import Scene
    from ramidyn.view.viewer import Arrows, Viewer

ORIGIN = (0.0, 0.0, 0.0)


@final
class Robot:
    """A robot, immutable: what changes it returns a new one.

    Quantities are compiled on first use: ``robot.inverse_dynamics(q, qd, qdd)``, with
    arrays of one state or with a leading batch axis.

    Every method that computes takes two more options. ``dtype`` is the precision in
    which it computes and of its results: "float64" or "float32". By default it is that
    of the inputs: float32 if all arrays, ``out`` included, are of float32, otherwise
    float64 (a list is float64; a number has no precision of its own). ``threads`` is
    the number of threads that share a large batch. `ramidyn.compile` has more options.
    """

    model: Model
    conventions: Conventions
    joint_order: str | tuple[str, ...]
    """The order of the joints in q: "file", "alphabetical" or their names."""
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
        joint_order: str | Sequence[str] = "auto",
        mimic: str = "reduce",
    ) -> Robot:
        """Return a robot from a description; see `ramidyn.load` for the options."""
        if not isinstance(description, Description):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentError(
                f"description is {description!r}; expected a Description, such as "
                "RobotBuilder.description() returns"
            )
        chosen = conventions_named(conventions)
        order = resolved_order(joint_order, description, chosen)
        if root is not None:
            description = editing.with_root(description, root)
        return Robot(_built(description, chosen, order, mimic), chosen, order, mimic)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(
            f"a Robot is immutable: {name!r} cannot be set; lock, attach, with_root "
            "and add_frame return a new robot"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return Robot, (self.model, self.conventions, self.joint_order, self.mimic)

    def __repr__(self) -> str:
        from ramidyn.view.robot_text import summary

        return summary(self.model, self.conventions)

    def __str__(self) -> str:
        from ramidyn.view.robot_text import drawing

        return drawing(
            self.model,
            self.description,
            self.conventions,
            self.joint_order,
            clusters=self._clusters(),
        )

    def _clusters(self) -> tuple[str, ...]:
        """Return the loops whose joints can be eliminated as one joint."""
        from ramidyn.quantities.closed_loops import clustered_loops

        if not self.model.loops:
            return ()
        try:
            return clustered_loops(self.placed_model, self.conventions)
        except Error:  # loops that cannot be used can be printed
            return ()

    def _repr_html_(self) -> str:
        from ramidyn.view.notebook import robot_html
        from ramidyn.view.picture import picture_at_placement

        return robot_html(
            self.model,
            self.description,
            self.conventions,
            self.joint_order,
            picture_at_placement(self.description, self.shapes),
        )

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
        """The total mass of all moving bodies [kg]."""
        return float(sum(b.inertia.m for b in self.tree.bodies))

    @property
    def gravity(self) -> tuple[float, float, float]:
        """The gravitational acceleration [m/s²]."""
        return self.tree.gravity

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings found while loading."""
        return self.model.warnings

    def joint(self, name: str) -> PublicJoint:
        """Return a joint by name: its place in q and q̇, and its data from the file.

        >>> import ramidyn
        >>> robot = ramidyn.robots.humanoid30()
        >>> knee = robot.joint("left_shank_joint")
        >>> robot.neutral()[knee.q_slice], knee.parent, knee.child
        (array([0.]), 'left_thigh', 'left_shank')

        Raises:
            UnknownName: the robot has no such joint in q.
        """
        return self.model.joint(name)

    def frame(self, name: str) -> NamedFrame:
        """Return a frame by name: its body, its pose in it, the joint that moves it.

        Raises:
            UnknownName: the robot has no such frame.
        """
        return named_frame(self.model, name)

    @property
    def actuators(self) -> tuple[Actuator, ...]:
        """The motors in the file: MJCF actuators or URDF transmissions; data only."""
        return self.description.actuators

    @once
    def shapes(self) -> tuple[Shape, ...]:
        """The visual and collision shapes of the file, read when first asked for.

        Shapes that cannot be read are left out and named in a `ModelWarning`.
        """
        from ramidyn.description.formats.shapes import read_shapes, warn_of_shapes

        sources = self.description.shape_sources
        shapes, problems = read_shapes(sources, self.body_names)
        warn_of_shapes(problems)
        return tuple(shapes)

    @once
    def limits(self) -> JointLimits:
        """The limits of every coordinate; infinite if there is none."""
        return configurations.joint_limits(self.model)

    @property
    def keyframes(self) -> dict[str, Array]:
        """The named configurations: keys of an MJCF, states of an SRDF.

        The initial configuration of an MJCF or SDF is "qpos0"; ``load(..., srdf=...)``
        reads an SRDF.
        """
        return configurations.keyframes(self.model, self.description, self.conventions)

    @once
    def placed_model(self) -> Model:
        """The model with body frames placed where transforms are cheapest."""
        from ramidyn.tracing.chooser import with_cheapest_frames

        return with_cheapest_frames(self.model, self.conventions, QUANTITIES)

    @once
    def fingerprint(self) -> str | None:
        """A digest of everything that affects the compiled code."""
        return fingerprint(self.model, self.conventions)

    # ------------------------------------------------------------ what it looks like

    def draw(
        self,
        q: ArrayLike | None = None,
        *,
        layers: Sequence[str] = ("visual", "bars"),
        axes: Any = None,
        view: tuple[float, float] = (20.0, -55.0),
        mesh_directories: Sequence[str | os.PathLike[str]] = (),
    ) -> Any:
        """Draw the robot with matplotlib; return the 3-D axes.

        Args:
            q: (nq,), or (k, nq) to draw several configurations, earlier ones paler;
                None: the neutral one.
            layers: "visual" and "collision" are the shapes of the file. "bars" between
                the joints replace missing visual shapes. "axes" are the joints' axes,
                "masses" spheres, "inertias" ellipsoids with each body's inertia.
                "loops", "forces" and "contacts" mark those of the robot.
            axes: 3-D axes to draw into; None makes a new figure.
            view: elevation and azimuth of the eye [degree].
            mesh_directories: where else to look for meshes and ROS packages. Missing
                meshes are named in a `ModelWarning`.
        """
        from ramidyn.view.picture import draw_scene
        from ramidyn.view.scene import check_layers

        check_layers(layers)
        given = self._shown(q, "k")
        poses = [self._body_poses(x) for x in np.atleast_2d(given)]
        scene = self._scene(mesh_directories)
        return draw_scene(scene, poses, layers, axes, view)

    def show(
        self,
        q: ArrayLike | None = None,
        *,
        layers: Sequence[str] | None = None,
        port: int = 8080,
        mesh_directories: Sequence[str | os.PathLike[str]] = (),
    ) -> Viewer:
        """Show the robot in the browser, on this machine; return the `Viewer`.

        The page has a slider for every joint with one coordinate, switches for the
        layers, frames and names, and the tree of bodies. ``viewer.update(q)`` moves the
        robot, ``viewer.play(times, q)`` plays a motion, ``viewer.save("robot.html")``
        writes a page that needs no server, ``viewer.close()`` ends it.

        Args:
            q: (nq,), or (copies, nq) to show several robots side by side; None: the
                neutral configuration.
            layers: what is shown first; see `draw`. None: the shapes of the file, or
                what the dynamics knows (bars, axes, masses), with loops and forces.
            port: the first port to try; the next free one is taken.
            mesh_directories: where else to look for meshes and ROS packages. Missing
                meshes are named in a `ModelWarning`.
        """
        from ramidyn.view.viewer import Viewer

        return Viewer(
            self.model,
            self._scene(mesh_directories),
            self._poses_of_all,
            self._shown(q, "copies"),
            arrows=self._arrows,
            layers=layers,
            port=port,
        )

    def _shown(self, q: ArrayLike | None, several: str) -> Array:
        """Return the configuration to show, or several; the neutral one by default."""
        try:
            given = self.neutral() if q is None else np.asarray(q, dtype=float)
        except (TypeError, ValueError):
            raise ShapeError(f"q is {q!r}; expected real numbers") from None
        if given.ndim not in (1, 2) or given.shape[-1] != self.nq:
            raise ShapeError(
                f"q has shape {given.shape}; expected ({self.nq},) or "
                f"({several}, {self.nq})"
            )
        return given

    def _scene(self, mesh_directories: Sequence[str | os.PathLike[str]]) -> Scene:
        """Return all there is to see; missing meshes are warned of."""
        from ramidyn.description.formats.shapes import warn_of_shapes
        from ramidyn.view.scene import scene_of

        try:
            directories = [Path(d).expanduser() for d in mesh_directories]
        except TypeError:
            raise ArgumentError(
                f"mesh_directories is {mesh_directories!r}; expected a list of paths"
            ) from None
        scene = scene_of(self.description, self.shapes, directories)
        warn_of_shapes(scene.problems)
        return scene

    def _body_poses(self, q: Array) -> dict[str, Array]:
        """Return (4, 4) poses in the world by body."""
        names = self.body_names
        found: Any = self._all_poses(q)
        return dict(zip(names, found if len(names) > 1 else (found,), strict=True))

    def _poses_of_all(self, q: Array) -> Array:
        """Return the poses of all bodies, (n, bodies, 4, 4), of (n, nq)."""
        found: Any = self._all_poses(q)
        return np.stack(found if len(self.body_names) > 1 else (found,), axis=1)

    def _compiled(self, wanted: Quantity | Sequence[Quantity]) -> Function:
        from ramidyn.compiler import compile

        return compile(wanted, self)

    @once
    def _force_arrows(self) -> Function | None:
        """Points and forces in the world, for pictures; None where there are none."""
        from ramidyn.algorithms.forces.elements import WithArrows
        from ramidyn.quantities.applied import force_arrows

        if not any(isinstance(f, WithArrows) for f in self.forces):
            return None
        return self._compiled(force_arrows)

    @once
    def _contact_places(self) -> Function:
        """Where contacts can touch, and their gaps."""
        from ramidyn.quantities.contact_places import contact_places

        return self._compiled(contact_places)

    @property
    def _arrows(self) -> Arrows | None:
        """Points and forces in the world, those of contacts included, for pictures."""
        from ramidyn.tree.contact_checks import touch_count

        of_forces, count = self._force_arrows, touch_count(self.model)
        if of_forces is None and not count:
            return None

        def arrows(q: Array, qd: Array, contact_forces: Array | None) -> Array:
            found: list[Array] = []
            if of_forces is not None:
                found.append(cast("Any", of_forces)(q, qd))
            if count and contact_forces is not None:
                points = cast("Any", self._contact_places)(q)[..., :3]
                found.append(np.stack([points, contact_forces], axis=-2))
            return np.concatenate([np.zeros((len(q), 0, 2, 3)), *found], axis=1)

        return arrows

    @once
    def _all_poses(self) -> Function:
        return self._compiled([public.pose(name) for name in self.body_names])

    # ------------------------------------------------------------ configurations

    def neutral(self) -> Array:
        """Return the configuration in which every body is at its placement.

        It may be beyond limits, as that of a Panda is: `clamp` returns the nearest
        within.
        """
        return configurations.neutral(self.model, self.conventions)

    def clamp(self, q: ArrayLike | None = None) -> Array:
        """Return the configuration nearest to q within all limits (`limits`).

        ``robot.clamp()`` is within limits, and as near to neutral as they allow.

        Args:
            q: (nq,) or (batch, nq), configuration [rad, m]; neutral by default.
        """
        return configurations.clamp_to_limits(self.limits, self._shown(q, "batch"))

    def random_configuration(
        self, rng: np.random.Generator | int | None = None, batch: int | None = None
    ) -> Array:
        """Return a random configuration within limits, or a batch of them.

        Without a limit, an angle is within π and a distance within 1 m of neutral;
        orientations are uniform.

        Args:
            rng: a generator, or a seed.
            batch: the number of configurations; None returns one, of shape (nq,).
        """
        generator = configurations.generator_of(rng)
        try:
            n = 1 if batch is None else operator.index(batch)
        except TypeError:
            n = -1
        if n < 0 or n * self.nq * 8 > sys.maxsize or isinstance(batch, bool):
            raise ArgumentError(
                f"batch is {batch!r}; expected a number of states or None"
            )
        q = configurations.random_configurations(self.model, self.limits, generator, n)
        return q[0] if batch is None else q

    @direct(configuration_functions.integrate)
    def integrate(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        dt: ArrayLike = 1.0,
        *,
        out: Array | None = None,
        **call: Unpack[CallKeywords],
    ) -> Array:
        """Return the configuration reached from q with constant q̇ after a time dt [s].

        Orientations and poses follow the exponential map, as in Pinocchio; with
        ``floating_velocity="world_linear"`` positions move in straight lines, as in
        MuJoCo.
        """
        ...

    @direct(configuration_functions.difference)
    def difference(
        self,
        q0: ArrayLike,
        q1: ArrayLike,
        *,
        out: Array | None = None,
        **call: Unpack[CallKeywords],
    ) -> Array:
        """Return the q̇ that leads from q0 to q1 in one second, by the shortest path.

        ``robot.integrate(q0, robot.difference(q0, q1))`` is q1.
        """
        ...

    @direct(configuration_functions.normalize)
    def normalize(
        self, q: ArrayLike, *, out: Array | None = None, **call: Unpack[CallKeywords]
    ) -> Array:
        """Return q with its quaternions, of any length except zero, scaled to one."""
        ...

    # ------------------------------------------------------------ other conventions

    @direct(*configuration_functions.convert("q"))
    def convert_q(
        self,
        q: ArrayLike,
        *,
        to: str | Conventions | None = None,
        from_: str | Conventions | None = None,
        **call: Unpack[CallKeywords],
    ) -> Array:
        """Convert q to the conventions ``to``, or from ``from_`` to this robot's.

        >>> import ramidyn
        >>> robot = ramidyn.robots.humanoid30()
        >>> robot.convert_q(robot.neutral(), to="mujoco")[3:7]
        array([1., 0., 0., 0.])
        """
        ...

    @direct(*configuration_functions.convert("qd"))
    def convert_qd(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        *,
        to: str | Conventions | None = None,
        from_: str | Conventions | None = None,
        **call: Unpack[CallKeywords],
    ) -> Array:
        """Convert q̇ to other conventions; q and q̇ are given in the original ones."""
        ...

    @direct(*configuration_functions.convert("qdd"))
    def convert_qdd(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        *,
        to: str | Conventions | None = None,
        from_: str | Conventions | None = None,
        **call: Unpack[CallKeywords],
    ) -> Array:
        """Convert q̈ to other conventions; all three are given in the original ones."""
        ...

    @direct(*configuration_functions.convert("tau"))
    def convert_tau(
        self,
        q: ArrayLike,
        tau: ArrayLike,
        *,
        to: str | Conventions | None = None,
        from_: str | Conventions | None = None,
        **call: Unpack[CallKeywords],
    ) -> Array:
        """Convert τ to other conventions; q and τ are given in the original ones."""
        ...

    def with_conventions(self, conventions: str | Conventions) -> Robot:
        """Return this robot with other conventions; the joint order stays the same."""
        chosen = conventions_named(conventions)
        return Robot(self.model, chosen, self.joint_order, self.mimic)

    # ------------------------------------------------------------ other robots

    def with_root(self, root: str) -> Robot:
        """Return this robot with its root body "floating", "fixed" or "planar"."""
        if root is None:  # pyright: ignore[reportUnnecessaryComparison]
            raise ArgumentError(
                f"root is None; possible: {', '.join(map(repr, editing.ROOTS))}"
            )
        return self._edited(editing.with_root(self.description, root))

    def lock(self, joints: Mapping[str, ArrayLike]) -> Robot:
        """Return this robot with joints locked, each at a given value.

        ``robot.lock({"wrist": 0.5})``; joints that follow a locked one are locked too.
        """
        if not isinstance(joints, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentError(
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
        changed = editing.lock_joints(self.description, values)
        return self._edited(editing.without_followers(changed, set(values)))

    def _locked_value(self, name: str, value: ArrayLike) -> Array:
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
        type_ = joint_type(name, joint.type)
        if type_.has_quaternion and not q[-4:].any():
            raise ShapeError(f"lock: joint {name!r} given a zero quaternion")
        if self.conventions.quaternion == "xyzw":
            return np.array(type_.scalar_first(q.tolist()))
        return q

    def attach(
        self,
        other: Robot | Description,
        frame: str,
        *,
        placement: Placement = ORIGIN,
        prefix: str = "",
    ) -> Robot:
        """Return this robot with another robot attached to one of its frames.

        Args:
            other: the robot to attach. Its root keeps its joint, if it has one;
                ``other.with_root("fixed")`` welds it.
            frame: a body or frame of this robot, or "world".
            placement: pose of the other robot's world in that frame: a position, a
                `Pose` or its (4, 4) matrix.
            prefix: prefix for every name of the other robot.

        Joints are in this robot's order; in file order the other robot's keep their
        own.
        """
        if isinstance(other, Robot):
            part = editing.reorder_bodies(other.description, other.body_names)
        elif isinstance(other, Description):  # pyright: ignore[reportUnnecessaryIsInstance]
            part = other
        else:
            raise ArgumentError(
                f"attach: {type(other).__name__} given; expected a Robot or a "
                "Description"
            )
        if not isinstance(prefix, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentError(f"attach: prefix is {prefix!r}; expected a string")
        body, pose = editing.frame_of(self.description, frame)
        pose = pose @ checked_pose("attach: placement", placement, ShapeError)
        return self._edited(
            editing.attach_robot(self.description, part, body, pose, prefix)
        )

    def add_frame(self, name: str, body: str, placement: Placement = ORIGIN) -> Robot:
        """Return this robot with an additional frame, fixed to a body (or frame).

        ``placement`` is a position, a `Pose` or its (4, 4) matrix.
        """
        pose = checked_pose(f"frame {name!r}: placement", placement, ShapeError)
        return self._edited(editing.with_frame(self.description, name, body, pose))

    def regrouped(self) -> Regrouping[Robot]:
        """Return a simpler robot with the same equation of motion, and what moved.

        A point mass on the axis of a revolute joint is fixed in both of its bodies, so
        it may belong to either (Featherstone). Moved from the tips to the root, most
        masses become zero. Compiled dynamics does this by itself.

        ``found.robot`` is an equivalent design: as much is moved as leaves bodies that
        can exist. It prints and returns its own masses, and `write_inertials` saves
        them.

        >>> import ramidyn
        >>> found = ramidyn.robots.chain(3).regrouped()
        >>> found.massless
        ('body0', 'body1', 'body2')
        """
        from ramidyn.tree.equivalent_design import equivalent_design
        from ramidyn.tree.parameters import Regrouping, regroup_masses

        model = self.placed_model
        tree, moves = regroup_masses(model.tree, is_moving=True)
        before, after = (
            sum(nonzeros(b.inertia, is_moving=False) for b in t.bodies)
            for t in (model.tree, tree)
        )
        return Regrouping(
            self._edited(equivalent_design(self.model)),
            moves,
            tuple(b.name for b in tree.bodies if b.inertia.m == 0.0),
            len(tree),
            (before, after),
        )

    def write_inertials(
        self, source: str | os.PathLike[str], target: str | os.PathLike[str]
    ) -> None:
        """Write the URDF or MJCF file of this robot with the inertias that it has now.

        For a robot whose inertias were changed, such as ``robot.regrouped().robot``:
        everything else is copied from its file, except comments.

        Args:
            source: the file that the robot was loaded from.
            target: the file to write; of files that exist, only other XML files are
                replaced.

        Raises:
            ModelError: the source is not URDF or MJCF, or not of this robot.
        """
        from ramidyn.description.formats.write_inertials import text_with_inertials
        from ramidyn.output_files import replaceable_file

        path = replaceable_file(target, "an XML file")
        inertials = {b.name: b.inertial for b in self.description.bodies}
        text = text_with_inertials(source, inertials)
        if path.exists() and path.samefile(source):
            raise ArgumentError(
                f"target is the source, {os.fspath(target)!r}; choose another target"
            )
        path.write_text(text, encoding="utf-8")

    # ------------------------------------------------------------ force elements

    @property
    def forces(self) -> tuple[ForceElement, ...]:
        """The force elements, in the order in which they were added."""
        return self.model.forces

    @property
    def sensors(self) -> dict[str, Sensor]:
        """The sensors by name: those of an MJCF file, and added ones.

        Rollouts compute them: ``record`` may name them, and policies and other traced
        functions take them as arguments of their names. Those that need accelerations
        (accelerometer, force, torque) are for records, totals and updates.
        """
        from ramidyn.simulation.sensors import sensors_by_name

        return sensors_by_name(self)

    def add_sensor(self, sensor: Sensor) -> Robot:
        """Return this robot with one more sensor.

        >>> import ramidyn
        >>> robot = ramidyn.robots.chain(2)
        >>> gyro = ramidyn.policies.Sensor("gyro", robot.body_names[-1], name="gyro")
        >>> robot = robot.add_sensor(gyro)
        >>> run = robot.rollout(robot.neutral(), steps=3, record="gyro")
        >>> run.gyro.shape
        (4, 3)

        Args:
            sensor: such as ``ramidyn.policies.Sensor("accelerometer", "hand", "imu")``.

        Raises:
            ArgumentError: there is a sensor of that name.
            UnknownName: the robot has no such frame, joint or actuator.
        """
        from ramidyn.simulation.sensors import with_sensor

        return self._edited(with_sensor(self, sensor))

    def add_force(self, element: ForceElement, name: str | None = None) -> Robot:
        """Return this robot with one more force element: see `ramidyn.forces`.

        It acts in `forward_dynamics`, `inverse_dynamics`, their derivatives, exports
        and everything else that is made of them.

        >>> import ramidyn
        >>> robot = ramidyn.robots.chain(2)
        >>> damper = ramidyn.forces.JointDamper("joint0", damping=0.1)
        >>> robot.add_force(damper, name="bearing").forces[0].name
        'bearing'

        Args:
            element: such as ``ramidyn.forces.JointSpring("knee", stiffness=100.0)``.
            name: name of the element; the element's own by default.

        Raises:
            UnknownName: the robot has no such joint, body or frame.
            ArgumentError, ModelError: the element cannot act on this robot.
        """
        from ramidyn.quantities.added_forces import with_force

        return self._edited(with_force(self.model, self.conventions, element, name))

    def remove_force(self, name: str) -> Robot:
        """Return this robot without one of its force elements.

        Raises:
            UnknownName: the robot has no such force.
            ModelError: an actuator pulls on it.
        """
        return self._edited(editing.without_force(self.description, name))

    # ------------------------------------------------------------ rigid contacts

    @property
    def contacts(self) -> tuple[Contact, ...]:
        """The rigid contacts, hard limits and dry friction, in the order added."""
        return self.model.contacts

    def add_contact(self, element: Contact, name: str | None = None) -> Robot:
        """Return this robot with one more rigid contact: see `ramidyn.contacts`.

        It acts in `rollout` and `simulate`; `forward_dynamics` and the other quantities
        are those of the robot in the air. Contacts and force elements share their
        names: "friction:foot" is the friction of a contact "foot" as a parameter.

        >>> import ramidyn
        >>> robot = ramidyn.robots.chain(2)
        >>> foot = ramidyn.contacts.ContactSphere("body1", radius=0.02, friction=0.8)
        >>> robot.add_contact(foot, name="foot").contacts[0].radius
        0.02

        Args:
            element: such as ``ramidyn.contacts.ContactPoint("foot", friction=0.8)``.
            name: name of the contact; the element's own by default.

        Raises:
            UnknownName: the robot has no such joint, body or frame.
            ArgumentError, ModelError: the contact cannot act on this robot.
        """
        from ramidyn.quantities.added_contacts import with_contacts

        return self._edited(with_contacts(self.model, [element], name))

    def add_hard_limits(self, joints: Sequence[str] | None = None) -> Robot:
        """Return this robot with joint limits that it cannot pass in simulations.

        Args:
            joints: names of joints with one coordinate; by default all that have
                limits in their file.

        Raises:
            ArgumentError, ModelError: a joint has no limits; a
                ``ramidyn.contacts.HardLimit`` gives it some.
        """
        from ramidyn.quantities.added_contacts import hard_limits, with_contacts

        return self._edited(with_contacts(self.model, hard_limits(self.model, joints)))

    def add_dry_friction(
        self, force: float | None = None, joints: Sequence[str] | None = None
    ) -> Robot:
        """Return this robot with friction that holds its joints at rest in simulations.

        Args:
            force: largest force of friction, for every degree of freedom [N m, N];
                that of the file by default.
            joints: names of joints; by default those that have friction in their file,
                or with ``force`` all that have one degree of freedom.

        Raises:
            ArgumentError, ModelError: a joint has no friction, or has it as a force
                element (``ramidyn.forces.JointFriction``) already.
        """
        from ramidyn.quantities.added_contacts import dry_friction, with_contacts

        found = dry_friction(self.model, force, joints)
        return self._edited(with_contacts(self.model, found))

    def remove_contact(self, name: str) -> Robot:
        """Return this robot without one of its contacts, limits or frictions.

        Raises:
            UnknownName: the robot has no such contact.
        """
        return self._edited(editing.without_contact(self.description, name))

    def _edited(self, description: Description) -> Robot:
        """Return the robot of a changed description, with the same options."""
        order: str | Sequence[str] = self.joint_order
        if not isinstance(order, str):
            bodies = {b.name for b in self.description.bodies}
            order = _followed(order, bodies, description, self.mimic == "reduce")
        model = _built(description, self.conventions, order, self.mimic)
        return Robot(model, self.conventions, order, self.mimic)

    # ------------------------------------------------------------ what it computes

    @computed
    def inverse_dynamics(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        *,
        external: Mapping[str, ArrayLike] | None = None,
        expressed_in: str = "local",
        out: Array | None = None,
        **call: Unpack[CallKeywords],
    ) -> Array:
        """Return the joint forces τ that produce the accelerations q̈.

            τ = M(q) q̈ + C(q, q̇) q̇ + g(q) − τ_applied − Σ Jᵀ f

        τ_applied is what the robot's force elements do (`applied_forces`).

        Loops are ignored: τ moves the robot without any force in its loops. For motors
        that share the load with loops, use `constrained_inverse_dynamics`.

        Args:
            q: (nq,) or (batch, nq), configuration [rad, m].
            qd: (nv,) or (batch, nv), velocity [rad/s, m/s].
            qdd: (nv,) or (batch, nv), acceleration [rad/s², m/s²].
            external: wrenches acting on frames, such as
                ``{"left_foot": wrench}``: each (6,) or (batch, 6), force and moment
                in the order of the robot's conventions [N, N m].
            expressed_in: the axes of the wrenches: "local" (the frame's own, at its
                origin), "world" (at the world's origin) or "local_world_aligned"
                (the world's axes, at the frame's origin).
            out: where to write the result.
            dtype: "float64" or "float32"; that of the inputs by default.
            threads: number of threads that share a large batch.

        Returns:
            τ: (nv,) or (batch, nv) [N m, N].
        """
        ...

    @computed
    def forward_dynamics(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        *,
        algorithm: str = "auto",
        external: Mapping[str, ArrayLike] | None = None,
        expressed_in: str = "local",
        damping: float | None = None,
        out: Array | None = None,
        **call: Unpack[CallKeywords],
    ) -> Array:
        """Return the joint accelerations q̈ that the joint forces τ cause.

            q̈ = M(q)⁻¹ (τ + τ_applied + Σ Jᵀ f − C(q, q̇) q̇ − g(q))

        τ_applied is what the robot's force elements do (`applied_forces`).

        Loops stay closed: M q̈ + h = τ + Jᵀ λ with J q̈ + γ = 0.

        Args:
            q: (nq,) or (batch, nq), configuration [rad, m].
            qd: (nv,) or (batch, nv), velocity [rad/s, m/s].
            tau: (nv,) or (batch, nv), joint forces [N m, N].
            algorithm: "auto" (the cheapest for this robot), "aba" or "ltdl"; with
                loops "joint_formulation", "loopwise", "constrained_aba",
                "cluster_aba", "cluster_ltdl" or "proximal".
            external: wrenches acting on frames, such as
                ``{"left_foot": wrench}``: each (6,) or (batch, 6), force and moment
                in the order of the robot's conventions [N, N m].
            expressed_in: the axes of the wrenches: "local" (the frame's own, at its
                origin), "world" (at the world's origin) or "local_world_aligned"
                (the world's axes, at the frame's origin).
            damping: damping of loop constraints, in [0, 1); None damps only redundant
                ones, just enough for rounding errors.
            out: where to write the result.
            dtype: "float64" or "float32"; that of the inputs by default.
            threads: number of threads that share a large batch.

        Returns:
            q̈: (nv,) or (batch, nv) [rad/s², m/s²].
        """
        ...

    @computed
    def joint_wrenches(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        loop_forces: ArrayLike | None = None,
        *,
        external: Mapping[str, ArrayLike] | None = None,
        expressed_in: str = "local",
        out: Array | None = None,
        **call: Unpack[CallKeywords],
    ) -> Array:
        """Return the wrench across every joint: what the parent exerts on the child.

            w = I a + v ×* I v + Σ w of the children − f        (a: gravity included)

        It holds the whole load of the joint: the reaction of its bearings and, along
        its axis, τ − armature · q̈. A mimic joint has a row too; along its axis is what
        the transmission passes on to it.

        With loops, pass their multipliers: without them, the load that the loops carry
        is unknown.

            qdd, loop_forces = robot.forward_dynamics(...), robot.loop_forces(...)

        Args:
            q: (nq,) or (batch, nq), configuration [rad, m].
            qd: (nv,) or (batch, nv), velocity [rad/s, m/s].
            qdd: (nv,) or (batch, nv), acceleration [rad/s², m/s²].
            loop_forces: (rows,) or (batch, rows), multipliers of the loops, as
                `loop_forces` and `constrained_inverse_dynamics` return them; only for
                a robot with loops.
            external: wrenches acting on frames, such as
                ``{"left_foot": wrench}``: each (6,) or (batch, 6), force and moment
                in the order of the robot's conventions [N, N m].
            expressed_in: the axes of all wrenches, given and returned: "local" (the
                frame's own, at its origin; the frame of a joint has the axes of its
                child body), "world" (at the world's origin) or "local_world_aligned"
                (the world's axes, at the frame's origin).
            out: where to write the result.
            dtype: "float64" or "float32"; that of the inputs by default.
            threads: number of threads that share a large batch.

        Returns:
            w: (bodies, 6) or (batch, bodies, 6), force and moment in the order of the
            robot's conventions [N, N m]; row i belongs to ``robot.tree.bodies[i]``, and
            ``robot.joint("knee").bodies[-1]`` is the row of a joint.
        """
        ...

    @computed
    def inverse_dynamics_derivatives(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        *,
        algorithm: str = "auto",
        external: Mapping[str, ArrayLike] | None = None,
        expressed_in: str = "local",
        packed: bool = False,
        out: tuple[Array, Array, Array] | None = None,
        **call: Unpack[CallKeywords],
    ) -> tuple[Array, Array, Array]:
        """Return the derivatives of the joint forces τ with respect to q, q̇ and q̈.

            ∂τ/∂q,    ∂τ/∂q̇,    ∂τ/∂q̈ = M        of τ = M q̈ + C q̇ + g

        Changes of q are in the tangent space: column k is the rate of τ while q̇ is the
        k-th unit vector. Entries of joints on different branches are zero.

        Args:
            q: (nq,) or (batch, nq), configuration [rad, m].
            qd: (nv,) or (batch, nv), velocity [rad/s, m/s].
            qdd: (nv,) or (batch, nv), acceleration [rad/s², m/s²].
            algorithm: "auto" (the cheapest for this robot), "idsva" (a recursion along
                the tree), "forward" or "reverse" (modes of automatic differentiation).
            external: wrenches acting on frames, such as
                ``{"left_foot": wrench}``: each (6,) or (batch, 6), force and moment
                in the order of the robot's conventions [N, N m].
            expressed_in: the axes of the wrenches: "local" (the frame's own, at its
                origin), "world" (at the world's origin) or "local_world_aligned"
                (the world's axes, at the frame's origin).
            packed: leave out the zeros between joints on different branches: results
                are vectors of the other entries, in the order of `derivatives_layout`.
            out: where to write the results.
            dtype: "float64" or "float32"; that of the inputs by default.
            threads: number of threads that share a large batch.

        Returns:
            dtau_dq, dtau_dqd, M: each (nv, nv) or (batch, nv, nv), or packed.
        """
        ...

    @computed
    def forward_dynamics_derivatives(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        *,
        algorithm: str = "auto",
        external: Mapping[str, ArrayLike] | None = None,
        expressed_in: str = "local",
        packed: bool = False,
        out: tuple[Array, Array, Array] | None = None,
        **call: Unpack[CallKeywords],
    ) -> tuple[Array, Array, Array]:
        """Return the derivatives of the joint accelerations q̈ w.r.t. q, q̇ and τ.

            ∂q̈/∂q = −M⁻¹ ∂τ/∂q,    ∂q̈/∂q̇ = −M⁻¹ ∂τ/∂q̇,    ∂q̈/∂τ = M⁻¹

        Changes of q are in the tangent space: column k is the rate of q̈ while q̇ is
        the k-th unit vector.

        With loops, q̈ and λ obey M q̈ + h = τ + Jᵀ λ and J q̈ + γ = 0, and so do their
        derivatives, along every direction; where rows are redundant, along directions
        that keep the loops closed. ∂q̈/∂τ is M⁻¹ minus what the loops constrain.

        Args:
            q: (nq,) or (batch, nq), configuration [rad, m].
            qd: (nv,) or (batch, nv), velocity [rad/s, m/s].
            tau: (nv,) or (batch, nv), joint forces [N m, N].
            algorithm: "auto" (the cheapest for this robot), "idsva" (a recursion along
                the tree), "forward" or "reverse" (modes of automatic differentiation).
            external: wrenches acting on frames, such as
                ``{"left_foot": wrench}``: each (6,) or (batch, 6), force and moment
                in the order of the robot's conventions [N, N m].
            expressed_in: the axes of the wrenches: "local" (the frame's own, at its
                origin), "world" (at the world's origin) or "local_world_aligned"
                (the world's axes, at the frame's origin).
            packed: leave out the zeros between separate trees, such as two arms on the
                ground: results are vectors of the other entries, in the order of
                `forward_derivatives_layout`.
            out: where to write the results.
            dtype: "float64" or "float32"; that of the inputs by default.
            threads: number of threads that share a large batch.

        Returns:
            dqdd_dq, dqdd_dqd, dqdd_dtau: each (nv, nv) or (batch, nv, nv), or packed.
        """
        ...

    @computed
    def linearize(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        dt: ArrayLike,
        *,
        integrator: str = "semi_implicit_euler",
        stabilize: str = "project",
        rate: float = 20.0,
        out: tuple[Array, Array] | None = None,
        **call: Unpack[CallKeywords],
    ) -> tuple[Array, Array]:
        """Return the matrices A and B of one linearized time step.

            δx⁺ = A δx + B δτ        x = (q, q̇)

        The first nv entries of δx and δx⁺ are changes of q in its tangent space. A and
        B are the derivatives of one step of ``robot.rollout`` with the same options.

        With loops, x has redundant coordinates: δx keeps the loops closed if J δq = 0
        and J δq̇ + δJ q̇ = 0. With ``stabilize="project"``, δx⁺ then does too.

        Args:
            q: (nq,) or (batch, nq), configuration [rad, m].
            qd: (nv,) or (batch, nv), velocity [rad/s, m/s].
            tau: (nv,) or (batch, nv), joint forces, constant during the step [N m, N].
            dt: the time step [s].
            integrator: "semi_implicit_euler" (q̇⁺ = q̇ + q̈ dt, then q⁺ = q ⊕ q̇⁺ dt)
                or "rk4".
            stabilize: how a step keeps loops closed: "project", "baumgarte" or "none".
            rate: α for "baumgarte" [1/s].
            out: where to write the results.
            dtype: "float64" or "float32"; that of the inputs by default.
            threads: number of threads that share a large batch.

        Returns:
            A: (2 nv, 2 nv) or (batch, 2 nv, 2 nv). B: (2 nv, nv) or (batch, 2 nv, nv).
        """
        ...

    @computed
    def integrate_derivatives(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        dt: ArrayLike,
        *,
        out: tuple[Array, Array] | None = None,
        **call: Unpack[CallKeywords],
    ) -> tuple[Array, Array]:
        """Return the derivatives of ``robot.integrate`` with respect to q and q̇.

            ∂q₁/∂q,    ∂q₁/∂q̇        of q₁ = q ⊕ q̇ dt

        Changes of q and of q₁ are in their tangent spaces.

        Args:
            q: (nq,) or (batch, nq), configuration [rad, m].
            qd: (nv,) or (batch, nv), velocity [rad/s, m/s].
            dt: the time [s].
            out: where to write the results.
            dtype: "float64" or "float32"; that of the inputs by default.
            threads: number of threads that share a large batch.

        Returns:
            dq1_dq, dq1_dqd: each (nv, nv) or (batch, nv, nv).
        """
        ...

    @computed
    def difference_derivatives(
        self,
        q0: ArrayLike,
        q1: ArrayLike,
        *,
        out: tuple[Array, Array] | None = None,
        **call: Unpack[CallKeywords],
    ) -> tuple[Array, Array]:
        """Return the derivatives of ``robot.difference`` w.r.t. both configurations.

            ∂v/∂q₀,    ∂v/∂q₁        of v = q₁ ⊖ q₀

        Changes of q₀ and of q₁ are in their tangent spaces.

        Args:
            q0: (nq,) or (batch, nq), configuration [rad, m].
            q1: (nq,) or (batch, nq), configuration [rad, m].
            out: where to write the results.
            dtype: "float64" or "float32"; that of the inputs by default.
            threads: number of threads that share a large batch.

        Returns:
            dv_dq0, dv_dq1: each (nv, nv) or (batch, nv, nv).
        """
        ...

    @computed
    def mass_matrix(
        self,
        q: ArrayLike,
        *,
        algorithm: str = "auto",
        out: Array | None = None,
        **call: Unpack[CallKeywords],
    ) -> Array:
        """Return the mass matrix, by the composite-rigid-body algorithm.

            M(q) = ∂τ / ∂q̈,    kinetic energy = ½ q̇ᵀ M q̇

        Args:
            q: (nq,) or (batch, nq), configuration [rad, m].
            algorithm: "auto" (the cheapest for this robot), "crba" or "crba_root"
                (composite inertias in the frame of each body, or of the root).
            out: where to write the result.
            dtype: "float64" or "float32"; that of the inputs by default.
            threads: number of threads that share a large batch.

        Returns:
            M: (nv, nv) or (batch, nv, nv), symmetric [kg m², kg m, kg].
        """
        ...

    @computed
    def bias_forces(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        *,
        external: Mapping[str, ArrayLike] | None = None,
        expressed_in: str = "local",
        out: Array | None = None,
        **call: Unpack[CallKeywords],
    ) -> Array:
        """Return the joint forces at zero acceleration.

            h = C(q, q̇) q̇ + g(q) − Σ Jᵀ f

        The robot's force elements are not part of it: see `applied_forces`.

        Args:
            q: (nq,) or (batch, nq), configuration [rad, m].
            qd: (nv,) or (batch, nv), velocity [rad/s, m/s].
            external: wrenches acting on frames, such as
                ``{"left_foot": wrench}``: each (6,) or (batch, 6), force and moment
                in the order of the robot's conventions [N, N m].
            expressed_in: the axes of the wrenches: "local" (the frame's own, at its
                origin), "world" (at the world's origin) or "local_world_aligned"
                (the world's axes, at the frame's origin).
            out: where to write the result.
            dtype: "float64" or "float32"; that of the inputs by default.
            threads: number of threads that share a large batch.

        Returns:
            h: (nv,) or (batch, nv) [N m, N].
        """
        ...

    @computed
    def gravity_forces(
        self, q: ArrayLike, *, out: Array | None = None, **call: Unpack[CallKeywords]
    ) -> Array:
        """Return the joint forces that hold the robot at rest.

            g(q) = ∂V / ∂q

        Args:
            q: (nq,) or (batch, nq), configuration [rad, m].
            out: where to write the result.
            dtype: "float64" or "float32"; that of the inputs by default.
            threads: number of threads that share a large batch.

        Returns:
            g: (nv,) or (batch, nv) [N m, N].
        """
        ...

    @computed
    def applied_forces(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        *,
        forces: Sequence[str] | None = None,
        out: Array | None = None,
        **call: Unpack[CallKeywords],
    ) -> Array:
        """Return the joint forces that the robot's force elements amount to.

            M q̈ + h = τ + τ_applied

        Args:
            q: (nq,) or (batch, nq), configuration [rad, m].
            qd: (nv,) or (batch, nv), velocity [rad/s, m/s].
            forces: names of elements; all of them by default.
            out: where to write the result.
            dtype: "float64" or "float32"; that of the inputs by default.
            threads: number of threads that share a large batch.

        Returns:
            τ_applied: (nv,) or (batch, nv) [N m, N].
        """
        ...

    @computed
    def coriolis_matrix(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        *,
        algorithm: str = "auto",
        out: Array | None = None,
        **call: Unpack[CallKeywords],
    ) -> Array:
        """Return the Coriolis matrix, with Ṁ − 2 C skew-symmetric.

            τ = M q̈ + C(q, q̇) q̇ + g

        Args:
            q: (nq,) or (batch, nq), configuration [rad, m].
            qd: (nv,) or (batch, nv), velocity [rad/s, m/s].
            algorithm: "auto" (the cheapest for this robot), "body_frames" or
                "root_frame".
            out: where to write the result.
            dtype: "float64" or "float32"; that of the inputs by default.
            threads: number of threads that share a large batch.

        Returns:
            C: (nv, nv) or (batch, nv, nv).
        """
        ...

    @computed
    def mass_matrix_inverse(
        self,
        q: ArrayLike,
        *,
        algorithm: str = "auto",
        out: Array | None = None,
        **call: Unpack[CallKeywords],
    ) -> Array:
        """Return the inverse of the mass matrix.

            M(q)⁻¹ = ∂q̈ / ∂τ

        Args:
            q: (nq,) or (batch, nq), configuration [rad, m].
            algorithm: "auto" (the cheapest for this robot), "aba" or "ltdl".
            out: where to write the result.
            dtype: "float64" or "float32"; that of the inputs by default.
            threads: number of threads that share a large batch.

        Returns:
            M⁻¹: (nv, nv) or (batch, nv, nv), symmetric.
        """
        ...

    @computed
    def mass_matrix_csr(
        self, q: ArrayLike, *, out: Array | None = None, **call: Unpack[CallKeywords]
    ) -> Array:
        """Return the nonzero entries of the mass matrix, in MuJoCo's order.

        They are in compressed rows; `mass_matrix_layout` has the indices.

        Args:
            q: (nq,) or (batch, nq), configuration [rad, m].
            out: where to write the result.
            dtype: "float64" or "float32"; that of the inputs by default.
            threads: number of threads that share a large batch.

        Returns:
            M: (nonzeros,) or (batch, nonzeros).
        """
        ...

    @computed
    def mass_matrix_factor(
        self,
        q: ArrayLike,
        *,
        out: tuple[Array, ...] | None = None,
        **call: Unpack[CallKeywords],
    ) -> tuple[Array, Array]:
        """Return the sparse factors of the mass matrix.

            M = Lᵀ D L

        Args:
            q: (nq,) or (batch, nq), configuration [rad, m].
            out: where to write the result.
            dtype: "float64" or "float32"; that of the inputs by default.
            threads: number of threads that share a large batch.

        Returns:
            L: (nv, nv), unit lower triangular along the tree, and D: (nv,); or with a
            batch axis in front. ``ramidyn.mass_matrix_factor(packed=True)`` compiles to
            one array of the nonzero entries, D on the diagonal, in the order of
            `mass_matrix_layout`.
        """
        ...

    @computed
    def mass_matrix_solve(
        self,
        q: ArrayLike,
        b: ArrayLike,
        *,
        out: Array | None = None,
        **call: Unpack[CallKeywords],
    ) -> Array:
        """Return M⁻¹ b, through the sparse factors M = Lᵀ D L.

            x = M(q)⁻¹ b

        Args:
            q: (nq,) or (batch, nq), configuration [rad, m].
            b: (nv,) or (batch, nv), right-hand side.
            out: where to write the result.
            dtype: "float64" or "float32"; that of the inputs by default.
            threads: number of threads that share a large batch.

        Returns:
            x: (nv,) or (batch, nv).
        """
        ...

    @computed
    def configuration_rate(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        *,
        out: Array | None = None,
        **call: Unpack[CallKeywords],
    ) -> Array:
        """Return the time derivative of the entries of q, for ODE solvers.

            dq/dt = Q(q) q̇

        It equals q̇ if every joint has one coordinate. A quaternion changes by ½ q ⊗
        (ω, 0); its length drifts with the solver's error, which does no harm: every
        method normalizes it.

        Args:
            q: (nq,) or (batch, nq), configuration [rad, m].
            qd: (nv,) or (batch, nv), velocity [rad/s, m/s].
            out: where to write the result.
            dtype: "float64" or "float32"; that of the inputs by default.
            threads: number of threads that share a large batch.

        Returns:
            dq/dt: (nq,) or (batch, nq) [rad/s, m/s, 1/s].
        """
        ...

    @computed
    def center_of_mass(
        self, q: ArrayLike, *, out: Array | None = None, **call: Unpack[CallKeywords]
    ) -> Array:
        """Return the center of mass in the world.

            c = Σ mᵢ cᵢ / Σ mᵢ

        Args:
            q: (nq,) or (batch, nq), configuration [rad, m].
            out: where to write the result.
            dtype: "float64" or "float32"; that of the inputs by default.
            threads: number of threads that share a large batch.

        Returns:
            c: (3,) or (batch, 3) [m].
        """
        ...

    @computed
    def center_of_mass_jacobian(
        self, q: ArrayLike, *, out: Array | None = None, **call: Unpack[CallKeywords]
    ) -> Array:
        """Return the Jacobian of the center of mass.

            ċ = J q̇

        Args:
            q: (nq,) or (batch, nq), configuration [rad, m].
            out: where to write the result.
            dtype: "float64" or "float32"; that of the inputs by default.
            threads: number of threads that share a large batch.

        Returns:
            J: (3, nv) or (batch, 3, nv).
        """
        ...

    @computed
    def centroidal_momentum(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        *,
        out: Array | None = None,
        **call: Unpack[CallKeywords],
    ) -> Array:
        """Return the momentum about the center of mass, in world axes.

            h = A(q) q̇

        Args:
            q: (nq,) or (batch, nq), configuration [rad, m].
            qd: (nv,) or (batch, nv), velocity [rad/s, m/s].
            out: where to write the result.
            dtype: "float64" or "float32"; that of the inputs by default.
            threads: number of threads that share a large batch.

        Returns:
            h: (6,) or (batch, 6) [kg m/s, kg m²/s], halves in the order of the
            conventions.
        """
        ...

    @computed
    def centroidal_momentum_matrix(
        self, q: ArrayLike, *, out: Array | None = None, **call: Unpack[CallKeywords]
    ) -> Array:
        """Return the matrix that maps q̇ to the centroidal momentum.

            h = A(q) q̇

        Args:
            q: (nq,) or (batch, nq), configuration [rad, m].
            out: where to write the result.
            dtype: "float64" or "float32"; that of the inputs by default.
            threads: number of threads that share a large batch.

        Returns:
            A: (6, nv) or (batch, 6, nv).
        """
        ...

    @computed
    def kinetic_energy(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        *,
        out: Array | None = None,
        **call: Unpack[CallKeywords],
    ) -> Array:
        """Return the kinetic energy, including that of the rotors.

            T = ½ q̇ᵀ M(q) q̇

        Args:
            q: (nq,) or (batch, nq), configuration [rad, m].
            qd: (nv,) or (batch, nv), velocity [rad/s, m/s].
            out: where to write the result.
            dtype: "float64" or "float32"; that of the inputs by default.
            threads: number of threads that share a large batch.

        Returns:
            T: () or (batch,) [J].
        """
        ...

    @computed
    def potential_energy(
        self, q: ArrayLike, *, out: Array | None = None, **call: Unpack[CallKeywords]
    ) -> Array:
        """Return the potential energy, zero if all mass is at the world's origin.

            V = −Σ mᵢ cᵢ · g + elastic_energy

        Args:
            q: (nq,) or (batch, nq), configuration [rad, m].
            out: where to write the result.
            dtype: "float64" or "float32"; that of the inputs by default.
            threads: number of threads that share a large batch.

        Returns:
            V: () or (batch,) [J].
        """
        ...

    @computed
    def elastic_energy(
        self,
        q: ArrayLike,
        *,
        forces: Sequence[str] | None = None,
        out: Array | None = None,
        **call: Unpack[CallKeywords],
    ) -> Array:
        """Return the energy stored in force elements.

            τ = −∂E/∂q

        of springs, tendons, limits, contacts (without their dissipation) and gravity
        compensation. Dampers, friction, actuators and functions store none.

        Args:
            q: (nq,) or (batch, nq), configuration [rad, m].
            forces: names of elements; all of them by default.
            out: where to write the result.
            dtype: "float64" or "float32"; that of the inputs by default.
            threads: number of threads that share a large batch.

        Returns:
            E: () or (batch,) [J].
        """
        ...

    # ------------------------------------------------------------ identification

    @computed
    def regressor(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        *,
        bodies: Sequence[str] | None = None,
        joint_terms: Sequence[str] = (),
        out: Array | None = None,
        **call: Unpack[CallKeywords],
    ) -> Array:
        """Return the matrix that multiplies the inertial parameters in τ.

            τ = Y(q, q̇, q̈) π

        π is `inertial_parameters`: for each body m, m c (3), then Ixx Ixy Iyy Ixz Iyz
        Izz about the origin of its frame, in its axes; the order of ``parameters=``
        and of Pinocchio's computeJointTorqueRegressor. Loops are left out, as in
        `inverse_dynamics`.

        Args:
            q: (nq,) or (batch, nq), configuration [rad, m].
            qd: (nv,) or (batch, nv), velocity [rad/s, m/s].
            qdd: (nv,) or (batch, nv), acceleration [rad/s², m/s²].
            bodies: names of bodies, fixed ones (a payload, say) included; by default
                all that have a joint, from the root to the tips.
            joint_terms: further columns, one for each entry of q̇ and term: "armature"
                (q̈), "damping" (q̇), "friction" (sign of q̇; 0 at rest). τ has then
                the force that overcomes them.
            out: where to write the result.
            dtype: "float64" or "float32"; that of the inputs by default.
            threads: number of threads that share a large batch.

        Returns:
            Y: (nv, columns) or (batch, nv, columns); 10 columns for each body, then nv
            for each term.
        """
        ...

    @computed
    def energy_regressor(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        *,
        bodies: Sequence[str] | None = None,
        joint_terms: Sequence[str] = (),
        out: tuple[Array, Array] | None = None,
        **call: Unpack[CallKeywords],
    ) -> tuple[Array, Array]:
        """Return the vectors that multiply the inertial parameters in the energies.

            T = kinetic · π,    V = potential · π

        Args:
            q: (nq,) or (batch, nq), configuration [rad, m].
            qd: (nv,) or (batch, nv), velocity [rad/s, m/s].
            bodies: names of bodies; by default all that have a joint, as in
                `regressor`.
            joint_terms: ("armature",) adds a column for each entry of q̇.
            out: where to write the results.
            dtype: "float64" or "float32"; that of the inputs by default.
            threads: number of threads that share a large batch.

        Returns:
            kinetic, potential: each (columns,) or (batch, columns).
        """
        ...

    def inertial_parameters(
        self, bodies: Sequence[str] | None = None, joint_terms: Sequence[str] = ()
    ) -> Array:
        """Return the parameters π of the robot, in the order of `regressor`.

        A body has its own inertia and that of all bodies fixed to it, except those
        that are listed too. A joint term has the values of the file; those of mimic
        joints are part of their leader's.

        >>> import numpy as np, ramidyn
        >>> robot = ramidyn.robots.chain(2)
        >>> q, qd, qdd = np.random.default_rng(0).normal(size=(3, 2))
        >>> tau = robot.regressor(q, qd, qdd) @ robot.inertial_parameters()
        >>> np.allclose(tau, robot.inverse_dynamics(q, qd, qdd))
        True

        Args:
            bodies: names of bodies; by default all that have a joint.
            joint_terms: of "armature", "damping" and "friction".

        Returns:
            π: (columns,) [kg, kg m, kg m²; then kg m², N m s, N m, or kg, N s/m, N].

        Raises:
            UnknownName: the robot has no such body.
        """
        from ramidyn.quantities.identification import checked_bodies, checked_terms
        from ramidyn.tree.inertial_parameters import inertial_parameters

        return inertial_parameters(
            self.model, checked_bodies(bodies), checked_terms(joint_terms)
        )

    def base_parameters(
        self,
        bodies: Sequence[str] | None = None,
        joint_terms: Sequence[str] = (),
        *,
        method: str = "auto",
    ) -> BaseParameters:
        """Return the combinations of inertial parameters that motion can tell apart.

        Most parameters act on τ only in sums with others, and some not at all. With
        b = `robot.base_parameters()`, the base parameters are β = b.matrix π, and

            τ = Y π = Y[:, b.columns] β

        where Y[:, b.columns] has full column rank over all states.

        >>> import ramidyn
        >>> b = ramidyn.robots.chain(2).base_parameters()
        >>> b.rank, b.matrix.shape, len(b.columns)
        (10, (10, 20), 10)

        Args:
            bodies: names of bodies; by default all that have a joint.
            joint_terms: of "armature", "damping" and "friction".
            method: "rules" (what may move across each joint, exact, without compiling
                anything), "samples" (the rank of Y over random states), or "auto":
                rules, and samples for robots with mimic joints and for joint terms,
                which rules do not cover.

        Raises:
            UnknownName: the robot has no such body.
        """
        from ramidyn.mechanism.base_parameters import base_parameters

        return base_parameters(self, bodies, joint_terms, method)

    # ------------------------------------------------------------ frames and tasks

    @computed
    def pose(
        self,
        q: ArrayLike,
        frame: str,
        *,
        out: Array | None = None,
        **call: Unpack[CallKeywords],
    ) -> Array:
        """Return where a frame is in the world.

        Args:
            q: (nq,) or (batch, nq), configuration [rad, m].
            frame: name of a frame; see `frame_names`.
            out: where to write the result.
            dtype: "float64" or "float32"; that of the inputs by default.
            threads: number of threads that share a large batch.

        Returns:
            T: (4, 4) or (batch, 4, 4), homogeneous: ``T[:3, :3]`` are the frame's axes
            in those of the world, ``T[:3, 3]`` is its origin [m].
        """
        ...

    @computed
    def velocity(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        frame: str,
        expressed_in: str = "local",
        *,
        out: Array | None = None,
        **call: Unpack[CallKeywords],
    ) -> Array:
        """Return the spatial velocity of a frame.

            v = J q̇

        Args:
            q: (nq,) or (batch, nq), configuration [rad, m].
            qd: (nv,) or (batch, nv), velocity [rad/s, m/s].
            frame: name of a frame; see `frame_names`.
            expressed_in: "local" (the frame's own axes, at its origin), "world" (world
                axes, at the world's origin) or "local_world_aligned" (world axes, at
                the frame's origin).
            out: where to write the result.
            dtype: "float64" or "float32"; that of the inputs by default.
            threads: number of threads that share a large batch.

        Returns:
            v: (6,) or (batch, 6) [m/s, rad/s], halves in the order of the conventions.
        """
        ...

    @computed
    def acceleration(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        frame: str,
        kind: str = "classical",
        expressed_in: str = "local",
        *,
        out: Array | None = None,
        **call: Unpack[CallKeywords],
    ) -> Array:
        """Return the acceleration of a frame, without gravity.

            a = J q̈ + J̇ q̇    (kind="spatial")

        An accelerometer at the frame measures the linear part minus gravity: with the
        defaults, a − Rᵀ g, where R is the frame's rotation in the world.

        Args:
            q: (nq,) or (batch, nq), configuration [rad, m].
            qd: (nv,) or (batch, nv), velocity [rad/s, m/s].
            qdd: (nv,) or (batch, nv), acceleration [rad/s², m/s²].
            frame: name of a frame; see `frame_names`.
            kind: "classical" (the linear part is the acceleration of the point at the
                frame's origin or, in "world", of the body's point at the world's
                origin) or "spatial" (the rate of the spatial velocity, as in
                Featherstone's book; its linear part does not include ω × v).
            expressed_in: "local" (the frame's own axes, at its origin), "world" (world
                axes, at the world's origin) or "local_world_aligned" (world axes, at
                the frame's origin).
            out: where to write the result.
            dtype: "float64" or "float32"; that of the inputs by default.
            threads: number of threads that share a large batch.

        Returns:
            a: (6,) or (batch, 6) [m/s², rad/s²], halves in the order of the
            conventions.
        """
        ...

    @computed
    def jacobian(
        self,
        q: ArrayLike,
        frame: str,
        expressed_in: str = "local",
        *,
        out: Array | None = None,
        **call: Unpack[CallKeywords],
    ) -> Array:
        """Return the Jacobian of a frame.

            v = J(q) q̇

        Args:
            q: (nq,) or (batch, nq), configuration [rad, m].
            frame: name of a frame; see `frame_names`.
            expressed_in: "local" (the frame's own axes, at its origin), "world" (world
                axes, at the world's origin) or "local_world_aligned" (world axes, at
                the frame's origin).
            out: where to write the result.
            dtype: "float64" or "float32"; that of the inputs by default.
            threads: number of threads that share a large batch.

        Returns:
            J: (6, nv) or (batch, 6, nv), halves in the order of the conventions.
        """
        ...

    @computed
    def jacobian_dot_times_qd(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        frame: str,
        kind: str | None = None,
        expressed_in: str = "local",
        *,
        out: Array | None = None,
        **call: Unpack[CallKeywords],
    ) -> Array:
        """Return the velocity-dependent part of a frame's acceleration.

            J̇ q̇,    with a = J q̈ + J̇ q̇

        Args:
            q: (nq,) or (batch, nq), configuration [rad, m].
            qd: (nv,) or (batch, nv), velocity [rad/s, m/s].
            frame: name of a frame; see `frame_names`.
            kind: None for the rate of J itself; "classical" or "spatial" for the part
                of that acceleration that is not J q̈. None is "classical" in
                "local_world_aligned" axes and "spatial" in others.
            expressed_in: "local" (the frame's own axes, at its origin), "world" (world
                axes, at the world's origin) or "local_world_aligned" (world axes, at
                the frame's origin).
            out: where to write the result.
            dtype: "float64" or "float32"; that of the inputs by default.
            threads: number of threads that share a large batch.

        Returns:
            J̇ q̇: (6,) or (batch, 6) [m/s², rad/s²].
        """
        ...

    def inverse_kinematics(
        self,
        targets: Targets,
        q_guess: ArrayLike | None = None,
        *,
        constraints: Targets | Iterable[Key] = (),
        fixed: Mapping[str, ArrayLike] | Iterable[str] = (),
        weights: Mapping[Key, ArrayLike] | None = None,
        tolerance: float | tuple[float, float] = (1e-4, 1e-3),
        starts: int = 100,
        rng: np.random.Generator | int = 0,
        threads: int = 1,
    ) -> KinematicSolution:
        """Return a configuration that reaches targets, within joint limits.

        >>> import ramidyn
        >>> robot = ramidyn.robots.humanoid30()
        >>> q = robot.random_configuration(rng=0)
        >>> found = robot.inverse_kinematics({"left_hand": robot.pose(q, "left_hand")})
        >>> found.success
        True

        Minimizes the squared errors of all goals by the method of Levenberg and
        Marquardt, from the guess and then from other starts until all goals are within
        tolerance. Joint limits, constraints and the robot's loops hold exactly. If no
        start succeeds, the result is the best configuration found, and says so. A
        solution does not depend on the other targets of a batch.

        Args:
            targets: by goal: the pose, (4, 4), of a frame by its name; or what a `Task`
                (its rows), `Direction`, `RelativePose`, `CenterOfMass`, `Posture` or
                `Residual` of `ramidyn.tasks` should reach. With an axis in front, a
                batch of targets.
            q_guess: (nq,) or (batch, nq), where to start [rad, m]; the middle of the
                limits by default, neutral where there are none.
            constraints: goals that hold exactly, with targets; or a list of goals,
                which hold where they are at the guess: feet that stand.
            fixed: joints held fixed: values by name, for all targets of a batch or for
                each, or names (at the guess's values).
            weights: of goals: a number; one for each part (position and orientation of
                a pose); or one for each row. The cost is ½ Σ (weight · error)². 1 by
                default, 0.001 for a `Posture`.
            tolerance: largest error of a goal: of positions [m] and of angles [rad], or
                one number for both.
            starts: how many at most: the guess, then points of a low-discrepancy
                sequence within limits.
            rng: generator for the beginning of that sequence, or a seed.
            threads: number of threads that share a large batch.

        Raises:
            UnknownName: the robot has no such frame or joint.
            ShapeError: a target or guess of the wrong shape, or not finite.
            ArgumentError: an unknown goal or weight; a target that is not a pose.
        """
        from ramidyn.kinematics.inverse_kinematics import inverse_kinematics

        return inverse_kinematics(
            self,
            targets,
            q_guess,
            constraints=constraints,
            fixed=fixed,
            weights=weights,
            tolerance=tolerance,
            starts=starts,
            rng=rng,
            threads=threads,
        )

    def track(
        self,
        targets: Targets,
        q_start: ArrayLike | None = None,
        *,
        dt: float,
        constraints: Targets | Iterable[Key] = (),
        fixed: Iterable[str] = (),
        weights: Mapping[Key, ArrayLike] | None = None,
        velocity_limits: ArrayLike | None = None,
        smoothness: float = 0.0,
        iterations: int = 3,
        tolerance: float | tuple[float, float] = (1e-4, 1e-3),
        threads: int = 1,
    ) -> KinematicSolution:
        """Return configurations that follow moving targets, frame after frame.

        Each frame starts from the one before and takes a few iterations of
        `inverse_kinematics`, in native code; clips run side by side. No joint moves
        faster than its limit.

        Args:
            targets: by goal, as in `inverse_kinematics`, with an axis for time in front
                of each target, (frames, 4, 4), or two for clips, (clips, frames, 4, 4).
                A target without a time axis stays where it is.
            q_start: (nq,) or (clips, nq), the configuration before the first frame
                [rad, m]. By default the first frame is solved by `inverse_kinematics`.
            dt: time from frame to frame [s].
            constraints: goals that hold exactly; see `inverse_kinematics`. In a list,
                they hold where they are at the start.
            fixed: names of joints that stay as they are at the start.
            weights: of goals; see `inverse_kinematics`.
            velocity_limits: (nv,) or one number [rad/s, m/s]; those of the robot by
                default.
            smoothness: weight of the change of q from frame to frame, against errors.
            iterations: of each frame.
            tolerance: as in `inverse_kinematics`: frames within it are a success.
            threads: number of threads that share the clips.

        Returns:
            q: (frames, nq) or (clips, frames, nq), and errors and success of each
            frame.
        """
        from ramidyn.kinematics.tracking import track

        return track(
            self,
            targets,
            q_start,
            dt=dt,
            constraints=constraints,
            fixed=fixed,
            weights=weights,
            velocity_limits=velocity_limits,
            smoothness=smoothness,
            iterations=iterations,
            tolerance=tolerance,
            threads=threads,
        )

    @computed
    def operational_inertia_inverse(
        self,
        q: ArrayLike,
        tasks: Tasks,
        algorithm: str = "auto",
        *,
        out: Array | None = None,
        **call: Unpack[CallKeywords],
    ) -> Array:
        """Return the inverse of the operational-space inertia of some tasks.

            Λ⁻¹ = J M⁻¹ Jᵀ

        Args:
            q: (nq,) or (batch, nq), configuration [rad, m].
            tasks: a frame, a `Task`, or several.
            algorithm: how to compute Λ⁻¹: "auto" (the cheapest for this robot and these
                tasks: `ramidyn.tasks.explain_operational` shows why), "sfa", "rjk",
                "chang_khatib", "efpa", "pv", "pvr" or "mixed".
            out: where to write the result.
            dtype: "float64" or "float32"; that of the inputs by default.
            threads: number of threads that share a large batch.

        Returns:
            Λ⁻¹: (rows, rows) or (batch, rows, rows), symmetric.
        """
        ...

    @computed
    def operational_inertia(
        self,
        q: ArrayLike,
        tasks: Tasks,
        algorithm: str = "auto",
        damping: float = 0.0,
        *,
        out: Array | None = None,
        **call: Unpack[CallKeywords],
    ) -> Array:
        """Return the operational-space inertia of some tasks.

            Λ = (J M⁻¹ Jᵀ + damping 1)⁻¹

        Args:
            q: (nq,) or (batch, nq), configuration [rad, m].
            tasks: a frame, a `Task`, or several.
            algorithm: how to compute Λ⁻¹: "auto" (the cheapest for this robot and these
                tasks: `ramidyn.tasks.explain_operational` shows why), "sfa", "rjk",
                "chang_khatib", "efpa", "pv", "pvr" or "mixed".
            damping: added to the diagonal of Λ⁻¹; 0 rejects tasks with more rows than
                can move independently.
            out: where to write the result.
            dtype: "float64" or "float32"; that of the inputs by default.
            threads: number of threads that share a large batch.

        Returns:
            Λ: (rows, rows) or (batch, rows, rows), symmetric.
        """
        ...

    @computed
    def dynamically_consistent_inverse(
        self,
        q: ArrayLike,
        tasks: Tasks,
        algorithm: str = "auto",
        damping: float = 0.0,
        response: str = "auto",
        *,
        out: Array | None = None,
        **call: Unpack[CallKeywords],
    ) -> Array:
        """Return the dynamically consistent inverse of the Jacobian of some tasks.

            J̄ = M⁻¹ Jᵀ Λ

        Args:
            q: (nq,) or (batch, nq), configuration [rad, m].
            tasks: a frame, a `Task`, or several.
            algorithm: how to compute Λ⁻¹: "auto" (the cheapest for this robot and these
                tasks: `ramidyn.tasks.explain_operational` shows why), "sfa", "rjk",
                "chang_khatib", "efpa", "pv", "pvr" or "mixed".
            damping: added to the diagonal of Λ⁻¹; 0 rejects tasks with more rows than
                can move independently.
            response: how to compute M⁻¹ Jᵀ Λ: "factor" (M = Lᵀ D L), "propagators"
                (without M, O(n) a row) or "auto" (the cheaper one).
            out: where to write the result.
            dtype: "float64" or "float32"; that of the inputs by default.
            threads: number of threads that share a large batch.

        Returns:
            J̄: (nv, rows) or (batch, nv, rows).
        """
        ...

    @computed
    def null_space_projector(
        self,
        q: ArrayLike,
        tasks: Tasks,
        algorithm: str = "auto",
        damping: float = 0.0,
        response: str = "auto",
        *,
        out: Array | None = None,
        **call: Unpack[CallKeywords],
    ) -> Array:
        """Return the projector onto the null space of some tasks.

            N = 1 − J̄ J

        Torques Nᵀ τ do not accelerate the tasks.

        Args:
            q: (nq,) or (batch, nq), configuration [rad, m].
            tasks: a frame, a `Task`, or several.
            algorithm: how to compute Λ⁻¹: "auto" (the cheapest for this robot and these
                tasks: `ramidyn.tasks.explain_operational` shows why), "sfa", "rjk",
                "chang_khatib", "efpa", "pv", "pvr" or "mixed".
            damping: added to the diagonal of Λ⁻¹; 0 rejects tasks with more rows than
                can move independently.
            response: how to compute M⁻¹ Jᵀ Λ: "factor" (M = Lᵀ D L), "propagators"
                (without M, O(n) a row) or "auto" (the cheaper one).
            out: where to write the result.
            dtype: "float64" or "float32"; that of the inputs by default.
            threads: number of threads that share a large batch.

        Returns:
            N: (nv, nv) or (batch, nv, nv).
        """
        ...

    @computed
    def articulated_inertia(
        self,
        q: ArrayLike,
        frame: str,
        *,
        out: Array | None = None,
        **call: Unpack[CallKeywords],
    ) -> Array:
        """Return the articulated-body inertia of the body of a frame.

            f = Iᴬ a

        f is the force that gives the body the acceleration a, with all joints beyond
        it free and everything at rest, without gravity.

        Args:
            q: (nq,) or (batch, nq), configuration [rad, m].
            frame: name of a frame; see `frame_names`. The inertia is in its axes, about
                its origin.
            out: where to write the result.
            dtype: "float64" or "float32"; that of the inputs by default.
            threads: number of threads that share a large batch.

        Returns:
            IA: (6, 6) or (batch, 6, 6), symmetric [kg m², kg m, kg], rows and columns
            in the order of the conventions.
        """
        ...

    @computed
    def propagator(
        self,
        q: ArrayLike,
        frame: str,
        base: str,
        *,
        out: Array | None = None,
        **call: Unpack[CallKeywords],
    ) -> Array:
        """Return how the acceleration of one frame makes another accelerate.

            a = A a_base        f_base = Aᵀ f

        Joints between the two are free: A carries accelerations outward, and its
        transpose carries forces inward (Chang & Khatib 2000; A is the product of the
        paper's propagators along the chain).

        Args:
            q: (nq,) or (batch, nq), configuration [rad, m].
            frame: name of a frame; see `frame_names`.
            base: name of a frame on a body between that frame and the root.
            out: where to write the result.
            dtype: "float64" or "float32"; that of the inputs by default.
            threads: number of threads that share a large batch.

        Returns:
            A: (6, 6) or (batch, 6, 6), each frame in its own axes, rows and columns in
            the order of the conventions.
        """
        ...

    @computed
    def task_jacobian(
        self,
        q: ArrayLike,
        tasks: Tasks,
        *,
        out: Array | None = None,
        **call: Unpack[CallKeywords],
    ) -> Array:
        """Return the stacked Jacobian of some tasks.

            ẋ = J q̇

        Args:
            q: (nq,) or (batch, nq), configuration [rad, m].
            tasks: a frame, a `Task`, or several.
            out: where to write the result.
            dtype: "float64" or "float32"; that of the inputs by default.
            threads: number of threads that share a large batch.

        Returns:
            J: (rows, nv) or (batch, rows, nv).
        """
        ...

    @computed
    def task_bias(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tasks: Tasks,
        *,
        algorithm: str = "auto",
        out: Array | None = None,
        **call: Unpack[CallKeywords],
    ) -> Array:
        """Return how the tasks accelerate when no joint is driven.

            β = J̇ q̇ − J M⁻¹ (C + G)

        Args:
            q: (nq,) or (batch, nq), configuration [rad, m].
            qd: (nv,) or (batch, nv), velocity [rad/s, m/s].
            tasks: a frame, a `Task`, or several.
            algorithm: see `forward_dynamics`.
            out: where to write the result.
            dtype: "float64" or "float32"; that of the inputs by default.
            threads: number of threads that share a large batch.

        Returns:
            β: (rows,) or (batch, rows).
        """
        ...

    @computed
    def task_acceleration(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        tasks: Tasks,
        *,
        algorithm: str = "auto",
        out: Array | None = None,
        **call: Unpack[CallKeywords],
    ) -> Array:
        """Return how the tasks accelerate under joint forces.

            ẍ = J q̈ + J̇ q̇ = J M⁻¹ τ + β

        Args:
            q: (nq,) or (batch, nq), configuration [rad, m].
            qd: (nv,) or (batch, nv), velocity [rad/s, m/s].
            tau: (nv,) or (batch, nv), joint forces [N m, N].
            tasks: a frame, a `Task`, or several.
            algorithm: see `forward_dynamics`.
            out: where to write the result.
            dtype: "float64" or "float32"; that of the inputs by default.
            threads: number of threads that share a large batch.

        Returns:
            ẍ: (rows,) or (batch, rows).
        """
        ...

    @computed
    def constrained_operational_inertia_inverse(
        self,
        q: ArrayLike,
        tasks: Tasks,
        *,
        algorithm: str = "auto",
        out: Array | None = None,
        **call: Unpack[CallKeywords],
    ) -> Array:
        """Return the inverse of the operational-space inertia with loops closed.

            Λ⁻¹ = J N Jᵀ,    N = M⁻¹ − M⁻¹ Gᵀ (G M⁻¹ Gᵀ)⁺ G M⁻¹,    G = ∂Φ/∂q

        Args:
            q: (nq,) or (batch, nq), configuration [rad, m].
            tasks: a frame, a `Task`, or several.
            algorithm: "auto" (the cheapest for this robot), "loopwise" or
                "cluster_ltdl".
            out: where to write the result.
            dtype: "float64" or "float32"; that of the inputs by default.
            threads: number of threads that share a large batch.

        Returns:
            Λ⁻¹: (rows, rows) or (batch, rows, rows), symmetric.
        """
        ...

    # ------------------------------------------------------------ closed loops

    @computed
    def constraint_residual(
        self, q: ArrayLike, *, out: Array | None = None, **call: Unpack[CallKeywords]
    ) -> Array:
        """Return how far the loops are open: zero if all are closed.

            Φ(q)

        Args:
            q: (nq,) or (batch, nq), configuration [rad, m].
            out: where to write the result.
            dtype: "float64" or "float32"; that of the inputs by default.
            threads: number of threads that share a large batch.

        Returns:
            Φ: (rows,) or (batch, rows) [m, rad], in the order of `loops`.
        """
        ...

    @computed
    def constraint_jacobian(
        self, q: ArrayLike, *, out: Array | None = None, **call: Unpack[CallKeywords]
    ) -> Array:
        """Return the Jacobian of the loop constraints.

            J = ∂Φ/∂q,    Φ̇ = J q̇

        Args:
            q: (nq,) or (batch, nq), configuration [rad, m].
            out: where to write the result.
            dtype: "float64" or "float32"; that of the inputs by default.
            threads: number of threads that share a large batch.

        Returns:
            J: (rows, nv) or (batch, rows, nv).
        """
        ...

    @computed
    def constraint_bias(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        *,
        out: Array | None = None,
        **call: Unpack[CallKeywords],
    ) -> Array:
        """Return the velocity-dependent part of the constraints' acceleration.

            γ = J̇ q̇,    Φ̈ = J q̈ + γ

        Args:
            q: (nq,) or (batch, nq), configuration [rad, m].
            qd: (nv,) or (batch, nv), velocity [rad/s, m/s].
            out: where to write the result.
            dtype: "float64" or "float32"; that of the inputs by default.
            threads: number of threads that share a large batch.

        Returns:
            γ: (rows,) or (batch, rows).
        """
        ...

    @computed
    def loop_forces(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        *,
        algorithm: str = "auto",
        external: Mapping[str, ArrayLike] | None = None,
        expressed_in: str = "local",
        damping: float | None = None,
        out: Array | None = None,
        **call: Unpack[CallKeywords],
    ) -> Array:
        """Return the multipliers of the loops: the forces they exert on body b.

            M q̈ + h = τ + Jᵀ λ

        λ acts on body b of its loop, along the axes of the cut's frame on body a; −λ
        acts on body a. Where a is the world, as in `pin`, λ is the force of the ground
        on the robot; where b is, −λ is. `loop_wrenches` has the force on the robot.

        If rows are redundant, Jᵀ λ is unique but λ is not; the λ with the smallest Σ λ²
        is returned. A row along which nothing can move (out of the plane of a planar
        loop) has λ = 0.

        Args:
            q: (nq,) or (batch, nq), configuration [rad, m].
            qd: (nv,) or (batch, nv), velocity [rad/s, m/s].
            tau: (nv,) or (batch, nv), joint forces [N m, N].
            algorithm: "auto" (the cheapest for this robot), "joint_formulation",
                "loopwise", "constrained_aba", "cluster_aba", "cluster_ltdl" or
                "proximal".
            external: wrenches acting on frames, such as
                ``{"left_foot": wrench}``: each (6,) or (batch, 6), force and moment
                in the order of the robot's conventions [N, N m].
            expressed_in: the axes of the wrenches: "local" (the frame's own, at its
                origin), "world" (at the world's origin) or "local_world_aligned"
                (the world's axes, at the frame's origin).
            damping: damping of loop constraints, in [0, 1); None damps only redundant
                ones, just enough for rounding errors.
            out: where to write the result.
            dtype: "float64" or "float32"; that of the inputs by default.
            threads: number of threads that share a large batch.

        Returns:
            λ: (rows,) or (batch, rows) [N, N m], in the order of `loops`.
        """
        ...

    @computed
    def loop_wrenches(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        *,
        algorithm: str = "auto",
        external: Mapping[str, ArrayLike] | None = None,
        expressed_in: str = "local",
        damping: float | None = None,
        on: str = "robot",
        out: Array | None = None,
        **call: Unpack[CallKeywords],
    ) -> Array:
        """Return the wrench that each loop exerts on the robot.

        It acts on body b, or on body a where b is fixed to the world: for a foot that
        the world holds, it is the force of the ground on the foot. Between two bodies
        of the robot the opposite acts on body a: ``on="both"`` returns both.

        These are the multipliers as wrenches: through the Jacobians of the two bodies
        they give Jᵀ λ. See `loop_forces` for redundant rows. A coupling acts in its
        joints and has no bodies: its wrenches are zero.

        Args:
            q: (nq,) or (batch, nq), configuration [rad, m].
            qd: (nv,) or (batch, nv), velocity [rad/s, m/s].
            tau: (nv,) or (batch, nv), joint forces [N m, N].
            algorithm: "auto" (the cheapest for this robot), "joint_formulation",
                "loopwise", "constrained_aba", "cluster_aba", "cluster_ltdl" or
                "proximal".
            external: wrenches acting on frames, such as
                ``{"left_foot": wrench}``: each (6,) or (batch, 6), force and moment
                in the order of the robot's conventions [N, N m].
            expressed_in: the axes of all wrenches, given and returned: "local" (the
                frame's own, at its origin; here the cut's frame on each body), "world"
                (at the world's origin) or "local_world_aligned" (the world's axes, at
                the frame's origin).
            damping: damping of loop constraints, in [0, 1); None damps only redundant
                ones, just enough for rounding errors.
            on: "robot", or "both": on body a and on body b.
            out: where to write the result.
            dtype: "float64" or "float32"; that of the inputs by default.
            threads: number of threads that share a large batch.

        Returns:
            w: (loops, 6) or (batch, loops, 6), force and moment in the order of the
            robot's conventions [N, N m], in the order of `loops`. With ``on="both"``
            (loops, 2, 6) or (batch, loops, 2, 6): on body a, on body b.
        """
        ...

    @computed
    def loop_forces_derivatives(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        *,
        algorithm: str = "auto",
        external: Mapping[str, ArrayLike] | None = None,
        expressed_in: str = "local",
        out: tuple[Array, Array, Array] | None = None,
        **call: Unpack[CallKeywords],
    ) -> tuple[Array, Array, Array]:
        """Return the derivatives of the multipliers λ of the loops w.r.t. q, q̇ and τ.

        They come with those of q̈: see `forward_dynamics_derivatives`. Where rows are
        redundant, they are those of the least λ, along directions that keep the loops
        closed.

        Args:
            q: (nq,) or (batch, nq), configuration [rad, m].
            qd: (nv,) or (batch, nv), velocity [rad/s, m/s].
            tau: (nv,) or (batch, nv), joint forces [N m, N].
            algorithm: "auto" (the cheapest for this robot), "idsva" (a recursion along
                the tree), "forward" or "reverse" (of the program of inverse dynamics).
            external: wrenches that act on frames, such as
                ``{"left_foot": wrench}``: each (6,) or (batch, 6), force and moment
                in the order of the robot's conventions [N, N m].
            expressed_in: the axes of the wrenches: "local" (the frame's own, at its
                origin), "world" (at the world's origin) or "local_world_aligned"
                (the world's axes, at the frame's origin).
            out: where to write the results.
            dtype: "float64" or "float32"; that of the inputs by default.
            threads: number of threads that share a large batch.

        Returns:
            dlambda_dq, dlambda_dqd, dlambda_dtau: each (rows, nv) or
            (batch, rows, nv), rows in the order of `loops`.
        """
        ...

    @property
    def loops(self) -> tuple[Loop, ...]:
        """The loops: each with its name, type, bodies and rows."""
        from ramidyn.mechanism.loops import loops_of

        return loops_of(self)

    def add_loop(
        self,
        body_a: str | None = None,
        body_b: str | None = None,
        *,
        joint: str = "spherical",
        placement_a: Placement | None = None,
        placement_b: Placement | None = None,
        name: str | None = None,
        length: float | None = None,
        joints: Sequence[str] | None = None,
        coefficients: Sequence[float] | None = None,
        q: ArrayLike | None = None,
        check: bool = True,
    ) -> Robot:
        """Return this robot with one more loop: a cut joint connects body b to body a.

        The multipliers (`loop_forces`) are the forces on body b, along the axes of the
        cut's frame on a; the opposite acts on a. `pin` holds a frame in the world.

        Args:
            body_a: a body; "world" or None is the world.
            body_b: the other body.
            joint: the cut joint, along z of the frame on a: "weld", "revolute",
                "prismatic", "universal", "cylindrical", "spherical", "planar",
                "point_on_line", "point_on_plane", "distance" (a rod), or "coupling".
            placement_a: the cut's frame in body a; a's own by default.
            placement_b: the cut's frame in body b; by default it meets the one in a
                at q.
            name: name of the loop.
            length: length of the rod ("distance") [m]; by default that at q.
            joints: the dependent joint and the joint it follows, or several
                ("coupling").
            coefficients: y = Σ c_k x^k ("coupling"); y = x by default, (0, 2) a gear.
                With several joints y = c_0 + Σ c_k x_k: a differential.
            q: (nq,) where the loop is closed, for the placement and length that are
                not given [rad, m]; neutral by default.
            check: whether to check that all loops can be closed together.

        Raises:
            ModelError: the loop is impossible, or cannot be closed with the others.
        """
        from ramidyn.mechanism.loops import add_loop

        return add_loop(
            self,
            body_a,
            body_b,
            joint=joint,
            placement_a=placement_a,
            placement_b=placement_b,
            name=name,
            length=length,
            joints=joints,
            coefficients=coefficients,
            q=q,
            check=check,
        )

    def pin(
        self,
        frame: str,
        q: ArrayLike,
        *,
        joint: str = "weld",
        name: str | None = None,
        check: bool = True,
    ) -> Robot:
        """Return this robot with a frame held in the world, where it is at q: a foot.

        >>> import ramidyn
        >>> robot = ramidyn.robots.humanoid30()
        >>> standing = robot.pin("left_foot", robot.neutral())
        >>> [(loop.name, loop.type, loop.body_b) for loop in standing.loops]
        [('left_foot', 'weld', 'left_foot')]

        The world is body a of this loop: its multipliers (`loop_forces`) are the forces
        of the ground on the robot, along the axes that the frame has at q.

        Args:
            frame: a body or frame.
            q: (nq,) configuration [rad, m].
            joint: "weld" holds the frame (a flat foot), "spherical" its origin (a point
                foot); see `add_loop` for the others.
            name: name of the loop; that of the frame by default.
            check: whether to check that all loops can be closed together.

        Raises:
            UnknownName: the robot has no such frame.
            ModelError: the frame cannot move, or the loop cannot be closed with the
                others.
        """
        from ramidyn.mechanism.loops import add_loop, pinned_frame

        body, in_world, in_body = pinned_frame(self, frame, q, joint)
        return add_loop(
            self,
            "world",
            body,
            joint=joint,
            placement_a=in_world,
            placement_b=in_body,
            name=frame if name is None else name,
            q=q,
            check=check,
        )

    def without_clusters(self, loops: Sequence[str] | None = None) -> Robot:
        """Return this robot with loops that are solved by rows of constraints alone.

        Otherwise the joints of a loop that leaves them one or two coordinates, a
        cluster, are solved as one joint where that is cheaper. Results are the same.

        >>> import ramidyn
        >>> arm = ramidyn.robots.chain(3)
        >>> arm = arm.add_loop(joint="coupling", joints=("joint2", "joint1"))
        >>> print(str(arm).splitlines()[-1])
        loop coupling0 coupling: joint2 = f(joint1) (cluster)
        >>> print(str(arm.without_clusters()).splitlines()[-1])
        loop coupling0 coupling: joint2 = f(joint1) (rows)

        Args:
            loops: names of loops; all by default.

        Raises:
            UnknownName: the robot has no such loop.
        """
        return self._edited(editing.without_clusters(self.description, loops))

    def assemble(
        self,
        q_guess: ArrayLike | None = None,
        *,
        fixed: Mapping[str, ArrayLike] | Iterable[str] = (),
        tolerance: float | None = None,
        rng: np.random.Generator | int = 0,
    ) -> Array:
        """Return a configuration near a guess in which all loops are closed.

        Takes damped Gauss-Newton steps within the joint limits; if they do not
        converge, tries other starts. In a batch, states that fail are NaN in the
        result, and a `ModelWarning` names their indices.

        Args:
            q_guess: (nq,) or (batch, nq), where to start [rad, m]; neutral by default.
            fixed: joints held fixed: values by name, for all states of a batch or for
                each, or names (at the guess's values).
            tolerance: on |Φ| [m, rad]; by default what the file's precision allows.
            rng: generator for other starts, or a seed.

        Raises:
            ModelError: no start led to a closed configuration, for a single state.
            UnknownName: the robot has no joint with that name.
        """
        from ramidyn.mechanism.assembly import assemble

        return assemble(self, q_guess, fixed=fixed, tolerance=tolerance, rng=rng)

    def project(
        self,
        q: ArrayLike,
        qd: ArrayLike | None = None,
        *,
        tolerance: float | None = None,
    ) -> Any:
        """Return q with all loops closed, or (q, q̇) with q̇ keeping them closed.

        The change is the smallest in the mass-matrix norm: no momentum is added along
        motions that the loops allow. In a batch, states that fail are NaN in the
        result, and a `ModelWarning` names their indices.

        Args:
            q: (nq,) or (batch, nq), nearly closed [rad, m].
            qd: (nv,) or (batch, nv) [rad/s, m/s].
            tolerance: on |Φ| [m, rad]; by default what the file's precision allows.

        Raises:
            ModelError: the loops do not close near q, for a single state.
        """
        from ramidyn.mechanism.projection import project

        return project(self, q, qd, tolerance=tolerance)

    def check_state(
        self,
        q: ArrayLike,
        qd: ArrayLike | None = None,
        tolerance: float = 1e-6,
    ) -> None:
        """Raise ModelError if a state is invalid; name the joint, value and index.

        Checks for NaN and infinity; quaternions far from unit length (a swapped order,
        xyzw for wxyz, cannot be detected); angles more than a full turn beyond their
        limits, such as degrees given as radians; and loops that are open at q or that
        q̇ opens.

        Args:
            q: (nq,) or (batch, nq), configuration [rad, m].
            qd: (nv,) or (batch, nv), velocity [rad/s, m/s].
            tolerance: on |Φ| and |J q̇|; larger if the file's precision requires it.
        """
        from ramidyn.mechanism.state_checks import check_state

        check_state(self, q, qd, tolerance)

    def mobility(self, q: ArrayLike | None = None) -> Mobility:
        """Return how a robot with loops can move: degrees of freedom, redundant rows.

        Args:
            q: (nq,) with loops closed; found by closing them by default.

        Raises:
            ModelError: loops are open at q or, without q, cannot be closed.
        """
        from ramidyn.mechanism.mobility import mobility

        return mobility(self, q)

    def constrained_inverse_dynamics(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        actuated: Iterable[str] | None = None,
    ) -> InverseDynamics:
        """Return the actuated joint forces and the loop forces that produce a motion.

        Args:
            q: (nq,) with loops closed [rad, m].
            qd: (nv,) with J q̇ = 0 [rad/s, m/s].
            qdd: (nv,) with J q̈ + γ = 0 [rad/s², m/s²].
            actuated: joints with motors; all except floating ones by default.

        Raises:
            ModelError: the state or the acceleration opens loops, or the actuated
                joints cannot produce it.
        """
        from ramidyn.mechanism.mobility import constrained_inverse_dynamics

        return constrained_inverse_dynamics(self, q, qd, qdd, actuated)

    def rollout(
        self,
        q: ArrayLike | RunState,
        qd: ArrayLike | None = None,
        tau: ArrayLike | None = None,
        dt: float = 1e-3,
        *,
        steps: int | None = None,
        integrator: str = "semi_implicit_euler",
        policy: Callable[..., Any] | None = None,
        inputs: Mapping[str, Any] | None = None,
        record: Sequence[str] | Mapping[str, str | Callable[..., Any]] = (),
        total: Mapping[str, Callable[..., Any]] | None = None,
        every: int = 1,
        until: Callable[..., Any] | None = None,
        restart: bool | Callable[..., Any] = False,
        seed: int | None = None,
        memory: Mapping[str, Any] | None = None,
        updates: Mapping[str, Callable[..., Any]] | None = None,
        parameters: Mapping[str, ArrayLike] | None = None,
        gradient_of: str | Mapping[str, ArrayLike] | None = None,
        wrt: str | Sequence[str] = (),
        tangents: Mapping[str, ArrayLike] | None = None,
        stabilize: str = "project",
        rate: float = 20.0,
        start: float = 0.0,
        expressed_in: str = "local",
        dtype: str = "float64",
        threads: int = 1,
        out: Run | None = None,
    ) -> Run:
        """Simulate one state or a batch with fixed time steps, in native code.

        ``policy``, ``until`` and the functions in ``record`` and ``total`` are traced
        once, as in `ramidyn.kernel`, and become part of the compiled step. Each takes
        what it names of q, qd, tau, time, dt, the names in ``inputs`` and
        ``parameters``, and, except the policy, qdd. A state that diverges becomes NaN
        and leaves the others as they are; a RuntimeWarning names it. Others name a step
        that is too long for the motion, and the joint that is first more than 0.1 rad
        or 10 cm beyond its limit.

        Args:
            q: (nq,) or (batch, nq), initial configuration [rad, m]; or ``run.end`` of
                an earlier run, which is continued.
            qd: (nv,) or (batch, nv), initial velocity [rad/s, m/s]; zero by default.
            tau: joint forces [N m, N]: (nv,) for all steps, (steps, nv), (batch, steps,
                nv), or (batch, 1, nv); zero by default.
            dt: time step [s].
            steps: number of steps; by default as many as tau has.
            integrator: "semi_implicit_euler", "rk4", or "implicit" in the forces of the
                robot's elements and of the policy, for stiff ones; trees only. Rigid
                contacts, hard limits and dry friction need the first or the last.
            policy: function called at the start of each step. It returns tau (nv,), or
                a dict with any of tau, "control" of the robot's actuators, further
                inputs of its forces, and "external", a dict of wrenches by frame.
            inputs: further inputs of these functions and of the robot's forces by name:
                a number, (n,), (steps, n) or (batch, steps, n); arrays of other shapes
                are declared by `ramidyn.policies.shared`, `per_state` and `per_step`.
                "external" is a dict of wrenches by frame, of such shapes with n = 6. A
                name that nothing takes raises an error.
            record: what to record besides q and qd: "qdd", "tau", "energy", "work" (of
                tau), "element_work" (of the robot's forces and external ones, beyond
                the energy that they store), names of inputs of the robot's forces such
                as "control", with loops "residual" (the largest |Φ|) and
                "closing_steps" (Newton steps of "project" or "partition"), with
                contacts "contact_forces" (contacts, 3) in the world [N],
                "contact_states" (contacts,): 0 open, 1 sticks, 2 slides, and
                "contact_residual", how far impulses are from obeying all rules [m/s],
                or functions by name:
                ``{"hand": lambda q: robot.pose(q, "hand")}``.
            total: functions by name, summed over all steps, such as costs.
            every: record every so many steps; ``every=steps`` records the first and
                the last state.
            until: condition on the state after a step that ends the motion: the state
                stays as it is from then on, and ``run.ended`` is the time.
            restart: start from the initial state again instead of ending; then
                ``run.ended`` counts how often that happened. A function returns where
                to start: a dict with any of q, qd and memory.
            seed: of random numbers, 0 to 2**64 - 1. Functions that name ``random`` draw
                ``random.uniform(shape)`` and ``random.normal(shape)``: they depend on
                the seed, the place of the state in the batch and the step alone.
            memory: what functions remember from step to step, by name: values before
                the first step, arrays of any shape, the same for all states or
                `ramidyn.policies.per_state`. Functions and forces take them by name,
                the policy returns new ones in its dict, and ``record`` may name them. A
                restart puts the first values back; ``run.end`` has the last, and a run
                that continues goes on with them.
            updates: functions by name that return the next value of memory, from what
                is known at the start of a step.
            parameters: numbers of the robot that replace those of its file, by name:
                "gravity" (3,); "inertia:<body>" (10,): m, m c (3), Ixx, Ixy, Iyy, Ixz,
                Iyz, Izz about the origin of the body's frame; "placement:<body>" (7,):
                its position and unit quaternion; and numbers of force elements, such as
                "stiffness:<force>" or "friction:<force>". Of all states, or of each
                one with a batch axis in front.
            gradient_of: a name in ``total``, whose gradient is ``run.gradients``; or
                weights of totals, and of q and qd in the shapes of ``run.q`` and
                ``run.qd``, by name: the gradient is that of the weighted sum.
            wrt: inputs for the gradient: "q" and "qd" (initial values, by their
                entries), "tau", "dt", names in ``inputs``, ``memory`` and
                ``parameters``. Steps at which ``until`` holds are taken as fixed.
            tangents: changes of such inputs by name, in their shapes, or of a batch:
                ``run.tangents`` are those of q, qd and totals, to first order.
            stabilize: how loops are kept closed: "project" (the nearest state, after
                each step), "partition" (independent velocities are integrated, the
                others follow), "baumgarte" or "none".
            rate: α for "baumgarte" [1/s].
            start: time of the first state [s].
            expressed_in: axes of external wrenches: "local", "world" or
                "local_world_aligned", as in `forward_dynamics`.
            dtype: "float64" or "float32".
            threads: number of threads that share a batch.
            out: an earlier run of as many states and rows, to write to its arrays: new
                memory costs a tenth of a large rollout.

        Returns:
            A `Run` with ``times`` (rows,), ``q`` (batch, rows, nq), ``qd`` and what was
            recorded, where rows is steps / every + 1. ``run.gradients`` has the shapes
            of the inputs, with a batch axis in front if there is one.
        """
        from ramidyn.simulation.rollout import rollout

        return rollout(
            self,
            q,
            qd,
            tau,
            dt,
            steps=steps,
            integrator=integrator,
            policy=policy,
            inputs=inputs,
            record=record,
            total=total,
            every=every,
            until=until,
            restart=restart,
            seed=seed,
            memory=memory,
            updates=updates,
            parameters=parameters,
            gradient_of=gradient_of,
            wrt=wrt,
            tangents=tangents,
            stabilize=stabilize,
            rate=rate,
            start=start,
            expressed_in=expressed_in,
            dtype=dtype,
            threads=threads,
            out=out,
        )

    def simulate(
        self,
        q: ArrayLike | RunState,
        qd: ArrayLike | None = None,
        tau: ArrayLike | Callable[..., Any] | None = None,
        dt: float = 1e-3,
        *,
        duration: float | None = None,
        integrator: str | None = None,
        policy: Callable[..., Any] | None = None,
        controller: Controller | None = None,
        control_dt: float | None = None,
        inputs: Mapping[str, Any] | None = None,
        record: Sequence[str] | Mapping[str, str | Callable[..., Any]] | None = None,
        every: int = 1,
        until: Callable[..., Any] | None = None,
        events: Mapping[str, Callable[..., Any]] | None = None,
        seed: int | None = None,
        memory: Mapping[str, Any] | None = None,
        updates: Mapping[str, Callable[..., Any]] | None = None,
        parameters: Mapping[str, ArrayLike] | None = None,
        stabilize: str = "project",
        rate: float = 20.0,
        damping: float | None = None,
        times: ArrayLike | None = None,
        rtol: float | None = None,
        atol: float | None = None,
        start: float = 0.0,
        expressed_in: str = "local",
    ) -> Run:
        """Simulate the robot from one state, with fixed or adaptive steps.

        Fixed steps run in native code, as in `rollout`. All functions but
        ``controller`` are traced once and compiled: each takes what it names of q, qd,
        time, dt, the names in ``inputs`` and ``parameters``, and, except ``tau`` and
        ``policy``, tau and qdd. A RuntimeWarning says if a fixed step is too long for
        the motion, from when on the state is not finite, or which joint is first more
        than 0.1 rad or 10 cm beyond its limit.

        Args:
            q: (nq,), with loops closed [rad, m]; or ``run.end`` of an earlier run,
                which is continued.
            qd: (nv,) [rad/s, m/s]; at rest by default.
            tau: joint forces [N m, N]: (nv,), (steps, nv), or a function that returns
                (nv,) and is evaluated wherever the integrator needs it, such as
                ``lambda time: ...``; zero by default.
            dt: time step; of "adaptive", the time between rows [s].
            duration: a multiple of dt [s]; by default as long as tau has rows, or 1 s.
            integrator: "rk4" (the default), "semi_implicit_euler" (the default for a
                robot with rigid contacts, hard limits or dry friction), "implicit"
                (trees only), all with fixed steps, or "adaptive" (scipy's DOP853).
            policy: function that returns tau, or a dict with any of tau, "control",
                further inputs of the robot's forces and "external" wrenches by frame;
                evaluated at the start of each step and held; with "adaptive", a
                function like ``tau``.
            controller: Python function of the numbers (time, q, qd) that returns tau,
                or a dict of tau, "control" and further inputs of the robot's forces; it
                is called every ``control_dt``, and what it returns is held.
            control_dt: time between calls of the controller, a multiple of dt [s]; dt
                by default.
            inputs: further inputs of these functions and of the robot's forces by name:
                a number, (n,), or (steps, n); arrays of other shapes are declared by
                `ramidyn.policies.shared` and `per_step`. "external" is a dict of
                wrenches by frame. A name that nothing takes raises an error.
            record: what to record besides q and qd: "qdd", "tau", "energy", "work" (of
                tau), "element_work" (of the robot's forces, beyond the energy that they
                store), "residual" (the largest |Φ| of loops), "closing_steps",
                "contact_forces", "contact_states", "contact_residual" (as in
                `rollout`), or functions by name. By default energy, work, and where
                there are forces, loops or contacts, element_work, residual or
                contact_forces.
            every: record every so many steps.
            until: condition that ends the motion, such as ``lambda q: q[2] < 0.1``;
                ``run.ended`` is the time. "adaptive" locates it between steps.
            events: functions by name whose zero crossings are located between steps;
                their times are ``run.events[name]``.
            seed: of random numbers, as in `rollout`.
            memory: what functions remember from step to step, by name: values before
                the first step, as in `rollout`; fixed steps only.
            updates: functions by name that return the next value of memory.
            parameters: numbers of the robot that replace those of its file, by name, as
                in `rollout`: "gravity" (3,), "inertia:<body>" (10,), "placement:<body>"
                (7,), and numbers of force elements, such as "stiffness:<force>".
            stabilize: how loops are kept closed: "project" (the nearest consistent
                state, after every step), "baumgarte", "partition" (only independent
                velocities are integrated; the others follow) or "none".
            rate: α for "baumgarte" [1/s].
            damping: damping of the constraints, as in `forward_dynamics`; about 1e-8
                carries a mechanism through singular configurations.
            times: the times of the rows of an adaptive run [s], in place of duration.
            rtol: tolerance of "adaptive" on the error of a step, relative to each
                coordinate; 1e-9 by default.
            atol: the same, absolute; 1e-10 by default.
            start: time of the first state [s].
            expressed_in: axes of external wrenches, as in `rollout`.

        Returns:
            A `Run`; ``run.energy - run.work - run.element_work`` stays as it is.
        """
        from ramidyn.simulation.simulate import simulate

        return simulate(
            self,
            q,
            qd,
            tau,
            dt,
            duration=duration,
            integrator=integrator,
            policy=policy,
            controller=controller,
            control_dt=control_dt,
            inputs=inputs,
            record=record,
            every=every,
            until=until,
            events=events,
            seed=seed,
            memory=memory,
            updates=updates,
            parameters=parameters,
            stabilize=stabilize,
            rate=rate,
            damping=damping,
            times=times,
            rtol=rtol,
            atol=atol,
            start=start,
            expressed_in=expressed_in,
        )

    @property
    def mass_matrix_layout(self) -> Layout:
        """The constant index arrays of `mass_matrix_csr`: rownnz, rowadr, colind."""
        from ramidyn.algorithms.matrix_layout import mass_matrix_layout

        return mass_matrix_layout(self.model)

    @property
    def derivatives_layout(self) -> Layout:
        """The constant index arrays of ``inverse_dynamics_derivatives(packed=True)``.

        Row i has ``rownnz[i]`` entries from ``rowadr[i]`` on, in columns ``colind``.
        """
        from ramidyn.algorithms.matrix_layout import derivatives_layout

        return derivatives_layout(self.model)

    @property
    def forward_derivatives_layout(self) -> Layout:
        """The constant index arrays of ``forward_dynamics_derivatives(packed=True)``.

        Row i has ``rownnz[i]`` entries from ``rowadr[i]`` on, in columns ``colind``:
        those of its tree, or all if the robot has loops.
        """
        from ramidyn.algorithms.matrix_layout import forward_derivatives_layout

        return forward_derivatives_layout(self.model)


def _built(
    description: Description,
    conventions: Conventions,
    order: str | Sequence[str],
    mimic: str,
) -> Model:
    """Return the model of a description, damping ratios of servos resolved."""
    model = build_model(description, order, mimic)
    if not any(getattr(f, "damping_ratio", None) is not None for f in model.forces):
        return model
    from ramidyn.quantities.added_forces import with_damping

    return build_model(with_damping(model, conventions), order, mimic)


def _followed(
    order: Sequence[str],
    bodies: Collection[str],
    description: Description,
    is_reduced: bool,
) -> list[str]:
    """Return an order of joints, less those that are gone, and with the new ones.

    A new joint between the world and a body that was there before is the root joint:
    it comes first.
    """
    joints = [
        j.name
        for b in description.bodies
        for j in b.joints
        if j.mimic is None or not is_reduced
    ]
    kept = [n for n in order if n in joints]
    new = [n for n in joints if n not in kept]
    tops = [b for b in description.bodies if b.parent is None and b.name in bodies]
    root = [j.name for b in tops for j in b.joints if j.name in new]
    return [*root, *kept, *(n for n in new if n not in root)]
