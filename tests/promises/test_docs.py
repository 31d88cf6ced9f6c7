"""Every code block in the documentation runs, links lead somewhere, the site builds."""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import re
import subprocess
import sys
import types
from pathlib import Path

import pytest

import ramidyn
from ramidyn.cli import COMMANDS
from ramidyn.papers import sections
from ramidyn.papers.document import markdown
from support.pages import (
    BLOCK,
    FILE,
    REPOSITORY,
    blocks,
    commands,
    program,
    write_files,
    write_robots,
)
from tools import gallery
from tools.site_hooks import MOVED, notebook

PAGES = sorted((REPOSITORY / "docs").glob("*.md"))
LEARN = re.findall(
    r"^      - [^:]+: (\w+)\.md$",
    (REPOSITORY / "mkdocs.yml")
    .read_text(encoding="utf-8")
    .partition("- Learn:")[2]
    .partition("- How-to:")[0],
    re.M,
)
"""the tutorials"""
NEEDS = {"from_pinocchio": "pinocchio", "from_mujoco": "mujoco"}
OPTIONAL = "interop.gymnasium"
"""a public module that needs a package of its own"""
INTEROP = ("casadi", "jax", "other_libraries", "pytorch", "many_states")
ELSEWHERE = dict.fromkeys(INTEROP, "tests/interop") | {"index": "test_readme.py"}
LONG = ("many_simulations", "python_to_c", "vehicle")
NEED_FILES = ("from_pinocchio", "from_mujoco")
"""pages whose reader has a robot's file; all others paste into an empty directory"""


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(p, marks=[pytest.mark.slow] if p.stem in LONG else [], id=p.stem)
        for p in PAGES
    ],
)
def test_code_in_the_page_runs(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if page.stem in ELSEWHERE:
        pytest.skip(f"{ELSEWHERE[page.stem]} runs it")
    if page.stem in NEEDS:
        module = NEEDS[page.stem]
        pytest.importorskip(module, reason=f"{module} is absent")
    code = program(page)
    if not code.strip():
        pytest.skip("a page without Python")
    write_files(page, tmp_path)
    if page.stem in NEED_FILES:
        write_robots(tmp_path)
    monkeypatch.chdir(tmp_path)
    exec(compile(code, str(page), "exec"), {"__name__": "__main__"})


@pytest.mark.parametrize("name", LEARN)
def test_a_tutorial_has_a_picture_and_says_where_it_goes_on(name: str) -> None:
    text = (REPOSITORY / "docs" / f"{name}.md").read_text(encoding="utf-8")
    assert "](images/" in text or name == "install"
    assert re.search(r"\]\(\w+\.md", text[-600:]), "where does it go on?"


def test_from_nothing_to_a_controller_takes_few_commands_and_lines() -> None:
    given = blocks(REPOSITORY / "docs" / "install.md", "console")[:2]
    assert sum(len(x.splitlines()) for x in given) <= 5
    own = (REPOSITORY / "docs" / "arm_controller.md").read_text(encoding="utf-8")
    answer = own.partition("## Look at the motion")[0]
    code = "".join(text for name, text in BLOCK.findall(answer) if name == "python")
    assert len([x for x in code.splitlines() if x.strip()]) <= 30


@pytest.mark.parametrize("name", LEARN)
def test_a_tutorial_is_a_notebook_too(name: str) -> None:
    page = REPOSITORY / "docs" / f"{name}.md"
    made = json.loads(notebook(page.read_text(encoding="utf-8")))
    code = ["".join(c["source"]) for c in made["cells"] if c["cell_type"] == "code"]
    own = [c for c in code if not c.startswith("%%writefile ")]
    assert own == [text.rstrip("\n") for text in blocks(page, "python")]
    files = [c.removeprefix("%%writefile ") for c in code if c not in own]
    text = page.read_text(encoding="utf-8")
    assert files == [f"{n}\n{x}".rstrip("\n") for n, x in FILE.findall(text)]


LLMS = REPOSITORY / "docs" / "llms.txt"


def test_the_page_for_language_models_is_short_and_its_code_runs() -> None:
    assert len(LLMS.read_text(encoding="utf-8").splitlines()) <= 200
    exec(compile(program(LLMS), str(LLMS), "exec"), {"__name__": "__main__"})


def test_the_page_for_language_models_has_names_that_exist() -> None:
    text = LLMS.read_text(encoding="utf-8")
    for name in re.findall(r"ramidyn\.(\w+)", text):
        assert hasattr(ramidyn, name), name
    for name in re.findall(r"robot\.(\w+)", text):
        assert hasattr(ramidyn.Robot, name) or name in ("urdf",), name
    for name in re.findall(r"\brun\.(\w+)", text):
        fields = ramidyn.Run.__dataclass_fields__
        assert hasattr(ramidyn.Run, name) or name in fields, name
    *_, pages = text.partition("Pages: ")
    for name in re.findall(r"\w+", pages):
        assert (REPOSITORY / "docs" / f"{name}.md").exists()


LONGEST = 300
EXEMPT = {"papers", "reference", "changelog", "gallery"}


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_a_page_is_not_too_long(page: Path) -> None:
    if page.stem not in EXEMPT:
        lines = page.read_text(encoding="utf-8").splitlines()
        assert len(lines) <= LONGEST, f"{len(lines)} lines"


@pytest.mark.parametrize(
    "page", [REPOSITORY / "README.md", *PAGES], ids=lambda p: p.stem
)
def test_commands_in_the_page_exist(page: Path) -> None:
    for line in commands(page):
        assert line.split()[1] in COMMANDS, line


@pytest.mark.parametrize(
    "page", [REPOSITORY / "README.md", *PAGES], ids=lambda p: p.stem
)
def test_links_in_the_page_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
        if not target.startswith(("http", "#")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


WITH_CODE = [
    REPOSITORY / "README.md",
    *(page for page in PAGES if page.stem != "architecture"),  # for contributors
    *sorted((REPOSITORY / "examples").rglob("*.py")),
]


@pytest.mark.parametrize("path", WITH_CODE, ids=lambda p: p.stem)
def test_code_for_users_has_public_names_only(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    code = text if path.suffix == ".py" else program(path)
    for name in names_of_ramidyn(ast.parse(code)):
        first, _, rest = name.partition(".")
        if name.startswith(f"{OPTIONAL}."):
            continue
        assert first in ramidyn.__all__, f"ramidyn.{name}"
        namespace = getattr(ramidyn, first)
        if rest and isinstance(namespace, types.ModuleType):
            assert rest.partition(".")[0] in namespace.__all__, f"ramidyn.{name}"


HEAD = "ramidyn."


def names_of_ramidyn(tree: ast.AST) -> set[str]:
    """Return what code imports from ramidyn, and the attributes of it that it uses."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            module = f"{node.module}."
            if module.startswith(HEAD):
                inner = module.removeprefix(HEAD)
                found.update(f"{inner}{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
            found.update(n.removeprefix(HEAD) for n in names if n.startswith(HEAD))
        elif isinstance(node, ast.Attribute):
            written = ast.unparse(node)
            if written.startswith(HEAD):
                found.add(written.removeprefix(HEAD))
    return found


@pytest.mark.parametrize("name", ["load_urdf", "load_mjcf", "warnings"])
def test_warnings_that_a_page_explains_are_still_given(name: str) -> None:
    text = (REPOSITORY / "docs" / f"{name}.md").read_text(encoding="utf-8")
    files = (REPOSITORY / "src" / "ramidyn").rglob("*.py")
    source = "".join(p.read_text(encoding="utf-8") for p in files)
    source = re.sub(r'"\s*\n\s*f?"', "", source)  # strings over several lines
    for quoted in re.findall("“([^”]*)”", text.replace("&lt;", "<")):
        parts = [part.split() for part in quoted.split("...")]
        found = [
            " ".join(words[k : k + 3]) in source
            for words in parts
            for k in range(max(1, len(words) - 2))
            if len(words) > 1
        ]
        assert any(found), quoted


def test_counts_of_operations_are_in_the_background_only() -> None:
    menu = (REPOSITORY / "mkdocs.yml").read_text(encoding="utf-8")
    learn_and_guides = menu.partition("- Learn:")[2].partition("- Reference:")[0]
    for name in re.findall(r"(\w+)\.md", learn_and_guides):
        text = (REPOSITORY / "docs" / f"{name}.md").read_text(encoding="utf-8")
        for line in (x for x in text.splitlines() if x.startswith("|")):
            figures = re.findall(r"\| *[\d.,]+ *(?=\||\()", line)
            assert len(figures) < 3, f"{name}: {line}"


@pytest.mark.slow
def test_the_page_of_papers_is_up_to_date() -> None:
    page = (REPOSITORY / "docs" / "papers.md").read_text(encoding="utf-8")
    for section in sections():
        text = markdown([section], "", "images").strip()
        assert text in page, (
            f"renew it: see the head of docs/papers.md; {section.title}"
        )


def test_the_gallery_is_up_to_date_and_its_pictures_exist(update_golden: bool) -> None:
    path = REPOSITORY / "docs" / "gallery.md"
    if update_golden:
        path.write_text(gallery.page(), encoding="utf-8")
    renew = "python tools/gallery.py > docs/gallery.md"
    assert path.read_text(encoding="utf-8") == gallery.page(), renew
    names = {p.stem.partition("_")[2] for p in gallery.examples()}
    assert gallery.PICTURES.keys() <= names
    for picture in gallery.PICTURES.values():
        assert (REPOSITORY / "docs" / "images" / picture).exists()


def test_every_page_is_in_the_navigation_of_the_site() -> None:
    menu = (REPOSITORY / "mkdocs.yml").read_text(encoding="utf-8")
    listed = re.findall(r"[\w/]+\.md$", menu, re.M)
    docs = REPOSITORY / "docs"
    written = {p.name for p in docs.glob("*.md")}  # a hook adds the reference's pages
    assert sorted(listed) == sorted(written)  # each of them once


FIRST_ADDRESSES = [
    "algorithms",
    "architecture",
    "benchmarks",
    "closed_loops",
    "conventions",
    "derivatives",
    "export",
    "forces",
    "from_mujoco",
    "from_pinocchio",
    "identification",
    "index",
    "interop",
    "kernels",
    "many_states",
    "operational_space",
    "papers",
    "platforms",
    "quickstart",
    "reactions",
    "reference",
    "robot_files",
    "rollouts",
    "spatial",
    "viewing",
]


@pytest.mark.parametrize("address", FIRST_ADDRESSES)
def test_an_address_of_the_first_site_still_leads_somewhere(address: str) -> None:
    page = REPOSITORY / "docs" / f"{MOVED.get(address, address)}.md"
    assert page.exists()


def test_no_page_is_written_where_another_one_moved_from() -> None:
    assert not [old for old in MOVED if (REPOSITORY / "docs" / f"{old}.md").exists()]


@pytest.mark.slow
def test_the_site_builds_without_warnings(tmp_path: Path) -> None:
    if importlib.util.find_spec("material") is None:
        pytest.skip("mkdocs-material is absent")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", str(tmp_path)],
        cwd=REPOSITORY,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    home = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert f"Ramidyn {ramidyn.__version__}" in home
    assert "/ramidyn/source" in home
    for old, target in MOVED.items():
        stub = (tmp_path / old / "index.html").read_text(encoding="utf-8")
        assert f"url=../{target}/" in stub
        assert (tmp_path / target / "index.html").exists()
