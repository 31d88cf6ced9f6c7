"""The shapes of URDF and MJCF files, and where their meshes are found."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ramidyn.description.description import MeshShape
from ramidyn.description.mesh_files import find_mesh
from ramidyn.errors import ModelError, ModelWarning
from ramidyn.loading import load
from support.meshes import box, write_stl

INERTIAL = """<inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>"""
URDF = f"""<robot name="r"><material name="red"><color rgba="1 0 0 1"/></material>
<link name="base"><visual><geometry><box size="1 2 3"/></geometry>
  <material name="red"/></visual></link>
<link name="arm">{INERTIAL}
  <visual name="tube"><origin xyz="0 0 1" rpy="0 0 1.5707963267948966"/>
    <geometry><cylinder radius="0.1" length="2"/></geometry></visual>
  <collision><geometry><sphere radius="0.5"/></geometry></collision>
  <visual><geometry><mesh filename="package://pkg/meshes/m.stl" scale="2 2 2"/>
    </geometry><material name=""><color rgba="0 1 0 0.5"/></material></visual>
  <visual><geometry><teapot/></geometry></visual></link>
<joint name="j" type="continuous"><parent link="base"/><child link="arm"/></joint>
</robot>"""
MJCF = """<mujoco model="m"><asset><material name="blue" rgba="0 0 1 1"/>
<mesh name="t" vertex="0 0 0 1 0 0 0 1 0 0 0 1" scale="2 2 2" refpos="1 0 0"/></asset>
<option><flag contact="disable"/></option><worldbody><geom type="plane" size="0 0 1"/>
<body name="a" pos="0 0 1"><joint/><geom type="box" size="1 2 3" material="blue"/>
<geom type="capsule" fromto="0 0 0 0 0 2" size="0.1" rgba="1 1 1 1" group="3"/>
<geom type="mesh" mesh="t" mass="1"/><geom type="ellipsoid" size="1 2 3"/></body>
</worldbody></mujoco>"""


def test_urdf_shapes_have_their_places_sizes_and_colors() -> None:
    robot = load(URDF)
    with pytest.warns(ModelWarning, match="not drawn: .*not a shape; expected box"):
        base, tube, mesh, ball = robot.shapes
    assert (base.kind, base.body, base.size) == ("box", "base", (1, 2, 3))
    assert base.color == (1, 0, 0, 1)
    assert (tube.kind, tube.name, tube.size) == ("cylinder", "tube", (0.1, 2))
    np.testing.assert_allclose(tube.placement.apply(np.array([1, 0, 0])), [0, 1, 1])
    assert (mesh.kind, mesh.color) == ("mesh", (0, 1, 0, 0.5))
    assert mesh.mesh is not None
    assert mesh.mesh.scale == (2, 2, 2)
    assert (ball.kind, ball.role, ball.size) == ("sphere", "collision", (0.5,))


def test_mjcf_shapes_have_whole_lengths_and_the_world_its_own() -> None:
    robot = load(MJCF)
    ground, block, bar, mesh, egg = robot.shapes
    assert (ground.kind, ground.body, ground.size) == ("plane", "world", (0, 0))
    assert (block.body, block.size, block.color) == ("a", (2, 4, 6), (0, 0, 1, 1))
    assert (bar.kind, bar.role, bar.size) == ("capsule", "collision", (0.1, 2.0))
    np.testing.assert_allclose(bar.placement.p, [0, 0, 1])
    assert mesh.mesh is not None
    assert mesh.mesh.vertices is not None
    np.testing.assert_allclose(mesh.mesh.reference.p, [1, 0, 0])
    assert egg.size == (1, 2, 3)


def test_sdf_shapes_have_their_places_sizes_and_colors() -> None:
    text = """<sdf version="1.7"><model name="m"><link name="a">
    <inertial><mass>1</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial>
    <visual name="v"><pose>0 0 1 0 0 0</pose><geometry><cylinder><radius>0.1</radius>
      <length>2</length></cylinder></geometry>
      <material><diffuse>1 0 0 1</diffuse></material></visual>
    <collision name="c"><geometry><box><size>1 2 3</size></box></geometry></collision>
    <visual name="w"><geometry><mesh><uri>model://p/m.stl</uri><scale>2 2 2</scale>
      </mesh></geometry></visual>
    <visual name="x"><pose relative_to="b"/><geometry><plane/></geometry></visual>
    </link></model></sdf>"""
    with pytest.warns(ModelWarning, match="not drawn: .*its pose is relative to 'b'"):
        tube, mesh, block = load(text).shapes
    assert (tube.kind, tube.body, tube.size) == ("cylinder", "a", (0.1, 2))
    assert tube.color == (1, 0, 0, 1)
    np.testing.assert_allclose(tube.placement.p, [0, 0, 1])
    assert mesh.mesh is not None
    assert (mesh.mesh.file, mesh.mesh.scale) == ("model://p/m.stl", (2, 2, 2))
    assert (block.role, block.size) == ("collision", (1, 2, 3))


def test_shapes_follow_a_robot_that_is_attached() -> None:
    arm = load(MJCF)
    both = load(MJCF).attach(arm, "a", placement=(0, 0, 5), prefix="up_")
    there = {shape.body for shape in both.shapes}
    assert there == {"world", "a", "up_a"}
    planes = [s for s in both.shapes if s.kind == "plane"]
    assert [s.body for s in planes] == ["world", "a"]
    np.testing.assert_allclose(planes[1].placement.p, [0, 0, 5])


def test_shapes_do_not_change_the_key_of_compiled_code(tmp_path: Path) -> None:
    path = tmp_path / "r.xml"
    path.write_text(MJCF)
    assert load(path).fingerprint == load(MJCF).fingerprint


def test_a_file_that_is_gone_is_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "r.xml"
    path.write_text(MJCF)
    robot = load(path)
    path.unlink()
    with pytest.warns(ModelWarning, match="not drawn: .*r.xml: no such file"):
        assert robot.shapes == ()


# ------------------------------------------------------------ mesh files


def mesh_at(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_stl(path, box(1, 1, 1))
    return path


def test_a_package_is_found_around_the_model(tmp_path: Path) -> None:
    found = mesh_at(tmp_path / "pkg" / "meshes" / "m.stl")
    for folder in (tmp_path / "pkg" / "urdf", tmp_path / "other", tmp_path):
        folder.mkdir(exist_ok=True)
        mesh = MeshShape("package://pkg/meshes/m.stl", folder, folder.parent)
        assert find_mesh(mesh) == found


def test_a_package_is_found_where_the_user_or_ros_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = mesh_at(tmp_path / "elsewhere" / "pkg" / "m.stl")
    mesh = MeshShape("package://pkg/m.stl")
    assert find_mesh(mesh, [tmp_path / "elsewhere"]) == found
    assert find_mesh(mesh, [tmp_path / "elsewhere" / "pkg"]) == found
    with pytest.raises(ModelError, match=r"mesh 'package://pkg/m\.stl' not found; add"):
        find_mesh(mesh)
    monkeypatch.setenv("ROS_PACKAGE_PATH", f"/nowhere:{tmp_path / 'elsewhere'}")
    assert find_mesh(mesh) == found


def test_relative_and_absolute_paths_stay_in_the_models_tree(tmp_path: Path) -> None:
    folder = tmp_path / "robot" / "urdf"
    found = mesh_at(tmp_path / "robot" / "meshes" / "m.stl")
    outside = mesh_at(tmp_path / "m.stl")
    folder.mkdir()
    limit = folder.parent
    for name in ("../meshes/m.stl", str(found), f"file://{found}"):
        assert find_mesh(MeshShape(name, folder, limit)) == found
    for name in ("../../m.stl", str(outside), "package://robot/../m.stl"):
        with pytest.raises(ModelError, match="leads outside the model's directories"):
            find_mesh(MeshShape(name, folder, limit))
    assert find_mesh(MeshShape(str(outside), folder, limit), [tmp_path]) == outside
    with pytest.raises(ModelError, match="is not a valid path"):
        find_mesh(MeshShape("m\0.stl", folder, limit))
