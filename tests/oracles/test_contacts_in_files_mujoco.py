"""Contacts that are loaded from MJCF, beside those that MuJoCo finds."""

from __future__ import annotations

import warnings
from collections import defaultdict
from typing import Any

import numpy as np
import pytest

import ramidyn
from ramidyn.contacts import ContactBox
from ramidyn.errors import ModelWarning
from ramidyn.robot import Robot
from ramidyn.tree.contact_checks import robot_candidates
from support.close import assert_close

mujoco: Any = pytest.importorskip("mujoco", reason="MuJoCo, the oracle, is absent")
pytestmark = pytest.mark.oracle


def random_model(rng: np.random.Generator) -> str:
    """Return free bodies below two planes, with geoms of random numbers."""

    def numbers() -> str:
        masks = rng.choice([0, 1, 2, 3], size=2)
        return (
            f'contype="{masks[0]}" conaffinity="{masks[1]}" '
            f'friction="{rng.uniform(0.1, 2.0):.3f}" condim="{rng.choice([1, 3])}" '
            f'margin="{rng.uniform(0.0, 0.02):.4f}" priority="{rng.integers(2)}"'
        )

    def vector(size: float) -> str:
        return " ".join(f"{x:.3f}" for x in rng.uniform(-size, size, 3))

    text = ""
    for k in range(2):
        text += f'<geom name="floor{k}" type="plane" size="1 1 1" pos="{vector(0.2)}" '
        text += f'euler="{vector(20)}" {numbers()}/>'
    sizes = {"sphere": ".1", "capsule": ".05 .1", "box": ".1 .15 .2"}
    for k in range(4):
        text += f'<body name="b{k}" pos="{vector(0.5)}"><freejoint/>'
        for j in range(3):
            kind = rng.choice([*sizes])
            text += f'<geom name="g{k}_{j}" type="{kind}" size="{sizes[kind]}" '
            text += f'pos="{vector(0.3)}" euler="{vector(90)}" {numbers()}/>'
        text += "</body>"
    return f"""<mujoco><option gravity="0 0 0"/><worldbody>{text}</worldbody><contact>
      <exclude body1="world" body2="b1"/>
      <pair geom1="g2_0" geom2="floor1" friction="0.6 0.6" margin="0.01" condim="1"/>
      </contact></mujoco>"""


def our_gaps(robot: Robot, q: np.ndarray) -> dict[str, tuple[float, float]]:
    """Return the friction of every contact, and how far its nearest point is."""
    found: dict[str, tuple[float, float]] = {}
    for candidate in robot_candidates(robot.model):
        c: Any = candidate.contact
        T = robot.pose(q, c.frame)
        x = T[:3, :3] @ candidate.center + T[:3, 3]
        gap = np.dot(c.normal, x) - c.offset
        gap -= c.radius if candidate.has_radius else 0.0
        found[c.name] = c.friction, min(gap, found.get(c.name, (0.0, np.inf))[1])
    return found


def their_gaps(model: Any, q: np.ndarray) -> dict[str, tuple[float, float]]:
    data = mujoco.MjData(model)
    data.qpos = q
    mujoco.mj_forward(model, data)
    found: defaultdict[str, tuple[float, float]] = defaultdict(lambda: (0.0, np.inf))
    for contact in data.contact:
        a, b = (model.geom(i).name for i in contact.geom)
        if a.startswith("g") and b.startswith("g"):
            continue
        floor, geom = (a, b) if a.startswith("floor") else (b, a)
        name = f"{geom}_{floor}"
        gap = contact.dist - contact.includemargin
        friction = contact.friction[0] if contact.dim > 1 else 0.0
        found[name] = friction, min(gap, found[name][1])
    return found


def test_contacts_are_mujocos() -> None:
    rng = np.random.default_rng(5)
    seen = boxes = 0
    for _ in range(8):
        text = random_model(rng)
        model = mujoco.MjModel.from_xml_string(text)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)
            robot = ramidyn.load(text, contacts=True, conventions="mujoco")
        q = rng.normal(size=robot.nq)
        for k in range(4):
            q[7 * k + 2] -= 1.0
            q[7 * k + 3 : 7 * k + 7] /= np.linalg.norm(q[7 * k + 3 : 7 * k + 7])
        ours, theirs = our_gaps(robot, q), their_gaps(model, q)
        touching = {n for n, (_, gap) in ours.items() if gap < 0.0}
        assert touching <= theirs.keys() <= ours.keys()
        for name in touching:
            assert_close(ours[name], theirs[name], 1e-9)
        seen += len(touching)
        boxes += sum(isinstance(c, ContactBox) for c in robot.contacts)
    assert min(seen, boxes) > 20
