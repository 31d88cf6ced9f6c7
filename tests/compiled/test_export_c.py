"""Exported C: the same numbers, no warnings, names as data, folders left alone."""

from __future__ import annotations

import functools
import json
import pickle
import re
import shutil
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ramidyn.backend.c99.names import Names, comment, identifier, number
from ramidyn.backend.c99.source import MARK
from ramidyn.catalog.paper_robots import chain, humanoid30, random_tree
from ramidyn.compiler import compile
from ramidyn.description.description import Description
from ramidyn.errors import ArgumentError, CompileError
from ramidyn.export.c_export import ExportedC, export_c, prepared, random_inputs
from ramidyn.function import Function
from ramidyn.linalg.pattern import Array
from ramidyn.loading import load
from ramidyn.quantities.closed_loops import loop_forces
from ramidyn.quantities.dynamics import forward_dynamics, inverse_dynamics
from ramidyn.quantities.frames import jacobian
from ramidyn.quantities.mass_matrix import (
    mass_matrix,
    mass_matrix_factor,
    mass_matrix_solve,
)
from ramidyn.quantities.operational import (
    operational_inertia,
    operational_inertia_inverse,
)
from ramidyn.robot import Robot
from ramidyn.symbolic.expr import Expr, label
from ramidyn.symbolic.trace import trace
from ramidyn.tracing.quantity import Quantity
from support.parameters import some
from support.paths import SHARED_ROBOTS

TOLERANCE = 1e-12
EPS = float(np.finfo(np.float64).eps)
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"]
C99 = ["-std=c99", *STRICT]
FLOATING = ("anymal_c", "minitaur")
TOO_FEW_JOINTS = ("pendula", "robotiq_2f85_v4")
"""To move their tip in six directions: there is no operational-space inertia."""
ROBOTS = (
    "anymal_c",
    "baxter",
    "cassie",
    "g1_with_hands",
    "humanoid",
    "iiwa14",
    "minitaur",
    "panda",
    "pendula",
    "pr2",
    "robot_soccer_kit",
    "robotiq_2f85_v4",
    "shadow_hand",
    "tiago",
)
QUICK = ("iiwa14",)
TREE_QUANTITIES = (
    inverse_dynamics,
    forward_dynamics,
    mass_matrix,
    mass_matrix_factor,
    mass_matrix_solve,
)


def shared(name: str) -> Robot:
    files = [
        p
        for p in sorted((SHARED_ROBOTS / name).glob("*.*"))
        if p.suffix in (".urdf", ".xml")
    ]
    if not files:
        pytest.skip(f"{SHARED_ROBOTS / name} is not there")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return load(files[0], root="floating" if name in FLOATING else None)


def tool(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"{name} is not installed")
    if name.endswith(("cc", "clang", "++")) and not is_usable(path):
        pytest.skip(f"{name} is installed without the headers of the C library")
    return path


@functools.cache
def is_usable(compiler: str) -> bool:
    """Cross compilers, and clang, are often installed without a C library."""
    language = "c++" if compiler.endswith("++") else "c"
    done = subprocess.run(
        [compiler, "-x", language, "-fsyntax-only", "-"],
        input="#include <math.h>\nint main(void) { return 0; }\n",
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode == 0


def run(*command: str | Path) -> str:
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stderr[:3000]}"
    return done.stdout


def tip(robot: Robot) -> str:
    return robot.tree.bodies[-1].name


def agrees(exported: ExportedC, states: int = 24) -> None:
    checked = exported.check(states=states)
    assert checked.batch is not None
    worst = max(checked.single, checked.batch)
    if worst >= TOLERANCE:  # both round on their own: twice what one rounding does
        assert worst < 2 * sensitivity(exported, states)


