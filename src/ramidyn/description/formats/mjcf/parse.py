"""MJCF: MuJoCo's model files, compiled as MuJoCo does for the parts dynamics needs.

    text --include--> one document --defaults--> bodies, joints, sites --> Description

Materials, contacts and sensors are ignored; a mesh is read only if the inertia of a
body needs it. Unsupported elements that would change the motion raise an error; those
that are left out are named in ``warnings``.
"""

from __future__ import annotations

import math
import os
from collections.abc import Container, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

from ramidyn.description.constants import norm, quaternion
from ramidyn.description.description import (
    Actuator,
    BodyDescription,
    Description,
    FileForces,
    FrameDescription,
    Inertial,
)
from ramidyn.description.forces.element import ForceElement
from ramidyn.description.formats.mjcf.actuators import ActuatorForces, read_actuators
from ramidyn.description.formats.mjcf.attributes import (
    drop_blank_numbers,
    ignored_flexes,
    ignored_options,
    warn_of_unknown_attributes,
)
from ramidyn.description.formats.mjcf.bodies import (
    MjcfBody,
    Worldbody,
    fused_bodies,
    part_of_world,
)
from ramidyn.description.formats.mjcf.defaults import (
    LARGEST,
    TINY,
    Attributes,
    Defaults,
    Settings,
    choice,
    like,
    unknown,
)
from ramidyn.description.formats.mjcf.equality import EqualityReader
from ramidyn.description.formats.mjcf.forces import (
    limited_tendons,
    read_gravity_compensation,
    read_passive,
    read_tendon_ranges,
    read_tendons,
    touching_geoms,
)
from ramidyn.description.formats.mjcf.include import Allowed, expand_includes
from ramidyn.description.formats.mjcf.inertia import (
    bounded_inertia,
    gather,
    read_inertial,
    takes_mesh,
)
from ramidyn.description.formats.mjcf.meshes import MeshAssets
from ramidyn.description.formats.mjcf.sensors import read_sensors
from ramidyn.description.formats.xml import Element, fault, numbers, parse_xml, where
from ramidyn.description.pose import Array, Pose
from ramidyn.errors import counted_noun, quoted_names

_SECTIONS: Final = (
    *("compiler", "option", "size", "statistic", "visual", "default", "extension"),
    *("asset", "worldbody", "deformable", "contact", "tendon", "equality", "actuator"),
    *("sensor", "custom", "keyframe"),
)
_SHORTEST_QUATERNION: Final = 1e-15
"""MuJoCo replaces shorter ones in keyframes"""
_IDENTITY: Final = (1.0, 0.0, 0.0, 0.0)


def parse_mjcf(
    text: str,
    label: str,
    folder: Path | None,
    include_directory: str | os.PathLike[str] | None = None,
) -> Description:
    """Return the robot that an MJCF text describes.

    Args:
        text: the whole document
        label: what errors call it, usually the file's name
        folder: the directory of the file, where includes are looked up; None: the
            text stands alone and can include nothing
        include_directory: contains all includes; None: the parent of ``folder``

    Raises:
        ModelError: the text is not MJCF, or needs an unsupported feature; the
            message begins with file and line.
    """
    document = read_document(text, label, folder, include_directory)
    return MjcfModel(*document).description()


def read_document(
    text: str,
    label: str,
    folder: Path | None,
    include_directory: str | os.PathLike[str] | None,
) -> tuple[Element, Allowed | None]:
    """Return the root of a document, includes expanded, and where its files may be."""
    root = parse_xml(text, label)
    if root.tag != "mujoco":
        raise fault(root, f"the root is <{root.tag}>; expected <mujoco>")
    allowed = folder and Allowed.around(folder, label, include_directory)
    expand_includes(root, allowed)
    drop_blank_numbers(root)
    return root, allowed


