"""Random URDF models: every joint type, with what real files have and leave out."""

from __future__ import annotations

import numpy as np

from support.random_mjcf import text

LIMIT = '<limit lower="-2" upper="2" velocity="1" effort="1"/>'
MOVING = ("revolute", "continuous", "prismatic", "planar", "floating")
LEADERS = ("revolute", "prismatic")


class _Writer:
    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.leaders: list[str] = []

    def maybe(self, chance: float) -> bool:
        return bool(self.rng.random() < chance)

    def some(self, count: int) -> str:
        return text(self.rng.uniform(-1, 1, count))

    def origin(self) -> str:
        if self.maybe(0.2):
            return ""
        turned = f' rpy="{text(self.rng.uniform(-3, 3, 3))}"' if self.maybe(0.6) else ""
        return f'<origin xyz="{self.some(3)}"{turned}/>'

    def link(self, name: str, may_be_massless: bool) -> str:
        if may_be_massless and self.maybe(0.4):
            return f'<link name="{name}"/>'
        mass = 0.0 if may_be_massless and self.maybe(0.1) else self.rng.uniform(0.1, 3)
        a, b, c = self.rng.uniform(1.0, 1.9, 3)
        x, y, z = self.rng.uniform(-0.1, 0.1, 3)
        inertia = (
            f'<inertia ixx="{a}" iyy="{b}" izz="{c}" ixy="{x}" ixz="{y}" iyz="{z}"/>'
        )
        return (
            f'<link name="{name}"><inertial>{self.origin()}<mass value="{mass}"/>'
            f"{inertia}</inertial></link>"
        )

    def axis(self) -> str:
        if self.maybe(0.2):
            return ""
        if self.maybe(0.5):
            unit = self.rng.permutation([1, 0, 0]) * self.rng.choice([1, -1])
            return f'<axis xyz="{text(unit)}"/>'
        return f'<axis xyz="{self.some(3)}"/>'

    def joint(self, name: str, parent: str, child: str) -> tuple[str, str]:
        """Return the type and the text of a joint."""
        kind = str(self.rng.choice([*MOVING, "revolute", "revolute", "fixed", "fixed"]))
        inside = self.origin()
        if kind in ("revolute", "continuous", "prismatic"):
            inside += self.axis()
        if kind in LEADERS:
            inside += LIMIT
            if self.leaders and self.maybe(0.3):
                leader = self.rng.choice(self.leaders)
                numbers = self.rng.uniform(-2, 2, 2)
                inside += (
                    f'<mimic joint="{leader}" multiplier="{numbers[0]}" '
                    f'offset="{numbers[1]}"/>'
                )
            else:
                self.leaders.append(name)
        return kind, (
            f'<joint name="{name}" type="{kind}"><parent link="{parent}"/>'
            f'<child link="{child}"/>{inside}</joint>'
        )


def random_urdf(rng: np.random.Generator, most_links: int = 9) -> str:
    """Return the text of a robot with branches.

    A link that a joint moves has mass; names are shuffled, so that file order, tree
    order and alphabetical order are three.
    """
    writer = _Writer(rng)
    n = int(rng.integers(2, most_links + 1))
    names = [f"l{k}" for k in rng.permutation(n)]
    joints = [f"j{k}" for k in rng.permutation(n)]
    parts = [writer.link(names[0], may_be_massless=True)]
    for k in range(1, n):
        parent = names[int(rng.integers(0, k))]
        kind, joint = writer.joint(joints[k], parent, names[k])
        parts += [joint, writer.link(names[k], may_be_massless=kind == "fixed")]
    order = [*parts[:1], *(parts[1 + k] for k in rng.permutation(len(parts) - 1))]
    return '<robot name="random">' + "".join(order) + "</robot>"
