"""Small URDF texts, put together from parts."""

from __future__ import annotations

from ramidyn.description.description import Description
from ramidyn.description.formats.urdf import parse_urdf

LIMIT = '<limit lower="-1" upper="2" velocity="3" effort="4"/>'
INERTIA = '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'


def robot(*parts: str) -> str:
    return '<robot name="r">\n' + "\n".join(parts) + "\n</robot>"


def links(names: str) -> str:
    return "".join(f'<link name="{name}"/>' for name in names.split())


def joint(
    name: str, parent: str, child: str, inner: str = LIMIT, type_: str = "revolute"
) -> str:
    return (
        f'<joint name="{name}" type="{type_}"><parent link="{parent}"/>'
        f'<child link="{child}"/>{inner}</joint>'
    )


def parse(*parts: str) -> Description:
    return parse_urdf(robot(*parts), "r.urdf")


def one_inertial(inner: str) -> Description:
    return parse(f'<link name="a"><inertial>{inner}</inertial></link>')


LOOP = (
    '<loop name="l" type="{}"><body_a link="a" xyz="1 2 3"/>'
    '<body_b link="c" rpy="0 0 1"/></loop>'
)
CHAIN = links("a b c") + joint("j1", "a", "b") + joint("j2", "b", "c")
