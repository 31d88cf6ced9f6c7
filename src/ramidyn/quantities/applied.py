"""What acts on a robot besides gravity: its force elements and external forces.

M q̈ + h = τ + τ_applied        τ_applied = Σ of the elements + Σ Jᵀ f
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast, final

import numpy as np

from ramidyn.algorithms import rnea
from ramidyn.algorithms.clusters import mimic_clusters
from ramidyn.algorithms.forces.applied import Applied, ForceScene
from ramidyn.algorithms.kinematics import to_frame
from ramidyn.description.forces.inputs import Custom, force_inputs
from ramidyn.errors import ArgumentError, Error, ShapeError, TraceError, unknown_name
from ramidyn.quantities.frames import pose, velocity
from ramidyn.spatial.transform import Transform
from ramidyn.spatial.vectors import Force
from ramidyn.symbolic.expr import Expr, lift
from ramidyn.tracing.context import Context, array
from ramidyn.tracing.quantity import Shapes, quantity
from ramidyn.tree.frames import fixed_steps
from ramidyn.tree.model import Model

if TYPE_CHECKING:
    from ramidyn.description.forces.element import ForceElement


def acting_forces(
    context: Context, external: Sequence[str] = (), expressed_in: str = "local"
) -> Applied:
    """Return the forces of the robot's force elements and external ones on its tree."""
    applied = forces_of(context, context.model.forces)
    for i, force in (external_forces(context, external, expressed_in) or {}).items():
        applied.push(i, force)
    return applied


def external_forces(
    context: Context, frames: Sequence[str], expressed_in: str = "local"
) -> dict[int, Force] | None:
    """Return the force on each body, in its own coordinates."""
    if not frames:
        return None
    forces: dict[int, Force] = {}
    for name, given in zip(frames, context.inputs["external"], strict=True):
        body, force = in_body(
            context, name, Force(*context.halves(given)), expressed_in
        )
        forces[body] = forces.get(body, Force.zero()) + force
    return forces


def in_body(
    context: Context, name: str, force: Force, expressed_in: str
) -> tuple[int, Force]:
    """Return the body of a frame, and a wrench on the frame in its coordinates."""
    frame = context.model.frame(name)
    if expressed_in != "local":
        X = to_frame(context.tree, context.q, frame)
        if expressed_in == "world":
            force = X.inverted().back(force)
        else:
            force = Force(X.rotate(force.n), X.rotate(force.f))
    return frame.body, Transform(fixed_steps(frame.placement)).back(
        Force(force.n, force.f)
    )


def newton_euler(context: Context, qdd: Sequence[Expr], applied: Applied) -> list[Expr]:
    """Return M q̈ + C + g less what is applied."""
    moved = context.coordinates.acceleration(qdd, context.qd)
    tree, gravity = context.dynamics_tree, context.gravity
    tau = rnea.rnea(tree, context.q, context.qd, moved, gravity, applied.bodies)
    return context.coordinates.force(applied.taken_from(tau), qdd)


def reference_forces(
    context: Context, applied: Applied
) -> tuple[list[Expr], list[Expr]]:
    """Return τ and q̈ of the motion that forward dynamics begins with."""
    tree, coordinates, qd = context.dynamics_tree, context.coordinates, context.qd
    clusters = mimic_clusters(tree)
    tau, chosen = rnea.reference_dynamics(
        tree, context.q, qd, context.gravity, applied.bodies, clusters
    )
    qdd = coordinates.public_acceleration(chosen, qd)
    return coordinates.force(applied.taken_from(tau), qdd), qdd


def forces_of(context: Context, elements: Sequence[ForceElement]) -> Applied:
    """Return the forces of some force elements on the tree."""
    if not elements:
        return Applied()
    applied: Applied = _sums().element_forces(scene_of(context), elements)
    for element in elements:
        if isinstance(element, Custom):
            _add_custom(context, element, applied)
    return applied


def _sums() -> Any:
    """Return the sums over elements: a robot without any does not import them."""
    from ramidyn.algorithms.forces import elements

    return elements


def scene_of(context: Context, is_moving: bool = True) -> ForceScene:
    """Return a robot in a trace as force elements see it."""
    return ForceScene(
        context.model,
        context.tree,
        context.q,
        context.qd if is_moving else {},
        context.gravity,
        context.inputs,
    )


# ------------------------------------------------------------ functions of users