def sensitivity(exported: ExportedC, states: int) -> float:
    """How far results move when every input moves by its last digit.

    7e-12 for forward dynamics of cassie, whose mass matrix is ill-conditioned, and
    1e-8 for the operational-space inertia of iiwa14 in a state where it is nearly
    stretched: there no two ways to round agree to TOLERANCE.
    """
    kernel = compile(list(exported.quantities), exported.robot)
    rng = np.random.default_rng(0)
    inputs = random_inputs(kernel.program, exported.robot, rng, states)
    expected = results(kernel, inputs)
    worst = 0.0
    for _ in range(32):
        signs = [rng.choice([-1.0, 1.0], size=a.shape) for a in inputs]
        moved = [a * (1.0 + EPS * s) for a, s in zip(inputs, signs, strict=True)]
        pairs = zip(results(kernel, moved), expected, strict=True)
        found = max(float(np.abs(a - b).max() / np.abs(b).max()) for a, b in pairs)
        worst = max(worst, found)
    return worst


def results(kernel: Function, inputs: list[Array]) -> tuple[Array, ...]:
    found = kernel(*inputs)
    return found if isinstance(found, tuple) else (found,)


def small_robot(seed: int = 3) -> Robot:
    return Robot.from_description(random_tree(7, seed))


# ---------------------------------------------------------------- the same numbers


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[] if n in QUICK else pytest.mark.slow) for n in ROBOTS],
)
def test_c_equals_the_kernel(name: str, tmp_path: Path) -> None:
    tool("cc")
    robot = shared(name)
    wanted: list[Quantity] = [*TREE_QUANTITIES, jacobian(tip(robot))]
    for k, quantity in enumerate(wanted):
        agrees(export_c(quantity, robot, tmp_path / str(k)))


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[] if n in QUICK else pytest.mark.slow) for n in ROBOTS],
)
def test_operational_space_inertia_equals_the_kernel(name: str, tmp_path: Path) -> None:
    tool("cc")
    robot = shared(name)
    agrees(export_c(operational_inertia_inverse(tip(robot)), robot, tmp_path / "c"))
    if name not in TOO_FEW_JOINTS:
        agrees(export_c(operational_inertia(tip(robot)), robot, tmp_path / "d"))


@pytest.mark.parametrize(
    "name", [pytest.param("cassie", marks=pytest.mark.slow), "robotiq_2f85_v4"]
)
def test_closed_loops_equal_the_kernel(name: str, tmp_path: Path) -> None:
    tool("cc")
    robot = shared(name)
    for k, quantity in enumerate((forward_dynamics, loop_forces)):
        agrees(export_c(quantity, robot, tmp_path / str(k)))


@pytest.mark.parametrize("seed", some(range(3), slow=[1, 2]))
def test_every_joint_type_and_several_quantities(seed: int, tmp_path: Path) -> None:
    tool("cc")
    robot = small_robot(seed)
    exported = export_c([mass_matrix, inverse_dynamics], robot, tmp_path / "c")
    agrees(exported, states=13)
    assert exported.ops.total > 0


def test_float_is_as_good_as_float_can_be(tmp_path: Path) -> None:
    tool("cc")
    exported = export_c(
        inverse_dynamics, small_robot(), tmp_path / "c", dtype="float32"
    )
    checked = exported.check()
    assert checked.single < 3e-6
    assert checked.batch is not None
    assert checked.batch < 3e-6
    assert not re.search(r"\bdouble\b", exported.source.read_text())


def test_arguments_instead_of_constants(tmp_path: Path) -> None:
    tool("cc")
    exported = export_c(
        inverse_dynamics, small_robot(), tmp_path / "c", parameters=["gravity"]
    )
    agrees(exported)
    assert "const double gravity[3]" in exported.header.read_text()


def test_angles_far_from_zero(tmp_path: Path) -> None:
    cc = tool("cc")
    robot = Robot.from_description(chain(8))
    exported = export_c(mass_matrix, robot, tmp_path / "c", name="far")
    test = tmp_path / "test.c"
    n = robot.nq
    test.write_text(
        f"""
        #include <math.h>
        #include <stdio.h>
        #include "c/far.h"
        int main(void) {{
            double q[{n}] = {{0}}, turned[{n}], a[{n * n}], b[{n * n}], e = 0;
            int i;
            for (i = 0; i < {n}; ++i) q[i] = 0.1 * i;
            for (i = 0; i < {n}; ++i) turned[i] = q[i] + 8e5 * atan(1.0);
            far(q, a);
            far(turned, b);
            for (i = 0; i < {robot.nv**2}; ++i) e = fmax(e, fabs(a[i] - b[i]));
            printf("%g", e);
            return 0;
        }}"""
    )
    run(cc, "-O2", test, exported.source, "-lm", "-o", tmp_path / "test")
    assert float(run(tmp_path / "test")) < 1e-8


