"""The quantities that solve problems of inverse kinematics.

`problem` traces them; it is imported only then, not for code from the cache.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ramidyn.kinematics.structure import Structure
from ramidyn.tracing.context import Context
from ramidyn.tracing.quantity import Shapes, quantity
from ramidyn.tree.model import Model

if TYPE_CHECKING:
    from ramidyn.kinematics.problem import KinematicProblem


def _problem(context: Context, structure: Structure) -> KinematicProblem:
    from ramidyn.kinematics.problem import KinematicProblem  # noqa: PLC0415  not from the cache

    return KinematicProblem(context, structure)


def _search_shapes(model: Model, structure: Structure) -> Shapes:
    found: Shapes = {
        "next_start": (model.nq,),
        "count": (),
        "start": (),
        "starts": (),
        "budget": (),
        "tolerances": (structure.judged_parts(model),),
        **structure.inputs(model),
    }
    rows = structure.equation_count(model)
    return {**found, "multipliers": (rows,)} if rows else found


@quantity("q", further_inputs=_search_shapes)
def kinematic_search(context: Context, structure: Structure) -> Any:
    """The search of `KinematicProblem`."""
    return _problem(context, structure).search()


def _shapes(model: Model, structure: Structure) -> Shapes:
    return structure.inputs(model)


@quantity("q", further_inputs=_shapes)
def kinematic_refinement(context: Context, structure: Structure) -> Any:
    """The descent of `KinematicProblem`."""
    return _problem(context, structure).refine()


@quantity("q", further_inputs=_shapes)
def kinematic_closing(context: Context, structure: Structure) -> Any:
    """The corrections of `KinematicProblem` that close its equations."""
    return _problem(context, structure).close()


@quantity("q", further_inputs=_shapes)
def kinematic_errors(context: Context, structure: Structure) -> Any:
    """|e|² of every part that is judged, |e|² of all goals weighted, and c."""
    return _problem(context, structure).errors()


def _follow_shapes(model: Model, structure: Structure, iterations: int) -> Shapes:
    del iterations
    return {
        **structure.inputs(model),
        "dt": (),
        "velocity_limits": (model.nv,),
        "smoothness": (),
    }


@quantity("q", further_inputs=_follow_shapes)
def kinematic_step(context: Context, structure: Structure, iterations: int = 1) -> Any:
    """The time step of `KinematicProblem.follow`: q and q̇ after it."""
    return _problem(context, structure).follow(iterations)
