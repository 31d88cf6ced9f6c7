"""What the documentation site adds while mkdocs builds it.

The version and the source link come from pyproject.toml, and every page that moved
leaves a small page at its old address that leads to the new one.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"

MOVED = {"quickstart": "first_steps", "interop": "other_libraries"}
"""address of a page that is gone: the page that replaced it"""

STUB = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>This page has moved</title>
<link rel="canonical" href="../{target}/">
<meta http-equiv="refresh" content="0; url=../{target}/">
<p>This page has moved: <a href="../{target}/">{target}</a>.</p>
</html>
"""


def on_config(config: Any) -> Any:
    """Show the version in the footer and beside the link; list the reference."""
    project = PROJECT.read_text(encoding="utf-8")
    version = declared("version", project)
    config.repo_url = declared("Source", project)
    config.repo_name = f"source, version {version}"
    config.edit_uri = None
    config.copyright = f"Ramidyn {version}, BSD-3-Clause"
    index = (Path(config.docs_dir) / "reference.md").read_text(encoding="utf-8")
    (reference,) = (part for part in config.nav if "Reference" in part)
    listed = re.findall(r"^\*\*\[(.+?)\]\((reference/.+?)\)", index, re.M)
    reference["Reference"] += [{title: path} for title, path in listed]
    return config


def on_post_build(config: Any) -> None:
    """Write a page at each address that has moved."""
    for old, target in MOVED.items():
        folder = Path(config.site_dir) / old
        folder.mkdir(parents=True)
        page = STUB.format(target=target)
        (folder / "index.html").write_text(page, encoding="utf-8")


def declared(name: str, project: str) -> str:
    """Return a text that pyproject.toml declares."""
    found = re.search(rf'^{name} = "(.+)"', project, re.M)
    assert found, f"pyproject.toml declares no {name}"
    return found[1]