# ---------------------------------------------------------------- compilers


@pytest.fixture(scope="module", params=["float64", "float32"])
def small_c(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> ExportedC:
    folder = tmp_path_factory.mktemp("small") / "c"
    return export_c(forward_dynamics, small_robot(), folder, dtype=request.param)


@pytest.mark.parametrize("compiler", ["gcc", "clang", "g++", "clang++"])
def test_compiles_without_a_warning(
    compiler: str, small_c: ExportedC, tmp_path: Path
) -> None:
    cc = tool(compiler)
    flags = ["-x", "c++", *STRICT] if compiler.endswith("++") else C99
    # Optimizing, compilers see more: what is not initialized, what is never used.
    run(cc, *flags, "-O2", "-c", small_c.source, "-o", tmp_path / "o")
    run(cc, *flags, "-c", small_c.example, "-o", tmp_path / "o")


@pytest.mark.slow
@pytest.mark.parametrize("name", ROBOTS)
def test_real_robots_compile_without_a_warning(name: str, tmp_path: Path) -> None:
    robot = shared(name)
    for k, quantity in enumerate((inverse_dynamics, mass_matrix)):
        exported = export_c(quantity, robot, tmp_path / str(k))
        run(tool("gcc"), *C99, "-O2", "-c", exported.source, "-o", tmp_path / "o")
        run(tool("clang"), *C99, "-O1", "-c", exported.source, "-o", tmp_path / "o")
        assert max(map(len, exported.source.read_text().splitlines())) <= 110


def test_compiles_for_a_cortex_m7(
    tmp_path: Path, record_property: pytest.RecordProperty
) -> None:
    cc = tool("arm-none-eabi-gcc")
    cpu = ["-mcpu=cortex-m7", "-mfpu=fpv5-d16", "-mfloat-abi=hard"]
    robot = Robot.from_description(humanoid30())
    exported = export_c(inverse_dynamics, robot, tmp_path / "c", batch=False)
    run(cc, *C99, *cpu, "-O2", "-c", exported.source, "-o", tmp_path / "o")
    sizes = run(tool("arm-none-eabi-size"), tmp_path / "o").splitlines()[1].split()
    record_property("text_data_bss", sizes[:3])
    assert sizes[1:3] == ["0", "0"], "no globals"


def test_needs_nothing_but_math(tmp_path: Path) -> None:
    exported = export_c(forward_dynamics, small_robot(), tmp_path / "c", name="arm")
    text = exported.source.read_text() + exported.header.read_text()
    included = re.findall(r"#include (\S+)", text)
    assert sorted(included) == ['"arm.h"', "<math.h>"]
    run(tool("gcc"), "-O2", "-c", exported.source, "-o", tmp_path / "o")
    symbols = run(tool("nm"), tmp_path / "o").splitlines()
    kinds = {line.split()[-2] for line in symbols}
    assert kinds <= {"T", "t", "U", "r"}, "functions and constants only"


@pytest.fixture(scope="module")
def humanoid_c(tmp_path_factory: pytest.TempPathFactory) -> ExportedC:
    robot = Robot.from_description(humanoid30())
    folder = tmp_path_factory.mktemp("humanoid") / "c"
    return export_c(forward_dynamics(algorithm="aba"), robot, folder, batch=False)


@pytest.mark.parametrize("level", some(["-O0", "-O2", "-O3"], slow=["-O2"]))
def test_the_stack_is_within_what_the_header_says(
    level: str, humanoid_c: ExportedC, tmp_path: Path
) -> None:
    gcc, exported = tool("gcc"), humanoid_c
    run(gcc, level, "-fstack-usage", "-c", exported.source, "-o", tmp_path / "a.o")
    usage = {
        line.split("\t")[0].split(":")[-1]: line.split("\t")[1:]
        for line in (tmp_path / "a.su").read_text().splitlines()
    }
    assert all(kind == "static" for _, kind in usage.values())
    frames = {name: int(size) for name, (size, _) in usage.items()}
    outer = frames.pop(exported.function)
    parts = [frames.pop(name) for name in sorted(frames) if name.startswith("from_")]
    assert parts
    steps = sorted(frames.values())
    # A part and a step, or a step and the sines that it calls.
    inner = max(max(parts) + steps[-1], sum(steps[-2:]))
    assert outer + inner + 3 * 8 <= exported.stack_bytes
    assert f"at most {exported.stack_bytes} bytes" in exported.header.read_text()


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_batches_are_vectorized(compiler: str, tmp_path: Path) -> None:
    cc = tool(compiler)
    robot = Robot.from_description(chain(6))
    exported = export_c(inverse_dynamics, robot, tmp_path / "c")
    flag = "-fopt-info-vec" if compiler == "gcc" else "-Rpass=loop-vectorize"
    command = [cc, "-O3", flag, "-c", str(exported.source), "-o", str(tmp_path / "o")]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    at = {int(n) for n in re.findall(r"\.c:(\d+):\d+: .*vectorized", said)}
    lines = exported.source.read_text().splitlines()
    loops = [k + 1 for k, line in enumerate(lines) if "i < LANES" in line]
    ends = [*loops[1:], len(lines)]
    long = [(a, b) for a, b in zip(loops, ends, strict=True) if b - a > 15]
    found = [any(a <= x < b for x in at) for a, b in long]
    assert len(long) > 4
    assert sum(found) >= 0.7 * len(found)  # a few are unrolled first, then vectorized


def test_the_example_builds_with_cmake(tmp_path: Path) -> None:
    cmake = tool("cmake")
    tool("cc")
    export_c(inverse_dynamics, small_robot(), tmp_path / "c", name="arm")
    run(cmake, "-S", tmp_path / "c", "-B", tmp_path / "build")
    run(cmake, "--build", tmp_path / "build")
    out = run(tmp_path / "build" / "arm_example")
    assert out.startswith("inverse_dynamics[0] = ")


# ---------------------------------------------------------------- labels


def labeled(x: list[Expr]) -> Expr:
    total = x[0] * x[1] + x[2]
    label("total", total)
    label("minus_total", -total)
    return total * total + (x[0] - total)


def plain(x: list[Expr]) -> Expr:
    total = x[0] * x[1] + x[2]
    return total * total + (x[0] - total)


def test_labels_stay_through_passes_and_pickling() -> None:
    program = trace(labeled, {"x": 3}, "f")
    assert list(program.labels.values()) == ["total"]
    assert "total" in prepared(program).labels.values()
    copy = pickle.loads(pickle.dumps(program))
    assert [copy.labels.get(e) for e in copy.order] == [
        program.labels.get(e) for e in program.order
    ]


def test_labels_change_nothing_else() -> None:
    with_labels, without = trace(labeled, {"x": 3}, "f"), trace(plain, {"x": 3}, "f")
    assert with_labels.digest() == without.digest()
    label("nobody traces", without.results[0])  # outside of a trace: no harm


# ---------------------------------------------------------------- text


PROCESS = """
import json, sys
from ramidyn.export.c_export import export_c
from ramidyn.quantities.dynamics import forward_dynamics
from ramidyn.robot import Robot
from ramidyn.catalog.paper_robots import random_tree
robot = Robot.from_description(random_tree(7, 3))
e = export_c(forward_dynamics, robot, sys.argv[1])
print(json.dumps({p.name: p.read_text() for p in sorted(e.folder.iterdir())}))
"""


def test_the_same_program_gives_the_same_text(tmp_path: Path) -> None:
    texts = [
        json.loads(run(sys.executable, "-c", PROCESS, tmp_path / str(k)))
        for k in range(2)
    ]
    assert texts[0] == texts[1]
    here = export_c(forward_dynamics, small_robot(), tmp_path / "here")
    assert {p.name: p.read_text() for p in here.folder.iterdir()} == texts[0]


def test_the_header_says_what_is_needed(tmp_path: Path) -> None:
    exported = export_c(inverse_dynamics, shared("iiwa14"), tmp_path / "c")
    text = exported.header.read_text()
    for part in (
        "iiwa14: 7 DoF",
        "pinocchio",
        "joint4  revolute  rad   -2.0944 .. 2.0944",
        str(exported.ops),
        'extern "C"',
    ):
        assert part in text
    source = exported.source.read_text()
    assert "static void forces_link4(" in source
    assert "w->w_link4_x = " in source
    assert "n_joint4_x" in source


def test_long_programs_are_called_in_parts(tmp_path: Path) -> None:
    robot = Robot.from_description(chain(70))
    exported = export_c(
        inverse_dynamics, robot, tmp_path / "c", name="arm", batch=False
    )
    text = exported.source.read_text()
    outer = text[text.index("void arm(") :]
    called = re.findall(r"^    (\w+)\(", outer, re.MULTILINE)
    apart = re.findall(r"^APART void (\w+)\(", text, re.MULTILINE)
    assert called == apart
    assert called[:2] == ["angles", "angles_2"]
    # Every part has about as much to do: compile time is linear in the operations.
    ends = [text.index(f"APART void {name}(") for name in apart[2:]]
    sizes = np.diff([text.index("\n}\n", text.index("angles_2(")), *ends])
    assert len(sizes) > 10
    assert sizes.max() < 3 * np.median(sizes)


def test_constants_have_the_fewest_digits() -> None:
    assert number(0.1, "float64") == "0.1"
    assert number(-3.0, "float64") == "-3.0"
    assert number(1e22, "float64") == "1e+22"
    assert number(0.1, "float32") == "0.1f"
    assert number(1 / 3, "float32") == "0.33333334f"
    with pytest.raises(CompileError, match="too large for float32"):
        number(1e300, "float32")


# ---------------------------------------------------------------- names are data

BAD_NAMES = (
    'x; system("rm -rf /")',
    "*/ int main(void) { return 1; } /*",
    "two\nlines\r\\\n",
    "quote\" and ' and `",
    "??/ trigraph ??'",
    "Gelenk für Öl",
    "関節",
    "int",
    "restrict",
    "sin",
    "a-b",
    "a_b",
    "a b",
    "",
    "{0} %s %n {}",
    "x" * 10_000,
    "x" * 9_999 + "y",
    "_Reserved__name_",
    "3d",
    "\x00\x1b[31m",
    "LANES",
    "work",
    "main",
    "M_PI",
    "hand_batch",
    "hand",
)


def test_identifiers_are_identifiers() -> None:
    names = Names()
    made = [names.unique(n) for n in (*BAD_NAMES, *BAD_NAMES)]
    assert len(set(made)) == len(made)
    for name in made:
        assert re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,63}", name)
    assert identifier("forces left_knee") == "forces_left_knee"