@final
class SymbolicState:
    """The state of a robot, for a force that is a function: symbols, not numbers."""

    def __init__(self, context: Context) -> None:
        self._context = context

    @property
    def q(self) -> Any:
        """(nq,) the configuration."""
        return self._context.inputs["q"]

    @property
    def qd(self) -> Any:
        """(nv,) the velocity."""
        return self._context.inputs["qd"]

    def pose(self, frame: str) -> Any:
        """Return the pose of a frame in the world, (4, 4)."""
        return pose(frame).of(self._context)

    def velocity(self, frame: str, expressed_in: str = "local") -> Any:
        """Return the velocity of a frame, (6,)."""
        return velocity(frame, expressed_in).of(self._context)


def _add_custom(context: Context, element: Custom, applied: Applied) -> None:
    """Add what the function of an element returns."""
    what = f"force {element.name!r}"
    given = [context.inputs[name] for name in dict(element.inputs)]
    try:
        found = element.function(SymbolicState(context), *given)
    except Error as error:
        raise type(error)(f"{what}: {error}") from None
    except Exception as error:
        raise TraceError(
            f"{what}: the function cannot be traced: {type(error).__name__}: {error}"
        ) from error
    if isinstance(found, Mapping):
        for frame, wrench in cast("Mapping[str, Any]", found).items():
            if frame not in context.model.frames:
                owner = f"robot {context.model.name!r}, for {what}"
                raise unknown_name(
                    "body or frame", str(frame), owner, context.model.frames
                )
            own = _entries(f"{what}: the wrench on {frame!r}", wrench, 6)
            force = Force(*context.halves(own))
            applied.push(*in_body(context, frame, force, element.expressed_in))
        return
    nv = context.model.nv
    tau = context.coordinates.velocity(_entries(f"{what}: joint forces", found, nv))
    for i, entries in tau.items():
        if context.tree.bodies[i].joint.leader is None:
            applied.turn(i, entries)


def _entries(said: str, value: object, n: int) -> list[Expr]:
    """Return n symbols of what a user's function returned."""
    if value is None:
        raise TraceError(
            f"{said}: the function returned None; expected an array of {n} symbols"
        )
    found = np.asarray(value, dtype=object)
    if found.shape != (n,):
        raise ShapeError(f"{said}: shape {found.shape} returned; expected ({n},)")
    return [lift(x) for x in found.tolist()]


# ------------------------------------------------------------ quantities


def chosen(model: Model, names: Sequence[str] | None) -> tuple[ForceElement, ...]:
    """Return the force elements of some names, or all."""
    if names is None:
        return model.forces
    known = {f.name: f for f in model.forces}
    for name in names:
        if name not in known:
            raise unknown_name("force", name, f"robot {model.name!r}", known)
    return tuple(known[n] for n in names)


def _shapes(model: Model, forces: Sequence[str] | None = None, **_: Any) -> Shapes:
    return dict(force_inputs(chosen(model, forces)))


def _names(value: object) -> tuple[str, ...]:
    names = (value,) if isinstance(value, str) else value
    try:
        found = tuple(cast("Sequence[object]", names))
    except TypeError:
        found = (None,)
    if not all(isinstance(n, str) for n in found):
        raise ArgumentError(f"forces is {value!r}; expected a list of names of forces")
    return cast("tuple[str, ...]", found)


@quantity(
    "q",
    "qd",
    further_inputs=_shapes,
    returns="applied joint forces [N m, N]",
    checks={"forces": _names},
)
def applied_forces(context: Context, forces: tuple[str, ...] | None = None) -> Any:
    """τ_applied of the force elements."""
    applied = forces_of(context, chosen(context.model, forces))
    tau = applied.along_joints(context.tree, context.q)
    return array(context.coordinates.row([e for i, _ in context.tree for e in tau[i]]))


@quantity("q", returns="energy stored in force elements [J]", checks={"forces": _names})
def elastic_energy(context: Context, forces: tuple[str, ...] | None = None) -> Any:
    """The energy of springs, limits, contacts and gravity compensation."""
    elements = chosen(context.model, forces)
    return _sums().stored_energy(scene_of(context, is_moving=False), elements)


@quantity("q", "qd", returns="points and forces in the world, for pictures [m, N]")
def force_arrows(context: Context) -> Any:
    """Where springs, bushings, contacts and tires act, and their forces: (n, 2, 3)."""
    found = _sums().force_arrows(scene_of(context), context.model.forces)
    return array([[list(x) for x in arrow] for arrow in found])