class MjcfModel:
    """The sections of one document, and the description made from them."""

    def __init__(self, root: Element, allowed: Allowed | None) -> None:
        self.root = root
        self.sections: dict[str, list[Element]] = {tag: [] for tag in _SECTIONS}
        for section in root:
            assert isinstance(section, Element)
            if section.tag not in self.sections:
                raise unknown(section, "element", section.tag, _SECTIONS)
            self.sections[section.tag].append(section)
        self.warnings: list[str] = []
        for section in self.sections["compiler"]:
            warn_of_unknown_attributes(section, self.warnings)
        for section in self.sections["default"]:
            for element in section.iter():
                assert isinstance(element, Element)
                warn_of_unknown_attributes(element, self.warnings)
        self.settings = Settings.of(self.sections["compiler"], root)
        self.defaults = Defaults(self.sections["default"])
        self.meshes = MeshAssets(
            self.sections["asset"],
            self.defaults,
            self.settings,
            allowed,
            self.warnings,
        )
        self.world = Worldbody(
            self.sections["worldbody"],
            root,
            self.defaults,
            self.settings,
            self.warnings,
        )

    def description(self) -> Description:
        """Return all of it."""
        if len(self.world.bodies) == 1:
            raise fault(self.root, "no body in the model; expected at least one")
        loops = EqualityReader(self.world, self.defaults, self.warnings)
        gravity = self.gravity()
        self.warnings += ignored_flexes(self.sections["deformable"])
        keyframes = self.keyframes()
        actuators = read_actuators(
            self.sections["actuator"], self.world, self.defaults, self.settings
        )
        frames = self.frames()
        return Description(
            name=self.root.get("model") or Path(self.root.label).stem,
            bodies=self.bodies(),
            frames=frames,
            loops=loops.read(self.sections["equality"]),
            keyframes=keyframes,
            gravity=gravity,
            format="mjcf",
            actuators=actuators,
            offered=self.forces(actuators),
            sensors=read_sensors(
                self.sections["sensor"],
                self.sections["option"],
                {*(b.name for b in self.world.bodies), *(f.name for f in frames)},
                self.scalar_joints(),
                self.warnings,
            ),
            warnings=tuple(self.warnings),
        )

    def scalar_joints(self) -> set[str]:
        """Return the names of hinges and slides."""
        names = [
            j.name
            for body in self.world.bodies
            for j in body.joints
            if j.type in ("revolute", "prismatic")
        ]
        return set(names)

    def forces(self, actuators: Sequence[Actuator]) -> FileForces:
        """Return the forces that the file asks for."""
        has_springs, has_dampers, acts, clamps = map(
            self.flag, ("spring", "damper", "actuation", "clampctrl")
        )
        passive = read_passive(self.world, has_springs, has_dampers)
        actuated: list[ForceElement] = []
        if has_springs or has_dampers:
            others, actuated = read_gravity_compensation(self.world)
            passive += others
        tendons, unsupported = read_tendons(
            self.sections["tendon"],
            self.world,
            self.defaults,
            has_springs,
            has_dampers,
        )
        unsupported += limited_tendons(
            self.sections["tendon"], self.defaults, self.settings
        )
        driving: list[ForceElement] = []
        if acts and actuators:
            reader = ActuatorForces(
                {j.name: j for body in self.world.bodies for j in body.joints},
                tendons,
                self.defaults,
                clamps,
                self.disabled_groups(),
            )
            reader.read(self.sections["actuator"], actuators)
            ranges = read_tendon_ranges(
                self.sections["tendon"], self.defaults, self.settings, self.warnings
            )
            limits = reader.limits(actuated, ranges)
            driving = [*reader.found, *actuated, *limits]
            unsupported += reader.unsupported
        return FileForces(
            (*passive, *tendons), tuple(driving), tuple(unsupported), self.contacts()
        )

    def contacts(self) -> tuple[str, ...]:
        """Return the geoms that can touch others in MuJoCo."""
        if not (self.flag("contact") and self.flag("constraint")):
            return ()
        sections = self.sections["contact"]
        return touching_geoms(self.world, sections, self.flag("filterparent"))

    def disabled_groups(self) -> frozenset[int]:
        """Return the groups of actuators that <option> switches off."""
        groups: tuple[float, ...] = ()
        for section in self.sections["option"]:
            groups = numbers(section, "actuatorgroupdisable", None, groups)
        return frozenset(map(int, groups))

    def flag(self, name: str) -> bool:
        """Return whether <option> leaves a part of the physics on."""
        word = "enable"
        for section in self.sections["option"]:
            for child in section:
                if child.tag == "flag":
                    assert isinstance(child, Element)
                    word = choice(child, name, "enable", "disable", default=word)
        return word == "enable"

    # ---------------------------------------------------------------- bodies

    def bodies(self) -> tuple[BodyDescription, ...]:
        """Return the bodies in document order, masses scaled to settotalmass."""
        fused: set[MjcfBody] = set()
        if self.settings.fuse_static:
            fused = fused_bodies(self.world, self.root)
        inertials = [self.inertial(body, fused) for body in self.world.bodies[1:]]
        if self.settings.total_mass > 0:
            inertials = self.scaled(inertials, part_of_world(self.world, fused))
        described: list[BodyDescription] = []
        for body, inertial in zip(self.world.bodies[1:], inertials, strict=True):
            assert body.parent is not None
            is_free = any(joint.type == "floating" for joint in body.joints)
            described.append(
                BodyDescription(
                    body.name,
                    None if body.parent.is_world else body.parent.name,
                    # qpos of a free joint is the body's pose in the world.
                    Pose.identity() if is_free else body.placement,
                    tuple(body.joints),
                    inertial,
                    gravity_compensation=body.gravity_compensation,
                )
            )
        self.warn_of_massless_leaves(described)
        return tuple(described)

    def inertial(self, body: MjcfBody, fused: Container[MjcfBody]) -> Inertial | None:
        """Return the inertia of a body: as written, or from its geoms."""
        settings = self.settings
        written = None
        if body.inertial:
            written = read_inertial(body.inertial, settings, self.warnings)
        rule = settings.inertia_from_geom
        if rule == "true" or (rule == "auto" and written is None):
            is_needed = body.is_moving or settings.total_mass > 0
            if not is_needed and takes_mesh(body.geoms, settings):
                return None
            written = gather(body.element, body.geoms, settings, self.meshes) or written
        inertial = bounded_inertia(written, body.element, settings, self.warnings)
        if body in fused and inertial is not None and inertial.mass < TINY:
            return None
        return inertial

    def scaled(
        self, inertials: list[Inertial | None], uncounted: Container[MjcfBody]
    ) -> list[Inertial | None]:
        """Return the inertias scaled to the mass that <compiler> asks for."""
        if all(body in uncounted for body in self.world.bodies[1:]):
            return (
                inertials  # everything is part of the world, whose mass does not matter
            )
        bodies = zip(self.world.bodies[1:], inertials, strict=True)
        counted = [i for b, i in bodies if i is not None and b not in uncounted]
        mass = math.fsum(i.mass for i in counted)
        if mass < TINY:
            raise fault(self.root, "settotalmass on a model without mass")
        s = self.settings.total_mass / mass
        return [
            i and replace(i, mass=s * i.mass, inertia=s * i.inertia) for i in inertials
        ]

    def warn_of_massless_leaves(self, bodies: list[BodyDescription]) -> None:
        """Warn of joints that move no mass at all."""
        carried: dict[str | None, float] = {}
        light: list[str] = []
        for body in reversed(bodies):
            mass = carried.get(body.name, 0.0)
            mass += body.inertial.mass if body.inertial else 0.0
            carried[body.parent] = carried.get(body.parent, 0.0) + mass
            if body.joints and mass <= 0:
                light.append(body.name)
        if light:
            self.warnings.append(
                f"bodies {quoted_names(light[::-1])} can move, but neither they nor "
                "the bodies they carry have mass"
            )

    # ---------------------------------------------------------------- the rest

    def frames(self) -> tuple[FrameDescription, ...]:
        """Return the named sites; one that shares its name with a body gets another."""
        taken = {body.name for body in self.world.bodies}
        taken |= {site.name for site in self.world.sites}
        bodies = {body.name for body in self.world.bodies}
        frames: list[FrameDescription] = []
        others: list[str] = []
        for site in self.world.sites:
            name = site.name
            if name in bodies:
                while name in taken:
                    name += "_site"
                taken.add(name)
                others.append(name)
            body = None if site.body.is_world else site.body.name
            frames.append(FrameDescription(name, body, site.placement))
        if others:
            what = counted_noun(len(others), "site has", "sites have")
            self.warnings.append(
                f"{self.root.label}: {what} the name of a body; called as frames: "
                f"{quoted_names(others)}"
            )
        return tuple(frames)

    def gravity(self) -> tuple[float, float, float]:
        """Return gravity, zero where the flag of <option> disables it."""
        merged: Attributes = {}
        for section in self.sections["option"]:
            merged.update(section.attrib)
        place = self.sections["option"][-1] if self.sections["option"] else self.root
        options = like(place, merged)
        self.warnings += ignored_options(options)
        x, y, z = numbers(options, "gravity", 3, (0, 0, -9.81), largest=LARGEST)
        return (x, y, z) if self.flag("gravity") else (0.0, 0.0, 0.0)

    def keyframes(self) -> dict[str, Array]:
        """Return qpos by the name of its key; qpos0 is how the file stands."""
        rest, quaternions = self.reference()
        keys: dict[str, Array] = {}
        for section in self.sections["keyframe"]:
            for i, key in enumerate(section):
                assert isinstance(key, Element)
                name = key.get("name") or f"key{i}"
                if name in keys:
                    raise fault(key, f"duplicate key {name!r}; expected one")
                given = numbers(key, "qpos", len(rest), rest, largest=LARGEST)
                q = np.array(given, dtype=float)
                for at in quaternions:
                    length = norm(given[at : at + 4])
                    if length >= _SHORTEST_QUATERNION:
                        q[at : at + 4] /= length
                        continue
                    q[at : at + 4] = _IDENTITY
                    self.warnings.append(
                        f"{where(key)}: a zero quaternion in qpos counts as 1 0 0 0, "
                        f"as in MuJoCo: at {at}"
                    )
                keys[name] = q
        return {"qpos0": np.array(rest)} | keys

    def reference(self) -> tuple[list[float], list[int]]:
        """Return qpos0, and where quaternions begin in it."""
        q: list[float] = []
        quaternions: list[int] = []
        for body in self.world.bodies:
            for joint in body.joints:
                match joint.type:
                    case "floating":
                        quaternions.append(len(q) + 3)
                        q += body.placement.origin
                        q += quaternion(body.placement.rows)
                    case "spherical":
                        quaternions.append(len(q))
                        q += _IDENTITY
                    case _:
                        q.append(joint.reference)
        return q, quaternions