def test_comments_stay_comments() -> None:
    for name in BAD_NAMES:
        text = comment(name)
        assert text.isascii()
        assert text.isprintable()
        assert not re.search(r"\*/|/\*|\?\?|\\$", text)
        assert len(text) <= 72


def renamed(description: Description) -> Description:
    """Return a robot whose bodies and joints have the worst of names."""
    names = [*BAD_NAMES, *(f"{n}_" for n in BAD_NAMES)]
    names = [n or " " for n in names]
    new = {b.name: names[k] for k, b in enumerate(description.bodies)}
    bodies = [
        replace(
            b,
            name=new[b.name],
            parent=new.get(b.parent) if b.parent else b.parent,
            joints=tuple(replace(j, name=f"{new[b.name]}/j") for j in b.joints),
        )
        for b in description.bodies
    ]
    return replace(description, bodies=tuple(bodies), frames=(), name=BAD_NAMES[1])


@pytest.mark.parametrize(
    "quantity",
    [
        inverse_dynamics,
        pytest.param(forward_dynamics(algorithm="aba"), marks=pytest.mark.slow),
    ],
)
def test_a_robot_with_the_worst_names(quantity: Quantity, tmp_path: Path) -> None:
    tool("cc")
    tree = random_tree(len(BAD_NAMES), 2, joints=("revolute", "prismatic"))
    robot = Robot.from_description(renamed(tree))
    exported = export_c(quantity, robot, tmp_path / "c")
    agrees(exported)
    for compiler in ("gcc", "g++"):
        flags = ["-x", "c++", *STRICT] if compiler == "g++" else C99
        for path in (exported.source, exported.example):
            run(tool(compiler), *flags, "-fsyntax-only", path)
    for path in exported.folder.iterdir():
        text = path.read_bytes()
        assert text.isascii()
        assert not re.search(rb"[\x00-\x09\x0b-\x1f]", text)


