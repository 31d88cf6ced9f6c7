"""Build a robot in Python: bodies, joints, frames and loops, one call each.

    >>> from ramidyn.builder import Body, Inertia, Joint, RobotBuilder
    >>> arm = RobotBuilder("arm")
    >>> link = Body("link", Inertia.from_capsule(1.5, radius=0.04, length=0.4))
    >>> hand = Body("hand", Inertia.from_box(0.5, (0.1, 0.05, 0.02)))
    >>> arm.add(link, joint=Joint.revolute((0, 0, 1), name="shoulder"))
    Body('link', 1.5 kg)
    >>> arm.add(hand, link, Joint.revolute((0, 1, 0), limits=(-2, 2)), (0, 0, 0.5))
    Body('hand', 0.5 kg)
    >>> arm.robot().joint_names
    ('shoulder', 'hand_joint')

A mistake raises an error at once, with what was given and what is possible.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast, final

from ramidyn.description.builder import Body, Joint, neutral_poses
from ramidyn.description.builder_checks import (
    WORLD,
    Placement,
    checked_instance,
    checked_name,
    checked_pose,
    checked_vector,
    shown,
)
from ramidyn.description.constants import Array
from ramidyn.description.conventions import Conventions
from ramidyn.description.description import (
    BodyDescription,
    Description,
    FrameDescription,
    LoopDescription,
)
from ramidyn.description.loop_types import (
    check_given,
    check_single,
    check_type,
    coupling,
    cut_joint,
    free_name,
)
from ramidyn.description.pose import Pose, Vector
from ramidyn.errors import ModelError, unknown_name
from ramidyn.robot import Robot

ORIGIN = (0.0, 0.0, 0.0)


@final
class RobotBuilder:
    """Collects bodies, parents first; `robot` returns the robot that they make."""

    def __init__(self, name: str, gravity: Vector = (0.0, 0.0, -9.81)) -> None:
        self.name: str = checked_name("a robot", name)
        self.gravity: Array = checked_vector(f"robot {name!r}: gravity", gravity)
        self._bodies: dict[str, BodyDescription] = {}
        self._joints: set[str] = set()
        self._frames: dict[str, FrameDescription] = {}
        self._loops: dict[str, LoopDescription] = {}

    def add(
        self,
        body: Body,
        parent: Body | str = WORLD,
        joint: Joint | Sequence[Joint] = (),
        placement: Placement = ORIGIN,
    ) -> Body:
        """Add a body, and return it.

        Args:
            body: the body.
            parent: a body added before, its name, or "world".
            joint: its joint, or several, in order from the parent outward; none, or
                ``Joint.fixed()``, fixes it.
            placement: of its frame in the parent's, with all joints at zero: a
                position, a `Pose` or its (4, 4) matrix.
        """
        what = f"body {checked_instance('body', body, Body).name!r}"
        for name in (body.name, *body.frames):
            self._check_free(name)
        above = self._known(parent)
        joints = (joint,) if isinstance(joint, Joint) else tuple(joint)
        names = self._joint_names(body, joints)
        moving = [j for j in joints if j.type != "fixed"]
        self._bodies[body.name] = BodyDescription(
            body.name,
            above,
            checked_pose(f"{what}: placement", placement),
            tuple(
                replace(j.details, name=n) for j, n in zip(moving, names, strict=False)
            ),
            None if body.inertia is None else body.inertia.inertial(),
            fixed_joint=names[0] if joints and not moving else None,
        )
        self._joints.update(names)
        for name, pose in body.frames.items():
            self._frames[name] = FrameDescription(name, body.name, cast(Pose, pose))
        return body

    def _joint_names(self, body: Body, joints: Sequence[Joint]) -> list[str]:
        what = f"body {body.name!r}"
        names: list[str] = []
        for k, joint in enumerate(joints):
            type_ = checked_instance(f"{what}: joint", joint, Joint).type
            if type_ == "fixed" and len(joints) > 1:
                raise ModelError(f"{what}: a fixed joint must be its only joint")
            name = joint.details.name or f"{body.name}_joint{k + 1 if k else ''}"
            if name in self._joints or name in names:
                raise ModelError(
                    f"{what}: robot {self.name!r} already has a joint {name!r}"
                )
            names.append(name)
        return names

    def add_frame(
        self, name: str, body: Body | str, placement: Placement = ORIGIN
    ) -> None:
        """Add a named frame fixed to a body, or to the world."""
        self._check_free(checked_name("a frame", name))
        pose = checked_pose(f"frame {name!r}: placement", placement)
        self._frames[name] = FrameDescription(name, self._known(body), pose)

    def add_loop(
        self,
        body_a: Body | str | None = None,
        body_b: Body | str | None = None,
        *,
        joint: str = "spherical",
        placement_a: Placement | None = None,
        placement_b: Placement | None = None,
        name: str | None = None,
        length: float | None = None,
        joints: Sequence[str] | None = None,
        coefficients: Sequence[float] | None = None,
    ) -> None:
        """Close a loop: connect body b to body a by a cut joint, or couple two joints.

        The arguments are those of `Robot.add_loop`, with bodies or their names.
        """
        said = "joint" if name is None else f"loop {shown(name)}: joint"
        type_ = check_type(said, joint)
        if name is None:
            name = free_name(type_, self._loops)
        what = f"loop {checked_name('a loop', name)!r}"
        if name in self._loops:
            raise ModelError(f"{what} already exists in robot {self.name!r}")
        of_cut = (body_a, body_b, placement_a, placement_b, length)
        of_coupling = {"joints": joints, "coefficients": coefficients}
        check_given(what, type_, of_cut, of_coupling)
        if type_ == "coupling":
            new = coupling(what, name, joints, coefficients)
            types = {j.name: j.type for x in self._bodies.values() for j in x.joints}
            for n in new.joints:
                if n not in types:
                    owner = f"robot {self.name!r}, for {what}"
                    raise unknown_name("moving joint", str(n), owner, types)
                check_single(what, n, types[n])
        else:
            ends = self._end(body_a, what), self._end(body_b, what)
            given = {"placement_a": placement_a, "placement_b": placement_b}
            cut_a, cut_b = (
                None if x is None else checked_pose(f"{what}: {which}", x)
                for which, x in given.items()
            )
            poses = neutral_poses(self._bodies.values())
            new = cut_joint(
                what, name, type_, ends, cut_a, cut_b, length, poses.__getitem__
            )
        self._loops[name] = new

    def robot(
        self,
        *,
        root: str | None = None,
        conventions: str | Conventions = "pinocchio",
        joint_order: str | Sequence[str] = "auto",
        mimic: str = "reduce",
    ) -> Robot:
        """Return the robot so far; see `ramidyn.load` for the options."""
        return Robot.from_description(
            self.description(),
            root=root,
            conventions=conventions,
            joint_order=joint_order,
            mimic=mimic,
        )

    def description(self) -> Description:
        """Return the robot so far as data, such as a loader returns."""
        if not self._bodies:
            raise ModelError(f"robot {self.name!r} has no bodies; add one first")
        joints = {j.name: j for b in self._bodies.values() for j in b.joints}
        for joint in joints.values():
            if joint.mimic is not None and joint.mimic.of not in joints:
                owner = f"robot {self.name!r}, for the mimic of {joint.name!r}"
                raise unknown_name("moving joint", joint.mimic.of, owner, joints)
        x, y, z = (float(g) for g in self.gravity)
        return Description(
            self.name,
            tuple(self._bodies.values()),
            tuple(self._frames.values()),
            tuple(self._loops.values()),
            gravity=(x, y, z),
        )

    def _check_free(self, name: str) -> None:
        if name in self._bodies or name in self._frames:
            raise ModelError(
                f"robot {self.name!r} already has a body or frame {name!r}"
            )

    def _end(self, body: Body | str | None, what: str) -> str | None:
        """Return the name of a loop's body; None for the world."""
        return None if body is None else self._known(body, f", for {what}")

    def _known(self, body: Body | str | None, whose: str = "") -> str | None:
        """Return the name of an added body; None for the world."""
        name = body.name if isinstance(body, Body) else cast(object, body)
        if not isinstance(name, str):
            raise ModelError(
                f"{shown(name)} is not a body{whose}; expected a Body or its name"
            )
        if name == WORLD:
            return None
        if name not in self._bodies:
            owner = f"robot {self.name!r}{whose}"
            raise unknown_name("body", name, owner, (WORLD, *self._bodies))
        return name
