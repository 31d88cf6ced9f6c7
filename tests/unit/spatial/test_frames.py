"""Spatial quantities of different bodies do not mix: FrameError, while tracing."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

import ramidyn
from ramidyn.algorithms.aba import aba
from ramidyn.errors import FrameError
from ramidyn.robot import Robot
from ramidyn.spatial.inertia import ArticulatedInertia, RigidInertia
from ramidyn.spatial.transform import Shift, Transform
from ramidyn.spatial.vector3 import IDENTITY, ONE, ZERO3, unit
from ramidyn.spatial.vectors import Force, Motion
from ramidyn.symbolic.trace import trace
from ramidyn.tracing.chooser import algorithm_of
from ramidyn.tracing.context import Context

M3, M4 = Motion(unit(0), ZERO3, "link3"), Motion(unit(1), ZERO3, "link4")
F3, F4 = Force(unit(0), ZERO3, "link3"), Force(unit(1), ZERO3, "link4")
I3, I4 = (RigidInertia(ONE, ZERO3, IDENTITY, name) for name in ("link3", "link4"))
A3, A4 = I3.articulated(), I4.articulated()
X = Transform((Shift(0, ONE),), "link3", "link4")
OPERANDS = "left operand is in body 'link3', right operand in body 'link4'"
WRONG: list[tuple[Callable[[], Any], str]] = [
    (lambda: M3 + M4, f"cannot add: {OPERANDS}"),
    (lambda: M3 - M4, f"cannot subtract: {OPERANDS}"),
    (lambda: F3 + F4, f"cannot add: {OPERANDS}"),
    (lambda: F3 - F4, f"cannot subtract: {OPERANDS}"),
    (lambda: F3.dot(M4), f"cannot take the dot product: {OPERANDS}"),
    (lambda: M4.dot(F3), f"cannot take the dot product: {OPERANDS}"),
    (lambda: M3.cross(M4), f"cannot take the cross product: {OPERANDS}"),
    (lambda: M3.cross_force(F4), f"cannot take the cross product: {OPERANDS}"),
    (lambda: I3 + I4, f"cannot add: {OPERANDS}"),
    (lambda: I3 @ M4, f"cannot multiply: {OPERANDS}"),
    (lambda: A3 + A4, f"cannot add: {OPERANDS}"),
    (lambda: A3 @ M4, f"cannot multiply: {OPERANDS}"),
    (lambda: A3.minus_outer(F4, F4), f"cannot subtract: {OPERANDS}"),
    (
        lambda: X @ M4,
        "cannot transform: the operand is in body 'link4', the transform starts in "
        "body 'link3'",
    ),
    (
        lambda: X.inverse(M3),
        "cannot transform: the operand is in body 'link3', the transform starts in "
        "body 'link4'",
    ),
    *(
        (
            lambda x=x: X.back(x),
            "cannot transform: the operand is in body 'link3', the transform starts in "
            "body 'link4'",
        )
        for x in (F3, I3, A3)
    ),
    (
        lambda: Motion(unit(0), ZERO3, "world") + M4,
        "cannot add: left operand is in the world, right operand in body 'link4'",
    ),
]


@pytest.mark.parametrize(("wrong", "message"), WRONG)
def test_mixed_frames_are_refused(wrong: Callable[[], Any], message: str) -> None:
    here = rf" \({re.escape(__file__)}:\d+\)$"
    with pytest.raises(FrameError, match=re.escape(message) + here):
        wrong()


def test_results_are_in_the_frame_of_their_operands() -> None:
    assert (M3 + M3 * ONE - M3).frame == "link3"
    assert (-M3).frame == M3.cross(M3).frame == M3.cross_force(F3).frame == "link3"
    assert (I3 @ M3 + F3 / ONE - F3).frame == "link3"
    assert (I3 + I3).frame == (A3 + A3).frame == (A3 @ M3).frame == "link3"
    assert A3.minus_outer(F3, F3).without(0).frame == "link3"
    assert (X @ M3).frame == X.back(F4).frame.replace("3", "4") == "link4"
    assert X.back(I4).frame == X.back(A4).frame == X.inverse(M4).frame == "link3"
    assert X.inverted().back(F3).frame == "link4"


def test_what_has_no_frame_agrees_with_every_frame() -> None:
    assert (Motion.zero() + M3).frame == (M3 + Motion.zero()).frame == "link3"
    assert (Force.zero() - F3).frame == "link3"
    assert (RigidInertia.zero() + I3).frame == "link3"
    assert (ArticulatedInertia.zero() + A3).frame == "link3"
    assert (Transform() @ M3).frame is None
    assert (X @ Motion.zero()).frame == "link4"


def test_motions_and_forces_do_not_mix() -> None:
    with pytest.raises(TypeError):
        M3 + F3  # type: ignore[operator]


MUTATIONS = {
    "rnea": ["X[i].back(f[i]) -> f[i]"],
    "aba": [
        "X[i] @ da[p] -> da[p]",
        "X[i] @ da[p] -> X[0] @ da[p]",
    ],
    "articulated": [
        "+ X.back(Ia) -> + Ia",
        "+ X.back(self.pA[i]) -> + self.pA[i]",
        "self.pA[i] + column.U * u -> self.pA[i - 1] + column.U * u",
    ],
    "crba": [
        "X[i].back(Ic[i]) -> Ic[i]",
        "X[child].back(F) -> F",
        "= seen_force(R, p, F[k], root) -> = F[k]",
    ],
    "minv": ["X[i].back(f) -> f", "X[i] @ m for -> m for"],
    "kinematics": ["transform(tree, i, q[i]) @ v + vJ -> v + vJ"],
    "momentum_energy": ["X[i].back(h[i]) -> h[i]"],
    "coriolis": ["F1, F2 = X.back(F1), X.back(F2) -> pass"],
}
"""mistakes in the algorithms: a transform that is forgotten, or that of another body"""


def entries(values: Any) -> list[Any]:
    """Return all symbols in what an algorithm returns."""
    if isinstance(values, Mapping):
        return [e for v in values.values() for e in entries(v)]
    if isinstance(values, tuple | list):
        return [e for v in values for e in entries(v)]
    return [values]


def run(module: Mapping[str, Any], name: str, robot: Robot) -> None:
    model = robot.placed_model

    def traced(q: Any, x: Any, y: Any) -> list[Any]:
        given = {"q": q, "qd": x, "qdd": y}
        context = Context(model, robot.conventions, given, algorithm_of)
        t, q, qd, qdd = context.tree, context.q, context.qd, context.qdd
        match name:
            case "rnea" | "aba":
                return entries(module[name](t, q, qd, qdd, context.gravity))
            case "articulated":
                changed = {"Elimination": module["Elimination"]}
                with mock.patch.multiple("ramidyn.algorithms.aba", **changed):
                    return entries(aba(t, q, qd, qdd, context.gravity))
            case "crba":
                return entries([module[name](t, q), module["crba_root"](t, q)])
            case "minv":
                return entries(module["minv_aba"](t, q))
            case "kinematics":
                tip = model.frame(model.body_names[-1])
                return list(module["velocity"](t, q, qd, tip).parts())
            case "momentum_energy":
                h = module["centroidal_momentum"](t, q, qd, t)
                return list(h.parts())
            case _:
                return entries(module["coriolis_in_body_frames"](t, q, qd))

    trace(traced, {"q": model.nq, "x": model.nv, "y": model.nv})


@pytest.mark.parametrize(
    ("name", "mistake"), [(n, m) for n, found in MUTATIONS.items() for m in found]
)
def test_a_mistake_in_an_algorithm_is_found(name: str, mistake: str) -> None:
    module = import_module(f"ramidyn.algorithms.{name}")
    source = Path(str(module.__file__)).read_text(encoding="utf-8")
    right, wrong = mistake.split(" -> ")
    assert right in source
    robot = ramidyn.robots.humanoid30("plain")
    changed: dict[str, Any] = {"__name__": module.__name__}
    exec(compile(source.replace(right, wrong), str(module.__file__), "exec"), changed)
    run(vars(module), name, robot)
    # aba hands accelerations to articulated.py, where they meet others
    place = rf"\(algorithms/({name}|articulated)\.py:\d+\)$"
    with pytest.raises(FrameError, match=f"^cannot .* body .* {place}"):
        run(changed, name, robot)


def test_the_message_names_the_line_of_the_algorithm() -> None:
    module = import_module("ramidyn.algorithms.rnea")
    source = Path(str(module.__file__)).read_text(encoding="utf-8")
    right = "X[i].back(f[i])"
    line = source[: source.index(right)].count("\n") + 1
    changed: dict[str, Any] = {"__name__": module.__name__}
    exec(compile(source.replace(right, "f[i]"), str(module.__file__), "exec"), changed)
    message = (
        "cannot add: left operand is in body 'body1', right operand in body 'body2' "
        f"(algorithms/rnea.py:{line})"
    )
    with pytest.raises(FrameError, match=re.escape(message)):
        run(changed, "rnea", ramidyn.robots.chain(3))
