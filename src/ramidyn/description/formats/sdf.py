"""Parse SDF text into a Description.

The format is SDFormat (http://sdformat.org/spec), versions 1.4 and later, one model
in a file: links, joints, frames and inertials, with poses relative to each other. A
link that no joint attaches to the world floats, unless the model is static. SDF models
may have loops: a joint between two links that the tree already has becomes a cut joint
of the same name and type, a gearbox a coupling.

Includes and nested models are refused by name. What does not move mass (visual,
collision, sensor, plugin ...) is not read here, so meshes need not exist; shapes.py
reads it on demand.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping
from typing import Final, final

import numpy as np

from ramidyn.description.constants import (
    dot,
    full,
    is_surely_physical,
    quaternion,
    turned_inertia,
)
from ramidyn.description.description import (
    BodyDescription,
    Description,
    FrameDescription,
    Inertial,
    JointDescription,
    LoopDescription,
)
from ramidyn.description.forces.from_file import passive_of
from ramidyn.description.formats.sdf_frames import (
    MODEL,
    WORLD,
    Place,
    SdfFrames,
    child_text,
    flag,
    read_pose,
    spanning_tree,
)
from ramidyn.description.formats.sdf_joints import (
    SdfJoint,
    gearbox_ends,
    loop_joint,
    read_joint,
    tree_joint,
)
from ramidyn.description.formats.urdf_graph import by_name, joined_names, refuse_cycles
from ramidyn.description.formats.xml import (
    CONTENT,
    LARGEST,
    fault,
    number,
    numbers,
    parse_xml,
    warn_unphysical,
    where,
    word,
)
from ramidyn.description.loop_types import coupling
from ramidyn.description.pose import Pose
from ramidyn.errors import unknown_name

ROOT_JOINT: Final = "root_joint"

_KNOWN: Final = {
    "link": frozenset(
        (
            *("pose", "inertial", "collision", "visual", "sensor", "projector"),
            *("audio_sink", "audio_source", "battery", "light", "particle_emitter"),
            *("gravity", "enable_wind", "self_collide", "kinematic", "plugin"),
            *("must_be_base_link", "velocity_decay", "frame"),
        )
    ),
    "joint": frozenset(
        (
            *("parent", "child", "pose", "axis", "axis2", "physics", "sensor"),
            *("gearbox_ratio", "gearbox_reference_body", "thread_pitch", "frame"),
            *("screw_thread_pitch", "plugin"),
        )
    ),
    "model": frozenset(
        (
            *("link", "joint", "frame", "pose", "static", "self_collide", "plugin"),
            *("allow_auto_disable", "enable_wind", "gripper"),
        )
    ),
}


def parse_sdf(text: str, label: str) -> Description:
    """Return the robot that an SDF text describes.

    Args:
        text: the whole file
        label: what errors call it, usually the file's name

    Raises:
        ModelError: the text is not one SDF model; the message begins with file and
            line.
        UnsupportedJoint: a joint type that SDF, or Ramidyn, does not have.
    """
    sdf = parse_xml(text, label, keep_text=True)
    if sdf.tag != "sdf":
        raise fault(sdf, "not an SDF file; expected the root element <sdf>")
    version = _version(sdf)
    model, gravity = _model(sdf)
    return _SdfReader(model, version, gravity).description()


def _version(sdf: ET.Element) -> tuple[int, ...]:
    given = word(sdf, "version")
    parts = given.split(".")
    if not all(p.isascii() and p.isdigit() for p in parts) or parts[0] != "1":
        raise fault(sdf, f"version is {given!r}; expected 1.4 or a later 1.x")
    version = tuple(map(int, parts))
    if version < (1, 4):
        raise fault(sdf, f"version is {given!r}; expected 1.4 or a later 1.x")
    return version


def _model(sdf: ET.Element) -> tuple[ET.Element, tuple[float, float, float]]:
    """Return the one model of a file, and the gravity of its world."""
    scopes = [sdf, *sdf.iterfind("world")]
    gravity = (0.0, 0.0, -9.81)
    models: list[ET.Element] = []
    for scope in scopes:
        _refuse_includes(scope)
        models += scope.findall("model")
        given = scope.find("gravity")
        if given is not None:
            x, y, z = numbers(given, CONTENT, 3, largest=LARGEST)
            gravity = x, y, z
    if len(models) != 1:
        names = joined_names(m.get("name", "") for m in models)
        raise fault(
            sdf,
            f"{len(models)} models: {names}; expected one in a file"
            if models
            else "no <model>; expected one",
        )
    model = models[0]
    for nested in model.iterfind("model"):
        raise fault(
            nested,
            "a nested model; nested models are not supported: merge its links and "
            "joints into the outer model (gz sdf -p does)",
        )
    _refuse_includes(model)
    return model, gravity


def _refuse_includes(scope: ET.Element) -> None:
    include = scope.find("include")
    if include is None:
        return
    uri = (include.findtext("uri") or "").strip()
    raise fault(
        include,
        f"includes {uri!r}; includes are not supported: expand them first (gz sdf -p "
        "does)",
    )


@final
class _SdfReader:
    """The parts of one model."""

    def __init__(
        self,
        model: ET.Element,
        version: tuple[int, ...],
        gravity: tuple[float, float, float],
    ) -> None:
        self.model = model
        self.version = version
        self.gravity = gravity
        self.warnings: list[str] = []
        self.links = by_name(model, "link")
        self.joints = by_name(model, "joint")
        self.frames = by_name(model, "frame") if version >= (1, 7) else {}
        if not self.links:
            raise fault(model, "a model without links; expected at least one <link>")
        self._check_names()
        self.at = SdfFrames(model, self.links, self.joints, self.frames)
        self.T_world_model = self._placement()

    def _check_names(self) -> None:
        """Raise where a link, joint and frame share a name, which 1.7 forbids."""
        taken: dict[str, ET.Element] = {}
        for elements in (self.links, self.joints, self.frames):
            for name, element in elements.items():
                if name in (WORLD, MODEL) or (
                    name.startswith("__") and name.endswith("__")
                ):
                    raise fault(element, "a reserved name; choose another")
                if name in taken and self.version >= (1, 7):
                    first = taken[name]
                    line = getattr(first, "line", "?")
                    raise fault(
                        element,
                        f"duplicate name: the {first.tag} on line {line} has it too",
                    )
                taken[name] = element

    def _placement(self) -> Pose:
        """Return T_world_model: the pose of the model, or of its placement frame."""
        pose = self.model.find("pose")
        base = "" if pose is None else pose.get("relative_to", "").strip()
        if pose is not None and base not in ("", WORLD):
            raise fault(pose, f"relative to {base!r}; expected the world")
        frame = self.model.get("placement_frame", "").strip()
        T = read_pose(self.model)
        return T @ self.at.pose(frame, self.model).inverse() if frame else T

    def description(self) -> Description:
        ends = {name: self._ends(e) for name, e in self.joints.items()}
        joints = {
            name: read_joint(e, self.at, self.version, self.warnings)
            for name, e in self.joints.items()
        }
        gears = [name for name, joint in joints.items() if joint.type == "gearbox"]
        links = {n: e for n, e in ends.items() if n not in gears}
        tree = spanning_tree(list(self.links), links)
        bodies = [self._body(place, joints) for place in tree.places]
        self._check_mimics(bodies, joints)
        in_tree = {j.name: j for body in bodies for j in body.joints}
        loops = [self._loop(joints[name], ends[name]) for name in tree.loops]
        loops += [self._gearbox(joints[n], ends, joints, in_tree) for n in gears]
        for tag, known in _KNOWN.items():
            self._warn_unknown(
                [self.model] if tag == "model" else self.model.iterfind(tag), known
            )
        return Description(
            name=self.model.get("name", "").strip() or "model",
            bodies=tuple(bodies),
            frames=tuple(self._frame(n, e) for n, e in self.frames.items()),
            loops=tuple(loops),
            keyframes=self._initial(bodies),
            gravity=self.gravity,
            format="sdf",
            offered=passive_of(j for b in bodies for j in b.joints),
            warnings=tuple(self.warnings),
        )

    # -------------------------------------------------------- links and joints

    def _ends(self, joint: ET.Element) -> tuple[str, str]:
        """Return the two links that a joint joins; the parent may be the world."""
        names = [child_text(joint, tag) for tag in ("parent", "child")]
        if names[1] == WORLD:
            raise fault(joint, "the world cannot be the child of a joint")
        parent, child = (
            WORLD if name == WORLD else self.at.link(name, joint) for name in names
        )
        if parent == child:
            raise fault(joint, f"joins link {child!r} to itself")
        return parent, child

    def _pose(self, link: str | None) -> Pose:
        """Return T_model_link; None is the world."""
        if link is None:
            return self.T_world_model.inverse()
        return self.at.pose(link, self.links[link])

    def _body(self, place: Place, joints: Mapping[str, SdfJoint]) -> BodyDescription:
        element = self.links[place.link]
        T_model_link = self._pose(place.link)
        inertial = self._inertial(element)
        if place.joint is None:
            if self._is_static():
                placement = self.T_world_model @ T_model_link
                return BodyDescription(place.link, None, placement, inertial=inertial)
            # q of a floating joint is the pose in the world.
            root = JointDescription(self._root_name(place.link), "floating")
            identity = Pose.identity()
            return BodyDescription(place.link, None, identity, (root,), inertial)
        parent = None if place.parent == WORLD else place.parent
        moving = tree_joint(
            joints[place.joint], T_model_link, place.is_reversed, self.warnings
        )
        return BodyDescription(
            place.link,
            parent,
            self._pose(parent).inverse() @ T_model_link,
            joints=() if moving is None else (moving,),
            inertial=inertial,
            fixed_joint=place.joint if moving is None else None,
        )

    def _root_name(self, link: str) -> str:
        name = ROOT_JOINT if link == next(iter(self.links)) else f"{link}_{ROOT_JOINT}"
        while name in self.joints:
            name += "_"
        return name

    def _is_static(self) -> bool:
        static = self.model.find("static")
        return static is not None and flag(static, word(static, CONTENT))

    def _initial(self, bodies: Iterable[BodyDescription]) -> dict[str, np.ndarray]:
        """Return the configuration of the file, where links float."""
        q: list[float] = []
        floats = False
        for body in bodies:
            for joint in body.joints:
                if joint.type == "floating":
                    T = self.T_world_model @ self._pose(body.name)
                    q += [*T.origin, *quaternion(T.rows)]
                    floats = True
                elif joint.type == "spherical":
                    q += [1.0, 0.0, 0.0, 0.0]
                else:
                    q += [0.0] * (2 if joint.type == "universal" else 1)
        return {"qpos0": np.array(q)} if floats else {}

    def _inertial(self, link: ET.Element) -> Inertial:
        gravity, inertial = link.find("gravity"), link.find("inertial")
        if gravity is not None and not flag(gravity, word(gravity, CONTENT)):
            self.warnings.append(f"{where(link)}: gravity acts on it nevertheless")
        if inertial is None:
            self.warnings.append(
                f"{where(link)}: no <inertial>; SDF's default is used: 1 kg, and "
                "1 kg m² about every axis"
            )
            return Inertial(1.0, np.zeros(3), np.eye(3))
        if flag(inertial, inertial.get("auto", "false")):
            raise fault(
                inertial,
                "auto=true computes the inertia from collision shapes, which is not "
                "supported; write <mass> and <inertia>",
            )
        if inertial.find("fluid_added_mass") is not None:
            self.warnings.append(f"{where(link)}: fluid_added_mass is ignored")
        mass_element, matrix = inertial.find("mass"), inertial.find("inertia")
        mass = 1.0
        if mass_element is None:
            self.warnings.append(f"{where(link)}: no <mass>; SDF's default is 1 kg")
        else:
            mass = number(mass_element, CONTENT, largest=LARGEST)
            if mass < 0:
                raise fault(
                    mass_element, f"a negative mass, {mass:g} kg; expected 0 or more"
                )
        if matrix is None:
            self.warnings.append(
                f"{where(link)}: no <inertia>; SDF's default is 1 kg m² about every "
                "axis"
            )
        names = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
        defaults = (1.0, 0.0, 0.0, 1.0, 0.0, 1.0)
        I = [
            x
            if matrix is None or (e := matrix.find(name)) is None
            else number(e, CONTENT, largest=LARGEST)
            for name, x in zip(names, defaults, strict=True)
        ]
        if not is_surely_physical(I):
            warn_unphysical(link, full(I), self.warnings)
        pose = inertial.find("pose")
        if pose is not None and pose.get("relative_to", "").strip():
            raise fault(
                pose,
                "relative_to is not allowed here; an inertial is in its link's frame",
            )
        T = read_pose(inertial)
        return Inertial(mass, T.p, full(turned_inertia(I, T.rows)))

    def _frame(self, name: str, frame: ET.Element) -> FrameDescription:
        link = self.at.link(name, frame)
        T = self._pose(link).inverse() @ self.at.pose(name, frame)
        return FrameDescription(name, link, T)

    # -------------------------------------------------------- loops, gears, mimics

    def _loop(self, joint: SdfJoint, ends: tuple[str, str]) -> LoopDescription:
        a, b = (None if name == WORLD else name for name in ends)
        poses = self._pose(a), self._pose(b)
        return loop_joint(joint, (a, b), poses, self.warnings)

    def _gearbox(
        self,
        gear: SdfJoint,
        ends: Mapping[str, tuple[str, str]],
        joints: Mapping[str, SdfJoint],
        in_tree: Mapping[str, JointDescription],
    ) -> LoopDescription:
        """θ₂ = −ratio θ₁: the angles of child and parent in the reference body."""
        reference, ratio = gearbox_ends(gear)
        signs: list[float] = []
        names: list[str] = []
        for link, axis in zip(ends[gear.name], gear.axes, strict=True):
            name, sign = "", 0.0
            for n, pair in ends.items():
                joint = joints[n]
                if n in in_tree and joint.type == "revolute":
                    along = dot(joint.axes[0].direction, axis.direction)
                    turns = {(reference, link): 1.0, (link, reference): -1.0}
                    if pair in turns and abs(along) > 1 - 1e-6:
                        name, sign = n, turns[pair] * (1.0 if along > 0 else -1.0)
            if not name:
                raise fault(
                    gear.element,
                    f"no revolute joint between {reference!r} (the reference body) and "
                    f"{link!r} turns about the gearbox's axis; expected one",
                )
            names.append(name)
            signs.append(sign)
        factor = -ratio * signs[0] * signs[1]
        return coupling(where(gear.element), gear.name, names[::-1], (0.0, factor))

    def _check_mimics(
        self, bodies: Iterable[BodyDescription], joints: Mapping[str, SdfJoint]
    ) -> None:
        moving = {j.name: j for body in bodies for j in body.joints}
        mimics = {n: j.mimic.of for n, j in moving.items() if j.mimic is not None}
        single = {n for n, j in moving.items() if j.type in ("revolute", "prismatic")}
        for name, of in mimics.items():
            element = joints[name].element
            if of not in joints:
                known = str(unknown_name("joint", of, "the model", joints))
                raise fault(element, f"mimics a joint that does not exist: {known}")
            if name not in single or of not in single:
                raise fault(
                    element,
                    f"mimics {of!r}; both must be revolute, continuous or prismatic "
                    "joints of the tree",
                )
        refuse_cycles(mimics, self.joints)

    def _warn_unknown(
        self, elements: Iterable[ET.Element], known: frozenset[str]
    ) -> None:
        for element in elements:
            unknown = (child.tag for child in element if child.tag not in known)
            for tag in dict.fromkeys(unknown):
                if ":" not in tag:
                    self.warnings.append(
                        f"{where(element)}: unknown element <{tag}> ignored"
                    )
