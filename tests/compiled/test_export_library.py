"""Compiled code as a shared library: equal to the Python call, from C too."""

from __future__ import annotations

import ctypes
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ramidyn
from ramidyn import robots
from ramidyn.backend import shared_library as backend
from ramidyn.errors import ArgumentError, CompileError
from ramidyn.export.c_export import found_compiler, shared_library
from ramidyn.export.library_export import export_library
from ramidyn.robot import Robot
from support.pages import REPOSITORY

LINKERS = ["cc", "ld"]
CROSS = os.environ.get("RAMIDYN_CROSS_LIBRARY")
"""a folder with a library that another machine wrote for this one: see .ci/arm64"""

linux = pytest.mark.skipif(sys.platform != "linux", reason="libraries are for Linux")
native_linker = pytest.mark.skipif(
    sys.platform != "linux" or CROSS is not None or shutil.which("cc") is None,
    reason="no linker for this processor",
)


def arm() -> Robot:
    return robots.chain(3, "plain")


@native_linker
@pytest.mark.parametrize("linker", LINKERS)
@pytest.mark.parametrize(
    "dtype", ["float64", pytest.param("float32", marks=pytest.mark.slow)]
)
def test_a_library_equals_the_python_call_to_the_bit(
    linker: str, dtype: str, tmp_path: Path
) -> None:
    made = export_library(
        [ramidyn.mass_matrix, ramidyn.inverse_dynamics],
        arm(),
        tmp_path,
        name="arm",
        dtype=dtype,
        parameters=["gravity"],
        linker=linker,
    )
    checked = made.check(states=21)
    assert (checked.single, checked.batch) == (0, 0)
    assert str(checked) == "21 random states: equal to the Python call, to the bit"
    assert made.linker == linker


PLACES = {"batch_first": "[i * size + j]", "batch_last": "[j * n + i]"}


@native_linker
@pytest.mark.parametrize("layout", [None, "batch_first", "batch_last"])
def test_batches_of_c_and_of_libraries_have_the_layout_of_python(
    layout: str | None, tmp_path: Path, rng: np.random.Generator
) -> None:
    robot, n, wanted = arm(), 21, [ramidyn.mass_matrix, ramidyn.inverse_dynamics]
    option = {} if layout is None else {"layout": layout}
    called = ramidyn.compile(wanted, robot, **option)
    shape = (3, n) if layout == "batch_last" else (n, 3)
    states = [rng.normal(size=shape) for _ in range(3)]
    expected = called(*states)
    in_c = ramidyn.export_c(wanted, robot, tmp_path / "c", name="arm", **option)
    library = export_library(wanted, robot, tmp_path / "so", name="arm", **option)
    compiled = shared_library(in_c, tmp_path, found_compiler())
    for batch, count in (
        (compiled.arm_batch, ctypes.c_int(n)),
        (ctypes.CDLL(str(library.library)).arm_batch, ctypes.c_int64(n)),
    ):
        results = [np.full_like(x, np.nan) for x in expected]
        arrays = [*states, *results]
        batch(count, *(a.ctypes.data_as(ctypes.c_void_p) for a in arrays))
        for found, there in zip(results, expected, strict=True):
            np.testing.assert_allclose(found, there, atol=1e-12)
    name = layout or "batch_first"
    for header in (in_c.header, library.header):
        text = header.read_text()
        assert f"Layout {name}: entry j of state i is at {PLACES[name]}" in text
    assert library.check(states=21).batch == 0
    checked = in_c.check(states=21)
    assert checked.batch is not None
    assert checked.batch < 1e-12


@pytest.mark.parametrize("export", [ramidyn.export_c, export_library])
def test_another_layout_is_refused(export: Any, tmp_path: Path) -> None:
    message = "layout is 'rows'; possible: batch_first, batch_last"
    with pytest.raises(ArgumentError, match=message):
        export(ramidyn.gravity_forces, arm(), tmp_path, layout="rows")


@native_linker
def test_only_its_own_functions_are_seen(tmp_path: Path) -> None:
    made = export_library(ramidyn.gravity_forces, arm(), tmp_path, name="arm")
    library = ctypes.CDLL(str(made.library))
    for name in ("arm", "arm_batch"):
        assert hasattr(library, name)
    for name in ("run", "cut0_single", "kernel"):
        assert not hasattr(library, name)


@native_linker
def test_no_states_are_no_work(tmp_path: Path) -> None:
    made = export_library(ramidyn.gravity_forces, arm(), tmp_path, name="arm")
    library = ctypes.CDLL(str(made.library))
    assert library.arm_batch(ctypes.c_int64(0), None, None) == 0


@native_linker
def test_a_c_program_gets_the_same_numbers(tmp_path: Path) -> None:
    robot = arm()
    made = export_library(ramidyn.inverse_dynamics, robot, tmp_path, name="arm")
    assert "int arm(const double q[3]" in made.header.read_text()
    program = tmp_path / "main.c"
    program.write_text(
        '#include <stdio.h>\n#include "arm.h"\n'
        "int main(void) {\n"
        "  double q[3] = {0.1, 0.2, 0.3}, v[3] = {1, 2, 3}, a[3] = {4, 5, 6}, t[3];\n"
        "  int failed = arm(q, v, a, t);\n"
        '  printf("%a %a %a\\n", t[0], t[1], t[2]);\n  return failed;\n}\n'
    )
    flags = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror"]
    where = [f"-L{tmp_path}", "-larm", f"-Wl,-rpath,{tmp_path}"]
    command = ["cc", *flags, str(program), *where, "-o", str(tmp_path / "main")]
    subprocess.run(command, check=True)
    said = subprocess.run([str(tmp_path / "main")], check=True, capture_output=True)
    found = [float.fromhex(x.decode()) for x in said.stdout.split()]
    q, qd, qdd = np.array([0.1, 0.2, 0.3]), np.arange(1.0, 4), np.arange(4.0, 7)
    assert found == list(robot.inverse_dynamics(q, qd, qdd))


