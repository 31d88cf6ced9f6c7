"""Pictures of robots: triangles, scenes and matplotlib's axes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ramidyn import contacts, robots
from ramidyn.description.description import MeshShape, Shape
from ramidyn.description.mesh_geometry import mesh_inertia
from ramidyn.description.pose import Pose
from ramidyn.description.shape_meshes import read_any_mesh
from ramidyn.errors import ArgumentError, Error, ModelWarning, ShapeError
from ramidyn.loading import load
from ramidyn.robot import Robot
from ramidyn.view.scene import LAYERS, scene_of
from ramidyn.view.triangles import split_long, thinned, triangles_of
from support.meshes import box

T = Pose.from_rpy((0.1, 0.2, 0.3), (1.0, 2.0, 3.0))
PI = np.pi
VOLUMES = {
    ("box", (1.0, 2.0, 3.0)): 6.0,
    ("sphere", (0.5,)): 4 / 3 * PI * 0.5**3,
    ("ellipsoid", (1.0, 2.0, 3.0)): 8 * PI,
    ("cylinder", (0.5, 2.0)): PI * 0.5**2 * 2,
    ("capsule", (0.5, 2.0)): PI * 0.5**2 * (2 + 4 / 3 * 0.5),
}


@pytest.mark.parametrize(("kind", "size"), VOLUMES)
def test_a_shape_is_closed_and_as_large_as_it_says(
    kind: str, size: tuple[float, ...]
) -> None:
    mesh = triangles_of(Shape(kind, "a", T, size))
    found = mesh_inertia(mesh, "legacy", kind)
    exact = mesh_inertia(mesh, "convex", kind)
    # Polygons are inside the circles that they stand for.
    assert 0.96 * VOLUMES[kind, size] <= exact.extent <= VOLUMES[kind, size] * 1.0001
    assert found.extent == pytest.approx(exact.extent, rel=1e-9)
    np.testing.assert_allclose(exact.center, T.p, atol=1e-9)


def test_a_mesh_is_placed_scaled_and_mirrored() -> None:
    corners = box(1, 1, 1).vertices
    mesh = MeshShape(
        scale=(2.0, -1.0, 3.0), reference=Pose.at((1.0, 0.0, 0.0)), vertices=corners
    )
    drawn = triangles_of(Shape("mesh", "a", Pose.at((5.0, 0.0, 0.0)), mesh=mesh))
    found = mesh_inertia(drawn, "exact", "m")
    assert found.extent == pytest.approx(8 * 6)
    np.testing.assert_allclose(found.center, [5 - 2, 0, 0], atol=1e-12)


def test_a_coarser_mesh_keeps_its_extent() -> None:
    ball = triangles_of(Shape("sphere", "a", Pose.identity(), (1.0,)))
    coarse = thinned(ball, 0.3)
    assert 20 < len(coarse.faces) < len(ball.faces) / 2
    assert np.abs(np.ptp(coarse.vertices, axis=0) - 2).max() < 0.35


def test_long_triangles_are_split_and_the_surface_stays() -> None:
    cube = triangles_of(Shape("box", "a", T, (4.0, 0.1, 0.1)))
    split = split_long(cube, 0.3)
    corners = split.vertices[split.faces]
    edges = np.linalg.norm(np.roll(corners, -1, axis=1) - corners, axis=2)
    assert edges.max() <= 0.3
    before, after = (mesh_inertia(m, "exact", "m") for m in (cube, split))
    assert after.extent == pytest.approx(before.extent)
    np.testing.assert_allclose(after.center, before.center, atol=1e-12)


def test_other_meshes_are_read_by_trimesh(tmp_path: Path) -> None:
    trimesh: Any = pytest.importorskip("trimesh", reason="trimesh is absent")
    cube = box(1, 2, 3)
    trimesh.Trimesh(cube.vertices, cube.faces).export(tmp_path / "m.ply")
    read = read_any_mesh(tmp_path / "m.ply")
    assert mesh_inertia(read, "exact", "m").extent == pytest.approx(48)
    (tmp_path / "bad.ply").write_bytes(b"ply\nnothing")
    with pytest.raises(Error, match=r"bad\.ply: cannot be read"):
        read_any_mesh(tmp_path / "bad.ply")


@pytest.fixture(scope="module")
def humanoid() -> Robot:
    return robots.humanoid30()


def test_a_robot_without_shapes_has_bars_between_its_joints(humanoid: Robot) -> None:
    scene = scene_of(humanoid.description, humanoid.shapes)
    layers = {part.layer for part in scene.parts}
    assert layers == {"bars", "axes", "masses", "inertias"} < set(LAYERS)
    assert not scene.problems
    by_name = {b.name: b for b in humanoid.description.bodies}
    bars = scene.layer("bars")
    moving = [b for b in by_name.values() if b.joints]
    assert len({part.body for part in bars}) > 0.6 * len(moving)


def test_an_ellipsoid_has_the_inertia_of_its_body(humanoid: Robot) -> None:
    scene = scene_of(humanoid.description, ())
    by_name = {b.name: b for b in humanoid.description.bodies}
    for part in scene.layer("inertias")[:5]:
        own = by_name[part.body].inertial
        assert own is not None
        found = mesh_inertia(part.mesh, "convex", part.body)
        I = np.array(found.inertia)[[0, 3, 5]] * own.mass / found.extent
        np.testing.assert_allclose(I, np.diag(own.inertia), rtol=0.03)
        np.testing.assert_allclose(found.center, own.com, atol=1e-9)


def test_a_vehicle_without_shapes_has_a_chassis_rods_and_wheels() -> None:
    vehicle = robots.hmmwv(suspension=True, tires=True, steering=True)
    scene = scene_of(vehicle.description, ())
    bars = {part.name: part.mesh.vertices for part in scene.layer("bars")}
    chassis = np.ptp(bars["chassis"], axis=0)  # between the pivots of the arms
    assert chassis[0] > 3.3
    assert chassis[1] > 0.8
    wheel = np.ptp(bars["left_front_wheel"], axis=0)
    np.testing.assert_allclose(wheel[[0, 2]], 2 * 0.47, rtol=0.02)
    assert wheel[1] < 0.6 * 0.47 + 1e-9
    # The lower arm, a leaf of the tree, ends where its loop holds the spindle.
    arm = bars["left_front_lower_arm"]
    assert np.ptp(arm, axis=0)[1] > 0.45


def test_a_body_that_spins_about_its_center_of_mass_is_an_ellipsoid() -> None:
    vehicle = robots.hmmwv()
    scene = scene_of(vehicle.description, ())
    (wheel,) = [p for p in scene.layer("bars") if p.body == "left_front_wheel"]
    extent = np.ptp(wheel.mesh.vertices, axis=0)
    assert extent[1] < 0.7 * extent[0]  # flat along its axle
    assert extent.max() < 0.25 * scene.size


def test_a_drawing_is_where_the_poses_are() -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is absent")
    text = """<mujoco><option><flag contact="disable"/></option><worldbody>
    <geom type="plane" size="0 0 1"/>
    <body pos="0 0 1"><joint type="slide" axis="1 0 0"/>
    <geom type="box" size=".1 .1 .1"/></body></worldbody></mujoco>"""
    robot = load(text)
    axes = robot.draw([3.0], view=(10, 20))
    low, high = axes.get_xlim()
    assert (low + high) / 2 == pytest.approx(3)
    assert high - low == pytest.approx(0.2, rel=0.2)
    strobe = robot.draw([[0.0], [1.0]])
    low, high = strobe.get_xlim()
    assert (low + high) / 2 == pytest.approx(0.5)
    with pytest.raises(ShapeError, match=r"q has shape \(2,\); expected \(1,\) or"):
        robot.draw([1.0, 2.0])
    with pytest.raises(ArgumentError, match="layers has 'skin'; possible: 'visual'"):
        robot.draw(layers=["skin"])
    with pytest.raises(Error, match="axes must be 3-D"):
        robot.draw(axes=object())


def test_missing_meshes_are_named_once_and_bars_take_their_place() -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is absent")
    text = """<robot name="r"><link name="a"><visual><geometry>
    <mesh filename="package://p/m.stl"/></geometry></visual></link>
    <link name="b"><inertial><origin xyz="0 0 1"/><mass value="1"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><geometry><mesh filename="package://p/m.stl"/></geometry></visual></link>
    <joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint>
    </robot>"""
    message = "not drawn: mesh 'package://p/m.stl' not found; add its directory"
    with pytest.warns(ModelWarning, match=message) as seen:
        axes = load(text).draw()
    assert len(seen) == 1
    assert axes.get_zlim()[1] > 1


def test_bars_replace_missing_meshes_beside_shapes_that_are_there() -> None:
    text = """<robot name="r"><link name="a"><visual><geometry>
    <box size="1 1 1"/></geometry></visual></link>
    <link name="b"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0"
    ixz="0" iyz="0"/></inertial><visual><geometry><mesh filename="m.stl"/></geometry>
    </visual></link>
    <link name="c"/>
    <joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint>
    <joint name="k" type="fixed"><parent link="b"/><child link="c"/>
    <origin xyz="0 0 2"/></joint></robot>"""
    robot = load(text)
    scene = scene_of(robot.description, robot.shapes)
    assert [part.body for part in scene.layer("visual")] == ["a"]
    (bar,) = scene.layer("bars")
    assert bar.body == "b"
    assert bar.mesh.vertices[:, 2].max() == pytest.approx(2, abs=0.1)


def test_a_picture_shows_the_ground_that_the_robot_stands_on() -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is absent")
    text = """<mujoco><option><flag contact="disable"/></option><worldbody>
    <geom type="plane" size="0 0 1"/>
    <body pos="0 0 {}"><joint type="slide" axis="0 0 1"/>
    <geom type="box" size=".1 .1 .1"/></body></worldbody></mujoco>"""
    standing = load(text.format(0.11)).draw()
    assert standing.get_zlim()[0] == pytest.approx(0.0)
    flying = load(text.format(5)).draw()
    assert flying.get_zlim()[0] == pytest.approx(4.9)
    assert len(standing.collections) == len(flying.collections) + 1


def test_several_pictures_share_axes() -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is absent")
    text = """<mujoco><worldbody><body><joint type="slide" axis="1 0 0"/>
    <geom type="box" size=".1 .1 .1"/></body></worldbody></mujoco>"""
    robot = load(text)
    axes = robot.draw([0.0])
    assert robot.draw([2.0], axes=axes) is axes
    low, high = axes.get_xlim()
    assert low < -0.1
    assert high > 2.1
    empty = robot.draw([np.nan])  # a configuration that is nowhere
    assert np.isfinite(empty.get_xlim()).all()
    empty.figure.canvas.draw()


def test_rigid_contacts_are_a_layer_with_their_shapes() -> None:
    robot = (
        robots.chain(3)
        .add_contact(contacts.ContactPoint("body0", (0.1, 0.2, 0.3)), "point")
        .add_contact(contacts.ContactPoints("body0", ((1, 2, 3),)), "points")
        .add_contact(contacts.ContactSphere("body1", 0.2, (0.0, 0.1, 0.0)), "sphere")
        .add_contact(contacts.ContactCapsule("body2", 0.1, 0.3, axis=(1, 0, 0)), "rod")
        .add_contact(contacts.ContactBox("body2", (0.2, 0.4, 0.6), (1, 2, 3)), "box")
        .add_contact(contacts.SpherePair("world", "body2", 0.1, 0.4), "pair")
        .add_contact(contacts.HardLimit("joint1", -1.0, 1.0), "stop")
    )
    scene = scene_of(robot.description, ())
    assert "contacts" in scene.default_layers
    shown = {}
    for part in scene.layer("contacts"):
        x = part.mesh.vertices
        middle, extent = (x.min(axis=0) + x.max(axis=0)) / 2, np.ptp(x, axis=0)
        shown[part.name, part.body] = middle, extent
    assert {name for name, _ in shown} == {c.name for c in robot.contacts}
    tolerance = {"atol": 0.01}  # they are made of triangles
    np.testing.assert_allclose(shown["point", "body0"][0], (0.1, 0.2, 0.3), **tolerance)
    np.testing.assert_allclose(shown["points", "body0"][0], (1, 2, 3), **tolerance)
    for (name, body), middle, extent in (
        (("sphere", "body1"), (0.0, 0.1, 0.0), (0.4, 0.4, 0.4)),
        (("rod", "body2"), (0.0, 0.0, 0.0), (0.8, 0.2, 0.2)),
        (("box", "body2"), (1.0, 2.0, 3.0), (0.2, 0.4, 0.6)),
        (("pair", "world"), (0.0, 0.0, 0.0), (0.2, 0.2, 0.2)),
        (("pair", "body2"), (0.0, 0.0, 0.0), (0.8, 0.8, 0.8)),
    ):
        np.testing.assert_allclose(shown[name, body][0], middle, **tolerance)
        np.testing.assert_allclose(shown[name, body][1], extent, **tolerance)
    assert ("stop", "body1") in shown


def test_the_floor_is_the_ground_of_contacts() -> None:
    """Also where the robot is above it."""
    foot = contacts.ContactSphere("body2", 0.05, offset=-0.1)
    robot = robots.chain(3).add_contact(foot)
    assert robot.draw().get_zlim()[0] == pytest.approx(-0.1)
    assert robots.chain(3).draw().get_zlim()[0] > -0.09
