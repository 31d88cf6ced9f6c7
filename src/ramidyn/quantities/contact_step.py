"""The end of a time step with contacts, limits and dry friction.

    q̇⁺ = q̇_free + M⁻¹ Cᵀ F        q⁺ = q ⊕ dt (q̇⁺ + u)

The gap of a contact is not negative at the end of the step: gap + dt v_n ≥ 0. Where a
contact that bounces would pass, and is faster than `SLOW`, v_n⁺ ≥ −e v_n⁻ instead. What
overlaps is taken apart by u, a motion that is no velocity: it adds no kinetic energy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import isinf
from typing import Any, Final, final

from ramidyn.algorithms.contact.problem import (
    Cone,
    Constraint,
    Impulse,
    Interval,
    Problem,
)
from ramidyn.algorithms.contact.solver import TOLERANCE, solve
from ramidyn.algorithms.contact.touching import Touch
from ramidyn.algorithms.forces.applied import ForceScene
from ramidyn.coordinates.configurations import integrated_q
from ramidyn.description.contacts import DryFriction, HardLimit
from ramidyn.errors import ModelError
from ramidyn.quantities.applied import scene_of
from ramidyn.quantities.contact_rows import ContactRows, Response, contact_motion
from ramidyn.quantities.dynamics import forward_dynamics
from ramidyn.spatial.vector3 import ONE, ZERO, ZERO3
from ramidyn.symbolic.dense import Entries, inner, total
from ramidyn.symbolic.expr import Expr, const, extremum, where
from ramidyn.symbolic.repeat import unless
from ramidyn.tracing.context import Context, array, flag
from ramidyn.tracing.quantity import Shapes, quantity
from ramidyn.tree.contact_checks import robot_candidates, robot_pairs
from ramidyn.tree.model import Model

SLOW: Final = 0.01
"""[m/s] approach up to which nothing bounces"""
OVERLAP: Final = 1e-6
"""[m, rad] by which shapes may overlap, and limits be passed"""
CREEP: Final = 1e-4
"""[m/s] at which smaller gaps and overlaps close, half of them in each step. As that is
a part of the velocity, gaps of one plane stay those of one plane: corners agree. Half:
what is left of a gap and what is left of a solution must not feed each other."""
SHARE: Final = 0.2
"""of an overlap beyond that, that a step takes apart"""


def touch_names(model: Model) -> list[str]:
    """Return the names of a robot's contacts that can close, in the order of forces."""
    found = [c.name for c in robot_candidates(model)]
    return found + [c.name for c in robot_pairs(model)]


def impulse_count(model: Model) -> int:
    """Return how many impulses a robot's steps hand on: three a contact, then joints.

    A limit has two, dry friction one for each degree of freedom.
    """
    widths = {j.name: j.v_slice.stop - j.v_slice.start for j in model.joints}
    joints = sum(
        2 if isinstance(c, HardLimit) else widths[c.joint]
        for c in model.contacts
        if isinstance(c, HardLimit | DryFriction)
    )
    return 3 * len(touch_names(model)) + joints


def _inputs(model: Model, is_given: bool = False, **_: Any) -> Shapes:
    n = model.nv
    shapes: Shapes = {"dt": (), "qd_free": (n,), "impulses": (impulse_count(model),)}
    return shapes | ({"inertia": (n, n)} if is_given else {})


@quantity("q", "qd", further_inputs=_inputs, checks={"is_given": flag("is_given")})
def contact_step(context: Context, is_given: bool = False) -> dict[str, Any]:
    """q̇ at the end of a step, u, the impulses, and what is known about them.

    With ``is_given``, "inertia" takes the place of M.
    """
    rows = ContactRows.of(context)
    given = context.inputs
    if is_given:
        G, respond = rows.given_motion(given["inertia"])
    elif context.model.loops:
        G, respond = rows.closed_motion()
    else:
        G, respond = rows.tree_motion(context.algorithm_of(contact_motion))
    free = list(given["qd_free"])
    table = _rules(context, rows, rows.velocities(free))
    problem = Problem(
        rows.blocks.ranges,
        G,
        rows.velocities(free),
        tuple(r.constraint for r in table),
    )
    start = [given["impulses"][k] for r in table for k in r.places]
    dt, gaps = given["dt"], [r.gap for r in table if r.gap is not None]
    overlap = ZERO
    for gap in gaps:
        overlap = extremum("max", overlap, -gap - OVERLAP)
    tolerance = TOLERANCE[context.dtype]
    found = solve(
        problem, start, tolerance, overlap, (partial(_apart, table), [dt, *gaps])
    )
    F = problem.block_impulses(found.impulses)
    V, change = problem.velocities(F), respond(F)
    impulses = [ZERO] * impulse_count(context.model)
    for rule, x in zip(table, found.impulses, strict=True):
        for k, value in zip(rule.places, x, strict=True):
            impulses[k] = value
    touching = list(zip(rows.touches, table, found.impulses, strict=False))
    return {
        "qd": array([a + b for a, b in zip(free, change, strict=True)]),
        "u": array(_displacement(problem, respond, found.displaced, len(free))),
        "impulses": array(impulses),
        "residual": found.residual,
        "sweeps": found.sweeps,
        "newton_steps": found.newton_steps,
        "forces": array([list(_force(t, x, dt)) for t, _, x in touching]).reshape(
            -1, 3
        ),
        "states": array(
            [_state(problem, r, x, V, context.dtype) for _, r, x in touching]
        ),
        "gaps": array([t.gap for t in rows.touches]),
    }


