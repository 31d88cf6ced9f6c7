"""The command line: help fits a screen, errors are one line, answers are right."""

from __future__ import annotations

import html
import importlib
import importlib.metadata
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ramidyn import __version__
from ramidyn.cli import COMMANDS, main
from ramidyn.cli.arguments import BUILT_IN
from ramidyn.explain.shape import TreeShape
from ramidyn.version import version

ROWS, COLUMNS = 30, 80
ON_A_ROBOT = (
    *("info", "check", "bench", "explain", "compile", "export-c", "export-library"),
)
Run = Callable[..., tuple[int, str, str]]

PENDULUM = """<robot name="pendulum">
<link name="base"/>
<link name="arm"><inertial><origin xyz="0 0 -1"/><mass value="2"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="hinge" type="continuous"><parent link="base"/><child link="arm"/>
<axis xyz="0 1 0"/></joint></robot>"""


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command line in this process; give its exit code, output and errors."""

    def call(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as exit_:
            main(arguments)
        out, err = capsys.readouterr()
        return int(exit_.value.code or 0), out, err

    return call


@pytest.fixture
def pendulum(tmp_path: Path) -> str:
    path = tmp_path / "pendulum.urdf"
    path.write_text(PENDULUM)
    return str(path)


# ------------------------------------------------------------ help


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_fits_a_screen(command: str, run: Run) -> None:
    code, out, err = run(*command.split(), "--help")
    lines = out.splitlines()
    assert (code, err) == (0, "")
    assert len(lines) <= ROWS
    assert max(map(len, lines)) <= COLUMNS
    assert lines[0].startswith("Usage: ramidyn")


def test_no_arguments_give_the_help(run: Run) -> None:
    code, out, _ = run()
    assert code == 0
    assert all(name in out for name in COMMANDS)


def test_version_is_the_package_version(run: Run) -> None:
    assert run("--version") == (0, f"ramidyn, version {__version__}\n", "")


def test_a_source_tree_without_metadata_has_a_version(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", absent)
    version.cache_clear()
    try:
        assert run("--version") == (0, "ramidyn, version 0\n", "")
    finally:
        version.cache_clear()


# ------------------------------------------------------------ wrong input


def one_line(result: tuple[int, str, str]) -> str:
    code, out, err = result
    assert code == 2, err
    assert out == ""
    assert err.count("\n") == 1, err
    assert err.startswith("ramidyn: ")
    return err


@pytest.mark.parametrize("command", ON_A_ROBOT)
def test_a_missing_file_is_said_in_a_line(
    command: str, run: Run, tmp_path: Path
) -> None:
    text = one_line(run(command, str(tmp_path / "panda.urdf")))
    assert "panda.urdf: no such file" in text


@pytest.mark.parametrize("command", ON_A_ROBOT)
def test_a_directory_is_said_in_a_line(command: str, run: Run, pendulum: str) -> None:
    text = one_line(run(command, str(Path(pendulum).parent)))
    assert (
        "a directory; expected a URDF, MJCF or SDF file; in it: pendulum.urdf" in text
    )


@pytest.mark.parametrize("command", ON_A_ROBOT)
def test_an_empty_file_is_said_in_a_line(
    command: str, run: Run, tmp_path: Path
) -> None:
    path = tmp_path / "empty.urdf"
    path.write_text("")
    assert "the file is empty" in one_line(run(command, str(path)))


@pytest.mark.parametrize("command", ON_A_ROBOT)
@pytest.mark.parametrize(
    "text", [PENDULUM[:-40], PENDULUM.replace("<robot", "<html"), "\x00\x01", "words"]
)
def test_a_broken_file_is_said_in_a_line(
    command: str, text: str, run: Run, tmp_path: Path
) -> None:
    path = tmp_path / "broken.urdf"
    path.write_text(text)
    assert "broken.urdf" in one_line(run(command, str(path)))


def test_debug_shows_the_traceback(run: Run, tmp_path: Path) -> None:
    for where in (("--debug", "info"), ("info", "--debug")):
        code, _, err = run(*where, str(tmp_path / "none.urdf"))
        assert code == 2
        assert "Traceback" in err
        assert err.rstrip().splitlines()[-1].startswith("ramidyn: ")


def test_a_bug_of_ours_has_its_own_exit_code(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> Any:
        raise RuntimeError("no")

    monkeypatch.setitem(BUILT_IN, "tree1", broken)
    code, _, err = run("info", "tree1")
    assert code == 3
    assert "Internal error (RuntimeError: no). Please report it with the" in err


def test_export_c_writes_what_casadi_needs(
    run: Run, pendulum: str, tmp_path: Path
) -> None:
    at = tmp_path / "exported"
    code, *_ = run(
        "export-c", pendulum, "-f", "gravity_forces", "-o", str(at), "--casadi"
    )
    assert code == 0
    names = {path.name for path in at.iterdir()}
    kinds = ("_jacobian.c", "_casadi.c")
    assert all(any(name.endswith(k) for name in names) for k in kinds)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("dmo", "demo"), ("inof", "info"), ("chekc", "check"), ("export", "export-c")],
)
def test_a_mistyped_command_gets_the_right_one(
    typed: str, meant: str, run: Run
) -> None:
    assert f"Did you mean {meant!r}?" in one_line(run(typed))


def test_a_mistyped_file_gets_the_right_one(run: Run, pendulum: str) -> None:
    text = one_line(run("info", pendulum.replace("pendulum.urdf", "pendulm.urdf")))
    assert "close to it: 'pendulum.urdf'" in text


def test_a_mistyped_built_in_robot_gets_the_right_one(run: Run) -> None:
    text = one_line(run("info", "humanoid3"))
    assert "did you mean the built-in 'humanoid30'?" in text


def test_a_mistyped_frame_gets_the_right_one(run: Run) -> None:
    for arguments in (
        ("explain", "humanoid30", "--frames", "left_hnd"),
        ("compile", "humanoid30", "-f", "jacobian:left_hnd"),
        ("check", "humanoid30", "--frame", "left_hnd"),
    ):
        assert "Close: 'left_hand'" in one_line(run(*arguments))


def test_a_mistyped_quantity_gets_the_right_one(run: Run, pendulum: str) -> None:
    text = one_line(run("compile", pendulum, "-f", "mas_matrix"))
    assert "Did you mean 'mass_matrix'?" in text
    text = one_line(run("compile", pendulum, "-f", "jacobian"))
    assert "jacobian needs a frame; expected jacobian:<frame>" in text


def test_a_wrong_option_or_peer_is_said_in_a_line(run: Run, pendulum: str) -> None:
    assert "--rot" in one_line(run("info", pendulum, "--rot", "floating"))
    assert "ROBOT" in one_line(run("info"))
    text = one_line(run("check", pendulum, "--against", "bullet"))
    assert "unknown library 'bullet'; possible: pinocchio, mujoco" in text


def test_an_absent_peer_says_how_to_install_it(
    run: Run, pendulum: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = importlib.util.find_spec

    def without(name: str, *rest: Any) -> Any:
        return None if name == "pinocchio" else find(name, *rest)

    monkeypatch.setattr(importlib.util, "find_spec", without)
    text = one_line(run("check", pendulum, "--against", "pinocchio"))
    assert "pinocchio is not installed: pip install pin" in text


# ------------------------------------------------------------ answers


def test_demo_checks_itself(run: Run) -> None:
    code, out, _ = run("demo", "--quick", "--json")
    data = json.loads(out)
    assert code == 0
    assert data["ok"]
    assert max(data["errors"].values()) < 1e-9
    assert {r["name"] for r in data["rows"]} >= {"forward_dynamics", "mass_matrix"}


def test_demo_shows_tree_counts_and_speed(run: Run) -> None:
    _, out, _ = run("demo", "--quick")
    for word in ("left_shank", "mul", "M/s", "the cheapest by count", "ok"):
        assert word in out


def test_info_shows_the_tree_and_says_it_as_data(run: Run, pendulum: str) -> None:
    _, out, _ = run("info", pendulum)
    assert "hinge continuous q[0] v[0]" in out
    assert "1 of 1 entries of M can be nonzero" in out
    data = json.loads(run("info", "--json", pendulum)[1])
    assert (data["nq"], data["nv"], data["mass"]) == (1, 1, 2.0)
    assert data["forces"] == []
    floating = json.loads(run("info", "--json", pendulum, "--root", "floating")[1])
    assert (floating["nq"], floating["nv"]) == (8, 7)


def test_compile_fills_the_cache(
    run: Run, pendulum: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAMIDYN_CACHE_DIR", str(tmp_path / "cache"))
    arguments = ("compile", pendulum, "-f", "mass_matrix", "-f", "pose:arm", "--json")
    kernels = json.loads(run(*arguments)[1])["kernels"]
    assert [k["name"].split("(")[0] for k in kernels] == ["mass_matrix", "pose"]
    assert not any(k["cached"] for k in kernels)
    assert all(k["cached"] for k in json.loads(run(*arguments)[1])["kernels"])
    shown = json.loads(run("cache", "--json")[1])
    assert shown["kernels"] == len(list((tmp_path / "cache").glob("*.ramidyn"))) > 0
    assert run("cache", "clear")[0] == 0
    assert json.loads(run("cache", "show", "--json")[1])["kernels"] == 0


def test_check_agrees_with_itself_without_peers(
    run: Run, pendulum: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = importlib.util.find_spec
    absent = ("pinocchio", "mujoco")
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda n, *r: None if n in absent else find(n, *r)
    )
    code, out, _ = run("check", pendulum, "--states", "4")
    assert code == 0
    assert "native code = interpreter" in out


@pytest.mark.oracle
@pytest.mark.parametrize("name", ["pinocchio", "mujoco"])
@pytest.mark.parametrize("root", [(), ("--root", "floating")])
def test_check_agrees_with_peers(
    name: str, root: tuple[str, ...], run: Run, pendulum: str
) -> None:
    pytest.importorskip(name, reason=f"{name}, the oracle, is absent")
    text = Path(pendulum).read_text()
    heavy = '<link name="base"><inertial><mass value="3"/><inertia ixx="1" iyy="1" '
    heavy += 'izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    Path(pendulum).write_text(text.replace('<link name="base"/>', heavy))
    arguments = ("check", pendulum, *root, "--against", name, "--states", "4", "--json")
    code, out, err = run(*arguments)
    assert code == 0, out + err
    rows = json.loads(out)["rows"]
    assert {"inverse_dynamics", "forward_dynamics"} <= {r["quantity"] for r in rows}
    assert all(r["error"] < 1e-9 for r in rows)


@pytest.mark.oracle
def test_check_fails_where_numbers_differ(
    run: Run, pendulum: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pinocchio", reason="Pinocchio, the oracle, is absent")
    pinocchio = importlib.import_module("ramidyn.cli.peers.pinocchio_")
    monkeypatch.setattr(pinocchio.Pinocchio, "q", lambda *_: np.array([1.0, 0.0]))
    code, out, _ = run("check", pendulum, "--against", "pinocchio", "--states", "4")
    assert code == 1
    assert "DIFFERS" in out


def test_a_robot_that_cannot_move_is_said_in_a_line(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "rock.urdf"
    path.write_text('<robot name="rock"><link name="rock"/></robot>')
    for command in ("check", "bench", "explain"):
        text = one_line(run(command, str(path)))
        assert "robot 'rock' cannot move" in text
        assert "--root floating" in text


def test_loops_are_checked_closed_and_compared_open(run: Run) -> None:
    code, out, _ = run("check", "hmmwv", "--states", "4", "--json")
    rows = {r["quantity"]: r for r in json.loads(out)["rows"]}
    assert code == 0
    assert rows["loops stay closed, J q̈ + J̇ q̇ = 0"]["error"] < 1e-9
    assert rows["forward dynamics (aba) inverts inverse"]["error"] < 1e-9


def test_bench_gives_times_and_ratios(run: Run, pendulum: str) -> None:
    code, out, _ = run("bench", pendulum, "--batch", "64", "--quick", "--json")
    data = json.loads(out)
    assert code == 0
    assert data["first_answer"]["cold"] > data["first_answer"]["warm"] > 0
    assert [row["quantity"] for row in data["rows"]][-1] == "rollout, a step"
    for row in data["rows"]:
        assert row["call"] > 0
        assert row["state"] > 0
        assert all(row[p]["error"] < 1e-9 for p in ("pinocchio", "mujoco") if p in row)


def test_explain_counts_the_paper_humanoid(run: Run) -> None:
    data = json.loads(run("explain", "humanoid30", "--json")[1])
    assert (data["D1"], data["D2"], data["nonzeros"]) == (219, 1039, 468)
    assert data["envelope_permuted"] == data["D1"]
    assert set(data["choices"]["forward_dynamics"]["costs"]) == {"aba", "ltdl"}


def test_explain_takes_closed_loops(run: Run) -> None:
    data = json.loads(run("explain", "hmmwv", "--json")[1])
    assert len(data["loops"]["cuts"]) == 8
    assert data["loops"]["gauss"] == 55_728
    assert data["loops"]["steps"]["3.1"]["mul"] == 804
    assert data["zeros"]["branch"] == 372
    assert data["bounds"]["n"] == [351, 3276]


def test_explain_tells_what_forces_cost(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "arm.xml"
    path.write_text(
        """<mujoco model="arm"><worldbody><body name="a"><joint name="j" damping="3"
        stiffness="2"/><inertial pos=".1 0 0" mass="1" diaginertia="1 1 1"/></body>
        </worldbody></mujoco>""",
        encoding="utf-8",
    )
    _, out, _ = run("explain", str(path), "--passive")
    assert "2 force elements: 4 operations of forward dynamics, besides" in out
    _, out, _ = run("info", str(path), "--passive")
    assert "force j_damping JointDamper: j, damping 3 N m s/rad" in out
    assert "do not act" not in out
    assert "do not act: springs of 1 joint ('j')" in run("info", str(path))[1]
    data = json.loads(run("info", "--json", str(path), "--passive")[1])
    assert [f["type"] for f in data["forces"]] == ["JointSpring", "JointDamper"]


def test_pipes_may_close_early(pendulum: str) -> None:
    command = (
        f"{sys.executable} -c 'from ramidyn.cli import main; main()' info {pendulum}"
    )
    done = subprocess.run(
        f"set -o pipefail; {command} | true",
        shell=True,
        executable=shutil.which("bash"),
        capture_output=True,
        text=True,
        check=False,
        env=dict(os.environ),
    )
    assert "Traceback" not in done.stderr
    assert done.returncode in (0, 141)


def test_papers_say_where_figures_differ(run: Run) -> None:
    code, out, _ = run("papers", "negrut", "notes", "--json")
    found = {s["title"]: s for s in json.loads(out)}
    assert code == 0
    rows = found["Negrut, Serban & Potra 1997, Table 1: Gaussian elimination"]["tables"]
    assert all(row[-1] == "the same" for row in rows[0]["rows"])


@pytest.mark.slow
def test_papers_show_one_table_or_figure(run: Run) -> None:
    code, out, _ = run("papers", "featherstone", "--table", "1")
    assert code == 0
    assert "LTDL factorize" in out
    assert "Fig. 7" not in out
    _, out, _ = run("papers", "negrut", "--figure", "3")
    assert "right_front_rod" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("featherstone", "--table", "9"),
            "featherstone has no table 9 here; poss",
        ),
        (("--table", "1"), "--table and --figure need one paper: featherstone, chang"),
        (("negrut", "--table", "1", "--figure", "3"), "give --table or --figure, not"),
    ],
)
def test_a_table_that_is_not_there_is_said(
    run: Run, words: tuple[str, ...], message: str
) -> None:
    code, _, err = run("papers", *words)
    assert code != 0
    assert message in " ".join(err.split())


def test_papers_check_for_matplotlib_first(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("computed first")

    monkeypatch.setattr("ramidyn.cli.papers_.sections", refuse)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    code, _, err = run("papers", "--markdown", str(tmp_path / "p.md"))
    assert code == 2
    assert "plots need matplotlib: pip install matplotlib" in err


def test_text_mode_has_the_data_of_figures(run: Run) -> None:
    _, out, _ = run("papers", "featherstone", "--figure", "7")
    assert "operations of forward dynamics" in out
    assert "12,073" in out  # the printed count of the humanoid by CRBA


def test_papers_become_a_page_with_plots(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is absent")
    page = tmp_path / "papers.html"
    assert run("papers", "featherstone", "--figure", "7", "--html", str(page))[0] == 0
    assert 'src="images/figure7.png"' in page.read_text(encoding="utf-8")
    assert (tmp_path / "images" / "figure7.png").stat().st_size < 100_000


# ------------------------------------------------------------ the report


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "humanoid.html"
    frames = "left_hand,right_foot"
    with pytest.raises(SystemExit):
        main(["explain", "humanoid30", "--frames", frames, "--html", str(path)])
    return path


def test_the_report_is_one_small_file_without_requests(report: Path) -> None:
    text = report.read_text(encoding="utf-8")
    assert len(text.encode()) < 2_000_000
    assert not re.search(
        r"""(src|href)=["']?(?!data:|#)\w|url\(|@import|<script""", text
    )
    assert "prefers-color-scheme: dark" in text
    assert 'name="viewport"' in text