@pytest.mark.parametrize(
    "name", ["math", "stdio", "example", "int", "", "../../etc", "a/b"]
)
def test_names_of_exports_stay_in_the_folder(name: str, tmp_path: Path) -> None:
    exported = export_c(mass_matrix, small_robot(), tmp_path / "c", name=name)
    assert {p.parent for p in (exported.source, exported.header)} == {tmp_path / "c"}
    assert len(list((tmp_path / "c").iterdir())) == 4
    run(tool("gcc"), *C99, "-c", exported.source, "-o", tmp_path / "o")


# ---------------------------------------------------------------- folders


def test_an_earlier_export_is_written_over(tmp_path: Path) -> None:
    export_c(mass_matrix, small_robot(1), tmp_path, name="arm")
    exported = export_c(inverse_dynamics, small_robot(2), tmp_path, name="arm")
    assert "inverse_dynamics" in exported.source.read_text()
    assert all(MARK in p.read_text().splitlines()[0] for p in tmp_path.iterdir())
    assert len(list(tmp_path.iterdir())) == 4


@pytest.mark.parametrize("foreign", ["notes.txt", "arm.c", "CMakeLists.txt", ".git"])
def test_foreign_files_stop_an_export(foreign: str, tmp_path: Path) -> None:
    (tmp_path / foreign).write_text("mine")
    with pytest.raises(
        CompileError, match=f"not from an earlier export of this name.*{foreign}"
    ):
        export_c(mass_matrix, small_robot(), tmp_path, name="arm")
    assert [p.name for p in tmp_path.iterdir()] == [foreign]
    assert (tmp_path / foreign).read_text() == "mine"


