"""MJCF's <worldbody>: the tree of bodies, with the contents of each.

The tree is walked in document order with a stack, not by recursion: a chain of a
thousand bodies nests a thousand deep.

MuJoCo fuses bodies into their parents (compiler fusestatic). A Tree merges every body
without joints anyway. What is left to know: a body that becomes part of the world no
longer counts in settotalmass, and one without mass takes no inertia along, not even
that of boundinertia.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from ramidyn.description.constants import ORIGIN, moved_point
from ramidyn.description.description import JointDescription
from ramidyn.description.formats.mjcf.attributes import warn_of_unknown_attributes
from ramidyn.description.formats.mjcf.defaults import (
    LARGEST,
    MAIN,
    Defaults,
    Settings,
    flag,
    unknown,
    whole,
)
from ramidyn.description.formats.mjcf.inertia import Placed
from ramidyn.description.formats.mjcf.joints import FREEDOMS, read_joint
from ramidyn.description.formats.mjcf.orientation import from_euler, pose, segment
from ramidyn.description.formats.xml import Element, fault, number, numbers, where
from ramidyn.description.pose import Pose

MOST_COPIES: Final = 50_000
"""elements that <replicate> may make: nested ones multiply"""
_UNSEEN: Final = ("camera", "light")
_MAKERS: Final = ("composite", "flexcomp", "attach")
_KNOWN: Final = (
    *("body", "frame", "replicate", "inertial", "joint", "freejoint", "geom", "site"),
    *(*_UNSEEN, *_MAKERS, "plugin"),
)


@dataclass(slots=True, eq=False)
class MjcfBody:
    """A body while it is read; the first one is the world."""

    element: Element
    name: str
    parent: MjcfBody | None
    placement: Pose = field(default_factory=Pose.identity)
    joints: list[JointDescription] = field(default_factory=list[JointDescription])
    inertial: Placed | None = None
    geoms: list[Placed] = field(default_factory=list[Placed])
    gravity_compensation: float = 0.0
    is_moving: bool = False
    """whether a joint is between this body and the world; known after the walk"""

    @property
    def T_world(self) -> Pose:
        """Its pose at the reference configuration."""
        T, body = self.placement, self.parent
        while body is not None:
            T, body = body.placement @ T, body.parent
        return T

    @property
    def is_world(self) -> bool:
        """Return whether this is the world itself."""
        return self.parent is None


@dataclass(slots=True, eq=False)
class Site:
    """A site, fixed to a body."""

    element: Element
    name: str
    body: MjcfBody
    placement: Pose


@dataclass(frozen=True, slots=True, eq=False)
class Scope:
    """Where the walk stands: whose children it reads, and in which frame."""

    children: Iterator[Element]
    body: MjcfBody
    T_body_frame: Pose
    class_name: str
    suffix: str = ""
    """what <replicate> appends to names here"""
    copied: MjcfBody | None = None
    """the body that a <replicate> around adds to"""


class Worldbody:
    """The bodies and sites of a model in document order; ``bodies[0]`` is the world."""

    def __init__(
        self,
        sections: list[Element],
        root: Element,
        defaults: Defaults,
        settings: Settings,
        warnings: list[str],
    ) -> None:
        self.bodies: list[MjcfBody] = [MjcfBody(root, "world", None)]
        self.sites: list[Site] = []
        self._defaults = defaults
        self._settings = settings
        self._warnings = warnings
        self._names = {"body": {"world"}, "joint": set[str](), "site": set[str]()}
        self._copies = 0
        for section in sections:
            scope = Scope(_elements(section), self.bodies[0], Pose.identity(), MAIN)
            self._walk([scope])
        self._name_the_nameless()
        for body in self.bodies[1:]:
            assert body.parent is not None
            body.is_moving = bool(body.joints) or body.parent.is_moving
            self._check_joints(body)

    def _walk(self, stack: list[Scope]) -> None:
        while stack:
            scope = stack[-1]
            element = next(scope.children, None)
            if element is None:
                stack.pop()
                continue
            if scope.suffix:
                self._copies += 1
                if self._copies > MOST_COPIES:
                    raise fault(element, f"replicate makes over {MOST_COPIES} elements")
            warn_of_unknown_attributes(element, self._warnings)
            match element.tag:
                case "body":
                    stack.append(self._body(element, scope))
                case "frame":
                    stack.append(self._frame(element, scope))
                case "replicate":
                    stack.extend(reversed(self._replicate(element, scope)))
                case _:
                    self._leaf(element, scope)

    def _leaf(self, element: Element, scope: Scope) -> None:
        body = scope.body
        match element.tag:
            case "geom":
                geom = self._defaults.apply(element, scope.class_name)
                body.geoms.append((geom, scope.T_body_frame))
            case "site":
                self._site(element, scope)
            case "joint" | "freejoint":
                self._joint(element, scope)
            case "inertial":
                if body.is_world:
                    raise fault(
                        element, "in the world body; expected it in another body"
                    )
                if body.inertial is not None:
                    raise fault(element, "a second inertial in this body; expected one")
                body.inertial = element, scope.T_body_frame
            case "plugin":
                name = element.get("plugin") or element.get("instance") or ""
                self._warnings.append(
                    f"{where(element)}: the forces of plugin {name!r} are ignored"
                )
            case tag if tag in _MAKERS:
                raise fault(
                    element,
                    f"<{tag}> makes bodies and is not supported; expected the model as "
                    "MuJoCo saves it, with the bodies written out",
                )
            case tag if tag not in _UNSEEN:
                raise unknown(element, "element", tag, _KNOWN)
            case _:
                pass

    def _body(self, element: Element, scope: Scope) -> Scope:
        placement = scope.T_body_frame @ pose(element, self._settings)
        body = MjcfBody(
            element,
            self._unique("body", element, scope),
            scope.body,
            placement,
            gravity_compensation=number(element, "gravcomp", 0.0, largest=LARGEST),
        )
        if flag(element, "mocap"):
            if not scope.body.is_world:
                raise fault(
                    element, "mocap='true' is possible only in a child of the world"
                )
            self._warnings.append(
                f"{where(element)}: a mocap body; it stays where the file places it"
            )
        self.bodies.append(body)
        name = self._defaults.class_name(element, "childclass", scope.class_name)
        return Scope(_elements(element), body, Pose.identity(), name, scope.suffix)

    def _frame(self, element: Element, scope: Scope) -> Scope:
        return Scope(
            _elements(element),
            scope.body,
            scope.T_body_frame @ pose(element, self._settings),
            self._defaults.class_name(element, "childclass", scope.class_name),
            scope.suffix,
            scope.copied,
        )

    def _replicate(self, element: Element, scope: Scope) -> list[Scope]:
        count = whole(element, "count")
        if not 1 <= count <= MOST_COPIES:
            raise fault(element, f"count={count}; expected 1 to {MOST_COPIES}")
        offset = numbers(element, "offset", 3, ORIGIN, largest=LARGEST)
        euler = numbers(element, "euler", 3, ORIGIN, largest=LARGEST)
        name = self._defaults.class_name(element, "childclass", scope.class_name)
        digits = len(str(count))
        scopes: list[Scope] = []
        p = ORIGIN
        for i in range(count):
            R = from_euler([i * angle for angle in euler], self._settings)
            suffix = f"{element.get('sep', '')}{i:0{digits}}{scope.suffix}"
            here = Pose.of(R, p)
            T = scope.T_body_frame @ here
            scopes.append(
                Scope(_elements(element), scope.body, T, name, suffix, scope.body)
            )
            p = moved_point(here.rows, offset, here.origin)
        return scopes

    def _site(self, element: Element, scope: Scope) -> None:
        site = self._defaults.apply(element, scope.class_name)
        if "fromto" in site.attrib:
            placement, _ = segment(site)
        else:
            placement = pose(site, self._settings)
        name = self._unique("site", element, scope)
        if name:
            T = scope.T_body_frame @ placement
            self.sites.append(Site(element, name, scope.body, T))

    def _joint(self, element: Element, scope: Scope) -> None:
        if scope.body.is_world:
            raise fault(
                element,
                "in the world body, which cannot move; expected it in another body",
            )
        if scope.copied is scope.body:
            raise fault(element, "directly in a replicate; expected a body around it")
        name = self._unique("joint", element, scope)
        if element.tag == "freejoint":
            joint = JointDescription(name, "floating")
        else:
            merged = self._defaults.apply(element, scope.class_name)
            joint = read_joint(
                name, merged, scope.T_body_frame, self._settings, self._warnings
            )
            if "springdamper" in merged.attrib:
                self._warnings.append(f"{where(element)}: springdamper is ignored")
        scope.body.joints.append(joint)
        self._warn_of_alignment(element, joint)

    def _warn_of_alignment(self, element: Element, joint: JointDescription) -> None:
        word = element.get("align", "auto")
        if joint.type == "floating" and (
            word == "true" or (word == "auto" and self._settings.align_free)
        ):
            self._warnings.append(
                f"{where(element)}: align is ignored; the body keeps its own frame, "
                "although MuJoCo may move it to the center of mass"
            )

    def _unique(self, kind: str, element: Element, scope: Scope) -> str:
        """Return the name of an element, which no other of its kind may have."""
        name = element.get("name", "")
        if not name:
            return ""
        name += scope.suffix
        if name in self._names[kind]:
            raise fault(element, f"duplicate {kind} {name!r}; names must be unique")
        self._names[kind].add(name)
        return name

    def _name_the_nameless(self) -> None:
        """Call unnamed bodies and joints by their number, which is MuJoCo's id."""
        number_of_joint = 0
        for i, body in enumerate(self.bodies):
            body.name = body.name or self._free_name("body", i)
            for k, joint in enumerate(body.joints):
                if not joint.name:
                    name = self._free_name("joint", number_of_joint)
                    body.joints[k] = replace(joint, name=name)
                number_of_joint += 1

    def _free_name(self, kind: str, i: int) -> str:
        name = f"{kind}{i}"
        while name in self._names[kind]:
            name += "_"
        self._names[kind].add(name)
        return name

    def _check_joints(self, body: MjcfBody) -> None:
        types = [joint.type for joint in body.joints]
        assert body.parent is not None
        if "floating" in types and not body.parent.is_world:
            raise fault(
                body.element, "a free joint is possible only in a child of the world"
            )
        if sum(FREEDOMS[type] for type in types) > 6:
            raise fault(body.element, "more than 6 degrees of freedom in one body")
        if "spherical" in types:
            after = types[types.index("spherical") + 1 :]
            if any(type != "prismatic" for type in after):
                raise fault(body.element, "a rotation follows a ball joint in one body")
        if types and flag(body.element, "mocap"):
            raise fault(body.element, "a mocap body cannot have joints")


