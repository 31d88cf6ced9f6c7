"""Which body frames the programs of a robot use: those of its file, or cheaper ones.

Frames that take steps out of transforms save operations, unless that puts numbers into
inertias that were zero, or splits a sine that mimic joints share. So the dynamics is
counted with both, and the frames of the file stay if it got costlier.
"""

from __future__ import annotations

from dataclasses import replace

from ramidyn.description.conventions import Conventions
from ramidyn.quantities.dynamics import forward_dynamics, inverse_dynamics
from ramidyn.quantities.mass_matrix import mass_matrix
from ramidyn.tracing.chooser import Candidate, cheapest, hand_on, trace_quantities
from ramidyn.tracing.quantity import Quantity
from ramidyn.tree.model import Model, with_placed_frames
from ramidyn.tree.singular import idle_joints, massless_bodies

NEAR = 1.02
"""one algorithm in two sets of frames: simplifying takes the same share of both"""


def with_cheapest_frames(model: Model, conventions: Conventions) -> Model:
    """Return the model with the body frames that make its dynamics cheapest."""
    new = with_placed_frames(model)
    if new is model:
        return model
    trees = {"placed": new, "file": model}
    is_bare = not (model.loops or model.forces)
    for quantity in _counted_quantities(model):
        candidates: dict[str, Candidate] = {}
        for name, tree in trees.items():
            bare = tree if is_bare else replace(tree, loops=(), forces=())
            program = trace_quantities([quantity], bare, conventions)
            candidates[name] = Candidate(program)
        best = cheapest(candidates, NEAR).best
        if is_bare:
            hand_on(quantity, trees[best], conventions, candidates[best])
        if best == "file":
            return model
    return new


def _counted_quantities(model: Model) -> list[Quantity]:
    """Return quantities that stand for all: those that use every transform most.

    The articulated-body algorithm takes velocities out and forces and inertias back;
    where it does not apply, two others share that work.
    """
    if massless_bodies(model.tree) or idle_joints(model.tree):
        return [inverse_dynamics, mass_matrix(algorithm="crba")]
    return [forward_dynamics(algorithm="aba")]
