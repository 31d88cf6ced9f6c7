"""Random MJCF models: every joint, orientation and primitive, classes and settings."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

CLASSES = ("main", "heavy", "tilted")
DEFAULTS = """
<default>
  <geom density="300"/><joint armature=".1"/>
  <default class="heavy"><geom density="50"/>
    <joint damping="2" axis="1 2 3" armature=".4"/></default>
  <default class="tilted"><geom euler="10 20 30"/><joint pos=".1 .2 .3"/></default>
</default>"""


class _Writer:
    def __init__(self, rng: np.random.Generator, bodies: int, settings: str) -> None:
        self.rng = rng
        self.left = bodies
        self.is_written = 'inertiafromgeom="false"' in settings
        """whether every body has an <inertial>"""
        self.is_balanced = 'balanceinertia="true"' in settings

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

    def geom(self, group: int) -> str:
        kind = self.rng.choice(["sphere", "capsule", "cylinder", "ellipsoid", "box"])
        words = [f'type="{kind}" group="{group}"', self.class_word("class")]
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
        moments = self.rng.uniform(1.0, 4.0 if self.is_balanced else 1.9, 3)
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
            words.append('limited="true"' if self.maybe(0.5) else "")
        return f"<joint {' '.join(words)} {self.armature()}/>"

    def armature(self) -> str:
        return f'armature="{self.positive(1)}"' if self.maybe(0.4) else ""

    def joints(self) -> str:
        if self.maybe(0.2):
            return ""
        count = int(self.rng.integers(1, 4))
        ball = f'<joint type="ball" pos="{self.some(3)}" {self.armature()}/>'
        after = ball if self.maybe(0.2) else ""
        return "".join(self.joint() for _ in range(count)) + after

    def content(self, inside: str) -> str:
        if self.is_written or self.maybe(0.4):
            inside += self.inertial()
        inside += self.geom(group=1)  # that every setting counts
        for _ in range(int(self.rng.integers(0, 3))):
            inside += self.geom(int(self.rng.integers(0, 6)))
        if self.maybe(0.1):
            inside += f"<body {self.pose()}/>"
        while self.left > 0 and self.maybe(0.7):
            inside += self.body()
        return self.element("frame", inside) if self.maybe(0.3) else inside

    def body(self) -> str:
        self.left -= 1
        if self.left > 0 and self.maybe(0.1):
            self.left -= 1
            words = f'count="2" offset="{self.some(3)}" euler="{self.some(3)}"'
            return f"<replicate {words}>{self.body()}</replicate>"
        return self.element("body", self.content(self.joints()))

    def weightless(self) -> str:
        return (
            '<body><joint type="slide" armature="0"/><geom size=".1" mass="0"/></body>'
        )

    def free_body(self) -> str:
        free = f'<joint type="free" {self.class_word("class")} {self.armature()}/>'
        joint = free if self.maybe(0.5) else "<freejoint/>"
        return f"<body {self.pose()}>{self.content(joint)}</body>"

    def element(self, tag: str, inside: str) -> str:
        words = f"{self.pose()} {self.class_word('childclass')}"
        return f"<{tag} {words}>{inside}</{tag}>"


def text(values: Iterable[float]) -> str:
    return " ".join(repr(float(v)) for v in values)


def random_mjcf(
    rng: np.random.Generator, most_bodies: int = 12, compiler: str | None = None
) -> str:
    """Return the text of a model, with a free body and others.

    Args:
        rng: what all numbers come from.
        most_bodies: about how many bodies there are at most.
        compiler: the attributes of <compiler>; None: angles and Euler sequence.
    """
    words = angles(rng) if compiler is None else compiler
    count = int(rng.integers(1, most_bodies))
    writer = _Writer(rng, count, words)
    bodies = ""
    while writer.left > 0:
        bodies += writer.body()
    free = writer.free_body() if writer.maybe(0.7) else ""
    if "bound" not in words and writer.maybe(0.02 if compiler else 0.0):
        free += writer.weightless()
    return f"""<mujoco><compiler {words}/>{DEFAULTS}
    <worldbody>{bodies}{free}</worldbody></mujoco>"""


def angles(rng: np.random.Generator) -> str:
    """Return how angles are written in a model."""
    sequence = "".join(rng.choice(list("xyzXYZ"), 3))
    return f'eulerseq="{sequence}" angle="{rng.choice(["degree", "radian"])}"'


SETTINGS = {
    "autolimits": ("true", "true", "true", "false"),
    "inertiafromgeom": ("true", "false", "auto"),
    "boundmass": ("0.2", "1"),
    "boundinertia": ("0.01", "0.3"),
    "balanceinertia": ("true", "false"),
    "settotalmass": ("3", "-1"),
    "fusestatic": ("true", "false"),
    "coordinate": ("local",) * 9 + ("global",),
    "inertiagrouprange": ("0 2", "1 5"),
}


def settings(rng: np.random.Generator) -> str:
    """Return attributes of <compiler>: each of those that change masses, sometimes."""
    chosen = [name for name in SETTINGS if rng.random() < 0.25]
    words = [f'{name}="{rng.choice(SETTINGS[name])}"' for name in chosen]
    return " ".join([angles(rng), *words])