@pytest.mark.slow
@native_linker
@pytest.mark.skipif(shutil.which("cmake") is None, reason="no CMake")
def test_the_cmake_example_builds_and_runs(tmp_path: Path) -> None:
    robot = robots.humanoid30()
    export_library(ramidyn.forward_dynamics, robot, tmp_path / "lib", name="robot")
    source, build = REPOSITORY / "examples" / "cmake", tmp_path / "build"
    configure = ["cmake", "-S", source, "-B", build, f"-Drobot_DIR={tmp_path / 'lib'}"]
    for command in (configure, ["cmake", "--build", build]):
        subprocess.run(list(map(str, command)), check=True, capture_output=True)
    said = subprocess.run([build / "free_fall"], check=True, capture_output=True)
    lines = said.stdout.decode().splitlines()
    assert lines == ["one state: -9.810000 m/s^2", "the last of 1000: -9.810000 m/s^2"]


@native_linker
def test_the_command_line_writes_and_checks_a_library(tmp_path: Path) -> None:
    from ramidyn.cli import main  # noqa: PLC0415  only here

    with pytest.raises(SystemExit) as ended:
        main(
            [
                *("export-library", "humanoid30", "-f", "center_of_mass"),
                *("--name", "arm", "-o", str(tmp_path)),
            ]
        )
    assert not ended.value.code
    names = ["arm.h", "armConfig.cmake", "libarm.so"]
    assert sorted(p.name for p in tmp_path.iterdir()) == names


# ---------------------------------------------------------------- other processors


@pytest.mark.skipif(CROSS is None, reason="no library from another machine")
def test_a_library_from_another_machine_equals_the_python_call() -> None:
    """Under emulation: .ci/arm64 writes the library on the host."""
    assert CROSS is not None
    library = ctypes.CDLL(str(Path(CROSS) / "libarm.so"))
    robot, n = arm(), 21
    rng = np.random.default_rng(0)
    q, qd, qdd = rng.normal(size=(3, n, 3))
    batch, single = np.empty((2, n, 3))
    given = [a.ctypes.data_as(ctypes.c_void_p) for a in (q, qd, qdd, batch)]
    assert library.arm_batch(ctypes.c_int64(n), *given) == 0
    for i in range(n):
        rows = [a[i].ctypes.data_as(ctypes.c_void_p) for a in (q, qd, qdd, single)]
        assert library.arm(*rows) == 0
    assert np.array_equal(batch, robot.inverse_dynamics(q, qd, qdd))
    assert np.array_equal(single, batch)


@linux
@pytest.mark.skipif(platform.machine() != "x86_64", reason="cross from x86-64")
def test_a_library_for_another_processor_is_refused_here_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fake(_objects: object, library: Path, _linker: object) -> None:
        library.write_bytes(b"\x7fELF of another machine")

    monkeypatch.setattr(backend, "link", fake)
    monkeypatch.setattr(backend, "find_linker", lambda *_: "zig")
    made = export_library(
        ramidyn.gravity_forces, arm(), tmp_path, "arm", target="aarch64"
    )
    assert made.target == "aarch64"
    with pytest.raises(CompileError, match=r"libarm.so \(for aarch64\) cannot be load"):
        made.check()


# ---------------------------------------------------------------- what is refused


def test_an_unknown_target_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="target is 'arm'; possible: host, x86-64,"):
        export_library(ramidyn.gravity_forces, arm(), tmp_path, target="arm")


@linux
def test_without_a_linker_the_message_names_those_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backend.importlib.util, "find_spec", lambda _: None)
    monkeypatch.setattr(backend.shutil, "which", lambda _: None)
    monkeypatch.delenv("CC", raising=False)
    message = "no linker for .*looked for cc, gcc, clang, ld, zig. Install a C compiler"
    with pytest.raises(CompileError, match=message):
        export_library(ramidyn.gravity_forces, arm(), tmp_path)
    assert list(tmp_path.iterdir()) == []


@native_linker
def test_a_linker_that_fails_leaves_nothing(tmp_path: Path) -> None:
    linker = tmp_path / "mylink"
    linker.write_text("#!/bin/sh\necho cannot do it >&2\nexit 1\n")
    linker.chmod(0o755)
    out = tmp_path / "out"
    with pytest.raises(CompileError, match=r"mylink cannot link libarm.so:\ncannot do"):
        export_library(
            ramidyn.gravity_forces, arm(), out, name="arm", linker=str(linker)
        )
    assert list(out.iterdir()) == []


@linux
def test_files_of_somebody_else_are_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "arm.h").write_text("mine")
    with pytest.raises(CompileError, match=r"arm.h' exists and is not from an earlier"):
        export_library(ramidyn.gravity_forces, arm(), tmp_path, name="arm", linker="sh")
    assert (tmp_path / "arm.h").read_text() == "mine"


@linux
def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CompileError, match=r"the folder '.*file' cannot be written: "):
        export_library(ramidyn.gravity_forces, arm(), tmp_path / "file", linker="sh")
