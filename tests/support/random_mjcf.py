"""Random MJCF models: every joint, orientation and primitive, frames and classes."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

CLASSES = ("main", "heavy", "tilted")
DEFAULTS = """
<default>
  <geom density="300"/><joint armature=".1"/>
  <default class="heavy"><geom density="50"/><joint damping="2" axis="1 2 3"/></default>
  <default class="tilted"><geom euler="10 20 30"/><joint pos=".1 .2 .3"/></default>
</default>"""


class _Writer:
    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.left = int(rng.integers(3, 12))

    def some(self, count: int) -> str:
        return text(self.rng.uniform(-1, 1, count))

    def positive(self, count: int) -> str:
        return text(self.rng.uniform(0.05, 0.5, count))

    def maybe(self, chance: float) -> bool:
        return bool(self.rng.random() < chance)

    def orientation(self) -> str:
        kind = self.rng.choice(["quat", "axisangle", "euler", "xyaxes", "zaxis", ""])
        counts = {"quat": 4, "axisangle": 4, "euler": 3, "xyaxes": 6, "zaxis": 3}
        return f'{kind}="{self.some(counts[kind])}"' if kind else ""

    def pose(self) -> str:
        return f'pos="{self.some(3)}" {self.orientation()}'

    def class_word(self, attribute: str) -> str:
        name = self.rng.choice(CLASSES)
        return f'{attribute}="{name}"' if self.maybe(0.3) else ""

    def geom(self) -> str:
        kind = self.rng.choice(["sphere", "capsule", "cylinder", "ellipsoid", "box"])
        words = [f'type="{kind}"', self.class_word("class")]
        if kind != "sphere" and self.maybe(0.3):
            words.append(f'size="{self.positive(1)}" fromto="{self.some(6)}"')
        else:
            words.append(f'size="{self.positive(3)}" {self.pose()}')
        if self.maybe(0.3):
            words.append(f'mass="{self.positive(1)}"')
        if self.maybe(0.2):
            words.append('shellinertia="true"')
        return f"<geom {' '.join(words)}/>"

    def inertial(self) -> str:
        moments = self.rng.uniform(1.0, 1.9, 3)
        words = f'pos="{self.some(3)}" mass="{self.positive(1)}"'
        if self.maybe(0.5):
            off = text(self.rng.uniform(-0.05, 0.05, 3))
            return f'<inertial {words} fullinertia="{text(moments)} {off}"/>'
        return f'<inertial {words} diaginertia="{text(moments)}" {self.orientation()}/>'

    def joint(self) -> str:
        kind = self.rng.choice(["hinge", "slide"])
        words = [f'type="{kind}"', self.class_word("class")]
        if self.maybe(0.7):
            words.append(f'axis="{self.some(3)}" pos="{self.some(3)}"')
        if self.maybe(0.5):
            words.append(f'ref="{self.some(1)}" springref="{self.some(1)}"')
        if self.maybe(0.5):
            words.append('range="-1 2" frictionloss=".5"')
        return f"<joint {' '.join(words)}/>"

    def joints(self) -> str:
        if self.maybe(0.2):
            return ""
        count = int(self.rng.integers(1, 4))
        ball = f'<joint type="ball" pos="{self.some(3)}"/>' if self.maybe(0.2) else ""
        return "".join(self.joint() for _ in range(count)) + ball

    def content(self) -> str:
        inside = self.joints()
        if self.maybe(0.4):
            inside += self.inertial()
        for _ in range(int(self.rng.integers(1, 4))):
            inside += self.geom()
        while self.left > 0 and self.maybe(0.7):
            inside += self.body()
        return self.element("frame", inside) if self.maybe(0.3) else inside

    def body(self) -> str:
        self.left -= 1
        return self.element("body", self.content())

    def element(self, tag: str, inside: str) -> str:
        words = f"{self.pose()} {self.class_word('childclass')}"
        return f"<{tag} {words}>{inside}</{tag}>"


def text(values: Iterable[float]) -> str:
    return " ".join(repr(float(v)) for v in values)


def random_mjcf(rng: np.random.Generator) -> str:
    """Return the text of a model with a dozen bodies or so."""
    writer = _Writer(rng)
    bodies = ""
    while writer.left > 0:
        bodies += writer.body()
    free = f"<body {writer.pose()}><freejoint/>{writer.geom()}{writer.body()}</body>"
    sequence = "".join(rng.choice(list("xyzXYZ"), 3))
    angle = rng.choice(["degree", "radian"])
    return f"""<mujoco><compiler eulerseq="{sequence}" angle="{angle}"/>{DEFAULTS}
    <worldbody>{bodies}{free}</worldbody></mujoco>"""
