"""Warn of inertias that no body has."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from ramidyn.description.constants import Array, eigen
from ramidyn.description.formats.xml import where


def warn_unphysical(link: ET.Element, I: Array, warnings: list[str]) -> None:
    """Warn of an inertia that no mass distribution has.

    Files are rounded: a millionth of the largest eigenvalue is not a fault, nor is
    1e-15 kg m², which is less than that of a grain of sand.
    """
    values = eigen(I)[0]
    low, middle, high = values
    size = max(-low, high)
    tolerance = 1e-6 * size + 1e-15
    if low < -tolerance:
        what = "is not positive semidefinite"
    elif low + middle < high - tolerance:
        what = (
            "violates the triangle inequality (the sum of two must be at least the "
            "third)"
        )
    else:
        return
    shown = ", ".join(f"{x if abs(x) > 1e-12 * size else 0:.4g}" for x in values)
    warnings.append(f"{where(link)}: the inertia {what}: eigenvalues {shown} kg m²")