def _elements(parent: Element) -> Iterator[Element]:
    for child in parent:
        assert isinstance(child, Element)
        yield child


_NAMES: Final = ("body", "body1", "body2")
_TYPED: Final = (("objtype", "objname"), ("reftype", "refname"))
_BODIES: Final = ("body", "xbody")


def fused_bodies(world: Worldbody, root: Element) -> set[MjcfBody]:
    """Return the bodies without joints that nothing refers to by name."""
    named = _referred_bodies(root)
    return {
        body
        for body in world.bodies[1:]
        if not body.joints
        and body.name not in named
        and not flag(body.element, "mocap")
    }


def part_of_world(world: Worldbody, fused: set[MjcfBody]) -> set[MjcfBody]:
    """Return those of the fused bodies that become part of the world."""
    found: set[MjcfBody] = set()
    for body in world.bodies[1:]:
        assert body.parent is not None
        if body in fused and (body.parent.is_world or body.parent in found):
            found.add(body)
    return found


def _referred_bodies(root: Element) -> set[str]:
    """Return the names of bodies that sensors, equalities and the like refer to."""
    names: set[str] = set()
    for element in root.iter():
        for attribute in _NAMES:
            names.update(element.get(attribute, "").split())
        if element.tag in ("camera", "light"):
            names.add(element.get("target", ""))
        for type_, name in _TYPED:
            if element.get(type_) in _BODIES:
                names.add(element.get(name, ""))
    return names
