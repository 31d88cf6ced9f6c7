"""Spatial vectors, inertias and transforms, in compact classes: angular part first.

    Motion               velocity or acceleration [w; v]                  6 numbers
    Force                wrench or momentum [n; f]                        6
    RigidInertia         m, h = m c, I about the origin                  10
    ArticulatedInertia   symmetric 6 x 6 matrix [I H; Hᵀ M]              21
    Transform            coordinates from one frame to another: E, r     12

Each has a static method ``of``, which takes numbers, symbols or NumPy arrays of either,
and ``array()``, which returns a NumPy array: of numbers if all are known, or else of
symbols. ``X @ x`` (or ``X.apply(x)``) transforms any of them, by type;
``X.invapply(x)`` goes back. In `ramidyn.kernel` functions they cost the operations of
docs/algorithms.md.
"""

from ramidyn.spatial.inertia import ArticulatedInertia, RigidInertia
from ramidyn.spatial.transform import Transform
from ramidyn.spatial.vectors import Force, Motion

__all__ = ["ArticulatedInertia", "Force", "Motion", "RigidInertia", "Transform"]


def __dir__() -> list[str]:
    return __all__
