"""Random MJCF models with forces: springs, dampers, tendons, actuators, gravcomp."""

from __future__ import annotations

import numpy as np

KINDS = ("hinge", "slide", "hinge", "ball")


def _some(rng: np.random.Generator, n: int, low: float, high: float) -> str:
    return " ".join(repr(float(x)) for x in rng.uniform(low, high, n))


def _tendon(rng: np.random.Generator, joints: list[str]) -> str:
    weights = [_some(rng, 1, -1.0, 1.0) for _ in joints]
    pairs = zip(joints, weights, strict=True)
    parts = "".join(f'<joint joint="{n}" coef="{c}"/>' for n, c in pairs)
    rests = ("", 'springlength="0.1"', 'springlength="-0.2 0.3"')
    words = f'stiffness="{_some(rng, 1, 0, 9)}" damping="{_some(rng, 1, 0, 1)}"'
    words += f" {rng.choice(rests)}"
    if rng.random() < 0.5:
        words += ' actuatorfrcrange="-0.3 0.5"'
    return f'<tendon><fixed name="t" {words}>{parts}</fixed></tendon>'


def random_forces(rng: np.random.Generator) -> str:
    """Return the text of a model: a free body, branches, and forces of every kind."""

    def some(n: int = 1, low: float = -1.0, high: float = 1.0) -> str:
        return _some(rng, n, low, high)

    def passive() -> str:
        words = [f'stiffness="{some(1, 0, 20)}"', f'damping="{some(1, 0, 2)}"']
        kept = " ".join(w for w in words if rng.random() < 0.7)
        return f"{kept} armature='{some(1, 0.1, 0.5)}'"

    kinds: list[str] = []
    bodies = ""
    count = int(rng.integers(4, 9))
    open_bodies = 0
    for k in range(count):
        kind = "free" if k == 0 else str(rng.choice(KINDS))
        kinds.append(kind)
        words = f'name="j{k}" type="{kind}" {passive()}'
        if kind in ("hinge", "slide"):
            words += f' axis="{some(3)}" ref="{some()}" springref="{some()}"'
            if rng.random() < 0.3:
                words += ' actuatorfrcrange="-1.5 1"'
        if rng.random() < 0.4:
            words += ' actuatorgravcomp="true"'
        lifted = f'gravcomp="{some(1, -0.5, 2)}"' if rng.random() < 0.5 else ""
        bodies += f'<body name="b{k}" pos="{some(3)}" euler="{some(3)}" {lifted}>'
        bodies += f"<joint {words}/>"
        bodies += f'<inertial pos="{some(3)}" mass="{some(1, 0.5, 2)}" '
        bodies += f'diaginertia="{some(3, 1.0, 1.9)}"/>'
        open_bodies += 1
        while open_bodies and rng.random() < 0.35:
            bodies += "</body>"
            open_bodies -= 1
    bodies += "</body>" * open_bodies
    single = [f"j{k}" for k, kind in enumerate(kinds) if kind in ("hinge", "slide")]
    tendons = _tendon(rng, single[:3]) if len(single) > 1 else ""
    shapes = (
        "motor",
        f"position kp='{some(1, 1, 9)}' kv='{some(1, 0, 1)}'",
        f"position kp='{some(1, 1, 9)}' dampratio='0.7'",
        f"velocity kv='{some(1, 0, 3)}'",
        f"damper kv='{some(1, 0, 3)}' ctrlrange='0 1'",
        f"general gainprm='{some()}' biastype='affine' biasprm='{some(3)}'",
        f"general gaintype='affine' gainprm='{some(3)}'",
    )
    actuators = ""
    for name in single:
        shape = str(rng.choice(shapes))
        limits = " forcerange='-0.6 0.9'" if rng.random() < 0.3 else ""
        if "ctrlrange" not in shape and rng.random() < 0.3:
            limits += " ctrlrange='-0.5 0.4'"
        weight = f"armature='{some(1, 0, 0.3)}'" if rng.random() < 0.3 else ""
        words = f"joint='{name}' gear='{some(1, 0.5, 3)}' {weight}"
        actuators += f"<{shape} {words}{limits}/>"
    if tendons:
        for _ in range(int(rng.integers(1, 3))):
            shape, limits = shapes[int(rng.integers(4))], "forcerange='-0.2 0.4'"
            words = limits if rng.random() < 0.3 else ""
            actuators += f"<{shape} tendon='t' gear='{some(1, 1, 2)}' {words}/>"
    for k, kind in enumerate(kinds):
        size = {"ball": 3, "free": 6}.get(kind, 0)
        if size:
            word = str(rng.choice(["joint", "jointinparent"]))
            actuators += f"<motor {word}='j{k}' gear='{some(size)}'/>"
    return f"""<mujoco><compiler angle="radian"/><worldbody>{bodies}</worldbody>
      {tendons}<actuator>{actuators}</actuator></mujoco>"""
