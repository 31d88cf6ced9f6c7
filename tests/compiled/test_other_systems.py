"""Code for Windows and macOS, made here: what it needs, how it is called, its exports.

Windows code also runs here: it is called in the convention of Windows, and what it
calls is handed to it in that convention.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import platform
import re
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
import pytest

import ramidyn
from ramidyn import robots
from ramidyn.backend.calls import entry_code
from ramidyn.backend.llvm import jit
from ramidyn.backend.llvm.build import sources
from ramidyn.backend.llvm.target import (
    Processor,
    Target,
    host,
    library_names,
    library_target,
)
from ramidyn.backend.runtime import driver_code
from ramidyn.backend.runtime.memory_layout import LIBM, address, c_libraries
from ramidyn.backend.runtime.tiles import Tile
from ramidyn.backend.shared_library import Arrays, library_objects, link
from ramidyn.compilation import Request
from ramidyn.compiler import compilation_of
from ramidyn.errors import CompileError
from ramidyn.export.library_export import export_library
from ramidyn.function import CallOptions
from support.object_files import exported_names, undefined_symbols

X86 = "x86-64-v3"
LOADED = {
    "windows": ("x86_64-pc-windows-msvc-elf", X86),
    "macos": ("x86_64-apple-darwin23.1.0", X86),
    "macos_arm": ("arm64-apple-darwin23.1.0", "apple-m1"),
}
"""What llvmlite calls these systems, and processors that they run on."""

only_x86_linux = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64",
    reason="runs Windows code for x86-64 by ELF",
)


def processor_of(system: str) -> Processor:
    triple, cpu = LOADED[system]
    if cpu == X86:
        return replace(library_target(X86), triple=triple)
    return Processor(triple, cpu, "+neon", 16)


def loaded_code(processor: Processor) -> dict[str, str]:
    """Return the IR of what a process loads: a robot's code, its driver, the entry."""
    request = Request(ramidyn.forward_dynamics, robots.chain(7, "plain"), ())
    compilation = compilation_of(request, CallOptions())
    found = {"entry": str(entry_code.emit().llvm)}
    for lanes in (1, processor.lanes("float64")):
        target = Target(processor, lanes, "float64")
        for k, write in enumerate(sources(compilation.schedule(target.lanes), target)):
            found[f"cut{k} of {lanes}"] = write()
        driver = driver_code.emit(Tile("float64", lanes), processor)
        found[f"driver of {lanes}"] = str(driver.llvm)
    return found


@pytest.mark.parametrize("system", LOADED)
def test_objects_need_nothing_from_outside(system: str) -> None:
    processor = processor_of(system)
    code = loaded_code(processor)
    objects = jit.compile_objects([lambda c=c: c for c in code.values()], processor)
    for name, data in zip(code, objects, strict=True):
        assert undefined_symbols(data) == set(), name


def test_the_entry_takes_its_arguments_as_each_system_gives_them() -> None:
    """The first argument, Python's object, is read before anything else."""
    text = str(entry_code.emit().llvm)
    firsts = {"windows": "rcx", "macos": "rdi", "macos_arm": "x0"}
    for system, register in firsts.items():
        code = jit.assembly(text, processor_of(system))
        found = re.search(r"^_?call:.*?(?=^_?\w+:)", code, re.DOTALL | re.MULTILINE)
        assert found
        loads = re.findall(r"(?:\((%\w+)\)|\[(x\d+),)", found.group())
        read = ["".join(pair).lstrip("%") for pair in loads]
        assert next(r for r in read if r not in ("rsp", "rbp", "sp")) == register


@pytest.mark.parametrize(
    "name", [n for n in library_names() if n.startswith((X86, "aarch64"))]
)
def test_a_library_needs_the_c_library_only(name: str) -> None:
    processor = library_target(name)
    objects = objects_of(ramidyn.gravity_forces, processor)
    own = {"arm", "arm_batch", "cut0_single", "cut0_batch"}
    needed = set[str]().union(*map(undefined_symbols, objects))
    plain = {n.removeprefix("_") if processor.system == "macos" else n for n in needed}
    assert {*LIBM, "malloc", "free"} <= plain
    known = {"memcpy", "memset", "___chkstk_ms", "__chkstk", "_GLOBAL_OFFSET_TABLE_"}
    assert plain - {*LIBM, "malloc", "free"} - own <= known


@cache
def objects_of(quantity: object, processor: Processor) -> tuple[bytes, ...]:
    """Return the objects of a library of a small arm."""
    request = Request(quantity, robots.chain(3, "plain"), ())
    compilation = compilation_of(request, CallOptions())
    interface = compilation.interface
    arrays = Arrays(interface.inputs, interface.outputs)
    return tuple(
        library_objects(
            compilation.schedule, arrays, "arm", processor, "float64", "batch_first"
        )
    )


# ------------------------------------------------------------ Windows code, run here

KEPT = 10
"""registers that a function of Windows keeps: xmm6 to xmm15"""


