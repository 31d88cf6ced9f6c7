"""The geoms that can touch, beside MuJoCo's arrays searched pair by pair."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from ramidyn.description.formats.parse import parse

mujoco: Any = pytest.importorskip("mujoco", reason="MuJoCo, the oracle, is absent")
pytestmark = pytest.mark.oracle


def random_model(rng: np.random.Generator) -> str:
    """Return bodies, fixed and moving, with geoms of few masks, and exclusions."""

    def geoms(body: int) -> str:
        masks = rng.choice([0, 1, 2, 4], size=(int(rng.integers(3)), 2))
        return "".join(
            f'<geom name="g{body}_{k}" size=".1" contype="{a}" conaffinity="{b}"/>'
            for k, (a, b) in enumerate(masks)
        )

    count = int(rng.integers(2, 8))
    text, depth = geoms(0), 0
    for k in range(1, count):
        moves = "<joint/>" if rng.random() < 0.6 else ""
        inertial = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
        text += f'<body name="b{k}">{moves}{inertial}{geoms(k)}'
        depth += 1
        while depth and rng.random() < 0.4:
            text, depth = text + "</body>", depth - 1
    text += "</body>" * depth
    bodies = [f"b{k}" for k in range(1, count)]
    excluded = [p for p in combinations(bodies, 2) if rng.random() < 0.3]
    contact = "".join(f'<exclude body1="{a}" body2="{b}"/>' for a, b in excluded)
    flag = "" if rng.random() < 0.7 else '<flag filterparent="disable"/>'
    return f"""<mujoco><option>{flag}</option><worldbody>{text}</worldbody>
      <contact>{contact}</contact></mujoco>"""


def touching(model: Any) -> list[str]:
    """Return the names of the geoms in any pair that MuJoCo would not filter."""
    fixed, parents = model.body_weldid, model.body_parentid
    bit = mujoco.mjtDisableBit.mjDSBL_FILTERPARENT
    filters = not model.opt.disableflags & bit
    found: set[int] = set()
    for i, j in combinations(range(model.ngeom), 2):
        a, b = sorted((int(model.geom_bodyid[i]), int(model.geom_bodyid[j])))
        first, second = fixed[a], fixed[b]
        is_child = fixed[parents[first]] == second or fixed[parents[second]] == first
        meets = model.geom_contype[i] & model.geom_conaffinity[j]
        meets |= model.geom_contype[j] & model.geom_conaffinity[i]
        if first == second or not meets or (a << 16) + b in model.exclude_signature:
            continue
        if not (filters and first and second and is_child):
            found |= {i, j}
    return [model.geom(i).name for i in sorted(found)]


def test_geoms_that_can_touch_are_mujocos() -> None:
    rng = np.random.default_rng(7)
    names: list[str] = []
    for _ in range(100):
        text = random_model(rng)
        theirs = touching(mujoco.MjModel.from_xml_string(text))
        ours = sorted(parse(text).offered.contacts)
        assert ours == sorted(theirs), text
        names += theirs
    assert names


def test_geoms_of_pairs_touch_whatever_their_masks() -> None:
    body = '<body><freejoint/><geom name="{}" size=".1" contype="0" conaffinity="0"/>'
    text = f"""<mujoco><worldbody>{body.format("a")}</body>{body.format("b")}</body>
      {body.format("c")}</body></worldbody>
      <contact><pair geom1="a" geom2="c"/></contact></mujoco>"""
    assert parse(text).offered.contacts == ("a", "c")
