"""The gallery of the docs, made from the docstrings of the examples and their pictures.

python tools/gallery.py > docs/gallery.md
"""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PICTURES = {
    "four_bar": "four_bar.png",
    "identify_payload": "payload.png",
    "inverse_kinematics": "reach.png",
    "learned_policy": "learned_policy.png",
    "mppi": "many_simulations.png",
    "operational_space": "operational_space.png",
    "quadruped": "landing.gif",
    "standing": "standing.png",
    "vehicle": "vehicle.png",
}
"""example, by its name without the number: its picture in docs/images"""
TITLES = {"ilqr": "iLQR", "mpc": "MPC", "mppi": "MPPI", "export_c": "Export C"}
"""headings that are not just the example's name"""
HEAD = """# Gallery

Every example of the repository, with its source. Each runs by itself, such as
`python examples/01_load_and_compute.py`.
"""


def page() -> str:
    """Return the page as Markdown."""
    return "\n".join([HEAD, *map(section, examples())])


def examples() -> list[Path]:
    """Return the examples in the order of their numbers."""
    return sorted((ROOT / "examples").glob("[0-9]*.py"))


def section(path: Path) -> str:
    """Return the section of one example: what it does, its picture, its source."""
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    title, _, rest = docstring.partition("\n")
    name = path.stem.partition("_")[2]
    picture = PICTURES.get(name)
    heading = TITLES.get(name, name.replace("_", " ").capitalize())
    lines = [f"## {heading}", "", f"**{title}**", ""]
    lines += [rest.strip(), ""] if rest.strip() else []
    lines += [f"![{title}](images/{picture})", ""] if picture else []
    lines += [f'??? example "examples/{path.name}"', "", "    ```{.python .no-run}"]
    lines += [f'    --8<-- "examples/{path.name}"', "    ```", ""]
    return "\n".join(lines)


if __name__ == "__main__":
    print(page(), end="")
