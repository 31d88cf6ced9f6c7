"""Add a force element to a model: checked, and traced where it has functions."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace

import numpy as np

from ramidyn.coordinates.configurations import keyframes, neutral
from ramidyn.description.conventions import Conventions
from ramidyn.description.description import Description
from ramidyn.description.forces.actuators import PositionServo
from ramidyn.description.forces.element import ForceElement
from ramidyn.description.forces.fields import entries
from ramidyn.description.forces.inputs import Custom
from ramidyn.description.forces.joints import Tendon
from ramidyn.description.pose import Array
from ramidyn.errors import ModelError, ModelWarning
from ramidyn.quantities.applied import applied_forces
from ramidyn.quantities.mass_matrix import mass_matrix
from ramidyn.symbolic.interpreter import evaluate
from ramidyn.tracing.chooser import trace_quantities
from ramidyn.tree.force_checks import checked_element
from ramidyn.tree.model import Model, PublicJoint


def with_damping(model: Model, conventions: Conventions) -> Description:
    """Return the description of a model with servos' damping ratios as damping.

        damping = 2 ratio √(stiffness m)

    m = 1 / (J M⁻¹ Jᵀ) is the inertia that a servo feels in the initial configuration,
    J its gears along the joints: as MuJoCo has it since version 4.
    """
    assert model.description is not None
    plain = replace(model, forces=(), loops=())
    program = trace_quantities([mass_matrix(algorithm="crba")], plain, conventions)
    start = keyframes(model, model.description, conventions).get("qpos0")
    q = neutral(model, conventions) if start is None else start
    (M,) = evaluate(program, {"q": q}).values()
    forces = tuple(_damped_element(f, model, M) for f in model.description.forces)
    return replace(model.description, forces=forces)


def _damped_element(element: ForceElement, model: Model, M: Array) -> ForceElement:
    if not isinstance(element, PositionServo) or element.damping_ratio is None:
        return element
    J = np.zeros(model.nv)
    for joint, gear in _moments(element, model):
        J[joint.v_slice] = gear
    mass = _felt_inertia(J, M)
    problem = ""
    if element.stiffness < 0.0:
        problem = f"its stiffness is {element.stiffness:g}"
    elif not 0.0 <= mass < math.inf:
        problem = "it moves joints without inertia"
    if problem:
        raise ModelError(
            f"{model.name}: servo {element.name!r} has a damping ratio, but {problem}; "
            "give it damping instead (MJCF: kv instead of dampratio)"
        )
    damping = 2.0 * element.damping_ratio * math.sqrt(element.stiffness * mass)
    return replace(element, damping=damping, damping_ratio=None)


def _felt_inertia(J: Array, M: Array) -> float:
    """Return 1 / (J M⁻¹ Jᵀ), NaN where that does not exist."""
    if not J.any():
        return 0.0
    heavy = np.diagonal(M) > 0.0  # where not, the whole row of M is zero
    if J[~heavy].any():
        return math.nan
    try:
        x = np.linalg.solve(M[np.ix_(heavy, heavy)], J[heavy])
    except np.linalg.LinAlgError:
        return math.nan
    return 1.0 / float(J[heavy] @ x)


def _moments(
    element: PositionServo, model: Model
) -> list[tuple[PublicJoint, tuple[float, ...]]]:
    """Return the joints that a servo moves, and its gears along them."""
    if element.joint:
        return [(model.joint(element.joint), entries(element.gear))]
    (tendon,) = (f for f in model.forces if f.name == element.tendon)
    assert isinstance(tendon, Tendon)
    (gear,) = entries(element.gear)
    pairs = zip(tendon.joints, tendon.coefficients, strict=True)
    return [(model.joint(n), (gear * c,)) for n, c in pairs]


def with_force(
    model: Model, conventions: Conventions, element: object, name: str | None
) -> Description:
    """Return the description of a model with one more force element."""
    new, notes = checked_element(element, name, model)
    if isinstance(new, Custom) or getattr(new, "height", None) is not None:
        # A function of the user's: errors in it are better found now.
        alone = replace(model, forces=(new,))
        trace_quantities([applied_forces], alone, conventions)
    for text in notes:
        warnings.warn(text, ModelWarning, stacklevel=4)
    assert model.description is not None
    description = model.description
    return replace(description, forces=(*description.forces, new))
