"""Which body frames the programs of a robot use: those of its file, or cheaper ones.

Frames that take steps out of transforms save operations, unless that puts numbers into
inertias that were zero, or parts the sine that mimic joints share. Only then are the
programs of both counted, and the frames of the file stay if one of them got costlier.
"""

from __future__ import annotations

from dataclasses import replace

from ramify.model.conventions import Conventions
from ramify.model.massless import massless_bodies
from ramify.model.model import Model, placed
from ramify.model.singular import idle_joints
from ramify.model.tree import nonzeros
from ramify.quantities.dynamics import forward_dynamics, inverse_dynamics
from ramify.quantities.mass_matrix import mass_matrix
from ramify.quantities.quantity import Quantity
from ramify.quantities.tracing import trace_quantities
from ramify.simplify.passes import simplify
from ramify.symbolic.count import count


def with_cheapest_frames(model: Model, conventions: Conventions) -> Model:
    """Return the model with the body frames that make its dynamics cheapest."""
    new = placed(model)
    bodies = zip(model.tree.bodies, new.tree.bodies, strict=True)
    in_doubt = bool(model.mimics) or any(
        nonzeros(b.inertia) > nonzeros(a.inertia) for a, b in bodies
    )
    if not in_doubt:
        return new
    for quantity in _counted(model):
        if _cost(quantity, new, conventions) > _cost(quantity, model, conventions):
            return model
    return new


def _counted(model: Model) -> list[Quantity]:
    """Return what stands for all quantities: the three that others are made of."""
    found, tree = [inverse_dynamics, mass_matrix(algorithm="crba")], model.tree
    if not model.mimics and not massless_bodies(tree) and not idle_joints(tree):
        found.insert(0, forward_dynamics(algorithm="aba"))
    return found


def _cost(quantity: Quantity, model: Model, conventions: Conventions) -> int:
    """Return what the program of a quantity costs, without the loops of the model."""
    tree = replace(model, loops=())
    return count(simplify(trace_quantities([quantity], tree, conventions))).cost