def _step_inputs(model: Model, **_: Any) -> Shapes:
    return {"dt": (), "impulses": (impulse_count(model),)}


@quantity(
    "q",
    "qd",
    "tau",
    further_inputs=_step_inputs,
    has_forces=True,
    returns="a time step with contacts",
)
def time_step(context: Context) -> dict[str, Any]:
    """One semi-implicit time step with contacts, hard limits and dry friction.

        q̇⁺ = q̇ + dt q̈ + M⁻¹ Cᵀ Λ        q⁺ = q ⊕ dt (q̇⁺ + u)

    Its inputs are q, qd, tau, dt and ``impulses``: where the solver starts, such as
    those of the step before (3 entries a contact, 2 a limit, 1 for dry friction). It
    returns q, qd and impulses after the step, "forces" (contacts, 3) in the world [N],
    "states" (0 open, 1 sticks, 2 slides) and "residual" [m/s].

    >>> import ramidyn
    >>> foot = ramidyn.contacts.ContactSphere("body1", radius=0.02, friction=0.8)
    >>> robot = ramidyn.robots.chain(2).add_contact(foot, name="foot")
    >>> step = ramidyn.compile(ramidyn.contacts.time_step, robot)
    >>> after = step(robot.neutral(), [0, 0], [0, 0], 1e-3, [0, 0, 0])
    >>> after.forces.shape
    (1, 3)
    """
    given, model = context.inputs, context.model
    if not model.contacts:
        raise ModelError(
            f"robot {model.name!r} has no contacts, hard limits or dry friction; add "
            "them (robot.add_contact), or compile ramidyn.forward_dynamics"
        )
    if model.loops:
        raise ModelError(
            f"robot {model.name!r} has loops, which time_step does not close; use "
            "robot.rollout"
        )
    dt = given["dt"]
    free = given["qd"] + dt * forward_dynamics.of(context)
    found = contact_step.of(context.with_inputs(qd_free=free))
    rate = found["qd"] + found["u"]
    q = integrated_q(model, context.conventions, given["q"], rate, dt)
    names = ("qd", "impulses", "forces", "states", "residual")
    return {"q": array(q)} | {name: found[name] for name in names}


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Rule:
    """A constraint, where its impulses are kept, and its gap."""

    constraint: Constraint
    places: tuple[int, ...]
    gap: Expr | None
    """None: dry friction"""


def _rules(context: Context, rows: ContactRows, c: Sequence[Expr]) -> list[_Rule]:
    """Return all constraints; those of contacts first."""
    dt = context.inputs["dt"]
    before: list[Expr] = []
    found: list[_Rule] = []
    for k, touch in enumerate(rows.touches):
        E = rows.blocks.touch_rows(k, touch)
        bias = _closing(touch.gap, dt)
        if not touch.restitution.is_zero:
            before = before or rows.velocities(list(context.inputs["qd"]))
            bias = _bounced(touch, E[-1], c, before, bias, dt)
        if len(E) == 1:
            found.append(_Rule(Interval(E[0], bias), (3 * k + 2,), touch.gap))
        else:
            cone = Cone((E[0], E[1], E[2]), bias, touch.friction)
            found.append(_Rule(cone, (3 * k, 3 * k + 1, 3 * k + 2), touch.gap))
    return found + _joint_rules(context, rows)


def _closing(gap: Expr, dt: Expr) -> Expr:
    """Return the bias of a contact whose gap is closed at the end of the step."""
    fast = gap / dt
    small = extremum("max", extremum("min", fast, const(CREEP)), const(-CREEP))
    closing = extremum("max", fast, const(-CREEP)) - small * 0.5
    return where(gap < -OVERLAP, ZERO, closing)


