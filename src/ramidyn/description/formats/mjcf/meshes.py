"""The inertia of MJCF's mesh geoms, and of primitives fitted to a mesh.

A mesh is read only where the inertia of a body needs it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path, PurePosixPath, PureWindowsPath

import numpy as np

from ramidyn.description.constants import (
    IDENTITY,
    ORIGIN,
    cross,
    eigen,
    full,
    moved_point,
    turned_inertia,
)
from ramidyn.description.formats.mjcf.defaults import (
    LARGEST,
    Defaults,
    Settings,
    choice,
    flag,
    like,
    unknown,
)
from ramidyn.description.formats.mjcf.geoms import (
    Solid,
    geom_kind,
    mass_of,
    sized_solid,
)
from ramidyn.description.formats.mjcf.include import Allowed, find_file
from ramidyn.description.formats.mjcf.orientation import pose, rotation
from ramidyn.description.formats.xml import Element, fault, number, numbers, where
from ramidyn.description.mesh_files import (
    MUJOCOS_CORNERS,
    TriangleMesh,
    checked_mesh,
    read_mesh,
)
from ramidyn.description.mesh_geometry import (
    RULES,
    MeshInertia,
    convex_hull,
    mesh_inertia,
)
from ramidyn.description.pose import Array, Pose
from ramidyn.errors import ModelError, counted_noun


class MeshAssets:
    """The <mesh> elements of a model by name; each is read once, when asked for."""

    def __init__(
        self,
        sections: list[Element],
        defaults: Defaults,
        settings: Settings,
        allowed: Allowed | None,
        warnings: list[str],
    ) -> None:
        self._settings = settings
        self._warnings = warnings
        self._allowed = allowed
        self._elements: dict[str, Element] = {}
        self._known: dict[str, tuple[TriangleMesh, MeshInertia]] = {}
        for section in sections:
            for child in section:
                assert isinstance(child, Element)
                if child.tag == "mesh":
                    element = defaults.apply(child)
                    name = element.get("name") or _stem(element.get("file", ""))
                    self._elements[name] = element

    def solid(self, geom: Element) -> Solid:
        """Return the mass and inertia of a geom with a mesh, in its parent frame.

        Raises:
            ModelError: the mesh cannot be read, or has no inertia.
        """
        if "fromto" in geom.attrib:
            raise fault(geom, "fromto and mesh are both given; expected one")
        kind = choice(
            geom,
            "type",
            *("mesh", "sphere", "capsule", "cylinder", "ellipsoid", "box"),
            default="sphere",
        )
        placement = pose(geom, self._settings)
        if kind == "mesh":
            _, inertia = self._read(geom)
            if flag(geom, "shellinertia"):
                raise fault(
                    geom, "shellinertia; expected inertia='shell' of the <mesh>"
                )
            mass = mass_of(geom, inertia.extent)
            share = mass / inertia.extent
            center = moved_point(placement.rows, inertia.center, placement.origin)
            own = tuple(
                share * x for x in turned_inertia(inertia.inertia, placement.rows)
            )
            return mass, center, own
        size, T_mesh_fit = self.fitted(geom)
        return sized_solid(geom, kind, size, placement @ T_mesh_fit)

    def element(self, geom: Element) -> Element:
        """Return the <mesh> that a geom names."""
        name = geom.get("mesh", "")
        if name not in self._elements:
            raise unknown(geom, "mesh", name, self._elements)
        return self._elements[name]

    def file(self, element: Element) -> str:
        """Return the file of a <mesh>, as seen from the model's folder.

        It is in meshdir, or else beside the included file that names it, as in MuJoCo.
        """
        file = element.get("file", "")
        if self._settings.strip_paths:
            return str(Path(self._settings.mesh_folder) / _file_name(file))
        usual = Path(self._settings.mesh_folder) / file
        if self._allowed is not None and element.label != self._allowed.label:
            here, beside = self._allowed.folder, Path(element.label).parent / file
            if not os.path.isfile(here / usual) and os.path.isfile(here / beside):
                return str(beside)
        return str(usual)

    def reference(self, element: Element) -> Pose:
        """Return refpos and refquat of a <mesh>."""
        p = numbers(element, "refpos", 3, ORIGIN, largest=LARGEST)
        if "refquat" not in element.attrib:
            return Pose.of(IDENTITY, p)
        turn = like(element, {"quat": element.attrib["refquat"]})
        return Pose.of(rotation(turn, self._settings), p)

    def _read(self, geom: Element) -> tuple[TriangleMesh, MeshInertia]:
        name, element = geom.get("mesh", ""), self.element(geom)
        if name not in self._known:
            mesh = self._mesh(element)
            rule = choice(element, "inertia", *RULES, default="legacy")
            try:
                self._known[name] = mesh, mesh_inertia(mesh, rule, where(element))
            except ModelError as e:
                raise fault(geom, f"inertia of its mesh: {e}") from None
        return self._known[name]

    def _mesh(self, element: Element) -> TriangleMesh:
        """Return the triangles of a mesh, in meters, placed as the asset says."""
        for attribute in ("builtin", "plugin"):
            if attribute in element.attrib or element.find(attribute) is not None:
                raise fault(
                    element,
                    f"a mesh made by {attribute} is not supported; add an <inertial> "
                    "to the body",
                )
        mesh = self._triangles(element)
        reference = self.reference(element)
        scale = numbers(element, "scale", 3, (1.0, 1.0, 1.0), largest=LARGEST)
        x = mesh.vertices - np.array(reference.origin)
        R = reference.rows
        # The coordinates in the reference frame: Rᵀx, written out to keep its order.
        x = np.stack(
            [
                x[:, 0] * R[0][k] + x[:, 1] * R[1][k] + x[:, 2] * R[2][k]
                for k in (0, 1, 2)
            ],
            axis=1,
        )
        faces = mesh.faces
        if scale[0] * scale[1] * scale[2] < 0:
            faces = faces[:, [0, 2, 1]]  # mirrored: outside stays outside
        return TriangleMesh(x * np.array(scale), faces)

    def _triangles(self, element: Element) -> TriangleMesh:
        file = element.get("file")
        if file is not None:
            if self._allowed is None:
                raise fault(
                    element,
                    f"file={file!r} cannot be found, because the model was given as "
                    "text; pass a path instead",
                )
            path = find_file(element, self.file(element), self._allowed)
            self._allowed.seen.add(path)
            try:
                mesh = read_mesh(path, MUJOCOS_CORNERS)
            except ModelError as e:
                raise fault(element, f"file={file!r}: {e}") from None
            if mesh.left_out:
                faces = counted_noun(mesh.left_out, "face")
                self._warnings.append(
                    f"{where(element)}: its inertia leaves out {faces} with more than "
                    f"{MUJOCOS_CORNERS} corners, as MuJoCo does; split large faces in "
                    f"{file!r} into triangles"
                )
        else:
            given = numbers(element, "vertex", None, (), largest=LARGEST)
            faces = numbers(element, "face", None, (), largest=LARGEST)
            if not given or len(given) % 3 or len(faces) % 3:
                raise fault(
                    element,
                    "neither a file nor vertices; expected vertex='x y z ...' and "
                    "face='i j k ...'",
                )
            single = np.array(given).astype(np.float32)
            vertices = np.reshape(single.astype(np.float64), (-1, 3))
            indices = np.reshape(np.array(faces).astype(np.int64), (-1, 3))
            mesh = checked_mesh(vertices, indices, where(element))
        if len(mesh.faces):
            return mesh
        return TriangleMesh(mesh.vertices, convex_hull(mesh.vertices, where(element)))

    def fitted(self, geom: Element) -> tuple[tuple[float, ...], Pose]:
        """Return the sizes and the placement of a primitive as large as the mesh.

        Its axes are the principal axes of the mesh, the longest along z.
        """
        kind = geom_kind(geom)
        mesh, inertia = self._read(geom)
        moments, vectors = eigen(full(inertia.inertia))
        a, b, c = moments[2], moments[1], moments[0]
        z, y = vectors[:, 0].tolist(), vectors[:, 1].tolist()
        x = cross(y, z)
        R = tuple(zip(x, y, z, strict=True))
        center = inertia.center
        if self._settings.fit_boxes:
            low, high = _bounds(mesh.vertices, center, (x, y, z))
            middle = [(l + h) / 2 for l, h in zip(low, high, strict=True)]
            half = [(h - l) / 2 for l, h in zip(low, high, strict=True)]
            center = moved_point(R, middle, center)
            round_ = max(half[0], half[1])
            sizes = {
                "sphere": (max(half),),
                "capsule": (round_, half[2] - round_),
                "cylinder": (round_, half[2]),
            }
        else:
            halves = ((b + c - a), (a + c - b), (a + b - c))
            half = [0.5 * (6 * max(s, 0.0) / inertia.extent) ** 0.5 for s in halves]
            round_ = (half[0] + half[1]) / 2
            sizes = {
                "sphere": ((half[0] + half[1] + half[2]) / 3,),
                "capsule": (round_, max(0.0, half[2] - round_ / 2)),
                "cylinder": (round_, half[2]),
            }
        scale = number(geom, "fitscale", 1.0, largest=LARGEST)
        size = tuple(scale * s for s in sizes.get(kind, tuple(half)))
        return size, Pose.of(R, center)


def _bounds(
    points: Array, center: tuple[float, ...], axes: tuple[Sequence[float], ...]
) -> tuple[list[float], list[float]]:
    x = points - np.array(center)
    along = [x[:, 0] * a[0] + x[:, 1] * a[1] + x[:, 2] * a[2] for a in axes]
    return [float(s.min()) for s in along], [float(s.max()) for s in along]


def _file_name(file: str) -> str:
    return PureWindowsPath(file).name if "\\" in file else PurePosixPath(file).name


def _stem(file: str) -> str:
    return PurePosixPath(_file_name(file)).stem
