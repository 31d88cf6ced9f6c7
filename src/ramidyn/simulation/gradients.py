"""Gradients of rollouts: which sum of results, by which inputs.

The forward dynamics M q̈ = τ − h in a step has a gradient of its own: with λ the
cotangent of q̈ and μ = M⁻¹ λ, that of τ is μ, and that of others −(∂ID/∂x)ᵀ μ at q̈. It
takes one more solve with the factors of M, and one reverse sweep through the inverse
dynamics, instead of one through the forward dynamics.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast, final

import numpy as np

from ramidyn.algorithms.integrators import INTEGRATORS
from ramidyn.description.pose import Array
from ramidyn.errors import ArgumentError
from ramidyn.function import compilation_of
from ramidyn.mechanism.state_arrays import checked_numbers
from ramidyn.quantities.differentiation import vjp
from ramidyn.simulation.arguments import CheckedArguments
from ramidyn.simulation.function_arguments import by_name
from ramidyn.simulation.traced_step import TracedStep
from ramidyn.symbolic.calls import replayed
from ramidyn.symbolic.derivatives import SolutionNodes, names_of
from ramidyn.symbolic.expr import Expr, const
from ramidyn.symbolic.inline import entries_of
from ramidyn.symbolic.program import Program
from ramidyn.symbolic.trace import trace

if TYPE_CHECKING:
    from ramidyn.robot import Robot


@final
@dataclass(frozen=True, slots=True, eq=False)
class Gradient:
    """The gradient of a weighted sum of results, by some inputs."""

    wrt: tuple[str, ...]
    of: Mapping[str, Array]
    """weights of the outputs of a step: in rows, or after the last step"""

    def inputs(self, step: TracedStep) -> tuple[str, ...]:
        """Return the inputs of a step: a restart puts first values back."""
        first = [e.before for e in step.restarted if e.name in self.wrt]
        return (*self.wrt, *first)

    def by_name(self, step: TracedStep, found: Sequence[Array]) -> dict[str, Array]:
        """Return the gradients by the names of the inputs that the user knows."""
        given = dict(zip(self.inputs(step), found, strict=True))
        for e in step.restarted:
            if e.name in self.wrt:
                given[e.name] = given[e.name] + given.pop(e.before)
        return given


def checked_gradient(
    arguments: CheckedArguments, step: TracedStep, gradient_of: object, wrt: object
) -> Gradient | None:
    """Return the gradient that is asked for; None if there is none."""
    if gradient_of is None and wrt == ():
        return None
    robot, names = arguments.robot, names_of(wrt)
    if gradient_of is None:
        if names:
            raise ArgumentError(
                f"wrt is {wrt!r}, and gradient_of is not given; pass the name of a "
                "total, such as gradient_of='cost'"
            )
        return None
    known = _check_inputs(robot, step, "wrt", names)
    if not names or len(set(names)) < len(names):
        raise ArgumentError(
            f"wrt is {wrt!r}; expected different names of inputs: {', '.join(known)}"
        )
    return Gradient(cast("tuple[str, ...]", names), _weights(arguments, gradient_of))


def checked_tangents(
    robot: Robot, step: TracedStep, tangents: object
) -> dict[str, Array]:
    """Return how the inputs change, by name."""
    given = by_name("tangents", tangents, "changes of inputs")
    _check_inputs(robot, step, "tangents", tuple(given))
    return {n: checked_numbers(f"tangents {n!r}", x) for n, x in given.items()}


def _check_inputs(
    robot: Robot, step: TracedStep, what: str, names: tuple[Any, ...]
) -> list[str]:
    """Return the inputs of a rollout that may change; raise an error for others."""
    if robot.model.contacts:
        raise ArgumentError(
            f"robot {robot.name!r} has rigid contacts, hard limits or dry friction, "
            "whose rollouts have no gradients; remove them, or use the springs and "
            "dampers of ramidyn.forces"
        )
    known = [n for n in step.shapes if " " not in n]
    for name in names:
        if name not in known:
            hint = "; pass tau" if name == "tau" else ""
            raise ArgumentError(
                f"{what} names {name!r}, which is not an input of this rollout; "
                f"inputs: {', '.join(known)}{hint}"
            )
    return known


def _weights(arguments: CheckedArguments, gradient_of: object) -> dict[str, Array]:
    """Return the weights of the outputs of a step."""
    totals = [n for n, _ in arguments.options.total]
    rows = arguments.steps // arguments.every + 1
    weights = (
        {gradient_of: 1.0}
        if isinstance(gradient_of, str)
        else by_name("gradient_of", gradient_of, "the name of a total, or weights")
    )
    of: dict[str, Array] = {}
    for name, value in weights.items():
        if name not in (*totals, "q", "qd"):
            raise ArgumentError(
                f"gradient_of names {name!r}; possible: "
                f"{', '.join(('q', 'qd', *totals))}; sum functions of what is recorded "
                "in total="
            )
        array = checked_numbers(f"gradient_of {name!r}", value)
        if name in totals:
            of[f"next sum {name}"] = array
            continue
        n = arguments.robot.nq if name == "q" else arguments.robot.nv
        if array.ndim not in (2, 3) or array.shape[-2:] != (rows, n):
            raise ArgumentError(
                f"gradient_of has weights {name!r} of shape {array.shape}; expected "
                f"({rows}, {n}) or (batch, {rows}, {n}), the shape of run.{name}"
            )
        of[name], of[f"next {name}"] = array[..., :-1, :], array[..., -1, :]
    return of


def differentiable_step(step: TracedStep) -> tuple[Program, list[SolutionNodes]]:
    """Return the program of a step, and the gradients that it knows as a whole."""
    o, known = step.options, DynamicsAdjoint(step)
    if not step.robot.model.loops and INTEGRATORS[o.integrator].stages == 1:
        step = replace(step, acceleration_of=known.acceleration)
    name = f"rollout of {step.robot.name}"
    program = trace(step.traced, step.shapes, name, dtype=o.dtype)
    return program, known.solutions


@final
@dataclass(frozen=True)
class DynamicsAdjoint:
    """The forward dynamics of a step, and where a trace has used them."""

    step: TracedStep
    solutions: list[SolutionNodes] = field(default_factory=list[SolutionNodes])

    def acceleration(self, known: Mapping[str, Any]) -> Any:
        """Return q̈ as symbols, whose gradient is known from now on."""
        step, nv = self.step, self.step.robot.nv
        names = [n for n, _ in compilation_of(step.function(step.dynamics)).inputs]
        program = compilation_of(
            step.function(vjp(step.dynamics, names, space="coordinates"))
        ).traced_for(step.options.dtype)
        given = {n: entries_of(known[n]) for n in names}

        def results(weights: list[Expr]) -> list[Expr]:
            inputs = [given.get(v.name, weights) for v in program.inputs]
            return replayed(program, [e for own in inputs for e in own])

        def adjoint(weights: list[Expr]) -> list[Expr]:
            return results(weights)[nv:]

        arguments = tuple(e for own in given.values() for e in own)
        qdd = results([const(0.0)] * nv)[:nv]
        self.solutions.append(SolutionNodes(tuple(qdd), arguments, adjoint))
        found: Any = np.empty(nv, dtype=object)
        found[:] = qdd
        return found
