"""Operation counts of each algorithm, after each pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from ramidyn.description.conventions import Conventions
from ramidyn.errors import ModelError
from ramidyn.quantities.dynamics import forward_dynamics, inverse_dynamics
from ramidyn.quantities.mass_matrix import mass_matrix
from ramidyn.robot import Robot
from ramidyn.simplify.passes import SIMPLIFICATIONS
from ramidyn.symbolic.count import Ops, count
from ramidyn.symbolic.program import Program
from ramidyn.tracing.chooser import trace_quantities
from ramidyn.tracing.quantity import Quantity
from ramidyn.tree.model import Model, with_placed_frames
from ramidyn.tree.tree import Tree, TreeBody

ALGORITHMS = {
    "inverse dynamics, RNEA": inverse_dynamics,
    "mass matrix, CRBA": mass_matrix(algorithm="crba"),
    "forward dynamics, ABA": forward_dynamics(algorithm="aba"),
    "forward dynamics, CRBA + LTDL": forward_dynamics(algorithm="ltdl"),
}
"""What is counted, by how it is called."""

PASSES = {
    "drop_dead_code": "dead code",
    "fold_trigonometry": "trigonometry",
    "collect_terms": "common factors",
    "place_signs": "signs",
}


@dataclass(frozen=True, slots=True)
class Stage:
    """The count after a pass."""

    name: str
    ops: Ops


@dataclass(frozen=True, slots=True)
class Counts:
    """An algorithm's counts, from the file's frames to the last pass."""

    name: str
    stages: tuple[Stage, ...]
    chain: Ops | None
    """of the same joints and bodies in one chain"""

    @property
    def ops(self) -> Ops:
        """What is compiled."""
        return self.stages[-1].ops


def counts_of(robot: Robot, progress: Callable[[str], None]) -> Iterator[Counts]:
    """Yield the counts of every algorithm that the robot allows."""
    line = chain_of(robot.model)
    for name, quantity in ALGORITHMS.items():
        if "ABA" in name and robot.model.mimics:
            continue  # mimic joints couple branches: no articulated-body algorithm
        progress(name)
        try:
            stages = tuple(stages_of(quantity, robot))
        except ModelError:  # a singular mass matrix: no forward dynamics
            continue
        chain = None
        if line is not None:
            chain = _last(quantity, with_placed_frames(line), robot.conventions)
        yield Counts(name, stages, chain)


def stages_of(quantity: Quantity, robot: Robot) -> Iterator[Stage]:
    """Yield the count before any pass, and after each."""
    c, model = robot.conventions, robot.placed_model
    yield Stage("frames of the file", count(traced(quantity, robot.model, c, False)))
    yield Stage("frames placed", count(traced(quantity, model, c, False)))
    program = traced(quantity, model, c, True)
    yield Stage("masses regrouped", count(program))
    for simplification in SIMPLIFICATIONS:
        program = simplification(program)
        name = getattr(simplification, "__name__", "pass")
        yield Stage(PASSES.get(name, name.replace("_", " ")), count(program))


def _last(quantity: Quantity, model: Model, conventions: Conventions) -> Ops:
    program = traced(quantity, model, conventions, True)
    for simplification in SIMPLIFICATIONS:
        program = simplification(program)
    return count(program)


def traced(
    quantity: Quantity, model: Model, conventions: Conventions, regroup: bool
) -> Program:
    """Return the program of a quantity, with masses regrouped or as they are."""
    return trace_quantities([quantity], model, conventions, regroup=regroup)


def chain_of(model: Model) -> Model | None:
    """Return the model with its bodies in one chain; None where joints follow others.

    Every body keeps its joint, its inertia and the placement on its parent.
    """
    if model.mimics:
        return None
    bodies: list[TreeBody] = [
        replace(body, parent=i - 1) for i, body in enumerate(model.tree.bodies)
    ]
    return replace(model, tree=Tree(tuple(bodies), model.tree.gravity))
