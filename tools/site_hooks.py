"""What the documentation site adds while mkdocs builds it.

The version and the source link come from pyproject.toml, tutorials can be downloaded as
notebooks, and every page that moved leaves a small page at its old address, which leads
to the new one.
"""

from __future__ import annotations

import json
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


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Offer a tutorial as a notebook, below its title."""
    del files
    if page.file.src_uri not in tutorials(config) or "```python" not in markdown:
        return markdown
    name = Path(page.file.src_uri).stem
    link = f'<a href="../notebooks/{name}.ipynb" download>Download as a notebook</a>'
    title, _, rest = markdown.lstrip().partition("\n")
    return f"{title}\n\n{link}\n{rest}"


def tutorials(config: Any) -> list[str]:
    """Return the pages of the tab Learn."""
    (learn,) = (part["Learn"] for part in config.nav if "Learn" in part)
    return [path for entry in learn for path in entry.values()]


PYTHON = re.compile(r"^```python\n(.*?)^```\n", re.M | re.S)


def notebook(text: str) -> str:
    """Return a page as a Jupyter notebook: its Python in cells, the rest as text.

    Files that the page tells its reader to save are written by cells.
    """
    text = re.sub(
        r'^```\w+ title="([\w.]+)"\n(.*?)^```\n',
        lambda m: f"```python\n%%writefile {m[1]}\n{m[2]}```\n",
        text,
        flags=re.M | re.S,
    )
    cells: list[dict[str, Any]] = []
    for k, part in enumerate(PYTHON.split(text)):
        if part.strip():
            cell: dict[str, Any] = {"id": f"cell-{k}", "metadata": {}}
            cell["source"] = part.strip("\n").splitlines(keepends=True)
            cell["cell_type"] = "code" if k % 2 else "markdown"
            if k % 2:
                cell |= {"execution_count": None, "outputs": []}
            cells.append(cell)
    about = {"kernelspec": {"display_name": "Python 3", "name": "python3"}}
    whole = {"cells": cells, "metadata": about, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, indent=1, ensure_ascii=False)


def on_post_build(config: Any) -> None:
    """Write the tutorials as notebooks, and a page at each address that has moved."""
    folder = Path(config.site_dir) / "notebooks"
    folder.mkdir(exist_ok=True)
    for path in tutorials(config):
        text = (Path(config.docs_dir) / path).read_text(encoding="utf-8")
        if "```python" in text:
            target = folder / f"{Path(path).stem}.ipynb"
            target.write_text(notebook(text), encoding="utf-8")
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
