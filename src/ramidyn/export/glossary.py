"""Descriptions in exported C: labels, steps, arrays and joints."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import numpy as np

from ramidyn.backend.c99.source import About
from ramidyn.description.forces.fields import element_text
from ramidyn.description.forces.inputs import INPUT_WORDS as FORCE_INPUT_WORDS
from ramidyn.description.joint_types import joint_type
from ramidyn.quantities.registry import QUANTITIES
from ramidyn.robot import Robot
from ramidyn.symbolic.program import Program
from ramidyn.tracing.quantity import INPUT_WORDS
from ramidyn.tree.model import PublicJoint

LETTERS = {
    "w": "angular velocity [rad/s]",
    "wd": "angular acceleration [rad/s^2]",
    "B": "wd x + w x w x: the acceleration of a point at r is a + B r",
    "a": "acceleration of the origin, gravity included [m/s^2]",
    "dwd": "angular acceleration beyond that of the reference motion [rad/s^2]",
    "da": "acceleration of the origin beyond that of the reference [m/s^2]",
    "net_n": "moment on the body [N m]",
    "net_f": "force on the body [N]",
    "n": "moment through the named joint [N m]",
    "f": "force through the named joint [N]",
    "IA_I": "articulated-body inertia [I H; H' M]: I",
    "IA_H": "articulated-body inertia [I H; H' M]: H",
    "IA_M": "articulated-body inertia [I H; H' M]: M",
    "pA_n": "articulated-body bias, moment",
    "pA_f": "articulated-body bias, force",
    "U_n": "IA S, moment: per unit of joint acceleration",
    "U_f": "IA S, force",
    "Ud_n": "U / D, moment",
    "Ud_f": "U / D, force",
    "D": "inertia seen by the joint; diagonal of M = L' D L",
    "u": "joint force minus bias, over D",
    "Ic_h": "composite inertia: mass times center of mass [kg m]",
    "Ic_I": "composite inertia about the origin [kg m^2]",
    "F_n": "moment that accelerates the subtree at 1 rad/s^2",
    "F_f": "force that accelerates the subtree at 1 rad/s^2",
    "L": "factor of M = L' D L",
}
"""Prefixes of the algorithms' labels, and their meaning."""

STEPS = {
    "transform": "Rotation from the parent frame to {}.",
    "velocity": "Velocity of {}.",
    "net force": "Motion of {} (a reference in forward dynamics), and the force on it.",
    "forces": "Joint force of {}; its force is added to that on the parent.",
    "articulated inertia": "Articulated inertia that {} adds to its parent.",
    "acceleration": "Acceleration of {}.",
    "joint acceleration": "Acceleration of {} beyond the reference, and of its joint.",
    "composite inertia": "Composite inertia of the subtree at {}, and its rows of M.",
    "factor": "Eliminate row {} of the matrix.",
}
"""Prefixes of the algorithms' regions, and what they compute."""


def about(program: Program, robot: Robot, parameters: Sequence[str]) -> About:
    """Return the description of a robot in exported files."""
    x, y, z = robot.gravity
    c = robot.conventions
    facts = [
        f"robot        {robot.name}: {robot.nv} DoF, {robot.mass:.6g} kg moving",
        f"computes     {program.name.removesuffix(f' of {robot.name}')}",
        f"gravity      ({x:g}, {y:g}, {z:g}) m/s^2",
        f"conventions  {c}: quaternions {c.quaternion}, 6-vectors "
        f"{c.order.replace('_', ' ')}, floating velocity {c.floating_velocity}",
        f"layout       q[{robot.nq}], and qd, qdd and tau[{robot.nv}]: as listed below",
    ]
    facts += _forces(robot)
    if parameters:
        facts.append(f"arguments    {', '.join(parameters)}: not constants here")
    example = {"q": [float(x) for x in robot.neutral()]}
    entries: dict[tuple[str, int], str] = {}
    for joint in robot.model.joints:
        for k in range(joint.nq):
            own = joint.name if joint.nq == 1 else f"{joint.name}_{k}"
            entries["q", joint.q_index + k] = own
    return About(
        title=f"{' and '.join(v.name for v in program.outputs)} of {robot.name}",
        facts=tuple(facts),
        table=tuple(_table(robot)),
        letters=LETTERS,
        steps=STEPS,
        arrays=_arrays(program),
        entry_names=entries,
        example=example,
    )


def _arrays(program: Program) -> dict[str, str]:
    """Return descriptions of known inputs and outputs."""
    words = {
        **INPUT_WORDS,
        **FORCE_INPUT_WORDS,
        "gravity": "acceleration of free fall [m/s^2]",
        "loop_forces": QUANTITIES["loop_forces"].declaration.returns,
    }
    for output in program.outputs:
        for name, quantity in QUANTITIES.items():
            if output.name == name or output.name.startswith(f"{name}_"):
                words[output.name] = quantity.declaration.returns
    return words


def _forces(robot: Robot) -> list[str]:
    """Return lines about each force element: its kind, and its numbers."""
    lines: list[str] = []
    for element in robot.forces:
        text = f"{element.name}: {type(element).__name__}"
        numbers = element_text(element, robot.model.joints)
        text += f", {numbers}" if numbers else ""
        first, *more = textwrap.wrap(text.encode("ascii", "replace").decode(), 78)
        lines += [f"force        {first}", *(f"{'':15}{line}" for line in more)]
    return lines


def _table(robot: Robot) -> list[str]:
    """Return the joints in order: place, name, type, unit and limits."""
    rows = [("q", "qd", "joint", "type", "unit", "range", "velocity", "effort")]
    rows += [_row(j, robot) for j in robot.model.joints]
    columns = [c for c in zip(*rows, strict=True) if set(c[1:]) != {"-"}]
    widths = [min(max(map(len, column)), 30) for column in columns]
    return [
        "  ".join(f"{cell[:30]:<{w}}" for cell, w in zip(row, widths, strict=True))
        for row in zip(*columns, strict=True)
    ]


def _row(joint: PublicJoint, robot: Robot) -> tuple[str, ...]:
    limits = robot.limits
    q, v = joint.q_index, joint.v_index
    low, high = limits.lower[q], limits.upper[q]
    one = joint.nq == 1
    velocity, effort = limits.velocity[v], limits.effort[v]
    return (
        _span(q, joint.nq),
        _span(v, joint.nv),
        joint.name,
        joint.type,
        _units(joint),
        f"{low:g} .. {high:g}" if one and np.isfinite([low, high]).all() else "-",
        f"{velocity:g}" if np.isfinite(velocity) else "-",
        f"{effort:g}" if np.isfinite(effort) else "-",
    )


def _units(joint: PublicJoint) -> str:
    """Return the units of a joint's coordinates: one of each if all are the same."""
    type_ = joint_type(joint.name, joint.type)
    units = [unit for _, unit in type_.coordinates if unit]
    units = units[:1] if len(set(units)) == 1 else units
    return ", ".join([*units, "quaternion"] if type_.has_quaternion else units)


def _span(start: int, n: int) -> str:
    return str(start) if n == 1 else f"{start}..{start + n - 1}"