def test_a_link_to_another_file_is_not_followed(tmp_path: Path) -> None:
    other = tmp_path / "other.c"
    other.write_text(f"/* {MARK} */")
    folder = tmp_path / "c"
    folder.mkdir()
    (folder / "arm.c").symlink_to(other)
    with pytest.raises(CompileError, match="holds 1 files"):
        export_c(mass_matrix, small_robot(), folder, name="arm")
    assert other.read_text() == f"/* {MARK} */"


@pytest.mark.parametrize("where", ["file", "file/below", "a\0b"])
def test_a_folder_that_cannot_be(where: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(CompileError, match="cannot be written"):
        export_c(mass_matrix, small_robot(), tmp_path / where)
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_what_cannot_be_exported(tmp_path: Path) -> None:
    robot = small_robot()
    with pytest.raises(ArgumentError, match="dtype is int32; possible"):
        export_c(mass_matrix, robot, tmp_path / "c", dtype="int32")
    with pytest.raises(ArgumentError, match="expected a quantity"):
        export_c([], robot, tmp_path / "c")
    with pytest.raises(ArgumentError, match="expected a string"):
        export_c(mass_matrix, robot, tmp_path / "c", name=3)  # type: ignore[arg-type]
    assert not (tmp_path / "c").exists()


def test_no_compiler_is_said(tmp_path: Path) -> None:
    exported = export_c(mass_matrix, small_robot(), tmp_path / "c")
    with pytest.raises(CompileError, match="no C compiler; looked for no-such-cc"):
        exported.check(compiler="no-such-cc")
