"""Small SDF texts, put together from parts."""

from __future__ import annotations

from ramidyn.description.description import Description
from ramidyn.description.formats.sdf import parse_sdf

INERTIAL = (
    "<inertial><mass>2</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia>"
    "</inertial>"
)
AXIS = "<axis><xyz>0 1 0</xyz></axis>"


def sdf(*parts: str, version: str = "1.9", model: str = "") -> str:
    inner = "\n".join(parts)
    return f'<sdf version="{version}"><model name="m" {model}>\n{inner}\n</model></sdf>'


def link(name: str, inner: str = "") -> str:
    return f'<link name="{name}">{inner}{INERTIAL}</link>'


def links(names: str) -> str:
    return "".join(map(link, names.split()))


def joint(
    name: str, parent: str, child: str, inner: str = AXIS, type_: str = "revolute"
) -> str:
    return (
        f'<joint name="{name}" type="{type_}"><parent>{parent}</parent>'
        f"<child>{child}</child>{inner}</joint>"
    )


def parse(*parts: str, version: str = "1.9", model: str = "") -> Description:
    return parse_sdf(sdf(*parts, version=version, model=model), "m.sdf")
