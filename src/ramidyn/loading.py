"""Load a robot from a file or from XML text."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from numbers import Real
from typing import TYPE_CHECKING, TypedDict, cast

from ramidyn.concurrency import without_collection
from ramidyn.description.conventions import Conventions
from ramidyn.description.description import Description, JointDescription
from ramidyn.description.editing import with_root
from ramidyn.description.forces.from_file import (
    acting_forces,
    distinct_elements,
    unused_forces,
    without_friction,
)
from ramidyn.description.joint_types import joint_type
from ramidyn.errors import (
    ArgumentError,
    ModelError,
    ModelWarning,
    counted_noun,
    names_of,
    quoted_names,
    readable,
)
from ramidyn.robot import Robot

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ramidyn.description.contacts import Contact
    from ramidyn.description.forces.contacts import Height


def load(
    source: str | os.PathLike[str],
    *,
    root: str | None = None,
    conventions: str | Conventions | None = None,
    joint_order: str | Sequence[str] = "auto",
    mimic: str | None = None,
    strict: bool = False,
    gravity: Sequence[float] | None = None,
    passive: bool | None = None,
    actuators: bool | None = None,
    contacts: bool | Sequence[str] | None = None,
    ground: float | Height | None = None,
    hard_limits: bool = False,
    dry_friction: bool | None = None,
    srdf: str | os.PathLike[str] | bool = False,
    include_directory: str | os.PathLike[str] | None = None,
    xacro_arguments: Mapping[str, object] | None = None,
) -> Robot:
    """Load a robot from a URDF, MJCF or SDF file, or from the text of one.

    A file that ends in ``.xacro`` is expanded by the package xacro first, which
    evaluates expressions of the file: load only files that you trust.

    Meshes need not exist, except where an MJCF body takes its inertia from one.
    Problems that do not prevent loading, and parts of the file that do not act, are
    reported in one `ModelWarning`, with a line for each kind.

    Args:
        source: a path, or XML text.
        root: "floating", "planar" or "fixed" attaches the root body by such a joint;
            None keeps the file's root.
        conventions: layout of q, q̇ and 6-vectors: "pinocchio", "mujoco",
            "featherstone" or a `Conventions` value. None is "pinocchio", and warns if
            the order of quaternions then differs from the file's (MJCF).
        joint_order: order of the joints in q. "auto": a URDF with Pinocchio's
            conventions has Pinocchio's order; everything else has the file's. "file":
            depth first, siblings as in the file, as in MuJoCo. "alphabetical": depth
            first, siblings sorted by joint name, as in Pinocchio. Or a list of all
            joint names.
        mimic: "reduce" (a mimic joint follows its leader and is not in q) or
            "independent". None is "reduce", and warns of joints that follow others.
        strict: turn warnings into a `ModelError`.
        gravity: (3,) [m/s²]; the file's (MJCF, SDF) or (0, 0, −9.81) by default.
        passive: whether the file's passive forces act: stiffness, damping and friction
            of joints, and of MJCF's fixed tendons, and gravity compensation. They
            become force elements (`Robot.forces`). None warns of those that do not act.
        actuators: whether MJCF's motors and servos act, by an input ``control``. None
            warns of those that do not act.
        contacts: whether collision shapes of the file (spheres, capsules, boxes) touch
            the ground in simulations, as rigid contacts (`Robot.contacts`); names of
            shapes or bodies take only those, and meshes by their corners. Friction is
            the file's, or 1. None warns of MJCF's geoms that would touch others in
            MuJoCo.
        ground: with ``contacts``, the ground in place of the file's planes: its height
            [m], or a function of x and y that returns it.
        hard_limits: whether joints stop at the limits of the file in simulations
            (`Robot.add_hard_limits`).
        dry_friction: whether friction of joints holds them at rest in simulations
            (`Robot.add_dry_friction`), instead of the smooth force that ``passive``
            makes of it.
        srdf: path or text of an SRDF, whose ``<group_state>`` elements become
            `Robot.keyframes`; True: the file of the same name beside the robot's.
        include_directory: MJCF: includes and meshes outside of it are refused; by
            default the parent of the file's own directory.
        xacro_arguments: values of the arguments of a ``.xacro`` file, by name.

    Raises:
        ModelError: the file cannot be read or cannot be a robot.
    """
    from ramidyn.description.formats.parse import parse  # noqa: PLC0415  only for files

    with without_collection():  # scanning a large file's objects is slow
        description = parse(source, include_directory, xacro_arguments)
        if srdf is not False:
            from ramidyn.description.formats.srdf import beside, with_group_states  # noqa: PLC0415  where there is one

            if not isinstance(srdf, (bool, str, os.PathLike)):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise ArgumentError(
                    f"srdf is {srdf!r}; expected a path, XML text, True or False"
                )
            states = beside(source) if srdf is True else srdf
            description = with_group_states(description, states)
        if gravity is not None:
            description = replace(description, gravity=_checked_gravity(gravity))
        wanted = _checked_contacts(contacts, ground)
        answers: dict[str, bool | None] = {
            "passive": passive,
            "actuators": actuators,
            "contacts": cast("bool | None", contacts) if wanted is None else True,
            "dry_friction": dry_friction,
            "hard_limits": hard_limits,
        }
        description = _with_forces(description, answers)
        if root is not None:
            description = with_root(description, root)
        if answers["contacts"] or hard_limits or dry_friction:
            description = _with_contacts(
                description, answers, wanted, ground, mimic != "independent"
            )
        robot = Robot.from_description(
            description,
            conventions="pinocchio" if conventions is None else conventions,
            joint_order=joint_order,
            mimic="reduce" if mimic is None else mimic,
        )
        robot = _with_warnings(robot, _layout_of_q(robot, conventions, mimic))
    if robot.warnings and strict:
        raise ModelError(f"{description.name} (strict): " + "; ".join(robot.warnings))
    if robot.warnings:
        warnings.warn("\n".join(robot.warnings), ModelWarning, stacklevel=2)
    return robot


def _with_forces(
    description: Description, answers: Mapping[str, bool | None]
) -> Description:
    """Return the description with the forces of its file that are to act."""
    for name, value in answers.items():
        if not (value is None or isinstance(value, bool)):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentError(f"{name} is {value!r}; possible: True, False, None")
    offered = description.offered
    if answers["dry_friction"]:
        offered = without_friction(offered)
    acting = acting_forces(offered, answers["passive"], answers["actuators"])
    left = unused_forces(offered, answers)
    return _with_lines(replace(description, forces=acting), left)


def _with_lines(description: Description, lines: Iterable[str]) -> Description:
    """Return the description with more lines in its warning."""
    named = (f"{description.name}: {x}" for x in lines)
    return replace(description, warnings=(*description.warnings, *named))


def _checked_contacts(contacts: object, ground: object) -> list[str] | None:
    """Return the names in ``contacts``; None if it is not a list."""
    wanted = None
    if contacts is not None and not isinstance(contacts, (bool, int)):
        wanted = names_of("contacts", contacts)
    if ground is None:
        return wanted
    if not contacts:
        raise ArgumentError("ground is given, but no contacts; pass contacts=True")
    is_number = isinstance(ground, Real) and math.isfinite(ground)
    if not is_number and not callable(ground):
        raise ArgumentError(
            f"ground is {ground!r}; expected a height [m], or a function of x and y"
        )
    return wanted


def _with_contacts(
    description: Description,
    answers: Mapping[str, bool | None],
    wanted: Sequence[str] | None,
    ground: float | Height | None,
    reduce_mimics: bool,
) -> Description:
    """Return the description with the contacts of its file that are to act."""
    from ramidyn.description import contacts_from_file as file  # noqa: PLC0415  where they are asked for

    def follows(joint: JointDescription) -> bool:
        return reduce_mimics and joint.mimic is not None

    parts: list[tuple[Sequence[Contact], list[str]]] = []
    if answers["contacts"]:
        from ramidyn.description.formats.colliders import read_colliders  # noqa: PLC0415  the same

        found = read_colliders(description.shape_sources[0])
        contacts, lines = file.file_contacts(description, found, ground, wanted)
        if callable(ground) and contacts:
            from ramidyn.algorithms.forces.contact_forces import check_height  # noqa: PLC0415  the same

            check_height(contacts[0])
        parts.append((contacts, lines))
    if answers["hard_limits"]:
        parts.append(file.file_limits(description, follows))
    if answers["dry_friction"]:
        parts.append(file.file_friction(description, follows))
    taken = {f.name for f in description.forces}
    named = distinct_elements([c for part, _ in parts for c in part], taken)
    changed = replace(description, contacts=tuple(named))
    return _with_lines(changed, [line for _, lines in parts for line in lines])


def _layout_of_q(
    robot: Robot, conventions: str | Conventions | None, mimic: str | None
) -> list[str]:
    """Return a line for each way in which q may differ from what a user expects."""
    lines: list[str] = []
    followers = robot.model.mimics
    if followers and mimic is None:
        n = len(followers)
        follow, them = ("follow others", "them") if n > 1 else ("follows another", "it")
        named = quoted_names(followers, 3)
        lines.append(
            f"{counted_noun(n, 'joint')} {follow} ({named}): nq is {robot.nq}, not "
            f"{robot.nq + n}; load with mimic='independent' to keep {them} in q, "
            f"mimic='reduce' to leave {them} out"
        )
    turning = [
        j.name for j in robot.model.joints if joint_type(j.name, j.type).has_quaternion
    ]
    if turning and conventions is None and robot.description.format == "mjcf":
        lines.append(
            "q has quaternions as xyzw, MuJoCo's qpos as wxyz "
            f"({quoted_names(turning, 3)}); load with conventions='mujoco' to use qpos "
            "and qvel as they are, conventions='pinocchio' to keep xyzw"
        )
    return lines


def _with_warnings(robot: Robot, lines: Sequence[str]) -> Robot:
    """Return the robot with more lines in its warning."""
    if not lines:
        return robot
    texts = (*robot.warnings, *(readable(f"{robot.name}: {x}") for x in lines))
    model = replace(robot.model, warnings=texts)
    return Robot(model, robot.conventions, robot.joint_order, robot.mimic)


class LoadOptions(TypedDict, total=False):
    """Keyword options of `load`."""

    root: str | None
    conventions: str | Conventions | None
    joint_order: str | Sequence[str]
    mimic: str | None
    strict: bool
    gravity: Sequence[float] | None
    passive: bool | None
    actuators: bool | None
    contacts: bool | Sequence[str] | None
    ground: float | Height | None
    hard_limits: bool
    dry_friction: bool | None
    srdf: str | os.PathLike[str] | bool
    include_directory: str | os.PathLike[str] | None
    xacro_arguments: Mapping[str, object] | None


def load_description(name: str, **options: Unpack[LoadOptions]) -> Robot:
    """Load a robot by its name in the package robot_descriptions.

    The package downloads a description once and keeps it; without the network only
    those kept can be loaded.

    Args:
        name: such as "panda_description" or "talos_description".
        **options: as for `load`.

    Raises:
        ModelError: the package is not installed, or the download failed.
        UnknownName: the package has no description of that name.
    """
    from ramidyn.description.formats.read import find_description  # noqa: PLC0415  only here

    path, xacro_arguments = find_description(name)
    if xacro_arguments is not None:
        options.setdefault("xacro_arguments", xacro_arguments)
    return load(path, **options)


def _checked_gravity(gravity: object) -> tuple[float, float, float]:
    try:
        x, y, z = (float(g) for g in cast("Iterable[float]", gravity))
    except (TypeError, ValueError):
        x = y = z = math.nan
    if not all(map(math.isfinite, (x, y, z))):
        raise ArgumentError(f"gravity is {gravity!r}; expected 3 finite numbers [m/s²]")
    return x, y, z