def bridge() -> str:
    """Return the IR of calls from here to Windows code, and of those back."""
    lines = []
    libraries = list(c_libraries())
    for name in LIBM:
        two = name in ("atan2", "pow")
        given = "double %x, double %y" if two else "double %x"
        lines += [
            f"define win64cc double @{name}({given}) {{",
            f"  %f = inttoptr i64 {address(name, libraries)} to ptr",
            f"  %r = call double %f({given})",
            "  ret double %r\n}",
        ]
    for name in ("malloc", "free"):
        lines += [
            f"define win64cc i64 @{name}(i64 %n) {{",
            f"  %f = inttoptr i64 {address(name, libraries)} to ptr",
            "  %r = call i64 %f(i64 %n)\n  ret i64 %r\n}",
        ]
    # The values live in the registers that the called function must keep.
    loads = [
        f"  %p{k} = getelementptr double, ptr %kept, i64 {k}\n"
        f"  %v{k} = load volatile double, ptr %p{k}\n"
        f"  %w{k} = fadd double %v{k}, 1.0"
        for k in range(KEPT)
    ]
    stores = [f"  store volatile double %w{k}, ptr %p{k}" for k in range(KEPT)]
    words = "i64 %a, i64 %b, i64 %c, i64 %d, i64 %e"
    for name in ("arm", "arm_batch"):
        lines += [
            f"declare win64cc i64 @{name}({words})",
            f"define i64 @enter_{name}(ptr %kept, {words}) {{",
            *loads,
            f"  %r = call win64cc i64 @{name}({words})",
            *stores,
            "  ret i64 %r\n}",
        ]
    return "\n".join(lines)


@only_x86_linux
def test_windows_code_gives_the_same_bits(rng: np.random.Generator) -> None:
    windows = replace(host(), triple="x86_64-pc-windows-msvc-elf")
    builder = llvm.JITLibraryBuilder()
    for code in objects_of(ramidyn.inverse_dynamics, windows):
        builder.add_object_img(code)
    builder.add_object_img(jit.compile_objects([bridge], host())[0])
    for name in ("enter_arm", "enter_arm_batch"):
        builder.export_symbol(name)
    linker = jit._linker(host(), -1)
    library = builder.link(linker, "windows")
    kind = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 6)
    one, many = (kind(library[n]) for n in ("enter_arm", "enter_arm_batch"))
    n = 8 * host().lanes("float64") + 3
    q, qd, qdd = rng.normal(size=(3, n, 3))
    q[0] = 1e9  # a sine of the C library
    single, batch, kept = np.empty((n, 3)), np.empty((n, 3)), np.arange(float(KEPT))
    assert many(kept.ctypes.data, n, *(a.ctypes.data for a in (q, qd, qdd, batch))) == 0
    for i in range(n):
        rows = [a[i].ctypes.data for a in (q, qd, qdd, single)]
        assert one(kept.ctypes.data, *rows, 0) == 0
    robot = robots.chain(3, "plain")
    np.testing.assert_array_equal(batch, robot.inverse_dynamics(q, qd, qdd))
    np.testing.assert_array_equal(single, batch)
    np.testing.assert_array_equal(kept, np.arange(float(KEPT)) + n + 1)


# ------------------------------------------------------------ how Windows loads code


def product() -> str:
    return (
        "define i64 @f(i64 %n) nounwind {\n"
        "  %a = alloca [4000 x i64]\n"
        "  %p = getelementptr i64, ptr %a, i64 %n\n"
        "  store volatile i64 %n, ptr %p\n"
        "  %v = load volatile i64, ptr %p\n"
        "  %x = sitofp i64 %v to double\n"
        "  %y = fmul double %x, 3.5\n"
        "  %z = fptosi double %y to i64\n"
        "  ret i64 %z\n}\n"
    )


@only_x86_linux
def test_code_is_loaded_without_jitlink(monkeypatch: pytest.MonkeyPatch) -> None:
    (code,) = jit.compile_objects([product], host())
    monkeypatch.setattr(jit.sys, "platform", "win32")
    loaded = jit.LoadedCode([(code, ["f"])], host())
    f = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(loaded.addresses[0])
    assert f(2000) == 7000
    for damaged in (b"", b"text" * 30, code[:100], code[:-8], code[8:]):
        with pytest.raises(CompileError, match="it is not a whole object"):
            jit.LoadedCode([(damaged, ["f"])], host())
    with pytest.raises(CompileError, match="a function is missing"):
        jit.LoadedCode([(code, ["g"])], host())


@only_x86_linux
def test_large_frames_are_touched_by_a_function_of_their_own() -> None:
    windows = replace(host(), triple="x86_64-pc-windows-msvc-elf")
    (code,) = jit.compile_objects([product], windows)
    assert undefined_symbols(code) == set()
    bridged = (
        "declare win64cc i64 @f(i64)\n"
        "define i64 @enter(i64 %n) {\n"
        "  %r = call win64cc i64 @f(i64 %n)\n  ret i64 %r\n}\n"
    )
    objects = [code, *jit.compile_objects([lambda: bridged], host())]
    assert "callq\t__chkstk" in jit.assembly(product(), windows)
    builder = llvm.JITLibraryBuilder()
    for data in objects:
        builder.add_object_img(data)
    builder.export_symbol("enter")
    library = builder.link(jit._linker(host(), -1), "probe")
    enter = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(library["enter"])
    assert [enter(n) for n in (0, 511, 3999)] == [0, 1788, 13996]