def _bounced(
    touch: Touch,
    normal: Entries,
    c: Sequence[Expr],
    before: Sequence[Expr],
    bias: Expr,
    dt: Expr,
) -> Expr:
    """Return the bias of a contact that bounces where it would pass."""
    would = total(e * c[i] for i, e in normal.items())
    approach = total(e * before[i] for i, e in normal.items())
    passes = where(touch.gap / dt + would < CREEP, ONE, ZERO)
    is_fast = where(approach < -SLOW, passes, ZERO)
    return where(is_fast > 0.5, touch.restitution * approach, bias)


def _joint_rules(context: Context, rows: ContactRows) -> list[_Rule]:
    """Return the constraints of limits and dry friction."""
    model, scene = context.model, scene_of(context, is_moving=False)
    joints = {j.name: j for j in model.joints}
    dt, place = context.inputs["dt"], 3 * len(rows.touches)
    found: list[_Rule] = []
    for c in model.contacts:
        if isinstance(c, HardLimit):
            q = context.inputs["q"][joints[c.joint].q_slice.start]
            dof = joints[c.joint].v_slice.start
            for name, sign in (("lower", ONE), ("upper", -ONE)):
                if _is_bounded(scene, c, name):
                    gap = sign * (q - scene.number(c, name))
                    bias = _closing(gap, dt)
                    row = rows.blocks.joint_row(dof, sign)
                    found.append(_Rule(Interval(row, bias), (place,), gap))
                place += 1
        elif isinstance(c, DryFriction):
            most = scene.number(c, "force") * dt
            v = joints[c.joint].v_slice
            for dof in range(v.start, v.stop):
                row = rows.blocks.joint_row(dof, ONE)
                rule = Interval(row, ZERO, -most, most)
                found.append(_Rule(rule, (place,), None))
                place += 1
    return found


def _is_bounded(scene: ForceScene, limit: HardLimit, name: str) -> bool:
    value = getattr(limit, name)
    return f"{name}:{limit.name}" in scene.inputs or not isinf(value)


def _apart(
    table: Sequence[_Rule],
    problem: Problem,
    V: Sequence[Expr],
    numbers: Sequence[Expr],
) -> tuple[Problem, Expr]:
    """Return the problem of taking apart what overlaps after the step, and how much.

    ``numbers`` are dt, and the gaps of the rules in the table that have one.
    """
    dt, *rest = numbers
    gaps = iter(rest)
    rules: list[Constraint] = []
    depth = ZERO
    for rule, one in zip(table, problem.constraints, strict=True):
        if rule.gap is None:
            assert isinstance(one, Interval)
            rules.append(replace(one, lower=ZERO, upper=ZERO))
            continue
        v = problem.velocity(one, V)[-1] - one.bias
        gap = next(gaps) + dt * v
        depth = extremum("max", depth, -gap - OVERLAP)
        taken = where(
            gap < -OVERLAP, SHARE * (gap + OVERLAP), extremum("max", gap, ZERO)
        )
        rules.append(replace(one, bias=taken / dt))
    still = replace(problem, c=[ZERO] * len(problem.c), constraints=tuple(rules))
    return still, depth


def _displacement(
    problem: Problem, respond: Response, displaced: Sequence[Impulse], n: int
) -> list[Expr]:
    """Return u; where nothing is taken apart, nothing is computed."""
    x = [e for own in displaced for e in own]

    def moved(_: list[Expr], x: list[Expr]) -> list[Expr]:
        return respond(problem.block_impulses(problem.split(x)))

    return unless(inner(x, x) <= 0.0, moved, [ZERO] * n, x)


def _force(touch: Touch, x: Impulse, dt: Expr) -> Any:
    """Return the force on the first body, in the world."""
    found = ZERO3
    for axis, value in zip(touch.axes, x, strict=True):
        found = found + axis * (value / dt)
    return found


def _state(
    problem: Problem, rule: _Rule, x: Impulse, V: Sequence[Expr], dtype: str
) -> Expr:
    """Return 0 for an open contact, 1 for one that sticks, 2 for one that slides."""
    v = problem.velocity(rule.constraint, V)
    speed = (v[0] * v[0] + v[1] * v[1]).sqrt() if len(v) == 3 else ONE
    sliding = where(speed > 10.0 * TOLERANCE[dtype], ONE + ONE, ONE)
    return where(x[-1] > 0.0, sliding, ZERO)
