"""Where a robot's contacts are, for pictures and warnings."""

from __future__ import annotations

from typing import Any

from ramidyn.algorithms.contact.touching import touches
from ramidyn.quantities.applied import scene_of
from ramidyn.tracing.context import Context, array
from ramidyn.tracing.quantity import quantity


@quantity("q", returns="points of contacts in the world, and their gaps [m]")
def contact_places(context: Context) -> Any:
    """Where contacts can touch, x, y, z, and how far they are from it: (n, 4).

    In the order of recorded forces: those with the ground, then pairs of spheres.
    """
    found = touches(scene_of(context, is_moving=False))
    sides = [(t.sides[0], t.gap) for t in found]
    return array([[*side.leg.point(side.x), gap] for side, gap in sides])