# ------------------------------------------------------------ libraries

OF_ZIG = {
    *("atexit", "_CRT_INIT", "__mingw_module_is_dll"),
    *("__dso_handle", "_mh_dylib_header"),
}
"""what zig adds to every library"""

zig = pytest.mark.skipif(
    importlib.util.find_spec("ziglang") is None, reason="needs ziglang"
)


@pytest.mark.slow  # zig builds its own parts for each system first
@zig
@pytest.mark.parametrize(
    ("target", "files"),
    [
        ("aarch64-macos", ["libarm.dylib"]),
        ("x86-64-v3-macos", ["libarm.dylib"]),
        ("x86-64-v3-windows", ["arm.dll", "arm.lib"]),
        ("aarch64-windows", ["arm.dll", "arm.lib"]),
    ],
)
def test_libraries_of_other_systems_show_their_functions(
    target: str, files: list[str], tmp_path: Path
) -> None:
    made = export_library(
        ramidyn.inverse_dynamics,
        robots.chain(3, "plain"),
        tmp_path,
        "arm",
        target=target,
    )
    assert made.linker == "zig"
    found = sorted(p.name for p in tmp_path.iterdir())
    assert found == sorted(["arm.h", "armConfig.cmake", *files])
    shown = exported_names(made.library.read_bytes()) - OF_ZIG
    assert shown == {"arm", "arm_batch"}
    assert f"/{files[-1]}" in made.cmake.read_text()
    assert (
        f"{files[0]} is for {library_target(target).triple}," in made.header.read_text()
    )
    with pytest.raises(CompileError, match=f"for {target}\\) cannot be loaded here"):
        made.check()


def test_linkers_are_told_what_each_system_wants(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ramidyn.backend import shared_library  # noqa: PLC0415  patched

    seen: list[list[str]] = []

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        seen.append(command)
        return subprocess.CompletedProcess(command, 1, "", "no")

    monkeypatch.setattr(shared_library.subprocess, "run", run)
    linker = shared_library.Linker(("cc",), is_compiler=True)
    for name in ("libarm.so", "libarm.dylib", "arm.dll"):
        with pytest.raises(CompileError, match=f"cc cannot link {name}"):
            link([b"object"], tmp_path / name, linker)
    ends = [[re.split(r"[/\\]", c)[-1] for c in command[4:]] for command in seen]
    assert ends == [
        ["part0.o", "-Wl,-soname,libarm.so", "-lm"],
        ["part0.o", "libarm.dylib"],
        ["part0.o", "arm.lib"],
    ]
    assert seen[1][-1].startswith("-Wl,-install_name,@rpath/")
    assert seen[2][-1].startswith("-Wl,--out-implib,")
    windows = library_target("x86-64-windows")
    assert shared_library._candidates(windows) == ["x86_64-w64-mingw32-gcc", "zig"]
    assert shared_library._candidates(library_target("aarch64-macos")) == ["zig"]


# ------------------------------------------------------------ without Linux's calls

WITHOUT = """
import mmap, os, sys
import llvmlite.binding, numpy as np  # they have their own ways
for module in ("fcntl", "grp", "pwd", "resource", "termios", "tty", "_posixshmem"):
    sys.modules[module] = None  # an import raises ImportError
for name in (
    "fork register_at_fork sched_getaffinity geteuid getuid getgid chown mkfifo nice "
    "statvfs O_NOFOLLOW O_NONBLOCK O_CLOEXEC O_DIRECTORY sysconf uname posix_fallocate"
).split():
    if hasattr(os, name):
        delattr(os, name)
os.supports_fd.clear()
for name in [n for n in dir(mmap) if n.startswith(("MADV", "MAP_", "PROT_"))]:
    delattr(mmap, name)
import ramidyn
robot = ramidyn.robots.humanoid30()
q = robot.random_configuration(0, batch=2000)
qd, tau = np.random.default_rng(0).normal(size=(2, 2000, robot.nv))
qdd = robot.forward_dynamics(q, qd, tau)
back = robot.inverse_dynamics(q, qd, qdd)
assert np.allclose(back, tau, atol=1e-9 * np.abs(qdd).max())
M = robot.mass_matrix(q)  # memory that is used again
assert M.nbytes > 2**20
again = ramidyn.compile(ramidyn.inverse_dynamics, robot, threads=2)
assert np.allclose(again(q, qd, qdd), tau, atol=1e-9 * np.abs(qdd).max())
run = robot.rollout(q[:3], qd[:3], tau[:3], 1e-3, steps=3)
assert np.isfinite(run.q).all()
"""


def test_calls_that_only_linux_has_are_not_needed(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-c", WITHOUT],
        env={**os.environ, "RAMIDYN_CACHE_DIR": str(tmp_path)},
        check=True,
    )
    assert list(tmp_path.glob("*.ramidyn"))
