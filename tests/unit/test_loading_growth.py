"""Loading takes work in proportion to the bodies of a robot: calls are counted."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

import pytest

from ramidyn.errors import ModelWarning
from ramidyn.loading import load
from support.urdf import LIMIT, joint, robot

LINK = (
    '<link name="l{}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" '
    'ixy="0" ixz="0" iyz="0"/></inertial></link>'
)
BODY = '<body name="b{}" pos="0 0 1"><joint axis="0 1 0"/><geom size=".1"/>'


def urdf(n: int, children: int) -> str:
    links = [LINK.format(k) for k in range(n)]
    joints = [joint(f"j{k}", f"l{(k - 1) // children}", f"l{k}") for k in range(1, n)]
    return robot(*links, *joints)


def mjcf(n: int, links: int) -> str:
    arm = "{}" + "</body>" * links
    arms = [
        arm.format("".join(BODY.format(k) for k in range(first, first + links)))
        for first in range(0, n, links)
    ]
    return f"<mujoco><worldbody>{''.join(arms)}</worldbody></mujoco>"


def mimics(n: int) -> str:
    links = [LINK.format(k) for k in range(n)]
    joints = [
        joint(
            f"j{k}", "l0", f"l{k}", LIMIT + f'<mimic joint="j{k + 1}"/>' * (k < n - 1)
        )
        for k in range(1, n)
    ]
    return robot(*links, *joints)


def sdf(n: int, words: str) -> str:
    frames = "".join(
        f'<frame name="f{k}" attached_to="f{k + 1}"><pose {words.format(k + 1)}>'
        "0 0 1 0 0 0</pose></frame>"
        for k in range(n)
    )
    return f"""<sdf version="1.9"><model name="m"><link name="f{n}"/>{frames}</model>
      </sdf>"""


def calls(text: str) -> int:
    """Return how many calls, of Python and of C, loading makes."""
    count = 0

    def counted(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(counted)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)
            load(text)
    finally:
        sys.setprofile(before)
    return count


ROBOTS: dict[str, Callable[[int], str]] = {
    "URDF chain": lambda n: urdf(n, 1),
    "URDF star": lambda n: urdf(n, n),
    "URDF tree": lambda n: urdf(n, 3),
    "URDF mimic chain": mimics,
    "SDF frames": lambda n: sdf(n, ""),
    "SDF poses": lambda n: sdf(n, 'relative_to="f{}"'),
    "MJCF chain": lambda n: mjcf(n, n),
    "MJCF gravity compensation": lambda n: mjcf(n, n).replace(
        "<body ", '<body gravcomp="1" '
    ),
    "MJCF star": lambda n: mjcf(n, 1),
    "MJCF arms": lambda n: mjcf(n, 50),
}


def test_a_chain_may_be_longer_than_python_recurses() -> None:
    n = sys.getrecursionlimit() + 100
    assert load(urdf(n, 1)).nv == n - 1


@pytest.mark.parametrize("shape", ROBOTS)
def test_twice_the_bodies_take_twice_the_calls(shape: str) -> None:
    _, small, large, larger = (calls(ROBOTS[shape](n)) for n in (2, 100, 200, 400))
    assert larger - large <= 2.05 * (large - small)