def test_the_report_shows_tree_counts_and_times(report: Path) -> None:
    text = report.read_text(encoding="utf-8")
    shown = html.unescape(re.sub(r"<wbr>|<style>.*?</style>", "", text, flags=re.S))
    words = re.sub(r"<[^>]+>", " ", shown)
    assert "left_upper_arm" in words
    assert "Times on this machine" in words
    for quantity in ("inverse_dynamics", "mass_matrix", "forward_dynamics"):
        assert re.search(rf"{quantity}\s+[\d,]+\s+[\d.]+ [nµm]s\s+[\d.]+ [nµ]s", words)
    assert "operational_inertia_inverse (left_hand, right_foot)" in words


def test_each_limb_of_the_report_has_its_own_color() -> None:
    arm_with_two_fingers = TreeShape((-1, 0, 1, 2, 3, 2, 5, 0))
    assert arm_with_two_fingers.limbs == (0, 1, 1, 2, 2, 3, 3, 4)
    assert TreeShape((-1, 0, 1)).limbs == (1, 1, 1)
    assert TreeShape((-1, -1, 0)).limbs == (1, 2, 1)


def test_the_report_opens_without_console_errors(report: Path, tmp_path: Path) -> None:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("chromium is absent")
    blank = screenshot(chromium, "data:text/html,hello", tmp_path / "blank.png")
    if not (tmp_path / "blank.png").exists():
        pytest.skip(f"chromium does not run here: {blank[-200:]}")
    said = screenshot(chromium, report.as_uri(), tmp_path / "report.png")
    assert (tmp_path / "report.png").stat().st_size > 10_000, said
    assert ":CONSOLE" not in said


def screenshot(chromium: str, page: str, picture: Path) -> str:
    """Open a page, keep its picture, and return what the browser says."""
    flags = "--headless --no-sandbox --disable-gpu --no-first-run --disable-sync"
    flags += " --disable-background-networking --disable-component-update"
    done = subprocess.run(
        [
            chromium,
            *flags.split(),
            "--enable-logging=stderr",
            f"--user-data-dir={picture.parent / 'profile'}",
            f"--screenshot={picture}",
            page,
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.stderr
