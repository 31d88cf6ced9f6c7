"""Reactions: the wrenches across joints of the tree, and those of loops.

A row of `joint_wrenches` is what the parent exerts on the child. What acts on a body
adds up to what moves it, with I the body's inertia and f the external forces:

    w[i] − Σ w[children] + f[i] = I a + v ×* I v        a with gravity included

Loops act on their bodies like external forces. A coupling, like a mimic joint, acts
between the parent and the child of each joint that it couples: it is a part of the
wrenches of these joints.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from ramidyn.algorithms.kinematics import axes, pose
from ramidyn.algorithms.loops.constraints import cut_wrenches, forces_of_cuts
from ramidyn.algorithms.loops.cuts import cuts_of
from ramidyn.algorithms.rnea import newton_euler
from ramidyn.errors import one_of
from ramidyn.mechanism.constraints.samples import needed_cuts
from ramidyn.quantities.applied import acting_forces
from ramidyn.quantities.closed_loops import constrained_acceleration, of_loops
from ramidyn.spatial.transform import Transform
from ramidyn.spatial.vector3 import ZERO3, Mat, Vec, vec
from ramidyn.spatial.vectors import Force
from ramidyn.symbolic.expr import Expr
from ramidyn.tracing.context import Context, array, zeros
from ramidyn.tracing.quantity import Shapes, quantity
from ramidyn.tree.frames import fixed_steps, joint_frames
from ramidyn.tree.model import Frame, Model
from ramidyn.tree.tree import ROOT


def _loop_forces_shape(model: Model, **_: Any) -> Shapes:
    rows = sum(len(cut.rows) for cut in cuts_of(model))
    return {"loop_forces": (rows,)} if model.loops else {}


@quantity(
    "q",
    "qd",
    "qdd",
    further_inputs=_loop_forces_shape,
    has_forces=True,
    returns="wrenches across the joints, on the child [N, N m]",
)
def joint_wrenches(
    context: Context, external: tuple[str, ...] = (), expressed_in: str = "local"
) -> Any:
    """f across every joint of the tree."""
    tree, q = context.tree, context.q
    forces = acting_forces(context, external, expressed_in).bodies
    if context.model.loops:
        cuts = cuts_of(context.model)
        multipliers = list(context.inputs["loop_forces"])
        for i, force in forces_of_cuts(tree, cuts, q, multipliers).items():
            forces[i] = forces.get(i, Force.zero()) + force
    _, f = newton_euler(tree, q, context.qd, context.qdd, context.gravity, forces)
    wrenches = _expressed_wrenches(context, f, expressed_in)
    return array([_six(context, w) for w in wrenches], 6)


def _expressed_wrenches(
    context: Context, f: dict[int, Force], expressed_in: str
) -> list[Force]:
    """Return the wrenches of all joints, given in coordinates of their bodies."""
    tree = context.tree
    if expressed_in == "world":
        found = axes(tree, context.q, range(len(tree)))
        p = {ROOT: ZERO3}
        for i, parent in tree:
            p[i] = p[parent] + found.r[i]
        return [_moved_wrench(_turned_wrench(found.R[i], f[i]), p[i]) for i, _ in tree]
    frames = joint_frames(context.model)
    if expressed_in == "local":
        inverses = [Transform(fixed_steps(T)).inverted() for T in frames]
        return [X.back(Force(f[i].n, f[i].f)) for i, X in enumerate(inverses)]
    found = axes(tree, context.q, range(len(tree)))
    at = [vec(*(-x for x in T.origin)) for T in frames]
    return [_turned_wrench(found.R[i], _moved_wrench(f[i], at[i])) for i, _ in tree]


@of_loops(
    "wrenches of the loops on their bodies [N, N m]",
    checks={"on": partial(one_of, "on", possible=("robot", "both"))},
)
def loop_wrenches(
    context: Context,
    algorithm: str = "auto",
    external: tuple[str, ...] = (),
    expressed_in: str = "local",
    damping: float | None = None,
    on: str = "robot",
) -> Any:
    """What each loop does to each of its bodies, of M q̈ + h = τ + Jᵀ λ."""
    applied = acting_forces(context, external, expressed_in)
    _, multipliers = constrained_acceleration(context, algorithm, damping, applied)
    both = wrenches_of_cuts(context, multipliers, expressed_in)
    if on == "both":
        return array(both)
    cuts = needed_cuts(context)
    sides = [0 if cut.b == ROOT else 1 for cut in cuts]
    return array([pair[side] for pair, side in zip(both, sides, strict=True)])


def wrenches_of_cuts(
    context: Context, multipliers: Sequence[Expr], expressed_in: str
) -> list[list[list[Expr]]]:
    """Return the wrenches of loops on bodies a and b: (loops, 2, 6)."""
    cuts = needed_cuts(context)
    found = cut_wrenches(context.tree, cuts, context.q, multipliers)
    rows: list[list[list[Expr]]] = []
    for cut, wrench in zip(cuts, found, strict=True):
        if wrench is None:
            rows.append([zeros(6), zeros(6)])
            continue
        pair = wrench.in_a, wrench.in_b
        if expressed_in != "local":
            frame = Frame(cut.name, cut.a, cut.T_a)
            R, p = pose(context.tree, context.q, frame)
            on_a, on_b = _turned_wrench(R, wrench.in_a), _turned_wrench(R, wrench.at_b)
            if expressed_in == "world":
                on_a = _moved_wrench(on_a, p)
                on_b = Force(-on_a.n, -on_a.f)
            pair = on_a, on_b
        rows.append([_six(context, w) for w in pair])
    return rows


def _turned_wrench(R: Mat, w: Force) -> Force:
    """Return a wrench along the axes of the world."""
    return Force(R @ w.n, R @ w.f)


def _moved_wrench(w: Force, p: Vec) -> Force:
    """Return a wrench given about a point at p about the origin."""
    return Force(w.n + p.cross(w.f), w.f)


def _six(context: Context, w: Force) -> list[Expr]:
    return context.six(w.n, w.f)
