"""Compiled functions of configurations: steps between them, and other conventions.

Each function here returns the function that a method of Robot calls; see
`methods.direct`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from ramidyn.coordinates import configurations
from ramidyn.description.conventions import Conventions, conventions
from ramidyn.errors import ArgumentError

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ramidyn.function import Function
    from ramidyn.methods import CallKeywords
    from ramidyn.robot import Robot


def integrate(robot: Robot, **call: Unpack[CallKeywords]) -> Function:
    """Return the function behind `Robot.integrate`."""
    return _kernel(
        partial(configurations.integrated_q, robot.model, robot.conventions),
        {"q": robot.nq, "qd": robot.nv, "dt": ()},
        name=f"integrate of {robot.name}",
        defaults={"dt": 1.0},
        **call,
    )


def difference(robot: Robot, **call: Unpack[CallKeywords]) -> Function:
    """Return the function behind `Robot.difference`."""
    return _kernel(
        partial(configurations.differences, robot.model, robot.conventions),
        {"q0": robot.nq, "q1": robot.nq},
        name=f"difference of {robot.name}",
        **call,
    )


def normalize(robot: Robot, **call: Unpack[CallKeywords]) -> Function:
    """Return the function behind `Robot.normalize`."""
    return _kernel(
        partial(configurations.normalized_q, robot.model, robot.conventions),
        {"q": robot.nq},
        name=f"normalize of {robot.name}",
        **call,
    )


def convert(what: str) -> tuple[Callable[..., Function], Callable[..., Any]]:
    """Return the arguments of `direct` for `Robot.convert_q`, `convert_qd`, ..."""

    def resolve(
        robot: Robot,
        *,
        to: str | Conventions | None = None,
        from_: str | Conventions | None = None,
    ) -> tuple[Conventions, Conventions]:
        if to is not None and from_ is None:
            return robot.conventions, conventions(to)
        if from_ is not None and to is None:
            return conventions(from_), robot.conventions
        given = "neither" if to is None else "both"
        raise ArgumentError(
            f"robot.convert_{what}: {given} of to= and from_= given; pass one, such as "
            'to="mujoco"'
        )

    return partial(_converter, what), resolve


def _converter(
    what: str,
    robot: Robot,
    source: Conventions,
    target: Conventions,
    **call: Unpack[CallKeywords],
) -> Function:
    model, nq, nv = robot.model, robot.nq, robot.nv
    name = f"convert_{what} of {robot.name}"
    if what == "q":
        of_q = partial(configurations.converted_q, model, source, target)
        return _kernel(of_q, {"q": nq}, name=name, **call)
    of_vector = partial(configurations.converted_vector, model, source, target)
    state = {"q": nq, "qd": nv, "qdd": nv} if what == "qdd" else {"q": nq, what: nv}

    def converted(q: Any, *further: Any) -> Any:
        return of_vector(q, *reversed(further))

    return _kernel(converted, state, name=name, **call)


def _kernel(
    function: Callable[..., Any], shapes: dict[str, Any], **options: Any
) -> Function:
    from ramidyn.kernels import kernel  # with the first call, like all that compiles

    return kernel(function, shapes, **options)
