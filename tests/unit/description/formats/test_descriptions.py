"""Robots by name, and xacro files; stand-ins where the packages are not installed."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import ramidyn
from ramidyn.errors import ArgumentError, ModelError, UnknownName

ARM = (
    '<robot name="arm"><link name="a"/><link name="b"><inertial><mass value="{}"/>'
    '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    '<joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint>'
    "</robot>"
)


def install(monkeypatch: pytest.MonkeyPatch, name: str, **names: Any) -> None:
    """Put a stand-in for a module in place."""
    module = ModuleType(name)
    vars(module).update(names)
    monkeypatch.setitem(sys.modules, name, module)


@pytest.fixture
def descriptions(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A package robot_descriptions with two robots, one of them out of reach."""
    path = tmp_path / "arm.urdf"
    path.write_text(ARM.format(2))
    known = {"arm_description": 0, "far_description": 0, "odd_description": 0}
    package = "robot_descriptions"
    install(monkeypatch, package, __path__=[str(tmp_path)])
    install(monkeypatch, f"{package}._descriptions", DESCRIPTIONS=known)
    install(monkeypatch, f"{package}.arm_description", URDF_PATH=str(path))
    install(monkeypatch, f"{package}.odd_description")
    (tmp_path / "far_description.py").write_text("raise OSError('no route to host')")
    return path


@pytest.mark.usefixtures("descriptions")
def test_a_description_is_loaded_by_its_name() -> None:
    robot = ramidyn.robots.load_description("arm_description", root="floating")
    assert (robot.name, robot.nq) == ("arm", 8)


@pytest.mark.usefixtures("descriptions")
def test_an_unknown_description_is_told_with_those_close_to_it() -> None:
    message = (
        "no description 'amr_description' in robot_descriptions. Close: .*'arm_desc"
    )
    with pytest.raises(UnknownName, match=message):
        ramidyn.robots.load_description("amr_description")


@pytest.mark.usefixtures("descriptions")
def test_a_failed_download_is_told() -> None:
    message = "'far_description' cannot be downloaded: no route to host. The package "
    with pytest.raises(ModelError, match=message):
        ramidyn.robots.load_description("far_description")


@pytest.mark.usefixtures("descriptions")
def test_a_description_without_a_robot_file_is_told() -> None:
    with pytest.raises(ModelError, match="has neither a URDF nor an MJCF file"):
        ramidyn.robots.load_description("odd_description")


def test_without_the_package_the_message_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "robot_descriptions._descriptions", None)
    message = "needs the package robot_descriptions; run: pip install robot_descriptio"
    with pytest.raises(ModelError, match=message):
        ramidyn.robots.load_description("panda_description")


# ------------------------------------------------------------ xacro


def fake_xacro(path: str, mappings: dict[str, str]) -> SimpleNamespace:
    """Put the mass in; fail on what is not one."""
    if "mass" not in mappings:
        raise RuntimeError("Undefined substitution argument mass")
    text = Path(path).read_text().format(mappings["mass"])
    return SimpleNamespace(toxml=lambda: text)


@pytest.fixture
def arm(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    install(monkeypatch, "xacro", process_file=fake_xacro)
    path = tmp_path / "arm.urdf.xacro"
    path.write_text(ARM)
    return path


def test_arguments_are_passed_on_to_xacro(arm: Path) -> None:
    robot = ramidyn.load(arm, xacro_arguments={"mass": 3})
    assert robot.masses["b"] == 3


def test_what_xacro_cannot_expand_is_told_with_the_file(arm: Path) -> None:
    message = r"arm.urdf.xacro: xacro cannot expand it: Undefined substitution argument"
    with pytest.raises(ModelError, match=message):
        ramidyn.load(arm)


def test_errors_in_the_expanded_text_name_it(arm: Path) -> None:
    message = r"arm.urdf \(expanded\):1: link 'b': inertial mass: a negative mass"
    with pytest.raises(ModelError, match=message):
        ramidyn.load(arm, xacro_arguments={"mass": -1})


def test_truth_values_are_written_as_xacro_reads_them(arm: Path) -> None:
    with pytest.raises(
        ModelError, match="cannot read 'true'; expected a finite number"
    ):
        ramidyn.load(arm, xacro_arguments={"mass": True})


def test_without_xacro_the_message_says_how_to_get_it(
    arm: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "xacro", None)
    message = "a xacro file needs the package xacro; run: pip install xacro"
    with pytest.raises(ModelError, match=message):
        ramidyn.load(arm, xacro_arguments={"mass": 3})


def test_arguments_of_xacro_are_refused_for_other_files() -> None:
    message = "xacro_arguments is given, but 'text' is not a .xacro file"
    with pytest.raises(ArgumentError, match=message):
        ramidyn.load(ARM.format(1), xacro_arguments={})
